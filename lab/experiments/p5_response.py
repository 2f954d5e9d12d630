# SPDX-License-Identifier: BSD-2-Clause
"""P5: how soon an edge at an input is answered by an edge at an output, by whom, and beside what was published."""

import textwrap
from statistics import median

from lab.experiments import p5_cable, p5_pads, p5_soc
from lab.experiments.experiment import PUBLISHED, Chart, Experiment, Series, Step, by_rank, with_unit
from lab.experiments.p5_published import PERCENTS, SOURCE, published

SAMPLES = 1000  # of each in the long variant, and where they cost little
GOAL = published()[0].percentiles[PERCENTS.index(50)]  # s: the soonest median, that of the RP2040's PIO
GOAL_TICKS = 1  # the spread of our delays, at most
BEST = "ecp5"  # the step that the goal is about
LITEUART = p5_soc.LITEUART.title
FEW = 100  # samples: of fewer p99 is the longest, which says nothing of its own


def steps(long):
    """What is measured. Of programs the short variant takes fewer samples, as each costs up to 16 ms of the guest's time."""

    def soc(name, title, short_seconds, long_seconds, ways, count):
        cases = [(way, load, count) for way in ways for load in way.spacing]
        return Step(name, title, long_seconds if long else short_seconds, lambda: p5_soc.rows(cases))

    few, some = (SAMPLES, SAMPLES) if long else (30, 100)
    found = [
        Step(BEST, "the responder from pad to pad at 200 MHz, one sample per cycle", 35, lambda: p5_pads.measure("ecp5_generic", SAMPLES)),
        Step("ecp5-s4", "the same with four samples per cycle", 30, lambda: p5_pads.measure("ecp5_serdes", SAMPLES)),
        soc("responder", "the responder of the Linux SoC: idle, loaded, halted", 30, 30, [p5_soc.RESPONDER], SAMPLES),
        soc("kernel", "a kernel module of the Linux SoC: idle, loaded", 45, 230, [p5_soc.KERNEL], some),
        soc("chardev", "a program on the chardev: idle, loaded", 60, 700, [p5_soc.CHARDEV], few),
        soc("tty", "programs on LitePulse's and liteuart's ttys: idle, loaded", 85, 900, [p5_soc.TTY, p5_soc.LITEUART], few),
        Step("cable", "a board on a USB cable: responder, module and programs", 650 if long else 65, lambda: p5_cable.rows(some)),
    ]
    if long:
        one = Step("ecp5-netlist", "the netlist of an ECP5, pad to pad", 110, lambda: p5_pads.measure("ecp5_generic", SAMPLES, "netlist"))
        found.insert(1, one)
    return found


def middle(row):
    """The median of its delays in s; after all others if nothing was answered."""
    return median(seconds(row)) if row["delays"] else float("inf")


def all_rows(figures):
    """The rows of all steps, fastest first."""
    return sorted((row for step in figures.values() for row in step["rows"]), key=middle)


def seconds(row):
    """Its delays."""
    return [delay / row["per_second"] for delay in row["delays"]]


def spread_ticks(row):
    """The longest less the shortest delay, in ticks."""
    return (max(row["delays"]) - min(row["delays"])) * row["tick_hz"] / row["per_second"]


def place(row):
    """Where it was measured, with what the CPU did."""
    return row["where"] + ("" if row["cpu"] == "none" else f", CPU {row['cpu']}")


def emulated(row):
    """Whether its delays go by the clock on the emulator's wall: the PC's on the cable. Only their ratio to the responder counts."""
    return row["where"] == p5_cable.WHERE and row["who"] != p5_cable.RESPONDER


def line_of(row, responder):
    """(median, line of the table) of a row of ours. `responder`: the median of the one on the cable, in s, or None."""
    cells = [row["who"], place(row), row["source"], f"{len(row['delays']):,} of {row['stimuli']:,}"]
    times = seconds(row)
    if times:
        found = [with_unit(min(times)), with_unit(median(times)), with_unit(by_rank(times, 99)), with_unit(max(times))]
        spread = spread_ticks(row)
        cells += [*found, f"{spread:,.0f}" if spread == int(spread) else f"{spread:.3f}"]
        if emulated(row):
            of = (min(times), median(times), by_rank(times, 99), max(times))
            cells[-5:] = [*(f"× {time / responder:,.0f}" if responder else "-" for time in of), "-"]
        if row["stimuli"] < FEW:
            cells[-3] = "-"
    else:
        cells += ["-"] * 5
    return middle(row), f"| {' | '.join([*cells, str(row['refused']), str(row['missed']), '-'])} |"


