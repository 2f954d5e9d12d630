# SPDX-License-Identifier: BSD-2-Clause
"""The procedure, step by step, on a board and a port that are wired to each other: what it sees are Records. docs/certify.md has it."""

import contextlib
import math
import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from fractions import Fraction

from litepulse.backends.interface import LAUNCH_PROFILE, Backend, Wanted
from litepulse.certify.analysis import alternating, break_in, levels_of
from litepulse.certify.load import Load
from litepulse.certify.patient import ANSWER_SECONDS, Patient
from litepulse.certify.records import LOADS, Block, Break, Echo, Exchange, Reading, Records, Transfer
from litepulse.errors import LitePulseError
from litepulse.interrupt import Flag
from litepulse.job import POLL_SECONDS, Poller, check_alone, tidy
from litepulse.layout import regs
from litepulse.line import Format, Launch, Profile
from litepulse.streams import ChannelEdge, Event, Lost, RxByte, edges
from litepulse.units import si

ROW = 256  # bytes that the patient sends in a row, at most
BLOCK = 24  # bytes of alternating bits in a row, at most
SPARE = 8  # event records that a block leaves free
WIRING = 16  # bytes each way to find out what is wired
BREAKS, BREAK_SECONDS = 5, Fraction(1, 100)
QUIET = Fraction(1)  # seconds of the board's clock without a byte, after which what is missing will not come
# ... in which bytes that were not sent show, and what an adapter does late
SETTLE, SETTLE_BREAK = Fraction(3, 100), Fraction(1, 10)
TIMEOUT = Fraction(3)  # ... after which a request has no answer
PAUSE = 0.01  # seconds between two exchanges, at most: as long as a tick of any kernel
PATIENT_QUIET = 0.3  # seconds without a byte after which the patient has heard all
LEAD = Fraction(1, 100)  # seconds from now to a launch, at least
ATTEMPTS = 6  # to launch something in time, each with twice the lead

Progress = Callable[[str, int], None]


@dataclass(frozen=True)
class Options:
    """What is measured and how often; the rest is fixed by the procedure.

    samples: exchanges under each load; size: bytes each way under each load; blocks: of alternating bits
    enable: input that the patient's driver enable is wired to, None: none is
    """

    baud: int
    format: Format
    samples: int = 1000
    size: int = 4096
    blocks: int = 32
    enable: int | None = None
    seed: int = 1


