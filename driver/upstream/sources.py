# SPDX-License-Identifier: GPL-2.0-only
"""The driver's sources as one kernel's own tree has them: for this kernel alone, under its names, without what only a module needs."""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from driver.upstream import SeriesError, compat, kbuild, single
from driver.upstream.c_text import INCLUDE, includes, tidy, with_include

UAPI = "uapi/linux/litepulse.h"
NAMESPACE = "LITEPULSE"  # of exported functions
UAPIS = (UAPI, "uapi/linux/can_lin.h")  # of LIN devices of any maker
# Pages that sources refer to, by what stands for them in the kernel.
PAGES = {
    "docs/chardev.md": "Documentation/userspace-api/litepulse.rst",
    "docs/core.md": "the core's manual",
    "docs/bridge.md": "the core's manual",
    "docs/registers.md": "the core's manual",
}
OWNER = re.compile(r"(?:\t/\*(?:(?!\*/).)*?\*/\n)?\t[\w.>-]*\btty_driver->owner = THIS_MODULE;\n", re.DOTALL)


@dataclass
class Kernel:
    """A kernel's source tree."""

    tree: Path
    version: tuple  # (7, 2, 12)

    @property
    def name(self):
        """7.2"""
        return f"{self.version[0]}.{self.version[1]}"

    @classmethod
    def of(cls, tree):
        """The kernel whose source is in a folder. Raises SeriesError."""
        try:
            text = (Path(tree) / "Makefile").read_text()
        except OSError as error:
            raise SeriesError(f"{tree} is no kernel source: {error.strerror}: Makefile") from None
        numbers = dict(re.findall(r"(?m)^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", text))
        if len(numbers) != 3:
            raise SeriesError(f"{tree} is no kernel source: its Makefile has no version")
        return cls(Path(tree).resolve(), tuple(int(numbers[name]) for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")))

    def text(self, path):
        """A file of the tree."""
        try:
            return (self.tree / path).read_text(encoding="utf-8")
        except OSError as error:
            raise SeriesError(f"Linux {self.name}: {path}: {error.strerror}") from None

    def defines(self, name):
        """Does a header of the kernel define this macro?"""
        pattern = rf"^#[ \t]*define[ \t]+{name}\b"
        found = subprocess.run(["grep", "-rqE", "--include=*.h", pattern, self.tree / "include/linux"], check=False, stderr=subprocess.PIPE)
        return found.returncode == 0


def version_code(major, minor, patch):
    """KERNEL_VERSION()"""
    return (int(major) << 16) + (int(minor) << 8) + min(int(patch), 255)


class Unifdef:
    """The kernel's own unifdef, with what is known of macros."""

    def __init__(self, kernel, macros):
        self.kernel, self.macros = kernel, macros  # macros: {name: value, or None if it is not defined}

    def __call__(self, files):
        """{name: text} without the conditions that the macros decide."""
        made = {}
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "unifdef"
            built = subprocess.run(
                ["cc", "-w", "-o", program, self.kernel.tree / "scripts/unifdef.c"], capture_output=True, text=True, check=False
            )
            if built.returncode:
                raise SeriesError(f"Linux {self.kernel.name}: scripts/unifdef.c cannot be compiled: {built.stderr.strip()[:200]}")
            options = [f"-U{name}" if value is None else f"-D{name}={value}" for name, value in self.macros.items()]
            for name, text in files.items():
                text = re.sub(r"\bKERNEL_VERSION\((\d+), (\d+), (\d+)\)", lambda match: str(version_code(*match.groups())), text)
                done = subprocess.run([program, *options], input=text, capture_output=True, text=True, check=False)
                if done.returncode > 1:
                    raise SeriesError(f"{name}: {done.stderr.strip()}")
                made[name] = done.stdout
        return made


def closure(folder, build):
    """{name: text} of all sources of the objects and of what they include. Raises SeriesError."""
    wanted, files = [f"{name}.c" for name in build.objects], {}
    while wanted:
        name = wanted.pop(0)
        if name in files:
            continue
        try:
            files[name] = (folder / name).read_text(encoding="utf-8")
        except OSError:
            raise SeriesError(f"driver/{name} is included, and is not there") from None
        wanted += includes(files[name], '"')
    there = {path.name for path in folder.glob("*.[ch]") if not path.name.endswith(".mod.c")}
    if unused := sorted(there - set(files)):
        raise SeriesError(f"driver/{unused[0]} is part of no module")
    return files


def known_macros(kernel, build, files):
    """{macro that conditions ask for: its value, None if it has none} for a kernel."""
    header = files.get(compat.NAME, "")
    tested = {name for text in files.values() for name in re.findall(r"(?m)^#[ \t]*if(?:n?def)[ \t]+(\w+)", text)}
    macros = {name: "1" if set_ else None for name, set_ in build.flags.items()}
    macros["LINUX_VERSION_CODE"] = str(version_code(*kernel.version))
    guards = {f"{Path(name).name.upper().replace('.', '_')}" for name in files}
    guards |= {f"_UAPI_LINUX_{Path(name).name.upper().replace('.', '_')}" for name in UAPIS}
    for name in sorted(set(re.findall(r"(?m)^#[ \t]*ifn?def[ \t]+(\w+)", header)) - guards - set(macros)):
        macros[name] = "1" if kernel.defines(name) else None
    resolved = Unifdef(kernel, macros)({compat.NAME: header})[compat.NAME]
    for name in sorted(tested - guards - set(macros)):
        if name.startswith("LITEPULSE_"):
            if not re.search(rf"(?m)^#define {name}\b", header):
                raise SeriesError(f"it is unknown when {name} is defined")
            macros[name] = "1" if re.search(rf"(?m)^#define {name}\b", resolved) else None
    return macros


def without_owner(files):
    """The files without the owner that the driver gives its tty driver itself: the first patch makes the serial core do it."""
    found = [(name, match) for name, text in files.items() for match in OWNER.finditer(text)]
    name, match = single(found, "assignments of tty_driver->owner in driver/, which the patch of the serial core replaces")
    return files | {name: files[name][: match.start()] + files[name][match.end() :]}


def with_kernel_names(name, text, kernel):
    """One file with the names that things have in the kernel."""
    if kernel.defines("kzalloc_obj"):
        text = re.sub(r"\b(k[mz]alloc)\(sizeof\((\*\w+)\), (\w+)\)", r"\1_obj(\2, \3)", text)
        text = re.sub(r"(\bk[mz]alloc_obj\(\*\w+), GFP_KERNEL\)", r"\1)", text)
    text = re.sub(r"\bCONFIG_LITEPULSE_", "CONFIG_SERIAL_LITEPULSE_", text)
    text = re.sub(r"(?m)^MODULE_VERSION\(LITEPULSE_VERSION\);\n", "", text)
    text = re.sub(r"(?m)^/\* Generated by .*\*/$", "/* From the register map of the core. */", text)
    for header in UAPIS:
        if header in includes(text, '"'):
            text = re.sub(rf'(?m)^#include "{header}"\n', "", text)
            text = with_include(text, header.removeprefix("uapi/")) if INCLUDE.search(text) else text
    # The kernel's first version of the interface has all of it.
    text = re.sub(r"(?m)^/\* since version \d+ \*/\n|[;:] since version \d+(?: of the interface, 0 before)?", "", text)
    for page in sorted(set(re.findall(r"\bdocs/[\w-]+\.md", text))):
        if page not in PAGES:
            raise SeriesError(f"driver/{name} refers to {page}, which has no counterpart in the kernel")
        text = text.replace(page, PAGES[page])
    if left := re.search(
        r"\bLITEPULSE_VERSION\b|\bLINUX_VERSION_CODE\b|\bKERNEL_VERSION\(|\blitepulse_compat\b|python -m|since[\s*]+version", text
    ):
        raise SeriesError(f"driver/{name}: {left[0]} is left, for which the kernel has no use")
    return tidy(text)


def for_kernel(folder, kernel):
    """(Kbuild, {name below driver/: text}) of the driver in `folder` as this kernel has it. Raises SeriesError."""
    build = kbuild.read(folder, kernel.tree)
    files = closure(folder, build)
    if compat.NAME in files:
        files = Unifdef(kernel, known_macros(kernel, build, files))(files)
        header = compat.parse(files.pop(compat.NAME))
        left = set(header.macros) | {function.name for function in header.functions}
        files = compat.resolve(files, header)
        for name, text in files.items():
            if stays := sorted(left & set(re.findall(r"\w+", text)) - set(header.macros.values())):
                raise SeriesError(f"driver/{name}: {stays[0]} of {compat.NAME} is left")
    files = without_owner(files)
    return build, {name: with_kernel_names(name, text, kernel) for name, text in files.items()}
