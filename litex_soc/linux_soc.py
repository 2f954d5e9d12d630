# SPDX-License-Identifier: BSD-2-Clause
"""The SoC that runs Linux, one class for the simulation and for boards: CPU, interrupt controller, memory, console, timer, LitePulse.

    soc = LinuxSoC(platform, crg, sys_hz=50e6, cpu="vexriscv", ram_size=32 << 20)
    soc.pulse = LitePulse(...); soc.pulse.add_to_soc(soc, window=PULSE_WINDOW)
    soc.finalize(); soc.description()

A board adds its SDRAM instead of `ram_size`. The kernel is mainline's: VexRiscv gets a RISC-V interrupt controller (plic.py) and a
machine-mode shim (firmware/); mor1kx, big-endian and for simulation only, has all it needs inside.
"""

import json

from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore

from litex_soc import exports, plic

CPUS = ("vexriscv", "mor1kx")
PLIC_BASE = 0xF0C0_0000
# VexRiscv `linux` caches all but 0xb..., 0xe... and 0xf..., whatever LiteX says of it; mor1kx nothing from 0x8000_0000 on.
PULSE_WINDOW = 0xB000_0000
# Fixed, so that none gets number 0, which a PLIC does not have.
INTERRUPTS = {"timer0": 1, "uart": 2, "pulse": 3, "peer": 4}


class LinuxSoC(SoCCore):
    """CPU, memory, console and what a kernel needs besides; LitePulse is added to it as to any SoC.

    Parameters
    ----------
    crg : the clocks; `sys` runs at `sys_hz`, which is also the time base of the kernel.
    cpu : one of CPUS, its variant `linux`.
    rom_size, ram_size, sram_size : bytes of integrated memory; ram_size 0 if there will be SDRAM.
    console : what LiteX calls uart_name: "serial", or "sim" for a byte stream.
    peer : pads (tx, rx) of a second LiteUART, `baud` of which can be changed at run time; None: none.
    uptime : the timer also counts cycles since reset in a CSR.
    bursting : the bus takes a cycle less for each word of a cache line.
    """

    def __init__(
        self,
        platform,
        crg,
        sys_hz,
        cpu="vexriscv",
        rom_size=0x2000,
        ram_size=0,
        sram_size=0x2000,
        console="serial",
        baud=115200,
        peer=None,
        uptime=False,
        bursting=False,
        ident="",
    ):
        if cpu not in CPUS:
            raise ValueError(f"no CPU {cpu!r} for Linux; there is {', '.join(CPUS)}")
        self.crg = crg
        interrupts = {name: number for name, number in INTERRUPTS.items() if name != "peer" or peer is not None}
        # LiteX changes these for a CPU, in the class if they are not of the object.
        self.mem_map, self.csr_map, self.interrupt_map = dict(SoCCore.mem_map), {}, interrupts
        SoCCore.__init__(
            self,
            platform,
            int(sys_hz),
            cpu_type=cpu,
            cpu_variant="linux",
            bus_bursting=bursting,
            ident=ident,
            integrated_rom_size=rom_size,
            integrated_sram_size=sram_size,
            integrated_main_ram_size=ram_size,
            uart_name=console,
            uart_baudrate=baud,
            timer_uptime=uptime,
        )
        if cpu == "vexriscv":
            self.cpu.add_timer()
            self.plic = plic.PLIC(self.cpu.interrupt)
            self.bus.add_slave("plic", self.plic.bus, SoCRegion(origin=PLIC_BASE, size=plic.SIZE, cached=False))
            self.cpu.cpu_params.update(i_externalInterruptArray=self.plic.irq)
        if peer is not None:
            from litex.soc.cores.uart import UART, UARTPHY

            self.peer_phy = UARTPHY(peer, int(sys_hz), baud, with_dynamic_baudrate=True)
            self.peer = UART(self.peer_phy, tx_fifo_depth=16, rx_fifo_depth=16)
            self.irq.add("peer", use_loc_if_exists=True)

    def description(self):
        """What software has to know of the finalized SoC, of JSON's types: the device tree and the firmware are made from it.

        `memories`, `csr_bases`, `csr_registers`, `constants` as LiteX exports them; `interrupts`: {name: number} of what is there;
        `cpu`, `big_endian`, `sys_hz`; `pulse_hz`: [numerator, denominator], None without LitePulse.
        """
        found = json.loads(exports.csr_json(self))
        pulse = getattr(self, "pulse", None)
        return {
            "cpu": self.cpu_type,
            "big_endian": self.cpu.endianness == "big",
            "sys_hz": int(self.sys_clk_freq),
            "pulse_hz": [pulse.clock_hz.numerator, pulse.clock_hz.denominator] if pulse else None,
            "interrupts": {name: number for name, number in self.irq.locs.items() if hasattr(self, name)},
            **found,
        }
