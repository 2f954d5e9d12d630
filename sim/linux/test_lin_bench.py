# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark of LIN slaves measures, and notices faults. Its figures are in docs/lin.md."""

import re

import pytest

from litepulse import plot
from sim.linux import lin_bench
from sim.linux.lin_bench import BUS, HEADERS, HZ, MS, SLAVES, Bench
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
    """It answers each header some time later, with varying delays."""
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


def test_late_is_defined_by_the_standard():
    """40 % of the response's nominal duration: 8 bit times for a byte and its checksum."""
    limit = 8 * HZ // BUS.baud
    found = lin_bench.summary([limit, limit + 1, None, 2 * MS], 1)
    assert (found["late"], found["missing"], found["least"]) == (2, 1, limit * 10**6 / HZ)


def test_the_page_has_a_light_and_a_dark_picture(tmp_path, monkeypatch):
    """Both are written, each on its own background, and the page names both; earlier pictures are
    replaced."""
    from matplotlib.image import imread

    page = tmp_path / "lin.md"
    page.write_text(f"before\n{lin_bench.BEGIN}\nold\n{lin_bench.END}\nafter\n")
    (tmp_path / "images").mkdir()
    monkeypatch.setattr(lin_bench, "PAGE", page)
    one = {str(length): lin_bench.summary([5 * MS, None, HZ // 20_000], length) for length in lin_bench.LENGTHS}
    lin_bench.write_page([{"title": "a program", "load": "idle", "of": one}], "how it was run")
    text = page.read_text()
    shown = dict(re.findall(r'(srcset|src)="([^"]+)"', text))
    assert shown == {"srcset": lin_bench.PICTURES["dark"], "src": lin_bench.PICTURES["light"]}
    assert text.startswith(f"before\n{lin_bench.BEGIN}\n<picture>") and text.endswith(f"{lin_bench.END}\nafter\n") and "old" not in text
    for theme, name in lin_bench.PICTURES.items():
        red, green, blue = (round(255 * part) for part in imread(tmp_path / name)[0, 0, :3])
        assert f"#{red:02x}{green:02x}{blue:02x}" == plot.THEMES[theme].paper
