# SPDX-License-Identifier: BSD-2-Clause
"""User-mode Linux as debug kernel: KASAN, lockdep, kmemleak and their like over the driver's code, in a second or two.

    from sim.driver.uml import build_module, boot
    module = build_module(folder, "LITEPULSE_KUNIT=y")          # folder: a copy of driver/, say
    run = boot(["insmod litepulse_kunit.ko", "rmmod litepulse_kunit", "leaks"], {"litepulse_kunit.ko": module})
    assert run.status == [0, 0, 0] and not run.complaints, run.log
    python -m sim.driver.uml                                 # builds the kernel and prints its folder

The kernel is Debian's source with sim/driver/uml.config, built once (5 to 10 minutes on two cores) and kept below the cache folder.
A guest's clock is simulated: it jumps over every wait, so a minute's sleep costs nothing. With equal seeds, times of start, command lines
and addresses (repeatable()) each run goes the same way, to the last line of its log; so what came of it is remembered, unless a board lives
at its line. LITEPULSE_FRESH=1 boots again; LITEPULSE_SEED gives other random numbers to the guest.
"""

import contextlib
import ctypes
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from litex_soc.build_cache import COMPLETE, Store, content_key
from scripts.debian_package import linux_source
from sim.cocotb_rig import choose_seed, dies_with_us, run_folder
from sim.guest.builds import BuildError, compiler_version, run, shortcomings
from sim.guest.complaints import COMPLAINT

HERE = Path(__file__).resolve().parent
CONFIG = HERE / "uml.config"
INIT = HERE / "uml_init.c"
RANDOM = HERE / "uml_random.c"
FORMAT = 1  # of what is built
ARCHITECTURE = "um"  # as the kernel's makefiles call it
UML = Store("uml")
BOOTS = Store("boots")
MODULES_KEY = ".key"  # in a folder with modules: the key of what they were built from
ADDR_NO_RANDOMIZE = 0x0040000  # of personality(2)
START = 1_700_000_000  # seconds since 1970, where a guest's clock begins
MEMORY_MB = 256

# (file, what is there, what must be)
PATCHES = [
    # The host's processor state with AMX is 11 KB; the kernel would run no program on such a host.
    ("arch/x86/um/user-offsets.c", "DEFINE_LONGS(HOST_FP_SIZE, 2696)", "DEFINE_LONGS(HOST_FP_SIZE, 12288)"),
    # A guest with a board on its line lives by the host's clock: it would spend most of a test waiting for these.
    ("mm/kmemleak.c", "#define MSECS_MIN_AGE\t\t5000", "#define MSECS_MIN_AGE\t\t500"),
    ("lib/kobject.c", "delay = HZ + HZ * get_random_u32_below(4)", "delay = HZ / 10 + HZ / 10 * get_random_u32_below(4)"),
]


@dataclass(frozen=True)
class Kernel:
    """A built User-mode Linux."""

    path: Path

    @property
    def program(self):
        """The kernel itself, an ordinary program."""
        return self.path / "build" / "linux"


@dataclass
class Boot:
    """What came of one boot."""

    log: str  # the kernel's log, from the first line of the jobs on
    status: list  # of each job: 0 or errno of insmod and rmmod, exit status of a program
    complaints: list  # lines of the log that report a fault, also of the kernel's start
    seconds: float  # of the host

    def lines(self, job):
        """The log while job number `job` ran."""
        parts = re.split(r"(?m)^rig: status -?\d+ of .*\n", self.log)
        return parts[job]

    def only_memory_was_missing(self):
        """Is every complaint the trace of an allocation that failed as cable/fail.c wanted it?

        Or the kernel's own tracepoints', for which 6.12 warns where memory for a module's is missing.
        """
        missing = re.findall(r"(?m)^fail: (?:vmalloc error|page allocation failure)", self.log)
        warned = [line for line in self.complaints if re.match(r"WARNING: .* at kernel/trace/trace_events\.c:", line)]
        return [line for line in self.complaints if line not in warned] == ["Call Trace:"] * (len(missing) + len(warned))


