# SPDX-License-Identifier: BSD-2-Clause
"""The serial bridge of the boards: a small SoC of it, a memory and a second master, with a host model at its pins."""

import re
from fractions import Fraction

import pytest
from migen import ClockDomain, Record

from litepulse import regs
from litex_soc import bridge, regmap
from litex_soc.build_cache import content_key, locked
from sim import cocotb_rig

RAM = 0x1000_0000
BAUDS = (115200, 230400, 1_000_000, 1_500_000, 3_000_000)
# The declared times are a hundredth (and less) of the real ones; a command at 115200 baud must still fit into the timeout.
SCALED = {"fallback_seconds": Fraction(2, 100), "timeout_seconds": Fraction(1, 400)}
SCALED_FRAMES = {**SCALED, "fallback_seconds": Fraction(4, 100)}  # a byte at 115200 must be shorter than a unit
PERIODS = {24_000_000: 41_666, 50_000_000: 20_000}  # ps


def pads():
    """The pins of a serial port."""
    return Record([("tx", 1), ("rx", 1)])


def make_soc(sys_hz, **options):
    """(SoC, platform): the bridge, 1 KiB of memory at RAM and a bus master at pins of the top."""
    from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
    from litex.gen import LiteXModule
    from litex.soc.integration.soc_core import SoCMini
    from litex.soc.interconnect import wishbone

    def group(name, *signals):
        return (name, 0, *(Subsignal(s, Pins(width)) for s, width in signals))

    platform = GenericPlatform(
        "simulation",
        [
            group("sys", ("clk", 1), ("rst", 1)),
            group("serial", ("tx", 1), ("rx", 1)),
            group("other", ("stb", 1), ("adr", 30), ("dat_w", 32), ("ack", 1)),
            group("watch", ("rate", 16), ("ack", 1)),
        ],
        name="bridge_top",
    )

    class Clock(LiteXModule):
        """From outside."""

        def __init__(self, pins):
            self.cd_sys = ClockDomain("sys")
            self.comb += [self.cd_sys.clk.eq(pins.clk), self.cd_sys.rst.eq(pins.rst)]

    class BridgeSoC(SoCMini):
        """No CPU."""

        def __init__(self):
            self.crg = Clock(platform.request("sys"))
            SoCMini.__init__(self, platform, sys_hz, with_ctrl=False, bus_timeout=None)
            self.bridge = bridge.SerialBridge(platform.request("serial"), sys_hz, **options)
            self.bridge.add_to_soc(self)
            self.add_ram("ram", RAM, 0x400)
            pins, bus = platform.request("other"), wishbone.Interface(data_width=32, address_width=32, addressing="word")
            self.bus.add_master("other", master=bus)
            self.comb += [
                bus.cyc.eq(pins.stb),
                bus.stb.eq(pins.stb),
                bus.we.eq(1),
                bus.sel.eq(15),
                bus.adr.eq(pins.adr),
                bus.dat_w.eq(pins.dat_w),
                pins.ack.eq(bus.ack),
            ]
            watch = platform.request("watch")
            self.comb += [watch.rate.eq(self.bridge.rate), watch.ack.eq(self.bridge.wishbone.ack)]
            self.bridge.frames.left.name_override, self.bridge.frames.begun.name_override = "units_left", "unit_begun"

    return BridgeSoC(), platform


def run(sys_hz, case, simulator="verilator", options=None, bench="tb_serial_bridge"):
    """Simulates one case of a bench."""
    import logging

    logging.disable(logging.INFO)
    options = SCALED if options is None else options
    folder = cocotb_rig.BUILD / "bridge" / f"{sys_hz}-{content_key(repr(options))[:8]}"
    soc, platform = make_soc(sys_hz, **options)
    soc.finalize()
    assert (soc.csr.regions["bridge"].origin, soc.csr.regions["bridge"].busword) == (regmap.BRIDGE_BASE, 32)
    output = platform.get_verilog(soc, name="bridge_top")
    text = "\n".join(line for line in output.main_source.splitlines() if not line.startswith("//"))  # no dates: same text, same build
    text = re.sub(r"\$readmemh\(.*\);", "", text)  # the memory needs no contents
    with locked(folder.with_suffix(".lock")):
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "bridge_top.v"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
    cocotb_rig.simulate(
        bench,
        "bridge_top",
        [file],
        simulator=simulator,
        testcase=case,
        env={
            "BRIDGE_SYS_HZ": sys_hz,
            "BRIDGE_PERIOD": PERIODS[sys_hz],
            "BRIDGE_FALLBACK": soc.bridge.frames.fallback_cycles,
            "BRIDGE_UNIT": soc.bridge.frames.unit_cycles,
            "BRIDGE_TIMEOUT": soc.bridge.frames.timeout_cycles,
        },
    )


def full(*cases):
    """Cases that take long: the quick tier does without."""
    return [pytest.param(case, marks=pytest.mark.full) for case in cases]


