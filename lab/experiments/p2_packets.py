# SPDX-License-Identifier: BSD-2-Clause
"""P2, the study's first table: packets, acknowledgements and transfer times of a line on a network, and whether each byte's time is exact.

Bytes come in a row at the pins of the simulated board. A program looks at the board; what each look brings is then served by the
server of `litepulse serve`, whose clock is the board's: its packets leave at ticks of the board, however slow this machine is. They go
over the loopback with the packet size of an Ethernet, and the kernel counts them and their acknowledgements.
"""

import contextlib
import json
import math
import select
import socket
import struct
import tempfile
import threading
from fractions import Fraction
from pathlib import Path

import litepulse
from lab.experiments.experiment import RTL, Step, check
from litepulse import terminal_server
from litepulse.backends.interface import Wanted
from litepulse.line import Format, Profile
from litepulse.serial_port import TimedBytes
from litepulse.streams import Lost, RxByte
from sim.soc.soc_rig import Simulated

BAUDS = (1200, 2400, 4800, 9600, 19_200, 38_400, 57_600, 115_200)  # those of the study
GATHERS = (0, 200)  # ms
FILE = 48_890  # bytes of the study's file
SECONDS = Fraction(5, 4)  # of the line
HZ = 2_400_000  # of the simulated board
LOOK = 2400  # cycles of a transaction with the board: 1 ms
LOOK_MS = 3000 * LOOK / HZ  # a look is three of them, and its tick that of the first
BEGIN = HZ // 5  # tick of the first start edge, behind all settings
STAMPED = 1  # ticks from a change of the pin to its stamp
SEGMENT = 1448  # bytes of a packet, as on an Ethernet
PACKETS_IN, SEGMENTS_OUT = 152, 136  # offsets in the kernel's struct tcp_info: data segments that came, all segments that left
PATIENCE = 60  # s


def frames(count, baud):
    """([(tick, level)], [tick of each start edge]) of 8N1 frames in a row."""
    wave, starts, bit = [], [], Fraction(HZ, baud)
    for number in range(count):
        start = BEGIN + 10 * bit * number
        starts.append(int(start))
        byte = number * 7 & 255
        levels = [0, *(byte >> place & 1 for place in range(8)), 1]
        wave += [(int(start + place * bit), level) for place, level in enumerate(levels)]
    return [entry for before, entry in zip([(0, 1), *wave], wave) if entry[1] != before[1]], starts


def looks(baud, count):
    """([(tick of a look that brought bytes, those)], transactions) of a program that looks at the board all the time."""
    wave, starts = frames(count, baud)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        stimulus = Path(folder) / "bytes"
        stimulus.write_text("".join(f"{tick} rx {level}\n" for tick, level in wave))
        rig = stack.enter_context(Simulated("--step", LOOK, "--pulse-hz", HZ, "--stimulus", stimulus, connect=False))
        board = stack.enter_context(litepulse.open(port=f"tcp:127.0.0.1:{rig.info['tcp']}"))
        backend = board.backend
        backend.line.set_receiver(Profile(board.timescale.bit_period(baud), Format(8, "none", 0)), True, False)
        backend.recorder.record(Wanted(received=True))
        check(backend.now() < BEGIN, "the settings took too long")
        found, number, end = [], 0, starts[-1] + 40 * HZ
        while number < count:
            batch = backend.recorder.read()
            check(not any(isinstance(record, Lost) for record in batch.received), f"{baud} baud: the board lost bytes")
            check(batch.now < end, f"{baud} baud: {number} of {count} bytes came")
            if batch.received:
                found.append((batch.now, list(batch.received)))
                number += len(batch.received)
    records = [record for _, some in found for record in some]
    check([record.data for record in records] == [number * 7 & 255 for number in range(count)], f"{baud} baud: bytes are wrong")
    return found, [record.tick - tick - STAMPED for record, tick in zip(records, starts, strict=True)], starts


class Line(litepulse.Serial):
    """What a server reads: the records that it is given."""

    def __init__(self, board):
        self.stand_in, self.records = board, []
        self.mine, self.theirs = socket.socketpair()
        super().__init__(None, 9600, timeout=0)
        self.is_open = True

    @property
    def board(self):
        return self.stand_in

    @property
    def out_waiting(self):
        return 0

    def fileno(self):
        return self.theirs.fileno()

    def hear(self, records):
        """Some more, perhaps none: the server looks."""
        self.records += records
        self.mine.send(b"\0")

    @property
    def in_waiting(self):
        return len(self.records)

    def read(self, size=1):
        if select.select([self.theirs], [], [], 0)[0]:
            self.theirs.recv(4096)
        taken, self.records = TimedBytes(self.records[:size]), self.records[size:]
        return taken

    @property
    def lost(self):
        return 0

    def cancel_write(self):
        pass

    def close(self):
        self.mine.close()
        self.theirs.close()