def make(log, *arguments, architecture=ARCHITECTURE):
    """Runs make for a kernel, its output to the end of `log`. Raises BuildError."""
    run(["make", *arguments], log, {"ARCH": architecture}, preexec_fn=dies_with_us(signal.SIGTERM))


def build_kernel(folder, source, config, *, architecture=ARCHITECTURE, patches=PATCHES, image="linux"):
    """Builds in the empty `folder` from `source`: source/ is a patched copy made of links, build/ what make leaves that modules need."""
    tree, build, log = folder / "source", folder / "build", folder / "build.log"
    subprocess.run(["cp", "--archive", "--link", source, tree], check=True)
    for name, old, new in patches:
        text = (tree / name).read_text()
        if text.count(old) != 1:
            raise BuildError(f"{name} is not as expected: {old} is not there once")
        (tree / name).unlink()  # a link to what others use, too
        (tree / name).write_text(text.replace(old, new))
    build.mkdir()
    make(log, "-C", tree, f"O={build}", "tinyconfig", architecture=architecture)
    run([tree / "scripts/kconfig/merge_config.sh", "-m", "-O", build, build / ".config", config], log, {"ARCH": architecture}, cwd=tree)
    make(log, "-C", tree, f"O={build}", "olddefconfig", architecture=architecture)
    if faults := shortcomings(Path(config).read_text(), (build / ".config").read_text()):
        raise BuildError(f"Kconfig does not follow {Path(config).name}: {', '.join(faults)}")
    make(log, "-C", tree, f"O={build}", f"-j{os.cpu_count()}", image, "modules", architecture=architecture)
    for path in list(build.rglob("*")):
        keep = path.relative_to(build).parts[0] in ("scripts", "include") or path.suffix == ".lds"
        if path.is_file() and not keep and (path.suffix in (".o", ".a", ".cmd") or path.name.startswith("vmlinux")):
            path.unlink()


@functools.lru_cache(maxsize=None)
def kernel():
    """The `Kernel`, built the first time. Raises BuildError or PackageError."""
    source, version = linux_source()
    key = content_key(FORMAT, version, CONFIG, PATCHES, compiler_version(), str(UML.path))  # the build folder knows its own name
    what = f"User-mode Linux {version} (once, 5 to 10 minutes)"
    return Kernel(UML.folder("linux", key, lambda folder: build_kernel(folder, source, CONFIG), what))


def modules_key(folder, built, arguments):
    """Key of what modules are built from, "" if that is not known: not their bytes, in which the folder's name is."""
    words = []
    for argument in arguments:
        name, _, value = str(argument).rpartition("=")
        place = Path(value) if Path(value).is_dir() else Path(value).parent
        if value.startswith("/"):
            if not (place / MODULES_KEY).is_file():
                return ""
            value = Path(value).name if place != Path(value) else ""
            words.append((place / MODULES_KEY).read_text())
        elif "/" in value:
            return ""
        words += [name, value]
    kinds = (".c", ".h", ".S")
    sources = [path for path in sorted(folder.rglob("*")) if path.suffix in kinds or path.name in ("Kbuild", "Makefile")]
    sources = [path for path in sources if not path.name.endswith(".mod.c")]
    documented = [re.findall(rb"(?s)/\*\*.*?\*/", path.read_bytes()) for path in sources]  # W=1 checks these comments
    names = [str(path.relative_to(folder)) for path in sources]
    return content_key(FORMAT, str(built.path), compiler_version(), words, names, sources, documented)


