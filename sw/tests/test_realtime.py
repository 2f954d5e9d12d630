# SPDX-License-Identifier: BSD-2-Clause
"""litepulse.Realtime: each setting is read back from the kernel, alone and with the others, and is undone however the context ends."""

import ctypes
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import litepulse
from litepulse import realtime

ROOT = Path(__file__).resolve().parents[2]
ENV = {**os.environ, "PYTHONPATH": f"{ROOT / 'sw'}{os.pathsep}{ROOT}"}
FLAG = 0x40000000  # SCHED_RESET_ON_FORK of sched(7)


def locked():
    """KiB of memory that this process has locked."""
    return int(Path("/proc/self/status").read_text().split("VmLck:")[1].split()[0])


def held_files():
    """Open files of this process that are the latency device."""
    files = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return [os.readlink(name) for name in files if os.path.lexists(name)].count(realtime.DMA_LATENCY)


def state():
    return [os.sched_getscheduler(0), os.sched_getparam(0).sched_priority, sorted(os.sched_getaffinity(0)), locked(), held_files()]


def may(code):
    """Whether this machine lets this user do it, tried in another process and without the package."""
    return subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL, check=False).returncode == 0


FIFO = may("import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(30))")
LOCK = may("import ctypes, sys; sys.exit(ctypes.CDLL(None).mlockall(3) != 0)")
DMA = may("import os; os.close(os.open('/dev/cpu_dma_latency', os.O_WRONLY))")


@pytest.fixture(autouse=True)
def nothing_stays():
    before = state()
    yield
    assert state() == before


def enter_or_refuse(allowed, name, **settings):
    """The context; where this user may not have the setting, a check that it is refused by its name and leaves nothing."""
    if allowed:
        return litepulse.Realtime(**settings)
    before = state()
    with pytest.raises(litepulse.Unsupported, match=f"^{name}: .*(needs root|does not exist)"):
        with litepulse.Realtime(**settings):
            pass
    assert state() == before
    pytest.skip(f"this user may not have {name}; that it is refused was checked")


def test_priority_alone():
    before = state()
    with enter_or_refuse(FIFO, "priority", priority=30):
        assert state() == [os.SCHED_FIFO | FLAG, 30, *before[2:]]
        others = []
        thread = threading.Thread(target=lambda: others.append(os.sched_getscheduler(0)))
        thread.start()
        thread.join()
        assert others == [os.SCHED_OTHER], "a thread that is started inside does not inherit it"
    assert state() == before


def test_memory_alone():
    before = state()
    with enter_or_refuse(LOCK, "memory", lock_memory=True):
        resident = int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0])
        assert locked() >= resident // 2 > 0 and state()[:3] == before[:3]
        before_more = locked()
        with mmap.mmap(-1, 8 << 20) as more:  # mapped, for malloc() may hand out what was freed before, which is locked already
            assert locked() - before_more == len(more) >> 10, "what is allocated later is locked, too"
    assert state() == before


def test_cpus_alone():
    before = state()
    cpu = max(os.sched_getaffinity(0))
    with litepulse.Realtime(cpus=[cpu]):
        assert state() == [*before[:2], [cpu], *before[3:]]
    assert state() == before


def test_latency_alone():
    before, value = state(), wakeup_limit() if DMA else None
    with enter_or_refuse(DMA, "dma_latency", dma_latency=0):
        assert held_files() == 1 and wakeup_limit() == 0 and state()[:4] == before[:4]
    assert state() == before and wakeup_limit() == value


def wakeup_limit():
    """What is in force for the machine, in microseconds."""
    with open(realtime.DMA_LATENCY, "rb", buffering=0) as file:
        return struct.unpack("=i", file.read(4))[0]


def test_the_value_is_what_the_kernel_gets(tmp_path, monkeypatch):
    """Four bytes, a number of the machine's order: text would be taken for hexadecimal."""
    file = tmp_path / "cpu_dma_latency"
    file.touch()
    monkeypatch.setattr(realtime, "DMA_LATENCY", str(file))
    with litepulse.Realtime(dma_latency=17):
        assert file.read_bytes() == (17).to_bytes(4, sys.byteorder)


def test_no_settings_change_nothing():
    before = state()
    with litepulse.Realtime():
        assert state() == before


def test_undone_in_reverse_order_after_an_exception(monkeypatch, tmp_path):
    order = []
    monkeypatch.setattr(realtime, "DMA_LATENCY", str(tmp_path / "held"))
    (tmp_path / "held").touch()
    before, affinity, closing = state(), os.sched_setaffinity, os.close
    monkeypatch.setattr(os, "sched_setaffinity", lambda *words: order.append("cpus") or affinity(*words))
    monkeypatch.setattr(os, "close", lambda *words: order.append("latency") or closing(*words))
    with pytest.raises(ZeroDivisionError):
        with litepulse.Realtime(cpus=[max(before[2])], dma_latency=0):
            assert order == ["cpus"]
            raise ZeroDivisionError
    assert order == ["cpus", "latency", "cpus"] and state() == before


def test_what_cannot_be_had_leaves_nothing_of_the_others(monkeypatch, tmp_path):
    monkeypatch.setattr(realtime, "DMA_LATENCY", str(tmp_path / "nothing"))
    before = state()
    wanted = {"cpus": [max(before[2])], "dma_latency": 0} | ({"priority": 20} if FIFO else {}) | ({"lock_memory": True} if LOCK else {})
    with pytest.raises(litepulse.Unsupported, match=r"^dma_latency: .*nothing does not exist: .*CONFIG_CPU_IDLE"):
        with litepulse.Realtime(**wanted):
            raise AssertionError("it must not get here")
    assert state() == before


