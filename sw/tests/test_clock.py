# SPDX-License-Identifier: BSD-2-Clause
"""`litepulse clock`: codes that a board sends by the PC's clock, and codes that it reads."""

import csv
import inspect
import io
import json
import random
import subprocess
from fractions import Fraction

import pytest

import litepulse
from litepulse import backends, cli, witness
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.interface import ClockReading
from litepulse.backends.wallclock import WallClock
from litepulse.codes import UTC, Fault, NmeaDecoder, barcode, dcf77, harp, irig_b, nmea
from litepulse.codes.emit import Pace, emit, quality_of
from litepulse.codes.follow import Followed, follow
from litepulse.vcd import Vcd

from .code_readers import HZ, dcf_utc, moment, read_barcodes, read_dcf77, read_harp, read_irig_b, read_nmea, read_uart, ticks
from .fake_board import FakeBoard
from .test_codes_harp import uart_edges
from .test_wrong_types import WRONG

NOW = UTC.of_posix(moment("2026-11-30 12:00:00"))
RX = 4  # the channel behind the inputs


class Slow(FakeBoard):
    """Time passes by transactions, and while the program waits; edges and bytes come in at their ticks."""

    def __init__(self, step=2000):
        self.pins = []  # [(tick, channel, level)]
        super().__init__(step, event_depth=12)

    def pause(self, seconds):
        self.advance(round(seconds * HZ))

    def advance(self, ticks):
        end = self.tick + ticks
        while self.pins and self.pins[0][0] <= end:
            tick, channel, level = self.pins.pop(0)
            super().advance(max(0, tick - self.tick))
            self.event(tick, 2, 4, 0, 1 << channel | level << 16 + channel, "edge", edge=True)
        super().advance(end - self.tick)


def connected(step=2000):
    device = Slow(step)
    return device, litepulse.Board(BusBackend(device, "uartbone", "fake", True, [], device.pause))


def emitted(code, duration, **options):
    """(what the job gave, [(start, end, byte)] on the line, the board's nominal second)."""
    device, board = connected()
    with board, emit(board, code, duration=duration, **options) as job:
        found = list(job)
        lost = job.lost
    assert not lost and all(each.refused == 0 and each.reason is None for each in found)
    line = [(start, end, data) for start, end, _, data in device.line_log]
    assert sum(each.launched for each in found) == len(line)
    return found, line


def as_edges(line, found):
    """The pulses on the line in exact seconds of the first second that was sent."""
    first = found[0]
    return [(first.second + Fraction(tick - first.tick, HZ), level) for start, end, _ in line for tick, level in ((start, 1), (end, 0))]


def as_bytes(line, found):
    first = found[0]
    return [(first.second + Fraction(start - first.tick, HZ), data) for start, _, data in line]


def check_seconds(found, count=None):
    """One after the other, each at the tick at which the simulated clock shows it."""
    assert count is None or len(found) == count
    for each in found:
        assert abs(each.error) <= 21 and each.ns - each.error == UTC.posix(each.second) * 10**9
    for before, after in zip(found, found[1:]):
        assert after.tick - before.tick == (after.second - before.second) * HZ


# Sending


@pytest.mark.parametrize("of", ["utc", "tai"])
def test_harp_on_the_line(of):
    """The last byte starts 672 us before the second, to the tick."""
    found, line = emitted("harp", "5s", of=of)
    check_seconds(found)
    assert len(found) in (4, 5)
    ahead = 0 if of == "utc" else 37
    for each, (when, number) in zip(found, read_harp(as_bytes(line, found))):
        assert when == each.second and number == UTC.posix(each.second) + ahead + 2_082_844_800
    assert [start for start, _, _ in line][5::6] == [each.tick - 672 * 48 for each in found]


@pytest.mark.parametrize("expression", ["B004", "B002"])
def test_irig_b_on_the_line(expression):
    """500 pulses through a queue of 64, none late; each is where the standard has it."""
    found, line = emitted("irig-b", "5s", expression=expression)
    check_seconds(found)
    read = read_irig_b(as_edges(line, found))
    assert len(read) == len(found) >= 4
    for each, (when, got) in zip(found, read):
        civil = UTC.civil(each.second)
        assert when == each.second and (got["second"], got["minute"], got["hour"]) == (civil.second, civil.minute, civil.hour)
        assert got["quality"] == (quality_of(each.uncertainty) if expression == "B004" else 0)


