# SPDX-License-Identifier: BSD-2-Clause
"""A series of launches at any ticks: from Python, and from a table."""

import json
import random

import numpy as np
import pytest

import litepulse
from litepulse import backends, cli
from litepulse.backends.bus.backend import BusBackend
from litepulse.line import Launch
from litepulse.vcd import Vcd

from .fake_board import FakeBoard

US = 48  # ticks
MS = 1000 * US


class Slow(FakeBoard):
    """Time passes by transactions, and while the program waits."""

    def pause(self, seconds):
        self.advance(round(seconds * 48_000_000))


def connected(step=2000):
    board = Slow(step=step)
    return board, BusBackend(board, "uartbone", "fake", False, [], board.pause)


@pytest.fixture
def board():
    device, backend = connected()
    with litepulse.Board(backend) as board:
        board.device = device
        yield board


def launched(device):
    """[(tick, length, data)] of what went out."""
    return [(start, end - start, data) for start, end, source, data in device.line_log if source == "queue"]


def test_a_series_from_the_start(board):
    """The four pulses at 0, 100, 370 and 1000 us that no other call can make."""
    places = [0, 100, 370, 1000]
    with board.launches([(litepulse.us(place), "10us") for place in places], start=4_800_000, invert=True) as series:
        outcomes = list(series)
    assert launched(board.device) == [(4_800_000 + place * US, 480, 0) for place in places]
    assert [(each.number, each.tick, each.wanted, each.reason) for each in outcomes] == [
        (n, 4_800_000 + place * US, 4_800_000 + place * US, None) for n, place in enumerate(places)
    ]


def test_all_that_can_be_launched(board):
    now = board.now()
    series = [
        (now + litepulse.ms(100), 0x55),
        (np.int64(now.tick + 110 * MS), np.uint8(7)),
        (f"{now.tick + 120 * MS}t", litepulse.us(5)),
        (now.tick + 130 * MS, Launch("break", 13)),
        (now.tick + 140 * MS, Launch("pulse", width=99)),
    ]
    with board.launches(series, baud=115200) as running:
        outcomes = list(running)
    bits = board.timescale.bit_period(115200).ticks
    lengths = [int(10 * bits), int(10 * bits), 240, int(14 * bits), 99]
    assert launched(board.device) == [
        (now.tick + (100 + 10 * n) * MS, length, data) for n, (length, data) in enumerate(zip(lengths, (0x55, 7, 0, 13, 0)))
    ]
    assert not any(each.reason for each in outcomes) and running.first_tick > now.tick


@pytest.mark.parametrize("lazy", [False, True])
def test_the_queue_is_kept_full(lazy, board):
    """2000 pulses 30 to 200 us apart: 64 of them last for less than two looks in a second would allow."""
    chance, place, places = random.Random(5), 0, []
    for _ in range(2000):
        places.append(place)
        place += chance.randrange(30 * US, 200 * US)
    pairs = [(litepulse.ticks(place), litepulse.ticks(100)) for place in places]
    with board.launches(iter(pairs) if lazy else pairs) as series:
        outcomes = list(series)
    first = series.first_tick
    assert [each.tick for each in outcomes] == [first + place for place in places] and {each.reason for each in outcomes} == {None}
    assert launched(board.device) == [(first + place, 100, 0) for place in places]


def test_a_source_that_has_no_more_yet(board):
    pairs = iter([(litepulse.ms(0), 1), None, None, (litepulse.ms(50), 2)])
    with board.launches(pairs, baud=115200) as series:
        assert [(each.byte, each.tick - series.first_tick) for each in series] == [(1, 0), (2, 50 * MS)]


BUSY = "launch 1: it is 1 ms (48000 ticks) from the beginning, but the line is busy "


@pytest.mark.parametrize(
    "series, message",
    [
        ([("+1ms", 1), ("+1ms", 2)], BUSY + "with the one before until 2.042 ms (98000 ticks) from"),
        ([("+9ms", 1), ("+1ms", 2)], BUSY),
        ([(1, 1)], "launch 0: tick 1 has passed"),
        ([(10**9, 1), ("+1ms", 2)], "launch 1: it is at tick"),
        ([("+400000s", 1), ("+40000000s", 2)], "launch 1: tick 1920000000000000 is more than 366 days ahead"),
        ([(1.5, 1)], "launch 0: at: 1.5 could be a tick or seconds"),
        ([("+1ms", 1.5)], "launch 0: byte: 1.5 is not a whole number; the width of a pulse is"),
        ([("+1ms", True)], "launch 0: byte: True is not a whole number"),
        ([("+1ms", 300)], "launch 0: byte: 300 does not fit"),
        ([("+1ms", 1), "x"], "launch 1: 'x' is not a pair (at, what)"),
        ([5], "launch 0: 5 is not a pair (at, what)"),
        (5, "series: 5 is a single value"),
    ],
)
def test_nothing_leaves_of_a_list_with_a_fault(series, message, board):
    with pytest.raises(litepulse.BadInput) as error:
        board.launches(series)
    assert str(error.value).startswith(message)
    assert not board.device.line_log and not board.device.queue and not board.busy


def test_what_is_late_is_reported(board):
    """The board cannot keep a tick: that one does not leave, the others do."""
    now = board.now().tick
    pairs = iter([(now + 100 * MS, 1), (5, 2), (now + 200 * MS, 3)])
    with pytest.raises(litepulse.BadInput, match="launch 1: it is at tick 5, but the line is busy"):
        with board.launches(pairs, baud=115200) as series:
            list(series)
    assert not board.device.queue
    later = iter([(now + 1, 1), (board.now().tick + 400 * MS, 3)])
    with board.launches(later, baud=115200) as series:
        assert [(each.byte, each.reason) for each in series] == [(1, "late"), (3, None)]


