# SPDX-License-Identifier: BSD-2-Clause
"""Several boards at one moment: boards in Python with crystals of their own, and two simulators with a wire between them."""

import bisect
import contextlib
import csv
import io
import json
import math
import subprocess
from fractions import Fraction
from types import SimpleNamespace

import pytest

import litepulse
from litepulse import cli
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.interface import ClockReading
from litepulse.backends.wallclock import WallClock
from litepulse.codes.scale import UTC
from litex_soc import sim_soc

from .fake_board import CONFIG, FakeBoard
from .test_clock import HZ, Slow
from .test_discipline import NOON, crystal

MICROSECOND = HZ // 1_000_000


class Crystal:
    """A board's ticks against true time; `seconds`: tick, exact, at which each second begins."""

    def __init__(self, seconds):
        self.seconds = seconds

    def tick(self, second):
        """The tick, exact, at a true time."""
        whole = math.floor(second)
        begin, end = self.seconds[whole], self.seconds[whole + 1]
        return begin + (end - begin) * (second - whole)

    def second(self, tick):
        """The true time of a tick."""
        whole = max(0, min(bisect.bisect_right(self.seconds, tick) - 1, len(self.seconds) - 2))
        begin, end = self.seconds[whole : whole + 2]
        return whole + (tick - begin) / (end - begin)


class Lab:
    """Boards on one PC that shows the true time. pins: [(second, channel, level)] that all of them see."""

    def __init__(self, monkeypatch, crystals, pins=(), step=20_000, width=1000, **options):
        monkeypatch.setattr(WallClock, "due", lambda self: True)
        self.crystals, self.width = crystals, width
        self.devices = [Slow(step) for _ in crystals]
        for device, clock in zip(self.devices, crystals):
            device.advance(math.ceil(clock.tick(0)))  # all begin at one time
            device.pins = [(math.ceil(clock.tick(second)), channel, level) for second, channel, level in pins]
        boards = [self.board(number, device) for number, device in enumerate(self.devices)]
        self.boards = litepulse.Boards(boards, **options)
        sleep = SimpleNamespace(sleep=lambda seconds: [device.advance(round(seconds * HZ)) for device in self.devices])
        monkeypatch.setattr("litepulse.reference.time", sleep)

    def board(self, number, device):
        board = litepulse.Board(BusBackend(device, "uartbone", f"fake{number}", True, [], device.pause))
        object.__setattr__(board.identity, "simulated", False)
        clock = self.crystals[number]

        def read_clocks():
            device.advance(20_000)
            raw = round(clock.second(device.tick) * 10**9) + 10**12
            half = self.width // 2
            return ClockReading(device.tick, raw - half, raw + half, raw, raw - 10**12 + NOON * 10**9, raw)

        board.backend.read_clocks = read_clocks
        return board

    def apart(self, ticks):
        """ns between the true times of ticks of the boards."""
        times = [clock.second(tick) for clock, tick in zip(self.crystals, ticks)]
        return (max(times) - min(times)) * 10**9


def two(seconds=60, wander=Fraction(1, 10)):
    """Crystals that are 40 and -30 ppm off, and wander there and back, one the other way round."""
    first, second = crystal(seconds, 40, wander), crystal(seconds, -30, -wander)
    return [Crystal(first), Crystal([at + 12_345_678 for at in second])]


@pytest.fixture
def lab(monkeypatch):
    lab = Lab(monkeypatch, two())
    with lab.boards:
        yield lab


def started(lab):
    """The tick of what each board launched."""
    return [device.line_log[0][0] for device in lab.devices]


def test_a_launch_soon(lab):
    """At one moment, within the bound, and as wanted to the tick."""
    outcomes, moment = lab.boards.launch(byte=0x55)
    assert [outcome.tick for outcome in outcomes] == list(moment.ticks) == started(lab)
    assert lab.apart(moment.ticks) <= moment.apart < 2_000_000 and 0 < moment.uncertainty <= moment.apart
    assert not any(board.busy for board in lab.boards)


