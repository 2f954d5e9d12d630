# SPDX-License-Identifier: BSD-2-Clause
"""Programs that run on the simulated Linux SoC in a kernel's place: built, and run on litepulse-linux-sim."""

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from litex_soc import device_tree

HERE = Path(__file__).resolve().parent
DRIVER = HERE.parent.parent / "driver"
COMPILERS = {
    "vexriscv": ["riscv64-linux-gnu-gcc", "-march=rv32ima_zicsr_zifencei", "-mabi=ilp32", "-mcmodel=medany"],
    "mor1kx": ["or1k-elf-gcc", "-mhard-mul", "-mhard-div"],
}
FLAGS = [
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-function",
    "-nostdlib",
    "-static",
    "-ffreestanding",
    "-fno-pic",
    "-Wl,--build-id=none",
    "-Wl,-z,noexecstack",
    "-fno-stack-protector",
]


def addresses(machine):
    """What bare.h wants to know."""
    csr = {name: register["addr"] for name, register in machine.description["csr_registers"].items()}
    memories = machine.description["memories"]
    found = {
        "PULSE_CSR": machine.description["csr_bases"]["pulse"],
        "PULSE_WINDOW": memories["pulse_window"]["base"],
        "PULSE_IRQ": machine.description["interrupts"]["pulse"],
        "FILES": machine.layout.files,
        "UART_RXTX": csr["uart_rxtx"],
        "UART_TXFULL": csr["uart_txfull"],
        "UART_RXEMPTY": csr["uart_rxempty"],
        "UART_EV_PENDING": csr["uart_ev_pending"],
        "PEER_RXTX": csr["peer_rxtx"],
        "PEER_RXEMPTY": csr["peer_rxempty"],
        "UPTIME_LATCH": csr["timer0_uptime_latch"],
        "UPTIME_CYCLES_LOW": csr["timer0_uptime_cycles"] + 4,
        "CONTROLLER_RESET": csr["ctrl_reset"],
    }
    if "plic" in memories:
        found["PLIC"] = memories["plic"]["base"]
    return found


def build(machine, source, folder):
    """Path of the raw bytes of a program of one C file."""
    cpu = machine.cpu
    elf, binary = folder / "program.elf", folder / "program.bin"
    defines = [f"-D{name}={value:#x}u" for name, value in addresses(machine).items()]
    subprocess.run(
        [
            *COMPILERS[cpu],
            *FLAGS,
            *defines,
            f"-I{DRIVER}",
            f"-I{HERE}",
            f"-Wl,--defsym=RAM={machine.layout.ram:#x}",
            "-T",
            HERE / "bare.ld",
            "-o",
            elf,
            HERE / f"bare_{cpu}.S",
            source,
        ],
        check=True,
    )
    subprocess.run([COMPILERS[cpu][0].replace("gcc", "objcopy"), "-O", "binary", elf, binary], check=True)
    return binary


@dataclass
class Run:
    """What a run of the simulator gave. `pins`: [(tick, pin, level)]."""

    status: int
    console: str
    errors: str
    stats: dict = field(default_factory=dict)
    pins: list = field(default_factory=list)


def simulate(machine, folder, *arguments, timeout=300):
    """Runs litepulse-linux-sim in `folder`."""
    stats, pins = folder / "stats.json", folder / "pins.txt"
    for old in (stats, pins):
        old.unlink(missing_ok=True)
    result = subprocess.run(
        [machine.program, *map(str, arguments), "--stats", stats, "--pins", pins],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    run = Run(result.returncode, result.stdout, result.stderr)
    if stats.exists():
        run.stats = json.loads(stats.read_text())
    if pins.exists():
        for line in pins.read_text().splitlines():
            if not line.startswith("#"):
                tick, pin, level = line.split()
                run.pins.append((int(tick), pin, int(level)))
    return run


def boot_arguments(machine, program, folder):
    """Options that start a program, with the SoC's device tree."""
    dtb = folder / "machine.dtb"
    dtb.write_bytes(device_tree.blob(machine.device_tree()))
    return machine.boot_arguments(program, dtb)
