# SPDX-License-Identifier: BSD-2-Clause
"""The guests of the tests in this folder. Each is built, booted and kept once for all tests and runs; see docs/linux.md."""

import functools

import pytest

from sim.linux import rig


@pytest.fixture(scope="session")
def booted():
    """booted(cpu, flavour=rig.FLAVOUR, bootargs="", nodes=""): the Guest right after the boot, without the driver."""
    return functools.cache(rig.boot)


@pytest.fixture(scope="session")
def linux():
    """linux(cpu, flavour=rig.FLAVOUR, bootargs="", parameters=""): the Guest with the driver loaded."""
    return functools.cache(rig.boot_with_driver)
