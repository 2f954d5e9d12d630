# SPDX-License-Identifier: BSD-2-Clause
"""Codes on the marker port as entries of a sequence, and of a series of launches: mixed with what is on the line, and alone."""

import json

import pytest

import litepulse
from litepulse.backends.bus.queue import BusQueue
from litepulse.line import Launch
from litepulse.vcd import Vcd

from .fake_board import CONFIG
from .test_mark import codes
from .test_sequence import LEAST, MS, US, Command, at_rest, connected, kinds, launched, of_waits, on_the_driver
from .test_sim import pins


@pytest.fixture(autouse=True)
def no_time_of_python(monkeypatch):
    """What a board carries depends on the board in Python alone, not on this machine."""
    monkeypatch.setattr("time.thread_time", lambda: 0.0)


@pytest.fixture(params=["bus", "bus without waits", "driver"])
def board(request, monkeypatch):
    """At a port, without waits in its queue, too, and as the kernel driver has it."""
    if request.param == "driver":
        with on_the_driver(monkeypatch, sequence=True) as board:
            yield board
        return
    device, backend = connected(sequence=request.param == "bus")
    with litepulse.Board(backend) as board:
        board.device = device
        yield board


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    return Command(monkeypatch, capsys, tmp_path)


def marks(board):
    """[(tick, code)] of what the port has shown from the queue."""
    assert {source for _, source, _ in board.device.marks} <= {"queue"}
    return [(tick, code) for tick, _, code in board.device.marks]


def of_codes(found):
    """[(number, tick, code)] of the outcomes; the code of what is on the line is None."""
    return [(each.number, each.tick, each.code) for each in found if isinstance(each, litepulse.Outcome)]


# On the pins ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("waits", ["board", "host"])
def test_codes_between_pulses_on_the_pins(waits, tmp_path):
    """Port and line at exact ticks: within a pulse, behind the edge of a wait and its timeout. Neither has an edge for the other."""
    vcd, stimulus, behind = tmp_path / "pins.vcd", tmp_path / "stimulus.txt", LEAST if waits == "board" else 5 * MS
    stimulus.write_text("9000000 0 1\n")
    entries = [
        {"after": "1ms", "width": "1ms"},
        {"after": "128t", "code": 0x2A},
        {"after": "100us", "code": 200},
        {"after": "1ms", "byte": 0x55, "profile": 2},
        {"wait": 0, "timeout": "1s"},
        {"after": litepulse.ticks(behind), "code": 7},
        {"after": "128t", "width": "10t"},
        {"after": "128t", "code": 8},
        {"wait": 1, "timeout": "300us", "then": "go on"},
        {"after": "6ms", "code": 9},
        (litepulse.ms(7), Launch("mark", 0xFF)),
    ]
    options = {"profiles": {2: ("1M", "8N1")}, "invert": True, "waits": waits, "mark_width": "200us"}
    with litepulse.open(sim=True, vcd=vcd, stimulus=stimulus) as board:
        hz = board.tick_hz
        with board.sequence(entries, **options) as sequence:
            found = list(sequence)
    first, edge = sequence.first_tick + MS, 9_000_001
    out, end = first + 128 + 100 * US + MS, edge + behind + 256 + 300 * US
    assert of_waits(found) == [(4, edge, "edge", waits), (8, end, "timeout", waits)]
    assert of_codes(found) == [
        (0, first, None),
        (1, first + 128, 0x2A),
        (2, first + 128 + 100 * US, 200),
        (3, out, None),
        (5, edge + behind, 7),
        (6, edge + behind + 128, None),
        (7, edge + behind + 256, 8),
        (9, end + 6 * MS, 9),
        (10, end + 7 * MS, 0xFF),
    ]
    assert kinds(found) == [None] * 4 + ["edge"] + [None] * 3 + ["timeout", None, None]
    assert codes(pins(vcd)) == [
        (first + 128, 0x2A),
        (first + 128 + 100 * US, 200),
        (first + 128 + 300 * US, 0),
        (edge + behind, 7),
        (edge + behind + 256, 8),
        (edge + behind + 256 + 200 * US, 0),
        (end + 6 * MS, 9),
        (end + 6 * MS + 200 * US, 0),
        (end + 7 * MS, 0xFF),
        (end + 7 * MS + 200 * US, 0),
    ]
    bits = [1, 0, 1, 0, 1, 0, 1, 0, 1, 0]  # 0x55 with its start and stop bit, inverted
    byte = [(out + 48 * n, bit) for n, bit in enumerate(bits)]
    pulse = [(edge + behind + 128, 1), (edge + behind + 138, 0)]
    edges = [(tick, level) for tick, level in Vcd(vcd, hz).signals["tx"] if tick >= first]
    assert edges == [(first, 1), (first + MS, 0), *byte, *pulse]