@pytest.mark.parametrize("sys_hz", [50_000_000, *full(24_000_000)])
@pytest.mark.parametrize("case", ["words", "raised", *full("tolerance", "unusable", "reset", "falls_back", "garbage", "under_way")])
def test_bridge(case, sys_hz):
    run(sys_hz, case)


def run_frames(sys_hz, case, simulator="verilator"):
    """Simulates one case of tb_frames."""
    run(sys_hz, case, simulator, SCALED_FRAMES, "tb_frames")


@pytest.mark.seconds(40)
@pytest.mark.parametrize(
    "case",
    [
        "repeated",
        "paused",
        "several_wait",
        "noise_while_answering",
        "rate_while_waiting",
        "packed",
        *full("first_frame_damaged", "waits", "repeated_while_answering", "ahead_for_random", "packed_for_random", "packed_and_rate"),
        *full("broken_frames_do_not_count", "reset"),
        *full("answered_after_all", "damaged", "damaged_while_answering", "locked", "noise", "broken_off"),
    ],
)
def test_frames(case):
    run_frames(24_000_000, case)


@pytest.mark.parametrize("case", ["cannot_pack", "while_answering"])
def test_a_bridge_without_the_packer(case):
    run(24_000_000, case, options={**SCALED_FRAMES, "packs": False}, bench="tb_frames")


@pytest.mark.full
@pytest.mark.parametrize("sys_hz", PERIODS)
@pytest.mark.parametrize("case", ["carried_out", "deaf", "raised"])
def test_frames_with_both_clocks(case, sys_hz):
    run_frames(sys_hz, case)


@pytest.mark.parametrize("case", ["repeated", "several_wait"])
def test_frames_on_the_other_simulator(case):
    run_frames(24_000_000, case, "icarus")


def test_on_the_other_simulator():
    run(24_000_000, "words", "icarus")


@pytest.mark.parametrize("sys_hz", PERIODS)
def test_two_seconds(sys_hz):
    """At true scale the counters are loaded with what makes 2 s, and run down as the scaled ones do."""
    run(sys_hz, "true_scale", options={})


@pytest.mark.parametrize("sys_hz", [12e6, 24e6, Fraction(100_000_000, 3), 45e6, 50e6, 60e6, 75e6, 100e6])
def test_constants(sys_hz):
    """Within 1/320 of 2 s; the rate word within its rounding; the timeout less than the 130 ms that hosts wait; the silence, too."""
    made = bridge.SerialBridge(pads(), sys_hz)
    assert made.frames.fallback_cycles % made.frames.unit_cycles == 0 and made.frames.unit_cycles & (made.frames.unit_cycles - 1) == 0
    assert abs(Fraction(made.frames.fallback_cycles) / Fraction(sys_hz) - regs.BRIDGE_FALLBACK_SECONDS) <= Fraction(2, 320)
    assert 2 ** len(made.frames.begun) == made.frames.unit_cycles
    assert Fraction(1, 10) <= (made.frames.timeout_cycles - made.frames.unit_cycles) / Fraction(sys_hz)
    assert made.frames.timeout_cycles / Fraction(sys_hz) < Fraction(13, 100)
    assert made.frames.silence_cycles == 2 * made.frames.unit_cycles
    assert Fraction(6, 1000) < made.frames.unit_cycles / Fraction(sys_hz)
    assert made.frames.silence_cycles / Fraction(sys_hz) <= Fraction(regs.BRIDGE_FRAME_SILENCE_MS, 1000)
    assert abs(made.base_word - Fraction(115200 * 65536) / Fraction(sys_hz)) <= Fraction(1, 2)


def test_rate_words():
    assert [bridge.rate_word(baud, 24_000_000) for baud in BAUDS] == [315, 629, 2731, 4096, 8191]
    assert [bridge.rate_word(baud, 50e6) for baud in (115200, 1_000_000, 3_000_000, 6_250_000)] == [151, 1311, 3932, 8191]
    for baud, clock in ((3_000_001, 24e6), (0, 24e6), (-1, 24e6)):
        with pytest.raises(ValueError):
            bridge.rate_word(baud, clock)


def test_refuses():
    with pytest.raises(ValueError, match="does not allow"):
        bridge.SerialBridge(pads(), 900_000)
    with pytest.raises(ValueError, match="cannot be reported"):
        bridge.SerialBridge(pads(), 1e9)
    with pytest.raises(ValueError, match="too short"):
        bridge.SerialBridge(pads(), 24e6, fallback_seconds=Fraction(1, 10**6))


def test_the_register_is_the_declared_one():
    """One CSR, named and placed as the register map says."""
    csrs = bridge.SerialBridge(pads(), 24e6).get_csrs()
    assert [(c.name, c.size) for c in csrs] == [(r.name, 32) for r in regmap.BRIDGE] == [(r.name, 32) for r in regs.BRIDGE]
    assert regmap.BRIDGE_BASE - regmap.CSR_BASE == 0x800 * (regmap.BRIDGE_LOCATION - regmap.CSR_LOCATION)
