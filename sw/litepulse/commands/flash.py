# SPDX-License-Identifier: BSD-2-Clause
"""litepulse flash"""

import shlex
from argparse import Namespace

from litepulse import flash, flash_boards, output
from litepulse.commands import VERBS
from litepulse.commands.arguments import Verbs
from litepulse.errors import BadInput

EXAMPLES = """examples:
  litepulse flash --board icebreaker                                  of the installed bitstreams
  litepulse flash --board icebreaker --from litepulse-0.2.0           of a release that was unpacked
  litepulse flash --board ulx3s --fpga 45f --file my.bit --dry-run    a file; only prints the command"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    text = VERBS["flash"]
    sub = verbs.add_parser("flash", help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=EXAMPLES)
    sub.set_defaults(function=run)
    what = sub.add_argument_group("which bitstream")
    what.add_argument("--board", metavar="NAME", help=f"{', '.join(flash_boards.BOARDS)} (default: the one that is plugged in)")
    what.add_argument("--file", metavar="FILE", help="this bitstream (default: that of the installed release)")
    what.add_argument("--from", dest="folder", metavar="FOLDER", help="of the release in this folder")
    what.add_argument("--fpga", metavar="F", help="the FPGA on it, where there are several: 25f, 45f, 85f")
    what.add_argument("--variant", choices=flash.VARIANTS, help="with a CPU that runs Linux, or without (default)")
    what.add_argument("--samples", metavar="S", choices=("1", "2", "4"), help="samples per cycle: 1, 2 or 4 (default: the board's)")
    how = sub.add_argument_group("how it is written")
    how.add_argument("--ram", action="store_true", help="into the FPGA until power-off, not into the flash")
    how.add_argument("--serial", metavar="N", help="serial number of the board, of several")
    how.add_argument("--dry-run", action="store_true", help="print the command only; needs no board and no program")


def chosen_by(args: Namespace) -> flash.Chosen:
    """The bitstream."""
    if args.file is not None:
        for name, given in (("from", args.folder), ("variant", args.variant), ("samples", args.samples)):
            if given is not None:
                raise BadInput(f"--file and --{name} exclude each other: the file is what it is")
    fpga = None if args.fpga is None else args.fpga.lower()
    board = None if args.board is None else flash.board_of(args.board)
    if board is not None:
        flash.check_fpga(board, fpga)
    if args.file is not None:
        chosen = flash.from_file(args.file, board, fpga)
    else:
        folder = flash.release_folder(args.folder)
        chosen = flash.from_release(folder, board or flash.plugged_board(), fpga, args.variant, args.samples)
    flash.check_fpga(chosen.board, fpga)
    return chosen


def run(args: Namespace) -> int:
    """litepulse flash"""
    chosen = chosen_by(args)
    mode = "ram" if args.ram else "flash"
    program = flash.program_of(chosen.board, mode, args.dry_run)
    words = flash.command(chosen, mode, program, args.serial)
    lines = [f"{chosen.board.title}: {chosen.what}", shlex.join(words)]
    if note := flash.note(chosen):
        lines.insert(1, f"note: {note}")
    output.write("\n".join(lines))
    if args.dry_run:
        return 0
    flash.write(chosen, words)
    output.write("written")
    return 0
