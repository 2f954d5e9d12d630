# SPDX-License-Identifier: BSD-2-Clause
"""Which bitstream a board gets, whether it is one for this board, and the program that writes it. No clone is needed.

A release has its bitstreams in a folder, with a list (bitstreams.json, by `make release`). The Python package `litepulse_bitstreams`, if
it is installed, is such a folder, too.
"""

import hashlib
import importlib.util
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from litepulse import compatibility, flash_boards
from litepulse.errors import BadInput, LitePulseError, Unsupported, printable, shown
from litepulse.flash_boards import FlashBoard
from litepulse.ports import Host, find_bridges

LIST = "bitstreams.json"
PACKAGE = "litepulse_bitstreams"
VARIANTS = ("uartbone", "linux")
LONGEST = 8 << 20  # bytes of a bitstream: more than any of these FPGAs takes
DEBIAN = {"iceprog": "fpga-icestorm", "openFPGALoader": "openfpgaloader", "dfu-util": "dfu-util"}  # packages
_FTDI = "0403"
_ICE40, _ECP5 = bytes.fromhex("7eaa997e"), bytes.fromhex("ffffbdb3")  # with these the commands of a bitstream begin
_HEAD = 4096  # bytes within which they begin; before them stands a comment
_ECP5_ID = bytes.fromhex("e2000000")  # the command that compares the FPGA's IDCODE


@dataclass(frozen=True)
class Chosen:
    """A bitstream for a board. what: in words; version: of its register map, None if no list has it."""

    board: FlashBoard
    path: Path
    what: str
    version: tuple[int, int] | None = None


# Bitstreams -----------------------------------------------------------------------------------------------------------


def part_of(data: bytes) -> str:
    """The FPGA that a bitstream is for, as FlashBoard.parts has it; BadInput if it is for none that we know."""
    head = data[:_HEAD]
    at = head.find(_ECP5)
    if at >= 0:
        place = head.find(_ECP5_ID, at)
        code = int.from_bytes(head[place + 4 : place + 8], "big") if place >= 0 else 0
        for part, known in flash_boards.IDCODES.items():
            if known == code:
                return part
        if not code:
            raise BadInput("an ECP5 bitstream without IDCODE")
        raise BadInput(f"a bitstream of an ECP5 that no board here has (IDCODE 0x{code:08x})")
    at = head.find(_ICE40)
    if at >= 0:
        width = _ice40_width(head[at + len(_ICE40) :])
        for part, known in flash_boards.WIDTHS.items():
            if known == width:
                return part
        raise BadInput("a bitstream of an iCE40 that no board here has")
    raise BadInput("not a bitstream of an iCE40 or an ECP5")


def _ice40_width(commands: bytes) -> int | None:
    """Columns of an iCE40's configuration memory, which its first commands give: four bits of command, four with its length."""
    at = 0
    while at < len(commands):
        command, length = commands[at] >> 4, commands[at] & 15
        value = int.from_bytes(commands[at + 1 : at + 1 + length], "big")
        if command == 6:
            return value + 1
        at += 1 + length
    return None


def check(path: Path, board: FlashBoard, fpga: str | None) -> None:
    """BadInput unless a file is a bitstream for an FPGA of this board. fpga: None, any that it has."""
    data = _read(path)
    try:
        part = part_of(data)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    parts = [board.parts[fpga]] if fpga else list(board.parts.values())
    if part not in parts:
        raise BadInput(f"{path}: this is a bitstream for {part}, {board.title} has {' or '.join(parts)}")


def _read(path: Path) -> bytes:
    """A file that is not too long."""
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST + 1)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None
    if len(data) > LONGEST:
        raise BadInput(f"{path}: this is longer than any bitstream of these boards")
    return data


# Releases -------------------------------------------------------------------------------------------------------------


def _list_of(folder: Path) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]] | None:
    """(the list, its rows) of a folder of bitstreams; None where there is none."""
    try:
        text = (folder / LIST).read_text(encoding="utf-8")
    except OSError:
        return None
    try:
        made = cast("Mapping[str, Any]", json.loads(text))
        rows = [row for row in made["bitstreams"] if Path(row["file"]).name == row["file"]]
        version = tuple(map(int, made["register_map"].split(".")))
        if len(version) != 2 or any(not isinstance(row[name], str) for row in rows for name in ("board", "fpga", "variant", "sha256")):
            raise ValueError
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BadInput(f"{folder / LIST}: not a list of bitstreams") from None
    return made, rows


def release_folder(given: str | None) -> Path:
    """The folder with the bitstreams of a release: as given, or of the installed package."""
    if given is not None:
        for folder in (Path(given), Path(given) / "bitstreams"):
            if (folder / LIST).is_file():
                return folder
        raise BadInput(f"from: {given} has no {LIST}: name the folder of a release")
    found = importlib.util.find_spec(PACKAGE)
    if found is not None and found.submodule_search_locations:
        return Path(next(iter(found.submodule_search_locations)))
    raise Unsupported(
        "no bitstreams are installed: --from FOLDER names that of a release, --file a bitstream; in a clone: make BOARD=icebreaker flash"
    )


def _version(made: Mapping[str, Any]) -> tuple[int, int]:
    major, minor = map(int, made["register_map"].split("."))
    return major, minor


