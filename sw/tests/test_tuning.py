# SPDX-License-Identifier: BSD-2-Clause
"""Settings of the machine: on a folder that stands for /sys and /proc, each is set, and put back however the program ends."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import litepulse
from litepulse import idle, journal, ports, tuning
from litepulse.journal import Journal

from .fake_machine import Machine
from .test_realtime import ENV, FIFO

ROOT = Path(__file__).resolve().parents[2]
CPUS = "sysfs/devices/system/cpu"
NICE = "sysfs/devices/virtual/workqueue/{}/nice"
READ_ONLY = "/proc/sys/kernel/osrelease"  # also for root
SETTINGS = {"worker_nice": -20, "power": True, "latency_timer": 1, "cstates": [2], "governor": "performance"}
# Of each setting: what all its files read before, and within.
VALUES = {
    "worker_nice": ("0", "-20"),
    "power": ("auto", "on"),
    "latency_timer": ("16", "1"),
    "cstates": ("0", "1"),
    "governor": ("powersave", "performance"),
}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """With a USB adapter whose other end is a terminal, at `machine.path`; this process takes it for its own."""
    machine = Machine(tmp_path / "machine").make()
    master, slave = pty.openpty()
    machine.path = machine.plug(os.ttyname(slave))
    machine.processors()
    machine.powered()
    for name in ("ttyUSB-usbserial", "ttyPULSE-litepulse", "ttyUSBX-other"):
        machine.write(NICE.format(name), "0")
    monkeypatch.setattr(ports, "Host", lambda: machine.host)
    yield machine
    os.close(slave)
    os.close(master)
    assert not (machine.folder / "state" / "settings.json").exists(), "nothing is left in the journal"


def files(machine, name):
    """{path: content} of all that a setting is about."""
    found = {
        "worker_nice": [machine.folder / NICE.format(queue) for queue in ("ttyPULSE-litepulse", "ttyUSB-usbserial")],
        "power": [path for path in machine.sysfs.rglob("power/control") if "pci0" in path.parts],
        "latency_timer": [machine.latency_file()],
        "cstates": list((machine.folder / CPUS).glob("cpu*/cpuidle/state2/disable")),
        "governor": list((machine.folder / CPUS).glob("cpufreq/policy*/scaling_governor")),
    }[name]
    return {str(path): path.read_text().strip() for path in found}


def everything(machine):
    """All files of the machine."""
    return {path: path.read_text() for path in machine.sysfs.rglob("*") if path.is_file()}


def governor_file(machine, policy=0):
    return machine.folder / CPUS / f"cpufreq/policy{policy}/scaling_governor"


def refuse(path):
    """The file can be read, and refuses a write."""
    path.unlink()
    path.symlink_to(READ_ONLY)


# Each setting -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETTINGS)
def test_one_setting(machine, name):
    """Its files and no other, with what each was and is."""
    before, (was, becomes) = everything(machine), VALUES[name]
    mine = files(machine, name)
    assert len(mine) == {"worker_nice": 2, "power": 2, "latency_timer": 1, "cstates": 4, "governor": 2}[name]
    with litepulse.Realtime(**{name: SETTINGS[name]}, port=machine.path) as held:
        assert set(files(machine, name).values()) == {becomes} and held.refused == held.notes == []
        changed = {path for path, text in everything(machine).items() if text != before[path]}
        assert {str(path) for path in changed} == set(mine)
        assert {each.where: (each.name, each.before, each.after) for each in held.changes} == dict.fromkeys(mine, (name, was, becomes))
    assert everything(machine) == before and held.notes == []


def test_all_settings_after_an_exception(machine):
    before = everything(machine)
    with pytest.raises(ZeroDivisionError):
        with litepulse.Realtime(**SETTINGS, port=machine.path) as held:
            assert len(held.changes) == 11 and all(each.before != each.after for each in held.changes)
            raise ZeroDivisionError
    assert everything(machine) == before and held.notes == []


def test_what_is_so_already_is_not_touched(machine):
    governor_file(machine, 2).write_text("performance\n")
    with litepulse.Realtime(governor="performance") as held:
        assert [(each.before, each.after) for each in held.changes] == [("powersave", "performance"), ("performance", "performance")]
    assert governor_file(machine).read_text() == "powersave\n" and governor_file(machine, 2).read_text() == "performance\n"


def test_idle_states_are_switched_off_the_deepest_first(machine):
    with litepulse.Realtime(cstates=[1, 2]) as held:
        order = [re.search(r"cpu(\d)/cpuidle/state(\d)", each.where).groups() for each in held.changes]
    assert order == [(str(cpu), state) for state in "21" for cpu in range(4)]


def test_a_setting_of_the_program_that_cannot_be_had_undoes_those_of_the_machine(machine):
    before = everything(machine)
    with pytest.raises(litepulse.Unsupported, match="^cpus: "):
        with litepulse.Realtime(cpus=[5000], **SETTINGS, port=machine.path):
            raise AssertionError("it must not get here")
    assert everything(machine) == before


@pytest.mark.parametrize(
    "settings, why",
    [
        ({"worker_nice": -21}, "worker_nice: -21 is outside -20 to 19"),
        ({"worker_priority": 0}, "worker_priority: 0 is outside 1 to 99"),
        ({"latency_timer": 0}, "latency_timer: 0 is outside 1 to 255"),
        ({"cstates": [10]}, "cstates: the kernel has states 0 to 9"),
        ({"cstates": 2}, "cstates: 2 is not a set of numbers"),
        ({"governor": "a b"}, "governor: 'a b' is no governor's name"),
        ({"power": 1}, "power: 1 is neither True nor False"),
        ({"power": True}, "power: name the serial port that it is about (port)"),
        ({"latency_timer": 1}, "latency_timer: name the serial port that it is about (port)"),
    ],
)
def test_bad_values(settings, why):
    with pytest.raises(litepulse.BadInput) as raised:
        litepulse.Realtime(**settings)
    assert str(raised.value) == why


# What cannot be had -----------------------------------------------------------------------------------------------------


def test_a_file_that_refuses_a_write(machine):
    """One line names it; the other files and settings hold, and are put back."""
    refuse(governor_file(machine, 2))
    before = everything(machine)
    with litepulse.Realtime(governor="performance", cstates=[2]) as held:
        assert held.refused == [f"governor: {governor_file(machine, 2)} is refused (Permission denied): it needs root"]
        assert set(files(machine, "cstates").values()) == {"1"}
        assert [each.name for each in held.changes if each.before != each.after] == ["cstates"] * 4 + ["governor"]
    assert everything(machine) == before and held.notes == []


def test_all_files_of_a_setting_refuse(machine):
    for policy in (0, 2):
        refuse(governor_file(machine, policy))
    with litepulse.Realtime(governor="performance") as held:
        first = governor_file(machine)
        assert held.refused == [f"governor: {first} is refused (Permission denied), and 1 more: it needs root"] and held.changes == []


def test_what_a_machine_does_not_have(tmp_path, monkeypatch):
    """A terminal without an adapter, a kernel that shows nothing."""
    machine = Machine(tmp_path / "machine").make()
    monkeypatch.setattr(ports, "Host", lambda: machine.host)
    master, slave = pty.openpty()
    path = os.ttyname(slave)
    with litepulse.Realtime(**SETTINGS, worker_priority=50, port=path) as held:
        assert held.changes == [] and held.refused == [
            "worker_nice: this kernel shows no workers for this port",
            "worker_priority: no thread kworker/u* is seen here",
            f"power: the kernel does not manage the power of {path}",
            f"latency_timer: {path} has no adapter with a latency timer that can be set",
            "cstates: there is no idle state 2; there is: none",
            "governor: this kernel shows no governor (cpufreq)",
        ]
    os.close(slave)
    os.close(master)
    with litepulse.Realtime(power=True, port="/dev/nothing") as held:
        assert held.refused == ["power: /dev/nothing: there is no such port (No such file or directory)"]
    assert not (machine.folder / "state").exists()


def test_a_governor_or_a_state_that_is_not_there(machine):
    with litepulse.Realtime(governor="schedutil", cstates=[1, 7]) as held:
        assert held.refused == [
            "cstates: there is no idle state 7; there is: 0 POLL, 1 C1, 2 C6",
            "governor: policy0 has no governor schedutil; it has performance, powersave",
        ]


def test_a_folder_that_others_may_write_to_is_not_trusted(machine):
    """What it says is written with the rights of this user."""
    before = everything(machine)
    (machine.folder / "state").mkdir()
    (machine.folder / "state").chmod(0o777)
    with litepulse.Realtime(governor="performance") as held:
        (line,) = held.refused
        assert line.startswith(f"governor: {machine.folder}/state: only this user may write there") and everything(machine) == before
    (machine.folder / "state").rmdir()
    (machine.folder / "state").symlink_to(machine.folder)
    with litepulse.Realtime(governor="performance") as held:
        assert len(held.refused) == 1 and everything(machine) == before


def test_a_guardian_that_does_not_start(machine, monkeypatch):
    """Then nothing is changed that might not be put back."""
    before = everything(machine)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with litepulse.Realtime(governor="performance") as held:
        (line,) = held.refused
        assert line.startswith("governor: the process that puts settings back") and everything(machine) == before


# What another program does meanwhile ------------------------------------------------------------------------------------


def test_a_value_that_another_program_has_changed_stays(machine):
    with litepulse.Realtime(governor="performance", cstates=[2]) as held:
        governor_file(machine).write_text("userspace\n")
    assert held.notes == [
        f"governor: {governor_file(machine)} is now userspace: another program has changed it from performance, so it is not put back to "
        "powersave"
    ]
    assert governor_file(machine).read_text() == "userspace\n" and governor_file(machine, 2).read_text() == "powersave\n"
    assert set(files(machine, "cstates").values()) == {"0"}


def test_another_program_has_put_it_back_already(machine):
    with litepulse.Realtime(governor="performance") as held:
        governor_file(machine).write_text("powersave\n")
    assert held.notes == [] and set(files(machine, "governor").values()) == {"powersave"}


def test_an_adapter_that_is_unplugged_meanwhile(machine):
    with litepulse.Realtime(latency_timer=1, port=machine.path) as held:
        machine.latency_file().unlink()
    assert held.notes == []


def test_a_value_that_cannot_be_put_back_is_tried_again(machine):
    """By the next start; until then the journal has it."""
    file = governor_file(machine)
    with litepulse.Realtime(governor="performance") as held:
        file.rename(file.with_name("aside"))
        file.mkdir()
    assert held.notes == [f"governor: {file} cannot be put back to powersave: Is a directory"]
    file.rmdir()
    file.with_name("aside").rename(file)
    assert file.read_text() == "performance\n"
    with litepulse.Realtime():
        assert file.read_text() == "powersave\n"


@pytest.mark.parametrize("first_ends_first", [True, False])
@pytest.mark.parametrize("second", ["performance", "userspace"])
def test_two_at_once(machine, first_ends_first, second):
    """What the one holds stays while it does, whichever ends first; what was is there again when both have ended."""
    for policy in (0, 2):
        governor_file(machine, policy).with_name("scaling_available_governors").unlink()
    wishes = ["performance", second]
    contexts = [litepulse.Realtime(governor=wish) for wish in wishes]
    for context, wish in zip(contexts, wishes):
        context.__enter__()
        assert set(files(machine, "governor").values()) == {wish}
    order = [0, 1] if first_ends_first else [1, 0]
    contexts[order[0]].__exit__(None, None, None)
    assert set(files(machine, "governor").values()) == {wishes[order[1]]}
    contexts[order[1]].__exit__(None, None, None)
    assert set(files(machine, "governor").values()) == {"powersave"} and not contexts[0].notes + contexts[1].notes


def test_what_another_program_set_between_two_is_put_back(machine):
    with litepulse.Realtime(cstates=[2], governor="performance") as first:
        governor_file(machine).write_text("userspace\n")
        with litepulse.Realtime(governor="performance") as second:
            assert [each.before for each in second.changes] == ["userspace", "performance"]
    assert first.notes == second.notes == [] and governor_file(machine).read_text() == "userspace\n"


# However it ends --------------------------------------------------------------------------------------------------------

PROGRAM = """
import os, signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # where the tests run under nohup
sys.path.insert(0, {root!r})
from sw.tests.fake_machine import Machine, pretend
pretend(Machine({folder!r}))
import litepulse
with litepulse.Realtime(governor="performance", cstates=[2], latency_timer=1, port={path!r}) as held:
    guardian = next(iter(os.listdir("/proc/self/task")))
    with open(f"/proc/self/task/{{guardian}}/children") as file:
        print(file.read(), flush=True)
    time.sleep(60)
