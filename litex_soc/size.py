# SPDX-License-Identifier: BSD-2-Clause
"""How large and how fast: LitePulse in a UARTBone SoC on an iCE40 UP5K, and each block of the core alone.

    python -m litex_soc.size            prints the tables and writes docs/size.md
    python -m litex_soc.size --quick    the SoC only, prints

Exit status 1 if a tool failed, 3 if the SoC does not fit, a clock is missed with every placement, or the core is over its budget.
Needs Yosys and nextpnr-ice40 (`make setup`).
"""

import argparse
import json
import os
import re
import shutil
import sys
from pathlib import Path

from litex_soc import SPDX
from litex_soc.bitstream import PLACING, SYNTHESIS, ToolError, longest_way, run_tool

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "python -m litex_soc.size"
CELLS, RAMS = 5280, 30  # of a UP5K
BUDGET = 3000  # logic cells, for the core
TWO = "litepulse, S = 2"  # the core for pins with double data rate
CLOCKS = {"pulse": 48.0, "sys": 24.0}  # MHz that must be met


def make_soc(with_core=True):
    """(SoC, platform): an iCEBreaker with a UARTBone, and LitePulse unless told otherwise."""
    from litex.build.generic_platform import IOStandard, Pins, Subsignal
    from litex.soc.integration.soc_core import SoCMini
    from litex_boards.platforms import icebreaker

    from litex_soc.bridge import SerialBridge
    from litex_soc.clocks import Ice40Clocks
    from litex_soc.litepulse import LitePulse

    platform = icebreaker.Platform()
    platform.add_extension(
        [
            (
                "pulse",
                0,
                Subsignal("tx", Pins("PMOD1A:0")),
                Subsignal("rx", Pins("PMOD1A:1")),
                Subsignal("de", Pins("PMOD1A:2")),
                Subsignal("aux", Pins("PMOD1B:0 PMOD1B:1 PMOD1B:2 PMOD1B:3")),
                IOStandard("LVCMOS33"),
            )
        ]
    )

    class SizeSoC(SoCMini):
        """No CPU: a bridge and the core."""

        def __init__(self):
            self.crg = Ice40Clocks(platform, platform.request("clk12"), 12_000_000, 48_000_000)
            # LiteX's controller (reset, scratch, error count) and bus timeout serve nobody here: window and CSRs always answer.
            SoCMini.__init__(self, platform, int(self.crg.sys_hz), with_ctrl=False, bus_timeout=None)
            self.bridge = SerialBridge(platform.request("serial"), int(self.crg.sys_hz))
            self.bridge.add_to_soc(self)
            if with_core:
                self.pulse = LitePulse(platform, platform.request("pulse"), self.crg.pulse_hz, clock_domain="pulse", interrupts=False)
                self.pulse.add_to_soc(self)

    return SizeSoC(), platform


def synthesise(folder, files, top, samples=None):
    """Yosys for the UP5K, as a board's build does it: `top`.json in `folder`, to which `files` are copied. `samples` if not the default."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        if file.parent != folder:
            shutil.copyfile(file, folder / file.name)
    names = " ".join(file.name for file in files)
    run_tool(
        folder,
        "yosys",
        "-q",
        "-l",
        f"{top}.log",
        "-p",
        f"read_verilog -sv {names}; {f'chparam -set S {samples} {top}; ' if samples else ''}{SYNTHESIS['up5k'].format(top)}",
    )


def packed(folder, top, *more):
    """{"LC": ..., "RAM": ...} of a synthesised block, by nextpnr's packer: LUTs, flip-flops and carries share cells."""
    log = run_tool(folder, "nextpnr-ice40", "--up5k", "--package", "sg48", "--json", f"{top}.json", "--pack-only", *more)
    return {name: int(re.search(rf"ICESTORM_{name}:\s+(\d+)/", log).group(1)) for name in ("LC", "RAM")}


