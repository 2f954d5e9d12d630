# SPDX-License-Identifier: BSD-2-Clause
"""Writes a bitstream to a board's flash, so that it stays, or with --ram into the FPGA until power-off.

    python -m litex_soc.flash BOARD [--fpga F] [--variant V] [--samples S] [--ram] [--serial N] [--dry-run]
    python -m litex_soc.flash BOARD --variant linux --image boot.img [...]      the boot image, behind the bitstream in the same flash
    python -m litex_soc.flash --rules > scripts/60-litepulse-boards.rules

`make BOARD=... flash` builds the bitstream first. Exit status: the programmer's, or 2 with the reason if it was not run.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from litex_soc import SPDX, boards, boot
from litex_soc.bitstream import add_choice, bitstream_path, choice_of
from litex_soc.board import ChoiceError

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "scripts" / "60-litepulse-boards.rules"
PACKAGES = {"iceprog": "fpga-icestorm", "openFPGALoader": "openfpgaloader", "dfu-util": "dfu-util"}  # of Debian and Ubuntu
FTDI = "0403"


class FlashError(RuntimeError):
    """The programmer cannot be run; the message says why and what to do."""


@dataclass(frozen=True)
class Device:
    """A USB device. `port` : the kernel's name of where it is plugged in; `nodes` : what the programmer has to open."""

    port: str
    serial: str
    title: str
    nodes: tuple


def find_devices(vendor, product, sysfs, dev):
    """The USB devices with these ids, by port. Raises FlashError where there is no USB at all."""
    folder = sysfs / "bus" / "usb" / "devices"
    if not folder.is_dir():
        raise FlashError(f"there is no {folder}, so no USB here (a container?); --dry-run (DRY_RUN=1) prints the command to run elsewhere")

    def read(path):
        try:
            return path.read_text(errors="replace").strip()
        except OSError:
            return ""

    found = []
    for path in sorted(folder.iterdir()):
        if (read(path / "idVendor"), read(path / "idProduct")) != (vendor, product):
            continue
        # a DAPLink is driven through its HID interface
        nodes = [dev / hid.name for hid in sorted(path.glob(f"{path.name}:*/*/hidraw/hidraw*"))]
        if not nodes:
            nodes = [dev / "bus" / "usb" / read(path / "busnum").zfill(3) / read(path / "devnum").zfill(3)]
        title = f"{read(path / 'manufacturer')} {read(path / 'product')}".strip()
        found.append(Device(path.name, read(path / "serial"), title, tuple(nodes)))
    return found


def selection(board, program, serial):
    """The arguments that make `program` take the device with this serial number; None if it cannot.

    openFPGALoader 0.10 heeds a serial number only over JTAG and an FTDI chip.
    """
    vendor, product, _ = board.usb
    if program == "iceprog":
        return ["-d", f"s:0x{vendor}:0x{product}:{serial}"]
    if program == "dfu-util":
        return ["-S", serial]
    return ["--ftdi-serial", serial] if vendor == FTDI and board.family == "ecp5" else None


def choose_program(board, mode, dry_run):
    """The first programmer on PATH that can do `mode` ("flash" or "ram"); for a dry run the first of all if none is there."""
    able = [program for program, modes in board.programmers.items() if mode in modes]
    if not able:
        raise FlashError(f"{board.title}: there is no way to load it past its flash; without --ram (RAM=1) the flash is written")
    installed = [program for program in able if shutil.which(program)]
    if installed or dry_run:
        return (installed or able)[0]
    raise FlashError(
        f"{board.title}: no programmer is installed: {' or '.join(able)}; to install {able[0]} on Debian or Ubuntu: "
        f"sudo apt-get install {PACKAGES[able[0]]}"
    )


def command_of(choice, mode, program, serial, image=None):
    """The command, a list; for a boot image, a path, instead of the bitstream if there is one."""
    chosen = selection(choice.board, program, serial) if serial else None
    what = [str(bitstream_path(choice))] if image is None else ["-o", str(boot.FLASHES[choice.board.name].image), image]
    return [program, *(chosen or []), *choice.board.programmers[program][mode], *what]


def check_image(choice, image):
    """Raises FlashError unless `image` can be a boot image's path for this Choice."""
    if choice.variant != "linux":
        raise FlashError(f"a boot image is for a variant that runs Linux (VARIANT=linux), {choice.variant} does not")
    if not image.endswith(".img"):
        raise FlashError(f"{image}: call it .img, from which the programmer knows that it is to be written as it is")


def check_image_file(choice, image):
    """Raises FlashError unless there is a whole boot image that fits into the flash."""
    try:
        data = Path(image).read_bytes()
        boot.check(data)
    except OSError as error:
        raise FlashError(f"{image}: {error.strerror}; to make it: python -m litex_soc.boot_image") from error
    except boot.ImageError as error:
        raise FlashError(f"{image}: {error}") from error
    room = boot.FLASHES[choice.board.name].room
    if len(data) > room:
        raise FlashError(f"{image} has {len(data)} bytes, too many for the flash of {choice.board.title}: {room} behind the bitstream")


def check_built(choice):
    """Raises FlashError if there is no bitstream."""
    path = bitstream_path(choice)
    if not path.is_file():
        words = [
            f"BOARD={choice.board.name}",
            *([f"FPGA={choice.fpga}"] if len(choice.board.fpgas) > 1 else []),
            f"VARIANT={choice.variant}",
            f"SAMPLES={choice.samples}",
        ]
        raise FlashError(f"there is no {path} yet; to build it: make {' '.join(words)} bitstream")


