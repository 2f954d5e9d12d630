# SPDX-License-Identifier: BSD-2-Clause
"""What was captured goes out once more, to the tick; what cannot is one line that names the line of the file."""

import json
import random
from fractions import Fraction

import pytest

import litepulse
from litepulse import backends, cli
from litepulse.backends.bus.backend import BusBackend
from litepulse.vcd import Vcd

from .fake_board import FakeBoard

HZ = 48_000_000
HEAD = "t_ns,dt_ms,tick,channel,value,flags\n"


def row(tick, channel, value, flags=""):
    return f"{litepulse.Timescale(HZ).decimal(tick, 9, 3)},,{tick},{channel},{value},{flags}\n"


def csv_of(pulses, channel="0", first=1):
    """Of (tick, width)."""
    return HEAD + "".join(row(tick, channel, first) + row(tick + width, channel, 1 - first) for tick, width in pulses)


def vcd_of(pulses, name="in0", idle=0, unit=10_000):
    """In units of ps."""
    text = f"$timescale {unit // 1000} ns $end\n$var wire 1 ! {name} $end\n$enddefinitions $end\n#0\n$dumpvars\n{idle}!\n$end\n"
    for tick, width in pulses:
        for at, level in ((tick, 1 - idle), (tick + width, idle)):
            text += f"#{round(Fraction(at * 10**12, HZ * unit))}\n{level}!\n"
    return text


PULSES = [(1000 + 700 * n + n * n, 10 + n) for n in range(40)]


@pytest.fixture
def replay(monkeypatch, tmp_path):
    """(status, the board) of the command on a file with this text."""

    def run(text, *words, name="captured", step=2000):
        board = FakeBoard(step=step)
        monkeypatch.setattr(backends, "connect", lambda *_, **__: BusBackend(board, "uartbone", "fake"))
        monkeypatch.setattr(BusBackend, "stay_in_touch", lambda self: None)
        monkeypatch.setattr("time.sleep", lambda seconds: None)
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return cli.main(["replay", str(tmp_path / name), *map(str, words)]), board

    return run


@pytest.mark.parametrize("kind", ["csv", "vcd"])
@pytest.mark.parametrize("idle", [0, 1])
def test_to_the_tick(kind, idle, replay, capsys):
    text = csv_of(PULSES, first=1 - idle) if kind == "csv" else vcd_of(PULSES, idle=idle)
    status, board = replay(text, "--at", "2000000t", "--json")
    result = json.loads(capsys.readouterr().out)
    assert status == 0 and result["command"] == "replay" and result["refused"] == []
    assert [(start - 2_000_000, end - start) for start, end, _, _ in board.line_log] == [
        (tick - PULSES[0][0], width) for tick, width in PULSES
    ]
    assert result["format"] == ("8N1" if idle else "8N1 inverted"), "tx rests at the level between the pulses"


@pytest.mark.parametrize("seed", range(3))
def test_any_pulses_of_one_of_several_channels(seed, replay, capsys, tmp_path):
    draw, tick, rows, wanted = random.Random(seed), 10_000, HEAD, []
    for _ in range(300):
        channel, width = draw.choice(("0", "2", "rx")), draw.randint(1, 3000)
        rows += row(tick, channel, int(channel != "rx")) + row(tick + width, channel, int(channel == "rx"))
        wanted += [(tick, width)] if channel == "2" else []
        tick += width + draw.randint(128, 9000)
    status, board = replay(rows, "--channel", "2", "--at", "3000000t", "--csv")
    assert status == 0 and capsys.readouterr().out.count("launched") == len(wanted)
    assert [(start - 3_000_000, end - start) for start, end, _, _ in board.line_log] == [(at - wanted[0][0], width) for at, width in wanted]


