# SPDX-License-Identifier: BSD-2-Clause
"""docs/registers.md: each of its worked accesses does on the simulated SoC what the page says."""

import time

import pytest

from litepulse.backends.sim import Simulator
from litex_soc import regmap
from litex_soc.worked_accesses import WORKED, Access, Worked

SECONDS = 60  # until a word must be as expected
COUNTERS = regmap.CSR_BASE + 4 * regmap.csr("configs").index


@pytest.fixture(scope="module")
def bus():
    """TX is wired to RX and to input 0. Little time passes between two accesses, so a busy machine misses no tick."""
    simulator = Simulator(wires=("rx", "0"), step=20_000)
    yield simulator.bus
    simulator.close()


def carry_out(worked, bus, seconds=SECONDS):
    """Does what a person would who follows the page."""
    now = {}
    for access in worked.accesses:
        (word,) = bus.read(access.address) if access.way != "write" else (None,)
        if access.on_board:
            assert bus.read(access.address) == [0], f"{access.description()}: the simulated SoC has one after all"
        elif access.ahead is not None:
            tick = (now["tick_hi"] << 32 | now["tick_lo"]) + access.ahead
            half = tick >> 32 if access.name == "tick_hi" else tick & 0xFFFF_FFFF
            if access.way == "write":
                bus.write(access.address, [half])
            else:
                assert word == half, f"{access.description()}: {word}, not {half}"
        elif access.way == "write":
            bus.write(access.address, [access.value])
        elif access.value is None:
            now[access.name] = word
        else:
            end = time.monotonic() + seconds
            while access.way == "poll" and word & access.mask != access.value and time.monotonic() < end:
                (word,) = bus.read(access.address)
            assert word & access.mask == access.value, f"{access.description()}: 0x{word:08x}, not {access.shown()}"
    return now


def test_accesses_of_the_page(bus):
    """From top to bottom, as a reader would; no configuration word is refused on the way."""
    for worked in WORKED:
        now = carry_out(worked, bus)
        assert bus.read(COUNTERS)[0] >> 16 == 0, f"{worked.title}: a configuration word was refused"
        assert "tick_lo" not in now or now["tick_lo"] > 0


def test_a_wrong_word_is_noticed(bus):
    for way in ("read", "poll"):
        wrong = Worked("wrong", "", (Access(way, "CSR", "id_magic", word=regmap.MAGIC + 1),))
        with pytest.raises(AssertionError, match="id_magic"):
            carry_out(wrong, bus, seconds=1)


def test_every_group_has_one():
    """Of each kind of register that a program meets, one is shown at least."""
    accesses = [access for worked in WORKED for access in worked.accesses]
    assert {access.place for access in accesses} >= {"CSR", "TX", "LAUNCH", "CONFIG", "bridge", "EVENTS", "EVENTS record", "RECEIVE record"}
    shown = {access.name.split("_")[0] for access in accesses}
    assert shown >= {r.name.split("_")[0] for r in regmap.CSRS if r.name.startswith(("id_", "session", "irq_", "ev_", "ready", "status"))}
    assert shown >= {"profile0", "line", "capture", "event", "train", "resp", "lin"}


def test_the_rate_of_the_bridge():
    """As a host computes it."""
    (read, write) = WORKED[-1].accesses
    clock = read.fields["clock"] * regmap.BRIDGE_CLOCK_UNIT
    assert read.fields["word"] == round(regmap.BRIDGE_WORD_ONE * regmap.BRIDGE_BAUD / clock)
    assert write.fields["word"] == round(regmap.BRIDGE_WORD_ONE * 1_000_000 / clock)
