# SPDX-License-Identifier: BSD-2-Clause
"""The driver's ABI header: for any C and C++ by itself, and with the same records for 32-bit and 64-bit programs."""

import dataclasses
import re
import subprocess

import pytest

from litepulse.backends import driver_abi
from litex_soc import uapi
from scripts.debian_package import obtain
from sim.cocotb_rig import ROOT, run_folder
from sim.guest.driver_tree import DRIVER
from sim.guest.kernel_kits import kernel_kit

HEADER = DRIVER / "uapi" / "linux" / "litepulse.h"
MODULE = "sw/litepulse/backends/driver_abi.py"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wpadded")
# Of the 32-bit targets i386 is the one that aligns 64-bit members to 4 bytes.
TARGETS = {
    "x86-64": ("x86_64-linux-gnu", "gcc", "-m64"),
    "i386": ("i386-linux-gnu", "gcc", "-m32"),
    "rv32": ("riscv64-linux-gnu", "riscv64-linux-gnu-gcc", "-march=rv32ima", "-mabi=ilp32"),
    # Debian has no headers for it; those of RISC-V ask the compiler for what may differ
    "or1k": ("riscv64-linux-gnu", "or1k-elf-gcc"),
}


def structures(text):
    """Names of the structures that a header defines."""
    return re.findall(r"(?m)^struct (\w+) \{", text)


def headers(multiarch):
    """Options by which a compiler without a C library finds <linux/types.h> and <linux/ioctl.h>."""
    include = obtain("linux-libc-dev").path / "usr" / "include"
    return ["-nostdinc", f"-I{include / multiarch}", f"-I{include}"]


def layouts(header, target, folder):
    """{structure: [(offset, size, member)]} as the target's compiler lays them out, read from its debug information."""
    multiarch, compiler, *options = TARGETS[target]
    source = folder / "all.c"
    names = structures(header.read_text())
    source.write_text(f'#include "{header}"\n' + "".join(f"struct {name} a_{name};\n" for name in names))
    made = folder / f"{target}.elf"
    # linked, as pahole cannot relocate debug information of every target
    link = ("-nostdlib", "-static", "-Wl,-e,0")
    subprocess.run([compiler, *options, *headers(multiarch), "-gdwarf-4", *link, "-o", made, source], check=True, stdin=subprocess.DEVNULL)
    text = subprocess.run([kernel_kit("6.12").path / "usr" / "bin" / "pahole", made], capture_output=True, text=True, check=True).stdout
    found = {}
    for name, body, size in re.findall(r"(?ms)^struct (\w+) \{\n(.*?)\n\t/\* size: (\d+)", text):
        # "\t__u8   reserved[15];   /*    33    15 */"
        members = re.findall(r"(?m)(\w+)(?:\[\d+\])?(?: __attribute__\(\([^;]*\)\))?; +/\* +(\d+) +(\d+)", body)
        found[name] = [*((int(offset), int(length), member) for member, offset, length in members), (int(size), 0, "end")]
    assert set(found) == set(names), text
    return found


def gaps(layout):
    """[(structure, where)] of bytes that belong to no member, at the end, too."""
    found = []
    for name, members in layout.items():
        place = 0
        for offset, length, member in members:
            if offset != place:
                found.append((name, f"before {member}"))
            place = offset + length
    return found


@pytest.mark.parametrize("language, standard", [("c", "c99"), ("c", "gnu11"), ("c", "c17"), ("c++", "c++11"), ("c++", "c++20")])
def test_compiles_by_itself(language, standard):
    folder = run_folder("uapi", standard)
    source = folder / "only.c"
    values = re.findall(r"(?m)^#define (LITEPULSE_\w+)[ \t]+\S", HEADER.read_text())
    assert len(values) > 20
    # each constant is a complete expression, too
    source.write_text(
        f'#include "{HEADER}"\n'
        + "".join(
            f"unsigned int value_{name}(void);\nunsigned int value_{name}(void)\n{{\n\treturn (unsigned int)({name});\n}}\n"
            for name in values
        )
    )
    command = ["gcc" if language == "c" else "g++", "-x", language, f"-std={standard}", *STRICT, "-c", "-o", folder / "only.o", source]
    result = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert result.returncode == 0, result.stderr


