# SPDX-License-Identifier: GPL-2.0-only
"""The patches of the series: what each is about, and what the kernel's tree looks like after it."""

import re
import tomllib
from dataclasses import dataclass

from driver.upstream import DRIVER, HERE, PLACE, SeriesError, single, sources
from driver.upstream.c_text import COMMENT, after_function, definitions, includes, with_include, words
from litex_soc import SPDX

TREE = HERE / "tree"  # files that are in the kernel as they are here
MESSAGES = tomllib.loads((HERE / "messages.toml").read_text(encoding="utf-8"))
SYMBOL = "SERIAL_LITEPULSE"
UAPI = f"include/{sources.UAPI}"
BINDING = "Documentation/devicetree/bindings/serial/litex,litepulse.yaml"
LIST = "linux-serial@vger.kernel.org"
LINES = 1200  # of a patch that is a lower part of the driver: about so many


@dataclass
class Patch:
    """One patch."""

    subject: str
    text: str
    files: dict  # {path: text} that it adds or changes


@dataclass(frozen=True)
class Person:
    """Who sends the series."""

    name: str
    email: str

    def __str__(self):
        return f"{self.name} <{self.email}>"


def before(text, pattern, new, where):
    """`text` with a line in front of the only one that matches."""
    match = single(re.finditer(rf"(?m)^{pattern}", text), f"places for an entry in {where}")
    return text[: match.start()] + new + text[match.start() :]


def components(uses, last=()):
    """[[name]] of a graph {name: names it uses}, what is used first; names that use each other are in one list.

    Those of `last` come as late as they can.
    """
    reach = {}
    for name in uses:
        seen, todo = set(), [name]
        while todo:
            for other in uses[todo.pop()]:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        reach[name] = seen
    done, left = [], list(uses)
    while left:
        ready = [n for n in left if all(o not in left or n in reach[o] or o == n for o in reach[n])]
        name = next((n for n in ready if not {n, *(o for o in reach[n] if n in reach[o])} & set(last)), ready[0])
        group = [other for other in left if other == name or (other in reach[name] and name in reach[other])]
        done.append(group)
        left = [other for other in left if other not in group]
    return done


