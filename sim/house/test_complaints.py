# SPDX-License-Identifier: BSD-2-Clause
"""The list of a kernel's complaints: each of its patterns catches lines that no other one does, and harmless lines are let through."""

import re

import pytest

from sim.guest.complaints import COMPLAINT, COMPLAINTS


@pytest.mark.parametrize("pattern, line", [(pattern, line) for pattern, *lines in COMPLAINTS for line in lines])
def test_a_pattern_is_needed(pattern, line):
    assert [other for other, *_ in COMPLAINTS if re.search(other, line)] == [pattern]
    assert COMPLAINT.search(line)


def test_no_pattern_is_without_a_line():
    assert all(lines for _, *lines in COMPLAINTS)


@pytest.mark.parametrize(
    "line",
    [
        "Kernel command line: console=ttyS0 ignore_loglevel panic=-1 oops=panic",
        "Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar",
        "kmemleak: Kernel memory leak detector initialized (mem pool available: 15674)",
        "kmemleak: Automatic memory scanning thread started",
        "litepulse: loading out-of-tree module taints kernel.",
        "litepulse: module verification failed: signature and/or required key missing - tainting kernel",
        "ftdi_sio ttyUSB0: Unable to read latency timer: -32",
        "clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x1fa32d3b8c6, max_idle_ns: 440795206439 ns",
        "litepulse litepulse.0: the board was reset",
        "reboot: Restarting system",
    ],
)
def test_what_is_harmless_is_no_complaint(line):
    assert not COMPLAINT.search(line)