class Procedure:
    """One run of it. `progress` gets (step, how much of it is done); `steps` are their names, and how much there is to do."""

    def __init__(self, backend: Backend, profile: Profile, patient: Patient, options: Options, interrupt: Flag, progress: Progress) -> None:
        self.backend, self.profile, self.patient, self.options = backend, profile, patient, options
        self.interrupt, self.progress = interrupt, progress
        self.scale, self.poller = backend.identity.timescale, Poller(backend)
        self.line = backend.identity.inputs  # channel
        self.frame = Launch("frame", 0, LAUNCH_PROFILE).length(profile)
        self.values = 1 << options.format.data_bits
        self.lead = LEAD
        self.row = min(ROW, backend.identity.receive_depth // 2)  # bytes that the patient sends in a row
        self.queued = min(ROW, backend.identity.launch_depth)  # ... that the board does
        each = {
            "bytes from the port": -(-options.size // self.row),
            "bytes to the port": -(-options.size // self.queued),
            "latency": options.samples,
        }
        self.steps = {"wiring": 2, "bits": options.blocks, "breaks": BREAKS}
        self.steps |= {f"{step}, {load}": count for load in LOADS for step, count in each.items()}
        self.bytes: list[RxByte] = []
        self.edges: list[ChannelEdge] = []
        self.outcomes: list[Event] = []

    def run(self) -> Records:
        """All of it. LitePulseError if something cannot be measured, KeyboardInterrupt if it is interrupted."""
        options = self.options
        records = Records(options.baud, options.format, enable=options.enable is not None)
        try:
            self.prepare()
            if records.enable:
                records.rs485 = self.patient.ask("enable")["enabled"]
            self.check_wiring()
            before = self.patient.ask("counters")["counters"]
            records.blocks = self.measure_blocks()
            records.breaks = self.measure_breaks()
            for load in LOADS:
                with self.load(load, records):
                    records.from_patient[load] = self.from_patient(load)
                    records.to_patient[load] = self.to_patient(load)
                    records.echo[load] = self.exchange(load)
            after = self.patient.ask("counters")["counters"]
            if before and after:
                records.counters = {name: after[name] - before[name] for name in after}
        finally:
            tidy(self.backend)
        return records

    @contextlib.contextmanager
    def load(self, name: str, records: Records) -> Generator[None]:
        """Under load, busy processes run meanwhile."""
        if name == LOADS[0]:
            yield
            return
        with Load() as load:
            records.load = load.count
            yield

    # The board

    def prepare(self) -> None:
        """Profiles; nothing runs."""
        backend = self.backend
        check_alone(backend)
        backend.line.set_receiver(self.profile, True, False)
        backend.line.set_profile(LAUNCH_PROFILE, self.profile)
        backend.queue.flush()
        backend.pledge(keep=False)

    def begin(self, with_edges: bool = False) -> None:
        """From now on what happens is kept; what was is forgotten."""
        mask = 0
        if with_edges:
            mask = 1 << self.line | (0 if self.options.enable is None else 1 << self.options.enable)
        self.backend.recorder.record(Wanted(("queue",), ("queue",), rise=mask, fall=mask, received=True))
        self.bytes, self.edges, self.outcomes = [], [], []

    def look(self, pause: float = POLL_SECONDS / 4) -> int:
        """What is new; the board's tick."""
        if self.interrupt:
            raise KeyboardInterrupt
        _, batch = self.poller.poll()
        found = len(batch.events) + len(batch.received)
        for event in batch.events:
            if isinstance(event, Lost):
                self._lost(event)
            elif event.kind == "edge":
                self.edges += edges(event, self.scale.samples_per_cycle)
            else:
                self.outcomes.append(event)
        for byte in batch.received:
            if isinstance(byte, Lost):
                self._lost(byte)
            elif not byte.own:
                self.bytes.append(byte)
        self.poller.pause(found > 0, pause)
        return batch.tick

    def _lost(self, lost: Lost) -> None:
        what = f"{lost} were lost on the board, more edges or bytes came than the port can have sent"
        raise LitePulseError(f"certify: {what}: is the wire loose, or the line noisy?")

    def ticks(self, seconds: Fraction) -> int:
        """Of the board."""
        return math.ceil(self.scale.ticks(seconds))

    def wait_bytes(self, count: int) -> None:
        """Until `count` have come, or none came for QUIET."""
        last, seen = self.look(), -1
        while len(self.bytes) < count:
            tick = self.look()
            if len(self.bytes) != seen:
                last, seen = tick, len(self.bytes)
            elif tick > last + self.ticks(QUIET) + self.frame:
                return
        self.look(0)  # a byte is read after the edges of a look, and its last edges may have come between

    def settle(self, seconds: Fraction = SETTLE) -> None:
        """For `seconds`, and until what is still on the line has come."""
        end = self.look() + self.ticks(seconds) + 2 * self.frame
        while self.look() < end:
            pass

    def wait_written(self) -> None:
        """Until the patient has written what was requested. LitePulseError if the port does not take it."""
        end = time.monotonic() + ANSWER_SECONDS
        while self.patient.answer() is None:
            if time.monotonic() > end:
                raise LitePulseError(f"certify: {self.patient.port} has not taken all bytes within {ANSWER_SECONDS:g} s")
            self.look()

    def launch(self, data: bytes) -> list[int] | None:
        """Bytes in a row, as soon as they can; the tick of each start edge. None if they could not be launched in time."""
        first = self.backend.now()
        now = self.backend.now()
        start = now + 4 * (now - first) + self.ticks(self.lead + self.backend.queue.seconds(len(data)))
        entries = [(start + k * self.frame, k, Launch("frame", byte, LAUNCH_PROFILE)) for k, byte in enumerate(data)]
        known = len(self.outcomes)
        taken = self.backend.queue.launch(entries)
        last = start + len(data) * self.frame + self.ticks(TIMEOUT)
        while len(self.outcomes) < known + taken:
            tick, missing = self.look(), known + taken - len(self.outcomes)
            if tick > last and missing > 0:
                raise LitePulseError(f"certify: the board does not report what became of {missing} launches")
        mine = self.outcomes[known:]
        if taken == len(data) and all(event.kind == "tx" for event in mine):
            return [event.tick for event in mine]
        self.lead *= 2
        return None

    def launch_surely(self, data: bytes, begin: Callable[[], None]) -> list[int]:
        """The same, tried again; `begin` is called before each attempt. LitePulseError in the end."""
        lead = self.lead
        for _ in range(ATTEMPTS):
            begin()
            ticks = self.launch(data)
            if ticks is not None:
                self.lead = max(LEAD, self.lead * Fraction(9, 10))
                return ticks
            self.settle()
            self.patient.ask("heard", quiet=PATIENT_QUIET)
        raise LitePulseError(f"certify: the board did not get {len(data)} launches in time, with {si(lead, 's')} to spare and more")

    # Steps

    def check_wiring(self) -> None:
        """LitePulseError, in one line, unless bytes come both ways."""
        self.progress("wiring", 0)
        port, baud = self.patient.port, self.options.baud
        byte = alternating(self.options.format)
        self.begin(with_edges=True)
        self.patient.ask("write", data=(bytes([byte]) * WIRING).hex())
        self.wait_bytes(WIRING)
        self.settle()
        line = [edge for edge in self.edges if edge.channel == self.line]
        if not line:
            raise LitePulseError(f"certify: nothing comes from {port}: wire its TX to rx of the board")
        if not any(each.data == byte and not each.framing_error for each in self.bytes):
            raise LitePulseError(f"certify: only garbage comes from {port} at {baud} baud: {self._guess(line)}")
        if self.options.enable is not None and not any(edge.channel == self.options.enable for edge in self.edges):
            raise LitePulseError(f"certify: nothing comes on input {self.options.enable} while {port} sends: wire its driver enable to it")
        self.progress("wiring", 1)

        def listen() -> None:
            self.begin()
            self.patient.ask("listen")

        data = bytes(k * 7 % self.values for k in range(WIRING))
        self.launch_surely(data, listen)
        self.settle()
        heard = bytes.fromhex(self.patient.ask("heard", quiet=PATIENT_QUIET, count=WIRING)["data"])
        if not heard:
            raise LitePulseError(f"certify: nothing comes to {port}: wire tx of the board to its RX")
        if not set(heard) & set(data):
            raise LitePulseError(f"certify: only garbage comes to {port} at {baud} baud, though what it sends is right: is RX inverted?")

    def _guess(self, line: list[ChannelEdge]) -> str:
        shortest = min((b.tick - a.tick for a, b in zip(line, line[1:])), default=0)
        if not shortest:
            return "is the line inverted?"
        return f"its shortest level lasts {si(self.scale.seconds(shortest), 's')}, as at {float(self.scale.tick_hz / shortest):.0f} baud"

    def measure_blocks(self) -> list[Block]:
        """Alternating bits, in blocks whose edges the board can hold."""
        options = self.options
        byte = alternating(options.format)
        levels = [1, *levels_of(byte, options.format)]
        each = sum(a != b for a, b in zip(levels, levels[1:]))
        room = self.backend.identity.event_depth - regs.EVENT_RESERVE - SPARE
        size = max(1, min(BLOCK, room // each))
        blocks: list[Block] = []
        for number in range(options.blocks):
            self.progress("bits", number)
            self.begin(with_edges=True)
            self.patient.ask("write", data=(bytes([byte]) * size).hex())
            self.wait_bytes(size)
            if options.enable is not None:
                self.settle()
            enable = tuple((edge.tick, edge.level) for edge in self.edges if edge.channel == options.enable)
            line = tuple((edge.tick, edge.level) for edge in self.edges if edge.channel == self.line)
            blocks.append(Block(line, enable, 1 - enable[0][1] if enable else 0))
        return blocks

    def measure_breaks(self) -> list[Break]:
        """Breaks, which the patient begins and ends."""
        found: list[Break] = []
        frame = Fraction(self.frame)
        seconds = max(BREAK_SECONDS, 3 * self.scale.seconds(frame))
        for number in range(BREAKS):
            self.progress("breaks", number)
            self.begin(with_edges=True)
            answer = self.patient.ask("break", hold=float(seconds))
            self.settle(SETTLE_BREAK)
            seen = break_in([(edge.tick, edge.level) for edge in self.edges if edge.channel == self.line], frame)
            found.append(Break(answer["begun"], answer["ended"], *(seen or (None, None))))
        return found

    def from_patient(self, load: str) -> list[Transfer]:
        """Rows that the patient writes."""
        found: list[Transfer] = []
        for number, data in enumerate(rows(self.options.size, self.row, self.values)):
            self.progress(f"bytes from the port, {load}", number)
            self.begin()
            self.patient.tell("write", data=data.hex())
            self.wait_written()
            self.wait_bytes(len(data))
            self.settle()
            got = self.bytes
            errors = sum(byte.framing_error or byte.parity_error for byte in got)
            found.append(Transfer(data, bytes(byte.data for byte in got), tuple(byte.tick for byte in got), errors))
        return found

    def to_patient(self, load: str) -> list[Transfer]:
        """Rows that the board launches, as long as its queue is."""
        found: list[Transfer] = []

        def listen() -> None:
            self.begin()
            self.patient.ask("listen")

        for number, data in enumerate(rows(self.options.size, self.queued, self.values)):
            self.progress(f"bytes to the port, {load}", number)
            self.launch_surely(data, listen)
            self.settle()
            heard = self.patient.ask("heard", quiet=PATIENT_QUIET, count=len(data))
            found.append(Transfer(data, bytes.fromhex(heard["data"])))
        return found

    def exchange(self, load: str) -> Echo:
        """One byte after the other, each of which the patient sends back."""
        options, echo = self.options, Echo()
        chance = random.Random(options.seed)
        requests: list[tuple[int, int, int | None]] = []  # (byte, tick of its end, tick of the answer)
        self.begin()
        self.patient.ask("echo")
        for number in range(options.samples):
            self.progress(f"latency, {load}", number)
            echo.readings.append(self.reading())
            byte = number % self.values
            ended, answered = self.request(byte)
            requests.append((byte, ended, answered))
            self.backend.recorder.wait(chance.random() * PAUSE)
        echo.readings.append(self.reading())
        heard = self.patient.ask("heard", quiet=PATIENT_QUIET)
        echo.missing = sum(answered is None for _, _, answered in requests)
        echo.exchanges = pair(requests, bytes.fromhex(heard["data"]), heard["reads"])
        return echo

    def reading(self) -> Reading:
        """Of both clocks."""
        seen = self.backend.read_clocks()
        return Reading(seen.tick, seen.raw_before, seen.raw_after)

    def request(self, byte: int) -> tuple[int, int | None]:
        """(tick of its end, tick of the answer's start edge or None)."""
        for _ in range(ATTEMPTS):
            known = len(self.bytes)
            ticks = self.launch(bytes([byte]))
            if ticks is None:
                continue
            ended = ticks[0] + self.frame
            while True:
                tick = self.look(POLL_SECONDS / 20)
                answers = [each.tick for each in self.bytes[known:] if each.data == byte and not each.framing_error and each.tick >= ended]
                if answers:
                    return ended, answers[0]
                if tick > ended + self.ticks(TIMEOUT) + self.frame:
                    return ended, None
        raise LitePulseError(f"certify: the board did not get a launch in time, with {si(self.lead, 's')} to spare")


def rows(total: int, size: int, values: int) -> Generator[bytes]:
    """Bytes that count up, in rows of `size`, the last one shorter."""
    for first in range(0, total, size):
        yield bytes(k % values for k in range(first, min(first + size, total)))


def pair(requests: list[tuple[int, int, int | None]], data: bytes, reads: list[tuple[int, int, int]]) -> list[Exchange]:
    """The requests that were answered, with the times of the patient's read() that got each. Where one read() got several bytes it is left
    out: its write() sent several, too."""
    times: dict[int, tuple[int, int] | None] = {}  # number of the request
    number = place = 0
    for read, write, count in reads:
        for byte in data[place : place + count]:
            mine = next((n for n in range(number, len(requests)) if requests[n][0] == byte), None)
            if mine is not None:
                times[mine] = (read, write) if count == 1 else None
                number = mine + 1
        place += count
    found: list[Exchange] = []
    for n, (_, ended, answered) in enumerate(requests):
        seen = times.get(n)
        if answered is not None and seen is not None:
            found.append(Exchange(ended, seen[0], seen[1], answered))
    return found