def test_codes_alone_beside_a_train_that_was_kept(tmp_path):
    """They do not use the line: the train goes on, and each of its pulses is where it was."""
    vcd = tmp_path / "pins.vcd"
    with litepulse.open(sim=True, vcd=vcd) as board:
        board.train(rate=1000, width="10us", invert=True).detach()
        with board.sequence([{"after": "300us", "code": n + 1} for n in range(20)], mark_width=0) as sequence:
            found = list(sequence)
        assert board.status().train_running
        with pytest.raises(litepulse.BadInput, match="a train is running"):
            board.sequence([{"after": "1ms", "code": 1}, {"after": "1ms", "width": "1us"}])
        with board.launches([("+1ms", Launch("mark", 77)), ("+2ms", Launch("mark", 0))]) as series:
            cleared = list(series)
        assert board.status().train_running
        board.stop()
    first = sequence.first_tick
    assert of_codes(found) == [(n, first + (n + 1) * 300 * US, n + 1) for n in range(20)]
    assert codes(pins(vcd)) == [*((tick, code) for _, tick, code in of_codes(found)), (cleared[0].tick, 77), (cleared[1].tick, 0)]
    rises = [tick for tick, level in pins(vcd)["tx"] if level and tick]
    assert len(rises) > 6 and {b - a for a, b in zip(rises, rises[1:])} == {MS}


# On each backend -----------------------------------------------------------------------------------------------------------------


def test_many_codes_with_waits_and_refills(board):
    """More than the queue holds, in runs that an edge begins, between pulses that overlap the codes."""
    start = board.now().tick + 400 * MS
    board.device.stimulus = [(start + n * MS, 0, level) for n, level in ((0, 1), (900, 0), (2000, 1))]
    gap = [{"after": "100ms", "code": 0xFF}]
    entries = [*gap, *[one for n in range(100) for one in ({"after": "2ms", "width": "3ms"}, {"after": "2ms", "code": n})]]
    with board.sequence(entries, on=litepulse.Edge(0), repeat=2, mark_width="1ms") as sequence:
        found = list(sequence)
    bases = [start + n * 2000 * MS + 100 * MS for n in (0, 1)]
    assert marks(board) == [one for base in bases for one in [(base, 0xFF), *((base + 4 * (n + 1) * MS, n) for n in range(100))]]
    assert launched(board.device) == [(base + (4 * n + 2) * MS, 3 * MS) for base in bases for n in range(100)]
    outcomes = [each for each in found if isinstance(each, litepulse.Outcome)]
    assert [(each.run, each.number) for each in outcomes] == [(run, n) for run in (0, 1) for n in range(201)]
    assert {each.reason for each in outcomes} == {None} and all(each.tick == each.wanted for each in outcomes)
    assert [each.kind for each in outcomes[:3]] == ["mark", "pulse", "mark"] and outcomes[0].code == outcomes[0].byte == 0xFF
    assert board.device.config[CONFIG["port"].index] == MS
    at_rest(board)


def test_of_an_iterator(board):
    """What comes is not known: a line profile is kept for codes."""
    entries = iter([{"after": "1ms", "width": "10us"}, None, *[{"after": "50ms", "code": n} for n in (3, 0)]])
    with board.sequence(entries) as sequence:
        assert of_codes(sequence) == [
            (0, sequence.first_tick + MS, None),
            *((n, sequence.first_tick + MS + n * 50 * MS, 6 - 3 * n) for n in (1, 2)),
        ]