class Server(terminal_server.TerminalServer):
    """Its clock is the board's, and it reports when it has done all that is due by then."""

    def __init__(self, port, **options):
        super().__init__(port, **options)
        self.line, self.tick, self.seen, self.done = port, 0, -1, threading.Condition()

    def clock(self):
        return self.tick / HZ

    def _receive(self):
        self.seen = self.tick
        super()._receive()

    def _look_after_clients(self):
        super()._look_after_clients()
        with self.done:
            self.done.notify_all()

    @property
    def deadline(self):
        """Tick at which what it gathers is due; None if there is nothing."""
        return math.ceil((self._since + self._gather) * HZ) + 1 if self._pending else None

    def advance(self, tick, records=()):
        """Serves what has come until a tick of the board."""
        with self.done:
            self.tick, self.seen = tick, -1
            self.line.hear(list(records))
            check(self.done.wait_for(lambda: self.seen == tick, PATIENCE), "the server does not answer")


def counted(client):
    """(packets with data that came, acknowledgements that left)."""
    known = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("I", known, PACKETS_IN)[0], struct.unpack_from("I", known, SEGMENTS_OUT)[0]


def connect(server, kind):
    """A client that takes packets as an Ethernet has them."""
    client = socket.socket()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT)
    client.connect(("127.0.0.1", server.ports[kind]))
    client.setblocking(False)
    return client


def take(client):
    """What is there."""
    data = b""
    with contextlib.suppress(BlockingIOError):
        while part := client.recv(1 << 16):
            data += part
    return data


class StandIn:
    """As much of a board as the server asks for."""

    name, simulated, clock = "a simulated board", True, "realtime"
    tick_hz = Fraction(HZ)
    timescale = litepulse.Timescale(HZ)
    identity = type("Identity", (), {"backend": "uartbone"})


def serve(found, gather, errors, starts, baud):
    """Figures of what `litepulse serve` makes of what the looks brought."""
    count = len(starts)
    given = [(tick, [RxByte(one.tick, one.data, ns=0) for one in records]) for tick, records in found]
    with contextlib.ExitStack() as stack:
        line = Line(StandIn())
        stack.callback(line.close)
        server = stack.enter_context(Server(line, raw=0, times=0, gather=f"{gather}ms"))
        clients = {kind: stack.enter_context(connect(server, kind)) for kind in ("raw", "times")}
        tick, got, packets = BEGIN - 1, {kind: b"" for kind in clients}, {kind: [] for kind in clients}
        while server.clients < len(clients):
            server.advance(tick)
        server.advance(tick)
        head = take(clients["times"])
        begun = {kind: counted(client) for kind, client in clients.items()}
        number = 0
        while len(got["raw"]) < count:
            due = [at for at, _ in given[number : number + 1]]
            if (until := server.deadline) is not None:
                due.append(max(tick, until))
            check(due, "bytes do not arrive")
            tick, some = min(due), []
            while number < len(given) and given[number][0] <= tick:
                some += given[number][1]
                number += 1
            server.advance(tick, some)
            for kind, client in clients.items():
                got[kind] += take(client)
                new = counted(client)[0] - begun[kind][0]
                if new > (packets[kind][-1][1] if packets[kind] else 0):
                    packets[kind].append((tick, new))
        last = tick
        server.advance(tick + LOOK)
        got["times"] += take(clients["times"])
        acks = {kind: counted(client)[1] - begun[kind][1] for kind, client in clients.items()}
    lines = [json.loads(one) for one in (head + got["times"]).splitlines()][-count:]
    check(got["raw"] == bytes(number * 7 & 255 for number in range(count)), "raw: bytes are wrong")
    check([one["byte"] for one in lines] == [number * 7 & 255 for number in range(count)], "times: bytes are wrong")
    wrong = [one["tick"] - start - STAMPED for one, start in zip(lines, starts, strict=True)]
    check(wrong == errors, "times: the server's ticks are not the board's")
    ended = starts[-1] + 10 * Fraction(HZ, baud)

    def rate(kind):
        """A second, without what the line's end brings: from the first to the last packet while bytes come."""
        steady = [one for one in packets[kind] if one[0] <= ended]
        (first, before), (until, most) = steady[0], steady[-1]
        return (most - before) * HZ / (until - first) if until > first else 0.0

    sent = {kind: packets[kind][-1][1] for kind in packets}
    return {
        "packets_per_second": rate("raw"),
        "times_per_second": rate("times"),
        "acks_per_packet": acks["raw"] / sent["raw"],
        "late_ms": float((last - ended) * 1000 / HZ),
        "transfer_s": float(Fraction(FILE * 10, baud) + (last - ended) / HZ),
    }


