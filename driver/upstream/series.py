# SPDX-License-Identifier: GPL-2.0-only
"""The series and their patches: what each is about, and what the kernel's tree looks like after it.

A stage is the tree after a patch: the driver with the options and features that the patches so far have brought, and nothing that only
later ones use. A patch is the difference of two stages, so that what it adds is used as soon as it is applied.
"""

import re
import subprocess
import tomllib
from dataclasses import dataclass, replace

from driver.upstream import DRIVER, HERE, PLACE, SeriesError, shake, single, sources
from driver.upstream.c_text import after_function, definitions, includes, with_include, words
from litex_soc import SPDX

TREE = HERE / "tree"  # files that are in the kernel as they are here
MESSAGES = tomllib.loads((HERE / "messages.toml").read_text(encoding="utf-8"))
SYMBOL = "SERIAL_LITEPULSE"
UAPI = f"include/{sources.UAPI}"
ENCODING = "include/uapi/linux/can_lin.h"
ABI = "litepulse_abi.h"  # the interface's definitions of events, until there is the interface
BINDING = "Documentation/devicetree/bindings/serial/litex,litepulse.yaml"
SYSFS = "Documentation/ABI/testing/sysfs-driver-litepulse"
CORE = "drivers/tty/serial/serial_core.c"
LIST = "linux-serial@vger.kernel.org"
# Pages of tree/, by the option or the step that they come with.
PAGES = {"Documentation/userspace-api/litepulse.rst": "CHARDEV", "Documentation/networking/can-lin.rst": "encoding"}


@dataclass
class Patch:
    """One patch."""

    subject: str
    text: str
    files: dict  # {path: text} that it adds or changes, {path: None} that it takes away
    stage: object  # the Stage after it


@dataclass
class Series:
    """Patches that are sent together."""

    folder: str
    subject: str
    text: str
    to: list
    cc: list
    rfc: bool
    check: str  # what the person who sends must look up, "" if nothing
    patches: list


@dataclass(frozen=True)
class Stage:
    """What has been brought so far: options and features of the driver, steps, and of which options tests and pages speak."""

    features: frozenset = frozenset()
    steps: frozenset = frozenset()
    tested: frozenset = frozenset()
    documented: frozenset = frozenset()


@dataclass(frozen=True)
class Person:
    """The sender of the series."""

    name: str
    email: str

    def __str__(self):
        return f"{self.name} <{self.email}>"


def before(text, pattern, new, where):
    """`text` with a line in front of the only one that matches."""
    match = single(re.finditer(rf"(?m)^{pattern}", text), f"places for an entry in {where}")
    return text[: match.start()] + new + text[match.start() :]


def single_place(text, pattern, new, what):
    """`text` with something else in the only place that matches."""
    match = single(re.finditer(rf"(?m)^{pattern}", text), what)
    return text[: match.start()] + new + text[match.end() :]


def after(text, anchor, name):
    """A toctree with a page behind another one."""
    return re.sub(rf"(?m)^   {re.escape(anchor)}\n", f"   {anchor}\n   {name}\n", text, count=1)


