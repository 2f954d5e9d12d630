# SPDX-License-Identifier: BSD-2-Clause
"""Names of the register map as this package uses them: packing and unpacking of words by field name."""

from collections.abc import Mapping

from litepulse import regs

CSRS: Mapping[str, regs.Register] = {register.name: register for register in regs.CSRS}
CONFIG: Mapping[str, regs.Register] = {register.name: register for register in regs.CONFIG}
CONFIG_BASE = regs.REGIONS["CONFIG"][0]

_EVENT_KIND = {name: code for code, (name, _) in regs.EVENT_KINDS.items()}
_EVENT_SOURCE = {name: code for code, (name, _) in regs.EVENT_SOURCES.items()}
KIND_NAME = {code: name.lower() for name, code in _EVENT_KIND.items()}
SOURCE_NAME = {code: name.lower() for name, code in _EVENT_SOURCE.items()}
REASON_NAME = {code: name.lower() for code, (name, _) in regs.REASONS.items()}
LAUNCH_KIND = {name.lower(): code for code, (name, _) in regs.LAUNCH_KINDS.items() if name != "WAIT"}  # of what is put on the line
LAUNCH_KIND_NAME = {code: name for name, code in LAUNCH_KIND.items()}
PARITY = {name.lower(): code for code, (name, _) in regs.PARITIES.items()}
TRIGGER = {name.lower(): code for code, (name, _) in regs.TRIGGERS.items()}
TRAIN_COMMAND = {name.lower(): code for code, (name, _) in regs.TRAIN_COMMANDS.items()}
MASK32 = 0xFFFFFFFF
# Cycles, of the constants in hdl/limits.toml.
LMIN_CYCLES = 64
TRAIN_MIN_PERIOD = 120
CHANGE_MIN_PERIOD = 320  # of a train that can be changed
RESPONSE_MIN_CYCLES = 6
RESPONSE_MIN_BYTE = 7
SAMPLES_LATENCY_BYTE = 4  # more, with several samples per cycle
BURST_MIN_CYCLES = 18
SEQUENCE_MIN_CYCLES = 140
TIMEOUT_MIN_CYCLES = 200
SAMPLES_LATENCY = 3  # more, with several samples per cycle
LIN_BIT_MIN = 64  # bit period of a LIN slave
PHY_LATENCY = 5  # cycles by which the slowest PHY is later than the generic one; a board does not say which it has


def pack(register: regs.Register, **values: int) -> int:
    """The word of `register` with these fields set and all others 0; an unknown field or one that does not fit is a bug."""
    fields = {f.name: f for f in register.fields}
    word = 0
    for name, value in values.items():
        f = fields[name]
        low, high = (-(1 << (f.size - 1)), (1 << (f.size - 1)) - 1) if f.signed else (0, (1 << f.size) - 1)
        if not low <= value <= high:
            raise ValueError(f"{register.name}.{name} = {value} does not fit {f.size} bits")
        word |= (int(value) & ((1 << f.size) - 1)) << f.offset
    return word


def place(register: regs.Register, name: str) -> tuple[int, int]:
    """(offset, mask) of an unsigned field, for what is decoded a hundred thousand times a second: word >> offset & mask."""
    field = next(f for f in register.fields if f.name == name)
    assert not field.signed
    return field.offset, (1 << field.size) - 1


def unpack(register: regs.Register, word: int) -> dict[str, int]:
    """{field: value} of a word."""
    values: dict[str, int] = {}
    for f in register.fields:
        value = (word >> f.offset) & ((1 << f.size) - 1)
        if f.signed and value >> (f.size - 1):
            value -= 1 << f.size
        values[f.name] = value
    return values
