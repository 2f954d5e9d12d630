# SPDX-License-Identifier: BSD-2-Clause
"""The server's half of telnet with COM port control (RFC 2217): what a client sends, as data and requests. Pure, no sockets.

pyserial's serial.rfc2217.PortManager does not fit: it confirms what a port does not have, does not answer queries of a state, and raises
TypeError or struct.error on requests that are cut short.
"""

import enum
from collections.abc import Iterable
from dataclasses import dataclass

IAC, DONT, DO, WONT, WILL, SB, BRK, SE = 255, 254, 253, 252, 251, 250, 243, 240
BINARY, ECHO, SUPPRESS_GO_AHEAD, COM_PORT = 0, 1, 3, 44
OURS = (ECHO, SUPPRESS_GO_AHEAD, BINARY, COM_PORT)  # what this side can do
THEIRS = (SUPPRESS_GO_AHEAD, BINARY, COM_PORT)  # what the client may do
OFFERED, REQUESTED = (ECHO, SUPPRESS_GO_AHEAD, BINARY), (BINARY, COM_PORT)  # at the beginning
LONGEST = 64  # bytes of a subnegotiation; a longer one is discarded
ANSWER = 100  # is added to the number of a command by the server


class Com(enum.IntEnum):
    """Commands of COM port control, as a client numbers them."""

    SIGNATURE = 0
    BAUD_RATE = 1
    DATA_SIZE = 2
    PARITY = 3
    STOP_SIZE = 4
    CONTROL = 5
    LINE_STATE = 6
    MODEM_STATE = 7
    SUSPEND = 8
    RESUME = 9
    LINE_STATE_MASK = 10
    MODEM_STATE_MASK = 11
    PURGE = 12


class Control(enum.IntEnum):
    """Values of Com.CONTROL."""

    FLOW = 0
    NO_FLOW = 1
    XON_XOFF = 2
    HARDWARE = 3
    BREAK = 4
    BREAK_ON = 5
    BREAK_OFF = 6
    DTR = 7
    DTR_ON = 8
    DTR_OFF = 9
    RTS = 10
    RTS_ON = 11
    RTS_OFF = 12
    FLOW_IN = 13
    NO_FLOW_IN = 14
    XON_XOFF_IN = 15
    HARDWARE_IN = 16
    DCD_FLOW = 17
    DTR_FLOW_IN = 18
    DSR_FLOW = 19


class LineState(enum.IntFlag):
    """Of Com.LINE_STATE."""

    OVERRUN = 2
    PARITY = 4
    FRAMING = 8
    BREAK = 16
    HOLDING_EMPTY = 32
    SHIFT_EMPTY = 64


class ModemState(enum.IntFlag):
    """Of Com.MODEM_STATE."""

    CTS = 16
    DSR = 32
    CD = 128


# How many bytes the value of a command has.
_LENGTHS: dict[Com, Iterable[int]] = {
    Com.SIGNATURE: range(LONGEST),
    Com.BAUD_RATE: (4,),
    Com.LINE_STATE: (0, 1),
    Com.MODEM_STATE: (0, 1),
    Com.SUSPEND: (0,),
    Com.RESUME: (0,),
}


@dataclass(frozen=True)
class Request:
    """A command of COM port control."""

    command: Com
    value: bytes = b""

    @property
    def number(self) -> int:
        """The value as a number, 0 if there is none."""
        return int.from_bytes(self.value, "big")


class Break:
    """Telnet's own break."""


BREAK = Break()
Item = bytes | Request | Break


def doubled(data: bytes) -> bytes:
    """Data as telnet carries it."""
    return data.replace(b"\xff", b"\xff\xff")


def answer(command: Com, value: bytes) -> bytes:
    """The server's answer to a command, or its notification."""
    return bytes([IAC, SB, COM_PORT, command + ANSWER]) + doubled(value) + bytes([IAC, SE])