@pytest.mark.parametrize("of", [0, 1])
def test_a_moment_of_one_board(lab, of):
    at = lab.boards[of].now() + litepulse.s(3)
    outcomes, moment = lab.boards.launch(at=at, width="10us", of=of)
    assert moment.ticks[of] == at.tick == outcomes[of].tick
    assert lab.apart(started(lab)) <= moment.uncertainty == moment.apart


def test_a_time_of_utc(lab):
    """Waited for on both, and found as late as possible, because a crystal's future is not known."""
    text = f"utc:{UTC.civil(UTC.of_posix(NOON + 20))}Z".replace(" ", "T")
    outcomes, moment = lab.boards.launch(at=text, width="10us")
    for clock, outcome in zip(lab.crystals, outcomes):
        assert abs(clock.second(outcome.tick) - 20) * 10**9 <= moment.uncertainty < 2_000_000
    assert moment.apart <= 2 * moment.uncertainty


def pulses(seconds, channel=0):
    """A pulse per second."""
    return [(second + later, channel, level) for second in range(1, seconds) for later, level in ((0, 1), (Fraction(1, 10), 0))]


@pytest.mark.parametrize("at", [None, "pps:0:12:00:30", "moment"])
def test_by_pulses_at_both(monkeypatch, at):
    """Within a microsecond: what two crystals do since the last edge."""
    lab = Lab(monkeypatch, two(60), pulses(58))
    with lab.boards as boards:
        at = boards[1].now() + litepulse.s(12) if at == "moment" else at
        outcomes, moment = boards.launch(at=at, width="10us", clock="pps:0", of=1 if isinstance(at, litepulse.Moment) else 0)
    times = [clock.second(outcome.tick) for clock, outcome in zip(lab.crystals, outcomes)]
    assert lab.apart(started(lab)) <= moment.apart < 3000
    if not isinstance(at, litepulse.Moment):
        assert all(abs(time - round(time)) * 10**9 <= moment.uncertainty for time in times)
    if at == "pps:0:12:00:30":
        assert round(times[0]) == 30


def test_a_series_and_a_sequence(lab):
    pairs = [("+0us", "10us"), ("+100us", "10us"), ("+5ms", 0x55)]
    with lab.boards.launches(pairs, baud=115200) as series:
        found = list(series)
    for number, job in enumerate(series.jobs):
        ticks = [outcome.tick for board, outcome in found if board == number]
        assert [tick - job.first_tick for tick in ticks] == [0, 4800, 240_000] and job.first_tick == series.moment.ticks[number]
    entries = [{"after": 0, "width": "10us"}, {"after": "20ms", "byte": 0x55}]
    with lab.boards.sequence(entries, baud=115200) as sequence:
        found = list(sequence)
    for number, job in enumerate(sequence.jobs):
        ticks = [outcome.tick for board, outcome in found if board == number]
        assert ticks == [sequence.moment.ticks[number], sequence.moment.ticks[number] + 960_000] and job.ended == "all sent"


def test_trains_that_begin_together(lab):
    with lab.boards.train(1000, width="10us", count=50) as trains:
        found = list(trains)
    assert len(found) == 100 and started(lab) == list(trains.moment.ticks)
    assert lab.apart(started(lab)) <= trains.moment.apart
    assert all(train.record.exact or train.record.max_error == 0 for train in trains.jobs)