class Series:
    """All patches for one kernel."""

    def __init__(self, kernel, person, driver=DRIVER):
        self.kernel, self.person = kernel, person
        self.build, self.files = sources.for_kernel(driver, kernel)
        self.binding = (driver / "bindings/serial/litex,litepulse.yaml").read_text(encoding="utf-8")
        self.now = {}  # {path: text} after the patches so far
        self.placed = set()  # files of the driver that a patch has
        self.maintained = []  # patterns of MAINTAINERS so far
        self.patches = []
        self.kconfig = self.read_kconfig()
        self.make_all()

    # --- what the kernel's own files become ---

    def add(self, message, files, maintained=(), **values):
        """One more patch."""
        if maintained:
            files = files | {"MAINTAINERS": self.maintainers(maintained)}
        self.now |= files
        self.patches.append(Patch(message["subject"].format(**values), message["text"].strip().format(**values), files))

    def maintainers(self, patterns):
        """MAINTAINERS with more files in our entry."""
        text, title = self.kernel.text("MAINTAINERS"), "LITEPULSE SERIAL PORT DRIVER"
        self.maintained = sorted({*self.maintained, *patterns})
        entry = [title, f"M:\t{self.person}", f"L:\t{LIST}", "S:\tMaintained", *(f"F:\t{path}" for path in self.maintained)]
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
            if name not in MESSAGES["part"]:
                raise SeriesError(f"messages.toml says nothing of the option {name}")
        if len(self.test_options) != len(self.build.tests):
            raise SeriesError("driver/Kbuild and the Kconfig do not have the same modules of tests")
        return {name: (head if not name else "\n") + entry.rstrip("\n") + "\n" for name, entry in found.items()}

    def configuration(self, options):
        """Kconfig and Makefile of the driver with these options."""
        chosen = [option for option in self.build.options if option.name in options]
        lines = [f"# {SPDX} GPL-2.0-only", f"obj-$(CONFIG_{SYMBOL})\t\t\t+= {self.build.main}.o"]
        for option in chosen:
            lines += [f"obj-$(CONFIG_{SYMBOL}_{option.name})\t\t+= {module}.o" for module in option.modules]
        for option, module in zip(self.test_options, self.build.tests):
            if option in options:
                lines.append(f"obj-$(CONFIG_{SYMBOL}_{option})\t+= {module}.o")
        lines += ["", *(self.objects(self.build.main, "y", self.always(self.build.main)))]
        for option in chosen:
            for module, objects in option.objects.items():
                lines += self.objects(module, f"$(CONFIG_{SYMBOL}_{option.name})", objects)
            for module in option.modules:
                lines += ["", *self.objects(module, "y", self.always(module))]
        lines += [f"\n{name} += {' '.join(flags)}" for name, flags in self.build.object_flags.items()]
        kconfig = "".join(self.kconfig[name] for name in self.kconfig if not name or name in options)
        return {f"{PLACE}/Makefile": "\n".join(lines) + "\n", f"{PLACE}/Kconfig": kconfig}

    @staticmethod
    def objects(module, when, objects):
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

    # --- the driver's own files ---

    def with_headers(self, names):
        """{path in the kernel: text} of sources, and of the headers that they are the first to include."""
        found, todo = {}, [f"{name}.c" for name in names]
        while todo:
            name = todo.pop(0)
            if name in self.placed or name in sources.UAPIS:
                continue
            self.placed.add(name)
            found[f"{PLACE}/{name}"] = self.files[name]
            todo += includes(self.files[name], '"')
        return found

    def layers(self, objects):
        """The objects of the driver itself, from the bottom up, those together that use each other."""
        defined = {name: definitions(self.files[f"{name}.c"]) for name in objects}
        used = {name: words(self.files[f"{name}.c"]) for name in objects}
        uses = {name: [other for other in objects if other != name and used[name] & defined[other]] for name in objects}
        packed = []
        for group in components(uses, [name for name in objects if "MODULE_LICENSE(" in self.files[f"{name}.c"]]):
            lines = sum(self.files[f"{name}.c"].count("\n") for name in group)
            if packed and packed[-1][1] + lines <= LINES:
                packed[-1] = (packed[-1][0] + group, packed[-1][1] + lines)
            else:
                packed.append((group, lines))
        return [group for group, _ in packed]

    def about(self, files):
        """What the sources of a patch are for, as their own first comments say."""
        lines = []
        for path, text in files.items():
            if path.endswith(".c"):
                first = next((m[0] for m in COMMENT.finditer(text) if "SPDX" not in m[0]), "")
                words_ = re.sub(r"\s+", " ", re.sub(r"(?m)^\s*\*|/\*|\*/", " ", first.split("\n *\n")[0])).strip()
                lines.append(f" - {path.rsplit('/', 1)[1]}: {words_}" if words_ else f" - {path.rsplit('/', 1)[1]}")
        return lines

    def with_tests(self):
        """What the tests change: the functions that they call are exported to them."""
        ((module, objects),) = self.build.tests.items()
        shared = [name for name in objects if any(name in other for other in self.build.modules.values())]
        (test,) = [name for name in objects if name not in shared] or [None]
        if not test or len(objects) == len(shared):
            raise SeriesError(f"the module {module} has no single source of its own")
        called, changed = words(self.files[f"{test}.c"]), {}
        for name in shared:
            path, text = f"{PLACE}/{name}.c", self.files[f"{name}.c"]
            for function in sorted(definitions(text) & called):
                if not re.search(rf"EXPORT_SYMBOL\w*\({function}\)", text):
                    text = after_function(text, function, f"EXPORT_SYMBOL_IF_KUNIT({function});")
            if text != self.files[f"{name}.c"]:
                changed[path] = with_include(with_include(text, "kunit/visibility.h"), "linux/export.h")
        space = "EXPORTED_FOR_KUNIT_TESTING"
        if "MODULE_INFO(import_ns, ns)" in self.kernel.text("include/linux/module.h"):
            space = f'"{space}"'
        own = self.with_headers([test])
        text = own.pop(f"{PLACE}/{test}.c")
        text = re.sub(r'(?m)^(MODULE_LICENSE\("GPL"\);)$', rf"\1\nMODULE_IMPORT_NS({space});", text)
        return changed | own | {f"{PLACE}/{module}.c": text}

    # --- the series ---

    def make_all(self):
        """Fills `patches`."""
        path = "drivers/tty/serial/serial_core.c"
        owner = before(self.kernel.text(path), r"\tnormal->driver_name\t= drv->driver_name;\n", "\tnormal->owner\t\t= drv->owner;\n", path)
        self.add(MESSAGES["owner"], {path: owner})
        person = re.sub(r"(?m)(?<=^maintainers:\n)  - .*$", f"  - {self.person}", self.binding)
        self.add(MESSAGES["binding"], {BINDING: person}, [BINDING])
        headers = {f"include/{name}": self.files[name] for name in sources.UAPIS}
        self.add(MESSAGES["uapi"], headers | self.ioctl_numbers(), [*headers])
        *lower, top = self.layers(self.always(self.build.main))
        for number, group in enumerate(lower):
            files = self.with_headers(group)
            names = [name.removeprefix(f"{self.build.main}_") for name in group]
            listed = ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
            self.add_driver(MESSAGES["lower"], files, [f"{PLACE}/"] * (not number), parts=listed)
        files, below = self.with_headers(top), "drivers/tty/serial"
        files |= self.configuration([])
        files[f"{below}/Kconfig"] = before(self.kernel.text(f"{below}/Kconfig"), "config SERIAL_LITEUART\n", self.source(), "Kconfig")
        line = f"obj-$(CONFIG_{SYMBOL})\t\t+= {PLACE.rsplit('/', 1)[1]}/\n"
        makefile = before(self.kernel.text(f"{below}/Makefile"), r"obj-\$\(CONFIG_SERIAL_LITEUART\)", line, "Makefile")
        files[f"{below}/Makefile"] = makefile
        self.add_driver(MESSAGES["main"], files, [f"{PLACE}/"] * (not lower))
        options = []
        for option in self.build.options:
            options.append(option.name)
            objects = [name for names in option.objects.values() for name in names]
            objects += [name for module in option.modules for name in self.always(module)]
            self.add_driver(MESSAGES["part"][option.name], self.with_headers(objects) | self.configuration(options))
        if self.build.tests:
            options += self.test_options
            self.add(MESSAGES["tests"], self.with_tests() | self.configuration(options))
        if left := sorted(set(self.files) - self.placed - set(sources.UAPIS)):
            raise SeriesError(f"driver/{left[0]} is in no patch")
        self.add_tree()

    @staticmethod
    def source():
        """Line of the Kconfig above ours."""
        return f'source "{PLACE}/Kconfig"\n\n'

    def add_driver(self, message, files, maintained=(), **values):
        """A patch with sources of the driver: its text lists them."""
        text = "\n\n".join([message["text"].strip(), "\n".join(line for one in self.about(files) for line in wrapped(one))])
        self.add(message | {"text": text.replace("{", "{{").replace("}", "}}")}, files, maintained, **values)

    def add_tree(self):
        """The patches of what lies in tree/ beside the driver."""
        found = {path.relative_to(TREE).as_posix(): path for path in sorted(TREE.rglob("*")) if path.is_file()}
        found = {name: path.read_text(encoding="utf-8") for name, path in found.items() if not name.startswith(PLACE)}
        docs = {name: text for name, text in found.items() if name.startswith("Documentation/")}
        tests = {name: text for name, text in found.items() if name.startswith("tools/testing/selftests/")}
        if len(docs) + len(tests) != len(found):
            raise SeriesError("driver/upstream/tree has files that are neither documentation nor selftests")
        indexes = {}
        for name in docs:
            if name.endswith(".rst"):
                index = f"{name.rsplit('/', 1)[0]}/index.rst"
                indexes[index] = self.listed(index, name.rsplit("/", 1)[1].removesuffix(".rst"))
        if docs:
            self.add(MESSAGES["documentation"], docs | indexes, docs)
        if tests:
            below = "tools/testing/selftests/Makefile"
            name = single({path.split("/")[3] for path in tests}, "folders of selftests")
            targets = re.findall(r"(?m)^TARGETS \+= (.*)$", self.kernel.text(below))
            later = next(target for target in targets if target > name)
            makefile = before(self.kernel.text(below), rf"TARGETS \+= {re.escape(later)}\n", f"TARGETS += {name}\n", below)
            self.add(MESSAGES["selftest"], tests | {below: makefile}, [f"tools/testing/selftests/{name}/"])

    def listed(self, index, name):
        """An index.rst that lists our page too."""
        text = self.kernel.text(index)
        for anchor in ("media/index", "lcd-panel-cgram", "can"):
            if re.search(rf"(?m)^   {anchor}$", text):
                return before(text, rf"   {anchor}\n", f"   {name}\n", index) if name < anchor else after(text, anchor, name)
        raise SeriesError(f"Linux {self.kernel.name}: {index} has no place for {name}")


def after(text, anchor, name):
    """A toctree with a page behind another one."""
    return re.sub(rf"(?m)^   {re.escape(anchor)}\n", f"   {anchor}\n   {name}\n", text, count=1)


def wrapped(line, columns=72):
    """A line of a list in a commit message, in lines that are short enough."""
    lines = [""]
    for word in line.strip().split(" "):
        if len(lines[-1]) + 1 + len(word) > columns:
            lines.append("  ")
        lines[-1] += f" {word}"
    return lines
