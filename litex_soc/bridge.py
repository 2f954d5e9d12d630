# SPDX-License-Identifier: BSD-2-Clause
"""The serial bridge of the boards: LiteX's UARTBone with a bit rate that the host can raise, and that falls back by itself.

    self.bridge = SerialBridge(platform.request("serial"), sys_clk_freq)
    self.bridge.add_to_soc(self)

It speaks UARTBone's commands, plain or in checked frames (frames.py), at 115200 baud until the host writes another rate into a CSR
(regmap.BRIDGE, at CSR location 17, where a host finds it without any csr.csv). It is back at 115200 when no valid command, a
complete read or write, came for 2 seconds. See docs/bridge.md.

Latency: a rate that was written acts 2 cycles after the last word of the command was acknowledged on the bus, for both directions at
once. The fallback acts `fallback_cycles` + 4 cycles after that of the last write, + 3 after the last stop bit of the last answer, or
when the command that is under way then has ended or timed out; + 2 after that of a frame's answer.
"""

from fractions import Fraction

from litex.gen import LiteXModule
from litex.soc.cores.uart import RS232PHYRX, RS232PHYTX
from litex.soc.interconnect.csr import CSR
from migen import Cat, CEInserter, Constant, If, Mux, Signal

from litex_soc import regmap
from litex_soc.frames import Frames, frames_csr

WORD_BITS = regmap.BRIDGE_WORD_MAX.bit_length()


def rate_word(baud, sys_clk_freq):
    """The rate word of `baud` bits per second, rounded; ValueError unless a bit takes 8 cycles of `sys_clk_freq` (Hz) or more."""
    if not 0 < 8 * Fraction(baud) <= Fraction(sys_clk_freq):
        raise ValueError(f"{baud} baud: a clock of {sys_clk_freq} Hz does not allow it")
    return min(round(Fraction(baud) * regmap.BRIDGE_WORD_ONE / Fraction(sys_clk_freq)), regmap.BRIDGE_WORD_MAX)


def at_least(signal, number, bits):
    """The low `bits` of `signal` >= the constant `number`, as gates that fit a few LUTs rather than as a carry chain."""
    result = Constant(1)
    for bit in range(bits):
        result = signal[bit] & result if number >> bit & 1 else signal[bit] | result
    return result


class SerialBridge(LiteXModule):
    """UARTBone on `pads` (tx, rx) with a settable bit rate.

    Parameters
    ----------
    pads : the pins.
    sys_clk_freq : Hz of the clock of the bus.
    fallback_seconds : without a valid command the rate is 115200 again after this time, rounded to
    units of 1/320 to 1/160 of it. timeout_seconds : a command that takes longer is forgotten, up to
    two such units later. packs : it can pack the answer to a frame, and have the next frames wait.
    """

    def __init__(self, pads, sys_clk_freq, fallback_seconds=regmap.BRIDGE_FALLBACK_SECONDS, timeout_seconds=Fraction(1, 10), packs=True):
        clock = Fraction(sys_clk_freq)
        clock_field = round(clock / regmap.BRIDGE_CLOCK_UNIT)
        if not 0 < clock_field < 1 << 16:
            raise ValueError(f"a clock of {sys_clk_freq} Hz cannot be reported to the host")
        self.base_word = base = rate_word(regmap.BRIDGE_BAUD, clock)

        # The rate: `sample` is the carry of one accumulator, eight times in a bit, and LiteX's line interface steps with it, eight
        # steps a bit. The word is zero for one cycle: the fallback sets it after a reset, which takes fewer cells than an initial value.

        self.rate = rate = Signal(WORD_BITS, reset_less=True)
        sample, phase = Signal(), Signal(WORD_BITS, reset_less=True)
        self.sync += Cat(phase, sample).eq(phase + rate)
        step = 2**32 // 8
        self.tx = CEInserter()(RS232PHYTX(pads, step))
        # LiteX's receiver looks at a bit 5 to 6 steps after its beginning; two steps at once make that 3 to 4.
        skip, running_before = Signal(), Signal()
        self.rx = CEInserter()(RS232PHYRX(pads, Mux(skip, Constant(3 * step, 32), Constant(step, 32))))
        running = self.rx.fsm.ongoing("RUN")
        self.sync += If(sample, running_before.eq(running))
        self.comb += [self.tx.ce.eq(sample), self.rx.ce.eq(sample), skip.eq(running & ~running_before)]

        self.frames = frames = Frames(clock, fallback_seconds, timeout_seconds, packs)
        self.wishbone = frames.wishbone
        self.comb += [  # a byte is handed over in one cycle, not for the length of a step
            frames.sink.valid.eq(self.rx.source.valid & sample),
            frames.sink.data.eq(self.rx.source.data),
            self.tx.sink.valid.eq(frames.source.valid),
            self.tx.sink.data.eq(frames.source.data),
            frames.source.ready.eq(self.tx.sink.ready & sample),
        ]

        # The register. Only the bridge's own write counts, and only as the last word of its command: nothing more of the command
        # is on the line then, and nothing to be sent.

        self._rate = csr = CSR(32, name="rate")
        csr.description = regmap.BRIDGE[0].description
        self.comb += csr.w.eq(Cat(rate, Constant(0, 16 - WORD_BITS), Constant(clock_field, 16)))
        asked, word = Signal(), Signal(16)
        usable = at_least(word, base, WORD_BITS) & (word[WORD_BITS:] == 0)
        self.comb += word.eq(self.wishbone.dat_w)
        self.sync += [
            asked.eq(frames.writing & (asked | csr.re)),
            If(frames.complete & asked & usable, rate.eq(word)),
            If(frames.resting & ~frames.alive, rate.eq(base)),
        ]
        self._frames = frames_csr(packs)

    def add_to_soc(self, soc, name="bridge", csr_location=regmap.BRIDGE_LOCATION):
        """Makes the bridge a master of `soc`'s bus and gives its CSR its fixed place. `name`: the attribute that holds this module."""
        if soc.csr.data_width != 32:
            raise ValueError("the serial bridge needs a CSR bus of 32 bits")
        soc.csr.add(name, csr_location, use_loc_if_exists=True)
        soc.bus.add_master(name, master=self.wishbone)
