# SPDX-License-Identifier: BSD-2-Clause
"""The registers of a core and the words of its window: status, and configuration words that the core confirms."""

import contextlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from litepulse.backends.bus.identification import Core
from litepulse.backends.interface import ClockReading
from litepulse.boottime import slept
from litepulse.errors import Refused, Restarted, TransportError
from litepulse.layout import CONFIG, CONFIG_BASE, CSRS, MASK32, pack, regs, unpack
from litepulse.line import Profile
from litepulse.streams import Header

# A host that is silent for this long counts as gone. Longer than a bridge needs to fall back to
# 115200 baud and answer again.
WATCHDOG_SECONDS = 8
ANSWER_TIMEOUT = 5.0  # seconds of wall-clock time for the core to answer a write
_COMMANDS = {"command", "train_command", "resp_arm"}  # not written twice


class Bus(Protocol):
    """What carries words to the board."""

    @property
    def burst(self) -> int:
        """Words that go in one transaction."""
        ...

    def read(self, address: int, count: int = 1) -> list[int]:
        """Words from a byte address on."""
        ...

    def write(self, address: int, words: Sequence[int]) -> None:
        """Words to a byte address and those behind it."""
        ...

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """Keeps others away meanwhile."""
        ...


@dataclass(frozen=True)
class Words:
    """One reading of session, levels, counters and status bits."""

    session: int
    limit: int
    keep: int
    tx_free: int
    launch_free: int
    launches_accepted: int
    launches_refused: int
    configs_applied: int
    configs_refused: int
    tx_idle: int
    train_running: int
    train_change_pending: int
    responder_armed: int
    config_busy: int
    queue_idle: int
    line_busy: int
    rx_busy: int
    levels: int

    @property
    def configs_answered(self) -> int:
        """Configuration words answered, modulo 256."""
        return (self.configs_applied + self.configs_refused) & 0xFF


