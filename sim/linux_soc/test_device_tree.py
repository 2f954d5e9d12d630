# SPDX-License-Identifier: BSD-2-Clause
"""Device trees: dtc accepts them, they say what the SoC is, and the binding of our node finds what is wrong with one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from litex_soc import board, device_tree, linux_sim
from litex_soc.linux_sim import Layout
from scripts.debian_package import linux_source
from sim.cocotb_rig import ROOT

BINDING = ROOT / "driver" / "bindings" / "serial" / "litex,litepulse.yaml"


@pytest.fixture(scope="module", params=["vexriscv", "mor1kx"])
def simulated(request):
    """(description, LiteX SoC, dts) of a simulated SoC."""
    soc, _ = linux_sim.make_soc(request.param)
    soc.finalize()
    description = soc.description()
    layout = Layout.of(description)
    return description, soc, device_tree.device_tree(description, 'console=liteuart "quoted" \\', (layout.files, layout.files_size))


@pytest.fixture(scope="module")
def ulx3s():
    """(description, LiteX SoC, dts) of the board."""
    choice = board.choose("ulx3s", variant="linux")
    soc, _ = board.make_soc(choice)
    soc.finalize()
    return soc.description(), soc, device_tree.of_board(choice)


def compiled(text, path):
    """The tree as libfdt reads it from what dtc makes of the text."""
    import libfdt

    path.write_bytes(device_tree.blob(text))
    return libfdt.FdtRo(path.read_bytes())


def words(tree, path, name):
    """A property's 32-bit cells."""
    data = bytes(tree.getprop(tree.path_offset(path), name))
    return [int.from_bytes(data[n : n + 4], "big") for n in range(0, len(data), 4)]


def text_of(tree, path, name):
    """A property's strings."""
    return bytes(tree.getprop(tree.path_offset(path), name)).decode().rstrip("\0").split("\0")


def children(tree, path):
    """{compatible: path} of a node's children."""
    import libfdt

    found = {}
    node = tree.first_subnode(tree.path_offset(path), [libfdt.NOTFOUND])
    while node >= 0:
        name = f"{path.rstrip('/')}/{tree.get_name(node)}"
        if tree.getprop(node, "compatible", [libfdt.NOTFOUND]) != -libfdt.NOTFOUND:
            found.setdefault(text_of(tree, name, "compatible")[-1], []).append(name)
        node = tree.next_subnode(node, [libfdt.NOTFOUND])
    return found


def check(description, soc, text, tmp_path):
    """Addresses and numbers are those of the LiteX object's own tables, not of what the tree is made from."""
    tree = compiled(text, tmp_path / "tree.dtb")
    nodes = children(tree, "/soc")
    (pulse,) = nodes["litex,litepulse"]
    csr, window = soc.csr_regions["pulse"], soc.bus.regions["pulse_window"]
    assert words(tree, pulse, "reg") == [csr.origin, 4 * len(soc.pulse.get_csrs()), window.origin, window.size]
    assert text_of(tree, pulse, "reg-names") == ["csr", "window"] and text_of(tree, pulse, "clock-names") == ["pulse", "sys"]
    assert words(tree, pulse, "interrupts") == [soc.irq.locs["pulse"]] != [0]
    clocks = {tree.get_phandle(tree.path_offset(path)): words(tree, path, "clock-frequency") for path in children(tree, "/")["fixed-clock"]}
    assert [clocks[handle] for handle in words(tree, pulse, "clocks")] == [[int(soc.pulse.clock_hz)], [int(soc.sys_clk_freq)]]
    assert words(tree, f"/memory@{soc.bus.regions['main_ram'].origin:x}", "reg") == [soc.bus.regions["main_ram"].origin, 32 << 20]
    console = text_of(tree, "/aliases", "serial0")[0]
    assert console in nodes["litex,liteuart"] and words(tree, console, "reg")[0] == soc.csr_regions["uart"].origin
    assert words(tree, console, "interrupts") == [soc.irq.locs["uart"]]
    (controller,) = nodes["litex,soc-controller"]
    assert words(tree, controller, "reg") == [soc.csr_regions["ctrl"].origin, 12]
    return tree