def test_a_vcd_of_another_program(replay):
    """Another unit, whose times are of no tick: to the nearest one. Several signals, of which one moves; vectors and texts are skipped."""
    text = (
        "$date today $end\n$timescale 1 us $end $scope module a $end\n$var wire 1 a clk $end\n$var wire 1 # data [0] $end\n"
        "$var wire 8 c bus $end\n$upscope $end\n$enddefinitions $end\n#0 1a x# b00000000 c\n#3 0# $comment 1a 1# $end\n#10 1# b01 c\n"
        "#13 0#\n#1000\n1#\n#1001\n0#\n"
    )
    status, board = replay(text, "--at", "2000000t")
    assert status == 0 and [(start, end - start) for start, end, _, _ in board.line_log] == [(2_000_000, 144), (2_000_000 + 990 * 48, 48)]


def test_received_bytes(replay, capsys):
    text = HEAD + row(1000, "rx", 0) + row(1000, "byte", 0x55) + row(70_000, "byte", 0x41, "own") + row(69_000, "rx", 0)
    status, board = replay(text, "--channel", "bytes", "--at", "1000000t", "--baud", "9600")
    assert status == 0 and [(start, data) for start, _, _, data in board.line_log] == [(1_000_000, 0x55), (1_069_000, 0x41)]
    assert "2 bytes from tick 1000000" in capsys.readouterr().out


def test_what_has_no_beginning_or_no_end_is_left_out(replay, capsys):
    text = HEAD + row(100, "0", 0) + "".join(row(at, "0", level) for at, level in ((1000, 1), (1100, 0), (2000, 1)))
    status, board = replay(text, "--idle", "0")
    errors = capsys.readouterr().err
    assert status == 0 and [end - start for start, end, _, _ in board.line_log] == [100]
    assert "line 2: the pulse that ends here has no beginning, and is left out" in errors
    assert "line 5: the pulse that begins here has no end, and is left out" in errors


GOOD = row(1000, "0", 1) + row(1100, "0", 0)


