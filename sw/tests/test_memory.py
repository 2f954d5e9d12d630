# SPDX-License-Identifier: BSD-2-Clause
"""A run of any length needs the same memory, in every style: no board, records come from a backend that makes them up."""

import dataclasses
import json
import tracemalloc
from fractions import Fraction

import pytest

import litepulse
from litepulse import cli
from litepulse.backends.interface import UARTBONE, Batch, Identity, Losses, Status
from litepulse.errors import OutputLost
from litepulse.spool import Spool
from litepulse.streams import Event, RxByte

HZ, PERIOD, BATCH = 48_000_000, 48_000, 500
LAST = 9_000  # records
# Of the looks at it, a batch each, the two rows whose largest memory is compared: what is kept to be drawn is trimmed every 2000 records.
EARLY, LATE = slice(8, 12), slice(14, 18)
GROWTH = 75_000  # bytes from one to the other: 25 for each record would be more

IDENTITY = Identity(UARTBONE, "made up", False, (0, 0), Fraction(HZ), 1, 4, 256, 512, 512, 64, 64, 1, 1023)


class Source:
    """A backend and its parts: launches, hears and answers at once; notes the memory at each look, and comes to its end after LAST records.

    what: 'train', 'edges', 'bytes', 'queue', 'answers', 'missed', 'frames'
    """

    identity = IDENTITY

    def __init__(self, what, interrupt=False):
        self.what, self.interrupt, self.made, self.memory = what, interrupt, 0, []
        self.over = self.begun = False
        self.idle = 0  # periods after its end
        self.queued = []
        self.recorder = self.line = self.train = self.queue = self.responder = self

    def __getattr__(self, name):
        """All that only sets something up."""
        return lambda *_, **__: None

    def kept(self):
        return ()

    def idle_level(self):
        return 1

    def seconds(self, count):
        return Fraction(0)

    def losses(self):
        return Losses()

    def set_echo(self, ticks):
        return ticks

    @property
    def tick(self):
        return (self.made + self.idle) * PERIOD

    def now(self):
        return self.tick

    def start(self, launch, period, count=0, start=None):
        self.begun = True

    def arm(self, response):
        self.delay = response.delay

    def launch(self, entries):
        self.queued += entries
        return len(entries)

    def status(self):
        running = self.begun and not self.over
        return Status(running, False, True, True, False, BATCH, (False,) * 4 + (True,))

    def look(self, as_columns):
        return self.status(), self.read()

    def read(self):
        events, received = [], []
        if self.begun and not self.made:
            events.append(Event(0, 0, "applied", "train_change", 0, 0))
        count = 0 if self.over else min(BATCH, len(self.queued)) if self.what == "queue" else BATCH
        for _ in range(count):
            self.one(events, received, self.made, self.tick + PERIOD)
            self.made += 1
        self.idle += BATCH - count
        if count:
            self.memory.append(tracemalloc.get_traced_memory()[0])
        if self.made >= LAST and not self.over:
            self.over = True
            if self.interrupt:
                raise litepulse.LitePulseError("unplugged")
            if self.what == "train":
                events.append(Event(self.tick, 0, "train_done", "train", 0, self.made))
        return Batch(self.tick, self.tick, events, received)

    def one(self, events, received, number, tick):
        """A record of each kind, for one period."""
        what = self.what
        if what == "train":
            events.append(Event(tick, 0, "tx", "train", 0, number))
            received.append(RxByte(tick + 1, 0xFF))
        elif what == "edges":
            events.append(Event(tick, 0, "edge", "capture", 0, 0x00010001))
        elif what == "bytes":
            received.append(RxByte(tick, number & 0xFF, framing_error=not number % 3))
        elif what == "queue":
            at, tag, launch = self.queued.pop(0)
            if number % 5:
                events.append(Event(at, 0, "tx", "queue", 0, tag << 16 | launch.data))
                received.append(RxByte(at + 1, launch.data))
            else:
                events.append(Event(at, 0, "refused", "queue", 2, tag << 16 | launch.data))
        elif what == "answers":
            events.append(Event(tick, 0, "edge", "capture", 0, 0x00010001))
            events.append(Event(tick + self.delay, 0, "tx", "responder", 0, (number & 0xFFFF) << 16))
        elif what == "missed":
            events.append(Event(tick, 0, "responder_missed", "responder", 2, 0))
        elif what == "frames":  # a break, 0x55, an identifier, an answer
            values = ((0, True), (0x55, False), (0x50, False), (0x12, False), (0x9C, False))
            received.append(RxByte(tick, values[number % 5][0], is_break=values[number % 5][1], framing_error=values[number % 5][1]))


