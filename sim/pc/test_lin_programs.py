# SPDX-License-Identifier: BSD-2-Clause
"""Programs for CAN alone work on lin0 as on a CAN device: canplayer, python-can, systemd. Pins
compared."""

import json
import re
import subprocess
import sys

import pytest

from scripts.debian_package import obtain
from sim.core.model import edges
from sim.guest.frames import wave
from sim.guest.lin_bus import DATA, PIDS, Bus, checksum
from sim.pc.debian import programs
from sim.pc.lin_rig import BUS, HZ, LISTENS, SECONDS, breaks, compare, dumped, run
from sim.pc.python import python

LINE = "6.12"
LOGGED = re.compile(r"^\(\d+\.\d+\) lin0 ([0-9A-F]+)#([0-9A-F]*|R)(?: [RT])?$")
MASTER = "echo master >/sys/class/net/lin0/role\n        up"
COUNTED = 'counted() { echo "$1 $(cat /sys/class/net/lin0/statistics/$2)"; }'
SIM_HZ = 48_000_000  # the board of `litepulse --sim`


def response(data, pid=None):
    """Data and checksum: the classic one, or the enhanced one of a protected identifier."""
    return data + bytes([checksum(data, pid)])


def player():
    """{name in the guest: file}: canplayer."""
    return programs("can-programs", "canplayer")


def logged(lines):
    """[(identifier as it is written, data or "R")] of a log as candump writes it."""
    return [(match[1], match[2]) for line in lines if (match := LOGGED.match(line))]


def frame(word, data, start):
    """What a master puts on the bus from a tick on for a line of a log with a standard frame."""
    pid, payload = PIDS[int(word, 16)], b"" if data == "R" else bytes.fromhex(data)
    return BUS.published(start, pid, response(payload)) if payload else BUS.header(start, pid)


def played(result, lines, behind=0):
    """Compares the pin: behind `behind` breaks it has the standard frames among the lines, each
    once, as candump printed that they began.

    A frame that a busy PC gives to the board too late is given to it again, so the next one may be before it.
    """
    left = [(word, data.upper()) for word, data in lines if len(word) == 3]
    tx, began = result.pin("tx"), []
    for start in breaks(tx)[behind:]:
        waves = {line: edges(wave(frame(*line, start))) for line in left}
        # A header is the beginning of a frame with data, too.
        found = [line for line, sent in waves.items() if [edge for edge in edges(tx) if start <= edge[0] <= sent[-1][0]] == sent]
        began.append(max(found, key=lambda line: len(waves[line])))
        left.remove(began[-1])
    assert not left
    printed = [(word, "R" if data == "remote request" else data.hex().upper()) for _, word, data in dumped(result, "TX") if len(word) == 3]
    assert printed == began


@pytest.mark.seconds(30)
@pytest.mark.full
def test_canplayer_plays_what_candump_logged(pc):
    """Each standard frame of the log is on the bus again; logged errors are refused and configure
    nothing."""
    result = run(
        pc(LINE),
        f"""
        {COUNTED}
        {MASTER}
        echo {DATA.hex(" ")} >/sys/class/net/lin0/responses/10
        ./candump -L lin0,0:0,#FFFFFFFF >bus.log & logger=$!
        ./candump -ta -x lin0 >dump & dumper=$!
        listens 2
        ./cansend lin0 010#R
        seen 'RX.* 010 '
        ./cansend lin0 012#R
        seen 'RX.* 00004012 '
        ./cansend lin0 011#A1B2
        seen 'RX.* 011 '
        until [ $(wc -l <bus.log) -ge 7 ]; do usleep 10000; done
        kill $logger $dumper
        echo off >/sys/class/net/lin0/responses/10
        counted refused tx_errors
        (./candump -ta -x lin0 >dump &)
        listens
        ./canplayer -I bus.log
        until [ $(grep -c 'TX.* 01' dump) -ge 5 ]; do usleep 10000; done
        seen 'RX.* 011 ' 2
        counted refused tx_errors
        echo responses $(cat /sys/class/net/lin0/responses/* | sort -u)
        cat bus.log
        """,
        files=player(),
    )
    lines = logged(result.lines)
    # The answer of 0x10 was a slave's; the own frame 0x11 is in the log when it begins and when it was heard.
    assert lines == [
        ("010", "R"),
        ("010", DATA.hex().upper()),
        ("012", "R"),
        ("20000020", "00" * 8),
        ("00004012", ""),
        ("011", "A1B2"),
        ("011", "A1B2"),
    ]
    tx = result.pin("tx")
    before, after = (int(line.split()[1]) for line in result.lines if line.startswith("refused "))
    assert after - before == 2 and "responses off" in result.lines
    start = breaks(tx)[0]
    compare(tx, [[*BUS.header(start, PIDS[0x10]), *BUS.answer(start, response(DATA), BUS.bits(1))]])
    played(result, lines, 3)


