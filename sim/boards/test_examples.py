# SPDX-License-Identifier: BSD-2-Clause
"""The examples for other people's designs: LiteX makes them, the command's file is right, and Yosys reads what came out."""

import re
import shutil
import subprocess
import sys

import pytest

from litepulse.backends import places
from litepulse.backends.places import Places
from litex_soc.bitstream import run_tool
from litex_soc.generate import ROOT
from litex_soc.phys import HDL

pytestmark = pytest.mark.full


def made(example, folder):
    """`folder` with what LiteX made of an example, started as a user would."""
    command = [sys.executable, ROOT / "examples" / f"{example}.py", "--build", "--no-compile-gateware", "--output-dir", folder]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def arty(tmp_path_factory):
    """Folder with what LiteX made of examples/litex_arty.py."""
    return made("litex_arty", tmp_path_factory.mktemp("arty"))


@pytest.mark.parametrize("form", ["csv", "json"])
def test_two_cores_are_found(arty, form):
    """Each by its name, with its own CSRs and window; without a name the first."""
    file = arty / f"csr.{form}"
    first, second = Places(0x8000, 0x9000_0000, None), Places(0xA000, 0x9000_8000, None)
    assert places.read_file(file) == {"pulse": first, "pulse1": second}
    assert places.choose(file) == (None, first) and places.choose(file, "pulse1") == ("pulse1", second)


def test_pins(arty):
    """Both lines lie on the PMODs as the header says: tx, rx, de, then the capture inputs."""
    text = (arty / "gateware" / "digilent_arty.xdc").read_text()
    found = dict(re.findall(r"set_property LOC (\w+) \[get_ports \{(pulse\S+)\}\]", text))
    pins = {port: pin for pin, port in found.items()}
    names = ["tx", "rx", "de", *(f"aux[{n}]" for n in range(4))]
    for number, where in ((0, "G13 B11 A11 D13 B18 A18 K16"), (1, "E15 E16 D15 J17 J18 K15 J15")):
        assert [pins[f"pulse{number}_{name}"] for name in names] == where.split()


@pytest.mark.seconds(40)
def test_yosys_reads_it(arty):
    """Two cores, which share nothing but their clocks and their reset; each source is named once."""
    folder = arty / "gateware"
    named = re.findall(r"read_verilog .*?(litepulse\w*\.sv)", (folder / "digilent_arty.tcl").read_text())
    assert sorted(named) == sorted({path.name for path in HDL.glob("*.sv")} | {"litepulse_phy_generic.sv"})
    for source in [*HDL.glob("*.sv*"), HDL / "phy" / "litepulse_phy_generic.sv"]:
        shutil.copyfile(source, folder / source.name)
    read = f"read_verilog -sv {' '.join(named)} digilent_arty.v; read_verilog -lib +/xilinx/cells_sim.v +/xilinx/cells_xtra.v"
    run_tool(folder, "yosys", "-p", f"{read}; hierarchy -check -top digilent_arty; select -assert-count 2 digilent_arty/t:*litepulse")


def test_four_lines_on_ulx3s(tmp_path):
    """Each core has its pins and its place, rx has a pull-up, and all share the reset of the first."""
    made("litex_ulx3s_lines", tmp_path)
    constraints = (tmp_path / "gateware" / "radiona_ulx3s.lpf").read_text()
    pulled = re.findall(r'IOBUF PORT "(pulse\S+)" PULLMODE=UP;', constraints)
    assert sorted(pulled) == [f"pulse{number}_rx" for number in range(4)]
    found = dict(re.findall(r'LOCATE COMP "(pulse\S+)" SITE "(\w+)"', constraints))
    pins = [" ".join(found[f"pulse{number}_{name}"] for name in ("tx", "rx", "de", "aux")) for number in range(4)]
    assert pins == ["U18 N17 N16 L16", "U17 P16 M17 L17", "H18 F17 D18 C18", "H17 G18 E17 D17"]
    listed = places.read_file(tmp_path / "csr.csv")
    assert sorted(listed) == ["pulse", "pulse1", "pulse2", "pulse3"] and listed["pulse"] == Places(0x8000, 0x9000_0000, None)
    assert len({place.window for place in listed.values()}) == 4
    cores = re.findall(r"litepulse #\(.*?\.pulse_rst\s*\((\w+)\)", (tmp_path / "gateware" / "radiona_ulx3s.v").read_text(), re.DOTALL)
    assert len(cores) == 4 and len(set(cores)) == 1


def test_as_litex_tests_its_cores(tmp_path):
    """The unittest passes as in a checkout of LiteX. It needs neither pytest nor our rigs."""
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "__init__.py").touch()
    shutil.copyfile(ROOT / "examples" / "litex_unittest.py", tmp_path / "test" / "test_litepulse.py")
    command = [sys.executable, "-m", "unittest", "-v", "test/test_litepulse.py"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert result.returncode == 0 and "Ran 4 tests" in result.stderr, result.stderr
