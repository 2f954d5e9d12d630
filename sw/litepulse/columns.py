# SPDX-License-Identifier: BSD-2-Clause
"""Edges as columns of NumPy, decoded a block of records at a time, for what has no need of an object for each.

Only blocks that hold edges alone, without a gap, are decoded here. All others, with losses, other kinds, or a gap in the sequence
numbers, are left to streams.EventStream: it has the rules, and this module its fields. NumPy is loaded when it is first used.
"""

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any

from litepulse.layout import KIND_NAME
from litepulse.streams import KIND, KIND_MASK, SEQ, SEQ_MASK, EventStream

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

EDGE = next(code for code, name in KIND_NAME.items() if name == "edge")
CHANGE_BITS = 16  # of an edge record: a bit for each sample of each channel
_NUMPY_CODE = {"Q": "u8", "I": "u4", "H": "u2", "B": "u1"}


@dataclass(frozen=True)
class EdgeRecords:
    """Edge records in the order of their stream. tick: that of their first sample (uint64); data: level << 16 | changed (uint32)."""

    tick: "Array"
    data: "Array"

    def __len__(self) -> int:
        return len(self.tick)


def of_words(words: Sequence[int], stream: EventStream) -> EdgeRecords | None:
    """From event records, four words each, that follow what `stream` was fed; it goes on behind them.

    None, and the stream as it was, if they are anything but edges without a gap.
    """
    import numpy

    table = numpy.array(array("I", words), "u4").reshape(-1, stream.words)
    if not len(table):
        return EdgeRecords(table[:, 0].astype("u8"), table[:, 0])
    info = table[:, 2]
    seq = info >> SEQ & SEQ_MASK
    first = int(seq[0]) if stream.next_seq is None else stream.next_seq
    expected = (numpy.arange(first, first + len(seq)) & SEQ_MASK).astype("u4")
    if (info >> KIND & KIND_MASK != EDGE).any() or (seq != expected).any():
        return None
    stream.next_seq = (first + len(seq)) & SEQ_MASK
    return EdgeRecords(table[:, 0] | table[:, 1].astype("u8") << numpy.uint64(32), table[:, 3])


def of_structs(data: bytes, layout: Struct, names: Sequence[str], kind: int) -> EdgeRecords | None:
    """From structures of the driver, one behind the other. None if one of them has another kind.

    names: of the members in `layout`, among them tick, data and kind.
    """
    import numpy

    codes = layout.format.lstrip("=<")
    fields = [(name, "<" + _NUMPY_CODE[code]) for name, code in zip(names, codes, strict=True)]
    table = numpy.frombuffer(data, fields)
    if (table["kind"] != kind).any():
        return None
    return EdgeRecords(table["tick"], table["data"])


def dtype() -> "numpy.dtype[Any]":
    """Of the arrays of edges that programs get."""
    import numpy

    return numpy.dtype([("tick", "u8"), ("channel", "u1"), ("level", "u1")])


def edges(records: EdgeRecords, samples_per_cycle: int, channels: Collection[int]) -> "Array":
    """The single edges of these channels, of dtype(), in the order of time: what streams.edges() makes of each record, sorted by tick."""
    import numpy

    places = sorted((bit % samples_per_cycle, bit // samples_per_cycle) for bit in range(CHANGE_BITS))
    wanted = [(sample, channel) for sample, channel in places if channel in channels]
    sample = numpy.array([sample for sample, _ in wanted], "u8")
    channel = numpy.array([channel for _, channel in wanted], "u1")
    bit = (channel * samples_per_cycle + sample).astype("u4")
    record, place = ((records.data[:, None] >> bit) & 1).nonzero()
    found = numpy.empty(len(record), dtype())
    found["tick"] = records.tick[record] + sample[place]
    found["channel"] = channel[place]
    found["level"] = records.data[record] >> (bit[place] + 16) & 1
    if (found["tick"][1:] < found["tick"][:-1]).any():
        found = found[found["tick"].argsort(kind="stable")]
    return found
