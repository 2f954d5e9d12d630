# SPDX-License-Identifier: BSD-2-Clause
"""The rig itself: Linux boots, files reach the guest, statuses and pins are reported, and so are
mistakes in a kernel module."""

import re
import subprocess

import pytest

from sim.guest.builds import shortcomings
from sim.guest.cpio import archive, member
from sim.linux import linux_rig
from sim.linux.targets import HERE

CONTROL = HERE / "control"
each_cpu = pytest.mark.parametrize("cpu", linux_rig.TESTED_CPUS)
lockdep = pytest.mark.skipif(not linux_rig.DEBUG, reason="boots the kernel with lockdep, minutes: make test-linux-debug")


@each_cpu
@pytest.mark.parametrize("flavour", [pytest.param("test", marks=lockdep), "bench"])
@pytest.mark.seconds(60)
def test_boots(booted, cpu, flavour):
    guest = booted(cpu, flavour)
    text = "\n".join(line.text for line in guest.console)
    assert re.search(r"Linux version 6\.12\.", text) and guest.console[-1].text == linux_rig.READY
    result = guest.run("uname -m; cat /proc/cmdline; mount; hexdump -C /proc/device-tree/model | head -n 1; free")
    assert result.lines[0] == {"vexriscv": "riscv32", "mor1kx": "openrisc"}[cpu]
    assert "tmpfs on /tmp" in result.text and "debugfs on /sys/kernel/debug" in result.text


@each_cpu
def test_files_and_statuses(booted, cpu):
    """Files pass unchanged, byte by byte; each way to end is reported."""
    guest = booted(cpu)
    data = bytes(range(256)) * 8 + b"odd"
    result = guest.run("ls -l; od -An -v -tx1 folder/data; ln -s folder/data link; wc -c <link", {"folder/data": data})
    found = [line for line in result.lines if re.fullmatch(r"( [0-9a-f]{2})+", line)]
    assert bytes.fromhex("".join(found)) == data and str(len(data)) in result.lines
    assert guest.run("exit 7", status=7).status == 7
    assert guest.run("kill -9 $$", status=None).status == 128 + 9
    assert guest.run("sleep 1000 & exit 0").status == 0  # what is left behind is killed
    with pytest.raises(linux_rig.GuestError, match="exit status 3, not 0"):
        guest.run("exit 3")
    with pytest.raises(linux_rig.GuestError, match="not done after"):
        guest.run("sleep 100", max_cycles=3_000_000)


@each_cpu
def test_a_program_without_a_shell(booted, cpu):
    """It gets its words unchanged, whatever is in them; a program that cannot be executed is
    reported."""
    guest = booted(cpu)
    result = guest.run(["/bin/busybox", "printf", "<%s>", "a b", "", "$HOME;`", "'\""])
    assert result.lines == ["<a b><><$HOME;`><'\">"]
    assert guest.run(["./none"], status=127).text.count("cannot execute ./none: No such file or directory") == 1
    for words, message in ((["/bin/busybox", "x" * 4096], "too long"), (["/bin/busybox", *"x" * 80], "too many words")):
        assert message in guest.run(words, status=127).text


@each_cpu
def test_runs_do_not_see_each_other(booted, cpu):
    guest = booted(cpu)
    first = guest.run("touch /tmp/mine; cat /proc/uptime")
    second = guest.run("touch /tmp/mine; cat /proc/uptime")
    assert [(line.at, line.text) for line in first.console] == [(line.at, line.text) for line in second.console]
    assert guest.run("test ! -e /tmp/mine").status == 0
    later = guest.after("touch /tmp/mine; echo kept", {"some": b"thing"})
    assert later.run("test -e /tmp/mine && cat some").lines == ["thing"]


