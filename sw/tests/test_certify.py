# SPDX-License-Identifier: BSD-2-Clause
"""litepulse certify, the whole command: a pseudo-terminal at the pins of the simulated SoC, whose recorded pins say what must come of it;
losses that are made; the board's own port; bad input, and every way to end."""

import contextlib
import html.parser
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest

from litepulse.certify.result import schema
from litex_soc import sim_soc, sim_uart

from .certify_model import deviations, frames_of, histogram, least_squares
from .fake_board import FakeBoard, Server
from .test_sim import pins

ROOT = Path(__file__).resolve().parents[2]
ENV = {**os.environ, "PYTHONPATH": f"{ROOT / 'sw'}{os.pathsep}{ROOT}", "COLUMNS": "80", "PYTHONUNBUFFERED": "1"}
COMMAND = [sys.executable, "-m", "litepulse"]
HZ, BAUD = 500_000, 9600
BLOCK = 23  # frames whose ten edges each the board can hold: 256 records less 16 that it keeps and 8 that are left free
SMALL = ["--baud", BAUD, "--samples", 20, "--bytes", 300, "--blocks", 4]
VALIDATOR = jsonschema.Draft202012Validator(schema())


def run(*words, **options):
    return subprocess.run([*COMMAND, *map(str, words)], env=ENV, capture_output=True, text=True, timeout=200, check=False, **options)


def result_of(*words, status=0):
    done = run(*words, "--json")
    assert done.returncode == status and done.stderr == "", (done.returncode, done.stderr)
    result = json.loads(done.stdout)
    VALIDATOR.validate(result)
    return result


class Faulty(sim_uart.SimUart):
    """lose, double, change: bytes of the program that do not come to the board, come twice, come as another; deaf: bytes that do not come
    to the program; longer: bit times by which a stop bit is longer."""

    lose, double, change, deaf, longer = (), (), {}, (), 0

    def __init__(self, bit, delay, take, give):
        def taken(room):
            data = take(room)
            data = [byte for each in data if each not in self.lose for byte in (each, *((each,) if each in self.double else ()))]
            return bytes(self.change.get(byte, byte) for byte in data)

        super().__init__(bit, delay, taken, lambda data: give(bytes(byte for byte in data if byte not in self.deaf)))

    def length(self, byte):
        return super().length(byte) + self.longer


class Patient:
    """A simulated SoC with a UART at its pins and a pseudo-terminal for that."""

    def __init__(self, folder, uart=sim_uart.SimUart, baud=BAUD):
        self.vcd, link = folder / "pins.vcd", str(folder / "wire")
        command = [sim_soc.build(), "--tcp", "0", "--pace", "--pulse-hz", HZ, "--link", link, "--vcd", self.vcd, "--exit-with-parent"]
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.spec = f"tcp:127.0.0.1:{json.loads(self.process.stdout.readline())['tcp']}"
        self.terminal = sim_uart.Terminal(None)
        self.port = self.terminal.name
        uart = uart(Fraction(HZ) / baud, sim_uart.DELAY, self.terminal.take, self.terminal.give)
        link = sim_uart.connect(link, Fraction(HZ), sim_uart.DELAY)
        self.over = threading.Event()
        self.thread = threading.Thread(target=sim_uart.run, args=[link, uart, self.over.is_set])
        self.thread.start()

    def words(self, *more):
        return ["--port", self.spec, "certify", self.port, *SMALL, *more]

    def close(self):
        """Ends it; then its pins are there."""
        self.over.set()
        self.thread.join()
        self.process.terminate()
        assert self.process.wait(10) == 0
        self.process.stdin.close()
        self.process.stdout.close()
        self.terminal.close()
        self.pins = pins(self.vcd, HZ, "1 us")


@contextlib.contextmanager
def patient(folder, **options):
    board = Patient(folder, **options)
    try:
        yield board
    finally:
        board.close()


