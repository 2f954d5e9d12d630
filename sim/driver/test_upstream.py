# SPDX-License-Identifier: BSD-2-Clause
"""The patch series for the kernel's tree (docs/develop/upstream.md): its contents, builds of each patch, kselftests, KUnit cases."""

import email
import os
import re
import shutil
import subprocess
import sys
from email.policy import default as default_policy

import pytest

from driver.upstream import DRIVER, HERE, PLACE, SeriesError, c_text, compat, mails, shake
from driver.upstream.__main__ import KERNELS
from driver.upstream.series import BINDING, CORE, ENCODING, MESSAGES, SYMBOL, SYSFS, UAPI, AllSeries
from sim.cocotb_rig import ROOT, run_folder
from sim.driver import upstream_rig as rig
from sim.driver.uml import Kernel, boot, kunit_results
from sim.guest import upstream_tree as trees
from sim.guest.driver_tree import driver_copy

NAMES = tuple(KERNELS)
both = pytest.mark.parametrize("name", NAMES)


def added_lines(text):
    """Number of lines that a mail, or the part of it about a file, adds."""
    return sum(line.startswith("+") and not line.startswith("+++ ") for line in text.splitlines())


def added_by_file(path):
    """{name of a file: number of lines that a mail adds to it}, for files of the driver's folder by name, for all others together as ""."""
    out = {}
    for part in re.split(r"(?m)^diff --git ", path.read_text())[1:]:
        file = re.match(r"a/\S+ b/(\S+)\n", part)[1]
        name = file.removeprefix(f"{PLACE}/") if file.startswith(f"{PLACE}/litepulse") else ""
        out[name] = out.get(name, 0) + added_lines(part)
    return out


def message(path):
    """A mail, parsed."""
    return email.message_from_bytes(path.read_bytes(), policy=default_policy)


def copy_of_driver(edit=None):
    """A copy of driver/ as driver_tree.driver_copy() makes it, with the binding."""
    folder = driver_copy(edit=edit)
    shutil.copytree(DRIVER / "bindings", folder / "bindings")
    return folder


# --- the mails ---


FOLDERS = ["1-serial-core", "2-tty", "3-tty-more", "4-chardev", "5-ptp", "6-can-lin", "7-lin", "8-cable"]


@both
def test_mails(name):
    """Each series is a folder: a cover letter and a numbered mail for each patch, signed off by the sender, with the given date."""
    series = trees.mails_of(name)
    assert list(series) == FOLDERS
    for folder, paths in series.items():
        assert [path.name[:4] for path in paths] == [f"{number:04}" for number in range(len(paths))] and len(paths) > 1
        prefix = "RFC PATCH" if folder == "6-can-lin" else "PATCH"
        for number, path in enumerate(paths):
            mail = message(path)
            assert mail["Subject"].replace("\n", "").startswith(f"[{prefix} {number}/{len(paths) - 1}] ")
            assert mail["From"] == str(trees.PERSON) and mail["Date"].datetime.isoformat() == trees.DATE
            assert ("Signed-off-by: Ada Tester <tester@example.org>\n" in path.read_text()) == bool(number)
            assert "***" not in path.read_text()


@pytest.mark.parametrize(
    "folder, to, lists",
    [
        ("1-serial-core", "gregkh", ["linux-serial@vger"]),
        ("2-tty", "gregkh", ["linux-serial@vger", "devicetree@vger"]),
        ("3-tty-more", "gregkh", ["linux-serial@vger"]),
        ("4-chardev", "gregkh", ["linux-serial@vger"]),
        ("5-ptp", "richardcochran", ["netdev@vger", "linux-serial@vger"]),
        ("6-can-lin", "mkl@", ["linux-can@vger"]),
        ("7-lin", "mkl@", ["linux-can@vger", "linux-serial@vger"]),
        ("8-cable", "gregkh", ["linux-serial@vger"]),
    ],
)
def test_who_gets_a_series(folder, to, lists):
    """Each mail goes to the maintainers and the lists that the kernel's MAINTAINERS names, and to no others' lists."""
    for path in trees.mails_of("6.12")[folder]:
        mail = message(path)
        assert to in mail["To"] and all(one in mail["Cc"] for one in lists), path
        assert ("linux-can@" in mail["Cc"]) == ("can" in folder or "lin" in folder) and "linux-kernel@vger" in mail["Cc"]


@both
def test_cover_letters(name):
    """Each states that nothing was tested on hardware, and the kernel version; the fix states what
    it repairs."""
    for folder, paths in trees.mails_of(name).items():
        text = re.sub(r"\s+", " ", paths[0].read_text())
        if folder == FOLDERS[0]:
            assert f"User-mode Linux {name}" in text
        else:
            assert "met hardware yet" in text and f"This series is for Linux {name}." in text
    covers = {folder: re.sub(r"\s+", " ", paths[0].read_text()) for folder, paths in trees.mails_of(name).items()}
    for word in ("counter", "HTE", "pwm", "gpio-cdev"):
        assert f"- {word} " in covers["4-chardev"]
    assert "serdev" in covers["8-cable"] and "nbcon" in covers["3-tty-more"] and "TIOCMIWAIT" in covers["3-tty-more"]
    fix = trees.mails_of(name)[FOLDERS[0]][1].read_text()
    assert re.search(r'(?m)^Fixes: [0-9a-f]{12} \(".*"\)\nCc: stable@vger.kernel.org\nSigned-off-by: ', fix)


