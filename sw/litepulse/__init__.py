# SPDX-License-Identifier: BSD-2-Clause
"""LitePulse for people and programs: a serial port whose every edge has a known time. docs/python.md shows how it is used."""

from importlib import import_module
from typing import TYPE_CHECKING

from litepulse.errors import check_system

if TYPE_CHECKING:
    from litepulse.alignment import Alignment, Offset
    from litepulse.backends.wallclock import ClockTick, ClockTime
    from litepulse.board import Adjusted, Board, open
    from litepulse.boards import Boards, CommonMoment, Launched, Together, open_all
    from litepulse.capture import ByteEvent, Capture, CaptureEvent, EdgeEvent, LostEvent
    from litepulse.discipline import Disciplined, Steered
    from litepulse.distribution import Distribution
    from litepulse.errors import BadInput, InUse, LitePulseError, NotLitePulse, Refused, Restarted, TransportError, Underrun, Unsupported
    from litepulse.latency import Latency
    from litepulse.launch import Outcome, Send
    from litepulse.line import Format, Launch, Profile, Trigger
    from litepulse.pairing import Sample
    from litepulse.pins import PinFile, SampleStream, VcdFile
    from litepulse.realtime import Realtime
    from litepulse.replay import Recorded
    from litepulse.respond import Answer, Break, Byte, Edge, Responder
    from litepulse.sequence import Sequence, Waited
    from litepulse.sequence_plan import Step
    from litepulse.serial_port import Serial
    from litepulse.session import SrFile
    from litepulse.terminal_server import TerminalServer
    from litepulse.train import Pulse, Train
    from litepulse.units import Duration, Moment, Timescale, ms, ns, s, ticks, us

__version__ = "0.1.0"

__all__ = [
    "Adjusted",
    "Alignment",
    "Answer",
    "BadInput",
    "Board",
    "Boards",
    "Break",
    "Byte",
    "ByteEvent",
    "Capture",
    "CaptureEvent",
    "ClockTick",
    "ClockTime",
    "CommonMoment",
    "Disciplined",
    "Distribution",
    "Duration",
    "Edge",
    "EdgeEvent",
    "Format",
    "InUse",
    "Latency",
    "Launch",
    "Launched",
    "LitePulseError",
    "LostEvent",
    "Moment",
    "NotLitePulse",
    "Offset",
    "Outcome",
    "PinFile",
    "Profile",
    "Pulse",
    "Realtime",
    "Recorded",
    "Refused",
    "Responder",
    "Restarted",
    "Sample",
    "SampleStream",
    "Send",
    "Sequence",
    "Serial",
    "SrFile",
    "Steered",
    "Step",
    "TerminalServer",
    "Timescale",
    "Together",
    "Train",
    "TransportError",
    "Trigger",
    "Underrun",
    "Unsupported",
    "VcdFile",
    "Waited",
    "ms",
    "ns",
    "open",
    "open_all",
    "s",
    "ticks",
    "us",
]

# Where each lies. They are loaded when they are first used: a program starts as fast as what it needs.
_MODULES = {
    "Adjusted": "board",
    "Alignment": "alignment",
    "Answer": "respond",
    "BadInput": "errors",
    "Board": "board",
    "Boards": "boards",
    "Break": "respond",
    "Byte": "respond",
    "ByteEvent": "capture",
    "Capture": "capture",
    "CaptureEvent": "capture",
    "ClockTick": "backends.wallclock",
    "ClockTime": "backends.wallclock",
    "CommonMoment": "boards",
    "Disciplined": "discipline",
    "Distribution": "distribution",
    "Duration": "units",
    "Edge": "respond",
    "EdgeEvent": "capture",
    "Format": "line",
    "InUse": "errors",
    "Latency": "latency",
    "Launch": "line",
    "Launched": "boards",
    "LitePulseError": "errors",
    "LostEvent": "capture",
    "Moment": "units",
    "NotLitePulse": "errors",
    "Offset": "alignment",
    "Outcome": "launch",
    "PinFile": "pins",
    "Profile": "line",
    "Pulse": "train",
    "Realtime": "realtime",
    "Recorded": "replay",
    "Refused": "errors",
    "Responder": "respond",
    "Restarted": "errors",
    "Sample": "pairing",
    "SampleStream": "pins",
    "Send": "launch",
    "Sequence": "sequence",
    "Serial": "serial_port",
    "SrFile": "session",
    "Steered": "discipline",
    "Step": "sequence_plan",
    "TerminalServer": "terminal_server",
    "Timescale": "units",
    "Together": "boards",
    "Train": "train",
    "TransportError": "errors",
    "Trigger": "line",
    "Underrun": "errors",
    "Unsupported": "errors",
    "VcdFile": "pins",
    "Waited": "sequence",
    "ms": "units",
    "ns": "units",
    "open": "board",
    "open_all": "boards",
    "s": "units",
    "ticks": "units",
    "us": "units",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'litepulse' has no attribute '{name}'")
    try:
        value: object = getattr(import_module(f"litepulse.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        check_system(error)
        raise
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
