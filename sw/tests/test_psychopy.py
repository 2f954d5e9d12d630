# SPDX-License-Identifier: BSD-2-Clause
"""litepulse.psychopy on the simulated board; with PsychoPy itself: the recipe, the plugin."""

import importlib
import re
import subprocess
import sys
import time
import types

import pytest

import litepulse
from litex_soc.build_cache import CACHE

from .adapters import ROOT, environment, pinned

PAGE = (ROOT / "docs" / "recipes" / "psychopy.md").read_text(encoding="utf-8")


@pytest.fixture
def adapter(monkeypatch):
    """The module, with as much of PsychoPy as it imports."""
    base = type("BaseTriggerBox", (), {"__enter__": lambda self: self, "__exit__": lambda self, *_: self.close()})
    for name, attributes in {
        "psychopy": {},
        "psychopy.clock": {"getTime": time.perf_counter},
        "psychopy.hardware": {},
        "psychopy.hardware.triggerbox": {},
        "psychopy.hardware.triggerbox.base": {"BaseTriggerBox": base},
    }.items():
        module = types.ModuleType(name)
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "litepulse.psychopy", raising=False)
    yield importlib.import_module("litepulse.psychopy")
    sys.modules.pop("litepulse.psychopy", None)


def test_triggers(adapter):
    """In the order of the calls, each at its tick; the times are as far apart as the ticks."""
    with adapter.LitePulseTrigger("sim", baud="115.2k") as box:
        assert box.isOpen and box.clock == "monotonic" and box.getCapabilities()["baudrate"] == "115.2k"
        first = box.setData(1)
        planned = box.board.now() + litepulse.ms(50)
        second = box.setData(2, at=planned)
        one, two = first.result(60), second.result(60)
        assert two.tick == planned.tick and box.getData() == 2
        assert two.time - one.time == pytest.approx((two.tick - one.tick) / 48e6, abs=one.uncertainty + two.uncertainty)
        assert [box.getPin("rx"), box.getPin(0)] == [1, 0]
        third = box.setData(3)
    assert third.done() and third.result().tick > two.tick, "close() waits"
    box.close()
    assert not box.isOpen
    box.open()
    assert box.isOpen
    box.close()


def test_what_goes_wrong(adapter):
    """result() raises it, and the next trigger leaves."""
    with adapter.LitePulseTrigger("sim") as box:
        with pytest.raises(litepulse.BadInput, match="has passed"):
            box.setData(1, at=1).result(60)
        with pytest.raises(litepulse.BadInput, match="byte: 256"):
            box.setData(256).result(60)
        with pytest.raises(litepulse.Unsupported, match="use setData"):
            box.setPin(1, 1)
        assert box.setData(1).result(60).tick > 0
        other = adapter.LitePulseTrigger.__new__(adapter.LitePulseTrigger)
        other.boardName = "sim"
        assert box.isSameDevice(other) and box.isSameDevice({"board": "sim"})
        assert not box.isSameDevice({"board": "litepulse"}) and not box.isSameDevice(7)
    for call in (lambda: box.setData(1), lambda: box.getPin(0)):
        with pytest.raises(litepulse.LitePulseError, match="is closed"):
            call()


@pytest.mark.parametrize("name", ["monotonic", "realtime"])
def test_which_clock_it_is(adapter, name, monkeypatch):
    number = getattr(time, f"CLOCK_{name.upper()}")
    monkeypatch.setattr(adapter, "_get_time", lambda: time.clock_gettime(number))
    with adapter.LitePulseTrigger("sim") as box:
        assert box.clock == name
    monkeypatch.setattr(adapter, "_get_time", lambda: time.clock_gettime(number) - 3600)
    with pytest.raises(litepulse.LitePulseError, match="none of monotonic, realtime"):
        adapter.LitePulseTrigger("sim")


# With PsychoPy itself ---------------------------------------------------------------------------------------------------


def run(program, home):
    """The lines that it prints. PsychoPy keeps its settings in the home directory."""
    env = environment("psychopy") | {"HOME": str(home), "XDG_CACHE_HOME": str(CACHE.parent)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.full
@pytest.mark.seconds(20)
def test_the_recipe(tmp_path):
    programs = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE)
    assert len(programs) == 2
    for program in programs:
        assert run(program, tmp_path) == re.findall(r"(?m)^ *print\(.*\)  # (.*)$", program)
    assert f"PsychoPy {pinned('psychopy', 'psychopy')}" in PAGE


@pytest.mark.full
def test_the_plugin(tmp_path):
    """PsychoPy lists it among its trigger boxes, and the interface is whole."""
    printed = run(
        """
from psychopy import plugins
plugins.scanPlugins()
print(plugins.loadPlugin("litepulse"))
from psychopy.hardware import triggerbox
box = triggerbox.getAllTriggerBoxes()["LitePulseTrigger"]
base = triggerbox.BaseTriggerBox
theirs = ("deviceName", "deviceVendor", "getDeviceProfile", "getJSON")
public = [name for name in dir(base) if not name.startswith("_") and name not in theirs]
print([name for name in public if getattr(box, name) is getattr(base, name)])
one = box("sim")
print(one.deviceName, one.isOpen, one == one, len({one}), one.getDeviceProfile())
one.close()
""",
        tmp_path,
    )
    assert printed == ["True", "[]", "LitePulse True True 1 None"]
