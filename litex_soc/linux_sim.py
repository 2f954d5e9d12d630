# SPDX-License-Identifier: BSD-2-Clause
"""The Linux SoC verilated into a program, `litepulse-linux-sim`, one for each CPU and number of samples per cycle.

    python -m litex_soc.linux_sim --cpu vexriscv --build        builds it if need be and prints its path
    machine = linux_sim.machine("vexriscv")                     the same from Python, with all that is to be known of it

What the program can do is in docs/linux-soc.md. `sys` and `pulse` are domains of their own whose edges coincide: that is the fastest to
simulate, and the crossings between clocks that do not have tests of their own.

With two cores, which leave their reset together, the second one has no RX of its own: it sees the pins of the first, and its TX is the pin
peer_tx; the second LiteUART is not there.

With two samples per cycle the pins are those of an iCE40, PHY and pads (sim/models/SB_IO.sv): the level changes at both edges of the clock.
"""

import argparse
import functools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from litex_soc import device_tree, places, verilated
from litex_soc.build_cache import content_key
from litex_soc.device_tree import BOOTARGS
from litex_soc.verilated import HERE, SIMULATORS, BuildError

CPUS = ("vexriscv", "mor1kx")
PHYS = {1: "generic", 2: "ice40_ddr"}  # by samples per cycle
CORES = (1, 2)
# Cycles of the core's clock from the release of reset to tick 0: the reset synchroniser, and how far core and PHY look ahead.
CYCLE_ZERO = {1: 7, 2: 4}
PADS = {1: (), 2: (places.folder("sim/models") / "SB_IO.sv",)}
PROGRAM, TOP = "litepulse-linux-sim", "litepulse_linux"
SYS_HZ = 50_000_000
PULSE_HZ = 50_000_000
INPUTS = 4
RAM_SIZE, ROM_SIZE = 32 << 20, 0x2000
FILES_SIZE, DEVICE_TREE_SIZE = 4 << 20, 0x1_0000  # at the end of main memory, and just below
PORT = 8  # pins of the marker port
# Levels that the program looks at after each edge, in one port. `asked`: the CPU reads which interrupts are pending, as a handler
# does first.
WATCH = ("tx", "tx_oe", "de", "irq", "asked", "peer_tx", "peer_irq", "peer_asked", "printed", "reset", *(f"port{n}" for n in range(PORT)))


