# SPDX-License-Identifier: BSD-2-Clause
"""The verbs of the scenario and the package, on the simulated SoC and on a board behind UARTBone; sim/driver does the same on the kernel's
driver."""

import json
import subprocess

import pytest

from litex_soc import sim_soc

from . import scenario


@pytest.fixture
def running_board():
    """The address of a simulated board that outlives a command, TX wired to RX and to input 0."""
    words = [sim_soc.build(), "--tcp", "0", "--exit-with-parent", "--lockstep", "20000", "--loop-tx-rx", "--loop-tx-input", "0"]
    process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield f"tcp:127.0.0.1:{json.loads(process.stdout.readline())['tcp']}"
    process.stdin.close()
    process.wait(timeout=20)
    process.stdout.close()


@pytest.mark.seconds(40)
def test_every_verb_on_the_simulated_soc(tmp_path, monkeypatch):
    sim_soc.build(quiet=True)  # else the first verb says that it makes one
    monkeypatch.chdir(tmp_path)
    results = scenario.run(["--sim", "--wire", "rx", "--wire", "0"], False, sim=True, wires=["rx", "0"])
    scenario.check(results, "sim")


@pytest.mark.full
@pytest.mark.seconds(60)
def test_every_verb_over_a_port(running_board, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenario.check(scenario.run(["--port", running_board], True, port=running_board), "uartbone")


def test_lines_of_a_console():
    results = {"a": "ü" * 5000, "b": list(range(3000))}
    lines = scenario.pack(results)
    assert len(lines) > 2 and scenario.unpack(["something else", *(f"[ 1.0] {line}" for line in lines)]) == results
