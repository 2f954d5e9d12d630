# SPDX-License-Identifier: BSD-2-Clause
"""lin0 on the SoC: what programs send and receive, beside the pins, tick by tick; also while the CPU is busy, or halted."""

from itertools import pairwise

import pytest

from sim.core.model import edges
from sim.guest.frames import HZ, wave
from sim.guest.lin_bus import DATA, PIDS, Bus, checksum
from sim.guest.lin_log import ERROR, LinLog
from sim.guest.pins import changes
from sim.linux import linux_rig
from sim.linux.targets import HERE

BUS = Bus(19200, HZ)
RTR, EFF = 0x4000_0000, 0x8000_0000
TIMEOUT = 0x4000
NO_ACK = 0x20  # class of a CAN error frame
MS = HZ // 1000
SLOT = 20 * MS
MODULES = {"litepulse_lin": linux_rig.DRIVER, "litepulse_halt": HERE / "halt"}
CLASSIC = bytes([checksum(DATA)])


class Report(LinLog):
    """What programs/lin.c printed, and the pins."""

    def __init__(self, result):
        super().__init__("\n".join(result.lines))
        self.pins = result.pins

    def edges(self, pin):
        """[(tick, level)] of the changes of a pin, from the high level of a silent line on."""
        return edges([(0, 1), *changes(self.pins, pin)])


@pytest.fixture(params=linux_rig.TESTED_CPUS)
def lin(request, linux):
    """Does steps of programs/lin.c on a bus, with a stimulus [(ticks from its `go`, level)]: Report."""

    def run(steps, stimulus=(), **options):
        guest = linux(request.param)
        made = {f"{name}.ko": guest.module(folder)[name] for name, folder in MODULES.items()}
        moves = ["after ready go", *((tick, "rx", level) for tick, level in stimulus)] if stimulus else ()
        guest = guest.after(" && ".join(f"insmod {name}" for name in made), made)
        return Report(guest.run_program("lin", steps.split(), stimulus=moves, buses=["tx:rx"], **options))

    return run


def headers(count):
    """[(tick, level)] of `count` headers of 0x10, which another master sends."""
    return edges(wave([one for n in range(count) for one in BUS.header(2 * MS + n * SLOT, PIDS[0x10])]))


def first_break(report):
    """The tick at which the first break of another master began."""
    return next(tick for tick, level in report.edges("rx") if not level)


@pytest.mark.parametrize("load", ["load=alone go", "load=loaded go", "load=alone go halt=130"], ids=["idle", "loaded", "halted"])
def test_slave(lin, load):
    """Headers of another master are answered to the tick, and all are reported, with the CPU idle,
    busy, or halted meanwhile."""
    report = lin(f"bitrate={BUS.baud} up send=00000050#{DATA.hex()} {load} wait=40 down", headers(6))
    starts = [first_break(report) + n * SLOT for n in range(6)]
    answers = [BUS.answer(start, DATA + CLASSIC, BUS.bits(1)) for start in starts]
    assert report.edges("tx") == edges(wave([one for answer in answers for one in answer]))
    heard = [((RTR | 0x10, b"", start + 1), (0x10, DATA, answer[0].tick + 1)) for start, answer in zip(starts, answers)]
    assert report.arrived(errors=True) == [frame for both in heard for frame in both]


@pytest.mark.parametrize("before, after", [("load=loaded", ""), ("", "halt=90")], ids=["loaded", "halted"])
def test_master(lin, before, after):
    """Headers and published frames begin at the first tick at which the PTP clock shows their times; our own table answers, too."""
    report = lin(
        f"role=master bitrate={BUS.baud} up send=00000050#{DATA.hex()} {before} at=30 send=010#R at=+20 send=011#{DATA.hex()} "
        f"at=+20 send=012#R {after} wait=60 down"
    )
    at = int(report.found("at")[0][0])
    # What the clock shows at a tick: it runs at its nominal rate, 20 ns a tick.
    ns, tick = next(iter(report.ticks.items()))
    starts = [tick - (ns - (at + n * 20_000_000)) // 20 for n in range(3)]
    responses = [BUS.answer(starts[0], DATA + CLASSIC, BUS.bits(1)), BUS.published(starts[1], PIDS[0x11], DATA + CLASSIC)[3:], []]
    sent = [
        one
        for start, number, response in zip(starts, (0x10, 0x11, 0x12), responses)
        for one in (*BUS.header(start, PIDS[number]), *response)
    ]
    assert report.edges("tx") == edges(wave(sent))
    assert report.arrived(errors=True) == [
        (0x10, DATA, responses[0][0].tick + 1),
        (0x11, DATA, responses[1][0].tick + 1),
        (ERROR | NO_ACK, bytes(8), starts[2] + 1),
        (EFF | TIMEOUT | 0x12, b"", starts[2] + 1),
    ]


def test_cyclic(lin):
    """CAN_BCM sends headers periodically; each is answered at its exact tick."""
    report = lin(f"role=master bitrate={BUS.baud} up send=00000050#{DATA.hex()} cyclic=5,20,010#R wait=60 down")
    breaks = [tick for (tick, level), (end, _) in pairwise(report.edges("tx")) if not level and end - tick == BUS.bits(13)]
    answers = [BUS.answer(start, DATA + CLASSIC, BUS.bits(1)) for start in breaks]
    sent = [one for start, answer in zip(breaks, answers) for one in (*BUS.header(start, PIDS[0x10]), *answer)]
    assert len(breaks) == 5 and report.edges("tx") == edges(wave(sent))
    assert report.arrived(errors=True) == [(0x10, DATA, answer[0].tick + 1) for answer in answers]


def test_replies(lin):
    """CAN_BCM publishes a response at each header (RX_RTR_FRAME): too late for the first one; all
    others are answered to the tick."""
    report = lin(f"bitrate={BUS.baud} up reply=010#{DATA.hex()} load=alone go wait=40 down", headers(6))
    starts = [first_break(report) + n * SLOT for n in range(6)]
    answers = [BUS.answer(start, DATA + CLASSIC, BUS.bits(1)) for start in starts[1:]]
    assert report.edges("tx") == edges(wave([one for answer in answers for one in answer]))
    first = [(RTR | 0x10, b""), (ERROR | NO_ACK, bytes(8)), (EFF | TIMEOUT | 0x10, b"")]
    heard = [((RTR | 0x10, b"", start + 1), (0x10, DATA, answer[0].tick + 1)) for start, answer in zip(starts[1:], answers)]
    assert report.arrived(errors=True) == [(*frame, starts[0] + 1) for frame in first] + [frame for both in heard for frame in both]
    assert report.echoes == [(0x10, DATA, 0)] * 6
