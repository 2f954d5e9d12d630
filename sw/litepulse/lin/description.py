# SPDX-License-Identifier: BSD-2-Clause
"""A LIN description file (LDF): its frames, signals and schedules, as the master, a slave and the monitor need them.

Read by ldfparser (the extra `lin`); nothing else of this package knows it.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from litepulse.errors import BadInput, LitePulseError, shown
from litepulse.lin.frames import CLASSIC, ENHANCED, Expected
from litepulse.lin.protocol import CLASSIC_IDS, DATA_MAX, MASTER_REQUEST, SLAVE_RESPONSE, protected_id
from litepulse.units import to_fraction

Value = int | float | str | list[int]
UNCONDITIONAL, EVENT, SPORADIC, REQUEST, RESPONSE = "unconditional", "event-triggered", "sporadic", "request", "response"


@dataclass(frozen=True)
class Slot:
    """An entry of a schedule. frames: names; of a sporadic slot those that may use it, the first that was updated does."""

    kind: str
    name: str
    frames: tuple[str, ...]
    seconds: Fraction
    resolving: str | None = None  # of an event-triggered frame: the schedule that follows a collision


def is_lin_1(version: object) -> bool:
    """Whether a version, as ldfparser has it, is LIN 1.x. J2602 is built on LIN 2.0, ISO 17987 on LIN 2.2. BadInput for another class."""
    from ldfparser.lin import Iso17987Version, J2602Version, LinVersion  # pyright: ignore[reportMissingTypeStubs]

    if isinstance(version, LinVersion):
        return version.major < 2
    if isinstance(version, float):  # of the slaves in a file of LIN 1.x
        return version < 2
    if isinstance(version, Iso17987Version | J2602Version):
        return False
    raise BadInput(f"{shown(version)} is a LIN version whose kind of checksum is not known")


class Description:
    """An LDF. BadInput if the file cannot be read, or is none."""

    def __init__(self, path: str | Path) -> None:
        try:
            import ldfparser  # pyright: ignore[reportMissingTypeStubs]
            from lark.exceptions import LarkError
        except ImportError:
            raise LitePulseError("LIN description files need ldfparser: pip install 'litepulse[lin]'") from None
        self.path = Path(path)
        try:
            # Bits that no signal uses are recessive.
            self._ldf: Any = ldfparser.parse_ldf(str(path), pad_with_zero=False)
        except OSError as error:
            raise BadInput(f"{self.path}: cannot read it ({error.strerror})") from None
        except LarkError as error:
            line: object = getattr(error, "line", None)
            where = f"line {line}: " if isinstance(line, int) and line > 0 else ""
            raise BadInput(f"{self.path}: {where}not a LIN description file") from None
        except (ValueError, KeyError, LookupError, UnicodeDecodeError) as error:
            raise BadInput(f"{self.path}: not a LIN description file that can be used: {' '.join(str(error).split())}") from None
        self.baud = Fraction(self._ldf.get_baudrate())
        self.master: str = self._ldf.get_master().name
        self.slaves: tuple[str, ...] = tuple(slave.name for slave in self._ldf.get_slaves())
        self._frames: dict[str, Any] = {frame.name: frame for frame in self._ldf.get_unconditional_frames()}
        # Event-triggered frames, and the frames that each may bring.
        self._events: dict[str, tuple[str, ...]] = {
            frame.name: tuple(one.name for one in frame.frames) for frame in self._ldf.get_event_triggered_frames()
        }

    # Frames

    def expected(self) -> dict[int, Expected]:
        """What is known of the frames, by identifier."""
        known = {frame.frame_id: Expected(frame.length, self.checksum_of(name), name) for name, frame in self._frames.items()}
        for frame in self._ldf.get_event_triggered_frames():
            lengths = {one.length for one in frame.frames}
            if len(lengths) == 1:
                known[frame.frame_id] = Expected(lengths.pop(), self.checksum_of(frame.frames[0].name), frame.name)
        for frame_id, name in ((MASTER_REQUEST, "MasterReq"), (SLAVE_RESPONSE, "SlaveResp")):
            known[frame_id] = Expected(DATA_MAX, CLASSIC, name)
        return known

    def frame_id(self, name: str) -> int:
        """Of a frame, by its name."""
        if name in self._frames:
            return self._frames[name].frame_id
        for frame in self._ldf.get_event_triggered_frames():
            if frame.name == name:
                return frame.frame_id
        if name in ("MasterReq", "SlaveResp"):
            return MASTER_REQUEST if name == "MasterReq" else SLAVE_RESPONSE
        raise BadInput(f"{self.path.name} has no frame {name}")

    def length(self, name: str) -> int:
        """Data bytes of an unconditional frame."""
        return self._frames[name].length

    def publisher(self, name: str) -> str:
        """The node that sends the response of an unconditional frame."""
        return self._frames[name].publisher.name

    def published_by(self, node: str) -> tuple[str, ...]:
        """The unconditional frames whose response a node sends."""
        if node not in (self.master, *self.slaves):
            raise BadInput(f"{self.path.name} has no node {node}; there is {', '.join((self.master, *self.slaves))}")
        return tuple(name for name in self._frames if self.publisher(name) == node)

    def check_slave(self, node: str) -> None:
        """BadInput unless it is one of the slaves."""
        if node == self.master:
            raise BadInput(f"{node} is the master of {self.path.name}: 'litepulse lin master' plays it")
        if node not in self.slaves:
            raise BadInput(f"{self.path.name} has no slave {node}; there is {', '.join(self.slaves)}")

    def received_by(self, node: str) -> tuple[str, ...]:
        """The unconditional frames with a signal that a node subscribes to."""
        return tuple(
            name
            for name, frame in self._frames.items()
            if any(subscriber.name == node for _, signal in frame.signal_map for subscriber in signal.subscribers)
        )

    def events_of(self, node: str) -> dict[str, str]:
        """{event-triggered frame: the frame of a node that it may bring}. BadInput if the first byte is not free for the identifier."""
        found: dict[str, str] = {}
        for event, names in self._events.items():
            for name in names:
                if self.publisher(name) != node:
                    continue
                if event in found:
                    raise BadInput(f"{event}: {node} publishes both {found[event]} and {name}, so it cannot know which to send")
                offset, signal = next(iter(self._frames[name].signal_map), (DATA_MAX * 8, None))
                if offset < 8 and signal:
                    raise BadInput(f"{name}: {event} needs its first byte for the identifier, but {signal.name} lies there")
                found[event] = name
        return found

    def response_error(self, node: str) -> str | None:
        """The signal by which a slave reports a wrong response; None if it has none. BadInput unless it is one bit that the node sends."""
        signal = next((slave.response_error for slave in self._ldf.get_slaves() if slave.name == node), None)
        if signal is None:
            return None
        if signal.width != 1 or signal.publisher is None or signal.publisher.name != node:
            raise BadInput(f"{node}: its response_error {signal.name} is not a signal of one bit that {node} publishes")
        return signal.name

    def checksum_of(self, name: str) -> str:
        """The kind of checksum of an unconditional frame.

        'classic' for identifiers 0x3C to 0x3F, for those that a node of LIN 1.x publishes, and for those of the master that one receives.
        """
        frame = self._frames[name]
        ends = [self._version(frame.publisher)]
        if frame.publisher.name == self.master:
            ends += [self._version(node) for _, signal in frame.signal_map for node in signal.subscribers]
        return CLASSIC if frame.frame_id in CLASSIC_IDS or any(is_lin_1(version) for version in ends) else ENHANCED

    def _version(self, node: Any) -> object:
        """The LIN version that a node follows: the master that of the network."""
        return self._ldf.get_protocol_version() if node.name == self.master else node.lin_protocol

    # Signals

    def signals(self, name: str) -> tuple[str, ...]:
        """The signals of an unconditional frame."""
        return tuple(signal.name for _, signal in self._frames[name].signal_map)

    def frames_with(self, signal: str) -> tuple[str, ...]:
        """The frames that carry a signal."""
        found = tuple(name for name in self._frames if signal in self.signals(name))
        if not found:
            raise BadInput(f"{self.path.name} has no signal {signal}")
        return found

    def bit_of(self, name: str, signal: str) -> int:
        """Where a signal begins in the data of a frame: bit n % 8 of byte n // 8."""
        return next(offset for offset, one in self._frames[name].signal_map if one.name == signal)

    def encode(self, name: str, values: Mapping[str, Value]) -> bytes:
        """The data of a frame; signals that are not given have their initial value.

        The first byte of one that an event-triggered frame may bring is its identifier, however it is sent.
        """
        frame = self._frames[name]
        chosen = {signal: value for signal, value in values.items() if signal in self.signals(name)}
        try:
            data = bytes(frame.encode({signal: self._meant(signal, value) for signal, value in chosen.items()}))
        except Exception as error:  # bitstruct, encodings and ldfparser raise what they like
            raise BadInput(f"{name}: {' '.join(str(error).split())}") from None
        return bytes([protected_id(frame.frame_id)]) + data[1:] if any(name in names for names in self._events.values()) else data

    def _meant(self, name: str, value: Value) -> Value:
        """A signal's value as ldfparser takes it: of a number that stands for a logical value, and for no physical one, its text."""
        signal = self._ldf.get_signal(name)
        if signal.encoding_type is None or not isinstance(value, int):
            return value
        try:
            signal.encoding_type.encode(value, signal)
        except ValueError:
            for converter in signal.encoding_type.get_converters():
                text: str | None = getattr(converter, "info", None)
                if text is not None and converter.phy_value == value:
                    return text
        return value

    def decode(self, name: str, data: bytes) -> dict[str, Value]:
        """The signals of a frame, of an event-triggered one those of the frame that it brought; {} if the data do not fit it."""
        if name in self._events:
            brought = [one for one in self._events[name] if data[:1] == bytes([protected_id(self.frame_id(one))])]
            return self.decode(brought[0], data) if brought else {}
        frame = self._frames.get(name)
        if frame is None or len(data) != frame.length:
            return {}
        with contextlib.suppress(Exception):  # a value that no encoding names
            return dict(frame.decode(bytearray(data)))
        return dict(frame.decode_raw(bytearray(data)))

    # Schedules

    def schedules(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(table.name for table in self._ldf.get_schedule_tables())

    def schedule(self, name: str) -> Sequence[Slot]:
        """The slots of a schedule. Unsupported kinds of entries are BadInput."""
        if name not in self.schedules():
            raise BadInput(f"{self.path.name} has no schedule {name}; there is {', '.join(self.schedules()) or 'none'}")
        slots: list[Slot] = []
        for entry in self._ldf.get_schedule_table(name).schedule:
            seconds = to_fraction(entry.delay)
            kind = type(entry).__name__
            if kind == "MasterRequestEntry":
                slots.append(Slot(REQUEST, "MasterReq", (), seconds))
            elif kind == "SlaveResponseEntry":
                slots.append(Slot(RESPONSE, "SlaveResp", (), seconds))
            elif kind == "LinFrameEntry":
                slots.append(self._frame_slot(entry.frame, seconds))
            else:
                raise BadInput(f"schedule {name}: entries of the kind {kind.removesuffix('Entry')} are not supported")
        if not slots or any(slot.seconds <= 0 for slot in slots):
            raise BadInput(f"schedule {name}: it has {'a slot without a length' if slots else 'no slots'}")
        return slots

    def _frame_slot(self, frame: Any, seconds: Fraction) -> Slot:
        if frame.name in self._frames:
            return Slot(UNCONDITIONAL, frame.name, (frame.name,), seconds)
        names = tuple(one.name for one in frame.frames)
        table = getattr(frame, "collision_resolving_schedule_table", None)
        return Slot(EVENT if hasattr(frame, "frame_id") else SPORADIC, frame.name, names, seconds, table.name if table else None)
