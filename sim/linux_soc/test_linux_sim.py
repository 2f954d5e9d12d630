# SPDX-License-Identifier: BSD-2-Clause
"""litepulse-linux-sim: the machine as a program on it sees it, both CPUs; pins to the tick; snapshots; what it refuses."""

import os
import pty
import re
import select
import stat
import subprocess
import termios
import time

import pytest

from litex_soc import linux_sim
from sim.cocotb_rig import ROOT
from sim.core.model import edges, level_at
from sim.linux_soc import bare_rig

BIT = 100  # ticks, of bare_check.c
STIMULUS = """
# the console's text is the start
after GO
+100 aux0 1
+150 aux1 1     # two inputs at once, then one a tick later
+150 aux2 1
+151 aux0 0
+10000 rx 0
+10100 rx 1
"""


@pytest.fixture(scope="module", params=linux_sim.CPUS)
def machine(request):
    return linux_sim.machine(request.param, quiet=True)


@pytest.fixture(scope="module")
def vexriscv():
    return linux_sim.machine("vexriscv", quiet=True)


@pytest.fixture(scope="module")
def started(machine, tmp_path_factory):
    """(folder, options that start bare_check.c) for a machine."""
    folder = tmp_path_factory.mktemp("bare")
    program = bare_rig.build(machine, bare_rig.HERE / "bare_check.c", folder)
    return folder, bare_rig.boot_arguments(machine, program, folder)


def printed(run):
    """{word: [numbers]} of the console's lines; events apart, as [(tick, kind and source, data)]."""
    lines = [line.split() for line in run.console.splitlines()]
    numbers = {line[0]: [int(word, 16) for word in line[1:]] for line in lines if len(line) == 3}
    return numbers, [(int(line[1], 16), int(line[2], 16) >> 8, int(line[3], 16)) for line in lines if line[0] == "event"]


def frame(start, byte):
    """Edges [(tick, level)] of 8N1."""
    levels = [0, *(byte >> n & 1 for n in range(8)), 1]
    return [(start + BIT * n, level) for n, level in enumerate(levels) if level != ([1] + levels)[n]]


