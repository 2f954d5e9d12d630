# SPDX-License-Identifier: BSD-2-Clause
"""Bursts of the responder: what is written to the board, which pulse belongs to which trigger, and on the simulated SoC each tick."""

import fcntl
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from pathlib import Path

import pytest

import litepulse
from litepulse import cli, respond, witness
from litepulse.backends import driver_abi as abi
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.driver.backend import DriverBackend
from litepulse.line import Launch, Profile, Response, Trigger
from litepulse.respond import Responder, RespondPlan
from litepulse.units import Timescale

from .fake_board import FakeBoard, Server, field
from .fake_kernel import Kernel

ROOT = Path(__file__).resolve().parents[2]
ENV = {**os.environ, "PYTHONPATH": f"{ROOT / 'sw'}{os.pathsep}{ROOT}", "COLUMNS": "80"}
HZ = 48_000_000
EDGE = litepulse.Edge(0, "rise")
LONGEST = (1 << 32) - 1
MOST = 1 << 16


@pytest.fixture
def made():
    """A board in Python, and what uses it: nothing is waited for."""
    fake = FakeBoard(step=10_000, clock_hz=HZ)
    with litepulse.Board(BusBackend(fake, "uartbone", "fake", False, [], lambda seconds: None)) as board:
        yield fake, board


# What is written -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pulses, every, delay", [(1, None, LONGEST), (2, 18, 6), (3, 480, 96_000), (MOST, LONGEST, LONGEST)])
def test_the_words_of_a_burst(pulses, every, delay, made):
    fake, board = made
    options = {} if every is None else {"pulses": pulses, "every": litepulse.ticks(every)}
    job = board.respond(EDGE, litepulse.ticks(delay), width="0.1us", **options)
    assert field(fake.word("resp_trigger"), "resp_trigger", "burst") == pulses - 1
    assert (fake.word("resp_delay"), fake.word("resp_holdoff")) == (delay, every or 0)
    assert (job.delay, job.every) == (delay, every)


@pytest.mark.parametrize("holdoff", [0, 1, 1 << 24, LONGEST])
def test_a_holdoff_of_32_bits(holdoff, made):
    fake, board = made
    job = board.respond(EDGE, "1us", holdoff=litepulse.ticks(holdoff))
    assert fake.word("resp_holdoff") == holdoff and job.every is None