def place_and_route(folder, top, pcf, seed):
    """nextpnr: {"LC", "RAM", "fmax": {clock: MHz}, "ways": {clock: its longest}}; the last two are empty if it does not fit."""
    need = packed(folder, top, "--pcf", pcf)
    if need["LC"] > CELLS or need["RAM"] > RAMS:
        return {**need, "fmax": {}, "ways": {}}
    run_tool(
        folder,
        "nextpnr-ice40",
        "--up5k",
        "--package",
        "sg48",
        "--json",
        f"{top}.json",
        "--pcf",
        pcf,
        "--seed",
        str(seed),
        "--report",
        "report.json",
        "--timing-allow-fail",
        *PLACING["ice40"],
        "--asc",
        f"{top}.asc",
    )
    report = json.loads((folder / "report.json").read_text())
    fmax, ways = {}, {}
    for net, value in report["fmax"].items():  # by their constraint: a net has many names
        name = next(clock for clock, mhz in CLOCKS.items() if abs(mhz - value["constraint"]) < 1)
        fmax[name] = round(value["achieved"], 1)
        ways[name] = next(longest_way(p["path"]) for p in report["critical_paths"] if p["from"] == p["to"] and p["from"].split()[-1] == net)
    used = report["utilization"]
    return {"LC": used["ICESTORM_LC"]["used"], "RAM": used["ICESTORM_RAM"]["used"], "fmax": fmax, "ways": ways}


def measure_soc(folder, with_core=True, seeds=(1, 2, 3)):
    """The SoC placed and routed with each seed: a list of results."""
    import logging

    logging.disable(logging.INFO)
    soc, platform = make_soc(with_core)
    folder = folder / ("soc" if with_core else "bridge")
    folder.mkdir(parents=True, exist_ok=True)
    soc.finalize()
    output = platform.get_verilog(soc, name="size_soc")
    output.write(str(folder / "size_soc.v"))
    for name, data in output.data_files.items():
        (folder / name).write_text(data)
    # As platform.build() would hand them over; it would also call the tools with absolute paths.
    named, _ = platform.resolve_signals(output.ns)
    pcf = []
    for name, pins, _, _ in named:
        pcf += [f"set_io {name}{f'[{i}]' if len(pins) > 1 else ''} {pin}" for i, pin in enumerate(pins)]
    pcf += [f"set_frequency {net} {mhz}" for net, mhz in (("pulse_clk", CLOCKS["pulse"]), ("sys_clk", CLOCKS["sys"]))]
    (folder / "pins.pcf").write_text("\n".join(pcf) + "\n")
    synthesise(folder, [Path(name) for name, *_ in platform.sources] + [folder / "size_soc.v"], "size_soc")
    return [place_and_route(folder, "size_soc", "pins.pcf", seed) for seed in seeds]


def measure_blocks(folder):
    """{module: {"LC", "RAM"}} of the core and each of its blocks alone, with default parameters, and of the core with 2 samples."""
    from litex_soc.litepulse import sources

    files = sources()
    out = {}
    for file in files:
        top = file.stem
        if top.endswith("_pkg") or not re.search(rf"^module\s+{top}\b", file.read_text(), re.MULTILINE):
            continue
        synthesise(folder / top, files, top)
        out[top] = packed(folder / top, top)
    double = folder / "litepulse_2"
    synthesise(double, files, "litepulse", samples=2)
    out[TWO] = packed(double, "litepulse")
    return out


def best_of(soc):
    """The placement that is furthest from missing a clock, or nearest to meeting them."""
    return max(soc, key=lambda r: min(r["fmax"].get(c, 0) / mhz for c, mhz in CLOCKS.items()))


def shortcomings(soc, blocks):
    """What is missed, a line each; [] if all is well. Another seed is another placement: one that meets all is enough."""
    best, core, out = best_of(soc), blocks.get("litepulse"), []
    if best["LC"] > CELLS or best["RAM"] > RAMS:
        out.append(f"the SoC does not fit: {best['LC']} of {CELLS} logic cells, {best['RAM']} of {RAMS} block RAMs")
    else:
        out += [
            f"{clock}: {best['fmax'].get(clock, 0)} MHz, needed {mhz:.0f}"
            for clock, mhz in CLOCKS.items()
            if best["fmax"].get(clock, 0) < mhz
        ]
    if core and core["LC"] > BUDGET:
        out.append(f"the core has {core['LC']} logic cells, its budget is {BUDGET}")
    return out