class AllSeries:
    """All series for one kernel, in order."""

    def __init__(self, kernel, person, driver=DRIVER):
        self.kernel, self.person = kernel, person
        self.build, self.files = sources.for_kernel(driver, kernel)
        self.binding = (driver / "bindings/serial/litex,litepulse.yaml").read_text(encoding="utf-8")
        self.kconfig = self.read_kconfig()
        self.made, self.made_cases = {}, {}  # {(features, tested): sources of the driver}, {features: its tests}
        self.now = {}  # {path: text} after the patches so far
        self.series = []
        self.make_all()

    @property
    def patches(self):
        """Of all series, in order."""
        return [patch for series in self.series for patch in series.patches]

    def make_all(self):
        """Fills `series`."""
        known = {option.name for option in self.build.options} | set(MESSAGES["cut"]) | {"DRIVER"}
        stage = Stage()
        for entry in MESSAGES["series"]:
            to, cc = self.recipients(entry["ask"])
            text = entry["text"].strip().format(kernel=self.kernel.name)
            series = Series(entry["folder"], entry["subject"], text, to, cc, entry.get("rfc", False), entry.get("check", ""), [])
            for patch in entry["patch"]:
                if odd := sorted(set(patch.get("adds", ())) - known):
                    raise SeriesError(f"messages.toml: there is no option or feature {odd[0]}")
                stage = self.next(stage, patch)
                files = self.tree(stage)
                changed = {path: text for path, text in files.items() if self.now.get(path) != text}
                changed |= {path: None for path in self.now if path not in files}
                if not changed:
                    raise SeriesError(f"messages.toml: the patch {patch['subject']!r} changes nothing")
                self.now = files
                series.patches.append(Patch(patch["subject"], patch["text"].strip(), changed, stage))
            self.series.append(series)
        if left := sorted(known - stage.features):
            raise SeriesError(f"messages.toml says nothing of the option {left[0]}")
        there = {path.rsplit("/", 1)[-1] for path in self.now}
        tests = {f"{test}.c" for test in self.tests()}
        unused = set(self.files) - {ABI} - tests - {name for name in self.files if name.rsplit("/", 1)[-1] in there}
        if unused:
            raise SeriesError(f"driver/{min(unused)} is in no patch")

    def next(self, stage, patch):
        """The stage after a patch of messages.toml."""
        match patch.get("kind", "driver"):
            case "driver":
                return replace(stage, features=stage.features | set(patch["adds"]))
            case "tests":
                return replace(stage, tested=stage.features)
            case "documentation":
                return replace(stage, documented=stage.features)
            case kind:
                return replace(stage, steps=stage.steps | {kind})

    def recipients(self, paths):
        """(maintainers, lists) of paths, by the kernel's own MAINTAINERS."""
        command = ["perl", "scripts/get_maintainer.pl", "--no-git", "--no-git-fallback", "--no-rolestats"]
        found = []
        for options in (["--no-l", "--no-r"], ["--no-m", "--no-r"]):
            done = subprocess.run([*command, *options, "-f", *paths], cwd=self.kernel.tree, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SeriesError(f"Linux {self.kernel.name}: get_maintainer.pl: {done.stderr.strip()[:200]}")
            found.append([line.strip() for line in done.stdout.splitlines() if line.strip()])
        return found

    # --- the tree after a patch ---

    def tree(self, stage):
        """{path: text} of all files that the patches so far have added or changed."""
        files = {}
        if "owner" in stage.steps:
            line = "\tnormal->owner\t\t= drv->owner;\n"
            files[CORE] = before(self.kernel.text(CORE), r"\tnormal->driver_name\t= drv->driver_name;\n", line, CORE)
        if "encoding" in stage.steps:
            files[ENCODING] = self.files[sources.UAPIS[1]]
        ours = {}
        if "binding" in stage.steps:
            ours[BINDING] = re.sub(r"(?m)(?<=^maintainers:\n)  - .*$", f"  - {self.person}", self.binding)
        if "DRIVER" in stage.features:
            ours |= self.driver(stage)
            files |= self.places()
        if "CHARDEV" in stage.features:
            ours[UAPI] = self.files[sources.UAPI]
            files |= self.ioctl_numbers()
        files |= self.pages(stage, ours)
        if "selftest" in stage.steps:
            files |= self.selftests(ours)
        files |= ours
        if ours:
            files["MAINTAINERS"] = self.maintainers(ours)
        return files

    def driver(self, stage):
        """{path: text} of the folder of the driver."""
        files = dict(self.sources(stage.features, bool(stage.tested)))
        objects = {name.removesuffix(".c") for name in files}
        if stage.tested:
            files |= self.with_tests(files, stage.tested)
        made = {f"{PLACE}/{name}": text for name, text in files.items() if not name.startswith("uapi/")}
        return made | self.configuration(stage, objects)

    def objects(self, features):
        """Objects of all modules that a driver with these options has."""
        names = list(self.build.modules[self.build.main])
        for option in self.build.options:
            gone = [name for names_ in option.objects.values() for name in names_]
            if option.name not in features:
                names = [name for name in names if name not in gone]
            else:
                names += [name for module in option.modules for name in self.build.modules[module]]
        return names

    def sources(self, features, tested):
        """{name: text} of the driver with these options and features; `tested`: there are tests of it."""
        if (features, tested) in self.made:
            return self.made[features, tested]
        keep, stubs = self.objects(features), []
        gone = {f"{name}{end}" for name in self.all_objects() if name not in keep for end in (".c", ".h") if f"{name}{end}" in self.files}
        for option in self.build.options:
            if option.name not in features:
                for header in sorted(name for name in gone if name.endswith(".h")):
                    stubs += shake.stubs_of(self.files[header], option.name)
        files, wanted = {}, [f"{name}.c" for name in keep]
        while wanted:
            name = wanted.pop(0)
            if name not in files and name not in gone:
                files[name] = self.cut(name, self.with_abi(name, features), features)
                wanted += includes(files[name], '"')
        whole = {sources.UAPI} & set(files)
        wanted = frozenset().union(*(words(self.files[f"{test}.c"]) for test in self.tests())) if tested else frozenset()
        made = shake.without_parts(files, gone, stubs, whole, {ABI}, wanted)
        made["litepulse.h"] = self.layers(made)
        made = {name: re.sub(r"(?m)^MODULE_AUTHOR\(.*$", f'MODULE_AUTHOR("{self.person}");', text) for name, text in made.items()}
        self.made[features, tested] = made
        return made

    @staticmethod
    def layers(files):
        """litepulse.h, whose first comment lists the driver's files, with those that are there."""

        def there(line):
            names = [name for name in line[2].split() if {f"litepulse_{name}.c", f"litepulse_{name}.h"} & set(files)]
            return f"{line[1]}{' '.join(names)}{line[3]}\n" if names else ""

        text = re.sub(r"(?m)^( \*   )([a-z_ ]+?)(\t+.*)\n", there, files["litepulse.h"])
        others = {
            "litepulse_uartbone.ko is a transport": "litepulse_uartbone_io.c",
            "litepulse_lin.ko is a consumer": "litepulse_lin_net.c",
        }
        left = [what for what, name in others.items() if name in files]
        modules = f" * Other modules: {', '.join(left)}.\n *\n" if left else ""
        return single_place(text, r" \* Other modules: .*\n \*\n", modules, "the other modules in litepulse.h")

    def all_objects(self):
        """Every object of the driver's modules."""
        return {name for objects in self.build.modules.values() for name in objects}

    def with_abi(self, name, features):
        """A source; without the character device, the definitions of events are a header of the driver's own."""
        if "CHARDEV" in features:
            return self.files[name]
        if name == ABI:
            return self.files[sources.UAPI]
        header = sources.UAPI.removeprefix("uapi/")
        text = self.files[name]
        if header not in includes(text, "<"):
            return text
        text = re.sub(rf"(?m)^#include <{header}>\n", "", text)
        first = re.search(r'(?m)^#include "', text)
        place = first.start() if first else max(match.end() for match in re.finditer(r"(?m)^#include .*\n", text))
        return f'{text[:place]}#include "{ABI}"\n{text[place:]}'

    def cut(self, name, text, features):
        """A source without what belongs to features that come later."""
        for feature, files in MESSAGES["cut"].items():
            for pattern in files.get(name, ()) if feature not in features else ():
                text, count = re.subn(rf"(?m)^{pattern}", "", text)
                if not count:
                    raise SeriesError(f"messages.toml: {feature} is not found in driver/{name}: {pattern!r}")
        return text

    # --- what the kernel's own files become ---

    def places(self):
        """The Kconfig and the Makefile above ours."""
        below = "drivers/tty/serial"
        line = f"obj-$(CONFIG_{SYMBOL})\t\t+= {PLACE.rsplit('/', 1)[1]}/\n"
        source = f'source "{PLACE}/Kconfig"\n\n'
        return {
            f"{below}/Kconfig": before(self.kernel.text(f"{below}/Kconfig"), "config SERIAL_LITEUART\n", source, "Kconfig"),
            f"{below}/Makefile": before(self.kernel.text(f"{below}/Makefile"), r"obj-\$\(CONFIG_SERIAL_LITEUART\)", line, "Makefile"),
        }

    def maintainers(self, ours):
        """MAINTAINERS with our files in an entry."""
        text, title = self.kernel.text("MAINTAINERS"), "LITEPULSE SERIAL PORT DRIVER"
        folders = (f"{PLACE}/", "tools/testing/selftests/litepulse/")
        patterns = sorted({next((folder for folder in folders if path.startswith(folder)), path) for path in ours})
        entry = [title, f"M:\t{self.person}", f"L:\t{LIST}", "S:\tMaintained", *(f"F:\t{path}" for path in patterns)]
        later = [match for match in re.finditer(r"(?m)^LI.*\n(?=[MRLS]:\t)", text) if match[0].strip() > title]
        if not later or title in text:
            raise SeriesError(f"Linux {self.kernel.name}: MAINTAINERS has no place for {title}")
        return text[: later[0].start()] + "\n".join(entry) + "\n\n" + text[later[0].start() :]

    def ioctl_numbers(self):
        """ioctl-number.rst with our numbers, which are those of the interface."""
        path = "Documentation/userspace-api/ioctl/ioctl-number.rst"
        text, header = self.kernel.text(path), self.files[sources.UAPI]
        magic = int(single(re.findall(r"#define LITEPULSE_IOC_MAGIC (0x[0-9a-f]+)", header), "LITEPULSE_IOC_MAGIC in the interface"), 16)
        last = max(int(number, 16) for number in re.findall(r"_IOW?R?\(LITEPULSE_IOC_MAGIC, (0x[0-9a-f]+)", header)) | 0xF
        rows = list(re.finditer(r"(?m)^0x([0-9A-F]{2})  .*\n(?:[ \t].*\n)*", text))
        if any(int(row[1], 16) == magic for row in rows):
            raise SeriesError(f"Linux {self.kernel.name}: the ioctl number 0x{magic:02X} is another driver's by now")
        row = f"0x{magic:02X}  00-{last:02X}  {sources.UAPI}".ljust(71) + f"LitePulse serial ports\n{'':71}<mailto:{LIST}>\n"
        later = next((match for match in rows if int(match[1], 16) > magic), None)
        if not later:
            raise SeriesError(f"Linux {self.kernel.name}: {path} has no place for 0x{magic:02X}")
        return {path: text[: later.start()] + row + text[later.start() :]}

    def read_kconfig(self):
        """{option, "" for the driver itself: its entry}, which must be those of driver/Kbuild."""
        text = (TREE / PLACE / "Kconfig").read_text(encoding="utf-8")
        head, *entries = re.split(r"(?m)^(?=config )", text)
        found = {single(re.findall(rf"^config {SYMBOL}_?(\w*)\n", entry), "options in an entry of the Kconfig"): entry for entry in entries}
        self.test_options = [name for name in found if name.endswith("KUNIT_TEST")]
        options = {option.name: option for option in self.build.options}
        for name in sorted({"", *options} ^ (set(found) - set(self.test_options))):
            where = "driver/upstream's Kconfig" if name in options else "driver/Kbuild"
            raise SeriesError(f"{where} has no entry for the option {name or SYMBOL}")
        for name, option in options.items():
            if missing := [need for need in option.needs if not re.search(rf"\b{need}\b", found[name])]:
                raise SeriesError(f"the Kconfig of option {name} does not name {missing[0]}, which driver/Kbuild asks for")
        if len(self.test_options) != len(self.build.tests):
            raise SeriesError("driver/Kbuild and the Kconfig do not have the same modules of tests")
        return {name: (head if not name else "\n") + entry.rstrip("\n") + "\n" for name, entry in found.items()}

    def configuration(self, stage, there):
        """Kconfig and Makefile of the driver at a stage; `there`: objects that have anything in them by then."""
        chosen = [option for option in self.build.options if option.name in stage.features]
        lines = [f"# {SPDX} GPL-2.0-only", f"obj-$(CONFIG_{SYMBOL})\t\t\t+= {self.build.main}.o"]
        for option in chosen:
            lines += [f"obj-$(CONFIG_{SYMBOL}_{option.name})\t\t+= {module}.o" for module in option.modules]
        if stage.tested:
            lines += [f"obj-$(CONFIG_{SYMBOL}_{name})\t+= {module}.o" for name, module in zip(self.test_options, self.build.tests)]
        lines += ["", *self.listed_objects(self.build.main, "y", [name for name in self.always(self.build.main) if name in there])]
        for option in chosen:
            for module, objects in option.objects.items():
                lines += self.listed_objects(module, f"$(CONFIG_{SYMBOL}_{option.name})", objects)
            for module in option.modules:
                lines += ["", *self.listed_objects(module, "y", self.always(module))]
        for name, flags in self.build.object_flags.items():
            if not name.startswith("CFLAGS_") or name.removeprefix("CFLAGS_").removesuffix(".o") in there:
                lines.append(f"\n{name} += {' '.join(flags)}")
        entries = [entry for name, entry in self.kconfig.items() if not name or name in stage.features]
        if stage.tested:
            for name in self.test_options:
                gone = [option.name for option in self.build.options if option.name not in stage.tested]
                pattern = rf"\tdepends on {SYMBOL}_({'|'.join(gone)})\n" if gone else "(?!)"
                entries.append(re.sub(pattern, "", self.kconfig[name]))
        return {f"{PLACE}/Makefile": "\n".join(lines) + "\n", f"{PLACE}/Kconfig": "".join(entries)}

    @staticmethod
    def listed_objects(module, when, objects):
        """Lines of a Makefile: the objects of a module, none if the module is its only object."""
        if objects == [module]:
            return []
        lines = [f"{module}-{when} {':=' if when == 'y' else '+='}"]
        for name in objects:
            if len((lines[-1] + f" {name}.o \\").expandtabs(8)) > 80:
                lines[-1] += " \\"
                lines.append("\t")
            lines[-1] += f"{'' if lines[-1].endswith(chr(9)) else ' '}{name}.o"
        return lines

    def always(self, module):
        """Objects of a module that no option leaves out."""
        optional = {name for option in self.build.options for name in option.objects.get(module, ())}
        return [name for name in self.build.modules[module] if name not in optional]

    # --- tests and pages ---

    def tests(self):
        """The sources of the modules of tests that no other module has."""
        shared = self.all_objects()
        return [name for objects in self.build.tests.values() for name in objects if name not in shared]

    def with_tests(self, files, tested):
        """What the tests of a driver with these features change: the functions that they call are exported to them."""
        ((module, _),) = self.build.tests.items()
        test = single(self.tests(), f"sources of the module {module} alone")
        if tested not in self.made_cases:
            self.made_cases[tested] = self.cases(self.files[f"{test}.c"], self.sources(tested, True))
        text, called = self.made_cases[tested]
        changed = {}
        for name in sorted(name for name in files if name.endswith(".c")):
            source = files[name]
            for function in sorted(definitions(source) & called):
                if not re.search(rf"EXPORT_SYMBOL\w*\({function}\b", source):
                    source = after_function(source, function, f"EXPORT_SYMBOL_IF_KUNIT({function});")
            if source != files[name]:
                changed[name] = with_include(with_include(source, "kunit/visibility.h"), "linux/export.h")
        spaces = ["EXPORTED_FOR_KUNIT_TESTING", sources.NAMESPACE]
        if "MODULE_INFO(import_ns, ns)" in self.kernel.text("include/linux/module.h"):
            spaces = [f'"{space}"' for space in spaces]
        imports = "".join(f"\nMODULE_IMPORT_NS({space});" for space in spaces)
        return changed | {f"{module}.c": re.sub(r'(?m)^(MODULE_LICENSE\("GPL"\);)$', lambda match: match[1] + imports, text)}

    def cases(self, text, there):
        """(source of the tests without those of missing functions, functions that it calls)."""
        tests = {f"{test}.c" for test in self.tests()}
        every = shake.names({name: source for name, source in self.files.items() if name not in tests})
        missing = every - shake.names(there | {name: self.files[name] for name in sources.UAPIS})
        text = shake.without_cases(text, missing)
        for header in includes(text, '"'):
            if header not in there:
                text = re.sub(rf'(?m)^#include "{re.escape(header)}"\n', "", text)
        return text, words(text)

    def pages(self, stage, ours):
        """{path: text} of the kernel's indexes with our pages, and of those pages that a patch of
        this stage brings. Other pages go to `ours`."""
        changed = {}
        for path in sorted(TREE.rglob("*.rst")):
            name = path.relative_to(TREE).as_posix()
            comes = PAGES.get(name)
            if not (comes in stage.steps or (stage.documented and (not comes or comes in stage.documented))):
                continue
            index, page = f"{name.rsplit('/', 1)[0]}/index.rst", name.rsplit("/", 1)[1].removesuffix(".rst")
            changed[index] = self.listed(index, page, changed.get(index))
            text = self.conditional(path.read_text(encoding="utf-8"), stage.documented, name)
            (changed if comes in stage.steps else ours)[name] = text
        if attributes := stage.documented and self.attributes(self.sources(stage.documented, bool(stage.tested))):
            ours[SYSFS] = attributes
        return changed

    @staticmethod
    def conditional(text, options, where):
        """A page with those parts between `.. if NAME` and `.. end` whose option is there."""
        text = re.sub(r"(?ms)^\.\. if (\w+)\n(.*?)^\.\. end\n", lambda match: match[2] if match[1] in options else "", text)
        if re.search(r"(?m)^\.\. (if|end)\b", text):
            raise SeriesError(f"{where}: a part between `.. if` and `.. end` is not whole")
        return text

    @staticmethod
    def attributes(files):
        """ABI/testing of the attributes that these sources have, "" if they have none."""
        text = "".join(files.values())
        found = []
        for entry in (TREE / SYSFS).read_text(encoding="utf-8").rstrip("\n").split("\n\n"):
            folder, name = single(re.findall(r"\AWhat:\s+\S+/(\S+)/(\S+)\n", entry), f"names in an entry of {SYSFS}")
            if re.search(rf"\b(DEVICE_ATTR\w*|__ATTR\w*)\({name}\b", text) or (name == "<id>" and f'"{folder}"' in text):
                found.append(entry)
        return "\n\n".join(found) + "\n" * bool(found)

    def selftests(self, ours):
        """The list of kselftests with ours; these go to `ours`."""
        below = "tools/testing/selftests"
        found = [path for path in sorted((TREE / below).rglob("*")) if path.is_file()]
        ours |= {path.relative_to(TREE).as_posix(): path.read_text(encoding="utf-8") for path in found}
        name = single({path.relative_to(TREE / below).parts[0] for path in found}, "folders of selftests")
        text = self.kernel.text(f"{below}/Makefile")
        later = next(target for target in re.findall(r"(?m)^TARGETS \+= (.*)$", text) if target > name)
        return {f"{below}/Makefile": before(text, rf"TARGETS \+= {re.escape(later)}\n", f"TARGETS += {name}\n", below)}

    def listed(self, index, name, text=None):
        """An index.rst that lists our page too."""
        text = text or self.kernel.text(index)
        for anchor in ("media/index", "lcd-panel-cgram", "can"):
            if re.search(rf"(?m)^   {anchor}$", text):
                return before(text, rf"   {anchor}\n", f"   {name}\n", index) if name < anchor else after(text, anchor, name)
        raise SeriesError(f"Linux {self.kernel.name}: {index} has no place for {name}")
