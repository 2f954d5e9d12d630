# SPDX-License-Identifier: BSD-2-Clause
"""The guests of the tests in this folder. Each is built, booted and kept once for all tests and runs; see docs/develop/linux.md."""

import functools

import pytest

from sim.linux import linux_rig
from sim.linux.runs import Count


@pytest.fixture(scope="session")
def booted():
    """booted(cpu, flavour=linux_rig.FLAVOUR, bootargs="", nodes=""): the Guest right after the boot, without the driver."""
    return functools.cache(linux_rig.boot)


@pytest.fixture(scope="session")
def linux():
    """linux(cpu, flavour=linux_rig.FLAVOUR, bootargs="", parameters="", samples=1, cores=1): the Guest with the driver loaded."""
    return functools.cache(linux_rig.boot_with_driver)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """The summary counts tests that simulated no run and judged kept ones only."""
    kept, simulated = Count.kept, Count.simulated
    result = yield
    item.user_properties.append(("cached", Count.kept > kept and Count.simulated == simulated))
    return result