def from_release(folder: Path, board: FlashBoard, fpga: str | None, variant: str | None, samples: str | None) -> Chosen:
    """The first bitstream in a release that fits: a default comes first there. BadInput lists what there is."""
    found = _list_of(folder)
    if found is None:
        raise BadInput(f"from: {folder} has no {LIST}: name the folder of a release")
    made, rows = found
    of_board = [row for row in rows if row["board"] == board.name]
    wanted = {"fpga": fpga, "variant": variant, "samples": samples}
    fitting = [row for row in of_board if all(value in (None, str(row.get(name))) for name, value in wanted.items())]
    release = printable(str(made.get("litepulse")))
    if not fitting:
        there = ", ".join(printable(row["file"]) for row in of_board) or "none"
        raise BadInput(f"{board.title}: release {release} has no such bitstream; there is {there}")
    row = fitting[0]
    path = folder / row["file"]
    if hashlib.sha256(_read(path)).hexdigest() != row["sha256"]:
        raise BadInput(f"{path}: this is not the file of release {release}: its SHA-256 differs")
    check(path, board, row["fpga"])
    what = f"release {release}, {printable(row['fpga'])}, {printable(row['variant'])}, samples per cycle: {row.get('samples')}"
    return Chosen(board, path, what, _version(made))


def from_file(name: str, board: FlashBoard | None, fpga: str | None) -> Chosen:
    """A file; board: None, that of the list beside it. BadInput if the list says that it is another board's."""
    path = Path(name)
    found = _list_of(path.parent)
    made, rows = found or ({}, [])
    row = next((row for row in rows if row["file"] == path.name), None)
    owner = flash_boards.BOARDS.get(row["board"]) if row else None
    if owner is None:  # as `make bitstream` calls its files
        owner = flash_boards.BOARDS.get(path.name.partition("-")[0])
    if board is None:
        board = owner or plugged_board()
    if owner is not None and owner != board:
        raise BadInput(f"{path}: this is a bitstream for {owner.title}, not for {board.title}")
    check(path, board, fpga)
    what = f"release {printable(str(made.get('litepulse')))}" if row else "of no release"
    return Chosen(board, path, what, _version(made) if row else None)


# Boards ---------------------------------------------------------------------------------------------------------------


def board_of(name: str) -> FlashBoard:
    """A board by its name."""
    if name not in flash_boards.BOARDS:
        raise BadInput(f"board: no board {shown(name)}; there is {', '.join(flash_boards.BOARDS)}")
    return flash_boards.BOARDS[name]


def check_fpga(board: FlashBoard, fpga: str | None) -> None:
    """BadInput unless a board comes with this FPGA."""
    if fpga is not None and fpga not in board.parts:
        raise BadInput(f"fpga: {board.title} has no {shown(fpga)}; there is {', '.join(board.parts)}")


def plugged_board(host: "Host | None" = None) -> FlashBoard:
    """The one board whose plug says what it is. BadInput if there is none, or more than one."""
    titles = sorted({port.board.title for port in find_bridges(host or Host()) if port.board})
    if len(titles) != 1:
        there = f"several are plugged in: {', '.join(titles)}" if titles else "none is found by what its USB plug says"
        raise BadInput(f"board: {there}; name it: --board {', '.join(flash_boards.BOARDS)}")
    return next(board for board in flash_boards.BOARDS.values() if board.title == titles[0])


# Programs -------------------------------------------------------------------------------------------------------------


def program_of(board: FlashBoard, mode: str, dry_run: bool) -> str:
    """The first program on PATH that can do `mode`, 'flash' or 'ram'; for a dry run the first of all. LitePulseError names the package."""
    able = [program for program, modes in board.programmers.items() if mode in modes]
    if not able:
        raise Unsupported(f"{board.title}: it can only be written into its flash: without --ram")
    there = [program for program in able if shutil.which(program)]
    if there or dry_run:
        return (there or able)[0]
    package = DEBIAN[able[0]]
    raise LitePulseError(f"{board.title}: no {' or '.join(able)} here; on Debian or Ubuntu: sudo apt-get install {package}")


def command(chosen: Chosen, mode: str, program: str, serial: str | None = None) -> Sequence[str]:
    """The words of the command that writes it. serial: number of the board, of several."""
    board = chosen.board
    vendor, product = board.usb
    which: list[str] = []
    if serial is not None and program == "iceprog":
        which = ["-d", f"s:0x{vendor}:0x{product}:{serial}"]
    elif serial is not None and program == "dfu-util":
        which = ["-S", serial]
    elif serial is not None and vendor == _FTDI and board.family == "ecp5":
        which = ["--ftdi-serial", serial]
    elif serial is not None:
        raise Unsupported(f"{board.title}: {program} cannot tell boards apart: unplug all but one")
    # A name that begins with - would be an option.
    path = str(chosen.path)
    return [program, *which, *board.programmers[program][mode], f"./{path}" if path.startswith("-") else path]


def write(chosen: Chosen, words: Sequence[str], out: IO[Any] | None = None) -> None:
    """Runs such a command. out: where its standard output goes, if not to ours. LitePulseError if it fails."""
    try:
        status = subprocess.run(words, stdout=out, check=False).returncode
    except OSError as error:
        raise LitePulseError(f"{words[0]}: {error.strerror}") from None
    if status:
        ended = f"signal {-status}" if status < 0 else f"status {status}"
        raise LitePulseError(f"{chosen.board.title}: {words[0]} ended with {ended}; what it reported stands above")


def note(chosen: Chosen) -> str:
    """What the user should know of its register map; '' if this program is of the same."""
    return compatibility.note(chosen.version) if chosen.version else ""
