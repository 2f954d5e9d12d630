# SPDX-License-Identifier: BSD-2-Clause
"""A board on the cable: the line discipline finds it, makes its devices, and takes them away again, whatever happens meanwhile."""

import errno
import random
import re
from fractions import Fraction

import pytest

from litepulse import attach
from sim import series
from sim.guest.frames import data_of, frame, profile, read_frames, wave
from sim.guest.frames import edges as levels
from sim.guest.pins import changes, pulses
from sim.guest.rate_register import RateRegister
from sim.linux.test_chardev import Report
from sim.pc import fuzz_pull, pc_rig
from sim.pc.board import HZ
from sim.pc.debian import programs
from sim.pc.quiet import judged

every = pytest.mark.parametrize("line", series.each(pc_rig.LINES))
ONE = "6.12"
SYSFS = "/sys/bus/platform/drivers/litepulse/litepulse.*"
DEVICES = ("/dev/litepulse0", "/dev/ttyPULSE0", "/dev/ptp0")
LOADED = "insmod litepulse.ko && insmod litepulse_uartbone.ko || exit 97"


def everything(guest):
    """Files of a run that attaches by itself."""
    return {**guest.driver(), "attach": guest.guest_program("attach"), "tty_steps": guest.guest_program("tty_steps")}


def numbers(result, name):
    """[[word, ...], ...] behind the lines that begin with `name`."""
    return [line.split()[1:] for line in result.lines if line.split()[:1] == [name]]


@every
@pytest.mark.seconds(20)
def test_attach_and_loopback(pc, line):
    """A byte is sent by the tty, over TX to RX, and received again; the pin shows it; the link
    reports its state."""
    data = bytes(range(0, 250, 7))
    result = pc(line).attached(
        f"grep -H . {SYSFS}/uartbone/*; ./tty_steps /dev/ttyPULSE0 set=460800,8N1 write={data.hex()} read={len(data)},500 drain icount",
        {"tty_steps": pc(line).guest_program("tty_steps")},
        wires=["tx:rx"],
    )
    link = dict(re.findall(r"uartbone/(\w+):(.+)", "\n".join(result.lines)))
    assert link["port"] == "ttyUSB0" and link["checked"] == "1" and int(link["baud"]) == 115200 and link["failures"] == "0"
    assert 0 < int(link["poll_us"]) <= int(link["idle_us"])
    (read,), (counted,) = numbers(result, "read"), numbers(result, "icount")
    assert bytes.fromhex(*read) == data and counted[:3] == [str(len(data))] * 2 + ["0"]
    assert data_of(read_frames(result.pin("tx"), [profile(460800)])) == data


def test_pulses_up_then_the_tty(pc):
    """Pulses from 0 to 1 and back over the cable; when their claim has ended the line idles high again, and a byte has its edges."""
    guest = pc(ONE)
    result = guest.attached(
        "./chardev pulses-up; ./tty_steps /dev/ttyPULSE0 set=115200,8N1 write=4c drain",
        {name: guest.guest_program(name) for name in ("chardev", "tty_steps")},
    )
    report = Report(result.lines)
    assert [report.result(name)[0] for name in ("profile", "rest", "start", "close")] == [0] * 4
    (start,) = report.one("train")
    rises = [int(start + k * Fraction(3002, 3)) for k in range(9)]
    (rest, low), *edges = changes(result.pins, "tx")
    assert low == 0 and rest < start and edges[:18] == [edge for tick in rises for edge in ((tick, 1), (tick + 100, 0))]
    (end, high), *byte = edges[18:]
    assert high == 1 and end > rises[-1] + 100
    assert byte[0][0] > end and byte == levels(wave([frame(byte[0][0], 0x4C, profile(115200))]))


