# SPDX-License-Identifier: BSD-2-Clause
"""Bitstreams of an iCE40 read back (bitstream.py): what was packed does what the sources say, and a wrong bit is noticed.

Of an ECP5's bitstream no netlist can be made with what `make setup` installs: it is unpacked, compared, and packed again.
"""

import shutil
import subprocess

import pytest

from litex_soc.bitstream import ToolError, run_tool, synthesis
from sim.cocotb_rig import ROOT, hdl_sources, headers, tool_environment
from sim.netlist.bitstream import CHIPS, flipped, waking_cells
from sim.netlist.test_netlist import SHORT

# What litepulse_chip leaves out.
WITHOUT = ("tb_lin", "tb_port", "tb_sequence")
CASES = {module: cases for module, cases in SHORT.items() if module not in WITHOUT}
EXAMPLE = "module pulse_58hz (input clk, output pulse);\nchip chip (.clk(clk), .pulse(pulse));\nendmodule\n"
PASSED = "passed: pulses began 620689 cycles after the first one"


def run_example(folder, netlist):
    """What the example's own testbench prints about a netlist, whose block RAMs wake up after 3 us as on the chip."""
    (folder / "pulse_58hz.v").write_text(EXAMPLE)
    files = [*waking_cells(), netlist, folder / "pulse_58hz.v", ROOT / "examples" / "verilog" / "pulse_58hz_tb.sv"]
    options = "--binary --timing -j 1 --timescale 1ns/1ps --x-initial 0 -Wno-fatal -Wno-WIDTH -DNO_ICE40_DEFAULT_ASSIGNMENTS"
    command = ["verilator", *options.split(), "--output-split", "10000", "--top-module", "pulse_58hz_tb", *map(str, files)]
    built = subprocess.run(command, cwd=folder, env=tool_environment(), capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return subprocess.run([folder / "obj_dir" / "Vpulse_58hz_tb"], capture_output=True, text=True, timeout=600, check=False).stdout


@pytest.mark.seconds(150)
def test_train_of_the_example(tmp_path):
    """58 Hz at the pin, from the packed file alone: pulses begin at the cycles that the sources' testbench requires."""
    assert PASSED in run_example(tmp_path, CHIPS["pulse_58hz"].read_back()).splitlines()


@pytest.mark.seconds(60)
def test_a_flipped_bit_is_noticed(tmp_path):
    """The control: one bit of one LUT is wrong, in a file that is whole. It is the LUT before the pin."""
    chip = CHIPS["pulse_58hz"]
    output = run_example(tmp_path, chip.read_back(flipped(chip.build(), "pulse$SB_IO_OUT")))
    assert PASSED not in output and "only 0 pulses" in output, output


def test_a_damaged_file_is_refused(tmp_path):
    """A file with a bit turned over in transport has a wrong checksum; the chip does not start from it, and iceunpack refuses it."""
    data = bytearray((CHIPS["pulse_58hz"].build() / "chip.bin").read_bytes())
    data[len(data) // 2] ^= 0x10
    (tmp_path / "damaged.bin").write_bytes(data)
    with pytest.raises(ToolError, match="CRC"):
        run_tool(tmp_path, "iceunpack", "damaged.bin", "damaged.asc")


@pytest.mark.seconds(400)
def test_promises():
    """The short form of the seven promises, but for WITHOUT, on the core as an HX8K would be configured."""
    chip = CHIPS["litepulse_chip"]
    cases = [case for of_module in CASES.values() for case in of_module]
    passed = chip.simulate_core(list(CASES), cases, chip.read_back())
    assert passed == sorted(f"{module}.{case}" for module, of_module in CASES.items() for case in of_module)


def lut_words(path):
    """{(tile, LUT): its 16 bits} of a text configuration of an ECP5."""
    words, tile = {}, ""
    for line in path.read_text().splitlines():
        if line.startswith("."):
            tile = line
        elif line.startswith("word: SLICE"):
            _, name, value = line.split()
            words[tile, name] = value
    return words


@pytest.mark.seconds(90)
def test_ecp5_is_packed_as_configured(tmp_path):
    """What ecpunpack reads out of a bitstream has the bits of every LUT, and becomes the same file when it is packed again."""
    sources = hdl_sources("examples/verilog/pulse_58hz.sv")
    for path in [*sources, *headers(sources)]:
        shutil.copyfile(path, tmp_path / path.name)
    script = f"read_verilog -sv {' '.join(path.name for path in sources)}; hierarchy -top pulse_58hz; "
    run_tool(tmp_path, "yosys", "-q", "-p", script + synthesis("ecp5", 1).format("pulse_58hz"))
    part = ["--25k", "--package", "CABGA381", "--lpf-allow-unconstrained", "--timing-allow-fail"]
    run_tool(tmp_path, "nextpnr-ecp5", *part, "--json", "pulse_58hz.json", "--textcfg", "placed.config", "--seed", "1", "-q")
    run_tool(tmp_path, "ecppack", "placed.config", "placed.bit")
    run_tool(tmp_path, "yowasp-ecpunpack", "placed.bit", "back.config")
    placed, back = lut_words(tmp_path / "placed.config"), lut_words(tmp_path / "back.config")
    assert len(placed) > 3000
    # A LUT of ones alone has no bit set, as an unused one.
    different = {where: value for where, value in placed.items() if back.get(where, "1" * 16) != value}
    assert not different, different
    run_tool(tmp_path, "ecppack", "back.config", "again.bit")
    assert (tmp_path / "again.bit").read_bytes() == (tmp_path / "placed.bit").read_bytes()
