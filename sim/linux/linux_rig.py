# SPDX-License-Identifier: BSD-2-Clause
"""Boots Linux on the simulated SoC once, and runs what a test wants from there, again and again.

    guest = boot("vexriscv")                            a Guest: booted now, or long ago by the same sources
    result = guest.run("insmod litepulse.ko && ./program 3", {"litepulse.ko": path, "program": path},
                       stimulus=[(1000, "rx", 0), (2000, "rx", 1)])
    result.lines, result.pins, result.status            what was printed, what the pins did, how it ended

A run starts from the state of the whole machine right after the boot, so runs neither see each other nor cost a boot. It fails when
the kernel complains (lockdep, BUG, WARNING, ...) or when the status is another than was expected. What the simulator made of a run is kept
(runs.py), and judged each time. How to write a test: docs/develop/linux.md.
"""

import os
import re
import shlex
import shutil
import tempfile
from pathlib import Path

from litex_soc import linux_sim
from litex_soc.build_cache import content_key
from litex_soc.device_tree import blob
from sim.cocotb_rig import ROOT, SIM
from sim.guest.builds import LINUX, BuildError
from sim.guest.console import Change, GuestError, Line, Result
from sim.linux import initramfs, kernel, libc
from sim.linux.runs import simulate
from sim.linux.targets import TARGETS
from sim.long_runs import LONG

CPUS = tuple(TARGETS)
# The other byte order takes a kernel, a boot and all runs once more: minutes.
TESTED_CPUS = CPUS if LONG else CPUS[:1]
DRIVER = ROOT / "driver"
UAPI = DRIVER / "uapi"
GUEST = SIM / "guest" / "programs"  # C programs of the tests
INCLUDES = (SIM / "guest" / "lib", UAPI)  # what they include
# What takes long at boot and is not used: a self-test, files in /sys.
SKIPPED = ("blake2s_mod_init", "clockevents_init_sysfs", "init_clocksource_sysfs", "param_sysfs_builtin_init", "slab_sysfs_init")
# The trace's (lockdep brings it along): names of enums in the formats of events, minutes of a
# simulation; and its files.
TRACING, TRACEFS = ("trace_eval_init", "trace_eval_sync"), ("tracer_init_tracefs",)
READY, EXIT = "litepulse: ready", "litepulse: exit "
BOOT_CYCLES = 1_500_000_000  # more than any boot takes
RUN_CYCLES = 200_000_000  # more than any test takes: four seconds of the guest
# The kernel with lockdep takes 500 million cycles to boot, ten times what the lean one does: only
# on request.
DEBUG = bool(os.environ.get("LITEPULSE_DEBUG_KERNEL"))
FLAVOUR = "test" if DEBUG else "bench"
PARTS = re.compile(rf"(?=\[ *\d+\.\d{{6}}\] )|(?={EXIT}\d+$)|(?={READY}$)")


def boot_arguments(flavour):
    """Words for the kernel."""
    skipped = (*SKIPPED, *TRACING, *(() if flavour == "trace" else TRACEFS))
    return f"console=liteuart ignore_loglevel panic=-1 suspend.pm_test_delay=0 initcall_blacklist={','.join(skipped)}"


def read_console(text):
    """The `Line`s of what the simulator printed with --mark; output after a program's last line is
    a line of its own."""
    found = []
    for line in text.splitlines():
        mark = re.match(r"\[ *(\d+)\] ?(.*)", line)
        for part in PARTS.split(mark[2].rstrip("\r")) if mark else ():
            if part:
                found.append(Line(int(mark[1]), part))
    return found


def read_pins(text):
    """The `Change`s of a record of --pins."""
    words = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return [Change(int(tick), pin, int(level)) for tick, pin, level in words]


def stimulus_text(stimulus):
    """Lines for --stimulus: a text or texts as they are, (tick, pin, level) with `tick` as a number of ticks from the start of the run."""
    if isinstance(stimulus, str):
        stimulus = [line.strip() for line in stimulus.splitlines() if line.strip()]
    return "".join(f"{entry if isinstance(entry, str) else '+{} {} {}'.format(*entry)}\n" for entry in stimulus)


