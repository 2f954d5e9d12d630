# SPDX-License-Identifier: BSD-2-Clause
"""`make linux-demo`: 58 pulses a second from one booted Linux, three ways, judged by the recorded pins.

The programs of sw/examples run one after the other on a kernel that boots on the simulated SoC: sleep and write(), timed launches,
the hardware train. Each pulse is the start bit of a byte 0xff at 9600 baud.
"""

import argparse
import json
import sys
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from pathlib import Path
from statistics import mean, pstdev

from litepulse import plot
from litepulse.output import columns
from litepulse.termplot import points
from sim.cocotb_rig import ROOT
from sim.guest.builds import BuildError
from sim.guest.pins import changes
from sim.linux import linux_rig

RATE, BAUD, HZ = 58, 9600, 50_000_000
PERIOD = Fraction(HZ, RATE)
BIT = Fraction(floor(Fraction(256 * HZ, BAUD) + Fraction(1, 2)), 256)  # ticks: what the core makes of the baud rate
US_PER_TICK = Fraction(10**6, HZ)
EXAMPLES = ROOT / "sw" / "examples"
# Program, its device, what it is, and whether each of its edges must lie at the exact tick.
PROGRAMS = (
    ("p1_tty", "/dev/ttyPULSE0", "usleep and write()", False),
    ("p1_timed", "/dev/litepulse0", "timed launches", True),
    ("p1_train", "/dev/litepulse0", "hardware train", True),
)


@dataclass(frozen=True)
class Measured:
    """The pulses of one program."""

    name: str
    title: str
    exact: bool  # must be
    ticks: list  # of the start edges

    @property
    def periods(self):
        """Ticks from each pulse to the next."""
        return [later - tick for tick, later in zip(self.ticks, self.ticks[1:])]

    @property
    def errors_us(self):
        """Each period less the wanted one, in us."""
        return [float((period - PERIOD) * US_PER_TICK) for period in self.periods]

    @property
    def misplaced(self):
        """Pulses that are not at floor(start + k * period)."""
        return sum(tick != floor(self.ticks[0] + k * PERIOD) for k, tick in enumerate(self.ticks))

    @property
    def good(self):
        """As promised?"""
        return not (self.exact and self.misplaced)


class DemoError(RuntimeError):
    """The pins do not show what the programs should have done."""


def measure(guest, count):
    """[Measured] of the three programs, `count` pulses each, run one after the other in one guest."""
    files = {name: guest.program(EXAMPLES / f"{name}.c", includes=(linux_rig.UAPI,)) for name, *_ in PROGRAMS}
    command = " && ".join(f"./{name} {device} {count}" for name, device, _, _ in PROGRAMS)
    # A second of the guest is a good many cycles, and each program takes a while to start.
    result = guest.run(command, files, max_cycles=int(count * len(PROGRAMS) * PERIOD * 2) + 100_000_000)
    edges = changes(result.pins, "tx")
    starts = [tick for tick, level in edges if level == 0]
    widths = {end - tick for (tick, level), (end, _) in zip(edges, edges[1:]) if level == 0}
    if len(starts) != count * len(PROGRAMS) or widths != {floor(BIT)}:
        raise DemoError(f"{len(starts)} pulses of {sorted(widths)} ticks instead of {count * len(PROGRAMS)} of {floor(BIT)}")
    return [Measured(name, title, exact, starts[n * count : (n + 1) * count]) for n, (name, _, title, exact) in enumerate(PROGRAMS)]


def table(measured):
    """Lines for people."""
    lines = [
        f"{'program':<10}{'':<20}{'rate':>12}{'period error, us':>26}{'not at the':>14}",
        f"{'':<10}{'':<20}{'Hz':>12}{'worst':>13}{'std. dev.':>13}{'exact tick':>14}",
    ]
    for one in measured:
        rate = HZ / Fraction(one.ticks[-1] - one.ticks[0], len(one.ticks) - 1)
        worst = max(one.errors_us, key=abs)
        lines.append(
            f"{one.name:<10}{one.title:<20}{float(rate):>12.4f}{worst:>+13.3f}{pstdev(one.errors_us):>13.3f}"
            f"{one.misplaced:>9} of {len(one.ticks)}"
        )
    return lines


