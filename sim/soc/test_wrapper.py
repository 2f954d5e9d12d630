# SPDX-License-Identifier: BSD-2-Clause
"""The LiteX wrapper by itself: what it takes and refuses, its variants, and that any reset resets both sides."""

import logging
import re
from fractions import Fraction

import pytest
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from migen import ClockDomain, Signal

from litepulse import regs
from litex_soc import litepulse, regmap, sim_soc
from litex_soc.limits import depths
from litex_soc.litepulse import LitePulse, exact_frequency
from sim import cocotb_rig


class Pads:
    """Pins as a platform would hand them out."""

    def __init__(self, inputs=4, de=True, marks=0):
        self.tx, self.tx_oe, self.rx = (Signal(name_override=name) for name in ("tx", "tx_oe", "rx"))
        if de:
            self.de = Signal(name_override="de")
        if inputs:
            self.aux = Signal(inputs, name_override="aux")
        if marks:
            self.port = Signal(marks, name_override="port")


class Platform:
    """Takes the sources."""

    device = "SIM"

    def __init__(self):
        self.files = []

    def add_source(self, file, language):
        assert language == "systemverilog"
        self.files.append(file)

    def add_verilog_include_path(self, path):
        self.includes = path


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
    "pads, options, message",
    [
        (Pads(4), {"inputs": 3}, "4 aux pins, but only 3 inputs"),
        (Pads(0), {"inputs": 16}, "must be 2 to 16"),
        (Pads(0), {"inputs": 0}, "must be 2 to 16"),
        (Pads(0), {"event_depth": 15}, "event_depth 15: must be 5 to 14"),
        (Pads(0), {"receive_depth": 2}, "receive_depth 2: must be 3 to 9"),
        (Pads(0), {"transmit_depth": 16}, "transmit_depth 16: must be 2 to 15"),
        (Pads(0), {"launch_depth": 0}, "launch_depth 0: must be 1 to 15"),
        (Pads(0), {"lin_entries": 4}, "4 LIN entries: must be one of 0, 8, 16, 32, 64"),
        (Pads(0), {"lin_entries": 128}, "must be one of 0, 8, 16, 32, 64"),
        (Pads(0, marks=7), {}, "7 pins of the marker port: must be 8"),
    ],
)
def test_refuses(pads, options, message):
    with pytest.raises(ValueError, match=message):
        LitePulse(Platform(), pads, 48_000_000, **options)


def test_registers_stay_where_they_are():
    """Whatever the parameters: host software finds each register at its offset."""
    places = {r.name: 4 * r.index for r in regs.CSRS if r.name != "id_window"}  # which comes with a place
    for options in ({}, {"clock_domain": "pulse"}, {"inputs": 15}, {"event_depth": 5, "launch_depth": 3}):
        assert offsets(LitePulse(Platform(), Pads(), 48_000_000, **options)) == places
    without = offsets(LitePulse(Platform(), Pads(), 48_000_000, interrupts=False))
    there = {name: at for name, at in places.items() if not name.startswith(("irq_", "ev_"))}
    assert without == there
    assert (places["irq_level"], 4 * regmap.csr("id_window").index) == (48, 80)


def test_registers_are_those_of_the_table():
    """Fields lie where the map has them; the default core has its reset values, the largest its widths; LiteX knows who may write."""
    for options in ({}, {f"{name}_depth": most for name, (_, most) in depths().items()} | {"inputs": 14}):
        narrower = {name: regmap.DEPTH_MAX - most for name, (_, most) in depths().items()} | {"levels": 16 - 15}
        for csr, register in zip(LitePulse(Platform(), Pads(), 48_000_000, **options).get_csrs(sort=True), regmap.CSRS[:-1], strict=True):
            fields = csr.fields.fields
            assert [(f.name, f.offset, f.description) for f in fields] == [(f.name, f.offset, f.description) for f in register.fields]
            if options:
                counts = register.name in ("ready", "free", "irq_level", "irq_send", "status")
                assert [f.size for f in fields] == [f.size - counts * narrower.get(f.name, 0) for f in register.fields]
            else:
                assert [f.reset_value for f in fields] == [f.reset for f in register.fields], register.name
            assert csr.description == register.description
            written = {"read": (CSRStatus, True), "read, write 1 to clear": (CSRStatus, False), "read, write": (CSRStorage, None)}
            assert (type(csr), getattr(csr, "read_only", None)) == written[register.access]