@every
def test_detach(pc, line):
    """When its holder ends, the devices disappear, and both modules can be removed."""
    guest = pc(line)
    gone = "; ".join(f"gone {name}" for name in DEVICES)
    result = guest.run(
        f"""{LOADED}
        ./attach /dev/ttyUSB0 & await /dev/ptp0
        kill $!; {gone}
        rmmod litepulse_uartbone && rmmod litepulse && ! grep litepulse /proc/modules""",
        everything(guest),
    )
    assert result.lines == ["attached /dev/ttyUSB0"]


@every
def test_attach_to_a_port_that_is_not_ready(pc, line):
    """The node of a port is there before the port can be opened: attach waits for it, but not
    forever."""
    guest = pc(line)
    result = guest.run(
        f"""{LOADED}
        mv /dev/ttyUSB0 /dev/ready; mknod /dev/ttyUSB0 c 188 9
        (usleep 300000; mv /dev/ready /dev/ttyUSB0) &
        ./attach /dev/ttyUSB0 & await /dev/litepulse0
        mknod /dev/ttyUSB9 c 188 9; ./attach /dev/ttyUSB9
        ./attach /dev/ttyUSB8; true""",
        everything(guest),
    )
    assert result.lines == ["attached /dev/ttyUSB0", f"attach /dev/ttyUSB9 {errno.ENXIO}", f"attach /dev/ttyUSB8 {errno.ENOENT}"]


def test_ldattach(pc):
    """util-linux' own program does it, too, by number; it stays as a daemon that can be killed."""
    guest = pc(ONE)
    awaited, gone = ("\n".join(f"{word} {name}" for name in DEVICES) for word in ("await", "gone"))
    result = guest.run(
        f"""{LOADED}
        ./ldattach -8 -n -1 -s 115200 {attach.N_LITEPULSE} /dev/ttyUSB0 || exit 96
        {awaited}
        ./tty_steps /dev/ttyPULSE0 set=460800,8N1 write=4c50 read=2,500
        kill $(pidof loader)
        {gone}""",
        {**everything(guest), **programs("util-linux", "ldattach")},
        wires=["tx:rx"],
    )
    assert numbers(result, "read") == [["4c50"]]


def test_attach_and_detach_many_times(pc):
    """A hundred times: names are used again, nothing is left behind, and the last one works."""
    guest = pc(ONE)
    result = guest.run(
        f"""{LOADED}
        for turn in $(seq 100); do
            ./attach /dev/ttyUSB0 >attach.log &
            await /dev/ptp0
            kill $!
            gone /dev/litepulse0; gone /dev/ttyPULSE0; gone /dev/ptp0
        done
        ls {SYSFS} 2>/dev/null && exit 95
        ./attach /dev/ttyUSB0 & await /dev/ptp0
        ./tty_steps /dev/ttyPULSE0 set=460800,8N1 write=4c50 read=2,500
        """,
        everything(guest),
        wires=["tx:rx"],
        seconds=120,
    )
    assert numbers(result, "read") == [["4c50"]]


def test_attach_and_detach_at_once(pc):
    """No step waits for another: a port is attached, and detached at every moment of that."""
    guest = pc(ONE)
    result = guest.run(
        f"""{LOADED}
        for turn in $(seq 60); do
            ./attach /dev/ttyUSB0 >attach.log &
            usleep $((turn % 12 * 5000))
            kill $!
            wait $! 2>/dev/null
        done
        for device in /sys/bus/platform/devices/litepulse.*; do gone $device; done
        ./attach /dev/ttyUSB0 >attach.log & await /dev/litepulse0; await /dev/ptp0
        ./tty_steps /dev/ttyPULSE0 set=460800,8N1 write=4c50 read=2,500
        """,
        everything(guest),
        wires=["tx:rx"],
        seconds=120,
    )
    assert numbers(result, "read") == [["4c50"]]