def make_soc(cpu, samples=1, cores=1):
    """(SoC, platform): the LiteX side, with clocks, reset, console and pins as ports of the top module."""
    from types import SimpleNamespace

    from litex.build.generic_platform import GenericPlatform, Pins
    from migen import Cat, Constant, Signal

    from litex_soc.linux_soc import INTERRUPTS, PULSE_WINDOW, LinuxSoC
    from litex_soc.litepulse import LitePulse
    from litex_soc.regmap import CSR_LOCATION
    from litex_soc.verilated import group

    platform = GenericPlatform(
        "simulation",
        [
            group("clocks", ("pulse", 1), ("sys", 1), ("rst", 1)),
            group("console", *verilated.STREAM_PINS),
            group("pins", ("rx", 1), ("aux", INPUTS)),
            group("peer", ("rx", 1)),
            ("core_rst", 0, Pins(1)),
            ("watch", 0, Pins(len(WATCH))),
        ],
        name=TOP,
    )
    clocks = platform.request("clocks")
    if samples > 1:
        # An edge of the port `pulse` is a tick, of which the core's clock has several. At 1 it is that clock.
        clocks = SimpleNamespace(pulse=clocks.sys, sys=clocks.sys, rst=clocks.rst)
    crg = verilated.outside_clocks(clocks, platform.request("core_rst"), registered=True)
    pins, peer = Pads(platform.request("pins"), tx=1, tx_oe=1, de=1, port=PORT), Pads(platform.request("peer"), tx=1)
    uart = peer if cores == 1 else None
    soc = LinuxSoC(
        platform, crg, SYS_HZ, cpu, rom_size=ROM_SIZE, ram_size=RAM_SIZE, console="stream", peer=uart, uptime=True, bursting=True
    )
    console = platform.request("console")
    soc.console = verilated.byte_stream(console)
    soc.comb += [soc.console.source.connect(soc.uart.sink), soc.uart.source.connect(soc.console.sink)]
    for memory in (soc.rom, soc.sram, soc.main_ram):
        memory.mem.init = None  # else they would be read from files at run time
    soc.pulse = LitePulse(platform, pins, PULSE_HZ, clock_domain="pulse", phy=PHYS[samples], sequences=True, simulated=True)
    soc.pulse.add_to_soc(soc, window=PULSE_WINDOW)
    if cores == 2:
        peer = SimpleNamespace(tx=peer.tx, tx_oe=Signal(), de=Signal(), rx=pins.rx, aux=pins.aux)
        soc.pulse1 = LitePulse(platform, peer, PULSE_HZ, clock_domain="pulse", phy=PHYS[samples], simulated=True, together_with=soc.pulse)
        soc.irq.add("pulse1", n=max(INTERRUPTS.values()) + 1)
        soc.pulse1.add_to_soc(soc, "pulse1", csr_location=CSR_LOCATION + 1, window=None)  # behind the first: /dev/litepulse1
    other = soc.peer if cores == 1 else soc.pulse1
    for file in PADS[samples]:
        platform.add_source(str(file), "systemverilog")
    # Pads do not tell whether they are driven: from reset on they are.
    driven = Constant(1) if PADS[samples] else pins.tx_oe
    levels = {
        "tx": pins.tx,
        "tx_oe": driven,
        "de": pins.de,
        "irq": soc.pulse.ev.irq,
        "asked": soc.pulse.ev.pending.we,
        "peer_tx": peer.tx,
        "peer_irq": other.ev.irq,
        "peer_asked": other.ev.pending.we,
        "printed": console.tx_valid,
        "reset": crg.rst,
        **{f"port{n}": pins.port[n] for n in range(PORT)},
    }
    soc.comb += platform.request("watch").eq(Cat(*(levels[name] for name in WATCH)))
    return soc, platform


class Pads:
    """The pads of `ports`, and signals of the given widths in place of further ones."""

    def __init__(self, ports, **signals):
        from migen import Signal

        self.__dict__.update({name: getattr(ports, name) for name, *_ in ports.layout})
        self.__dict__.update({name: Signal(width, name=name) for name, width in signals.items()})


@dataclass(frozen=True)
class Layout:
    """Where things are in main memory: physical addresses and bytes. The kernel may have all up to the device tree."""

    ram: int
    ram_size: int
    kernel: int
    device_tree: int
    device_tree_size: int
    files: int
    files_size: int

    @classmethod
    def of(cls, description):
        """In the main memory of a SoC."""
        ram, size = (description["memories"]["main_ram"][name] for name in ("base", "size"))
        files = ram + size - FILES_SIZE
        return cls(ram, size, ram, files - DEVICE_TREE_SIZE, DEVICE_TREE_SIZE, files, FILES_SIZE)


def header(description, key, samples):
    """machine.h: what the program has to know of the SoC."""
    layout, tick_hz = Layout.of(description), PULSE_HZ * samples
    numbers = {
        "SYS_HZ": SYS_HZ,
        "PULSE_HZ": PULSE_HZ,
        "TICK_HZ": tick_hz,
        "TICKS_PER_SYS": tick_hz // SYS_HZ,
        "TICK_ZERO": CYCLE_ZERO[samples] * samples,
        "INPUTS": INPUTS,
        "PORT": PORT,
        "RAM_BASE": layout.ram,
        "RAM_SIZE": layout.ram_size,
        "FILES_BASE": layout.files,
        "FILES_SIZE": layout.files_size,
        "BIG_ENDIAN_CPU": int(description["big_endian"]),
    }
    return "\n".join(
        [
            "// Generated by litex_soc/linux_sim.py",
            *(f"#define {name} {value}" for name, value in numbers.items()),
            *(f"#define WATCH_{name.upper()} {n}" for n, name in enumerate(WATCH)),
            f'#define KEY "{key}"',
            f'#define DESCRIPTION R"json({json.dumps(description)})json"',
            "",
        ]
    )


