# SPDX-License-Identifier: BSD-2-Clause
"""`make fresh-machine` without a network: arguments, what runs in the machine, the table, and that nothing is left of a killed run."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sim import fresh_machine
from sim.cocotb_rig import ROOT
from sim.fresh_machine import FreshMachineError, Log, Machine, Row, Runs


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("demo", [["demo"]]),
        ("demo test-all", [["demo"], ["test-all"]]),
        ("demo test ARGS='sim/house -k \"a or b\"' JOBS=2 demo", [["demo"], ["test", 'ARGS=sim/house -k "a or b"', "JOBS=2"], ["demo"]]),
    ],
)
def test_commands(text, wanted):
    assert fresh_machine.commands_of(text) == wanted


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["--release", "buster"], "'buster'"),
        (["--commands", ""], "no command is given"),
        (["--commands", "ARGS=x demo"], "'ARGS=x' comes before any target"),
        (["--commands", "demo; reboot"], "'demo;' is neither a target of make nor a variable"),
        (["--commands", "test ARGS='a"], "No closing quotation"),
        (["--cpus", "0"], "--cpus: 1 to"),
        (["--cpus", "two"], "'two'"),
    ],
)
def test_wrong_arguments(options, complaint, capsys):
    with pytest.raises(SystemExit) as ended:
        fresh_machine.main(options)
    said = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2 and complaint in said[-1] and len([line for line in said if "error:" in line]) == 1


def test_host_lacks_something(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(fresh_machine.signal, "signal", lambda *_: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(fresh_machine.os, "geteuid", lambda: 1000)
    assert fresh_machine.main(["--folder", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "fresh-machine: only root may make a machine: run it with sudo\n"
    monkeypatch.setattr(fresh_machine.os, "geteuid", lambda: 0)
    monkeypatch.setattr(fresh_machine.shutil, "which", lambda program: None if program == "debootstrap" else f"/usr/bin/{program}")
    assert fresh_machine.main(["--folder", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "fresh-machine: debootstrap is not installed: apt-get install debootstrap\n"


def test_make_passes_everything_on():
    commands = "demo test ARGS='sim/house -k \"a or b\"'"
    command = ["make", "-s", "--dry-run", "-C", ROOT, "fresh-machine", "RELEASE=bookworm", f"COMMANDS={commands}", "OPTIONS=--once"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    words = next(words for line in said.splitlines() if "sim.fresh_machine" in (words := shlex.split(line)))
    assert words[1:] == ["-m", "sim.fresh_machine", "--release", "bookworm", "--commands", commands, "--once"]


def test_nothing_of_the_host_comes_along(monkeypatch, tmp_path):
    monkeypatch.setenv("OF_THE_HOST", "1")
    root = Machine(tmp_path).command(["make", "demo"], environment={"PIP_INDEX_URL": "x"})
    inside = root[root.index(str(tmp_path)) + 1 :]
    assert inside[:2] == ["env", "-i"] and inside[-2:] == ["make", "demo"]
    assert {"HOME=/root", "CI=true", "PIP_INDEX_URL=x"} < set(inside) and "OF_THE_HOST" not in " ".join(root)
    user = Machine(tmp_path, user=True)
    assert "--reuid=user" in user.command(["make"]) and f"HOME={user.home}" in user.command(["make"])
    assert "--reuid=user" not in user.command(["make"], root=True) and "HOME=/root" in user.command(["make"], root=True)
    assert user.outside(user.tree) == tmp_path / "home" / "user" / "litepulse"


def test_shell_script_is_valid():
    assert subprocess.run(["sh", "-n", "-c", fresh_machine.ENTER], check=False).returncode == 0


def test_how_to_reach_packages():
    config = """:env:.default-timeout='180'