def choose_device(board, program, serial, sysfs, dev):
    """The one Device to write to. Raises FlashError if there is none, or more than one that could be meant."""
    vendor, product, what = board.usb
    ids = f"{what} (USB {vendor}:{product})"
    found = find_devices(vendor, product, sysfs, dev)
    if not found:
        raise FlashError(f"{board.title} is not there: no {ids}; {board.attach}")
    matching = [device for device in found if device.serial == serial] if serial else found
    listing = "".join(
        f"\n    USB port {device.port}: "
        + (f"serial number {device.serial}" if device.serial else "no serial number")
        + (f", {device.title}" if device.title else "")
        for device in found
    )
    if not matching:
        raise FlashError(f"{board.title}: no {ids} has the serial number {serial}; there is:{listing}")
    can = selection(board, program, serial or "N") is not None
    if len(matching) > 1 or (len(found) > 1 and not can):
        numbers = [device.serial for device in found if device.serial]
        tell = can and numbers and len(set(numbers)) == len(numbers)
        how = "choose one with --serial N (SERIAL=N)" if tell else f"{program} cannot tell them apart: unplug all but one"
        raise FlashError(f"{board.title}: {len(found)} of {ids} are there; {how}:{listing}")
    device = matching[0]
    other = next((other for other in boards.all_boards().values() if squeeze(other.title) in squeeze(device.title)), board)
    if other is not board:
        raise FlashError(f"{board.title}: the {what} at USB port {device.port} says that it is another board: {device.title}")
    return device


def squeeze(title):
    """A name without case, spaces and signs."""
    return "".join(c for c in title.lower() if c.isalnum())


def may_open(node):
    """Whether this user may read and write a device node."""
    return os.access(node, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def check_access(board, device):
    """Raises FlashError, with the udev rule that helps, if this user may not open the device."""
    for node in device.nodes:
        if not node.exists():
            raise FlashError(f"{board.title} is there (USB port {device.port}), but its device node {node} is not: is this a container?")
        if not may_open(node):
            raise FlashError(
                f"{board.title} is there (USB port {device.port}), but you may not open {node}. A udev rule allows it:\n"
                f"    sudo cp {shlex.quote(str(RULES))} /etc/udev/rules.d/\n"
                "    sudo udevadm control --reload && sudo udevadm trigger\n"
                "then unplug the board and plug it in again. Over ssh also: sudo adduser $USER plugdev, and log in again.\n"
                f"For this board {RULES.name} says:\n" + "".join(f"    {line}\n" for line in rules_of(*board.usb[:2])).rstrip("\n")
            )


def rules_of(vendor, product):
    """The udev rules for a device: programming it, and the serial port beside that."""
    ids = f'ATTRS{{idVendor}}=="{vendor}", ATTRS{{idProduct}}=="{product}"'
    return [
        f'SUBSYSTEM=="usb|hidraw", {ids}, MODE="0660", GROUP="plugdev", TAG+="uaccess"',
        f'SUBSYSTEM=="tty", {ids}, GROUP="dialout", TAG+="uaccess"',
    ]


def rules():
    """The text of the udev rules of all boards."""
    by_ids = {}
    for board in boards.all_boards().values():
        by_ids.setdefault(board.usb[:2], []).append(board)
    lines = [
        f"# Generated by `python -m litex_soc.flash --rules`: do not edit. {SPDX} BSD-2-Clause",
        "# The user at the machine, and the groups plugdev and dialout, may program these boards and use their serial ports.",
        f"#   sudo cp scripts/{RULES.name} /etc/udev/rules.d/ && sudo udevadm control --reload && sudo udevadm trigger",
        'ACTION!="add|change", GOTO="litepulse_boards_end"',
    ]
    for (vendor, product), those in sorted(by_ids.items()):
        lines += [
            "",
            f"# {', '.join(sorted({board.usb[2] for board in those}))}: {', '.join(board.title for board in those)}",
            *rules_of(vendor, product),
        ]
    return "\n".join([*lines, "", 'LABEL="litepulse_boards_end"', ""])


def main(argv=None, sysfs=Path("/sys"), dev=Path("/dev")):
    """Runs the programmer, or says why not. `sysfs` and `dev` : where the kernel shows devices."""
    parser = argparse.ArgumentParser(prog="python -m litex_soc.flash", description=(__doc__ or "").partition("\n")[0])
    add_choice(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--flash", dest="mode", action="store_const", const="flash", default="flash", help="write the flash (default)")
    where.add_argument("--ram", dest="mode", action="store_const", const="ram", help="load the FPGA only, until power-off")
    parser.add_argument("--serial", metavar="N", help="serial number of the board, where there are several")
    parser.add_argument("--image", metavar="FILE", help="write this boot image (litex_soc.boot_image) instead of the bitstream")
    parser.add_argument("--dry-run", action="store_true", help="print the command; needs no board, no programmer and no bitstream")
    parser.add_argument("--rules", action="store_true", help="print the udev rules of all boards")
    args = parser.parse_args(argv)
    if args.rules:
        print(rules(), end="")
        return 0
    try:
        choice = choice_of(args)
        program = None
        if args.image is not None:
            if args.mode == "ram":
                raise FlashError("a boot image can only be in the flash: without --ram (RAM=1)")
            check_image(choice, args.image)
        if args.dry_run:
            program = choose_program(choice.board, args.mode, True)
        else:
            if args.image is None:
                check_built(choice)
            else:
                check_image_file(choice, args.image)
            program = choose_program(choice.board, args.mode, False)
            check_access(choice.board, choose_device(choice.board, program, args.serial, sysfs, dev))
    except (ChoiceError, FlashError) as error:
        print(error, file=sys.stderr)
        return 2
    command = command_of(choice, args.mode, program, args.serial, args.image)
    print(shlex.join(command), flush=True)
    if args.dry_run:
        return 0
    try:
        status = subprocess.run(command, check=False).returncode
    except OSError as error:
        print(f"{program} cannot be run: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