class Page(html.parser.HTMLParser):
    """Tags that were opened, all text, attributes that name something elsewhere; every tag must be closed again."""

    EMPTY = {"meta", "rect"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.elsewhere = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.elsewhere += [value for name, value in attrs if name in ("src", "href", "action", "srcset", "data")]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def page_of(path):
    text = path.read_text()
    page = Page(text)
    assert not page.elsewhere and not {"script", "link", "img", "iframe"} & set(page.tags) and "url(" not in text and "@import" not in text
    return page


# A port of this PC ------------------------------------------------------------------------------------------------------


# What is measured is a port of this PC, by the PC's own clocks, so the board's time must be that of the wall: --pace. A link has no --step.
@pytest.mark.wallclock
@pytest.mark.seconds(15)
def test_every_figure_is_that_of_the_recorded_pins(tmp_path):
    """A UART at 9650 baud that is set to 9600."""
    with patient(tmp_path, baud=9650) as board:
        result = result_of(*board.words("-o", tmp_path / "page"))
    assert json.loads((tmp_path / "page.json").read_text()) == result and result["complaints"] == []
    assert result["port"]["kind"] == "pseudo-terminal" and result["counters"] is None and result["driver_enable"] is None
    assert any("pseudo-terminal" in text for text in result["not_real"]) and any("simulation" in text for text in result["not_real"])
    bit = Fraction(HZ, 9650)
    line = frames_of(board.pins["rx"][1:], bit)
    rows = [k % 256 for k in range(300)]
    echo = list(range(20))
    assert [byte for byte, _ in line] == [0x55] * (16 + 4 * BLOCK) + rows + echo + rows + echo
    # bits: a stamp is that of the tick behind the change
    stamped = [[tick + 1 for tick in ticks] for _, ticks in line]
    blocks = [stamped[16 + BLOCK * n : 16 + BLOCK * n + BLOCK] for n in range(4)]
    every = [frame for block in blocks for frame in block]
    assert result["bits"]["bit_ticks"] == str(least_squares(every)[0]) and result["bits"]["frames"] == 4 * BLOCK
    assert result["bits"]["deviation"]["histogram"] == histogram(deviations(every, HZ))
    assert result["bits"]["stop_bit"]["histogram"] == histogram(b[0] - a[9] for block in blocks for a, b in zip(block, block[1:]))
    true = (Fraction(9650, 9600) - 1) * 10**6
    for name, most in (("bits", 3000), ("rows", 20)):
        found = result["baud"][name]
        assert abs(Fraction(found["ppm"]) - true) <= Fraction(found["uncertainty_ppm"]) + Fraction(1, 1000) < most
    # rows and exchanges, idle and loaded
    measured = least_squares(every)[0]
    length = int(10 * Fraction(round(Fraction(256 * HZ, BAUD)), 256))
    sent = [ticks[0] for _, ticks in frames_of(board.pins["tx"][1:], Fraction(HZ, BAUD))]
    place = 16 + 4 * BLOCK
    for load in ("idle", "loaded"):
        starts = [frame[0] for frame in stamped[place : place + 300]]
        pairs = [(a, b) for part in (starts[:256], starts[256:]) for a, b in zip(part, part[1:])]
        assert result["gaps"][load]["histogram"] == histogram(round((b - a - 10 * measured) * 10**9 / HZ) for a, b in pairs)
        assert result["periods"][load]["count"] == len(pairs) and len(result["periods"][load]["autocorrelation"]) == 10
        answers = [frame[0] for frame in stamped[place + 300 : place + 320]]
        trips = [answer - max(tick + length for tick in sent if tick + length <= answer) for answer in answers]
        found = result["latency"][load]
        assert found["round_trip"]["histogram"] == histogram(trips) and found["missing"] == 0
        assert found["program"]["count"] == 20 and found["pin_to_read"]["count"] + found["left_out"] == 20
        assert found["program"]["least"] > 0
        # A busy machine reads its clocks too slowly for any of them.
        assert found["uncertainty_ns"] >= 2000 if found["pin_to_read"]["count"] else found["uncertainty_ns"] is None, "a tick"
        for loss in result["loss"][load].values():
            assert loss == {"sent": 300, "received": 300, "lost": 0, "wrong": 0, "added": 0, "errors": 0}
        place += 320
    assert result["break"]["asked"] == 5 and result["break"]["seen"]["count"] == 0, "a pseudo-terminal sends none"
    assert result["break"]["program"]["least"] >= 10_000_000
    page = page_of(tmp_path / "page.html")
    output = " ".join(page.text)
    assert page.tags.count("svg") >= 6 and page.tags.count("figure") >= 4
    for text in ("pseudo-terminal", "Simulated, or not real", f"{result['baud']['bits']['ppm']:+.3f}", "none seen", os.uname().release):
        assert text in output, text


@pytest.mark.full
@pytest.mark.seconds(15)
def test_lost_wrong_and_added_bytes_are_distinguished(tmp_path):
    """And a UART with longer stop bits has no lower baud."""

    class Bad(Faulty):
        lose, double, change, deaf, longer = (201, 202), (210,), {220: 7}, (99, 100, 101), Fraction(1, 4)

    with patient(tmp_path, uart=Bad) as board:
        done = run(*board.words("-o", tmp_path / "page"))
    assert done.returncode == 1 and done.stderr == "", done.stderr
    result = json.loads((tmp_path / "page.json").read_text())
    VALIDATOR.validate(result)
    for load in ("idle", "loaded"):
        assert result["loss"][load] == {
            "from_port": {"sent": 300, "received": 299, "lost": 2, "wrong": 1, "added": 1, "errors": 0},
            "to_port": {"sent": 300, "received": 297, "lost": 3, "wrong": 0, "added": 0, "errors": 0},
        }
    output = " ".join(done.stdout.split())
    assert len(result["complaints"]) == 4 and "2 bytes lost, 1 wrong, 1 added, 0 with errors, of 300 sent from the port, idle" in output
    assert abs(result["baud"]["bits"]["ppm"]) <= result["baud"]["bits"]["uncertainty_ppm"]
    assert result["baud"]["rows"]["ppm"] == pytest.approx((10 / 10.25 - 1) * 10**6, abs=result["baud"]["rows"]["uncertainty_ppm"])
    stop = Fraction(HZ, BAUD) * Fraction(5, 4)
    assert {value for value, _ in result["bits"]["stop_bit"]["histogram"]} <= {int(stop), int(stop) + 1}
    assert "Lost or wrong" in page_of(tmp_path / "page.html").text
    assert "measuring latency, loaded" in output and "2 lost, 1 wrong, 1 added of 300" in output


class Silent(Faulty):
    lose = tuple(range(256))


class Deaf(Faulty):
    deaf = tuple(range(256))


WIRING = {
    "nothing comes": (Silent, BAUD, [], "nothing comes from {port}: wire its TX to rx of the board"),
    "garbage comes": (
        Faulty,
        3 * BAUD,
        [],
        "only garbage comes from {port} at 9600 baud: its shortest level lasts 34 µs, as at 29412 baud",
    ),
    "nothing arrives": (Deaf, BAUD, [], "nothing comes to {port}: wire tx of the board to its RX"),
    "no driver enable": (Faulty, BAUD, ["--de", "2"], "nothing comes on input 2 while {port} sends: wire its driver enable to it"),
}


@pytest.mark.full
@pytest.mark.seconds(3)
@pytest.mark.parametrize("case", WIRING)
def test_what_is_not_wired_is_one_line(case, tmp_path):
    uart, baud, more, message = WIRING[case]
    with patient(tmp_path, uart=uart, baud=baud) as board:
        done = run(*board.words("-o", tmp_path / "page", "--json", *more))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"litepulse: certify: {message.format(port=board.port)}\n")
    assert {path.name for path in tmp_path.iterdir()} == {"pins.vcd"}, "no half of a page"