def measure(baud, seconds=SECONDS):
    """{"baud", "bytes", "direct": figures, "0" and "200": those through the server}."""
    count = int(seconds * baud / 10)
    found, errors, starts = looks(baud, count)
    ended = starts[-1] + 10 * Fraction(HZ, baud)
    span = Fraction(found[-1][0] - found[0][0], HZ)
    late = Fraction(found[-1][0]) - ended
    return {
        "packets": True,
        "baud": baud,
        "bytes": count,
        "error_ticks": [min(errors), max(errors)],
        "direct": {
            "looks_per_second": float((len(found) - 1) / span),
            "late_ms": float(late * 1000 / HZ),
            "transfer_s": float(Fraction(FILE * 10, baud) + late / HZ),
        },
        "served": {str(gather): serve(found, gather, errors, starts, baud) for gather in GATHERS},
    }


def steps(long):
    """One for each bit rate."""
    seconds = 3 * SECONDS if long else SECONDS
    return [
        Step(
            f"packets-{baud}",
            f"packets of {int(seconds * baud / 10):,} bytes at {baud:,} baud",
            25,
            lambda baud=baud: measure(baud, seconds),
        )
        for baud in BAUDS
    ]


def tables(found):
    """The study's first table."""
    rows = sorted((one for one in found.values() if one.get("packets")), key=lambda one: one["baud"])
    if not rows:
        return []
    wrong = [one for one in rows if one["error_ticks"] != [0, 0]]
    out = [
        "",
        f"**On a network**: bytes in a row for {float(SECONDS):g} s at the pins of a simulated board of {HZ / 10**6:g} MHz ({RTL}).",
        "A program looks at the board all the time, about every 3 ms. *Directly*: it has the bytes. *Served*: clients of",
        "[`litepulse serve`](recipes/terminal-server.md) have them, the bytes on one port and a line with the tick of each on another.",
        "The last byte waits from the begin of its stop bit, as above;",
        "the tick of a look is that at its begin, so 3 ms are added.",
        f"The server's clock is the board's. Packets have {SEGMENT:,} bytes at most; the kernel counted them and their acknowledgements.",
        f"The transfer of the study's {FILE:,} bytes is their time on the line, computed, until the last one is there.",
        "",
        "| baud | way | looks with bytes, or packets, a second | with the times | acknowledgements for a "
        "packet | the last byte waits at most, ms "
        f"| transfer of {FILE:,} bytes, s | error of a byte's time |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in rows:
        error = "0, each to the tick" if one not in wrong else f"**{one['error_ticks'][0]} to {one['error_ticks'][1]} ticks**"
        direct, more = one["direct"], 1000 / one["baud"] + LOOK_MS
        out.append(
            f"| {one['baud']:,} | directly | {direct['looks_per_second']:,.1f} | - | - | {direct['late_ms'] + more:,.1f} "
            f"| {direct['transfer_s']:,.1f} | {error} |"
        )
        for gather, got in one["served"].items():
            way = f"served, `--gather {gather}ms`" if int(gather) else "served at once"
            out.append(
                f"| {one['baud']:,} | {way} | {got['packets_per_second']:,.2f} | {got['times_per_second']:,.1f} "
                f"| {got['acks_per_packet']:.2f} | {got['late_ms'] + more:,.1f} | {got['transfer_s']:,.1f} | {error} |"
            )
    goal = next((one for one in rows if one["baud"] == 19_200), None)
    if goal:
        got = goal["served"]["200"]["packets_per_second"]
        out += [
            "",
            f"The study's 5.02 packets a second at 19,200 baud and 200 ms: {'reached' if got <= 5.02 and not wrong else '**missed**'} "
            f"({got:.2f}), and here each byte has its tick.",
        ]
    return out