def tables(soc, bridge, blocks):
    """docs/size.md."""
    core = blocks.get("litepulse", {})
    missed = shortcomings(soc, blocks)
    out = [
        f"<!-- Written by `{COMMAND}`. {SPDX} BSD-2-Clause -->",
        "",
        "# Size and speed on an iCE40 UP5K",
        "",
        "The default core (1 sample per cycle, 4 inputs, 256 events, 512 received bytes, 512 bytes to send, 64 launches) in a",
        "SoC without CPU: UARTBone, CSRs, window. By Yosys, which maps `litepulse_pulse` by itself (beside the bus it would be",
        "allowed the bus's depth), and nextpnr, as for a board; `pulse` must reach 48 MHz, `sys` 24 MHz.",
        "",
        "| what | logic cells | of 5280 | block RAMs of 30 | `pulse` MHz | `sys` MHz |",
        "|---|---|---|---|---|---|",
    ]
    for number, r in enumerate(soc, 1):
        out.append(
            f"| SoC with LitePulse, seed {number} | {r['LC']} | {r['LC'] * 100 // CELLS} % | {r['RAM']} | "
            f"{r['fmax'].get('pulse', '-')} | {r['fmax'].get('sys', '-')} |"
        )
    if bridge:
        out.append(
            f"| the same SoC without it | {bridge['LC']} | {bridge['LC'] * 100 // CELLS} % | {bridge['RAM']} | - | "
            f"{bridge['fmax'].get('sys', '-')} |"
        )
    fmax = {clock: sorted(r["fmax"][clock] for r in soc if clock in r["fmax"]) for clock in CLOCKS}
    if all(fmax.values()):
        spans = [f"`{clock}` {low[0]} to {low[-1]} MHz" for clock, low in fmax.items()]
        out += ["", f"Over {len(soc)} placement{'s' if len(soc) > 1 else ''}: {', '.join(spans)}. The longest way of each:", ""]
        out += [f"- seed {number}, `{clock}`: {way}" for number, r in enumerate(soc, 1) for clock, way in r["ways"].items()]
    out += [
        "",
        "It fits, the best placement meets both clocks, and the core is within its budget."
        if not missed and blocks
        else "It fits, and the best placement meets both clocks."
        if not missed
        else "**Missed: " + "; ".join(missed) + ".**",
    ]
    if blocks:
        out += [
            "",
            "## The core and its blocks",
            "",
            f"Each synthesised alone, packed but not placed; the budget for the whole core is {BUDGET} logic cells. The blocks",
            "alone are larger than within the core, where constants and unused outputs fall away.",
            "",
            "| module | logic cells | block RAMs |",
            "|---|---|---|",
        ]
        rows = sorted(blocks.items(), key=lambda item: (item[0] not in ("litepulse", TWO), -item[1]["LC"]))
        out += [f"| `{name}` | {r['LC']} | {r['RAM']} |" for name, r in rows]
        out += ["", f"The core: {core.get('LC', '-')} logic cells; with 2 samples per cycle {blocks[TWO]['LC']}."]
    return "\n".join(out) + "\n"


def main(argv=None):
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the SoC with one seed only; writes nothing")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="placements tried (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the page")
    args = parser.parse_args(argv)
    folder = Path(os.environ.get("LITEPULSE_BUILD", ROOT / "build")) / "size"
    try:
        soc = measure_soc(folder, seeds=range(1, 2 if args.quick else args.seeds + 1))
        bridge = None if args.quick else measure_soc(folder, with_core=False, seeds=[1])[0]
        blocks = {} if args.quick else measure_blocks(folder)
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    page = tables(soc, bridge, blocks)
    if not args.quick:
        (ROOT / "docs" / "size.md").write_text(page)
    missed = shortcomings(soc, blocks)
    print(json.dumps({"soc": soc, "bridge": bridge, "blocks": blocks, "missed": missed}, indent=1) if args.json else page)
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
