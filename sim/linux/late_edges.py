# SPDX-License-Identifier: BSD-2-Clause
"""litepulse explain on the simulated Linux SoC: the kernel records its trace, the simulator the
pins, and programs/late.c plants what makes edges late.

The guest has no Python. A shell sets tracefs as litepulse.explain.tracefs would, and prints the
trace; the package's own parser and explain() read it here. This kernel records no functions of
drivers: see Tracer._probe.
"""

import argparse
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median

from litepulse.explain import Explanation, explain, frames_of_edges, tracefs
from litepulse.explain.trace import parse
from litex_soc import SPDX
from sim.guest.pins import changes
from sim.linux import linux_rig
from sim.linux.driver_bench import CPU, HZ, NS_PER_CYCLE, PEER, PULSE, environment
from sim.linux.targets import HERE

BAUD = 115200
PERIOD = Fraction(1, 50)  # s, between two bytes of programs/late.c
PLACE = "/sys/kernel/tracing"
FOLDER = f"{PLACE}/instances/explain"
BUFFER_KB = 2048
CAUSES = "/sys/module/litepulse_causes/parameters"
SEEN = 1  # ticks from a change of a pin to its stamp
MAX_CYCLES = 600_000_000  # the trace takes most of them to be printed
TRACED = re.compile(r".{16}-\d+ +\[\d{3}\] \S+ +\d+\.\d{6}: ")


def set_tracing():
    """Shell commands that do what litepulse.explain.tracefs.Tracer does."""
    return "\n".join(
        [
            f"mount -t tracefs nodev {PLACE} && mkdir {FOLDER} || exit 1",
            f"cd {FOLDER}",
            f"echo 0 >tracing_on; echo mono >trace_clock; echo {BUFFER_KB} >buffer_size_kb",
            f"for event in {' '.join(tracefs.EVENTS)}; do echo 1 >events/$event/enable || exit 1; done",
        ]
    )


def before(machine, cause):
    """Shell commands that come before a case."""
    if cause == "halted":
        return [f"echo 5000 >{CAUSES}/idle_us"]
    if cause in ("worker", "resume"):
        port = f"{machine.machine.description['csr_bases']['peer']:x}.serial"
        return [
            f"echo {port} >{CAUSES}/runtime",
            f"echo {6000 if cause == 'resume' else 0} >{CAUSES}/resume_us",
            f"echo 5 >/sys/bus/serial-base/devices/{port}:0.0/power/autosuspend_delay_ms",
        ]
    return []


def guest():
    """The Guest with the driver, the trace set up, programs/late.c and what plants causes."""
    booted = linux_rig.boot_with_driver(CPU, "trace")
    files = {
        "litepulse_causes.ko": booted.module(HERE / "causes")["litepulse_causes"],
        "late": booted.program(linux_rig.GUEST / "late.c", includes=linux_rig.INCLUDES),
    }
    commands = ["cp late /tmp", "insmod litepulse_causes.ko || exit 1", set_tracing()]
    return booted.after("\n".join(commands), files)


@dataclass(frozen=True)
class Late:
    """One run. program: its pid; port: its file number; due, edges: of each byte, ns of
    CLOCK_MONOTONIC; pin: (tick, level, ns, uncertainty), all changes; open_ns: by how much they may
    be wrong together; planted: (begin, end) of what took the time, by the same clock; text: of the
    trace; lost: its events that were overwritten."""

    found: Explanation | None
    program: int
    port: int
    due: list
    edges: list
    pin: list
    open_ns: int
    planted: list
    text: list
    lost: int


