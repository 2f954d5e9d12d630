# SPDX-License-Identifier: BSD-2-Clause
"""A board's serial line on the network: telnet with COM port control (RFC 2217), plain TCP, and JSON lines with the time of each byte."""

import ipaddress
import json
import os
import selectors
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self, cast

import serial

from litepulse import __version__
from litepulse.errors import BadInput, LitePulseError, shown
from litepulse.plan import Time
from litepulse.serial_port import Serial
from litepulse.streams import RxByte
from litepulse.telnet import BREAK, COM_PORT, Com, Control, LineState, ModemState, Request, Telnet, answer
from litepulse.units import Whole, counted, exact, to_duration, within

LOOPBACK = "127.0.0.1"
CLOCK = "realtime"  # a board that is opened with it has read the clock already
BUFFER = 1 << 20  # bytes that wait for a client at most; what comes then is lost for it
MOST_CLIENTS = 32  # of a server
_PIECE = 64  # bytes that are given to the board at once: what follows can still be taken back
_RECORD = 1 << 14  # bytes that are taken from a client at once: TLS keeps nothing back then
_UNSENT = 4096  # bytes of a client that wait for the line; more stay in its socket
_ANSWERS = 4096  # bytes of answers that a client has not taken; it is not read until it has
_TOGETHER = 1 << 16  # bytes that are handed to the network at once
_KERNEL = 1 << 17  # bytes that wait for a client in the kernel; left alone it takes some MB
_REST = 0.5  # seconds between two looks at what has no event of its own
_POLL = 0.002  # seconds between two looks at whether the line is free
_HANDSHAKE = 10.0  # seconds that TLS may take
_LONGEST_GATHER = 60.0  # seconds
_LONGEST_BREAK = 3.0  # seconds; a pulse of the fastest board is at most 3.4 s long
_TELNET_BREAK = 0.25  # seconds, of a break that has no length
# Seconds of silence until a client is asked whether it is there, between two such, and how many it may leave unanswered.
_ALIVE, _ALIVE_ENDED = (15, 5, 3), (1, 5, 3)
# Of COM port control.
_PARITIES = {1: serial.PARITY_NONE, 2: serial.PARITY_ODD, 3: serial.PARITY_EVEN, 4: serial.PARITY_MARK, 5: serial.PARITY_SPACE}
_STOPS = {1: serial.STOPBITS_ONE, 2: serial.STOPBITS_TWO, 3: serial.STOPBITS_ONE_POINT_FIVE}
_FLOW_OUT = {Control.FLOW, Control.NO_FLOW, Control.XON_XOFF, Control.HARDWARE, Control.DCD_FLOW, Control.DSR_FLOW}
_FLOW_IN = {Control.FLOW_IN, Control.NO_FLOW_IN, Control.XON_XOFF_IN, Control.HARDWARE_IN, Control.DTR_FLOW_IN}
_ALWAYS_ON = ModemState.CTS | ModemState.DSR | ModemState.CD


def check_protection(listen: str, tls: object, clients: object) -> None:
    """BadInput if others than programs of this machine could connect, unless each proves by a certificate who it is."""
    if clients is not None and tls is None:
        raise BadInput("clients: their certificates are looked at by TLS only: give the server's own, tls, too")
    if clients is None and not _is_loopback(listen):
        raise BadInput(f"listen: {listen} is not this machine alone: give tls and clients, the certificates of those who may connect")


