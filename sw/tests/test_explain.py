# SPDX-License-Identifier: BSD-2-Clause
"""Why an edge was late: planted causes have their names, none is named that was not there, and
parts add up to the delay."""

import json
import random
import re
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest

from litepulse import plot
from litepulse.cli import make_parser
from litepulse.commands import arguments
from litepulse.errors import BadInput, LitePulseError, Unsupported
from litepulse.explain import Frame, explain, frames_of_bytes, frames_of_edges, perfetto, tracefs, words
from litepulse.explain.align import below, paired
from litepulse.explain.causes import merged
from litepulse.explain.chain import FUNCTIONS, chains
from litepulse.explain.run import Cost, Recorded, check
from litepulse.explain.trace import parse

from . import explain_traces as made

KERNELS = ("6.1", "6.12", "7.2")
# Planted: (the cause that is named, part of its name).
PLANTED = {
    "busy": ("busy", "hog (real-time priority 50)"),
    "preempted": ("busy", "hog (real-time priority 50)"),
    "idle": ("idle", "1"),
    "exit": ("idle", "1"),
    "irq": ("irq", "27 (eth0 rx)"),
    "uart storm": ("irq", "27 (eth0 rx)"),
    "softirq": ("softirq", "NET_RX"),
    "worker": ("worker", "kworker/u8:1"),
    "handover busy": ("busy", "hog (real-time priority 50)"),
    "resume": ("resume", ""),
    "resume asleep": ("resume", ""),
    "slept": ("slept", ""),
    "slack": ("slack", ""),
    "timer": ("timer", "make -j [000] (nice 10)"),
    "blocked": ("blocked", ""),
    "program": ("program", ""),
    "write": ("write", ""),
    "adapter": ("adapter", ""),
}
LARGE = 150_000  # ns: nothing in the scenes is that long but what was planted
BOUND = 80_000  # ns, of the board's clock map in the scenes


def frames(scene):
    bit = Fraction(made.TICK_HZ, made.BAUD)
    return frames_of_bytes([(tick, 0xFF, ns, uncertainty) for tick, ns, uncertainty in scene.edges], bit, Fraction(10))


def explained(scene, **options):
    return explain(parse(scene.text()), made.PROGRAM - 1, frames(scene), Fraction(made.TICK_HZ), **options)


def every_of(cause):
    return {"every": Fraction(made.PERIOD, 10**6)} if cause == "slept" else {}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("cause", PLANTED)
def test_a_planted_cause_has_its_name(cause, kernel):
    scene = made.trace(kernel, cause)
    found = explained(scene, **every_of(cause))
    assert (found.writes, found.missing, found.stray, found.blind, len(found.edges)) == (made.COUNT, 0, 0, 0, made.COUNT)
    late = found.edges[made.LATE_ONE]
    assert found.worst(1) == [late]
    assert (late.main().cause, late.main().name) == PLANTED[cause]
    assert abs(late.main().ns - made.LATE * 1000) <= 1000 * (60 if cause in ("slack", "blocked", "idle", "exit") else 25)
    for edge in found.edges:
        large = {part.cause for part in merged(edge.parts) if part.ns > LARGE}
        assert large == ({PLANTED[cause][0]} if edge is late else set())
    top = found.shares[0]
    assert (top.cause, top.name) == PLANTED[cause] and top.share > Fraction(1, 3)


@pytest.mark.parametrize("cause", ["", *PLANTED])
def test_parts_add_up_to_the_delay(cause):
    """To the delay that the scene knows, within the microsecond of the trace and what the drift
    of the clocks leaves."""
    scene = made.trace(late=cause)
    found = explained(scene, **every_of(cause))
    for edge, total in zip(found.edges, scene.totals, strict=True):
        assert sum(part.ns for part in edge.parts) == edge.ns and all(part.ns > 0 for part in edge.parts)
        assert abs(edge.ns - total * 1000) <= 1000
        ends = [part.begin + part.ns for part in edge.parts]
        assert [part.begin for part in edge.parts] == [edge.due, *ends[:-1]] and ends[-1] == edge.edge, "without a gap"
    assert abs(found.alignment.drift + made.DRIFT) < Fraction(1, 10**6)