def test_a_board_without_a_port():
    """One line, before anything is begun; an iterator's entries are read ahead."""
    device, backend = connected(port=False)
    with litepulse.Board(backend) as board:
        pulse, code = {"after": "1ms", "width": "10us"}, {"after": "1ms", "code": 1}
        calls = [
            lambda: board.sequence([pulse, code]),
            lambda: board.sequence([(litepulse.ms(1), Launch("mark", 1))]),
            lambda: board.sequence(iter([pulse, code])),
            lambda: board.sequence(iter([pulse]), mark_width="1ms"),
            lambda: board.launches([("+1ms", 1), ("+9ms", Launch("mark", 1))]),
            lambda: board.launches(iter([("+1ms", 1), ("+9ms", Launch("mark", 1))])),
        ]
        for call in calls:
            with pytest.raises(litepulse.Unsupported) as error:
                call()
            assert str(error.value) == "fake: this board has no marker port"
            assert not device.line_log and not device.queue and not board.busy
        with board.sequence([pulse]) as sequence:
            assert kinds(sequence) == [None]


def test_each_line_profile(board):
    """A code takes one that no entry names: of a list that is known, else one is needed that profiles leave out."""
    profiles = {2: (1_000_000, "8N1"), 3: ("57600", "8N1")}
    three = [{"after": "10ms", "byte": 1, "profile": number} for number in (1, 2, 3)]
    code, message = {"after": "10ms", "code": 0x99}, "^(entry 3: )?code: marks need one of the three line profiles for themselves, and"
    for entries in ([*three, code], iter([*three, code])):
        with pytest.raises(litepulse.BadInput, match=message):
            board.sequence(entries, profiles=profiles)
        assert not launched(board.device) and not marks(board) and not board.busy
    for left_out in range(3):
        board.device.marks.clear(), board.device.line_log.clear()
        with board.sequence([*three[:left_out], code, *three[left_out + 1 :]], profiles=profiles) as sequence:
            assert kinds(sequence) == [None] * 3
        places = [sequence.first_tick + n * 10 * MS for n in (1, 2, 3)]
        lengths = [int(10 * board.timescale.bit_period(baud).ticks) for baud in (9600, 1_000_000, 57600)]
        assert marks(board) == [(places.pop(left_out), 0x99)]
        assert launched(board.device) == list(zip(places, lengths[:left_out] + lengths[left_out + 1 :], strict=True))


def test_a_profile_that_something_kept_uses():
    """Codes beside a responder and a train take the third."""
    device, backend = connected()
    with litepulse.Board(backend) as board:
        board.train(rate=500).detach()
        board.device = device
        board.respond(litepulse.Edge(0), "10us", width="1us").detach()
        with board.sequence([{"after": "1ms", "code": 5}]) as sequence:
            assert kinds(sequence) == [None]
        assert marks(board) == [(sequence.first_tick + MS, 5)] and device.armed and device.train
        assert {each for each in range(4) if device.config.get(2 * each, 0) >> 12 & 1} == {3}
        board.stop()


def test_an_old_driver(monkeypatch):
    with on_the_driver(monkeypatch, 6) as board:
        with pytest.raises(litepulse.Unsupported, match="^/dev/null: this board has no marker port$"):
            board.sequence([{"after": "1ms", "code": 5}])


# The line, and the order ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "entries, message",
    [
        # A pulse keeps the line busy for what comes behind the code, too.
        (
            [{"after": "1ms", "width": "1ms"}, {"after": "500us", "code": 1}, {"after": "400us", "width": "10us"}],
            "entry 2: it is 1.9 ms (91200 ticks) from the beginning, but the line is busy with the one before until 2 ms (96000 ticks)",
        ),
        (
            [{"at": "+2ms", "code": 1}, {"at": "+1ms", "code": 2}],
            "entry 1: it is 1 ms (48000 ticks) from the beginning, but the one before is 2 ms (96000 ticks) from the beginning",
        ),
        (
            [{"at": "+2ms", "code": 1}, {"at": "+1ms", "width": "1us"}],
            "entry 1: it is 1 ms (48000 ticks) from the beginning, but the one before is 2 ms",
        ),
        (
            [{"after": "1ms", "width": "9us"}, {"after": "127t", "code": 1}],
            "entry 1: 2.646 µs (127 ticks) behind the one before is too near",
        ),
        ([{"after": "1ms", "code": 2}, {"after": 0, "code": 1}], "entry 1: 0 s (0 ticks) behind the one before is too near"),
        ([{"wait": 0, "timeout": "1s"}, {"after": "1us", "code": 1}], "entry 1: 1 µs (48 ticks) behind a wait is too near"),
        ([{"after": "1ms", "code": 256}], "entry 0: code: 256 is outside 0 to 255"),
        ([{"after": "1ms", "code": -1}], "entry 0: code: -1 is outside 0 to 255"),
        ([{"after": "1ms", "code": 1.5}], "entry 0: code: 1.5 is not a whole number"),
        ([{"after": "1ms", "code": True}], "entry 0: code: True is not a whole number"),
        ([{"after": "1ms", "code": "0x2a"}], "entry 0: code: '0x2a' is not a whole number"),
        ([{"code": 1}], "entry 0: give at or after"),
        ([{"after": "1ms", "code": 1, "byte": 1}], "entry 0: give one of byte, width, break, code and wait"),
        ([{"after": "1ms", "code": 1, "wait": 1}], "entry 0: give one of byte, width, break, code and wait"),
        ([{"after": "1ms", "code": 1, "profile": 1}], "entry 0: profile: a code has none"),
        ([{"after": "1ms", "code": 1, "timeout": 1}], "entry 0: timeout: only a wait has it"),
        ([{"after": "10us", "code": 1}] * 2000, "entry "),
    ],
)
def test_what_is_refused(entries, message):
    """By the plan, before anything leaves."""
    device, backend = connected()
    with litepulse.Board(backend) as board:
        with pytest.raises(litepulse.BadInput) as error:
            board.sequence(entries)
        assert str(error.value).startswith(message) and "\n" not in str(error.value)
        assert ("too dense" in str(error.value)) == (message == "entry ")
        assert not device.marks and not device.line_log and not device.queue and not board.busy


