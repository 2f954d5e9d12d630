# SPDX-License-Identifier: BSD-2-Clause
"""A serial line's bit rate: bytes pass one way no faster than that, and arrive when their last bit would have, or later."""

import time
from collections import deque

BITS = 10  # of a byte: 8N1
PACKET = 62  # bytes that a full-speed USB adapter hands on at once, at most


class Wire:
    """One way of a line."""

    def __init__(self, baud, deliver, clock=time.monotonic, late=0):
        """baud: bits per second; deliver(bytes): called by pass_on(); clock: seconds; late: seconds between the line and there."""
        self.seconds_per_byte, self.deliver, self.clock, self.late = BITS / baud, deliver, clock, late
        self.free, self.under_way = 0.0, deque()

    def send(self, data):
        """Bytes that are to pass, behind those under way."""
        now = self.clock()
        self.free = max(self.free, now)
        for byte in range(0, len(data), PACKET):
            self.append(data[byte : byte + PACKET], now)

    def append(self, data, now):
        """Puts them into packets: the last one takes more until it has arrived."""
        if self.under_way and self.under_way[-1][0] > now:
            last = self.under_way[-1][1]
            part, data = data[: PACKET - len(last)], data[PACKET - len(last) :]
            last += part
            self.free += len(part) * self.seconds_per_byte
            self.under_way[-1] = (self.free, last)
        if data:
            self.free += len(data) * self.seconds_per_byte
            self.under_way.append((self.free, bytearray(data)))

    def next_at(self):
        """When something arrives, None if nothing is under way."""
        return self.under_way[0][0] + self.late if self.under_way else None

    def pass_on(self):
        """Delivers what has arrived by now."""
        while self.under_way and self.under_way[0][0] + self.late <= self.clock():
            self.deliver(self.under_way.popleft()[1])