def test_the_measurement_names_itself():
    found = explained(made.trace(late="busy"), own=[made.HOG])
    assert (found.worst(1)[0].main().cause, found.worst(1)[0].main().name) == ("busy", "this command")
    assert "the measurement itself took the CPU" in words.advice(found, None)[0]


def test_nothing_planted_nothing_named():
    found = explained(made.trace())
    assert max(part.ns for edge in found.edges for part in edge.parts) < LARGE
    assert {share.cause for share in found.shares if share.worst > 2000} <= {"slack", "idle", "wake", "program", "write", "uart"}


def test_bytes_before_it_on_the_wire():
    """A write of 20 bytes at 9600 baud takes longer than the period: each write waits for the
    one before."""
    scene = made.trace(every=20)
    found = explained(scene)
    assert (found.writes, found.bytes, found.stray, found.missing) == (made.COUNT, 20 * made.COUNT, 0, 0)
    waits = [sum(part.ns for part in edge.parts if part.cause == "line") for edge in found.edges]
    each = round(200 * 10**9 / made.BAUD) - made.PERIOD * 1000
    assert waits[0] == 0 and all(abs(wait - number * each) < 30_000 for number, wait in enumerate(waits))
    assert found.shares[0].cause == "line"


def test_a_gap_in_the_trace_is_no_cause():
    found = explained(made.trace(late="lost"))
    assert (found.blind, found.lost, len(found.edges)) == (1, 120, made.COUNT - 1)


