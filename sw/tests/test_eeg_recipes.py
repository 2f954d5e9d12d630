# SPDX-License-Identifier: BSD-2-Clause
"""The recipes of Expyriment and MNE: their programs print what the pages say."""

import re
import subprocess
import sys

import pytest

from litex_soc.build_cache import CACHE

from .adapters import ROOT, environment, pinned

NAMES = {"expyriment": "Expyriment", "mne": "MNE"}


@pytest.mark.full
@pytest.mark.seconds(20)
@pytest.mark.parametrize("name", NAMES)
def test_the_recipe(name, tmp_path):
    """In a folder that takes the place of the home directory, and without a display."""
    page = (ROOT / "docs" / "recipes" / f"{name}.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"(?ms)^```python\n(.*?)^```", page)
    env = environment("eeg") | {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(CACHE.parent)}
    env |= {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}
    if name == "expyriment":  # which waits for ten seconds, and wants a graphics card
        program = program.replace("control.initialize(", "control.set_develop_mode(True)\ncontrol.defaults.opengl = 0\ncontrol.initialize(")
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False)
    wanted = re.findall(r"(?m)^print\(.*\)  # (.*)$", program)
    assert wanted and done.stdout.splitlines()[-len(wanted) :] == wanted, done.stdout + done.stderr
    assert f"{NAMES[name]} {pinned('eeg', name)}" in page