def test_a_run_that_ends_with_a_code(board):
    """Its tick is where the next run counts from, and where the wait for the next edge begins, although a pulse may be longer."""
    now, entries = board.now().tick, [{"after": "100ms", "width": "2ms"}, {"after": "1ms", "code": 4}]
    with board.sequence(entries, repeat=2) as sequence:
        first = sequence.first_tick
        assert [each.tick - first for each in sequence] == [100 * MS, 101 * MS, 201 * MS, 202 * MS]
    now = board.now().tick + 300 * MS
    board.device.stimulus = [(now, 0, 1), (now + 150 * MS, 0, 0), (now + 300 * MS, 0, 1)]
    short = [{"after": "100ms", "width": "1us"}, {"after": "1ms", "code": 5}]
    with board.sequence(short, on=litepulse.Edge(0), repeat=2) as sequence:
        found = list(sequence)
    assert [each.began for each in found if isinstance(each, litepulse.Waited)][1] == now + 101 * MS
    assert [tick for _, tick, *_ in of_waits(found)] == [now, now + 300 * MS]
    at_rest(board)


def test_a_wait_for_the_line_behind_codes_alone(board):
    """The receiver's settings count then, so the line is taken as by other sequences."""
    board.device.stimulus = [(board.now().tick + 300 * MS, 4, 1)]
    entries = [{"after": "1ms", "code": 1}, {"wait": "rx", "edge": "rise", "timeout": "1s"}, {"after": "100ms", "code": 2}]
    with board.sequence(entries) as sequence:
        found = list(sequence)
    assert kinds(found) == [None, "edge", None] and marks(board)[1] == (found[1].tick + 100 * MS, 2)


# Launches ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lazy", [False, True])
def test_codes_among_launches(lazy, board):
    pairs = [("+1ms", "5ms"), ("+2ms", Launch("mark", 0x2A)), ("+3ms", Launch("mark", 0)), ("+7ms", Launch("break", 11)), ("+20ms", 0x55)]
    with board.launches(iter(pairs) if lazy else pairs, invert=True) as series:
        found = list(series)
    first = series.first_tick
    assert of_codes(found) == [
        (n, first + at * MS, code) for n, (at, code) in enumerate(((1, None), (2, 42), (3, 0), (7, None), (20, None)))
    ]
    assert [each.kind for each in found] == ["pulse", "mark", "mark", "break", "frame"] and found[4].byte == 0x55
    assert marks(board) == [(first + 2 * MS, 42), (first + 3 * MS, 0)] and len(launched(board.device)) == 3
    with pytest.raises(
        litepulse.BadInput, match="^launch 2: it is 3 ms .* from the beginning, but the line is busy with the one before until 6"
    ):
        board.launches([*pairs[:2], ("+3ms", "10us")])
    with pytest.raises(litepulse.BadInput, match="^launch 0: code: 256 is outside|^code: 256 does not fit"):
        board.launches([("+1ms", Launch("mark", 256))])
    at_rest(board)


