# SPDX-License-Identifier: BSD-2-Clause
"""The plugin of pytest, in runs of pytest itself: a board for each test, and what a failed test captured."""

import fcntl
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import litepulse
from litepulse import plot, pytest_plugin
from litepulse.backends import driver_abi as abi
from litepulse.backends.driver.backend import DriverBackend
from litex_soc.build_cache import CACHE

from .fake_board import FakeBoard, Server
from .test_columns import Reporting

pytest_plugins = ["pytester"]
RECIPE = Path(__file__).resolve().parent.parent.parent / "docs" / "recipes" / "pytest.md"
EDGES = ((100_000, 0, 1), (100_240, 0, 0), (130_000, 1, 1))  # tick, channel, level
# The first sample that shows a level is the tick behind the one that changed the pin.
STIMULUS = "".join(f"{tick - 1} {channel} {level}\n" for tick, channel, level in EDGES)


@pytest.fixture(autouse=True)
def cache(monkeypatch):
    """The simulator is not made again: pytester's runs have another HOME."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(CACHE.parent))


@pytest.fixture
def run(pytester):
    """Runs pytest, as a process of its own, on a file with these tests."""

    def run(text, *options):
        pytester.makepyfile(test_device=text)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options, timeout=300)

    return run


def records(folder):
    """{name: content} of the files of a folder; {} if there is none."""
    return {path.name: json.loads(path.read_text()) for path in sorted(Path(folder).glob("*"))}


def test_pytest_finds_it():
    (found,) = [each for each in importlib.metadata.entry_points(group="pytest11") if each.name == "litepulse"]
    assert found.load() is pytest_plugin


def test_it_loads_no_board():
    """It is imported by each run of pytest, also where no test has a board."""
    code = "import sys, litepulse.pytest_plugin\nprint(*(name for name in sys.modules if name.startswith('litepulse')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"litepulse", "litepulse.errors", "litepulse.pytest_plugin"}


def test_each_test_has_a_board_of_its_own(run):
    """Simulated: the same ticks in each. The board is closed behind each test."""
    done = run(
        """
        import litepulse, pytest

        boards = []

        @pytest.mark.parametrize("number", range(2))
        def test_train(litepulse_board, number):
            assert litepulse_board.now().tick < 96_000
            boards.append(litepulse_board)
            with litepulse_board.train(rate=1000, width="10us", start=96_000, count=3) as train:
                assert [pulse.tick for pulse in train] == [96_000, 144_000, 192_000]

        def test_they_are_closed():
            assert boards[0] is not boards[1]
            for board in boards:
                with pytest.raises(litepulse.LitePulseError):
                    board.now()
        """,
        "--litepulse-records=records",
    )
    done.assert_outcomes(passed=3)
    done.stdout.fnmatch_lines(["LitePulse: 2 tests on a SIMULATED board; --litepulse-board names a real one"])
    assert records("records") == {}


def test_what_a_failed_test_captured(run, pytester):
    """The file has the edges of the stimulus, to the tick, and `litepulse plot` draws it. Where no test failed there is none."""
    pytester.path.joinpath("edges.txt").write_text(STIMULUS)
    done = run(
        """
        import pytest

        @pytest.fixture
        def litepulse_options():
            return {"stimulus": "edges.txt"}

        @pytest.mark.parametrize("count", [3, 4])
        def test_edges(litepulse_board, count):
            with litepulse_board.capture([0, 1], duration="5ms") as capture:
                assert len(list(capture)) == count

        def test_array(litepulse_board):
            with litepulse_board.capture([0, 1], count=3) as capture:
                assert not len(capture.array())

        def test_nothing_captured(litepulse_board):
            assert False
        """,
        "--litepulse-records=records",
    )
    done.assert_outcomes(passed=1, failed=3)
    found = records("records")
    array, four = found
    assert array == "test_device.py-test_array.json" and re.fullmatch(r"test_device\.py-test_edges-4-[0-9a-f]{8}\.json", four)
    for name, test in ((array, "test_array"), (four, "test_edges[4]")):
        result = found[name]
        assert [(edge["tick"], edge["channel"], edge["level"]) for edge in result["edges"]] == [
            (tick, str(channel), level) for tick, channel, level in EDGES
        ]
        assert (result["command"], result["simulated"], result["tick_hz"]) == ("capture", True, "48000000")
        assert (result["test"], result["lost"], result["bytes"], result["launched"]) == (f"test_device.py::{test}", 0, [], [])
        series = plot.load(f"records/{name}")
        assert list(series.x) == [1, 2] and series.title.startswith("3 edges")
        done.stdout.fnmatch_lines([f"SIMULATED: 3 edges, 0 bytes, 0 launched: litepulse plot */records/{name}"])


def test_bytes_and_launches(run):
    """Of a byte that comes back over the wire: when it left, and when it was received."""
    done = run(
        """
        def test_byte(litepulse_board):
            launched = litepulse_board.launch(byte=0x2A, at=96_000, baud=115200)
            with litepulse_board.train(rate=1000, byte=0x2A, baud=115200, count=1, start=192_000) as train:
                list(train)
            assert launched.tick == 0
        """,
        "--litepulse-records=records",
    )
    done.assert_outcomes(failed=1)
    (result,) = records("records").values()
    assert [launch["tick"] for launch in result["launched"]] == [96_000, 192_000]
    assert [launch["source"] for launch in result["launched"]] == ["queue", "train"]
    assert [(byte["tick"], byte["data"], byte["flags"]) for byte in result["bytes"]] == [
        (tick, 0x2A, ["own"]) for tick in (96_001, 192_001)
    ]


def test_a_fixture_or_the_end_fails(run):
    """What was read until then is written once."""
    done = run(
        """
        import pytest

        @pytest.fixture
        def device(litepulse_board):
            litepulse_board.launch(width="10us", at=96_000)
            assert not "ready"

        @pytest.fixture
        def failing_end(litepulse_board):
            yield
            assert not "at the end"

        def test_setup(device):
            pass

        def test_end(litepulse_board, failing_end):
            litepulse_board.launch(width="10us", at=144_000)

        def test_both(litepulse_board, failing_end):
            litepulse_board.launch(width="10us", at=192_000)
            assert False
        """,
        "--litepulse-records=records",
    )
    done.assert_outcomes(passed=1, failed=1, errors=3)
    assert {result["test"].split("::")[1]: result["launched"][0]["tick"] for result in records("records").values()} == {
        "test_setup": 96_000,
        "test_end": 144_000,
        "test_both": 192_000,
    }
    assert str(done.stdout).count("litepulse plot") == 3


def test_where_files_go_by_default(run, pytester):
    """Into pytest's temporary folder, which it keeps a while. What cannot be written is reported, and the test's own failure stays."""
    text = """
        def test_launch(litepulse_board):
            litepulse_board.launch(width="10us", at=96_000)
            assert False
    """
    done = run(text)
    (path,) = re.findall(r"litepulse plot (.*)", str(done.stdout))
    assert json.loads(Path(path).read_text())["launched"] == [{"tick": 96_000, "source": "queue"}]
    assert Path(path).parent.name == "litepulse" and Path(path).is_relative_to(pytester.path)
    pytester.path.joinpath("file").touch()
    done = run(text, "--litepulse-records=file/below")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E*assert False", "cannot write */file/below/test_device.py-test_launch.json (Not a directory)"])


def test_a_board_on_a_port(run):
    """Two tests open it, one behind the other. The header names it."""
    with Server(FakeBoard(step=100_000)) as server:
        done = run(
            """
            import pytest

            @pytest.mark.parametrize("number", range(2))
            def test_name(litepulse_board, number):
                assert not litepulse_board.simulated
                print(litepulse_board.name)
            """,
            f"--litepulse-board=litepulse://port:{server.spec}",
            "-s",
        )
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines([f"LitePulse board: litepulse://port:{server.spec}", f"*{server.spec}"])
    done.stdout.no_fnmatch_line("*SIMULATED*")


@pytest.mark.parametrize(
    "board, options, complaint",
    [
        ("port:/nonexistent", "{}", "litepulse: /nonexistent: cannot open the port (No such file or directory)"),
        ("/nonexistent", "{}", "litepulse: /nonexistent: cannot open it (No such file or directory)"),
        ("port:", "{}", "litepulse: board: 'port:' names no port: port:/dev/ttyUSB1"),
        ("sim", '{"wires": ("5",)}', "litepulse: the simulated SoC does not start: litepulse-sim: --loop-tx-input: 5 is not within 0 to 3"),
        ("sim", '{"port": "/dev/ttyUSB1"}', "litepulse_options: port: the option --litepulse-board names the board"),
    ],
)
def test_a_board_that_cannot_be_opened(run, board, options, complaint):
    """An error of the test, never a skip, and one line."""
    done = run(
        f"""
        import pytest

        @pytest.fixture
        def litepulse_options():
            return {options}

        def test_nothing(litepulse_board):
            pass
        """,
        f"--litepulse-board={board}",
    )
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*ERROR at setup of test_nothing*", complaint, "*short test summary info*"], consecutive=True)


def test_the_newest_are_kept(monkeypatch, tmp_path):
    """A test may run for days."""
    monkeypatch.setattr(pytest_plugin, "MOST", 5)
    with Server(FakeBoard()) as server, litepulse.open(port=server.spec) as board:
        kept = pytest_plugin.Records(board, lambda: tmp_path)
        with board.train(rate=1000, width="10us", count=40) as train:
            ticks = [pulse.tick for pulse in train]
    found = [launch["tick"] for launch in kept.result("x")["launched"]]
    assert 0 < len(found) <= len(ticks) // 2 and found == ticks[-len(found) :]


def test_a_board_of_the_driver(monkeypatch, tmp_path):
    """Edges as records and as columns, bytes, launches and losses."""
    os.mkfifo(tmp_path / "litepulse0")
    monkeypatch.setattr("litepulse.job.POLL_SECONDS", 0.0)

    def record(tick, kind, source, data, count=0):
        return abi.Event(tick, 0, 0, count, data, 0, 0, 0, kind, source).pack()

    edges = [record(1000, abi.KIND_EDGE, 4, 1 << 16 | 1), record(1240, abi.KIND_EDGE, 4, 1)]
    others = [record(1300, abi.KIND_TX, 0, 0), record(1400, abi.KIND_RX, 0, 0x2A), record(1500, abi.KIND_LOST, 4, 0, 7)]
    for whole, sent in ((False, edges + others), (True, edges)):
        kernel = Reporting()
        monkeypatch.setattr(fcntl, "ioctl", kernel.ioctl)
        with litepulse.Board(DriverBackend(str(tmp_path / "litepulse0"))) as board:
            kept = pytest_plugin.Records(board, lambda: tmp_path)
            with board.capture([0], duration="100ms") as capture:
                os.write(board.backend.device.file, b"".join(sent))
                assert len(capture.array() if whole else list(capture)) == (2 if whole else 4)
            result = kept.result("x")
        assert result["edges"] == [{"tick": 1000, "channel": "0", "level": 1}, {"tick": 1240, "channel": "0", "level": 0}]
        assert result["lost"] == (0 if whole else 7)
        assert result["bytes"] == ([] if whole else [{"tick": 1400, "data": 0x2A, "flags": []}])
        assert result["launched"] == ([] if whole else [{"tick": 1300, "source": "queue"}])


def test_no_two_tests_have_one_file():
    names = ["test_a.py::test_b[x/y]", "test_a.py::test_b[x_y]", "test_a.py::test_b[ä]", "test_a.py::test_b[ö]", "test_a.py::test_b"]
    names += [f"test_a.py::test_{'b' * 300}{letter}" for letter in "cd"]
    files = [pytest_plugin._file_name(name) for name in names]
    assert len(set(files)) == len(names) and all(re.fullmatch(r"[\w.=-]{1,200}", name, re.ASCII) for name in files)


def test_the_recipe(pytester):
    """The tests of the page pass as they are written, and a device that is one tick slower fails one of them."""
    page = RECIPE.read_text(encoding="utf-8")
    (program,) = re.findall(r"(?ms)^```python\n(.*?)^```", page)
    pytester.makepyfile(test_lamp=program)
    pytester.runpytest_subprocess(timeout=300).assert_outcomes(passed=2)
    pytester.makepyfile(test_lamp=program.replace("most <= 1", "most <= 0").replace("_soon_it_responds", ""))
    done = pytester.runpytest_subprocess("--litepulse-records", "build/litepulse", timeout=300)
    done.assert_outcomes(passed=1, failed=1)
    (shown,) = re.findall(r"(?m)^    (SIMULATED: .*)", page)
    done.stdout.fnmatch_lines([shown.replace("litepulse plot ", f"litepulse plot {pytester.path}/")])
