# SPDX-License-Identifier: BSD-2-Clause
"""`make man`: a page for the command and for each verb, from the same words as --help."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from litepulse import cli

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = [sys.executable, ROOT / "scripts" / "man_pages.py"]
ENV = {**os.environ, "PYTHONPATH": str(ROOT / "sw")}


@pytest.mark.skipif(not shutil.which("help2man"), reason="NOT TESTED: help2man is not installed")
def test_a_page_for_each_verb(tmp_path):
    done = subprocess.run([*SCRIPT, tmp_path], env=ENV, capture_output=True, text=True, timeout=600, check=False)
    verbs = [*cli.VERBS]
    verbs += [f"lin-{verb}" for verb in ("monitor", "master", "slave", "request", "inject", "header")]
    verbs += ["clock-compare", "clock-emit", "clock-follow"]
    pages = {"litepulse.1", *(f"litepulse-{verb}.1" for verb in verbs)}
    assert done.returncode == 0 and done.stderr == "" and {path.name for path in tmp_path.iterdir()} == pages
    assert sorted(done.stdout.splitlines()) == sorted(str(tmp_path / page) for page in pages)
    text = (tmp_path / "litepulse-train.1").read_text()
    assert r"\fB\-\-node\fR NAME" in (tmp_path / "litepulse-lin-slave.1").read_text()
    assert r"\fB\-\-rate\fR HZ" in text and "pulses per second, exact" in text and ".BR litepulse-stop (1)" in text


def test_without_help2man(tmp_path):
    done = subprocess.run([*SCRIPT, tmp_path], env={**ENV, "PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1 and "apt-get install help2man" in done.stderr