@pytest.mark.parametrize("marks", [0, 8])
def test_a_marker_port_is_reported(marks):
    (geometry,) = (c for c in LitePulse(Platform(), Pads(marks=marks), 48_000_000).get_csrs(sort=True) if c.name == "id_geometry")
    assert geometry.fields.port.reset.value == bool(marks)


@pytest.mark.parametrize("sequences", [False, True])
def test_waits_are_reported(sequences):
    (geometry,) = (c for c in LitePulse(Platform(), Pads(), 48_000_000, sequences=sequences).get_csrs(sort=True) if c.name == "id_geometry")
    assert geometry.fields.sequence.reset.value == sequences


@pytest.mark.parametrize("entries, depth", [(0, 0), (8, 3), (32, 5), (64, 6)])
def test_lin_entries_are_reported(entries, depth):
    (geometry,) = (c for c in LitePulse(Platform(), Pads(), 48_000_000, lin_entries=entries).get_csrs(sort=True) if c.name == "id_geometry")
    assert geometry.fields.lin_depth.reset.value == depth


def make_soc(window, cpu=None, variant=None):
    """(SoC with a core whose window was requested there, what id_window reads once it is
    finalized)"""
    from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
    from litex.soc.integration.soc_core import SoCCore

    logging.disable(logging.INFO)
    platform = GenericPlatform("none", [("pulse", 0, Subsignal("tx", Pins(1)), Subsignal("rx", Pins(1)))], name="none")

    class Soc(SoCCore):
        mem_map = {**SoCCore.mem_map, "csr": 0}  # LiteX changes that of the class for a CPU

    soc = Soc(platform, 48_000_000, cpu_type=cpu, cpu_variant=variant, uart_name="stub", integrated_rom_size=0x1000)
    soc.pulse = LitePulse(platform, platform.request("pulse"), 48_000_000)
    soc.pulse.add_to_soc(soc, window=window)
    return soc


NEEDS_CPU = pytest.mark.full  # the step `test` of the set-up has no CPU


@pytest.mark.parametrize(
    "cpu, requested, place",
    [
        ((None, None), None, 0x9000_0000),
        ((None, None), 0x1_0000, 0x1_0000),
        pytest.param(("vexriscv", "standard"), None, 0x9000_0000, marks=NEEDS_CPU),
        pytest.param(("vexriscv", "standard"), 0x8000_0000, 0x8000_0000, marks=NEEDS_CPU),
        pytest.param(("vexriscv", "linux"), None, 0xB000_0000, marks=NEEDS_CPU),
        pytest.param(("vexriscv", "linux"), 0xBFFF_8000, 0xBFFF_8000, marks=NEEDS_CPU),
    ],
)
def test_windows(cpu, requested, place):
    """The window lies where it is requested, or where there is room; the core reports its place."""
    soc = make_soc(requested, *cpu)
    soc.finalize()
    region = soc.bus.regions["pulse_window"]
    assert (region.origin, region.size, region.cached) == (place, 0x8000, False)
    reported = [csr.fields.base.reset.value for csr in soc.pulse.get_csrs() if csr.name == "id_window"]
    assert reported == ([] if place == 0x9000_0000 else [place])
    assert soc.csr.regions["pulse"].obj[-1].name == ("ev_enable" if place == 0x9000_0000 else "id_window")