def test_the_cover_letters_figures():
    """Figures of the cover letter are those of a page: a received byte at 1 Mbaud, and from them how long an interrupt may last."""
    rows = re.findall(r"(?m)^\| received \| 1,000,000 \|.*$", (ROOT / "docs/benchmarks.md").read_text())
    cells = [[cell.split(",")[0].strip() for cell in row.split("|")] for row in rows]
    least, most = (choose(int(row[column]) for row in cells for column in (5, 7)) for choose in (min, max))
    text = re.sub(r"\s+", " ", trees.mails_of("6.12")["2-tty"][0].read_text())
    (budget,) = re.findall(r"(?m)^#define BUDGET (\d+)u$", (DRIVER / "litepulse_mmio.c").read_text())
    (rate,) = re.findall(r"(?m)^#define INTERRUPTS_MAX\t+(\d+)$", (DRIVER / "litepulse_tty_receive.c").read_text())
    pattern = r"Up to (\d+) received bytes .* at (\d+) MHz, .* costs (\d+) to (\d+) cycles .* are ([\d.]+) ms .* than (\d+) a second"
    found = re.search(pattern, text)
    assert found and [found[1], found[6]] == [budget, rate]
    assert int(found[3]) == least and int(found[4]) == most
    assert abs(float(found[5]) - int(budget) * most / (int(found[2]) * 1000)) < 0.05


@both
def test_what_stands_alone(name, tmp_path):
    """The fix and the encoding apply to a kernel without the other series; the encoding names no maker, and its header is whole."""
    of = trees.kernel(name)
    for folder in ("1-serial-core", "6-can-lin"):
        (series,) = [series for series in trees.series(name).series if series.folder == folder]
        for path in {path for patch in series.patches for path in patch.files}:
            if (of.tree / path).exists():
                mails.place(tmp_path / folder, path, of.text(path))
        env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
        for path in trees.mails_of(name)[folder][1:]:
            subprocess.run(["git", "apply", path.resolve()], cwd=tmp_path / folder, env=env, check=True)
            assert "litepulse" not in path.read_text().lower()
    source = tmp_path / "user.c"
    source.write_text("#include <linux/can.h>\n#include <linux/can_lin.h>\ncanid_t header = CAN_RTR_FLAG | (CAN_LIN_ID_MASK & 1);\n")
    include = tmp_path / "6-can-lin/include/uapi"
    subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "-fsyntax-only", f"-I{include}", source], check=True)


def test_the_same_bytes_each_time(tmp_path):
    """The same sources give the same mails, for any user and with any settings of git."""
    again = mails.write(AllSeries(trees.kernel("6.12"), trees.PERSON, copy_of_driver()), trees.DATE, tmp_path)

    def read(series):
        return {folder: [(path.name, path.read_bytes()) for path in paths] for folder, paths in series.items()}

    assert read(again) == read(trees.mails_of("6.12"))


@both
def test_git_am_takes_the_mails(name, tmp_path):
    """git am makes a commit of each, in the order of the series, and the files are those of the
    last stage."""
    of = trees.kernel(name)
    whole = trees.series(name)
    for path in {path for patch in whole.patches for path in patch.files}:
        if (of.tree / path).exists():
            mails.place(tmp_path, path, of.text(path))
    options = {"date": trees.DATE, "person": trees.PERSON}
    mails.git(tmp_path, "init", "-q", **options)
    mails.git(tmp_path, "add", "-A", "-f", **options)
    mails.git(tmp_path, "commit", "-q", "-m", "base", **options)
    mails.git(tmp_path, "am", "-q", *trees.patches(name), **options)
    assert mails.git(tmp_path, "log", "--format=%s%n%an <%ae>%n%aI", "-1", **options).splitlines() == [
        whole.patches[-1].subject,
        "Ada Tester <tester@example.org>",
        trees.DATE,
    ]
    assert int(mails.git(tmp_path, "rev-list", "--count", "HEAD", **options)) == len(whole.patches) + 1
    for path, text in whole.now.items():
        assert (tmp_path / path).read_text() == text, path
    assert {path.name for path in (tmp_path / PLACE).iterdir()} == {path.rsplit("/", 1)[1] for path in whole.now if path.startswith(PLACE)}