def build_modules(folder, *arguments, built=None, architecture=ARCHITECTURE):
    """Builds the modules in `folder`, which has a Kbuild: {name: path of the .ko}. Raises BuildError, also on a warning.

    What was built from the same sources is copied there.

    `built`: the `Kernel` that they are for, if it is not User-mode Linux, and its architecture.
    """
    built, folder = built or kernel(), Path(folder).resolve()
    log = folder / "build.log"
    log.unlink(missing_ok=True)
    key = modules_key(folder, built, (*arguments, architecture))
    if key and (known := UML.find(f"modules-{folder.name}", key)):
        for path in known.iterdir():
            if path.name != COMPLETE:
                shutil.copy(path, folder)
        return {path.stem: path for path in folder.glob("*.ko")}
    make(log, "-C", built.path / "build", f"M={folder}", "W=1", *arguments, "modules", architecture=architecture)
    if warnings := [line for line in log.read_text().splitlines() if re.search(r"\bwarning: ", line, re.IGNORECASE)]:
        raise BuildError("\n".join(warnings))
    if key:
        (folder / MODULES_KEY).write_text(key)

        def keep(kept):
            for path in (*folder.glob("*.ko"), folder / "Module.symvers", folder / MODULES_KEY):
                shutil.copy(path, kept)

        UML.folder(f"modules-{folder.name}", key, keep)
    return {path.stem: path for path in folder.glob("*.ko")}


def build_module(folder, *arguments, **options):
    """The same for a folder with one module: its path."""
    (module,) = build_modules(folder, *arguments, **options).values()
    return module


def control_module(**kernel):
    """Path of control.ko: mistakes on purpose, see control/control.c. `kernel`: see build_modules()."""
    folder = run_folder("control")
    for path in (HERE / "control").iterdir():
        shutil.copy(path, folder)
    return build_module(folder, **kernel)


@functools.lru_cache(maxsize=None)
def init():
    """Path of the guest's first program."""

    def make(folder):
        result = subprocess.run(["gcc", "-static", "-O2", "-o", folder / "init", INIT], capture_output=True, text=True, check=False)
        if result.returncode:
            raise BuildError(f"{INIT.name} does not compile: {result.stderr}")

    return UML.folder("init", content_key(FORMAT, INIT, compiler_version()), make) / "init"


@functools.lru_cache(maxsize=None)
def repeatable():
    """What makes a guest repeatable: (library in front of the kernel's C library, function for its process); () if this host forbids it."""
    personality = ctypes.CDLL(None).personality
    if subprocess.run(["true"], check=False, preexec_fn=lambda: os._exit(personality(ADDR_NO_RANDOMIZE) == -1)).returncode:
        return ()

    def make(folder):
        command = ["gcc", "-shared", "-fPIC", "-O2", "-o", folder / "random.so", RANDOM]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise BuildError(f"{RANDOM.name} does not compile: {result.stderr}")

    return UML.folder("random", content_key(FORMAT, RANDOM, compiler_version()), make) / "random.so", lambda: personality(ADDR_NO_RANDOMIZE)


def file_key(path):
    """The part of a guest's file that goes into the key of a boot."""
    path = Path(path)
    known = path.parent / MODULES_KEY
    return [path.name, known.read_text()] if path.suffix == ".ko" and known.is_file() else path.read_bytes()


def without_times(console):
    """What the kernel wrote on its console: times are useless here, and KTAP must start its
    lines."""
    return re.sub(r"(?m)^\[ *\d+\.\d+\] ", "", console.replace("\r", ""))


def read_log(console):
    """(log from the first job on, statuses, complaints) of what the kernel wrote on its console."""
    text = without_times(console)
    complaints = [line for line in text.splitlines() if COMPLAINT.search(line)]
    _, started, log = text.partition("rig: started\n")
    status = [int(number) for number in re.findall(r"(?m)^rig: status (-?\d+) of ", log)]
    if not started:
        complaints.append("the kernel did not start its first program")
    elif not re.search(r"(?m)^rig: done$", log):
        complaints.append("the kernel ended before its jobs did")
    return log if started else text, status, complaints


