# SPDX-License-Identifier: BSD-2-Clause
"""`make pc`: a console of a PC with one or two simulated boards on its USB ports, the driver
attached."""

import argparse
import contextlib
import os
import selectors
import sys
import tempfile
import termios
import tty
from pathlib import Path

from litepulse.layout import LIN_BIT_MIN
from litex_soc.verilated import BuildError as ModelError
from sim.guest.builds import say
from sim.pc import pc_rig
from sim.pc.board import HZ, Board
from sim.pc.kernels import BuildError, PackageError
from sim.pc.machine import Machine

ESCAPE, END = b"\x01", b"x"  # Ctrl-A x
ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = ROOT / "sw" / "target"
WIRES = ("tx:rx", "tx:aux0", "tx:aux1", "tx:aux2", "tx:aux3")
BOARD = "/dev/litepulse{0}, /dev/ttyPULSE{0}, /dev/ptp{0}, lin{0} of the board on /dev/ttyUSB{0}."
CAN_UTILS = ("canplayer", "canbusload", "cansniffer")  # besides candump, cansend, cangen
SETTINGS = ".shrc"
ALIASES = b"alias ip=/tmp/files/ip\n"  # busybox's shell takes its own, which does not know CAN, whatever PATH says
SHELL = """
exec 0<>/dev/ttyS0 1>&0 2>&0
stty sane
echo
echo "{boards}"
echo "{wiring}"
echo "Commands: litepulse-info, -train, -capture, -send; ip, candump, cansend, cangen, canplayer for lin0."
echo "The clock is slow: see litepulse-info. LIN goes to {baud} baud. Ctrl-A x ends."
export PATH=/tmp/files:$PATH PS1='# ' ENV=/tmp/files/{settings}
setsid -c sh -i
poweroff -f
"""


class Terminal:
    """This terminal in the machine's loop: what is typed goes to the guest's console, byte by byte."""

    def __init__(self, machine):
        self.machine, self.escaped, self.ended = machine, False, False
        machine.loop.register(sys.stdin, selectors.EVENT_READ, self)

    def serve(self, _):
        """Called by the loop."""
        data = os.read(sys.stdin.fileno(), 1024)
        self.ended |= not data
        for byte in (data[n : n + 1] for n in range(len(data))):
            if self.escaped:
                self.escaped = False
                self.ended |= byte == END
                if byte == ESCAPE:
                    self.machine.kernel.send(byte)
            elif byte == ESCAPE:
                self.escaped = True
            else:
                self.machine.kernel.send(byte)

    def close(self):
        """Leaves the loop."""
        self.machine.loop.unregister(sys.stdin)


def show(data):
    """To this terminal."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def programs(guest):
    """{name in the guest: path} of sw/target."""
    shared = [PROGRAMS / name for name in ("device.c", "quantity.c")]
    return {
        f"litepulse-{name}": guest.program(PROGRAMS / f"{name}.c", *shared, includes=(pc_rig.UAPI, PROGRAMS))
        for name in ("info", "train", "capture", "send")
    }


def descriptions(boards, wires):
    """(what devices there are, how the simulated boards are wired), a line each for a shell's echo."""
    wiring = [f"{wire.replace(':', ' is wired to ')}".replace("tx", "TX", 1).replace("rx", "RX") for wire in wires]
    if boards == 2:
        wiring.insert(0, "TX of each board is wired to RX of the other")
    return " ".join(map(BOARD.format, range(boards))), f"Simulated. {'; '.join(wiring) or 'Nothing is wired to the pins'}."


def interact(guest, files, hz, boards, wires):
    """Carries the guest's console to this terminal until one of both ends."""
    command, more = guest.attaching(boards)
    loads, can = guest.with_can(*CAN_UTILS)
    devices, wiring = descriptions(boards, wires)
    ports = "".join(f"await /dev/ttyUSB{number}\n" for number in range(boards))
    lin = "".join(f"await /sys/class/net/lin{number}\n" for number in range(boards))
    console = SHELL.format(boards=devices, wiring=wiring, baud=hz // LIN_BIT_MIN, settings=SETTINGS)
    script = f"{pc_rig.PRELUDE}{loads}\n{ports}{command}\ninsmod litepulse_lin.ko || exit 91\n{lin}{console}"
    package = pc_rig.package(script, {**programs(guest), **more, **can, SETTINGS: ALIASES, **files})
    with contextlib.ExitStack() as stack:
        link = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="litepulse-link-"))) / "wire" if boards == 2 else None
        simulated = [stack.enter_context(Board(hz, wires=wires, record=False, link=link)) for _ in range(boards)]
        machine = stack.enter_context(Machine(guest.kernel, guest.archive, guest.folder / "state"))
        for number, board in enumerate(simulated):
            machine.plug(number, board)
        machine.kernel.received = show
        machine.channel.received = show
        machine.channel.send(package)
        terminal = Terminal(machine)
        machine.pump(lambda: terminal.ended or machine.process.poll() is not None, float("inf"), "")


def main(argv=None):
    """The command; exit status 2 when something that was requested is missing."""
    parser = argparse.ArgumentParser(prog="make pc", description="The console of a PC with a simulated board on its USB port.")
    parser.add_argument("--kernel", choices=pc_rig.LINES, default="6.12", help="default %(default)s")
    parser.add_argument("--files", type=Path, help="folder whose files lie in the guest's /tmp/files")
    parser.add_argument("--hz", type=int, default=HZ, help="clock of the board; default %(default)s")
    parser.add_argument("--wire", nargs="*", default=[], choices=WIRES, metavar="tx:IN", help="wires TX to rx, or to aux0 to aux3; several")
    parser.add_argument("--boards", type=int, choices=(1, 2), default=1, help="2: TX of each is wired to RX of the other")
    args = parser.parse_args(argv)
    if args.files and not args.files.is_dir():
        parser.error(f"{args.files} is no folder")
    if args.hz <= 0:
        parser.error("the board's clock must be above 0 Hz")
    if args.boards == 2 and "tx:rx" in args.wire:
        parser.error("with two boards RX is wired to the other board, not to TX")
    if not sys.stdin.isatty():
        parser.error("this wants a terminal")
    try:
        guest = pc_rig.boot(args.kernel)
        files = {str(path.relative_to(args.files)): path for path in args.files.rglob("*") if path.is_file()} if args.files else {}
        say(f"Linux {guest.kernel.release}, the board at {args.hz} Hz")
        before = termios.tcgetattr(sys.stdin)
        try:
            tty.setraw(sys.stdin)
            interact(guest, files, args.hz, args.boards, args.wire)
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        print()
        return 0
    except (BuildError, PackageError, ModelError, pc_rig.GuestError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