@both
def test_the_table_of_lines(name):
    """The page has the number of lines that each series adds, in hundreds: a twentieth off, or a hundred, is enough to change it."""
    page = (ROOT / "docs/develop/upstream.md").read_text()
    column = list(KERNELS).index(name)
    for folder, paths in trees.mails_of(name).items():
        row = re.search(rf"(?m)^\| `{folder}` \|.*$", page)
        assert row, f"upstream.md has no row for {folder}"
        figures = [int(figure.replace(",", "")) for figure in row[0].split("|")[3:5]]
        lines = sum(added_lines(path.read_text()) for path in paths[1:])
        assert abs(figures[column] - lines) <= max(100, lines // 20), f"{folder}: {lines} lines"


@both
def test_the_table_of_files(name):
    """And the number of lines of the port's own patch, in all and by files: a twentieth off, or 30 lines, is enough to change it."""
    page = (ROOT / "docs/develop/upstream.md").read_text()
    files = added_by_file(trees.mails_of(name)["2-tty"][2])
    (total,) = re.findall(r"a plain serial port on a SoC, has\s+([\d,]+)\s+lines", page)
    (table,) = re.findall(r"(?ms)^\| files .*?\n\|[-|]+\|\n(.*?)\n\n", page)
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
    wanted = {"all": (total, sum(files.values()))}
    for which, figure, _ in rows:
        endings = re.findall(r"`([\w.]+)`", which)
        of = {file for file in files for end in endings if file in {f"litepulse{end}", f"litepulse{end}.c", f"litepulse{end}.h"}}
        wanted[which] = (figure, sum(files.pop(file) for file in (of if endings else {""})))
    assert not files, "no row has them"
    for which, (figure, lines) in wanted.items():
        assert abs(int(figure.replace(",", "")) - lines) <= max(30, lines // 20), f"{which}: {lines} lines"


def command(*words, cwd=ROOT, **environment):
    """(status, output on stderr and on stdout) of the command."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | environment
    done = subprocess.run([sys.executable, "-m", "driver.upstream", *words], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, done.stdout


def test_command(tmp_path):
    """It writes the mails with the sender of git's settings and the date of the latest commit of the driver, in place of older mails."""
    (tmp_path / "6.12/2-tty").mkdir(parents=True)
    (tmp_path / "6.12/2-tty/0099-old.patch").touch()
    (tmp_path / "6.12/2-tty/notes").touch()
    settings = {"user.name": "Some One", "user.email": "one@example.org", "format.subjectPrefix": "WRONG"}
    config = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        config |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    status, errors, printed = command("--kernel", "6.12", "-o", str(tmp_path), **config)
    assert (status, errors) == (0, "")
    assert sorted(path.name for path in (tmp_path / "6.12").iterdir()) == FOLDERS
    names = sorted(path.name for path in (tmp_path / "6.12/2-tty").iterdir())
    assert names == sorted([path.name for path in trees.mails_of("6.12")["2-tty"]] + ["notes"])
    # The mails name what the person who sends them must look up.
    assert re.search(r"(?m)^before you send 1-serial-core: .*Fixes:", printed)
    assert len(printed.splitlines()) == len(FOLDERS) + 1
    mail = message(tmp_path / "6.12/2-tty" / names[1])
    assert mail["From"] == "Some One <one@example.org>" and mail["Subject"].startswith("[PATCH 1/")
    date = subprocess.run(["git", "log", "-1", "--format=%cI", "--", "driver"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert mail["Date"].datetime.isoformat() == date.stdout.strip().replace("Z", "+00:00")


def test_without_a_sender(tmp_path):
    """Without a name or an address in git's settings: one line, exit status 2, and nothing is written."""
    mails.git(tmp_path, "init", "-q")
    for wanted in ("user.name", "user.email"):
        with pytest.raises(SeriesError, match=f"^git knows no {wanted}, which the mails are signed off with: git config {wanted} ...$"):
            sender_without(tmp_path, wanted)


def sender_without(folder, setting):
    """The error of mails.sender() where git has all settings but one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        for name in ("user.name", "user.email"):
            mails.git(folder, "config", name, "x" if name != setting else "")
        return mails.sender(folder)


def refused(edit=None, change=lambda folder: None, name="6.12"):
    """The text of the SeriesError for a changed copy of the driver."""
    folder = copy_of_driver(edit)
    change(folder)
    with pytest.raises(SeriesError) as error:
        AllSeries(trees.kernel(name), trees.PERSON, folder)
    assert "\n" not in str(error.value)
    return str(error.value)


CALLED = "static inline void litepulse_new(int x)\n{\n\tfor (;;)\n\t\tx++;\n}\n\n#endif /* LITEPULSE_COMPAT_H */"


@pytest.mark.parametrize(
    "file, right, wrong, error",
    [
        ("Kbuild", "litepulse_record.o", "litepulse_recording.o", "names litepulse_recording.o, and there is no litepulse_recording.c"),
        ("Kbuild", " litepulse_table.o", "", "litepulse_table.c is part of no module"),
        ("Kbuild", "LITEPULSE_LIN ?=", "LITEPULSE_NEW ?= y\nLITEPULSE_LIN ?=", "LITEPULSE_NEW does what the series does not know"),
        ("Kbuild", "ifneq ($(shell", "ccflags-y += -funroll-loops\nifneq ($(shell", "does not know what -funroll-loops is for"),
        ("Kbuild", "$(if $(CONFIG_CRC_ITU_T)", "$(if $(CONFIG_CRC7)", "Kconfig of option UARTBONE does not name CRC7"),
        ("Kbuild", "obj-m := litepulse_kunit.o", "ifeq (", "driver/Kbuild cannot be read: "),
        (
            "litepulse_time.c",
            '#include "litepulse_time.h"',
            '#include "litepulse_tome.h"',
            "litepulse_tome.h is included, and is not there",
        ),
        ("litepulse_time.c", "\n/**\n", "\n/* docs/none.md */\n/**\n", "refers to docs/none.md, which has no counterpart"),
        ("litepulse_time.c", "\n/**\n", "\n#ifdef LITEPULSE_ODD\n#endif\n/**\n", "it is unknown when LITEPULSE_ODD is defined"),
        ("litepulse_tty_serial.c", "tty_driver->owner =", "tty_driver->other =", "assignments of tty_driver->owner in driver/"),
        ("litepulse_compat.h", "#endif /* LITEPULSE_COMPAT_H */", "typedef int odd;\n\n#endif", "cannot resolve 'typedef int odd;'"),
        ("litepulse_compat.h", "/* LITEPULSE_COMPAT_H */", "", None),
    ],
)
def test_what_it_does_not_know_is_refused(file, right, wrong, error):
    """One line names what the series cannot be made of; unimportant differences are accepted."""
    edit = {file: lambda text: text.replace(right, wrong, 1)}
    if error is None:
        assert AllSeries(trees.kernel("6.12"), trees.PERSON, copy_of_driver(edit)).patches
    else:
        assert error in refused(edit)


def test_a_file_of_no_module_is_refused():
    error = refused(change=lambda folder: (folder / "litepulse_new.h").write_text("\n"))
    assert error == "driver/litepulse_new.h is part of no module"


def test_no_kernel_source(tmp_path):
    status, errors, _ = command("--tree", str(tmp_path), "-o", str(tmp_path / "out"))
    assert status == 2 and errors == f"upstream: {tmp_path} is no kernel source: No such file or directory: Makefile\n"
    assert not (tmp_path / "out").exists()


# --- the texts ---


DRIVER_SOURCE = """#include "part.h"

/* Of the part alone. */
#define PART_ONLY 1

#define BOTH 2

/**
 * struct board - one
 * @used: by both
 * @of_part: by the part
 *	alone
 */
struct board {
\tint used; /* BOTH */
\tint of_part; /* not */
};

static int helper(struct board *b)
{
\treturn b->of_part + PART_ONLY;
}

int for_part(struct board *b)
{
\treturn helper(b);
}
EXPORT_SYMBOL_GPL(for_part);

static int probe(struct board *b)
{
\tint error = start(b);

\tif (error)
\t\treturn error;
\terror = part_add(b);
\tif (error)
\t\tgoto stop;
\tb->used = BOTH;
\treturn 0;

stop:
\tstop(b);
\treturn error;
}
module_init(probe);
"""
PART_HEADER = """#if IS_ENABLED(CONFIG_LITEPULSE_PART)
int part_add(struct board *b);
#else
static inline int part_add(struct board *b)
{
\treturn 0;
}
#endif
"""
WITHOUT_PART = """#define BOTH 2

/**
 * struct board - one
 * @used: by both
 */
struct board {
\tint used; /* BOTH */
};

static int probe(struct board *b)
{
\tint error = start(b);

\tif (error)
\t\treturn error;
\tb->used = BOTH;
\treturn 0;
}
module_init(probe);
"""


def test_what_nothing_uses_is_left_out():
    """Without a part its calls are removed, the labels and code that only they reached, and
    functions, macros and members that only it used."""
    stubs = shake.stubs_of(PART_HEADER, "PART")
    made = shake.without_parts({"a.c": DRIVER_SOURCE, "part.h": PART_HEADER}, {"part.h"}, stubs)
    assert list(made) == ["a.c"] and made["a.c"].lstrip() == WITHOUT_PART
    assert shake.stubs_of(PART_HEADER, "OTHER") == []


def test_what_the_kernel_looks_for_stays():
    """pr_fmt() is for the kernel's headers: no source here uses it, and it stays, with the licence above it."""
    text = "// SPDX\n/* What. */\n#define pr_fmt(fmt) fmt\n#define UNUSED 1\n\nint init(void)\n{\n\treturn 0;\n}\nmodule_init(init);\n"
    assert shake.without_parts({"a.c": text}, set(), []) == {"a.c": text.replace("#define UNUSED 1\n", "")}


def test_cases_of_what_is_missing_are_left_out():
    text = "static int helper(int x)\n{\n\treturn gone(x);\n}\n\nstatic void one(struct kunit *test)\n{\n\thelper(1);\n}\n\n"
    text += "static void two(struct kunit *test)\n{\n\tthere(1);\n}\n\nstatic struct kunit_case cases[] = {\n\tKUNIT_CASE(one),\n"
    text += "\tKUNIT_CASE(two),\n\t{}\n};\nkunit_test_suite(cases);\n"
    made = shake.without_cases(text, {"gone"})
    assert "two" in made and not re.search(r"\b(one|helper|gone)\b", made)


def test_pages_have_the_parts_that_are_there():
    page = "a\n.. if PTP\nb\n.. end\nc\n.. if LIN\nd\n.. end\n"
    assert AllSeries.conditional(page, {"PTP"}, "x.rst") == "a\nb\nc\n"
    with pytest.raises(SeriesError, match=r"^x.rst: a part between"):
        AllSeries.conditional(page + ".. if PTP\n", {"PTP"}, "x.rst")


@pytest.mark.parametrize(
    "expression, given, made",
    [
        ("f(x)", ["a + b"], "f(a + b)"),
        ("x * 2", ["a + b"], "(a + b) * 2"),
        ("x->y.x", ["&s->t"], "s->t.y.x"),
        ("x->y", ["p"], "p->y"),
        ("g(&x->port)", ["&t->x"], "g(&t->x.port)"),
    ],
)
def test_calls_are_replaced(expression, given, made):
    assert c_text.put_in(expression, ["x"], given) == made


def test_statements_are_replaced():
    """Each call by its statements, in the indentation of the call; strings, and parentheses in them, stay whole."""
    text = 'void f(void)\n{\n\tset(&a, "x, (y",\n\t    b);\n\n\tset(c, 1, 2);\n}\n'
    statements = ["one(x, y)", "x->z = k"]
    made = 'void f(void)\n{\n\tone(&a, "x, (y");\n\ta.z = b;\n\n\tone(c, 1);\n\tc->z = 2;\n}\n'
    assert c_text.without_statements(text, "set", ["x", "y", "k"], statements) == made
    assert c_text.without_statements("{\n\tset(a, b);\n}\n", "set", ["x", "y"], []) == "{\n}\n"
    with pytest.raises(SeriesError, match=r"^set\(\) is not called as a statement of its own$"):
        c_text.without_statements("\tif (a) set(a);\n", "set", ["x"], ["g(x)"])


def test_a_condition_goes_with_its_statement():
    """Where a call that is left out is all that a condition guards, the condition goes too; one that does something is refused."""
    text = "{\n\ta();\n\tif (b &&\n\t    c)\n\t\tset(1);\n\td();\n}\n"
    assert c_text.without_statements(text, "set", ["x"], []) == "{\n\ta();\n\td();\n}\n"
    kept = "{\n\tif (b)\n\t\tset(1);\n\td();\n}\n"
    assert c_text.without_statements(kept, "set", ["x"], ["g(x)"]) == kept.replace("set", "g")
    pattern = r"^set\(\) is guarded by what cannot be left out: "
    for odd in ("\tif (b)\n\t\tset(1);\n\telse\n\t\td();\n", "\tif (f(b))\n\t\tset(1);\n", "\telse\n\t\tset(1);\n"):
        with pytest.raises(SeriesError, match=pattern):
            c_text.without_statements(odd, "set", ["x"], [])
    with pytest.raises(SeriesError, match=pattern):
        c_text.without_statements(kept, "set", ["x"], ["g(x)", "h(x)"])


def test_headings_of_nothing_are_left_out():
    made = shake.cleaned({"a.c": "/* --- one --- */\n\n/* --- two --- */\n\nint a;\n\n/* --- three --- */\n"})
    assert made == {"a.c": "/* --- two --- */\n\nint a;\n"}


COMPAT = """#ifndef LITEPULSE_COMPAT_H
#define LITEPULSE_COMPAT_H

#include <linux/string.h>

#define litepulse_name name

struct pair {
\tint a;
};

/* Why. */
static inline int litepulse_first(struct pair *pair)
{
\tint litepulse_name = pair->a;

\treturn memchr_inv(pair, 0, name);
}

#endif /* LITEPULSE_COMPAT_H */
"""
USER = """#include <linux/list.h>

#include "{}"
#include "litepulse_compat.h"

int {}(struct pair *p)
{{
\treturn litepulse_first(p);
}}
"""


def test_functions_that_stay():
    """A function with declarations goes, with its structure, to its only user, else to the header that its users have in common."""
    header = {"x.h": "#ifndef X_H\n#define X_H\n\n#include <linux/types.h>\n\n#endif /* X_H */\n"}
    a, b, other = USER.format("x.h", "a"), USER.format("x.h", "b"), USER.format("y.h", "b")
    one = compat.resolve(header | {"a.c": a}, compat.parse(COMPAT))
    assert one["x.h"] == header["x.h"] and "compat" not in one["a.c"]
    assert "\n#include <linux/list.h>\n#include <linux/string.h>\n" in "\n" + one["a.c"]
    body = "int litepulse_first(struct pair *pair)\n{\n\tint name = pair->a;\n\n\treturn memchr_inv(pair, 0, name);\n}\n"
    assert f"\nstruct pair {{\n\tint a;\n}};\n\n/* Why. */\nstatic {body}" in one["a.c"]
    two = compat.resolve(header | {"a.c": a, "b.c": b}, compat.parse(COMPAT))
    assert f"/* Why. */\nstatic inline {body}" in two["x.h"] and two["x.h"].endswith("\n#endif /* X_H */\n")
    assert "#include <linux/string.h>\n#include <linux/types.h>\n" in two["x.h"] and "Why" not in two["a.c"] + two["b.c"]
    with pytest.raises(
        SeriesError, match=r"^litepulse_compat.h: litepulse_first\(\) cannot go to where it is used: a.c, b.c have no header"
    ):
        compat.resolve({"a.c": a, "b.c": other}, compat.parse(COMPAT))
    with pytest.raises(SeriesError, match="^litepulse_compat.h: no function that stays needs struct pair$"):
        compat.parse(COMPAT.replace("(struct pair *pair)", "(int *pair)"))


def test_long_lines_are_broken():
    line = "\tresult = function_with_a_long_name(first_argument, second_argument(with, two), third_argument, fourth);"
    made = c_text.fitted(line).split("\n")
    assert all(c_text.width(one) <= c_text.COLUMNS for one in made) and len(made) == 2
    assert re.sub(r"\s+", " ", " ".join(made)).strip() == line.strip()
    assert made[1].expandtabs(8).index("third") == line.expandtabs(8).index("(") + 1


# --- what is in the kernel's tree then ---


@both
def test_no_compatibility_code(name):
    """No source tests for a version or for features of another kernel; the header for that is
    gone."""
    ours = {path: text for path, text in trees.series(name).now.items() if path.startswith(PLACE) or path == UAPI}
    assert len(ours) > 25 and not any("compat" in path for path in ours)
    conditional = re.compile(r"LINUX_VERSION|KERNEL_VERSION|litepulse_compat|_HAS_|LITEPULSE_VERSION\b|\bdocs/|tty_driver->owner")
    assert not {path: found[0] for path, text in ours.items() if (found := conditional.search(text))}
    wrappers = set(re.findall(r"static inline [\w\s*]*?\b(litepulse_\w+)\(", (DRIVER / compat.NAME).read_text()))
    assert len(wrappers) > 3
    moved = {wrapper for wrapper in wrappers for text in ours.values() if re.search(rf"^static .*\b{wrapper}\(", text, re.M)}
    used = {word for text in ours.values() for word in c_text.words(text)}
    assert used & wrappers == moved, "a wrapper is called that is not defined"


def test_each_kernel_has_its_own_calls():
    """6.12 has hrtimer_init() and from_timer(), 7.2 hrtimer_setup() and timer_container_of(); neither has the other's."""
    old, new = ("".join(text for path, text in trees.series(name).now.items() if path.startswith(PLACE)) for name in NAMES)
    for word, where in {"hrtimer_init(": old, "from_timer(": old, "hrtimer_setup(": new, "timer_container_of(": new}.items():
        assert word in where and word not in (new if where is old else old), word
    assert "supported_extts_flags" in new and "supported_extts_flags" not in old


@both
def test_every_source_is_in_one_patch(name):
    """After all series the driver is there, whole: each file is, and each function of it."""
    now = trees.series(name).now
    names = {path.name for path in DRIVER.glob("*.[ch]") if not path.name.endswith(".mod.c")} - {compat.NAME}
    there = {path.removeprefix(f"{PLACE}/"): text for path, text in now.items() if path.startswith(PLACE) and path.endswith((".c", ".h"))}
    assert {"litepulse_kunit.c" if file == "litepulse_test.c" else file for file in names} == set(there)
    for file in sorted(names):
        source = (DRIVER / file).read_text()
        made = there["litepulse_kunit.c" if file == "litepulse_test.c" else file]
        # Only modules from outside of the kernel call this one.
        assert c_text.definitions(source) - c_text.words(made) <= {"litepulse_output_answer"}, file
        assert re.findall(r"KUNIT_CASE\((\w+)\)", source) == re.findall(r"KUNIT_CASE\((\w+)\)", made)
        exported = {function for function in re.findall(r"EXPORT_SYMBOL_NS_GPL\((\w+),", source)} - {"litepulse_output_answer"}
        assert exported == set(re.findall(r"EXPORT_SYMBOL_NS_GPL\((\w+), ", made)), file
    for path, source in {UAPI: "uapi/linux/litepulse.h", ENCODING: "uapi/linux/can_lin.h"}.items():
        strip = re.compile(r"/\*.*?\*/", re.DOTALL)
        assert strip.sub("", now[path]).split() == strip.sub("", (DRIVER / source).read_text()).split()


@both
def test_nothing_is_there_before_it_is_used(name):
    """No patch defines a function or a structure of the driver that only a later one uses."""
    for patch in trees.series(name).patches:
        files = dict(trees.series(name).tree(patch.stage))
        files = {path: text for path, text in files.items() if path.startswith(PLACE) and path.endswith((".c", ".h"))}
        words = [word for text in files.values() for item in shake.parse(text) for word in item.words]
        prototype = re.compile(r"(?m)^[a-z][\w \t\n*]*?\b(litepulse_\w+)\([^;{]*\);")
        for path, text in files.items():
            for function in c_text.definitions(text):
                uses = [other for other, source in files.items() if function in c_text.words(prototype.sub("", source)) and other != path]
                within = len(re.findall(rf"\b{function}\b(?! - )", c_text.COMMENT.sub("", text)))
                assert uses or within > 1, f"{patch.subject}: {function}() of {path}"
        assert words or not files


@both
def test_each_condition_has_its_statement(name):
    """After each patch a condition without braces has a statement of its own: the next one does not become it."""
    for patch in trees.series(name).patches:
        for path, text in trees.series(name).tree(patch.stage).items():
            if not (path.startswith(PLACE) and path.endswith(".c")):
                continue
            for found in re.finditer(r"(?m)^(\t+)(?:if|for|while) (\(.*\))\n(\t*)[^\t\n]", text):
                whole = found[2].count("(") == found[2].count(")")
                assert not whole or len(found[3]) > len(found[1]), f"{patch.subject}: {path}: {found[0]}"
            assert not re.search(r"(?m)^/\* --- .* --- \*/\n\n*(/\* --- |\Z)|\b0 \?: ", text), f"{patch.subject}: {path}"


@both
def test_lists_of_what_a_stage_is(name):
    """Each feature is brought by one patch, and the stages have what they are named for."""
    brought = [feature for series in MESSAGES["series"] for patch in series["patch"] for feature in patch.get("adds", ())]
    assert len(brought) == len(set(brought))
    stages = {patch.subject: trees.series(name).tree(patch.stage) for patch in trees.series(name).patches}
    base = stages["serial: litepulse: add a driver for LitePulse serial ports"]
    text = "".join(source for path, source in base.items() if path.startswith(PLACE))
    later = ("litepulse_chardev", "litepulse_ptp", "trace_litepulse_launch", "litepulse_lin_net", "debugfs", "pm_sleep_ptr")
    for word in (*later, "console_", "tty_operations"):
        assert word not in text, word
    assert UAPI not in base and f"{PLACE}/litepulse_abi.h" in base
    after = stages["serial: litepulse: add a character device"]
    assert UAPI in after and f"{PLACE}/litepulse_abi.h" not in after


def documented():
    """{attribute: path} of ABI/testing."""
    text = (HERE / "tree" / SYSFS).read_text()
    return {path.rsplit("/", 1)[1]: path for path in re.findall(r"(?m)^What:\t+(\S+)$", text)}


def attributes(folder=DRIVER):
    """Names of the attributes in sysfs that the sources define."""
    text = "".join(c_text.COMMENT.sub("", path.read_text()) for path in sorted(folder.glob("*.c")))
    found = set(re.findall(r"\bDEVICE_ATTR_(?:RO|RW|WO)\((\w+)\)|\bDEVICE_ATTR\((\w+),|\b__ATTR(?:_RO|_RW)?\((\w+)[,)]", text))
    return {name for names in found for name in names if name}


def test_each_attribute_is_documented(tmp_path):
    """ABI/testing has an entry for each attribute of the sources, and for the folder responses, whose files are made at run time."""
    assert len(attributes()) > 12 and set(documented()) - {"<id>"} == attributes()
    assert documented()["<id>"].endswith("/responses/<id>") and '"responses"' in "".join(path.read_text() for path in DRIVER.glob("*.c"))
    (tmp_path / "new.c").write_text("static DEVICE_ATTR_RW(unheard_of);\n/* DEVICE_ATTR_RO(no) */\n")
    assert attributes(tmp_path) == {"unheard_of"}


@pytest.mark.parametrize("name", NAMES[:1])
def test_entries_of_sysfs_are_valid(name, tmp_path):
    """The kernel's own get_abi.pl reads them without a message, and reports a fault in a
    control."""
    tool = trees.kernel(name).tree / "scripts/get_abi.pl"

    def validate(text):
        (tmp_path / "sysfs-driver-litepulse").write_text(text)
        done = subprocess.run(["perl", tool, f"--dir={tmp_path}", "validate"], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    text = (HERE / "tree" / SYSFS).read_text()
    assert validate(text) == (0, "")
    status, output = validate(text + text)
    assert status or "duplicated" in output or "defined" in output


@both
def test_the_ioctl_number_is_listed(name):
    """The row has the number of the interface and a range that holds all commands, between the right neighbours."""
    text = trees.series(name).now["Documentation/userspace-api/ioctl/ioctl-number.rst"]
    header = (DRIVER / "uapi/linux/litepulse.h").read_text()
    (first, last), *more = re.findall(r"(?m)^0xD1  ([0-9A-F]{2})-([0-9A-F]{2})  uapi/linux/litepulse\.h +LitePulse", text)
    assert not more and "#define LITEPULSE_IOC_MAGIC 0xd1" in header
    commands = [int(number, 16) for number in re.findall(r"\(LITEPULSE_IOC_MAGIC, (0x[0-9a-f]+)", header)]
    assert len(commands) > 14 and int(first, 16) <= min(commands) and max(commands) <= int(last, 16)
    codes = [int(code, 16) for code in re.findall(r"(?m)^0x([0-9A-F]{2})  ", text)]
    assert codes == sorted(codes)


@both
def test_maintainers(name):
    """After each patch its entry names all files of ours; it is at its place, in order, and get_maintainer.pl reads it."""
    tree = trees.kernel(name).tree
    text = ""
    for patch in trees.series(name).patches:
        files = trees.series(name).tree(patch.stage)
        # Of the encoding, and its page, the maintainers of CAN decide.
        ours = [file for file in files if not (tree / file).exists() and file != ENCODING and "networking/" not in file]
        if not ours:
            continue
        text = files["MAINTAINERS"]
        section = re.search(r"(?ms)^LITEPULSE SERIAL PORT DRIVER\n(.*?)\n\n(\S.*?)\n", text)
        patterns = re.findall(r"(?m)^F:\t(.*)$", section[1])
        assert section[2] == "LITEX PLATFORM" and patterns == sorted(patterns)
        missing = [file for file in ours if not any(file == one or one.endswith("/") and file.startswith(one) for one in patterns)]
        unused = [one for one in patterns if not any(file.startswith(one) for file in ours)]
        assert not missing and not unused, f"{patch.subject}: {missing} {unused}"
    folder = run_folder("maintainers")
    (folder / "MAINTAINERS").write_text(text)
    command = ["perl", tree / "scripts/get_maintainer.pl", "--no-git", "--no-tree", f"--mpath={folder}/MAINTAINERS", "-f"]
    for file in (BINDING, f"{PLACE}/litepulse_core.c"):
        (folder / file).parent.mkdir(parents=True)
        (folder / file).write_text(trees.series(name).now[file])
        done = subprocess.run([*command, file], cwd=folder, capture_output=True, text=True, check=False)
        assert "Ada Tester <tester@example.org> (maintainer:LITEPULSE SERIAL PORT DRIVER" in done.stdout, done


# What checkpatch says of each patch that adds a file outside MAINTAINERS: the question that test_maintainers answers. And of a commit
# that Fixes: names, where there is no git history of the kernel: the command says what must be looked up.
ANSWERED_ELSEWHERE = "FILE_PATH_CHANGES,UNKNOWN_COMMIT_ID"
# The driver's own copy of the serial core's operations differs from it in some calls: it cannot be constant.
KNOWN = r"WARNING:CONST_STRUCT: struct tty_operations should normally be const"
# TRACE_EVENT() is laid out as everywhere in the kernel; test_builds.py looks at the other files.
LAYOUT = r"CHECK:(OPEN_ENDED_LINE|PARENTHESIS_ALIGNMENT): "


def checkpatch(tree, *paths):
    """The output of a kernel's checkpatch --strict for mails."""
    command = [
        "perl",
        tree / "scripts/checkpatch.pl",
        "--strict",
        "--terse",
        "--show-types",
        "--no-summary",
        f"--ignore={ANSWERED_ELSEWHERE}",
    ]
    done = subprocess.run([*command, *paths], cwd=tree, capture_output=True, text=True, check=False)
    return [line for line in (done.stdout + done.stderr).splitlines() if line]


@both
@pytest.mark.seconds(15)
def test_checkpatch(name, tmp_path):
    """checkpatch --strict of the same kernel finds nothing in a patch but the exceptions above, and
    finds a fault in a control."""
    paths = trees.patches(name)
    with trees.applied(name) as tree:
        found = [line for line in checkpatch(tree.path, *paths) if not re.search(LAYOUT, line)]
    assert [line for line in found if not re.search(KNOWN, line)] == [] and len(found) <= 2
    wrong = tmp_path / "wrong.patch"
    wrong.write_text(paths[0].read_text().replace("+\tnormal->owner\t\t= ", "+\tnormal->owner \t\t="))
    assert any(":SPACING:" in line or ":SPACE_BEFORE_TAB:" in line for line in checkpatch(trees.kernel(name).tree, wrong))


# --- building ---


@both
@pytest.mark.seconds(90)
def test_each_patch_builds(name):
    """After each patch of each series the driver builds, with all its options, by W=1 and sparse
    without a message."""
    with trees.fresh(name) as tree:
        tree.configure([])
        tree.must("modules_prepare")
        core = "drivers/tty/serial/serial_core.o"
        known = [without_place(fault) for fault in tree.build(core)[0]]
        seen = set()
        for path, patch in zip(trees.patches(name), trees.series(name).patches, strict=True):
            tree.apply(path)
            if CORE in patch.files:
                # Of the serial core sparse has something to say, the same as without us.
                faults, output = tree.build(core)
                assert [without_place(fault) for fault in faults if core[:-2] in fault] in (known, []), output
                faults = [fault for fault in faults if core[:-2] not in fault]
            elif any(file.startswith(PLACE) for file in patch.files):
                tree.configure([option for option in trees.options(name) if kconfig_has(tree, option)])
                faults, output = tree.build(f"{PLACE}/")
                seen |= set(re.findall(rf"(?m)^\s+CHECK\s+{PLACE}/(\w+)\.c$", output))
            else:
                continue  # pages, programs and a header that no source includes yet
            assert not faults, f"{patch.subject}\n{output}"
        assert seen == {file.stem for file in (tree.path / PLACE).glob("*.c")}
        # Built in, too.
        tree.configure(trees.options(name), "y")
        faults, output = tree.build(f"{PLACE}/")
        assert not faults, output
        # A control: both compiler and sparse are heard.
        with open(tree.path / PLACE / "litepulse_time.c", "a", encoding="utf-8") as file:
            file.write("\nint litepulse_fault(__le32 x)\n{\n\treturn x + 1;\n}\n")
        faults, output = tree.build(f"{PLACE}/litepulse_time.o")
        assert any("no previous prototype" in line for line in faults) and any("degrades to integer" in line for line in faults), output


def without_place(fault):
    """A fault without the number of its line."""
    return re.sub(r":\d+:\d+:", ":", fault)


def kconfig_has(tree, option):
    """Has the driver's Kconfig this option by now?"""
    text = (tree.path / PLACE / "Kconfig").read_text()
    return f"config {SYMBOL}{'_' * bool(option)}{option}\n" in text


@both
def test_bindings_are_valid(name):
    """The binding in the series is the driver's, with the sender as its maintainer, and it refers to the kernel's bindings."""
    text = trees.series(name).now[BINDING]
    ours = (DRIVER / "bindings/serial/litex,litepulse.yaml").read_text()
    assert text.replace(str(trees.PERSON), "X") == re.sub(r"(?m)(?<=^maintainers:\n  - ).*$", "X", ours)
    theirs = trees.kernel(name).tree / "Documentation/devicetree/bindings/serial"
    for reference in ("serial.yaml", "rs485.yaml"):
        assert f"- $ref: {reference}#\n" in text and (theirs / reference).exists()


@both
def test_kernel_doc(name):
    """The kernel's own kernel-doc finds no fault in the interface, which the documentation includes."""
    tree = trees.kernel(name).tree
    tool = next(path for path in (tree / "scripts/kernel-doc", tree / "tools/docs/kernel-doc") if path.exists())

    def faults_of(text):
        path = run_folder("kernel-doc") / "litepulse.h"
        path.write_text(text)
        runner = [sys.executable] if tool.read_text(errors="replace").startswith("#!/usr/bin/env python3") else ["perl"]
        env = {**os.environ, "srctree": str(tree)}
        done = subprocess.run([*runner, tool, "-none", path], cwd=tree, env=env, capture_output=True, text=True, check=False)
        return [line for line in done.stderr.splitlines() if re.search("warning|error", line, re.I)]

    text = trees.series(name).now[UAPI]
    assert faults_of(text) == []
    assert faults_of(text.replace(" * @tick: when,", " * @tock: when,"))


# --- what it makes works ---


def guest_files(*names):
    """{name in the guest: path} of modules of the series, the board, and the selftest."""
    built = rig.modules()
    return {f"{name}.ko": built[name] for name in names} | {"echo_board.ko": rig.echo_board(), "chardev": rig.selftest()}


@pytest.mark.seconds(60)
def test_selftests():
    """The kselftests pass on a board without hardware, in the kernel with KASAN and lockdep; without a device they are skipped."""
    jobs = ["run /chardev", "insmod litepulse.ko", "insmod echo_board.ko", "run /chardev", "rmmod echo_board", "rmmod litepulse", "leaks"]
    run = boot(jobs, guest_files("litepulse"))
    assert not run.complaints, run.log
    skipped, plan = rig.tap(run.lines(0))
    assert plan == len(skipped) >= 12 and all(is_skipped for _, _, is_skipped in skipped), run.log
    results, again = rig.tap(run.lines(3))
    assert again == plan and all(passed and not is_skipped for passed, _, is_skipped in results), run.log
    assert [name for _, name, _ in results] == [name for _, name, _ in skipped]
    assert run.status[1:] == [0] * 6, run.log


@pytest.mark.seconds(30)
def test_selftests_notice_a_fault():
    """A control: on a board that does not show that its train runs, the train cannot be read back, and all else passes."""
    jobs = ["insmod litepulse.ko", "insmod echo_board.ko hide_train=1", "run /chardev"]
    run = boot(jobs, guest_files("litepulse"))
    results, _ = rig.tap(run.lines(2))
    failed = [name for passed, name, _ in results if not passed]
    assert failed == ["device.train_can_be_read_back"] and run.status[2], run.log


@pytest.mark.seconds(30)
def test_kunit():
    """The KUnit tests of the series run as a module of their own, on functions of the driver's modules."""
    names = ("litepulse", "litepulse_uartbone", "litepulse_lin", "litepulse_kunit")
    jobs = [*(f"insmod {name}.ko" for name in names), *(f"rmmod {name}" for name in reversed(names)), "leaks"]
    run = boot(jobs, guest_files(*names))
    assert run.status == [0] * len(jobs) and not run.complaints, run.log
    results = kunit_results(run.lines(3))
    cases = re.findall(r"KUNIT_CASE\((\w+)\)", (DRIVER / "litepulse_test.c").read_text())
    assert len(cases) > 10 and {name.rsplit(".", 1)[1]: result for name, result in results.items()} == dict.fromkeys(cases, "PASS")


@pytest.mark.seconds(180)
def test_kernel_with_the_series():
    """A kernel made from the series boots, and its own modules pass the kselftests.

    While a tty is open its driver's module stays. Without the patch of the serial core the module goes: that is what the patch is for.
    """
    folder = rig.guest()
    files = {f"{name}.ko": folder / f"{name}.ko" for name in ("litepulse", "echo_board")} | {"chardev": rig.selftest(), "hold": rig.hold()}
    load = ["insmod litepulse.ko", "insmod echo_board.ko"]
    run = boot([*load, "run /chardev", "run /hold 1", "insmod litepulse.ko", "rmmod litepulse"], files, built=Kernel(folder / "fixed"))
    assert run.status == [0] * 6 and not run.complaints, run.log
    results, plan = rig.tap(run.lines(2))
    assert plan == len(results) >= 12 and all(passed and not is_skipped for passed, _, is_skipped in results), run.log
    unfixed = boot([*load, "run /hold 0"], files, built=Kernel(folder / "unfixed"))
    assert re.search(r"(?m)^litepulse: 0$", unfixed.log), unfixed.log
