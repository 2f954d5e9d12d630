# SPDX-License-Identifier: BSD-2-Clause
"""Kept runs: a run is the same each time, any other input makes it another one, and it is judged
again."""

import pytest

from litex_soc import build_cache
from sim.linux import linux_rig
from sim.linux.runs import Count, simulate

each_cpu = pytest.mark.parametrize("cpu", linux_rig.TESTED_CPUS)
CONSOLE = f"[         100] mine\n[         200] {linux_rig.EXIT}0\n[         300] {linux_rig.READY}\n"
STATS = {"start_tick": 0, "end_tick": 300, "start_cycle": 0, "end_cycle": 300, "seconds": 1.5}


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """An empty memory of our own, in use."""
    monkeypatch.setattr(build_cache, "CACHE", tmp_path)
    monkeypatch.delenv("LITEPULSE_FRESH", raising=False)
    return tmp_path / "runs"


@pytest.fixture
def simulator(tmp_path, memory):
    """A program in the simulator's place that writes what a test puts into its fields; `calls`: how often it ran."""

    class Simulator:
        """Its program, and what it is to do."""

        program, log = tmp_path / "simulator", tmp_path / "calls"

        def does(self, console=CONSOLE, status=0, error=""):
            """From now on."""
            self.program.write_text(f"""#!/bin/sh
echo >>{self.log}
while [ $# -gt 0 ]; do
    case $1 in --pins) echo "0 tx 1" >$2;; --stats) echo '{str(STATS).replace("'", '"')}' >$2;; esac
    shift
done
printf '%s' '{console}'
printf '%s' '{error}' >&2
exit {status}
""")
            self.program.chmod(0o755)

        @property
        def calls(self):
            """So often it ran."""
            return self.log.read_text().count("\n") if self.log.exists() else 0

    made = Simulator()
    made.does()
    return made


@pytest.fixture(scope="module")
def vexriscv(booted):
    """A Guest, made before a test has a memory of its own: in that it would have to be built from nothing."""
    return booted("vexriscv")


@pytest.fixture
def machine(vexriscv, simulator, monkeypatch):
    """A Guest whose simulator is that program."""
    monkeypatch.setattr(linux_rig.Guest, "arguments", lambda self: [simulator.program])
    return vexriscv


def what_happened(result):
    """All of a result but how long it took here."""
    return result.console, result.pins, {name: value for name, value in result.stats.items() if name != "seconds"}


@each_cpu
@pytest.mark.seconds(20)
def test_a_run_goes_the_same_way_each_time(linux, cpu, monkeypatch):
    """Simulated twice: every character, pin and cycle is the same."""
    monkeypatch.setenv("LITEPULSE_FRESH", "1")
    guest, simulated = linux(cpu), Count.simulated
    stimulus = "".join(f"+{k * 50_001} aux0 {1 - k % 2}\n+{k * 50_001 + 500} rx {k % 2}\n" for k in range(1, 41))
    first, second = (
        guest.run("echo here >/dev/ttyPULSE0; cat /proc/uptime /proc/interrupts", stimulus=stimulus, wires=["tx:aux1"]) for _ in range(2)
    )
    assert what_happened(first) == what_happened(second) and Count.simulated == simulated + 2
    assert len(first.pin("aux0")) == 40 and len(first.pin("aux1")) > 10 and len(first.lines) >= 4


def test_states_are_the_same_each_time(booted, tmp_path):
    """Kept runs stay valid when a state was discarded and is made again."""
    guest = booted("vexriscv")
    for name in ("one", "two"):
        guest.run("touch /tmp/mine; sleep 0", save=tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("one", "two"))
    assert len(one) > 30_000_000 and one == two


def test_the_same_run_is_not_simulated_again(machine, simulator, monkeypatch):
    first, second = (machine.run("true") for _ in range(2))
    assert simulator.calls == 1 and what_happened(first) == what_happened(second) and second.lines == ["mine"]
    monkeypatch.setenv("LITEPULSE_FRESH", "1")
    machine.run("true")
    assert simulator.calls == 2
    monkeypatch.setenv("LITEPULSE_FRESH", "0")
    machine.run("true")
    assert simulator.calls == 2


