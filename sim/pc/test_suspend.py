# SPDX-License-Identifier: BSD-2-Clause
"""The machine sleeps while a board is attached whose adapter loses its power, is unplugged, or
keeps its state.

`ftdi_sio` has no reset_resume: after a sleep in which the USB controller lost its state, which QEMU's always does, its ports are closed and
made once more while all programs are still frozen. So the line discipline ends in the middle of the resume.
"""

import pytest

from sim import series
from sim.linux.test_chardev import Report
from sim.pc import pc_rig

ONE = series.OWN
DEVICES = ("/dev/litepulse0", "/dev/ttyPULSE0", "/dev/ptp0")
GONE = "; ".join(f"gone {name}" for name in DEVICES)
AWAIT = "; ".join(f"await {name}" for name in DEVICES)
TIOCM_LOOP = 0x8000
PERIOD = 50_000  # of a train, ticks
SECONDS = 100  # of a run: one whose machine does not resume fails after it
# All devices are suspended and resumed at once; the processor goes on.
DEVICES_ONLY = "echo 0 >/sys/module/suspend/parameters/pm_test_delay; echo devices >/sys/power/pm_test; state=freeze"
S3 = "grep -q deep /sys/power/mem_sleep || exit 92; echo deep >/sys/power/mem_sleep; state=mem"
# To disk, as far as the devices: they are frozen for the snapshot, and thawed.
HIBERNATES = f"{DEVICES_ONLY.rpartition(';')[0]}; state=disk"
DEEP = "PM: suspend entry (deep)"
# The adapter has another name if a process had the old one open when it came back.
FIND = """
port=
until [ -c "$port" ]; do
    usleep 10000
    for name in /dev/ttyUSB*; do port=$name; done
done
"""
# What programs do with the board meanwhile.
USES = {
    "idle": "",
    "open": "exec 5<>/dev/litepulse0 6<>/dev/ttyPULSE0 7<>/dev/ptp0",
    "traffic": "./unplug end >told & until grep -q ready told; do usleep 10000; done",
}
CASES = [pytest.param(line, use, marks=pytest.mark.quick if (line, use) == (ONE, "idle") else ()) for line in pc_rig.LINES for use in USES]


def sleeping(guest, kind, use, again=FIND, **options):
    """The Run of a machine that sleeps while the board is in use. Its devices are gone afterwards; it is attached again, and works."""
    result = guest.attached(
        f"""
        echo N >/sys/module/printk/parameters/console_suspend
        {USES[use]}
        {kind}
        echo $state >/sys/power/state || exit 93
        echo resumed
        {GONE}
        exec 5<&- 6<&- 7<&-
        wait
        cat told 2>/dev/null
        {again}
        ./attach $port >again.log & {AWAIT}
        ./tty_steps /dev/ttyPULSE0 modem=set,{TIOCM_LOOP} set=460800,8N1 write=4c50 read=2,500""",
        {name: guest.guest_program(name) for name in ("unplug", "tty_steps")},
        seconds=SECONDS,
        **options,
    )
    assert "resumed" in result.lines and "read 4c50" in result.lines, result.text
    if use == "traffic":
        report = Report(result.lines)
        for label in ("read", "claim", "status", "launch"):
            assert report.result(label) == (-1, "ENODEV"), label
        assert report.result("write")[0] == -1 and report.one("polled") == [1, 0x18]
    return result


@pytest.mark.seconds(30)
@pytest.mark.parametrize("line, use", CASES)
def test_adapter_is_lost(pc, line, use):
    """Its port is closed while programs are frozen: the machine still resumes, and the board can be
    attached again."""
    result = sleeping(pc(line), DEVICES_ONLY, use)
    assert any("ttyUSB0" in text and "disconnected" in text for text in result.kernel), result.text


def wake(machine):
    """Wakes the machine when it sleeps."""
    machine.asleep(SECONDS)
    machine.wake()


@pytest.mark.seconds(40)
@pytest.mark.parametrize("line", pc_rig.LINES)
@pytest.mark.parametrize("use", USES)
def test_s3(pc, line, use):
    """The whole machine, by its firmware."""
    sleeping(pc(line), S3, use, when={DEEP: wake})


@pytest.mark.seconds(40)
@pytest.mark.parametrize("use", USES)
def test_pulled_out_in_s3(pc, use):
    """And plugged in again much later."""
    boards = []

    def pull(machine):
        machine.asleep(SECONDS)
        boards.append(machine.adapters[0].board)
        machine.unplug(0)
        machine.wake()

    again = f"echo again{FIND}"
    sleeping(pc(ONE), S3, use, again, when={DEEP: pull, "again": lambda machine: machine.plug(0, boards[0])})


