# SPDX-License-Identifier: BSD-2-Clause
"""What the Python package makes of a board's events, in CPU time: `python -m lab.bench python`.

Synthetic bursts as a board on a cable sends them, no I/O: decoding, the iterator and the array of a capture, the rows of the command.
Peers do like work in the same run: NumPy decodes the same bursts, csv.writer writes as many columns.
"""

import contextlib
import csv
import io
import resource
import statistics
import struct
import subprocess
import sys
import time
from argparse import Namespace
from fractions import Fraction
from typing import Any

from litepulse import Board
from litepulse.backends.bus.record_stream import RecordStream
from litepulse.backends.interface import Batch, Identity, Losses, Status
from litepulse.capture import Capture, CapturePlan
from litepulse.commands import capture as command
from litepulse.interrupt import CtrlC
from litepulse.layout import regs
from litepulse.streams import EventStream

HZ = Fraction(48_000_000)
BURST = 62  # records of one read of 255 words
BURSTS = 400
ROUNDS = 5
TICKS = 2667  # from edge to edge: 18,000 a second
LOOK = 4  # bursts that one look at the board takes
STARTS = 20
PYTHON_ALONE = "python -c pass"
START = {
    PYTHON_ALONE: ["-c", "pass"],
    "litepulse --version": ["-m", "litepulse", "--version"],
    "litepulse --help": ["-m", "litepulse", "--help"],
    "litepulse capture --help": ["-m", "litepulse", "capture", "--help"],
}
PEERS = ("numpy", "csv.writer")
WORK = {
    "decode": "records of the stream, decoded",
    "iterate": "`for event in board.capture(...)`",
    "array": "`board.capture(...).array()`",
    "csv": "rows of `capture --csv`",
    "vnl": "rows of `capture --vnl`",
    "json": "`capture --json`",
    "text": "lines of `capture` for people",
    "numpy": "the same bursts as columns, by NumPy",
    "csv.writer": "as many rows of six columns, by Python's csv.writer",
}


def words():
    """Those of all records: an input that changes every TICKS."""
    made, tick = [], 1000
    for number in range(BURSTS * BURST):
        tick += TICKS
        made += [tick & 0xFFFFFFFF, tick >> 32, (number & 0xFFFF) << 16 | 2 << 12 | 4 << 8, (number & 1) << 16 | 1]
    return made


class Recorded:
    """Stands for a Backend, its parts and its Registers: its board has just these records to give, LOOK bursts at a time."""

    framed, most_words, clock = False, 255, None

    def __init__(self):
        self.identity = Identity("sim", "recorded", True, (0, 7), HZ, 1, 4, 256, 512, 512, 64, 64, 1, 1023)
        registers: Any = self
        self.recorder = self.line = self
        self.stream = RecordStream(registers, "EVENTS", EventStream(), 256)
        self.records, self.taken = words(), 0

    @property
    def waiting(self):
        """Records that were not taken."""
        return BURSTS * BURST - self.taken

    def read_window(self, _base, count):
        """A header, and the records that are ready."""
        ready = min(self.waiting, LOOK * BURST)
        first = regs.EVENT_WORDS * self.taken
        tick = 1000 + TICKS * (self.taken + ready) + 5
        header = [ready | (self.taken & 0xFFFF) << 16, 0, tick & 0xFFFFFFFF, tick >> 32]
        return header + self.records[first : first + count - regs.HEADER_WORDS]

    def exchange(self, _owed, reads, _guarded):
        """One read."""
        return [self.read_window(*reads[0])]

    def write_window(self, _base, words):
        """An acknowledgement."""
        self.taken += words[0] & 0xFFFF

    def read(self, as_columns=False):
        """One look."""
        parts = list(self.stream.parts())
        edges = self.stream.decode_edges(parts) if as_columns else None
        events: Any = self.stream.decode(parts) if edges is None else []
        return Batch(self.stream.tick, self.stream.tick, events, [], edges)

    def look(self, as_columns=False):
        """Both."""
        return self.status(), self.read(as_columns)

    def status(self):
        """Nothing runs."""
        return Status(False, False, False, True, False, 64, (False,) * self.identity.inputs + (True,))

    def idle_level(self):
        """TX rests."""
        return 1

    def losses(self):
        """None."""
        return Losses()

    def now(self):
        """The tick of the last look."""
        return self.stream.tick

    def nothing(self, *_, **__):
        """Accepts a setting."""

    set_receiver = record = stop = wait = release = stay_in_touch = close = nothing