def test_the_python_module_lays_records_out_as_a_compiler_does():
    """Structures: offset and size of each member, as pahole reads them. Constants and ioctls: as a compiled program prints them."""
    here = layouts(HEADER, "x86-64", run_folder("uapi", "python"))
    for name, members in here.items():
        record = getattr(driver_abi, uapi.class_name(name.removeprefix("litepulse_")))
        names = [field.name for field in dataclasses.fields(record)]
        known = [(offset, size, member) for offset, size, member in members if member in names]
        assert [member for *_, member in known] == names and record.layout.size == members[-1][0], name
        for number, (offset, size, member) in enumerate(known):
            value = bytes(range(1, size + 1)) if isinstance(getattr(record(), member), bytes) else (1 << 8 * size - 1) - 1
            probe = record(**{member: value}).pack()
            assert [i for i, byte in enumerate(probe) if byte] == list(range(offset, offset + size)), (name, number)
            assert getattr(record.unpack(probe), member) == value
    assert driver_abi.LinEntry(data=b"\x01\x02").pack()[8:] == b"\x01\x02" + bytes(6)
    names = [name for name in re.findall(r"(?m)^#define LITEPULSE_(\w+)[ \t]+\S", HEADER.read_text())]
    names += re.findall(r"(?m)^#define LITEPULSE_(IOC_\w+) \\\\$", HEADER.read_text())
    folder = run_folder("uapi", "numbers")
    prints = "".join(f'\tprintf("%s %lu\\n", "{name}", (unsigned long)LITEPULSE_{name});\n' for name in names)
    (folder / "numbers.c").write_text(f'#include <stdio.h>\n#include "{HEADER}"\nint main(void)\n{{\n{prints}\treturn 0;\n}}\n')
    subprocess.run(["gcc", "-o", folder / "numbers", folder / "numbers.c"], check=True, stdin=subprocess.DEVNULL)
    output = subprocess.run([folder / "numbers"], capture_output=True, text=True, check=True).stdout
    assert len(names) > 60 and "IOC_DRIVER_ENABLE" in names
    for line in output.splitlines():
        name, value = line.split()
        assert getattr(driver_abi, name) == int(value), name


@pytest.mark.parametrize(
    "old, new",
    [
        ("__u32 launch_free;", "__u64 launch_free;"),
        ("__u32 launch_free;", "__u32 launch_free;\n\tstruct timespec then;"),
        ("__u32 launch_free;", "__u32 launch_free[2];"),
    ],
)
def test_a_member_of_an_unknown_type_is_refused(old, new):
    text = HEADER.read_text()
    assert old in text
    with pytest.raises(ValueError, match="struct litepulse_status: cannot read"):
        uapi.python_module(text.replace(old, new))


@pytest.mark.parametrize(
    "old, new", [("#define LITEPULSE_LDISC 8", "#define LITEPULSE_LDISC 9"), ("__u32 launch_free;", "__s32 launch_free;")]
)
def test_a_changed_header_makes_the_python_module_stale(old, new):
    text = HEADER.read_text()
    assert old in text and uapi.python_module(text.replace(old, new)) != (ROOT / MODULE).read_text()


def test_the_fuzzer_knows_all_ioctls():
    """It draws each ioctl of the header, with plausible arguments."""
    drawn = (ROOT / "sim" / "guest" / "cable" / "fuzz.c").read_text().partition("commands[] = {")[2].partition("};")[0]
    wanted = re.findall(r"#define (LITEPULSE_IOC_\w+)\s+\\?\s*_IO", HEADER.read_text())
    assert len(wanted) > 14 and set(re.findall(r"LITEPULSE_IOC_\w+", drawn)) == set(wanted)


def test_ioctl_numbers_differ():
    numbers = re.findall(r"#define (LITEPULSE_IOC_\w+)\s+_IO[RW]*\(LITEPULSE_IOC_MAGIC, (0x\w+)", HEADER.read_text())
    assert len(numbers) > 5 and len({int(number, 16) for _, number in numbers}) == len(numbers)


@pytest.mark.parametrize("target", TARGETS)
def test_same_records_everywhere(target):
    folder = run_folder("uapi", target)
    here = layouts(HEADER, "x86-64", folder)
    assert len(here) > 5 and all(len(members) > 2 for members in here.values())
    assert here["litepulse_event"][-1] == (48, 0, "end")
    assert layouts(HEADER, target, folder) == here
    assert not gaps(here)
    # so that a 64-bit member can be added without a gap
    assert not [name for name, members in here.items() if members[-1][0] % 8]


def test_control():
    """A plain __u64 after a 32-bit member lies elsewhere on i386, and leaves a gap on x86-64."""
    folder = run_folder("uapi")
    header = folder / "fault.h"
    header.write_text("#include <linux/types.h>\nstruct litepulse_fault {\n\t__u32 a;\n\t__u64 b;\n\t__u8 c[8];\n};\n")
    wide, narrow = (layouts(header, target, folder) for target in ("x86-64", "i386"))
    assert wide["litepulse_fault"] == [(0, 4, "a"), (8, 8, "b"), (16, 8, "c"), (24, 0, "end")]
    assert narrow["litepulse_fault"] == [(0, 4, "a"), (4, 8, "b"), (12, 8, "c"), (20, 0, "end")]
    assert gaps(wide) == [("litepulse_fault", "before b")]