def test_marks(lab):
    outcomes, moment = lab.boards.mark(42, width="1ms")
    assert [device.marks[0][0] for device in lab.devices] == list(moment.ticks) == [outcome.tick for outcome in outcomes]
    entries = [{"after": "1ms", "width": "10us"}, {"after": "1ms", "code": 6}]
    with lab.boards.sequence(entries, mark_width="3ms") as sequence:
        codes = [(number, each.tick, each.code) for number, each in sequence if each.kind == "mark"]
    assert sorted(codes) == [(number, tick + 96_000, 6) for number, tick in enumerate(sequence.moment.ticks)]
    assert [device.config[CONFIG["port"].index] for device in lab.devices] == [144_000] * 2
    assert [device.marks[1:] for device in lab.devices] == [[(tick, "queue", 6)] for _, tick, _ in sorted(codes)]


# One that cannot


def nothing_left(lab):
    """No board has a launch or train, each can begin another."""
    assert all(not device.queue and not device.train and not device.armed for device in lab.devices)
    assert not any(board.busy for board in lab.boards)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("method", ["launch", "launches", "train", "sequence", "mark"])
def test_one_that_cannot(lab, which, method, monkeypatch):
    """What waits on the other is taken back; the message names the one."""

    def begin(job, beside=False):
        raise litepulse.Refused("it cannot", "busy", 7)
        yield

    monkeypatch.setattr(lab.boards[which], "beginning", begin)
    calls = {"launch": {"byte": 1}, "mark": {"code": 1}, "train": {"rate": 10}}
    calls |= {"launches": {"series": [("+0us", 1)]}, "sequence": {"entries": [{"after": 0, "byte": 1}]}}
    with pytest.raises(litepulse.Refused, match=f"^fake{which}: it cannot") as error:
        getattr(lab.boards, method)(**calls[method])
    assert (error.value.reason, error.value.tick) == ("busy", 7)
    nothing_left(lab)
    for device in lab.devices:
        device.advance(10 * HZ)
    assert not any(device.line_log or device.marks for device in lab.devices)


def test_one_that_is_gone_later(lab):
    """The cable of one is pulled while both run."""
    with pytest.raises(litepulse.TransportError, match="^fake1: gone"):
        with lab.boards.train(10, width="10us") as trains:
            for _ in trains:

                def gone(*_):
                    raise litepulse.TransportError("gone")

                lab.devices[1].read = gone
    assert not lab.devices[0].train and not lab.boards[0].busy and not lab.boards[1].busy


def test_one_that_is_late(lab, monkeypatch):
    """A launch that overtakes: refused on one, and taken back on the other if it still waits."""
    first = lab.boards[0].now() + litepulse.ms(800)
    queued = lab.boards[1].backend.queue.launch

    def slow(entries):
        lab.devices[1].advance(HZ)
        return queued(entries)

    monkeypatch.setattr(lab.boards[1].backend.queue, "launch", slow)
    with pytest.raises(litepulse.Refused, match="^fake1: the launch at tick .* was refused: late"):
        lab.boards.launch(at=first, width="10us")
    nothing_left(lab)
    assert not lab.devices[1].line_log


def test_busy_and_values_that_are_wrong(lab):
    with lab.boards[1].train(10), pytest.raises(litepulse.InUse, match="fake1: this program has a job"):
        lab.boards.launch(byte=1)
    nothing_left(lab)
    for call, message in (
        (lambda: lab.boards.launch(of=2), "of: 2"),
        (lambda: lab.boards.launch(clock="gps"), "fake0: clock: 'gps' is not utc, or pps:0"),
        (lambda: lab.boards.launch(at=1), "fake0: at: tick 1 has passed"),
        (lambda: lab.boards.launch(at="utc:2020-01-01T00:00:00Z"), "fake0: at: that time has passed"),
        (lambda: lab.boards.launches(iter([])), "series: <list_iterator"),
        (lambda: lab.boards.train(58, follow_steps=True), "fake0: follow_steps: without a clock"),
        (lambda: lab.boards.offset([0]), "inputs: there are 1, and 2 boards"),
        (lambda: lab.boards.offset(edges="both"), "edges: 'both' is not rise or fall"),
        (lambda: lab.boards.offset("9"), "fake0: inputs: '9' is not a channel"),
        (lambda: litepulse.open_all(), "ports: name the boards"),
        (lambda: litepulse.open_all(5), "ports: 5 is not text"),
        (lambda: litepulse.Boards([]), "boards: they are a list of boards"),
    ):
        with pytest.raises(litepulse.BadInput) as error:
            call()
        assert str(error.value).startswith(message), error.value
    nothing_left(lab)