@pytest.mark.parametrize("line, keep", [(ONE, "end"), *((line, "keep") for line in pc_rig.LINES)])
def test_unplug(pc, line, keep):
    """Unplugged under a reader, a writer and a train: all fail. The board goes on; found again, it
    is stopped unless that was kept."""
    guest, boards = pc(line), []

    def pull(machine):
        boards.append(machine.adapters[0].board)
        machine.unplug(0)

    result = guest.attached(
        f"""./unplug {keep}
        gone /dev/litepulse0; gone /dev/ttyPULSE0; gone /dev/ptp0
        sleep 1
        echo again; await /dev/ttyUSB0
        ./attach /dev/ttyUSB0 & await /dev/litepulse0
        ./unplug found""",
        {"unplug": guest.guest_program("unplug")},
        when={"ready pull": pull, "again": lambda machine: machine.plug(0, boards[0])},
    )
    report = Report(result.lines)
    for label in ("read", "claim", "status", "launch"):
        assert report.result(label) == (-1, "ENODEV"), label
    assert report.result("write")[0] == -1 and report.result("close") == (0, 0) and report.one("polled") == [1, 0x18]
    running, when = report.one("running")
    assert report.one("stopped")[0] == 0 and running == (keep == "keep")
    # One pulse was before the pull, 40 fit into the second after it: 10 show that it went on, on a slow machine too. Bytes are between
    # the pulses, and may begin where one ends.
    first = next(tick for tick, width in pulses(result.pins, "tx", active=0) if width == 100)
    falls = [tick for tick, level in result.pin("tx")[1:] if not level]
    train = [tick for tick in falls if (tick - first) % 50_000 == 0]
    assert train == [first + 50_000 * n for n in range(len(train))] and len(train) > 10
    assert train[-1] > when - 50_000 if running else train[-1] < when
    assert train[-1] == max(falls)


@pytest.mark.seconds(60)
def test_pulled_out_under_random_calls():
    """Whatever calls several processes make, also while it is plugged in again. `make fuzz` unplugs
    it 200 times."""
    calls, unplugs = fuzz_pull.pull(1, rounds=5, timeout=300)
    assert calls > 500 and unplugs == 5


def test_two_boards(pc):
    """Each device belongs to its own board, identified by its port; one is unplugged, and the other
    is not affected."""
    guest = pc(ONE)
    result = guest.attached(
        """
        for device in /sys/bus/platform/devices/litepulse.*; do
            port=$(cat $device/uartbone/port)
            tty=$(basename $(find $device/ -path '*/tty/ttyPULSE?'))
            echo "port $tty $port"
            printf $port >/dev/$tty
            if [ $port = ttyUSB0 ]; then pulled=$tty; else left=$tty; fi
        done
        ( sleep 0.5; echo pull ) &
        while [ -e /dev/$pulled ]; do printf . >/dev/$left; done
        printf last >/dev/$left""",
        boards=[{}, {}],
        when={"pull": lambda machine: machine.unplug(0)},
    )
    first, second = (data_of(read_frames(board.pins_of("tx"), [profile(9600, hz=board.hz)])) for board in result.boards)
    assert sorted(port for _, port in numbers(result, "port")) == ["ttyUSB0", "ttyUSB1"]
    assert first == b"ttyUSB0" and second.startswith(b"ttyUSB1..") and second.endswith(b"..last")
    assert set(second[len("ttyUSB1") : -len("last")]) == set(b".")


class BadCable:
    """Loses, doubles and damages about one byte in two thousand, in both directions, the same ones each time."""

    def __init__(self):
        self.random, self.faults = random.Random(5), 0

    def __call__(self, to_the_pc, data):
        out = bytearray()
        for byte in data:
            fault = self.random.randrange(2500)
            self.faults += fault < 3
            out += {0: b"", 1: bytes([byte, byte]), 2: bytes([byte ^ 1 << self.random.randrange(8)])}.get(fault, bytes([byte]))
        return bytes(out)