def test_simulated(simulated, tmp_path):
    description, soc, text = simulated
    tree = check(description, soc, text, tmp_path)
    assert text_of(tree, "/chosen", "bootargs") == ['console=liteuart "quoted" \\']
    peer = text_of(tree, "/aliases", "serial1")[0]
    assert words(tree, peer, "reg")[0] == soc.csr_regions["peer"].origin and words(tree, peer, "interrupts") == [soc.irq.locs["peer"]]
    ram = soc.bus.regions["main_ram"].origin
    assert words(tree, f"/reserved-memory/files@{ram + (28 << 20):x}", "reg") == [ram + (28 << 20), 4 << 20]
    if soc.cpu_type == "vexriscv":
        plic = f"/soc/interrupt-controller@{soc.bus.regions['plic'].origin:x}"
        assert words(tree, plic, "reg") == [soc.bus.regions["plic"].origin, soc.bus.regions["plic"].size]
        intc = tree.get_phandle(tree.path_offset("/cpus/cpu@0/interrupt-controller"))
        assert words(tree, plic, "interrupts-extended") == [intc, 9]
        assert words(tree, "/cpus", "timebase-frequency") == [int(soc.sys_clk_freq)]
    else:
        assert words(tree, "/cpus/cpu@0", "clock-frequency") == [int(soc.sys_clk_freq)]


def test_ulx3s(ulx3s, tmp_path):
    """The same for a board: 4 samples of 100 MHz, SDRAM of 32 MB, the firmware at its end."""
    tree = check(*ulx3s, tmp_path)
    assert words(tree, "/reserved-memory/firmware@41ff0000", "reg") == [0x41FF_0000, 0x1_0000]
    assert tree.path_offset("/aliases") >= 0 and len(children(tree, "/soc")["litex,liteuart"]) == 1


def test_follows_the_soc(simulated):
    """Another place of the registers, another interrupt and another clock are in the tree."""
    description, _, text = simulated
    base = description["csr_bases"]["pulse"]
    other = {
        **description,
        "csr_bases": {**description["csr_bases"], "pulse": base + 0x800},
        "pulse_hz": [400_000_000, 3],
        "interrupts": {**description["interrupts"], "pulse": 9},
        "csr_registers": {
            name: {**register, "addr": register["addr"] + 0x800 * name.startswith("pulse_")}
            for name, register in description["csr_registers"].items()
        },
    }
    changed = device_tree.device_tree(other)
    assert f"serial@{base + 0x800:x}" in changed and f"serial@{base:x}" not in changed
    assert "clock-frequency = <133333333>;" in changed and "interrupts = <9>;" in changed and "interrupts = <9>;" not in text


def test_dtc_is_heard():
    with pytest.raises(device_tree.DeviceTreeError, match="dtc: status"):
        device_tree.blob("/dts-v1/; / { a = <&nothing>; };")
    with pytest.raises(device_tree.DeviceTreeError, match=r"(?s)status 0.*unit_address"):
        device_tree.blob("/dts-v1/; / { a@1 { }; };")


@pytest.mark.parametrize(
    "arguments, status, message",
    [
        (["--cpu", "z80"], 2, "no CPU 'z80' for Linux; there is vexriscv, mor1kx\n"),
        (["--board", "icebreaker"], 2, "no variant linux on iCEBreaker; there is uartbone\n"),
        (["--board", "ulx3s", "--variant", "uartbone"], 2, "variant uartbone runs no Linux\n"),
    ],
)
def test_command_refuses(arguments, status, message, capsys):
    assert device_tree.main(arguments) == status
    assert capsys.readouterr() == ("", message)