def draw(measured, path):
    """Period errors of all programs, each on a scale of its own, with what a tuned laptop reached."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(measured), 1, figsize=(9, 7.5), sharex=True)
    for axis, one in zip(axes, measured):
        worst = max(map(abs, one.errors_us))
        axis.plot(range(1, len(one.errors_us) + 1), one.errors_us, ".-", color="#1f77b4" if one.exact else "#d62728", linewidth=1)
        if worst > plot.BAND_NS / 1000 / 10:
            axis.axhspan(-plot.BAND_NS / 1000, plot.BAND_NS / 1000, color="#d62728", alpha=0.12, label="±0.1 ms: tuned laptop, Linux 6.12")
            axis.legend(loc="upper right", fontsize=9)
        else:
            axis.set_ylim(-0.06, 0.06)
            axis.axhspan(-float(US_PER_TICK), float(US_PER_TICK), color="#2ca02c", alpha=0.12, label="± one tick of 20 ns")
            axis.legend(loc="upper right", fontsize=9)
        axis.set_title(f"{one.name}: {one.title}; mean {mean(one.errors_us):+.4g} us", fontsize=10)
        axis.set_ylabel("period error [us]")
        axis.grid(alpha=0.3)
    axes[-1].set_xlabel("period")
    figure.suptitle(f"{RATE} Hz from Linux on the SoC, three ways")
    figure.text(
        0.995,
        0.003,
        f"{plot.SIMULATED}: gateware and kernel, no board",
        ha="right",
        va="bottom",
        fontsize=9,
        color="#b00020",
        weight="bold",
    )
    figure.set_layout_engine("constrained", rect=(0, 0.03, 1, 0.97))
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def main(argv=None):
    """The demo; 0 if all edges that must be exact were."""
    parser = argparse.ArgumentParser(prog="python -m sim.linux.demo", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cpu", choices=linux_rig.CPUS, default=linux_rig.CPUS[0], help="default %(default)s")
    parser.add_argument("--count", type=int, default=20, help="pulses of each program, 3 or more (default %(default)s)")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "linux-demo", help="folder of the results (default %(default)s)")
    args = parser.parse_args(argv)
    if args.count < 3:
        parser.error("count: 3 pulses at least")
    args.output.mkdir(parents=True, exist_ok=True)
    cycles = float(PERIOD) * args.count * len(PROGRAMS) / 1e6
    print(
        f"LitePulse on Linux: {args.count} pulses at {RATE} Hz by each of three programs, on a kernel that runs on the SoC's own\n"
        f"gateware. No board needed: SIMULATED, {cycles:.0f} million clock cycles of {HZ // 10**6} MHz.\n",
        flush=True,
    )
    try:
        measured = measure(linux_rig.boot_with_driver(args.cpu, "bench"), args.count)
    except (BuildError, DemoError, linux_rig.GuestError) as error:
        print(f"linux-demo: {error}", file=sys.stderr)
        return 1
    print("\n".join(table(measured)))
    first = measured[0]
    print(
        "\n"
        + "\n".join(
            points(
                list(range(1, args.count)),
                first.errors_us,
                f"{first.name}: {first.title}, SIMULATED",
                "period",
                "period error [us]",
                columns(),
                9,
                None,
            )
        )
    )
    picture, data = args.output / "period-error.png", args.output / "periods.json"
    draw(measured, picture)
    data.write_text(
        json.dumps({"simulated": True, "tick_hz": HZ, "rate_hz": RATE, "ticks": {one.name: one.ticks for one in measured}}, indent=1)
        + "\n",
        encoding="utf-8",
    )
    print(f"\n  {picture}   the period errors\n  {data}   every start edge")
    if not all(one.good for one in measured):
        print("linux-demo: FAILED: edges are not at their exact ticks", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
