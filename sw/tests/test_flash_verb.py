# SPDX-License-Identifier: BSD-2-Clause
"""`litepulse flash`: which bitstream a board gets, by which command; what is for another board is refused. The programs are stand-ins that
record their arguments."""

import hashlib
import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from litepulse import compatibility, flash, flash_boards
from litepulse.errors import LitePulseError
from litex_soc import boards, boards_page, regmap
from litex_soc import flash as of_the_clone

from . import scenario

# The first bytes of bitstreams of icepack and ecppack.
ECP5_HEAD = "ffffffbdb3ffffffff3b000000e2000000{:08x}220000004000000046000000"
ICE40_HEAD = "ff0000ff7eaa997e51000105920020620{:03x}720{:03x}110001018200000101"
HEADS = {name: bytes.fromhex("ff00" + b"Part: x".hex() + "00" + ECP5_HEAD.format(code)) for name, code in flash_boards.IDCODES.items()}
HEADS |= {name: bytes.fromhex(ICE40_HEAD.format(columns - 1, 0x14F)) for name, columns in flash_boards.WIDTHS.items()}
MAP = compatibility.named(compatibility.OURS)
EACH = [(board.name, fpga) for board in flash_boards.BOARDS.values() for fpga in board.parts]


@pytest.fixture
def folder(tmp_path):
    """A release with a bitstream of each board, FPGA and variant."""
    found = tmp_path / "release" / "bitstreams"
    found.mkdir(parents=True)
    rows = []
    for choice in (choice for choice in boards_page.all_choices() if choice.with_core):
        name = f"{choice.name}{'.bin' if choice.board.family == 'ice40' else '.bit'}"
        part = flash_boards.BOARDS[choice.board.name].parts[choice.fpga]
        (found / name).write_bytes(HEADS[part] + name.encode())
        digest = hashlib.sha256(HEADS[part] + name.encode()).hexdigest()
        row = {"board": choice.board.name, "fpga": choice.fpga, "variant": choice.variant, "samples": choice.samples}
        rows.append(row | {"file": name, "sha256": digest})
    (found / flash.LIST).write_text(json.dumps({"litepulse": "0.2.0", "register_map": MAP, "bitstreams": rows}))
    return found


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A function that puts programs on PATH, which has nothing else; what they were given is in `ran`."""
    there = tmp_path / "programs"
    there.mkdir()
    monkeypatch.setenv("PATH", str(there))
    record = tmp_path / "ran"

    def install(*names, status=0):
        for name in names:
            quoted = shlex.quote(str(record))
            (there / name).write_text(f'#!/bin/sh\nfor a in "${{0##*/}}" "$@"; do printf "%s\\n" "$a"; done >{quoted}\nexit {status}\n')
            (there / name).chmod(0o755)

    install.ran = lambda: record.read_text().splitlines() if record.exists() else None
    return install


def run(*words):
    done = scenario.command([], ["flash", *map(str, words)])
    return SimpleNamespace(status=done["status"], out=done["out"], err=done["err"])


def is_refused(done, *parts):
    assert done.status == 2 and done.out == "" and done.err.count("\n") == 1 and done.err.startswith("litepulse: "), (done.out, done.err)
    assert all(part in done.err for part in parts), done.err


# What is run ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, fpga", EACH)
def test_each_board_by_each_program(name, fpga, folder, programs):
    """The command is that of `make flash`, is shown, and is run once."""
    board = boards.all_boards()[name]
    for program in board.programmers:
        for old in (Path(str(folder.parents[1])) / "programs").iterdir():
            old.unlink()
        programs(program)
        for mode, options in (("flash", []), ("ram", ["--ram"])):
            if mode not in board.programmers[program]:
                continue
            done = run("--board", name, "--fpga", fpga.upper(), "--from", folder.parent, *options)
            assert done.status == 0 and done.err == "", done.err
            file = programs.ran()[-1]
            assert programs.ran() == [program, *board.programmers[program][mode], file]
            assert Path(file).parent == folder and Path(file).name.startswith(f"{name}-") and (len(board.fpgas) == 1 or f"-{fpga}-" in file)
            assert done.out.splitlines()[1:] == [shlex.join(programs.ran()), "written"]
            assert f"{board.title}: release 0.2.0, {fpga}, uartbone" in done.out


def test_the_table_is_that_of_the_clone():
    for name, board in boards.all_boards().items():
        there = flash_boards.BOARDS[name]
        assert (there.title, there.usb, there.programmers) == (board.title, board.usb[:2], board.programmers)
    assert of_the_clone.PACKAGES == flash.DEBIAN


@pytest.mark.parametrize(
    "words, name",
    [
        (["--board", "icebreaker"], "icebreaker-uartbone-s1.bin"),
        (["--board", "icebreaker", "--samples", "2"], "icebreaker-uartbone-s2.bin"),
        (["--board", "ulx3s"], "ulx3s-85f-uartbone-s4.bit"),
        (["--board", "ulx3s", "--variant", "linux"], "ulx3s-85f-linux-s4.bit"),
        (["--board", "ulx3s", "--fpga", "45f"], "ulx3s-45f-uartbone-s4.bit"),
        (["--board", "orangecrab", "--samples", "1"], "orangecrab-25f-uartbone-s1.bit"),
    ],
)
def test_defaults_are_the_boards(words, name, folder, programs):
    """--dry-run prints the command; no program is needed."""
    done = run(*words, "--from", folder, "--dry-run")
    assert done.status == 0 and shlex.split(done.out.splitlines()[-1])[-1] == str(folder / name), done
    assert programs.ran() is None


@pytest.mark.parametrize("name", flash_boards.BOARDS)
def test_a_serial_number(name, folder, programs):
    """As `make flash` selects one of several boards."""
    board, choice = boards.all_boards()[name], SimpleNamespace(board=boards.all_boards()[name])
    program = next(iter(board.programmers))
    wanted = of_the_clone.selection(choice.board, program, "N1")
    done = run("--board", name, "--from", folder, "--serial", "N1", "--dry-run")
    if wanted is None:
        is_refused(done, "cannot tell boards apart")
    else:
        assert shlex.split(done.out.splitlines()[-1])[1 : 1 + len(wanted)] == wanted


# What is missing, or fails --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", flash_boards.BOARDS)
def test_without_a_program_its_package_is_named(name, folder, programs):
    package = flash.DEBIAN[next(iter(flash_boards.BOARDS[name].programmers))]
    is_refused(run("--board", name, "--from", folder), flash_boards.BOARDS[name].title, f"apt-get install {package}")


def test_a_program_that_fails(folder, programs):
    programs("iceprog", status=3)
    done = run("--board", "icebreaker", "--from", folder)
    assert done.status == 2 and done.err == "litepulse: iCEBreaker: iceprog ended with status 3; what it reported stands above\n"
    assert "written" not in done.out


def test_what_the_board_cannot_do(folder, programs):
    programs("iceprog", "dfu-util", "openFPGALoader")
    is_refused(run("--board", "icebreaker", "--from", folder, "--ram"), "without --ram")
    is_refused(run("--board", "icebreaker", "--from", folder, "--fpga", "85f"), "iCEBreaker has no '85f'; there is up5k")
    is_refused(
        run("--board", "icebreaker", "--from", folder, "--samples", "4"), "release 0.2.0 has no such bitstream", "icebreaker-uartbone-s1"
    )
    is_refused(run("--board", "arty", "--from", folder), "no board 'arty'; there is icebreaker, ")
    assert programs.ran() is None


def test_without_bitstreams(tmp_path, programs):
    is_refused(run("--board", "icebreaker"), "no bitstreams are installed", "--from FOLDER")
    is_refused(run("--board", "icebreaker", "--from", tmp_path), "has no bitstreams.json")


def test_of_an_installed_package(folder, tmp_path, monkeypatch, programs):
    """The package litepulse_bitstreams is a folder with a list."""
    package = tmp_path / "site" / flash.PACKAGE
    package.parent.mkdir()
    folder.rename(package)
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(package.parent))
    done = run("--board", "icebreaker", "--dry-run")
    assert shlex.split(done.out.splitlines()[-1])[-1] == str(package / "icebreaker-uartbone-s1.bin"), done.err


# Wrong files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, fpga", EACH)
@pytest.mark.parametrize("part", HEADS)
def test_a_file_for_another_fpga_is_refused(name, fpga, part, tmp_path):
    """By the IDCODE of an ECP5, by the columns of an iCE40."""
    board = flash_boards.BOARDS[name]
    file = tmp_path / "some.bit"
    file.write_bytes(HEADS[part] + bytes(100))
    done = run("--board", name, "--fpga", fpga, "--file", file, "--dry-run")
    if part == board.parts[fpga]:
        assert done.status == 0 and f"{board.title}: of no release" in done.out
    else:
        is_refused(done, f"this is a bitstream for {part}, {board.title} has {board.parts[fpga]}")


def test_a_file_of_another_board_with_the_same_fpga(folder, tmp_path):
    """The list beside it names the board, or the name by `make bitstream` does."""
    file = folder / "ulx3s-85f-uartbone-s4.bit"
    wrong = "this is a bitstream for ULX3S, not for OrangeCrab r0.2"
    is_refused(run("--board", "orangecrab", "--file", file, "--dry-run"), wrong)
    (tmp_path / file.name).write_bytes(file.read_bytes())
    is_refused(run("--board", "orangecrab", "--file", tmp_path / file.name, "--dry-run"), wrong)
    assert "ULX3S: release 0.2.0" in run("--file", file, "--dry-run").out


@pytest.mark.parametrize(
    "data, why",
    [
        (b"", "not a bitstream"),
        (b"#!/bin/sh\n", "not a bitstream"),
        (bytes(5000) + HEADS["LFE5U-85F"], "not a bitstream"),
        (HEADS["LFE5U-85F"][:24], "without IDCODE"),
        (bytes.fromhex(ECP5_HEAD.format(0x12345678)), "IDCODE 0x12345678"),
        (bytes.fromhex(ICE40_HEAD.format(331, 0x08F)), "an iCE40 that no board here has"),
        (HEADS["iCE40UP5K"][:10], "an iCE40 that no board here has"),
    ],
)
def test_what_is_no_bitstream(data, why, tmp_path):
    (tmp_path / "file").write_bytes(data)
    is_refused(run("--board", "ulx3s", "--file", tmp_path / "file", "--dry-run"), why)


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    is_refused(run("--board", "ulx3s", "--file", tmp_path / "none"), "No such file")
    is_refused(run("--board", "ulx3s", "--file", "/dev/zero"), "longer than any bitstream")
    is_refused(run("--board", "ulx3s", "--file", "x", "--from", "y"), "--file and --from exclude each other")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-x").write_bytes(HEADS["LFE5U-85F"])
    assert shlex.split(run("--board", "ulx3s", "--file=-x", "--dry-run").out.splitlines()[-1])[-1] == "./-x"


def test_a_file_that_was_changed_is_refused(folder):
    file = folder / "icebreaker-uartbone-s1.bin"
    file.write_bytes(file.read_bytes() + b"x")
    is_refused(run("--board", "icebreaker", "--from", folder, "--dry-run"), "this is not the file of release 0.2.0")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"bitstreams": 5, "register_map": "0.9"}',
        '{"bitstreams": [], "register_map": 9}',
        '{"bitstreams": [], "register_map": "x"}',
        '{"bitstreams": [[]], "register_map": "0.9"}',
        '{"bitstreams": [{"file": "x", "board": [], "fpga": "up5k", "variant": "uartbone", "sha256": "1"}], "register_map": "0.9"}',
    ],
)
def test_lists_that_are_none(text, folder):
    (folder / flash.LIST).write_text(text)
    is_refused(run("--board", "icebreaker", "--from", folder, "--dry-run"), "not a list of bitstreams")


def test_a_list_cannot_lead_out_of_its_folder(folder):
    made = json.loads((folder / flash.LIST).read_text())
    made["bitstreams"][0]["file"] = "../../secret.bin"
    (folder / flash.LIST).write_text(json.dumps(made))
    assert "secret" not in run("--board", "icebreaker", "--from", folder, "--dry-run").out


# Boards, versions -------------------------------------------------------------------------------------------------------


def test_the_board_that_is_plugged_in(folder, monkeypatch):
    """By what its plug says; none and several are one line."""
    for titles, wanted in (
        (["ULX3S"], "ULX3S: release"),
        ([], "none is found"),
        (["ULX3S", "iCEBreaker"], "several are plugged in: ULX3S, iC"),
    ):
        found = [SimpleNamespace(board=SimpleNamespace(title=title)) for title in titles]
        monkeypatch.setattr(flash, "find_bridges", lambda host, found=found: found)
        done = run("--from", folder, "--dry-run")
        assert wanted in (done.out if len(titles) == 1 else done.err)


@pytest.mark.parametrize("minor, text", [(regmap.VERSION_MINOR + 1, "newer than this program's"), (6, "without a line that rests at 0")])
def test_another_register_map_is_named(minor, text, folder):
    made = json.loads((folder / flash.LIST).read_text()) | {"register_map": f"0.{minor}"}
    (folder / flash.LIST).write_text(json.dumps(made))
    assert re.search(f"note: the core is version 0.{minor}, {text}", run("--board", "icebreaker", "--from", folder, "--dry-run").out)


def test_heads_are_those_of_the_tools():
    """Each FPGA is found; a board in the table has one of them."""
    assert {flash.part_of(head) for head in HEADS.values()} == set(HEADS)
    assert {part for board in flash_boards.BOARDS.values() for part in board.parts.values()} == set(HEADS)
    with pytest.raises(LitePulseError):
        flash.part_of(bytes(100))
