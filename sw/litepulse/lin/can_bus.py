# SPDX-License-Identifier: BSD-2-Clause
"""python-can's interface `litepulse`: a LIN bus without the kernel's driver, with the messages of its network device lin0 (docs/lin.md).

can.Bus(interface="litepulse", channel="port:/dev/ttyUSB1", bitrate=19200, role="master"); python-can finds it by the entry point
`can.interface`.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import can

from litepulse.board import open_named
from litepulse.capture import LostEvent
from litepulse.errors import BadInput, LitePulseError, shown
from litepulse.interrupt import current
from litepulse.lin.frames import BAD_CHECKSUM, CLASSIC, ENHANCED, FRAMING, NO_HEADER, NO_RESPONSE, NO_SYNC, SHORT, Frame
from litepulse.lin.link import Missed, link
from litepulse.lin.log import ERRORS
from litepulse.lin.monitor import DEFAULT_BAUD
from litepulse.lin.protocol import CLASSIC_IDS, ID_MAX, MASTER_REQUEST
from litepulse.units import hexadecimal

ROLES = {"slave": False, "responder": False, "master": True, "commander": True}
PUBLISH, USE_ENHANCED, ONCE, WAKE, SLEEP, IGNORED = 0x40, 0x80, 0x100, 0x200, 0x400, 0x800  # of an identifier, as in linux/can/lin.h
SLEEP_REQUEST = bytes([0, *[255] * 7])
# Of an error frame: its class (the identifier), and its data from byte 1 on; as in linux/can/error.h.
_TX_TIMEOUT, _LOST_ARBITRATION, _CONTROLLER, _PROTOCOL, _ACK = 0x1, 0x2, 0x4, 0x8, 0x20
_OVERFLOW, _FORM, _TX = 0x01, 0x02, 0x80
_IN_CHECKSUM, _IN_DATA = 0x08, 0x0A
_PLACES = {BAD_CHECKSUM: _IN_CHECKSUM, FRAMING: _IN_DATA}
_WAKE_SECONDS, _WAKE_QUIET = 150e-6, 240  # of a pulse; bit times of silence before it
_BOARD = ("stimulus", "wires", "vcd", "step", "port_baud", "bridge_baud", "csr", "core")  # options of litepulse.open()


class Message(can.Message):
    """tick: of the board's time, exact; `timestamp` is the same in seconds of CLOCK_REALTIME, a float."""

    __slots__ = ("tick",)
    tick: int


