# SPDX-License-Identifier: BSD-2-Clause
"""Times of clocks by their names: as text, of events of a capture, and of PTP and Harp clocks, on a board in Python."""

import csv
import errno
import io
import json
import re
import struct
from bisect import bisect_right
from fractions import Fraction

import pytest

import litepulse
from litepulse import backends, cli, phc
from litepulse.backends.bus.backend import BusBackend
from litepulse.codes import TAI, UTC, harp
from litepulse.named_time import clock_name, named_time, time_text
from litepulse.vcd import Vcd

from .test_boards import Lab, two
from .test_clock import HZ, Slow, connected
from .test_codes_harp import uart_edges
from .test_discipline import NOON, RATE, board_of_a_pc, crystal, places, pulses_at

HARP = NOON + harp.EPOCH


@pytest.mark.parametrize(
    "name, text, ns",
    [
        ("utc", "2026-11-30T12:00:00.250000000Z", UTC.of_posix(NOON) * 10**9 + 250_000_000),
        ("utc", "2016-12-31T23:59:60.000000001Z", (UTC.of_posix(1_483_228_800) - 1) * 10**9 + 1),
        ("pps:0", "2026-11-30T12:00:00.000000000Z", UTC.of_posix(NOON) * 10**9),
        ("tai", "2026-11-30T12:00:37.000000000", (NOON + 37) * 10**9),
        ("monotonic", "1234.500000000", 1_234_500_000_000),
        ("phc:0", "1796040037.000000005", 1_796_040_037_000_000_005),
        ("phc:/dev/clocks/gps", "7.000000000", 7 * 10**9),
        ("harp", f"{HARP}.500000000", HARP * 10**9 + 5 * 10**8),
        ("harp:3", "12.000000000", 12 * 10**9),
    ],
)
def test_what_is_shown_can_be_given(name, text, ns):
    """What stands in a cell is what --at takes behind the clock's name."""
    assert time_text(name, ns) == text
    found = named_time(f"{name}:{text}", "at")
    assert (found.clock, found.second * 10**9, found.daily) == (name, ns, False)


@pytest.mark.parametrize(
    "given, name",
    [("phc:/dev/ptp2", "phc:2"), ("phc:2", "phc:2"), ("harp:rx", "harp"), ("pps:00", "pps:0"), ("phc", "phc"), ("realtime", "realtime")],
)
def test_a_clock_has_one_name(given, name):
    assert clock_name(given) == name


@pytest.mark.parametrize(
    "given", ["", "gps", "pps", "pps:rx", "pps:-1", "phc:", "phc:x", "harp:", "utc:", "utc:0", "pps:" + "1" * 12, "phc:²"]
)
def test_no_name_of_a_clock(given):
    with pytest.raises(litepulse.BadInput, match="is not utc, tai, monotonic, realtime, pps:0, phc:0, harp or harp:0"):
        clock_name(given)
    _, board = connected()
    with board:
        for call in (lambda: board.time_of(1, given), lambda: board.tick_at(1, given), lambda: board.capture(clock=given)):
            with pytest.raises(litepulse.BadInput):
                call()
        assert not board.busy


# Events in a clock that comes in


def second_at(truth, tick):
    """Of the seconds that begin at `truth`, counted from its first one, the moment of a tick."""
    n = min(max(bisect_right(truth, tick) - 1, 0), len(truth) - 2)
    return n + (tick - truth[n]) / (truth[n + 1] - truth[n])


def edges_at(ticks, channel):
    return [(tick + more, channel, level) for tick in ticks for more, level in ((0, 1), (480, 0))]