:env:.find-links='/some/wheels'
:env:.index-url='https://mirror/of/the/environment'
global.cert='/etc/ssl/some.crt'
global.index-url='https://mirror/of/a/file'
install.trusted-host='mirror'
"""
    assert fresh_machine.pip_environment(config) == {
        "PIP_DEFAULT_TIMEOUT": "180",
        "PIP_INDEX_URL": "https://mirror/of/the/environment",
        "PIP_CERT": "/etc/ssl/some.crt",
        "PIP_TRUSTED_HOST": "mirror",
    }
    text = fresh_machine.sources([("http://m/debian", "trixie"), ("http://m/debian-security", "trixie-security")])
    assert [re.findall(rf"(?m)^{key}: (.*)$", text) for key in ("URIs", "Suites")] == [
        ["http://m/debian", "http://m/debian-security"],
        ["trixie", "trixie-security"],
    ]
    assert "\n\n" in text and text.count("Signed-By: /") == 2


def test_certificates_come_along(monkeypatch, tmp_path):
    for name in (*fresh_machine.PROXIES, *fresh_machine.CERTIFICATES):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "bundle.crt").write_text("the host's bundle")
    (tmp_path / "own.crt").write_text("the host's own")
    machine = Machine(tmp_path / "machine")
    machine.outside("/etc/ssl").mkdir(parents=True)
    bundle = machine.outside(str(tmp_path / "bundle.crt"))
    bundle.parent.mkdir(parents=True)
    bundle.write_text("the machine's bundle")
    monkeypatch.setenv("PIP_CERT", str(tmp_path / "bundle.crt"))
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(tmp_path / "own.crt"))
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    found = fresh_machine.network_environment(machine)
    assert found["PIP_CERT"] == str(tmp_path / "bundle.crt") and bundle.read_text() == "the machine's bundle"
    assert found["https_proxy"] == "http://proxy:3128" and "SSL_CERT_FILE" not in found
    assert machine.outside(found["NODE_EXTRA_CA_CERTS"]).read_text() == "the host's own"


@pytest.mark.parametrize(
    "seconds, text", [(0.4, "0 s"), (119.6, "120 s"), (121, "2 min 01 s"), (3599, "59 min 59 s"), (3720, "1 h 02 min")]
)
def test_duration(seconds, text):
    assert fresh_machine.duration(seconds) == text


def test_table():
    rows = [Row("bookworm", "make demo", "cold", 83.2, 90.1, 120_400_000, 306_000_000, 268_000_000, 10**6, 7 * 10**6, "ok", (0.31, 1.58))]
    header, rule, row = fresh_machine.table(rows).splitlines()
    assert len({line.count("|") for line in (header, rule, row)}) == 1 and set(rule) == set("|- ")
    assert row == ("| bookworm | `make demo` | cold | 83 s | 90 s | 120 MB | 306 MB | 268 MB | 1 MB | 7 MB | ok | 0.3 to 1.6 |")


def test_counters():
    net_dev = "Inter-| Receive\n face |bytes packets\n    lo: 900 1 0\n  eth0: 50 1 0\ndocker0:70 1 0\n"
    routes = "Iface\tDestination\tGateway\neth0\t00000000\t0100000A\neth0\t0000000A\t00000000\n"
    assert fresh_machine.received(net_dev, routes) == 50
    assert fresh_machine.received(net_dev, "Iface\tDestination\n") == 120  # no default route: all but lo
    status = """Package: a
Status: install ok installed
Installed-Size: 10

Package: b
Status: deinstall ok config-files
Installed-Size: 500

Package: c
Status: install ok installed
Installed-Size: 7
"""
    assert fresh_machine.installed_bytes(status) == 17 * 1024


def test_size(tmp_path):
    assert fresh_machine.size(tmp_path / "nothing") == 0
    (tmp_path / "file").write_bytes(bytes(range(256)) * 400)
    assert 102_400 <= fresh_machine.size(tmp_path) < 1_000_000


def test_result():
    assert fresh_machine.result_of(0, ("a", "b"), lambda name: True) == "ok"
    assert fresh_machine.result_of(0, ("a", "b"), lambda name: name == "a") == "**no b**"
    assert fresh_machine.result_of(2, ("a",), lambda name: False) == "**status 2**"


def test_mounted_machines_are_not_deleted(monkeypatch, tmp_path):
    line = "36 35 0:30 / {} rw shared:1 - tmpfs tmpfs rw\n"
    mounts = line.format("/m/bookworm/proc") + line.format("/m/bookworm") + line.format("/m/bookworm-old") + line.format("/")
    assert fresh_machine.mounted_below("/m/bookworm", mounts) == ["/m/bookworm/proc", "/m/bookworm"]
    (tmp_path / "machine").mkdir()
    monkeypatch.setattr(fresh_machine, "mounted_below", lambda *_: ["/somewhere"])
    with pytest.raises(FreshMachineError, match="mounted on /somewhere"):
        fresh_machine.remove(tmp_path / "machine")
    assert (tmp_path / "machine").exists()
    monkeypatch.setattr(fresh_machine, "mounted_below", lambda *_: [])
    fresh_machine.remove(tmp_path / "machine")
    assert not (tmp_path / "machine").exists()


def test_log_has_seconds(tmp_path):
    status, seconds, cpu, lines = fresh_machine.follow(["sh", "-c", "echo a; sleep 0.3; echo b >&2; exit 3"], Log(tmp_path / "log"))
    assert status == 3 and 0.3 <= seconds < 60 and 0 <= cpu <= seconds and lines == [b"a", b"b"]
    first, second = (float(line.split()[0]) for line in (tmp_path / "log").read_text().splitlines())
    assert 0 <= first and second >= 0.2


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Runs in a machine whose commands end as `.ends` says: {(words, ...): [(status, line), ...]}."""

    class Script(Runs):
        ends, seen = {}, []

    machine = Machine(tmp_path / "machine", user=True)
    machine.outside(machine.tree).mkdir(parents=True)
    machine.outside("/var/lib/dpkg").mkdir(parents=True)
    machine.outside("/var/lib/dpkg/status").write_text("Package: a\nStatus: install ok installed\nInstalled-Size: 2000\n")
    results = tmp_path / "results"
    results.mkdir()
    made = Script(machine, "trixie", results, {}, Log(results / "log"), 1024, [])

    def follow(command, log):
        made.seen.append((command[command.index("-C") + 2 :], "--reuid=user" in command))
        status, line = made.ends[command[-1]].pop(0)
        return status, 1.0, 0.5, [line]

    monkeypatch.setattr(fresh_machine, "follow", follow)
    return made