def run(machine, cause, port, count, traced=True):
    """Runs a case of programs/late.c on a port, and explains it."""
    lines = [
        environment(machine),
        *([f"export LATE_TRACE={FOLDER}"] if traced else []),
        *before(machine, cause),
        f"/tmp/late {cause} {port.path} {count} || exit 1",
        f"sed 's/^/planted /' {CAUSES}/log",
        *([f"cat {FOLDER}/trace"] if traced else []),
    ]
    result = machine.run("\n".join(lines), max_cycles=MAX_CYCLES)
    rows = [line.split() for line in result.lines]

    def numbers(word):
        return [[int(each) for each in row[1:]] for row in rows if row[:1] == [word]]

    starts = [tick for tick, level in changes(result.pins, port.tx) if not level]
    readings = numbers("reading")
    printed = [tick for tick, level in changes(result.pins, "printed") if level]
    marks = [tick for tick in printed if tick < starts[0]][-len(readings) :]
    least = max(first - NS_PER_CYCLE * tick for tick, (first, _) in zip(marks, readings))
    most = min(last - NS_PER_CYCLE * tick for tick, (_, last) in zip(marks, readings))
    assert least <= most, "one clock"
    offset, open_ns = (least + most) // 2, (most - least + 1) // 2
    text = [line for line in result.lines if TRACED.match(line) or line.startswith("CPU:")]
    seen = [(tick + SEEN, level) for tick, level in changes(result.pins, port.tx)]
    # One clock: what is open is the same for all edges, so none of it may be taken for drift.
    timed = [(tick, level, NS_PER_CYCLE * tick + offset, 0) for tick, level in seen]
    frames = frames_of_edges(timed, Fraction(HZ, BAUD), Fraction(10))
    ((program, file),) = numbers("program")
    found = None
    if traced:
        every = PERIOD if cause == "slept" else None
        found = explain(parse(text), program, frames, Fraction(HZ), every=every, fds=[file])
    counted = re.search(r"entries-written: (\d+)/(\d+)", "\n".join(result.lines))
    kept, recorded = map(int, counted.groups()) if counted else (0, 0)
    return Late(
        found,
        program,
        file,
        [due for (due,) in numbers("due")],
        [NS_PER_CYCLE * (tick + SEEN) + offset for tick in starts],
        timed,
        open_ns,
        [tuple(row) for row in numbers("planted")],
        text,
        recorded - kept,
    )


def probed(machine):
    """(hits of a probe of uart_write() by the kernel's own count, its events in the trace)."""
    lines = [
        f"cd {FOLDER}",
        f"echo '{tracefs.probe_of('explain', 'uart_write')}' >>{PLACE}/kprobe_events || exit 1",
        "echo 1 >events/explain/uart_write/enable; echo 1 >tracing_on",
        f"echo x >{PEER.path}",
        "echo 0 >tracing_on",
        f"sed 's/^/profile /' {PLACE}/kprobe_profile",
        "echo written $(grep -c sys_write trace)",
        "echo events $(grep -c 'uart_write: ' trace)",
    ]
    rows = [line.split() for line in machine.run("\n".join(lines)).lines]
    ((hits,),) = [row[2:3] for row in rows if row[:2] == ["profile", "uart_write"]]
    ((written,), (events,)) = [row[1:] for row in rows if row[:1] in (["written"], ["events"])]
    assert int(written), "system calls are recorded"
    return int(hits), int(events)


def event_cost(machine):
    """What an event of the trace costs, ns, as litepulse.explain measures it."""
    result = machine.run(f"export LATE_TRACE={FOLDER}\n/tmp/late cost 100")
    each = [int(line.split()[1]) for line in result.lines if line.startswith("cost ")]
    return (min(each[1::2]) - min(each[0::2])) / 2


def recorded(seen, what):
    """The text of a run, for sw/tests/traces."""
    rows = [f"# {SPDX} BSD-2-Clause", f"# {what}", f"# program {seen.program} {seen.port}"]
    rows += [f"# due {due}" for due in seen.due]
    rows += [f"# planted {begin} {end}" for begin, end in seen.planted]
    rows += ["# edge " + " ".join(map(str, edge)) for edge in seen.pin]
    return "".join(f"{row}\n" for row in [*rows, *seen.text])


def main(argv=None):
    """`python -m sim.linux.late_edges`: what the trace costs on this SoC."""
    parser = argparse.ArgumentParser(prog="python -m sim.linux.late_edges", description=__doc__)
    parser.add_argument("--record", metavar="FILE", help="a real-time process, six bytes: for sw/tests/traces")
    args = parser.parse_args(argv)
    machine, count = guest(), 12
    if args.record:
        what = "Linux 6.12 on the simulated SoC: programs/late.c, case hog, writes six bytes to a LiteUART."
        Path(args.record).write_text(recorded(run(machine, "hog", PEER, 6), what))
        return
    print(f"an event of the trace: {event_cost(machine) / 1000:.1f} us")
    for port in (PEER, PULSE):
        for traced in (False, True):
            seen = run(machine, "quiet", port, count, traced)
            late = sorted((edge - due) / 1000 for due, edge in zip(seen.due, seen.edges))
            how = f"traced, {len(seen.text) / count:.0f} events a write" if traced else "not traced"
            print(f"{port.title}, {how}: median {median(late):.1f} us, at most {late[-1]:.1f}")


if __name__ == "__main__":
    main()