def test_a_mark_has_its_code():
    _, backend = connected()
    with litepulse.Board(backend) as board:
        outcome = board.mark(0x2A)
        assert (outcome.kind, outcome.code, outcome.byte) == ("mark", 0x2A, 0x2A)
        assert (board.launch(byte=5).kind, board.launch(width="1us").kind, board.launch(byte=5).code) == ("frame", "pulse", None)


# The command ---------------------------------------------------------------------------------------------------------------------

TABLE = "after,width,code\n1ms,10us,\n100us,,0x2a\n2ms,,7\n1ms,,0\n"


def test_a_file_with_codes(command):
    """The rows and the JSON have the code; the pulses have none."""
    status, out, err = command(TABLE, "--at", "100ms", "--mark-width", "5ms", "--csv")
    first = 4_800_000 + MS
    assert status == 0 and out.splitlines() == [
        "run,n,what,tick,t_ns,error_ticks,outcome,began,length_ns,code",
        "0,0,launch,4848000,101000000.000,0,launched,,,",
        "0,1,launch,4852800,101100000.000,0,launched,,,42",
        "0,2,launch,4948800,103100000.000,0,launched,,,7",
        "0,3,launch,4996800,104100000.000,0,launched,,,0",
    ], err
    assert [(tick, code) for tick, _, code in command.device.marks] == [(4_852_800, 42), (4_948_800, 7), (4_996_800, 0)]
    assert command.device.config[CONFIG["port"].index] == 5 * MS and launched(command.device) == [(first, 480)]
    for content, name in (
        (TABLE, "entries.csv"),
        (json.dumps([{"after": "1ms", "width": "10us"}, {"after": "1ms", "code": "0x2a"}]), "a.json"),
    ):
        status, out, _ = command(content, "--json", name=name)
        sent = json.loads(out)["launched"]
        assert status == 0 and "byte" not in sent[0] and "code" not in sent[0] and sent[1]["code"] == 42 and "byte" not in sent[1]
    status, out, _ = command(TABLE, "--vnl")
    assert [line.split()[-1] for line in out.splitlines() if not line.startswith("#")] == ["-", "42", "7", "0"]


@pytest.mark.parametrize(
    "content, words, message",
    [
        ("after,code\n1ms,0x100\n", [], "entries.csv: line 2: code: 0x100 does not fit a byte (0 to 255)"),
        ("after,code\n1ms,seven\n", [], "entries.csv: line 2: code: 'seven' is not a number"),
        ("after,code,width\n1ms,7,1us\n", [], "entries.csv: line 2: give one of byte, width, break, code and wait"),
        ("after,code,profile\n1ms,7,2\n", [], "entries.csv: line 2: profile: a code has none"),
        ("after,width\n1ms,7us\n", ["--mark-width", "1ms"], "mark-width: no entry has a code"),
        ("after,code\n1ms,7\n", ["--mark-width", "100s"], "mark-width: 100 s (4800000000 ticks) is outside 0 to"),
        ("after,code\n1ms,7\n", ["--mark-width", "soon"], "mark-width: 'soon' is not a number"),
    ],
)
def test_a_file_with_a_fault(content, words, message, command):
    status, out, err = command(content, *words)
    assert (status, out, err.count("\n")) == (2, "", 1) and err.startswith(f"litepulse: {message}"), err
    assert not command.device.marks and not command.device.line_log


def test_the_command_without_a_port(command):
    command.options = {"port": False}
    status, out, err = command(TABLE)
    assert (status, out, err) == (2, "", "litepulse: fake: this board has no marker port\n") and not command.device.line_log


def test_a_code_that_is_late(command, monkeypatch):
    """What the board refused has its code, too."""
    launch, calls = BusQueue.launch, iter(range(10**6))

    def slow(self, entries):
        if entries[0][0] and next(calls) == 1:  # the first refill
            command.device.advance(48_000_000)
        return launch(self, entries)

    monkeypatch.setattr(BusQueue, "launch", slow)
    status, out, err = command("after,code\n" + "1ms,3\n" * 64 + "100ms,9\n" * 100, "--json")
    result = json.loads(out)
    assert status == 2 and "could not be queued in time" in err and {each["code"] for each in result["launched"][:64]} == {3}
    assert {(each["reason"], each["code"]) for each in result["refused"]} == {("late", 9)}