def test_edges_that_are_missing_and_edges_of_others():
    scene = made.trace(late="busy")
    del scene.edges[4]
    found = explained(scene)
    assert (found.missing, found.stray) == (1, 0) and found.worst(1)[0].main().cause == "busy"
    scene = made.trace(late="busy")
    tick, ns, uncertainty = scene.edges[0]
    scene.edges.insert(0, (tick - 10 * made.TICK_HZ // 1000, ns - 10_000_000, uncertainty))
    found = explained(scene)
    assert (found.missing, found.stray) == (0, 1) and len(found.edges) == made.COUNT


def test_no_edges_and_no_writes():
    scene = made.trace()
    found = explain(parse(scene.text()), made.PROGRAM - 1, [], Fraction(made.TICK_HZ))
    assert (found.edges, found.missing, found.alignment) == ([], made.COUNT, None)
    found = explain(parse(scene.text()), 99999, frames(scene), Fraction(made.TICK_HZ))
    assert (found.writes, found.edges, found.stray) == (0, [], made.COUNT)
    with pytest.raises(BadInput, match="every: it is more than 0"):
        explain([], 1, [], Fraction(1), every=Fraction(0))


def without_functions(scene):
    """A kernel without kprobes, or that drops their events."""
    lines = [line for line in scene.text() if "serial8250" not in line and "uart_write" not in line]
    return explain(parse(lines), made.PROGRAM, frames(scene), Fraction(made.TICK_HZ), fds=[3])


@pytest.mark.parametrize("cause", ["busy", "irq", "idle", "program", "resume", "resume asleep", "worker", "handover busy"])
def test_a_kernel_without_functions_to_trace(cause):
    """The file number says which write() goes to the port. The UART has its byte at the end of
    write(), or when a worker has resumed the port, or at the edge."""
    scene = made.trace(late=cause)
    found = without_functions(scene)
    assert len(found.edges) == made.COUNT
    left = [edge.ns - total * 1000 for edge, total in zip(found.edges, scene.totals, strict=True)]
    assert max(left) - min(left) <= 2 * BOUND, "but for a constant"
    for edge in found.edges:
        assert edge.ns == sum(part.ns for part in edge.parts)
        large = [part for part in merged(edge.parts) if part.ns > LARGE]
        assert len(large) == (edge.chain.number == made.LATE_ONE), words.plain(edge)
    main = found.edges[made.LATE_ONE].main()
    assert main.cause == PLANTED[cause][0] and PLANTED[cause][1] in main.name


def test_the_edge_was_before_the_end_of_write():
    """An interrupt that came after the edge, and a worker that had nothing to hand on, made nothing
    late."""
    scene, worker = made.trace(), ("kworker/u8:1", made.WORKER)
    calls = [at for at, _, line in scene.lines if "sys_write(fd: 3," in line]
    returned = [entry for entry in scene.lines if "sys_write -> 0x1" in entry[2]]
    scene.lines = [entry for entry in scene.lines if entry not in returned]
    work = "work struct=0000000070112ce9 function=pm_runtime_work workqueue=pm req_cpu=8192 cpu=0"
    for at in calls:
        me = ("tri gger-3", made.PROGRAM)
        scene.say(at + 8, *me, f"workqueue_queue_work: {work}", flags="d..3.")
        scene.interrupt(at + 80, at + 5000, me, 27, "eth0 rx")
        scene.say(at + 5010, *me, "sys_write -> 0x1", flags="...1.")
        scene.say(at + 6000, *worker, "workqueue_execute_start: work struct 0000000070112ce9: function pm_runtime_work", 1, ".....")
        scene.say(at + 6100, *worker, "workqueue_execute_end: work struct 0000000070112ce9: function pm_runtime_work", 1, ".....")
    found = without_functions(scene)
    assert len(found.edges) == made.COUNT
    left = [edge.ns - total * 1000 for edge, total in zip(found.edges, scene.totals, strict=True)]
    assert max(left) - min(left) <= 2 * BOUND, "but for a constant"
    for edge in found.edges:
        assert not [part for part in merged(edge.parts) if part.ns > LARGE], words.plain(edge)
        assert not {"worker", "resume"} & {part.cause for part in edge.parts}


def test_functions_of_modules():
    """Such a driver's functions have the module's name behind them."""
    scene = made.trace(late="resume")
    lines = [re.sub(r"(\(serial8250_\S+|\(uart_write\S+)\)", r"\1 [8250_base])", line) for line in scene.text()]
    assert sum("[8250_base]" in line for line in lines) > 3 * made.COUNT
    found = explain(parse(lines), made.PROGRAM - 1, frames(scene), Fraction(made.TICK_HZ))
    assert [edge.parts for edge in found.edges] == [edge.parts for edge in explained(scene).edges]


@pytest.mark.parametrize("late, cause", [("", "write"), ("resume", "resume")])
def test_a_driver_that_needs_no_interrupt(late, cause):
    """PL011 and LitePulse give the UART its bytes in their order to send: within write(), or within
    the worker that resumes the port."""
    scene = made.trace(late=late)
    lines = [line.replace("d.h3.", "d..3.") if "tx_chars" in line else line for line in scene.text()]
    lines = [line.replace("serial8250", "pl011") for line in lines if "irq=3 " not in line]
    found = explain(parse(lines), made.PROGRAM - 1, frames(scene), Fraction(made.TICK_HZ))
    for edge, total in zip(found.edges, scene.totals, strict=True):
        assert abs(edge.ns - total * 1000) <= 1000
        assert edge.parts[-1].cause in (cause if edge.chain.number == made.LATE_ONE else "write", "adapter")
    assert "uart" not in {share.cause for share in found.shares}


def test_a_timer_of_another_clock():
    """clock_nanosleep(CLOCK_REALTIME): the trace has times of that clock in the timer's events."""
    shift = 1_800_000_000_000_000_000

    def moved(line):
        words = line.split(" ")
        for number, word in enumerate(words):
            name, _, value = word.partition("=")
            if name in ("expires", "softexpires", "now"):
                words[number] = f"{name}={int(value) + shift}"
        return " ".join(words)

    scene = made.trace(late="idle")
    found = explain([*parse(map(moved, scene.text()))], made.PROGRAM - 1, frames(scene), Fraction(made.TICK_HZ))
    for edge, total in zip(found.edges, scene.totals, strict=True):
        assert abs(edge.ns - total * 1000) <= 2000, "the timer's clock and the trace's are read one after the other"


@pytest.mark.parametrize("seed", range(5))
def test_a_line_below_all_points(seed):
    rng = random.Random(seed)
    slope = Fraction(rng.randint(-150, 150), 10**6)
    points = [
        (x := rng.randrange(10**10), 50_000 + int(slope * x) + (rng.randrange(10**7) if rng.random() < 0.7 else 0)) for _ in range(200)
    ]
    line = below(points)
    over = [y - line.value(x) for x, y in points]
    assert min(over) >= -1 and abs(line.slope - slope) < Fraction(1, 10**6) and sum(each < 20 for each in over) > 20
    assert below(points, Fraction(1, 10**3), Fraction(2, 10**3)).slope == Fraction(1, 10**3)
    assert below([(5, 7)]).value(5) == 7 and below([(5, 7), (5, 3)]).value(9) == 3


def test_frames_of_edges():
    """0x55 has an edge for each bit; only the first of a frame is a start edge."""
    edges = [(100 * bit, 0 if bit % 2 == 0 else 1, 0, 0) for bit in range(10)] + [(1000, 0, 0, 0), (1900, 1, 0, 0), (5000, 0, 0, 0)]
    assert [frame.tick for frame in frames_of_edges(edges, Fraction(100), Fraction(10))] == [0, 1000, 5000]
    inverted = [(tick, 1 - level, ns, uncertainty) for tick, level, ns, uncertainty in edges]
    assert [frame.tick for frame in frames_of_edges(inverted, Fraction(100), Fraction(10), 0)] == [0, 1000, 5000]


def test_frames_belong_to_writes():
    def at(*times):
        return [Frame(time, time, 0, 10) for time in times]

    assert [frame.tick for frame in paired([(0, 2), (50, 1)], at(5, 15, 55))] == [5, 55]
    assert paired([(0, 1), (50, 1)], at(55)) == [None, at(55)[0]]
    assert paired([(0, 1), (50, 1)], []) == [None, None]


def test_lines_that_are_none_of_ours():
    """Comments, other events, and names of tasks that look like events."""
    lines = [
        "# tracer: nop",
        "",
        "          <idle>-0       [001] d..2.  12.345678: tick_stop: success=1",
        "  a-1 [000] d..1-77    ( 77)   [003] dNh4.  99.000001: sched_waking: comm=x pid=3 prio=120 pid=12 prio=-1 target_cpu=000",
        "      t\xc3\xa4st\x1b[2Jx-77      [003] d..2.  99.000002: cpu_idle: state=2 cpu_id=3",
    ]
    first, second = parse(lines)
    assert (first.at, first.cpu, first.pid, first.task, first.interrupt) == (99_000_001_000, 3, 77, "a-1 [000] d..1", True)
    assert (first.values["comm"], first.values["pid"], first.values["prio"]) == ("x pid=3 prio=120", "12", "-1")
    assert second.task == "täst?[2Jx" and not second.interrupt


# Traces of real kernels: (pid, the program's; microseconds from `due` to `handed` of its four
# writes).
REAL = {"6.1": 116, "6.12": 157, "7.2": 125}
TRACES = Path(__file__).resolve().parent / "traces"


def real(line):
    return list(parse((TRACES / f"linux-{line}.txt").read_text(encoding="latin-1").splitlines()))


@pytest.mark.parametrize("line", REAL)
def test_traces_of_real_kernels(line):
    """All four writes, and every time in them, found once more by a look at the text."""
    text = (TRACES / f"linux-{line}.txt").read_text(encoding="latin-1").splitlines()
    mine = [row for row in text if f"-{REAL[line]} " in row]

    def times(rows, pattern):
        found = [re.search(r" (\d+)\.(\d{6}): ", row) for row in rows if re.search(pattern, row)]
        return [int(each[1]) * 10**9 + int(each[2]) * 1000 for each in found]

    found = chains(real(line), REAL[line])
    assert [chain.write for chain in found] == times(mine, r": sys_write\(fd: 3,")
    assert [chain.start for chain in found] == times(mine, r": serial8250_start_tx: ")
    assert [chain.handed for chain in found] == times(text, r": serial8250_tx_chars: ")
    assert [chain.wake for chain in found] == ["again", "timer", "timer", "timer"] and not any(chain.via_worker for chain in found)
    requested = [int(re.search(r"softexpires=(\d+)", row)[1]) for row in mine if "function=hrtimer_wakeup" in row]
    assert [chain.due for chain in found[1:]] == requested[:3]
    assert [chain.limit - chain.due for chain in found[1:]] == [50_000] * 3, "the usual timer slack"
    assert [chain.fired for chain in found[1:]] == times(text, r"hrtimer_expire_entry: .*function=hrtimer_wakeup")
    assert [chain.running for chain in found[1:]] == times(text, rf"sched_switch: .* next_pid={REAL[line]} ")[-3:]


@pytest.mark.parametrize("line", REAL)
def test_parts_of_real_kernels(line):
    """A halted processor of a virtual machine, woken late, is the main cause of each; nothing is
    unknown."""
    events = real(line)
    handed = [chain.handed for chain in chains(events, REAL[line])]
    wire = [Frame(at // 1000, at, 1000, 1040) for at in handed]
    found = explain(events, REAL[line], wire, Fraction(10**6))
    assert len(found.edges) == 4 and not found.lost
    for edge in found.edges:
        assert sum(part.ns for part in edge.parts) == edge.ns and "unknown" not in {part.cause for part in edge.parts}
    assert {edge.main().cause for edge in found.edges[1:]} == {"idle"}


def simulated_soc():
    """A run of sim/linux/late_edges.py: (lines, {kind: [values of each]})."""
    lines = (TRACES / "linux-soc.txt").read_text(encoding="latin-1").splitlines()
    noted = defaultdict(list)
    for line in lines:
        if row := re.fullmatch(r"# (\w+)((?: -?\d+)+)", line):
            noted[row[1]].append([int(value) for value in row[2].split()])
    return lines, noted


def test_a_trace_with_its_pins():
    """Of a real-time process that makes each third byte late, on a SoC whose kernel shows no functions
    of drivers: it is named for those, for as long as it ran, and parts and pins agree."""
    lines, noted = simulated_soc()
    ((pid, file),) = noted["program"]
    frames = frames_of_edges(noted["edge"], Fraction(50_000_000, 115200), Fraction(10))
    found = explain(parse(lines), pid, frames, Fraction(50_000_000), fds=[file])
    # Each byte is 0xff: its start bit is all that is low.
    starts = [ns for _, level, ns, _ in noted["edge"] if not level]
    dues = [due for (due,) in noted["due"]]
    assert len(found.edges) == len(dues) == len(starts) == 6
    assert (found.missing, found.stray, found.blind, found.lost) == (0, 0, 0, 0)
    left = [start - due - edge.ns for start, due, edge in zip(starts, dues, found.edges)]
    assert max(left) - min(left) <= 1000
    for number, (edge, due) in enumerate(zip(found.edges, dues)):
        assert edge.due == due and sum(part.ns for part in edge.parts) == edge.ns
        large = [part for part in merged(edge.parts) if part.ns > 2_000_000]
        if number % 3 != 2:
            assert not large
            continue
        (hog,) = large
        assert (hog.cause, hog.name) == ("busy", "planter (real-time priority 50)")
        _, end = noted["planted"][number // 3]
        # The timer's tick comes while it runs, and it needs some time to go to sleep.
        assert -1_200_000 < hog.ns - (end - due) < 400_000


class Identity:
    name, backend, simulated = "/dev/litepulse0", "driver", False


def recorded(scene, **options):
    found = explained(scene, **options)
    bit = Fraction(made.TICK_HZ, made.BAUD)
    cost = Cost(1.0, 0.02, 1000, 500.0, 2)
    edges = list(perfetto.levels(frames(scene), bit, 8))
    return Recorded("rx", found, edges, cost, 0, 0, {3: "/dev/ttyS1"})


# What would have helped, by what was planted.
HELP = {
    "busy": "chrt -f 51 PROGRAM: above hog",
    "idle": "hold /dev/cpu_dma_latency open with 0",
    "irq": "echo CPU >/proc/irq/27/smp_affinity_list",
    "softirq": "no network or disk interrupts",
    "worker": "renice -n -20",
    "resume": "echo on >/sys/class/tty/ttyS1/device/power/control",
    "slept": "TIMER_ABSTIME",
    "slack": "prctl(PR_SET_TIMERSLACK, 1)",
    "timer": "irqsoff",
    "blocked": "mlockall()",
    "program": "do that before it sleeps",
    "adapter": "a USB adapter sends with the next USB frame",
}


@pytest.mark.parametrize("cause", HELP)
def test_what_would_have_helped(cause):
    run = recorded(made.trace(late=cause), **every_of(cause))
    lines = words.advice(run.found, run.port)
    assert HELP[cause] in lines[0]
    sentence = words.plain(run.found.worst(1)[0])
    late = run.found.edges[made.LATE_ONE]
    assert sentence.startswith(f"edge {made.LATE_ONE} at tick {late.frame.tick} was {late.ns / 1000:.1f} us late: for ")
    assert late.main().plain() in sentence.split("; ")[0]
    rows = words.table(run.found)
    assert rows[0][0] == run.found.shares[0].label and sum(float(row[1].split()[0]) for row in rows) == pytest.approx(100, abs=0.6)
    assert run.cost.share == pytest.approx((0.02 + 1000 * 500e-9) / 2) and words.cost_line(run.cost).startswith("1.0 % of the CPU")


def test_json_and_its_picture(tmp_path):
    run = recorded(made.trace(late="busy"))
    result = {"command": "explain", "backend": "driver", "simulated": False, "device": "x", "tick_hz": "48000000", **words.result(run)}
    result = json.loads(json.dumps(result))
    assert all(sum(part["ns"] for part in edge["parts"]) == edge["late_ns"] for edge in result["edges"])
    assert sum(cause["share"] for cause in result["causes"]) == pytest.approx(1)
    series = plot.from_result(result)
    assert series.stacks[0][0] == "CPU busy: hog (real-time priority 50)"
    assert [sum(values) for values in zip(*(values for _, values in series.stacks))] == pytest.approx(series.y)
    assert any("late by [µs]" in line for line in plot.text(series, 80))
    pytest.importorskip("matplotlib")
    plot.save(series, tmp_path / "late.svg")
    assert "hog (real-time priority 50)" in (tmp_path / "late.svg").read_text()


@pytest.mark.parametrize("every", [1, 20])
def test_perfetto(every):
    """A viewer's rules: slices of a track nest, counters go forward, and each track has a name."""
    scene = made.trace(late="busy", every=every)
    run = recorded(scene)
    trace = json.loads(json.dumps(perfetto.trace(run.found, run.pin, run.edges)))
    tracks = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"], event["name"]))
    named = {(event["pid"], event["tid"]) for event in trace["traceEvents"] if event["ph"] == "M" and event["name"] == "thread_name"}
    assert set(tracks) == named
    for slices in tracks.values():
        inside = []
        for begin, end, _ in sorted(slices, key=lambda each: (each[0], -each[1])):
            while inside and inside[-1] <= begin + 1e-6:
                inside.pop()
            assert not inside or end <= inside[-1] + 1e-6
            inside.append(end)
    pin = [(event["ts"], event["args"]["level"]) for event in trace["traceEvents"] if event["ph"] == "C"]
    assert pin == sorted(pin) and [level for _, level in pin[:3]] == [1, 0, 1]
    late = next(edge for edge in run.found.edges if edge.chain.number == made.LATE_ONE)
    assert any(abs(at * 1000 - late.edge) < 1000 and not level for at, level in pin), "the start edge is where the slice ends"
    assert any(name.startswith("hog") for *_, name in tracks[3, 0])


def test_refusals(tmp_path):
    lockdown = tmp_path / "lockdown"
    with pytest.raises(Unsupported, match="needs root"):
        tracefs.place_of((tmp_path,), lockdown, 1000)
    with pytest.raises(Unsupported, match="there is no tracefs"):
        tracefs.place_of((tmp_path,), lockdown, 0)
    (tmp_path / "instances").mkdir()
    assert tracefs.place_of((tmp_path / "none", tmp_path), lockdown, 0) == tmp_path
    lockdown.write_text("none integrity [confidentiality]\n")
    with pytest.raises(Unsupported, match="locked down"):
        tracefs.place_of((tmp_path,), lockdown, 0)


def test_a_tracefs_that_traces_nothing(tmp_path):
    """It is refused, and what was begun is taken back."""
    (tmp_path / "instances").mkdir()
    (tmp_path / "kprobe_events").touch()
    with pytest.raises(Unsupported, match="does not trace sched/sched_switch"), tracefs.Tracer(tmp_path):
        pass
    probes = (tmp_path / "kprobe_events").read_text().splitlines()
    assert sum(line.startswith("p:") for line in probes) == sum(line.startswith("-:") for line in probes[: 2 * len(FUNCTIONS)])


def test_no_probes_where_the_kernel_drops_their_events(tmp_path):
    (tmp_path / "instances").mkdir()
    (tmp_path / "kprobe_events").touch()
    tracer = tracefs.Tracer(tmp_path)
    tracer.machine = "riscv32"
    with pytest.raises(Unsupported), tracer:
        pass
    assert not re.search("^p:", (tmp_path / "kprobe_events").read_text(), re.M) and not tracer.functions


def test_nothing_to_explain():
    scene = made.trace()
    for found, status, text in (
        (
            explain(parse(scene.text()), 9, frames(scene), Fraction(made.TICK_HZ)),
            3,
            "x ended with status 3, and wrote nothing to a serial port",
        ),
        (explain(parse(scene.text()), 9, frames(scene), Fraction(made.TICK_HZ)), None, "x was ended, and wrote nothing to a serial port"),
        (
            explain(parse(scene.text()), made.PROGRAM, [], Fraction(made.TICK_HZ)),
            0,
            "x wrote 30 bytes, but rx has no edges: is the port's TX",
        ),
    ):
        with pytest.raises(LitePulseError, match=text):
            check(Recorded("rx", found, [], Cost(1, 1, 1, 1, 1), 0, status), "x")


def test_the_command_line():
    """What is behind -- is the program's, whatever it looks like."""
    for words_of, message in (
        (["explain", "--sim", "--", "true"], "no port of this PC is wired to the simulated SoC"),
        (["explain", "--self", "--wire", "0", "--", "true"], "leave out --wire"),
        (["explain", "--", "/nonexistent/program"], "there is no such program"),
        (["explain", "--loopback", "--", "true"], "--loopback shows no other port"),
    ):
        with pytest.raises(LitePulseError, match=message):
            args = make_parser(words_of).parse(words_of)
            args.function(args)
    given = ["explain", "--wire", "1", "--", "./trigger", "--step", "-5", "--json", "--", "x"]
    args = make_parser(given).parse(arguments.join_negatives(given))
    assert args.program == ["./trigger", "--step", "-5", "--json", "--", "x"] and args.wired == "1" and args.style is None
