# SPDX-License-Identifier: BSD-2-Clause
"""Writes docs/boards/BOARD.md, a card for each board, and the drawings in docs/images/boards, from litex_soc/boards and constraints.

python -m litex_soc.board_cards [--check]      (part of `make generate`); --check lists stale files, with exit status 1
"""

import argparse
import re
import sys
import textwrap
from pathlib import Path
from xml.sax.saxutils import escape

from litex_soc import SPDX, boards, tested
from litex_soc.board import choose
from litex_soc.boards_page import response_ns, row
from litex_soc.constraints import voltage
from litex_soc.generate import stale_files
from litex_soc.headers import GND, POWER
from litex_soc.phys import PHYS

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "python -m litex_soc.board_cards"
OUT, IN, DARK, WARM, SERIAL = "#cfe6ff", "#d5f0d5", "#444444", "#ffd9d2", "#fff0c2"
# What each colour of a drawing is on a dark page.
ON_DARK = {
    "white": "#0d1117",
    "black": "#e6edf3",
    OUT: "#1b4b91",
    IN: "#1f5f32",
    DARK: "#c9d1d9",
    WARM: "#8a2f22",
    SERIAL: "#6b4e00",
    "#f3f3f3": "#21262d",
    "#aaaaaa": "#484f58",
    "#777777": "#9198a1",
    "#555555": "#9198a1",
    "none": "none",
}
COLOUR = re.compile(r'\b(fill|stroke)="([^"]+)"')
MEANINGS = {
    "tx": ("out", "the line, out"),
    "rx": ("in", "the line, in; weak pull-up in the FPGA"),
    "de": ("out", "driver enable of an RS-485 transceiver; fit a pull-down"),
}


def wrapped(what, bullet=""):
    """The lines of a paragraph or, with a bullet, of an item."""
    return textwrap.wrap(
        what, 96, initial_indent=bullet, subsequent_indent=" " * len(bullet), break_long_words=False, break_on_hyphens=False
    )


def signals(name):
    """[(signal, pin as in constraints/, way, what it is)] of a board."""
    made = choose(name).constraints
    inputs = [(f"in{n}", pin, "in", f"capture input {n}") for n, pin in enumerate(made.aux)]
    port = [(f"port{n}", pin, "out", f"marker port, bit {n}") for n, pin in enumerate(made.port)]
    return [(signal, made.pins[signal], *MEANINGS[signal]) for signal in ("tx", "rx", "de")] + inputs + port


def places(name):
    """{pin as in constraints/: (header, what the board calls the pin)}. ValueError if a signal is on none of its headers."""
    found = {pin: (header.title, label) for header in boards.all_boards()[name].headers for line in header.rows for label, pin in line}
    missing = [f"{signal} ({pin})" for signal, pin, *_ in signals(name) if pin not in found]
    if missing:
        raise ValueError(f"{COMMAND}: the headers have no place for {', '.join(missing)} of {name}")
    return found


def text(x, y, what, size=13, anchor="middle", colour="black", weight="normal"):
    """A line of text in a drawing."""
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" font-weight="{weight}">{escape(what)}</text>'


def box(x, y, width, height, fill="white", stroke="black"):
    """A box in a drawing."""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="{fill}" stroke="{stroke}" />'


