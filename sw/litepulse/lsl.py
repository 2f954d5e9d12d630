# SPDX-License-Identifier: BSD-2-Clause
"""What a board captures, as streams of the Lab Streaming Layer: the extra `lsl`. Its clock, local_clock(), is CLOCK_MONOTONIC on Linux."""

import math
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from litepulse.backends.wallclock import clock_of
from litepulse.board import Board
from litepulse.capture import ByteEvent, CaptureEvent, EdgeEvent, LostEvent
from litepulse.errors import BadInput, LitePulseError

CLOCK = "monotonic"
COLUMNS = ("tick", "channel", "value", "uncertainty")
BYTE, LOST = -1, -2  # in the place of a channel
LINGER = 2.0  # s that an outlet stays for its recorders: liblsl discards what it has not sent when one ends, and does not say what that is


class Outlet:
    """Two streams on the local network, which end with close() or the `with` block.

    `NAME`, type Markers: one text for each event: '0 rise', 'rx fall', 'byte 0x2a', 'lost 3'.
    `NAME ticks`, type Events, float64: tick, channel (the line, rx, is behind the last input; BYTE, LOST), level, byte or number lost, and
    by how many seconds the time may be wrong at most (NaN: lost, whose time is when it was noticed).

    Both have the time of the event in LSL's clock. The board must be open with clock='monotonic', else BadInput.
    """

    def __init__(self, board: Board, name: str = "LitePulse") -> None:
        pylsl = load()
        if board.clock != CLOCK:
            raise BadInput(f"clock: events need times in LSL's clock: open the board with clock='{CLOCK}'")
        self.name, self._now, self._line = name, pylsl.local_clock, board.identity.inputs

        def outlet(name: str, kind: str, columns: tuple[str, ...], format: str, units: tuple[str, ...]) -> Any:
            source = f"{board.identity.name} {kind}"
            info = pylsl.StreamInfo(name, kind, len(columns), pylsl.IRREGULAR_RATE, format, source)
            channels = info.desc().append_child("channels")
            for label, unit in zip(columns, units, strict=True):
                channel = channels.append_child("channel")
                channel.append_child_value("label", label)
                channel.append_child_value("unit", unit)
            acquisition = info.desc().append_child("acquisition")
            acquisition.append_child_value("manufacturer", "LitePulse")
            acquisition.append_child_value("backend", board.identity.backend)
            acquisition.append_child_value("simulated", str(board.simulated).lower())
            acquisition.append_child_value("tick_hz", str(board.tick_hz))
            return pylsl.StreamOutlet(info)

        self._markers: Any = outlet(name, "Markers", ("event",), "string", ("",))
        self._ticks: Any = outlet(f"{name} ticks", "Events", COLUMNS, "double64", ("tick", "", "", "s"))

    def push(self, event: CaptureEvent) -> None:
        """Gives an event of Board.capture() to all who record."""
        stamp, bound = self._now(), math.nan
        if isinstance(event, LostEvent):
            text, channel, value = f"lost {event.count}", LOST, event.count
        else:
            if event.ns is not None:
                stamp, bound = event.ns / 1e9, event.uncertainty / 1e9
            if isinstance(event, EdgeEvent):
                text, value = f"{event.channel} {'rise' if event.level else 'fall'}", event.level
                channel = event.channel if isinstance(event.channel, int) else self._line
            else:
                text, channel, value = marker_of(event), BYTE, event.data
        self._markers.push_sample([text], stamp)
        self._ticks.push_sample([event.tick, channel, value, bound], stamp)

    def wait(self, seconds: float) -> bool:
        """Waits until a program records the markers, `seconds` at most; returns whether one
        does."""
        return bool(self._markers.wait_for_consumers(seconds))

    def close(self) -> None:
        """Ends the streams: programs that record them see that they are gone. Waits LINGER seconds
        before when there are any, for the last events to reach them."""
        if any(stream is not None and stream.have_consumers() for stream in (self._markers, self._ticks)):
            time.sleep(LINGER)
        self._markers = self._ticks = None  # a stream of pylsl ends when nothing refers to it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def marker_of(event: ByteEvent) -> str:
    """'byte 0x2a', with what is wrong with it."""
    return f"byte 0x{event.data:02x}{''.join(f' {flag}' for flag in event.byte.flags)}"


def load() -> Any:
    """pylsl. LitePulseError without it, or where LSL has another clock than CLOCK_MONOTONIC."""
    try:
        import pylsl  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise LitePulseError("LSL needs pylsl: pip install pylsl") from None
    except RuntimeError as error:  # its library is missing
        raise LitePulseError(f"LSL: {str(error).splitlines()[0]}") from None
    if clock_of(pylsl.local_clock) != CLOCK:
        raise LitePulseError("LSL: its clock is not CLOCK_MONOTONIC on this machine")
    return pylsl


def warnings_only() -> None:
    """For a program whose output a person reads: liblsl logs no more than warnings, unless the user has a configuration for it."""
    places = (os.environ.get("LSLAPICFG"), "lsl_api.cfg", Path.home() / "lsl_api" / "lsl_api.cfg", "/etc/lsl_api/lsl_api.cfg")
    if not any(place and Path(place).exists() for place in places):
        load().set_config_content("[log]\nlevel = -1\n")
