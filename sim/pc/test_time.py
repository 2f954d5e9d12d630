# SPDX-License-Identifier: BSD-2-Clause
"""/dev/ptp0 of a board on the cable, as independent programs use it: the kernel's testptp, phc2sys
and ts2phc of linuxptp."""

import re
import statistics

import pytest

from scripts.debian_package import linux_source
from sim.guest.pins import pulses
from sim.long_runs import LONG
from sim.pc import pc_rig
from sim.pc.debian import programs
from sim.pc.quiet import judged

ONE = "6.12"
HZ = 250_000  # so slow a board keeps its time, also on a busy machine


def testptp(guest):
    """The kernel's own program, with the header of its kernel."""
    source, _ = linux_source()
    return guest.program(source / "tools/testing/selftests/ptp/testptp.c", includes=(pc_rig.ptp_header(),))


testptp.__test__ = False


def test_testptp(pc):
    """Capabilities, rate, shift, offsets; output, and its stamps over a wire, to the ns of the pins."""
    guest, period, width = pc(ONE), 50_000_000, 10_000_000
    result = guest.attached(
        f"""
        ./testptp -c
        ./testptp -f 1000
        ./testptp -f 0
        ./testptp -n 1000000
        ./testptp -T 1000
        ./testptp -x 2
        ./testptp -k 2
        ./testptp -p {period} -H 0 -w {width}
        ./testptp -i 4 -e 5
        ./testptp -p 0
    """,
        {"testptp": testptp(guest)},
        wires=["tx:rx"],
    )
    text, tick_ns = "\n".join(result.lines), 10**9 // result.hz
    assert [int(number) for number in re.findall(r"(?m)^ +(\d+) [a-z]", text)[:9]] == [100_000_000, 0, 5, 1, 1, 6, 0, 0, 0]
    assert text.count("frequency adjustment okay") == 2 and "time shift okay" in text and "set time okay" in text
    assert "extended timestamp request returned 2 samples" in text and "system and phc clock time offset request okay" in text
    assert text.count("periodic output request okay") == 2
    stamps = [int(seconds) * 10**9 + int(ns) for seconds, ns in re.findall(r"event index 4 at (\d+)\.(\d+)", text)]
    # Without flags it asks for rising edges: those of the pulses, seen one tick later over the wire.
    high = pulses(result.pins, "tx")
    assert len(stamps) == 5 and {wide for _, wide in high} == {width // tick_ns}
    assert {later - tick for (tick, _), (later, _) in zip(high, high[1:])} == {period // tick_ns}
    assert {later - stamp for stamp, later in zip(stamps, stamps[1:])} == {period}
    assert {stamp % period for stamp in stamps} <= {tick_ns + rest for rest in range(tick_ns)}


def servo(result, program):
    """[(offset in ns, state of the servo), ...] of the output of phc2sys or ts2phc."""
    return [(int(offset), state) for offset, state in re.findall(rf"{program}\[.*? offset +(-?\d+) (s\d)", "\n".join(result.lines))]


@pytest.mark.seconds(45)
def test_phc2sys(pc):
    """Makes the board's clock, which is half a century off, follow the PC's: steps once, locks, and stays locked."""
    count = 800 if LONG else 200
    guest = pc(ONE)

    def run():
        # Without -L 0 it takes a stall of this machine for a jump of the clock, and begins again. It ends by its count of lines, not by
        # a time: 8 a second, fewer on a busy machine.
        return guest.attached(
            f"./testptp -T 1000; ./phc2sys -s CLOCK_REALTIME -c /dev/ptp0 -O 0 -m -R 8 -L 0 -q | head -n {count}",
            {**programs("linuxptp", "phc2sys"), "testptp": testptp(guest)},
            boards=[{"hz": HZ}],
            seconds=count,
        )

    def check(result):
        samples = servo(result, "phc2sys")
        states = [state for _, state in samples]
        locked = [abs(offset) for offset, state in samples if state == "s2"]
        assert states == ["s0", "s1"] + ["s2"] * (count - 2)
        # How well depends on how busy the machine is that simulates both.
        assert abs(samples[0][0]) > 10**18 and statistics.median(locked) < 50_000_000

    judged(run, check)


def test_ts2phc(pc):
    """Disciplines the clock by an edge each second on an input, here its own, over a wire: locks to it."""
    guest = pc(ONE)
    result = guest.attached(
        """
        ./tai 37
        ./testptp -p 1000000000 -H 0 -w 100000
        timeout 12 ./ts2phc -s generic -c /dev/ptp0 --ts2phc.pin_index=0 --ts2phc.channel=0 -m -q -l 6""",
        {**programs("linuxptp", "ts2phc"), "testptp": testptp(guest), "tai": guest.guest_program("tai")},
        boards=[{"hz": HZ, "wires": ["tx:aux0"]}],
    )
    samples = servo(result, "ts2phc")
    assert len(samples) > 4 and [state for _, state in samples[:2]] == ["s0", "s1"] and {state for _, state in samples[2:]} == {"s2"}
    # ts2phc infers the second from the time when it reads the stamp; the wire is one tick, and the output follows the clock some ms later.
    late = statistics.median((offset + 500_000_000) % 10**9 - 500_000_000 for offset, _ in samples[2:])
    assert 0 < late < 3 * 10**9 // HZ


@pytest.mark.seconds(45)
def test_chrony(pc):
    """chronyd takes the rising edges of an input as a PPS and selects it. When it ends it leaves the pin without a function."""
    guest = pc(ONE)
    configuration = """
        refclock PHC /dev/ptp0:extpps:channel=0 poll 0 precision 1e-7 refid PPS
        local stratum 5
        cmdport 0
        bindcmdaddress /run/chrony/socket
        pidfile /run/chrony/pid
    """
    result = guest.attached(
        """
        mkdir -p /etc /var/lib/chrony /run/chrony
        chmod 700 /run/chrony
        echo root:x:0:0:root:/:/bin/sh >/etc/passwd
        echo root:x:0: >/etc/group
        ./testptp -p 1000000000 -w 10000000 >output.log
        ./chronyd -x -d -u root -f chrony.conf >chronyd.log 2>&1 & pid=$!
        until ./chronyc -h /run/chrony/socket -n sources 2>&1 | grep '^#\\*'; do kill -0 $pid || break; usleep 500000; done
        kill $pid
        wait $pid
        echo "chronyd $?"
        cat chronyd.log
        echo end
        ./testptp -l | grep in0
        ./testptp -i 0 -e 1 2>&1
        ./testptp -i 0 -L 0,1
        ./testptp -l | grep in0
        ./testptp -i 0 -e 1
        """,
        {**programs("chrony", "chronyd", "chronyc"), "testptp": testptp(guest), "chrony.conf": configuration.encode()},
        boards=[{"hz": HZ, "wires": ["tx:aux0"]}],
        seconds=120,
    )
    assert re.match(r"#\* PPS ", result.lines[0]) and result.lines[1] == "chronyd 0", result.lines
    *afterwards, event = result.lines[result.lines.index("end") + 1 :]
    assert afterwards == [
        "name in0 index 0 func 0 chan 0",
        "PTP_EXTTS_REQUEST: Device or resource busy",
        "set pin function okay",
        "name in0 index 0 func 1 chan 0",
        "external time stamp request okay",
    ]
    # The output's edge is on the second; the wire is one tick.
    found = re.fullmatch(r"event index 0 at \d+\.(\d{9})", event)
    assert found and 10**9 // HZ <= int(found[1]) < 2 * 10**9 // HZ, event