def test_a_bad_cable(pc):
    """Nothing is lost, nothing done twice."""
    guest, cable, data = pc(ONE), BadCable(), bytes(range(256)) * 4

    def damage(machine):
        machine.adapters[0].mangle = cable

    result = guest.attached(
        f"""
        echo damage; usleep 200000
        ./tty_steps /dev/ttyPULSE0 set=1000000,8N1 write={data.hex()} read={len(data)},500 drain icount
        grep -H . {SYSFS}/uartbone/*""",
        {"tty_steps": guest.guest_program("tty_steps")},
        wires=["tx:rx"],
        when={"damage": damage},
    )
    link = dict(re.findall(r"uartbone/(\w+):(.+)", "\n".join(result.lines)))
    assert cable.faults > 10 and int(link["repeats"]) > 5 and link["failures"] == "0"
    assert data_of(read_frames(result.pin("tx"), [profile(1_000_000)])) == data
    assert bytes.fromhex(*numbers(result, "read")[0]) == data and numbers(result, "icount")[0][:4] == [str(len(data))] * 2 + ["0", "0"]


# ticks between events: more than the cable carries, for this long
FLOOD_GAP, FLOOD_SECONDS = 32, 10


@pytest.mark.seconds(30)
def test_a_flood_lets_others_in(pc):
    """While more events happen than the cable carries the driver polls without a pause; other users
    still get the bus."""
    guest = pc(ONE)
    result = guest.attached(
        f"""
        uptime() {{ read up rest </proc/uptime; }}
        uptime; echo begun $up
        ./cable_bench events {FLOOD_GAP} {FLOOD_SECONDS * HZ // FLOOD_GAP} >/dev/null &
        sleep 3
        for n in 0 1 2 3 4 5 6 7 8 9; do
            uptime; from=$up; count=$(cat {SYSFS}/uartbone/transactions); uptime; echo asked $from $up $count
        done
        kill $!""",
        {"cable_bench": guest.guest_program("cable_bench")},
        boards=[{"wires": ["tx:aux0"], "record": False, "bus_divider": 1}],
    )
    ((begun,),) = numbers(result, "begun")
    requested = [tuple(map(float, words)) for words in numbers(result, "asked")]
    assert len(requested) == 10 and requested[-1][1] < float(begun) + FLOOD_SECONDS, requested
    assert max(until - since for since, until, _ in requested) < 1 and requested[-1][2] > requested[0][2], requested


def test_a_board_that_falls_silent(pc):
    """Calls fail in time, none hangs; when it answers again, all goes on."""
    guest = pc(ONE)

    def cut(machine):
        machine.adapters[0].mangle = lambda to_the_pc, data: b""

    def mend(machine):
        machine.adapters[0].mangle = None

    result = guest.attached(
        """
        echo cut
        usleep 100000
        date +%s
        ./tty_steps /dev/ttyPULSE0 tick tick
        date +%s
        echo mend
        for turn in $(seq 50); do usleep 100000; ./tty_steps /dev/ttyPULSE0 tick | grep 'tick [1-9]' && break; done
        ./tty_steps /dev/ttyPULSE0 set=1000000,8N1 write=4c50 read=2,500""",
        {"tty_steps": guest.guest_program("tty_steps")},
        wires=["tx:rx"],
        when={"cut": cut, "mend": mend},
    )
    print(result.text)
    begun, ended = (int(line) for line in result.lines if line.isdigit())
    assert numbers(result, "tick")[:2] == [[f"-{errno.EIO}"]] * 2 and ended - begun < 5
    assert numbers(result, "read") == [["4c50"]]


