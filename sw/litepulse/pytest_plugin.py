# SPDX-License-Identifier: BSD-2-Clause
"""The plugin of pytest: `litepulse_board`, a board for each test. pytest finds it by the entry point `pytest11`.

Every run of pytest in the same environment imports this file, so it imports no more of LitePulse before a test uses a board.
"""

import json
import re
import zlib
from collections import deque
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from litepulse.errors import LitePulseError

if TYPE_CHECKING:
    from litepulse.backends.interface import Batch
    from litepulse.board import Board

MOST = 100_000  # records of a test that are kept: the newest
_NAME = 120  # characters of a file's name
_WHICH = ("device", "port", "sim")  # arguments of open() that the option stands for
_PLACE = "litepulse_board"
_FOLDER = "litepulse_records"
_SIMULATED = "SIMULATED"


class Records:
    """What the jobs of a test read from the board: the newest MOST records."""

    def __init__(self, board: "Board", folder: Callable[[], Path]) -> None:
        """folder: where they are written, which is made when it is asked for"""
        self.board, self._folder = board, folder
        self._batches: deque[Batch] = deque()
        self._count = 0
        board.backend.recorder.observer = self._add

    def _add(self, batch: "Batch") -> None:
        size = _size(batch)
        if size:
            self._batches.append(batch)
            self._count += size
        while self._count > MOST and len(self._batches) > 1:
            self._count -= _size(self._batches.popleft())

    def result(self, test: str) -> dict[str, Any]:
        """As `litepulse capture --json` has it; beside that the test, and `launched`, where the board's own transmissions began."""
        from litepulse import columns, streams
        from litepulse.capture import channel_name
        from litepulse.commands.report import shared

        board, edges, received, launched, lost = self.board, list[Any](), list[Any](), list[Any](), list[streams.Lost]()
        samples, channels = board.identity.samples_per_cycle, range(board.identity.inputs + 1)

        def add_edge(tick: int, channel: int, level: int) -> None:
            edges.append({"tick": tick, "channel": channel_name(board.backend, channel), "level": level})

        for batch in self._batches:
            if batch.edges is not None:
                for tick, channel, level in columns.edges(batch.edges, samples, channels).tolist():
                    add_edge(tick, channel, level)
            for event in batch.events:
                if isinstance(event, streams.Lost):
                    lost.append(event)
                elif event.kind == "edge":
                    for edge in streams.edges(event, samples):
                        add_edge(edge.tick, edge.channel, edge.level)
                elif event.kind == "tx":
                    launched.append({"tick": event.tick, "source": event.source})
            for byte in batch.received:
                if isinstance(byte, streams.Lost):
                    lost.append(byte)
                else:
                    received.append({"tick": byte.tick, "data": byte.data, "flags": byte.flags})
        losses = {"lost": sum(each.count for each in lost), "lost_at_least": any(each.at_least for each in lost)}
        return shared(board, "capture") | {"test": test, "edges": edges} | losses | {"bytes": received, "launched": launched}

    def write(self, test: str) -> str:
        """Writes the result; returns what the report of the test says about it, '' if the test read nothing."""
        if not self._batches:
            return ""
        from litepulse.units import counted

        result = self.result(test)
        path = self._folder() / f"{_file_name(test)}.json"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(result) + "\n", encoding="utf-8")
        except OSError as error:
            return f"cannot write {path} ({error.strerror})"
        found = f"{counted(len(result['edges']), 'edge')}, {counted(len(result['bytes']), 'byte')}, {len(result['launched'])} launched"
        return f"{_SIMULATED if self.board.simulated else self.board.name}: {found}: litepulse plot {path}"


_RECORDS = pytest.StashKey[Records]()


def _size(batch: "Batch") -> int:
    return len(batch.events) + len(batch.received) + (0 if batch.edges is None else len(batch.edges))


def _file_name(test: str) -> str:
    """Of a test, no other one's."""
    name = re.sub(r"[^\w.=]+", "-", test, flags=re.ASCII).strip("-")
    plain = len(name) <= _NAME and not re.search(r"[^\w.:/]", test, re.ASCII)
    return name if plain else f"{name[:_NAME]}-{zlib.crc32(test.encode()):08x}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Called by pytest."""
    group = parser.getgroup("litepulse", "LitePulse: boards of the fixture litepulse_board")
    group.addoption(
        "--litepulse-board",
        dest=_PLACE,
        metavar="BOARD",
        default="sim",
        help="sim, the simulated board (default); litepulse, the one board there is; /dev/litepulse0; port:/dev/ttyUSB1; "
        "port:tcp:host:port. litepulse:// may stand before it",
    )
    group.addoption(
        "--litepulse-records",
        dest=_FOLDER,
        metavar="FOLDER",
        help="where the edges of a failed test are written (default: pytest's temporary folder)",
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Called by pytest: which board, where it is not the default."""
    name = config.getoption(_PLACE)
    return None if name == "sim" else f"LitePulse board: {name}"


@pytest.fixture
def litepulse_options() -> dict[str, Any]:
    """Further arguments of litepulse.open() for `litepulse_board`. Define it again where a test needs some."""
    return {}


@pytest.fixture
def litepulse_board(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, litepulse_options: dict[str, Any]
) -> "Generator[Board]":
    """The board of --litepulse-board, opened for this test alone. What the test reads from it is written to a file if the test fails."""
    from litepulse.board import open_named

    if given := [name for name in _WHICH if name in litepulse_options]:
        pytest.fail(f"litepulse_options: {given[0]}: the option --litepulse-board names the board", pytrace=False)
    found, why = None, ""
    try:
        found = open_named(str(request.config.getoption(_PLACE)), **litepulse_options)
    except LitePulseError as error:
        why = str(error)
    if found is None:  # not where the error was caught: pytest would show that, too
        pytest.fail(f"litepulse: {why}", pytrace=False)
    with found as board:
        chosen: str | None = request.config.getoption(_FOLDER)
        folder = (lambda: tmp_path_factory.getbasetemp() / "litepulse") if chosen is None else (lambda: request.config.rootpath / chosen)
        request.node.stash[_RECORDS] = Records(board, folder)
        request.node.user_properties.append((_PLACE, _SIMULATED if board.simulated else board.name))
        yield board


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Called by pytest after each part of a test."""
    report = yield
    records = item.stash.get(_RECORDS, None)
    if records is not None and report.failed:
        del item.stash[_RECORDS]  # the end of a test that failed may fail, too
        if text := records.write(item.nodeid):
            report.sections.append(("LitePulse", text))
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Called by pytest: nobody shall take the simulated board for a real one."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports if getattr(report, "when", "") == "call"]
    count = sum((_PLACE, _SIMULATED) in map(tuple, report.user_properties) for report in reports)
    if count:
        from litepulse.units import counted

        terminalreporter.write_line(f"LitePulse: {counted(count, 'test')} on a SIMULATED board; --litepulse-board names a real one")
