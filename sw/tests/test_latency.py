# SPDX-License-Identifier: BSD-2-Clause
"""litepulse latency: exact ticks on the simulated SoC and between two of them, losses and doubles that are injected, a pseudo-terminal as
the patient of --echo. What must come of it is computed here, without code of the package."""

import contextlib
import fcntl
import json
import math
import os
import pty
import random
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import tty
from bisect import bisect_right
from fractions import Fraction
from pathlib import Path

import numpy
import pytest

import litepulse
from litepulse import plot
from litepulse.commands.report import LOST
from litepulse.distribution import Distribution
from litepulse.echo import Echo
from litepulse.line import Format
from litepulse.pairing import Pairing
from litepulse.port_program import kind_of

from .fake_board import FakeBoard, Server
from .fake_machine import Machine
from .test_realtime import FIFO, FLAG
from .test_sim import falls, pins

ROOT = Path(__file__).resolve().parents[2]
ENV = {**os.environ, "PYTHONPATH": f"{ROOT / 'sw'}{os.pathsep}{ROOT}", "COLUMNS": "80", "PYTHONUNBUFFERED": "1"}
COMMAND = [sys.executable, "-m", "litepulse"]
HZ = 48_000_000


def run(*arguments, **options):
    return subprocess.run([*COMMAND, *map(str, arguments)], env=ENV, capture_output=True, text=True, timeout=280, check=False, **options)


def result_of(*arguments, status=0):
    done = run(*arguments, "--json")
    assert done.returncode == status and done.stderr == "", (done.returncode, done.stderr)
    return json.loads(done.stdout)


def counts(result):
    return {name: result[name] for name in ("answered", "missing", "extra", "stray", "ignored", "unknown", "refused") if result[name]}


def check_figures(result):
    """Each figure against another computation from the samples, and the samples against the histogram."""
    delays = sorted(each["delay_ticks"] for each in result["samples"] if each["outcome"] == "answered")
    assert result["answered"] == len(delays) and result["histogram"] == [[value, delays.count(value)] for value in sorted(set(delays))]
    assert (result["least_ticks"], result["most_ticks"]) == (delays[0], delays[-1])
    for name, percent in (("median", 50), ("p99", 99), ("p99_9", 99.9)):
        assert result[f"{name}_ticks"] == numpy.percentile(delays, percent, method="inverted_cdf"), name
    assert Fraction(result["mean_ticks"]) == Fraction(sum(delays), len(delays))


# Figures and pairs, alone -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 99, 100, 101, 999, 1000, 1001, 5000])
def test_percentiles_by_nearest_rank(size):
    rng = random.Random(size)
    values = [rng.choice((rng.randrange(-5, 20), rng.randrange(100_000))) for _ in range(size)]
    found = Distribution(values)
    for percent in (Fraction(0), Fraction(1, 3), Fraction(50), Fraction(90), Fraction(99), Fraction(999, 10), Fraction(100)):
        ordered = sorted(values)
        rank = next(n for n in range(1, size + 1) if Fraction(n * 100, size) >= percent)
        assert found.percentile(percent) == ordered[rank - 1]
    assert (found.least, found.most, found.mean, found.count) == (min(values), max(values), Fraction(sum(values), size), size)
    assert found.rows() == sorted((value, values.count(value)) for value in set(values))


@pytest.mark.parametrize("most", [1, 2, 7, 20])
@pytest.mark.parametrize("seed", range(5))
def test_bins_hold_all_values(most, seed):
    rng = random.Random(seed)
    values = [rng.randrange(-50, rng.choice((10, 1000))) for _ in range(300)]
    highest = sorted(values)[250]
    bins, above = Distribution(values).bins(most, highest)
    width = {b[0] - a[0] for a, b in zip(bins, bins[1:])} or {max(values) - min(values) + 1}
    assert len(bins) <= most and len(width) == 1 and bins[0][0] == min(values)
    (size,) = width
    assert [count for _, count in bins] == [sum(low <= v < low + size and v <= highest for v in values) for low, _ in bins]
    assert above == sum(value > highest for value in values)
    assert Distribution().bins(most) == ([], 0)


def test_no_values_have_no_figures():
    for ask in (lambda d: d.least, lambda d: d.most, lambda d: d.mean, lambda d: d.percentile(50)):
        with pytest.raises(ValueError, match="values"):
            ask(Distribution())


def feed(pairing, stimuli, responses, values=None):
    """All samples. stimuli: ticks; responses: ticks, or (tick, byte)."""
    things = [(tick, 1, number) for number, tick in enumerate(stimuli)]
    things += [(each, 0, 0) if isinstance(each, int) else (each[0], 0, each[1]) for each in responses]
    found = []
    for tick, is_stimulus, number in sorted(things):
        found += pairing.stimulus(tick, number, number % (values or 256)) if is_stimulus else pairing.response(tick, number)
    return found + pairing.pass_time(1 << 40) + pairing.end()


@pytest.mark.parametrize("seed", range(30))
def test_pairs_by_time(seed):
    """Each stimulus with the first response between its blanking time and its timeout, before the next stimulus."""
    rng = random.Random(seed)
    timeout, blank = rng.choice((300, 5000)), rng.choice((0, 40))
    stimuli = sorted(rng.sample(range(100, 40_000), 40))
    responses = sorted(rng.sample(range(0, 42_000), rng.choice((10, 40, 90))))
    found = feed(Pairing(timeout, blank), stimuli, responses)
    wanted = {}
    for n, start in enumerate(stimuli):
        end = stimuli[n + 1] if n + 1 < len(stimuli) else 1 << 40
        gap = [tick for tick in responses if start < tick <= end and tick - start >= blank]
        first = gap[0] if gap and gap[0] - start <= timeout else None
        wanted[n] = ("missing", None) if first is None else ("answered", first - start)
    outcomes = {each.number: (each.outcome, each.delay) for each in found if each.outcome in ("answered", "missing")}
    assert outcomes == wanted
    rest = [each.response for each in found if each.outcome in ("extra", "stray", "ignored")]
    paired = [stimuli[n] + delay for n, (_, delay) in wanted.items() if delay is not None]
    assert sorted(rest + paired) == responses, "each response is counted once"
    early = [t for t in responses if (n := bisect_right(stimuli, t - 1)) and t - stimuli[n - 1] < blank]
    assert [each.response for each in found if each.outcome == "ignored"] == early


