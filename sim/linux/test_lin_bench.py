# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark of LIN slaves: that it measures, and notices what is wrong. Its figures are in docs/lin.md."""

import pytest
from PIL import Image

from sim.linux import lin_bench
from sim.linux.lin_bench import BUS, HEADERS, HZ, MS, PAGE, SLAVES, Bench
from sim.measured import BenchError

LIN0 = next(slave for slave in SLAVES if slave.words == "lin0")
PEER = next(slave for slave in SLAVES if slave.words == "tty /dev/ttyLXU1")


@pytest.fixture(scope="module")
def bench():
    return Bench()


def test_lin0_is_exact(bench):
    """The space that is programmed, and the tick after which a byte on the line is received; nothing runs on the CPU meanwhile."""
    assert bench.spaces(LIN0, 1, "halted") == [BUS.bits(1) + 1] * HEADERS


def test_a_program_is_late(bench):
    """It answers each header, some time later, and not each at the same."""
    spaces = bench.spaces(PEER, 1, "loaded")
    assert len(set(spaces)) > HEADERS // 2 and min(spaces) > 0


def test_what_is_wrong_is_noticed(bench, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(lin_bench, "checksum", lambda data: 0)
        with pytest.raises(BenchError, match="lin0, 1 bytes, halted: the answer is wrong"):
            bench.spaces(LIN0, 1, "halted")
    right = BUS.answer
    monkeypatch.setattr(BUS, "answer", lambda tick, data, space: right(tick, data, space + 1))
    with pytest.raises(BenchError, match="an edge is not at its tick"):
        bench.spaces(LIN0, 1, "halted")


def test_sllin_must_be_there(monkeypatch, tmp_path):
    monkeypatch.setenv("SLLIN", str(tmp_path))
    with pytest.raises(BenchError, match="there is no sllin/sllin.c in"):
        lin_bench.sllin_folder()
    monkeypatch.delenv("SLLIN")
    assert lin_bench.sllin_folder() is None


def test_late_is_what_the_standard_says():
    """40 % of the response's nominal duration: 8 bit times for a byte and its checksum."""
    limit = 8 * HZ // BUS.baud
    found = lin_bench.summary([limit, limit + 1, None, 2 * MS], 1)
    assert (found["late"], found["missing"], found["least"]) == (2, 1, limit * 10**6 / HZ)
    assert lin_bench.told(found) == "417 (417 to 2,000), **2 of 20 late, 1 of 20 missing**"
    assert lin_bench.told(lin_bench.summary([None] * HEADERS, 1)) == "no answer in time"


def test_table_and_picture(tmp_path, monkeypatch):
    """Each kind has its row; the page has a place for them."""
    summaries = {"1": lin_bench.summary([BUS.bits(1)] * HEADERS, 1), "8": lin_bench.summary([40 * MS, None], 8)}
    figures = {"rows": [{"title": "lin0", "load": "idle", "of": summaries}], "sllin": False}
    monkeypatch.setattr(lin_bench, "PICTURE", tmp_path / "picture.png")
    monkeypatch.setattr(lin_bench, "PAGE", tmp_path / "lin.md")
    (tmp_path / "lin.md").write_text(PAGE.read_text())
    lin_bench.write_page(figures, "measured now")
    row = "| lin0 | idle | 52.1, each to the tick | 40,000.0, each to the tick, **1 of 20 late, 1 of 20 missing** |"
    assert row in (tmp_path / "lin.md").read_text() and "sllin was not measured" in (tmp_path / "lin.md").read_text()
    assert Image.open(tmp_path / "picture.png").width > 1000
    (tmp_path / "lin.md").write_text("")
    with pytest.raises(BenchError, match="has no place for the table"):
        lin_bench.write_page(figures, "measured now")
