# SPDX-License-Identifier: BSD-2-Clause
"""Builds every board and writes docs/boards.md: what each has, how full and how fast it is, and what LitePulse costs there.

    python -m litex_soc.boards_page [--jobs N] [BOARD ...]      (`make boards`); with boards named: builds and prints these only

Exit status 1 if a tool failed, 3 if a board does not fit or misses timing (the page then says so).
"""

import argparse
import os
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from litex_soc import SPDX, boards, limits
from litex_soc.bitstream import GOOD, MORE, SEEDS, ToolError, build, shortcomings, write_good_seeds
from litex_soc.board import VARIANTS, ChoiceError, choose
from litex_soc.constraints import ConstraintError
from litex_soc.phys import PHYS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "boards.md"
COMMAND = "python -m litex_soc.boards_page"


def all_choices(names=None):
    """What is built: each board with each FPGA and variant; then, by board, with its other PHYs, and the same SoC with a LiteUART and with
    neither."""
    every = boards.all_boards()
    for name in names or ():
        choose(name)
    out = []
    for name, board in every.items():
        if names and name not in names:
            continue
        for fpga in board.fpgas:
            out += [choose(name, fpga, variant) for variant in board.variants if variant == "uartbone" or fpga == next(iter(board.fpgas))]
        out += [choose(name, samples=PHYS[phy].samples) for phy in board.phys[1:]]
        out += [choose(name, core=core) for core in ("liteuart", "none")]
    return out


def response_ns(choice):
    """From a pin to a pin: the smallest delay of the responder behind an edge of an unfiltered input, in ns."""
    c = limits.cycles()
    cycles = c["RESPONSE_MIN_CYCLES"] + sum(PHYS[choice.phy].latencies) - 2 + (c["SAMPLES_LATENCY_INPUT"] if choice.samples > 1 else 0)
    return float(cycles * 10**9 / choice.pulse_hz)


def linux_clocks():
    """Which boards have other clocks with a CPU, one text for each."""
    found = []
    for name, board in boards.all_boards().items():
        made = choose(name).constraints
        if made.linux:
            clocks = ", ".join(f"{float(made.of_variant('linux').pulse_hz(phy)) / 1e6:g} MHz (`{phy}`)" for phy in board.phys)
            found.append(f"{board.title} with the variant `linux`: `pulse` {clocks}")
    return found


def bullets(*texts):
    """The lines of a list, at most 100 columns wide."""
    return [line for each in texts for line in textwrap.wrap(each, 100, initial_indent="- ", subsequent_indent="  ")]


