# SPDX-License-Identifier: BSD-2-Clause
"""A core is found where LiteX put it: by the files that LiteX writes for a SoC, and by looking where its CPUs have their CSRs."""

import contextlib
import logging
from pathlib import Path

import pytest

import litepulse
from litepulse import regs
from litepulse.backends import connect, places
from litepulse.backends.places import Places
from litepulse.errors import BadInput, InUse, NotLitePulse

from .fake_board import FakeBoard, Server
from .test_cli import run

needs_cpu = pytest.mark.full  # the step `test` of the set-up has no CPU


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Function: {"csv": path, "json": path}, written by LiteX for a SoC with these arguments and a
    number of cores."""
    from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
    from litex.soc.integration.soc_core import SoCCore

    from litex_soc import exports
    from litex_soc.litepulse import LitePulse

    class Soc(SoCCore):
        mem_map = {**SoCCore.mem_map, "csr": 0}  # LiteX changes that of the class for a CPU

    def write(cores, **arguments):
        logging.disable(logging.INFO)
        line = Subsignal("tx", Pins(1)), Subsignal("rx", Pins(1))
        platform = GenericPlatform("none", [("pulse", n, *line) for n in range(cores)], name="none")
        soc = Soc(platform, 48_000_000, uart_name="stub", integrated_rom_size=0x1000, with_timer=False, **arguments)
        for n in range(cores):
            name = f"pulse{n or ''}"
            core = LitePulse(platform, platform.request("pulse", n), 48_000_000)
            setattr(soc, name, core)
            core.add_to_soc(soc, name, csr_location=None if n else 16, window=None if n else regs.WINDOW_BASE)
        soc.finalize()
        folder = tmp_path_factory.mktemp("csr")
        (folder / "csr.csv").write_text(exports.csr_csv(soc))
        (folder / "csr.json").write_text(exports.csr_json(soc))
        return {form: folder / f"csr.{form}" for form in ("csv", "json")}

    return write


def test_a_board_of_ours():
    """Its bridge is known, too."""
    from litex_soc import exports, sim_soc

    logging.disable(logging.INFO)
    soc, _ = sim_soc.make_soc()
    soc.finalize()
    file = Path("csr.csv").absolute()
    file.write_text(exports.csr_csv(soc))
    assert places.read_file(file) == {"pulse": Places(0x8000, 0x9000_0000, 0x8800)}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@needs_cpu
@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_cpu_and_two_cores(files, form):
    """The second core lies where there was room; the first is meant unless the other is
    requested."""
    file = files(2, cpu_type="vexriscv")[form]
    found = places.read_file(file)
    assert found["pulse"] == Places(0xF000_8000, 0x9000_0000, None) and list(found) == ["pulse", "pulse1"]
    assert found["pulse1"].csr % 0x800 == 0 and found["pulse1"].window == 0x9000_8000
    assert places.choose(file) == places.choose(file, "pulse") == (None, found["pulse"])
    assert places.choose(file, "pulse1") == ("pulse1", found["pulse1"])
    with pytest.raises(BadInput, match=f"core: no 'other' in {file}; there is pulse, pulse1"):
        places.choose(file, "other")


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "no LitePulse core in"),
        ("csr_register,uart_rxtx,0x800,1,rw\n", "no LitePulse core in"),
        ("csr_register,pulse_id_magic,zero,1,ro\n", "is no csr.csv or csr.json of LiteX"),
        ("csr_register\n", "is no csr.csv or csr.json of LiteX"),
        ("{}", "is no csr.csv or csr.json of LiteX"),
        ("{", "is no csr.csv or csr.json of LiteX"),
        ('{"csr_registers": [], "memories": {}}', "is no csr.csv or csr.json of LiteX"),
        ("\0", "no LitePulse core in"),
    ],
)
def test_a_file_that_is_none(text, message):
    Path("csr").write_text(text)
    with pytest.raises(BadInput, match=message):
        places.read_file("csr")


def test_a_file_that_cannot_be_read():
    with pytest.raises(BadInput, match="csr: cannot read none: No such file"):
        places.read_file("none")
    Path("bytes").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(BadInput, match="csr: cannot read bytes: not a text"):
        places.read_file("bytes")


@pytest.mark.parametrize("csr_base", [0x8000, 0xF000_8000, 0xE000_8000])
def test_found_without_a_file(csr_base):
    """The core reports where its window is."""
    with Server(FakeBoard(csr_base=csr_base, window_base=0x9876_8000)) as server:
        board = connect(port=server.spec)
        assert board.line.set_echo(16) == 16 and board.registers.bus.rate_register == csr_base + 0x800
        board.close()


@needs_cpu
def test_addresses_of_the_file_are_not_searched_for(files):
    """Nothing else is read: on a bus without a timeout a wrong address would be the end."""
    file = files(2, cpu_type="vexriscv")["csv"]
    _, second = places.choose(file, "pulse1")
    board = FakeBoard(csr_base=second.csr, window_base=second.window)
    looked = []
    board.read = lambda address, count, read=board.read: looked.append(address) or read(address, count)
    with Server(board) as server:
        found = connect(port=server.spec, csr=file, core="pulse1")
        assert found.registers.bus.bus_clock() == 0  # no bridge with a rate
        with pytest.raises(Exception, match="no bridge whose bit rate can be raised"):
            found.registers.bus.raise_baud(1_000_000)
        found.close()
    assert looked and all(second.csr <= at < second.csr + 0x54 or second.window <= at < second.window + 0x8000 for at in looked)


class TwoCores:
    """A bus with two boards on it, each at its place."""

    def __init__(self, *places):
        self.boards = [FakeBoard(csr_base=place.csr, window_base=place.window) for place in places]

    def at(self, address):
        return next(b for b in self.boards if b.csr_base <= address < b.csr_base + 0x800 or 0 <= address - b.window_base < 0x8000)

    def read(self, address, count):
        return self.at(address).read(address, count)

    def write(self, address, words):
        self.at(address).write(address, words)


@needs_cpu
def test_two_lines_of_one_program(files):
    """Two cores behind one port, opened one beside the other: trains that start at one tick."""
    file = files(2, cpu_type="vexriscv")["csv"]
    with Server(TwoCores(*places.read_file(file).values())) as server, contextlib.ExitStack() as stack:
        both = [
            stack.enter_context(litepulse.open(port=server.spec, csr=file, core=core, stay_in_touch=False)) for core in ("pulse", "pulse1")
        ]
        with pytest.raises(InUse, match=r"core pulse1: in use by another litepulse"):
            litepulse.open(port=server.spec, csr=file, core="pulse1")
        start = max(board.now().tick for board in both) + 48_000_000
        trains = [board.train(rate="58", start=start, count=3) for board in both]
        assert [[pulse.tick for pulse in train] for train in trains] == [[start + n * 48_000_000 // 58 for n in range(3)]] * 2


def test_nothing_is_found():
    with Server(FakeBoard(csr_base=0x1_0000)) as server, pytest.raises(NotLitePulse) as error:
        connect(port=server.spec)
    read = "read 0x00000000 at 0x00008000, 0x00000000 at 0xf0008000, 0x00000000 at 0xe0008000, not 0x4c504c53"
    assert str(error.value) == f"{server.spec}: a bridge answers, but this is not a LitePulse ({read})"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--sim", "--csr", "csr.csv"], "csr works with a port only"),
        (["--port", "/dev/null", "--core", "pulse1"], "core: its place is in the csr.csv of the SoC: give it, too, as csr"),
        (["--port", "/dev/null", "--csr", "none.csv"], "csr: cannot read none.csv: No such file or directory"),
    ],
)
def test_wrong_options(arguments, message):
    result = run(*arguments, "info")
    assert (result.returncode, result.stderr.strip()) == (2, f"litepulse: {message}")


@needs_cpu
def test_the_command_takes_the_file(files):
    file = files(1, cpu_type="vexriscv")["json"]
    with Server(FakeBoard(csr_base=0xF000_8000)) as server:
        result = run("--port", server.spec, "--csr", str(file), "info", "--json")
    assert result.returncode == 0 and '"samples_per_cycle": 1' in result.stdout, result.stderr
