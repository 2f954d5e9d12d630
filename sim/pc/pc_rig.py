# SPDX-License-Identifier: BSD-2-Clause
"""A PC with a board on a USB cable: boots one of Debian's kernels once, and runs what a test wants from there, again and again.

    guest = boot("6.12")                                        a Guest: booted now, or long ago from the same files
    result = guest.run("ls /dev/ttyUSB0")                       one simulated board is plugged in, and its tty waited for
    result = guest.attached("./program 3", {"program": path})   the driver is loaded and attached to it
    result.lines, result.pins, result.status, result.kernel     as of sim/linux/linux_rig.py

A run goes on from the state of the whole machine after the boot, with a fresh board: runs neither see each other nor cost a boot. It
fails when the kernel complains, when the status is another than was expected, or at its deadline, with the console.
"""

import contextlib
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from litex_soc.build_cache import content_key
from scripts.debian_package import linux_source
from sim.cocotb_rig import ROOT, SIM
from sim.guest.builds import LINUX, BuildError, compiler_version
from sim.guest.console import GuestError, Line, Result
from sim.guest.cpio import archive as newc
from sim.pc import initramfs, kernels
from sim.pc.board import Board
from sim.pc.debian import programs
from sim.pc.machine import BOOTARGS, HARDWARE, MEMORY_MB, QEMU, Machine

HERE = Path(__file__).resolve().parent
GUEST = HERE / "guest"  # C programs of these tests
SHARED = SIM / "guest" / "programs"  # those that the simulated SoC runs, too
LIB = SIM / "guest" / "lib"  # what all of them include
UAPI = ROOT / "driver" / "uapi"
LINES = kernels.LINES
READY, EXIT, SILENT = "litepulse: ready", "litepulse: exit ", "litepulse: the kernel has nothing more to say"
BOOT_SECONDS, RUN_SECONDS = 120, 60
WAITS = "litepulse: waits until "
FORMAT = 1  # of a kept state
# Before each command. `await FILE` waits until a file, a device say, is there, `gone FILE` until it is not, however long that takes on
# a busy machine: the run has a limit of its own. After `patience` times 10 ms it is noted what is waited for, in case that never ends.
PRELUDE = f"""#!/bin/sh
patience=1000
await() {{
    tries=0
    until [ -e "$1" ]; do
        tries=$((tries + 1))
        [ $tries -ne $patience ] || echo "{WAITS}$1 comes"
        usleep 10000
    done
}}
gone() {{
    tries=0
    while [ -e "$1" ]; do
        tries=$((tries + 1))
        [ $tries -ne $patience ] || echo "{WAITS}$1 goes"
        usleep 10000
    done
}}
"""


@dataclass(frozen=True)
class Run(Result):
    """What a run did; pins, stats and hz are those of the first board."""

    boards: tuple = ()  # all, ended


class Guest:
    """A PC in a state from which runs start."""

    def __init__(self, kernel, archive, folder):
        self.kernel, self.archive, self.folder = kernel, archive, folder

    @property
    def console(self):
        """Lines of the boot."""
        return [Line(int(at), text) for at, _, text in (line.partition(" ") for line in (self.folder / "console").read_text().splitlines())]

    def driver(self):
        """{file name: path} of the driver's modules for this kernel."""
        return {f"{name}.ko": path for name, path in kernels.driver(self.kernel.line).items()}

    def program(self, *sources, flags=(), includes=()):
        """Path of a static program of C sources, compiled unless the same was; `includes`: folders of headers."""
        sources = [Path(source) for source in sources]
        headers = [path for folder in includes for path in sorted(Path(folder).rglob("*.h"))]
        key = content_key(compiler_version(), [path.name for path in sources], sources, headers, flags)
        name = sources[0].stem

        def make(folder):
            command = ["gcc", "-static", "-O2", "-Wall", *flags, *(f"-I{path}" for path in includes), "-o", folder / name, *sources, "-lrt"]
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
            if done.returncode:
                raise BuildError(f"{name} does not compile:\n{done.stderr}")

        return LINUX.folder(f"pc-program-{name}", key, make) / name

    def guest_program(self, name):
        """The path of the test program guest/NAME.c, here or in sim/guest/programs."""
        folder = GUEST if (GUEST / f"{name}.c").exists() else SHARED
        source = folder / f"{name}.c"
        newest = [ptp_header()] if "ptp_clock" in source.read_text() else []
        return self.program(source, flags=("-D_GNU_SOURCE",), includes=(LIB, UAPI, *newest))

    @contextlib.contextmanager
    def machine(self):
        """The PC itself, running, nothing plugged in: a Machine."""
        with Machine(self.kernel, self.archive, self.folder / "state") as machine:
            yield machine

    def run(self, command, files=None, *, boards=None, wires=(), when=None, status=0, complaints=False, seconds=RUN_SECONDS):
        """Runs a shell command in the guest; returns a `Run`, or raises GuestError.

        files: {name in the guest: path here, or bytes}; the command runs in the folder that has them
        boards: [{arguments of Board}, ...], all of them plugged in from the start; one by default, with `wires`
        when: {text: function}: called with the Machine when a program or the kernel has printed a line with the text, once
        status, complaints: see Result.judge
        seconds: after which it is stopped and fails
        """
        options = [{"wires": wires}] if boards is None else boards
        with contextlib.ExitStack() as stack:
            simulated = tuple(stack.enter_context(Board(**each)) for each in options)
            machine = stack.enter_context(self.machine())
            trouble = ""
            try:
                run_in(machine, command, files or {}, simulated, dict(when or {}), seconds)
            except GuestError as error:
                waits = [line.text.removeprefix("litepulse: ") for line in machine.lines if line.text.startswith(WAITS)]
                trouble = "; it ".join([str(error), *waits[-1:]])
            for board in simulated:
                board.end()
                if board.process.returncode:
                    trouble = trouble or f"a board's simulator ended with status {board.process.returncode}: {board.printed}"
            ended = [int(line.text.removeprefix(EXIT)) for line in machine.lines if line.text.startswith(EXIT)]
            console = [line for line in machine.lines if SILENT not in line.text and not line.text.startswith(WAITS)]
            first = (simulated[0].pins, simulated[0].stats, simulated[0].hz) if simulated else ([], {}, 0)
            result = Run(console, ended[-1] if ended else -1, *first, simulated)
        return result.judge(f"Linux {self.kernel.release}: {command}", status, complaints, trouble)

    def attaching(self, ports=1):
        """(command, files): loads the driver and attaches it to the first `ports` ports."""
        lines = ["insmod litepulse.ko && insmod litepulse_uartbone.ko || exit 97"]
        for number in range(ports):
            lines += [
                f"(./attach /dev/ttyUSB{number} >attach{number}.log &)",
                *(f"await /dev/{name}{number}" for name in ("litepulse", "ttyPULSE", "ptp")),
            ]
        return "\n".join(lines), {**self.driver(), "attach": self.guest_program("attach")}

    def with_can(self, *more):
        """(command, files): loads SocketCAN; ip and candump, cansend, cangen are at hand, and `more` of can-utils."""
        modules = kernels.can_modules(self.kernel)
        loads = " && ".join(f"insmod {path.name}" for path in modules)
        return f"{loads} || exit 90", {path.name: path for path in modules} | programs(
            "can-programs", "candump", "cansend", "cangen", "ip", *more
        )

    def attached(self, command, files=None, **options):
        """As run(), with the driver loaded and attached to all boards; /dev/litepulse0 and its like are there."""
        before, more = self.attaching(len(options.get("boards") or [None]))
        return self.run(f"{before}\n{command}", {**more, **(files or {})}, **options)

    def run_program(self, name, arguments=(), **options):
        """Runs the test program guest/NAME.c, the driver attached."""
        words = shlex.join([f"./{name}", *map(str, arguments)])
        return self.attached(words, {name: self.guest_program(name), **options.pop("files", {})}, **options)


