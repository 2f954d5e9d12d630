# SPDX-License-Identifier: BSD-2-Clause
"""What --sim records of the pins: the options --vcd and --sr, and the files that come of them."""

import contextlib
import os
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, Self

from litepulse.errors import BadInput

OPTIONS = ("vcd", "sr")


class Options(Protocol):
    """An argparse parser, or a group of one."""

    def add_argument(self, *names: str, **options: Any) -> Any:
        """Adds an option."""
        ...


def add_options(group: Options, default: dict[str, Any]) -> None:
    """The options, for an argparse group; `default`: further arguments of each."""
    group.add_argument("--vcd", metavar="FILE", help="with --sim: record the pins, for GTKWave, PulseView and sigrok-cli", **default)
    group.add_argument("--sr", metavar="FILE", help="with --sim: record the pins as a sigrok session, a sample per tick", **default)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _remove_empty(path: str) -> None:
    """Of a file that was made to hold the lock nothing came."""
    with contextlib.suppress(OSError):
        if os.path.getsize(path) == 0:
            os.unlink(path)


def _temporary(sr: str) -> str:
    """A file beside the session; elsewhere if that is a device."""
    import tempfile

    folder = Path(sr).resolve().parent if os.path.isfile(sr) else None
    try:
        handle, path = tempfile.mkstemp(prefix=f".{Path(sr).name}.", suffix=".vcd", dir=folder)
    except OSError as error:
        raise BadInput(f"sr: cannot record beside {sr}: {error.strerror}") from None
    os.close(handle)
    return path


class Recording:
    """The files of one run. `vcd` is what the simulator writes: the requested file, or a temporary
    one beside the session.

    Raises BadInput at once if the session cannot be written, or another run writes it. Use it as a context, and call finish() when the
    simulator has ended.
    """

    def __init__(self, vcd: str | None = None, sr: str | None = None) -> None:
        self.vcd, self.sr = vcd, sr
        if vcd and sr and Path(vcd).resolve() == Path(sr).resolve():
            raise BadInput("--vcd and --sr name the same file")
        with contextlib.ExitStack() as undo:
            if sr:
                new = not os.path.exists(sr)
                from litepulse.backends.sim import lock_for_writing

                undo.callback(os.close, lock_for_writing(sr, "sr"))
                if new:
                    undo.callback(_remove_empty, sr)
                if not vcd:
                    self.vcd = _temporary(sr)
                    undo.callback(_remove, self.vcd)
            self._undo = undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def finish(self, tick_hz: Fraction) -> None:
        """Writes the session, if one was requested, of what the simulator recorded."""
        if self.sr and self.vcd:
            from litepulse import session
            from litepulse.vcd import Vcd

            session.write(self.sr, Vcd(self.vcd, tick_hz))
