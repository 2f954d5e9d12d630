# SPDX-License-Identifier: BSD-2-Clause
"""P4: a cycle of 1000 us that is nudged while it runs, after a reference that wanders."""

import json
import subprocess
from itertools import accumulate
from statistics import median

from lab.experiments import soc
from lab.experiments.experiment import PUBLISHED, RTL, Chart, Experiment, Series, Step, check, limit, spread
from litex_soc.build_cache import content_key
from sim import core_alone
from sim.cocotb_rig import ROOT
from sim.guest.pins import changes
from sim.linux.driver_bench import PEER, PULSE
from sim.linux.runs import RUNS

HERE = ROOT / "lab" / "experiments"
HZ, US = soc.HZ, soc.HZ // 10**6
MILLION = 1_000_000
WAYS = {"train": "hardware train, its period set while it runs", "launches": "timed launches, each at its own tick"}
AHEAD = {"launches": ", up to 56 cycles ahead: it follows later"}
KEPT = 2000  # cycles that the picture shows
TUNED_US = (100, 40, 10)  # published: as it was, with SCHED_FIFO and affinity, with absolute sleeps and idle states off


# The core alone, a million cycles -----------------------------------------------------------------------------------------------


def build():
    """Path of the program of p4_cycle.cpp."""
    return core_alone.program(
        "p4-cycle",
        "the core alone, with a program that nudges a cycle",
        HERE / "p4_cycle.cpp",
        learn=("train", "--cycles", "2000", "--kept", "1", "--unjudged"),
    ).build()


def alone(way, cycles, seed=1):
    """What p4_cycle.cpp prints for a number of cycles; ExperimentError if one pulse is missing,
    double, or a tick or more from its place."""
    program, words = build(), [way, "--cycles", cycles, "--seed", seed, "--kept", KEPT]
    # The same program does the same each time.
    known = RUNS.recall(f"p4-{way}", key := content_key(program.parent.name, words))
    if not known:
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
        check(done.returncode in (0, 1) and done.stdout, f"{way}: {done.stderr.strip() or f'status {done.returncode}'}")
        known = {"status": done.returncode, "found": json.loads(done.stdout)}
        RUNS.remember(f"p4-{way}", key, known)
    found = known["found"]
    wrong = [f"{found[what]} {what}" for what in ("missing", "extra", "wrong_width") if found[what]]
    if found["worst_parts"] >= found["parts"]:
        wrong.append(f"one {found['worst_parts'] / found['parts']:.2f} ticks from its place")
    check(not wrong and not known["status"], f"{WAYS[way]}, {cycles:,} cycles: {', '.join(wrong)}")
    return found


# A program on Linux -------------------------------------------------------------------------------------------------------------


def commanded(count):
    """Ticks from the first pulse to each, as guest/cycle.c commands them."""
    return [0, *accumulate(US * (1000 + 7 * n % 11 - 5) for n in range(1, count))]


def on_linux(way, count, load):
    """{"errors_us": of each pulse against what was commanded, less their median}."""
    words = ["cycle", "sleep", PEER.path, count] if way == "sleep" else ["cycle", "timed", count]
    answers = soc.run(words, load=load, max_cycles=(count + 800) * soc.MS)
    found = [tick for tick, level in changes(answers.pins, (PEER if way == "sleep" else PULSE).tx) if not level]
    check(len(found) == count, f"{way}: {len(found)} pulses instead of {count}")
    errors = [tick - place for tick, place in zip(found, commanded(count))]
    middle = median(errors)
    check(way == "sleep" or not any(error - middle for error in errors), "a timed launch is not at its tick")
    return {"errors_us": [(error - middle) / US for error in errors]}


LINUX = {"sleep": "clock_nanosleep(), SCHED_FIFO and write(), liteuart", "timed": "timed launches, scheduled badly on purpose"}


def steps(long):
    """A million cycles of the core alone, each way; some hundred of Linux."""
    count = 2000 if long else 200
    made = [
        Step(f"alone-{way}", f"{MILLION:,} cycles of the core alone: {title}", 400, lambda way=way: alone(way, MILLION))
        for way, title in WAYS.items()
    ]
    return made + [
        Step(
            f"{way}-{'loaded' if load else 'idle'}",
            f"{count} cycles on Linux, {'beside a busy process' if load else 'idle'}: {title}",
            12 + count / 20,
            lambda way=way, load=load: on_linux(way, count, load),
        )
        for way, title in LINUX.items()
        for load in (False, True)
    ]