@pytest.mark.skipif(not LOCK, reason="this user may not lock memory")
def test_memory_that_is_locked_already_is_not_unlocked():
    libc = ctypes.CDLL(None)
    assert libc.mlockall(1) == 0
    try:
        with pytest.raises(litepulse.Unsupported, match="^memory: this process has locked memory already"):
            with litepulse.Realtime(lock_memory=True):
                pass
        assert locked() > 0
    finally:
        libc.munlockall()


def test_refused_by_permission():
    """As a user without rights: a process of its own that gives them up."""
    program = """
import ctypes, os, resource
import litepulse
litepulse.Realtime  # loaded while its files can be read
resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)
for settings in ({"priority": 50}, {"lock_memory": True}, {"dma_latency": 0}):
    try:
        with litepulse.Realtime(**settings):
            print("had", settings)
    except litepulse.Unsupported as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], env=ENV, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    priority, memory, latency = done.stdout.splitlines()
    assert priority.startswith("priority: SCHED_FIFO 50 is refused (Operation not permitted): it needs root, CAP_SYS_NICE or 'rtprio 50'")
    assert memory.startswith("memory: mlockall() is refused (") and "the limit is 64 KiB; it needs root, CAP_IPC_LOCK" in memory
    if os.path.exists(realtime.DMA_LATENCY):
        assert latency == (
            "dma_latency: opening /dev/cpu_dma_latency is refused (Permission denied): it needs root, or a udev rule that gives your group"
            " the file"
        )
    else:
        assert latency.startswith("dma_latency: /dev/cpu_dma_latency does not exist")


@pytest.mark.parametrize("cpus", [[5000], [0, 4000]])
def test_processors_that_are_not_there(cpus):
    before = state()
    with pytest.raises(litepulse.Unsupported, match=r"^cpus: .*may use 0"):
        with litepulse.Realtime(cpus=cpus):
            raise AssertionError("it must not get here")
    assert state() == before


@pytest.mark.parametrize(
    "settings, why",
    [
        ({"priority": 0}, "priority: 0 is outside 1 to 99"),
        ({"priority": 100}, "priority: 100 is outside 1 to 99"),
        ({"cpus": []}, "cpus: give one at least"),
        ({"dma_latency": -1}, "dma_latency: -1 us is outside 0 to 2000000000"),
    ],
)
def test_bad_values(settings, why):
    with pytest.raises(litepulse.BadInput) as raised:
        litepulse.Realtime(**settings)
    assert str(raised.value) == why


def test_not_on_other_systems(monkeypatch):
    monkeypatch.setattr(realtime.sys, "platform", "darwin")
    with pytest.raises(litepulse.Unsupported, match="^real-time settings need Linux; this is darwin$"):
        with litepulse.Realtime(priority=10):
            pass


PROGRAM = """
import json, os, signal, sys, time
sys.path.insert(0, {folder!r})
import litepulse
from test_realtime import state
before = state()
if {handler}:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
try:
    with litepulse.Realtime(**{settings!r}):
        print(json.dumps(state()), flush=True)
        time.sleep(60)
finally:
    print(json.dumps([before, state()]), flush=True)
"""


@pytest.mark.parametrize("number, handler, status", [("SIGINT", False, -signal.SIGINT), ("SIGTERM", True, 7)])
def test_undone_by_signals_that_the_program_catches(number, handler, status):
    settings = {"cpus": [max(os.sched_getaffinity(0))]} | ({"priority": 20} if FIFO else {}) | ({"lock_memory": True} if LOCK else {})
    settings |= {"dma_latency": 0} if DMA else {}
    program = PROGRAM.format(folder=str(Path(__file__).parent), handler=handler, settings=settings)
    process = subprocess.Popen([sys.executable, "-c", program], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    inside = json.loads(process.stdout.readline())
    process.send_signal(getattr(signal, number))
    out, _ = process.communicate(timeout=60)
    before, after = json.loads(out)
    assert process.returncode == status and after == before
    assert inside[0] == (os.SCHED_FIFO | FLAG if FIFO else os.SCHED_OTHER) and inside[2] == settings["cpus"]
    assert (inside[3] > 0) == LOCK and inside[4] == DMA


@pytest.mark.skipif(not DMA, reason="this user may not open the latency device")
@pytest.mark.parametrize("number", ["SIGTERM", "SIGKILL"])
def test_the_kernel_undoes_it_when_the_program_is_killed(number):
    """What outlives a program is only the limit for the machine, and that is bound to an open file."""
    value = wakeup_limit()
    program = PROGRAM.format(folder=str(Path(__file__).parent), handler=False, settings={"dma_latency": 0})
    process = subprocess.Popen([sys.executable, "-c", program], env=ENV, stdout=subprocess.PIPE, text=True)
    assert json.loads(process.stdout.readline())[4] == 1 and wakeup_limit() == 0
    process.send_signal(getattr(signal, number))
    process.communicate(timeout=60)
    assert process.returncode == -getattr(signal, number) and wakeup_limit() == value


@pytest.mark.parametrize("text, cpus", [("", set()), ("3", {3}), ("0-2,5", {0, 1, 2, 5}), ("1,4-4", {1, 4})])
def test_lists_of_processors(text, cpus):
    assert realtime.cpu_list(text) == cpus


@pytest.mark.parametrize("isolated, chosen", [("", max), ("2-3", lambda _: 3), ("0", lambda _: 0), ("not a list", max)])
def test_the_quietest_processor(isolated, chosen, tmp_path, monkeypatch):
    file = tmp_path / "isolated"
    file.write_text(isolated + "\n")
    monkeypatch.setattr(realtime, "ISOLATED", str(file))
    assert realtime.quietest_cpu() == chosen(os.sched_getaffinity(0))