BAD = {
    "no pulses": ({"pulses": 0}, "pulses: 0 is outside 1 to 65536"),
    "too many": ({"pulses": MOST + 1, "every": "1ms"}, "pulses: 65537 is outside 1 to 65536"),
    "half a pulse": ({"pulses": 1.5, "every": "1ms"}, "pulses: 1.5 is not a whole number"),
    "no period": ({"pulses": 3}, "pulses: 3 of them need every, the time from one to the next"),
    "a period alone": ({"every": "1ms"}, "every: it is the time between the pulses of a burst: give pulses, 2 or more, too"),
    "a period of one": ({"pulses": 1, "every": "1ms"}, "every: it is the time between the pulses of a burst"),
    "a holdoff": ({"pulses": 3, "every": "1ms", "holdoff": "1ms"}, "holdoff: behind the last pulse of a burst triggers are ignored"),
    "a holdoff of 0": ({"pulses": 3, "every": "1ms", "holdoff": 0}, "for as long as every says: leave it out"),
    "too short": (
        {"pulses": 3, "every": "17t"},
        "every: 354.167 ns (17 ticks) is outside 375 ns (18 ticks) to 89.478 s (4294967295 ticks)",
    ),
    "too long": ({"pulses": 3, "every": "90s"}, "every: 90 s (4320000000 ticks) is outside 375 ns (18 ticks) to 89.478 s"),
    "negative": ({"pulses": 3, "every": "-1ms"}, "every: -1ms is negative"),
    "overlap": (
        {"pulses": 3, "every": "99t", "width": "100t"},
        "every: the pulses would overlap: one takes 2.083 µs (100 ticks), the next begins after 2.062 µs (99 ticks)",
    ),
    "frames overlap": (
        {"pulses": 2, "every": "1ms", "width": None, "byte": 0x55},
        "every: the pulses would overlap: one takes 1.042 ms (50000 ticks), the next begins after 1 ms (48000 ticks)",
    ),
    "delay": ({"after": "4294967296t"}, "delay: 89.478 s (4294967296 ticks) is outside 0 to 89.478 s (4294967295 ticks)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_bursts_say_why_in_one_line(case, made):
    fake, board = made
    options, why = BAD[case]
    with pytest.raises(litepulse.BadInput) as caught:
        board.respond(**{"on": EDGE, "after": "1us", "width": "10t"} | options)
    assert why in str(caught.value) and "\n" not in str(caught.value)
    assert not fake.armed and "resp_trigger" not in fake.config and not board.busy


@pytest.mark.parametrize("samples, least", [(1, 18), (2, 42), (4, 84), (8, 168)])
def test_the_shortest_period(samples, least):
    """In ticks; with several samples per cycle a signal takes three cycles longer."""
    scale = Timescale(HZ, samples)
    profile = Profile(scale.bit_period(9600))
    pulse = Launch("pulse", 0, 1, 1)
    assert respond.period_of_burst(scale, litepulse.ticks(least), pulse, profile) == least
    with pytest.raises(litepulse.BadInput, match=rf"every: .* is outside .* \({least} ticks\) to"):
        respond.period_of_burst(scale, litepulse.ticks(least - 1), pulse, profile)


def test_pulses_may_touch(made):
    fake, board = made
    board.respond(EDGE, "1us", width="100t", pulses=2, every="100t").close()
    board.respond(EDGE, "1us", byte=0x55, baud=9600, pulses=2, every="50000t")
    assert fake.word("resp_holdoff") == 50_000


# The driver ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def kernel(monkeypatch):
    kernel = Kernel()
    monkeypatch.setattr(fcntl, "ioctl", kernel.ioctl)
    return kernel


def armed_by(program, delay, holdoff, pulses):
    """A responder of the driver."""
    response = Response(Trigger("edge", 0, rise=True), Launch("pulse", 0, 1, 5), delay, holdoff, pulses=pulses)
    job = Responder(program, RespondPlan(response, Profile(Timescale(HZ).bit_period(115200))))
    job.begin(lambda: None)
    return job


@pytest.mark.parametrize("pulses", [1, 2, 3, MOST])
def test_the_driver_gets_the_pulses_in_its_flags(pulses, kernel):
    kernel.abi = 6
    armed_by(DriverBackend("/dev/null"), LONGEST, LONGEST - 1, pulses)
    others = abi.RESPONDER_RISE | abi.RESPONDER_REARM | abi.RESPONDER_IGNORE_OWN
    assert kernel.responder.flags == (pulses - 1) << 16 | others
    assert (kernel.responder.delay, kernel.responder.holdoff) == (LONGEST, LONGEST - 1)


@pytest.mark.parametrize(
    "delay, holdoff, pulses, what",
    [
        (1000, 1000, 2, "bursts"),
        (1 << 24, 0, 1, "delays and holdoffs of 16777216 ticks or more"),
        (0, 1 << 24, 1, "delays and holdoffs of 16777216 ticks or more"),
    ],
)
def test_an_older_driver_gets_no_burst(delay, holdoff, pulses, what, kernel):
    """It would refuse that with a number of an error; what it has armed stays as it is."""
    kernel.abi = 5
    program = DriverBackend("/dev/null")
    calls = len(kernel.calls)
    with pytest.raises(litepulse.Unsupported) as caught:
        armed_by(program, delay, holdoff, pulses)
    text = f"/dev/null: the kernel's driver is too old for {what}: its interface is version 5, that takes 6"
    assert str(caught.value) == text and kernel.calls[calls:] == [] and kernel.responder is None


def test_an_older_driver_answers_as_before(kernel):
    kernel.abi = 5
    armed_by(DriverBackend("/dev/null"), (1 << 24) - 1, (1 << 24) - 1, 1)
    assert kernel.responder.flags >> 16 == 0 and kernel.responder.delay == kernel.responder.holdoff == (1 << 24) - 1


# Which pulse belongs to which trigger ----------------------------------------------------------------------------------------

BURST = {"pulses": 4, "every": "1000t", "width": "10t"}
DELAY = 500


def rises(fake, *ticks):
    """Edges of input 0."""
    for tick in ticks:
        fake.event(tick, 2, 4, 0, 0x00010001, "edge")


def launches(fake, trigger, *numbers, delay=DELAY, every=1000, missed=()):
    """Records of the responder: those of `missed` found the line busy."""
    for number in numbers:
        kind, flags, mask = (7, 2, "missed") if number in missed else (1, 0, "tx_responder")
        fake.event(trigger + delay + number * every, kind, 2, flags, number << 16, mask)


def seen(job):
    return [(answer.number, answer.tick, answer.delay, answer.reason) for answer in job.poll()]


def test_each_pulse_has_its_own_delay(made):
    """Triggers that came during a burst have no answer, and the next burst its own trigger."""
    fake, board = made
    job = board.respond(EDGE, f"{DELAY}t", **BURST)
    rises(fake, 10_000, 10_300, 12_222)
    launches(fake, 10_000, 0, 1)
    assert seen(job) == [(0, 10_500, 500, None), (1, 11_500, 1500, None)]
    rises(fake, 13_000, 15_000)
    launches(fake, 10_000, 2, 3)
    launches(fake, 15_000, 0)
    assert seen(job) == [(2, 12_500, 2500, None), (3, 13_500, 3500, None), (0, 15_500, 500, None)]


def test_a_missed_pulse_is_named(made):
    """In the order of the records. If it is the first one, the others still have their trigger."""
    fake, board = made
    job = board.respond(EDGE, f"{DELAY}t", **BURST)
    rises(fake, 10_000)
    launches(fake, 10_000, 0, 1, 2, 3, missed=(0, 2))
    assert seen(job) == [(0, 10_500, None, "busy"), (1, 11_500, 1500, None), (2, 12_500, None, "busy"), (3, 13_500, 3500, None)]
    fake.event(20_444, 7, 2, 1, 1 << 16, "missed")
    assert seen(job) == [(1, 20_444, None, "late")]


def test_a_trigger_that_was_not_recorded(made):
    """No pulse of its burst has a delay; those of the next one have."""
    fake, board = made
    job = board.respond(EDGE, f"{DELAY}t", **BURST)
    launches(fake, 10_000, 0, 1)
    rises(fake, 11_700)  # ignored, and 2,300 before pulse 3, which is 3,500 behind its trigger
    launches(fake, 10_000, 2, 3)
    assert [(number, delay) for number, _, delay, _ in seen(job)] == [(0, None), (1, None), (2, None), (3, None)]
    rises(fake, 20_000)
    launches(fake, 20_000, *range(4))
    assert [(number, delay) for number, _, delay, _ in seen(job)] == [(0, 500), (1, 1500), (2, 2500), (3, 3500)]


def test_the_number_of_an_answer_without_a_burst(made):
    """Counts since it was armed, as ever; a miss has none."""
    fake, board = made
    job = board.respond(EDGE, f"{DELAY}t", width="10t")
    rises(fake, 10_000, 10_200, 20_000)
    launches(fake, 10_000, 0, every=0)
    launches(fake, 20_000, 1, every=0, missed=(1,))
    launches(fake, 30_000, 2, every=0)
    assert seen(job) == [(0, 10_500, 500, None), (None, 20_500, None, "busy"), (2, 30_500, None, None)]


def test_triggers_without_an_answer_are_forgotten(made, monkeypatch):
    """However many there are, and however long the delay is."""
    fake, board = made
    monkeypatch.setattr(respond, "_REFERENCES", 50)
    job = board.respond(EDGE, "80s", **BURST)
    for part in range(10):
        rises(fake, *range(1000 * part, 1000 * part + 100))
        job.poll()
    assert len(job._references) == 50
    monkeypatch.undo()
    job.close()
    job = board.respond(EDGE, "1us", **BURST)
    monkeypatch.setattr(respond, "_REPORTED_TICKS", 1000)
    rises(fake, *range(fake.tick - 100_000, fake.tick - 99_900))
    job.poll()
    assert not job._references


# The command -----------------------------------------------------------------------------------------------------------------


def command(*words):
    """(status, standard output, standard error)."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = cli.main(list(words))
    return status, out.getvalue(), err.getvalue()


WORDS = ["respond", "--on", "edge:0:rise", "--delay", "500t", "--width", "10t"]


@pytest.fixture
def served():
    with Server(FakeBoard(step=100_000), "tcp") as server:
        server.board.spec = server.spec
        yield server.board


def test_a_kept_burst(served):
    status, out, _ = command("--port", served.spec, *WORDS, "--pulses", "4", "--every", "1000t", "--keep")
    text = "armed: rising edge on 0 → 4 × pulse of 10 ticks = 208.333 ns, every 1000 ticks = 20.833 µs, after 500 ticks = 10.417 µs; "
    assert status == 0 and text in out and served.armed
    assert field(served.word("resp_trigger"), "resp_trigger", "burst") == 3 and served.word("resp_holdoff") == 1000
    result = json.loads(command("--port", served.spec, *WORDS, "--pulses", "4", "--every", "1000t", "--keep", "--json")[1])
    assert (result["pulses"], result["delay_ticks"], result["every_ticks"]) == (4, 500, 1000)
    result = json.loads(command("--port", served.spec, *WORDS, "--keep", "--json")[1])
    assert (result["pulses"], result["every_ticks"]) == (1, None)


BAD_WORDS = {
    "no number": (["--pulses", "some", "--every", "1ms"], "pulses: 'some' is not a whole number"),
    "none": (["--pulses", "0"], "pulses: 0 is outside 1 to 65536"),
    "too many": (["--pulses", "65537", "--every", "1ms"], "pulses: 65537 is outside 1 to 65536"),
    "no period": (["--pulses", "2"], "pulses: 2 of them need every"),
    "a period alone": (["--every", "1ms"], "every: it is the time between the pulses of a burst"),
    "a holdoff": (["--pulses", "2", "--every", "1ms", "--holdoff", "0"], "holdoff: behind the last pulse of a burst"),
    "no time": (["--pulses", "2", "--every", "soon"], "every: 'soon' is not a number"),
}


@pytest.mark.parametrize("case", BAD_WORDS)
def test_bad_words_are_refused_without_a_device(case):
    words, why = BAD_WORDS[case]
    status, out, err = command("--port", "/nonexistent", *WORDS, *words)
    assert status == 2 and out == "" and err.startswith("litepulse: ") and why in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "words, named",
    [
        (["--on", "edge:0:rise", "--off", "--pulses", "4"], "--on, --pulses"),
        (["--off", "--delay", "2ms"], "--delay"),
        (["--off", "--pulses=1"], "--pulses"),  # as it is without it
        (["--every", "1ms", "--off", "--holdoff", "1ms"], "--every, --holdoff"),
        (["--off", "--count", "0", "--for", "1s"], "--count, --for"),
        (["--off", "--once", "--keep", "--exclusive", "--own"], "--once, --keep, --exclusive, --own"),
        (["--off", "--echo", "1us"], "--echo"),
        (["--off", "--width", "1ms", "--high"], "--width, --high"),
        (["--off", "--byte", "0xaa", "--baud", "9600", "--format", "8N1"], "--byte, --baud, --format"),
        (["--off", "--break", "13", "--invert", "--loopback"], "--break, --invert, --loopback"),
        (["--csv", "--off"], "--csv"),
    ],
)
def test_off_takes_nothing_else(words, named):
    """What has no effect is a mistake, also where it is what holds without it."""
    status, out, err = command("--port", "/nonexistent", "respond", *words)
    assert (status, out) == (2, "") and err == f"litepulse: --off only disarms the responder: leave out {named}\n"


@pytest.mark.parametrize("words", [["--off"], ["--off", "--json"], ["--json", "--off"]])
def test_off(words, served):
    command("--port", served.spec, *WORDS, "--keep")
    assert served.armed
    status, out, err = command("respond", *words, "--port", served.spec)
    assert (status, err) == (0, "") and not served.armed and (json.loads(out)["armed"] is False if "--json" in words else "disarmed" in out)


def test_a_period_that_does_not_fit_the_board(served):
    status, out, err = command("--port", served.spec, *WORDS, "--pulses", "2", "--every", "17t")
    assert status == 2 and out == "" and err.startswith("litepulse: every: ") and err.count("\n") == 1 and not served.armed


# On the simulated SoC: every tick --------------------------------------------------------------------------------------------


def simulated(stimulus, tmp_path, *words, style="--json", options=()):
    """What the command prints, with what it says otherwise; the pins are in tmp_path / 'pins'."""
    (tmp_path / "stimulus").write_text("".join(f"{tick} {channel} {level}\n" for tick, channel, level in sorted(stimulus)))
    files = ["--stimulus", str(tmp_path / "stimulus"), "--vcd", str(tmp_path / "pins"), *options]
    whole = [sys.executable, "-m", "litepulse", "--sim", "--wire", "none", *files, "respond", *words, *([style] if style else [])]
    return subprocess.run(whole, env=ENV, capture_output=True, text=True, timeout=300, check=False)


def line(tmp_path):
    """[(tick, level)] of TX, read here on our own. The VCD has times in units of 10 ns, so rounding returns the tick."""
    text, tick, changes = (tmp_path / "pins").read_text(), 0, []
    head, body = text.split("$enddefinitions $end", 1)
    (code,) = [words.split()[3] for words in head.splitlines() if words.startswith("$var wire 1 ") and words.split()[4] == "tx"]
    for each in body.splitlines():
        if each.startswith("#"):
            tick = round(int(each[1:]) * Fraction(HZ, 10**8))
        elif each[1:] == code:
            changes.append((tick, int(each[0])))
    return changes[1:]


def pulses_of(starts, width):
    return [change for start in starts for change in ((start, 0), (start + width, 1))]


def high(tick):
    """A level of 1 on input 0, seen one tick later."""
    return [(tick - 1, 0, 1), (tick + 9, 0, 0)]


FIRST = 3_000_001


def test_bursts_after_edges(tmp_path):
    """Of two edges close to one period after the last pulse the earlier one is ignored."""
    delay, every, count = 240, 10_000, 5
    end = FIRST + delay + count * every
    bursts = [FIRST, end + 20]
    stimulus = [change for tick in (FIRST, FIRST + 7777, FIRST + 41_000, end - 20, end + 20) for change in high(tick)]
    words = ["--on", "edge:0:rise", "--delay", f"{delay}t", "--pulses", str(count), "--every", f"{every}t", "--width", "48t"]
    done = simulated(stimulus, tmp_path, *words, "--count", "10")
    result = json.loads(done.stdout)
    assert done.returncode == 0 and (result["pulses"], result["every_ticks"], result["missed"]) == (5, every, [])
    starts = [(k, trigger, delay + k * every) for trigger in bursts for k in range(count)]
    assert [(a["pulse"], a["reference"], a["delay_ticks"]) for a in result["answers"]] == starts
    assert [a["tick"] for a in result["answers"]] == [trigger + wait for _, trigger, wait in starts]
    assert line(tmp_path) == pulses_of([trigger + wait for _, trigger, wait in starts], 48)


def test_bursts_as_rows_and_for_people(tmp_path):
    words = ["--on", "edge:0:rise", "--delay", "5us", "--pulses", "7", "--every", "1ms", "--width", "1us", "--high", "--once"]
    done = simulated(high(FIRST), tmp_path, *words, style="--csv")
    rows = [row.split(",") for row in done.stdout.splitlines()]
    assert rows[0] == ["pulse", "tick", "t_ns", "delay_ns", "outcome"] and len(rows) == 8 and done.returncode == 0
    assert [(row[0], row[1], row[3], row[4]) for row in rows[1:]] == [
        (str(k), str(FIRST + 240 + k * 48_000), f"{5_000 + k * 10**6}.000", "answered") for k in range(7)
    ]
    done = simulated(high(FIRST), tmp_path, *words, style=None)
    text = " ".join(done.stdout.split())
    head = "rising edge on 0 → 7 × pulse of 48 ticks = 1 µs, every 48000 ticks = 1 ms, after 240 ticks = 5 µs"
    assert head in done.stdout.splitlines()
    assert "answers 7, 0 missed, 0 records lost" in text and "1× 240 ticks = 5 µs, 1× 48240 ticks = 1.005 ms, " in text
    assert "1× 192240 ticks = 4.005 ms, and 2 more" in text


@pytest.mark.parametrize("trigger", ["byte", "break"])
def test_frames_back_to_back(trigger, tmp_path):
    """Each frame begins where the one before ends. A byte's reference is the end of its frame, a break's the edge that ends it."""
    bit = 5000  # 9600 baud, as the frames that are sent
    levels = [0, *(0x55 >> k & 1 for k in range(8)), 1] if trigger == "byte" else [0] * 13 + [1]
    stimulus = [(FIRST - 1 + k * bit, "rx", level) for k, level in enumerate(levels)]
    end = FIRST + (10 if trigger == "byte" else 13) * bit
    on = "byte:0x55" if trigger == "byte" else "break"
    done = simulated(stimulus, tmp_path, "--on", on, "--delay", "100t", "--byte", "0x3c", "--pulses", "3", "--every", "50000t", "--once")
    result = json.loads(done.stdout)
    assert done.returncode == 0 and not result["missed"]
    starts = [end + 100 + k * 50_000 for k in range(3)]
    delays = [100 + k * 50_000 if trigger == "byte" else None for k in range(3)]
    assert [(a["pulse"], a["tick"], a["delay_ticks"]) for a in result["answers"]] == [(k, starts[k], delays[k]) for k in range(3)]
    sent = [(start + k * bit, level) for start in starts for k, level in enumerate([0, *(0x3C >> k & 1 for k in range(8)), 1])]
    assert line(tmp_path) == [now for before, now in zip([(0, 1), *sent], sent) if before[1] != now[1]]


def test_sigrok_times_a_burst(tmp_path):
    """An independent witness: the sample numbers of a session are ticks."""
    assert witness.available(), "the independent witness is not installed: apt install sigrok-cli"
    delay, every, session = 240, 12_345, tmp_path / "pins.sr"
    words = ["--on", "edge:0:rise", "--delay", f"{delay}t", "--pulses", "6", "--every", f"{every}t", "--width", "48t", "--once"]
    done = simulated(high(FIRST), tmp_path, *words, options=["--sr", str(session)])
    assert done.returncode == 0, done.stderr
    decoder = ["-P", "timing:data=tx:edge=falling", "-A", "timing=time", "--protocol-decoder-samplenum"]
    output = subprocess.run(["sigrok-cli", "-i", session, *decoder], capture_output=True, text=True, check=True).stdout
    starts = [FIRST + delay + k * every for k in range(6)]
    assert [line.split(" ")[0] for line in output.splitlines()] == [f"{a}-{b}" for a, b in zip(starts, starts[1:])]


def test_a_pulse_that_finds_the_line_busy(tmp_path):
    """Pulse 2 is missed, all others are where they belong."""
    (tmp_path / "stimulus").write_text("".join(f"{tick} {channel} {level}\n" for tick, channel, level in high(FIRST)))
    with litepulse.open(sim=True, stimulus=tmp_path / "stimulus", wires=[]) as board:
        with board.respond(EDGE, "240t", pulses=4, every="10000t", width="48t", once=True) as responder:
            assert board.backend.queue.launch([(FIRST + 240 + 20_000 - 1, 7, Launch("pulse", 0, 1, 2))]) == 1
            found = list(responder)
    assert [(each.number, each.tick, each.delay, each.reason) for each in found] == [
        (0, FIRST + 240, 240, None),
        (1, FIRST + 10_240, 10_240, None),
        (2, FIRST + 20_240, None, "busy"),
        (3, FIRST + 30_240, 30_240, None),
    ]


def test_a_period_that_is_too_short_for_the_lead_of_de(tmp_path):
    """Launch 1 is late, and ends the burst."""
    (tmp_path / "stimulus").write_text("".join(f"{tick} {channel} {level}\n" for tick, channel, level in high(FIRST)))
    with litepulse.open(sim=True, stimulus=tmp_path / "stimulus", wires=[]) as board:
        board.backend.line.set_driver_enable(lead=1000, lag=0)
        with board.respond(EDGE, "2000t", pulses=4, every="500t", width="48t", once=True) as responder:
            first, second = responder
    assert (first.number, first.tick, first.delay, first.reason) == (0, FIRST + 2000, 2000, None)
    assert (second.number, second.delay, second.reason) == (1, None, "late") and first.tick < second.tick < first.tick + 1000


@pytest.mark.parametrize("words, period", [(["--every", "18t", "--width", "5t"], 18), (["--every", "100t", "--width", "100t"], 100)])
def test_as_fast_as_the_core_can(words, period, tmp_path):
    """The shortest period; pulses that touch are one."""
    done = simulated(high(FIRST), tmp_path, "--on", "edge:0:rise", "--delay", "50t", "--pulses", "40", *words, "--once")
    result = json.loads(done.stdout)
    assert done.returncode == 0 and [a["tick"] for a in result["answers"]] == [FIRST + 50 + k * period for k in range(40)]
    starts = [FIRST + 50 + k * period for k in range(40)]
    assert line(tmp_path) == (pulses_of(starts, 5) if period == 18 else [(starts[0], 0), (starts[-1] + 100, 1)])
