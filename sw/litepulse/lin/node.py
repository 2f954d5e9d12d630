# SPDX-License-Identifier: BSD-2-Clause
"""A slave as its description and its user want it. All of that is checked here, before there is a board."""

from collections.abc import Mapping
from pathlib import Path

from litepulse.errors import BadInput
from litepulse.lin.configuration import Configured
from litepulse.lin.description import Description, Value
from litepulse.lin.protocol import DATA_MAX, ID_MAX, MASTER_REQUEST, SLAVE_RESPONSE
from litepulse.lin.saved import load, save
from litepulse.units import hexadecimal, within

Faults = Mapping[int | str, int]  # by identifier or name of the frame


def checked_response(data: bytes) -> bytes:
    """What is given for a header of SlaveResp."""
    if len(data) != DATA_MAX:
        raise BadInput(f"response: {len(data)} bytes are not {DATA_MAX}")
    return bytes(data)


class SlaveNode:
    """BadInput if a slave of the description cannot be as it is wanted. For the arguments see slave().

    published, events: {identifier: frame} that it answers; received: identifiers that it listens to;
    flips, checksums: {identifier: byte} of wrong answers
    """

    def __init__(
        self,
        description: Description,
        name: str,
        flip_checksum: Faults | None = None,
        checksums: Faults | None = None,
        identifiers: Mapping[int, bytes] | None = None,
        dump: bytes | None = None,
        configuration: str | Path | None = None,
    ) -> None:
        description.check_slave(name)
        self.description, self.name = description, name
        self.error_signal = description.response_error(name)
        self._published, self._events = description.published_by(name), description.events_of(name)
        self._received = description.received_by(name)
        self.configured = Configured(description.network, description.network.slaves[name], identifiers, dump)
        if not self.configured.answers and (self.configured.identifiers or dump is not None or configuration is not None):
            raise BadInput(f"{name} answers no node configuration: that takes LIN 2.x, a NAD and a product_id in its Node_attributes")
        if configuration is not None:
            path = Path(configuration)
            load(path, self.configured)
            self.configured.save = lambda: save(path, self.configured)
        self.published: dict[int, str] = {}
        self.events: dict[int, str] = {}
        self.received: set[int] = set()
        self.place(ID_MAX + 1)
        self.flips, self.checksums = self._faults(flip_checksum, "flip-checksum"), self._faults(checksums, "checksum")
        if twice := set(self.flips) & set(self.checksums):
            raise BadInput(f"checksum: flip-checksum of identifier {hexadecimal(min(twice))} is given, too")

    def place(self, entries: int) -> None:
        """The frames have the identifiers of its configuration; those from `entries` on are not answered."""
        now = {name: number for name, number in self.configured.frames.items() if number is not None and number < entries}
        self.published = {now[name]: name for name in self._published if name in now}
        self.events = {now[event]: name for event, name in self._events.items() if event in now}
        self.received = {now[name] for name in self._received if name in now} | {MASTER_REQUEST}

    def name_of(self, frame_id: int) -> str:
        """Of a frame that it answers."""
        if frame_id == SLAVE_RESPONSE:
            return "SlaveResp"
        return self.published.get(frame_id) or next(event for event, number in self.configured.frames.items() if number == frame_id)

    def _faults(self, wanted: Faults | None, what: str) -> dict[int, int]:
        """{identifier: byte}; BadInput if the node does not answer it."""
        found: dict[int, int] = {}
        for frame, byte in (wanted or {}).items():
            frame_id = self.description.frame_id(frame) if isinstance(frame, str) else frame
            if frame_id not in (*self.published, *self.events, SLAVE_RESPONSE):
                raise BadInput(
                    f"{what}: {self.name} does not answer {frame if isinstance(frame, str) else f'identifier {hexadecimal(frame)}'}"
                )
            if frame_id in found:
                raise BadInput(f"{what}: identifier {hexadecimal(frame_id)} is given twice")
            found[frame_id] = within(byte, what, 0, 255)
        return found

    def changed(self, values: Mapping[str, Value], before: Mapping[str, Value] | None = None) -> tuple[dict[str, Value], list[str]]:
        """(values of signals as they are then, but response_error; the frames that have new ones), or BadInput."""
        new, names = dict(before or {}), list[str]()
        for signal, value in values.items():
            frames = self.description.frames_of(self.name, signal)
            if signal == self.error_signal:
                if value not in (0, 1):
                    raise BadInput(f"signal {signal}: {value} is not 0 or 1")
                continue
            new[signal] = value
            names += [name for name in frames if name not in names]
        for name in names:
            self.description.encode(name, new)
        return new, names
