# SPDX-License-Identifier: BSD-2-Clause
"""The PCs of the tests in this folder: booted and kept once for all tests and runs; see docs/cable-rig.md."""

import functools

import pytest

from sim.pc import rig


@pytest.fixture(scope="session")
def pc():
    """pc("6.12"): the Guest with that kernel."""
    return functools.cache(rig.boot)
