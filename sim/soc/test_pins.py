# SPDX-License-Identifier: BSD-2-Clause
"""What the pins do, as the VCD shows it, against what the core says it did: the same ticks, always."""

from fractions import Fraction
from math import floor

import pytest

from litepulse import regs
from litex_soc import sim_soc
from sim.soc.soc_rig import ALL_EVENTS, KIND, SOURCE, Simulated, edges, pack, read_vcd, register

HZ = sim_soc.PULSE_HZ


def run_train(vcd, rate, bit, count, byte, *arguments, lockstep=400_000):
    """A train on the simulated SoC: (launch ticks, received ticks, edge events on the line, header's lost)."""
    period = HZ / Fraction(rate)
    num, den = (period - floor(period)).as_integer_ratio()
    with Simulated("--lockstep", lockstep, "--loop-tx-rx", "--vcd", vcd, *arguments) as soc:
        soc.profile(0, bit)
        soc.configure(line=pack(register(regs.CONFIG, "line"), rx_enable=1), capture_edges=1 << 4 | 1 << 20, event_mask=ALL_EVENTS)
        start = soc.now() + 4_000_000  # a second, should the host be held up
        soc.configure(
            train_start_lo=start & 0xFFFFFFFF,
            train_start_hi=start >> 32,
            train_count=count,
            train_width=0,
            train_launch=pack(register(regs.CONFIG, "train_launch"), data=byte),
            train_period=floor(period),
            train_num=num,
            train_den=den,
            train_command=pack(register(regs.CONFIG, "train_command"), command=1),
        )
        found = soc.wait_events(lambda seen: any(e[2] == KIND["TRAIN_DONE"] for e in seen))
        received = []
        while (ready := soc.header("RECEIVE")[0]) < count:  # the last byte ends after the train
            assert soc.now() < found[-1][0] + 20 * bit + 2 * lockstep
        found += soc.events()
        for offset in range(0, 2 * ready, 200):
            words = soc.bus.read(regs.WINDOW_BASE + regs.REGIONS["RECEIVE"][0] + 16 + 4 * offset, min(200, 2 * ready - offset))
            received += [words[i] | (words[i + 1] >> 16) << 32 for i in range(0, len(words), 2)]
            assert all(word & 0xFF == byte for word in words[1::2])
        lost = soc.header("EVENTS")[2] + soc.header("RECEIVE")[2]
        status, errors = soc.close()
    assert (status, errors, lost) == (0, "", 0)
    assert [e[1] for e in found] == list(range(found[0][1], found[0][1] + len(found)))  # no number missing
    launched = [e[0] for e in found if e[2:4] == (KIND["TX"], SOURCE["TRAIN"])]
    assert [e[5] for e in found if e[2:4] == (KIND["TX"], SOURCE["TRAIN"])] == list(range(count))
    seen = [(e[0], e[5]) for e in found if e[2] == KIND["EDGE"]]
    assert launched == [start + floor(n * period) for n in range(count)]
    return launched, received, seen


def frame(byte, bit):
    """[(offset, level)] of the edges of an 8N1 frame."""
    levels = [1, 0, *(byte >> k & 1 for k in range(8)), 1]
    return [(floor(k * Fraction(bit)), levels[k + 1]) for k in range(10) if levels[k] != levels[k + 1]]


