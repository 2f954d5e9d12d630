# SPDX-License-Identifier: BSD-2-Clause
"""PsychoPy's trigger box `LitePulseTrigger`: a plugin of PsychoPy, which it finds by the entry point
`psychopy.hardware.triggerbox`.

A trigger is a byte on the line. It has a tick, and the tick a time in PsychoPy's clock.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from typing import Any, NamedTuple, cast

from litepulse.backends.wallclock import HOST_CLOCKS, ClockTime, clock_of
from litepulse.board import Board, open_named
from litepulse.errors import LitePulseError, Unsupported
from litepulse.launch import Outcome
from litepulse.plan import When
from litepulse.units import Number, Whole

_Base: Any = import_module("psychopy.hardware.triggerbox.base").BaseTriggerBox  # PsychoPy has no types
_get_time: Callable[[], float] = import_module("psychopy.clock").getTime


class Sent(NamedTuple):
    """A trigger. tick: when its start bit left, exactly; time: the same in PsychoPy's clock, in
    seconds; uncertainty: by how many seconds that may be wrong at most."""

    tick: int
    time: float
    uncertainty: float


class LitePulseTrigger(_Base):
    """A board as a trigger box.

    board: 'litepulse' for the one that is plugged in, '/dev/litepulse0', 'port:/dev/ttyUSB1',
    'port:tcp:host:port' or 'sim'; baud: of the line
    """

    _deviceName = "LitePulse"
    _deviceVendor = "LitePulse"

    def __init__(self, board: str = "litepulse", baud: Number | str = 115200, **options: Any) -> None:
        _Base.__init__(self, **options)
        self.boardName, self.baud = board, baud
        self.board: Board | None = None
        self._data: int | None = None
        self._sending: ThreadPoolExecutor | None = None
        self._last: Future[Sent] | None = None
        clock = clock_of(_get_time)
        if clock is None:
            raise LitePulseError(f"PsychoPy's clock is none of {', '.join(HOST_CLOCKS)}: ticks have no time in it")
        self._clock = clock
        self.open()

    @property
    def clock(self) -> str:
        """Which clock of the PC PsychoPy's getTime() has been found to be."""
        return self._clock

    def open(self, **options: Any) -> None:
        """Opens the board, if it is closed."""
        if self.board is None:
            self.board = open_named(self.boardName)
            self._sending = ThreadPoolExecutor(1, "litepulse psychopy")

    def close(self, **options: Any) -> None:
        """Waits for what is being sent, and closes the board. May be called again."""
        board, self.board = self.board, None
        if self._sending:
            self._sending.shutdown()
        if board:
            board.close()

    @property
    def isOpen(self) -> bool:
        """The board is open."""
        return self.board is not None

    def getCapabilities(self, **options: Any) -> dict[str, Any]:
        """Of PsychoPy."""
        return {"baudrate": self.baud, "timestamps": True, "pins": 0}

    def setData(self, data: Whole, at: When | None = None, **options: Any) -> "Future[Sent]":
        """Sends a byte as soon as it can, or `at` a tick (board.now() + litepulse.ms(20)).

        Does not wait for it: result() of what is returned does, and has the tick and its time, or
        raises what went wrong.
        """
        if self.board is None or self._sending is None:
            raise LitePulseError("the trigger box is closed")
        self._data = int(data)
        self._last = self._sending.submit(self._send, self.board, data, at)
        return self._last

    def getData(self, **options: Any) -> int | None:
        """What was sent last."""
        return self._data

    def setPin(self, pin: int, value: int, **options: Any) -> None:
        """Unsupported: a byte is all that a board has."""
        raise Unsupported("LitePulse sends bytes: use setData(), a pin has no level that a program sets")

    def getPin(self, pin: int, **options: Any) -> int:
        """The level of an input, a moment ago."""
        if self.board is None:
            raise LitePulseError("the trigger box is closed")
        return int(self.board.status().levels[self.board.channel(pin)])

    def _send(self, board: Board, data: Whole, at: When | None) -> Sent:
        """One trigger, in the thread that sends. A port with a pin for each bit would be set here."""
        outcome: Outcome = board.launch(at, byte=data, baud=self.baud)
        when: ClockTime = board.time_of(outcome.tick, self._clock)
        return Sent(outcome.tick, when.ns / 1e9, when.uncertainty / 1e9)

    def isSameDevice(self, other: Any) -> bool:
        """Of PsychoPy: another trigger box, or the arguments of one."""
        name = cast(dict[str, Any], other).get("board") if isinstance(other, dict) else getattr(other, "boardName", None)
        return bool(name == self.boardName)

    __hash__ = object.__hash__

    @staticmethod
    def getAvailableDevices() -> list[dict[str, Any]]:
        """Of PsychoPy: the one that is plugged in."""
        return [{"deviceName": "LitePulse", "board": "litepulse"}]
