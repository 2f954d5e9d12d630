# SPDX-License-Identifier: BSD-2-Clause
"""Boards with another register map: older ones do what their map has, newer ones are read.

The maps of earlier versions are frozen in maps/. A board in Python, and the simulated SoC behind a bus that hides the rest, answer by them.
"""

import json
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

import litepulse
from litepulse import backends, compatibility, doctor
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.driver import device
from litex_soc import frozen_map, regmap

from . import scenario
from .fake_board import MAPS, MASK32, FakeBoard, FrozenMap, Server

ROOT = Path(__file__).resolve().parents[2]


def numbers(version):
    """(0, 9) of '0.9'."""
    return tuple(map(int, version.split(".")))


FROZEN = sorted((path.stem for path in MAPS.glob("*.toml")), key=numbers)
BEFORE = [version for version in FROZEN if numbers(version) < compatibility.OURS]
NEWER = (regmap.VERSION_MAJOR << 16 | regmap.VERSION_MINOR) + 1
FLASH = f"litepulse flash writes the bitstream of release {litepulse.__version__}"


def run(board, *arguments):
    """The command on a board."""
    with Server(board, "tcp") as server:
        done = scenario.command(["--port", server.spec], arguments)
    return SimpleNamespace(returncode=done["status"], stdout=done["out"], stderr=done["err"])


def is_refused(done, *parts):
    """Whether a verb ended with one line that has all parts."""
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and done.stdout == "", (done.stdout, done.stderr)
    assert all(part in done.stderr for part in (*parts, FLASH)), done.stderr


def newer_board():
    board = FakeBoard(step=100_000)
    board.version = NEWER
    return board


# The files ---------------------------------------------------------------------------------------------------------


def frozen(version):
    return tomllib.loads((MAPS / f"{version}.toml").read_text())


@pytest.mark.parametrize("version", FROZEN)
def test_a_map_only_adds_to_those_before(version):
    """Names, words, bits and codes stay; a field may get wider where the word has room, a register may get fields."""
    old, new = frozen(version), tomllib.loads(frozen_map.text())
    assert new["magic"] == old["magic"] and old["regions"].items() <= new["regions"].items()
    for name, codes in old["codes"].items():
        assert codes.items() <= new["codes"][name].items(), name
    for table, registers in old["registers"].items():
        for name, register in registers.items():
            there = new["registers"][table][name]
            assert there["word"] == register["word"], name
            for field, place in register.items():
                if field != "word":
                    assert there[field][0] == place[0] and there[field][1] >= place[1], (name, field)


def test_what_is_frozen():
    first, last = compatibility.OLDEST, compatibility.OURS
    every = [f"0.{minor}" for minor in range(first[1], last[1])]
    assert first[0] == last[0] == 0 and BEFORE == every, "the map of a version before is not in sw/tests/maps"
    mine = MAPS / f"{compatibility.named(compatibility.OURS)}.toml"
    assert not mine.exists() or mine.read_text() == frozen_map.text(), "a frozen map was changed: raise VERSION_MINOR"


def test_the_table_has_what_each_map_lacks():
    """SINCE names what the files show: the first version whose map has the bits."""
    bits = {
        compatibility.LOW_REST: ("CONFIG", "line", "rest", 1),
        compatibility.LEVELS: ("CSRS", "status", "levels", 16),
        compatibility.BURSTS: ("CONFIG", "resp_trigger", "burst", 16),
        compatibility.LONG_TIMES: ("CONFIG", "resp_delay", "delay", 32),
        compatibility.MARKS: ("CSRS", "id_geometry", "port", 1),
        compatibility.WAITS: ("CSRS", "id_geometry", "sequence", 1),
    }
    behaviour = {compatibility.WIDTHS, compatibility.FAST_TRAINS}  # in words that each map has
    assert bits.keys() | behaviour == compatibility.SINCE.keys()
    for what, (table, register, field, size) in bits.items():
        for version in FROZEN:
            found = frozen(version)["registers"][table][register].get(field, [0, 0])[1]
            assert (found >= size) == compatibility.has(numbers(version), what), (what, version)


def test_the_page_has_the_table():
    board, _, driver = (ROOT / "docs" / "compatibility.md").read_text().partition("## What an older driver lacks")
    rows = table(board)
    assert {what: rows.get(what) for what in compatibility.SINCE} == {
        what: compatibility.named(since) for what, since in compatibility.SINCE.items()
    }
    abis = [int(since) for since in table(driver).values() if since.isdigit()]
    assert abis == [device.WAITS_ABI, device.FOLLOW_ABI, device.PORT_ABI, device.BURST_ABI]


def table(text):
    """{first: second column} of the rows of three columns."""
    return {cells[0]: cells[1] for line in text.splitlines() if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 3}


