# SPDX-License-Identifier: BSD-2-Clause
"""A kind of event is named wherever kinds are listed: register map, ABI header, sink, reader, trace and the core's page."""

import re

import pytest

from litex_soc.regmap import EVENT_KINDS
from sim.cocotb_rig import ROOT
from sim.guest.driver_tree import DRIVER

pytestmark = pytest.mark.quick

BECOME = {"NONE", "OVERFLOW", "SNAPSHOT"}  # no event: no record, LOST, and the answer to a command of the driver's own
NOTES = {"LOST", "RESTARTED"}  # every reader gets them
RUN = {"RUN"}  # how a ring packs RX, not a kind to ask for


def kinds():
    """{name: number} of the ABI header."""
    text = (DRIVER / "uapi" / "linux" / "litepulse.h").read_text()
    return {name: int(number) for name, number in re.findall(r"#define LITEPULSE_KIND_(\w+)\s+(\d+)", text)}


def named(path, begin, end):
    """The kinds that a part of a file of the driver names."""
    text = (DRIVER / path).read_text()
    assert text.count(begin) == 1
    return set(re.findall(r"LITEPULSE_KIND_(\w+)", text.partition(begin)[2].partition(end)[0]))


def test_the_header_has_the_kinds_of_the_register_map():
    of_the_board = {name: number for number, (name, _) in EVENT_KINDS.items() if name not in BECOME}
    assert {name: number for name, number in kinds().items() if number < 16} == of_the_board
    assert max(EVENT_KINDS) < 16


@pytest.mark.parametrize(
    "path,begin,end,without",
    [
        ("litepulse_trace.h", "TRACE_EVENT(litepulse_event,", "TRACE_EVENT", RUN),
        ("litepulse_reader.c", "#define KINDS", "#define SOURCES", RUN | NOTES),
        # Answers to commands come whether or not a program listens, received bytes by their own
        # stream.
        ("litepulse_sink.c", "} of[] = {", "};", RUN | NOTES | {"APPLIED", "RX"}),
    ],
)
def test_the_driver_lists_every_kind(path, begin, end, without):
    assert named(path, begin, end) == set(kinds()) - without


def test_the_page_of_the_core_has_every_kind():
    rows = re.findall(r"^\| (\d+) ([A-Z_]+) \|", (ROOT / "docs" / "core.md").read_text(), re.M)
    assert {(int(number), name) for number, name in rows} == {(number, name) for number, (name, _) in EVENT_KINDS.items() if number}