"""


@contextlib.contextmanager
def running(machine):
    """(a program that holds settings, the number of its guardian)."""
    code = PROGRAM.format(root=str(ROOT), folder=str(machine.folder), path=machine.path)
    process = subprocess.Popen([sys.executable, "-c", code], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate(timeout=60)


def until(condition):
    deadline = time.monotonic() + 30
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


@pytest.mark.parametrize("number", ["SIGTERM", "SIGKILL", "SIGINT", "SIGHUP"])
def test_a_killed_program(machine, number):
    """The guardian puts everything back, also where a terminal or a service ends both."""
    before = everything(machine)
    with running(machine) as (process, guardian):
        assert set(files(machine, "governor").values()) == {"performance"} and set(files(machine, "cstates").values()) == {"1"}
        governor_file(machine, 2).write_text("userspace\n")
        if number != "SIGKILL":
            os.kill(guardian, getattr(signal, number))
        process.send_signal(getattr(signal, number))
        _, errors = process.communicate(timeout=60)
    until(lambda: not Journal(machine.host.state).exists)
    before[governor_file(machine, 2)] = "userspace\n"
    assert everything(machine) == before
    if number != "SIGINT":  # which Python makes an exception; then the program has put it back
        assert errors == (
            f"litepulse: governor: {governor_file(machine, 2)} is now userspace: another program has changed it from performance, so it is "
            "not put back to powersave\n"
        )


def test_the_guardian_is_killed_too(machine):
    """The next start puts back, and says so; before, it takes nothing for what was."""
    before = everything(machine)
    with running(machine) as (process, guardian):
        os.kill(guardian, signal.SIGKILL)
        process.kill()  # and its parent has not asked yet how it ended
        until(lambda: journal.started_at(Path(f"/proc/{process.pid}")) is None)
        assert set(files(machine, "governor").values()) == {"performance"}
        with litepulse.Realtime(governor="performance") as held:
            assert held.notes == [f"settings of process {process.pid}, which was killed, are put back now"]
            assert [each.before for each in held.changes] == ["powersave"] * 2 and set(files(machine, "cstates").values()) == {"0"}
    assert everything(machine) == before


def test_the_guardian_alone_is_killed(machine):
    before = everything(machine)
    with litepulse.Realtime(governor="performance") as held:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        (guardian,) = [each for each in children if b"litepulse.guardian" in Path(f"/proc/{each}/cmdline").read_bytes()]
        os.kill(int(guardian), signal.SIGKILL)
    assert everything(machine) == before and held.notes == []


def test_a_program_that_still_runs_keeps_its_settings(machine):
    with running(machine) as (process, _):
        with litepulse.Realtime(worker_nice=-20, port=machine.path) as held:
            assert held.notes == []
        assert set(files(machine, "governor").values()) == {"performance"} and set(files(machine, "worker_nice").values()) == {"0"}
        process.terminate()
        process.wait()
        until(lambda: not Journal(machine.host.state).exists)
    assert set(files(machine, "governor").values()) == {"powersave"}


def test_a_forked_process_puts_nothing_back(machine):
    with litepulse.Realtime(governor="performance") as held:
        child = os.fork()
        if not child:
            try:
                held.__exit__(None, None, None)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert set(files(machine, "governor").values()) == {"performance"}
    assert set(files(machine, "governor").values()) == {"powersave"}


def entries(machine, *rows, boot=None):
    """A journal as a killed program left it: (file, was, became)."""
    machine.host.state.mkdir(mode=0o700)
    holds = [{"id": "x", "process": 2**22 + 1, "started": "5", "wanted": "performance"}]
    book = {f"file {file}": {"name": "governor", "was": was, "became": became, "holds": holds} for file, was, became in rows}
    boot = journal.BOOT.read_text().strip() if boot is None else boot
    (machine.host.state / "settings.json").write_text(json.dumps({"boot": boot, "settings": book}))


def test_killed_between_journal_and_write(machine):
    """The journal has it first; nothing was changed yet."""
    entries(machine, (governor_file(machine), "powersave", "performance"))
    with litepulse.Realtime() as held:
        assert held.notes == [f"settings of process {2**22 + 1}, which was killed, are put back now"]
    assert governor_file(machine).read_text() == "powersave\n"


def test_what_was_before_the_machine_was_started_again_means_nothing(machine):
    governor_file(machine).write_text("performance\n")
    entries(machine, (governor_file(machine), "powersave", "performance"), boot="another")
    with litepulse.Realtime() as held:
        assert held.notes == []
    assert governor_file(machine).read_text() == "performance\n"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"boot": 1}'])
def test_a_journal_that_is_none(machine, text):
    machine.host.state.mkdir(mode=0o700)
    (machine.host.state / "settings.json").write_text(text)
    with litepulse.Realtime(governor="performance") as held:
        assert held.refused == [] and set(files(machine, "governor").values()) == {"performance"}
    assert set(files(machine, "governor").values()) == {"powersave"}


# The kernel's threads ---------------------------------------------------------------------------------------------------


@pytest.fixture
def threads(machine):
    """Processes that this machine shows as threads: a worker, a worker of one processor, a program that only has the name of one."""
    found = [subprocess.Popen(["sleep", "100"]) for _ in range(3)]
    for process, (name, parent) in zip(found, (("kworker/u9:1", 2), ("kworker/0:1", 2), ("kworker/u9:2", 1))):
        fields = journal.stat_fields(Path(f"/proc/{process.pid}"))
        fields[1] = str(parent)
        machine.write(f"proc/{process.pid}/stat", f"{process.pid} ({name}) {' '.join(fields)}")
        machine.write(f"proc/{process.pid}/comm", name)
    yield found
    for process in found:
        process.kill()
        process.wait()


@pytest.fixture
def scheduler(monkeypatch):
    """Where this user may not raise other processes, a kernel that would."""
    if FIFO:
        return
    policies, niceness = {}, {}
    monkeypatch.setattr(os, "sched_getscheduler", lambda number: policies.get(number, (0, 0))[0])
    monkeypatch.setattr(os, "sched_getparam", lambda number: os.sched_param(policies.get(number, (0, 0))[1]))
    monkeypatch.setattr(os, "sched_setscheduler", lambda number, policy, param: policies.update({number: (policy, param.sched_priority)}))
    monkeypatch.setattr(os, "getpriority", lambda _, number: niceness.get(number, 0))
    monkeypatch.setattr(os, "setpriority", lambda _, number, value: niceness.update({number: value}))


def scheduling(threads):
    return [(os.sched_getscheduler(each.pid), os.getpriority(os.PRIO_PROCESS, each.pid)) for each in threads]


@pytest.mark.usefixtures("scheduler")
def test_workers_of_the_kernel(machine, threads):
    """Those that work for any processor, and nothing that only has such a name; before Linux 7.2 also for nice."""
    for folder in (machine.sysfs / "devices/virtual/workqueue").iterdir():
        (folder / "nice").unlink()
        folder.rmdir()
    before = scheduling(threads)
    with litepulse.Realtime(worker_priority=30, worker_nice=-7, port=machine.path) as held:
        assert scheduling(threads) == [(os.SCHED_FIFO, -7), *before[1:]] and os.sched_getparam(threads[0].pid).sched_priority == 30
        assert [(each.name, each.where, each.before, each.after) for each in held.changes] == [
            ("worker_nice", f"nice of thread {threads[0].pid}", "0", "-7"),
            ("worker_priority", f"policy of thread {threads[0].pid}", "0:0", "1:30"),
        ]
    assert scheduling(threads) == before and held.notes == []


@pytest.mark.usefixtures("scheduler")
def test_a_worker_that_ends_meanwhile(machine, threads):
    """Its number may be another thread's by then, which is left alone."""
    with litepulse.Realtime(worker_priority=30) as held:
        stat = machine.proc / str(threads[0].pid) / "stat"
        fields = stat.read_text().split()
        fields[21] = str(int(fields[21]) + 1)
        stat.write_text(" ".join(fields))
    assert scheduling(threads)[0][0] == os.SCHED_FIFO and held.notes == []


