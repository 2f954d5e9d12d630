# SPDX-License-Identifier: BSD-2-Clause
"""A board that lies, and a user who forges what it says: the debug kernel survives both, and a wrong tick is not believed."""

import binascii
import random
import re

import pytest

from litepulse import regs
from sim.driver.cable_rig import EVENTS, Between, Board, addresses_read, cable_boot, modules
from sim.driver.test_cable import FEW, check, counted

pytestmark = pytest.mark.seconds(120)
TICK_HI = EVENTS + 12
BYTES_TICK_HI = regs.WINDOW_BASE + regs.REGIONS["RECEIVE"][0] + 12
EVERY = 61  # one answer in so many is altered


class Liar(Between):
    """Alters answers to frames before they reach the host, with a checksum that fits. `answers` passed, `altered` of them were."""

    def __init__(self, near, far):
        self.answers = self.altered = 0
        self.random = random.Random(7)
        self.question, self.answer, self.addresses = b"", b"", None
        super().__init__(near, far)

    def alter(self, words):
        """The words of an answer, changed; None: as they are. The addresses they were read from are in `addresses`."""
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
        words = self.alter([int.from_bytes(whole[n : n + 4], "big") for n in range(0, size - 3, 4)])
        if words is None:
            return whole
        self.altered += 1
        body = b"".join(word.to_bytes(4, "big") for word in words) + whole[size - 3 : size - 2]
        return body + binascii.crc_hqx(body, 0xFFFF).to_bytes(2, "big") + whole[size:]


class WildTicks(Liar):
    """Now and then the tick of an answer is far beyond what 64 bits of nanoseconds can say, as if a bit had turned unnoticed."""

    def alter(self, words):
        if TICK_HI not in self.addresses or self.random.randrange(EVERY):
            return None
        place = self.addresses.index(TICK_HI)
        return [*words[:place], words[place] | 1 << self.random.randrange(27, 32), *words[place + 1 :]]


class Poison(Liar):
    """Once, so many answers in a row that they are believed have a tick that is too high: those that follow seem to go back."""

    BEGIN, LENGTH = 600, 12

    def alter(self, words):
        if TICK_HI not in self.addresses or not self.BEGIN <= self.answers < self.BEGIN + self.LENGTH:
            return None
        return [word | (1 << 20 if address in (TICK_HI, BYTES_TICK_HI) else 0) for word, address in zip(words, self.addresses, strict=True)]


class Anything(Liar):
    """Alters any word of an answer: identity, session, positions, counts, ticks, records."""

    OFTEN = 200

    def alter(self, words):
        if not words or self.random.randrange(self.OFTEN):
            return None
        place = self.random.randrange(len(words))
        wrong = self.random.choice((0, 0xFFFFFFFF, words[place] ^ 1 << self.random.randrange(32), self.random.getrandbits(32)))
        return [*words[:place], wrong, *words[place + 1 :]]


def test_wild_ticks():
    """Before, the host panicked. Now the board is asked again: every byte, launch and pulse is as it should be, nothing is lost."""
    with Board(between=WildTicks) as board:
        run = cable_boot(["counters"], [board])
        altered = board.between.altered
    check(run, 1)
    told = counted(run)
    assert altered > 10 and altered <= int(told["repeats"]) < altered + FEW and told["failures"] == "0", (altered, told)


def test_a_wrong_tick_that_was_believed():
    """The board is not unheard for ever after it: what was dropped is reported as lost, and the next records come as before."""
    with Board(between=Poison) as board:
        run = cable_boot(["poison"], [board])
        altered = board.between.altered
    check(run, 1)
    assert altered > 4 and int(re.search(r"(?m)^got \d+ lost (\d+)$", run.lines(2))[1]) > 0, (altered, run.log)


@pytest.mark.parametrize("seed", [1, 2])
def test_anything(seed):
    """Whatever it says: no complaint, nobody hangs, and both modules can be removed."""
    with Board(between=Anything) as board:
        run = cable_boot([f"hostile {seed} 12"], [board], name="fuzz")
        answers, altered = board.between.answers, board.between.altered
    check(run, 1)
    assert answers > 1000 and altered > 5, (answers, altered)


def test_forged_answers():
    """What is pushed into the port by TIOCSTI never reaches the driver, and nobody else can open the port or take it away."""
    with Board() as board:
        run = cable_boot(["forge"], [board])
    check(run, 1)
    told = counted(run)
    assert int(re.search(r"(?m)^forged (\d+)$", run.lines(2))[1]) > 200
    # Each TIOCSTI keeps the port's bytes back for a moment, now and then for longer than an answer is waited for. None is damaged.
    assert 50 * int(told["repeats"]) < int(told["transactions"]) and told["failures"] == "0", told


def test_control():
    """That bytes of TIOCSTI are seen if they do come: with the callback that it feeds."""
    wrong = modules(("litepulse_uartbone_ldisc.c", ".receive_buf2 = bone_receive,", ".receive_buf = (void *)bone_receive,"))
    with Board() as board:
        run = cable_boot(["forge"], [board], made=wrong)
    assert run.status[2] or 10 * int(counted(run)["repeats"]) > int(counted(run)["transactions"]), run.log
