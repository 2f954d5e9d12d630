# SPDX-License-Identifier: BSD-2-Clause
"""A FakeBoard whose pins are wired and whose time is that of the clock on the wall, with a crystal that may be off."""

import math
import time
from fractions import Fraction

from .fake_board import CONFIG, FakeBoard, field

INPUTS = 4
RX = INPUTS
HUM = 3_000  # ticks between two edges of a channel that changes by itself


class WiredBoard(FakeBoard):
    """wires: channels that tx leads to; late: ticks that pads and wire add; ppm: by which the crystal is fast; humming: a channel
    that changes by itself; low: channels that are at 0."""

    def __init__(self, wires=(RX,), late=0, ppm=0, humming=None, low=(), **options):
        self.begun, self.passed = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), 0
        self.wires, self.late, self.fast, self.humming, self.hummed = wires, late, Fraction(ppm, 10**6), humming, 0
        self.stands = False
        super().__init__(loop=False, **options)
        self.levels = sum(1 << channel for channel in range(INPUTS + 1) if channel not in low)

    @property
    def step(self):
        """Ticks since the last transaction."""
        if self.stands:
            return 0
        ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - self.begun
        due = math.floor(ns * self.clock * self.samples * (1 + self.fast) / 10**9) - self.passed
        self.passed += due
        return due

    @step.setter
    def step(self, _):
        """The clock on the wall says it."""

    def advance(self, ticks):
        super().advance(ticks)
        while self.humming is not None and self.tick - self.hummed > HUM:
            self.hummed = max(self.hummed, self.tick - 100 * HUM) + HUM
            self.edge(self.hummed, self.humming, self.hummed // HUM % 2)

    def edge(self, tick, channel, level):
        """An edge at a pin, if it is wanted."""
        if not field(self.word("capture_edges"), "capture_edges", "rise" if level else "fall") >> channel & 1:
            return
        bit = 1 << channel * self.samples + tick % self.samples
        self.event(tick - tick % self.samples, 2, 4, 0, bit | (bit << 16 if level else 0), "edge", edge=True)

    def launch(self, tick, word, width, source):
        went = super().launch(tick, word, width, source)
        if went and not self.loop:
            kind, number, data = word >> 10 & 3, word >> 8 & 3, word & 0xFF
            period, bits, _ = self.profiles[number]
            if kind == 2:
                changes = [(0, 0), (width, 1)]
            else:
                levels = [1, 0, *(data >> bit & 1 for bit in range(bits - 1)), 1]
                changes = [(math.floor(k * period), new) for k, (old, new) in enumerate(zip(levels, levels[1:])) if new != old]
            for after, level in changes:
                for channel in self.wires:
                    self.edge(tick + after + 1 + self.late, channel, level)
        return went


assert {"rise", "fall"} <= {each.name for each in CONFIG["capture_edges"].fields}