def test_a_board_that_restarted(pc):
    """Its power failed, the adapter's did not: the driver notices, and writes its settings again,
    although the old board had refused some."""
    guest = pc(ONE)
    with pc_rig.Board(wires=["tx:rx"]) as fresh:
        result = guest.attached(
            """
            ./tty_steps /dev/ttyPULSE0 set=460800,7E2 write=4c read=1,500
            ./refuse
            echo restart
            for turn in $(seq 500); do dmesg | grep -q 'the board was reset' && break; usleep 10000; done
            ./tty_steps /dev/ttyPULSE0 write=50 read=1,500 drain""",
            {name: guest.guest_program(name) for name in ("tty_steps", "refuse")},
            wires=["tx:rx"],
            when={"restart": lambda machine: machine.adapters[0].connect(fresh)},
            complaints=["the board was reset"],
        )
        fresh.end()
    assert not [line.text for line in result.console if "does not take" in line.text]
    assert data_of(read_frames(fresh.pins_of("tx"), [profile(460800, "7E2")])) == b"P"


def test_delays_of_rs485(pc):
    """With a clock of which a millisecond is no whole number of ticks: neither lead nor lag is
    shorter than requested."""
    guest, hz = pc(ONE), 333_333
    steps = "set=115200,8N1 rs485=3,1,2 write=42 drain"
    result = guest.attached(
        f"./tty_steps /dev/ttyPULSE0 {steps}; usleep 100000", {"tty_steps": guest.guest_program("tty_steps")}, boards=[{"hz": hz}]
    )
    (byte,) = read_frames(result.pin("tx"), [profile(115200)])
    lead, lag = -(-hz // 1000), -(-2 * hz // 1000)
    assert levels(result.pin("de")) == [(byte.tick - lead, 1), (byte.end + lag, 0)]


def test_a_close_that_does_not_wait(pc):
    """A signal interrupts the wait of close(): what was under way may be lost, but nothing of what is written after the next open."""
    guest = pc(ONE)
    result = guest.run_program("hurry", [60])
    sent = data_of(read_frames(result.pin("tx"), [profile(9600, hz=result.hz)]))
    assert re.fullmatch(rb"(x?last){60}", sent), sent


@pytest.mark.seconds(20)
def test_bit_rate(pc):
    """Raised for bridge and port together, lowered, refused; a rate that the line does not carry is given up.

    Bytes pass only while bridge and port have the same.
    """
    guest = pc(ONE)
    tries = (1_000_000, 115_200, 500_000, 1_000_000, 3_000_000, 500_000, 4_000_000, 150_000, 0)

    def run():
        line = RateRegister(carries=[500_000, 1_000_000])

        def begin(machine):
            adapter = machine.adapters[0]
            adapter.watch_baud()

            def pass_on(to_the_pc, data):
                line.port = adapter.baud() or line.BASE
                return line(to_the_pc, data)

            adapter.mangle = pass_on

        result = guest.attached(
            f"""
            echo begin; usleep 100000
            cd {SYSFS}/uartbone
            for baud in {" ".join(map(str, tries))}; do
                echo $baud 2>/dev/null >baud; echo try $baud $? $(cat baud) $(stty -F /dev/ttyUSB0 | grep -o 'speed [0-9]*')
            done
            cd - >/dev/null
            ./tty_steps /dev/ttyPULSE0 set=31250,8N1 write=4c50 read=2,500""",
            {"tty_steps": guest.guest_program("tty_steps")},
            # So slow a board sleeps most of the time, and answers soon: the driver waits 0.2 s, twice.
            boards=[{"hz": 250_000, "wires": ["tx:rx"]}],
            when={"begin": begin},
        )
        return result, line

    def check(seen):
        result, line = seen
        now, wanted = 115_200, []
        for baud in tries:
            works = baud in (115_200, 500_000, 1_000_000)
            now = baud if works else 115_200 if baud == 3_000_000 else now
            wanted.append([str(baud), "0" if works else "1", str(now), "speed", str(now)])
        assert numbers(result, "try") == wanted
        assert numbers(result, "read") == [["4c50"]]
        # Lowered by a request, except where no request gets through any more.
        words = [line.word_of(baud) for baud in (1_000_000, 115_200, 500_000, 115_200, 1_000_000, 115_200, 3_000_000, 500_000)]
        assert line.requested == words

    judged(run, check)