def _address(listen: str) -> tuple[socket.AddressFamily, str]:
    """(family, address) of a name."""
    try:
        found = socket.getaddrinfo(listen, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise BadInput(f"listen: {shown(listen)} is no address of this machine ({getattr(error, 'strerror', None) or error})") from None
    family, _, _, _, place = found[0]
    return family, str(place[0])


def _is_loopback(listen: str) -> bool:
    return ipaddress.ip_address(_address(listen)[1].partition("%")[0]).is_loopback


def _context(tls: str | Path, clients: str | Path | None) -> ssl.SSLContext:
    """TLS with the server's certificate and key, and of its clients if there is a file with those who signed theirs."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for what, path, load in (("tls", tls, context.load_cert_chain), ("clients", clients, context.load_verify_locations)):
        if path is None:
            continue
        try:
            load(os.fspath(path))
        except ssl.SSLError as error:
            raise BadInput(
                f"{what}: {path}: {'a certificate and its key' if what == 'tls' else 'a certificate'} is wanted ({error.reason})"
            ) from None
        except (OSError, ValueError) as error:
            raise BadInput(f"{what}: {path}: {getattr(error, 'strerror', None) or error}") from None
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _probe(connection: socket.socket, seconds: tuple[int, int, int]) -> None:
    """Lets the kernel notice that a client is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in zip(("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT"), seconds):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


# Clients --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Batch:
    """What a client gets: as it is sent, and how many bytes of the line that is."""

    data: bytes
    count: int


class _Client:
    """A connection: a socket, and what waits to be sent."""

    kind = "raw"
    reads_on = True  # behind the end of what the client sends, as `nc </dev/null` wants it

    def __init__(self, server: "TerminalServer", connection: socket.socket, name: str) -> None:
        self.server, self.socket, self.name = server, connection, name
        self.handshake = time.monotonic() + _HANDSHAKE if isinstance(connection, ssl.SSLSocket) else None  # until when
        self.ended = False  # it sends nothing more
        self.unsent = 0  # bytes, and requests, that wait for the line; the server's lock guards it
        self.lost = 0  # bytes of the line that found no room
        self.suspended = False
        self._gap = 0  # lost, and not reported to the client yet
        self._waiting: deque[_Batch] = deque()
        self._size = 0  # of that
        self._out = bytearray()  # on its way, which is not taken back
        self._answers = 0  # bytes of answers since _out was empty
        self._wants_write = False
        self._begin()

    def _begin(self) -> None:
        """What is sent first."""

    # To the client

    def encode(self, records: Sequence[RxByte]) -> bytes:
        """Received bytes as they are sent."""
        return bytes(record.data for record in records)

    def gap(self, count: int) -> bytes:
        """What reports bytes that are missing here."""
        del count
        return b""

    def put(self, data: bytes) -> None:
        """An answer, which is sent in any case."""
        self._out += data
        self._answers += len(data)

    def deliver(self, records: Sequence[RxByte]) -> None:
        """Received bytes; if too many wait already, these are lost for this client."""
        self._report_gap()
        data = self.encode(records) if not self._gap else b""
        if self._gap or self._size + len(data) > self.server.buffer:
            self._gap += len(records)
            self.lost += len(records)
            return
        self._add(_Batch(data, len(records)))

    def _add(self, batch: _Batch) -> None:
        self._waiting.append(batch)
        self._size += len(batch.data)

    def _report_gap(self) -> None:
        """Once there is room again, the client gets to know what it lost."""
        if self._gap and self._size <= self.server.buffer // 2:
            count, self._gap = self._gap, 0
            self._add(_Batch(self.gap(count), 0))

    def discard(self) -> None:
        """Forgets what has not begun to be sent."""
        self._waiting.clear()
        self._size = 0

    def flush(self) -> None:
        """Sends what the network takes. OSError if the client is gone."""
        if self.handshake is not None:
            return
        self._report_gap()
        while True:
            if not self._out:
                self._answers = 0
            while self._waiting and not self.suspended and len(self._out) < _TOGETHER:
                batch = self._waiting.popleft()
                self._size -= len(batch.data)
                self._out += batch.data
            if not self._out:
                break
            try:
                sent = self.socket.send(self._out)
            except (BlockingIOError, InterruptedError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                break
            del self._out[:sent]
        self._wants_write = bool(self._out)

    # From the client

    def receive(self) -> None:
        """Takes what has come. OSError if the client is gone, EOFError if it has said goodbye."""
        if self.handshake is not None:
            self._wants_write = False
            try:
                cast("ssl.SSLSocket", self.socket).do_handshake()
            except ssl.SSLWantWriteError:
                self._wants_write = True
                return
            self.handshake = None
        if self.is_read:
            data = self.socket.recv(_RECORD)
            if data:
                self.take(data)
            elif self.reads_on and not isinstance(self.socket, ssl.SSLSocket):
                self.ended = True
                _probe(self.socket, _ALIVE_ENDED)  # one that has closed is known after a minute, or with the next byte
            else:
                raise EOFError

    def check(self) -> None:
        """OSError if the client is gone, or does not come."""
        if self.handshake is not None and time.monotonic() > self.handshake:
            raise TimeoutError
        if self.ended and (error := self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)):
            raise OSError(error, os.strerror(error))

    def take(self, data: bytes) -> None:
        """What the client has sent."""
        self.server.send(self, data)

    @property
    def is_read(self) -> bool:
        """Whether there is room for more of what it sends."""
        return not self.ended and self.unsent < _UNSENT and self._answers < _ANSWERS

    @property
    def events(self) -> int:
        """For which its socket is watched; 0: for none."""
        read = self.handshake is not None or self.is_read
        return (selectors.EVENT_READ if read else 0) | (selectors.EVENT_WRITE if self._wants_write else 0)


class _TelnetClient(_Client):
    kind = "telnet"
    reads_on = False

    def _begin(self) -> None:
        self._telnet = Telnet()
        self._line_mask, self._modem_mask = 0, 255
        self._break_began: float | None = None
        self._greeted = False
        self._answer()

    def _answer(self) -> None:
        if self._telnet.answers:
            self.put(bytes(self._telnet.answers))
            self._telnet.answers.clear()
        if not self._greeted and (self._telnet.theirs[COM_PORT] or self._telnet.ours[COM_PORT]):
            self._greeted = True
            self._notify_modem()

    def encode(self, records: Sequence[RxByte]) -> bytes:
        """The bytes; before one with a fault a notification, if the client wants to know of it."""
        if not self._line_mask:
            return self._telnet.encode(bytes(record.data for record in records))
        out = bytearray()
        for record in records:
            state = LineState(0)
            state |= LineState.PARITY if record.parity_error else state
            state |= LineState.FRAMING if record.framing_error else state
            state |= LineState.BREAK if record.is_break else state
            if state & self._line_mask:
                out += answer(Com.LINE_STATE, bytes([state & self._line_mask]))
            out += self._telnet.encode(bytes([record.data]))
        return bytes(out)

    def gap(self, count: int) -> bytes:
        """An overrun, if the client wants to know of it."""
        return answer(Com.LINE_STATE, bytes([LineState.OVERRUN])) if self._line_mask & LineState.OVERRUN else b""

    def take(self, data: bytes) -> None:
        """Bytes for the line, and requests, in their order."""
        for item in self._telnet.feed(data):
            if isinstance(item, bytes):
                self.server.send(self, item)
            elif isinstance(item, Request):
                self._obey(item)
            elif item is BREAK:
                self.server.request(self, partial(self.server.break_line, _TELNET_BREAK))
        self._answer()

    def _notify_modem(self) -> None:
        """There are no such lines: the line is always ready."""
        self.put(answer(Com.MODEM_STATE, bytes([_ALWAYS_ON & self._modem_mask])))

    def _obey(self, request: Request) -> None:
        command, number, server = request.command, request.number, self.server
        if command is Com.SIGNATURE:
            if not request.value:  # else it is the client's own
                self.put(answer(command, f"LitePulse {__version__} {server.port.board.name}".encode()))
        elif command in (Com.BAUD_RATE, Com.DATA_SIZE, Com.PARITY, Com.STOP_SIZE):
            server.request(self, partial(server.set, command, number))
        elif command is Com.CONTROL:
            self._control(number)
        elif command is Com.LINE_STATE:
            server.request(self, server.line_state)
        elif command is Com.MODEM_STATE:
            self._notify_modem()
        elif command in (Com.SUSPEND, Com.RESUME):
            self.suspended = command is Com.SUSPEND
        elif command is Com.LINE_STATE_MASK:
            self._line_mask = number
            self.put(answer(command, request.value))
        elif command is Com.MODEM_STATE_MASK:
            self._modem_mask = number
            self.put(answer(command, request.value))
        elif number in (1, 2, 3):  # Com.PURGE
            if number & 1:
                self.discard()
            if number & 2:
                server.take_back(self)
            self.put(answer(command, request.value))

    def _control(self, number: int) -> None:
        """The answer is the state that the line has then: it has no flow control, and what stands for RTS and DTR is always on."""
        state: Control | None = None
        if number in _FLOW_OUT:
            state = Control.NO_FLOW
        elif number in _FLOW_IN:
            state = Control.NO_FLOW_IN
        elif number in (Control.DTR, Control.DTR_ON, Control.DTR_OFF):
            state = Control.DTR_ON
        elif number in (Control.RTS, Control.RTS_ON, Control.RTS_OFF):
            state = Control.RTS_ON
        elif number == Control.BREAK:
            state = Control.BREAK_OFF if self._break_began is None else Control.BREAK_ON
        elif number == Control.BREAK_ON:
            self._break_began = time.monotonic() if self._break_began is None else self._break_began
            state = Control.BREAK_ON
        elif number == Control.BREAK_OFF:
            began, self._break_began = self._break_began, None
            if began is not None:  # its length is known only now
                self.server.request(self, partial(self._break_line, min(time.monotonic() - began, _LONGEST_BREAK)))
                return
            state = Control.BREAK_OFF
        if state is not None:
            self.put(answer(Com.CONTROL, bytes([state])))

    def _break_line(self, seconds: float) -> bytes:
        self.server.break_line(seconds)
        return answer(Com.CONTROL, bytes([Control.BREAK_OFF]))


class _TimesClient(_Client):
    kind = "times"

    def _begin(self) -> None:
        self.put(self.server.heading())

    def encode(self, records: Sequence[RxByte]) -> bytes:
        """A line for each."""
        return self.server.lines(records)

    def gap(self, count: int) -> bytes:
        """A line."""
        return _line({"lost": count, "by": "client"})

    def tell(self, line: bytes) -> None:
        """A line that is no byte: also this is lost if too much waits."""
        if self._size + len(line) <= self.server.buffer:
            self._add(_Batch(line, 0))

    def take(self, data: bytes) -> None:
        """Whatever a client sends here is ignored."""


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values).encode() + b"\n"


