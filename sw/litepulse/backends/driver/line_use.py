# SPDX-License-Identifier: BSD-2-Clause
"""Until when the line is busy, which the driver does not tell: that follows from what was launched."""

from litepulse.streams import Event


class LineUse:
    """`waiting`: {tag: ticks on the line} of entries of the queue; `lengths`: {source: ticks on the line} of what starts by itself."""

    def __init__(self) -> None:
        self.waiting: dict[int, int] = {}
        self.lengths = {"train": 0, "responder": 0}
        self.until = 0  # the tick

    def note(self, event: Event) -> None:
        """Something has left, a wait has ended, or something was refused."""
        length = self.waiting.pop(event.tag, 0) if event.source == "queue" else 0
        if event.kind == "tx":
            self.until = max(self.until, event.tick + self.lengths.get(event.source, length))
