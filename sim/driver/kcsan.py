# SPDX-License-Identifier: BSD-2-Clause
"""A PC with two processors and two 16550, whose kernel looks for data races (KCSAN) and wrong orders of locks (lockdep).

    run, jobs = echo_boot("run /use all", parameters="sleeps=0")      the driver and a board without hardware, as of echo_rig
    run, jobs = cable_boot(["use"], board)                            the driver and a simulated board at a 16550, as of cable_rig
    assert run.status == [0] * jobs and not run.complaints, run.log

User-mode Linux has neither KCSAN nor a second processor. A race counts if one of its two accesses is made by the driver or the board: the
kernel has others of its own. QEMU computes every instruction, each processor in a thread. The kernel is Debian's source with kcsan.config.
"""

import contextlib
import functools
import re
import signal
import subprocess
import time

from litex_soc.build_cache import content_key
from scripts.debian_package import linux_source
from sim.cocotb_rig import dies_with_us, run_folder
from sim.driver import cable_rig, echo_rig, uml
from sim.guest.builds import compiler_version
from sim.guest.cpio import archive

CONFIG = uml.HERE / "kcsan.config"
ARCHITECTURE = "x86_64"
QEMU = "qemu-system-x86_64"
MACHINE = "-machine q35 -accel tcg,thread=multi -smp 2 -m 512 -nodefaults -no-user-config -display none -no-reboot".split()
BOOTARGS = "console=ttyS0 ignore_loglevel printk.devkmsg=on panic=-1 tsc=unstable reboot=t -- restart"
OURS = re.compile(r"^BUG: KCSAN: .*\[(litepulse|echo_board|control)\]")
RULE = "=" * 66  # before and after a report


def build_kernel(folder, source):
    """Builds the kernel in the empty `folder`."""
    uml.build_kernel(folder, source, CONFIG, architecture=ARCHITECTURE, patches=[], image="bzImage")


@functools.lru_cache(maxsize=None)
def kernel():
    """The uml.Kernel, built the first time. Raises BuildError or PackageError."""
    source, version = linux_source()
    key = content_key(uml.FORMAT, version, CONFIG, compiler_version(), str(uml.UML.path))
    what = f"Linux {version} with KCSAN (once, 5 minutes)"
    return uml.Kernel(uml.UML.folder("kcsan", key, lambda folder: build_kernel(folder, source), what))


def echo_board():
    """As echo_rig.echo_board(), for this kernel."""
    return echo_rig.echo_board(built=kernel(), architecture=ARCHITECTURE)


def modules(*mistakes):
    """As cable_rig.modules(), for this kernel."""
    return cable_rig.modules(*mistakes, built=kernel(), architecture=ARCHITECTURE)


def without_races_of_others(console):
    """What the kernel wrote, without times, and without reports of races that are not the driver's."""
    first, *parts = uml.without_times(console).split(f"{RULE}\n")
    # Between two rules is a report; what comes between two reports is not.
    kept = [part for part in parts if not part.startswith("BUG: KCSAN: ") or OURS.match(part)]
    return "".join([first, *kept])


def boot(jobs, files, *, line=None, timeout=600):
    """Boots, does `jobs` (see uml_init.c) with `files` ({name in the guest's /: path here}), and powers off: a uml.Boot.

    `line`: a socket at which the guest's /dev/ttyS1 ends.
    """
    folder = run_folder("kcsan")
    image, console = folder / "initramfs.cpio", folder / "console.log"
    image.write_bytes(
        archive(
            [
                *((name, 0o040755) for name in ("dev", "proc", "sys", "tmp")),
                ("dev/console", 0o020600, b"", (5, 1)),
                ("init", 0o100755, uml.init().read_bytes()),
                ("job", 0o100644, "".join(f"{line}\n" for line in jobs).encode()),
                *((name, 0o100755, path.read_bytes()) for name, path in files.items()),
            ]
        )
    )
    words = [QEMU, *MACHINE, "-kernel", kernel().path / "build/arch/x86/boot/bzImage", "-initrd", image, "-append", BOOTARGS]
    ends = [] if line is None else [line.fileno()]
    start = time.monotonic()
    # What was not done in time is missing in the log.
    with open(folder / "errors.log", "wb") as errors, contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [
                *map(str, words),
                *("-serial", f"file:{console}"),
                *(word for end in ends for word in ("-chardev", f"socket,id=line,fd={end}", "-serial", "chardev:line")),
            ],
            pass_fds=ends,
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            timeout=timeout,
            check=False,
            preexec_fn=dies_with_us(signal.SIGKILL),
        )
    image.unlink()
    text, status, complaints = uml.read_log(without_races_of_others(console.read_text(errors="replace")))
    return uml.Boot(text, status, complaints, time.monotonic() - start)


def echo_boot(*jobs, parameters="", files=None, **options):
    """Loads the driver and a board, does the jobs, unloads both: a uml.Boot. Also how many jobs there were."""
    done = echo_rig.with_board(jobs, parameters)
    return boot(done, {**echo_board(), **(files or {})}, **options), len(done)


def cable_boot(uses, board, made=None):
    """Does what cable_rig.cable_jobs() says with a cable_rig.Board: a uml.Boot. Also how many jobs there were."""
    jobs = cable_rig.cable_jobs(uses, port="/dev/ttyS1")
    return boot(jobs, cable_rig.cable_files(made or modules(), ["cable"]), line=board.line), len(jobs)


if __name__ == "__main__":
    print(kernel().path)