# Idle states in words ---------------------------------------------------------------------------------------------------


def limit(machine, value, booted=True):
    machine.write("sysfs/module/intel_idle/parameters/max_cstate", value)
    machine.write("proc/cmdline", f"root=/dev/sda1 intel_idle.max_cstate={value} quiet" if booted else "quiet")


STATES = "intel_idle: POLL 0 µs, C1 2 µs, C6 133 µs; a wake-up takes up to 133 µs"


@pytest.mark.parametrize(
    "value, booted, more",
    [
        (9, False, ""),
        (1, True, "; intel_idle.max_cstate=1 (on the kernel's command line): no state above number 1 is there"),
        (0, True, "; intel_idle.max_cstate=0 (on the kernel's command line): intel_idle is off, the idle states are those of the firmware"),
        (3, False, "; intel_idle.max_cstate=3 (the kernel's own): no state above number 3 is there"),
    ],
)
def test_idle_states_in_words(machine, value, booted, more):
    limit(machine, value, booted)
    assert idle.describe(machine.host) == STATES + more and idle.max_cstate(machine.host) == value


def test_idle_states_that_are_off(machine):
    for cpu in range(4):
        machine.write(f"{CPUS}/cpu{cpu}/cpuidle/state2/disable", 1)
    machine.write(f"{CPUS}/cpu0/cpuidle/state1/disable", 1)
    assert idle.describe(machine.host) == (
        "intel_idle: POLL 0 µs, C1 2 µs (off for 1 of 4 processors), C6 133 µs (off); a wake-up takes up to 2 µs"
    )


def test_a_machine_without_idle_states(tmp_path):
    machine = Machine(tmp_path / "machine").make()
    assert idle.describe(machine.host) == "this kernel shows no idle states" and idle.max_cstate(machine.host) is None


# The table --------------------------------------------------------------------------------------------------------------


def test_the_table_has_every_setting():
    named = set(litepulse.Realtime.__init__.__kwdefaults__) - {"port"}
    assert sorted(row.name for row in tuning.TABLE) == sorted(named)
    assert {row.name for row in tuning.TABLE if row.port} == {"worker_nice", "power", "latency_timer"}


def test_the_page_has_the_table():
    page = (ROOT / "docs" / "latency.md").read_text()
    for row in tuning.TABLE:
        (line,) = re.findall(rf"(?m)^\| `{row.word}[`\[].*$", page)
        assert f"`{row.name}`" in line and row.undone in line and row.becomes.removesuffix(" 50") in line, line
