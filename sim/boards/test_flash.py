# SPDX-License-Identifier: BSD-2-Clause
"""`make BOARD=... flash`: what is run, and its error messages. Programmers, sysfs and device nodes
are simulated."""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from litex_soc import bitstream, boards, flash
from litex_soc.board import choose

ROOT = Path(flash.__file__).resolve().parent.parent
BOARDS = boards.all_boards()
# Of the openFPGALoader of Debian 12 (0.10.0), --list-boards; a name that it does not know must not be in the table.
KNOWN_BOARDS = {"colorlight-i5", "ecpix5", "ice40_generic", "orangeCrab", "ulx3s"}
SHOWS = 'printf "%s ran:" "${0##*/}"; for a in "$@"; do printf " [%s]" "$a"; done; echo; echo complaint >&2; exit '


class Desk:
    """A machine: programs on PATH, boards on USB, a build folder."""

    def __init__(self, folder, monkeypatch):
        self.programs, self.sysfs, self.dev, self.build = (folder / name for name in ("programs", "sys", "dev", "build"))
        (self.sysfs / "bus" / "usb" / "devices").mkdir(parents=True)
        self.programs.mkdir()
        self.dev.mkdir()
        monkeypatch.setenv("PATH", str(self.programs))
        monkeypatch.setattr(bitstream, "BUILD", self.build)

    def install(self, *names, status=0, script=None):
        """Programs that print their arguments."""
        for name in names:
            path = self.programs / name
            path.write_text(f"#!/bin/sh\n{script or SHOWS + str(status)}\n")
            path.chmod(0o755)

    def plug(self, ids, port="1-2", hidraw=None, node=True, **files):
        """A USB device, as the kernel shows one: a link to a folder of small files. Returns its device node."""
        real = self.sysfs / "devices" / "pci0" / port
        real.mkdir(parents=True)
        files = {"idVendor": ids[0], "idProduct": ids[1], "busnum": "1", "devnum": str(10 + len(list(real.parent.iterdir()))), **files}
        for name, text in files.items():
            (real / name).write_text(f"{text}\n")
        (self.sysfs / "bus" / "usb" / "devices" / port).symlink_to(real)
        path = self.dev / "bus" / "usb" / f"{int(files['busnum']):03}" / f"{int(files['devnum']):03}"
        if hidraw:
            (real / f"{port}:1.3" / "0003:0D28:0204.0005" / "hidraw" / hidraw).mkdir(parents=True)
            path = self.dev / hidraw
        if node:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        return path

    def built(self, *chosen):
        """Puts a bitstream where the build puts it; its path."""
        path = bitstream.bitstream_path(choose(*chosen))
        path.parent.mkdir(parents=True)
        path.write_text("bits")
        return path

    def run(self, *arguments):
        """Exit status of the command."""
        return flash.main(list(arguments), sysfs=self.sysfs, dev=self.dev)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A machine with nothing on it."""
    return Desk(tmp_path, monkeypatch)


def ids_of(name):
    return BOARDS[name].usb[:2]


def error_message(capfd):
    """What was printed as an error, alone."""
    out, err = capfd.readouterr()
    assert out == ""
    return err.rstrip("\n")


# ---- it runs the programmer


@pytest.mark.parametrize(
    "name, program, arguments",
    [
        ("icebreaker", "iceprog", ""),
        ("icebreaker", "openFPGALoader", "-b ice40_generic -f "),
        ("alchitry_cu", "iceprog", ""),
        ("alchitry_cu", "openFPGALoader", "-b ice40_generic -f "),
        ("ulx3s", "openFPGALoader", "-b ulx3s -f "),
        ("colorlight_i5", "openFPGALoader", "-b colorlight-i5 -f --unprotect-flash "),
        ("orangecrab", "dfu-util", "-d 1209:5af0 -a 0 -R -D "),
        ("orangecrab", "openFPGALoader", "-b orangeCrab "),
        ("ecpix5", "openFPGALoader", "-b ecpix5 -f "),
    ],
)
def test_flash_is_written(desk, capfd, name, program, arguments):
    desk.install(program)
    desk.plug(ids_of(name))
    path = desk.built(name)
    assert desk.run(name) == 0
    out, err = capfd.readouterr()
    words = [*arguments.split(), str(path)]
    assert out.splitlines() == [shlex.join([program, *words]), f"{program} ran: " + " ".join(f"[{word}]" for word in words)]
    assert err == "complaint\n"


@pytest.mark.parametrize("name", ["ulx3s", "colorlight_i5", "ecpix5"])
def test_only_the_fpga_is_loaded(desk, capfd, name):
    desk.install("openFPGALoader")
    desk.plug(ids_of(name))
    path = desk.built(name)
    assert desk.run(name, "--ram") == 0
    assert f"ran: [-b] [{name.replace('_', '-')}] [-m] [{path}]\n" in capfd.readouterr().out


@pytest.mark.parametrize("name", ["icebreaker", "alchitry_cu", "orangecrab"])
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_where_only_the_flash_can_be_written(desk, capfd, name, more):
    desk.install("iceprog", "openFPGALoader", "dfu-util")
    desk.plug(ids_of(name))
    desk.built(name)
    assert desk.run(name, "--ram", *more) == 2
    assert (
        error_message(capfd)
        == f"{BOARDS[name].title}: there is no way to load it past its flash; without --ram (RAM=1) the flash is written"
    )


def test_the_preferred_of_several_programs(desk, capfd):
    desk.install("openFPGALoader", "iceprog", "dfu-util")
    for name, program in (("icebreaker", "iceprog"), ("alchitry_cu", "iceprog"), ("orangecrab", "dfu-util"), ("ulx3s", "openFPGALoader")):
        assert desk.run(name, "--dry-run") == 0
        assert capfd.readouterr().out.split()[0] == program


@pytest.mark.parametrize("script, status", [(SHOWS + "0", 0), (SHOWS + "3", 3), (SHOWS + "1", 1), ("kill -TERM $$", 143)])
def test_status_of_the_programmer_is_passed_on(desk, script, status):
    desk.install("iceprog", script=script)
    desk.plug(ids_of("icebreaker"))
    desk.built("icebreaker")
    assert desk.run("icebreaker") == status


def test_a_program_that_cannot_be_run(desk, capfd):
    desk.install("iceprog")
    (desk.programs / "iceprog").write_text("#!/no/such/interpreter\n")
    desk.plug(ids_of("icebreaker"))
    desk.built("icebreaker")
    assert desk.run("icebreaker") == 2
    assert capfd.readouterr().err.startswith("iceprog cannot be run: ")


def test_every_choice_has_its_own_bitstream(desk, capfd):
    desk.install("openFPGALoader")
    desk.plug(ids_of("ulx3s"))
    path = desk.built("ulx3s", "45f", "uartbone", 2)
    assert desk.run("ulx3s", "--fpga", "45f", "--samples", "2", "--variant", "uartbone") == 0
    assert capfd.readouterr().out.endswith(f"[{path}]\n") and path.name == "ulx3s-45f-uartbone-s2.bit"


# ---- dry run


@pytest.mark.parametrize("name", BOARDS)
def test_dry_run_needs_nothing(desk, capfd, monkeypatch, name):
    """One line, the same that a real run prints first."""
    monkeypatch.setattr(flash, "find_devices", lambda *_: pytest.fail("it looked for the board"))
    assert desk.run(name, "--dry-run") == 0
    dry = capfd.readouterr()
    assert dry.err == "" and dry.out.count("\n") == 1
    monkeypatch.undo()
    monkeypatch.setattr(bitstream, "BUILD", desk.build)
    monkeypatch.setenv("PATH", str(desk.programs))
    program = shlex.split(dry.out)[0]
    assert program == next(iter(BOARDS[name].programmers))
    desk.install(program)
    desk.plug(ids_of(name))
    desk.built(name)
    assert desk.run(name) == 0
    assert capfd.readouterr().out.startswith(dry.out)


def test_dry_run_shows_the_program_that_is_there(desk, capfd):
    desk.install("openFPGALoader")
    assert desk.run("icebreaker", "--dry-run") == 0
    assert capfd.readouterr().out.startswith("openFPGALoader -b ice40_generic -f ")


def test_dry_run_is_quoted(desk, capfd, monkeypatch):
    monkeypatch.setattr(bitstream, "BUILD", Path("/with space/it's"))
    assert desk.run("icebreaker", "--dry-run", "--serial", "A B") == 0
    out = capfd.readouterr().out
    assert shlex.split(out) == [
        "iceprog",
        "-d",
        "s:0x0403:0x6010:A B",
        "/with space/it's/icebreaker-uartbone-s1/icebreaker-uartbone-s1.bin",
    ]
    assert "'s:0x0403:0x6010:A B'" in out


def test_command_line():
    command = [sys.executable, "-m", "litex_soc.flash"]
    result = subprocess.run(
        [*command, "ulx3s", "--ram", "--dry-run"],
        cwd=ROOT,
        env={**os.environ, "PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert shlex.split(result.stdout)[:4] == ["openFPGALoader", "-b", "ulx3s", "-m"]
    result = subprocess.run([*command, "ulx3", "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "") and result.stderr.startswith("no board ulx3; there is icebreaker, ")


# ---- what it says when it cannot


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "no board given"),
        (("nosuch",), "no board nosuch; there is icebreaker, "),
        (("ulx3s", "--fpga", "12f"), "no FPGA 12f on ULX3S; there is 85f, 45f"),
        (("icebreaker", "--variant", "linux"), "no variant linux on iCEBreaker; there is uartbone"),
        (("icebreaker", "--samples", "4"), "no PHY with samples per cycle 4 on iCEBreaker; there is 1, 2"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_no_such_choice(desk, capfd, arguments, message, more):
    assert desk.run(*arguments, *more) == 2
    error = error_message(capfd)
    assert error.startswith(message) and "\n" not in error


@pytest.mark.parametrize(
    "chosen, words",
    [
        (("icebreaker",), "BOARD=icebreaker VARIANT=uartbone SAMPLES=1"),
        (("ulx3s", "45f", "uartbone", 1), "BOARD=ulx3s FPGA=45f VARIANT=uartbone SAMPLES=1"),
    ],
)
def test_no_bitstream_yet(desk, capfd, chosen, words):
    desk.install("iceprog", "openFPGALoader")
    desk.plug(ids_of(chosen[0]))
    options = [part for option, value in zip(("--fpga", "--variant", "--samples"), chosen[1:]) for part in (option, str(value))]
    assert desk.run(chosen[0], *options) == 2
    path = bitstream.bitstream_path(choose(*chosen))
    assert error_message(capfd) == f"there is no {path} yet; to build it: make {words} bitstream"


@pytest.mark.parametrize(
    "name, programs, package",
    [
        ("icebreaker", "iceprog or openFPGALoader", "fpga-icestorm"),
        ("alchitry_cu", "iceprog or openFPGALoader", "fpga-icestorm"),
        ("ulx3s", "openFPGALoader", "openfpgaloader"),
        ("colorlight_i5", "openFPGALoader", "openfpgaloader"),
        ("orangecrab", "dfu-util or openFPGALoader", "dfu-util"),
        ("ecpix5", "openFPGALoader", "openfpgaloader"),
    ],
)
def test_no_programmer(desk, capfd, name, programs, package):
    desk.plug(ids_of(name))
    desk.built(name)
    assert desk.run(name) == 2
    first = programs.split()[0]
    assert error_message(capfd) == (
        f"{BOARDS[name].title}: no programmer is installed: {programs}; to install {first} on Debian or Ubuntu: "
        f"sudo apt-get install {package}"
    )


@pytest.mark.parametrize(
    "name, looked_for, todo",
    [
        ("icebreaker", "FT2232H (USB 0403:6010)", "plug in its USB cable, one that carries data"),
        ("alchitry_cu", "FT2232H (USB 0403:6010)", "plug in its USB cable, one that carries data"),
        ("ulx3s", "FT231X (USB 0403:6015)", "plug in its USB cable, one that carries data"),
        ("colorlight_i5", "DAPLink (USB 0d28:0204)", "plug in its USB cable, one that carries data"),
        ("orangecrab", "DFU boot loader (USB 1209:5af0)", "hold its button while plugging in the USB cable"),
        ("ecpix5", "FT2232H (USB 0403:6010)", "plug in its USB cable, one that carries data"),
    ],
)
def test_board_is_not_there(desk, capfd, name, looked_for, todo):
    """Other devices are: a hub, and one with only the vendor or only the product right."""
    desk.install("iceprog", "openFPGALoader", "dfu-util")
    desk.built(name)
    vendor, product = ids_of(name)
    desk.plug(("1d6b", "0002"), port="usb1")
    desk.plug((vendor, "ffff"), port="1-1")
    desk.plug(("ffff", product), port="1-3")
    assert desk.run(name) == 2
    assert error_message(capfd) == f"{BOARDS[name].title} is not there: no {looked_for}; {todo}"


def test_no_usb_at_all(desk, capfd):
    desk.install("iceprog")
    desk.built("icebreaker")
    (desk.sysfs / "bus" / "usb" / "devices").rmdir()
    assert desk.run("icebreaker") == 2
    error = error_message(capfd)
    assert error.startswith(f"there is no {desk.sysfs}/bus/usb/devices, so no USB here") and "DRY_RUN=1" in error and "\n" not in error


def test_another_board_with_the_same_chip(desk, capfd):
    """It says so itself, in its product string; a string that names none of the boards is no reason."""
    desk.install("iceprog")
    desk.plug(ids_of("alchitry_cu"), manufacturer="1BitSquared", product="iCEBreaker V1.0e")
    for name in ("alchitry_cu", "icebreaker"):
        desk.built(name)
    assert desk.run("alchitry_cu") == 2
    assert error_message(capfd) == "Alchitry Cu: the FT2232H at USB port 1-2 says that it is another board: 1BitSquared iCEBreaker V1.0e"
    assert desk.run("icebreaker") == 0


def test_a_silent_chip(desk):
    desk.install("iceprog")
    desk.plug(ids_of("alchitry_cu"), product="Dual RS232-HS")
    desk.built("alchitry_cu")
    assert desk.run("alchitry_cu") == 0


# ---- several boards


def test_several_boards_are_listed(desk, capfd):
    desk.install("iceprog")
    desk.built("icebreaker")
    desk.plug(ids_of("icebreaker"), port="1-2", serial="ib1", manufacturer="1BitSquared", product="iCEBreaker V1.0e")
    desk.plug(ids_of("icebreaker"), port="1-4.1", product="Dual RS232-HS")
    desk.plug(ids_of("ulx3s"), port="1-5", serial="other")
    assert desk.run("icebreaker") == 2
    assert error_message(capfd).splitlines() == [
        "iCEBreaker: 2 of FT2232H (USB 0403:6010) are there; choose one with --serial N (SERIAL=N):",
        "    USB port 1-2: serial number ib1, 1BitSquared iCEBreaker V1.0e",
        "    USB port 1-4.1: no serial number, Dual RS232-HS",
    ]


@pytest.mark.parametrize(
    "name, program, arguments",
    [
        ("icebreaker", "iceprog", ["-d", "s:0x0403:0x6010:two"]),
        ("alchitry_cu", "iceprog", ["-d", "s:0x0403:0x6010:two"]),
        ("ulx3s", "openFPGALoader", ["--ftdi-serial", "two"]),
        ("ecpix5", "openFPGALoader", ["--ftdi-serial", "two"]),
        ("orangecrab", "dfu-util", ["-S", "two"]),
    ],
)
def test_one_of_several_boards(desk, capfd, name, program, arguments):
    desk.install(program)
    path = desk.built(name)
    for number, serial in enumerate(("one", "two", "three")):
        desk.plug(ids_of(name), port=f"1-{number}", serial=serial)
    assert desk.run(name, "--serial", "two") == 0
    words = [*arguments, *BOARDS[name].programmers[program]["flash"], str(path)]
    assert capfd.readouterr().out.splitlines()[1] == f"{program} ran: " + " ".join(f"[{word}]" for word in words)


def test_only_the_chosen_board_has_to_be_open(desk, monkeypatch):
    desk.install("iceprog")
    desk.built("icebreaker")
    nodes = {serial: desk.plug(ids_of("icebreaker"), port=f"1-{serial}", serial=serial) for serial in ("1", "2")}
    monkeypatch.setattr(flash, "may_open", lambda node: node == nodes["2"])
    assert desk.run("icebreaker", "--serial", "2") == 0
    assert desk.run("icebreaker", "--serial", "1") == 2


def test_no_board_with_this_number(desk, capfd):
    desk.install("iceprog")
    desk.built("icebreaker")
    desk.plug(ids_of("icebreaker"), serial="ib1")
    assert desk.run("icebreaker", "--serial", "ib2") == 2
    assert error_message(capfd).splitlines() == [
        "iCEBreaker: no FT2232H (USB 0403:6010) has the serial number ib2; there is:",
        "    USB port 1-2: serial number ib1",
    ]


@pytest.mark.parametrize(
    "name, program", [("icebreaker", "openFPGALoader"), ("colorlight_i5", "openFPGALoader"), ("orangecrab", "openFPGALoader")]
)
@pytest.mark.parametrize("more", [(), ("--serial", "one")])
def test_a_programmer_that_takes_the_first(desk, capfd, name, program, more):
    """With a serial number too it would take any of them: it is not run."""
    desk.install(program)
    desk.built(name)
    for serial in ("one", "two"):
        desk.plug(ids_of(name), port=f"1-{serial}", serial=serial)
    assert desk.run(name, *more) == 2
    lines = error_message(capfd).splitlines()
    assert lines[0].endswith("are there; openFPGALoader cannot tell them apart: unplug all but one:") and len(lines) == 3


def test_a_programmer_that_takes_the_first_and_only(desk, capfd):
    desk.install("openFPGALoader")
    path = desk.built("colorlight_i5")
    desk.plug(ids_of("colorlight_i5"), serial="one")
    assert desk.run("colorlight_i5", "--serial", "two") == 2
    assert "has the serial number two" in error_message(capfd)
    assert desk.run("colorlight_i5", "--serial", "one") == 0
    assert capfd.readouterr().out.endswith(f"ran: [-b] [colorlight-i5] [-f] [--unprotect-flash] [{path}]\n")


@pytest.mark.parametrize("serials", [("", ""), ("same", "same")])
def test_boards_without_a_number_of_their_own(desk, capfd, serials):
    desk.install("iceprog")
    desk.built("alchitry_cu")
    for number, serial in enumerate(serials):
        desk.plug(ids_of("alchitry_cu"), port=f"1-{number}", serial=serial)
    for more in ((), ("--serial", "same")) if serials[0] else ((),):
        assert desk.run("alchitry_cu", *more) == 2
        assert "iceprog cannot tell them apart: unplug all but one" in error_message(capfd)


# ---- permissions


@pytest.mark.parametrize("name, hidraw", [("icebreaker", None), ("ulx3s", None), ("orangecrab", None), ("colorlight_i5", "hidraw4")])
def test_a_device_this_user_may_not_open(desk, capfd, monkeypatch, name, hidraw):
    program = next(iter(BOARDS[name].programmers))
    desk.install(program)
    desk.built(name)
    node = desk.plug(ids_of(name), hidraw=hidraw)
    opened = []
    monkeypatch.setattr(flash, "may_open", lambda path: opened.append(path))
    assert desk.run(name) == 2
    assert opened == [node]
    lines = error_message(capfd).splitlines()
    assert lines[0] == f"{BOARDS[name].title} is there (USB port 1-2), but you may not open {node}. A udev rule allows it:"
    assert lines[1] == f"    sudo cp {shlex.quote(str(flash.RULES))} /etc/udev/rules.d/"
    assert lines[2] == "    sudo udevadm control --reload && sudo udevadm trigger"
    vendor, product = ids_of(name)
    rule = [line.strip() for line in lines if "ATTRS" in line]
    assert len(rule) == 2 and all(f'ATTRS{{idVendor}}=="{vendor}", ATTRS{{idProduct}}=="{product}"' in line for line in rule)
    assert set(rule) <= set(flash.RULES.read_text().splitlines())


def test_a_node_that_is_missing(desk, capfd):
    desk.install("iceprog")
    desk.built("icebreaker")
    node = desk.plug(ids_of("icebreaker"), node=False)
    assert desk.run("icebreaker") == 2
    assert error_message(capfd) == f"iCEBreaker is there (USB port 1-2), but its device node {node} is not: is this a container?"


@pytest.mark.parametrize("mode, allowed", [(0o666, True), (0o664, False), (0o600, False), (0o662, False)])
def test_who_may_open(mode, allowed):
    """Another user than the owner; root is one for a moment."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        node = Path(folder) / "node"
        node.write_text("")
        node.chmod(mode)
        assert flash.may_open(node)
        if os.geteuid():  # only root can become another user
            for own in (0o466, 0o266, 0o066):
                node.chmod(own)
                assert not flash.may_open(node)
            return
        groups = os.getgroups()
        os.setgroups([])
        os.setegid(65534)
        os.seteuid(65534)
        try:
            assert flash.may_open(node) == allowed
        finally:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(groups)