class Telnet:
    """The state of one connection. answers: what is to be sent; the caller takes it away."""

    def __init__(self) -> None:
        self.ours: dict[int, bool] = dict.fromkeys(OURS, False)
        self.theirs: dict[int, bool] = dict.fromkeys(THEIRS, False)
        self.refused: set[int] = set()  # by the client, of OURS
        self._offered, self._requested = set(OFFERED), set(REQUESTED)
        self.answers = bytearray()
        for option in OFFERED:
            self.answers += bytes([IAC, WILL, option])
        for option in REQUESTED:
            self.answers += bytes([IAC, DO, option])
        self._command: int | None = None  # IAC, or what came behind it, whose next byte has not come yet
        self._block: bytearray | None = None  # of a subnegotiation
        self._after_cr = False

    def encode(self, data: bytes) -> bytes:
        """Data for the client. A CR gets its NUL only if the client has refused binary: programs that answer nothing expect it plain."""
        if BINARY in self.refused:
            data = data.replace(b"\r", b"\r\0")
        return doubled(data)

    def feed(self, received: bytes) -> list[Item]:
        """What a client has sent, cut anywhere: data, requests and breaks in their order."""
        items: list[Item] = []
        data = bytearray()
        place = 0
        while place < len(received):
            if self._command is None:
                end = received.find(IAC, place)
                part = received[place : end if end >= 0 else len(received)]
                if self._block is None:
                    data += self._plain(part)
                else:
                    self._block += part[: LONGEST + 1 - len(self._block)]
                place += len(part)
                if end >= 0:
                    self._command = IAC
                    place += 1
                continue
            byte = received[place]
            place += 1
            found = self._behind_iac(byte)
            if isinstance(found, int):
                data.append(found)
            elif found is not None:
                if data:
                    items.append(bytes(data))
                    data.clear()
                items.append(found)
        if data:
            items.append(bytes(data))
        return items

    def _plain(self, part: bytes) -> bytes:
        """Data without the NUL behind a CR, which a client in the mode of a terminal adds."""
        if not part or self.theirs[BINARY]:
            self._after_cr = False
            return part
        joined = (b"\r" if self._after_cr else b"") + part
        plain = joined.replace(b"\r\0", b"\r")[1 if self._after_cr else 0 :]
        self._after_cr = joined.endswith(b"\r")
        return plain

    def _behind_iac(self, byte: int) -> "int | Request | Break | None":
        """A byte behind IAC: data, a request, a break, or nothing yet."""
        command, self._command = self._command, None
        self._after_cr = False
        if command != IAC:
            assert command is not None
            self._negotiate(command, byte)
            return None
        if self._block is not None:
            if byte == IAC:
                self._block += b"\xff"[: LONGEST + 1 - len(self._block)]
                return None
            block, self._block = bytes(self._block), None
            if byte == SE:
                return self._request(block)
            # Another command ends a subnegotiation that has no end.
        if byte == IAC:
            return IAC
        if byte == SB:
            self._block = bytearray()
        elif byte in (DO, DONT, WILL, WONT):
            self._command = byte
        elif byte == BRK:
            return BREAK
        return None

    @staticmethod
    def _request(block: bytes) -> Request | None:
        """Of a subnegotiation; None for what is not defined."""
        if len(block) < 2 or len(block) > LONGEST or block[0] != COM_PORT or block[1] not in Com.__members__.values():
            return None
        command, value = Com(block[1]), block[2:]
        return Request(command, value) if len(value) in _LENGTHS.get(command, (1,)) else None

    def _negotiate(self, command: int, option: int) -> None:
        """DO, DONT, WILL or WONT. Only a change is answered, so that two sides that obey never repeat themselves (RFC 1143)."""
        wanted = command in (DO, WILL)
        ours = command in (DO, DONT)
        states, open_, yes, no = (self.ours, self._offered, WILL, WONT) if ours else (self.theirs, self._requested, DO, DONT)
        if option not in states:
            if wanted:
                self.answers += bytes([IAC, no, option])
            return
        pending, before = option in open_, states[option]
        open_.discard(option)
        states[option] = wanted
        if ours:
            (self.refused.discard if wanted else self.refused.add)(option)
        if not pending and wanted != before:
            self.answers += bytes([IAC, yes if wanted else no, option])