@pytest.mark.parametrize(
    "rate, bit, count, byte",
    [
        (58, Fraction(5000), 6, 0xFF),  # the main job: 9600 baud at 48 MHz, full scale
        (Fraction(11025), Fraction(45), 300, 0x35),  # 640000/147 ticks apart
        (Fraction("12345.678"), Fraction(48_000_000 * 256 // 250_000, 256), 300, 0xA7),
    ],
)
def test_train_on_the_pins(rate, bit, count, byte, tmp_path):
    vcd = tmp_path / "pins.vcd"
    # So few cycles a poll that 62 events each time are enough.
    launched, received, seen = run_train(vcd, rate, bit, count, byte, lockstep=400_000 if rate < 1000 else 2_000)
    expected = [(start + at, level) for start in launched for at, level in frame(byte, bit)]
    pins, _ = read_vcd(vcd)
    assert pins["tx"][0] == (0, 1) and edges(pins["tx"]) == expected
    assert edges(pins["rx"]) == expected
    assert received == [t + regs.LOOPBACK_TICKS for t in launched]
    assert seen == [(t + regs.LOOPBACK_TICKS, level << 20 | 1 << 4) for t, level in expected]
    assert edges(pins["tx_oe"])[-1][1] == 1 and edges(pins["tx_oe"])[-1][0] < launched[0]
    for name in ("in0", "in1", "in2", "in3"):
        assert pins[name] == [(0, 0)]


def test_declared_clock_scales_the_vcd_only(tmp_path):
    """A third of a hertz more or less changes no tick, and the times of the VCD follow it exactly."""
    hz = Fraction(10_000_001, 3)
    vcd = tmp_path / "pins.vcd"
    with Simulated("--lockstep", 20000, "--pulse-hz", "10000001/3", "--vcd", vcd) as soc:
        assert soc.info["clock_hz"] == "10000001/3"
        assert Fraction(soc.csr("id_clock_num")["num"], soc.csr("id_clock_den")["den"]) == hz
        soc.profile(0, 16)
        soc.configure(event_mask=ALL_EVENTS)
        first = soc.now() + 500_000  # each command lets it run on for 20,000
        ticks = [first + 1234 * n for n in range(20)]
        for tick in ticks:
            soc.launch(tick, 0xFF)
        soc.wait_events(lambda seen: sum(e[2] == KIND["TX"] for e in seen) == 20)
        soc.close()
    assert edges(read_vcd(vcd)[0]["tx"], hz) == [(t + k, k // 16) for t in ticks for k in (0, 16)]


@pytest.mark.parametrize("divider", [1, *(pytest.param(divider, marks=pytest.mark.full) for divider in (3, 4))])
def test_ticks_of_the_vcd_do_not_depend_on_the_clock_of_the_bus(divider, tmp_path):
    """Pulses leave at their ticks though tick 0 is another number of cycles after reset."""
    vcd = tmp_path / "pins.vcd"
    with Simulated("--lockstep", 20_000, "--vcd", vcd, program=sim_soc.build(sys_hz=HZ // divider, quiet=True)) as soc:
        soc.profile(0, 16)
        ticks = [soc.now() + 500_000 + 1234 * n for n in range(3)]
        for tick in ticks:
            soc.launch(tick, 0xFF)
        while soc.now() < ticks[-1] + 20_000:
            pass
        soc.close()
    assert edges(read_vcd(vcd)[0]["tx"]) == [(t + k, k // 16) for t in ticks for k in (0, 16)]


def test_stimulus_is_stamped_like_a_wire(tmp_path):
    """A level that changes at tick t is first sampled at t + 1, on every input and on the line; levels at the start are kept."""
    begin = 300_000
    changes = [
        (begin, 0, 1),
        (begin + 1, 0, 0),
        (begin + 1, 2, 0),
        (begin + 500, "rx", 0),
        (begin + 500, 3, 1),
        (begin + 1000, "rx", 1),
        (begin + 1007, 3, 0),
    ]
    stimulus, vcd = tmp_path / "stimulus", tmp_path / "pins.vcd"
    stimulus.write_text("# tick channel level\n\n" + "".join(f"{t} {c} {level}   # change\n" for t, c, level in changes))
    with Simulated("--lockstep", 20000, "--stimulus", stimulus, "--level", "2=1", "--vcd", vcd) as soc:
        soc.configure(event_mask=ALL_EVENTS, capture_edges=0x1F | 0x1F << 16)
        assert soc.now() < begin
        found = soc.wait_events(lambda seen: seen and seen[-1][0] == begin + 1008)
        soc.close()
    channel = {"rx": 4}
    expected, levels = {}, 0b10100
    for t, c, level in changes:
        bit = 1 << channel.get(c, c)
        levels = levels & ~bit | bit * level
        changed = expected.get(t + 1, (0, 0))[1] | bit
        expected[t + 1] = (levels, changed)
    got = [(e[0], e[5] >> 16, e[5] & 0xFFFF) for e in found if e[2] == KIND["EDGE"] and e[0] >= begin]
    assert got == [(t, *masks) for t, masks in expected.items()]
    pins, _ = read_vcd(vcd)
    for c in ("rx", 0, 2, 3):
        name = "rx" if c == "rx" else f"in{c}"
        assert edges(pins[name]) == [(t, level) for t, ch, level in changes if ch == c]
    assert (pins["in2"][0], pins["in0"][0], pins["rx"][0]) == ((0, 1), (0, 0), (0, 1))


def test_loop_to_inputs_and_driver_enable(tmp_path):
    """TX wired to inputs 1 and 3; `de` rises and falls as configured around a frame and a one-tick pulse."""
    vcd = tmp_path / "pins.vcd"
    with Simulated("--lockstep", 20000, "--loop-tx-input", 1, "--loop-tx-input=3", "--vcd", vcd) as soc:
        soc.profile(0, 16)
        soc.configure(event_mask=ALL_EVENTS, capture_edges=0x1F | 0x1F << 16, driver_enable=100 | 37 << 16)
        soc.events()
        first = soc.now() + 100_000
        soc.launch(first, 0x00)
        soc.launch(first + 1000, 0, kind=2, width=1)
        found = soc.wait_events(lambda seen: sum(e[2] == KIND["EDGE"] for e in seen) == 4)
        soc.bus.read(regs.CSR_BASE)  # time for `de` to fall
        soc.close()
    expected = [(first, 0), (first + 9 * 16, 1), (first + 1000, 0), (first + 1001, 1)]
    pins, _ = read_vcd(vcd)
    assert edges(pins["tx"]) == edges(pins["in1"]) == edges(pins["in3"]) == expected
    assert edges(pins["de"]) == [(first - 100, 1), (first + 160 + 37, 0), (first + 900, 1), (first + 1001 + 37, 0)]
    wired = 1 << 1 | 1 << 3
    assert [(e[0], e[5]) for e in found if e[2] == KIND["EDGE"]] == [
        (t + regs.LOOPBACK_TICKS, (1 << 4 | wired * level) << 16 | wired) for t, level in expected
    ]
