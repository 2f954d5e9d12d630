# SPDX-License-Identifier: BSD-2-Clause
"""The forms for issues name commands and options that exist."""

import re

import pytest

from litepulse import cli
from sim.cocotb_rig import ROOT

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_options_of_the_command_exist(path):
    known = cli.make_parser().words()
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", path.read_text())) <= known
    assert set(re.findall(r"\blitepulse (?!-)([a-z]+(?:-[a-z]+)*)", path.read_text())) <= known
