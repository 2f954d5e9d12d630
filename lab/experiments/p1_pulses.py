# SPDX-License-Identifier: BSD-2-Clause
"""P1: 58 pulses a second, five ways."""

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from statistics import pstdev

from lab.experiments import soc
from lab.experiments.experiment import PUBLISHED, RTL, Chart, Experiment, Series, Step, check, limit, spread
from sim.guest.pins import changes
from sim.linux.driver_bench import PEER, PULSE

RATE, HZ, MS = 58, soc.HZ, soc.MS
PERIOD = Fraction(HZ, RATE)
TICK_US = Fraction(10**6, HZ)
TUNED_US = 100  # what the published experiment reached on a tuned laptop
# The reference: edges 25,000,000 ticks apart if its clock and the board's were alike. The board's is slow by DRIFT and slows further.
REFERENCE_HZ = 2
DRIFT, SLOWING = Fraction(40, 10**6), Fraction(1, 10**6)  # of a period; per period
FIRST = 60 * MS  # from the word to the first edge: the program must have started by then


@dataclass(frozen=True)
class Way:
    """One of the five: its program in sw/examples, its device, the pin it moves, and whether each pulse must be at its exact tick."""

    name: str
    title: str
    program: str
    device: str
    pin: str
    exact: bool


WAYS = (
    Way("usleep", "usleep() and write(), liteuart", "p1_tty", PEER.path, PEER.tx, False),
    Way("absolute", "clock_nanosleep() and SCHED_FIFO, liteuart", "p1_absolute", PEER.path, PEER.tx, False),
    Way("timed", "timed launches", "p1_timed", "/dev/litepulse0", PULSE.tx, True),
    Way("train", "hardware train", "p1_train", "/dev/litepulse0", PULSE.tx, True),
)


def starts(pins, pin, count):
    """Ticks of the start edges of `count` bytes 0xff on a pin."""
    found = [tick for tick, level in changes(pins, pin) if not level]
    check(len(found) == count, f"{pin}: {len(found)} pulses instead of {count}")
    return found


def misplaced(ticks):
    """How many are not at floor(first + k * period)."""
    return sum(tick != floor(ticks[0] + k * PERIOD) for k, tick in enumerate(ticks))


def pulses(way, count, load):
    """The start edges of one way's pulses: {"ticks": from the first one on, "misplaced"}."""
    answers = soc.run([way.program, way.device, count], load=load, max_cycles=int(count * PERIOD * 2) + 1000 * MS)
    ticks = starts(answers.pins, way.pin, count)
    wrong = misplaced(ticks)
    check(not (way.exact and wrong), f"{way.title}: {wrong} of {count} pulses are not at their exact ticks")
    return {"ticks": [tick - ticks[0] for tick in ticks], "misplaced": wrong}


def reference(edges):
    """Ticks of the reference's edges from the program's word on, as fractions."""
    tick, found = Fraction(FIRST), []
    for n in range(edges):
        found.append(tick)
        tick += Fraction(HZ, REFERENCE_HZ) * (1 + DRIFT + n * SLOWING)
    return found


