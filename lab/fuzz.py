# SPDX-License-Identifier: BSD-2-Clause
"""`make fuzz`: the driver under random calls of several processes, until a number is reached; a
board with wrong answers, and one that is unplugged.

    python -m lab.fuzz [--calls N] [--answers N] [--pulls N] [--seed N] [--jobs N] [--write]

Each boot has another seed; guest/cable/fuzz.c makes the calls. Boards without hardware come and go at no cost of time; the boards on a
cable are slower and few. Exit status 1 when the kernel reported anything, with the seed and the log of that boot.
`--write` writes docs/develop/fuzzing.md.
"""

import argparse
import itertools
import os
import sys
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import date
from typing import Callable

from litex_soc import SPDX
from scripts.debian_package import linux_source
from sim.cocotb_rig import SIM
from sim.driver import cable_rig, echo_rig, kcsan
from sim.driver.fuzz_boots import BOOT_CALLS, CABLE_ROUNDS, RACE_BOOT_CALLS, hostile, on_a_cable, races, without_hardware
from sim.guest.cable_programs import program
from sim.pc import pc_rig
from sim.pc.fuzz_pull import LINE, PULL_ROUNDS, pull

PAGE = SIM.parent / "docs" / "develop" / "fuzzing.md"
CALLS, ANSWERS, PULLS, RACE_CALLS, CABLE_CALLS = 2_000_000, 100_000, 200, 100_000, 40_000


@dataclass(frozen=True)
class Kind:
    """A kind of boot."""

    title: str
    boot: Callable  # (seed): what it did, in the order of COUNTED; ValueError with what went wrong
    guess: dict  # what a boot will do at least, until it has reported
    build: Callable  # what it needs beside the program; built once


COUNTED = ("calls", "unplugs", "answers", "altered")
WATCHED = ("interrupts", "sleeps", "cable", "hostile")  # in User-mode Linux: their calls are those that are wanted
KINDS = {
    "interrupts": Kind(
        "board whose transport does not sleep", lambda seed: without_hardware(seed, 0), {"calls": BOOT_CALLS}, echo_rig.echo_board
    ),
    "sleeps": Kind("board whose transport sleeps", lambda seed: without_hardware(seed, 1), {"calls": BOOT_CALLS}, echo_rig.echo_board),
    "cable": Kind(
        "simulated board on a serial port, attached and detached",
        lambda seed: on_a_cable(seed),
        {"calls": 100 * CABLE_ROUNDS},
        cable_rig.modules,
    ),
    "hostile": Kind("the same, its answers altered or random", lambda seed: hostile(seed), {"answers": 1000}, cable_rig.modules),
    "pull": Kind(
        "simulated board on a USB adapter of a PC, pulled out",
        lambda seed: pull(seed),
        {"unplugs": PULL_ROUNDS},
        lambda: pc_rig.boot(LINE).driver(),
    ),
    "races": Kind(
        "boards of both transports, two processors, KCSAN", lambda seed: races(seed), {"calls": RACE_BOOT_CALLS}, kcsan.echo_board
    ),
}


def kinds(wanted, done):
    """The kinds of boot that are still wanted, the next one first. `wanted`: of the command line; `done`: {kind: Counter}."""
    if done["hostile"]["answers"] < wanted.answers:
        yield "hostile"
    if done["pull"]["unplugs"] < wanted.pulls:
        yield "pull"
    if done["races"]["calls"] < min(RACE_CALLS, wanted.calls):
        yield "races"
    if done["cable"]["calls"] < min(CABLE_CALLS, wanted.calls):
        yield "cable"
    if sum(done[kind]["calls"] for kind in WATCHED) < wanted.calls:
        yield min(("interrupts", "sleeps"), key=lambda kind: done[kind]["calls"])


