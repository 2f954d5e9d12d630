# SPDX-License-Identifier: BSD-2-Clause
"""`make fuzz`: the driver under random calls of several processes, in the debug kernel, until so many were made; and a board that lies.

    python -m sim.driver.fuzz [--calls N] [--answers N] [--seed N] [--jobs N] [--write]

Each boot has another seed, cable/fuzz.c makes the calls. Boards without hardware come and go at no cost of time; the boards on a cable are
slower and few. Exit status 1 when the kernel reported anything, with the seed and the log of that boot. `--write` writes docs/fuzzing.md.
"""

import argparse
import functools
import itertools
import os
import re
import sys
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from datetime import date
from typing import cast

from litex_soc import SPDX
from scripts.debian_package import linux_source
from sim.cocotb_rig import SIM
from sim.driver import cable_rig, echo_rig
from sim.driver.hostile import Anything

PAGE = SIM.parent / "docs" / "fuzzing.md"
CALLS, ANSWERS = 2_000_000, 100_000
BOOT_CALLS, CABLE_ROUNDS, CABLE_CALLS, HOSTILE_ROUNDS = 100_000, 20, 40_000, 20
TIMEOUT = 1800
TITLES = {
    "interrupts": "board whose transport does not sleep",
    "sleeps": "board whose transport sleeps",
    "cable": "simulated board on a serial port, attached and detached",
    "hostile": "the same, its answers altered or random",
}


def judge(run, jobs):
    """(calls, unplugs) of a boot; ValueError with what went wrong."""
    told = re.search(r"(?m)^calls (\d+) unplugs (\d+)$", run.log)
    if run.complaints or run.status != [0] * jobs or not told:
        raise ValueError("\n".join([f"status of the jobs: {run.status}", *run.complaints[:10], *run.log.splitlines()[-60:]]))
    return int(told[1]), int(told[2])


def without_hardware(seed, sleeps, calls=BOOT_CALLS, timeout=TIMEOUT):
    """(calls, unplugs) of a boot with an echo board."""
    files = {"fuzz": cable_rig.program("fuzz")}
    run, jobs = echo_rig.echo_boot(
        f"run /fuzz unbind litepulse {seed} {calls}", parameters=f"sleeps={sleeps}", files=files, timeout=timeout
    )
    return judge(run, jobs)


def on_a_cable(seed, rounds=CABLE_ROUNDS, timeout=TIMEOUT):
    """The same with a simulated SoC on a serial port; it works afterwards."""
    with cable_rig.Board() as board:
        return judge(cable_rig.cable_boot([f"run {seed} {rounds}"], [board], name="fuzz", timeout=timeout), 6)


def hostile(seed, rounds=HOSTILE_ROUNDS, timeout=TIMEOUT):
    """(calls, unplugs, answers, those that were altered) with one that lies. Nobody hangs, and both modules can be removed."""
    with cable_rig.Board(between=functools.partial(Anything, seed=seed)) as board:
        counted = judge(cable_rig.cable_boot([f"hostile {seed} {rounds}"], [board], name="fuzz", timeout=timeout), 6)
        liar = cast(Anything, board.between)
        return *counted, liar.answers, liar.altered


def kinds(wanted_calls, wanted_answers, done):
    """The kinds of boot that are still wanted, the next one first. `done`: {kind: Counter}, those under way included."""
    if done["hostile"]["answers"] < wanted_answers:
        yield "hostile"
    if done["cable"]["calls"] < min(CABLE_CALLS, wanted_calls):
        yield "cable"
    if sum(counts["calls"] for counts in done.values()) < wanted_calls:
        yield min(("interrupts", "sleeps"), key=lambda kind: done[kind]["calls"])


def main(argv=None):
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="make fuzz", description="Random calls to the driver in the debug kernel.")
    parser.add_argument("--calls", type=int, default=CALLS, help="default %(default)s")
    parser.add_argument("--answers", type=int, default=ANSWERS, help="of a board that lies; default %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="of the first boot; default %(default)s")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="boots at a time; default %(default)s")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    args = parser.parse_args(argv)
    if min(args.calls, args.answers) < 0 or args.jobs < 1 or not 0 < args.seed < 1 << 20:
        parser.error("calls and answers are at least 0, jobs at least 1, the seed is 1 to 1,048,575")
    start, seeds = time.monotonic(), itertools.count(args.seed)
    done, expected = {kind: Counter() for kind in TITLES}, {kind: Counter() for kind in TITLES}
    verbs = {
        "interrupts": lambda seed: without_hardware(seed, 0),
        "sleeps": lambda seed: without_hardware(seed, 1),
        "cable": on_a_cable,
        "hostile": hostile,
    }
    # What a boot will do at least, until it has told.
    guesses = {
        "interrupts": {"calls": BOOT_CALLS},
        "sleeps": {"calls": BOOT_CALLS},
        "cable": {"calls": 100 * CABLE_ROUNDS},
        "hostile": {"answers": 1000},
    }
    # Built once, not by each boot.
    for build in (echo_rig.echo_board, cable_rig.modules, lambda: cable_rig.program("fuzz")):
        build()
    running, status = {}, 0
    with ThreadPoolExecutor(args.jobs) as pool:
        while True:
            total = {kind: done[kind] + expected[kind] for kind in TITLES}
            kind = next(kinds(args.calls, args.answers, total), None)
            if kind and len(running) < args.jobs and not status:
                seed = next(seeds)
                expected[kind].update(guesses[kind])
                running[pool.submit(verbs[kind], seed)] = (kind, seed)
                continue
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED)[0]:
                kind, seed = running.pop(future)
                expected[kind].subtract(guesses[kind])
                try:
                    told = dict(zip(("calls", "unplugs", "answers", "altered"), future.result()))
                except ValueError as error:
                    print(f"{kind}, seed {seed}: FAILED\n{error}", flush=True)
                    status = 1
                    continue
                done[kind].update({**told, "boots": 1})
                print(f"[{time.monotonic() - start:.0f} s] {kind}, seed {seed}: {told}", flush=True)
    minutes = (time.monotonic() - start) / 60
    text = report(done, args.seed, next(seeds) - 1, minutes)
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
one of these reports anything, if a process cannot be killed, or if a module cannot be removed. There
is no KCSAN: the kernel has it for 64-bit PCs, not for User-mode Linux.

    make fuzz                                   # {CALLS:,} calls and {ANSWERS:,} answers of a board that lies
    make fuzz CALLS=100000 SEED=77              # fewer, other ones

`make test-all` runs a short form of each row.
""".splitlines()


def report(done, first, last, minutes):
    """Lines of the last run."""
    when = f"{date.today()}, Linux {linux_source()[1]}, seeds {first} to {last}, {minutes:.0f} minutes on {os.cpu_count()} CPUs"
    lines = [
        "",
        f"Last run: {when}. Reports: 0.",
        "",
        "| what | boots | calls | the board was taken away | answers | of them altered |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind, title in TITLES.items():
        counts = done[kind]
        answers = [f"{counts[name]:,}" if kind == "hostile" else "" for name in ("answers", "altered")]
        lines.append(f"| {title} | " + " | ".join([*(f"{counts[name]:,}" for name in ("boots", "calls", "unplugs")), *answers]) + " |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