class Guest:
    """A machine in a state from which runs start."""

    def __init__(self, machine, flavour, folder, key):
        self.machine, self.flavour, self.folder, self.key = machine, flavour, folder, key
        self.cpu = cpu = machine.cpu
        self.kernel = kernel.build(cpu, flavour)
        self.libc = libc.build(cpu)

    @property
    def device_name(self):
        """What the kernel calls the core's platform device."""
        return f"{self.machine.description['csr_bases']['pulse']:x}.serial"

    @property
    def snapshot(self):
        """The state."""
        return self.folder / "state"

    @property
    def console(self):
        """Lines of the boot, or of what was run before."""
        return read_console((self.folder / "console").read_text())

    def module(self, source, *, variables=(), names=None):
        """{name: path} of the .ko files of the module source in a folder, built unless the same was built before."""
        files = [path for path in kernel.module_files(source) if names is None or path.name in names]
        key = content_key(self.kernel.key, [str(path.relative_to(source)) for path in files], files, variables)

        def make(folder):
            kernel.build_module(self.kernel, source, folder / "work", variables=variables, names=names)

        name = Path(source).resolve().name
        folder = LINUX.folder(f"module-{self.cpu}-{self.flavour}-{name}", key, make, f"the module {name} for {self.cpu}")
        return {path.stem: path for path in sorted((folder / "work" / "stripped").glob("*.ko"))}

    def program(self, *sources, flags=(), includes=()):
        """Path of a static program of C sources, compiled unless the same was compiled before.

        includes: folders with headers, all of which count for "the same".
        """
        sources = [Path(source) for source in sources]
        headers = [path for folder in includes for path in sorted(Path(folder).rglob("*.h"))]
        key = content_key(self.libc.key, [path.name for path in sources], sources, headers, flags)
        name = sources[0].stem

        def make(folder):
            self.libc.compile(sources, folder / name, *flags, *(f"-I{folder}" for folder in includes))

        return LINUX.folder(f"program-{self.cpu}-{name}", key, make) / name

    def run_program(self, name, arguments=(), *, before="", files=None, **options):
        """Runs the test program sim/guest/programs/NAME.c; otherwise as run(). `before`: shell commands that come first."""
        program = self.program(GUEST / f"{name}.c", includes=INCLUDES)
        # Kept, as copying it into the guest takes longer than most tests: 3 to 7 million cycles.
        holder = self.after(f"cp {name} /tmp", {name: program})
        words = [f"/tmp/{name}", *map(str, arguments)]
        return holder.run(f"{before}\n{shlex.join(words)}" if before else words, files, **options)

    def arguments(self):
        """Of the simulator: go on from this state."""
        return [self.machine.program, "--restore", self.snapshot]

    def run(
        self,
        command,
        files=None,
        *,
        stimulus=(),
        wires=(),
        buses=(),
        status=0,
        complaints=False,
        max_cycles=RUN_CYCLES,
        until=READY,
        save=None,
    ):
        """Runs a shell command in the guest, or a program, [path, argument, ...]; returns a `Result`, or raises GuestError.

        files: {name in the guest: path here, or bytes}; the command runs in the folder that has them
        stimulus: (tick from now, pin, level), or lines as the simulator knows them, see docs/develop/linux.md
        wires: "tx:rx" and so on; buses: the same, and the stimulus may drive the input, too: it is low when either is
        status: the exit status that is expected, None for any
        complaints: True to return what the kernel complains about instead of failing; or texts that the kernel must say, whose lines
            then are no complaints
        until: what the console says at the end; "": the guest ends it, by a reset
        save: where to keep the state at the end
        """
        with tempfile.TemporaryDirectory(prefix="litepulse-run-") as name:
            work = Path(name)
            # A shell costs more than most programs: 1.2 million cycles.
            what = {"run": f"#!/bin/sh\n{command}\n"} if isinstance(command, str) else {"words": "".join(f"{word}\0" for word in command)}
            put(work / "files", {**(files or {}), **{name: text.encode() for name, text in what.items()}})
            moves = stimulus_text(stimulus)
            (work / "stimulus").write_text(moves)
            options = [
                "--send",
                "run\n",
                *(("--until", until) if until else ()),
                "--max-cycles",
                max_cycles,
                *(word for wire in wires for word in ("--wire", wire)),
                *(word for bus in buses for word in ("--bus", bus)),
            ]
            given = [(str(path.relative_to(work)), path) for path in sorted(work.rglob("*")) if path.is_file()]
            arguments = [
                *self.arguments(),
                "--files",
                work / "files",
                *options,
                *(["--stimulus", work / "stimulus"] if moves else []),
                *(["--save", save] if save else []),
            ]
            label = f"{self.cpu}-{self.flavour}-{content_key(command, [name for name, _ in given], moves)[:8]}"
            made = simulate(arguments, work, None if save else [self.key, options, given], label)
            return judge(made, f"{self.cpu}: {command if isinstance(command, str) else shlex.join(command)}", status, complaints)

    def after(self, command, files=None, *, stimulus=(), wires=()):
        """The Guest in the state that the command leaves: say, with the driver loaded. Kept like a boot.

        Processes do not survive the command; modules, settings and the files in /tmp do.
        """

        def content(value):
            return value if isinstance(value, bytes) else Path(value)

        named = sorted((files or {}).items())
        names, contents = [name for name, _ in named], [content(value) for _, value in named]
        key = content_key(self.key, command, names, contents, stimulus_text(stimulus), wires)

        def make(folder):
            result = self.run(command, files, stimulus=stimulus, wires=wires, save=folder / "state", max_cycles=BOOT_CYCLES)
            (folder / "console").write_text("".join(f"[{line.at}] {line.text}\n" for line in result.console))

        label = f"state-{self.cpu}-{self.flavour}-{content_key(command, names)[:8]}"
        folder = LINUX.folder(label, key, make, f"the state after `{command}` on {self.cpu}")
        return Guest(self.machine, self.flavour, folder, key)


