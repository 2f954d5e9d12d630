# SPDX-License-Identifier: BSD-2-Clause
"""A port that is a bundle of wires, field by field: the layouts are those of hdl/litepulse_types.svh."""

import re
from functools import lru_cache

from sim.cocotb_rig import hdl_dir


@lru_cache(maxsize=None)
def fields(name):
    """{field: bits} of a type, the highest first."""
    text = (hdl_dir() / "litepulse_types.svh").read_text()
    body = re.search(rf"typedef struct packed \{{([^}}]*)\}} {name};", text)[1]
    found = re.findall(r"(?m)^\s*(logic(?: +\[(\d+):(\d+)\])?|\w+) +(\w+);", body)
    return {
        field: int(high or 0) - int(low or 0) + 1 if kind.startswith("logic") else sum(fields(kind).values())
        for kind, high, low, field in found
    }


class Bundle:
    """Drives an input of such a type: `bundle(field=value, ...)`; the other fields stay as they are, at first 0."""

    def __init__(self, port, name):
        self.port, self.fields = port, fields(name)
        self.values = dict.fromkeys(self.fields, 0)

    def __call__(self, **values):
        for field, value in values.items():
            if not 0 <= value < 1 << self.fields[field]:
                raise ValueError(f"{field} has {self.fields[field]} bits, {value} is none of theirs")
            self.values[field] = value
        word = 0
        for field, bits in self.fields.items():
            word = word << bits | self.values[field]
        self.port.value = word


def members(port, name):
    """{field: value} of an output of such a type; None if a bit of the field is unknown."""
    levels, found, place = str(port.value), {}, 0
    for field, bits in fields(name).items():
        part = levels[place : place + bits]
        found[field], place = int(part, 2) if set(part) <= {"0", "1"} else None, place + bits
    return found