def test_all_are_closed(lab):
    """Also when one cannot be opened, or closed."""
    closed = []

    def close(number):
        closed.append(number)
        if not number:
            raise litepulse.TransportError("gone")

    for number, board in enumerate(lab.boards):
        board.close = lambda number=number: close(number)
    with pytest.raises(litepulse.LitePulseError, match="^/nonexistent: cannot open"):
        litepulse.open_all(lab.boards[0], lab.boards[1], "port:/nonexistent")
    assert closed == [0, 1]
    with pytest.raises(litepulse.TransportError, match="gone"):
        lab.boards.close()
    assert closed == [0, 1, 0, 1]
    with pytest.raises(ValueError, match="of the program"), lab.boards:
        raise ValueError("of the program")
    for board in lab.boards:
        del board.close


# Lines of one chip


class Line(FakeBoard):
    """A core whose ticks are those of another one."""

    def __init__(self, other=None):
        super().__init__(2000)
        self.other = other

    def advance(self, ticks):
        super().advance(ticks)
        if self.other:
            FakeBoard.advance(self.other, ticks)


def test_lines_of_one_chip():
    """The same tick, and no bound."""
    second = Line()
    devices = [Line(second), second]
    second.other = devices[0]
    second.advance = lambda ticks: (FakeBoard.advance(second, ticks), FakeBoard.advance(devices[0], ticks))
    devices[0].advance = second.advance
    backends = [BusBackend(each, "uartbone", "port", True, [], lambda s: second.advance(round(s * HZ)), chip="port") for each in devices]
    boards = litepulse.Boards([litepulse.Board(each) for each in backends])
    assert boards.shared and not litepulse.Boards(boards, shared=False).shared
    outcomes, moment = boards.launch(width="10us")
    assert outcomes[0].tick == outcomes[1].tick == moment.ticks[0] == moment.ticks[1]
    assert moment.uncertainty == moment.apart == 0
    with pytest.raises(litepulse.BadInput, match="board 1, port: "):
        boards.launch(at=1, of=1)
    devices[0].tick += HZ  # this one was reset at another time
    assert not litepulse.Boards(boards).shared


# Offsets


def test_the_offset_of_two_boards(monkeypatch):
    """A tick of each, and the rate, against the model of the crystals."""
    lab = Lab(monkeypatch, two(60), pulses(40, channel=1))
    with lab.boards as boards, boards.offset(1, count=20) as offset:
        found = list(offset)
    assert [each.number for each in found] == list(range(20)) and offset.lone <= 1 and not offset.lost
    first = round(lab.crystals[0].second(found[0].tick))
    for each in found:
        second = first + each.number
        true = [clock.tick(second) / HZ for clock in lab.crystals]
        assert abs(each.offset - (true[1] - true[0])) * 10**9 <= each.uncertainty == 42
        if each.number:
            begun = [clock.tick(first) / HZ for clock in lab.crystals]
            ppm = ((true[1] - begun[1]) / (true[0] - begun[0]) - 1) * 1_000_000
            assert abs(each.ppm - ppm) <= each.ppm_uncertainty
    assert -73 < found[-1].ppm < -70 and found[0].ppm is None and offset.latest == {1: found[-1]}


