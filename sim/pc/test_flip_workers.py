# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's workers that carry received bytes from the driver to read(): their priority, set as docs/tty.md says."""

import re

import pytest

from sim.pc import pc_rig

FOLDER = "/sys/devices/virtual/workqueue"
TRACING = "/sys/kernel/debug/tracing"
# All workers that are not bound to a CPU; busybox has no pgrep.
RENICE = """
for task in $(grep -l '^kworker/u' /proc/[0-9]*/comm); do
    task=${task#/proc/}; task=${task%/comm}
    renice -n -20 -p $task && echo "raised $task"
done
"""
# A byte, looped back; then the workers that the kernel says carried bytes of any tty, and their nice value.
BYTE = f"""
echo 1 >{TRACING}/events/workqueue/workqueue_execute_start/enable
echo 1 >{TRACING}/events/workqueue/workqueue_queue_work/enable
./tty_steps /dev/ttyPULSE0 modem=set,0x8000 set=9600,8N1 write=4c read=1,500
echo 0 >{TRACING}/events/workqueue/enable
grep flush_to_ldisc {TRACING}/trace
for task in $(sed -n 's/^ *kworker.*-\\([0-9]*\\) .*execute_start.*flush_to_ldisc.*/\\1/p' {TRACING}/trace | sort -u); do
    echo "nice $task $(cut -d' ' -f19 /proc/$task/stat)"
done
"""


def carried(guest, before=""):
    """The workers that carry a byte after these commands: ({workqueue}, {worker: nice value},
    {worker that was raised})."""
    text = "\n".join(guest.attached(f"{before}\n{BYTE}", {"tty_steps": guest.guest_program("tty_steps")}).lines)
    assert re.search(r"^read 4c$", text, re.MULTILINE)
    queues = re.findall(r"function=flush_to_ldisc workqueue=(\S+)", text)
    nice = dict(re.findall(r"^nice (\d+) (-?\d+)$", text, re.MULTILINE))
    return set(queues), nice, set(re.findall(r"^raised (\d+)$", text, re.MULTILINE))


def test_its_own_workqueue(pc):
    """From Linux 7.2 on the tty has a workqueue of its own, and so has the adapter's; -20 in both is the priority of all that carry."""
    guest = pc("7.2")
    queues, nice, _ = carried(guest)
    assert queues == {"ttyPULSE-litepulse", "ttyUSB-usbserial"} and set(nice.values()) == {"0"}
    raised, nice, _ = carried(guest, "\n".join(f"echo -20 >{FOLDER}/{name}/nice || exit 9" for name in sorted(queues)))
    assert raised == queues and set(nice.values()) == {"-20"}


@pytest.mark.parametrize("line", [line for line in pc_rig.LINES if line != "7.2"])
def test_the_workers_of_all(pc, line):
    """Before 7.2, the general workers carry the bytes of all ttys: existing ones can be raised, not
    those that start later."""
    guest = pc(line)
    assert not guest.attached(f"ls {FOLDER} | grep tty", status=1).lines
    queues, nice, _ = carried(guest)
    assert queues == {"events_unbound"} and set(nice.values()) == {"0"}
    _, nice, raised = carried(guest, RENICE)
    assert raised & set(nice) and nice == {task: "-20" if task in raised else "0" for task in nice}


def test_settings_of_the_workqueue(pc):
    """`nice` can be set, and udev sees a device of the subsystem `workqueue`."""
    folder, each = f"{FOLDER}/ttyPULSE-litepulse", "cat nice cpumask"
    lines = pc("7.2").attached(f"cd {folder} && basename $(readlink subsystem) && {each} && echo -20 >nice && {each}").lines
    assert lines == ["workqueue", "0", lines[2], "-20", lines[2]] and int(lines[2], 16)
