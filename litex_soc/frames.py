# SPDX-License-Identifier: BSD-2-Clause
"""UARTBone over a line that loses, doubles or damages bytes: its commands, plain or in checked frames, from a byte stream to a bus.

    self.frames = Frames(sys_clk_freq)      # sink, source: bytes from and to the line; wishbone: a master of the bus
    self._frames = frames_csr()

Plain commands pass through to LiteX's parser. A frame is kept in a block RAM; when its CRC turns out right the parser gets what is in
it, and behind the answer go the frame's number and a CRC. The same number again: writes are acknowledged to the parser but do not
reach the bus. The frame's marker says whether its answer is packed: then bytes that repeat are left out. What comes while a frame is
carried out and answered waits, from the first marker on. See docs/bridge.md.

Latency: the parser gets a frame's first byte 3 cycles after the frame's last one came, then one every second cycle. The answer's end
begins 2 cycles after the last command has ended, or the last packed byte was sent. Bytes that have waited are taken every second cycle.
"""

from fractions import Fraction

from litex.gen import LiteXModule
from litex.soc.cores.uart import Stream2Wishbone
from litex.soc.interconnect import stream, wishbone
from litex.soc.interconnect.csr import CSRStatus
from migen import NO_CHANGE, Cat, CEInserter, Constant, If, Memory, Mux, Signal
from migen.genlib.fsm import FSM, NextState, NextValue

from litex_soc import regmap
from litex_soc.packer import PERIOD, NoPacker, Packer

CRC_INIT = 0xFFFF  # CRC-16/CCITT-FALSE: polynomial 0x1021, most significant bit first, nothing inverted
WAITING = 256  # where the memory has the bytes that wait
HISTORY = WAITING + regmap.BRIDGE_FRAME_WAITING  # and the latest 16 bytes of a packed answer


class NoWaiting(LiteXModule):
    """In the place of Waiting, for a bridge without: what comes is there at once, or lost."""

    def __init__(self, line, data):
        self.source = line
        self.busy, self.begins = Signal(), Signal()
        self.keep = self.fetch = self.any = self.head = self.tail = Constant(0)


class Waiting(LiteXModule):
    """Bytes of the line that come while a frame is carried out, in a ring of memory.

    `source` : the next byte, one that has waited or that arrives now. It must be taken in the cycle in which it is valid.
    `busy`, `begins` : inputs, nothing is taken now; the byte at `source` begins a frame.
    `keep`, `tail` : write the byte of the line to that address in this cycle; this has priority over other uses of the memory.
    `fetch`, `head` : read that address unless `keep` is set; `data` has the byte in the next cycle.
    `any` : bytes wait.
    """

    def __init__(self, line, data):
        self.source = source = stream.Endpoint([("data", 8)])
        self.busy, self.begins, self.keep, self.fetch, self.any = (Signal() for _ in range(5))
        bits = (regmap.BRIDGE_FRAME_WAITING - 1).bit_length()
        head, tail, fetched, ahead = Signal(bits + 1), Signal(bits + 1), Signal(), Signal()
        self.head, self.tail = head[:bits], tail[:bits]
        taken = fetched & ~self.keep  # it may be written to the memory, too
        full = (self.head == self.tail) & ahead
        self.comb += [
            ahead.eq(head[bits] != tail[bits]),
            self.any.eq((self.head != self.tail) | ahead),
            self.keep.eq(line.valid & Mux(self.any, ~full, self.busy & self.begins)),
            self.fetch.eq(self.any & ~self.busy & ~taken),
            source.valid.eq(Mux(self.any, taken, line.valid)),
            source.data.eq(Mux(fetched, data, line.data)),
            line.ready.eq(self.any | source.ready),
        ]
        self.sync += [fetched.eq(self.fetch & ~self.keep), If(self.keep, tail.eq(tail + 1)), If(taken, head.eq(head + 1))]


def frames_csr(packs=True):
    """The register by which a host finds out that a bridge understands frames, and whether it has all of Frames' options."""
    register = regmap.BRIDGE[1]
    return CSRStatus(32, reset=register.reset if packs else 1, name=register.name, description=register.description)


