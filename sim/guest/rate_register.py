# SPDX-License-Identifier: BSD-2-Clause
"""A bit rate for the bridge of a simulated board, which has none: what passes on its line is looked at and changed."""

import time

from litepulse import regs
from sim.bridge_frames import Line, answer


class RateRegister:
    """Gives the board's bridge its register of the bit rate, which the simulated SoC's, without a line, has not: in the frames that pass.

    `carries`: bauds at which the line works. At others nothing arrives, until the bridge has fallen back. `port`: the rate of the host's
    port, if that is known: nothing arrives, either, while it is not the bridge's. The bridge falls back 2 s after the last valid command,
    as docs/bridge.md says; other bytes do not count.
    """

    CLOCK, BASE = 24_000_000, 115_200

    def __init__(self, carries, port=None):
        self.port, self.carries, self.requested, self.line = port, carries, [], Line()
        self.word, self.heard = self.word_of(self.BASE), time.monotonic()

    def word_of(self, baud):
        """What the register has at a rate."""
        return min(round(baud * regs.BRIDGE_WORD_ONE / self.CLOCK), regs.BRIDGE_WORD_MAX)

    def __call__(self, to_the_pc, data):
        if time.monotonic() - self.heard > regs.BRIDGE_FALLBACK_SECONDS:
            self.word = self.word_of(self.BASE)
        carried = self.word in {self.word_of(baud) for baud in (self.BASE, *self.carries)}
        if not carried or self.port and self.word != self.word_of(self.port):
            self.line = Line()  # what comes next is another question
            return b""
        if not to_the_pc:
            for request in self.line.requests(data):
                if request.number is None and not request.reads:
                    self.heard = time.monotonic()
                else:
                    self.line.waiting.append(request)
                if regs.BRIDGE_BASE in request.writes:
                    self.word = request.writes[regs.BRIDGE_BASE] & 0xFFFF
                    self.requested.append(self.word)
                    self.heard = time.monotonic()
            return data
        reads_rate = [request.reads for request in self.line.waiting][:1] == [(regs.BRIDGE_BASE,)]
        answers = self.line.replies(data)
        if any(words is not None for _, words in answers):
            self.heard = time.monotonic()
        if not reads_rate:
            return data
        word = self.CLOCK // regs.BRIDGE_CLOCK_UNIT << 16 | self.word
        return answer(answers[0][0].raw, [word]) if answers else b""
