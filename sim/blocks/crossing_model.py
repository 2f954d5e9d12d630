# SPDX-License-Identifier: BSD-2-Clause
"""What the crossing and its bus window must do, as plain Python: lists of what was put in, and what may come out when.

The model knows nothing of pointers or exchanges. What one side has done becomes known to the other after some delay, at most
so many cycles of `pulse` and `sys`; until then the model accepts both the old and the new state, afterwards only the new one.
"""

# (pulse, sys) cycles, one more than litepulse_cdc.sv promises, for where in a cycle the test looks
PULSE_KNOWS = 5, 7  # what sys did
SYS_KNOWS = 4, 19  # what pulse did
ROUND = 5, 12  # from a byte that was popped to the next
MOVED = 4, 19 + 15  # that a received record was written: its words may each wait for a read of the bus
MOVE = 4, 27  # from one that can be read, or from a place that is freed, to the next that waited
TURN = 4, 10  # until the bus may act, and the cycle in which it does
HEADER = 18, 28  # a header's round trip

REGION = {"events": 0x0000, "receive": 0x2000, "tx": 0x4000, "launch": 0x5000, "config": 0x6000}
COUNTER = {"tx_dropped": 1 << 16}  # the others wrap at 2^8
POSITION = 1 << 16


class Timeline:
    """A count that only grows, with the times at which it did."""

    def __init__(self):
        self.count, self.steps = 0, []

    def add(self, now, n=1):
        self.count += n
        self.steps.append((now, self.count))

    def at(self, when):
        """The count as it was at time `when`."""
        value = 0
        for time, count in reversed(self.steps):
            if time <= when:
                value = count
                break
        return value


class Ring:
    """What was put in, how much of it was taken out, and the bounds within which both sides must see that."""

    def __init__(self, depth):
        self.depth = depth
        self.items = []
        self.put, self.taken = Timeline(), Timeline()

    def write(self, now, item):
        self.items.append(item)
        self.put.add(now)

    def free(self, now, n=1):
        self.taken.add(now, n)

    def check_reader(self, seen, now, delay):
        """`seen` entries waiting, by the side that takes them out."""
        most = self.put.count - self.taken.count
        least = self.put.at(now - delay) - self.taken.count
        assert least <= seen <= most, f"{seen} waiting, not {least}..{most}"

    def check_writer(self, seen, now, delay, end=None):
        """`seen` entries of room, by the side that puts them in; it counts to `end`."""
        most = self.depth - (self.put.count - self.taken.count)
        least = self.depth - (self.put.count - self.taken.at(now - delay))
        least, most = (count if end is None else min(count, end) for count in (least, most))
        assert least <= seen <= most, f"room for {seen}, not {least}..{most}"

    def oldest(self, index=0):
        return self.items[self.taken.count + index]


class Store:
    """Received records behind the crossing's ring, which move up one by one: how many must have arrived by when."""

    def __init__(self, ring, depth, delay, step):
        self.ring, self.depth, self.delay, self.step = ring, depth, delay, step
        self.due, self.last = 0, 0  # this many must have arrived, the last of them by then

    def check(self, seen, now):
        """`seen` records can be read."""
        put, taken = self.ring.put, self.ring.taken
        most = min(put.count - taken.count, self.depth)
        while self.due < put.count:
            by = max(put.steps[self.due][0] + self.delay, self.last + self.step)
            if self.due >= self.depth:
                if taken.count <= self.due - self.depth:
                    break  # no room
                by = max(by, next(time for time, count in taken.steps if count > self.due - self.depth) + self.step)
            if by > now:
                break
            self.due, self.last = self.due + 1, by
        least = self.due - taken.count
        assert least <= seen <= most, f"{seen} received records, not {least}..{most}"
