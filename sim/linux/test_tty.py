# SPDX-License-Identifier: BSD-2-Clause
"""/dev/ttyPULSE0 on the simulated SoC: what its programs saw, against what the pins did, to the tick."""

import errno
from math import floor

import pytest

from sim.core.model import driver_wave
from sim.guest.frames import HZ, data_of, edges, frame, got_baud, level_at, normal, profile, read_frames, row, wave
from sim.linux import linux_rig

LOOP = 0x8000  # TIOCM_LOOP
ENABLED, ON_SEND, DURING_TX = 0x1, 0x2, 0x10  # SER_RS485_*
MS = HZ // 1000
each_cpu = pytest.mark.parametrize("cpu", linux_rig.TESTED_CPUS)
one = pytest.mark.parametrize("cpu", linux_rig.CPUS[:1])


class Run:
    """What programs/tty_steps.c printed, and the pins."""

    def __init__(self, result):
        self.console, self.result = result.lines, result

    def lines(self, step):
        """The words behind the name of each line of a step."""
        return [line.split()[1:] for line in self.console if line.split()[0] == step]

    def line(self, step):
        """... of the only one."""
        (found,) = self.lines(step)
        return found

    def read(self):
        """The bytes of the only step that read any."""
        return bytes.fromhex("".join(self.line("read")))

    def wave(self, pin):
        """What a pin did."""
        return self.result.pin(pin)


class Tty:
    """What runs programs/tty_steps.c on a machine, and the clock of its board; bauds and waits are given as for 50 MHz."""

    def __init__(self, run, hz=HZ, late=10, steady=True, settle=()):
        # late: ticks after which a program surely knows what happened; steady: the machine is never too busy to send on in time
        # settle: steps after which the board has the tty's settings
        self.run, self.hz, self.ms, self.late, self.steady, self.settle = run, hz, hz // 1000, late * hz // 1000, steady, settle

    def __call__(self, machine, *steps, shell=(), **options):
        """A Run. shell: lines of a script that is run instead; the program is ./tty_steps there."""
        return Run(self.run(machine, steps, "\n".join(shell), **options))


@pytest.fixture
def tty(linux):
    """A Tty, its machines the two CPUs."""

    def run(cpu, steps, shell, **options):
        guest = linux(cpu)
        if not shell:
            return guest.run_program("tty_steps", ["/dev/ttyPULSE0", *steps], **options)
        program = guest.program(linux_rig.GUEST / "tty_steps.c", includes=linux_rig.INCLUDES)
        return guest.run(shell, {"tty_steps": program}, **options)

    return Tty(run)


def hexadecimal(data):
    return bytes(data).hex()


def gaps(frames):
    """Ticks between each frame's end and the next start."""
    return [after.tick - before.end for before, after in zip(frames, frames[1:])]


# Settings ---------------------------------------------------------------------------------------------------------


@each_cpu
def test_first_open_is_raw_and_without_echo(tty, cpu):
    # 9600 8N1 (B9600 CS8 CREAD HUPCL CLOCAL), nothing in the other words: what comes is read as it is, and not answered.
    data = b"A\r\n\x03\x04\x11\x13\x7f\xff"
    run = tty(cpu, "show", "say=go", f"read={len(data)},500", stimulus=after("go", row(2000, data, profile(9600))))
    assert run.line("show") == ["0x0", "0x0", "0xcbd", "0x0", "9600", "9600"]
    assert run.read() == data
    assert not edges(run.wave("tx"))


SETTINGS = [
    (9600, "8N1"),
    (115200, "7E1"),
    (1000000, "8O2"),
    (3000000, "5N2"),
    (250000, "6M1"),
    (57600, "7S2"),
    (31250, "5E1"),
    (12500000, "8N1"),
]


@each_cpu
def test_bauds_and_formats(tty, cpu):
    data = bytes(range(0x10, 0x100, 0x17))
    words = []
    for baud, form in SETTINGS:
        words += [f"set={baud},{form},drain", f"write={hexadecimal(data)}"]
    run = tty(cpu, *words, "drain")
    assert [int(line[0]) for line in run.lines("set")] == [got_baud(baud, tty.hz) for baud, _ in SETTINGS]
    forms = [profile(*setting) for setting in SETTINGS for _ in data]
    frames = read_frames(run.wave("tx"), forms)
    assert data_of(frames) == bytes(byte % (1 << form.data_bits) for byte, form in zip(data * len(SETTINGS), forms))
    # What was written at once leaves without a gap, so the stop bits are as long as they should be; unless the line is faster than the CPU.
    slow = [start for start in range(0, len(frames), len(data)) if forms[start].period > 40]
    assert len(slow) > len(SETTINGS) // 2 and not (tty.steady and any(any(gaps(frames[start : start + len(data)])) for start in slow))