@pytest.mark.parametrize("seed", range(30))
def test_pairs_by_content(seed):
    """The response to a byte belongs to it, however many others have left since."""
    rng = random.Random(seed)
    stimuli, delays = [1000 * n for n in range(200)], {}
    responses, kinds = [], {"answered": 0, "missing": 0, "extra": 0, "stray": 0}
    for n, tick in enumerate(stimuli):
        what = rng.choice(("answered", "answered", "missing", "extra", "stray"))
        if what == "missing":
            kinds["missing"] += 1
            continue
        delay = rng.randrange(1, 5000)
        delays[n] = delay
        responses.append((tick + delay, n % 256))
        kinds["answered"] += 1
        if what == "extra":
            responses.append((tick + rng.randrange(delay + 1, 6000), n % 256))
            kinds["extra"] += 1
        elif what == "stray":  # a byte of long ago
            responses.append((tick + 7000, (n + 56) % 256))
            kinds["stray"] += 1
    found = feed(Pairing(6000, by_content=True), stimuli, responses)
    assert {each.number: each.delay for each in found if each.outcome == "answered"} == delays
    assert {name: sum(each.outcome == name for each in found) for name in kinds} == kinds
    late = {n for n, delay in delays.items() if delay > 1000 and n + 1 < len(stimuli)}
    assert {each.number for each in found if each.overtaken} == late


def test_a_missing_and_then_a_double_response_is_reported():
    """Without content it is unknown, but likely, that the first of the two is the missing one."""
    found = feed(Pairing(5000), [0, 1000, 2000, 3000], [500, 2100, 2600, 3300, 3400])
    assert [(each.number, each.outcome, each.overtaken) for each in found] == [
        (0, "answered", False),
        (1, "missing", False),
        (2, "answered", False),
        (2, "extra", True),
        (3, "answered", False),
        (3, "extra", False),
    ]


def test_the_ends_of_blanking_time_and_timeout_count_as_in_time():
    for delay, outcomes in ((39, ["ignored", "missing"]), (40, ["answered"]), (300, ["answered"]), (301, ["missing", "stray"])):
        for by_content in (False, True):
            assert [each.outcome for each in feed(Pairing(300, 40, by_content=by_content), [0], [delay])] == outcomes, delay


def test_a_byte_with_an_error_is_no_response():
    pairing = Pairing(1000, by_content=True)
    found = pairing.stimulus(0, 0, 5) + pairing.response(10, 5, good=False) + pairing.response(30, 6) + pairing.response(50, 5)
    assert [(each.outcome, each.delay) for each in found] == [("stray", None), ("stray", None), ("answered", 50)]


def test_what_still_waits_at_the_end_is_unknown():
    pairing = Pairing(1000, offset=7)
    found = pairing.stimulus(0, 0, 0) + pairing.response(100) + pairing.stimulus(500, 1, 1)
    assert pairing.waiting and [(each.outcome, each.delay) for each in found] == [("answered", 93)]
    assert [(each.number, each.outcome) for each in pairing.end()] == [(1, "unknown")] and not pairing.waiting


def test_values_that_are_added_at_once():
    found, single = Distribution(), Distribution([3, 3, 3, 5])
    found.add(3, 3)
    found.add(5)
    assert (found.rows(), found.count, found.mean) == (single.rows(), 4, Fraction(14, 4)) == (single.rows(), single.count, single.mean)


def test_a_double_response_is_suspected_once():
    found = feed(Pairing(5000), [0, 1000, 2000], [1500, 1600, 1700, 2500])
    assert [each.overtaken for each in found if each.outcome == "extra"] == [True, False]


def test_what_comes_within_the_holdoff_is_part_of_a_response():
    """It restarts with each response, not with ignored ones; without a stimulus before there is no
    holdoff."""
    found = feed(Pairing(5000, holdoff=100), [0, 1000], [10, 60, 109, 110, 180, 1005, 1104, 1105])
    assert [(each.number, each.outcome, each.response) for each in found] == [
        (0, "answered", 10),
        (0, "ignored", 60),
        (0, "ignored", 109),
        (0, "extra", 110),
        (0, "ignored", 180),
        (1, "answered", 1005),
        (1, "ignored", 1104),
        (1, "extra", 1105),
    ]


def test_edges_of_a_byte_are_one_response():
    """0x55 falls five times; from the first on, 9 bit times are held off."""
    words = ["--wire", "0", "latency", "--byte", "0x55", "--on", "edge:0:fall", "--baud", "115200", "--interval", "1ms", "--count", 12]
    result = result_of("--sim", *words, "--holdoff", "80us")
    assert counts(result) == {"answered": 12, "ignored": 48} and result["histogram"] == [[1, 12]] and result["holdoff_ticks"] == 3840
    assert counts(result_of("--sim", *words, status=1)) == {"answered": 12, "extra": 48}


def test_lost_records_make_no_wrong_delays():
    """By time: a response after a loss may belong to a stimulus whose record was lost. By content it cannot."""
    for by_content, outcomes in (
        (False, [(0, "answered"), (1, "unknown"), (2, "unknown"), (3, "unknown"), (4, "answered")]),
        (True, [(0, "answered"), (2, "unknown"), (3, "answered"), (1, "unknown"), (4, "answered")]),
    ):
        pairing = Pairing(2000, by_content=by_content)
        found = pairing.stimulus(0, 0, 0) + pairing.response(10, 0) + pairing.stimulus(1000, 1, 1)
        pairing.blind(3500)  # the response to 1 and all of 2
        found += pairing.stimulus(3000, 3, 3) + pairing.response(3600, 3)
        found += pairing.stimulus(4000, 4, 4) + pairing.response(4100, 4) + pairing.pass_time(9999)
        assert sorted((each.number, each.outcome) for each in found if each.number is not None) == sorted(outcomes)
        assert {each.delay for each in found if each.delay is not None} == ({10, 100, 600} if by_content else {10, 100})


