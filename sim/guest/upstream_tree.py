# SPDX-License-Identifier: BSD-2-Clause
"""Kernel trees to which the patch series is applied.

with applied("6.12") as tree:               # a copy of Debian's source with the whole series
    status, output = tree.build(PLACE)      # its folder of the driver, W=1 and sparse
"""

import contextlib
import functools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

# For the checker, whose root is sim/, `driver` is sim/driver.
from driver.upstream import DRIVER, PLACE, mails  # pyright: ignore[reportMissingImports]
from driver.upstream.__main__ import KERNELS  # pyright: ignore[reportMissingImports]
from driver.upstream.series import SYMBOL, AllSeries, Person  # pyright: ignore[reportMissingImports]
from driver.upstream.sources import Kernel  # pyright: ignore[reportMissingImports]
from scripts.debian_package import linux_source
from sim.cocotb_rig import SIM, BuildError, run_folder
from sim.guest.builds import environment
from sim.series import or_not_tested

ARCHITECTURE = "um"  # User-mode Linux, as the kernel's makefiles call it
CONFIG = SIM / "guest" / "upstream.config"
OPTIONAL = "# What the parts of the driver that can be left out build on.\n"  # where its second part begins
PERSON = Person("Ada Tester", "tester@example.org")
DATE = "2026-11-01T12:00:00+00:00"
# Sparse 0.6.4 needs this to read the headers of 7.2, which use a keyword of newer compilers.
SPARSE = "CF=-D__CHECK_ENDIAN__ -D__typeof_unqual__=__typeof__"


@or_not_tested
def kernel(name):
    """The `Kernel` of Debian's source. A test without it is skipped, or fails, as sim/series.py has it."""
    return Kernel.of(linux_source(KERNELS[name])[0])


@functools.cache
def series(name):
    """All series for a kernel, of the driver as it is."""
    return AllSeries(kernel(name), PERSON, DRIVER)


@functools.cache
def mails_of(name):
    """{folder of a series: paths of its mails, the cover letter first}."""
    return mails.write(series(name), DATE, run_folder("mails", name))


def patches(name):
    """Paths of the patches of all series, in order."""
    return [path for paths in mails_of(name).values() for path in paths[1:]]


@dataclass
class Tree:
    """A copy of a kernel's source, made of links: what the series does not change is the original."""

    path: Path
    kernel: Kernel

    def make(self, *arguments):
        """(status, output) of make for User-mode Linux, in this tree."""
        done = subprocess.run(
            ["make", f"-j{min(os.cpu_count() or 1, 2)}", *arguments],
            cwd=self.path,
            env={**environment(), "ARCH": ARCHITECTURE},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def must(self, *arguments):
        """The same, which has to succeed: its output. Raises BuildError."""
        status, output = self.make(*arguments)
        if status:
            raise BuildError(f"make {' '.join(arguments)} in Linux {self.kernel.name}: {output[-2000:]}")
        return output

    def apply(self, patch, *options):
        """Applies a mail. Raises BuildError."""
        env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(self.path.parent)}
        done = subprocess.run(
            ["git", "apply", "-p1", *options, Path(patch).resolve()], cwd=self.path, env=env, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise BuildError(f"{patch.name} does not apply: {done.stderr}")

    def configure(self, options, value="m", whole=True):
        """Writes .config: upstream.config (not `whole`: its first part) and the driver's options, by their names in Kbuild."""
        if not (self.path / ".config").exists():
            self.must("tinyconfig")
            text = CONFIG.read_text()
            (self.path / "wanted.config").write_text(text if whole else text.split(OPTIONAL)[0])
            merge = ["scripts/kconfig/merge_config.sh", "-m", ".config", "wanted.config"]
            subprocess.run(merge, cwd=self.path, env={**environment(), "ARCH": ARCHITECTURE}, check=True, stdout=subprocess.DEVNULL)
        text = re.sub(rf"(?m)^(# )?CONFIG_{SYMBOL}\b.*\n", "", (self.path / ".config").read_text())
        text = re.sub(rf"(?m)^(# )?CONFIG_{SYMBOL}_.*\n", "", text)
        names = [f"CONFIG_{SYMBOL}{'_' * bool(name)}{name}" for name in options]
        kconfig = self.path / PLACE / "Kconfig"
        switches = re.findall(r"(?m)^config (\w+)\n\tbool", kconfig.read_text()) if names else []
        wanted = [f"{name}={'y' if name.removeprefix('CONFIG_') in switches else value}" for name in names]
        (self.path / ".config").unlink()
        (self.path / ".config").write_text(text + "".join(f"{line}\n" for line in wanted))
        self.must("olddefconfig")
        have = (self.path / ".config").read_text().splitlines()
        if missing := [line for line in wanted if line not in have]:
            raise BuildError(f"Kconfig does not follow {missing[0]}")

    def build(self, *targets):
        """(faults, output) of compiler and sparse for targets; a fault is a line that reports one."""
        status, output = self.make("W=1", "C=1", SPARSE, *targets)
        faults = [line for line in output.splitlines() if re.search(r"\b(warning|error)\b|sparse is not available|\*\*\*", line, re.I)]
        faults = [line for line in faults if not self.sparse_is_too_old(line) and not self.lock_is_tried(line)]
        if status and not faults:
            faults = [f"make ended with status {status}"]
        return faults, output

    def sparse_is_too_old(self, line):
        """Is this sparse's complaint of the module macros of 7.2, which are static assertions that it does not understand?"""
        match = re.fullmatch(r"(\S+):(\d+):\d+: error: bad constant expression", line)
        if not match or self.kernel.version < (7,):
            return False
        source = (self.path / match[1]).read_text().splitlines()[int(match[2]) - 1]
        return bool(re.match(r"(MODULE_|module_param)", source))

    def lock_is_tried(self, line):
        """Is this sparse's complaint of a function that tries the port's lock? 6.12 does not say that the lock is taken only then."""
        match = re.fullmatch(r"(\S+):\d+:\d+: warning: context imbalance in '(\w+)' - .*", line)
        if not match or self.kernel.name != "6.12":
            return False
        function = re.search(rf"(?ms)^\w[^;{{]*\b{match[2]}\([^;{{]*\)\n{{.*?^}}", (self.path / match[1]).read_text())
        return bool(function and "uart_port_trylock_irqsave(" in function[0])


@contextlib.contextmanager
def fresh(name):
    """A `Tree` without the series; it is removed at the end."""
    of = kernel(name)
    path = run_folder("tree", name) / "linux"
    subprocess.run(["cp", "--archive", "--link", of.tree, path], check=True)
    try:
        yield Tree(path, of)
    finally:
        shutil.rmtree(path)


@contextlib.contextmanager
def applied(name):
    """A `Tree` with the whole series."""
    with fresh(name) as tree:
        for patch in patches(name):
            tree.apply(patch)
        yield tree


def options(name):
    """All options of the driver in its Kconfig after all series, "" for the driver itself."""
    return list(series(name).kconfig)
