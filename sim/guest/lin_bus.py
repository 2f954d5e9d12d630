# SPDX-License-Identifier: BSD-2-Clause
"""What masters and slaves put on a LIN bus: frames on the line, by the model that the core's tests are judged with."""

from fractions import Fraction
from math import floor

from sim.core.model import BREAK, TTY, Grant, Launch
from sim.guest.frames import profile, row

DATA = bytes.fromhex("4a5593e5")
PIDS = {0x01: 0xC1, 0x02: 0x42, 0x07: 0x47, 0x08: 0x08, 0x10: 0x50, 0x11: 0x11, 0x12: 0x92, 0x20: 0x20}


def checksum(data, pid=None):
    """The inverted sum with carry, by the modulus that it is: the remainders of 255 are 1 to 255."""
    total = sum(data) + (pid or 0)
    return 255 - ((total - 1) % 255 + 1 if total else 0)


class Bus:
    """A bus at a bit rate; ticks are those of a clock at `hz`."""

    def __init__(self, baud, hz):
        self.baud, self.hz, self.form = baud, hz, profile(baud, "8N1", hz)

    def bits(self, count):
        """`count` bit times in ticks, rounded down."""
        return floor(Fraction(count) * self.form.period)

    def header(self, tick, pid, sync=0x55):
        """A header on the line, from a tick on: [Grant]."""
        begin = Grant(tick, Launch(BREAK, self.form, 13), TTY, 0)
        return [begin, *row(tick + self.bits(14), [sync], self.form), *row(tick + self.bits(24), [pid], self.form)]

    def published(self, tick, pid, data):
        """Header and response of a master that launches each byte at its own tick."""
        response = [one for n, byte in enumerate(data) for one in row(tick + self.bits(34 + 10 * n), [byte], self.form)]
        return [*self.header(tick, pid), *response]

    def answer(self, tick, data, space):
        """A slave's response to a header that was sent at a tick: each byte `space` ticks behind the end of the one before, as received.

        What is on the line at a tick is received one tick later.
        """
        found, end = [], tick + self.bits(24) + self.bits(10) + 1
        for byte in data:
            found += row(end + space, [byte], self.form)
            end += space + self.bits(10) + 1
        return found


# For boards that go by the wall clock: board and bus are so slow that they keep their time, also on a busy machine.
SLOW_HZ = 250_000  # ticks a second
SLOW_BUS = Bus(2400, SLOW_HZ)
