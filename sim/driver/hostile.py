# SPDX-License-Identifier: BSD-2-Clause
"""Boards with wrong answers: each class lies between a simulated board and the guest's serial line,
and alters the answers."""

import random

from litepulse import regs
from sim.driver.cable_rig import EVENTS, FRAMES, Ahead

TICK_HI = EVENTS + 12
BYTES = regs.WINDOW_BASE + regs.REGIONS["RECEIVE"][0]  # the header's first word: how many are ready
BYTES_TICK_HI = BYTES + 12
EVERY = 61  # one answer in this many is altered


class Liar(Ahead):
    """Alters answers to frames before they reach the host, with a checksum that fits. `answers` passed, `altered` of them were."""

    def __init__(self, near, far, seed=7):
        self.answers = self.altered = 0
        self.random = random.Random(seed)
        super().__init__(near, far)

    def alter(self, words, addresses):
        """The words of an answer, which were read from these addresses, changed; None: as they are."""
        raise NotImplementedError

    def arrives(self, request, words):
        self.answers += 1
        altered = self.alter(words, list(request.reads))
        self.altered += altered is not None
        return super().arrives(request, words if altered is None else altered)


class CannotPack(Liar):
    """Reports that its bridge knows frames, but no packed answers; `begun` has the first byte of
    each request."""

    def __init__(self, near, far):
        self.begun = set()
        super().__init__(near, far)

    def on_request(self, request):
        self.begun.add(request.raw[0])
        super().on_request(request)

    def alter(self, words, addresses):
        return [1] if addresses == [FRAMES] else None


class WildTicks(Liar):
    """From time to time an answer's tick does not fit in 64 bits of nanoseconds, as after an
    undetected bit error."""

    def alter(self, words, addresses):
        if TICK_HI not in addresses or self.random.randrange(EVERY):
            return None
        place = addresses.index(TICK_HI)
        return [*words[:place], words[place] | 1 << self.random.randrange(27, 32), *words[place + 1 :]]


class Poison(Liar):
    """From time to time LENGTH answers in a row, enough to be believed, have a tick that is too
    high: those that follow seem to go back.

    Each row begins with an answer that has received bytes. On a busy machine most answers have none, and nothing would be lost.
    """

    PAUSE, LENGTH = 200, 12
    begun = 0  # answer number of the latest

    def alter(self, words, addresses):
        if self.answers >= self.begun + self.PAUSE and BYTES in addresses and words[addresses.index(BYTES)] & 0xFFFF:
            self.begun = self.answers
        if TICK_HI not in addresses or not 0 < self.begun <= self.answers < self.begun + self.LENGTH:
            return None
        return [word | (1 << 20 if address in (TICK_HI, BYTES_TICK_HI) else 0) for word, address in zip(words, addresses, strict=True)]


class Anything(Liar):
    """Changes one word in some answers. It may be any word: an identity, a position, a count, a tick or a record."""

    OFTEN = 200

    def alter(self, words, addresses):
        if not words or self.random.randrange(self.OFTEN):
            return None
        place = self.random.randrange(len(words))
        wrong = self.random.choice((0, 0xFFFFFFFF, words[place] ^ 1 << self.random.randrange(32), self.random.getrandbits(32)))
        return [*words[:place], wrong, *words[place + 1 :]]
