# SPDX-License-Identifier: BSD-2-Clause
"""A LIN description file (LDF): its frames, signals and schedules, as the master, a slave and the monitor need them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from litepulse.errors import BadInput
from litepulse.lin.configuration import request_of
from litepulse.lin.encodings import Raw, Value
from litepulse.lin.frames import CLASSIC, ENHANCED, Expected
from litepulse.lin.ldf import Unconditional, is_lin_1, read
from litepulse.lin.protocol import CLASSIC_IDS, DATA_MAX, MASTER_REQUEST, SLAVE_RESPONSE, protected_id

UNCONDITIONAL, EVENT, SPORADIC, REQUEST, RESPONSE = "unconditional", "event-triggered", "sporadic", "request", "response"
CONFIGURATION = "configuration"
DIAGNOSTIC = {"MasterReq": MASTER_REQUEST, "SlaveResp": SLAVE_RESPONSE}

__all__ = ["Description", "Raw", "Slot", "Value"]


@dataclass(frozen=True)
class Slot:
    """An entry of a schedule. frames: names; of a sporadic slot those that may use it, the first that was updated does."""

    kind: str
    name: str
    frames: tuple[str, ...]
    seconds: Fraction
    resolving: str | None = None  # of an event-triggered frame: the schedule that follows a collision
    data: bytes = b""  # of node configuration: what is sent as MasterReq


class Description:
    """An LDF. encoding: of its text, unless its byte order mark says it, or it is UTF-8 or Windows-1252.

    BadInput, with the line, if the file cannot be read, or is none that can be played. notes: lines that say what is read and not used.
    """

    def __init__(self, path: str | Path, encoding: str | None = None) -> None:
        self.path = Path(path)
        self.network = read(self.path, encoding)
        self.baud = self.network.baud
        self.master: str = self.network.master
        self.slaves: tuple[str, ...] = tuple(self.network.slaves)
        self._frames = self.network.frames
        self.notes: tuple[str, ...] = (*self.network.notes, *self._contradictions())

    def _contradictions(self) -> list[str]:
        """Frames whose kind of checksum a receiver of LIN 1.x does not know."""
        return [
            f"{name}: {frame.publisher} publishes it with the enhanced checksum, which {node} of LIN {self._version(node)} does not know"
            for name, frame in self._frames.items()
            for node in sorted({node for _, signal in frame.signals for node in signal.subscribers})
            if self.checksum_of(name) == ENHANCED and is_lin_1(self._version(node))
        ]

    # Frames

    def expected(self) -> dict[int, Expected]:
        """What is known of the frames, by identifier."""
        known = {frame_id: Expected(DATA_MAX, CLASSIC, name) for name, frame_id in DIAGNOSTIC.items()}
        known |= {frame.frame_id: Expected(frame.length, self.checksum_of(name), name) for name, frame in self._frames.items()}
        for event in self.network.events.values():
            lengths = {self._frames[name].length for name in event.frames}
            if len(lengths) == 1:
                known[event.frame_id] = Expected(lengths.pop(), self.checksum_of(event.frames[0]), event.name)
        return known

    def frame_id(self, name: str) -> int:
        """Of a frame, by its name."""
        if name in self._frames:
            return self._frames[name].frame_id
        if name in self.network.events:
            return self.network.events[name].frame_id
        if name in DIAGNOSTIC:
            return DIAGNOSTIC[name]
        raise BadInput(f"{self.path.name} has no frame {name}")

    def length(self, name: str) -> int:
        """Data bytes of an unconditional frame."""
        return self._frames[name].length

    def publisher(self, name: str) -> str:
        """The node that sends the response of an unconditional frame."""
        return self._frames[name].publisher

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
            raise BadInput(f"{self.path.name} has no slave {node}; there is {', '.join(self.slaves) or 'none'}")

    def received_by(self, node: str) -> tuple[str, ...]:
        """The unconditional frames with a signal that a node subscribes to."""
        return tuple(name for name, frame in self._frames.items() if any(node in signal.subscribers for _, signal in frame.signals))

    def events_of(self, node: str) -> dict[str, str]:
        """{event-triggered frame: the frame of a node that it may bring}. BadInput if the first byte is not free for the identifier."""
        found: dict[str, str] = {}
        for event in self.network.events.values():
            for name in event.frames:
                if self.publisher(name) != node:
                    continue
                if event.name in found:
                    raise BadInput(f"{event.name}: {node} publishes both {found[event.name]} and {name}, so it cannot know which to send")
                offset, signal = next(iter(self._frames[name].signals), (DATA_MAX * 8, None))
                if offset < 8 and signal:
                    raise BadInput(f"{name}: {event.name} needs its first byte for the identifier, but {signal.name} lies there")
                found[event.name] = name
        return found

    def response_error(self, node: str) -> str | None:
        """The signal of one bit by which a slave reports a wrong response; None if it has none, or one that nothing sets (see notes_of)."""
        return self.network.slaves[node].response_error

    def notes_of(self, node: str) -> tuple[str, ...]:
        """What of a slave's description is not used when it is played."""
        return (self.network.slave_notes[node],) if node in self.network.slave_notes else ()

    def checksum_of(self, name: str) -> str:
        """The kind of checksum of an unconditional frame.

        'classic' for identifiers 0x3C to 0x3F, for those that a node of LIN 1.x publishes, and for those of the master that one receives.
        """
        frame = self._frames[name]
        ends = {frame.publisher}
        if frame.publisher == self.master:
            ends |= {node for _, signal in frame.signals for node in signal.subscribers}
        return CLASSIC if frame.frame_id in CLASSIC_IDS or any(is_lin_1(self._version(node)) for node in ends) else ENHANCED

    def _version(self, node: str) -> object:
        """The LIN version that a node follows: the master that of the network."""
        return self.network.version if node == self.master else self.network.slaves[node].version

    # Signals

    def signals(self, name: str) -> tuple[str, ...]:
        """The signals of an unconditional frame."""
        return tuple(signal.name for _, signal in self._frames[name].signals)

    def frames_with(self, signal: str) -> tuple[str, ...]:
        """The frames that carry a signal."""
        found = tuple(name for name in self._frames if signal in self.signals(name))
        if not found:
            raise BadInput(f"{self.path.name} has no signal {signal}")
        return found

    def frames_of(self, node: str, signal: str) -> tuple[str, ...]:
        """The frames in which a node sends a signal. BadInput if it does not."""
        found = self.frames_with(signal)
        own = tuple(name for name in found if self.publisher(name) == node)
        if not own:
            raise BadInput(f"signal {signal}: {self.publisher(found[0])} publishes it, not {'the master' if node == self.master else node}")
        return own

    def check_values(self, values: Mapping[str, Value]) -> None:
        """BadInput unless the master publishes each of these signals, and each value fits its signal."""
        for signal in values:
            for name in self.frames_of(self.master, signal):
                self.encode(name, values)

    def bit_of(self, name: str, signal: str) -> int:
        """Where a signal begins in the data of a frame: bit n % 8 of byte n // 8."""
        return next(offset for offset, one in self._frames[name].signals if one.name == signal)

    def encode(self, name: str, values: Mapping[str, Value]) -> bytes:
        """The data of a frame; signals that are not given have their initial value, bits of no signal are recessive.

        A value is physical, or the name of a logical one; bytes or a list for an array; Raw: as it is sent. The first byte of a frame that
        an event-triggered one may bring is its identifier, however it is sent. BadInput if a value does not fit its signal.
        """
        frame = self._frames[name]
        bits = (1 << 8 * frame.length) - 1
        for offset, signal in frame.signals:
            value = signal.bits_of(values[signal.name]) if signal.name in values else signal.initial_bits
            bits = bits & ~((1 << signal.width) - 1 << offset) | value << offset
        data = bits.to_bytes(frame.length, "little")
        brought = any(name in event.frames for event in self.network.events.values())
        return bytes([protected_id(frame.frame_id)]) + data[1:] if brought else data

    def decode(self, name: str, data: bytes) -> dict[str, Value]:
        """The signals of a frame, of an event-triggered one those of the frame that it brought; {} if the data do not fit it."""
        if name in self.network.events:
            frames = self.network.events[name].frames
            brought = [one for one in frames if data[:1] == bytes([protected_id(self.frame_id(one))])]
            return self.decode(brought[0], data) if brought else {}
        frame: Unconditional | None = self._frames.get(name)
        if frame is None or len(data) != frame.length:
            return {}
        bits = int.from_bytes(data, "little")
        return {signal.name: signal.value_of(bits >> offset & (1 << signal.width) - 1) for offset, signal in frame.signals}

    # Schedules

    def schedules(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.network.schedules)

    def schedule(self, name: str) -> Sequence[Slot]:
        """The slots of a schedule. BadInput if it has none, or one that cannot be played."""
        if name not in self.network.schedules:
            raise BadInput(f"{self.path.name} has no schedule {name}; there is {', '.join(self.schedules()) or 'none'}")
        slots: list[Slot] = []
        for entry in self.network.schedules[name]:
            kind: str = entry.command["type"]
            if kind == "frame":
                slots.append(self._frame_slot(str(entry.command["frame"]), entry.seconds))
            elif kind in ("master_request", "slave_response"):
                slots.append(_diagnostic_slot(kind == "master_request", entry.seconds))
            else:
                title, data = request_of(self.network, entry)
                slots.append(Slot(CONFIGURATION, title, (), entry.seconds, data=data))
        if not slots or any(slot.seconds <= 0 for slot in slots):
            raise BadInput(f"schedule {name}: it has {'a slot without a length' if slots else 'no slots'}")
        return slots

    def _frame_slot(self, name: str, seconds: Fraction) -> Slot:
        if name in self._frames:
            return Slot(UNCONDITIONAL, name, (name,), seconds)
        if name in self.network.events:
            event = self.network.events[name]
            return Slot(EVENT, name, event.frames, seconds, event.resolving)
        if name in self.network.sporadic:
            return Slot(SPORADIC, name, self.network.sporadic[name], seconds)
        return _diagnostic_slot(self.network.diagnostic[name] == MASTER_REQUEST, seconds)


def _diagnostic_slot(request: bool, seconds: Fraction) -> Slot:
    return Slot(REQUEST, "MasterReq", (), seconds) if request else Slot(RESPONSE, "SlaveResp", (), seconds)
