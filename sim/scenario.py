# SPDX-License-Identifier: BSD-2-Clause
"""The scenario of sw/tests, which every backend has to pass, for the rigs whose guests run it."""

import importlib.util

from sim.cocotb_rig import ROOT

SCENARIO = ROOT / "sw" / "tests" / "scenario.py"


def scenario():
    """The module."""
    spec = importlib.util.spec_from_file_location("scenario", SCENARIO)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unpacked(lines):
    """What scenario.pack() made lines of."""
    return scenario().unpack(lines)


def judge(lines, backend):
    """The result by the lines of a guest's console, {name: output of the command}; AssertionError
    unless all is as it must be."""
    module = scenario()
    results = module.unpack(lines)
    module.check(results, backend)
    return results
