# SPDX-License-Identifier: BSD-2-Clause
"""README.md: its commands and programs are run as they are written; of those that take long, the test is named that does."""

import contextlib
import io
import os
import re
import subprocess
from pathlib import Path

import pytest

from .fake_board import FakeBoard, Server
from .test_pipes import LINES as PIPES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "README.md").read_text()
PROGRAMS = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE)


def commands(text):
    """Indented command lines, without their remarks; a line that ends with | or && goes on in the next."""
    joined = re.sub(r"(\||&&) *\n +", r"\1 ", text)
    outside = re.sub(r"(?ms)^```python\n.*?^```", "", joined)
    return [re.sub(r" {2,}# .*", "", line.strip()) for line in outside.splitlines() if line.startswith("    ")]


LINES = commands(PAGE)
HERE = [line for line in LINES if "litepulse --" in line and line not in PIPES.values()]
# What make runs for a line, by `make -n`; and where a test runs the same.
MADE = {
    "make demo": ("-m litepulse.demo", "sw/tests/test_sim.py", '"-m", "litepulse.demo"'),
    "make test": ("-m sim.run test", "scripts/fresh_machine.sh", "demo test"),
    "make setup": ("scripts/setup.sh all", "sim/house/test_setup.py", "def test_root_installs_what_is_missing"),
    "make BOARD=icebreaker bitstream": ("-m litex_soc.bitstream icebreaker", "sim/boards/test_bitstreams.py", "def test_board"),
    "make BOARD=icebreaker first-light": ("litepulse first-light --board", "sw/tests/test_first_light.py", "def test_all_is_well"),
    "make linux": ("-m sim.linux", "sim/linux/test_boot.py", "def test_"),
    "make experiments": ("-m lab.experiments", "lab/experiments/test_runner.py", "runner.main("),
    "make linux-demo": ("-m sim.linux.demo", "sim/linux/test_programs.py", "demo.measure("),
}
# As root, with a board, or from a server.
ELSEWHERE = {
    "git clone ADDRESS litepulse && cd litepulse": ("scripts/fresh_machine.sh", "git clone -q /srv/litepulse.bundle"),
    "sudo .venv/bin/litepulse attach": ("sim/pc/test_command.py", 'step("attach", "/dev/ttyUSB0"'),
    "make driver-install": ("sim/driver/test_install.py", 'make(built, "install"'),
}


def test_every_line_is_run_somewhere():
    assert len(LINES) > 12 and len(HERE) >= 3
    assert set(LINES) == set(HERE) | set(MADE) | set(ELSEWHERE) | (set(LINES) & set(PIPES.values()))
    for path, text in ELSEWHERE.values():
        assert text in (ROOT / path).read_text()


@pytest.mark.parametrize("line", MADE)
def test_what_make_runs(line):
    shown, path, text = MADE[line]
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run([*line.split(), "-n"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and shown in done.stdout, done.stdout + done.stderr
    assert text in (ROOT / path).read_text()


@pytest.mark.parametrize("line", HERE)
def test_a_command(line, tmp_path):
    for name in (".venv", "sw"):
        (tmp_path / name).symlink_to(ROOT / name)
    with Server(FakeBoard(step=100_000), "pty") as server:
        words = line.replace("/dev/ttyUSB1", server.spec).split()
        done = subprocess.run(words, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and done.stderr == "" and "48" in done.stdout, done.stderr


def test_the_program_that_starts_a_train():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(PROGRAMS[0], "README.md", "exec"), {})
    rows = [[int(word) for word in line.split()] for line in printed.getvalue().splitlines()]
    assert [row[0] for row in rows] == list(range(12)) and {row[2] for row in rows} == {0}
    assert [row[1] - rows[0][1] for row in rows] == [n * 24_000_000 // 29 for n in range(12)]


def test_the_program_for_a_litex_design(tmp_path):
    """In a design of a user: the whole becomes Verilog, with our core in it."""
    from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
    from litex.gen import LiteXModule
    from litex.soc.integration.soc_core import SoCMini
    from migen import ClockDomain

    from litex_soc.verilated import verilog

    pins = [("clk", 0, Pins(2)), ("pulse", 0, Subsignal("tx", Pins(1)), Subsignal("rx", Pins(1)))]
    platform = GenericPlatform("own", pins, name="own")

    class Clocks(LiteXModule):
        def __init__(self):
            clocks = platform.request("clk")
            self.cd_sys = ClockDomain(reset_less=True)
            self.cd_pulse = ClockDomain(reset_less=True)
            self.comb += [self.cd_sys.clk.eq(clocks[0]), self.cd_pulse.clk.eq(clocks[1])]

    class Own(SoCMini):
        def __init__(self):
            self.crg = Clocks()
            SoCMini.__init__(self, platform, int(24e6))
            exec(compile(PROGRAMS[1], "README.md", "exec"), {"self": self, "platform": platform})

    design = Own()
    sources = [Path(source).name for source in verilog(design, platform, "own", tmp_path)]
    assert "litepulse.sv" in sources or "litepulse_core.sv" in sources, sources
    assert design.csr.locs["pulse"] == 16 and design.bus.regions["pulse_window"].origin == 0x9000_0000
