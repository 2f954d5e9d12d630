# SPDX-License-Identifier: BSD-2-Clause
"""The launch queue of a core."""

import time
from collections.abc import Sequence
from fractions import Fraction

from litepulse.backends.bus.registers import ANSWER_TIMEOUT, Registers
from litepulse.backends.bus.session import Session
from litepulse.backends.interface import NO_WAITS, mapped_entry
from litepulse.errors import Refused, TransportError, Unsupported
from litepulse.layout import regs
from litepulse.line import Launch, Queued


class BusQueue:
    """See LaunchQueue."""

    def __init__(self, registers: Registers, session: Session) -> None:
        self._registers, self._session = registers, session

    def check_waits(self) -> None:
        identity = self._registers.identity
        if not identity.sequence:
            raise Unsupported(f"{identity.name}: {NO_WAITS}")

    def launch(self, entries: Sequence[tuple[int, int, Queued]]) -> int:
        """See LaunchQueue; there must be room (Status.launch_free). Waits until all have arrived."""
        self._registers.check_output()
        self._session.mine.add("launches")
        entries = [(tick, tag, mapped_entry(what, self._session.numbers)) for tick, tag, what in entries]
        most = max(1, self._registers.bus.burst // 4)
        for start in range(0, len(entries), most):
            with self._registers.bus.hold():  # what is accepted is counted, so it must all be ours
                self._commit(entries[start : start + most])
        return len(entries)

    def _commit(self, entries: Sequence[tuple[int, int, Queued]]) -> None:
        """As launch(), those that fit one burst."""
        before = self._registers.read_status()
        words = [word for tick, tag, launch in entries for word in launch.entry(tick, tag)]
        status, _ = self._registers.exchange_with_status([(regs.REGIONS["LAUNCH"][0], words)])
        end = time.monotonic() + ANSWER_TIMEOUT
        while True:
            accepted = (status.launches_accepted - before.launches_accepted) & 0xFF
            refused = (status.launches_refused - before.launches_refused) & 0xFF
            if refused:
                raise Refused(f"the launch queue was full: {refused} launches dropped")
            if accepted == len(entries):
                return
            if time.monotonic() > end:
                lost = f"{len(entries) - accepted} of {len(entries)} launches did not arrive"
                raise TransportError(f"{self._registers.identity.name}: {lost}")
            status = self._registers.read_status()

    def seconds(self, count: int) -> Fraction:
        baud = getattr(self._registers.bus, "baud", None)
        return Fraction(10 * 16 * count, baud) if baud else Fraction(0)

    def rehearse(self, count: int, launch: Launch) -> int:
        """See LaunchQueue: the core refuses them, because tick 0 has passed."""
        return self.launch([(0, 0, launch)] * count)

    def flush(self) -> None:
        self._registers.write_fields("command", flush_queue=1)
