# SPDX-License-Identifier: BSD-2-Clause
"""litepulse.labgrid, with labgrid itself: the recipe's files, and what labgrid reports of an inactive driver and of a wrong board."""

import re
import subprocess
import sys

import pytest

from .adapters import ROOT, environment

PAGE = (ROOT / "docs" / "recipes" / "labgrid.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.full


def run(folder, test, board="sim"):
    """What pytest prints of the recipe's environment with these tests."""
    (configuration,) = re.findall(r"(?ms)^```yaml\n(.*?)^```", PAGE)
    (folder / "lab.yaml").write_text(configuration.replace("board: sim", f"board: {board}"))
    (folder / "test_lamp.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--lg-env", "lab.yaml"]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=300, check=False).stdout


def test_the_recipe(tmp_path):
    (program,) = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE)
    assert "1 passed" in run(tmp_path, program)
    assert "labgrid 26.0.1" in PAGE and "labgrid==26.0.1" in (ROOT / "requirements" / "adapters.in").read_text()


def test_each_activation_opens_the_board_again(tmp_path):
    """To the tick: simulated time begins again."""
    printed = run(
        tmp_path,
        """
import labgrid.binding
import pytest

def test_twice(target):
    driver = target.get_driver("LitePulseDriver")
    for _ in range(2):
        target.activate(driver)
        with driver.board.train(rate=1000, width="10us", start=480_000, count=3) as train:
            assert [pulse.tick for pulse in train] == [480_000, 528_000, 576_000]
        target.deactivate(driver)
    with pytest.raises(labgrid.binding.StateError, match="not been activated"):
        driver.board
""",
    )
    assert "1 passed" in printed


@pytest.mark.parametrize(
    "board, complaint",
    [("port:/nonexistent", "/nonexistent: cannot open the port (No such file or directory)"), ("7", "must be <class 'str'>")],
)
def test_what_is_refused(tmp_path, board, complaint):
    printed = run(tmp_path, "def test_board(target):\n    target.get_driver('LitePulseDriver')\n", board)
    assert re.search(r"\b1 (failed|error)\b", printed) and complaint in printed