def main(argv=None):
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="make fuzz", description="Random calls to the driver in the debug kernel.")
    parser.add_argument("--calls", type=int, default=CALLS, help="default %(default)s")
    parser.add_argument("--answers", type=int, default=ANSWERS, help="of a board that lies; default %(default)s")
    parser.add_argument("--pulls", type=int, default=PULLS, help="of a USB adapter; default %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="of the first boot; default %(default)s")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="boots at a time; default %(default)s")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    args = parser.parse_args(argv)
    if min(args.calls, args.answers, args.pulls) < 0 or args.jobs < 1 or not 0 < args.seed < 1 << 20:
        parser.error("calls, answers and pulls are at least 0, jobs at least 1, the seed is 1 to 1,048,575")
    start, seeds = time.monotonic(), itertools.count(args.seed)
    done, expected = {kind: Counter() for kind in KINDS}, {kind: Counter() for kind in KINDS}
    running, status = {}, 0
    # Built here, not by several boots at a time.
    program("fuzz")
    with ThreadPoolExecutor(args.jobs) as pool:
        while True:
            total = {kind: done[kind] + expected[kind] for kind in KINDS}
            kind = next(kinds(args, total), None)
            if kind and len(running) < args.jobs and not status:
                KINDS[kind].build()
                seed = next(seeds)
                expected[kind].update(KINDS[kind].guess)
                running[pool.submit(KINDS[kind].boot, seed)] = (kind, seed)
                continue
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED)[0]:
                kind, seed = running.pop(future)
                expected[kind].subtract(KINDS[kind].guess)
                try:
                    counts = dict(zip(COUNTED, future.result()))
                except ValueError as error:
                    print(f"{kind}, seed {seed}: FAILED\n{error}", flush=True)
                    status = 1
                    continue
                done[kind].update({**counts, "boots": 1})
                print(f"[{time.monotonic() - start:.0f} s] {kind}, seed {seed}: {counts}", flush=True)
    minutes = (time.monotonic() - start) / 60
    text = report(done, args.seed, next(seeds) - 1, minutes, "some, see above" if status else "0")
    print("\n".join(text))
    if args.write and not status:
        PAGE.write_text("\n".join([*HEAD, *text, ""]), encoding="utf-8")
    return status


HEAD = f"""<!-- {SPDX} BSD-2-Clause -->
<!-- Written by `make fuzz`. -->
# The driver under random calls

Four processes at a time call what the driver has: `ioctl` (its own, of a tty, of a PTP clock),
`read`, `write`, `poll`, `epoll`, `mmap`, `fcntl`, `termios`, the clock calls, `close`. Some arguments
make sense, others do not; of some memory half is missing. Signals interrupt the calls, one process is
killed now and then, and the board is taken away meanwhile.

It runs in User-mode Linux with KASAN, UBSAN, lockdep, kmemleak and `DEBUG_OBJECTS`. The run fails if
one of these reports anything, if a process cannot be killed, or if a module cannot be removed. Two
rows run in QEMU: the USB adapter, with Debian's kernel {LINE} as it is, and KCSAN with lockdep,
which User-mode Linux does not have. Of KCSAN's data races those count that the driver is a part of.

    make fuzz                                   # {CALLS:,} calls, {ANSWERS:,} answers of a board that lies, {PULLS} pulls
    make fuzz CALLS=100000 SEED=77              # fewer, other ones

`make test-all` runs a short form of each row.
""".splitlines()


def report(done, first, last, minutes, reports):
    """Lines of the last run; `reports`: how many."""
    when = f"{date.today()}, Linux {linux_source()[1]}, seeds {first} to {last}, {minutes:.0f} minutes on {os.cpu_count()} CPUs"
    lines = [
        "",
        f"Last run: {when}. Reports: {reports}.",
        "",
        "| what | boots | calls | the board was taken away | answers | of them altered |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind in KINDS:
        counts = done[kind]
        answers = [f"{counts[name]:,}" if kind == "hostile" else "" for name in ("answers", "altered")]
        cells = [KINDS[kind].title, *(f"{counts[name]:,}" for name in ("boots", "calls", "unplugs")), *answers]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