LEARN = HERE / "sim" / "linux_learn.c"
LEARN_CYCLES = 400_000
# Memory that the program loads. Not `rw`: then all that hangs on it, the CPU too, would be evaluated twice more in each cycle.
VLT = "`verilator_config\n" + "".join(f'public_flat_rd -module "{TOP}" -var "{name}"\n' for name in ("rom", "main_ram"))


def learning_run(cpu, folder):
    """Arguments of the run from which the compiler learns."""
    from litex_soc import firmware, regmap

    description = json.loads((folder / "description.json").read_text())
    layout, csr = Layout.of(description), description["csr_registers"]
    profile = {register.name: register for register in regmap.CONFIG if register.name.startswith("profile0_")}
    window = description["memories"]["pulse_window"]["base"]
    config = window + regmap.REGIONS["CONFIG"][0]
    (data_bits,) = [field for field in profile["profile0_format"].fields if field.name == "data_bits"]
    defines = {
        "UART_RXTX": csr["uart_rxtx"]["addr"],
        "UART_TXFULL": csr["uart_txfull"]["addr"],
        "TABLE": layout.ram + (1 << 20),
        "PROFILE_FORMAT": config + 4 * profile["profile0_format"].index,
        "FORMAT_8N1": 3 << data_bits.offset,
        "PROFILE_PERIOD": config + 4 * profile["profile0_period"].index,
        "SEND": window + regmap.REGIONS["TX"][0],
        "EVENTS": window + regmap.REGIONS["EVENTS"][0],
    }
    try:
        (folder / "rom.bin").write_bytes(firmware.build(description, layout.kernel, layout.device_tree))
        (folder / "learn.bin").write_bytes(firmware.link(cpu, [LEARN], defines, layout.ram, layout.ram + (1 << 20)))
    except firmware.FirmwareError as error:
        raise BuildError(str(error)) from error
    return ["--rom", folder / "rom.bin", "--ram", f"{folder / 'learn.bin'}@{layout.ram:#x}", "--max-cycles", LEARN_CYCLES]


@functools.cache
def program(cpu, samples=1, cores=1):
    """The verilated.Program of a CPU. ValueError if there is none with such a CPU or these numbers
    of samples and cores."""
    if cpu not in CPUS or samples not in PHYS:
        raise ValueError(f"no CPU {cpu} with {samples} samples; there is {', '.join(CPUS)} with {' or '.join(map(str, PHYS))}")
    if cores not in CORES:
        raise ValueError(f"no SoC with {cores} cores; there is one with {' or '.join(map(str, CORES))}")

    def sources(folder):
        import logging

        logging.disable(logging.INFO)
        soc, platform = make_soc(cpu, samples, cores)
        files = verilated.verilog(soc, platform, TOP, folder)
        (folder / "machine.h").write_text(header(soc.description(), made.key, samples))
        (folder / "memories.vlt").write_text(VLT)
        (folder / "description.json").write_text(json.dumps(soc.description()))
        return [folder / "memories.vlt", *files]

    more = [*([f"{samples} samples per cycle"] if samples > 1 else []), *([f"{cores} cores"] if cores > 1 else [])]
    title = f"the simulated Linux SoC ({', '.join([cpu, *more])})"
    pads = ("-Wno-ASSIGNIN",) if PADS[samples] else ()  # a pad is an inout that is only read
    made = verilated.Program(
        name=PROGRAM,
        title=title,
        top=TOP,
        sources=sources,
        main=HERE / "sim" / "linux_main.cpp",
        files=(*(HERE / name for name in ("linux_sim.py", "linux_soc.py", "plic.py", "sim/arguments.h")), LEARN, *PADS[samples]),
        inputs=(cpu, samples, cores),
        learn=functools.partial(learning_run, cpu),
        packages=("litex", "migen", "verilator", f"pythondata-cpu-{cpu}"),
        options=("--savable", *pads, "-CFLAGS", "-I.. -DVL_USER_FATAL"),
    )
    return made