@each_cpu
def test_pins_and_stimulus(booted, cpu):
    """Pins follow the stimulus at the given ticks; `after` waits for the console."""
    guest = booted(cpu)
    result = guest.run("echo now; usleep 100000", stimulus=[(500, "aux1", 1), (777, "aux1", 0), "after now", "+100 aux2 1", "+130 aux2 0"])
    start = result.stats["start_tick"]
    assert result.pin("aux1") == [(start, 0), (start + 500, 1), (start + 777, 0)]
    (_, low), (rise, high), (fall, _) = result.pin("aux2")
    printed = next(line.at for line in result.console if line.text == "now")
    assert (low, high, fall - rise) == (0, 1, 30) and 0 < rise - printed < 10_000
    assert result.pin("tx") == [(start, 1)]


FAULTS = {
    "sleep": "BUG: (scheduling while atomic|sleeping function called from invalid context)",
    "order": "possible circular locking dependency",
    "irq": "inconsistent lock state",
    "warn": "WARNING: .*litepulse_control",
    "oops": "Unable to handle|Oops",
}


@lockdep
@each_cpu
@pytest.mark.parametrize("fault", FAULTS)
def test_mistakes_are_reported(booted, cpu, fault):
    guest = booted(cpu, "test")
    files = {"control.ko": guest.module(CONTROL)["litepulse_control"]}
    with pytest.raises(linux_rig.GuestError, match=FAULTS[fault]):
        guest.run(f"insmod control.ko fault={fault}", files, status=None)


@each_cpu
def test_parameters_of_a_module(booted, cpu):
    """insmod passes them on: otherwise the mistakes above would not be made, and none reported."""
    guest = booted(cpu)
    files = {"control.ko": guest.module(CONTROL)["litepulse_control"]}
    with pytest.raises(linux_rig.GuestError, match="litepulse_control: fault warn"):
        guest.run("insmod control.ko fault=warn", files, status=None)


@lockdep
@each_cpu
def test_a_module_without_mistake_passes(booted, cpu):
    guest = booted(cpu, "test")
    result = guest.run("insmod control.ko && lsmod && rmmod litepulse_control", {"control.ko": guest.module(CONTROL)["litepulse_control"]})
    assert "litepulse_control: fault none" in result.kernel and any(line.startswith("litepulse_control") for line in result.lines)


@lockdep
@pytest.mark.seconds(120)
def test_a_leak_is_reported(booted):
    """Only riscv has kmemleak; scanning takes long, so it is on in guests that are booted so."""
    guest = booted("vexriscv", "test", "kmemleak=on")
    files = {"control.ko": guest.module(CONTROL)["litepulse_control"]}
    guest.run("insmod control.ko && leaks", files, max_cycles=1_000_000_000)
    with pytest.raises(linux_rig.GuestError, match="unreferenced object 0x"):
        guest.run("insmod control.ko fault=leak && leaks", files, max_cycles=1_000_000_000)


def test_a_wish_that_does_not_come_true_is_named():
    """Otherwise a checker that depends on another option would be off without notice."""
    have = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=17\n"
    assert shortcomings("CONFIG_A=y\n# CONFIG_B is not set\n# CONFIG_D is not set\nCONFIG_C=17\n", have) == []
    wrong = ["# CONFIG_A is not set", "CONFIG_B=y", "CONFIG_C=18", "CONFIG_D=y"]
    assert sorted(shortcomings("\n".join(wrong), have)) == sorted(wrong)


def test_archive_is_what_cpio_makes_of_it(tmp_path):
    """A stranger reads it."""
    data = archive([("folder", 0o40755), ("folder/file", 0o100644, b"content"), ("link", 0o120777, b"folder/file")])
    listed = subprocess.run(["cpio", "-itv", "--quiet"], input=data, capture_output=True, check=True).stdout.decode()
    assert re.search(r"drwxr-xr-x .* folder\n-rw-r--r-- .* 7 .* folder/file\nlrwxrwxrwx .* link -> folder/file\n", listed)
    assert len(member("x", 0)) % 4 == 0