@pytest.mark.parametrize(
    "cpu, requested, message",
    [
        ((None, None), 0x8000, "window 0x00008000: the CSRs lie there, at 0x00000000"),
        ((None, None), 0x9000_0100, "window 0x90000100: must be a multiple of its size, 0x8000"),
        ((None, None), 1 << 32, "and below 2^32"),
        (("vexriscv", "standard"), 0x4000_0000, "the CPU caches this address; it does not cache 0x80000000 to 0xffffffff"),
        (("vexriscv", "standard"), 0xF000_0000, "window 0xf0000000: the CSRs lie there, at 0xf0000000"),
        (("vexriscv", "linux"), 0x9000_0000, "caches this address; it does not cache 0xb0000000 to 0xbfffffff, 0xe0000000 to 0xffffffff"),
    ],
)
def test_a_window_that_cannot_be(cpu, requested, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make_soc(requested, *cpu)


def test_sources_come_with_packages_first():
    platform = Platform()
    LitePulse(platform, Pads(), 48_000_000)
    assert platform.files[0].endswith("litepulse_map_pkg.sv") and platform.files == [str(f) for f in litepulse.sources()]
    assert any(f.endswith("litepulse_phy_generic.sv") for f in platform.files)


def finalize_csrs(top, core):
    """As a CSR bank would, where there is none."""
    for csr in core.get_csrs():
        if hasattr(csr, "get_simple_csrs"):
            csr.finalize(32, "big")
            top.submodules += csr


def write_top(folder, top, ios, name, platform):
    """Verilog of a module in a folder: (all source files, `name`)."""
    from litex.gen.fhdl import verilog

    output = verilog.convert(top, ios, name=name, special_overrides=sim_soc.reset_synchronizer(True))
    text = "\n".join(line for line in str(output).splitlines() if not line.startswith("//"))  # no dates: same text, same build
    file = folder / f"{name}.v"
    if not file.exists() or file.read_text() != text:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return [*dict.fromkeys(platform.files), sim_soc.RESET_SOURCE, file], name


def make_top(folder, clock_domain, pads, **options):
    """Verilog of a LitePulse whose clocks, resets, window bus and pins are ports: (source files, name of the top)."""
    from litex.gen import LiteXModule

    platform = Platform()

    class Top(LiteXModule):
        """Nothing but the wrapper."""

        def __init__(self):
            self.cd_sys, self.cd_pulse = ClockDomain("sys"), ClockDomain("pulse")
            self.pulse = LitePulse(platform, pads, 48_000_000, clock_domain=clock_domain, **options)
            finalize_csrs(self, self.pulse)

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
        bus.sel,
        bus.ack,
        bus.err,
        *pins,
    }
    for signal, name in (
        (bus.adr, "bus_adr"),
        (bus.dat_w, "bus_dat_w"),
        (bus.dat_r, "bus_dat_r"),
        (bus.cyc, "bus_cyc"),
        (bus.stb, "bus_stb"),
        (bus.we, "bus_we"),
        (bus.sel, "bus_sel"),
        (bus.ack, "bus_ack"),
        (bus.err, "bus_err"),
    ):
        signal.name_override = name
    return write_top(folder, top, ios, "wrapper_top", platform)


@pytest.mark.parametrize("clock_domain", ["pulse", "sys"])
def test_resets(clock_domain):
    """One cycle of reset in either domain makes both sides start again, harmlessly."""
    sources, top = make_top(cocotb_rig.BUILD / "wrapper" / clock_domain, clock_domain, Pads())
    cocotb_rig.simulate("tb_wrapper", top, sources, simulator="icarus", env={"WRAPPER_DOMAIN": clock_domain})


def test_smallest_variant_elaborates():
    """No de, no inputs, no interrupts."""
    sources, top = make_top(cocotb_rig.BUILD / "wrapper" / "small", "pulse", Pads(inputs=0, de=False), interrupts=False, event_depth=5)
    cocotb_rig.simulate("tb_wrapper", top, sources, simulator="icarus", env={"WRAPPER_DOMAIN": "pulse"})


def test_map_version_is_that_of_the_wrapper():
    csrs = {c.name: c for c in LitePulse(Platform(), Pads(), 48_000_000).get_csrs(sort=True)}
    values = {f.name: f.reset_value for f in csrs["id_version"].fields.fields}
    assert values == {"major": regmap.VERSION_MAJOR, "minor": regmap.VERSION_MINOR}
