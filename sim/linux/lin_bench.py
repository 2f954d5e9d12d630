# SPDX-License-Identifier: BSD-2-Clause
"""How soon LIN slaves of several kinds answer a header, on one booted Linux, measured at the pins of the simulated SoC.

    python -m lab.experiments p3 --write                     the table and the picture of docs/lin.md, and of docs/experiments.md
    SLLIN=linux-lin python -m lab.experiments p3 --write     with sllin, too, of that clone of https://github.com/lin-bus/linux-lin

The guest's program is programs/lin_bench.c. Every answer is read off the pin and must have the right bytes. The same run gives the same
figures, to the tick.
"""

import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median

from litepulse import plot
from sim.cocotb_rig import ROOT
from sim.core.model import edges
from sim.guest.frames import wave
from sim.guest.lin_bus import PIDS, Bus, checksum
from sim.guest.pins import changes
from sim.linux import linux_rig
from sim.linux.driver_bench import EACH, HZ, PEER, PULSE, Port, sent
from sim.linux.targets import HERE
from sim.measured import check

CPU = "vexriscv"
BUS = Bus(19200, HZ)
LENGTHS = (1, 8)  # data bytes of an answer
HEADERS = 20
MS = HZ // 1000
SLOT, SHIFT = 25 * MS, 23_431  # ticks from header to header, and more, so that each meets the scheduler's tick elsewhere
PLACES = [10 * MS + n * SLOT + n * n * SHIFT % SLOT // 4 for n in range(HEADERS)]
ENOUGH = PLACES[-1] // MS + 30  # milliseconds from the program's word to its end
TIMED = Fraction(3, 4)  # of what the standard allows: when the chardev's program launches its answer
LOADS = ("idle", "loaded", "halted")
PAGE = ROOT / "docs" / "lin.md"
PICTURES = {"light": "images/lin-response.png", "dark": "images/lin-response-dark.png"}  # beside it
BEGIN, END = "<!-- written by `python -m lab.experiments p3 --write` -->", "<!-- end -->"
# us that one byte and its echo took on a tty at 19200 baud: the authors of linux-lin. The two bytes alone are shorter.
PUBLISHED = {"four idle cores": 572, "one core": 1318, "one loaded core": 6924}
NOMINAL = 520  # us, as they give it


def longest(length):
    """The longest time, in us, that the standard lets a response of `length` data bytes wait: 40 %
    of its nominal duration."""
    return Fraction(4 * (length + 1) * 10**6, BUS.baud)


@dataclass(frozen=True)
class Slave:
    """One that answers: words of programs/lin_bench.c before LENGTH, and the port whose pins it has."""

    title: str
    words: str
    port: Port
    before: str = ""
    module: str = ""  # what it needs beside the driver
    loads: tuple = LOADS[:2]
    timed: bool = False  # it launches each byte at a tick


SLAVES = (
    Slave("a program, liteuart's tty", f"tty {PEER.path}", PEER),
    Slave("sllin, liteuart's tty", f"sllin {PEER.path}", PEER, module="sllin"),
    Slave("a program, LitePulse's tty", f"tty {PULSE.path}", PULSE, EACH),
    Slave("sllin, LitePulse's tty", f"sllin {PULSE.path}", PULSE, EACH, "sllin"),
    Slave("a program, LitePulse's chardev, timed", "chardev {bits}", PULSE, timed=True),
    Slave("lin0", "lin0", PULSE, module="litepulse_lin", loads=LOADS),
)


def sllin_folder():
    """The module's sources in the clone that SLLIN names; None if it names none."""
    path = os.environ.get("SLLIN")
    if not path:
        return None
    folder = Path(path) / "sllin"
    check((folder / "sllin.c").is_file(), f"SLLIN: there is no sllin/sllin.c in {path}")
    return folder


class Bench:
    """Runs programs/lin_bench.c on a booted guest with driver, lin0 and, if there is one, sllin."""

    def __init__(self, cpu=CPU, sllin=None):
        guest = linux_rig.boot_with_driver(cpu)
        sources = {"litepulse_lin": linux_rig.DRIVER, "litepulse_halt": HERE / "halt"} | ({"sllin": sllin} if sllin else {})
        modules = {f"{name}.ko": guest.module(source)[name] for name, source in sources.items()}
        self.guest = guest.after(" && ".join(f"insmod {name}" for name in modules), modules)
        self.has = {name for name in sources}
        registers = guest.machine.description["csr_registers"]
        self.environment = f"export PEER_TUNING={registers['peer_phy_tuning_word']['addr']:#x}"

    def spaces(self, slave, length, load):
        """Ticks from the end of each header to its answer, None: there is none. BenchError if a byte is wrong, or lin0 not exact."""
        data, port, what = bytes(range(1, length + 1)), slave.port, f"{slave.title}, {length} bytes, {load}"
        header = edges(wave([one for place in PLACES for one in BUS.header(place, PIDS[0x10])]))
        words = slave.words.format(bits=int(TIMED * longest(length) * BUS.baud / 10**6))
        answers = self.guest.run_program(
            "lin_bench",
            [*words.split(), length, load if load != "idle" else "alone", ENOUGH],
            before=f"{self.environment}\n{slave.before}",
            stimulus=["after ready go", *(f"+{tick} {port.rx} {level}" for tick, level in header)],
            buses=[f"{port.tx}:{port.rx}"],
            max_cycles=(ENOUGH + 600) * MS,
        )
        first = next(tick for tick, level in changes(answers.pins, port.rx) if not level)
        starts = [first - PLACES[0] + place for place in PLACES]
        answer = data + bytes([checksum(data)])
        found = []
        for start, end in zip(starts, [*starts[1:], starts[-1] + SLOT]):
            mine = [(tick, byte) for tick, byte in sent(answers.pins, port, BUS.baud) if start < tick <= end]
            got = bytes(byte for _, byte in mine)
            # Launches that came too late are refused, each for itself: then only the end of an answer is sent, which is none.
            check(got == answer or not got or slave.timed and answer.endswith(got), f"{what}: the answer is wrong: {mine}")
            found.append(mine[0][0] - (start + BUS.bits(34)) if got == answer else None)
        if slave.words == "lin0":
            exact = [frame for start in starts for frame in BUS.answer(start, answer, BUS.bits(1))]
            check(edges([(0, 1), *changes(answers.pins, port.tx)]) == edges(wave(exact)), f"{what}: an edge is not at its tick")
        return found


def summary(ticks, length):
    """{median, least, most: us of those that came; late: more than the standard allows; missing}."""
    us = [tick * 10**6 / HZ for tick in ticks if tick is not None]
    late = sum(one > longest(length) for one in us)
    spread = {"median": median(us), "least": min(us), "most": max(us)} if us else {}
    return {**spread, "late": late, "missing": len(ticks) - len(us), "us": us}


def in_words(one):
    """A summary in words: median and span in us, and what is wrong with how many."""
    wrong = [f"{one[what]} of {HEADERS} {what}" for what in ("late", "missing") if one[what]]
    if "median" not in one:
        return "no answer in time"
    same = one["least"] == one["most"]
    span = f"{one['median']:,.1f}, each to the tick" if same else f"{one['median']:,.0f} ({one['least']:,.0f} to {one['most']:,.0f})"
    return f"{span}{', **' + ', '.join(wrong) + '**' if wrong else ''}"


def lines(rows):
    """The table of rows: {"title", "load", "of": {length: summary}}."""
    allowed = [f"{length} byte{'s' if length > 1 else ''}, at most {float(longest(length)):,.0f}" for length in LENGTHS]
    out = [
        f"The time from the end of a header to the answer, in µs: median, least and most of {HEADERS} headers",
        f"at {BUS.baud:,} baud, and how many answers came later than the standard allows. The machine is one",
        f"VexRiscv at {HZ // 10**6} MHz with caches of 4 KB (simulated gateware): the same sources give the same figures.",
        "`loaded`: a process of the same priority wants all of the CPU. `halted`: the whole time the CPU runs",
        "one loop with interrupts disabled. The program on the chardev launches its answer after",
        f"{TIMED.numerator}/{TIMED.denominator} of what the standard allows. If it has not seen the header by then, nothing is sent, or",
        "only the end of the answer: that counts as missing. Published: one byte and its echo on a tty and a much",
        f"faster CPU, by the authors of linux-lin, less the {NOMINAL} µs that the bytes themselves last.",
        "",
        f"| who answers | CPU | {' | '.join(allowed)} |",
        "|---|---|" + "---|" * len(LENGTHS),
    ]
    for row in rows:
        cells = [in_words(row["of"][str(length)]) for length in LENGTHS]
        out.append(f"| {row['title']} | {row['load']} | {' | '.join(cells)} |")
    for cores, us in PUBLISHED.items():
        out.append(f"| a tty (published) | {cores} | {us - NOMINAL:,}: {us:,} instead of {NOMINAL} |{' |' * (len(LENGTHS) - 1)}")
    if not any(row["title"].startswith("sllin") for row in rows):
        out += ["", "sllin was not measured: SLLIN names no clone of it."]
    return out


def draw(rows, path, theme):
    """Every answer of every slave, on a logarithmic scale, with what the standard allows; theme: one of litepulse.plot."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    colours = plot.THEMES[theme]
    with matplotlib.rc_context(plot.settings(colours)):
        figure = draw_rows(rows[::-1], pyplot, colours)
        figure.savefig(path, dpi=110)
        pyplot.close(figure)


def draw_rows(rows, pyplot, theme):
    """The figure: a panel for each length, a row for each slave and load, the last one on top."""
    from matplotlib.ticker import EngFormatter, FuncFormatter, NullFormatter

    seconds = EngFormatter("s")
    figure, axes = pyplot.subplots(1, len(LENGTHS), figsize=(11, 0.42 * len(rows) + 1.6), sharey=True)
    for axis, length in zip(axes, LENGTHS):
        limit = float(longest(length))
        axis.axvspan(limit, 20_000, color=theme.limits, alpha=0.1, label="later than the standard allows")
        for place, row in enumerate(rows):
            one = row["of"][str(length)]
            colours = [theme.limits if us > limit else theme.tick for us in one["us"]]
            axis.scatter(one["us"], [place] * len(one["us"]), c=colours, s=18, alpha=0.7)
            if one["missing"]:
                axis.text(19_000, place, f"{one['missing']} of {HEADERS} not sent", ha="right", va="center", fontsize=8)
        axis.set_xscale("log")
        axis.set_xlim(30, 20_000)
        axis.xaxis.set_major_formatter(FuncFormatter(lambda us, _: seconds(us / 10**6)))  # 100 µs, 1 ms, 10 ms
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_title(f"answer of {length} byte{'s' if length > 1 else ''}", fontsize=10)
        axis.set_xlabel("from header to answer")
        axis.grid(alpha=0.3, which="both", axis="x")
        axis.legend(loc="lower right", fontsize=8)
    axes[0].set_yticks(range(len(rows)), [f"{row['title']}, {row['load']}" for row in rows], fontsize=9)
    figure.suptitle(f"LIN slaves at {BUS.baud:,} baud on a CPU of {HZ // 10**6} MHz: {HEADERS} answers each, SIMULATED")
    figure.set_layout_engine("constrained")
    return figure


def picture_lines():
    """The picture as the page shows it, on light and on dark pages."""
    return [
        "<picture>",
        f'  <source media="(prefers-color-scheme: dark)" srcset="{PICTURES["dark"]}">',
        f'  <img src="{PICTURES["light"]}" alt="Answers of LIN slaves of several kinds">',
        "</picture>",
    ]


def with_table(text, rows, how):
    """The page's text with this table in its place; `how`: what was run, when, on which sources."""
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    check(BEGIN in text and END in text, f"{PAGE.name} has no place for the table")
    return "\n".join([f"{before}{BEGIN}", *picture_lines(), "", how, "", *lines(rows), f"{END}{after}"])


def write_page(rows, how):
    """Puts table and pictures into docs/lin.md."""
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), rows, how), encoding="utf-8")
    for theme, name in PICTURES.items():
        draw(rows, PAGE.parent / name, theme)