def put(folder, files):
    """Writes files, by path or by content, into a new folder; all executable."""
    folder.mkdir()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            shutil.copyfile(content, path)
        path.chmod(0o755)


def judge(made, what, status, complaints):
    """The `Result` of what the simulator made; GuestError if it is not as expected."""
    if made.refused:
        raise GuestError(f"{what}\nthe simulator refuses: {made.refused}")
    console = read_console(made.console)
    ended = [int(line.text.removeprefix(EXIT)) for line in console if re.fullmatch(rf"{EXIT}\d+", line.text)]
    result = Result(console, ended[-1] if ended else -1, read_pins(made.pins), made.stats)

    trouble = ""
    if made.unfinished:
        trouble = f"not done after {result.stats['end_cycle'] - result.stats['start_cycle']} cycles: {made.unfinished}"
    return result.judge(what, status, complaints, trouble)


def boot(cpu, flavour=FLAVOUR, bootargs="", nodes="", samples=1, cores=1, system=None, cycles=None):
    """The `Guest` right after the boot: /init waits for its first command.

    bootargs: further words for the kernel
    nodes: further nodes of the device tree's root, as dts text; their devices come before all others, so drivers meet them first
    samples: ticks in a cycle of the core's clock
    cores: how many there are
    system: another Kernel than that of `flavour`
    cycles: how long it boots, if /init is not on this console
    """
    machine = linux_sim.machine(cpu, samples=samples, cores=cores)
    system = system or kernel.build(cpu, flavour)
    archive, _ = initramfs.build(cpu)
    words = f"{boot_arguments(flavour)} {bootargs}".strip()
    start = (machine.layout.device_tree - archive.stat().st_size) & ~0xFFFF
    chosen = f"linux,initrd-start = <{start:#x}>; linux,initrd-end = <{start + archive.stat().st_size:#x}>;"
    tree = f"{machine.device_tree(words)}\n/ {{ chosen {{ {chosen} }}; }};\n"
    if nodes:
        version = "/dts-v1/;\n"
        tree = tree.replace(version, f"{version}/ {{ {nodes} }};\n", 1)
    end = ["--max-cycles", cycles] if cycles else ["--until", READY, "--max-cycles", BOOT_CYCLES]
    key = content_key(machine.key, system.key, archive, tree, *([cycles] if cycles else []))

    def make(folder):
        (folder / "device_tree.dtb").write_bytes(blob(tree))
        arguments = [
            machine.program,
            *machine.boot_arguments(system.image, folder / "device_tree.dtb"),
            "--ram",
            f"{archive}@{start:#x}",
            *end,
            "--save",
            folder / "state",
        ]
        result = judge(simulate(arguments, folder), f"{cpu}: the boot, flavour {flavour}", None, False)
        (folder / "console").write_text("".join(f"[{line.at}] {line.text}\n" for line in result.console))

    folder = LINUX.folder(f"booted-{cpu}-{flavour}", key, make, f"the state after the boot of Linux on {cpu}, flavour {flavour}")
    return Guest(machine, flavour, folder, key)


def boot_with_driver(cpu, flavour=FLAVOUR, bootargs="", parameters="", samples=1, cores=1):
    """The `Guest` with the driver of this tree loaded."""
    guest = boot(cpu, flavour, bootargs, samples=samples, cores=cores)
    return guest.after(f"insmod litepulse.ko {parameters}".strip(), {"litepulse.ko": guest.module(DRIVER)["litepulse"]})


__all__ = ["CPUS", "TESTED_CPUS", "BuildError", "Change", "Guest", "GuestError", "Line", "Result", "boot", "boot_with_driver"]