@pytest.mark.seconds(60)
def test_the_machine(machine, started, tmp_path):
    """Registers, firmware, interrupt, files and console, and the pins to the tick: what the core stamps is what was recorded."""
    folder, boot = started
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "one").write_bytes(bytes(range(256)))
    (tmp_path / "b" / "link").symlink_to("one")
    (tmp_path / "a").write_text("hello\n")
    (tmp_path / "a").chmod(0o755)
    (folder / "stimulus").write_text(STIMULUS)
    run = bare_rig.simulate(
        machine,
        folder,
        *boot,
        "--stimulus",
        "stimulus",
        "--send",
        "Hello\n",
        "--send",
        "q",
        "--max-cycles",
        1_000_000,
        "--files",
        tmp_path / "a",
        "--files",
        tmp_path / "b",
    )
    assert (run.status, run.errors, run.stats["reason"], run.stats["stimulus_left"]) == (0, "", "reset", 0), run
    assert run.console.replace("\r", "").endswith("type> Ifmmp\nbye\n")
    numbers, events = printed(run)
    assert numbers["magic"][0] == 0x4C504C53 and numbers["clock"] == [linux_sim.PULSE_HZ, 1]
    assert numbers["dtb"] == [0xEDFE0DD0 if machine.cpu == "vexriscv" else 0xD00DFEED, machine.layout.device_tree]

    if machine.cpu == "vexriscv":
        assert numbers["magic"][1] == 0, "hart"
        assert numbers["time"][0] == 0, "the time went into another register, or another register changed"
        assert 20 < numbers["cost"][0] < 300, "cycles of rdtime"
        assert numbers["timer"][0] == 0 and 5000 <= numbers["timer"][1] < 7000
        assert numbers["sbi"] == [0xFFFFFFFE, 0], "an unknown extension is not supported, base is there"
        assert numbers["illegal"] == [1, 2], "one trap, of an illegal instruction"
        assert numbers["ebreak"] == [1, 3], "one trap, of a breakpoint: the CPU calls it illegal"
        assert numbers["interrupt"] == [machine.description["interrupts"]["pulse"], 0x101]
    else:
        bit = 1 << machine.description["interrupts"]["pulse"]
        assert numbers["interrupt"][0] & bit == 0 and numbers["interrupt"][1] & bit

    mode = (tmp_path / "b" / "one").stat().st_mode
    link = (tmp_path / "b" / "link").lstat().st_mode
    archive = newc(("a", 0o100755, b"hello\n"), ("link", link, b"one"), ("one", mode, bytes(range(256))))
    assert numbers["files"] == [len(archive), sum((n + 1) * byte for n, byte in enumerate(archive)) % 2**32]
    listed = subprocess.run(["cpio", "-tv", "--quiet"], input=archive, capture_output=True, check=True).stdout.decode()
    assert [line.split()[0][:10] + " " + " ".join(line.split()[8:]) for line in listed.splitlines()] == [
        "-rwxr-xr-x a",
        "lrwxrwxrwx link -> one",
        f"{stat.filemode(mode)} one",
    ]

    # the line: both launches, edge by edge, and what the core says of them
    tx = [(tick, level) for tick, pin, level in run.pins if pin == "tx"][1:]
    sent = [(tick, data) for tick, kind, data in events if kind == 0x10]
    assert [data & 0xFF for _, data in sent] == [0x55, 0xA3] and sent[1][0] - sent[0][0] == 2001
    assert tx == frame(sent[0][0], 0x55) + frame(sent[1][0], 0xA3)
    enabled = [(tick, level) for tick, pin, level in run.pins if pin == "de"][1:]
    assert enabled == [(sent[0][0], 1), (sent[0][0] + 10 * BIT, 0), (sent[1][0], 1), (sent[1][0] + 10 * BIT, 0)]

    # the inputs: each stamp is the tick of the first sample, one after the change
    changes = {}
    for tick, pin, level in run.pins:
        if tick and (pin.startswith("aux") or pin == "rx"):
            changes.setdefault(tick + 1, []).append((int(pin[3:]) if pin != "rx" else linux_sim.INPUTS, level))
    stamped = {tick: data for tick, kind, data in events if kind == 0x24}
    assert sorted(stamped) == sorted(changes) and len(changes) == 5
    for tick, found in changes.items():
        assert stamped[tick] & 0xFFFF == sum(1 << channel for channel, _ in found)
    assert sorted(tick - min(changes) for tick in changes) == [0, 50, 51, 9900, 10000]
    assert numbers["received"] == [1, 0xFF] and numbers["peer"][0] == 1

    # the other UART: 0x0f at 115200 baud, a bit at a time
    peer = [tick for tick, pin, level in run.pins if pin == "peer_tx"][1:]
    bit = linux_sim.SYS_HZ / 115200
    assert [round((tick - peer[0]) / bit, 2) for tick in peer] == [0, 1, 5, 9]
    assert {pin for _, pin, _ in run.pins} >= {"irq", "peer_irq", "core_rst", "tx_oe"}


def newc(*members):
    """A cpio archive (format "newc") of (name, mode, content), root's and without dates."""
    out = b""
    for number, (name, mode, content) in enumerate([*members, ("TRAILER!!!", 0, b"")], 1):
        name = name.encode() + b"\0"
        fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0]
        for part in (b"070701" + "".join(f"{value:08X}" for value in fields).encode() + name, content):
            out += part + bytes(-len(out + part) % 4)
    return out