class Bus(can.BusABC):
    """See docs/recipes/python-can.md."""

    def __init__(
        self,
        channel: Any = "litepulse",
        can_filters: Any = None,
        bitrate: Any = DEFAULT_BAUD,
        role: str = "slave",
        receive_own_messages: bool = False,
        fd: bool = False,
        **options: Any,
    ) -> None:
        """channel: a board, as open_named() has it; bitrate: of the bus; role: 'slave', or 'master', which alone sends headers;
        receive_own_messages: what was sent comes back when it was on the bus; further ones as of litepulse.open(). CanInitializationError.
        """
        try:
            if fd:
                raise BadInput("fd: LIN has no CAN FD")
            if role not in ROLES:
                raise BadInput(f"role: {shown(role)} is not slave or master")
            unknown = [name for name in options if name not in _BOARD]
            if unknown:
                raise BadInput(f"{unknown[0]}: is no option of this interface; it has bitrate, role, receive_own_messages")
            if channel == "sim":
                options.setdefault("wires", ("bus",))
            self._master, self._echo = ROLES[role], receive_own_messages
            self._board = open_named(channel, clock="realtime", **options)
            try:
                self._link = link(self._board, baud=bitrate)
            except BaseException:
                self._board.close()
                raise
        except LitePulseError as error:
            raise can.CanInitializationError(str(error)) from None
        self._channel = str(channel)
        self._ready: deque[can.Message] = deque()
        self._sent: deque[tuple[int, can.Message]] = deque()
        self._known: dict[int, str] = {}  # checksums, by identifier
        self._quiet = 0  # tick since which the bus is silent
        self.channel_info = f"LIN on {self._board.name}, {'master' if self._master else 'slave'}"
        super().__init__(channel=channel, can_filters=can_filters)

    # To the bus

    def send(self, msg: can.Message, timeout: float | None = None) -> None:
        """See docs/lin.md for what a message means. It has been given to the board, or waits for room there, when this returns."""
        try:
            self._carry_out(msg)
        except LitePulseError as error:
            raise can.CanOperationError(str(error)) from None

    def _carry_out(self, msg: can.Message) -> None:
        if msg.is_error_frame:
            raise BadInput("LIN: an error frame cannot be sent")
        if msg.is_fd:
            raise BadInput("LIN has no CAN FD")
        number, data = msg.arbitration_id & ID_MAX, bytes(msg.data)
        flags = msg.arbitration_id & ~ID_MAX
        if msg.is_extended_id:
            self._set(msg, number, flags & ~IGNORED, data)
            return
        if flags & ~(USE_ENHANCED | ONCE):
            raise BadInput(f"LIN: identifier {hexadecimal(msg.arbitration_id)} has other bits than 0x3f, 0x80 and 0x100")
        model = self._model(number, bool(flags))
        header = msg.is_remote_frame or not data
        if self._master:
            self._sent.append((self._link.send(number, None if header else data, model), msg))
        elif header:
            raise BadInput("LIN: a slave sends no header; open the bus with role='master'")
        else:
            self._publish(number, data, model, False)

    def _model(self, number: int, enhanced: bool) -> str:
        """Of a checksum: as it is known, unless the message says it."""
        if number in CLASSIC_IDS:
            return CLASSIC
        return ENHANCED if enhanced else self._known.get(number, CLASSIC)

    def _set(self, msg: can.Message, number: int, flags: int, data: bytes) -> None:
        """A message with an extended identifier: for the board, not for the bus."""
        if msg.is_remote_frame:
            raise BadInput("LIN: a remote frame with an extended identifier means nothing")
        if flags in (WAKE, SLEEP):
            if number or data:
                raise BadInput(f"LIN: extended identifier {hexadecimal(flags)} has neither an identifier nor data")
            if flags == WAKE:
                self._link.wake()
            elif self._master:
                self._sent.append((self._link.send(MASTER_REQUEST, SLEEP_REQUEST, CLASSIC), msg))
            else:
                raise BadInput("LIN: a slave does not send the bus to sleep; open it with role='master'")
            return
        if flags & ~(PUBLISH | USE_ENHANCED | ONCE):
            raise BadInput(f"LIN: extended identifier {hexadecimal(msg.arbitration_id)} means nothing")
        model = ENHANCED if flags & USE_ENHANCED and number not in CLASSIC_IDS else CLASSIC
        if flags & PUBLISH:
            self._publish(number, data, model, bool(flags & ONCE))
        else:
            self._link.expect(number, len(data), model)
            self._known[number] = model

    def _publish(self, number: int, data: bytes, model: str, once: bool) -> None:
        self._link.answer(number, data, model, once)
        self._known[number] = model

    # From the bus

    def _recv_internal(self, timeout: float | None) -> tuple[can.Message | None, bool]:
        try:
            if not self._ready:
                found = self._link.recv(timeout)
                if found is not None:
                    self._take(found)
                elif self._link.interrupted and current() is None:
                    raise KeyboardInterrupt
                elif self._link.over:
                    raise LitePulseError("the LIN bus is closed")
            return (self._ready.popleft() if self._ready else None), False
        except LitePulseError as error:
            raise can.CanOperationError(str(error)) from None

    def _add(self, tick: int, ns: int | None, identifier: int, data: bytes | Mapping[int, int] = b"", **kind: Any) -> None:
        """A message; data of an error frame: {place: byte}."""
        if isinstance(data, Mapping):
            data = bytes(data.get(place, 0) for place in range(8))
        nanoseconds = self._board.time_of(tick).ns if ns is None else ns
        kind = {"is_extended_id": False, "dlc": len(data), "data": data, "channel": self._channel} | kind
        message = Message(timestamp=nanoseconds / 1e9, arbitration_id=identifier, **kind)
        message.tick = tick
        self._ready.append(message)

    def _take(self, found: Frame | LostEvent | Missed) -> None:
        if isinstance(found, LostEvent):
            self._add(found.tick, None, _CONTROLLER, {1: _OVERFLOW}, is_error_frame=True)
        elif isinstance(found, Missed):
            self._miss(found)
        else:
            self._hear(found)
            self._quiet = max((found.tick, found.pid_tick or 0, *found.ticks))

    def _miss(self, found: Missed) -> None:
        if found.reason == "unheard":
            self._add(found.tick, None, _PROTOCOL, {2: _TX}, is_error_frame=True)
        else:
            lost = found.answer and found.reason == "busy"
            self._add(found.tick, None, _LOST_ARBITRATION if lost else _TX_TIMEOUT, {}, is_error_frame=True)
        while not found.answer and self._sent and self._sent[0][0] <= found.tick:
            tick, msg = self._sent.popleft()
            if tick == found.tick and found.reason == "unheard":
                self._add(tick, None, msg.arbitration_id & ID_MAX | ERRORS[NO_RESPONSE], is_extended_id=True)

    def _at(self, frame: Frame, tick: int) -> int | None:
        """A tick within a frame, in ns."""
        return None if frame.ns is None else frame.ns + round((tick - frame.tick) * 10**9 / self._board.tick_hz)

    def _hear(self, frame: Frame) -> None:
        number, error = frame.frame_id, frame.error
        if error in (NO_HEADER, NO_SYNC) and self._wakes(frame):
            self._add(frame.tick, frame.ns, WAKE, is_extended_id=True)
        elif error == NO_HEADER:
            return  # noise
        elif number is None or error not in (None, *ERRORS):
            self._add(frame.tick, frame.ns, _PROTOCOL, {2: _FORM}, is_error_frame=True)
        else:
            self._header(frame, number)
            first = frame.tick if error in (NO_RESPONSE, SHORT) or not frame.ticks else frame.ticks[0]
            ns = self._at(frame, first)
            if error is not None:
                kind, data = (_ACK, {}) if error in (NO_RESPONSE, SHORT) else (_PROTOCOL, {2: _FORM, 3: _PLACES[error]})
                self._add(first, ns, kind, data, is_error_frame=True)
                self._add(first, ns, number | ERRORS[error], is_extended_id=True)
                return
            self._add(first, ns, number, frame.data)
            if number == MASTER_REQUEST and frame.data[:1] == SLEEP_REQUEST[:1]:
                self._add(first, ns, SLEEP, is_extended_id=True)

    def _wakes(self, frame: Frame) -> bool:
        """Whether it is a pulse that wakes the bus."""
        if frame.own_response or frame.own_header or frame.tick - self._quiet < _WAKE_QUIET * self._link.bit:
            return False
        low = 1 + (8 if not frame.data[0] else (frame.data[0] & -frame.data[0]).bit_length() - 1) if frame.error == NO_HEADER else 11
        return low * self._link.bit >= _WAKE_SECONDS * self._board.tick_hz

    def _header(self, frame: Frame, number: int) -> None:
        """Another master's, or what was sent comes back."""
        if not (frame.own_header and self._master):
            self._add(frame.tick, frame.ns, number, is_remote_frame=True)
            return
        while self._sent and self._sent[0][0] < frame.tick - self._link.bit:
            self._sent.popleft()
        if self._sent and self._sent[0][0] <= frame.tick:
            _, msg = self._sent.popleft()
            if self._echo:
                kind = {"is_extended_id": msg.is_extended_id, "is_remote_frame": msg.is_remote_frame, "dlc": msg.dlc, "is_rx": False}
                self._add(frame.tick, frame.ns, msg.arbitration_id, bytes(msg.data), **kind)

    def shutdown(self) -> None:
        """What was given to it leaves before the board is closed."""
        if self._is_shutdown:
            return
        super().shutdown()
        try:
            self._link.flush()
            self._link.close()
            self._board.close()
        except LitePulseError as error:
            raise can.CanOperationError(str(error)) from None

    @staticmethod
    def _detect_available_configs() -> Sequence[Any]:
        from litepulse.backends.found import find

        return [{"interface": "litepulse", "channel": board.device or f"port:{board.port}"} for board in find()]