def build(cpu, jobs=None, quiet=False, samples=1, cores=1):
    """Path of the program of a CPU, built if there is none. Safe to call from several processes at once. BuildError if it cannot be."""
    return program(cpu, samples, cores).build(jobs, quiet)


class Machine:
    """A CPU's program and what is to be known of it.

    `program` : its path; `description` : of the SoC, see LinuxSoC.description(); `layout` : of main memory; `rom` : path of the firmware;
    `key` : hash of program and firmware, for what is derived from a run.
    """

    def __init__(self, cpu, quiet=False, samples=1, cores=1):
        from litex_soc import firmware

        self.cpu, self.program = cpu, build(cpu, quiet=quiet, samples=samples, cores=cores)
        self.description = json.loads(subprocess.run([self.program, "--describe"], capture_output=True, check=True).stdout)
        self.layout = Layout.of(self.description)
        simulator = program(cpu, samples, cores).key

        def make(folder):
            try:
                data = firmware.build(self.description, self.layout.kernel, self.layout.device_tree, shutdown_resets=True)
            except firmware.FirmwareError as error:
                raise BuildError(str(error)) from error
            (folder / "rom.bin").write_bytes(data)

        self.rom = SIMULATORS.folder(f"rom-{cpu}-{samples}-{cores}", content_key(simulator, *firmware.SOURCES), make) / "rom.bin"
        self.key = content_key(simulator, self.rom)

    def device_tree(self, bootargs=BOOTARGS):
        """The text of its device tree (.dts)."""
        return device_tree.device_tree(self.description, bootargs, files=(self.layout.files, self.layout.files_size))

    def boot_arguments(self, kernel, dtb):
        """Arguments of the program that start a kernel (a file of raw bytes) with a device tree (a file of dtc's)."""
        if Path(dtb).stat().st_size > self.layout.device_tree_size:
            raise ValueError(f"{dtb} has more than {self.layout.device_tree_size} bytes")
        return ["--rom", str(self.rom), "--ram", f"{kernel}@{self.layout.kernel:#x}", "--ram", f"{dtb}@{self.layout.device_tree:#x}"]


def describe(cpu):
    """The SoC's description without building a program."""
    soc, _ = make_soc(cpu)
    soc.finalize()
    return soc.description()


@functools.cache
def machine(cpu, quiet=False, samples=1, cores=1):
    """The Machine of a CPU, all of it built if need be."""
    return Machine(cpu, quiet, samples, cores)


def main(argv=None):
    """`python -m litex_soc.linux_sim`: builds, or builds and runs."""
    parser = argparse.ArgumentParser(
        prog="python -m litex_soc.linux_sim", description="Builds the simulated Linux SoC; arguments after -- run it."
    )
    parser.add_argument("--samples", type=int, choices=PHYS, default=1, help="per cycle of the core's clock, default %(default)s")
    parser.add_argument("--cpu", choices=CPUS, default=CPUS[0], help="default %(default)s")
    parser.add_argument("--build", action="store_true", help="build and print the path of the program (default: build and run it)")
    parser.add_argument("arguments", nargs="*", help="of the program, after --")
    args = parser.parse_args(argv)
    try:
        path = build(args.cpu, samples=args.samples)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    if args.build:
        print(path)
        return 0
    os.execv(path, [PROGRAM, *args.arguments])


if __name__ == "__main__":
    sys.exit(main())