def disciplined(edges):
    """A train that follows `edges` edges of the reference, beside a busy process.

    {"errors": ticks of each pulse against the reference, between whose edges time is taken as even; "free": the same of a train that had
    begun with it and kept the board's own 58 Hz; "at_edges": what the program printed}
    """
    per_edge = RATE // REFERENCE_HZ
    count = edges * per_edge + 1
    wanted = reference(edges + 4)
    moves = [entry for tick in wanted for entry in ((int(tick), "aux0", 1), (int(tick) + MS, "aux0", 0))]
    answers = soc.run(
        ["p1_disciplined", "/dev/litepulse0", count, 0, REFERENCE_HZ],
        moves,
        before="echo ready go",
        load=True,
        max_cycles=int(wanted[-1]) + 2000 * MS,
    )
    seen = [tick for tick, level in changes(answers.pins, "aux0") if level]
    late = seen[0] - int(wanted[0])
    ticks = starts(answers.pins, PULSE.tx, count)
    # Two edges tell the rate; pulse 0 belongs to the third.
    places = [
        late + wanted[2 + k // per_edge] + (wanted[3 + k // per_edge] - wanted[2 + k // per_edge]) * Fraction(k % per_edge, per_edge)
        for k in range(count)
    ]
    free = [ticks[0] + floor(k * PERIOD) for k in range(count)]
    return {
        "errors": [float(tick - place) for tick, place in zip(ticks, places)],
        "free": [float(tick - place) for tick, place in zip(free, places)],
        "at_edges": [[int(word) for word in row] for row in answers.lines if len(row) == 2 and row[0].isdigit()],
    }


def steps(long):
    """58 pulses of each way, idle and loaded, and as many of the reference's periods as there is time for."""
    count, edges = (581, 20) if long else (30, 2)
    made = [
        Step(
            f"{way.name}-{'loaded' if load else 'idle'}",
            f"{count} pulses by {way.title}, {'beside a busy process' if load else 'idle'}",
            count * 0.9,
            lambda way=way, load=load: pulses(way, count, load),
        )
        for way in WAYS
        for load in (False, True)
    ]
    title = f"a train disciplined by a reference for {edges} of its periods, beside a busy process"
    return [*made, Step("disciplined", title, edges * 75, lambda: disciplined(edges))]


def errors_us(ticks):
    """Each period less the wanted one, in us."""
    return [float((later - tick - PERIOD) * TICK_US) for tick, later in zip(ticks, ticks[1:])]


def measured(found):
    """(way, load, figures) of what there is."""
    for way in WAYS:
        for load in ("idle", "loaded"):
            if f"{way.name}-{load}" in found:
                yield way, load, found[f"{way.name}-{load}"]


def tables(found):
    """What each way reached."""
    out = [
        f"The Linux SoC at {HZ // 10**6} MHz ({RTL}): start edges at the recorded pins. `loaded`: beside a process that wants all of",
        "the CPU at the usual priority. An error of a period is its length less 1/58 s.",
        "",
        "| way | CPU | pulses | rate, Hz | largest error of a period, µs | standard deviation, µs | not at the exact tick |",
        "|---|---|---|---|---|---|---|",
    ]
    for way, load, one in measured(found):
        ticks, errors = one["ticks"], errors_us(one["ticks"])
        rate = Fraction(HZ * (len(ticks) - 1), ticks[-1])
        out.append(
            f"| {way.title} | {load} | {len(ticks)} | {float(rate):.4f} | {max(errors, key=abs):+,.3f} | {pstdev(errors):,.3f} "
            f"| {one['misplaced']} |"
        )
    out.append(f"| a tuned laptop, Linux 6.12 ({PUBLISHED}) | | | | ±{TUNED_US} | | |")
    if "disciplined" in found:
        one = found["disciplined"]
        settled = one["errors"][RATE // REFERENCE_HZ :]
        out += [
            "",
            f"The exact periods differ by 20 ns, a tick: {float(PERIOD):.3f} ticks are no whole number. Exact means of the board's clock.",
            f"The fifth way follows a better one, {REFERENCE_HZ} edges a second on input 0. In this run the first period of it is",
            f"{float(DRIFT * 10**6):g} ppm longer than the board's clock says, and each is {float(SLOWING * 10**6):g} ppm longer than",
            "the one before.",
            "",
            f"| train of {len(one['errors'])} pulses, loaded | largest distance from the reference, µs |",
            "|---|---|",
            f"| free, begun with the reference | {max(map(abs, one['free'])) * float(TICK_US):,.2f} |",
            f"| disciplined | {max(map(abs, one['errors'])) * float(TICK_US):,.2f} |",
            f"| disciplined, from the second edge on | {max(map(abs, settled)) * float(TICK_US):,.2f} |",
            "",
            f"What is left is one change of the rate: {float(SLOWING * 10**6):g} ppm of {1000 // REFERENCE_HZ} ms are "
            f"{float(SLOWING) * 10**6 / REFERENCE_HZ:g} µs, and a tick.",
        ]
    return out


def charts(found):
    """Errors of the periods by all ways; the distance from the reference."""
    series = [
        spread(f"{way.title}, {load}", [abs(error) / 1e6 for error in errors_us(one["ticks"])], RTL, way.exact)
        for way, load, one in measured(found)
    ]
    if not series:
        return []
    series.append(limit("a tuned laptop, at best", TUNED_US / 1e6))
    title, axis = (
        "58 Hz from Linux, errors of the periods: least to most, dot: median",
        "error, either way; below a tick (20 ns) it is rounding [s]",
    )
    out = [Chart("p1-periods", title, axis, "", series, "x", rows=True)]
    if "disciplined" in found:
        one = found["disciplined"]
        x = [k / RATE for k in range(len(one["errors"]))]
        series = [
            Series("train, free", x, [error * float(TICK_US) for error in one["free"]], RTL, style="line", ours=False),
            Series("train, disciplined", x, [error * float(TICK_US) for error in one["errors"]], RTL, style="line"),
        ]
        title = "58 Hz of a better clock: distance from the reference"
        out.append(Chart("p1-reference", title, "time [s]", "distance [µs]", series))
    return out


P1 = Experiment(
    "p1",
    "58 pulses a second from a serial port",
    "A byte 0xFF is one short pulse. How even are 58 of them a second, if a program sleeps and writes them, and if the board does it?",
    "Within ±0.1 ms at best on a tuned laptop with Linux 6.12; worse on a server, and worse again on a USB adapter. Its author bought a "
    "signal generator.",
    steps,
    tables,
    charts,
)
