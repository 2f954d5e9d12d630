# SPDX-License-Identifier: BSD-2-Clause
"""The lines with pipes in README.md and docs/cli.md, run as they are written: feedgnuplot, vnlog, sigrok-cli, plot."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from litepulse import plot

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/cli.md")
POINTS = (0x94, 0x00, 0xD3)  # the first colour of gnuplot
PROGRAMS = ("feedgnuplot", "vnl-filter", "sigrok-cli", "litepulse plot -")
NEEDED = {"feedgnuplot": ("feedgnuplot", "gnuplot"), "vnl-filter": ("vnl-filter",), "sigrok-cli": ("sigrok-cli",), "litepulse plot -": ()}


def lines_of(text):
    """Indented command lines of a page that call one of PROGRAMS; a line that ends with | or && goes on in the next."""
    joined = re.sub(r"(\||&&) *\n +", r"\1 ", text)
    lines = [line.strip().removeprefix("$ ") for line in joined.splitlines() if line.startswith("    ")]
    return [line for line in lines if any(re.search(rf"(^|[|;&] *){name}", line) for name in PROGRAMS)]


LINES = {f"{page}:{n}": line for page in PAGES for n, line in enumerate(lines_of((ROOT / page).read_text()))}


def test_there_is_a_line_for_each_program():
    assert all(any(name in line for line in LINES.values()) for name in PROGRAMS)
    assert any(name.startswith("README.md") for name in LINES)


@pytest.mark.full
@pytest.mark.seconds(20)
@pytest.mark.parametrize("name", LINES)
def test_as_written(name, tmp_path):
    """In a folder with .venv beside, as a clone has it, or the command on PATH."""
    line = LINES[name]
    for program in (each for use in PROGRAMS if use in line for each in NEEDED[use]):
        if not shutil.which(program):
            pytest.skip(f"NOT TESTED: {program} is not installed")
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    env |= {"PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{env['PATH']}", "TERM": "dumb"}
    command = ["bash", "-o", "pipefail", "-c", line]
    done = subprocess.run(
        command, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    if "feedgnuplot" in line and (picture := re.search(r"--hardcopy (\S+\.png)", line)):
        picture = tmp_path / picture[1]
        assert picture.read_bytes().startswith(b"\x89PNG")
        # 99 points from left to right, each a mark of nine pixels; neighbours may share some.
        drawn = places_of(picture, POINTS)
        assert len(drawn) > 99 * 5 and len({x for x, _ in drawn}) > 99, "nothing is drawn but the axes"
    elif "feedgnuplot" in line:
        # Several frames of a live picture; the last has many points, at intervals of the period, not a line to 10^9.
        frame = done.stdout.rpartition("\f")[2]
        assert done.stdout.count("\f") > 3 and frame.count("A") + frame.count("*") > 5 and "17.24" in frame
    if "litepulse plot" in line:
        (picture,) = tmp_path.glob("*.svg")
        assert plot.THEMES["dark"].paper in picture.read_text()
    if "sigrok-cli" in line:
        pulses = int(re.findall(r"--count (\d+)", line)[0])
        assert re.findall(r"uart-1: (\S+)$", done.stdout, re.M) == ["FF"] * pulses


def places_of(path, colour):
    """(x, y) of the pixels of a colour."""
    image = pytest.importorskip("PIL.Image").open(path).convert("RGB")
    pixels = image.load()
    return [(x, y) for x in range(image.width) for y in range(image.height) if pixels[x, y] == colour]
