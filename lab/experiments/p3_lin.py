# SPDX-License-Identifier: BSD-2-Clause
"""P3: how soon a LIN slave answers. It is measured by sim/linux/lin_bench.py; docs/lin.md has the same table."""

from functools import cache

from lab.experiments.experiment import RTL, Chart, Experiment, Step, limit, spread
from sim.linux import lin_bench
from sim.linux.lin_bench import LENGTHS, SLAVES, longest, summary


@cache
def bench():
    """The guest with driver, lin0 and, if SLLIN names a clone, sllin."""
    return lin_bench.Bench(sllin=lin_bench.sllin_folder())


def answers(slave, load):
    """{length: summary} of one slave."""
    return {str(length): summary(bench().spaces(slave, length, load), length) for length in LENGTHS}


def rows():
    """(step's name, slave, load) of those that can be measured here."""
    for number, slave in enumerate(SLAVES):
        if slave.module != "sllin" or lin_bench.sllin_folder():
            for load in slave.loads:
                yield f"{number}-{load}", slave, load


def steps(_long):
    """Every slave and load; there is no longer variant."""
    return [
        Step(name, f"LIN answers of {slave.title}, {load}", 45, lambda s=slave, one=load: answers(s, one)) for name, slave, load in rows()
    ]


def named(found):
    """(slave, load, figures) of what there is."""
    for number, slave in enumerate(SLAVES):
        for load in slave.loads:
            if f"{number}-{load}" in found:
                yield slave, load, found[f"{number}-{load}"]


def table_rows(found):
    """Rows as lin_bench.lines() wants them."""
    return [{"title": slave.title, "load": load, "of": one} for slave, load, one in named(found)]


def tables(found):
    """A way to answer, and how soon it does."""
    return [*lin_bench.lines(table_rows(found)), "", "[lin.md](lin.md#how-soon-slaves-answer) shows the answers of eight bytes, too."]


def write_page(found, how):
    """The same table in docs/lin.md, and the picture of all answers."""
    lin_bench.write_page(table_rows(found), how)


def charts(found):
    """How soon answers of one byte begin."""
    series = []
    for slave, load, one in named(found):
        us, missing = one["1"].get("us", []), one["1"]["missing"]
        if us:
            name = f"{slave.title}, {load}" + (f" ({missing} of {len(us) + missing} missing)" if missing else "")
            series.append(spread(name, [value / 1e6 for value in us], RTL, slave.title == "lin0"))
    if not series:
        return []
    series.append(limit("the standard allows", float(longest(1)) / 1e6))
    title = "LIN, answers of one byte: least to most, dot: median"
    return [Chart("p3-lin", title, "from header to answer [s]", "", series, "x", rows=True)]


P3 = Experiment(
    "p3",
    "a LIN slave that answers in time",
    "A LIN slave may take 40 % of its response's nominal length before it answers. Programs behind a tty take longer.",
    "One byte and its echo at 19200 baud took 572 µs on four idle cores, 1,318 on one core and 6,924 on one loaded core, instead of 520 "
    "(authors of linux-lin).",
    steps,
    tables,
    charts,
    write_page,
)
