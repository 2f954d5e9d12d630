# SPDX-License-Identifier: BSD-2-Clause
"""`make linux`: a console of Linux on the simulated SoC, with the driver loaded and the programs of
sw/target."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from litex_soc.verilated import BuildError as ModelError
from sim.cocotb_rig import ROOT
from sim.guest.builds import BuildError, say
from sim.linux import linux_rig
from sim.linux.targets import FLAVOURS

PROGRAMS = ROOT / "sw" / "target"
SHELL = """#!/bin/sh
PATH=/tmp/files:$PATH
stty echo isig
echo "/dev/litepulse0, /dev/ttyPULSE0; litepulse-info, -train, -capture, -send; in /tmp/files what was put there."
echo "The guest is slow: 50 MHz, simulated. Ctrl-A x ends."
exec sh -l
"""


def programs(guest):
    """{name in the guest: path} of sw/target."""
    shared = [PROGRAMS / name for name in ("device.c", "quantity.c")]
    return {
        f"litepulse-{name}": guest.program(PROGRAMS / f"{name}.c", *shared, includes=(linux_rig.UAPI, PROGRAMS))
        for name in ("info", "train", "capture", "send")
    }


def interact(guest, files, extra):
    """Becomes the simulator, its console on this terminal."""
    with tempfile.TemporaryDirectory(prefix="litepulse-linux-") as name:
        folder = Path(name) / "files"
        linux_rig.put(folder, {**files, "run": SHELL.encode()})
        arguments = [*guest.arguments(), "--files", folder, "--send", "run\n", "--console", *extra]
        return os.spawnv(os.P_WAIT, arguments[0], [str(word) for word in arguments])


def main(argv=None):
    """The command; exit status 2 when something that was requested is missing."""
    parser = argparse.ArgumentParser(prog="make linux", description="The console of Linux on the simulated SoC.")
    parser.add_argument("--cpu", choices=linux_rig.CPUS, default=linux_rig.CPUS[0], help="default %(default)s")
    parser.add_argument("--flavour", choices=FLAVOURS, default="bench", help="of the kernel: test has lockdep; default %(default)s")
    parser.add_argument("--files", type=Path, help="folder whose files lie in the guest's /tmp/files")
    parser.add_argument("arguments", nargs="*", help="of the simulator, after --: --pins FILE, --wire tx:rx, ...")
    args = parser.parse_args(argv)
    if args.files and not args.files.is_dir():
        parser.error(f"{args.files} is no folder")
    try:
        guest = linux_rig.boot_with_driver(args.cpu, args.flavour)
        files = {str(path.relative_to(args.files)): path for path in args.files.rglob("*") if path.is_file()} if args.files else {}
        say(f"{args.cpu} at the state of {guest.folder.name}")
        return interact(guest, {**programs(guest), **files}, args.arguments)
    except (BuildError, ModelError, linux_rig.GuestError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