@pytest.mark.seconds(30)
def test_snapshot(machine, started):
    """A run that was saved and restored in the middle, on another day, goes on as if nothing had been."""
    folder, boot = started
    (folder / "stimulus").write_text(STIMULUS)
    common = ["--stimulus", "stimulus"]
    whole = bare_rig.simulate(machine, folder, *boot, *common, "--until", "type> ")
    assert whole.status == 0
    first = bare_rig.simulate(machine, folder, *boot, "--until", "GO", "--save", "go.sav")
    assert first.status == 0 and first.stats["reason"] == "until" and first.console.endswith("GO")
    # the rest of the same stimulus: the anchor is the start of the run
    (folder / "rest").write_text(STIMULUS.replace("after GO\n", ""))
    rest = bare_rig.simulate(machine, folder, "--restore", "go.sav", "--stimulus", "rest", "--until", "type> ")
    assert rest.status == 0 and first.console + rest.console == whole.console
    assert rest.stats["start_cycle"] == first.stats["end_cycle"] and rest.stats["end_cycle"] == whole.stats["end_cycle"]
    start = rest.stats["start_tick"]
    levels = [{pin: level for tick, pin, level in run.pins if tick <= start} for run in (whole, rest)]
    assert levels[0] == levels[1] and len(levels[0]) > 10
    assert [change for change in whole.pins if change[0] > start] == [change for change in rest.pins if change[0] > start]


def test_wires_and_marks(vexriscv, tmp_path):
    """Each UART hears the other over two wires; lines are marked with their cycle; the core can be reset alone."""
    program = bare_rig.build(vexriscv, bare_rig.HERE / "bare_check.c", tmp_path)
    boot = bare_rig.boot_arguments(vexriscv, program, tmp_path)
    run = bare_rig.simulate(
        vexriscv, tmp_path, *boot, "--wire", "tx:aux3", "--wire", "peer_tx:peer_rx", "--loop", "--mark", "--until", "type> "
    )
    assert run.status == 0
    marks = [int(mark) for mark in re.findall(r"(?m)^\[ *(\d+)\] ", run.console)]
    assert marks == sorted(marks) and len(marks) == len(run.console.splitlines()) and marks[-1] < run.stats["end_cycle"]
    assert "peer 00000000 0000000f" in run.console
    levels = {pin: [(tick, level) for tick, name, level in run.pins if name == pin] for pin in ("tx", "aux3", "rx", "peer_tx", "peer_rx")}
    assert levels["tx"] == levels["rx"] == levels["aux3"] and levels["peer_tx"] == levels["peer_rx"] and len(levels["tx"]) > 10
    (tmp_path / "reset").write_text("after GO\n+6000 core_rst 1\n+6010 core_rst 0\n")
    run = bare_rig.simulate(vexriscv, tmp_path, *boot, "--stimulus", "reset", "--max-cycles", 200_000)
    tx = [tick for tick, pin, level in run.pins if pin == "tx" and level == 0]
    (reset,) = [tick for tick, pin, level in run.pins if pin == "core_rst" and level]
    assert tx and max(tx) < reset + 8, "the second launch is gone with the core"


