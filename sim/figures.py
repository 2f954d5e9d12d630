# SPDX-License-Identifier: BSD-2-Clause
"""The project's figures: `make bench` prints them and writes docs/benchmarks.md (and docs/size.md, by litex_soc.size).

    python -m sim.figures [--quick]       --quick leaves out synthesis and writes nothing

Speeds are of this machine and vary with its load; exactness and size do not.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import date
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("LITEPULSE_BUILD", ROOT / "build"))
PAGE = ROOT / "docs" / "benchmarks.md"
CYCLES = 40_000_000
DRAIN_SECONDS = 4.0
TRIES = 3
PROMISES = {1: "precise or not at all", 2: "timed beats best-effort", 3: "identical frames", 4: "no drift",
            5: "a timestamp means the pin", 6: "no silent loss", 7: "nothing else moves the edges"}


def machine():
    """What the speeds were measured on."""
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{model}, {os.cpu_count()} cores"


def soc_speed(*options):
    """Simulated cycles of `pulse` per second: the best of a few runs of the bare program."""
    from litex_soc import sim_soc
    program = sim_soc.build()
    best = 0.0
    for _ in range(TRIES):
        result = subprocess.run([program, "--stop-at-cycle", str(CYCLES), "--stats", *options], stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, check=True)
        best = max(best, json.loads(result.stderr)["cycles_per_second"])
    return best


def events_per_second(period=400):
    """Events drained through the bridge of the simulated SoC while a train makes one every `period` ticks, as fast as it runs.

    {"rate": per second of wall-clock time, "drained", "lost", "cycles_per_second": with this traffic, "exact": no interval but one
    next to a loss differs from the period}
    """
    from litepulse.backends import connect
    from litepulse.line import Launch, Profile
    from litepulse.streams import Event
    from litepulse.units import BitPeriod, Period
    connection = connect(sim=True, sim_options={"wires": ()})
    try:
        device = connection.device
        device.set_profile(1, Profile(BitPeriod(5000 * 256, device.timescale.tick_hz)))
        device.set_event_mask("tx_train")
        device.start_train(Launch("pulse", profile=1, width=100), Period(period, 0, 1))
        device.events.drain()
        first, start, ticks = device.events.tick, time.monotonic(), []
        while time.monotonic() - start < DRAIN_SECONDS:
            ticks += [record.tick for record in device.events.drain() if isinstance(record, Event)]
        seconds = time.monotonic() - start
        cycles = (device.events.tick - first) / device.samples_per_cycle
        device.quiet()
        return {"rate": len(ticks) / seconds, "drained": len(ticks), "lost": device.events.lost,
                "cycles_per_second": cycles / seconds, "exact": all((b - a) % period == 0 for a, b in zip(ticks, ticks[1:]))}
    finally:
        connection.close()


def exactness():
    """{(promise, what): (stimuli, largest error, simulators, samples)} as the tests of the whole core noted them."""
    try:
        rows = json.loads((BUILD / "exactness.json").read_text()).values()
    except OSError:
        return {}
    out = {}
    for row in rows:
        stimuli, error, simulators, samples = out.get((row["promise"], row["what"]), (0, 0, set(), set()))
        out[row["promise"], row["what"]] = (stimuli + row["stimuli"], max(error, Fraction(row["largest_error_ticks"])),
                                            simulators | {row["simulator"]}, samples | {row["samples_per_cycle"]})
    return out


def page(idle, vcd, events, table):
    """docs/benchmarks.md."""
    out = ["<!-- Written by `python -m sim.figures` (`make bench`). SPDX-License-Identifier: BSD-2-Clause -->", "", "# Benchmarks",
           "", f"Speeds: {machine()}, {date.today().isoformat()}; they vary with the machine and its load.",
           "The rest is exact and repeatable.", "", "## The simulated SoC", "", "| what | figure |", "|---|---|",
           f"| simulated cycles of the core per second, nobody connected | {idle / 1e6:.1f} M/s |",
           f"| the same, writing the pins to VCD | {vcd / 1e6:.1f} M/s |",
           f"| the same, with a client that drains events | {events['cycles_per_second'] / 1e6:.1f} M/s |",
           f"| events drained through the bridge | {events['rate']:,.0f} per second"
           f" ({events['drained']:,} in {DRAIN_SECONDS:.0f} s, {events['lost']:,} lost and counted) |",
           f"| intervals between them | {'all exact' if events['exact'] else '**not exact**'} |"]
    out += ["", "## Exactness", "",
            "What the tests of the whole core tried, and the largest error they saw (`make test` notes it; a test fails at",
            "any error). Stimuli are summed over simulators and samples per cycle (S).", "",
            "| promise | what | stimuli | largest error, ticks | simulators | S |", "|---|---|---|---|---|---|"]
    for key in sorted(table, key=str):
        (promise, what), (stimuli, error, simulators, samples) = key, table[key]
        name = PROMISES.get(promise, "")
        out.append(f"| {promise} {name} | {what} | {stimuli:,} | {error} | {', '.join(sorted(simulators))} | "
                   f"{', '.join(map(str, sorted(samples)))} |")
    if not table:
        out.append("| | not noted yet: run `make test` first | | | | |")
    out += ["", "## Size and clock on an iCE40 UP5K", "", "See [size.md](size.md).", ""]
    return "\n".join(out)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m sim.figures", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="without synthesis; writes nothing")
    args = parser.parse_args(argv)
    BUILD.mkdir(parents=True, exist_ok=True)
    print("measuring the simulated SoC ...", file=sys.stderr, flush=True)
    text = page(soc_speed(), soc_speed("--vcd", str(BUILD / "bench.vcd")), events_per_second(), exactness())
    print(text)
    if args.quick:
        return 0
    PAGE.write_text(text)
    print("synthesis, place and route: some minutes ...", file=sys.stderr, flush=True)
    return subprocess.run([sys.executable, "-m", "litex_soc.size"], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
