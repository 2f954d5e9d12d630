# SPDX-License-Identifier: BSD-2-Clause
"""Packs the answer to a frame: bytes that equal the byte 16 before are left out.

    self.packer = Packer(parser.source, port.dat_r)     # in frames.py, which lends it 16 bytes of its memory

Events and received bytes are records of 16 and 8 bytes that differ little from the one before. The answer is divided into groups of 8
bytes; a group is sent as a mask, whose bit k says that byte k of the group follows, and those bytes. Of the first 16 bytes all are sent,
and a group that the answer's end cuts short has zeros in its mask for what is missing. See docs/bridge.md.

Latency: a byte takes 1 cycle to gather, or 2 if it differs, and each word 1 more. Then each byte of the mask up to the last that is sent
takes 1, besides the line's time.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import Cat, Constant, If, Mux, ResetInserter, Signal
from migen.genlib.fsm import FSM, NextState

GROUP = 8  # bytes with a mask
PERIOD = 16  # how far before a byte is what it is compared with


class NoPacker(LiteXModule):
    """In the place of a Packer, for a bridge without: it does nothing, and is always empty."""

    def __init__(self):
        self.source = stream.Endpoint([("data", 8)])
        self.restart, self.flush, self.stall, self.busy, self.write, self.sending = (Signal() for _ in range(6))
        self.empty, self.address = Constant(1), Constant(0, 4)


class Packer(LiteXModule):
    """From the bytes of an answer to those on the line.

    `source` : to the line.
    `old` : what the memory read in the cycle before, at `address`, of `PERIOD` bytes. `write`: `sink.data` is written there.
    `busy` : the memory is in use, or a group is being sent.
    `stall` : input, the memory serves another module, and `sink` has nothing.
    `restart` : input, the next byte is the first of an answer. `flush` : input, no more bytes come for this one.
    `empty` : all has been sent.
    """

    def __init__(self, sink, old):
        self.source = source = stream.Endpoint([("data", 8)])
        self.restart, self.flush, self.stall, self.empty, self.busy, self.write = (Signal() for _ in range(6))
        self.address = Signal(4)
        place, after, half, first, mask = Signal(3), Signal(3), Signal(), Signal(), Signal(GROUP, reset_less=True)
        step, over, differs, ahead = (Signal() for _ in range(4))
        self.comb += [after.eq(place + 1), self.address.eq(Cat(Mux(ahead, after, place), half))]
        self.sync += [
            If(step, place.eq(after), mask.eq(Cat(mask[1:], differs))),
            If(over, place.eq(0), half.eq(~half), If(half, first.eq(0))),
            If(self.restart, place.eq(0), half.eq(0), first.eq(1)),
        ]
        self.fsm = fsm = ResetInserter()(FSM(reset_state="GATHER"))
        self.comb += fsm.reset.eq(self.restart)
        gathered = If(after == 0, NextState("MASK"))
        fsm.act(
            "GATHER",
            self.busy.eq(sink.valid),
            self.empty.eq((place == 0) & ~sink.valid),
            If(sink.valid, NextState("COMPARE")).Elif(self.flush & (place != 0), step.eq(1), gathered),
        )
        fsm.act(
            "COMPARE",
            self.busy.eq(sink.valid),
            sink.ready.eq(1),
            differs.eq(first | (old != sink.data)),
            self.write.eq(sink.valid & differs),
            ahead.eq(~differs),
            step.eq(sink.valid),
            If(~sink.valid, NextState("GATHER")).Elif(after == 0, NextState("MASK")).Elif(differs, NextState("GATHER")),
        )
        fsm.act("MASK", self.busy.eq(1), source.valid.eq(1), If(source.ready, NextState("LOOK")))
        fsm.act(
            "LOOK",
            self.busy.eq(1),
            If(mask == 0, over.eq(1), NextState("GATHER")).Elif(mask[0], If(~self.stall, NextState("SEND"))).Else(step.eq(1)),
        )
        fsm.act("SEND", self.busy.eq(1), source.valid.eq(1), If(source.ready, step.eq(1), NextState("LOOK")))
        self.sending = fsm.ongoing("MASK") | fsm.ongoing("SEND")
        self.comb += source.data.eq(Mux(fsm.ongoing("MASK"), mask, old))