def ptp_header():
    """Folder with the newest kernel's linux/ptp_clock.h: this machine's may be older."""
    header = linux_source()[0] / "include/uapi/linux/ptp_clock.h"

    def make(folder):
        (folder / "linux").mkdir()
        shutil.copy(header, folder / "linux")

    return LINUX.folder("pc-ptp-header", content_key(header), make)


def package(command, files):
    """What the guest's /init takes: size and archive of files, of which it executes `run`."""
    contents = {name: data if isinstance(data, bytes) else Path(data).read_bytes() for name, data in files.items()}
    folders = sorted({str(parent) for name in contents for parent in Path(name).parents if str(parent) != "."})
    body = newc(
        [
            *((folder, 0o040755) for folder in folders),
            *((name, 0o100755, data) for name, data in contents.items()),
            ("run", 0o100755, command.encode()),
        ]
    )
    return f"{len(body)}\n".encode() + body


def run_in(machine, command, files, boards, when, seconds):
    """Plugs in the boards, runs a command, waits for its end. Raises GuestError."""
    pending = []

    def look(text):
        for wanted in [wanted for wanted in when if wanted in text]:
            pending.append(when.pop(wanted))

    machine.listeners.append(look)
    for number, board in enumerate(boards):
        machine.plug(number, board)
    ttys = "".join(f"await /dev/ttyUSB{number}\n" for number in range(len(boards)))
    machine.channel.send(package(f"{PRELUDE}{ttys}{command}\n", files))
    deadline = machine.now() + seconds * 1000

    def ended():
        return any(line.text.startswith(EXIT) for line in machine.lines) and any(SILENT in line.text for line in machine.lines)

    while not ended():
        machine.pump(lambda: pending or ended(), max(0, deadline - machine.now()) / 1000, "not done")
        while pending:
            pending.pop(0)(machine)
    if when:
        raise GuestError(f"never printed: {', '.join(when)}")


def boot(line, bootargs=""):
    """The `Guest` with a kernel of LINES right after its boot; `bootargs`: more of them."""
    system = kernels.kernel(line)
    archive, key = initramfs.build(system)
    version = subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    key = content_key(FORMAT, key, version, HARDWARE, BOOTARGS, MEMORY_MB, *([bootargs] if bootargs else []))

    def make(folder):
        with Machine(system, archive, bootargs=bootargs) as machine:
            try:
                machine.pump(lambda: any(line.text == READY for line in machine.lines), BOOT_SECONDS, "does not boot")
                machine.rest(0.2)
                machine.save(folder / "state")
            except GuestError as error:
                raise GuestError(f"Linux {system.release}: {error}\n" + "\n".join(line.text for line in machine.lines)) from None
            Result(machine.lines, 0, [], {}).judge(f"Linux {system.release}: the boot", 0, False)
            (folder / "console").write_text("".join(f"{line.at} {line.text}\n" for line in machine.lines))

    folder = LINUX.folder(f"pc-booted-{line}", key, make, f"the state of the PC after the boot of Linux {system.release}")
    return Guest(system, archive, folder)


__all__ = ["LINES", "Board", "Guest", "GuestError", "Run", "boot"]