@one
def test_impossible_settings(tty, cpu):
    # The old baud is kept; a message says that there is no flow control by wires.
    run = tty(cpu, "set=19200,8N1", "set=12600000,8N1", "write=55", "drain", "set=4000000000,7E1,crtscts", "write=2a", "drain")
    assert [int(line[0]) for line in run.lines("set")] == [got_baud(19200, tty.hz)] * 3
    assert not int(run.lines("set")[-1][1], 0) & 0x80000000  # CRTSCTS
    assert data_of(read_frames(run.wave("tx"), [profile(19200), profile(19200, "7E1")])) == b"\x55\x2a"


@one
def test_same_settings_do_not_disturb_the_receiver(tty, cpu):
    # Settings are written again in the middle of each byte.
    data = bytes(range(24))
    words = [f"set=9600,8N1,{'inpck' if n % 2 else 'ignpar'}" for n in range(12)]
    run = tty(cpu, "set=9600,8N1", "say=go", *words, f"read={len(data)},500", stimulus=after("go", row(2000, data, profile(9600))))
    assert run.read() == data


@one
def test_serial_info_and_no_console(tty, cpu):
    run = tty(
        cpu,
        shell=(
            "./tty_steps /dev/ttyPULSE0 serial getmodem",
            "cat /proc/tty/driver/litepulse",
            "echo consoles $(cat /proc/consoles | cut -d' ' -f1)",
            "cat /sys/class/tty/ttyPULSE0/console",
            "echo Y >/sys/class/tty/ttyPULSE0/console || echo no console",
        ),
    )
    assert run.line("serial")[1:] == [str(tty.hz // 4), "512"]
    assert any(line.startswith("0: uart:LitePulse") for line in run.console)
    assert not any("ttyPULSE" in line for line in run.console if line.startswith("consoles "))
    assert "N" in run.console and "no console" in run.console


# Sending ------------------------------------------------------------------------------------------------------------


@each_cpu
def test_long_row_of_bytes(tty, cpu):
    # More than the core holds: without a gap, nothing lost or doubled.
    data = bytes(n * 7 % 251 for n in range(1500))
    run = tty(cpu, "set=1000000,8N1", f"write={hexadecimal(data)}", "drain", "outq", "icount")
    frames = read_frames(run.wave("tx"), [profile(1000000)])
    assert data_of(frames) == data and not (tty.steady and any(gaps(frames)))
    assert run.line("outq") == ["0"]
    assert run.line("icount")[1] == str(len(data))


@each_cpu
def test_drain_is_exact(tty, cpu):
    # Alone; and beside a train that leaves no room for a byte and lasts longer than serial core would wait: twice 512 frames and 20 ms.
    alone, slow, fast = profile(1200, "8N2"), profile(115200), profile(2000000)
    period = floor(10 * slow.period) - 300
    count = (2 * (512 * floor(10 * slow.period) + 20 * tty.ms) + 10 * tty.ms) // period
    run = tty(
        cpu,
        "set=1200,8N2",
        "write=5a",
        "drain",
        "tick",
        "set=115200,8N1",
        "claim",
        "profile=1,2000000,8N1",
        f"train={period},{count},1,0x55",
        "write=414243",
        "sleep=2000",
        "outq",
        "lsr",
        "drain",
        "tick",
        "outq",
        "lsr",
    )
    frames = read_frames(run.wave("tx"), [alone] + [fast] * count + [slow])
    assert data_of(frames) == b"\x5a" + b"\x55" * count + b"ABC"
    assert [one.tick for one in frames[1 : count + 1]] == [frames[1].tick + n * period for n in range(count)]
    for returned, last in zip(run.lines("tick"), (frames[0], frames[-1])):
        assert last.end <= int(*returned) < last.end + tty.late
    assert run.lines("outq") == [["1"], ["0"]]  # the last one stays until all have left
    assert run.lines("lsr") == [["0"], ["1"]]  # TIOCSER_TEMT


@one
def test_settings_do_not_change_a_train(tty, cpu):
    data = b"\x0c\xa7"
    words = [word for baud, form in SETTINGS[1:] for word in (f"set={baud},{form},drain", f"write={hexadecimal(data)}")]
    period = 20000
    run = tty(cpu, "claim", "profile=1,115200,7E2", f"train={period},0,1,0x2d", *words, "drain", "trainstop")
    (count,) = map(int, run.line("trainstop"))
    recorded = run.wave("tx")
    start = edges(recorded)[0][0]
    pulses = [frame(start + n * period, 0x2D, profile(115200, "7E2")) for n in range(count)]
    # Edges outside the train's frames are the tty's.
    taken = normal([(start - 1, 0), *((tick, level) for one in pulses for tick, level in ((one.tick, 1), (one.end, 0)))])
    forms = [profile(*setting) for setting in SETTINGS[1:] for _ in data]
    frames = read_frames([(start - 1, 1), *(edge for edge in edges(recorded) if not level_at(taken, edge[0]))], forms)
    assert data_of(frames) == bytes(byte % (1 << form.data_bits) for byte, form in zip(data * len(SETTINGS), forms))
    assert edges(wave(sorted(pulses + frames))) == edges(recorded)
    assert frames[0].tick < pulses[-1].tick


@each_cpu
def test_loop(tty, cpu):
    run = tty(
        cpu, "set=460800,8N1", f"modem=set,{LOOP:#x}", "write=48656c6c6f", "read=5,500", f"modem=clear,{LOOP:#x}", "write=21", "read=1,100"
    )
    assert [bytes.fromhex("".join(line)) for line in run.lines("read")] == [b"Hello", b""]
    assert data_of(read_frames(run.wave("tx"), [profile(460800)])) == b"Hello!"


@one
def test_stopped_output(tty, cpu):
    # tcflow() holds back what is in the core, too; what follows is whole. Looped back, so that a byte that comes back has been sent.
    data = bytes(range(256)) * 2
    run = tty(
        cpu,
        *f"set=115200,8N1 modem=set,{LOOP:#x} write={hexadecimal(data)} read=1,500 stop".split(),
        *tty.settle,
        *"tick sleep=20000 outq tick start drain".split(),
    )
    frames = read_frames(run.wave("tx"), [profile(115200)])
    stopped, started = (int(line[0]) for line in run.lines("tick"))
    assert run.line("read") == ["00"]
    assert data_of(frames) == data
    assert 0 < len([one for one in frames if one.tick <= stopped]) < len(data)
    assert not [one for one in frames if stopped < one.tick < started]
    assert int(run.line("outq")[0]) > 0


@one
def test_stopped_output_does_not_stop_launches(tty, cpu):
    # What is timed goes on; the byte waits.
    run = tty(
        cpu,
        "set=115200,8N1",
        "claim",
        "listen",
        "profile=1,1000000,8N1",
        "stop",
        "write=41",
        "launch=500000,1,0x66",
        "event",
        "outq",
        "start",
        "drain",
    )
    frames = read_frames(run.wave("tx"), [profile(1000000), profile(115200)])
    tick = int(run.line("launch")[0])
    assert data_of(frames) == b"\x66A" and frames[0].tick == tick
    assert [int(word, 0) for word in run.line("event")][:3] == [1, 0, tick]  # TX
    assert run.line("outq") == ["1"]


@one
def test_xoff_and_xon_from_the_line(tty, cpu):
    data, form = bytes(range(0x20, 0x100)) * 3, profile(115200)
    stimulus = after("go", [frame(5 * MS, 0x13, form), frame(25 * MS, 0x11, form)])
    run = tty(cpu, "set=115200,8N1,ixon", f"write={hexadecimal(data)}", "say=go", "drain", stimulus=stimulus)
    frames = read_frames(run.wave("tx"), [form])
    assert data_of(frames) == data
    xoff, xon = (one.end for one in read_frames(run.wave("rx"), [form]))
    (pause,) = [(before.end, after.tick) for before, after in zip(frames, frames[1:]) if before.end != after.tick]
    assert xoff < pause[0] < xoff + 5 * MS and xon < pause[1] < xon + 5 * MS


@one
def test_xoff_is_sent_while_stopped(tty, cpu):
    # Nothing is in the core: the character leaves alone. Something is: that goes with it, and no more.
    run = tty(
        cpu,
        "set=115200,8N1",
        "stop",
        "write=4142",
        "sendstop",
        "sleep=5000",
        "tick",
        "start",
        "drain",
        "tick",
        f"write={'43' * 300}",
        "stop",
        "sendstart",
        "sleep=20000",
        "tick",
        "start",
        "drain",
    )
    frames = read_frames(run.wave("tx"), [profile(115200)])
    first, second, third = (int(line[0]) for line in run.lines("tick"))
    assert data_of(one for one in frames if one.tick < first) == b"\x13"
    assert data_of(one for one in frames if first < one.tick < second) == b"AB"
    alone = data_of(one for one in frames if second < one.tick < third)
    assert alone[-1:] == b"\x11" and alone[:-1] == b"C" * (len(alone) - 1) and len(alone) < 200
    assert data_of(frames).count(b"C") == 300


@one
def test_flush(tty, cpu):
    """No byte begins once a flush is over, whose length is the kernel's matter; the one on the
    line is sent whole."""
    run = tty(cpu, "set=9600,8N1", f"write={'55' * 60}", "flush=o", "tick", "outq", "drain", "tick", "write=aa", "drain")
    frames = read_frames(run.wave("tx"), [profile(9600)])
    sent = data_of(frames)
    assert sent[-1:] == b"\xaa" and sent[:-1] == b"\x55" * (len(sent) - 1)
    assert tty.steady <= len(sent) - 1 < 20  # none, if the flush was quicker than the way to the board
    assert run.line("outq") == ["0"]
    flushed, drained = (int(line[0]) for line in run.lines("tick"))
    assert [frame.tick for frame in frames[:-1] if frame.tick > flushed] == []
    assert drained < frames[-1].tick


@one
def test_close_sends_what_was_written(tty, cpu):
    data = bytes(range(200))
    run = tty(cpu, "set=115200,8N1", f"write={hexadecimal(data)}", "close", "open", "show")
    assert data_of(read_frames(run.wave("tx"), [profile(115200)])) == data
    assert run.line("show")[4:] == [str(got_baud(115200, tty.hz))] * 2


# Break --------------------------------------------------------------------------------------------------------------


@one
def test_break_makes_launches_busy(tty, cpu):
    run = tty(
        cpu,
        "set=115200,8N1",
        "claim",
        "listen",
        "profile=1,1000000,8N1",
        "on",
        "launch=500000,1,0x55",
        "event",
        "write=41",
        "tick",
        "off",
        "launch=500000,1,0x66",
        "event",
        "drain",
    )
    refused, launched = ([int(word, 0) for word in line] for line in run.lines("event"))
    ticks = [int(line[0]) for line in run.lines("launch")]
    assert refused[:4] == [3, 0, ticks[0], 2]  # REFUSED, queue, its tick, busy
    assert launched[:3] == [1, 0, ticks[1]]  # TX
    recorded = edges(run.wave("tx"))
    (fell, low), (rose, high) = recorded[:2]
    assert (low, high) == (0, 1) and fell < ticks[0] < int(run.line("tick")[0]) < rose
    assert data_of(read_frames([(rose, 1), *recorded[2:]], [profile(115200), profile(1000000)])) == b"\x41\x66"


@one
def test_sendbreak_is_bounded(tty, cpu):
    # TCSBRKP 1: a tenth of a second, to the tick; it returns when the break has ended.
    run = tty(cpu, "set=115200,8N1", "write=41", "break=1", "tick", "write=42", "drain")
    recorded = edges(run.wave("tx"))
    form = profile(115200)
    first = frame(recorded[0][0], 0x41, form)
    (fell, _), (rose, _) = [edge for edge in recorded if edge[0] >= first.end][:2]
    assert rose - fell == 100 * tty.ms
    assert rose <= int(run.line("tick")[0]) < rose + 30 * tty.ms
    assert data_of(read_frames([(rose, 1), *[edge for edge in recorded if edge[0] > rose]], [form])) == b"\x42"


@one
def test_sendbreak_beside_a_claim(tty, cpu):
    # A file has the claim: the break is made of two settings, and at least as long.
    run = tty(cpu, "set=115200,8N1", "claim", "break=1", "write=42", "drain")
    (fell, low), (rose, high) = edges(run.wave("tx"))[:2]
    assert (low, high) == (0, 1) and 100 * tty.ms < rose - fell < 130 * tty.ms


def only_pulse(wave):
    """(start, end) of the only time at which a line is low."""
    (fell, low), (rose, high) = edges(wave)
    assert (low, high) == (0, 1)
    return fell, rose


@one
def test_sendbreak_and_a_signal(tty, cpu):
    # The call ends at once; the break does not.
    run = tty(cpu, "set=115200,8N1", "alarm=20000", "break=2", "tick", "sleep=250000")
    fell, rose = only_pulse(run.wave("tx"))
    assert run.line("break") == [f"-{errno.EINTR}"] and rose - fell == 200 * tty.ms
    assert fell < int(run.line("tick")[0]) < rose - 100 * tty.ms


@one
def test_sendbreak_of_two_programs(tty, cpu):
    # At once: there are two breaks, and each is exact.
    run = tty(cpu, "set=115200,8N1", "later=50000:break=1", "break=1", "wait")
    lows = edges(run.wave("tx"))
    assert [level for _, level in lows] == [0, 1, 0, 1]
    assert [lows[1][0] - lows[0][0], lows[3][0] - lows[2][0]] == [100 * tty.ms] * 2
    assert run.lines("break") == [[], []]


@one
def test_a_long_sendbreak_and_a_signal(tty, cpu):
    # A break of more than a second ends with the call.
    run = tty(cpu, "set=115200,8N1", "alarm=20000", "break=20", "tick")
    _, rose = only_pulse(run.wave("tx"))
    assert run.line("break") == [f"-{errno.EINTR}"] and rose <= int(run.line("tick")[0])


@one
def test_sendbreak_while_output_is_stopped(tty, cpu):
    # tcflow() holds back bytes only.
    run = tty(cpu, "set=115200,8N1", "stop", "break=1", "start", "write=42", "drain")
    fell, rose = edges(run.wave("tx"))[:2]
    assert rose[0] - fell[0] == 100 * tty.ms
    assert data_of(read_frames([(rose[0], 1), *edges(run.wave("tx"))[2:]], [profile(115200)])) == b"\x42"


@one
def test_sendbreak_with_rs485(tty, cpu):
    # The driver is on before the break, and stays on after it, for the configured time.
    run = tty(cpu, f"rs485={ENABLED | ON_SEND},1,1", "break=1", "sleep=10000")
    fell, rose = only_pulse(run.wave("tx"))
    assert rose - fell == 100 * tty.ms
    assert edges(run.wave("de")) == [(fell - tty.ms, 1), (rose + tty.ms, 0)]


@one
def test_sendbreak_beside_a_kept_launch(tty, cpu):
    # An earlier claim left a launch: it comes at its tick, and the break is made of two settings.
    run = tty(cpu, "set=115200,8N1", "claim=keep", "profile=1,115200,8N1", "launch=15000000,1,0x55", "unclaim", "break=1", "sleep=300000")
    recorded = edges(run.wave("tx"))
    (fell, low), (rose, high) = recorded[:2]
    assert (low, high) == (0, 1) and 100 * tty.ms < rose - fell < 130 * tty.ms
    (kept,) = read_frames([(rose, 1), *recorded[2:]], [profile(115200)])
    assert kept.tick == int(run.line("launch")[0]) and data_of([kept]) == b"\x55"


# RS-485 -------------------------------------------------------------------------------------------------------------


@each_cpu
def test_rs485_lead_and_lag(tty, cpu):
    # The most ms that the core can do, and one more.
    most = 65535 // tty.ms
    on, ticks = f"rs485={ENABLED | ON_SEND}", most * tty.ms
    run = tty(
        cpu,
        "set=115200,8N1",
        "write=41",
        "drain",
        f"{on},{most},{most}",
        "write=4243",
        "drain",
        "sleep=3000",
        f"{on},{most + 1},0",
        f"{on},0,{most + 1}",
        "getrs485",
        f"{on},0,{most}",
        "write=44",
        "drain",
        "sleep=3000",
        f"rs485=0,{most},{most}",
        "getrs485",
        "write=45",
        "drain",
    )
    frames = read_frames(run.wave("tx"), [profile(115200)])
    assert data_of(frames) == b"ABCDE"
    expected = [(frames[:1], 0, 0), (frames[1:3], ticks, ticks), (frames[3:4], 0, ticks), (frames[4:], 0, 0)]
    assert edges(run.wave("de")) == [edge for part in expected for edge in edges(driver_wave(*part))]
    assert run.lines("rs485") == [[], [f"-{errno.EINVAL}"], [f"-{errno.EINVAL}"], [], []]
    assert run.lines("getrs485") == [[f"{ENABLED | ON_SEND:#x}", str(most), str(most)], ["0x0", "0", "0"]]


@one
def test_rs485_own_bytes(tty, cpu):
    # On one pair of wires all that is sent is received, too: it is dropped, except on request. The
    # answer of another device is not.
    stimulus = after("answer", row(1000, b"z", profile(115200)))
    run = tty(
        cpu,
        "set=115200,8N1",
        "write=41",
        "read=1,100",
        f"rs485={ENABLED | ON_SEND},0,0",
        "write=42",
        "read=1,100",
        f"rs485={ENABLED | ON_SEND | DURING_TX},0,0",
        "write=43",
        "read=1,100",
        wires=("tx:rx",),
    )
    assert [bytes.fromhex("".join(line)) for line in run.lines("read")] == [b"A", b"", b"C"]
    run = tty(cpu, "set=115200,8N1", f"rs485={ENABLED | ON_SEND},0,0", "write=42", "drain", "say=answer", "read=1,500", stimulus=stimulus)
    assert run.read() == b"z"


# Receiving ----------------------------------------------------------------------------------------------------------


@each_cpu
def test_receive(tty, cpu):
    words, stimulus, expected = [], [], []
    for baud, form, count in ((115200, "8N1", 600), (230400, "7E2", 300), (9600, "5O1", 20)):
        expected.append(bytes(n * 5 % (1 << int(form[0])) for n in range(count)))
        words += [f"set={baud},{form},inpck", f"say=go{baud}", f"read={count},500"]
        stimulus += after(f"go{baud}", row(2000, expected[-1], profile(baud, form)))
    run = tty(cpu, *words, "icount", stimulus=stimulus)
    assert [bytes.fromhex(*line) for line in run.lines("read")] == expected
    assert run.line("icount") == [str(sum(map(len, expected))), "0", "0", "0", "0", "0", "0"]


def broken_line():
    """A good byte, a wrong parity bit, a stop bit that is space, a break of 25 bits, a good byte; 9600 7E1."""
    form, odd = profile(9600, "7E1"), profile(9600, "7O1")
    frames = [frame(2000, 0x61, form), frame(80000, 0x62, odd), frame(160000, 0x63, form)]
    line = wave(frames)
    stop, low = frames[2].tick + floor(9 * form.period), frames[2].end
    line = [edge for edge in line if edge[0] < stop] + [(stop, 0), (low, 1)]
    low += 40000
    line += [(low, 0), (low + floor(25 * form.period), 1)]
    return normal(line + edges(wave([frame(low + 400000, 0x64, form)])))


ERRORS = {
    "": b"abc\0d",
    "inpck,parmrk": b"a\xff\0b\xff\0c\xff\0\0d",
    "inpck,ignpar": b"a\0d",
    "inpck,ignpar,ignbrk": b"ad",
    "inpck": b"a\0\0\0d",
    "nocread": b"",
}


@each_cpu
def test_errors_on_the_line(tty, cpu):
    words, stimulus = [], []
    for number, (flags, expected) in enumerate(ERRORS.items()):
        # One byte more than what must come, so that it waits for what must not.
        words += [f"set=9600,7E1,{flags}", f"say=go{number}", f"read={len(expected) + 1},40", "icount"]
        stimulus += [f"after go{number}", *lines(broken_line())]
    run = tty(cpu, *words, stimulus=stimulus)
    assert [bytes.fromhex("".join(line)) for line in run.lines("read")] == list(ERRORS.values())
    # Counted whether they are read or not: rx tx frame overrun parity brk buf_overrun
    assert [list(map(int, line)) for line in run.lines("icount")] == [[5 * n, 0, n, 0, n, n, 0] for n in range(1, len(ERRORS) + 1)]


@each_cpu
def test_what_is_lost_is_counted(tty, cpu):
    # 1.25 Mbytes/s is more than this CPU can take: what was read and what is counted are all that came.
    data = bytes(n % 256 for n in range(6000))
    stimulus = after("go", row(2000, data, profile(12500000)))
    run = tty(cpu, "set=12500000,8N1", "say=go", f"count={len(data)},50", "icount", stimulus=stimulus)
    received, jumps = map(int, run.line("count"))
    rx, tx, framing, overrun, parity, breaks, lost = map(int, run.line("icount"))
    assert (framing, parity, breaks, lost) == (0, 0, 0, 0)
    assert received == rx and rx + overrun == len(data)
    assert overrun and 0 < jumps <= 40


# How often it interrupts ----------------------------------------------------------------------------------------------


def interrupts(run):
    """Differences of what /proc/interrupts says."""
    counts = [int(line.split()[1]) for line in run.console if ".serial" in line and line.split()[0].rstrip(":").isdigit()]
    return [b - a for a, b in zip(counts, counts[1:])]


COUNT = "grep [.]serial /proc/interrupts"
TRIGGERS = "/sys/class/tty/ttyPULSE0/rx_trig_"


@one
def test_trigger_counts_interrupts(tty, cpu):
    data = bytes(range(64))
    slow = profile(4800)  # below the rate from which interrupts are made to wait for each other
    run = tty(
        cpu,
        shell=(
            f"echo 1 >{TRIGGERS}bytes",
            COUNT,
            "./tty_steps /dev/ttyPULSE0 set=4800,8N1 say=go read=64,500",
            COUNT,
            f"echo 32 >{TRIGGERS}bytes; echo 0 >{TRIGGERS}age_us",
            COUNT,
            "./tty_steps /dev/ttyPULSE0 set=4800,8N1 say=again read=64,500",
            COUNT,
        ),
        stimulus=[*after("go", row(2000, data, slow)), *after("again", row(2000, data, slow))],
    )
    assert [bytes.fromhex("".join(line)) for line in run.lines("read")] == [data, data]
    each, _, shared = interrupts(run)
    assert each == 64 and shared == 2


@one
def test_as_many_interrupts_as_are_allowed(tty, cpu):
    """1920 a second are moderated, unless they are allowed, or low_latency asks for them: HZ is 100."""
    data = bytes(range(64))
    most, form = "/sys/class/tty/ttyPULSE0/interrupts_max", profile(19200)
    steps = [
        ("moderated", f"cat {most}; echo 1 >{TRIGGERS}bytes", ""),
        ("allowed", f"echo 4000 >{most}; cat {most}", ""),
        ("quick", f"echo 128 >{TRIGGERS}bytes; for v in 1000 99 100001 -1 x ''; do echo $v >{most} && echo $v; done", "lowlatency=1"),
        ("slow", "", "lowlatency=0"),
    ]
    shell = []
    for name, before, step in steps:
        shell += [before or "true", COUNT, f"./tty_steps /dev/ttyPULSE0 set=19200,8N1 {step} say={name} read=64,500", COUNT]
    run = tty(cpu, shell=tuple(shell), stimulus=[entry for name, _, _ in steps for entry in after(name, row(20_000, data, form))])
    assert [bytes.fromhex("".join(line)) for line in run.lines("read")] == [data] * 4
    assert [line for line in run.console if line.isdigit()] == ["1000", "4000", "1000"]
    moderated, _, allowed, _, quick, _, slow = interrupts(run)
    assert moderated < 55 and allowed == quick == 64 and slow < 10


CARRIER = """
status=$(grep -l litepulse0-tty /proc/[0-9]*/comm) && status=${status%comm}
carrier() { echo carrier $(cut -d' ' -f40,41 ${status}stat) $(grep ^voluntary ${status}status | cut -f2); }
"""


@one
def test_few_bytes_take_the_thread_of_the_port(tty, cpu):
    """Its priority is that of a threaded interrupt. An ignored break wakes no program; many bytes at a time take a worker."""
    slow, fast = profile(9600), profile(1_000_000)
    few = [entry for n in range(3) for entry in row(20_000 + n * 300_000, b"\x55", slow)]
    bit = HZ // 9600
    broken = ["after broken", "+20000 rx 0", f"+{20_000 + 14 * bit} rx 1", *lines(wave(row(20_000 + 30 * bit, b"\x55", slow)))]
    many = bytes(n % 251 for n in range(300))
    run = tty(
        cpu,
        shell=(
            CARRIER,
            f"echo 1 >{TRIGGERS}bytes; carrier",
            "./tty_steps /dev/ttyPULSE0 set=9600,8N1,ignbrk say=few read=3,500; carrier",
            "./tty_steps /dev/ttyPULSE0 set=9600,8N1,ignbrk say=broken read=1,500; carrier",
            f"echo 256 >{TRIGGERS}bytes",
            "./tty_steps /dev/ttyPULSE0 set=1000000,8N1 say=many read=300,500; carrier",
        ),
        stimulus=[*after("few", few), *broken, *after("many", row(20_000, many, fast))],
    )
    assert [bytes.fromhex("".join(line)) for line in run.lines("read")] == [b"\x55" * 3, b"\x55", many]
    rows = [[int(word) for word in line] for line in run.lines("carrier")]
    assert {tuple(line[:2]) for line in rows} == {(50, 1)}  # SCHED_FIFO
    slept = [line[2] for line in rows]
    assert [after - before for before, after in zip(slept, slept[1:])][:2] == [3, 1] and slept[3] - slept[2] <= 1


@one
def test_no_silence_while_bytes_come(tty, cpu):
    """Four frames at 1 Mbaud are less than a unit of the core's timer: even so, bytes in a row are
    one interrupt, after the last."""
    data = bytes(range(100))
    run = tty(
        cpu,
        shell=("./tty_steps /dev/ttyPULSE0 set=1000000,8N1", COUNT, "./tty_steps /dev/ttyPULSE0 say=go read=100,500", COUNT),
        stimulus=after("go", row(20_000, data, profile(1_000_000))),
    )
    assert run.read() == data and interrupts(run) == [1]


@one
def test_triggers_are_checked(tty, cpu):
    run = tty(
        cpu,
        shell=(
            f"cat {TRIGGERS}bytes {TRIGGERS}age_us {TRIGGERS}idle_us",
            f"for v in 0 513 -1 x ''; do echo $v >{TRIGGERS}bytes && echo taken $v; done",
            f"for v in 1000001 -1 auto; do echo $v >{TRIGGERS}age_us && echo taken $v; done",
            f"echo 1000001 >{TRIGGERS}idle_us && echo taken idle",
            f"echo 300 >{TRIGGERS}idle_us; echo 0 >{TRIGGERS}age_us; echo 0 >{TRIGGERS}idle_us && echo taken never",
            f"echo 512 >{TRIGGERS}bytes; echo auto >{TRIGGERS}idle_us; cat {TRIGGERS}bytes {TRIGGERS}age_us {TRIGGERS}idle_us",
        ),
    )
    numbers = [line for line in run.console if line.isdigit()]
    assert numbers == ["128", "10000", "4168", "512", "0", "4168"]
    assert not any(line.startswith("taken") for line in run.console)


@one
def test_lone_byte_is_reported_after_four_frames(tty, cpu):
    form = profile(9600)
    run = tty(cpu, "set=9600,8N1", "say=go", "read=1,500", stimulus=after("go", row(2000, b"k", form)))
    assert run.read() == b"k"
    came = read_frames(run.wave("rx"), [form])[0].end
    rises = [tick for tick, level in edges(run.wave("irq")) if level and tick > came - floor(form.period)]
    assert 4 * floor(10 * form.period) - 4096 <= rises[0] - came < 4 * floor(10 * form.period) + 4096


@pytest.mark.parametrize("how", ["default", "low_latency", "each"])
def test_pieces_of_a_modbus_frame(linux, how):
    """60 bytes in a row at 9600 baud, read by an ordinary user. With the setting of tty.md no gap
    is as long as the silence that ends a frame, 3.5 characters; by default there are such gaps."""
    form, data = profile(9600), bytes((n * 37 + 11) % 256 for n in range(60))
    result = linux(linux_rig.CPUS[0]).run_program("pieces", [how, len(data)], stimulus=after("ready go", row(2 * MS, data, form)))
    pieces = [(int(size), int(tick)) for word, size, tick in (line.split() for line in result.lines if line.startswith("piece "))]
    longest = max(later - tick for (_, tick), (_, later) in zip(pieces, pieces[1:]))
    assert sum(size for size, _ in pieces) == len(data)
    assert (longest < floor(35 * form.period)) == (how != "default"), pieces


# Coming and going ---------------------------------------------------------------------------------------------------


@each_cpu
def test_driver_goes_while_in_use(tty, cpu):
    # A reader, a blocked tcdrain() and one that opens it again: all get an error, and the next driver works.
    driver = "/sys/bus/platform/drivers/litepulse"
    run = tty(
        cpu,
        shell=(
            f"name=$(basename {driver}/*.*)",
            "./tty_steps /dev/ttyPULSE0 set=9600,8N1 stop write=41424344 say=waiting drain read=1,1000 write=45 outq &",
            "./tty_steps /dev/ttyPULSE0 read=1,5000 &",
            "sleep 0.1",
            f"echo $name >{driver}/unbind; wait; ls /dev/ttyPULSE0",
            f"echo $name >{driver}/bind",
            "./tty_steps /dev/ttyPULSE0 set=115200,8N1 write=4f4b drain",
        ),
    )
    assert run.lines("outq") == [[f"-{errno.EIO}"]]
    assert data_of(read_frames(run.wave("tx"), [profile(115200)]))[-2:] == b"OK"


@one
def test_suspend_loses_nothing(tty, cpu):
    data = bytes(range(100))
    run = tty(
        cpu,
        shell=(
            "echo devices >/sys/power/pm_test",
            f"./tty_steps /dev/ttyPULSE0 set=19200,8N1 write={hexadecimal(data)} drain say=sent &",
            "sleep 0.02; echo freeze >/sys/power/state; wait",
        ),
    )
    assert "sent" in run.console
    assert data_of(read_frames(run.wave("tx"), [profile(19200)])) == data


@one
def test_board_that_restarted_has_its_settings_again(tty, cpu):
    # The core alone is reset while it holds bytes back: they are gone. What follows has baud, format, lead and lag.
    form, data = profile(57600, "7E1"), bytes(range(0x30, 0x50))
    run = tty(
        cpu,
        "set=57600,7E1",
        f"rs485={ENABLED | ON_SEND},1,1",
        "claim",
        f"write={hexadecimal(data)}",
        "stop",
        "outq",
        "say=reset",
        "sleep=2000",
        "trainstop",
        "sleep=20000",
        "outq",
        "start",
        "drain",
        "write=5a",
        "drain",
        "sleep=2000",
        stimulus=["after reset", "+1000 core_rst 1", "+1100 core_rst 0"],
    )
    assert run.line("trainstop") == [f"-{errno.ESTALE}"]  # the stop was noticed
    frames = read_frames(run.wave("tx"), [form])
    before, after_it = data_of(frames[:-1]), data_of(frames[-1:])
    assert data.startswith(before) and before != data and after_it == b"Z"
    assert edges(run.wave("de"))[-2:] == edges(driver_wave(frames[-1:], MS, MS))
    assert run.lines("outq") == [["1"], ["0"]]


def lines(line):
    """A waveform as lines of a stimulus, relative."""
    return [f"+{tick} rx {level}" for tick, level in edges(line)]


def after(text, frames):
    """Lines of a stimulus: frames on rx, their ticks counted from when the console printed
    `text`."""
    return [f"after {text}", *lines(wave(frames))]