def monitored(folder):
    """A log of `litepulse lin monitor`: two frames, one with a wrong checksum, a header without a response, a break without a header."""
    bus, ms = Bus(19200, SIM_HZ), SIM_HZ // 1000
    data = b"\xa1\xb2"
    nodes = [
        bus.published(10 * ms, PIDS[0x10], response(DATA)),
        bus.published(30 * ms, PIDS[0x11], data + bytes([checksum(data) ^ 1])),
        bus.header(50 * ms, PIDS[0x12]),
        bus.header(70 * ms, PIDS[0x20], sync=0x54),
        bus.published(90 * ms, PIDS[0x11], response(data)),
        bus.header(110 * ms, PIDS[0x20]),
    ]
    stimulus, log = folder / "nodes", folder / "bus.log"
    stimulus.write_text("".join(f"{tick} rx {level}\n" for tick, level in edges(wave([one for node in nodes for one in node]))))
    words = ["--sim", "--wire", "none", "--stimulus", stimulus, "lin", "monitor", "--baud", 19200, "--count", 5, "--log", log, "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "litepulse", *map(str, words)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 1, done.stderr  # some frames have an error
    assert [found["error"] for found in json.loads(done.stdout)["frames"]] == [None, "wrong checksum", "no response", "wrong sync", None]
    return log


@pytest.mark.seconds(30)
@pytest.mark.full
def test_canplayer_plays_what_lin_monitor_logged(pc, tmp_path):
    """The frames that were right are on the bus again, the others are refused."""
    log = monitored(tmp_path)
    result = run(
        pc(LINE),
        f"""
        {COUNTED}
        {MASTER}
        (./candump -ta -x lin0 >dump &)
        listens
        ./canplayer -I bus.log
        seen 'RX.* 010 '
        seen 'RX.* 011 '
        counted refused tx_errors
        echo responses $(cat /sys/class/net/lin0/responses/* | sort -u)
        """,
        files={**player(), "bus.log": log},
    )
    played(result, [("010", DATA.hex()), ("011", "A1B2")])
    assert sorted((word, data) for _, word, data in dumped(result, "RX")) == [("010", DATA), ("011", b"\xa1\xb2")]
    assert "refused 3" in result.lines and "responses off" in result.lines


@pytest.mark.seconds(40)
@pytest.mark.full
def test_canplayer_on_a_slave(pc, tmp_path):
    """The data of a log are what the core answers another master's headers with, from one to the next; its headers are refused."""
    starts = [10 * HZ + n * HZ // 5 for n in range(100)]
    nodes = tmp_path / "nodes"
    others = wave([one for start in starts for one in BUS.header(start, PIDS[0x10])])
    nodes.write_text("".join(f"{tick} rx {level}\n" for tick, level in edges(others)))
    logs = [b"(0.000000) lin0 010#R\n(0.100000) lin0 010#4A5593E5\n(0.200000) lin0 00004010#\n", b"(0.000000) lin0 010#A1B2\n"]
    result = run(
        pc(LINE),
        f"""
        {COUNTED}
        up
        (./candump -ta -x lin0 >dump &)
        listens
        ./canplayer -I first.log
        seen 'RX.* 010 .* 4A 55 93 E5' 3
        ./canplayer -I second.log
        seen 'RX.* 010 .* A1 B2' 3
        counted refused tx_errors
        """,
        nodes,
        {**player(), "first.log": logs[0], "second.log": logs[1]},
    )
    tx = edges(result.pin("tx"))
    assert "refused 2" in result.lines
    answers = []
    for start, after in zip(starts, [*starts[1:], float("inf")]):
        found = [edge for edge in tx if start <= edge[0] < after]
        meant = [data for data in (DATA, b"\xa1\xb2") if found == edges(wave(BUS.answer(start, response(data), BUS.bits(1))))]
        # The PC may go, and the recording with it, within an answer.
        assert meant or not found or found[-1] == tx[-1]
        answers += meant
    assert answers == sorted(answers, key=(DATA, b"\xa1\xb2").index) and set(answers) == {DATA, b"\xa1\xb2"}


# What the table of docs/recipes/python-can.md has, and linux-can's way to write the same; then a word that has no meaning.
PYTHON_CAN = r"""
import can
def show(kind, message):
    word = f"{message.arbitration_id:0{8 if message.is_extended_id else 3}X}"
    name = "error" if message.is_error_frame else word
    print(kind, name, "remote" if message.is_remote_frame else message.data.hex() or "-", flush=True)
with can.Bus(channel="lin0", interface="socketcan", receive_own_messages=True) as bus:
    def step(count, *words, **options):
        bus.send(can.Message(*words, **options))
        for _ in range(count):
            message = bus.recv(30)
            if message is None:
                raise SystemExit("nothing is received")
            show("received" if message.is_rx else "sent", message)
    step(1, arbitration_id=0xD0, is_extended_id=True, data=b"\xa1\xb2")
    step(2, arbitration_id=0x10, is_extended_id=False, is_remote_frame=True)
    step(2, arbitration_id=0x10, is_extended_id=False)
    step(2, arbitration_id=0x11, is_extended_id=False, data=bytes.fromhex("4a5593e5"))
    step(2, arbitration_id=0x91, is_extended_id=False, data=b"\x01")
    step(2, arbitration_id=0x111, is_extended_id=False, data=b"\x02")
    step(3, arbitration_id=0x12, is_extended_id=False, is_remote_frame=True)
    step(1, arbitration_id=0x1050, is_extended_id=True, data=b"\x03")
"""
PYTHON_CAN_READS = "import can, can.interfaces.socketcan, encodings.ascii, encodings.utf_8, encodings.idna, traceback, linecache"


@pytest.mark.seconds(40)
@pytest.mark.full
def test_python_can(pc):
    """Debian's python-can sends both dialects of a header and of the enhanced checksum, and receives answers, its own frames and errors."""
    result = run(
        pc(LINE),
        f"""
        {MASTER}
        ./start steps.py || exit 92
        """,
        files={**python("can", PYTHON_CAN_READS, []), "steps.py": PYTHON_CAN.encode()},
    )
    data = b"\x4a\x55\x93\xe5"
    assert [line for line in result.lines if line.split()[0] in ("received", "sent")] == [
        "sent 000000D0 a1b2",
        "sent 010 remote",
        "received 010 a1b2",
        "sent 010 -",
        "received 010 a1b2",
        f"sent 011 {data.hex()}",
        f"received 011 {data.hex()}",
        "sent 091 01",
        "received 011 01",
        "sent 111 02",
        "received 011 02",
        "sent 012 remote",
        "received error 0000000000000000",
        "received 00004012 -",
        "received error 0000000000000000",
    ]
    tx = result.pin("tx")
    starts = breaks(tx)
    answer, enhanced = b"\xa1\xb2", [b"\x01", b"\x02"]
    answered = [[*BUS.header(start, PIDS[0x10]), *BUS.answer(start, response(answer, PIDS[0x10]), BUS.bits(1))] for start in starts[:2]]
    sent = [response(data), *(response(one, PIDS[0x11]) for one in enhanced)]
    published = [BUS.published(start, PIDS[0x11], found) for start, found in zip(starts[2:], sent)]
    assert len(starts) == 6
    compare(tx, [*answered, *published, BUS.header(starts[5], PIDS[0x12])])


# What an administrator writes, and what a system has besides: the rule by which udev gives names, and the user that networkd becomes.
SYSTEM = {
    "etc/udev/rules.d/90-lin.rules": 'SUBSYSTEM=="net", ENV{DEVTYPE}=="lin", ATTR{role}="master"\n',
    "etc/systemd/network/10-lin.link": "[Match]\nType=lin\n\n[Link]\nName=body0\nTransmitQueueLength=100\n",
    "etc/systemd/network/10-lin.network": f"[Match]\nType=lin\n\n[CAN]\nBitRate={BUS.baud}\nRestartSec=250ms\n",
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nsystemd-network:x:998:998::/:/bin/false\n",
    "etc/group": "root:x:0:\nsystemd-network:x:998:\n",
}
RULE = "usr/lib/udev/rules.d/80-net-setup-link.rules"


@pytest.mark.seconds(40)
@pytest.mark.full
def test_systemd_networkd(pc):
    """udev gives a name, a queue and a role by the type of the device, networkd bit rate and restart-ms, and brings it up: it sends."""
    guest = pc(LINE)
    loaded, can = guest.with_can()
    before, driver = guest.attaching()
    system = {f"system/{name}": text.encode() for name, text in SYSTEM.items()}
    result = guest.run(
        f"""
        mkdir -p /run/systemd && cp -r system/* /
        ./systemd-udevd --daemon
        (SYSTEMD_LOG_TARGET=console ./systemd-networkd 2>networkd.log &)
        {loaded}
        {before}
        insmod litepulse_lin.ko || exit 91
        tries=0
        until ./ip -details link show body0 2>/dev/null | grep -q ERROR-ACTIVE; do
            tries=$((tries + 1))
            [ $tries -lt 300 ] || {{ cat networkd.log; ./ip -details link; exit 92; }}
            usleep 10000
        done
        ./ip -details link show body0
        number=$(cat /sys/class/net/body0/ifindex)
        until grep -q ADMIN_STATE=configured /run/systemd/netif/links/$number; do usleep 10000; done
        cat networkd.log
        (./candump -L body0 >dump &)
        {LISTENS}
        listens
        ./cansend body0 012#A1B2
        until [ $(grep -c 012#A1B2 dump) -ge 2 ]; do usleep 10000; done
        """,
        {
            **driver,
            **can,
            **programs("systemd-pc", "systemd-networkd", "systemd-udevd"),
            **system,
            f"system/{RULE}": obtain("systemd-pc").path / RULE,
        },
        boards=[{"hz": HZ, "options": ["--bus"]}],
        seconds=SECONDS,
    )
    shown = " ".join(result.lines)
    assert "lin0: Interface name change detected, renamed to body0." in shown and "body0: Gained carrier" in shown
    assert f"bitrate {BUS.baud}" in shown and "restart-ms 250" in shown and "qlen 100" in shown
    (start,) = breaks(result.pin("tx"))
    compare(result.pin("tx"), [BUS.published(start, PIDS[0x12], response(b"\xa1\xb2"))])