def tables(found):
    """The million, and the programs on Linux."""
    out = [
        f"The core alone ({RTL}), its clock scaled to 1 MHz: a tick is 1 µs, the cycle 1000 1/3 ticks. The reference's period wanders",
        "by up to ±4.5 µs, and a program follows it over the bus. Its scheduling is bad on purpose: every eighth time it sleeps on for up",
        "to 6 cycles, or 40 with launches. `nudged`: cycles that are not 1000 1/3 µs long. Too late: changes that it commanded too late",
        "because it lost the CPU. The core refuses such a change whole, and says so.",
        "",
        "| way | cycles | nudged | missing | double | farthest from the commanded time, ticks | too late "
        "| farthest from the reference, µs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for way, title in WAYS.items():
        if f"alone-{way}" in found:
            one = found[f"alone-{way}"]
            out.append(
                f"| {title} | {one['cycles']:,} | {one['nudged']:,} | {one['missing']} | {one['extra']} "
                f"| {one['worst_parts']}/{one['parts']} | {one['refused']:,} | {one['apart']} |"
            )
    out += [
        "",
        "A commanded time is a fraction, the pulse comes at the tick before it: so 2/3 of a tick is exact. How near the pulses are to the",
        "reference is up to the program. It sees the reference late, because launches wait in the board up to 56 cycles.",
        "",
        f"Programs on the Linux SoC at {HZ // 10**6} MHz ({RTL}), each cycle nudged by -5 to +5 µs, against what they commanded:",
        "",
        "| way | CPU | cycles | error, µs: standard deviation | least | most |",
        "|---|---|---|---|---|---|",
    ]
    for way, title in LINUX.items():
        for load in ("idle", "loaded"):
            if f"{way}-{load}" in found:
                errors = found[f"{way}-{load}"]["errors_us"]
                root = (sum(error * error for error in errors) / len(errors)) ** 0.5
                out.append(f"| {title} | {load} | {len(errors):,} | {root:,.2f} | {min(errors):+,.2f} | {max(errors):+,.2f} |")
    step_list = " → ".join(f"±{one}" for one in TUNED_US)
    out.append(f"| SCHED_FIFO, affinity, absolute sleeps, idle states off, one after the other ({PUBLISHED}) | | | | {step_list} | |")
    return out


def charts(found):
    """How the train follows; how far from the commanded time programs are."""
    out = []
    followed = [way for way in WAYS if f"alone-{way}" in found]
    if followed:
        shown = range(100, 600)  # it has caught up by then
        series = [
            Series(
                WAYS[way] + AHEAD.get(way, ""),
                list(shown),
                [found[f"alone-{way}"]["phases"][n] for n in shown],
                RTL,
                style="line",
                ours=True,
            )
            for way in followed
        ]
        title = "A program follows a reference that it sees late; each pulse is where it commanded it"
        out.append(Chart("p4-follow", title, "cycle", "distance from the reference [µs]", series))
    rows = [(way, load) for way in LINUX for load in ("idle", "loaded") if f"{way}-{load}" in found]
    if rows:
        series = [
            spread(
                f"{LINUX[way]}, {load}", [abs(error) / 1e6 for error in found[f"{way}-{load}"]["errors_us"]], RTL, way == "timed", 0.5 / HZ
            )
            for way, load in rows
        ]
        series += [
            limit(f"a tuned PC: {how}", us / 1e6) for us, how in zip(TUNED_US, ("as it was", "SCHED_FIFO, affinity", "absolute sleeps"))
        ]
        title = "A nudged cycle of 1000 µs, distance from the commanded time: least to most, dot: median"
        axis = "distance, either way; half a tick stands for 0 [s]"
        out.append(Chart("p4-cycle", title, axis, "", series, "x", rows=True))
    return out


P4 = Experiment(
    "p4",
    "a cycle that is nudged while it runs",
    "An EtherCAT-like master has a cycle of 1000 µs and must change it by up to 5 µs at any time, to follow another clock.",
    "±100 µs with an ordinary program, ±40 with SCHED_FIFO and affinity, ±10 with absolute sleeps and idle states switched off.",
    steps,
    tables,
    charts,
)
