# SPDX-License-Identifier: BSD-2-Clause
"""Signals as a flag that the program polls, so that nothing is left half done."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol, Self

_Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None


class Flag(Protocol):
    """Says whether to go on."""

    def __bool__(self) -> bool:
        """True: come to an end."""
        ...


class Interrupt:
    """Ctrl-C and SIGTERM as a flag; a second one ends at once. Catches nothing outside the main thread.

    Jobs that begin within it look at it (current()).
    """

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    shared = True

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[signal.Signals, _Handler] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in self.signals:
                self._before[number] = signal.signal(number, self._caught)
        if self.shared:
            _entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self.shared:
            _entered.remove(self)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _caught(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number

    def __bool__(self) -> bool:
        return self.signal is not None


_entered: list[Interrupt] = []


def current() -> Interrupt | None:
    """The Interrupt that this program is within."""
    return _entered[-1] if _entered else None


class CtrlC(Interrupt):
    """Ctrl-C alone, and only where it would raise KeyboardInterrupt: a program that handles it otherwise is left alone."""

    signals = (signal.SIGINT,)
    shared = False

    def __enter__(self) -> Self:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            super().__enter__()
        return self