def test_refused_stimuli_wait_for_nothing():
    pairing = Pairing(1000)
    found = pairing.stimulus(0, 0, 0) + pairing.refused(1, 50, "late") + pairing.response(70) + pairing.refused(4, 80, "busy")
    assert [(e.number, e.outcome, e.delay, e.reason) for e in found] == [
        (1, "refused", None, "late"),
        (0, "answered", 70, None),
        (2, "unknown", None, None),
        (3, "unknown", None, None),
        (4, "refused", None, "busy"),
    ]


# On the simulated SoC ---------------------------------------------------------------------------------------------------


def test_a_wire_answers_after_one_tick(tmp_path):
    """Each stimulus is where the recorded pins have it, each delay is LOOPBACK_TICKS, and the same seed gives the same distances."""
    vcd = tmp_path / "pins.vcd"
    words = ["--wire", "1", "latency", "--width", "10us", "--on", "edge:1:fall", "--interval", "1ms", "--start", "8000000t", "--count", 30]
    result = result_of("--sim", "--vcd", vcd, *words)
    ticks = [each["tick"] for each in result["samples"]]
    assert ticks == falls(pins(vcd)["tx"]) and ticks[0] == result["start"] == 8_000_000 and result["stimuli"] == 30
    assert (
        [each["response"] - each["tick"] for each in result["samples"]] == [1] * 30 == [each["delay_ticks"] for each in result["samples"]]
    )
    assert counts(result) == {"answered": 30} and result["histogram"] == [[1, 30]] and result["lost"] == 0
    assert result["ended"] == "all sent" and result["simulated"] is True and result["overtaken"] == 0
    check_figures(result)
    gaps = [b - a for a, b in zip(ticks, ticks[1:])]
    assert all(24_000 <= gap <= 72_000 for gap in gaps) and len({gap // 4800 for gap in gaps}) > 5, "spread over the whole interval"
    assert (result["interval_ticks"], result["jitter_ticks"], result["seed"]) == (48_000, 24_000, 1)

    again = result_of("--sim", *words, "--from", "end")
    assert [each["tick"] for each in again["samples"]] == ticks and again["histogram"] == [[1 - 480, 30]], "10 us are 480 ticks"
    other = result_of("--sim", *words, "--seed", "2", "--jitter", "100us")
    gaps = [b["tick"] - a["tick"] for a, b in zip(other["samples"], other["samples"][1:])]
    assert all(43_200 <= gap <= 52_800 for gap in gaps) and len(set(gaps)) > 20


def test_bytes_that_count_up_come_back():
    result = result_of("--sim", "latency", "--baud", "115200", "--interval", "300us", "--jitter", "0", "--count", 300, "--format", "7E1")
    ticks = [each["tick"] for each in result["samples"]]
    assert ticks == [result["start"] + 14_400 * n for n in range(300)] and counts(result) == {"answered": 300}
    assert result["histogram"] == [[1, 300]] and result["stimulus"] == "counting bytes"
    assert result["timeout_ticks"] == 128 * 14_400 - 1, "seven bits: 128 bytes differ"


@pytest.mark.seconds(30)
def test_losses_doubles_and_late_responses_are_counted(tmp_path):
    """The stimuli leave at the same ticks as in a run before; edges on input 0 come at ticks chosen for each of them."""
    words = ["latency", "--width", "5us", "--on", "edge:0:rise", "--interval", "500us", "--start", "3000000t", "--count", 40]
    words += ["--timeout", "150us", "--blank", "2us"]
    ticks = [each["tick"] for each in result_of("--sim", *words, status=1)["samples"]]
    rng, edges, wanted = random.Random(5), [], []
    for n, tick in enumerate(ticks):
        delay = rng.randrange(200, 7000)
        what = ("answered", "missing", "extra", "stray", "ignored")[n % 5]
        if what == "ignored":
            edges += [tick + 50]
        if what != "missing" and what != "stray":
            edges += [tick + delay]
        if what == "extra":
            edges += [tick + delay + 300]
        if what == "stray":
            edges += [tick + 7300]
        wanted.append((n, delay + 1 if what in ("answered", "extra", "ignored") else None))
    assert all(b - a > 200 for a, b in zip(edges, edges[1:]))
    stimulus = tmp_path / "edges.txt"
    stimulus.write_text("".join(f"{tick} 0 1\n{tick + 100} 0 0\n" for tick in edges))
    result = result_of("--sim", "--stimulus", stimulus, *words, status=1)
    assert [each["tick"] for each in result["samples"] if each["outcome"] in ("answered", "missing")] == ticks
    assert sorted((e["n"], e["delay_ticks"]) for e in result["samples"] if e["outcome"] in ("answered", "missing")) == wanted
    assert counts(result) == {"answered": 24, "missing": 16, "extra": 8, "stray": 8, "ignored": 8} and result["lost"] == 0
    check_figures(result)
    rows = run("--sim", "--stimulus", stimulus, *words, "--csv")
    assert (
        rows.returncode == 1 and "24 answered, 16 missing, 8 answered twice" in rows.stderr and "8 responses to no stimulus" in rows.stderr
    )
    lines = [line.split(",") for line in rows.stdout.splitlines()]
    assert lines[0] == ["n", "tick", "t_ns", "delay_ticks", "delay_ns", "outcome"] and len(lines) == 1 + 64
    for n, tick, t_ns, delay, delay_ns, outcome in lines[1:]:
        assert round(Fraction(t_ns) * HZ / 10**9) == int(tick)
        assert (outcome == "answered") == bool(delay) == bool(delay_ns)
        if delay:
            assert int(tick) == ticks[int(n)] and (int(n), int(delay)) in wanted
            assert abs(Fraction(delay_ns) - Fraction(int(delay) * 10**9, HZ)) <= Fraction(1, 2000)


def test_a_response_after_the_next_stimulus_is_reported(tmp_path):
    words = ["latency", "--width", "5us", "--on", "edge:0", "--interval", "200us", "--jitter", "0", "--start", "3000000t", "--count", 4]
    stimulus = tmp_path / "edges.txt"  # 1 is answered after 2 has left
    edges = [3_000_000 + 9600 * n + delay for n, delay in ((0, 500), (1, 9600 + 700), (2, 1500), (3, 500))]
    stimulus.write_text("".join(f"{tick} 0 1\n{tick + 100} 0 0\n" for tick in edges))
    done = run("--sim", "--stimulus", stimulus, *words)
    assert done.returncode == 1 and "1 missing, 1 answered twice" in done.stdout
    assert "1 response probably came after the next stimulus" in " ".join(done.stdout.split())


def test_a_response_in_the_tick_of_the_next_stimulus_is_that_to_the_one_before(tmp_path):
    words = ["latency", "--width", "5us", "--on", "edge:0", "--interval", "200us", "--jitter", "0", "--start", "3000000t", "--count", 2]
    stimulus = tmp_path / "edges.txt"  # a pin is stamped one tick after it changed
    edges = [3_000_000 + 9600 - 1, 3_000_000 + 9600 + 500]
    stimulus.write_text("".join(f"{tick} 0 1\n{tick + 100} 0 0\n" for tick in edges))
    result = result_of("--sim", "--stimulus", stimulus, *words)
    assert [(each["n"], each["delay_ticks"]) for each in result["samples"]] == [(0, 9600), (1, 501)] and counts(result) == {"answered": 2}


def test_a_byte_is_known_only_at_its_end():
    """It takes 50000 ticks, its timeout is 4800, and the board is looked at in between: it is in time by its start edge."""
    with Server(FakeBoard(step=3_000), "tcp") as server:
        words = ["latency", "--byte", "0x33", "--on", "byte:0x33", "--timeout", "100us", "--count", 5]
        result = result_of("--port", server.spec, *words)
    assert counts(result) == {"answered": 5} and result["histogram"] == [[1, 5]]


@contextlib.contextmanager
def linked(folder, delay):
    """Two simulated boards, TX of each wired to RX of the other through `delay` ticks; their ports."""
    from litex_soc import sim_soc

    words = [sim_soc.build(), "--tcp", "0", "--exit-with-parent", "--pace", "--pulse-hz", "400000"]
    words += ["--link", folder / "wire", "--link-delay", delay]
    processes = [subprocess.Popen([str(w) for w in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        yield [f"tcp:127.0.0.1:{json.loads(process.stdout.readline())['tcp']}" for process in processes]
    finally:
        for process in processes:
            process.stdin.close()
            process.wait(timeout=20)
            process.stdout.close()


@pytest.mark.seconds(30)
def test_the_hardware_responder_of_another_board(tmp_path):
    """There and back: the wire twice, a tick for each receiver, the frame, and the delay that was programmed. The same for each of 100."""
    wire, delay = 777, 1234
    with linked(tmp_path, wire) as (ours, other):
        line = ["--baud", "10k"]  # 40 ticks a bit
        words = [
            "--port",
            other,
            "respond",
            "--on",
            "byte:0/0",
            "--delay",
            f"{delay}t",
            "--byte",
            "0x5a",
            *line,
            "--count",
            "200",
            "--json",
        ]
        responder = subprocess.Popen([*COMMAND, *words], env=ENV, stdout=subprocess.PIPE, text=True)
        probe = litepulse.open(port=ours)
        while not any(each.outcome == "answered" for each in probe.latency(litepulse.Byte(0x5A), baud=10_000, count=1, timeout="50ms")):
            assert responder.poll() is None
        probe.close()
        result = result_of("--port", ours, "latency", "--byte", "0x33", "--on", "byte:0x5a", "--interval", "30ms", *line, "--count", 100)
        assert result["histogram"] == [[2 * wire + 2 + 400 + delay, 100]] and counts(result) == {"answered": 100}
        assert [each["delay_ticks"] for each in result["samples"]] == [2 * wire + 2 + 400 + delay] * 100
        assert result["stimulus_ticks"] == 400 and result["lost"] == 0
        end = result_of(
            "--port", ours, "latency", "--byte", "0x33", "--on", "byte:0x5a", "--interval", "30ms", *line, "--count", 10, "--from", "end"
        )
        assert end["histogram"] == [[2 * wire + 2 + delay, 10]]
        responder.send_signal(signal.SIGINT)
        printed = json.loads(responder.communicate(timeout=60)[0])
        assert {each["delay_ticks"] for each in printed["answers"]} == {delay}, "what the responder says of itself"


def test_in_python():
    with litepulse.open(sim=True, wires=["rx", "0"]) as board:
        with board.latency(litepulse.Edge(0, "fall"), width="5us", interval="500us", count=20) as latency:
            samples = list(latency)
        assert [(each.number, each.delay, each.outcome) for each in samples] == [(n, 1, "answered") for n in range(20)]
        assert latency.delays.rows() == [(1, 20)] and latency.counts == {"answered": 20} and latency.overtaken == latency.lost == 0
        with board.latency(baud=115200, interval="1ms") as endless:
            for each in endless:
                assert each.outcome == "answered" and each.delay == 1
                if each.number == 3:
                    break
        assert not board.busy and not board.status().line_busy
        with board.latency(baud=115200, interval="1ms", duration="10ms") as timed:
            ticks = [each.tick for each in timed]
        assert ticks[-1] - ticks[0] < 480_000 and len(ticks) >= 6
        with pytest.raises(litepulse.BadInput, match=r"^jitter: 1 ms .48001 ticks. is outside 0 to 1 ms .48000 ticks., the interval"):
            board.latency(baud=115200, interval="1ms", jitter="48001t")
        assert not board.busy


# Figures of cyclictest's users, people, bad input -----------------------------------------------------------------------


def test_the_histogram_file_is_cyclictests(tmp_path):
    """What OSADL's script for its plots looks for: rows of microseconds and counts, and the line of the largest."""
    file, stimulus = tmp_path / "histogram", tmp_path / "edges.txt"
    words = ["latency", "--width", "5us", "--on", "edge:0", "--interval", "500us", "--start", "3000000t", "--count", 20, "--jitter", "0"]
    delays = [48 * us + 7 for us in [3, 3, 5, 200] * 5]
    edges = [3_000_000 + 24_000 * n + delay for n, delay in enumerate(delays)]
    stimulus.write_text("".join(f"{tick} 0 1\n{tick + 100} 0 0\n" for tick in edges))
    done = run("--sim", "--stimulus", stimulus, *words, "--histogram", file)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in file.read_text().splitlines() if line and not line.startswith("#")]
    assert rows == [["000003", "000010"], ["000005", "000005"], ["000200", "000005"]]
    figures = dict(re.findall(r"(?m)^# (\w+)(?: Latencies)?: (\d+)$", file.read_text()))
    assert {name: int(value) for name, value in figures.items()} == {"Total": 20, "Min": 3, "Avg": 53, "Max": 200}


def test_a_histogram_that_is_not_written_leaves_the_old_one(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("of yesterday")
    with Server(FakeBoard(step=100_000), "tcp") as server:
        for file in (old, new):
            assert run("--port", server.spec, "latency", "--interval", "1us", "--count", "1", "--histogram", file).returncode == 2
        assert old.read_text() == "of yesterday" and not new.exists()
        words = ["latency", "--baud", "115200", "--interval", "5ms", "--count", "3", "--histogram"]
        assert run("--port", server.spec, *words, old).returncode == 0 and old.read_text().startswith("# Histogram\n000000 000003\n# Total")
        done = run("--port", server.spec, *words, "/dev/full")
        assert (done.returncode, done.stderr) == (2, "litepulse: histogram: /dev/full cannot be written: No space left on device\n")


def test_for_people():
    done = run("--sim", "--wire", "0", "latency", "--width", "10us", "--on", "edge:0:fall", "--interval", "500us", "--count", 20)
    assert done.returncode == 0 and done.stderr == "" and done.stdout.startswith("SIMULATED SoC")
    for text in (
        "low pulse of 480 ticks, from its falling edge → falling edge on 0,\nevery 500 µs ± 250 µs, seed 1\n",
        "20 sent, 20 answered, 0 missing, 0 answered twice, 0 records lost",
        "median   1 tick = 0.021 µs",
        "of 20 samples, p99 and p99.9 cannot be distinguished from the largest",
        "20 delays, SIMULATED",
    ):
        assert text in done.stdout, text
    assert max(map(len, done.stdout.splitlines())) <= 80


BAD = {
    "overlap": (["--baud", "9600", "--interval", "1ms"], "interval: the stimuli would overlap: one takes 1.042 ms (50000 ticks)"),
    "jitter too large": (
        ["--interval", "10ms", "--jitter", "11ms"],
        "jitter: 11 ms (528000 ticks) is outside 0 to 10 ms (480000 ticks), the interval",
    ),
    "interval 0": (["--interval", "0"], "interval: 0 is not more than 0"),
    "timeout 0": (["--timeout", "0"], "timeout: 0 is not more than 0"),
    "the byte comes again": (
        ["--interval", "10ms", "--jitter", "0", "--timeout", "3s"],
        "timeout: 3 s (144000000 ticks) is more than 2.56 s (122879999 ticks)",
    ),
    "which response": (["--width", "5us"], "on: say what the response is"),
    "no such response": (["--on", "edge:x"], "on: 'edge:x' is not like"),
    "no such channel": (["--on", "edge:7"], "7 is not a channel"),
    "filter": (["--on", "edge:0", "--filter", "64"], "filter: 64 is outside 0 to 63"),
    "past": (["--start", "1t"], "has passed"),
    "settings for nobody": (["--realtime"], "give --echo PORT"),
    "compare nobody": (["--compare", "--count", "1"], "give --echo PORT"),
    "no such setting": (["--echo", "/dev/null", "--realtime", "priority,speed"], "realtime: 'speed' is none of priority[=N]"),
    "setting twice": (["--echo", "/dev/null", "--realtime", "cpu=0,cpu=1"], "realtime: 'cpu=1' is none of"),
    "priority": (["--echo", "/dev/null", "--realtime", "priority=100"], "priority: 100 is outside 1 to 99"),
    "nice": (["--echo", "/dev/null", "--realtime", "flip=-21"], "flip: '-21' is outside -20 to 19"),
    "idle state": (["--echo", "/dev/null", "--realtime", "cstates=1+x"], "cstates: '1+x' is not numbers from 0 to 9, such as 2+3"),
    "timer": (["--echo", "/dev/null", "--realtime", "timer=0"], "timer: 0 is outside 1 to 255"),
    "power has no value": (["--echo", "/dev/null", "--realtime", "power=on"], "realtime: 'power=on' is none of"),
    "echo and on": (["--echo", "/dev/null", "--on", "edge:0"], "--echo answers each byte with itself: leave out --on"),
    "no end": (["--echo", "/dev/null", "--compare"], "--compare: say how long each measurement lasts"),
    "rows": (["--echo", "/dev/null", "--compare", "--count", "1", "--csv"], "--csv has a row per sample"),
    "no serial port": (["--echo", "/dev/null", "--count", "1"], "echo: /dev/null is not a serial port"),
    "no such port": (["--echo", "/dev/nothing", "--count", "1"], "echo: /dev/nothing: cannot open the port (No such file or directory)"),
    "no such folder": (["--count", "1", "--histogram", "/nowhere/file"], "histogram: cannot write /nowhere/file: No such file"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_starts_nothing(case):
    words, why = BAD[case]
    with Server(FakeBoard(step=100_000), "tcp") as server:
        done = run("--port", server.spec, "latency", *words)
        assert server.board.line_log == []
    assert done.returncode == 2 and done.stdout == "" and why in done.stderr, done
    assert done.stderr.startswith("litepulse: ") and done.stderr.count("\n") == 1


def test_the_simulated_soc_has_no_port_of_this_pc():
    done = run("--sim", "latency", "--echo", "/dev/ttyS0")
    assert (done.returncode, done.stderr) == (2, "litepulse: --echo: a port of this PC is not wired to the simulated SoC\n")


def test_lost_records_are_counted_and_make_no_delay(tmp_path):
    """A look at the board so rarely that its FIFO of 32 events overflows: the loss is reported, and no pair is wrong."""
    board = FakeBoard(step=1_500_000, event_depth=5)
    with Server(board, "tcp") as server:
        result = result_of(
            "--port", server.spec, "latency", "--width", "5us", "--on", "edge:rx:fall", "--interval", "100us", "--count", 400, status=1
        )
    left = [start for start, _, source, _ in board.line_log if source == "queue"]
    assert result["lost"] > 0 and result["unknown"] > 0 and result["answered"] > 0
    assert {each["delay_ticks"] for each in result["samples"] if each["outcome"] == "answered"} == {1}
    assert {each["tick"] for each in result["samples"] if each["outcome"] == "answered"} <= set(left)
    assert result["missing"] == result["extra"] == result["stray"] == 0, "unknown is not missing"


def test_a_queue_that_runs_dry_delays_stimuli_and_refuses_none():
    """The board is looked at every 1.2 million ticks or so; its 64 launches are then long gone."""
    board = FakeBoard(step=400_000, event_depth=9)
    with Server(board, "tcp") as server:
        result = result_of(
            "--port", server.spec, "latency", "--width", "5us", "--on", "edge:rx:fall", "--interval", "100us", "--count", 300
        )
    assert counts(result) == {"answered": 300} and result["histogram"] == [[1, 300]]
    ticks = [start for start, *_ in board.line_log]
    gaps = [b - a for a, b in zip(ticks, ticks[1:])]
    assert min(gaps) >= 2400 and max(gaps) > 100_000 and len(ticks) == 300


# A program on this PC that answers --------------------------------------------------------------------------------------


class Patient(FakeBoard):
    """A board whose TX goes into a pseudo-terminal; what comes out of that arrives at its RX. Its time goes by with the wall's, but
    SLOWNESS times slower, and not more than PATIENCE ticks beyond the last access: on a busy machine the command is late, not the board.

    faults: {number of the stimulus: 'lose', 'double', 'change' or 'framing' (error)} on the way back.
    """

    BIT = 417  # ticks, about 115200 baud
    SLOWNESS = 4
    PATIENCE = HZ // 200

    def __init__(self, faults=None):
        super().__init__(step=0, loop=False, event_depth=12, receive_depth=12)
        self.began = time.monotonic()
        self.held, self.limit = 0, self.PATIENCE  # ticks in which it stood still; where it would stop
        self.faults = faults or {}
        self.leaving, self.answers, self.stimuli = [], [], []  # [(end, byte)], [(start tick, byte)], [(start tick, byte)]
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        self.port = os.ttyname(self.slave)
        self.heard = 0
        self.over = threading.Event()

    def go_on(self):
        """Time goes by."""
        tick = int((time.monotonic() - self.began) * HZ / self.SLOWNESS) - self.held
        self.held += max(0, tick - self.limit)
        super().advance(max(0, min(tick, self.limit) - self.tick))

    def advance(self, ticks):
        self.go_on()
        self.limit = self.tick + self.PATIENCE

    def launch(self, tick, word, width, source):
        left = super().launch(tick, word, width, source)
        if left and source == "queue":
            self.stimuli.append((tick, word & 0xFF))
            self.leaving.append((self.busy_until, word & 0xFF))
        return left

    def exchange(self):
        """Carries bytes both ways."""
        self.go_on()
        while self.leaving and self.leaving[0][0] <= self.tick:
            os.write(self.master, bytes([self.leaving.pop(0)[1]]))
        while select.select([self.master], [], [], 0)[0]:
            (byte,) = os.read(self.master, 1)
            fault = self.faults.get(self.heard)
            self.heard += 1
            for start in () if fault == "lose" else (self.tick, self.tick + 12 * self.BIT) if fault == "double" else (self.tick,):
                seen = byte ^ 0xFF if fault == "change" else byte
                self.answers.append((start, seen))
                self.arrives(start + 10 * self.BIT, start, seen | (fault == "framing") << 10)

    def serve(self, lock):
        while not self.over.wait(0.0005):
            with lock:
                self.exchange()


@contextlib.contextmanager
def patient(**options):
    board = Patient(**options)
    with Server(board, "tcp") as server:
        thread = threading.Thread(target=board.serve, args=[server.lock])
        thread.start()
        board.spec = server.spec
        yield board
        board.over.set()
        thread.join()
    os.close(board.master)
    os.close(board.slave)


def echo_words(board, *more):
    return ["--port", board.spec, "latency", "--echo", board.port, "--baud", "115200", "--interval", "5ms", *map(str, more)]


@pytest.mark.seconds(20)
def test_echo_on_a_pseudo_terminal(tmp_path):
    with patient() as board:
        result = result_of(*echo_words(board, "--count", 200))
    assert [(each["tick"], each["n"] % 256) for each in result["samples"]] == board.stimuli and len(board.stimuli) == 200
    # The terminal keeps the order, so the n-th answer is that to the n-th stimulus.
    assert [byte for _, byte in board.answers] == [byte for _, byte in board.stimuli]
    wanted = [answer - stimulus for (answer, _), (stimulus, _) in zip(board.answers, board.stimuli)]
    assert sorted((each["n"], each["delay_ticks"]) for each in result["samples"]) == list(enumerate(wanted))
    assert counts(result) == {"answered": 200} and min(wanted) >= 10 * HZ // 115_200, "never before the byte has left"
    check_figures(result)
    tick_us = 10**6 / Fraction(result["tick_hz"])
    bars = [(value / tick_us, count) for value, count in plot.from_result(result).bars]
    assert sum(count for _, count in bars) == 200 and len(bars) <= 200 and bars[0][0] == min(wanted)
    (width,) = {b - a for (a, _), (b, _) in zip(bars, bars[1:])}
    assert dict(bars) == {low: sum(low <= each < low + width for each in wanted) for low, _ in bars}
    (tmp_path / "result.json").write_text(json.dumps(result))
    done = run("plot", tmp_path / "result.json", "-o", tmp_path / "result.png")
    assert done.returncode == 0 and (tmp_path / "result.png").read_bytes()[:4] == b"\x89PNG", done.stderr
    assert result["echo"] == {"port": board.port, "kind": "pseudo-terminal", "driver": None, "bytes": 200, "settings": {}} | {
        "changed": [],
        "refused": [],
        "notes": [],
    }


@pytest.mark.seconds(20)
def test_losses_doubles_and_wrong_bytes_on_the_way_back():
    faults = {3: "lose", 10: "double", 17: "change", 25: "framing", 40: "lose", 41: "double"}
    with patient(faults=faults) as board:
        result = result_of(*echo_words(board, "--count", 60), status=1)
    outcomes = {each["n"]: each["outcome"] for each in result["samples"] if each["outcome"] in ("answered", "missing")}
    assert {n for n, outcome in outcomes.items() if outcome == "missing"} == {3, 17, 25, 40} and len(outcomes) == 60
    assert counts(result) == {"answered": 56, "missing": 4, "extra": 2, "stray": 2}
    assert [each["n"] for each in result["samples"] if each["outcome"] == "extra"] == [10, 41]
    assert result["echo"]["bytes"] == 60, "the program got all, so the losses are behind it"


@pytest.mark.seconds(20)
def test_a_pseudo_terminal_is_called_one_and_the_settings_are_named():
    with patient() as board:
        done = run(*echo_words(board, "--count", 20, "--realtime", "cpu=0" + (",priority=15" if FIFO else "")))
    assert done.returncode == 0, done.stderr
    assert f"{board.port} answers: a pseudo-terminal: no UART and no wire, software alone; on CPU 0" in done.stdout
    assert ("SCHED_FIFO 15" in done.stdout) == FIFO and "20 bytes answered" in done.stdout


@pytest.mark.seconds(20)
def test_compare_adds_one_setting_at_a_time():
    with patient() as board:
        result = result_of(*echo_words(board, "--count", 30, "--compare", "--realtime", "cpu=0,priority=15,cpu=4000".rsplit(",", 1)[0]))
    assert [each["settings"] for each in result["runs"]] == ["none", "+ on CPU 0", "+ SCHED_FIFO 15"]
    done = [each for each in result["runs"] if "not_applied" not in each]
    assert len(done) == (3 if FIFO else 2) and all(each["answered"] == each["stimuli"] == 30 for each in done)
    settings = [each["echo"]["settings"] for each in done]
    assert settings == [{}, {"cpus": [0]}, {"cpus": [0], "priority": 15}][: len(done)]
    stimuli = [tick for tick, _ in board.stimuli]
    for n, each in enumerate(done):  # the answers of this run, from the board's own list
        delays = sorted(a - s for (a, _), s in zip(board.answers[30 * n : 30 * n + 30], stimuli[30 * n :]))
        assert each["histogram"] == [[value, delays.count(value)] for value in sorted(set(delays))]
    gaps = [[b - a for a, b in zip(stimuli[30 * n :], stimuli[30 * n + 1 : 30 * n + 30])] for n in range(len(done))]
    assert all(each == gaps[0] for each in gaps), "the same distances in each"


@pytest.mark.seconds(20)
def test_an_unavailable_setting_is_reported_and_left_out():
    with patient() as board:
        words = echo_words(board, "--count", 10, "--realtime", "cpu=4000")
        done = run(*words)
        assert done.returncode == 2 and done.stderr.startswith("litepulse: cpus: ") and done.stderr.count("\n") == 1
        done = run(*words, "--compare")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert re.search(r"(?m)^  none +10( +\d+\.\d{3} µs){5} +0$", done.stdout), done.stdout
    assert "  not tried: on CPU 4000: cpus: " in done.stdout and "one run on this machine" in done.stdout


@pytest.mark.seconds(10)
def test_compare_that_is_cut_short_still_shows_what_was_measured():
    with patient() as board:
        words = echo_words(board, "--count", 200, "--compare", "--realtime", "cpu=0")
        process = subprocess.Popen([*COMMAND, *words], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while len(board.stimuli) < 220 and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(*echoes(board.port), signal.SIGKILL)
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 2 and errors == f"litepulse: echo: the program that answers on {board.port} has ended\n"
    assert re.search(r"(?m)^  none +200 ", out) and re.search(r"(?m)^  \+ on CPU 0, cut short +\d+ ", out)


def on_machine(folder, monkeypatch):
    """A simulated PC, as this command and those that it starts take it for their own: its folder has a sitecustomize.py."""
    machine = Machine(folder).make()
    machine.processors()
    code = f"from sw.tests.fake_machine import Machine\nfrom litepulse import ports\nports.Host = lambda: Machine({str(folder)!r}).host\n"
    (folder / "sitecustomize.py").write_text(code)
    monkeypatch.setitem(ENV, "PYTHONPATH", os.pathsep.join([str(folder), ENV["PYTHONPATH"]]))
    return machine


@pytest.mark.seconds(30)
def test_compare_has_what_each_setting_was_and_is(tmp_path, monkeypatch):
    """Each idle state by itself, the deepest first; what is not there is named; all is put back."""
    machine = on_machine(tmp_path / "machine", monkeypatch)
    cpus = machine.sysfs / "devices/system/cpu"
    before = {path: path.read_text() for path in cpus.rglob("*") if path.is_file()}
    with patient() as board:
        words = echo_words(board, "--count", 10, "--compare", "--realtime", "timer,cstates=1+2,governor")
        result, port = result_of(*words), board.port
    with patient() as board:
        done = run(*echo_words(board, "--count", 10, "--compare", "--realtime", "timer,cstates=1+2,governor"))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert {path: path.read_text() for path in cpus.rglob("*") if path.is_file()} == before
    assert [each["settings"] for each in result["runs"]] == [
        "none",
        "+ latency timer 1 ms",
        "+ without C6",
        "+ without C1",
        "+ governor performance",
    ]
    timer = "latency_timer: {} has no adapter with a latency timer that can be set"
    assert result["runs"][1] == {"settings": "+ latency timer 1 ms", "not_applied": timer.format(port)}
    changes = [
        [(each["name"], each["before"], each["after"]) for each in run["echo"]["changed"]] for run in result["runs"] if "echo" in run
    ]
    state, governor = [("cstates", "0", "1")] * 4, [("governor", "powersave", "performance")] * 2
    assert changes == [[], state, 2 * state, 2 * state + governor]
    lines = [line for line in done.stdout.splitlines() if "->" in line or "not tried" in line]
    assert lines == [
        f"  without C6: {cpus}/cpu0/cpuidle/state2/disable and 3 more: 0 -> 1",
        f"  without C1: {cpus}/cpu0/cpuidle/state1/disable and 3 more: 0 -> 1",
        f"  governor performance: {cpus}/cpufreq/policy0/scaling_governor and 1 more: powersave -> performance",
        f"  not tried: latency timer 1 ms: {timer.format(board.port)}",
    ]


@pytest.mark.seconds(20)
def test_what_is_refused_is_a_line_and_the_rest_holds(tmp_path, monkeypatch):
    on_machine(tmp_path / "machine", monkeypatch)
    with patient() as board:
        done = run(*echo_words(board, "--count", 10, "--realtime", "timer,governor", "--json"))
    assert done.returncode == 0 and done.stderr.splitlines() == [
        f"litepulse: not applied: latency_timer: {board.port} has no adapter with a latency timer that can be set"
    ]
    assert {each["after"] for each in json.loads(done.stdout)["echo"]["changed"]} == {"performance"}


def echoes(port):
    """Processes that answer on a port."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode().split("\0")
            if "litepulse.echo" in words and port in " ".join(words):
                found.append(int(folder.name))
    return found


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
@pytest.mark.seconds(15)
def test_however_it_ends_the_program_that_answers_ends_too(number, status):
    with patient() as board:
        process = subprocess.Popen(
            [*COMMAND, *echo_words(board), "--csv"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(20):
            assert process.stdout.readline()
        assert len(echoes(board.port)) == 1
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        found = re.search(r"stimuli +\d+ sent, \d+ answered, (\d+) missing", errors)
        assert (found or number == signal.SIGKILL) and "Traceback" not in errors, errors
        if number == signal.SIGINT and int(found[1]):
            status = LOST  # a busy machine answered late
        assert process.returncode == status, errors
        deadline = time.monotonic() + 20
        while echoes(board.port) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert echoes(board.port) == []


def test_the_program_that_answers_is_killed():
    with patient() as board:
        process = subprocess.Popen(
            [*COMMAND, *echo_words(board), "--csv"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(10):
            assert process.stdout.readline()
        os.kill(*echoes(board.port), signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2 and errors.splitlines()[-1] == f"litepulse: echo: the program that answers on {board.port} has ended"


def test_the_settings_are_those_of_the_program_that_answers():
    master, slave = pty.openpty()
    tty.setraw(slave)
    before = os.sched_getscheduler(0), os.sched_getaffinity(0)
    settings = {"cpus": [max(before[1])]} | ({"priority": 12} if FIFO else {})
    with Echo(os.ttyname(slave), 9600, Format(), settings) as echo:
        (number,) = echoes(os.ttyname(slave))
        assert os.sched_getaffinity(number) == {max(before[1])}
        assert os.sched_getscheduler(number) == (os.SCHED_FIFO | FLAG if FIFO else os.SCHED_OTHER)
        os.write(master, bytes(range(256)))
        heard = b""
        while len(heard) < 256:
            assert select.select([master], [], [], 20)[0]
            heard += os.read(master, 256)
        assert heard == bytes(range(256))
        with pytest.raises(litepulse.LitePulseError, match="^echo: .*: Resource temporarily unavailable$|exclusively lock"):
            Echo(os.ttyname(slave), 9600, Format()).__enter__()
    assert echo.echoed == 256 and (os.sched_getscheduler(0), os.sched_getaffinity(0)) == before
    os.close(slave)
    os.close(master)


def test_kinds_of_ports():
    master, slave = pty.openpty()
    assert str(kind_of(os.ttyname(slave))) == "a pseudo-terminal: no UART and no wire, software alone"
    os.close(slave)
    os.close(master)
    with pytest.raises(litepulse.BadInput, match="^echo: /dev/zero is not a serial port$"):
        kind_of("/dev/zero")


@pytest.mark.seconds(20)
def test_figures_are_live_on_a_terminal():
    """Counts, percentiles and a picture while it runs; where standard output is a pipe there are none."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 90, 0, 0))
    with patient() as board:
        env = {**ENV, "TERM": "xterm-256color"}
        env.pop("COLUMNS")
        process = subprocess.Popen([*COMMAND, *echo_words(board, "--count", 300)], env=env, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        seen = b""
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data
        status = process.wait(timeout=60)
    os.close(master)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode())
    late = re.search(r"(\d+) missing", text[text.rindex("300 sent") :])  # on a busy machine
    assert status == (LOST if int(late[1]) else 0), text
    live = text[: text.rindex("300 sent")]
    assert re.search(r"stimuli +\d+ sent, \d+ answered", live) and re.search(r"p99\.9 +\d+ ticks? = ", live) and "delay [µs]" in live
    assert re.search(r"\b\d+/300\b", live) and math.inf > live.count("median") > 2


def test_a_closed_pipe_ends_it():
    with patient() as board:
        words = " ".join([*COMMAND, *echo_words(board, "--csv")])
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {words} | head -n 5"], env=ENV, capture_output=True, text=True, timeout=100, check=False
        )
        assert done.returncode == 0 and done.stderr == "" and len(done.stdout.splitlines()) == 5
        assert echoes(board.port) == []


# The page ---------------------------------------------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "latency.md").read_text()


def test_the_output_on_the_page():
    shown, command = [], None
    for line in PAGE.splitlines():
        if line.startswith("    $ litepulse "):
            command = line.removeprefix("    $ litepulse ")
        elif command and (line.startswith("    ") or not line):
            shown.append(line.removeprefix("    "))
        elif command:
            break
    done = run(*command.split())
    assert done.returncode == 0 and done.stdout.strip() == "\n".join(shown).strip()


def test_the_examples_on_the_page():
    measured, settings, of_the_machine = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE)
    done = subprocess.run([sys.executable, "-c", measured], env=ENV, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    *samples, last = done.stdout.splitlines()
    assert samples == [f"{n} 1 answered" for n in range(20)] and f"# {last}" in measured
    (used,) = re.findall(r"Realtime\((.*)\)", settings)
    realtime = eval(f"litepulse.Realtime({used})")
    assert (realtime.priority, realtime.lock_memory, realtime.cpus, realtime.dma_latency) == (80, True, {1}, 0)
    (used,) = re.findall(r"Realtime\((.*)\)", of_the_machine)
    realtime = eval(f"litepulse.Realtime({used})")
    assert (realtime.power, realtime.latency_timer, realtime.cstates, realtime.port) == (True, 1, {2, 3}, "/dev/ttyUSB3")


def test_the_page_has_all_options_and_counts():
    options = set(
        re.findall(r"(?m)^ +(--[a-z]+)", run("latency", "--help").stdout.partition("stimulus and response:")[2].partition("\ndevice:")[0])
    )
    common = {"--baud", "--format", "--invert", "--loopback"}
    assert len(options) > 15 and {each for each in options - common if each not in PAGE} == set()
    for count in ("answered", "missing", "extra", "stray", "ignored", "unknown", "refused", "overtaken"):
        assert f"| {count} |" in PAGE, count