class Registers:
    """Those of a core that was identified. `identity` has the session once it is open: Session.open()."""

    def __init__(self, bus: Bus, core: Core) -> None:
        self.bus, self.identity, self.timescale = bus, core.identity, core.identity.timescale
        self._csr, self._window = core.csr, core.window

    # Words

    def write_csr(self, name: str, value: int) -> None:
        """Writes a register of at most 32 bits."""
        self.bus.write(self._csr + 4 * CSRS[name].index, [value & MASK32])

    def read_window(self, offset: int, count: int) -> list[int]:
        """Words of the window."""
        return self.bus.read(self._window + offset, count)

    def write_window(self, offset: int, words: Sequence[int]) -> None:
        """Writes words of the window."""
        self.bus.write(self._window + offset, words)

    @property
    def framed(self) -> bool:
        """Whether several reads and writes are one transaction, which is answered."""
        return getattr(self.bus, "framed", False)

    @property
    def most_words(self) -> int:
        """Words that one transaction brings at most."""
        return getattr(self.bus, "most_words", self.bus.burst)

    def exchange(
        self, writes: Iterable[tuple[int, Sequence[int]]], reads: Iterable[tuple[int, int]] = (), guarded: bool = False
    ) -> list[list[int]]:
        """Writes [(offset, words)] of the window, then reads [(offset, count)] of it; in one transaction if the bridge has frames.

        guarded: see UARTBone.together()
        """
        return self._together(writes, [(self._window + offset, count) for offset, count in reads], guarded)

    def exchange_with_status(
        self, writes: Iterable[tuple[int, Sequence[int]]], reads: Iterable[tuple[int, int]] = (), guarded: bool = False
    ) -> tuple[Words, list[list[int]]]:
        """As exchange(), and the Words behind the writes, as read_status()."""
        windows = [(self._window + offset, count) for offset, count in reads]
        status, *found = self._together(writes, [self._status_question, *windows], guarded)
        return self._status_of(status), found

    def _together(self, writes: Iterable[tuple[int, Sequence[int]]], reads: Sequence[tuple[int, int]], guarded: bool) -> list[list[int]]:
        """As exchange(), with `reads` as addresses."""
        placed = [(self._window + offset, words) for offset, words in writes]
        together = getattr(self.bus, "together", None)
        if together is not None:
            return together(placed, reads, guarded)
        for address, words in placed:
            self.bus.write(address, words)
        return [self.bus.read(address, count) for address, count in reads]

    # Status

    @property
    def _status_question(self) -> tuple[int, int]:
        """(address, words) of what read_status() reads."""
        first = CSRS["session"].index
        return self._csr + 4 * first, CSRS["status"].index - first + 1

    def read_status(self) -> Words:
        """The Words, and the proof that the board has not restarted since the first contact."""
        return self._status_of(self.bus.read(*self._status_question))

    def _status_of(self, read: list[int]) -> Words:
        """As read_status(), from what was read."""
        first = CSRS["session"].index
        words = {r.name: read[r.index - first] for r in CSRS.values() if 0 <= r.index - first < len(read)}
        free, launches = unpack(CSRS["free"], words["free"]), unpack(CSRS["launches"], words["launches"])
        configs = unpack(CSRS["configs"], words["configs"])
        status = Words(
            **unpack(CSRS["session"], words["session"]),
            tx_free=free["transmit"],
            launch_free=free["launch"],
            launches_accepted=launches["accepted"],
            launches_refused=launches["refused"],
            configs_applied=configs["applied"],
            configs_refused=configs["refused"],
            **unpack(CSRS["status"], words["status"]),
        )
        if self.identity.session not in (0, status.session):
            raise Restarted(
                f"the board restarted, or heard nothing from this program for {WATCHDOG_SECONDS} s: "
                "its session is gone, whatever ran on it has stopped"
            )
        return status

    def now(self) -> int:
        """The board's tick; reading it takes no record."""
        return Header.decode(self.read_window(regs.REGIONS["EVENTS"][0], regs.HEADER_WORDS)).tick

    def read_clocks(self) -> ClockReading:
        """The tick, and clocks of this PC. What the line needs for request and answer is taken off."""
        first = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        monotonic, realtime = time.monotonic_ns(), time.time_ns()
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        tick = self.now()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        clocks, clocks_error = (first + before) // 2, (before - first) // 2 + 1
        line_ns = getattr(self.bus, "line_ns", None)
        request, answer = line_ns(regs.HEADER_WORDS) if line_ns and not self.identity.simulated else (0, 0)
        if request + answer <= after - before:  # else it is no such line
            before, after = before + request, after - answer
        to_middle = (before + after) // 2 - clocks
        return ClockReading(tick, before, after, monotonic + to_middle, realtime + to_middle, clocks, clocks_error, slept())

    # Configuration

    def configure(self, *words: tuple[str, int]) -> Words:
        """Writes (name, word) pairs in order and waits until the core has answered each; Refused names the culprits."""
        repeatable = not any(name in _COMMANDS for name, _ in words)
        bursts: list[tuple[int, list[int]]] = []
        for name, word in words:
            index = CONFIG[name].index
            if bursts and bursts[-1][0] + len(bursts[-1][1]) == index:
                bursts[-1][1].append(word & MASK32)
            else:
                bursts.append((index, [word & MASK32]))
        for _ in range(3 if repeatable else 1):
            with self.bus.hold():  # the answers are counted, so they must all be ours
                before = self.read_status()
                status, _ = self.exchange_with_status([(CONFIG_BASE + 4 * index, values) for index, values in bursts])
                status = self._await_answers(before, status, len(words))
            if status is not None:
                break
        else:
            raise TransportError(f"{self.identity.name}: the core does not answer configuration writes")
        refused = (status.configs_refused - before.configs_refused) & 0xFF
        if refused:
            raise Refused(f"the core refused {refused} of these settings: {', '.join(name for name, _ in words)}")
        return status

    def write_fields(self, name: str, **fields: int) -> None:
        """Writes a configuration word with just these fields, and waits for its answer."""
        self.configure((name, pack(CONFIG[name], **fields)))

    def _await_answers(self, before: Words, status: Words, count: int) -> Words | None:
        """The Words once `count` more words are answered, None if they are not in time. status: those of now."""
        end = time.monotonic() + ANSWER_TIMEOUT
        while True:
            if (status.configs_answered - before.configs_answered) & 0xFF >= count and not status.config_busy:
                return status
            if time.monotonic() > end:
                return None
            status = self.read_status()

    def config_words(self, first: str, last: str) -> dict[str, int]:
        """{name: word} as last written, read back in one burst."""
        low, high = CONFIG[first].index, CONFIG[last].index
        words = self.read_window(CONFIG_BASE + 4 * low, high - low + 1)
        return {r.name: words[r.index - low] for r in CONFIG.values() if low <= r.index <= high}

    def config_word(self, name: str) -> int:
        """One of them."""
        return self.config_words(name, name)[name]

    def profile(self, number: int) -> Profile | None:
        """The line profile last written, or None."""
        fmt, period = self.config_words(f"profile{number}_format", f"profile{number}_period").values()
        return Profile.from_words(fmt, period, self.timescale.tick_hz)