# Older boards -------------------------------------------------------------------------------------------------------

USES = {
    "train": ["train", "--rate", "1k", "--byte", "0x55", "--baud", "115200", "--count", "5", "--json"],
    "high": ["train", "--rate", "1k", "--width", "50us", "--high", "--count", "3", "--json"],
    "capture": ["capture", "--inputs", "0,rx", "--for", "5ms", "--json"],
    "bytes": ["capture", "--inputs", "rx", "--bytes", "--baud", "9600", "--move-tx", "--for", "5ms", "--json"],
    "respond": ["respond", "--on", "edge:1:rise", "--delay", "5us", "--width", "1us", "--for", "5ms", "--json"],
    "stop": ["stop", "--json"],
}


@pytest.mark.parametrize("version", BEFORE)
def test_an_older_board_does_what_it_did(version):
    board = FakeBoard(step=100_000, frozen=version)
    for name, words in USES.items():
        done = run(board, *words)
        assert done.returncode == (name == "respond") and done.stderr == "", (name, done.stdout, done.stderr)
    assert board.beyond == [] and board.train is None


@pytest.mark.parametrize("version", BEFORE)
def test_an_older_board_is_named(version, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    done = run(FakeBoard(frozen=version), "info", "--json")
    result = json.loads(done.stdout)
    assert result["version"] == version and FLASH in result["version_note"] and compatibility.WAITS in result["version_note"]
    assert (compatibility.MARKS in result["version_note"]) == (numbers(version) < (0, 10))
    assert (compatibility.BURSTS in result["version_note"]) == (numbers(version) < (0, 9))
    assert (result["levels"] is None) == (numbers(version) < (0, 8))
    assert result["port"] is (numbers(version) >= (0, 10)) and result["sequence"] is False
    text = run(FakeBoard(frozen=version), "info").stdout
    assert f"the core is version {version}, without" in text and ("on the pins" in text) == (numbers(version) >= (0, 8))


@pytest.mark.parametrize(
    "more, what",
    [
        (["--delay", "5us", "--pulses", "3", "--every", "1ms"], compatibility.BURSTS),
        (["--delay", "1s"], compatibility.LONG_TIMES),
        (["--delay", "5us", "--holdoff", "1s"], compatibility.LONG_TIMES),
    ],
)
def test_what_an_older_board_lacks_is_named(more, what):
    board = FakeBoard(frozen="0.8")
    done = run(board, "respond", "--on", "edge:1:rise", "--width", "1us", *more)
    is_refused(done, what, "takes register map 0.9, the board has 0.8")
    assert board.beyond == [] and board.configs_written == 0


@pytest.mark.parametrize(
    "words, what",
    [
        (["mark", "0x2a"], compatibility.MARKS),
        (["mark", "--width", "5ms"], compatibility.MARKS),
        (["tty", "--marks"], compatibility.MARKS),
        (["train", "--rate", "200k", "--width", "1us"], compatibility.FAST_TRAINS),
        (["train", "--period", "319t", "--width", "1us", "--count", "9"], compatibility.FAST_TRAINS),
    ],
    ids=["mark", "mark width", "tty", "train", "counted train"],
)
def test_what_map_0_9_lacks_is_named(words, what):
    board = FakeBoard(frozen="0.9")
    is_refused(run(board, *words), what, "takes register map 0.10, the board has 0.9")
    assert board.beyond == [] and board.configs_written == 0 and board.train is None


def test_a_train_of_map_0_9_is_changed_but_for_its_width():
    board = FakeBoard(step=100_000, frozen="0.9")
    assert run(board, "train", "--period", "320t", "--width", "1us", "--count", "9").returncode == 0
    run(board, "train", "--rate", "100", "--width", "1ms", "--keep")
    width = board.word("train_width")
    is_refused(run(board, "adjust", "--width", "2ms"), compatibility.WIDTHS, "takes register map 0.10, the board has 0.9")
    assert run(board, "adjust", "--rate", "200", "--json").returncode == 0
    assert board.train["period"] == 240_000 and board.word("train_width") == width and board.beyond == []


def test_levels_that_are_not_known(tmp_path):
    """A VCD has x until the first edge; the program gets no levels."""
    board = FakeBoard(step=100_000, frozen="0.7")
    device = BusBackend(board, "uartbone", "fake", False, [], lambda seconds: None)
    with litepulse.Board(device) as opened:
        assert opened.status().levels == ()
        with opened.capture(inputs=[0, "rx"], duration="2ms", to=litepulse.VcdFile(tmp_path / "pins.vcd")) as capture:
            assert list(capture) == []
    changes = (tmp_path / "pins.vcd").read_text().split("$enddefinitions")[1]
    assert set(re.findall(r"(?m)^([01x])\S", changes)) == {"x"}


# Newer boards, and those that cannot be used ---------------------------------------------------------------------------


def test_a_newer_board_is_read():
    board = newer_board()
    result = json.loads(run(board, "info", "--json").stdout)
    assert result["version"] == f"0.{regmap.VERSION_MINOR + 1}" and "newer than this program's" in result["version_note"]
    for words in (USES["capture"], USES["bytes"], USES["stop"]):
        done = run(board, *words)
        assert done.returncode == 0 and done.stderr == "", done.stderr
    assert board.train is None and not board.armed and board.queue == []


@pytest.mark.parametrize(
    "words",
    [
        USES["train"],
        USES["high"],
        USES["respond"],
        ["send", "data", "--every", "2ms"],
        ["latency", "--width", "5us", "--on", "edge:0:fall", "--interval", "5ms", "--count", "2"],
        ["lin", "inject", "--id", "16"],
        ["mark", "0x2a"],
        ["mark", "--width", "5ms"],
    ],
    ids=["train", "high", "respond", "send", "latency", "lin inject", "mark", "mark width"],
)
def test_nothing_starts_on_a_newer_board(words, tmp_path, monkeypatch):
    board = newer_board()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_bytes(b"x")
    why = f"the core is version 0.{regmap.VERSION_MINOR + 1}, newer than this program's"
    is_refused(run(board, *words), why, "install a newer litepulse")
    assert board.train is None and not board.armed and board.accepted == 0 and board.line_log == []


def test_what_runs_on_a_newer_board_can_be_stopped():
    board = FakeBoard(step=100_000)
    run(board, "train", "--rate", "100", "--width", "1ms", "--keep")
    assert board.train
    board.version = NEWER
    assert run(board, "stop", "--json").returncode == 0 and board.train is None


@pytest.mark.parametrize("version, named", [(5, "0.5"), (1 << 16, "1.0"), (9 << 16 | 3, "9.3")])
def test_what_cannot_be_used(version, named):
    board = FakeBoard()
    board.version = version
    oldest, ours = compatibility.named(compatibility.OLDEST), compatibility.named(compatibility.OURS)
    is_refused(run(board, "info"), f"the core is version {named}, this program drives versions {oldest} to {ours}")
    assert board.writes == 0


def test_doctor_names_the_release_to_flash():
    report = doctor.Doctor.__new__(doctor.Doctor)
    report.found, report.board, report.problem = SimpleNamespace(version=(0, 7)), None, ""
    check = report.core()
    assert check.state == doctor.NOTE and FLASH in check.finding
    report.found = SimpleNamespace(version=compatibility.OURS)
    assert report.core().state == doctor.OK


# The simulated SoC, of which a map hides the rest ------------------------------------------------------------------------


class Masked:
    """The bus of the simulated SoC as an older core would answer: bits that its map does not have read 0 and must not be written."""

    framed = False
    together = None

    def __init__(self, bus, version):
        self._bus, self._map = bus, FrozenMap(version)
        self.beyond = []

    def __getattr__(self, name):
        return getattr(self._bus, name)

    def use_frames(self, base):
        """An older bridge has none."""

    def read(self, address, count=1):
        words = self._bus.read(address, count)
        for place in range(count):
            index = (address - regmap.CSR_BASE) // 4 + place
            if 0 <= index < 64:
                words[place] = self._map.version if index == 1 else words[place] & self._map.csrs.get(index, 0)
        return words

    def write(self, address, words):
        first = address - regmap.WINDOW_BASE - regmap.REGIONS["CONFIG"][0]
        if 0 <= first < 0x400:
            for place, word in enumerate(words):
                if word & ~self._map.config.get(first // 4 + place, 0) & MASK32:
                    self.beyond.append((first // 4 + place, word))
        self._bus.write(address, words)


@pytest.mark.full
@pytest.mark.seconds(60)
@pytest.mark.parametrize("version", ["0.6", "0.7", "0.9"])
def test_every_verb_on_the_simulated_soc_with_an_older_map(version, tmp_path, monkeypatch):
    made = []

    def older(bus, *rest, **options):
        made.append(Masked(bus, version))
        return BusBackend(made[-1], *rest, **options)

    monkeypatch.setattr(backends, "BusBackend", older)
    monkeypatch.chdir(tmp_path)
    results = scenario.run(["--sim", "--wire", "rx", "--wire", "0"], False, sim=True, wires=["rx", "0"])
    scenario.check(results, "sim")
    assert made and all(each.beyond == [] for each in made)
    assert json.loads(results["info"]["out"])["version"] == version
    assert (json.loads(results["info"]["out"])["levels"] is None) == (version != "0.9")
