# SPDX-License-Identifier: BSD-2-Clause
"""The Linux programs of sw/responders on Debian's kernels: each follows each edge of a GPIO line, once, and reports a wrong line."""

import re
import subprocess

import pytest

from scripts.debian_package import obtain
from sim.cocotb_rig import ROOT, run_folder
from sim.guest.kernel_kits import kernel_kit
from sim.pc import kernels
from sim.pc.pc_rig import GUEST, LINES
from sim.pc.python import python
from sim.series import each, or_not_tested

RESPONDERS = ROOT / "sw" / "responders"
KERNEL = RESPONDERS / "kernel"
CHIP = GUEST / "gpio_loop"
kit_of = or_not_tested(kernel_kit)
LIBRARY = "libgpiod.so.3"
IMPORTED = "import collections, dataclasses, datetime, enum, errno, os, select, sys, time, typing"  # of libgpiod's Python
EDGES = 10
# Line 0 is the input, line 1 the output. A program is ready when it has asked for the interrupt.
FOLLOWED = f"""
insmod gpio_loop.ko || exit 91
here=/sys/module/gpio_loop/parameters
until_is() {{ until [ "$(cat $here/$1)" = $2 ]; do usleep 1000; done; }}
followed() {{
    until_is armed Y
    echo 0 >$here/changes
    for edge in $(seq {EDGES // 2}); do
        echo 1 >$here/level; until_is out Y
        echo 0 >$here/level; until_is out N
    done
    echo "$1 made $(cat $here/changes) changes"
}}
ended() {{ kill $!; wait $! 2>/dev/null; }}
freed() {{ for line in $*; do echo $line >/sys/class/gpio/unexport; done; until_is armed N; }}
"""


def modules(line):
    """The module that answers and the chip, for a kernel line."""
    made = {}
    for folder, name in ((KERNEL, "answer-gpio"), (CHIP, "gpio-loop")):
        files = [path for path in sorted(folder.iterdir()) if path.suffix == ".c" or path.name == "Kbuild"]
        made |= {f"{module}.ko": path for module, path in kernels.modules(line, folder, files, name).items()}
    return made


def gpiod(guest):
    """answer-gpiod with Debian's libgpiod."""
    tree = obtain("libgpiod").path
    library = next(tree.rglob("libgpiod.a"))
    source = run_folder("responders", "gpiod") / "answer-gpiod"
    flags = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-static", "-O2")
    command = ["gcc", *flags, f"-I{tree / 'usr/include'}", RESPONDERS / "answer_gpiod.c", library, "-o", source]
    subprocess.run(command, check=True)
    return source


def python_gpiod():
    """Python with libgpiod's package, and answer_gpiod.py."""
    tree = obtain("libgpiod").path
    package = tree / "usr/lib/python3/dist-packages"
    files = {
        f"python/{path.relative_to(package)}": path for path in sorted((package / "gpiod").rglob("*")) if path.suffix in (".py", ".so")
    }
    library = next(path for path in sorted(tree.rglob(LIBRARY)))
    return {**python("gpiod", IMPORTED, []), **files, f"libraries/{LIBRARY}": library, "answer_gpiod.py": RESPONDERS / "answer_gpiod.py"}


@pytest.mark.seconds(8)
@pytest.mark.parametrize("line", each(LINES))
def test_the_module_builds_without_a_warning(line):
    folder = run_folder("responders", "module", line)
    for path in KERNEL.iterdir():
        if path.suffix == ".c" or path.name == "Kbuild":
            (folder / path.name).write_bytes(path.read_bytes())
    status, output = kit_of(line).make(folder, "W=1", "modules")
    assert status == 0 and (folder / "answer_gpio.ko").exists(), output
    assert not re.search(r"(?i)\b(warning|error)\b", output), output


@pytest.mark.seconds(20)
@pytest.mark.parametrize("line", LINES)
def test_programs_follow_each_edge(pc, line):
    """libgpiod in C, sysfs, registers with sysfs, and the module: ten edges each. On the chip, a busy line and no chip are one line."""
    guest = pc(line)
    flags = ("-std=gnu11", "-Wextra", "-Werror")
    programs = {
        f"answer-{name}": guest.program(RESPONDERS / f"answer_{name}.c", flags=flags, includes=[RESPONDERS]) for name in ("sysfs", "mmap")
    }
    result = guest.run(
        f"""{FOLLOWED}
        base=$(cat /sys/class/gpio/gpiochip*/base)
        ./answer-gpiod /dev/gpiochip0 0 1 & followed gpiod; ended; until_is armed N
        ./answer-sysfs $base $((base + 1)) & followed sysfs; ended
        ./answer-sysfs $base $((base + 1)) & followed sysfs-again; ended
        ./answer-gpiod /dev/gpiochip0 0 1; echo "status $?"
        freed $base $((base + 1))
        head -c 4096 /dev/zero >memory
        ./answer-mmap -b $base -m memory 0 1 & until_is armed Y
        cleared() {{ od -An -tx4 -j40 -N4 memory; }}
        while cleared | grep -q 00000000; do usleep 1000; done
        dd if=/dev/zero of=memory bs=4 seek=10 count=1 conv=notrunc 2>/dev/null
        echo 1 >$here/level
        while ! od -An -tx4 -j28 -N4 memory | grep -q 00000002; do usleep 1000; done
        cleared
        echo 0 >$here/level
        while ! cleared | grep -q 00000002; do usleep 1000; done
        echo "registers were written"
        ended
        freed $base
        insmod answer_gpio.ko chip=nothing && exit 92
        dmesg | grep -o "answer_gpio: lines .*"
        insmod answer_gpio.ko chip=gpio-loop in=0 out=1 || exit 93
        followed module
        ./answer-gpiod /dev/gpiochip0 0 1; echo "status $?"
        rmmod answer_gpio; until_is armed N
        rmmod gpio_loop
        """,
        {**modules(line), **programs, "answer-gpiod": gpiod(guest)},
        boards=[],
    )
    text = "\n".join(result.lines)
    for name in ("gpiod", "sysfs", "sysfs-again", "module"):
        assert f"{name} made {EDGES} changes" in result.lines, text
    assert text.count("answer-gpiod: line 1: Device or resource busy\nstatus 2") == 2, text
    # The register that clears a pin was not written at the rising edge.
    assert re.search(r"(?m)^ *00000000\nregisters were written$", text), text
    assert "answer_gpio: lines 17 and 18 of nothing: error -19" in result.lines, text


@pytest.mark.seconds(20)
def test_python_follows_each_edge(pc):
    """With Debian's python3-libgpiod; a chip that is not there is one line."""
    result = pc("6.12").run(
        f"""{FOLLOWED}
        ./start answer_gpiod.py /dev/gpiochip0 0 1 & followed python; ended
        ./start answer_gpiod.py /dev/gpiochip7 0 1; echo "status $?"
        """,
        {**modules("6.12"), **python_gpiod()},
        boards=[],
    )
    text = "\n".join(result.lines)
    assert f"python made {EDGES} changes" in result.lines, text
    assert re.search(r"(?m)^answer_gpiod\.py: /dev/gpiochip7: .*No such file or directory.*\nstatus 1$", text), text