def recorded() -> Any:
    """One that has all its bursts, whatever type it is to stand for."""
    return Recorded()


def decode():
    """The number of records."""
    backend = recorded()
    count = 0
    while backend.waiting:
        count += len(backend.read().events)
    return count


def capture():
    """A job that ends with the last record."""
    backend = recorded()
    job = Capture(backend, CapturePlan((0,), count=BURSTS * BURST))
    job.begin(lambda: None)
    return job


def rows(style):
    """What the command makes of them; the number of lines, or of the list's elements."""
    backend = recorded()
    board = Board(backend)
    nothing = dict.fromkeys(("duration", "event_clock", "binary", "captured_vcd"))
    args = Namespace(style=style, count=BURSTS * BURST, **nothing)
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()):
        command.follow(args, board, board.capture((0,), count=BURSTS * BURST), CtrlC())
    return text.getvalue().count('"tick"' if style == "json" else "\n")


def numpy_columns():
    """The same records as columns: the number of them."""
    import numpy

    width = regs.EVENT_WORDS * BURST
    made = words()
    raw = [struct.pack(f">{width}I", *made[first : first + width]) for first in range(0, len(made), width)]
    begin = time.process_time()
    columns = []
    for burst in raw:
        table = numpy.frombuffer(burst, ">u4").reshape(-1, 4)
        tick = table[:, 0].astype("u8") | table[:, 1].astype("u8") << numpy.uint64(32)
        columns.append((tick, table[:, 2] >> 16, table[:, 2] >> 12 & 15, table[:, 3] >> 16 & 1))
    return sum(len(column[0]) for column in columns), time.process_time() - begin


def csv_rows():
    """The number of rows."""
    writer = csv.writer(io.StringIO())
    for number in range(BURSTS * BURST):
        writer.writerow((number * 1000, number, number * TICKS, "0", number & 1, ""))
    return BURSTS * BURST


def start_ms(command):
    """ms of CPU time of a process, from its beginning to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def measure_starts():
    """{name of START: ms of CPU}: the median of STARTS, in turns."""
    taken = {name: [] for name in START}
    for _ in range(STARTS):
        for name, words in START.items():
            taken[name].append(start_ms([sys.executable, *words]))
    return {name: statistics.median(times) for name, times in taken.items()}


def measure():
    """{"us": {work: µs of CPU an event}, "start": measure_starts()}: the median of ROUNDS, in turns."""
    jobs = {
        "decode": decode,
        "iterate": lambda: sum(1 for _ in capture()),
        "array": lambda: len(capture().array()),
        **{style: lambda style=style: rows(None if style == "text" else style) for style in ("csv", "vnl", "json", "text")},
        "numpy": numpy_columns,
        "csv.writer": csv_rows,
    }
    taken = {name: [] for name in jobs}
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            begin = time.process_time()
            count = job()
            seconds = time.process_time() - begin
            if isinstance(count, tuple):
                count, seconds = count
            if not BURSTS * BURST <= count <= BURSTS * BURST + 3:  # rows have a heading, text two and a sum
                raise RuntimeError(f"{name}: {count} of {BURSTS * BURST} events")
            taken[name].append(seconds / (BURSTS * BURST) * 1e6)
    return {"us": {name: statistics.median(times) for name, times in taken.items()}, "start": measure_starts()}


def lines(r):
    """The table of the page."""
    peer = {"decode": "numpy", "iterate": "numpy", "array": "numpy"}
    out = ["CPU time of one event; the peers do like work in the same run.", ""]
    out += ["| work | µs an event | events per second of CPU | times the peer's |", "|---|---|---|---|"]
    for name, us in r["us"].items():
        of = peer.get(name, "csv.writer")
        ratio = "" if name in PEERS else f"{us / r['us'][of]:.1f} × {of}"
        out.append(f"| {WORK[name]} | {us:.2f} | {1e6 / us:,.0f} | {ratio} |")
    out += ["", f"A process from its beginning to its end, the median of {STARTS}.", ""]
    out += ["| command | ms of CPU | times that of Python alone |", "|---|---|---|"]
    alone = r["start"][PYTHON_ALONE]
    out += [f"| `{name}` | {ms:.0f} | {ms / alone:.1f} |" for name, ms in r["start"].items()]
    return out
