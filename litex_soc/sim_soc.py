# SPDX-License-Identifier: BSD-2-Clause
"""The simulated SoC: UARTBone, LitePulse and nothing else, verilated into one program, `litepulse-sim`.

    python -m litex_soc.sim_soc --build         builds it if need be and prints its path
    from litex_soc.sim_soc import build         the same from Python

It is the SoC of an iCEBreaker (core at 48 MHz, bus at 24 MHz), with the bridge's serial line replaced by a byte stream, and a bridge
that packs answers, as those of the larger boards do. What the program can do is in docs/simulator.md.
"""

import argparse
import functools
import os
import sys
from fractions import Fraction
from pathlib import Path

from litex_soc import regmap, verilated
from litex_soc.verilated import HERE, RESET_SOURCE, BuildError, reset_synchronizer

__all__ = ["HERE", "INPUTS", "PULSE_HZ", "RESET_SOURCE", "SYS_HZ", "BuildError", "build", "make_soc", "reset_synchronizer"]
PROGRAM = "litepulse-sim"
INPUTS = 4
PULSE_HZ = 48_000_000
SYS_HZ = 24_000_000
EVENT_DEPTH = 8  # log2, as on an iCEBreaker
# The run from which the compiler learns. Most simulated cycles are like these: the board waits. The variant that traces is built once.
LEARN_RUN = ("--always", "--tcp", "0", "--loop-tx-rx", "--stop-at-cycle", "300000")


def make_soc(pulse_hz=PULSE_HZ, sys_hz=SYS_HZ, event_depth=EVENT_DEPTH):
    """(SoC, platform): the LiteX side, with clocks, reset, byte stream and pins as ports of the top module."""
    from litex.build.generic_platform import GenericPlatform, Pins
    from litex.gen import LiteXModule
    from litex.soc.integration.soc_core import SoCMini
    from litex.soc.interconnect.csr import CSRStatus

    from litex_soc.frames import Frames, frames_csr
    from litex_soc.litepulse import LitePulse
    from litex_soc.verilated import group

    platform = GenericPlatform(
        "simulation",
        [
            group("clocks", ("pulse", 1), ("sys", 1), ("rst", 1)),
            group("declared", ("num", 32), ("den", 32)),
            group(
                "bridge", *verilated.STREAM_PINS, ("resting", 1), ("carrying", 1), ("deaf", 1), ("locked", 1), ("hush", 1), ("unlock", 1)
            ),
            group("pins", ("tx", 1), ("tx_oe", 1), ("de", 1), ("rx", 1), ("aux", INPUTS), ("port", 8)),
            ("irq", 0, Pins(1)),
        ],
        name="litepulse_sim",
    )

    class Bridge(LiteXModule):
        """The boards' serial bridge without the line, whose rate reads 0: it cannot be set."""

        def __init__(self, pins):
            self.stream, self.frames = stream, frames = verilated.byte_stream(pins), Frames(sys_hz)
            self.comb += [
                stream.source.connect(frames.sink),
                frames.source.connect(stream.sink),
                frames.hush.eq(pins.hush),
                frames.unlock.eq(pins.unlock),
                pins.resting.eq(frames.resting),
                pins.carrying.eq(frames.carrying),
                pins.deaf.eq(frames.deaf),
                pins.locked.eq(frames.locked),
            ]
            self._rate, self._frames = CSRStatus(32, name="rate"), frames_csr()

    class SimSoC(SoCMini):
        """No CPU, no memory: a bridge and the core."""

        def __init__(self):
            self.crg = verilated.outside_clocks(platform.request("clocks"))
            SoCMini.__init__(self, platform, sys_hz)  # no ident: its memory would be read from a file at run time
            self.bridge = Bridge(platform.request("bridge"))
            self.csr.add("bridge", regmap.BRIDGE_LOCATION, use_loc_if_exists=True)
            self.bus.add_master(name="bridge", master=self.bridge.frames.wishbone)
            self.pulse = LitePulse(
                platform, platform.request("pins"), pulse_hz, clock_domain="pulse", event_depth=event_depth, sequences=True, simulated=True
            )
            self.pulse.add_to_soc(self)
            # The program may declare a slower clock, so that it can keep up with the wall clock.
            declared = platform.request("declared")
            self.comb += [self.pulse.clock_num.eq(declared.num), self.pulse.clock_den.eq(declared.den)]
            self.comb += platform.request("irq").eq(self.pulse.ev.irq)

    return SimSoC(), platform


@functools.cache
def program(pulse_hz, sys_hz, trace, event_depth=EVENT_DEPTH):
    """The verilated.Program for clocks of whole Hz."""

    def sources(folder):
        import logging

        logging.disable(logging.INFO)
        return verilated.verilog(*make_soc(pulse_hz, sys_hz, event_depth), "litepulse_sim", folder)

    return verilated.Program(
        name=PROGRAM,
        title="the simulated SoC",
        top="litepulse_sim",
        sources=sources,
        main=HERE / "sim" / "main.cpp",
        files=(HERE / "sim_soc.py", HERE / "frames.py", HERE / "packer.py", HERE / "sim" / "arguments.h", HERE / "sim" / "link.h"),
        options=("--trace", "--trace-structs") if trace else (),
        learn=None if trace or event_depth != EVENT_DEPTH else LEARN_RUN,
        partial=False,
        defines={
            "CYCLES_PER_SYS": pulse_hz // sys_hz,
            "PULSE_HZ": pulse_hz,
            "INPUTS": INPUTS,
            "FRAME_MARKER": regmap.BRIDGE_FRAME_MARKER,
            "PACKED_MARKER": regmap.BRIDGE_PACKED_MARKER,
        },
    )


def build(
    pulse_hz: Fraction | int = PULSE_HZ,
    sys_hz: Fraction | int = SYS_HZ,
    trace: bool = False,
    jobs: int | None = None,
    quiet: bool = False,
    event_depth: int = EVENT_DEPTH,
) -> Path:
    """Path of the program, built if there is none for these sources. Safe to call from several processes at once.

    `pulse_hz` and `sys_hz` are whole Hz, the first a multiple of the second. `trace` makes the slow variant that has --trace.
    `event_depth` : log2 of the events that it holds.
    """
    pulse_hz, sys_hz = Fraction(pulse_hz), Fraction(sys_hz)
    if pulse_hz.denominator != 1 or sys_hz.denominator != 1 or sys_hz <= 0 or (pulse_hz / sys_hz).denominator != 1:
        raise ValueError(f"pulse {pulse_hz} Hz and sys {sys_hz} Hz: whole numbers, the first a multiple of the second")
    return program(int(pulse_hz), int(sys_hz), trace, event_depth).build(jobs, quiet)


def main(argv=None):
    """`python -m litex_soc.sim_soc`: builds, or builds and runs."""
    parser = argparse.ArgumentParser(prog="python -m litex_soc.sim_soc", description="Builds the simulated SoC; arguments after -- run it.")
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