VERBS = {
    "train": ("train", ["train", "--rate", "1k", "--baud", "115200"]),
    "capture edges": ("edges", ["capture", "--inputs", "0", "--count", str(LAST)]),
    "capture pins": (
        "edges",
        ["capture", "--inputs", "0", "--count", str(LAST), "--vcd", "{bytes}.vcd", "--sr", "{bytes}.sr", "--divide", str(PERIOD)],
    ),
    "capture bytes": ("bytes", ["capture", "--inputs", "none", "--bytes", "--count", str(LAST)]),
    "send": ("queue", ["send", "{bytes}", "--every", "1ms", "--baud", "115200"]),
    "respond": ("answers", ["respond", "--on", "edge:0:rise", "--delay", "10us", "--width", "1us", "--count", str(LAST)]),
    "respond missed": ("missed", ["respond", "--on", "edge:0:rise", "--delay", "10us", "--width", "1us", "--count", str(LAST)]),
    "lin monitor": ("frames", ["lin", "monitor", "--baud", "19200", "--for", f"{LAST * PERIOD}t"]),
}


def run(source, words, style, monkeypatch, tmp_path):
    """(status, a file with what was written, growth of the memory)."""
    (tmp_path / "bytes").write_bytes(bytes(LAST))
    monkeypatch.setattr(litepulse, "open", lambda *_, **__: litepulse.Board(source))
    words = [word.format(bytes=tmp_path / "bytes") for word in words]
    with open(tmp_path / "out", "w") as out:
        monkeypatch.setattr("sys.stdout", out)
        tracemalloc.start()
        try:
            status = cli.main(["--port", "tcp:nowhere:1", *words, *([f"--{style}"] if style else [])])
        finally:
            tracemalloc.stop()
            monkeypatch.undo()
    return status, tmp_path / "out", max(source.memory[LATE]) - max(source.memory[EARLY])


STYLES = {
    "train": (None, "csv", "vnl", "json"),
    "capture edges": (None, "json"),
    "capture pins": (None,),
    "capture bytes": ("csv", "json"),
    "send": ("csv", "json"),
    "respond": (None, "json"),
    "respond missed": ("vnl", "json"),
    "lin monitor": ("csv", "json"),
}


@pytest.mark.parametrize("verb, style", [(verb, style) for verb, styles in STYLES.items() for style in styles])
def test_memory_does_not_grow(verb, style, monkeypatch, tmp_path):
    what, words = VERBS[verb]
    status, out, growth = run(Source(what), words, style, monkeypatch, tmp_path)
    assert status in (0, 1) and growth < GROWTH, f"{growth / 3_000:.0f} bytes a record"
    if style == "json":
        whole(verb, json.loads(out.read_text()))


def whole(verb, result):
    """All is there."""
    if verb == "train":
        assert result["pulses"] == list(range(LAST)) and result["launched"] == [PERIOD * (n + 1) for n in range(LAST)]
        assert result["received"] == [tick + 1 for tick in result["launched"]] and result["received_bytes"] == [255] * LAST
        assert result["delays"] == {"1": LAST} and result["refused"] == []
    elif verb == "capture edges":
        assert [(e["tick"], e["channel"], e["level"]) for e in result["edges"]] == [(PERIOD * (n + 1), "0", 1) for n in range(LAST)]
    elif verb == "capture bytes":
        assert [(b["tick"], b["data"], b["flags"]) for b in result["bytes"]] == [
            (PERIOD * (n + 1), n & 255, [] if n % 3 else ["framing"]) for n in range(LAST)
        ]
    elif verb == "send":
        assert sorted(each["n"] for each in result["launched"] + result["refused"]) == list(range(LAST))
        assert {each["reason"] for each in result["refused"]} == {"busy"} and len(result["received"]) == len(result["launched"])
    elif verb == "respond":
        assert len(result["answers"]) == LAST and {each["delay_ticks"] for each in result["answers"]} == {480}
    elif verb == "respond missed":
        assert result["missed"] == [{"tick": PERIOD * (n + 1), "reason": "busy"} for n in range(LAST)]
    else:
        assert result["count"] == len(result["frames"]) == LAST // 5


@pytest.mark.parametrize("verb", ["train", "capture edges"])
def test_json_is_whole_after_a_fault(verb, monkeypatch, tmp_path):
    what, words = VERBS[verb]
    status, out, _ = run(Source(what, interrupt=True), words, "json", monkeypatch, tmp_path)
    result = json.loads(out.read_text())
    assert status == 2 and result["error"] == "unplugged" and len(result["launched" if verb == "train" else "edges"]) == LAST - BATCH


def test_a_spool_is_a_list(monkeypatch, tmp_path):
    """Of any length and content; a file that cannot be written leaves the object valid."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    values = [0, -1, 2**63, None, "é, ] \U0001f600", {"a": [1]}, *range(3_000), *("x" * 1000 for _ in range(3_000))]
    for count in (0, 1, 499, 500, 501, len(values)):
        spool = Spool()
        for value in values[:count]:
            spool.add(value)
        pieces = list(spool.pieces())
        assert json.loads("".join(pieces)) == values[:count] and max(map(len, pieces)) <= 1 << 16

    class Full:
        def write(self, data):
            raise OSError(28, "No space left on device")

    spool = Spool()
    spool._file = Full()
    with pytest.raises(OutputLost, match="No space left on device; TMPDIR names another folder"):
        for value in range(10**6):
            spool.add(dataclasses.asdict(RxByte(value, value)))
    assert list(spool.pieces()) == ["null"]