# The command ------------------------------------------------------------------------------------------------------------------


def send(monkeypatch, capsys, tmp_path, table, *words, name="pulses.csv"):
    device, backend = connected()
    monkeypatch.setattr(backends, "connect", lambda *_arguments, **_options: backend)
    (tmp_path / name).write_text(table)
    status = cli.main(["send", str(tmp_path / name), *words])
    out, err = capsys.readouterr()
    return status, out, err, device


def test_a_table(monkeypatch, capsys, tmp_path):
    table = "at,byte,width,break\n+0us,,10us,\n+100us,,10us,\n+370us,,,\n"
    status, _, err, device = send(monkeypatch, capsys, tmp_path, table)
    assert status == 2 and "line 4: give one of byte, width and break" in err and not device.line_log
    table = "at,byte,width,break\n+0us,,10us,\n+100us,0x55,,\n +5ms , , , 13\n"
    status, out, err, device = send(monkeypatch, capsys, tmp_path, table, "--at", "100ms", "--baud", "115200", "--json")
    result = json.loads(out)
    what = [{name: value for name, value in each.items() if name not in ("n", "tick", "wanted")} for each in result["launched"]]
    assert what == [{}, {"byte": 0x55}, {"break": 13}], "a pulse has no byte"
    assert status == 0 and [each["tick"] for each in result["launched"]] == [4_800_000, 4_800_000 + 100 * US, 4_800_000 + 5 * MS]
    assert [(start, data) for start, _, data in launched(device)] == [(4_800_000, 0), (4_804_800, 0x55), (5_040_000, 13)]


def test_a_beginning_that_has_passed(monkeypatch, capsys, tmp_path):
    """The option is named, not the argument of the library."""
    status, _, err, _ = send(monkeypatch, capsys, tmp_path, "at,width\n+1ms,10us\n", "--at", "5t")
    assert status == 2 and err.startswith("litepulse: at: tick 5 has passed, the board is at ")


def test_a_table_of_ticks_and_its_rows(monkeypatch, capsys, tmp_path):
    status, out, _, _ = send(monkeypatch, capsys, tmp_path, "tick,byte\n9600000,1\n9700000,2\n", "--baud", "1M", "--csv")
    assert status == 0 and out.splitlines()[1:] == ["0,9600000,200000000.000,0,launched", "1,9700000,202083333.333,0,launched"]


@pytest.mark.parametrize(
    "table, message",
    [
        ("at,byte\n", "it has no rows"),
        ("at,byte\n+1ms,300\n", "line 2: byte: 300 does not fit"),
        ("at,byte\nsoon,3\n", "line 2: at: 'soon' is not a number"),
        ("at,tick,byte\n+1ms,5,3\n", "line 2: give one of at and tick"),
        ("at,byte\n+1ms,3,4\n", "line 2: more values than columns"),
        ("at,byte\n+1ms,3\n+1ms,4\n", BUSY),
        ('at,byte\n"+1ms,3\n', "no CSV file"),
    ],
)
def test_a_table_with_a_fault(table, message, monkeypatch, capsys, tmp_path):
    status, _, err, device = send(monkeypatch, capsys, tmp_path, table)
    assert status == 2 and message in err and err.count("\n") == 1 and not device.line_log and not device.queue


def test_what_is_no_table_is_bytes(monkeypatch, capsys, tmp_path):
    for words, table in (([], "name,value\n"), (["--raw"], "at,byte\n+1ms,3\n")):
        status, out, _, _ = send(monkeypatch, capsys, tmp_path, table, "--baud", "1M", "--json", *words)
        assert status == 0 and bytes(each["byte"] for each in json.loads(out)["launched"]) == table.encode()
    status, _, err, _ = send(monkeypatch, capsys, tmp_path, "at,byte\n+1ms,3\n", "--every", "1ms")
    assert status == 2 and "every: the rows of" in err


@pytest.mark.parametrize(
    "words, table, noted",
    [
        ([], "+10ms,5us\n", True),
        ([], "time,width\n+10ms,5us\n", True),
        (["--raw"], "+10ms,5us\n", False),
        ([], "at,width\n+10ms,5us\n", False),
    ],
)
def test_a_csv_whose_bytes_are_sent_is_noted(words, table, noted, monkeypatch, capsys, tmp_path):
    """A table whose heading is missing or misspelled would else be text on the line, with no word of it."""
    status, _, err, _ = send(monkeypatch, capsys, tmp_path, table, "--baud", "1M", "--json", *words)
    assert status == 0 and ("pulses.csv: its heading is not that of a table of launches, so its bytes are sent" in err) == noted


def test_on_the_pins(tmp_path):
    """The simulated SoC: each edge is at its tick."""
    places, vcd = [0, 62, 200, 263, 1000], tmp_path / "pins.vcd"
    with litepulse.open(sim=True, vcd=vcd) as board:
        hz = board.tick_hz
        with board.launches([(litepulse.us(place), litepulse.us(5)) for place in places], invert=True) as series:
            assert [each.reason for each in series] == [None] * 5
        first = series.first_tick
    edges = [(tick, level) for tick, level in Vcd(vcd, hz).signals["tx"] if tick > first - 1000]
    assert edges == [edge for place in places for edge in ((first + place * US, 1), (first + place * US + 5 * US, 0))]
