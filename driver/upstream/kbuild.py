# SPDX-License-Identifier: GPL-2.0-only
"""What driver/Kbuild builds, as make itself understands it: modules, their objects, options, and flags that depend on the kernel."""

import re
import subprocess
from dataclasses import dataclass, field

from driver.upstream import SeriesError

# Printed by make: one line "NAME=words" for each.
QUESTIONS = """
$(info obj-m=$(obj-m))
$(foreach module,$(patsubst %.o,%,$(obj-m)),$(info objects $(module)=$(or $($(module)-y) $($(module)-objs),$(module).o)))
$(info flags=$(ccflags-y))
$(foreach name,$(filter CFLAGS_%.o,$(.VARIABLES)),$(info $(name)=$($(name))))
all: ;
"""


@dataclass
class Option:
    """A part that can be left out: LITEPULSE_<name>=n of the Kbuild, SERIAL_LITEPULSE_<name> of the Kconfig."""

    name: str
    modules: list  # that vanish without it
    objects: dict  # {module that stays: its objects that vanish}
    needs: list  # symbols of the kernel's configuration, as the Kbuild has them
    defines: list  # CONFIG_ macros that it defines for the compiler


@dataclass
class Kbuild:
    """All that is built. Objects are named without `.o`."""

    modules: dict  # {module: [object]}, everything on; the main module first
    options: list  # of Option, in the order of the Kbuild
    tests: dict  # {module of tests: [object]}
    flags: dict = field(default_factory=dict)  # {LITEPULSE_ macro: is it defined for this kernel}
    object_flags: dict = field(default_factory=dict)  # {CFLAGS_x.o, or ccflags-y: flags that the kernel's Makefile needs, too}

    @property
    def main(self):
        """The module on which all others build."""
        return next(iter(self.modules))

    @property
    def objects(self):
        """Every object once, those of tests last."""
        return list(dict.fromkeys(name for group in (self.modules, self.tests) for objects in group.values() for name in objects))


def ask(folder, tree, values):
    """{question: words} of one reading of `folder`/Kbuild, with these variables."""
    result = subprocess.run(
        ["make", "--no-print-directory", "-rRs", "-f", "-", f"src={folder}", f"srctree={tree}", *(f"{n}={v}" for n, v in values.items())],
        input=f"include {folder}/Kbuild\n{QUESTIONS}",
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode or result.stderr:
        raise SeriesError(f"driver/Kbuild cannot be read: {(result.stderr or 'make failed').splitlines()[0]}")
    return {name: words.split() for name, _, words in (line.partition("=") for line in result.stdout.splitlines()) if name}


def objects_of(answers):
    """{module: [object]} of `answers`."""
    modules = [word.removesuffix(".o") for word in answers["obj-m"]]
    return {module: [word.removesuffix(".o") for word in answers[f"objects {module}"]] for module in modules}


def read(folder, tree):
    """The `Kbuild` of the driver in `folder` for the kernel whose source is `tree`. Raises SeriesError."""
    text = (folder / "Kbuild").read_text()
    parts = dict(re.findall(r"(?m)^LITEPULSE_(\w+) *\?= *(.*)$", text))
    others = sorted(set(re.findall(r"\$\(LITEPULSE_(\w+)\)", text)) - set(parts))
    on = {f"LITEPULSE_{name}": "y" for name in parts} | {f"LITEPULSE_{name}": "n" for name in others}
    whole = ask(folder, tree, on)
    made = Kbuild(objects_of(whole), [], {})
    for name, default in parts.items():
        without = ask(folder, tree, on | {f"LITEPULSE_{name}": "n"})
        left = objects_of(without)
        gone = [module for module in made.modules if module not in left]
        fewer = {module: [o for o in made.modules[module] if o not in left[module]] for module in left}
        fewer = {module: objects for module, objects in fewer.items() if objects}
        defines = [word for word in whole["flags"] if word not in without["flags"]]
        odd = [word for word in defines if not re.fullmatch(r"-DCONFIG_LITEPULSE_\w+=1", word)]
        if not gone and not fewer or odd or made.main in gone:
            raise SeriesError(f"driver/Kbuild: LITEPULSE_{name} does what the series does not know{': ' + ' '.join(odd) if odd else ''}")
        made.options.append(Option(name, gone, fewer, sorted(set(re.findall(r"CONFIG_(\w+)", default))), [d[2:-2] for d in defines]))
    for name in others:
        of_tests = objects_of(ask(folder, tree, on | {f"LITEPULSE_{name}": "y"}))
        made.tests |= {module: objects for module, objects in of_tests.items() if module not in made.modules}
    optional = {define for option in made.options for define in option.defines}
    made.flags = {name: False for name in re.findall(r"-D(LITEPULSE_\w+)\b(?!=)", text)}
    for word in whole["flags"]:
        if word.removeprefix("-D") in made.flags:
            made.flags[word.removeprefix("-D")] = True
        elif word == f"-I{folder}":
            made.object_flags.setdefault("ccflags-y", []).append("-I$(src)")
        elif not re.match(r"-DLITEPULSE_VERSION=", word) and word.removeprefix("-D").removesuffix("=1") not in optional:
            raise SeriesError(f"driver/Kbuild: the series does not know what {word} is for")
    for name, words in whole.items():
        if name.startswith("CFLAGS_"):
            made.object_flags[name] = [word.replace(str(folder), "$(src)") for word in words]
    if missing := [name for name in made.objects if not (folder / f"{name}.c").is_file()]:
        raise SeriesError(f"driver/Kbuild names {missing[0]}.o, and there is no {missing[0]}.c")
    return made