def children(process):
    """Processes that a process has started."""
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.full
@pytest.mark.seconds(6)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_it_ends_nothing_goes_on(number, tmp_path):
    with patient(tmp_path) as board:
        words = map(str, board.words("--samples", 3, "-o", tmp_path / "page"))
        process = subprocess.Popen([*COMMAND, *words], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while "loaded" not in process.stdout.readline():
            assert process.poll() is None
        started = children(process.pid)
        assert len(started) == 1 + len(os.sched_getaffinity(0)), "the program on the port, a busy process for each processor"
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == (-9 if number == signal.SIGKILL else 128 + number) and errors == ""
        end = time.monotonic() + 10
        while any(Path(f"/proc/{each}").exists() for each in started):
            assert time.monotonic() < end, "a process goes on"
            time.sleep(0.05)
    assert not list(tmp_path.glob("page*"))


# The board's own port ---------------------------------------------------------------------------------------------------


@pytest.mark.seconds(10)
def test_the_boards_own_port(tmp_path):
    vcd = tmp_path / "pins.vcd"
    result = result_of("--sim", "--vcd", vcd, "certify", "--self", "--edges", 5000, "-o", tmp_path / "page", "--format", "7E2")
    assert json.loads((tmp_path / "page.json").read_text()) == result
    recorded = pins(vcd)
    assert recorded["rx"] == recorded["tx"], "over a wire"
    edges = len(recorded["tx"]) - 1
    assert 5000 <= result["edges"] == edges < 5300 and result["delay"]["histogram"] == [[1, edges]]
    assert (result["missing"], result["extra"], result["moved"], result["complaints"]) == (0, 0, 0, [])
    output = " ".join(page_of(tmp_path / "page.html").text)
    assert f"{edges:,}" in output and "LitePulse's own port" in output


def test_ctrl_c_writes_nothing(tmp_path):
    words = ["--sim", "certify", "--self", "-o", str(tmp_path / "page")]
    process = subprocess.Popen([*COMMAND, *words], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("SIMULATED SoC")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err, list(tmp_path.iterdir())) == (130, "", "", [])


def test_no_wire():
    done = run("--sim", "--wire", "none", "certify", "--self", "--edges", 1000)
    assert done.returncode == 2 and done.stderr == "litepulse: certify: no edge comes back: wire tx of the board to rx\n"


BAD = {
    "nothing": ([], "certify: name the serial port to measure, or --self for the board's own"),
    "both": (["/dev/null", "--self"], "certify: --self is about the board's own port: leave out the other one"),
    "no port": (["/dev/null"], "certify: /dev/null is not a serial port"),
    "no file": (["/dev/nothing"], "certify: /dev/nothing: cannot open the port (No such file or directory)"),
    "baud": (["/dev/null", "--baud", "x"], "baud: 'x' is not a number"),
    "half a baud": (["/dev/null", "--baud", "9600.5"], "baud: '19201/2' is not a whole number"),
    "samples": (["/dev/null", "--samples", "0"], "samples: 0 is outside 1 to"),
    "input": (["/dev/null", "--de", "9"], "inputs: 9 is not a channel of this device"),
    "enable of its own": (["--self", "--de", "1"], "certify: --self has no driver enable of another port: leave out --de"),
    "folder": (["/dev/null", "-o", "/nowhere/page"], "certify: cannot write /nowhere/page.html: No such file or directory"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_starts_nothing(case):
    words, why = BAD[case]
    with Server(FakeBoard(step=100_000), "tcp") as server:
        done = run("--port", server.spec, "certify", *words)
        assert server.board.line_log == []
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith(f"litepulse: {why}"), done
    assert done.stderr.count("\n") == 1


def test_a_port_of_this_pc_is_not_wired_to_sim():
    done = run("--sim", "certify", "/dev/ttyS0")
    assert done.returncode == 2 and done.stderr.startswith("litepulse: certify: a port of this PC is not wired to the simulated SoC")


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path):
    old = tmp_path / "page.html"
    old.write_text("of yesterday")
    (tmp_path / "page.json").mkdir()
    done = run("--sim", "certify", "--self", "--edges", 100, "-o", tmp_path / "page")
    assert done.returncode == 2 and done.stderr == f"litepulse: certify: cannot write {tmp_path}/page.json: Is a directory\n"
    assert old.read_text() == "of yesterday" and len(list(tmp_path.iterdir())) == 2


def test_the_schema_is_strict():
    """Each part of it may be wrong, and is noticed."""
    jsonschema.Draft202012Validator.check_schema(schema())
    result = result_of("--sim", "certify", "--self", "--edges", 100)
    for name in result:
        assert not VALIDATOR.is_valid({key: value for key, value in result.items() if key != name}), name
    assert not VALIDATOR.is_valid(result | {"more": 1}) and not VALIDATOR.is_valid(result | {"edges": -1})
    assert not VALIDATOR.is_valid(result | {"delay": result["delay"] | {"unit": "ns"}})
    assert re.fullmatch(r"https://json-schema\.org/draft/2020-12/schema", schema()["$schema"])