# The server -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Work:
    """Something to be done on the line, in turn: bytes to be sent, or what gives an answer."""

    client: _Client
    data: bytes
    action: Callable[[], bytes | None] | None

    @property
    def size(self) -> int:
        """What it counts for in the client's share."""
        return len(self.data) if self.action is None else _PIECE


class TerminalServer:
    """Offers an open Serial on TCP ports while it is entered as a context; two threads serve the clients meanwhile.

    telnet, raw, times: numbers of TCP ports, 0 for any that is free, None for none; `ports` has them then
    listen: an address of this machine; beyond the loopback only with tls, a PEM file with certificate and key, and clients, a PEM file
        with the certificates of those who sign for clients
    gather: received bytes are sent together, the first one this much after it came; 0: at once
    buffer: bytes that wait for a client; what comes then is lost for it, and counted

    received, sent, lost: bytes by now, lost ones by the board; dropped: for clients that were too slow. report: is called with what
    happens to clients.
    """

    kinds: ClassVar[dict[str, type[_Client]]] = {"telnet": _TelnetClient, "raw": _Client, "times": _TimesClient}

    def __init__(
        self,
        port: Serial,
        *,
        telnet: Whole | None = None,
        raw: Whole | None = None,
        times: Whole | None = None,
        listen: str = LOOPBACK,
        gather: Time = 0,
        tls: str | Path | None = None,
        clients: str | Path | None = None,
        buffer: Whole = BUFFER,
        report: Callable[[str], None] = lambda text: None,
    ) -> None:
        if not isinstance(cast(object, port), Serial):
            raise BadInput(f"port: {shown(port)} is not a Serial")
        if not callable(cast(object, report)):
            raise BadInput(f"report: {shown(report)} cannot be called")
        if not isinstance(cast(object, listen), str):
            raise BadInput(f"listen: {shown(listen)} is not text")
        for what, path in (("tls", tls), ("clients", clients)):
            if path is not None and not isinstance(cast(object, path), str | os.PathLike):
                raise BadInput(f"{what}: {shown(path)} is not a path")
        self.port, self.report, self.listen = port, report, listen
        self.name = str(port.port)
        given = {"telnet": telnet, "raw": raw, "times": times}
        self.ports = {kind: within(number, kind, 0, 65535) for kind, number in given.items() if number is not None}
        if not self.ports:
            raise BadInput("telnet, raw, times: give the number of a port for at least one of them")
        self.gather = to_duration(gather, "gather")
        self.buffer = within(buffer, "buffer", 1 << 12, 1 << 30)
        self._family, self._host = _address(listen)
        check_protection(listen, tls, clients)
        self._context = None if tls is None else _context(tls, clients)
        self.received = self.sent = self.lost = self.dropped = 0
        self.error: LitePulseError | None = None
        self._clients: dict[_Client, int] = {}  # and for what each is watched
        self._listeners: list[socket.socket] = []
        self._pending: list[RxByte] = []
        self._since = 0.0  # when the first of them came
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)
        self._work: deque[_Work] = deque()
        self._inside: set[_Client] = set()  # whose bytes the board may have
        self._done: deque[Callable[[], None]] = deque()  # what the thread of the sockets is to do then
        self._end = False
        self._second = (-1, "")  # and its text
        self._written: tuple[Sequence[RxByte], bytes] = ((), b"")  # the lines of these
        self._full = False
        self._threads: list[threading.Thread] = []

    # Beginning and end

    def __enter__(self) -> Self:
        board = self.port.board
        self._gather = float(board.timescale.ticks(self.gather) / board.timescale.tick_hz)
        if self._gather > _LONGEST_GATHER:
            raise BadInput(f"gather: bytes wait for {_LONGEST_GATHER:g} s at most")
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        try:
            for end in (self._wake, self._woken):
                end.setblocking(False)
            self._selector.register(self._woken, selectors.EVENT_READ)
            for kind, number in self.ports.items():
                self.ports[kind] = self._listen(kind, number)
            self._selector.register(self.port.fileno(), selectors.EVENT_READ)
        except BaseException:
            self._close()
            raise
        self._threads = [
            threading.Thread(target=run, name=f"{run.__name__} {board.name}", daemon=True) for run in (self._serve, self._write)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop()
        self.port.cancel_write()
        for thread in self._threads:
            thread.join()
        self._close()

    def _listen(self, kind: str, number: int) -> int:
        try:
            listener = socket.create_server((self._host, number), family=self._family, backlog=16)
        except OSError as error:
            raise BadInput(f"{kind}: cannot listen on {self._host} port {number} ({os.strerror(error.errno or 0)})") from None
        listener.setblocking(False)
        self._listeners.append(listener)
        self._selector.register(listener, selectors.EVENT_READ, self.kinds[kind])
        return int(listener.getsockname()[1])

    def _stop(self) -> None:
        with self._turn:
            self._end = True
            self._turn.notify_all()
        with suppress(OSError):
            self._wake.send(b"\0")

    def _close(self) -> None:
        for client in list(self._clients):
            self._drop(client)
        for each in (*self._listeners, self._wake, self._woken):
            each.close()
        self._listeners.clear()
        self._selector.close()

    def check(self) -> None:
        """Raises what ended the server: the board is gone."""
        if self.error:
            raise self.error

    @property
    def clients(self) -> int:
        """How many are connected."""
        return len(self._clients)

    # The thread of the sockets

    def _serve(self) -> None:
        try:
            while not self._end:
                for key, _ in self._selector.select(self._patience()):
                    if isinstance(key.data, _Client):
                        self._attend(key.data)
                    elif key.data is not None:
                        self._accept(cast(socket.socket, key.fileobj), key.data)
                    elif key.fileobj is self._woken:
                        with suppress(BlockingIOError):
                            self._woken.recv(4096)
                self._receive()
                while self._done:
                    self._done.popleft()()
                self._look_after_clients()
            self._hand_out()
            self._look_after_clients()
        except (serial.SerialException, LitePulseError) as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self._end:
            self.error = error if isinstance(error, LitePulseError) else LitePulseError(str(error))
        self._stop()

    def clock(self) -> float:
        """Seconds by which bytes are gathered."""
        return time.monotonic()

    def _patience(self) -> float:
        return max(0.0, min(_REST, self._since + self._gather - self.clock())) if self._pending else _REST

    def _receive(self) -> None:
        """Takes what the board received, and hands it out when it is time."""
        found = self.port.read(self.port.in_waiting).records
        lost = self.port.lost
        if found:
            if not self._pending:
                self._since = self.clock()
            self._pending += found
            self.received += len(found)
        if lost > self.lost:
            missing, self.lost = lost - self.lost, lost
            self.tell({"lost": missing, "by": "board"})
        if self._pending and self.clock() >= self._since + self._gather:
            self._hand_out()

    def _hand_out(self) -> None:
        records, self._pending = self._pending, []
        if records:
            for client in self._clients:
                if client.handshake is None:
                    client.deliver(records)

    def tell(self, values: dict[str, Any]) -> None:
        """A line, to all who read times, behind the bytes before it."""
        self._hand_out()
        for client in self._clients:
            if isinstance(client, _TimesClient):
                client.tell(_line(values))

    def _look_after_clients(self) -> None:
        """Sends what waits, drops those that are gone, and watches the others for what they need."""
        for client in list(self._clients):
            try:
                client.check()
                client.flush()
            except OSError:
                self._drop(client)
                continue
            events = client.events
            if events != self._clients[client]:
                self._watch(client, events)

    def _watch(self, client: _Client, events: int) -> None:
        if not self._clients[client]:
            self._selector.register(client.socket, events, client)
        elif events:
            self._selector.modify(client.socket, events, client)
        else:
            self._selector.unregister(client.socket)
        self._clients[client] = events

    def _accept(self, listener: socket.socket, kind: type[_Client]) -> None:
        try:
            connection, address = listener.accept()
        except OSError:  # the client is gone again, or there are no files left
            time.sleep(_POLL)
            return
        name = f"{address[0]} port {address[1]} ({kind.kind})"
        try:
            connection.setblocking(False)
            if len(self._clients) >= MOST_CLIENTS and (ended := next((client for client in self._clients if client.ended), None)):
                self._drop(ended)
            if len(self._clients) >= MOST_CLIENTS:
                if not self._full:  # once, not for each of a flood
                    self.report(f"{name}: refused, {MOST_CLIENTS} clients are connected already")
                self._full = True
                connection.close()
                return
            self._full = False
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL)
            _probe(connection, _ALIVE)
            if self._context:
                connection = self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        except OSError:
            connection.close()
            return
        client = kind(self, connection, name)
        self._clients[client] = 0
        self._watch(client, selectors.EVENT_READ)

    def _attend(self, client: _Client) -> None:
        if client not in self._clients:
            return
        try:
            client.receive()
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except (OSError, EOFError) as error:
            if client.handshake is not None and isinstance(error, ssl.SSLError):
                self.report(f"{client.name}: refused, {error.reason or 'no TLS'}")
            self._drop(client)

    def _drop(self, client: _Client) -> None:
        if self._clients.pop(client):
            self._selector.unregister(client.socket)
        client.socket.close()
        self.dropped += client.lost
        if client.lost:
            self.report(f"{client.name}: {counted(client.lost, 'byte')} lost, because it read too slowly")

    # Lines of JSON

    def _settings(self) -> dict[str, str]:
        port = self.port
        stop = f"{port.stopbits:g}"
        return {"baud": exact(Fraction(port.baudrate)), "format": f"{port.bytesize}{port.parity}{stop}"}

    def heading(self) -> bytes:
        """The first line."""
        board = self.port.board
        identity = board.identity
        about = {"device": board.name, "backend": identity.backend, "simulated": board.simulated, "tick_hz": exact(board.tick_hz)}
        return _line({**about, **self._settings()})

    def lines(self, records: Sequence[RxByte]) -> bytes:
        """A line for each byte; they are written once for all clients."""
        if records is not self._written[0]:
            self._written = records, "".join(map(self._line_of, records)).encode()
        return self._written[1]

    def _line_of(self, record: RxByte) -> str:
        board = self.port.board
        ns, bound = record.ns, record.uncertainty
        if ns is None or board.clock != CLOCK:
            at = board.time_of(record.tick, CLOCK)
            ns, bound = at.ns, at.uncertainty
        flags = f', "flags": {json.dumps(record.flags)}' if record.flags else ""
        return f'{{"tick": {record.tick}, "utc": "{self._utc(ns)}", "bound": {bound}, "byte": {record.data}{flags}}}\n'

    def _utc(self, ns: int) -> str:
        second, rest = divmod(ns, 10**9)
        if second != self._second[0]:
            self._second = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._second[1]}.{rest:09d}Z"

    # What clients want of the line, called in the same thread

    def send(self, client: _Client, data: bytes) -> None:
        """Bytes for the line; of fewer data bits the upper ones are left out, as a UART does."""
        self._append(_Work(client, data, None))

    def request(self, client: _Client, action: Callable[[], bytes | None]) -> None:
        """Does something behind the bytes that were sent before, and sends the answer that it gives."""
        self._append(_Work(client, b"", action))

    def _append(self, work: _Work) -> None:
        with self._turn:
            work.client.unsent += work.size
            self._work.append(work)
            self._turn.notify_all()

    def take_back(self, client: _Client) -> None:
        """Bytes of this client that have not left do not; those of others do, so what both have in the board stays there."""
        with self._turn:
            kept = [work for work in self._work if work.client is not client or work.action]
            client.unsent -= sum(work.size for work in self._work) - sum(work.size for work in kept)
            self._work = deque(kept)
            alone = self._inside <= {client}
        if alone:
            self.port.reset_output_buffer()

    # The thread of the line: what waits until bytes have left

    def _write(self) -> None:
        try:
            while work := self._next():
                data = None
                if work.action:
                    data = work.action()
                else:
                    self._transmit(work)
                with self._turn:
                    work.client.unsent -= work.size
                if data:
                    self._done.append(partial(work.client.put, data))
                with suppress(OSError):
                    self._wake.send(b"\0")
        except (serial.SerialException, LitePulseError) as error:
            self._fail(error)

    def _next(self) -> _Work | None:
        """The next piece of work; None at the end."""
        with self._turn:
            while not self._work and not self._end:
                self._turn.wait()
            if self._end:
                return None
            work = self._work.popleft()
            if len(work.data) > _PIECE:
                self._work.appendleft(_Work(work.client, work.data[_PIECE:], None))
                work = _Work(work.client, work.data[:_PIECE], None)
            return work

    def _transmit(self, work: _Work) -> None:
        while (waiting := self.port.out_waiting) > _PIECE and not self._end:
            time.sleep(_POLL)
        with self._lock:
            if not waiting:
                self._inside.clear()
            self._inside.add(work.client)
        mask = (1 << int(self.port.bytesize)) - 1
        self.sent += self.port.write(work.data if mask == 255 else bytes(byte & mask for byte in work.data))

    def _await_line(self) -> None:
        """Until what was written has left: settings do not change it, and the lock of the port is free meanwhile."""
        while self.port.out_waiting and not self._end:
            time.sleep(_POLL)

    def set(self, command: Com, number: int) -> bytes:
        """Changes a setting, if it can be, and answers with what it is then; 0 only asks."""
        port, name = self.port, {Com.BAUD_RATE: "baudrate", Com.DATA_SIZE: "bytesize", Com.PARITY: "parity"}.get(command, "stopbits")
        value: object = {Com.PARITY: _PARITIES, Com.STOP_SIZE: _STOPS}.get(command, {}).get(number, number)
        before = getattr(port, name)
        if number and value != before:
            self._await_line()
            try:
                setattr(port, name, value)
            except ValueError:
                with suppress(ValueError):
                    setattr(port, name, before)
            else:
                self._done.append(partial(self.tell, {"tick": port.now().tick, **self._settings()}))
        is_now = getattr(port, name)
        if command is Com.BAUD_RATE:
            return answer(command, min(round(is_now), (1 << 32) - 1).to_bytes(4, "big"))
        table = {Com.PARITY: _PARITIES, Com.STOP_SIZE: _STOPS}.get(command)
        return answer(command, bytes([next(key for key, each in table.items() if each == is_now) if table else int(is_now)]))

    def line_state(self) -> bytes:
        """Whether all has left; faults are reported with the bytes that have them."""
        empty = LineState.HOLDING_EMPTY | LineState.SHIFT_EMPTY
        return answer(Com.LINE_STATE, bytes([0 if self.port.out_waiting else empty]))

    def break_line(self, seconds: float) -> None:
        """A break of this length, behind what was sent before."""
        self._await_line()
        try:
            self.port.send_break(seconds)
        except LitePulseError as error:
            self.report(str(error))
