# SPDX-License-Identifier: BSD-2-Clause
"""A LIN slave by the driver's ioctls, in the debug kernel, on a simulated board whose RX is a bus: the pins are compared, tick by tick."""

import re
from dataclasses import dataclass

import pytest

from sim.cocotb_rig import run_folder
from sim.core.model import edges
from sim.driver.slow_lin import boot_on_bus
from sim.guest.frames import wave
from sim.guest.lin_bus import PIDS, checksum
from sim.guest.lin_bus import SLOW_BUS as BUS
from sim.guest.lin_bus import SLOW_HZ as HZ

pytestmark = pytest.mark.seconds(60)
FIRST, SLOT = 6 * HZ, 3 * HZ // 25
IDS = (0x10, 0x11, 0x12, 0x20, 0x01)  # of the headers, in turn
SPACE = 200  # ticks
# a header and the longest answer are over this long after the header began
QUIET = BUS.bits(34 + 9 * 12) + 9 * SPACE


@dataclass(frozen=True)
class Entry:
    """What a step `entry=` says."""

    data: bytes
    enhanced: bool = False
    once: bool = False
    own: int | None = None
    flip: int = 0

    @classmethod
    def of(cls, text):
        """None: it is off."""
        model, _, data = text.partition(",")
        word = {name: int(value, 16) for name, value in re.findall(r"\+(own|flip)=(\w+)", model)}
        return (
            None if data == "off" else cls(bytes.fromhex(data), "enhanced" in model, "+once" in model, word.get("own"), word.get("flip", 0))
        )

    def bytes(self, number):
        """Data and checksum."""
        right = checksum(self.data, PIDS[number] if self.enhanced else None)
        return self.data + bytes([right ^ self.flip if self.own is None else self.own])


def run(steps, *, slots=0):
    """([(before, after, step)], edges of TX): does the steps of cable/slave.c, while a master sends
    `slots` headers."""
    list_of_steps = run_folder("lin-entries") / "steps"
    list_of_steps.write_text(steps)
    headers = [one for n in range(slots) for one in BUS.header(FIRST + n * SLOT, PIDS[IDS[n % len(IDS)]])]
    stimulus = edges(wave(headers)) if headers else ()
    booted, tx = boot_on_bus(["run /slave /dev/ttyS0 /steps"], ["slave"], stimulus, files={"steps": list_of_steps})
    done = [(int(before), int(after), step) for before, after, step in re.findall(r"(?m)^step (\d+) (\d+) (.*)$", booted.lines(3))]
    return done, edges(tx)


class Table:
    """A model of the slave's answers after the steps that were done: shares nothing with the
    driver."""

    def __init__(self):
        self.entries, self.armed, self.keep = {}, False, False

    def do(self, step):
        """A step, without `errno=`."""
        verb, _, value = step.partition("=")
        if verb == "claim":
            self.keep = value == "keep"
        elif verb == "entry":
            number, _, text = value.partition(",")
            self.entries[int(number, 16)] = Entry.of(text)
        elif verb in ("arm", "disarm"):
            self.armed = verb == "arm"
        elif verb == "end" and not self.keep:
            self.entries, self.armed = {}, False

    def answer(self, number):
        """Bytes that follow a header; b"": none."""
        entry = self.entries.get(number) if self.armed else None
        if entry and entry.once:
            self.entries[number] = None
        return entry.bytes(number) if entry else b""


def judge(done, sent, slots):
    """{step: headers behind it that were answered, [bytes of each]}; AssertionError unless the pins are those of the table."""
    table, found, waiting, last = Table(), {}, [step for step in done if not step[2].startswith(("until", "tty"))], "nothing"
    for n in range(slots):
        start, number = FIRST + n * SLOT, IDS[n % len(IDS)]
        disturbed = False
        while waiting and waiting[0][0] <= start + QUIET:
            before, after, last = waiting.pop(0)
            disturbed |= after >= start
            table.do(last)
            found.setdefault(last, [])
        answer = table.answer(number)
        inside = [edge for edge in sent if start <= edge[0] < start + SLOT]
        if not disturbed:
            assert inside == edges(wave(BUS.answer(start, answer, SPACE))) if answer else inside == [], (n, last, answer, inside)
            found.setdefault(last, []).append(answer)
    assert not waiting and all(FIRST <= tick < FIRST + slots * SLOT for tick, _ in sent)
    return found


def test_headers_are_answered_by_the_entries():
    """Each answer starts at its tick, with the entry's data and checksum; the table is the claim's, and ends with it unless it is kept."""

    def idle(slot):
        return f"until={FIRST + slot * SLOT + QUIET + 500}"

    slots = 100
    done, sent = run(
        f"tty=8,{BUS.baud} claim entry=10,classic,4a5593e5 entry=11,enhanced,a1b2 entry=20,classic+own=5a,ff arm={SPACE} "
        f"{idle(9)} entry=10,enhanced,0102030405060708 entry=11,classic,off entry=12,classic+once,33 entry=20,enhanced+flip=80,0f "
        f"{idle(24)} disarm {idle(34)} arm={SPACE} {idle(44)} end {idle(49)} claim arm={SPACE} {idle(54)} entry=10,classic,77 "
        f"{idle(64)} end claim=keep entry=12,classic,1234 arm={SPACE} end {idle(74)} claim=keep entry=12,enhanced,56 {idle(84)} end "
        f"{idle(89)} claim end",
        slots=slots,
    )
    found = judge(done, sent, slots)
    sums = {name: [answer for answer in answers if answer] for name, answers in found.items()}
    assert {b"\x4a\x55\x93\xe5\xe6", b"\xff\x5a"} <= set(sums[f"arm={SPACE}"]) and len(found[f"arm={SPACE}"]) >= 15
    assert sums["entry=20,enhanced+flip=80,0f"].count(b"\x33\xcc") == 1 and len(sums["entry=20,enhanced+flip=80,0f"]) >= 5
    assert found["disarm"] and not sums["disarm"] and b"\x77\x88" in sums["entry=10,classic,77"]
    assert b"\x12\x34\xb9" in sums["end"] and sums["entry=12,enhanced,56"]
    assert len(found["end"]) >= 20


def test_the_slave_and_lin0_exclude_each_other():
    """While one has the line the other cannot have it, also beside a kept slave. The tty's settings
    must be those of a bus."""
    run(
        f"tty=8,{BUS.baud} claim entry=10,classic,01 arm={SPACE} errno=16=lin0={BUS.baud},enhanced_01 errno=16=claim end "
        f"lin0={BUS.baud},enhanced_01 errno=16=claim errno=16=open lin0=down claim=keep arm={SPACE} end "
        f"errno=16=lin0={BUS.baud},enhanced_01 claim end lin0={BUS.baud},enhanced_01 lin0=down "
        f"claim tty=7,{BUS.baud} errno=34=arm={SPACE} tty=8,9600 errno=34=arm={SPACE} tty=8,{BUS.baud} "
        f"arm={SPACE} end"
    )


def test_what_lin0_answered_is_forgotten():
    """A program that arms the slave after lin0 does not send lin0's responses."""
    slots = 40
    done, sent = run(
        f"tty=8,{BUS.baud} lin0={BUS.baud},classic_01 until={FIRST + 15 * SLOT} lin0=down claim arm={SPACE} until={FIRST + 40 * SLOT}",
        slots=slots,
    )
    (down,) = [after for _, after, step in done if step == "lin0=down"]
    assert [tick for tick, _ in sent if tick < down] and not [tick for tick, _ in sent if tick > down]