def test_command():
    result = subprocess.run(
        [sys.executable, "-m", "litex_soc.device_tree", "--board", "ulx3s", "--bootargs", "a=b"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.startswith("// Generated by") and 'bootargs = "a=b";' in result.stdout and not result.stderr


# --- the binding ------------------------------------------------------------------------------------------------------------------


def schema_tool(name, *arguments, cwd):
    """What a tool of dtschema says, which ends with 0 even when it found something."""
    program = Path(sys.executable).with_name(name)
    result = subprocess.run([program, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False)
    assert result.returncode == 0 or result.stderr, result
    return result.stdout + result.stderr


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    """The processed binding, in a folder like the kernel's, with the kernel's two to which it refers."""
    folder = tmp_path_factory.mktemp("bindings")
    (folder / "serial").mkdir()
    theirs = linux_source()[0] / "Documentation" / "devicetree" / "bindings" / "serial"
    for path in (BINDING, theirs / "serial.yaml", theirs / "rs485.yaml"):
        shutil.copy(path, folder / "serial")
    assert schema_tool("dt-doc-validate", "-u", folder, folder / "serial" / BINDING.name, cwd=folder) == ""
    assert schema_tool("dt-mk-schema", "-j", "-o", "schema.json", folder, cwd=folder) == ""
    return folder / "schema.json"


def validate(schema, text, tmp_path):
    """What dt-validate says of a tree."""
    (tmp_path / "tree.dtb").write_bytes(device_tree.blob(text))
    output = schema_tool("dt-validate", "-l", "litepulse", "-s", schema, tmp_path / "tree.dtb", cwd=tmp_path)
    return [line for line in output.splitlines() if "litepulse" in line]


def test_binding_accepts(schema, simulated, ulx3s, tmp_path):
    for text in (simulated[2], ulx3s[2]):
        assert validate(schema, text, tmp_path) == []


def test_binding_example(schema, tmp_path):
    """The example in the binding is one that it accepts."""
    example = schema_tool("dt-extract-example", BINDING, cwd=tmp_path)
    tree = tmp_path / "example.dts"
    tree.write_text(example)
    made = subprocess.run(
        ["dtc", "-@", "-q", "-I", "dts", "-O", "dtb", "-o", "example.dtb", tree], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0 and not made.stderr, made.stderr
    assert schema_tool("dt-validate", "-s", schema, "example.dtb", cwd=tmp_path) == ""
    assert 'compatible = "litex,litepulse"' in example


@pytest.mark.parametrize(
    "right, wrong",
    [
        ('reg-names = "csr", "window";', 'reg-names = "window", "csr";'),
        ('clock-names = "pulse", "sys";', 'clock-names = "pulse";'),
        ("clocks = <&pulse_clk>, <&sys_clk>;", ""),
        ("interrupts = <3>;\n\t\t\treg-names", "reg-names"),
        ('reg-names = "csr", "window";', 'reg-names = "csr", "window"; current-sped = <9600>;'),
        ("0x8000>;", "0x8000>, <0x1000 4>;"),
        ('reg-names = "csr", "window";', 'reg-names = "csr", "window"; rs485-rts-delay = <1 2 3>;'),
        ("litepulse: serial@", "litepulse: litepulse@"),
    ],
)
def test_binding_finds(schema, simulated, right, wrong, tmp_path):
    text = simulated[2]
    assert text.count(right) == 1
    assert validate(schema, text.replace(right, wrong), tmp_path)


def test_binding_finds_a_broken_schema(tmp_path):
    """A control: the check of the binding itself can fail."""
    (tmp_path / "serial").mkdir()
    copy = tmp_path / "serial" / BINDING.name
    copy.write_text(BINDING.read_text().replace("maxItems: 1", "maxItem: 1"))
    assert "maxItem" in schema_tool("dt-doc-validate", "-u", tmp_path, copy, cwd=tmp_path)
