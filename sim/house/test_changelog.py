# SPDX-License-Identifier: BSD-2-Clause
"""CHANGELOG.md has the versions of today, in the order of Keep a Changelog."""

import re

import pytest

from litepulse import __version__
from litex_soc import regmap, uapi
from sim.cocotb_rig import ROOT

TEXT = (ROOT / "CHANGELOG.md").read_text()
SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
MAP = f"{regmap.VERSION_MAJOR}.{regmap.VERSION_MINOR}"
ABI = str(uapi.constants(uapi.HEADER.read_text())["ABI"])


def told(text):
    """{what: version} of the first table, and the newest version of each table of versions."""
    first, *tables = re.findall(r"(?m)^\|[^\n]*\|\n\|[-|]+\|\n((?:\|.*\n)+)", text)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in first.splitlines()]
    return {row[0].split(",")[0]: row[1] for row in rows}, [table.split("|")[1].strip() for table in tables]


def faults(text):
    """What is not of today."""
    versions, newest = told(text)
    return [
        what
        for what, now in {"package": __version__, "register map": MAP, "driver ABI": ABI}.items()
        if versions.get(what) != now or (what != "package" and now not in newest)
    ]


def test_versions():
    assert not faults(TEXT)


@pytest.mark.parametrize(
    "was, now, fault",
    [
        (f"| package, modules, Debian packages | {__version__} |", "| package, modules, Debian packages | 9.9.9 |", "package"),
        (f"| register map | {MAP} |", "| register map | 9.9 |", "register map"),
        (f"\n| {MAP} |", "\n| 9.9 |", "register map"),
        (f"| driver ABI | {ABI} |", "| driver ABI | 99 |", "driver ABI"),
        (f"\n| {ABI} |", "\n| 99 |", "driver ABI"),
    ],
)
def test_another_version_is_noticed(was, now, fault):
    assert TEXT.count(was) == 1 and faults(TEXT.replace(was, now)) == [fault]


def test_sections():
    release, *others = re.findall(r"(?m)^## \[([^\]]+)\]", TEXT)
    found = re.findall(r"(?m)^### (.+)$", TEXT)
    assert release == "Unreleased" and not others and found == [name for name in SECTIONS if name in found]