def test_a_bus(vexriscv, tmp_path):
    """An input on a bus is low when the output is low, or the stimulus, or both."""
    program = bare_rig.build(vexriscv, bare_rig.HERE / "bare_check.c", tmp_path)
    others = [(20 * n + 7 * (n % 3), n % 2) for n in range(1, 2000)]
    (tmp_path / "others").write_text("after GO\n" + "".join(f"+{tick} rx {level}\n" for tick, level in others))
    boot = bare_rig.boot_arguments(vexriscv, program, tmp_path)
    run = bare_rig.simulate(vexriscv, tmp_path, *boot, "--bus", "tx:rx", "--stimulus", "others", "--max-cycles", 200_000)
    tx, rx = ([(tick, level) for tick, name, level in run.pins if name == pin] for pin in ("tx", "rx"))
    assert len(edges(tx)) > 10, "the core has sent, too"
    # Where the first stimulus lies is known by the last one, at which only it changes.
    begin = rx[-1][0] - others[-1][0]
    nodes = [(0, 1), *((begin + tick, level) for tick, level in others)]
    ticks = sorted({tick for tick, _ in (*tx, *nodes)})
    assert edges(rx) == edges([(tick, level_at(tx, tick) & level_at(nodes, tick)) for tick in ticks])


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "give either --rom or --restore (--help lists the options)"),
        (["--rom", "x", "--restore", "y"], "give either --rom or --restore (--help lists the options)"),
        (["--rom", "nothing"], "--rom: cannot read nothing: No such file or directory"),
        (["--rom", "."], "--rom: cannot read .: is a folder"),
        (["--rom", "big"], "--rom: big has 10000 bytes, the ROM 8192"),
        (["--rom", "rom", "--ram", "rom"], "--ram: 'rom' is not FILE@ADDRESS"),
        (["--rom", "rom", "--ram", "rom@x"], "--ram: 'rom@x' is not FILE@ADDRESS"),
        (["--rom", "rom", "--ram", "rom@0x41fffffe"], "--ram: rom, 4 bytes at 0x41fffffe, is not within 0x40000000 to 0x42000000"),
        (["--restore", "rom"], "--restore: rom is no snapshot"),
        (["--restore", "nothing"], "--restore: cannot read nothing: No such file or directory"),
        (["--rom", "rom", "--files", "nothing"], "--files: cannot read nothing: No such file or directory"),
        (["--rom", "rom", "--files", "/dev/null"], "--files: /dev/null is no file, folder or link"),
        (["--rom", "rom", "--files", "huge"], "--files: the archive, 5000248 bytes at 0x41c00000, is not within 0x41c00000 to 0x42000000"),
        (["--rom", "rom", "--max-cycles", "0"], "--max-cycles: 0 is not within 1 to 4611686018427387903"),
        (["--rom", "rom", "--max-cycles"], "--max-cycles needs an argument"),
        (["--rom", "rom", "--mark=1"], "--mark takes no argument"),
        (["--rom", "rom", "--until", ""], "--until: nothing to wait for"),
        (
            ["--rom", "rom", "--wire", "rx:tx"],
            "--wire: 'rx:tx' is not OUT:IN with OUT tx, de or peer_tx and IN rx, peer_rx or aux0 to aux3",
        ),
        (["--rom", "rom", "--loop", "--wire", "de:rx"], "--wire: rx is wired already"),
        (["--rom", "rom", "--loop", "--bus", "de:rx"], "--bus: rx is wired already"),
        (
            ["--rom", "rom", "--bus", "tx:irq"],
            "--bus: 'tx:irq' is not OUT:IN with OUT tx, de or peer_tx and IN rx, peer_rx or aux0 to aux3",
        ),
        (["--rom", "rom", "--pins", "/nothing/x"], "--pins: cannot write /nothing/x: No such file or directory"),
        (["--rom", "rom", "--stats", "/nothing/x", "--max-cycles", "1"], "--stats: cannot write /nothing/x: No such file or directory"),
        (["--rom", "rom", "--save", "/nothing/x", "--max-cycles", "1"], "--save: cannot write /nothing/x.part: No such file or directory"),
        (["--rom", "rom", "--stimulus", "nothing"], "--stimulus: cannot read nothing: No such file or directory"),
        (["--rom", "rom", "--frequency", "1"], "--frequency: no such option (--help lists them)"),
    ],
)
def test_refuses(vexriscv, arguments, message, tmp_path):
    """One line, status 2."""
    for name, size in (("rom", 4), ("big", 10_000), ("huge", 5_000_000)):
        (tmp_path / name).write_bytes(bytes(size))
    result = subprocess.run(
        [vexriscv.program, *arguments], cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=60
    )
    assert (result.returncode, result.stderr) == (2, f"litepulse-linux-sim: {message}\n") and not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    "text, message",
    [
        ("5 rx 2\n", "1: expected `tick pin level`, level 0 or 1, or `after TEXT`"),
        ("5 rx\n", "1: expected `tick pin level`, level 0 or 1, or `after TEXT`"),
        ("\n# x\n5 tx 1\n", "3: 'tx' is not rx, peer_rx, core_rst or aux0 to aux3"),
        ("5 aux4 1\n", "1: 'aux4' is not rx, peer_rx, core_rst or aux0 to aux3"),
        ("-5 rx 1\n", "1: '-5' is not a whole number"),
        ("after \n", "1: nothing to wait for"),
        ("+7 rx 1\n+6 rx 0\n", "2: tick +6 is less than the one before it"),
        ("5 rx 0\n", "1: rx is wired to tx"),
    ],
)
def test_refuses_a_stimulus(vexriscv, text, message, tmp_path):
    (tmp_path / "rom").write_bytes(bytes(4))
    (tmp_path / "s").write_text(text)
    result = subprocess.run(
        [vexriscv.program, "--rom", "rom", "--loop", "--stimulus", "s"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=60,
    )
    assert (result.returncode, result.stderr) == (2, f"litepulse-linux-sim: s:{message}\n")


def test_snapshots_it_refuses(vexriscv, tmp_path):
    """Half a snapshot, another program's, and a tick that is over."""
    (tmp_path / "rom").write_bytes(bytes(4))

    def run(*arguments):
        result = subprocess.run(
            [vexriscv.program, *arguments], cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=60
        )
        return result.returncode, result.stderr.removeprefix("litepulse-linux-sim: ")

    assert run("--rom", "rom", "--max-cycles", "100", "--save", "s") == (0, "")
    data = (tmp_path / "s").read_bytes()
    (tmp_path / "half").write_bytes(data[: len(data) // 2])
    key = data.index(b"litepulse-linux-sim") + 24
    (tmp_path / "other").write_bytes(data[:key] + b"x" + data[key + 1 :])
    assert run("--restore", "half") == (2, "--restore: half is not whole\n")
    assert run("--restore", "other") == (2, "--restore: other is a snapshot of another build of this program\n")
    (tmp_path / "past").write_text("99 rx 0\n")
    assert run("--restore", "s", "--stimulus", "past") == (2, "past:1: tick 99 is over, it is 100\n")
    # not as requested: no snapshot, status 1
    assert run("--restore", "s", "--until", "never", "--max-cycles", "100", "--save", "t") == (
        1,
        "ended (max-cycles) before the console printed 'never'\n",
    )
    assert not (tmp_path / "t").exists()


def test_console(vexriscv, tmp_path):
    """A person at a terminal: it is raw while the program runs, what is typed arrives, Ctrl-A x ends it, the terminal is as it was."""
    program = bare_rig.build(vexriscv, bare_rig.HERE / "bare_check.c", tmp_path)
    boot = bare_rig.boot_arguments(vexriscv, program, tmp_path)
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    child = subprocess.Popen([vexriscv.program, *boot, "--console"], cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs)
    heard = b""

    def until(text):
        nonlocal heard
        end = time.monotonic() + 60
        while text not in heard:
            assert time.monotonic() < end and select.select([ours], [], [], 60)[0], heard
            heard += os.read(ours, 4096)

    until(b"type> ")
    assert not termios.tcgetattr(theirs)[3] & termios.ECHO
    os.write(ours, b"Hello")
    until(b"type> Ifmmp")
    os.write(ours, b"\x01\x01")
    until(b"Ifmmp\x02")
    os.write(ours, b"\x01x")
    assert child.wait(60) == 0 and termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)


def test_help_lists_every_option(vexriscv):
    """What it takes is what --help and docs/linux-soc.md tell."""
    usage = subprocess.run([vexriscv.program, "--help"], capture_output=True, text=True, check=True).stdout
    source = (ROOT / "litex_soc" / "sim" / "linux_main.cpp").read_text()
    options = set(re.findall(r'a\.is\("(--[a-z-]+)"\)', source)) - {"--help"}
    assert len(options) > 10 and options == set(re.findall(r"(?m)^  (--[a-z-]+)", usage))
    page = (ROOT / "docs" / "linux-soc.md").read_text()
    assert all(f"`{option}" in page for option in options)
