# SPDX-License-Identifier: BSD-2-Clause
"""The LiteX wrapper by itself: what it takes and refuses, its variants, and that any reset resets both sides."""

from fractions import Fraction

import pytest
from migen import ClockDomain, Signal

from litepulse import regs
from litex_soc import litepulse, regmap, sim_soc
from litex_soc.litepulse import LitePulse, exact_frequency
from sim import cocotb_rig


class Pads:
    """Pins as a platform would hand them out."""

    def __init__(self, inputs=4, de=True):
        self.tx, self.tx_oe, self.rx = (Signal(name_override=name) for name in ("tx", "tx_oe", "rx"))
        if de:
            self.de = Signal(name_override="de")
        if inputs:
            self.aux = Signal(inputs, name_override="aux")


class Platform:
    """Takes the sources."""

    def __init__(self):
        self.files = []

    def add_source(self, file, language):
        assert language == "systemverilog"
        self.files.append(file)


def offsets(module):
    """{CSR: byte offset}"""
    return {csr.name: 4 * n for n, csr in enumerate(module.get_csrs(sort=True))}


def test_frequencies():
    assert exact_frequency(48e6) == exact_frequency(48_000_000) == exact_frequency("48000000") == 48_000_000
    assert exact_frequency(Fraction(10**9, 3)) == exact_frequency("1000000000/3") == Fraction(10**9, 3)
    for bad in (48e6 + 0.5, 0, -1, 1 << 32, Fraction(1, 1 << 32), float("nan"), "fast"):
        with pytest.raises((ValueError, OverflowError)):
            exact_frequency(bad)


@pytest.mark.parametrize(
    "pads, options, said",
    [
        (Pads(4), {"inputs": 3}, "4 aux pins, but only 3 inputs"),
        (Pads(0), {"inputs": 16}, "must be 2 to 16"),
        (Pads(0), {"inputs": 0}, "must be 2 to 16"),
    ],
)
def test_refuses(pads, options, said):
    with pytest.raises(ValueError, match=said):
        LitePulse(Platform(), pads, 48_000_000, **options)


def test_registers_stay_where_they_are():
    """Whatever the parameters: host software finds each register at its offset."""
    places = {r.name: 4 * r.index for r in regs.CSRS}
    for options in ({}, {"clock_domain": "pulse"}, {"inputs": 15}, {"event_depth": 5, "launch_depth": 3}):
        assert offsets(LitePulse(Platform(), Pads(), 48_000_000, **options)) == places
    without = offsets(LitePulse(Platform(), Pads(), 48_000_000, interrupts=False))
    assert without == {name: at for name, at in places.items() if at < places["irq_level"]}
    assert places["irq_level"] == 48


def test_sources_come_with_packages_first():
    platform = Platform()
    LitePulse(platform, Pads(), 48_000_000)
    assert platform.files[0].endswith("litepulse_map_pkg.sv") and platform.files == [str(f) for f in litepulse.sources()]
    assert any(f.endswith("litepulse_phy_generic.sv") for f in platform.files)


def make_top(folder, clock_domain, pads, **options):
    """Verilog of a LitePulse whose clocks, resets, window bus and pins are ports: (source files, name of the top)."""
    from litex.gen import LiteXModule
    from litex.gen.fhdl import verilog

    platform = Platform()

    class Top(LiteXModule):
        """Nothing but the wrapper."""

        def __init__(self):
            self.cd_sys, self.cd_pulse = ClockDomain("sys"), ClockDomain("pulse")
            self.pulse = LitePulse(platform, pads, 48_000_000, clock_domain=clock_domain, **options)
            for n, csr in enumerate(self.pulse.get_csrs()):  # as a CSR bank would
                if hasattr(csr, "get_simple_csrs"):
                    csr.finalize(32, "big")
                    self.submodules += csr

    top = Top()
    bus = top.pulse.bus
    pins = [p for name in ("tx", "tx_oe", "rx", "de", "aux") if (p := getattr(pads, name, None)) is not None]
    ios = {
        top.cd_sys.clk,
        top.cd_sys.rst,
        top.cd_pulse.clk,
        top.cd_pulse.rst,
        bus.adr,
        bus.dat_w,
        bus.dat_r,
        bus.cyc,
        bus.stb,
        bus.we,
        bus.ack,
        *pins,
    }
    for signal, name in (
        (bus.adr, "bus_adr"),
        (bus.dat_w, "bus_dat_w"),
        (bus.dat_r, "bus_dat_r"),
        (bus.cyc, "bus_cyc"),
        (bus.stb, "bus_stb"),
        (bus.we, "bus_we"),
        (bus.ack, "bus_ack"),
    ):
        signal.name_override = name
    output = verilog.convert(top, ios, name="wrapper_top", special_overrides=sim_soc.reset_synchronizer(True))
    file = folder / "wrapper_top.v"
    text = "\n".join(line for line in str(output).splitlines() if not line.startswith("//"))  # no dates: same text, same build
    if not file.exists() or file.read_text() != text:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return [*platform.files, sim_soc.RESET_SOURCE, file], "wrapper_top"


@pytest.mark.parametrize("clock_domain", ["pulse", "sys"])
def test_resets(clock_domain):
    """One cycle of reset in either domain makes both sides begin anew, harmlessly."""
    sources, top = make_top(cocotb_rig.BUILD / "wrapper" / clock_domain, clock_domain, Pads())
    cocotb_rig.simulate("tb_wrapper", top, sources, simulator="icarus", env={"WRAPPER_DOMAIN": clock_domain})


def test_smallest_variant_elaborates():
    """No de, no inputs, no interrupts."""
    sources, top = make_top(cocotb_rig.BUILD / "wrapper" / "small", "pulse", Pads(inputs=0, de=False), interrupts=False, event_depth=5)
    cocotb_rig.simulate("tb_wrapper", top, sources, simulator="icarus", env={"WRAPPER_DOMAIN": "pulse"})


def test_map_version_is_what_the_wrapper_tells():
    csrs = {c.name: c for c in LitePulse(Platform(), Pads(), 48_000_000).get_csrs(sort=True)}
    values = {f.name: f.reset_value for f in csrs["id_version"].fields.fields}
    assert values == {"major": regmap.VERSION_MAJOR, "minor": regmap.VERSION_MINOR}
