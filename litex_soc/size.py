# SPDX-License-Identifier: BSD-2-Clause
"""How large and how fast: the default SoC of an iCEBreaker with four placements, and each block of the core alone.

    python -m litex_soc.size            prints the tables and writes docs/develop/size.md
    python -m litex_soc.size --quick    the SoC only, prints

Exit status 1 if a tool failed, 3 if the SoC does not fit, a clock is missed with every placement, or fewer than three of the four have
5 % to spare. Needs Yosys and nextpnr-ice40 (`make setup`).
"""

import argparse
import json
import os
import re
import shutil
import sys
from pathlib import Path

from litex_soc import SPDX
from litex_soc.bitstream import ToolError, build, run_tool, synthesis
from litex_soc.board import choose
from litex_soc.phys import HDL

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "python -m litex_soc.size"
CELLS, RAMS = 5280, 30  # of a UP5K
SEEDS = 4
SPARE, SPARED = 0.05, 3  # this much faster than needed, with this many place-and-route seeds
TWO = "litepulse, S = 2"  # the core for pins with double data rate
CLOCKS = {"pulse": 48.0, "sys": 24.0}  # MHz that must be met


def synthesise(folder, files, top, samples=None):
    """Yosys for the UP5K, as a board's build does it: `top`.json in `folder`, to which `files` are copied. `samples` if not the default."""
    (source,) = [file.read_text() for file in files if file.stem == top]
    values = {"LARGE_RAM": '"huge"'} if "parameter LARGE_RAM" in source else {}
    parameters = "".join(f" -set {name} {value}" for name, value in (values | ({"S": samples} if samples else {})).items())
    folder.mkdir(parents=True, exist_ok=True)
    for file in [*files, *HDL.glob("*.svh")]:
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
        f"read_verilog -sv {names}; {f'chparam{parameters} {top}; ' if parameters else ''}{synthesis('up5k', samples).format(top)}",
    )


def packed(folder, top):
    """{"LC": ..., "RAM": ...} of a synthesised block, by nextpnr's packer: LUTs, flip-flops and carries share cells."""
    log = run_tool(folder, "nextpnr-ice40", "--up5k", "--package", "sg48", "--json", f"{top}.json", "--pack-only")
    return {name: int(re.search(rf"ICESTORM_{name}:\s+(\d+)/", log).group(1)) for name in ("LC", "RAM")}


def measure_soc(folder, core="litepulse", seeds=SEEDS):
    """The SoC placed and routed with each seed, in their order: [{"seed", "LC", "RAM", "fmax", "ways"}], the last two by clock."""
    choice = choose("icebreaker", core=core)
    found = build(choice, seeds, lambda text: print(text, file=sys.stderr), folder=folder / choice.name, every=True)
    return [
        {"seed": r.seed, "LC": r.used["cells"], "RAM": r.used["rams"], "fmax": r.fmax, "ways": r.ways}
        for r in sorted(found, key=lambda r: r.seed)
        if r.seed <= seeds
    ]


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


def margin(result):
    """How much faster than needed the slower clock of a placement could be."""
    return min(result["fmax"].get(clock, 0) / mhz for clock, mhz in CLOCKS.items()) - 1


def shortcomings(soc):
    """What is missed, a line each; [] if all is well. Another seed is another placement: one that meets all is enough to build it."""
    best = max(soc, key=margin)
    if best["LC"] > CELLS or best["RAM"] > RAMS:
        return [f"the SoC does not fit: {best['LC']} of {CELLS} logic cells, {best['RAM']} of {RAMS} block RAMs"]
    missed = [f"{c}: {best['fmax'].get(c, 0)} MHz, needed {mhz:.0f}" for c, mhz in CLOCKS.items() if best["fmax"].get(c, 0) < mhz]
    spared = sum(margin(result) >= SPARE for result in soc)
    if len(soc) == SEEDS and spared < SPARED and not missed:
        missed.append(f"{spared} of {SEEDS} placements have {SPARE:.0%} to spare, {SPARED} are wanted")
    return missed


def tables(soc, bridge, blocks):
    """docs/develop/size.md."""
    missed = shortcomings(soc)
    out = [
        f"<!-- Written by `{COMMAND}`. {SPDX} BSD-2-Clause -->",
        "",
        "# Size and speed on an iCE40 UP5K",
        "",
        "The default core (1 sample per cycle, 4 inputs, 256 events, 575 received bytes, 512 bytes to send, 64 launches) in the",
        "iCEBreaker's SoC without CPU: UARTBone, CSRs, window. By Yosys, which maps `litepulse_pulse` by itself (beside the bus",
        "it would be allowed the bus's depth), and nextpnr; `pulse` must reach 48 MHz, `sys` 24 MHz.",
        "",
        "| what | logic cells | of 5280 | block RAMs of 30 | `pulse` MHz | `sys` MHz |",
        "|---|---|---|---|---|---|",
    ]
    for r in soc:
        out.append(
            f"| SoC with LitePulse, seed {r['seed']} | {r['LC']} | {r['LC'] * 100 // CELLS} % | {r['RAM']} | "
            f"{r['fmax'].get('pulse', '-')} | {r['fmax'].get('sys', '-')} |"
        )
    if bridge:
        out.append(
            f"| the same SoC without it | {bridge['LC']} | {bridge['LC'] * 100 // CELLS} % | {bridge['RAM']} | - | "
            f"{bridge['fmax'].get('sys', '-')} |"
        )
    spared = sum(margin(r) >= SPARE for r in soc)
    out += ["", f"{spared} of {len(soc)} placements are at least {SPARE:.0%} faster than needed. The critical path of each:", ""]
    out += [f"- seed {r['seed']}, `{clock}`: {way}" for r in soc for clock, way in r["ways"].items()]
    out += ["", "It fits, and the best placement meets both clocks." if not missed else "**Missed: " + "; ".join(missed) + ".**"]
    if blocks:
        out += [
            "",
            "## The core and its blocks",
            "",
            "Each synthesised alone, packed but not placed. The blocks alone are larger than within the core, where constants",
            "and unused outputs fall away.",
            "",
            "| module | logic cells | block RAMs |",
            "|---|---|---|",
        ]
        rows = sorted(blocks.items(), key=lambda item: (item[0] not in ("litepulse", TWO), -item[1]["LC"]))
        out += [f"| `{name}` | {r['LC']} | {r['RAM']} |" for name, r in rows]
    return "\n".join(out) + "\n"


def main(argv=None):
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the SoC with one seed only; writes nothing")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the page")
    args = parser.parse_args(argv)
    folder = Path(os.environ.get("LITEPULSE_BUILD", ROOT / "build")) / "size"
    try:
        soc = measure_soc(folder, seeds=1 if args.quick else SEEDS)
        bridge = None if args.quick else measure_soc(folder, core="none", seeds=1)[0]
        blocks = {} if args.quick else measure_blocks(folder)
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    page = tables(soc, bridge, blocks)
    if not args.quick:
        (ROOT / "docs" / "develop" / "size.md").write_text(page)
    missed = shortcomings(soc)
    print(json.dumps({"soc": soc, "bridge": bridge, "blocks": blocks, "missed": missed}, indent=1) if args.json else page)
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
