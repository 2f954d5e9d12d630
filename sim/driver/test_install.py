# SPDX-License-Identifier: BSD-2-Clause
"""Installing and removing the driver: into a folder, for real kernels' headers; what is refused, and how."""

import os
import shutil
import subprocess

import pytest

from litepulse import __version__
from sim.cocotb_rig import run_folder
from sim.guest.driver_tree import DRIVER, driver_copy
from sim.guest.kernel_kits import kernel_kit

LINE = "6.12"
RULES = "etc/udev/rules.d/70-litepulse.rules"
ATTACH = ["etc/systemd/system/litepulse-attach@.service", "etc/udev/rules.d/71-litepulse-attach.rules"]
MODULES = ("litepulse.ko", "litepulse_uartbone.ko", "litepulse_lin.ko")
EXTRA = ("install.sh", "dkms.conf", *(os.path.basename(name) for name in (RULES, *ATTACH)))


def tree(*name):
    """A copy of all of driver/ that installing needs."""
    folder = driver_copy(*name)
    for file in EXTRA:
        shutil.copy(DRIVER / file, folder)
    return folder


def make(folder, *arguments, programs=None, **variables):
    """(exit status, lines of both outputs) of the driver's own Makefile for the kernel of LINE. `programs` come first in PATH."""
    kit = kernel_kit(LINE)
    env = dict(kit.environment)
    if programs:
        env["PATH"] = f"{programs}{os.pathsep}{env['PATH']}"
    settings = {"KERNEL": kit.release, "KDIR": kit.headers, **variables}
    result = subprocess.run(
        ["make", "--no-print-directory", "-s", "-C", folder, *(f"{k}={v}" for k, v in settings.items()), *arguments],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return result.returncode, result.stdout.splitlines()


def files(folder):
    """Paths of all files below `folder`, relative to it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def ours(lines):
    """The lines that the driver's own script wrote."""
    return [line.removeprefix("litepulse: ") for line in lines if line.startswith("litepulse: ")]


def program(folder, name, script):
    """Puts a shell script where it is found as a program."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def built(request):
    """driver/ with litepulse.ko, built by the driver's own Makefile. Tests that change it take a copy."""
    folder = tree("installed")
    status, lines = make(folder)
    assert status == 0 and all((folder / name).exists() for name in MODULES), "\n".join(lines)
    return folder


@pytest.mark.seconds(8)
def test_install_and_uninstall(built):
    root = run_folder("root")
    release = kernel_kit(LINE).release
    modules = [f"lib/modules/{release}/updates/{name}" for name in MODULES]
    for _ in range(2):  # again over itself
        status, lines = make(built, "install", DESTDIR=root)
        assert status == 0, lines
        assert files(root) == sorted([RULES, *modules])
    assert ours(lines)[: len(modules) + 1] == [*(f"installed {root}/{module}" for module in modules), f"installed {root}/{RULES}"]
    assert (root / RULES).read_bytes() == (DRIVER / "70-litepulse.rules").read_bytes()
    for module in modules:
        assert (root / module).stat().st_mode & 0o777 == 0o644
        sections = subprocess.run(["readelf", "-SW", root / module], capture_output=True, text=True, check=True).stdout
        assert ".modinfo" in sections and ".debug_info" not in sections
        assert (
            subprocess.run(["modinfo", "-F", "version", root / module], capture_output=True, text=True, check=True).stdout.strip()
            == __version__
        )
    other = root / "lib/modules/1.2.3/updates/other.ko"
    other.parent.mkdir(parents=True)
    other.touch()
    status, lines = make(built, "uninstall", DESTDIR=root)
    assert status == 0 and ours(lines) == [*(f"removed {root}/{module}" for module in modules), f"removed {root}/{RULES}"]
    assert files(root) == ["lib/modules/1.2.3/updates/other.ko"]
    status, lines = make(built, "uninstall", DESTDIR=root)
    assert status == 0 and ours(lines) == ["nothing of it is installed"]


@pytest.mark.seconds(8)
def test_attach_by_itself(built):
    """Rule and unit are installed only on request, with the command; all of it is removed again."""
    root, programs = run_folder("root"), program(run_folder("bin"), "litepulse", "true")
    command = programs / "litepulse"
    for variables in ({"LITEPULSE": command}, {"programs": programs}):
        status, lines = make(built, "install", DESTDIR=root, ATTACH=1, **variables)
        assert status == 0, lines
        assert ours(lines)[len(MODULES) + 1 :][:2] == [
            f"installed {root}/{ATTACH[1]}",
            f"installed {root}/{ATTACH[0]}, which runs {command} as root",
        ]
        unit = (root / ATTACH[0]).read_text()
        assert f"\nExecStart={command} attach --foreground %f\n" in unit and "@PROGRAM@" not in unit
        assert (root / ATTACH[1]).read_bytes() == (DRIVER / "71-litepulse-attach.rules").read_bytes()
        assert all((root / name).stat().st_mode & 0o777 == 0o644 for name in ATTACH)
        assert set(ATTACH) < set(files(root)) and not [name for name in files(root) if "/." in name]
        status, lines = make(built, "uninstall", DESTDIR=root)
        assert status == 0 and not files(root) and f"removed {root}/{ATTACH[0]}" in ours(lines)
    if os.geteuid() == 0:
        os.chown(command, 65534, 65534)
        status, lines = make(built, "install", DESTDIR=root, ATTACH=1, LITEPULSE=command)
        message = "can do what root can: LITEPULSE= names another program"
        assert status == 0 and f"so nobody, who can change {command}, {message}" in ours(lines)
        # A user who can write to a folder above the program can replace the program.
        os.chown(command, 0, 0)
        os.chmod(command.parent, 0o777)
        status, lines = make(built, "install", DESTDIR=root, ATTACH=1, LITEPULSE=command)
        assert status == 0 and f"so others than root, who can change {command.parent} (mode 777), {message}" in ours(lines)


@pytest.mark.seconds(8)
@pytest.mark.parametrize(
    "variables, message",
    [
        ({"ATTACH": "yes"}, "ATTACH=yes: 1 attaches boards as they are plugged in, nothing else has a meaning"),
        ({"ATTACH": 1}, "ATTACH=1: there is no command litepulse to attach boards with: make setup, or LITEPULSE=/path/of/litepulse"),
        ({"ATTACH": 1, "LITEPULSE": "/etc/passwd"}, "ATTACH=1: /etc/passwd is no program"),
        ({"ATTACH": 1, "LITEPULSE": "/nowhere/litepulse"}, "ATTACH=1: /nowhere/litepulse is no program"),
        ({"ATTACH": 1, "LITEPULSE": "a%sh"}, "ATTACH=1: systemd cannot run '{folder}/a%sh': install the command elsewhere"),
    ],
)
def test_attach_without_a_command(built, variables, message):
    root = run_folder("root")
    script, folder = run_folder("tree"), run_folder("bin")
    for name in (*EXTRA, *MODULES):
        shutil.copy(built / name, script)
    shutil.copy("/bin/true", folder / "a%sh")
    if variables.get("LITEPULSE") == "a%sh":
        variables = {**variables, "LITEPULSE": str(folder / "a%sh")}
    env = {
        **kernel_kit(LINE).environment,
        "KERNEL": kernel_kit(LINE).release,
        "DESTDIR": str(root),
        "PATH": "/usr/bin:/bin:/usr/sbin",
        **{name: str(value) for name, value in variables.items()},
    }
    result = subprocess.run(["sh", script / "install.sh", "install"], env=env, capture_output=True, text=True, check=False)
    assert result.returncode == 2 and not files(root)
    assert result.stderr == f"litepulse: {message.format(folder=folder)}\n"


@pytest.mark.seconds(8)
def test_without_the_line_discipline(built):
    """A module that was not built is not installed, and an earlier one does not stay."""
    root, copy = run_folder("root"), run_folder("copy")
    folder = f"lib/modules/{kernel_kit(LINE).release}/updates"
    for name in (*EXTRA, *MODULES):
        shutil.copy(built / name, copy)
    env = {**kernel_kit(LINE).environment, "KERNEL": kernel_kit(LINE).release, "DESTDIR": str(root)}
    for left in (MODULES, MODULES[:1]):
        for name in set(MODULES) - set(left):
            (copy / name).unlink()
        subprocess.run(["sh", copy / "install.sh", "install"], env=env, check=True, capture_output=True)
        assert files(root) == sorted([RULES, *(f"{folder}/{name}" for name in left)])


@pytest.mark.seconds(8)
def test_uninstall_for_all_kernels_and_packings(built):
    root = run_folder("root")
    packed = ("litepulse.ko", "litepulse_uartbone.ko.zst", "litepulse_lin.ko.gz")
    for release, name in (("6.1.0-50-amd64", "litepulse.ko.xz"), *(("6.12.9", name) for name in packed)):
        path = root / "lib/modules" / release / "updates" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    status, _ = make(built, "uninstall", DESTDIR=root)
    assert status == 0 and not files(root)


@pytest.mark.seconds(8)
def test_signing(built):
    root, keys = run_folder("root"), run_folder("keys")
    subprocess.run(
        [
            "openssl",
            "req",
            "-new",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=test/",
            "-days",
            "2",
            "-outform",
            "DER",
            "-keyout",
            keys / "key",
            "-out",
            keys / "cert",
        ],
        check=True,
        capture_output=True,
    )
    status, lines = make(
        built,
        "install",
        DESTDIR=root,
        SIGN_KEY=keys / "key",
        SIGN_CERT=keys / "cert",
        programs=program(keys / "bin", "mokutil", "echo SecureBoot enabled"),
    )
    assert status == 0, lines
    for name in MODULES:
        module = root / f"lib/modules/{kernel_kit(LINE).release}/updates/{name}"
        assert module.read_bytes().endswith(b"~Module signature appended~\n")
    assert not any("Secure Boot" in line for line in lines)
    for wrong, message in (
        ({"SIGN_KEY": keys / "key"}, "SIGN_KEY without SIGN_CERT"),
        ({"SIGN_CERT": keys / "cert"}, "SIGN_CERT without SIGN_KEY"),
        ({"SIGN_KEY": keys / "none", "SIGN_CERT": keys / "cert"}, f"cannot read {keys}/none and {keys}/cert"),
    ):
        before = files(root)
        status, lines = make(built, "install", DESTDIR=root, **wrong)
        assert status == 2 and ours(lines) == [message] and files(root) == before


@pytest.mark.seconds(8)
@pytest.mark.parametrize("state, warned", [("SecureBoot enabled", True), ("SecureBoot disabled", False)])
def test_secure_boot(built, state, warned):
    root = run_folder("root")
    status, lines = make(built, "install", DESTDIR=root, programs=program(run_folder("bin"), "mokutil", f"echo {state}"))
    assert status == 0
    assert any(line.startswith("Secure Boot is on and the modules are not signed") for line in ours(lines)) == warned


@pytest.mark.parametrize(
    "variables, message",
    [
        (
            {"KERNEL": "6.12.9-unknown", "KDIR": "/nonexistent/build"},
            "no headers of kernel 6.12.9-unknown (there is no /nonexistent/build/Makefile): "
            "install the package linux-headers-6.12.9-unknown",
        ),
        ({"KERNEL": "5.10.0-9-amd64"}, "kernel 5.10.0-9-amd64 is too old: 6.1 is the oldest that will do"),
        ({"KERNEL": "6.0.1"}, "kernel 6.0.1 is too old: 6.1 is the oldest that will do"),
        ({"KERNEL": "next"}, "next is no release of a kernel"),
    ],
)
@pytest.mark.parametrize("target", ["modules", "install"])
def test_no_headers(variables, message, target):
    folder = tree()
    status, lines = make(folder, target, DESTDIR=run_folder("root"), **variables)
    assert status == 2 and ours(lines) == [message], lines
    assert not list(folder.glob("*.o"))


def test_package_by_distribution(built):
    """The name of the package is the distribution's."""
    text = (DRIVER / "install.sh").read_text()
    for system, package in (
        ("ID=ubuntu\nID_LIKE=debian", "linux-headers-6.12.9"),
        ("ID=fedora", "kernel-devel-6.12.9"),
        ("ID=arch", "linux-headers"),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"', "kernel-default-devel"),
    ):
        folder = run_folder("release")
        (folder / "os-release").write_text(system)
        script = folder / "install.sh"
        script.write_text(text.replace("/etc/os-release", str(folder / "os-release")))
        shutil.copy(DRIVER / "dkms.conf", folder)
        env = {**os.environ, "KERNEL": "6.12.9", "KDIR": "/nonexistent"}
        result = subprocess.run(["sh", script, "check"], env=env, capture_output=True, text=True, check=False)
        assert result.returncode == 2 and result.stderr.endswith(f"install the package {package}\n"), result.stderr


@pytest.mark.seconds(8)
def test_module_of_another_kernel(built):
    script = DRIVER / "install.sh"
    copy = run_folder("other")
    for file in ("litepulse.ko", "dkms.conf", "70-litepulse.rules"):
        shutil.copy(built / file, copy)
    shutil.copy(script, copy)
    root = run_folder("root")
    result = subprocess.run(
        ["sh", copy / "install.sh", "install"],
        env={**os.environ, "KERNEL": "6.12.9", "DESTDIR": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    release = kernel_kit(LINE).release
    assert result.returncode == 2 and not files(root)
    assert result.stderr == f"litepulse: litepulse.ko is for kernel {release}, not 6.12.9: make -C {copy}\n"


@pytest.mark.seconds(8)
def test_not_root(built):
    """Without DESTDIR it would change the system, which only root may."""
    programs = program(run_folder("bin"), "id", "echo 1000")
    for target in ("install", "uninstall", "dkms", "dkms-remove"):
        status, lines = make(built, target, programs=programs)
        assert status == 2 and ours(lines) == [f"this changes the system: run it as root (sudo make -C {built} {target})"]


def test_clean():
    """Also without headers; and no source is removed."""
    folder = tree()
    before = files(folder)
    for name in ("x.o", ".x.o.cmd", "litepulse.mod.c", "litepulse.ko", "Module.symvers", "modules.order", ".module-common.o"):
        (folder / name).touch()
    status, lines = make(folder, "clean", KDIR="/nonexistent")
    assert status == 0 and files(folder) == before, lines


@pytest.mark.seconds(12)
def test_dkms_source_builds(built):
    """DKMS gets all sources: they build there, by the command of dkms.conf."""
    root = run_folder("root")
    status, lines = make(built, "dkms", DESTDIR=root)
    source = root / "usr/src" / f"litepulse-{__version__}"
    assert status == 0 and ours(lines) == [f"installed {source}", f"installed {root}/{RULES}"]
    assert not list(source.rglob("*.ko")) and not list(source.rglob("*.mod.c"))
    kit = kernel_kit(LINE)
    # dkms.conf is a shell script; dkms puts KERNELRELEASE= of its own after the first word of MAKE.
    script = (
        '. ./dkms.conf; [ "${#BUILT_MODULE_NAME[@]}" = 3 ]; ${MAKE[0]/make/make KERNELRELEASE=$kernelver}; '
        'for name in "${BUILT_MODULE_NAME[@]}"; do [ -e "$name.ko" ]; done; [ "${#DEST_MODULE_LOCATION[@]}" = 3 ]; '
        'kernel_source_dir=/nowhere; unset BUILT_MODULE_NAME; . ./dkms.conf; [ "${#BUILT_MODULE_NAME[@]}" = 2 ]'
    )
    result = subprocess.run(
        ["bash", "-euc", script],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
        env={**kit.environment, "kernelver": kit.release, "kernel_source_dir": str(kit.headers)},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    status, lines = make(built, "dkms-remove", DESTDIR=root)
    assert status == 0 and not files(root)
