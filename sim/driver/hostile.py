# SPDX-License-Identifier: BSD-2-Clause
"""Boards that lie: each stands between a simulated board and the guest's serial line, and alters what the board answers."""

import binascii
import random

from litepulse import regs
from sim.driver.cable_rig import EVENTS, Between, addresses_read

TICK_HI = EVENTS + 12
BYTES = regs.WINDOW_BASE + regs.REGIONS["RECEIVE"][0]  # the header's first word: how many are ready
BYTES_TICK_HI = BYTES + 12
EVERY = 61  # one answer in so many is altered


class Liar(Between):
    """Alters answers to frames before they reach the host, with a checksum that fits. `answers` passed, `altered` of them were."""

    def __init__(self, near, far, seed=7):
        self.answers = self.altered = 0
        self.random = random.Random(seed)
        self.question, self.answer, self.addresses = b"", b"", None
        super().__init__(near, far)

    def alter(self, words, addresses):
        """The words of an answer, which were read from these addresses, changed; None: as they are."""
        raise NotImplementedError

    def carry(self, data, to_board):
        if to_board:
            # A host asks when its last question was answered, or is never to be.
            self.question = data if self.addresses is not None else self.question + data
            self.answer = b""
            self.addresses = addresses_read(self.question)
            return data
        self.answer += data
        if self.addresses is None:
            return data
        size = 4 * len(self.addresses) + 3
        if len(self.answer) < size:
            return b""
        whole, self.answer = self.answer, b""
        self.answers += 1
        words = self.alter([int.from_bytes(whole[n : n + 4], "big") for n in range(0, size - 3, 4)], self.addresses)
        if words is None:
            return whole
        self.altered += 1
        body = b"".join(word.to_bytes(4, "big") for word in words) + whole[size - 3 : size - 2]
        return body + binascii.crc_hqx(body, 0xFFFF).to_bytes(2, "big") + whole[size:]


class WildTicks(Liar):
    """Now and then the tick of an answer is far beyond what 64 bits of nanoseconds can say, as if a bit had turned unnoticed."""

    def alter(self, words, addresses):
        if TICK_HI not in addresses or self.random.randrange(EVERY):
            return None
        place = addresses.index(TICK_HI)
        return [*words[:place], words[place] | 1 << self.random.randrange(27, 32), *words[place + 1 :]]


class Poison(Liar):
    """Now and then so many answers in a row that they are believed have a tick that is too high: those that follow seem to go back.

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
