# SPDX-License-Identifier: BSD-2-Clause
"""The device tree of a Linux SoC, made from the SoC itself (LinuxSoC.description()), never by hand.

python -m litex_soc.device_tree --cpu vexriscv                          of the simulated SoC
python -m litex_soc.device_tree --board ulx3s --variant linux           of a board
"""

import argparse
import logging
import shutil
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction

from litex_soc import SPDX

BOOTARGS = "console=liteuart"


class DeviceTreeError(RuntimeError):
    """It cannot be made; the message says why."""


@dataclass(frozen=True)
class Ref:
    """A reference to the node with a label: its phandle among cells, its path as a value by itself."""

    label: str


def cell(value):
    """A 32-bit number or a reference as dts text."""
    return f"&{value.label}" if isinstance(value, Ref) else f"{value:#x}" if value > 9 else str(value)


def property_text(value):
    """A property's value: str, number, Ref, or a list of str or of groups of cells (tuples)."""
    if isinstance(value, Ref):
        return f"&{value.label}"
    if isinstance(value, int):
        return f"<{value}>"
    return ", ".join(
        '"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(part, str) else f"<{' '.join(map(cell, part))}>"
        for part in ([value] if isinstance(value, str) else value)
    )


class Node:
    """A node: name with unit address, properties in order (property_text()'s values, None if empty), children, label."""

    def __init__(self, name, properties, *children, label=""):
        self.name, self.properties, self.children, self.label = name, properties, children, label

    def text(self, depth=0):
        """As dts, indented by tabs."""
        indent = "\t" * depth
        lines = [f"{indent}{self.label + ': ' if self.label else ''}{self.name} {{"]
        for name, value in self.properties.items():
            lines.append(f"{indent}\t{name};" if value is None else f"{indent}\t{name} = {property_text(value)};")
        for child in self.children:
            lines += ["", child.text(depth + 1)] if self.properties else [child.text(depth + 1)]
        return "\n".join([*lines, f"{indent}}};"])


def csr_size(description, bank):
    """Bytes of the CSRs of a bank."""
    base = description["csr_bases"][bank]
    # by place, not by name: a bank's name may begin another's (peer, peer_phy)
    limit = min((start for start in description["csr_bases"].values() if start > base), default=1 << 32)
    ends = [csr["addr"] + 4 * csr["size"] for csr in description["csr_registers"].values() if base <= csr["addr"] < limit]
    return max(ends) - base


