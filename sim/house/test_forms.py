# SPDX-License-Identifier: BSD-2-Clause
"""CITATION.cff and the forms for issues follow their schemas; the citation has the package's version, the forms name options there are."""

import re
import tomllib

import pytest
import yaml

from litepulse import __version__, cli
from sim.cocotb_rig import ROOT
from sim.house.test_workflows import ask

CITATION = ROOT / "CITATION.cff"
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def check(schema, path):
    """(exit status, output) of check-jsonschema, which knows a file that ends in .cff only by being told."""
    return ask("check-jsonschema", "--builtin-schema", schema, "--default-filetype", "yaml", path)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_form(path):
    status, said = check("vendor.github-issue-forms", path)
    assert status == 0, said


def test_what_the_forms_ask_for():
    """A bug, a fault of timing, a feature; the first two with the board's description, and the second with its pins."""
    asked = {path.stem: {part.get("id") for part in yaml.safe_load(path.read_text())["body"]} for path in FORMS}
    assert set(asked) == {"bug", "timing", "feature"}
    assert {"info", "doctor"} <= asked["bug"] & asked["timing"] and "pins" in asked["timing"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_options_of_the_command_exist(path):
    known = cli.make_parser().words()
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", path.read_text())) <= known
    assert set(re.findall(r"\blitepulse (?!-)([a-z]+)", path.read_text())) <= known


@pytest.mark.parametrize("was, now", [("type: textarea", "type: text"), ("body:", "form:"), ("      label: The problem\n", "")])
def test_form_control(tmp_path, was, now):
    text = (ROOT / ".github" / "ISSUE_TEMPLATE" / "feature.yml").read_text()
    assert was in text
    (tmp_path / "broken.yml").write_text(text.replace(was, now, 1))
    status, said = check("vendor.github-issue-forms", tmp_path / "broken.yml")
    assert status == 1 and "broken.yml" in said, said


def test_citation():
    status, said = check("vendor.citation-file-format", CITATION)
    assert status == 0, said
    content = yaml.safe_load(CITATION.read_text())
    of_code = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]
    assert content["version"] == __version__ and of_code in content["license"]
    assert all((ROOT / "LICENSES" / f"{licence}.txt").is_file() for licence in content["license"])


@pytest.mark.parametrize("was, now", [("- BSD-2-Clause", "- BSD-2"), ("authors:", "author:"), ("type: software", "type: program")])
def test_citation_control(tmp_path, was, now):
    assert was in CITATION.read_text()
    (tmp_path / "broken.cff").write_text(CITATION.read_text().replace(was, now, 1))
    status, said = check("vendor.citation-file-format", tmp_path / "broken.cff")
    assert status == 1 and "broken.cff" in said, said