def boot(jobs, files, *, tree=None, arguments=(), lines=(), timeout=300, built=None, started=None):
    """Boots, does `jobs` (see uml_init.c) with `files` ({name in the guest's /: path here}), and powers off: a `Boot`.

    `tree`: folder with a system, which becomes the guest's / beneath `files`; it is not written to. `arguments` go to the kernel;
    `lines` : sockets at which the guest's /dev/ttyS0 and so on end; who is at their other ends lives by the host's clock, so the guest
    does, too, then. `timeout` is in seconds of the host. `built`: the `Kernel`, if it is not kernel(); `started`: called with the
    process of a guest with lines and the path of its console's log. Whether jobs succeeded
    and the log has complaints is for the caller to look at.
    """
    built = built or kernel()
    fixed = () if lines else repeatable()
    seed = choose_seed(*jobs, *arguments)
    named = sorted((name, file_key(path)) for name, path in files.items())
    inputs = (FORMAT, str(built.path), INIT, RANDOM, MEMORY_MB, START, COMPLAINT.pattern, jobs, named, arguments, seed)
    key = content_key(*inputs) if fixed and not tree and os.environ.get("LITEPULSE_SEED") != "random" else None
    label = content_key(jobs, sorted(files), arguments)[:16]
    if key and (known := BOOTS.recall(label, key)):
        return Boot(**known)
    folder = run_folder("uml")
    root = folder / "root"
    if tree:
        # not links, which the guest could write through
        subprocess.run(["cp", "--archive", "--no-preserve=ownership", "--reflink=auto", tree, root], check=True)
    for name in ("dev", "proc", "sys", "tmp"):
        (root / name).mkdir(parents=True, exist_ok=True)
    shutil.copy(init(), root / "init")
    for name, path in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).unlink(missing_ok=True)
        shutil.copy(path, root / name)
    (root / "job").write_text("".join(f"{line}\n" for line in jobs))
    log = folder / "console.log"
    start = time.monotonic()
    # The names of its sockets must be short.
    with tempfile.TemporaryDirectory(prefix="uml-") as state, open(log, "wb") as out:
        command = [
            built.program,
            f"mem={MEMORY_MB}M",
            "root=/dev/root",
            "rootfstype=hostfs",
            f"rootflags={'/proc/self/cwd/root' if fixed else root}",
            "rw",
            "init=/init",
            "con=null",
            "con0=null,fd:1",
            "console=tty0",
            "ignore_loglevel",
            "printk.devkmsg=on",
            "uml_dir=state/" if fixed else f"uml_dir={state}/",
            *(f"ssl{i}=fd:{line.fileno()},fd:{line.fileno()}" for i, line in enumerate(lines)),
            *([] if lines else ["time-travel=inf-cpu", f"time-travel-start={START}"]),
            "panic=-1",
            *arguments,
        ]
        dies = dies_with_us(signal.SIGKILL)
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "LD_PRELOAD": str(fixed[0]), "LITEPULSE_SEED": str(seed)} if fixed else None,
            pass_fds=[line.fileno() for line in lines],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=(lambda: (dies(), fixed[1]())) if fixed else dies,
        )
        if started:
            started(process, log)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    text, status, complaints = read_log(log.read_text(errors="replace"))
    shutil.rmtree(root)
    print(f"uml: {time.monotonic() - start:.1f} s, log {log}")
    made = Boot(text, status, complaints, time.monotonic() - start)
    if key and len(status) == len(jobs):
        BOOTS.remember(label, key, asdict(made))
    return made


def kunit_results(log):
    """{"suite.case": PASS, FAIL, SKIP or ERROR} of the KTAP in a log, read by the kernel's own tool. Raises ValueError if there is none."""
    tool = kernel().path / "source" / "tools" / "testing" / "kunit" / "kunit.py"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "log").write_text(log)
        out = Path(folder) / "json"
        subprocess.run([sys.executable, tool, "parse", f"--json={out}", Path(folder) / "log"], capture_output=True, text=True, check=False)
        try:
            report = json.loads(out.read_text())
        except (OSError, ValueError):
            raise ValueError("no results of KUnit in the log") from None
    found = {}

    def walk(group, names):
        for case in group.get("test_cases", []):
            found[".".join([*names, case["name"]])] = case["status"]
        for inner in group.get("sub_groups", []):
            walk(inner, [*names, inner["name"]])

    walk(report, [])
    if not found:
        raise ValueError("no results of KUnit in the log")
    return found


if __name__ == "__main__":
    print(kernel().path)