def device_tree(description, bootargs=BOOTARGS, files=None, firmware=None):
    """The text of the .dts of a LinuxSoC.

    `files` : (address, bytes) of main memory into which the simulator puts files, which the kernel then leaves alone but lets be read;
    `firmware` : (address, bytes) of main memory that belongs to the machine-mode shim, None if that lies elsewhere.
    """
    sys_hz, riscv = description["sys_hz"], description["cpu"] == "vexriscv"
    ram = description["memories"]["main_ram"]
    bases = description["csr_bases"]
    interrupt = {name: {"interrupts": number} for name, number in description["interrupts"].items()}

    def device(name, compatible, bank, properties=None, label=""):
        registers = {"compatible": compatible, "reg": [(bases[bank], csr_size(description, bank))]}
        return Node(f"{name}@{bases[bank]:x}", {**registers, **interrupt.get(bank, {}), **(properties or {})}, label=label)

    sys_clock = {"clocks": [(Ref("sys_clk"),)]}
    devices = [
        device("soc-controller", "litex,soc-controller", "ctrl"),
        device("timer", "litex,timer", "timer0", sys_clock),
        device("serial", "litex,liteuart", "uart", label="console"),
    ]
    aliases = {"serial0": Ref("console")}
    if "peer" in bases:
        devices.append(device("serial", "litex,liteuart", "peer", label="peer"))
        aliases["serial1"] = Ref("peer")
    clocks = [("sys_clk", sys_hz)]
    if description["pulse_hz"]:
        # the kernel knows whole Hz only; the core reports the exact fraction
        clocks.append(("pulse_clk", int(Fraction(*description["pulse_hz"]))))
        for name, window in sorted(description["memories"].items()):
            if not name.endswith("_window"):
                continue
            core = name.removesuffix("_window")
            devices.append(
                device(
                    "serial",
                    "litex,litepulse",
                    core,
                    {
                        "reg": [(bases[core], csr_size(description, core)), (window["base"], window["size"])],
                        "reg-names": ["csr", "window"],
                        "clocks": [(Ref("pulse_clk"),), (Ref("sys_clk"),)],
                        "clock-names": ["pulse", "sys"],
                    },
                    label=core.replace("pulse", "litepulse", 1),
                )
            )

    cells = {"#address-cells": 1, "#size-cells": 1}
    if riscv:
        intc = Node(
            "interrupt-controller",
            {"compatible": "riscv,cpu-intc", "interrupt-controller": None, "#interrupt-cells": 1, "#address-cells": 0},
            label="cpu_intc",
        )
        cpu = {
            "device_type": "cpu",
            "compatible": ["spinalhdl,vexriscv", "riscv"],
            "reg": 0,
            "clock-frequency": sys_hz,
            "riscv,isa": "rv32ima",
            "riscv,isa-base": "rv32i",
            "riscv,isa-extensions": ["i", "m", "a", "zicsr", "zifencei"],
            "mmu-type": "riscv,sv32",
            "status": "okay",
        }
        cpus = Node("cpus", {"#address-cells": 1, "#size-cells": 0, "timebase-frequency": sys_hz}, Node("cpu@0", cpu, intc))
        plic = description["memories"]["plic"]
        controller = Node(
            f"interrupt-controller@{plic['base']:x}",
            {
                "compatible": ["litex,plic", "sifive,plic-1.0.0"],
                "reg": [(plic["base"], plic["size"])],
                "interrupt-controller": None,
                "#interrupt-cells": 1,
                "#address-cells": 0,
                # 9: the supervisor's external interrupt
                "interrupts-extended": [(Ref("cpu_intc"), 9)],
                "riscv,ndev": 31,
            },
            label="intc",
        )
        devices.insert(0, controller)
        outside = []
    else:
        cpu = {"device_type": "cpu", "compatible": "opencores,mor1kx", "reg": 0, "clock-frequency": sys_hz}
        cpus = Node("cpus", {"#address-cells": 1, "#size-cells": 0}, Node("cpu@0", cpu))
        outside = [
            Node(
                "interrupt-controller",
                {"compatible": "opencores,or1k-pic-level", "interrupt-controller": None, "#interrupt-cells": 1, "#address-cells": 0},
                label="intc",
            )
        ]

    reserved = []
    if files:
        reserved.append(Node(f"files@{files[0]:x}", {"compatible": "litepulse,files", "reg": [files]}, label="files"))
    if firmware:
        reserved.append(Node(f"firmware@{firmware[0]:x}", {"reg": [firmware], "no-map": None}))
    devices.sort(key=lambda node: node.name.split("@")[1])
    root = Node(
        "/",
        {"compatible": f"litex,{description['cpu']}", "model": f"LitePulse Linux SoC, {description['cpu']}", **cells},
        Node("aliases", aliases),
        Node("chosen", {"bootargs": bootargs, "stdout-path": "serial0"}),
        cpus,
        Node(f"memory@{ram['base']:x}", {"device_type": "memory", "reg": [(ram["base"], ram["size"])]}),
        *([Node("reserved-memory", {**cells, "ranges": None}, *reserved)] if reserved else []),
        *(
            Node(f"clock-{name.split('_')[0]}", {"compatible": "fixed-clock", "#clock-cells": 0, "clock-frequency": hz}, label=name)
            for name, hz in clocks
        ),
        *outside,
        # not of the root: the hart's own controller must not have the one behind it as its parent
        Node("soc", {"compatible": "simple-bus", **cells, "interrupt-parent": [(Ref("intc"),)], "ranges": None}, *devices),
    )
    head = f"// Generated by `python -m litex_soc.device_tree`: do not edit. {SPDX} BSD-2-Clause"
    return f"{head}\n/dts-v1/;\n\n{root.text()}\n"


def blob(text):
    """The binary (.dtb) of a .dts; DeviceTreeError with the output of dtc, if there is any."""
    if not shutil.which("dtc"):
        raise DeviceTreeError("no dtc here (Debian's package device-tree-compiler): run `make setup`")
    result = subprocess.run(["dtc", "-I", "dts", "-O", "dtb", "-"], input=text.encode(), capture_output=True, check=False)
    if result.returncode or result.stderr:
        raise DeviceTreeError(f"dtc: status {result.returncode}\n{result.stderr.decode(errors='replace')}")
    return result.stdout


def of_board(choice, bootargs=BOOTARGS):
    """The text of the .dts of a board's Linux SoC (a board.Choice of variant `linux`)."""
    from litex_soc import board, firmware

    soc, _ = board.make_soc(choice)
    soc.finalize()
    description = soc.description()
    return device_tree(description, bootargs, firmware=firmware.board_layout(description).firmware)


def main(argv=None):
    """`python -m litex_soc.device_tree`; exit status 2 if something was requested that does not
    exist."""
    from litex_soc import linux_sim
    from litex_soc.board import ChoiceError, choose

    parser = argparse.ArgumentParser(prog="python -m litex_soc.device_tree", description="Prints the device tree of a Linux SoC.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--cpu", help=f"of the simulated SoC with this CPU: {', '.join(linux_sim.CPUS)}")
    what.add_argument("--board", help="of a board that has a variant `linux`")
    parser.add_argument("--variant", default="linux", help="default %(default)s")
    parser.add_argument("--fpga", help="of the board")
    parser.add_argument("--samples", help="of the board: samples per cycle")
    parser.add_argument("--bootargs", default=BOOTARGS, help="of the kernel (default: %(default)s)")
    args = parser.parse_args(argv)
    logging.disable(logging.INFO)
    try:
        if args.cpu:
            description = linux_sim.describe(args.cpu)
            layout = linux_sim.Layout.of(description)
            text = device_tree(description, args.bootargs, files=(layout.files, layout.files_size))
        else:
            choice = choose(args.board, args.fpga, args.variant, args.samples)
            if choice.variant != "linux":
                raise ChoiceError(f"variant {choice.variant} runs no Linux")
            text = of_board(choice, args.bootargs)
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 1
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
