# SPDX-License-Identifier: BSD-2-Clause
"""lin0 of a simulated board on a PC, for independent programs; the output of candump, and what is
on the pins."""

import re
from itertools import pairwise

from sim.core.model import edges
from sim.guest.frames import wave
from sim.guest.lin_bus import SLOW_BUS as BUS
from sim.guest.lin_bus import SLOW_HZ as HZ

SECONDS = 240  # for a busy machine
DUMPED = re.compile(r"^ \((\d+)\.(\d+)\)  lin0  (TX|RX) . .\s+([0-9A-F]+)   \[\d\]  ?(.*)$")


# A busy machine takes its time. Programs that receive, as many as given (1), have begun; lin0 is
# up, and all set up, which may come a little later; candump has printed something so often (1).
LISTENS = "listens() { until [ $(grep -c ' raw$' /proc/net/can/rcvlist_all) -ge ${1:-1} ]; do usleep 10000; done; }"
STEPS = f"""
        {LISTENS}
        up() {{ ./ip link set lin0 up; until ./ip -details link show lin0 | grep -q ERROR-ACTIVE; do usleep 10000; done; }}
        seen() {{ until [ $(grep -c "$1" dump) -ge ${{2:-1}} ]; do usleep 10000; done; }}
"""


def run(guest, command, stimulus=None, files=None, **options):
    """The Run of a command: lin0 is down, its bit rate set; `dump` is to have the output of
    `candump`."""
    loaded, can = guest.with_can()
    before, driver = guest.attaching()
    nodes = ["--stimulus", stimulus] if stimulus else []
    return guest.run(
        f"""
        {loaded}
        {before}
        insmod litepulse_lin.ko || exit 91
        await /sys/class/net/lin0
        ./ip link set lin0 type can bitrate {BUS.baud} restart-ms 100
        touch dump
        {STEPS}
        {command}
        cat dump
        ./ip link set lin0 down
        rmmod litepulse_lin
        """,
        {**driver, **can, **(files or {})},
        boards=[{"hz": HZ, "options": ["--bus", *nodes]}],
        **{"seconds": SECONDS, **options},
    )


def dumped(result, way):
    """[(microseconds, id, data)] of what candump printed for a direction."""
    found = [match for line in result.lines if (match := DUMPED.match(line))]
    return [
        (int(s) * 10**6 + int(us), word, data if data == "remote request" else bytes.fromhex(data))
        for s, us, direction, word, data in (match.groups() for match in found)
        if direction == way
    ]


def breaks(recorded):
    """Ticks at which breaks begin on a pin."""
    return [tick for (tick, level), (end, _) in pairwise(recorded) if not level and end - tick == BUS.bits(13)]


def compare(recorded, frames):
    """The pin has these frames, to the tick. Between them may be bytes of an attempt for which a busy PC gave the break too late."""
    for frame in frames:
        sent = edges(wave(frame))
        found = [edge for edge in edges(recorded) if sent[0][0] <= edge[0] <= sent[-1][0]]
        assert found == sent, (found, sent, edges(recorded))