def row(cells):
    """A line of a table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def used(best, what):
    """'5824 of 83640 (7 %)', '-' where nothing of it is counted."""
    if what not in best.used:
        return "-"
    return f"{best.used[what]} of {best.available[what]} ({best.used[what] * 100 // best.available[what]} %)"


def which():
    """The lines of the table by which a reader chooses a board; every figure is that of its default."""
    out = [
        "| board, its card | FPGA | a tick | soonest answer, pin to pin | inputs | LIN slave | price: see |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, board in boards.all_boards().items():
        choice = choose(name)
        others = [choose(name, samples=PHYS[phy].samples) for phy in board.phys[1:]]
        with_lin = [f"`SAMPLES={other.samples}`" for other in others if other.lin_entries]
        lin = f"{choice.lin_entries} identifiers" if choice.lin_entries else f"with {', '.join(with_lin)}" if with_lin else "no"
        out.append(
            row(
                [
                    f"[{board.title}](boards/{name}.md)",
                    f"{'iCE40' if board.family == 'ice40' else 'ECP5'} {choice.fpga.upper()}",
                    f"{float(choice.tick_ns):.3f} ns",
                    f"{response_ns(choice):.0f} ns",
                    len(choice.constraints.inputs(choice.phy)),
                    lin,
                    "[{}]({})".format(*board.maker),
                ]
            )
        )
    return out


def head():
    """The lines of the page that need no build: which board, and what can be chosen."""
    out = [
        f"<!-- Written by `{COMMAND}`. {SPDX} BSD-2-Clause -->",
        "",
        "# Boards",
        "",
        "If you have no board yet, take the iCEBreaker: [the first hour](first-hour.md) is written for it.",
        "Take an ECP5 board if a tick of 20 ns is too long. A card shows where the pins are, and what to",
        "type. What is shown below is that the bitstreams build, fit and meet timing, and that the netlists",
        "pass the core's tests. [Tested on metal](boards/tested.md) says which of them were tried on a board.",
        "",
        *which(),
        "",
        "All figures are those of the default; [limits.md](limits.md#by-board) has every `SAMPLES=`. The",
        "answer is computed from clock and pins.",
        "",
        "    make BOARD=icebreaker bitstream        # Yosys, nextpnr; in build/boards",
        "    make BOARD=icebreaker flash            # the same, and writes it; DRY_RUN=1 only says how",
        "    make boards                            # all of them, and this page",
        "",
        "## What can be chosen, and the pins",
        "",
        "The first is the default. A pin is named as on its connector, or by the FPGA's ball.",
        "",
        "| board | FPGA= | VARIANT= | SAMPLES= (PHY, `pulse`) | line and inputs | serial port for bridge or console |",
        "|---|---|---|---|---|---|",
    ]
    for name, board in boards.all_boards().items():
        c = choose(name).constraints
        phys = ", ".join(f"{PHYS[p].samples} (`{p}`, {float(c.pulse_hz(p)) / 1e6:g} MHz)" for p in board.phys)
        pins = f"tx {c.pins['tx']}, rx {c.pins['rx']}, de {c.pins['de']}; inputs {', '.join(c.aux)}"
        pins += f"; port {', '.join(c.port)}" if c.port else ""
        out.append(row([f"{board.title} (`{name}`)", ", ".join(board.fpgas), ", ".join(board.variants), phys, pins, board.serial_is]))
    return [
        *out,
        "",
        *bullets(
            *(f"`{name}`: {what}" for name, what in VARIANTS.items()),
            *linux_clocks(),
            *(f"{board.title}: {board.note}" for board in boards.all_boards().values() if board.note),
            "With more samples per cycle fewer inputs have room: (inputs + 1) x samples is at most 16; some boards' pins allow less "
            "([constraints/](../constraints))",
            "Fit a pull-down at `de`: until the core leaves reset nothing drives it",
        ),
    ]


def page(results):
    """docs/boards.md of {Choice: [Result, ...]}."""
    full = {choice: found for choice, found in results.items() if choice.with_core}
    out = [
        *head(),
        "",
        "## Size and speed",
        "",
        f"By nextpnr, the best of the placements tried: until one meets both clocks with {GOOD:.0%} to spare, but",
        f"not more than {MORE} behind the first that meets them, and {SEEDS} in all.",
        "",
        "- Margin: how much faster than needed the slower clock could be.",
        "- Response: the responder's smallest delay from a pin to a pin behind an edge of an unfiltered",
        "  input, `RESPONSE_MIN_CYCLES` of [core.md](core.md) with the PHY's latency. With several samples",
        "  per cycle it is 2 cycles more behind an edge of `rx` or of a filtered input.",
        "- Settle: what an input's synchroniser has to decide",
        "  ([pins.md](pins.md#synchronisers-and-how-often-they-fail)).",
        "- Cells: logic cells of an iCE40, LUTs of an ECP5.",
        "",
        "| build | `pulse` MHz needed / reached | `sys` MHz | margin | tick ns | response ns | settle ns | cells | flip-flops | "
        "block RAMs | placements | build s |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for choice, found in full.items():
        best = found[0]
        mhz = {c: f"{best.needed[c]:g} / {best.fmax.get(c, '-')}" for c in best.needed}
        margin = f"{best.margin * 100:.1f} %" if best.fits else "does not fit"
        out.append(
            row(
                [
                    f"`{choice.name}`",
                    mhz["pulse"],
                    mhz["sys"],
                    margin,
                    f"{float(choice.tick_ns):.3f}",
                    f"{response_ns(choice):.0f}",
                    best.settle or "-",
                    used(best, "cells"),
                    used(best, "flip_flops"),
                    used(best, "rams"),
                    len(found),
                    f"{best.seconds:.0f}",
                ]
            )
        )
    met = [choice for choice, found in full.items() if not shortcomings(choice, found[0])]
    if met:
        finest, soonest = min(met, key=lambda c: c.tick_ns), min(met, key=response_ns)
        out += [
            "",
            f"The finest tick has `{finest.name}`; the soonest answer,",
            f"{response_ns(soonest):.0f} ns, is that of `{soonest.name}`.",
            "With more samples per cycle a tick is shorter, but an answer takes longer: pads and decision need",
            "more cycles.",
        ]
    missed = [line for choice, found in full.items() for line in shortcomings(choice, found[0])]
    out += ["", "All fit and meet their clocks." if not missed else "**Missed: " + "; ".join(missed) + ".**"]
    out += [
        "",
        "## What LitePulse costs",
        "",
        "The same SoC, bridge included, with LitePulse, with a LiteUART (16 bytes of FIFO either way) in its",
        "place, and with neither.",
        "",
        "| board | | cells | flip-flops | block RAMs | `sys` MHz |",
        "|---|---|---|---|---|---|",
    ]
    for name, board in boards.all_boards().items():
        for core, title in (("litepulse", "LitePulse"), ("liteuart", "LiteUART"), ("none", "neither")):
            choice = choose(name, core=core)
            if choice in results:
                best = results[choice][0]
                out.append(
                    row(
                        [
                            board.title,
                            title,
                            best.used["cells"],
                            best.used.get("flip_flops", "-"),
                            best.used["rams"],
                            best.fmax.get("sys", "-"),
                        ]
                    )
                )
    out += ["", "## Critical paths", "", "Of each clock:", ""]
    out += [f"- `{choice.name}`, `{clock}`: {way}" for choice, found in full.items() for clock, way in found[0].ways.items()]
    crossings = [
        f"- `{choice.name}`, `{way}`: {ns:g} ns of {limit:g}"
        for choice, found in full.items()
        for way, (ns, limit) in found[0].crossings.items()
    ]
    if crossings:
        out += ["", "Between the two clocks, where nextpnr knows no limit; at most two cycles of the clock that receives:", "", *crossings]
    return "\n".join(out) + "\n"


def main(argv=None):
    """Builds and writes."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("boards", nargs="*", help="only these; prints the page instead of writing it")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1), metavar="N", help="builds at a time (default %(default)s)")
    args = parser.parse_args(argv)
    try:
        choices = all_choices(args.boards)
    except (ChoiceError, ConstraintError) as error:
        print(error, file=sys.stderr)
        return 2

    def build_one(choice):
        return build(choice, say=lambda text: print(text, flush=True), search=True)

    results = {}
    try:
        with ThreadPoolExecutor(max(1, args.jobs)) as pool:
            for choice, found in zip(choices, pool.map(build_one, choices)):
                results[choice] = found
    except (ToolError, ConstraintError) as error:
        print(error, file=sys.stderr)
        return 1
    text = page(results)
    if args.boards:
        print(text)
    else:
        PAGE.write_text(text)
        write_good_seeds(results)
        print(f"written: {PAGE.relative_to(ROOT)}")
    missed = [line for choice, found in results.items() for line in shortcomings(choice, found[0])]
    for line in missed:
        print(line, file=sys.stderr)
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