@pytest.mark.parametrize(
    "text, words, why",
    [
        ("", [], "it is neither a VCD nor what `capture --csv` writes"),
        ("a,b\n1,2\n", [], "it is neither a VCD nor what `capture --csv` writes"),
        (HEAD, [], "it has nothing, so nothing to send"),
        (HEAD + row(1000, "0", 1), [], "it has no pulse of 0, nothing to send"),
        (HEAD + GOOD + row(2000, "1", 1), [], "it has 0, 1: give --channel"),
        (HEAD + GOOD, ["--channel", "3"], "channel: '3' is not in"),
        (HEAD + GOOD + row(1127, "0", 1) + row(1200, "0", 0), [], "line 4: it begins 2.646 µs (127 ticks) behind the one before"),
        (HEAD + GOOD + row(2000, "0", 0), [], "line 4: 0 is 0 already: an edge is missing"),
        (HEAD + GOOD + row(900, "0", 1), [], "line 4: tick 900 is before that of the line before"),
        (HEAD + GOOD + row(2000, "lost", 7), [], "line 4: 7 records are missing here"),
        (HEAD + GOOD + row(2000, "0", 2), [], "line 4: value: '2' is no level"),
        (HEAD + GOOD + "5,,x,0,1,\n", [], "line 4: tick: 'x' is not a whole number"),
        (HEAD + GOOD + "5,,-3,0,1,\n", [], "line 4: tick: '-3' is not a whole number"),
        (HEAD + GOOD + "5,,2000\n", [], "line 4: its columns are not those of the first line"),
        (HEAD + GOOD + "5,,2000,0,1,,9\n", [], "line 4: its columns are not those of the first line"),
        (HEAD + GOOD + "41666.667,,2001,0,1,\n", [], "line 4: tick 2001 was at 41666.667 ns, on this board it is at 41687.500 ns"),
        (HEAD + row(1000, "byte", 5, "framing"), [], "line 2: a byte with framing cannot be sent as one"),
        (HEAD + row(1000, "byte", 0x80), ["--format", "7N1"], "line 2: byte: 0x80 does not fit 7 data bits"),
        (HEAD + row(1000, "byte", 5) + row(50_999, "byte", 5), [], "line 3: it begins before the one before is over"),
        (HEAD + row(1000, "0", 1) + row((1 << 32) + 1000, "0", 0), [], "line 2: width: 4294967296 ticks is outside 1 to"),
        (b"\xff\xfe" + HEAD.encode("utf-16-le"), [], "it is no CSV file"),
        ("$timescale 1 ns $end\n", [], "not a VCD"),
        (vcd_of(PULSES[:2]) + "xx\nx!\n#9999999\n1!\n", [], "line 17: records are missing from here on, in0 is not known"),
        (vcd_of(PULSES[:2]) + "#now\n", [], "line 16: '#now' is no time"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_leaves(text, words, why, replay, capsys):
    status, board = replay(text, *words)
    out, errors = capsys.readouterr()
    assert status == 2 and errors.splitlines()[-1].startswith("litepulse: ") and why in errors.splitlines()[-1] and out == ""
    assert not board.line_log and not board.queue


def test_as_people_bring_it(replay):
    """A byte order mark, CRLF, columns in another order and further ones, no times."""
    text = "\ufeffvalue,channel,tick,note\r\n1,0,5000,a\r\n0,0,5100,b\r\n"
    status, board = replay(text, "--at", "1000000t")
    assert status == 0 and [(start, end) for start, end, _, _ in board.line_log] == [(1_000_000, 1_000_100)]


def test_more_than_are_known_at_once(replay, monkeypatch, capsys):
    """A long file is read again while it is sent; the queue is refilled."""
    from litepulse.commands import replay as verb

    monkeypatch.setattr(verb, "MOST_KNOWN", 10)
    pulses = [(1000 + 20_000 * n, 100) for n in range(400)]
    status, board = replay(csv_of(pulses), "--json")
    assert status == 0 and json.loads(capsys.readouterr().out)["max_error_ticks"] == 0
    start = board.line_log[0][0]
    assert [at - start for at, *_ in board.line_log] == [20_000 * n for n in range(400)]


@pytest.mark.seconds(20)
def test_captured_and_replayed_on_the_simulated_soc(tmp_path, capsys):
    """The real core: what leaves has the distances of what was captured, in both formats and in Python."""
    stimulus, csv, vcd = (tmp_path / name for name in ("stimulus", "x.csv", "x.vcd"))
    pulses = [(500_000 + at, width) for at, width in ((0, 480), (700, 1), (828, 1), (20_000, 5), (100_000, 4800))]
    stimulus.write_text("".join(f"{tick} 2 1\n{tick + width} 2 0\n" for tick, width in pulses))
    words = ["--sim", "--stimulus", str(stimulus), "--wire", "none", "capture", "--inputs", "2", "--for", "15ms"]
    assert cli.main([*words, "--csv", "--vcd", str(vcd)]) == 0
    csv.write_text(capsys.readouterr().out)
    for file in (csv, vcd):
        pins = tmp_path / "pins.vcd"
        assert cli.main(["--sim", "--vcd", str(pins), "replay", str(file), "--at", "600000t", "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        assert [each["tick"] - 600_000 for each in result["launched"]] == [tick - pulses[0][0] for tick, _ in pulses]
        edges = [tick for tick, _ in Vcd(pins, HZ).signals["tx"] if tick >= 600_000]
        assert edges == [600_000 + tick + more - 500_000 for tick, width in pulses for more in (0, width)]
    with litepulse.open(sim=True) as board:
        recorded = litepulse.Recorded(board, csv)
        with board.launches(recorded, invert=recorded.invert) as sending:
            outcomes = list(sending)
        assert [outcome.tick - outcomes[0].tick for outcome in outcomes] == [tick - pulses[0][0] for tick, _ in pulses]