def outcomes(runs):
    return [(row.command, row.run, row.result) for row in runs.rows]


def test_twice_and_once(runs):
    runs.ends = {"test": [(0, b"")] * 3}
    runs.twice(["test"], once=False)
    runs.twice(["test"], once=True)
    assert outcomes(runs) == [("make test", run, "ok") for run in ("cold", "warm", "cold")]
    assert runs.rows[0].packages == 1999 * 1024
    assert (runs.results / "times.md").read_text() == fresh_machine.table(runs.rows)


def test_failed_command_is_not_repeated(runs):
    runs.ends = {"test": [(1, b"a test failed")]}
    runs.twice(["test"], once=False)
    assert outcomes(runs) == [("make test", "cold", "**status 1**")]


def test_demo_without_results_fails(runs):
    runs.ends = {"demo": [(0, b"")]}
    runs.twice(["demo"], once=False)
    assert outcomes(runs) == [("make demo", "cold", "**no build/demo/period-error.png**")]


def test_user_gets_the_packages_that_are_named(runs):
    advice = "apt-get update && apt-get install -y g++"
    line = f"setup: these packages are missing: g++. As root, run: {advice}".encode()
    runs.ends = {"test": [(2, line), (0, b""), (0, b"")], advice: [(0, b"")]}
    runs.twice(["test"], once=False)
    assert [(run, result) for _, run, result in outcomes(runs)] == [
        ("cold", "names the packages"),
        ("as root", "ok"),
        ("cold", "ok"),
        ("warm", "ok"),
    ]
    assert [(words[-1], user) for words, user in runs.seen] == [("test", True), (advice, False), ("test", True), ("test", True)]


def namespaces_work():
    """Whether this process may make namespaces."""
    return bool(shutil.which("setpriv")) and subprocess.run([*fresh_machine.namespaces(), "true"], check=False).returncode == 0


def processes(text):
    """Ids of the processes whose command line has `text`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += [int(path.parent.name)] if text.encode() in path.read_bytes() else []
    return found


def test_killed_run_leaves_nothing(tmp_path):
    if os.geteuid() or not namespaces_work():
        pytest.skip("only root may make namespaces")
    mount = f"mount -t tmpfs tmpfs {tmp_path} && touch {tmp_path}/inside"
    script = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from sim import fresh_machine
words = [*fresh_machine.namespaces(), "sh", "-c", "{mount} && echo $$ && sleep 300; true"]
fresh_machine.follow(words, fresh_machine.Log(Path("{tmp_path}/log")))
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline().split()[-1] == b"1"  # process 1 of its namespace
        assert not (tmp_path / "inside").exists() and str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
        assert len(processes(mount)) >= 3  # this program, unshare, and what it started
    finally:
        process.kill()
        process.communicate()
    until = time.monotonic() + 20
    while processes(mount) and time.monotonic() < until:
        time.sleep(0.1)
    assert not processes(mount)
