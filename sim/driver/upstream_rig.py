# SPDX-License-Identifier: BSD-2-Clause
"""What is built of the patch series: modules for the debug kernel, a User-mode Linux with the driver in its tree, programs."""

import functools
import re
import shutil
import subprocess

# For the checker, whose root is sim/, `driver` is sim/driver.
from driver.upstream import DRIVER, PLACE  # pyright: ignore[reportMissingImports]
from driver.upstream.series import SYMBOL  # pyright: ignore[reportMissingImports]
from litex_soc.build_cache import content_key
from sim.cocotb_rig import BuildError, run_folder
from sim.driver import uml
from sim.guest.builds import compiler_version
from sim.guest.upstream_tree import CONFIG, applied, kernel, options, patches, series

ECHO_BOARD = uml.HERE / "echo_board"
HEADERS = "include/uapi/linux/"
SWITCHES = ("CHARDEV", "DEBUGFS", "PTP", "CONSUMER")  # options that are no modules


@functools.cache
def modules():
    """{module: path}: those of the 6.12 series, KUnit tests too, built for the debug kernel of uml.py, whose serial core is as it was.

    Also {"include": folder}: the headers that they need.
    """
    folder = run_folder("modules")
    with applied("6.12") as tree:
        shutil.copytree(tree.path / PLACE, folder / "driver")
        (folder / "include/linux").mkdir(parents=True)
        for path in series("6.12").now:
            if path.startswith(HEADERS):
                shutil.copy(tree.path / path, folder / "include/linux")
    # That kernel has no console on a serial port.
    names = [name for name in options("6.12") if name != "CONSOLE"]
    chosen = [f"CONFIG_{SYMBOL}{'_' * bool(name)}{name}={'y' if name in SWITCHES else 'm'}" for name in names]
    return uml.build_modules(folder / "driver", *chosen, flags(folder)) | {"include": folder / "include"}


def flags(folder):
    """What the compiler has to know that it would find in the configuration and in the headers of a kernel with the series."""
    return f"KCFLAGS=-I{folder / 'include'} -DCONFIG_{SYMBOL}_MODULE=1 {' '.join(f'-DCONFIG_{SYMBOL}_{name}=1' for name in SWITCHES)}"


@functools.cache
def echo_board():
    """echo_board.ko, the board without hardware, for the modules of the series."""
    built = modules()
    driver = built["litepulse"].parent
    board, headers = run_folder("echo_board"), run_folder("echo_board_headers")
    shutil.copytree(ECHO_BOARD, board, dirs_exist_ok=True)
    copy_headers(driver, headers)
    arguments = (f"LITEPULSE_DRIVER={headers}", f"KBUILD_EXTRA_SYMBOLS={driver}/Module.symvers", flags(built["include"].parent))
    return uml.build_module(board, *arguments)


def copy_headers(driver, folder):
    """The headers of a driver of the series, but with all registers: it has those that it uses itself, a board has them all."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in driver.glob("*.h"):
        shutil.copy(DRIVER / path.name if path.name == "litepulse_regs.h" else path, folder)


@functools.cache
def guest(name="6.12"):
    """Folder with a User-mode Linux made from the series, in fixed/ and, with the serial core as it was, in unfixed/; and its modules."""
    sources = {path: text for path, text in series(name).now.items() if path.startswith(("drivers/", "include/"))}
    key = content_key(
        uml.FORMAT,
        kernel(name).version,
        CONFIG,
        uml.PATCHES[:1],
        compiler_version(),
        sources,
        [DRIVER / "litepulse_regs.h", *sorted(ECHO_BOARD.iterdir())],
    )
    return uml.UML.folder(
        "upstream", key, lambda folder: make_guest(name, folder), f"User-mode Linux {name} with the patch series, 2 minutes"
    )


def make_guest(name, folder):
    """Builds what guest() gives."""
    with applied(name) as tree:
        for file, old, new in uml.PATCHES[:1]:  # without it no program runs on a host with AMX
            text = (tree.path / file).read_text()
            (tree.path / file).unlink()
            (tree.path / file).write_text(text.replace(old, new))
        tree.configure([""], whole=False)
        tree.must("linux", "modules")
        board, headers = folder / "echo_board", folder / "headers"
        shutil.copytree(ECHO_BOARD, board)
        copy_headers(tree.path / PLACE, headers)
        tree.must(f"M={board}", f"LITEPULSE_DRIVER={headers}", "modules")
        for built in (tree.path / PLACE / "litepulse.ko", board / "echo_board.ko"):
            shutil.copy(built, folder)
        keep_kernel(tree, folder / "fixed")
        tree.apply(patches(name)[0], "--reverse")
        tree.must("linux")
        keep_kernel(tree, folder / "unfixed")


def keep_kernel(tree, folder):
    """Copies the kernel to where a `uml.Kernel` has it."""
    (folder / "build").mkdir(parents=True)
    shutil.copy(tree.path / "linux", folder / "build")


@functools.cache
def hold():
    """The program upstream_hold.c."""
    program = run_folder("hold") / "hold"
    subprocess.run(["gcc", "-static", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, uml.HERE / "upstream_hold.c"], check=True)
    return program


@functools.cache
def selftest():
    """The kselftest program, linked statically, as its makefile in the kernel's tree builds it."""
    folder = run_folder("selftest")
    include = modules()["include"]
    with applied("6.12") as tree:
        output = tree.must(
            *("-C", "tools/testing/selftests/litepulse", "ARCH=x86_64", "LDFLAGS=-static", f"OUTPUT={folder}"),
            f"KHDR_INCLUDES=-isystem {include}",
        )
    if re.search(r"\bwarning: ", output):
        raise BuildError(output)
    return folder / "chardev"


def tap(log):
    """[(passed, name, is skipped)] of the results in TAP, and the plan: how many it says there are."""
    results = re.findall(r"(?m)^(ok|not ok) \d+ (\S+)(.*)$", log)
    plan = re.search(r"(?m)^1\.\.(\d+)$", log)
    return [(status == "ok", name, "SKIP" in rest) for status, name, rest in results], int(plan[1]) if plan else 0
