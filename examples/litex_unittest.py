# SPDX-License-Identifier: BSD-2-Clause
"""LitePulse as LiteX tests its own cores: unittest, with nothing but LiteX, Migen and the installed package.

python -m unittest litex_unittest.py       # in a checkout of LiteX, or with any LiteX that Python finds
"""

import csv
import logging
import os
import tempfile
import unittest

from litex.build.generic_platform import IOStandard, Pins, Subsignal
from litex.build.lattice import LatticeECP5Platform
from litex.gen import LiteXModule
from litex.soc.integration.builder import Builder
from litex.soc.integration.soc_core import SoCMini
from migen import ClockDomain

from litex_soc.litepulse import LitePulse

IO = [
    ("clk", 0, Pins("A1"), IOStandard("LVCMOS33")),
    ("pulse_clk", 0, Pins("A2"), IOStandard("LVCMOS33")),
    ("serial", 0, Subsignal("tx", Pins("B1")), Subsignal("rx", Pins("B2")), IOStandard("LVCMOS33")),
    *(
        ("pulse", n, Subsignal("tx", Pins(f"C{4 * n}")), Subsignal("rx", Pins(f"C{4 * n + 1}")), Subsignal("aux", Pins(f"C{4 * n + 2}")))
        for n in range(2)
    ),
]


class Clocks(LiteXModule):
    """Both from pins."""

    def __init__(self, platform):
        self.cd_sys, self.cd_pulse = ClockDomain("sys"), ClockDomain("pulse")
        self.comb += [self.cd_sys.clk.eq(platform.request("clk")), self.cd_pulse.clk.eq(platform.request("pulse_clk"))]


class SoC(SoCMini):
    """A UARTBone and `cores` cores."""

    def __init__(self, cores=1, **options):
        logging.disable(logging.INFO)
        platform = LatticeECP5Platform("LFE5U-25F-6BG256C", IO, toolchain="trellis")
        self.crg = Clocks(platform)
        SoCMini.__init__(self, platform, int(50e6))
        self.add_uartbone()
        self.pulse = LitePulse(platform, platform.request("pulse", 0), 100e6, clock_domain="pulse", **options)
        self.pulse.add_to_soc(self)
        if cores == 2:
            self.pulse1 = LitePulse(platform, platform.request("pulse", 1), 100e6, clock_domain="pulse", together_with=self.pulse)
            self.pulse1.add_to_soc(self, "pulse1", csr_location=None, window=None)


class TestLitePulse(unittest.TestCase):
    """What LiteX makes of a SoC with the core."""

    def make(self, **options):
        """(SoC, rows of csr.csv, Verilog) as Builder leaves them."""
        with tempfile.TemporaryDirectory() as folder:
            soc = SoC(**options)
            table = os.path.join(folder, "csr.csv")
            Builder(soc, output_dir=folder, csr_csv=table, compile_software=False, compile_gateware=False).build(build_name="top")
            with open(table) as file:
                rows = [row for row in csv.reader(file) if row and not row[0].startswith("#")]
            with open(os.path.join(folder, "gateware", "top.v")) as file:
                return soc, rows, file.read()

    def test_where_a_host_looks(self):
        _, rows, _ = self.make()
        base = {name: int(value, 0) for kind, name, value, *_ in rows if kind == "csr_base"}
        registers = {name: int(value, 0) for kind, name, value, *_ in rows if kind == "csr_register"}
        windows = {name: (int(value, 0), int(size)) for kind, name, value, size, *_ in rows if kind == "memory_region"}
        self.assertEqual(base["pulse"], 0x8000)
        self.assertEqual((registers["pulse_id_magic"], registers["pulse_ev_enable"]), (0x8000, 0x8000 + 4 * 19))
        self.assertEqual(windows["pulse_window"], (0x9000_0000, 0x8000))

    def test_verilog(self):
        soc, _, text = self.make(inputs=3, event_depth=7)
        self.assertEqual(text.count("litepulse #("), 1)
        self.assertRegex(text, r"\.EV_AW\s*\(\s*(\d'd)?7\s*\)")
        self.assertRegex(text, r"\.INPUTS\s*\(\s*(2'd)?3\s*\)")
        named = [os.path.basename(source[0]) for source in soc.platform.sources]
        self.assertIn("litepulse.sv", named)
        self.assertEqual(len(named), len(set(named)))

    def test_two_cores(self):
        soc, _, text = self.make(cores=2)
        self.assertEqual(text.count("litepulse #("), 2)
        first, second = (soc.bus.regions[name] for name in ("pulse_window", "pulse1_window"))
        self.assertTrue(first.origin + first.size <= second.origin or second.origin + second.size <= first.origin)
        named = [os.path.basename(source[0]) for source in soc.platform.sources]
        self.assertEqual(len(named), len(set(named)))

    def test_refused(self):
        with self.assertRaisesRegex(ValueError, "must be 2 to 16"):
            SoC(inputs=16)


if __name__ == "__main__":
    unittest.main()
