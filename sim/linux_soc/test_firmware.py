# SPDX-License-Identifier: BSD-2-Clause
"""The firmware takes its addresses from the SoC, for the simulation and for ULX3S, and the board's Verilog has what it drives. What
it does is tested in test_linux_sim.py."""

import re
import subprocess

import pytest

from litex_soc import board, firmware, linux_sim


@pytest.fixture(scope="module")
def soc():
    made, _ = linux_sim.make_soc("vexriscv")
    made.finalize()
    return made


@pytest.fixture(scope="module")
def ulx3s():
    """(SoC, platform), finalized."""
    made, platform = board.make_soc(board.choose("ulx3s", variant="linux"))
    made.finalize()
    return made, platform


def c_addresses(soc):
    """{register: address} as in LiteX's header for C programs."""
    from litex.soc.integration.export import get_csr_header

    text = get_csr_header(soc.csr_regions, soc.constants, with_csr_base_define=False, with_access_functions=False)
    return {name: int(value, 16) for name, value in re.findall(r"#define CSR_(\w+)_ADDR (0x\w+)L", text)}


def test_addresses(soc, ulx3s):
    """They are those of LiteX' own header; the high word of a pair comes first."""
    for made in (soc, ulx3s[0]):
        addresses = c_addresses(made)
        found = firmware.addresses(made.description(), 0x4000_0000, 0x41BF_0000, shutdown_resets=True)
        assert found == {
            "KERNEL": 0x4000_0000,
            "DEVICE_TREE": 0x41BF_0000,
            "SHUTDOWN_RESETS": 1,
            "CONTROLLER_RESET": addresses["CTRL_RESET"],
            "TIMER_LATCH": addresses["CPU_TIMER_LATCH"],
            "TIMER_TIME_HIGH": addresses["CPU_TIMER_TIME"],
            "TIMER_TIME_LOW": addresses["CPU_TIMER_TIME"] + 4,
            "TIMER_COMPARE_HIGH": addresses["CPU_TIMER_TIME_CMP"],
            "TIMER_COMPARE_LOW": addresses["CPU_TIMER_TIME_CMP"] + 4,
        }


def test_follows_the_soc(soc, tmp_path):
    """Registers elsewhere, another program; one that cannot be what it is taken for is refused."""
    description = soc.description()
    here = firmware.build(description, 0x4000_0000, 0x41BF_0000)
    moved = {name: {**csr, "addr": csr["addr"] + 0x1000 * name.startswith("cpu_")} for name, csr in description["csr_registers"].items()}
    there = firmware.build({**description, "csr_registers": moved}, 0x4000_0000, 0x41BF_0000)
    assert here == firmware.build(description, 0x4000_0000, 0x41BF_0000) != there and len(here) <= linux_sim.ROM_SIZE
    narrow = {**description["csr_registers"], "cpu_timer_time": {"addr": 0, "size": 1}}
    with pytest.raises(firmware.FirmwareError, match="cpu_timer_time has 1 words, expected 2"):
        firmware.build({**description, "csr_registers": narrow}, 0, 0)


def test_board(ulx3s, tmp_path):
    """At the end of the SDRAM, stack included, entered at its first byte; device tree below it, the kernel far from both."""
    description = ulx3s[0].description()
    layout = firmware.board_layout(description)
    assert layout == firmware.BoardLayout(0x4000_0000, 0x41FE_0000, (0x41FF_0000, 0x1_0000))
    data = firmware.build_for_board(description)
    elf = tmp_path / "firmware.elf"
    again = firmware.build(description, layout.kernel, layout.device_tree, text=layout.firmware[0], stack_top=0x4200_0000, elf=elf)
    assert data == again
    symbols = subprocess.run(["riscv64-linux-gnu-nm", elf], capture_output=True, text=True, check=True).stdout
    places = {name: int(value, 16) for value, kind, name in (line.split() for line in symbols.splitlines())}
    assert places["_start"] == 0x41FF_0000 and places["__stack_top"] == 0x4200_0000 and len(data) < 0x8000
    assert places["trap"] % 4 == 0


def test_no_compiler(soc, monkeypatch):
    """One line that names the package."""
    monkeypatch.setenv("PATH", "/nothing")
    with pytest.raises(firmware.FirmwareError, match=r"^no riscv64-linux-gnu-gcc here \(Debian's package gcc-riscv64-linux-gnu\)"):
        firmware.build(soc.description(), 0, 0)


def test_board_verilog(ulx3s):
    """The board's Verilog has the CPU, the interrupt controller between it and the core, and the core."""
    soc, platform = ulx3s
    text = str(platform.get_verilog(soc, name="ulx3s"))
    assert re.search(r"(?m)^VexRiscv VexRiscv\(", text) and re.search(r"(?m)^litepulse #\(", text)
    (irq,) = re.findall(r"\.externalInterruptArray\s*\((\w+)\)", text)
    assert irq.endswith("plic_irq") and re.search(rf"(?m)^\s*{irq} <= ", text)