def line_of_published(one):
    """(median, line of the table) of a published measurement."""
    of = dict(zip(PERCENTS, one.percentiles))
    count = f"{one.answers:,} of {one.answers + one.time_outs:,}"
    times = " | ".join(with_unit(time) for time in (one.least, of[50], of[99], one.most))
    yours = f"[{one.program[0]}](responders.md#{one.program[1]})" if one.program else "-"
    return of[50], f"| {one.name} | the study's bench | {PUBLISHED} | {count} | {times} | - | - | {one.time_outs} | {yours} |"


def verdict(row):
    """The paragraph that says whether the goal is reached, and by how much."""
    found, spread = median(seconds(row)), spread_ticks(row)
    soon, even = found < GOAL, spread <= GOAL_TICKS
    return (
        f"**Goal {'reached' if soon and even else 'missed'}.** "
        f"The responder of the {row['where']} answers after {with_unit(found)} in the median. "
        f"That is {with_unit(abs(GOAL - found))} {'less' if soon else 'more'} than the RP2040's {with_unit(GOAL)}. "
        f"Its delays spread over {spread:.3f} ticks of {with_unit(1 / row['tick_hz'])}; the goal is at most {GOAL_TICKS}. "
        "Each answer is at its exact tick: the spread is where in a tick the edge comes. "
        "The delays of the FPGA's pads and of the board's wires are not simulated. On hardware they come on top "
        "([pins.md](pins.md#from-pad-to-pad)). The published figures were measured on hardware."
    )


NOTES = (
    "Delays of edges count from the edge at the input pin to the edge at the output pin. Delays of bytes (the ttys) count from the "
    "begin of the stop bit to the start edge of the same byte. `refused`: the answer was launched too late, so it was not sent. "
    "`missed`: the stimulus was not seen, or the study's measurement timed out. `×`: the median as "
    "a multiple of the responder's on the cable; times of the PC there are the emulator's. "
    f"Of fewer than {FEW} samples there is no p99. `measure yours`: such a program for your own machine, and how to measure it. "
    f"Published: {SOURCE}."
)


def tables(figures):
    """The table, fastest first, and what it says."""
    rows = all_rows(figures)
    responder = next((middle(row) for row in rows if (row["where"], row["who"]) == (p5_cable.WHERE, p5_cable.RESPONDER)), None)
    lines = sorted([*(line_of(row, responder) for row in rows), *map(line_of_published, published())], key=lambda pair: pair[0])
    paragraphs = [NOTES, *(verdict(row) for row in figures.get(BEST, {"rows": []})["rows"])]
    return [
        "| who answers | where | source | samples | least | median | p99 | most | spread, ticks | refused | missed | measure yours |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
        *(line for _, line in lines),
        *(line for paragraph in paragraphs for line in ("", *textwrap.wrap(paragraph, 100, break_on_hyphens=False))),
    ]


def row_of(name, times, source, ours):
    """The row of the picture of {percent: s}."""
    words = {0: "least", 50: "median", 100: "most"}
    labels = [f"{words.get(percent, f'p{percent}')} {with_unit(time)}" for percent, time in times.items()]
    return Series(name, [*times.values()], [*times], source, "line", ours, labels)


def charts(figures):
    """All distributions but those of the PC on the cable, whose times are the emulator's."""
    series = []
    for row in all_rows(figures):
        if row["delays"] and not emulated(row):
            times = seconds(row)
            shares = {0: min(times), 50: median(times), **({99: by_rank(times, 99)} if row["stimuli"] >= FEW else {}), 100: max(times)}
            series.append(row_of(f"{row['who']}, {place(row)}", shares, row["source"], row["who"] != LITEUART))
    for one in published():
        of = dict(zip(PERCENTS, one.percentiles))
        series.append(row_of(one.name, {0: one.least, 50: of[50], 99: of[99], 100: one.most}, PUBLISHED, False))
    series.sort(key=lambda one: one.x[one.y.index(50)])
    title = "From edge to answer: least to most, dot: median"
    return [Chart("p5-response", title, "delay [s]", "", series, "x", rows=True)] if series else []


P5 = Experiment(
    name="p5",
    title="Edge in, edge out",
    question=(
        "How fast does a system answer an edge at an input with an edge at an output? Who answers: a program on a serial port, a program "
        "on the timing device, a module of the kernel in the interrupt, or the core itself? The first three are measured on the Linux SoC, "
        "with the CPU idle and loaded, and over a USB cable. There a worker of the kernel launches the module's answers. The core's "
        "responder is measured in all of these places, and also at the full speed of an FPGA."
    ),
    published=(
        f"{SOURCE}: 500 to 1000 samples each. Medians: RP2040 with PIO 42.6 ns (38.0 to 48.4), Arduino Uno with an interrupt 9.04 µs "
        "(8.95 to 15.0), a kernel module on a Raspberry Pi Zero 12.9 µs (6.0 to 43.8), a program there 130 µs with mapped GPIO and 272 µs "
        "with sysfs, Python 210 µs."
    ),
    steps=steps,
    tables=tables,
    charts=charts,
)