def test_events_in_the_time_of_pulses():
    """A crystal that is wrong and wanders: each event is within its bound, which is some hundred ns; those before two pulses have none."""
    truth = crystal(24)
    ticks = [HZ // 2 + n * (HZ // 7) + n * n for n in range(150)]
    device, board = connected(step=20_000)
    device.pins = sorted(pulses_at(truth, channel=2) + edges_at(ticks, 0))
    with board, board.capture([0], edges="rise", clock="pps:2", count=150) as capture:
        with pytest.raises(litepulse.LitePulseError, match="clock: of the pulses at input 2 no second came in, 2 are needed"):
            board.time_of(5, "pps:2")
        found = list(capture)
        assert capture.clock == "pps:2"
        last = board.time_of(found[-1].tick, "pps:2")
        assert (last.clock, last.ns) == ("pps:2", found[-1].ns)
        back = board.tick_at(last.ns, "pps:2")
        assert abs(back.tick - found[-1].tick) <= 1 and back.clock == "pps:2" and back.uncertainty <= last.uncertainty
        assert board.time_of(board.now(), "utc").clock == "utc"
    assert [event.tick for event in found] == ticks and all(event.clock == "pps:2" and event.channel == 0 for event in found)
    timed = [event for event in found if event.ns is not None]
    assert all((event.ns is None) == (event.tick < truth[1]) for event in found if abs(event.tick - truth[1]) > HZ // 100)
    first = timed[0].ns - second_at(truth, timed[0].tick) * 10**9
    whole = round(first / 10**9) * 10**9  # which second it is says the PC
    for event in timed:
        off = event.ns - whole - second_at(truth, event.tick) * 10**9
        assert abs(off) <= event.uncertainty < 2_000, (event, float(off))


def test_the_pulses_themselves_and_both_edges():
    """What is requested is what is shown, also of the channel that the clock needs."""
    truth = crystal(8, wander=0)
    for edges, levels in (("both", [1, 0]), ("rise", [1]), ("fall", [0])):
        device, board = connected(step=20_000)
        device.pins = pulses_at(truth)
        with board, board.capture([0], edges=edges, clock="pps:0", duration="5s") as capture:
            found = [event.level for event in capture]
        assert found == (levels * 5)[: len(found)] and len(found) >= 4, edges
    device, board = connected(step=20_000)
    device.pins = pulses_at(truth)
    with board, pytest.raises(litepulse.BadInput, match="inputs: '9' is not a channel"):
        board.capture([0], clock="pps:9")


def test_an_array_beside_a_clock():
    """It has ticks alone; the clock comes in all the same."""
    pytest.importorskip("numpy")
    truth = crystal(8, wander=0)
    device, board = connected(step=20_000)
    device.pins = sorted(pulses_at(truth, channel=1) + edges_at([HZ, 3 * HZ, 5 * HZ], 0))
    with board:
        found = board.capture([0], clock="pps:1", count=6).array()
        assert list(found["tick"][::2]) == [HZ, 3 * HZ, 5 * HZ] and set(found["channel"]) == {0}
        assert board.time_of(5 * HZ, "pps:1").uncertainty < 1000


def harp_pins(truth, first, channel):
    """Pins of a Harp clock whose second `first` begins at truth[0]."""
    found = []
    for n, (begin, end) in enumerate(zip(truth, truth[1:])):
        for at, level in uart_edges(harp.encode(first + n, TAI, 0)):
            found.append((round(begin + (at - first - n) * (end - begin)), channel, level))
    return [pin for pin in found if pin[0] > 0]


@pytest.mark.parametrize("channel, name", [(1, "harp:1"), (4, "harp"), (4, "harp:rx")])
def test_events_in_the_time_of_a_harp_clock(channel, name):
    truth = crystal(12)
    ticks = [HZ // 2 + n * (HZ // 3) for n in range(30)]
    device, board = connected(step=20_000)
    device.pins = sorted(harp_pins(truth, HARP, channel) + edges_at(ticks, 0))
    with board, board.capture([0], edges="rise", clock=name, count=30) as capture:
        found = list(capture)
    timed = [event for event in found if event.ns is not None]
    assert len(timed) >= 22 and [event.tick for event in found] == ticks
    for event in timed:
        off = event.ns - (HARP + second_at(truth, event.tick)) * 10**9
        assert abs(off) <= event.uncertainty < 4_000, (event, float(off))


def test_a_launch_at_a_time_of_a_harp_clock():
    truth = crystal(12, wander=0)
    device, board = connected(step=20_000)
    device.pins = harp_pins(truth, HARP, 1)
    with board:
        (sent,) = board.send([0x55], at=f"harp:1:{HARP + 8}.5")
        assert abs(sent.tick - (truth[8] + truth[9]) / 2) <= 50
    _, board = connected(step=2_000_000)
    with board:
        with pytest.raises(litepulse.LitePulseError, match="at: the Harp clock at input 0 does not come in"):
            board.send([0x55], at=f"harp:0:{HARP + 9}")
        with pytest.raises(litepulse.LitePulseError, match="clock: the Harp clock at input 0 does not come in: nothing in 10 s"):
            board.train(RATE, width="10us", clock="harp:0")
        assert not board.busy
    device, board = connected(step=20_000)
    device.pins = harp_pins(truth, HARP, 1)
    with board, pytest.raises(litepulse.BadInput, match="at: that time has passed"):
        board.send([0x55], at="harp:1:12")


def test_a_launch_at_a_time_by_pulses():
    """The capture that finds it is over before the launch begins."""
    for call in ("launch", "send", "launches"):
        device, board = connected(step=20_000)
        truth = crystal(12, wander=0)
        device.pins = pulses_at(truth, channel=1)
        with board:
            second = -(-board.time_of(board.now(), "utc").ns // 10**9) + 7
            at = f"pps:1:{UTC.civil(second)}"
            if call == "launch":
                tick = board.launch(at, width="10us").tick
            else:
                (sent,) = board.send([0x55], at=at) if call == "send" else board.launches([("+0us", "10us")], start=at)
                tick = sent.tick
        assert min(abs(tick - each) for each in truth) <= 1, call


def test_a_train_that_follows_a_harp_clock():
    truth = crystal(20)
    device, board = connected(step=20_000)
    device.pins = harp_pins(truth, HARP, 1)
    with board:
        with board.train(RATE, width="10us", count=RATE * 10, clock="harp:1", start=f"harp:1:{HARP + 5}") as train:
            found = list(train)
        off = [pulse.tick - place for pulse, place in zip(found, places(truth, 5))]
        assert max(map(abs, off)) <= HZ // 1_000_000 and train.first == HARP + 5 and train.began == f"{HARP + 5} s of harp:1"
        assert {each.why for each in train.steered} == {"locked"}
        with pytest.raises(litepulse.BadInput, match="clock: the train's own pulses may come back on rx"):
            board.train(RATE, width="10us", clock="harp")
        with pytest.raises(litepulse.BadInput, match=r"start: of a train that follows harp:1 it is a time of that clock: harp:1:1234\.5"):
            board.train(RATE, width="10us", clock="harp:1", start="utc:12:00:00")
        with pytest.raises(litepulse.BadInput, match="clocks: harp:1 cannot be compared"):
            from litepulse.compare import compare

            compare(board, ["harp:1"])


def test_a_harp_clock_that_jumps():
    """Three seconds with other names are believed."""
    truth = crystal(14, wander=0)
    pins = [pin for pin in harp_pins(truth, HARP, 1) if pin[0] < truth[6] - HZ // 2]
    pins += [pin for pin in harp_pins(truth, HARP + 1000, 1) if pin[0] > truth[6] - HZ // 2]
    device, board = connected(step=20_000)
    device.pins = sorted(pins + edges_at([5 * HZ, 11 * HZ], 0))
    with board, board.capture([0], edges="rise", clock="harp:1", count=2) as capture:
        before, after = capture
        assert board.came_in("harp:1").steps == 1
    # The first second begins a second behind the board's reset.
    assert round(before.ns / 10**9) == HARP + 4 and round(after.ns / 10**9) == HARP + 1010


# UTC, and PTP clocks


def test_events_in_utc(monkeypatch):
    _, board, truth = board_of_a_pc(monkeypatch, NOON, ppm=50)
    with board:
        tick = board.now().tick + HZ
        shown = board.time_of(tick, "utc")
        ahead = UTC.offset(UTC.of_posix(NOON)) * 10**9
        assert abs(shown.ns - ahead - truth(tick)) <= shown.uncertainty and shown.clock == "utc"
        found = board.tick_at(shown.ns, "utc")
        assert abs(found.tick - tick) * 10**9 / HZ <= found.uncertainty and found.clock == "utc"


def test_utc_beside_a_leap_second(monkeypatch):
    """The PC shows a second twice: the bound has that."""
    leap = 1_483_228_800
    _, board, truth = board_of_a_pc(monkeypatch, leap - 4, leap=leap)
    with board:
        for second in range(8):
            while board.now().tick < second * HZ:
                board.backend.recorder.wait(0.05)
            tick = board.now().tick
            shown = board.time_of(tick, "utc")
            assert abs(shown.ns - 36 * 10**9 - truth(tick)) <= shown.uncertainty, second


class Ptp:
    """fcntl.ioctl() of a PTP clock. has: the ioctls of its driver; now: (ns of CLOCK_REALTIME, ns of the clock)."""

    def __init__(self, now, has=(phc.OFFSET,), width=1000):
        self.now, self.has, self.width, self.calls = now, has, width, []

    def __call__(self, handle, number, data):
        self.calls.append(number)
        if number not in self.has:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        realtime, ns = self.now()
        early, late = self.width // 7, self.width - self.width // 7

        def put(at, *times):
            for n, each in enumerate(times):
                struct.pack_into("=qII", data, at + 16 * n, *divmod(each, 10**9), 0)

        if number == phc.PRECISE:
            assert len(data) == 64
            return put(0, ns, realtime, realtime - 10**12)
        (count,) = struct.unpack_from("=I", data)
        for n in range(count):
            slow = self.width if n != 3 else 0  # the one sample that nothing held up
            if number == phc.EXTENDED:
                assert len(data) == 1216
                put(16 + 48 * n, realtime - early - slow, ns, realtime + late)
            else:
                assert len(data) == 832
                put(16 + 32 * n, realtime - early + n * self.width, ns + n * self.width, realtime - early + (n + 1) * self.width)


KINDS = {"precise": (phc.PRECISE,), "extended": (phc.EXTENDED, phc.OFFSET), "offset": (phc.OFFSET,)}


def test_the_numbers_of_the_ioctls():
    """Those of linux/ptp_clock.h, where a compiler has them."""
    assert (phc.OFFSET, phc.PRECISE, phc.EXTENDED) == (0x43403D05, 0xC0403D08, 0xC4C03D09)


@pytest.mark.parametrize("kind", KINDS)
def test_a_reading_of_a_ptp_clock(kind):
    """The closest way that the driver has; the bound is half of the closest bracket."""
    device = Ptp(lambda: (NOON * 10**9, 5_000_000_000), KINDS[kind])
    found = phc.read(3, device)
    assert abs((found.ns - found.realtime) - (5 - NOON) * 10**9) <= found.error
    assert found.error == (100 if kind == "precise" else 501)
    assert device.calls[-1] == KINDS[kind][0]


def test_a_clock_that_is_set_while_it_is_read():
    with pytest.raises(litepulse.LitePulseError, match="CLOCK_REALTIME was set"):
        phc.read(3, Ptp(lambda: (NOON * 10**9, 0), (phc.OFFSET,), width=-10_000_000))


@pytest.fixture
def ptp(monkeypatch, tmp_path):
    """(the board, its truth, 'phc:...' of a clock that is 37 s and something ahead and 30 ppm fast, its ns at a tick)."""

    def made(kind="extended", ppm=60):
        device, board, truth = board_of_a_pc(monkeypatch, NOON, ppm=ppm)

        def shown(tick):
            return truth(tick) + 37 * 10**9 + 123 + (truth(tick) - NOON * 10**9) * 30 // 10**6

        stand_in = Ptp(lambda: (truth(device.tick), shown(device.tick)), KINDS[kind])
        monkeypatch.setattr("fcntl.ioctl", stand_in)
        (tmp_path / "ptp").touch()
        return device, board, f"phc:{tmp_path / 'ptp'}", shown

    return made


@pytest.mark.parametrize("kind", KINDS)
def test_ticks_in_a_ptp_clock(ptp, kind):
    _, board, name, shown = ptp(kind)
    with board:
        for _ in range(20):
            tick = board.now().tick + HZ // 10
            found = board.time_of(tick, name)
            assert abs(found.ns - shown(tick)) <= found.uncertainty < 250_000 and found.clock == name
            back = board.tick_at(found.ns, name)
            assert abs(back.tick - tick) * 10**9 / HZ <= back.uncertainty + found.uncertainty and back.clock == name
            board.backend.recorder.wait(0.1)


def test_events_in_a_ptp_clock(ptp):
    device, board, name, shown = ptp()
    ticks = [HZ // 2 + n * (HZ // 3) for n in range(12)]
    device.pins = edges_at(ticks, 0)
    with board, board.capture([0], edges="rise", clock=name, count=12) as capture:
        for event in capture:
            assert abs(event.ns - shown(event.tick)) <= event.uncertainty and event.clock == name


def test_a_launch_at_a_time_of_a_ptp_clock(ptp):
    _, board, name, shown = ptp()
    with board:
        (sent,) = board.send([0x55], at=f"{name}:{NOON + 40}.25")
        assert abs(shown(sent.tick) - (NOON + 40) * 10**9 - 250_000_000) < 5_000
        with pytest.raises(litepulse.BadInput, match="at: that time has passed"):
            board.send([0x55], at=f"{name}:{NOON}")


def test_a_train_that_follows_a_ptp_clock(ptp):
    _, board, name, shown = ptp()
    with board, board.train(RATE, width="10us", count=RATE * 12, clock=name, start=f"{name}:{NOON + 40}") as train:
        found = list(train)
    assert train.first == NOON + 40 and {each.why for each in train.steered} == {"locked"} and train.began == f"{NOON + 40} s of {name}"
    for n, pulse in enumerate(found):
        assert abs(shown(pulse.tick) - (NOON + 40 + Fraction(n, RATE)) * 10**9) < (5_000 if n > 5 * RATE else 300_000)


def test_a_device_that_is_no_ptp_clock(tmp_path):
    (tmp_path / "ptp").touch()
    _, board = connected()
    with board:
        for path, why in ((tmp_path / "none", "No such file"), (tmp_path / "ptp", "Inappropriate ioctl")):
            with pytest.raises(litepulse.LitePulseError, match=f"clock: {path}: cannot read it as a PTP clock .{why}"):
                board.time_of(1, f"phc:{path}")
            with pytest.raises(litepulse.LitePulseError, match="cannot read it as a PTP clock"):
                board.capture(clock=f"phc:{path}")
        with pytest.raises(litepulse.Unsupported, match="only a board of the kernel driver"):
            board.time_of(1, "phc")
        assert not board.busy


# The command


@pytest.fixture
def at_the_command(monkeypatch):
    """A pulse per second at input 1 that begins at 1 s, an edge at input 0 each half second from 0.4 s on."""

    def made():
        device = Slow(20_000)
        device.pins = sorted(pulses_at(crystal(9, wander=0), 1) + edges_at([2 * HZ // 5 + n * HZ // 2 for n in range(12)], 0))
        backend = BusBackend(device, "uartbone", "fake", True, [], device.pause)
        monkeypatch.setattr(backends, "connect", lambda *_arguments, **_options: backend)

    made()
    return made


WORDS = ["capture", "--inputs", "0", "--edges", "rise", "--count", "10", "--clock"]


@pytest.mark.parametrize("style", ["csv", "vnl"])
def test_rows_of_the_command(at_the_command, style, capsys):
    """Cells of the first events are empty; the last ones are as --at takes them."""
    assert cli.main([*WORDS, "pps:1", f"--{style}"]) == 0
    out, errors = capsys.readouterr()
    lines = [line.removeprefix("# ") for line in out.splitlines() if not line.startswith("##")]
    rows = list(csv.DictReader(io.StringIO("\n".join(lines)), delimiter="," if style == "csv" else " "))
    empty = "" if style == "csv" else "-"
    assert [row["pps_time"] == empty for row in rows] == [True] * 4 + [False] * 6
    assert all((row["uncertainty_ns"] == empty) == (row["pps_time"] == empty) for row in rows)
    times = [named_time(f"pps:1:{row['pps_time']}", "at").second for row in rows[4:]]
    assert all(abs(b - a - Fraction(1, 2)) < Fraction(1, 40_000) for a, b in zip(times, times[1:]))
    assert "4 times in pps:1 not known yet: two of its seconds have to come in before" in errors


def test_json_and_text_of_the_command(at_the_command, capsys):
    assert cli.main([*WORDS, "pps:1", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["clock"] == "pps:1" and result["edges"][0] | {"tick": 0} == {
        "tick": 0, "channel": "0", "level": 1, "ns": None, "uncertainty_ns": None, "time": None,
    }  # fmt: skip
    last = result["edges"][-1]
    assert last["time"] == time_text("pps:1", last["ns"]) and 0 < last["uncertainty_ns"] < 1000
    at_the_command()
    assert cli.main([*WORDS, "pps:1"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.endswith("0 ↑")]
    assert [" ± " in line for line in lines] == [False] * 4 + [True] * 6 and max(map(len, lines)) <= 80
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9} ± \d+(\.\d)? ns +\d+  0 ↑", lines[-1])


@pytest.mark.parametrize("clock", ["utc", "monotonic", "pps:1"])
def test_a_vcd_has_the_clock_as_comments(at_the_command, clock, tmp_path, capsys):
    """Not more than one a second; the levels are as without."""
    file = tmp_path / "pins.vcd"
    words = ["capture", "--inputs", "0", "--count", "20", "--clock", clock, "--vcd", str(file)]
    assert cli.main(words) == 0
    comments = re.findall(rf"\$comment tick (\d+): {clock} (\S+), to (\d+) ns \$end", file.read_text())
    assert (3 if clock == "pps:1" else 5) <= len(comments) <= 6 and all(named_time(f"{clock}:{text}", "at") for _, text, _ in comments)
    at_the_command()
    plain = tmp_path / "plain.vcd"
    assert cli.main([*words[:5], "--vcd", str(plain)]) == 0
    with_clock, without = (Vcd(each, HZ).signals["in0"] for each in (file, plain))
    assert with_clock[1:] == without[1:] and len(without) == 21


def test_what_has_no_place_for_a_clock(capsys):
    assert cli.main(["capture", "--binary", "1M", "--clock", "utc"]) == 2
    assert capsys.readouterr().err == "litepulse: --binary: samples have no place for the times of --clock\n"


# Several boards


@pytest.fixture
def lab(monkeypatch, tmp_path):
    """(two boards on one PC, 'phc:...' of a clock of it that is 37 s ahead)."""
    lab = Lab(monkeypatch, two())
    shown = [NOON * 10**9]

    def recorded(read):
        def read_clocks():
            reading = read()
            shown[0] = reading.realtime
            return reading

        return read_clocks

    for board in lab.boards:
        board.backend.read_clocks = recorded(board.backend.read_clocks)
    monkeypatch.setattr("fcntl.ioctl", Ptp(lambda: (shown[0] + 500, shown[0] + 500 + 37 * 10**9), KINDS["extended"]))
    (tmp_path / "ptp").touch()
    with lab.boards:
        yield lab, f"phc:{tmp_path / 'ptp'}"


def test_several_boards_at_a_time_of_a_ptp_clock(lab):
    lab, name = lab
    outcomes, moment = lab.boards.launch(at=f"{name}:{NOON + 37 + 20}", width="10us")
    for clock, outcome in zip(lab.crystals, outcomes):
        assert abs(clock.second(outcome.tick) - 20) * 10**9 <= moment.uncertainty < 2_000_000
    with lab.boards.train(RATE, width="10us", count=RATE * 4, clock=name) as trains:
        for _ in trains:
            pass
    assert trains.jobs[0].first == trains.jobs[1].first > NOON + 37 + 20
    assert lab.apart(train.record.ideal.start for train in trains.jobs) < 1_000_000


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda boards: boards.launch(at="harp:0:12"), "at: a time of harp:0 is for one board; a train on several may follow that clock"),
        (lambda boards: boards.launch(clock="harp:0"), "fake0: clock: 'harp:0' finds no moment on several boards: utc or pps:0 does"),
        (lambda boards: boards.train(RATE, clock="phc"), "clock: 'phc' is another clock on each board: phc:0, /dev/ptp0, is one for all"),
        (lambda boards: boards.train(RATE, clock="harp:0"), "start: give one, harp:0:SECONDS: what the Harp clock at input 0 shows"),
    ],
)
def test_what_several_boards_cannot(lab, call, message):
    with pytest.raises(litepulse.BadInput) as error:
        call(lab[0].boards)
    assert str(error.value).startswith(message) and not any(board.busy for board in lab[0].boards)
