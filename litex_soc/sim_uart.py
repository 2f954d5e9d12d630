# SPDX-License-Identifier: BSD-2-Clause
"""A UART at the pins of the simulated SoC, with a pseudo-terminal or a TCP port for its bytes: what a program writes there comes as frames
to the board's RX, and what the board sends comes out as bytes.

    python -m litex_soc.sim_soc -- --tcp 4000 --pace --link /tmp/wire &
    python -m litex_soc.sim_uart --link /tmp/wire --baud 9600 --pty /tmp/patient

It is the other end of `--link` (litex_soc/sim/link.h): every edge has its exact tick. It sends 8N1 without a gap while it has bytes, and
edge k of a row at floor(start + k * bit period), the period unrounded. It holds 16 bytes that have not left, as a 16550 does.
"""

import argparse
import contextlib
import json
import os
import pty
import select
import signal
import socket
import struct
import sys
import time
import tty
from collections import deque
from collections.abc import Callable, Iterable
from fractions import Fraction

MAGIC = 0x314B4E494C50  # of litex_soc/sim/link.h
GREETING = struct.Struct("=QIIQ")
WORD = struct.Struct("=Q")
FIFO = 16
DELAY = 1000  # of litepulse-sim's --link-delay
HZ = Fraction(1_000_000)  # of litepulse-sim's --pace
CONNECT_SECONDS = 20


class SimUart:
    """The UART. `take(room)` gives up to `room` bytes that are to be sent, `give(bytes)` gets those
    that were received."""

    BITS = 10  # 8N1

    def __init__(self, bit: Fraction, delay: int, take: Callable[[int], bytes], give: Callable[[bytes], None]) -> None:
        """bit: period in ticks; delay: of the link, in ticks."""
        self.bit, self.delay, self.take, self.give = bit, delay, take, give
        self.now = 0  # tick of this end, which begins at 0 when the two met
        self.sending: deque[int] = deque()  # bytes that have not begun
        self.edges: deque[tuple[int, int]] = deque()  # (tick, level) not yet reported
        self.free = Fraction(0)  # when the line is free
        self.level = 1
        self.changes: list[tuple[int, int]] = [(-1, 1)]  # of RX, (tick, level); what lies behind is forgotten
        self.heard = 0  # RX is understood up to here

    def frame(self, byte: int) -> Iterable[tuple[Fraction, int]]:
        """(bit times from the start edge, level) of each change within a frame."""
        levels = [0, *(byte >> k & 1 for k in range(8)), 1]
        before = 1
        for k, level in enumerate(levels):
            if level != before:
                yield Fraction(k), level
            before = level

    def length(self, byte: int) -> Fraction:
        """Bit times from a frame's start to that of the next one at the earliest."""
        del byte
        return Fraction(self.BITS)

    def pass_time(self, until: int) -> list[tuple[int, int]]:
        """Simulates the ticks before `until`; what it does to TX: [(tick, level)], at last (until, the level then)."""
        while self.now < until:
            self.sending.extend(self.take(FIFO - len(self.sending)) if len(self.sending) < FIFO else b"")
            if not self.sending or self.free >= until:
                break
            start = max(Fraction(self.now), self.free)
            byte = self.sending.popleft()
            self.edges.extend((int(start + k * self.bit), level) for k, level in self.frame(byte))
            self.free = start + self.length(byte) * self.bit
        passed: list[tuple[int, int]] = []
        while self.edges and self.edges[0][0] < until:
            passed.append(self.edges.popleft())
            self.level = passed[-1][1]
        self.now = until
        self.receive(until)
        return [*passed, (until, self.level)]

    def hear(self, tick: int, level: int) -> None:
        """RX has this level from this tick on."""
        if level != self.changes[-1][1]:
            self.changes.append((tick, level))

    def receive(self, until: int) -> None:
        """Understands RX before a tick: each bit is looked at in its middle."""
        while True:
            start = next((tick for tick, level in self.changes if tick >= self.heard and not level), None)
            if start is None or start + Fraction(2 * self.BITS - 1, 2) * self.bit >= until:
                return
            bits = [self.level_at(start + Fraction(2 * k + 1, 2) * self.bit) for k in range(self.BITS)]
            if not bits[0] and bits[-1]:
                self.give(bytes([sum(bit << k for k, bit in enumerate(bits[1:-1]))]))
            # The next start bit may come within the second half of the stop bit; a break ends with the line.
            self.heard = int(start + Fraction(2 * self.BITS - 1, 2) * self.bit)
            last = max(k for k, (tick, _) in enumerate(self.changes) if tick <= self.heard)
            del self.changes[:last]

    def level_at(self, tick: Fraction) -> int:
        """Of RX."""
        return next(level for at, level in reversed(self.changes) if at <= tick)


def connect(path: str, hz: Fraction, delay: int) -> socket.socket:
    """The socket of the simulated SoC's --link, greeted."""
    end = time.monotonic() + CONNECT_SECONDS
    while True:
        link = socket.socket(socket.AF_UNIX)
        try:
            link.connect(path)
            link.sendall(GREETING.pack(MAGIC, hz.numerator, hz.denominator, delay))
            return link
        except (FileNotFoundError, ConnectionRefusedError):
            link.close()
            if time.monotonic() > end:
                raise
        time.sleep(0.02)


