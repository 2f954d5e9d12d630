# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's console on /dev/ttyPULSE0 of the simulated SoC: its messages on the pin, frame by
frame, beside all other users of the line.

The other console, a LiteUART, says the same, and is what the pin is compared with.
"""

import re

import pytest

from litex_soc import linux_sim
from sim.guest.frames import HZ, data_of, profile, read_frames
from sim.linux import built_in, linux_rig
from sim.linux.targets import HERE

BOOTARGS = "console=ttyPULSE0,460800e7"
BAUD, FORMAT = 460800, "7E1"
FORM = profile(BAUD, FORMAT)
FIFO = 512  # bytes
DRIVER = "/sys/bus/platform/drivers/litepulse"
LETTERS = bytes(97 + n % 26 for n in range(1500))  # of the tty: no message has any
LONG = b"<4>" + bytes(48 + n % 10 for n in range(900)) + b"\n"
each_cpu = pytest.mark.parametrize("cpu", linux_rig.TESTED_CPUS)
one = pytest.mark.parametrize("cpu", linux_rig.CPUS[:1])


@pytest.fixture
def console(linux):
    """Runs lines of a script on a machine with the console; the Result."""

    def run(cpu, *lines, files=None, **options):
        guest = linux(cpu, bootargs=BOOTARGS)
        program = guest.program(linux_rig.GUEST / "tty_steps.c", includes=linux_rig.INCLUDES)
        return guest.run("\n".join(lines), {"tty_steps": program, "long": LONG, **(files or {})}, **options)

    return run


def text(result):
    """The text on the pin. All its edges are those of whole frames, to the tick."""
    return data_of(read_frames(result.pin("tx"), [FORM])).decode()


def messages(console):
    """Lines of the kernel on the other console."""
    return [line.text for line in console if line.of_kernel]


def as_sent(lines):
    """The same as they are on the line."""
    return "".join(f"{line}\r\n" for line in lines)


def steps(*words):
    """A command."""
    return f"./tty_steps /dev/ttyPULSE0 set={BAUD},{FORMAT} {' '.join(words)}"


def say(what):
    """A message of the kernel."""
    return f"echo '<4>{what}' >/dev/kmsg"


@each_cpu
def test_the_log_and_messages(booted, cpu):
    """With baud, parity and bits of the command line: the whole log when the driver is loaded, then
    each message."""
    guest = booted(cpu, bootargs=BOOTARGS)
    files = {"litepulse.ko": guest.module(linux_rig.DRIVER)["litepulse"]}
    lines = ["insmod litepulse.ko", "cut -d' ' -f1 /proc/consoles", "cat /sys/class/tty/ttyPULSE0/console"]
    result = guest.run("\n".join([*lines, *(say(f"message {n}") for n in range(3)), "sleep 0.1"]), files)
    assert result.lines == ["ttyPULSE0", "liteuart0", "Y"]
    printed = messages(guest.console) + messages(result.console)
    assert len(printed) > 50 and printed[-1].endswith("] message 2")
    assert text(result) == as_sent(printed)


@one
@pytest.mark.full
@pytest.mark.seconds(600)
def test_earlycon(cpu):
    """A kernel with the driver built in: every line from the first on, and the console goes on where earlycon ends."""
    system = built_in.build(cpu)
    csr = linux_sim.machine(cpu).description["csr_bases"]["pulse"]
    words = f"earlycon=litepulse,mmio32,{csr:#x},{BAUD} console=ttyPULSE0,{BAUD}"
    guest = linux_rig.boot(cpu, bootargs=words, system=system, cycles=70_000_000)
    pin = [(change.tick, change.level) for change in linux_rig.read_pins((guest.folder / "pins").read_text()) if change.pin == "tx"]
    printed = data_of(read_frames(pin, [profile(BAUD)])).decode()
    assert "] earlycon: litepulse0 at MMIO32" in printed
    # Both say that one takes over from the other.
    for handover in re.findall(
        r"\[[ .0-9]+\] printk: legacy (?:console \[ttyPULSE0\] en|bootconsole \[litepulse0\] dis)abled\r\n", printed
    )[::2]:
        assert printed.count(handover * 2) == 1
        printed = printed.replace(handover * 2, handover)
    # /init writes to the console, too.
    assert printed == as_sent(messages(guest.console)) + f"{linux_rig.READY}\n"


@each_cpu
def test_beside_the_tty(console, cpu):
    """Bytes of the tty and messages share the line: each in order, none lost, and no message
    interrupted."""
    result = console(cpu, steps(f"write={LETTERS.hex()}", "drain", "outq"), *(say(f"ALONE {n}") for n in range(2)), "sleep 0.05")
    assert text(result) == LETTERS.decode() + as_sent(messages(result.console))
    result = console(
        cpu, f"{steps(f'write={LETTERS.hex()}', 'drain', 'outq')} &", "sleep 0.004", *(say(f"MESSAGE {n}") for n in range(30)), "wait"
    )
    printed = text(result)
    assert re.sub("[^a-z]", "", printed) == LETTERS.decode() and re.sub("[a-z]", "", printed) == as_sent(messages(result.console))
    assert all(as_sent([line]) in printed for line in messages(result.console)) and len(messages(result.console)) == 30
    assert re.search(r"[a-z]\[.*MESSAGE.*\r\n[a-z]", printed, re.DOTALL) and "outq 0" in result.lines


@one
def test_longer_than_the_fifo(console, cpu):
    """A message that does not fit leaves without a gap."""
    result = console(cpu, "cat long >/dev/kmsg", "sleep 0.05")
    frames = read_frames(result.pin("tx"), [FORM])
    assert data_of(frames).decode() == as_sent(messages(result.console)) and len(frames) > 900
    assert not [after.tick for before, after in zip(frames, frames[1:]) if after.tick != before.end]


@one
def test_panic(console, linux, cpu):
    """The machine is reset at once: its last message has left."""
    files = {"litepulse_halt.ko": linux(cpu, bootargs=BOOTARGS).module(HERE / "halt")["litepulse_halt"]}
    lines = ["insmod litepulse_halt.ko", "echo LAST WORDS >/sys/module/litepulse_halt/parameters/panic"]
    result = console(cpu, *lines, files=files, status=None, complaints=True, until="")
    assert result.stats["reason"] == "reset" and any("Kernel panic - not syncing: LAST WORDS" in line for line in messages(result.console))
    assert text(result) == as_sent(messages(result.console))


@one
def test_a_train_without_gaps(console, cpu):
    """The train goes on unchanged. The console waits once, 100 ms or slightly more, then counts
    lost bytes, and prints their number afterwards."""
    period = 1900  # less than two frames
    result = console(
        cpu,
        f"{steps('claim', f'profile=1,{BAUD},{FORMAT}', f'train={period},0,1,0x40', 'say=runs', 'sleep=400000', 'trainstop')} &",
        "sleep 0.02; echo first; cat long >/dev/kmsg; echo second; cat long >/dev/kmsg; echo third; wait",
        say("AFTER"),
        "sleep 0.05",
    )
    frames = read_frames(result.pin("tx"), [FORM])
    pulses = [frame.tick for frame in frames if frame.launch.data == 0x40]
    assert len(pulses) > 10000 and pulses == [pulses[0] + n * period for n in range(len(pulses))]
    first, second, third = ([line.at for line in result.console if line.text == word][0] for word in ("first", "second", "third"))
    assert HZ // 10 <= second - first < HZ // 3 and third - second < HZ // 12
    *lost, last = messages(result.console)
    sent, count, after = re.fullmatch(r"(.*)\r\n\*\* (\d+) bytes lost \*\*\r\n(.*)", text(result).replace("@", ""), re.DOTALL).groups()
    whole = as_sent(lost)
    assert after == as_sent([last]) and last.endswith("] AFTER")
    assert FIFO <= len(sent) < FIFO + 8 and whole.startswith(sent) and int(count) == len(whole) - len(sent)


@one
def test_stopped_and_flushed_tty(console, cpu):
    """A stop, a flush or a close of the tty does not affect a message."""
    result = console(
        cpu,
        f"{steps('stop', 'write=616263', 'sleep=50000', 'start', 'drain')} &",
        "sleep 0.01",
        say("NOT STOPPED"),
        "wait",
        "cat long >/dev/kmsg",
        steps("write=64", "flush=o"),
        say("BEHIND"),
        "sleep 0.05",
    )
    stopped, long, behind = (as_sent([line]) for line in messages(result.console))
    assert re.fullmatch(re.escape(f"{stopped}abc{long}") + "d?" + re.escape(behind), text(result))


@each_cpu
def test_comes_and_goes(console, cpu):
    """The console disappears with the driver, after its last message has left; both, and the tty, come back with the driver."""
    use = steps("write=78797a", "drain")
    result = console(
        cpu,
        use,
        "cat long >/dev/kmsg",
        f"name=$(basename {DRIVER}/*.*); echo $name >{DRIVER}/unbind",
        "cut -d' ' -f1 /proc/consoles",
        "sleep 0.01; echo bound",
        f"echo $name >{DRIVER}/bind; cut -d' ' -f1 /proc/consoles",
        "echo N >/sys/class/tty/ttyPULSE0/console; cut -d' ' -f1 /proc/consoles",
        "echo Y >/sys/class/tty/ttyPULSE0/console; cut -d' ' -f1 /proc/consoles",
        use,
        say("AGAIN"),
        "rmmod litepulse; cut -d' ' -f1 /proc/consoles",
    )
    both, alone = ["ttyPULSE0", "liteuart0"], ["liteuart0"]
    reported = [line for line in result.lines if not line.startswith(("open", "set ", "write", "drain"))]
    assert reported == [*alone, "bound", *both, *alone, *both, *alone]
    (long, *_) = messages(result.console)
    printed = text(result)
    assert printed.startswith("xyz" + as_sent([long])) and re.search(
        r"\nxyz\[.*\] AGAIN\r\n\[.*\] printk: legacy console \[ttyPULSE0\] disabled\r\n$", printed
    )


@one
def test_board_that_was_reset(console, cpu):
    """The core alone is reset: the console has its baud rate and format again as soon as the driver has noticed."""
    result = console(
        cpu,
        steps("claim", "say=reset", "sleep=2000", "trainstop", "sleep=20000"),
        say("AFTER"),
        "sleep 0.05",
        stimulus=["after reset", "+1000 core_rst 1", "+1100 core_rst 0"],
    )
    assert text(result) == as_sent(messages(result.console)) and messages(result.console)[-1].endswith("] AFTER")


@one
def test_the_line_is_not_lent(console, linux, cpu):
    """A LIN bus cannot have the console's line."""
    guest = linux(cpu, bootargs=BOOTARGS)
    module = guest.module(linux_rig.DRIVER)["litepulse_lin"]
    guest = guest.after("insmod litepulse_lin.ko", {"litepulse_lin.ko": module})
    result = guest.run_program("lin", ["bitrate=19200", "up"], status=None)
    assert result.status and any("busy" in line for line in result.lines)
