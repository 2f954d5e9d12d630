# SPDX-License-Identifier: BSD-2-Clause
"""A bit rate for the bridge of a simulated board, which has none: what passes on its line is looked at and changed."""

import binascii
import time

from litepulse import regs


class RateRegister:
    """Gives the board's bridge its register of the bit rate, which the simulated SoC's, without a line, has not: in the frames that pass.

    `carries`: bauds at which the line works. At others nothing arrives, until the bridge has fallen back. `port`: the rate of the host's
    port, if that is known: nothing arrives, either, while it is not the bridge's.
    """

    CLOCK, BASE = 24_000_000, 115_200

    def __init__(self, carries, port=None):
        self.port, self.carries, self.asked, self.question, self.answer = port, carries, [], b"", b""
        self.word, self.heard = self.word_of(self.BASE), time.monotonic()

    def word_of(self, baud):
        """What the register has at a rate."""
        return min(round(baud * regs.BRIDGE_WORD_ONE / self.CLOCK), regs.BRIDGE_WORD_MAX)

    def __call__(self, to_the_pc, data):
        if time.monotonic() - self.heard > 2:
            self.word = self.word_of(self.BASE)
        if self.word not in {self.word_of(baud) for baud in (self.BASE, *self.carries)}:
            return b""
        if self.port and self.word != self.word_of(self.port):
            self.answer += data if to_the_pc else b""  # what comes next is another question
            return b""
        self.heard = time.monotonic()
        address = (regs.BRIDGE_BASE // 4).to_bytes(4, "big")
        if not to_the_pc:
            self.question, self.answer = (self.question if not self.answer else b"") + data, b""
            if self.question[3:4] == b"\x01" and self.question[5:9] == address and len(self.question) == 15:
                self.word = int.from_bytes(self.question[9:13], "big") & 0xFFFF
                self.asked.append(self.word)
            return data
        self.answer += data
        if self.question[3:9] != b"\x02\x01" + address:
            return data
        if len(self.answer) < 7:
            return b""
        told = (self.CLOCK // regs.BRIDGE_CLOCK_UNIT << 16 | self.word).to_bytes(4, "big") + self.answer[4:5]
        return told + binascii.crc_hqx(told, 0xFFFF).to_bytes(2, "big")