def run(link: socket.socket, uart: SimUart, over: Callable[[], bool] = lambda: False) -> None:
    """Keeps in step with the simulated SoC until that ends, or `over()`."""
    link.sendall(WORD.pack(0 << 1 | 1))
    data, greeted, theirs = b"", False, None
    while not over():
        if not select.select([link], [], [], 0.1)[0]:
            continue
        try:
            more = link.recv(1 << 16)
        except ConnectionResetError:
            return
        if not more:
            return
        data += more
        if not greeted:
            if len(data) < GREETING.size:
                continue
            data, greeted = data[GREETING.size :], True
        whole = len(data) // WORD.size * WORD.size
        arrives = uart.now
        for (word,) in WORD.iter_unpack(data[:whole]):
            theirs = word >> 1 if theirs is None else theirs
            arrives = (word >> 1) - theirs + uart.delay
            uart.hear(arrives, word & 1)
        data = data[whole:]
        done = uart.pass_time(max(uart.now, arrives))
        with contextlib.suppress(BrokenPipeError):
            link.sendall(b"".join(WORD.pack(tick << 1 | level) for tick, level in done))


class Terminal:
    """A pseudo-terminal for the bytes."""

    def __init__(self, path: str | None) -> None:
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        os.set_blocking(self.master, False)
        self.name, self.path = os.ttyname(self.slave), path
        if path:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            os.symlink(self.name, path)

    def take(self, room: int) -> bytes:
        """What a program has written."""
        try:
            return os.read(self.master, room)
        except BlockingIOError:
            return b""

    def give(self, data: bytes) -> None:
        """To a program; what finds no room is lost, as in a UART that overruns."""
        with contextlib.suppress(BlockingIOError):
            os.write(self.master, data)

    def close(self) -> None:
        """Takes the link away."""
        os.close(self.master)
        os.close(self.slave)
        if self.path:
            os.unlink(self.path)


class Port:
    """A TCP port for the bytes, one client after the other."""

    def __init__(self, number: int) -> None:
        self.listener = socket.create_server(("127.0.0.1", number))
        self.listener.setblocking(False)
        self.number = self.listener.getsockname()[1]
        self.client: socket.socket | None = None

    def _meet(self) -> socket.socket | None:
        if self.client is None:
            with contextlib.suppress(BlockingIOError):
                self.client = self.listener.accept()[0]
                self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.client.setblocking(False)
        return self.client

    def take(self, room: int) -> bytes:
        """What the client has sent."""
        client = self._meet()
        if client is None:
            return b""
        try:
            data = client.recv(room)
        except BlockingIOError:
            return b""
        except ConnectionResetError:
            data = b""
        if not data:
            client.close()
            self.client = None
        return data

    def give(self, data: bytes) -> None:
        """To the client, if there is one."""
        client = self._meet()
        if client:
            with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                client.sendall(data)

    def close(self) -> None:
        """Listens no more."""
        self.listener.close()
        if self.client:
            self.client.close()


def main(argv: list[str] | None = None) -> int:
    """The program: one line of JSON when it is ready, then until the simulated SoC ends."""
    parser = argparse.ArgumentParser(prog="python -m litex_soc.sim_uart", description="A UART at the pins of the simulated SoC.")
    parser.add_argument("--link", required=True, metavar="SOCKET", help="that of the simulated SoC's --link")
    parser.add_argument("--baud", required=True, type=Fraction, metavar="RATE", help="bit rate, also a fraction a/b")
    parser.add_argument("--pty", nargs="?", const="", metavar="LINK", help="a pseudo-terminal for its bytes (default)")
    parser.add_argument("--tcp", type=int, metavar="PORT", help="127.0.0.1:PORT for its bytes instead; 0 takes a free one")
    parser.add_argument("--pulse-hz", type=Fraction, default=HZ, metavar="N", help="clock of the simulated SoC (default %(default)s)")
    parser.add_argument("--link-delay", type=int, default=DELAY, metavar="N", help="as the simulated SoC's (default %(default)s)")
    args = parser.parse_args(argv)
    if args.tcp is not None and args.pty is not None:
        parser.error("--pty and --tcp exclude each other")
    bit = args.pulse_hz / args.baud if args.baud > 0 else Fraction(0)
    if bit < 4:
        parser.error(f"--baud: {args.baud} is not within 0 and a quarter of the clock, {args.pulse_hz / 4}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    door = Terminal(args.pty or None) if args.tcp is None else Port(args.tcp)
    try:
        link = connect(args.link, args.pulse_hz, args.link_delay)
        where = {"pty": door.name} if isinstance(door, Terminal) else {"tcp": door.number}
        print(json.dumps({**where, "baud": str(args.baud), "pid": os.getpid()}), flush=True)
        run(link, SimUart(bit, args.link_delay, door.take, door.give))
    except OSError as error:
        print(f"sim_uart: {args.link}: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        pass
    finally:
        door.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