class Frames(LiteXModule):
    """UARTBone's commands from a byte stream, plain or in frames.

    `sink`, `source` : the line. One without flow control may ignore `sink.ready`: bytes that come while a plain answer goes out are lost.
    `wishbone` : the master of the bus.
    `complete` : the first cycle after a valid command, of whose answer all has been sent. `writing` : a word is being written.
    `resting` : nothing is being carried out or answered. `alive` : something valid ended less than 2 s ago.
    `carrying` : a frame is being carried out or answered. `deaf`, `locked` : see docs/bridge.md.
    `hush`, `unlock` : inputs for simulations, end silence and `locked` at once.

    Parameters
    ----------
    sys_clk_freq : Hz of the clock of the bus.
    fallback_seconds : how long `alive` lasts, rounded to units of 1/320 to 1/160 of it.
    timeout_seconds : a command that takes longer is forgotten, up to two such units later.
    packs : it can pack the answer to a frame, and have the next frames wait.
    """

    def __init__(self, sys_clk_freq, fallback_seconds=regmap.BRIDGE_FALLBACK_SECONDS, timeout_seconds=Fraction(1, 10), packs=True):
        clock = Fraction(sys_clk_freq)
        self.sink, self.source = line, source = stream.Endpoint([("data", 8)]), stream.Endpoint([("data", 8)])
        self.wishbone = bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")

        # Time is counted in units of a power of two cycles that start again with each valid command: one counter serves the
        # fallback, silence on the line, and the parser's timeout, which LiteX would count in cycles.

        cycles = Fraction(fallback_seconds) * clock
        unit_log2 = int(cycles / 160).bit_length() - 1  # 2 s: units of 6 to 12.5 ms
        if unit_log2 < 1:
            raise ValueError(f"a fallback after {fallback_seconds} s is too short")
        self.unit_cycles = unit = 1 << unit_log2
        units = round(cycles / unit)
        self.fallback_cycles = units * unit
        timeout = -(-Fraction(timeout_seconds) * clock // unit) + 1  # the first unit may be cut short
        self.timeout_cycles = timeout * unit  # at most; at least one unit less
        self.silence_cycles = 2 * unit  # at most; more than one unit
        self.parser = parser = Stream2Wishbone(clk_freq=10 * timeout + 1)  # its timer counts to a tenth of this

        self.begun = begun = Signal(unit_log2)
        unit_over = Signal()
        self.sync += Cat(begun, unit_over).eq(begun + 1)
        CEInserter()(parser.timer)
        self.comb += parser.timer.ce.eq(unit_over | ~parser.timer.wait)

        waiting, sending = parser.fsm.ongoing("RECEIVE-CMD"), parser.fsm.ongoing("SEND-DATA")
        self.writing = writing = parser.fsm.ongoing("WRITE-DATA")
        obeyed, ended = Signal(), Signal()  # ended: the last cycle of a frame's answer
        self.complete = complete = Signal()
        self.sync += obeyed.eq(writing | sending)
        self.comb += complete.eq(waiting & obeyed & ~parser.timer.done)
        # Its top bit falls after `units` units without a valid command.
        self.left = left = Signal(units.bit_length() + 1)
        self.alive = alive = left[-1]
        self.sync += [
            If(unit_over & alive, left.eq(left - 1)),
            If(complete | ended, Cat(begun, unit_over).eq(0), left.eq((1 << len(left) - 1) + units - 1)),
        ]

        # A frame's number lies at the end of the memory, its payload at the beginning; `place` goes from the one to the other. The CRC is
        # that of a frame that comes, or of an answer.

        memory = Memory(8, 512, name="frames_memory")
        port = memory.get_port(write_capable=True, mode=NO_CHANGE)
        self.specials += memory, port
        self.waiting = queue = (Waiting if packs else NoWaiting)(line, port.dat_r)
        sink = queue.source
        place, length, last, filled = Signal(9), Signal(8, reset_less=True), Signal(9), Signal()
        again, whole = Signal(), Signal()  # the number is that of the last frame; that one was carried out to its end
        self.comb += filled.eq(place[:8] == length)

        crc, top = Signal(16, reset_less=True), Signal(8)
        receiving, judging, fresh, next_crc = Signal(), Signal(), Signal(), Signal(16)
        packed = Signal()  # the frame's answer is to be; its CRC begins with another value, so that none is taken for the other kind
        byte = Signal(8)  # that is received, sent or to be compared with an earlier one
        self.comb += [byte.eq(Mux(receiving, sink.data, source.data)), top.eq(crc[8:] ^ byte), next_crc.eq(crc_shifted(crc, top))]
        self.sync += If(fresh, crc.eq(CRC_INIT ^ (packed & judging))).Elif(
            Mux(receiving, sink.valid, source.valid & source.ready), crc.eq(next_crc)
        )

        quiet, silent = Signal(), Signal()  # a unit ended since the last byte; the second one does
        self.sync += If(line.valid, quiet.eq(0)).Elif(unit_over, quiet.eq(1))
        self.hush = Signal()
        self.comb += silent.eq((unit_over & quiet & ~line.valid & ~queue.any) | self.hush)

        self.locked, self.unlock = locked, unlock = Signal(), Signal()
        self.sync += If(ended, locked.eq(1)).Elif(~alive | unlock, locked.eq(0))

        # While it is carried out the memory's upper half has the latest bytes of a packed answer.

        unpacked = stream.Endpoint([("data", 8)])
        self.packer = packer = Packer(unpacked, port.dat_r) if packs else NoPacker()
        self.comb += packer.restart.eq(judging | parser.timer.done)

        self.fsm = fsm = FSM(reset_state="IDLE")
        step, store, taken, fetched, through, trailer = (Signal() for _ in range(6))

        def receive(state, following, *actions):
            fsm.act(state, receiving.eq(1), If(sink.valid, NextState(following), *actions).Elif(silent, NextState("IDLE")))

        packed_marker = sink.data == regmap.BRIDGE_PACKED_MARKER if packs else Constant(0)
        self.comb += queue.begins.eq((sink.data == regmap.BRIDGE_FRAME_MARKER) | packed_marker)
        fsm.act(
            "IDLE",
            fresh.eq(1),
            If(
                sink.valid & waiting,
                NextValue(packed, packed_marker),
                If(queue.begins, NextState("NUMBER")).Elif(locked, NextState("DEAF")).Else(through.eq(1)),
            ).Else(through.eq(1)),
        )
        receive("NUMBER", "LENGTH", store.eq(1), step.eq(1))
        receive("LENGTH", "PAYLOAD", NextValue(length, sink.data))
        receive("PAYLOAD", "PAYLOAD", store.eq(1), step.eq(1), If(filled, NextState("HIGH")))
        receive("HIGH", "LOW")
        receive("LOW", "JUDGE")
        same = last == Cat(port.dat_r, 1)
        fsm.act(
            "JUDGE",
            judging.eq(1),
            fresh.eq(1),
            step.eq(1),
            NextValue(again, same),
            # A frame that was broken off is never acknowledged: how much of it was done is unknown.
            If((crc == 0) & (whole | ~same), NextValue(last, Cat(port.dat_r, 1)), NextValue(whole, 0), NextState("FEED")).Else(
                NextState("DEAF")
            ),
        )
        fsm.act("DEAF", If(silent, NextState("IDLE")))
        fsm.act("FEED", step.eq(taken), If(parser.timer.done, NextState("DEAF")).Elif(taken & filled, NextState("FINISH")))
        fsm.act("FINISH", If(parser.timer.done, NextState("DEAF")).Elif(waiting & packer.empty, NextValue(whole, 1), NextState("ANSWER")))
        for state, following in (("ANSWER", "ANSWER-HIGH"), ("ANSWER-HIGH", "ANSWER-LOW"), ("ANSWER-LOW", "IDLE")):
            fsm.act(state, trailer.eq(1), If(source.ready, NextState(following)))
        idle = fsm.ongoing("IDLE")
        self.deaf = fsm.ongoing("DEAF")
        self.carrying, self.resting = carrying, resting = Signal(), Signal()
        packing = Signal()
        self.comb += [
            packing.eq(packed & ~idle),
            packer.flush.eq(fsm.ongoing("FINISH") & waiting),
            carrying.eq(fsm.ongoing("FEED") | fsm.ongoing("FINISH") | trailer),
            queue.busy.eq(judging | carrying),
            resting.eq(waiting & ~obeyed & ~carrying & ~queue.any),
            ended.eq(fsm.ongoing("ANSWER-LOW") & source.ready),
            taken.eq(fetched & parser.sink.ready),
        ]
        self.sync += [
            # The memory takes a cycle.
            fetched.eq(fsm.ongoing("FEED") & ~taken & ~parser.timer.done & ~packer.busy & ~queue.keep),
            If(step, place.eq(place + 1)).Elif(fsm.ongoing("HIGH") | fsm.ongoing("IDLE"), place.eq(511)),
        ]

        other = Mux(packer.busy, Cat(packer.address, Constant(HISTORY // PERIOD, 5)), place)
        self.comb += [
            port.we.eq(queue.keep | store | packer.write),
            port.adr.eq(Mux(queue.keep, WAITING | queue.tail, Mux(queue.fetch, WAITING | queue.head, other))),
            port.dat_w.eq(Mux(queue.keep, line.data, byte)),
            packer.stall.eq(queue.keep),
        ]

        # Between the line and the parser, and between the parser and the bus.

        answer = Signal(8)
        masked = Signal()
        self.comb += [
            parser.sink.valid.eq(Mux(idle, sink.valid & through, fetched)),
            parser.sink.data.eq(Mux(idle, sink.data, port.dat_r)),
            sink.ready.eq(~idle | parser.sink.ready),
            # The CRC's own upper byte moves the lower one up: 0 is what the gates make of it.
            answer.eq(Mux(fsm.ongoing("ANSWER"), last[:8], crc[8:])),
            unpacked.valid.eq(parser.source.valid & packing & ~queue.keep),
            unpacked.data.eq(source.data),
            source.valid.eq(trailer | Mux(packing, packer.source.valid, parser.source.valid)),
            source.data.eq(Mux(trailer, answer, Mux(packing & packer.sending, packer.source.data, parser.source.data))),
            packer.source.ready.eq(source.ready),
            parser.source.ready.eq(Mux(packing, unpacked.ready & ~queue.keep, source.ready)),
            masked.eq(again & ~idle & parser.wishbone.we),
            parser.wishbone.connect(bus, omit={"cyc", "stb", "ack"}),
            bus.cyc.eq(parser.wishbone.cyc & ~masked),
            bus.stb.eq(parser.wishbone.stb & ~masked),
            parser.wishbone.ack.eq(bus.ack | (parser.wishbone.stb & masked)),
        ]


def crc_shifted(crc, top):
    """The CRC after a byte more: `crc` before it, `top` its upper byte with the new one added."""
    x = top ^ Cat(top[4:], Constant(0, 4))
    return Cat(Constant(0, 8), crc[:8]) ^ Cat(Constant(0, 12), x[:4]) ^ Cat(Constant(0, 5), x) ^ x