def test_barcodes_on_the_line():
    found, line = emitted("barcode", "9s", every=2)
    check_seconds(found)
    read = read_barcodes(as_edges(line, found), Fraction(1, 2), Fraction(29, 1000), Fraction(40, 1000))
    assert read == [(each.second, UTC.posix(each.second)) for each in found] and len(found) in (4, 5)
    assert all(UTC.posix(each.second) % 2 == 0 for each in found)


def test_nmea_on_the_line():
    """The first byte 100 ms behind the second, at the bit rate that was asked for."""
    found, line = emitted("nmea", "3s", baud=19200)
    check_seconds(found)
    read = read_nmea(bytes(data for _, _, data in line).decode())
    times = [fields[0] for name, fields in read if name == "GPZDA"]
    civils = [UTC.civil(each.second) for each in found]
    assert times == [f"{civil.hour:02}{civil.minute:02}{civil.second:02}.00" for civil in civils]
    size = len(line) // len(found)
    assert [start for start, _, _ in line][::size] == [each.tick + HZ // 10 for each in found]


def test_dcf77_on_the_line():
    found, line = emitted("dcf77", "190s")
    read = read_dcf77(as_edges(line, found))
    assert len(read) in (2, 3)
    for when, local, more in read:
        assert dcf_utc(local, more["summer"]) == UTC.posix(int(when))


@pytest.mark.seconds(12)
def test_on_the_pins_of_the_core(tmp_path):
    """The simulated SoC: a last byte starts 672 us before each second, on the pin; sigrok reads the same bytes."""
    vcd = str(tmp_path / "pins.vcd")
    with litepulse.open(sim=True, step=200_000, vcd=vcd) as board, emit(board, "harp", duration="1050ms") as job:
        found = list(job)
    assert found and not any(each.refused for each in found)
    edges = [(Fraction(tick, HZ), level) for tick, level in Vcd(vcd, HZ).signals["tx"] if tick > found[0].tick - HZ // 500]
    sent = read_uart(edges, Fraction(1, 100_000))
    assert [(when * HZ, number) for when, number in read_harp(sent)] == [
        (each.tick, UTC.posix(each.second) + 2_082_844_800) for each in found
    ]
    if not witness.available():
        pytest.skip("NOT TESTED: sigrok-cli is not installed")
    words = ["sigrok-cli", "-i", vcd, "-P", "uart:rx=tx:baudrate=100000", "-A", "uart=rx-data"]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [int(line.split()[-1], 16) for line in lines] == [byte for _, byte in sent]


def test_a_requested_start():
    device, board = connected()
    with board, emit(board, "harp", start=5 * HZ, duration="2s") as job:
        found = list(job)
    assert device.line_log[0][0] >= 5 * HZ and 5 * HZ <= found[0].tick < 6 * HZ + 60_000


@pytest.mark.parametrize("ppm", [-80, 80])
def test_a_clock_that_goes_otherwise(ppm, monkeypatch):
    """A board whose crystal is wrong: seconds lie where the PC's clock has them, and the bound says how surely."""
    monkeypatch.setattr(WallClock, "due", lambda self: True)
    device, board = connected(step=20_000)
    object.__setattr__(board.identity, "simulated", False)
    chance = random.Random(ppm)

    def truth(tick):
        return 1_796_040_000 * 10**9 + round(tick * Fraction(10**9, HZ) * (1 + Fraction(ppm, 10**6)))

    def read_clocks():
        device.advance(20_000)
        now, width = device.tick, chance.randrange(20_000, 400_000)
        off = chance.randrange(-(width // 2), width // 2)
        shown = truth(now) + off
        return ClockReading(now, 10**12, 10**12 + width, shown, shown)

    board.backend.read_clocks = read_clocks
    with board, emit(board, "harp", duration="20s") as job:
        found = list(job)
    assert len(found) >= 18 and not any(each.refused for each in found)
    for each in found:
        assert abs(truth(each.tick) - each.ns) <= each.uncertainty
        off = truth(each.tick) - UTC.posix(each.second) * 10**9
        assert abs(off) <= abs(each.error) + each.uncertainty
        assert abs(off) <= 400_000, "from the first second on"


def test_a_clock_that_is_set(monkeypatch):
    """By ten seconds: the code goes on with the new time, within a second or two."""
    monkeypatch.setattr(WallClock, "due", lambda self: True)
    device, board = connected(step=20_000)
    object.__setattr__(board.identity, "simulated", False)

    def read_clocks():
        device.advance(20_000)
        now = device.tick
        shown = 1_796_040_000 * 10**9 + now * 10**9 // HZ + (10 * 10**9 if now > 5 * HZ else 0)
        return ClockReading(now, 10**12, 10**12 + 1000, shown, shown)

    board.backend.read_clocks = read_clocks
    with board, emit(board, "irig-b", duration="10s") as job:
        found = list(job)
    seconds = [each.second for each in found]
    assert seconds == sorted(seconds) and seconds[-1] - seconds[0] >= 16
    assert abs(found[0].error) < 1000 and abs(found[-1].error) < 1000


def test_a_leap_second_in_the_pace(monkeypatch):
    """The PC's clock shows a second twice: the code goes on evenly."""
    monkeypatch.setattr(WallClock, "due", lambda self: True)
    device, board = connected(step=20_000)
    object.__setattr__(board.identity, "simulated", False)
    leap = 1_483_228_800  # 2017-01-01

    def read_clocks():
        device.advance(20_000)
        now = device.tick
        shown = (leap - 5) * 10**9 + now * 10**9 // HZ
        shown -= 10**9 if shown >= leap * 10**9 else 0  # from the leap second on
        return ClockReading(now, 10**12, 10**12 + 1000, shown, shown)

    board.backend.read_clocks = read_clocks
    with board, emit(board, "irig-b", duration="9s") as job:
        found = list(job)
    texts = [each.text[-8:] for each in found]
    assert "23:59:60" in texts and texts[texts.index("23:59:60") + 1] == "00:00:00"
    for before, after in zip(found, found[1:]):
        assert abs(after.tick - before.tick - HZ) < 100


def test_the_time_quality_of_irig():
    assert [quality_of(ns) for ns in (1, 2, 1000, 1001, 310_000, 10**9, 10**12)] == [1, 2, 4, 5, 7, 10, 15]


def test_the_pace_without_readings():
    _, board = connected()
    with board:
        pace = Pace(board)
        tick = pace.look()
        assert abs(pace.tick_of(int(pace.ns_of(tick) // 10**9) + 1) - tick) <= HZ


@pytest.mark.parametrize(
    "options, message",
    [
        ({"code": "msf"}, "code: 'msf' is not one of harp, irig-b, barcode, nmea, dcf77"),
        ({"code": "nmea", "of": "tai"}, "of: nmea has UTC alone"),
        ({"code": "harp", "of": "gps"}, "of: 'gps' is not utc or tai"),
        ({"code": "harp", "baud": 9600}, "baud: harp has its own bit rate"),
        ({"code": "irig-b", "baud": 9600}, "baud: irig-b is made of pulses"),
        ({"code": "nmea", "baud": 300}, "baud: "),
        ({"code": "irig-b", "expression": "B100"}, "expression: 'B100' is not one of"),
        ({"code": "barcode", "every": 0}, "every: 0 is outside"),
        ({"code": "barcode", "layout": "x"}, "layout: 'x' is not one of"),
        ({"code": "harp", "start": 1}, "start: tick 1 has passed"),
    ],
)
def test_what_cannot_be_sent(options, message):
    device, board = connected()
    with board:
        with pytest.raises(litepulse.BadInput) as error:
            emit(board, **options)
        assert str(error.value).startswith(message) and not board.busy and not device.line_log


ANY = {"board", "code", "invert", "loopback", "move_tx", "duration"}  # any object is true or false; None is no duration


@pytest.mark.parametrize("function", [emit, follow])
def test_arguments_of_the_wrong_type(function):
    """One sentence, whatever is given."""
    _, board = connected()
    with board:
        for name in set(inspect.signature(function).parameters) - ANY:
            code = {"expression": "irig-b", "parity": "irig-b", "layout": "barcode", "every": "barcode", "epoch": "harp"}.get(name, "nmea")
            for wrong in (*WRONG, litepulse.ms(1)):
                try:
                    function(board, code, **{"duration": "1us", name: wrong}).close()
                except litepulse.LitePulseError as error:
                    assert str(error).isprintable()
        with pytest.raises(litepulse.BadInput):
            function(board, ["harp"])


# Reading


def played(code, pins=(), heard=(), **options):
    """What follow() gives of [(tick, channel, level)] and [(tick, byte)]."""
    device, board = connected()
    device.pins = list(pins)
    with board, follow(board, code, **options) as job:
        for tick, byte in heard:
            device.hear(tick, byte)
        found = list(job)
        fit = job.fit
    return found, fit


def pins_of(records, channel):
    return [(tick, channel, level) for tick, level in records]


@pytest.mark.parametrize("channel", [0, 3])
def test_irig_b_is_followed(channel):
    edges = [edge for n in range(6) for edge in irig_b.encode(NOW + n)]
    found, fit = played("irig-b", pins_of(ticks(edges, NOW - 1), channel), input=channel, near=NOW, count=6)
    assert [(each.second, each.tick, each.residual, each.spread) for each in found] == [(NOW + n, (1 + n) * HZ, 0, 0) for n in range(6)]
    assert fit.rate == HZ and fit.second_of(0) == NOW - 1 and found[5].time == 6


def test_a_clock_that_is_fast_against_the_code():
    """The rate is that of all frames, and each frame is judged by those before it."""
    rate = HZ * (1 + Fraction(25, 10**6))
    edges = [(round((at - NOW + 1) * rate), level) for n in range(8) for at, level in irig_b.encode(NOW + n)]
    found, fit = played("irig-b", pins_of(edges, 1), input=1, near=NOW, count=8)
    assert abs(fit.ppm - 25) < Fraction(1, 10) and found[1].residual == 1200
    assert all(abs(each.residual) <= 2 for each in found[2:])


@pytest.mark.parametrize("channel", ["rx", 2])
def test_harp_is_followed(channel):
    """By the board's receiver, or from the edges of an input."""
    sent = [byte for n in range(4) for byte in harp.encode(NOW + n)]
    if channel == "rx":
        found, _ = played("harp", heard=[(tick - 1, byte) for tick, byte in ticks(sent, NOW - 1)], duration="5s")
    else:
        found, _ = played("harp", pins_of(ticks(uart_edges(sent), NOW - 1), channel), input=channel, duration="5s")
    assert [(each.second, each.tick) for each in found] == [(NOW + n, (1 + n) * HZ) for n in range(4)]


def test_barcodes_are_followed():
    edges = [edge for n in range(3) for edge in barcode.encode(NOW + 3 * n, layout=barcode.ONE_CORE)]
    found, _ = played("barcode", pins_of(ticks(edges, NOW - 1), 0), input=0, layout="one-core", duration="9s")
    assert [(each.second, each.tick) for each in found] == [(NOW + 3 * n, (1 + 3 * n) * HZ) for n in range(3)]


def test_dcf77_is_followed():
    edges = [edge for n in range(-2, 62) for edge in dcf77.encode(NOW + n)]
    found, _ = played("dcf77", pins_of(ticks(edges, NOW - 3), 0), input=0, near=NOW, duration="70s")
    assert [each.second for each in found if isinstance(each, Followed)] == [NOW + 60]


@pytest.mark.parametrize("pps", [None, 0])
def test_nmea_is_followed(pps):
    """With the pulse per second each second is at its edge, 123 ticks beside what the delay says."""
    sent = [(tick - 1, byte) for tick, byte in ticks([byte for n in range(4) for byte in nmea.encode(NOW + n, baud=19200)], NOW - 1)]
    pulses = [(tick + 123, level) for tick, level in ticks([edge for n in range(4) for edge in nmea.pulse(NOW + n)], NOW - 1)]
    found, _ = played("nmea", pins_of(pulses, 0), sent, pps=pps, baud=19200, near=NOW, duration="5s")
    assert [(each.second, each.tick - (1 + n) * HZ) for n, each in enumerate(found)] == [
        (NOW + n, 123 if pps == 0 else 0) for n in range(4)
    ]


def test_a_jump_is_reported():
    seconds = [NOW, NOW + 1, NOW + 12, NOW + 13]
    edges = [(at - second + n, level) for n, second in enumerate(seconds) for at, level in irig_b.encode(second)]
    found, fit = played("irig-b", pins_of(ticks(edges, -1), 0), input=0, near=NOW, count=4)
    assert [each.jump for each in found] == [False, False, True, False] and fit.count == 2


def test_what_is_not_whole_is_reported():
    edges = ticks([edge for n in range(4) for edge in irig_b.encode(NOW + n)], NOW - 1)
    del edges[250]
    found, _ = played("irig-b", pins_of(edges, 0), input=0, near=NOW, duration="6s")
    assert [each.second for each in found if isinstance(each, Followed)] == [NOW, NOW + 2, NOW + 3]
    assert any(isinstance(each, Fault) for each in found)


def test_lost_records_are_reported():
    """What has begun is dropped where records are missing, and the loss is an item of its own."""
    device, board = connected()
    device.pins = pins_of(ticks([edge for n in range(60) for edge in irig_b.encode(NOW + n)], NOW - 1), 0)
    with board, follow(board, "irig-b", input=0, near=NOW, duration="62s") as job:
        device.advance(30 * HZ)  # the program does not look
        found = list(job)
    truth = {(1 + n) * HZ: NOW + n for n in range(60)}
    frames = [each for each in found if isinstance(each, Followed)]
    assert all(truth[each.tick] == each.second for each in frames) and 30 <= len(frames) < 60
    assert any(isinstance(each, litepulse.LostEvent) for each in found)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"code": "x"}, "code: 'x' is not one of"),
        ({"code": "irig-b", "input": 9}, "inputs: 9 is not a channel"),
        ({"code": "irig-b", "pps": 0}, "pps: irig-b has its seconds in itself"),
        ({"code": "nmea", "input": 0, "pps": 0}, "pps: it is the input that has the sentences"),
        ({"code": "harp", "baud": 9600}, "baud: harp has its own bit rate"),
        ({"code": "dcf77", "of": "tai"}, "of: dcf77 has UTC alone"),
        ({"code": "irig-b", "near": 10**20}, "second: "),
        ({"code": "nmea", "names": "x"}, "names: 'x' is not last or next"),
    ],
)
def test_what_cannot_be_followed(options, message):
    _, board = connected()
    with board:
        with pytest.raises(litepulse.BadInput) as error:
            follow(board, **options)
        assert str(error.value).startswith(message) and not board.busy


# The command


@pytest.fixture
def ran(capsys, monkeypatch):
    """A function that runs the verb on a device: (status, standard output)."""

    def run(device, *words):
        backend = BusBackend(device, "uartbone", "fake", True, [], device.pause)
        monkeypatch.setattr(backends, "connect", lambda *_arguments, **_options: backend)
        status = cli.main(["clock", *words])
        return status, capsys.readouterr().out

    return run


def test_the_verb_sends(ran):
    status, out = ran(Slow(), "emit", "irig-b", "--for", "3s", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0 and len(rows) in (2, 3)
    assert {row["launched"] for row in rows} == {"100"} and {row["refused"] for row in rows} == {"0"}
    assert rows[0]["time"] == str(UTC.civil(int(rows[0]["second"]))).replace(" ", "T")
    status, out = ran(Slow(), "emit", "harp", "--of", "tai", "--for", "3s", "--json")
    result = json.loads(out)
    assert status == 0 and result["command"] == "clock emit" and result["of"] == "tai" and result["max_error_ns"] < 10**6
    assert {each["launched"] for each in result["seconds"]} == {6}
    status, out = ran(Slow(), "emit", "barcode", "--every", "2", "--for", "4s")
    assert status == 0 and "0 launches refused" in out


def driven():
    """A board that hears five seconds of IRIG-B on input 0."""
    board = Slow(100_000)
    edges = [edge for n in range(5) for edge in irig_b.encode(NOW + n)]
    board.pins = pins_of(ticks(edges, NOW - 2), 0)
    return board


def test_the_verb_reads(ran):
    status, out = ran(driven(), "follow", "irig-b", "--input", "0", "--count", "4", "--json")
    result = json.loads(out)
    assert status == 0 and result["count"] == 4 and [frame["second"] for frame in result["frames"]] == [NOW + n for n in range(4)]
    assert result["at_tick_0"] == {"second": str(NOW - 2), "ticks_per_second": str(HZ), "ppm": "0.000000"}
    status, out = ran(driven(), "follow", "irig-b", "--input", "0", "--for", "8s", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0 and [row["frame"] for row in rows] == [f"B004_2026-11-30_12:00:0{n}" for n in range(5)]
    status, out = ran(driven(), "follow", "irig-b", "--input", "0", "--for", "8s")
    assert status == 0 and "B004 2026-11-30 12:00:04" in out and "0 parts not whole" in out
    status, out = ran(driven(), "follow", "irig-b", "--input", "0", "--for", "8s", "--invert")
    assert status == 1 and "NOT WHOLE" in out and "--invert" in out


def test_a_second_reader_of_sentences():
    """The decoder of the package reads what the package sends, with the pulse first."""
    decoder = NmeaDecoder(HZ, pulses=True)
    assert decoder.pulse(HZ) == []
    got = [each for record in ticks(nmea.encode(NOW), NOW - 1) for each in decoder.feed(*record)]
    assert [(each.second, each.tick) for each in got] == [(NOW, HZ)]
