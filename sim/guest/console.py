# SPDX-License-Identifier: BSD-2-Clause
"""What came of a run in a guest, whatever machine that is: its console, its pins, and what its kernel complained about."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from sim.guest.complaints import COMPLAINT, LEAK

KERNEL_LINE = re.compile(r"\[ *\d+\.\d{6}\] ")
TOLD_LINES = 300  # of a console, when a run has failed: a guest may have talked without an end


class GuestError(AssertionError):
    """A run did not end as it should; the message says how, and what was printed."""


class Line(NamedTuple):
    """A line of the console and when it began: the cycle on a simulated SoC, the millisecond of the run elsewhere."""

    at: int
    text: str

    @property
    def of_kernel(self):
        """Printed by the kernel."""
        return bool(KERNEL_LINE.search(self.text))


class Change(NamedTuple):
    """At `tick` a pin took a level. A level of the start of the run is one, too."""

    tick: int
    pin: str
    level: int


@dataclass(frozen=True)
class Result:
    """What a run did. Ticks and cycles count from the reset of the SoC."""

    console: list  # Line, all
    status: int  # as of a shell: 128 + n when killed by signal n
    pins: list = field(repr=False)  # Change
    stats: dict  # of the simulator
    hz: int = 50_000_000  # ticks a second: of the simulated Linux SoC

    @property
    def text(self):
        """All that was printed, with times."""
        return "\n".join(f"{line.at:12} {line.text}" for line in self.console)

    @property
    def lines(self):
        """What programs printed: texts without the kernel's messages."""
        return [line.text for line in self.console if not line.of_kernel and not line.text.startswith("litepulse: ")]

    @property
    def kernel(self):
        """The kernel's messages, without their time stamps."""
        return [KERNEL_LINE.split(line.text)[-1] for line in self.console if line.of_kernel]

    @property
    def complaints(self):
        """The lines that report an error."""
        return [line.text for line in self.console if (line.of_kernel and COMPLAINT.search(line.text)) or LEAK.search(line.text)]

    def pin(self, name):
        """[(tick, level)] of one pin, the level of the start first."""
        return [(change.tick, change.level) for change in self.pins if change.pin == name]

    def judge(self, what, status, complaints, trouble=""):
        """Returns itself, or raises GuestError: for `trouble`, another status than expected (None: any), complaints of the kernel.

        complaints: True to let them be; or texts that the kernel must say, whose lines then are no complaints
        """

        def fail(why):
            said = self.text.splitlines()
            more = [f"... {len(said) - TOLD_LINES} lines more before"] if len(said) > TOLD_LINES else []
            raise GuestError("\n".join([what, why, *more, *said[-TOLD_LINES:]]))

        expected = () if isinstance(complaints, bool) else tuple(complaints)
        for text in expected:
            if not any(text in line for line in self.kernel):
                fail(f"the kernel did not say {text!r}")
        found = [line for line in self.complaints if not any(text in line for text in expected)]
        if found and complaints is not True:
            fail(f"the kernel complains: {found[0]}")
        if trouble:
            fail(trouble)
        if status is not None and self.status != status:
            fail(f"exit status {self.status}, not {status}")
        return self