# ---- the table and the rules


def test_rules_are_printed(capsys):
    assert flash.main(["--rules"]) == 0
    assert capsys.readouterr().out == flash.rules()


def test_rules_cover_every_board():
    """For USB, HID and serial port; named so that they come before the one that acts on uaccess (73-seat-late)."""
    lines = flash.RULES.read_text().splitlines()
    for board in BOARDS.values():
        ids = 'ATTRS{{idVendor}}=="{}", ATTRS{{idProduct}}=="{}", '.format(*board.usb)
        mine = [line for line in lines if ids in line]
        assert [line.split(",")[0] for line in mine] == ['SUBSYSTEM=="usb|hidraw"', 'SUBSYSTEM=="tty"'], board.name
        assert 'GROUP="plugdev"' in mine[0] and 'MODE="0660"' in mine[0] and 'GROUP="dialout"' in mine[1]
        assert all('TAG+="uaccess"' in line for line in mine)
    assert flash.RULES.name < "73" and all(line.startswith(("#", "ACTION", "SUBSYSTEM", "LABEL")) for line in lines if line)


@pytest.mark.parametrize("name", BOARDS)
def test_table_of_programmers(name):
    board = BOARDS[name]
    assert set(board.programmers) <= set(flash.PACKAGES)
    assert all("flash" in modes and set(modes) <= {"flash", "ram"} for modes in board.programmers.values())
    assert all(len(part) == 4 and int(part, 16) and part == part.lower() for part in board.usb[:2]) and len(board.usb) == 3
    for program, modes in board.programmers.items():
        for mode, arguments in modes.items():
            if program == "openFPGALoader":
                assert arguments[0] == "-b" and arguments[1] in KNOWN_BOARDS
                assert ("-f" in arguments) == (mode == "flash" and name != "orangecrab") and ("-m" in arguments) == (mode == "ram")
            if program == "dfu-util":
                assert arguments[:2] == ["-d", ":".join(board.usb[:2])] and arguments[-1] == "-D"