def drawing(title, width, height, parts):
    """An SVG with a white background: black lines on a transparent one are invisible on a dark page."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return "\n".join(
        [
            f'{head} font-family="sans-serif"><rect width="100%" height="100%" fill="white" />',
            f"<title>{escape(title)}</title>",
            *parts,
            "</svg>",
            "",
        ]
    )


def on_dark(svg):
    """A drawing for dark pages."""
    return COLOUR.sub(lambda found: f'{found[1]}="{ON_DARK[found[2]]}"', svg)


def picture(path, alt):
    """The lines of a page that show a drawing, light or dark as the page is."""
    return [
        "<picture>",
        f'  <source media="(prefers-color-scheme: dark)" srcset="{path}-dark.svg">',
        f'  <img src="{path}.svg" alt="{alt}">',
        "</picture>",
    ]


def pins_drawing(name):
    """The headers of a board, with the signals at their pins."""
    board, cell, tall = boards.all_boards()[name], 84, 62
    what = {pin: (signal, OUT if way == "out" else IN) for signal, pin, way, _ in signals(name)}
    what |= {GND: (GND, DARK), POWER: (POWER, WARM)}
    if board.add_serial:  # the bridge is at the header
        what |= {"GPIO:0": ("bridge", SERIAL), "GPIO:1": ("bridge", SERIAL)}
    places(name)
    parts, y = [], 30
    for header in board.headers:
        parts.append(text(12, y, f"{board.title}: {header.title}", 15, "start", weight="bold"))
        y += 12
        for line in header.rows:
            for n, (label, pin) in enumerate(line):
                signal, fill = what.get(pin, ("", "white"))
                ink = "white" if fill == DARK else "black"
                parts.append(box(12 + n * cell, y, cell - 6, tall - 8, fill, "black" if signal else "#aaaaaa"))
                parts.append(text(12 + n * cell + (cell - 6) / 2, y + 20, label, 13, colour=ink if signal else "#777777"))
                parts.append(text(12 + n * cell + (cell - 6) / 2, y + 42, signal, 14, colour=ink, weight="bold"))
            y += tall
        y += 28
    width = max(12 + cell * max(len(line) for header in board.headers for line in header.rows) + 6, 440)
    notes = [("out", OUT), ("in", IN), *([("to the serial adapter", SERIAL)] if board.add_serial else [])]
    x = 12
    for note, fill in notes:
        parts += [box(x, y - 22, 16, 16, fill), text(x + 22, y - 9, note, 13, "start")]
        x += 52 + 8 * len(note)
    shown = {pin for header in board.headers for line in header.rows for _, pin in line}
    remarks = ["By number, not to scale.", *([] if GND in shown else ["GND: a pin printed GND."])]
    parts.append(text(12, y + 14, " ".join(remarks), 13, "start", "#555555"))
    y += 22
    return drawing(f"Pins of LitePulse on {board.title}", width, y + 4, parts)


# Title, what is at the other end, wires (signal of the board, pin at the other end), what is beyond it, remarks
WIRINGS = (
    ("1. First experiment: a jumper", "", (("tx", "rx"),), "", ("One wire from tx to rx.", "No other device.")),
    (
        "2. A 3.3 V serial port",
        "device, 3.3 V",
        (("tx", "RX"), ("rx", "TX"), (GND, "GND")),
        "",
        ("Crossed: tx goes to RX.", "Both sides must be 3.3 V."),
    ),
    (
        "3. RS-232",
        "MAX3232 class",
        (("tx", "T1IN"), ("rx", "R1OUT"), (POWER, "VCC"), (GND, "GND")),
        "T1OUT, R1IN: RS-232",
        ("±12 V destroys an FPGA pin:", "never without this chip."),
    ),
    (
        "4. RS-485",
        "3.3 V transceiver",
        (("tx", "DI"), ("rx", "RO"), ("de", "DE"), (POWER, "VCC"), (GND, "GND, /RE")),
        "A, B: the bus",
        ("A pull-down at DE.", "/RE low: the board hears itself."),
    ),
    (
        "5. LIN",
        "12 V LIN transceiver",
        (("tx", "TXD"), ("rx", "RXD"), (POWER, "EN or SLP_N"), (POWER, "RXD, by a pull-up"), (GND, "GND")),
        "LIN, VBAT 12 V",
        ("EN or SLP_N high: the chip is awake.", "Its logic side must take 3.3 V.", "A master also needs 1 kΩ and a diode."),
    ),
)


def wiring_drawing(name):
    """What to put between a board and each kind of line."""
    board, parts, y = boards.all_boards()[name], [], 12
    at = {signal: places(name)[pin] for signal, pin, *_ in signals(name)}
    header = next(header for header in board.headers if header.title == at["tx"][0])
    for power in (GND, POWER):
        at[power] = (header.title, next(label for line in header.rows for label, pin in line if pin == power))
    if {at[signal][0] for signal in ("tx", "rx", "de")} != {header.title}:
        raise ValueError(f"{COMMAND}: tx, rx and de of {name} are not on one header")
    for title, other, wires, beyond, remarks in WIRINGS:
        shown = ("tx", "rx") if not other else tuple(signal for signal, _ in wires)
        tall = max(26 * len(shown) + 12, 64)
        parts += [text(12, y + 16, title, 15, "start", weight="bold"), box(12, y + 26, 210, tall, "#f3f3f3")]
        for n, signal in enumerate(shown):
            level = y + 26 + 24 + 26 * n
            parts.append(text(22, level, signal, 14, "start", weight="bold"))
            parts.append(text(214, level, f"{at[signal][0]} pin {at[signal][1]}", 13, "end"))
        if other:
            parts += [box(350, y + 26, 170, tall, "#f3f3f3"), text(435, y + 20, other, 13)]
            for n, (_, pin) in enumerate(wires):
                level = y + 26 + 24 + 26 * n
                parts += [
                    f'<path d="M222 {level - 5} H350" stroke="black" stroke-width="2" fill="none" />',
                    text(358, level, pin, 13, "start"),
                ]
        else:
            parts.append(f'<path d="M222 {y + 45} H262 V{y + 71} H222" stroke="black" stroke-width="2" fill="none" />')
        side = 536 if other else 290
        for n, remark in enumerate([*([beyond] if beyond else []), *remarks]):
            parts.append(text(side, y + 50 + 20 * n, remark, 13, "start", weight="bold" if beyond and n == 0 else "normal"))
        y += tall + 44
    return drawing(f"Wiring of LitePulse on {board.title}", 800, y, parts)


def on_metal(name):
    """Whether somebody has tried a board."""
    count = tested.count_of(ROOT, name)
    if not count:
        return "Nothing on this card has been tested on hardware yet: [send a report](tested.md)."
    return f"[Tested on metal](tested.md): {count} report{'s' if count > 1 else ''} without a fault."


def card(name):
    """docs/boards/NAME.md."""
    board, default = boards.all_boards()[name], choose(name)
    made, at = default.constraints, places(name)
    platform = board.fpgas[default.fpga]()
    package = made.resolve(platform)
    doc = (sys.modules[f"litex_soc.boards.{name}"].__doc__ or "").splitlines()[0].split(": ", 1)[1]
    program, *others = board.programmers
    vendor, product, plug = board.usb
    out = [
        f"<!-- Generated by `{COMMAND}`: do not edit. {SPDX} BSD-2-Clause -->",
        "",
        f"# {board.title}",
        "",
        *wrapped(f"{doc} The FPGA is an {platform.device}. {on_metal(name)}"),
        "",
        *picture(f"../images/boards/{name}", f"Headers of the {board.title} with LitePulse's signals"),
        "",
        *wrapped(
            "The drawing goes by pin numbers. Find them on the board by what is printed there, and check GND with a multimeter before you "
            f"connect anything. All pins are {voltage(made.iostandard):g} V: [what to put between](../wiring.md)."
        ),
        "",
        "| signal | header | pin | FPGA | |",
        "|---|---|---|---|---|",
    ]
    keys = {signal: signal.replace("in", "aux", 1) for signal, *_ in signals(name)}
    out += [row([f"`{signal}`", *at[pin], package[keys[signal]], what]) for signal, pin, _, what in signals(name)]
    others = f", or {', '.join(f'`{other}`' for other in others)} if only that is installed" if others else ""
    ram = any("ram" in modes for modes in board.programmers.values())
    out += [
        "",
        "## Two commands",
        "",
        f"    make BOARD={name} flash",
        f"    .venv/bin/litepulse --port {board.port} info",
        "",
        *wrapped(f"Programmer: `{program}`{others}.", "- "),
        *wrapped(f"The programmer needs the {plug} (USB {vendor}:{product}): {board.attach}.", "- "),
        *wrapped(f"Serial port: {board.serial_is}. It has this name if no other serial adapter is plugged in.", "- "),
        *(wrapped("`make ... flash RAM=1` loads the FPGA until power-off and does not touch the flash.", "- ") if ram else []),
        "",
        "## Clock, tick and samples",
        "",
        "| SAMPLES= | `pulse` | a tick | inputs | soonest answer, pin to pin | LIN slave |",
        "|---|---|---|---|---|---|",
    ]
    for phy in board.phys:
        choice = choose(name, samples=PHYS[phy].samples)
        number = f"{choice.samples}{' (default)' if phy == board.phys[0] else ''}"
        lin = f"{choice.lin_entries} identifiers" if choice.lin_entries else "no"
        mhz, tick = f"{float(choice.pulse_hz) / 1e6:g} MHz", f"{float(choice.tick_ns):.3f} ns"
        inputs = len(made.inputs(phy))
        out.append(row([number, mhz, tick, "in0" if inputs == 1 else f"in0 to in{inputs - 1}", f"{response_ns(choice):.0f} ns", lin]))
    sizes = f" `FPGA=` is {' or '.join(board.fpgas)}; the first is the default." if len(board.fpgas) > 1 else ""
    out += [
        "",
        *wrapped(
            "The answer is computed from clock and pins, not measured. Size and speed by nextpnr: "
            f"[boards.md](../boards.md#size-and-speed).{sizes}"
        ),
        "",
        "## What is special",
        "",
        *(line for item in board.special for line in wrapped(item, "- ")),
    ]
    return "\n".join(out) + "\n"


def files():
    """{path: text} of all that is written here."""
    drawings = {name: pins_drawing(name) for name in boards.NAMES}
    drawings["icebreaker-wiring"] = wiring_drawing("icebreaker")
    return {
        **{f"docs/boards/{name}.md": card(name) for name in boards.NAMES},
        "docs/boards/tested.md": tested.page(ROOT),
        **{f"docs/images/boards/{name}.svg": svg for name, svg in drawings.items()},
        **{f"docs/images/boards/{name}-dark.svg": on_dark(svg) for name, svg in drawings.items()},
    }


def main(argv=None):
    """Writes the files, or with --check lists the stale ones and returns 1."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    args = parser.parse_args(argv)
    try:
        made = files()
    except tested.ReportError as error:
        print(error, file=sys.stderr)
        return 1
    stale = stale_files(((ROOT / path, text) for path, text in made.items()), args.check)
    for path in stale:
        print(f"{'stale' if args.check else 'written'}: {path.relative_to(ROOT)}")
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