def test_it_is_judged_again(machine, simulator):
    """A kept run is what happened, not a verdict."""
    simulator.does(CONSOLE.replace(f"{linux_rig.EXIT}0", f"{linux_rig.EXIT}3").replace("mine", "[    1.000000] BUG: of a driver"))
    machine.run("false", status=3, complaints=True)
    with pytest.raises(linux_rig.GuestError, match="exit status 3, not 0"):
        machine.run("false", complaints=True)
    with pytest.raises(linux_rig.GuestError, match="the kernel complains"):
        machine.run("false", status=3)
    with pytest.raises(linux_rig.GuestError, match="the kernel did not say 'other'"):
        machine.run("false", status=3, complaints=["other"])
    assert machine.run("false", status=None, complaints=["BUG: of"]).status == 3 and simulator.calls == 1


def test_any_other_input_is_another_run(machine, simulator, tmp_path, monkeypatch):
    """Program, module, stimulus, wires, command, limit, state."""
    program, module = tmp_path / "program", tmp_path / "module.ko"
    program.write_bytes(b"one")
    module.write_bytes(b"two")
    base = {
        "command": "true",
        "files": {"program": program, "module.ko": module},
        "stimulus": [(1, "rx", 0)],
        "wires": ["tx:aux0"],
        "max_cycles": 1000,
    }

    def simulated(**other):
        """Does this run differ from all before?"""
        before = simulator.calls
        machine.run(**{**base, **other})
        return simulator.calls > before

    assert simulated() and not simulated()
    others = [
        {"command": "true "},
        {"files": {"program": program}},
        {"files": {"program": module, "module.ko": program}},
        {"files": {"programs": program, "module.ko": module}},
        {"files": {**base["files"], "more": b""}},
        {"stimulus": [(2, "rx", 0)]},
        {"stimulus": [(1, "rx", 1)]},
        {"stimulus": ()},
        {"stimulus": "after go\n+1 rx 0"},
        {"wires": ["tx:aux1"]},
        {"wires": []},
        {"wires": ["tx:aux0", "tx:aux1"]},
        {"max_cycles": 1001},
    ]
    for other in others:
        assert simulated(**other) and not simulated(**other), other
    for path in (program, module):
        path.write_bytes(path.read_bytes() + b" changed")
        assert simulated() and not simulated(), path
    # The state it starts from has its key of all that led to it.
    with monkeypatch.context() as patch:
        patch.setattr(machine, "key", "another")
        assert simulated() and not simulated()
    assert not simulated()


@each_cpu
def test_a_state_is_known_by_what_led_to_it(booted, cpu):
    """Machine, kernel, device tree; driver; program: each gives the states that follow another key."""
    guest = booted(cpu)
    others = [linux_rig.boot_with_driver(cpu), *map(booted, linux_rig.TESTED_CPUS)]
    others += [guest.after("cat some >/tmp/some", {"some": content}) for content in (b"one", b"two")]
    assert len({other.key for other in others}) == len(others)


def test_what_did_not_end_is_not_kept(machine, simulator):
    simulator.does(CONSOLE.splitlines()[0] + "\n", status=1, error="ended (max-cycles)")
    for _ in range(2):
        with pytest.raises(linux_rig.GuestError, match="not done after 300 cycles: ended"):
            machine.run("sleep 100")
    simulator.does("", status=2, error="no such pin")
    for _ in range(2):
        with pytest.raises(linux_rig.GuestError, match="the simulator refuses: no such pin"):
            machine.run("sleep 100")
    assert simulator.calls == 4


def test_a_run_that_leaves_a_state_is_not_kept(machine, simulator, tmp_path):
    for _ in range(2):
        machine.run("true", save=tmp_path / "state")
    assert simulator.calls == 2


def test_arguments_of_the_simulator(simulator, tmp_path):
    made = simulate([simulator.program], tmp_path, ["some"])
    assert (made.pins, made.stats, made.console, made.refused, made.unfinished, made.kept) == ("0 tx 1\n", STATS, CONSOLE, "", "", False)