@pytest.mark.seconds(40)
@pytest.mark.parametrize("line", pc_rig.LINES)
def test_freezing_while_it_comes_and_goes(pc, line):
    """Threads are frozen at any moment of an attach and of a detach: neither fails, and the machine is never kept awake."""
    guest = pc(line)
    result = guest.run(
        f"""insmod litepulse.ko && insmod litepulse_uartbone.ko || exit 97
        echo 0 >/sys/module/suspend/parameters/pm_test_delay; echo freezer >/sys/power/pm_test
        for turn in $(seq 15); do
            ./attach /dev/ttyUSB0 &
            usleep $((turn * 15000))
            echo freeze >/sys/power/state || exit 94
            {AWAIT}
            kill $!
            usleep $((turn % 5 * 5000))
            echo freeze >/sys/power/state || exit 95
            {GONE}
        done
        echo done""",
        {**guest.driver(), "attach": guest.guest_program("attach")},
        seconds=SECONDS,
    )
    assert result.lines == 15 * ["attached /dev/ttyUSB0"] + ["done"]


@pytest.mark.parametrize("kind, when", [(DEVICES_ONLY, {}), (HIBERNATES, {}), (S3, {DEEP: wake})], ids=["devices", "disk", "s3"])
def test_port_stays(pc, kind, when):
    """A 16550 keeps its port open: a train has stopped, kept or not, and the board works on without another attach."""
    guest = pc(ONE)
    with pc_rig.Board() as board:
        result = guest.run(
            f"""insmod litepulse.ko && insmod litepulse_uartbone.ko || exit 97
            echo N >/sys/module/printk/parameters/console_suspend
            echo connect; usleep 100000
            ./attach /dev/ttyS1 >again.log & {AWAIT}
            ./tty_steps /dev/ttyPULSE0 claim=keep profile=1,115200,8N1 train={PERIOD},0,1,85
            exec 5<>/dev/ttyPULSE0
            {kind}
            echo $state >/sys/power/state || exit 93
            echo resumed
            ./tty_steps /dev/ttyPULSE0 tick modem=set,{TIOCM_LOOP} set=460800,8N1 write=4c50 read=2,500""",
            {**guest.driver(), **{name: guest.guest_program(name) for name in ("attach", "tty_steps")}},
            boards=[],
            when={"connect": lambda machine: machine.com2.connect(board), **when},
            seconds=SECONDS,
        )
        board.end()
    ((woken,),) = ([int(word) for word in line.split()[1:]] for line in result.lines if line.startswith("tick"))
    falls = [tick for tick, level in board.pins_of("tx")[1:] if not level]
    train = [tick for tick in falls if (tick - falls[0]) % PERIOD == 0]
    assert train == [falls[0] + PERIOD * n for n in range(len(train))] and falls[0] < train[-1] < woken - 2 * PERIOD
    assert result.lines[-1] == "read 4c50"


RESTARTED, BY_SUSPEND, APPLIED, TX = 18, 0x02, 5, 1


@pytest.mark.parametrize("line", pc_rig.LINES)
def test_launches_that_wait(pc, line):
    """A suspend discards them: the claim's file reads that, and the claim is dead; one without launches goes on."""
    guest = pc(line)
    with pc_rig.Board() as board:
        result = guest.run(
            f"""insmod litepulse.ko && insmod litepulse_uartbone.ko || exit 97
            echo 0 >/sys/module/suspend/parameters/pm_test_delay
            echo connect; usleep 100000
            ./attach /dev/ttyS1 >again.log & {AWAIT}
            ./chardev suspend-launches""",
            {**guest.driver(), **{name: guest.guest_program(name) for name in ("attach", "chardev")}},
            boards=[],
            when={"connect": lambda machine: machine.com2.connect(board)},
            seconds=SECONDS,
        )
        board.end()
    report = Report(result.lines)
    assert report.result("idle") == (3 * 32, 0)
    assert [report.result(name) for name in ("stale", "flush")] == [(-1, "ESTALE")] * 2 and report.result("again") == (32, 0)
    # The train's stop is reported as well, at both suspends.
    *commands, stopped, launched = report.events()
    assert {event[0] for event in commands} == {APPLIED}
    assert (stopped[0], stopped[5] & 0xFF) == (RESTARTED, BY_SUSPEND) and (launched[0], launched[4] >> 16) == (TX, 1)