def test_edges_that_only_one_has(monkeypatch):
    """They are counted, and what both have is paired as before."""
    lab = Lab(monkeypatch, two(60), pulses(40))
    del lab.devices[0].pins[10:12], lab.devices[1].pins[24:26]
    lab.devices[1].pins.append((round(lab.crystals[1].tick(Fraction(61, 4))), 0, 1))
    lab.devices[1].pins.sort()
    with lab.boards as boards, boards.offset(duration="30s") as offset:
        found = list(offset)
    assert offset.lone >= 3 and len(found) >= 25
    for each in found:
        times = [clock.second(tick) for clock, tick in zip(lab.crystals, (each.tick, each.other))]
        assert abs(times[0] - times[1]) < Fraction(1, 10**6)


def test_the_board_whose_edge_is_missing(monkeypatch):
    """No edge at one: nothing is said, and it ends."""
    lab = Lab(monkeypatch, two(30), pulses(20))
    lab.devices[1].pins = []
    with lab.boards as boards, boards.offset(duration="8s") as offset:
        assert list(offset) == []
    assert offset.lone >= 5 and offset.latest == {}


# Two simulators


@pytest.fixture
def linked(tmp_path):
    """Two simulators whose TX and RX are wired crosswise; TX of the first one leads to its own input 0, too."""
    command = [sim_soc.build(quiet=True), "--tcp", "0", "--pace", "--pulse-hz", "400000", "--link", tmp_path / "wire", "--exit-with-parent"]
    with contextlib.ExitStack() as stack:
        ports = []
        for more in (["--loop-tx-input", "0"], []):
            process = stack.enter_context(subprocess.Popen([*command, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            stack.callback(process.kill)
            ports.append(f"tcp:127.0.0.1:{json.loads(process.stdout.readline())['tcp']}")
        yield ports


DELAY = 1000  # ticks of the link


def test_two_linked_simulators(linked):
    """What is on the wire shows the offset, to the tick, and without drift; a launch at one moment is where that says."""
    with litepulse.open_all(*(f"port:{port}" for port in linked)) as boards:
        assert not boards.shared
        boards[0].train(2, width="1ms", baud=2400).detach()
        with boards.offset([0, "rx"], edges="fall", count=5) as offset:
            found = list(offset)
        boards.stop()
        apart = {each.other - each.tick for each in found}
        assert len(found) == 5 and len(apart) == 1 and {each.ppm for each in found[1:]} == {0}
        assert found[0].offset == Fraction(apart.pop(), 400_000) and found[0].uncertainty == 5000
        outcomes, moment = boards.launch(width="1ms", baud=2400)
        assert tuple(outcome.tick for outcome in outcomes) == moment.ticks
        between = moment.ticks[1] - moment.ticks[0] - (found[0].other - found[0].tick - DELAY)
        assert abs(between) < 0.3 * 400_000, "the PC's clock goes with the ticks of each, from its first reading on"


def test_the_command_on_two_linked_simulators(linked, tmp_path, capsys):
    """`align`, and verbs on two boards."""
    ports = [word for port in linked for word in ("--port", port)]
    assert cli.main([*ports[:2], "train", "--rate", "2", "--width", "1ms", "--baud", "2400", "--keep"]) == 0
    capsys.readouterr()
    assert cli.main(["align", *ports, "--input", "0", "--input", "rx", "--edge", "fall", "--count", "4", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [each["edges"] for each in result["boards"][1:]] == [4] and float(result["boards"][1]["ppm"]) == 0
    assert result["lost"] == 0 and result["boards"][0]["device"] == linked[0]
    assert cli.main(["align", *ports, "--input", "0", "--input", "rx", "--edge", "fall", "--count", "3", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 3 and {row["board"] for row in rows} == {"1"} and len({row["offset_ns"] for row in rows}) == 1
    assert cli.main(["align", *ports, "--input", "0", "--input", "rx", "--edge", "fall", "--for", "1s"]) == 0
    text = capsys.readouterr().out
    assert "the wire's delay is not known" in text and "ppm" in text
    assert cli.main([*ports, "stop"]) == 2
    assert "stop: it takes one board, and 2 are given" in capsys.readouterr().err
    assert cli.main([*ports[:2], "stop"]) == 0
    capsys.readouterr()
    assert cli.main(["train", *ports, "--rate", "20", "--width", "1ms", "--baud", "2400", "--count", "5", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [each["device"] for each in result["boards"]] == linked and result["apart_ns"] > 0
    assert all(len(each["launched"]) == 5 and each["start"] == tick for each, tick in zip(result["boards"], result["ticks"]))
    for verb in ("send", "sequence"):
        (tmp_path / "send").write_bytes(b"ab")
        (tmp_path / "sequence.csv").write_text("after,byte\n0,0x61\n50ms,0x62\n")
        name = tmp_path / ("send" if verb == "send" else "sequence.csv")
        assert cli.main([verb, *ports, str(name), "--at", "+5s", "--baud", "2400", "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        for each, tick in zip(result["boards"], result["ticks"]):
            assert [launch["byte"] for launch in each["launched"]] == [0x61, 0x62] and each["launched"][0]["tick"] == tick
    assert cli.main(["send", *ports, str(tmp_path / "send"), "--baud", "2400"]) == 0
    assert "2 boards at one moment, at most" in capsys.readouterr().out
    assert cli.main(["mark", "5", *ports, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [each["tick"] for each in result["boards"]] == result["ticks"]
    for words, message in (
        (["train", "--rate", "5", "--keep"], "--keep leaves one train"),
        (["train", "--rate", "5", "--csv"], "--csv has the rows of one board, and 2 are given"),
        (["mark", "--width", "1ms"], "several boards show a code"),
        (["sequence", str(name), "--at", "5t"], f"{linked[0]}: at: tick 5 has passed"),
        (["sequence", str(name), "--mark-width", "5ms"], "mark-width: no entry has a code"),
        (["sequence", str(name), "--on", "edge:0"], "--on, --profile and --inputs are for one board"),
        (["align", "--input", "0", "--input", "0", "--input", "0"], "input: give one for all boards, or 2"),
        (["align", "--input", "9"], f"{linked[0]}: inputs: '9' is not a channel"),
        (["capture", "--count", "1"], "capture: it takes one board, and 2 are given"),
    ):
        assert cli.main([*words, *ports]) == 2
        assert message in capsys.readouterr().err
    assert cli.main(["align", *ports[:2]]) == 2
    assert "align: it takes two boards or more" in capsys.readouterr().err


# An hour


@pytest.mark.seconds(120)
def test_an_hour_on_one_pulse_per_second(monkeypatch):
    """Two boards on one pulse per second, whose crystals are 40 and -30 ppm off and wander by 0.1 ppm a second: edges are less than a
    microsecond apart for an hour, each exactly where the board's ticks put it."""
    monkeypatch.setattr("litepulse.train.SLOW_POLL_SECONDS", 0.25)
    monkeypatch.setattr("litepulse.boards.PATIENCE_SECONDS", 0.5)
    hour = 3600
    lab = Lab(monkeypatch, two(hour + 30), pulses(hour + 25), step=2_000)
    with lab.boards as boards, boards.train(1, width="10us", count=hour, clock="pps:0", limit=1) as trains:
        found = [[], []]
        for number, pulse in trains:
            found[number].append(pulse.tick)
        moment = trains.moment
    assert [len(each) for each in found] == [hour, hour]
    first = round(lab.crystals[0].second(found[0][0]))
    worst = 0
    for n, ticks in enumerate(zip(*found)):
        for clock, tick in zip(lab.crystals, ticks):
            assert abs(tick - clock.tick(first + n)) <= MICROSECOND
        worst = max(worst, lab.apart(ticks))
    assert worst <= 1000, float(worst)
    assert moment.ticks == (found[0][0], found[1][0]) and moment.apart <= 2000
    for train in trains.jobs:
        assert train.record.max_error == 0 and {each.why for each in train.steered} == {"locked"}
