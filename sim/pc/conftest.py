# SPDX-License-Identifier: BSD-2-Clause
"""The PCs of the tests in this folder: booted and kept once for all tests and runs; see docs/develop/cable-rig.md."""

import functools

import pytest

from sim.pc import pc_rig
from sim.series import or_not_tested


@pytest.fixture(scope="session")
def pc():
    """pc("6.12"): the Guest with that kernel; a test is skipped if its series cannot be had, see sim/series.py."""
    return or_not_tested(functools.cache(pc_rig.boot))
