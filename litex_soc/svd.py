# SPDX-License-Identifier: BSD-2-Clause
"""The register map as a CMSIS-SVD file, for debuggers and code generators. `python -m litex_soc.generate` writes docs/litepulse.svd.

Addresses are the default places (regmap.CSR_BASE, WINDOW_BASE, BRIDGE_BASE); field widths those of the largest core. Streams show
their header and the oldest record: the records behind it lie at the following addresses.
"""

import xml.etree.ElementTree as ET
from dataclasses import replace

from litex_soc import SPDX, regmap

ACCESS = {"read": "read-only", "read, write": "read-write", "read, write 1 to clear": "read-write", "write": "write-only"}


def element(parent, tag, text=None, **attributes):
    """A new element below `parent`."""
    new = ET.SubElement(parent, tag, attributes)
    if text is not None:
        new.text = text
    return new


def add_field(parent, field):
    """One field, and what its values mean."""
    new = element(parent, "field")
    element(new, "name", field.name)
    element(new, "description", field.description)
    element(new, "bitOffset", str(field.offset))
    element(new, "bitWidth", str(field.size))
    if field.values:
        values = element(new, "enumeratedValues")
        for code, (name, meaning) in field.values.items():
            value = element(values, "enumeratedValue")
            # an identifier, also where the name is a number
            element(value, "name", name if name[0].isalpha() else f"_{name}")
            element(value, "description", meaning)
            element(value, "value", str(code))


def add_register(parent, register, offset, prefix="", other=None):
    """One register at byte `offset` of its peripheral; `other` names one that is already there."""
    new = element(parent, "register")
    element(new, "name", f"{prefix}{register.name}")
    element(new, "description", register.description)
    if other:
        element(new, "alternateRegister", other)
    element(new, "addressOffset", f"0x{offset:x}")
    element(new, "access", ACCESS[register.access])
    element(new, "resetValue", f"0x{register.reset:x}")
    if register.access.endswith("clear"):
        element(new, "modifiedWriteValues", "oneToClear")
    if register.fields:
        fields = element(new, "fields")
        for field in register.fields:
            add_field(fields, field)


def add_peripheral(parent, name, description, base, size):
    """A peripheral of `size` bytes; returns where its registers go."""
    new = element(parent, "peripheral")
    element(new, "name", name)
    element(new, "description", description)
    element(new, "baseAddress", f"0x{base:08x}")
    block = element(new, "addressBlock")
    element(block, "offset", "0")
    element(block, "size", f"0x{size:x}")
    element(block, "usage", "registers")
    return element(new, "registers")


def add_window(parent):
    """The bus window: streams, bytes and launches to send, configuration words."""
    registers = add_peripheral(parent, "PULSE_WINDOW", "Bus window of the core", regmap.WINDOW_BASE, regmap.WINDOW_SIZE)
    (ack,) = regmap.STREAM_ACK
    for stream, record in (("EVENTS", regmap.EVENT_RECORD), ("RECEIVE", regmap.RECEIVE_RECORD)):
        base, prefix = regmap.REGIONS[stream][0], f"{stream.lower()}_"
        for register in regmap.STREAM_HEADER:
            add_register(registers, replace(register, access="read"), base + 4 * register.index, prefix)
        add_register(registers, replace(ack, access="write"), base, prefix, f"{prefix}{regmap.STREAM_HEADER[0].name}")
        for register in record:
            offset = base + 4 * (regmap.HEADER_WORDS + register.index)
            add_register(registers, replace(register, access="read"), offset, f"{prefix}record_")
    for n in range(1, 5):
        what = f"a write pushes the low {n} bytes, lowest first" if n > 1 else "a write pushes the low byte"
        part = regmap.REGIONS["TX"][0] + (n - 1) * regmap.TX_PART_SIZE
        add_register(registers, regmap.Register(f"tx_{n}", 0, f"bytes to send: {what}", access="write"), part)
    for register in regmap.LAUNCH_ENTRY:
        add_register(registers, replace(register, access="write"), regmap.REGIONS["LAUNCH"][0] + 4 * register.index, "launch_")
    for register in regmap.CONFIG:
        add_register(registers, register, regmap.REGIONS["CONFIG"][0] + 4 * register.index, "config_")


def page():
    """Text of the SVD file."""
    device = ET.Element("device", schemaVersion="1.3")
    for tag, text in (
        ("name", "LitePulse"),
        ("version", f"{regmap.VERSION_MAJOR}.{regmap.VERSION_MINOR}"),
        ("description", "LitePulse: a serial port whose every edge has a known time"),
        ("addressUnitBits", "8"),
        ("width", "32"),
        ("size", "32"),
        ("resetMask", "0xffffffff"),
    ):
        element(device, tag, text)
    peripherals = element(device, "peripherals")
    registers = add_peripheral(peripherals, "PULSE", "CSRs of the core", regmap.CSR_BASE, 4 * len(regmap.CSRS))
    for register in regmap.CSRS:
        add_register(registers, register, 4 * register.index)
    add_window(peripherals)
    registers = add_peripheral(peripherals, "BRIDGE", "Serial bridge of the boards", regmap.BRIDGE_BASE, 4 * len(regmap.BRIDGE))
    for register in regmap.BRIDGE:
        add_register(registers, register, 4 * register.index)
    ET.indent(device)
    head = f"<!-- Generated by `python -m litex_soc.generate`: do not edit. {SPDX} BSD-2-Clause -->"
    return '<?xml version="1.0" encoding="utf-8"?>\n' + f"{head}\n{ET.tostring(device, encoding='unicode')}\n"
