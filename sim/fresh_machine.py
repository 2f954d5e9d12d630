# SPDX-License-Identifier: BSD-2-Clause
"""`make fresh-machine`: makes a minimal Debian in a folder and measures how long the README's commands take there, cold and warm.

    python3 -m sim.fresh_machine --release bookworm                            make demo and make test, twice each
    python3 -m sim.fresh_machine --release trixie --commands 'demo test ARGS="sim/house sw/tests"' --once
    python3 -m sim.fresh_machine --release trixie --shell                      a shell in a machine that --keep left

Needs root and debootstrap; uses only Python's standard library. The machine has debootstrap's minbase, git, make and ca-certificates.
It takes from the host: the mirror, name resolution, proxies, certificates, the address of the package index, and a clone of HEAD.
It takes no cache, no .venv and no environment. Standard input is /dev/null, so a command that asks a question fails.

Each command runs in its own mount, process, IPC and host name namespaces, with the machine as root folder. The namespaces end with
the command, and the command ends with this program, even if this program is killed. build/fresh-machine gets a folder for each run:
a log with the seconds since the command began, a table, and the files of the demo.
"""

import argparse
import fcntl
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.debian_apt import KEYRING, PackageError, mirror, network_settings

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "fresh-machine"
RELEASES = ("bookworm", "trixie")
PACKAGES = ("git", "make", "ca-certificates")  # what the README asks for, and what `git clone` needs with https
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
USER = "user"
# Of pip's settings, those that say where the packages are. Others (caches, folders of wheels) belong to the host.
PIP_SETTINGS = ("index-url", "extra-index-url", "trusted-host", "cert", "proxy", "default-timeout", "timeout", "retries")
CERTIFICATES = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
RESULTS = {"demo": ("build/demo/period-error.png", "build/demo/pins.vcd", "build/demo/train.json")}  # files a command must write
LOGS = ("build/setup-apt.log", "build/setup-pip.log", "build/tests.xml", "build/durations.json")  # kept if they are there
MISSING = re.compile(rb"As root, run: (.+)$")  # of scripts/setup.sh without sudo
COLUMNS = ("Debian", "command", "run", "time", "CPU time", "received", "packages", ".venv", "build", "cache", "result", "load")

# As process 1 of new namespaces: $1 the machine, then the command. The shell stays, so that orphans are reaped as init does it.
ENTER = """
set -eu
machine=$1; shift
mount --bind "$machine" "$machine"
cd "$machine"
mount -t proc -o nosuid,nodev,noexec proc proc
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs sys
mount -t tmpfs -o mode=755,nosuid tmpfs dev
mkdir dev/pts dev/shm
for device in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 "dev/${device%:*}" c 1 "${device#*:}"; done
mknod -m 666 dev/tty c 5 0
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5,nosuid,noexec devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for n in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${n%:*}" "dev/${n#*:}"; done
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs dev/shm
mount -t tmpfs -o mode=755,nosuid,nodev tmpfs run
mkdir -m 1777 run/lock
mkdir -p .host
pivot_root . .host
cd /
umount -l /.host
rmdir /.host
hostname fresh
set +e
# A session of the machine's own: the ids of the host's do not exist here.
[ -t 0 ] || set -- setsid --wait "$@"
"$@"
exit $?
"""


class FreshMachineError(RuntimeError):
    """The machine cannot be made or used; the message says why, in one line."""


def say(text: object) -> None:
    """Prints a line for the person who waits."""
    print(f"fresh-machine: {text}", file=sys.stderr, flush=True)


# --- what is asked for ------------------------------------------------------------------------------------------------------------


def commands_of(text: str) -> list[list[str]]:
    """Arguments of make for each command: a word with `=` is a variable of the target before it. Raises ValueError.

    >>> commands_of('demo test ARGS="sim/house sw/tests"')
    [['demo'], ['test', 'ARGS=sim/house sw/tests']]
    """
    commands: list[list[str]] = []
    for word in shlex.split(text):
        if not re.fullmatch(r"[a-z][\w-]*|[A-Z]\w*=.*", word):
            raise ValueError(f"{word!r} is neither a target of make nor a variable")
        if "=" not in word:
            commands.append([word])
        elif commands:
            commands[-1].append(word)
        else:
            raise ValueError(f"{word!r} comes before any target")
    if not commands:
        raise ValueError("no command is given")
    return commands


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """The parsed command line; ends the program if it is wrong."""
    parser = argparse.ArgumentParser(
        prog="make fresh-machine" if os.environ.get("MAKELEVEL") else "python3 -m sim.fresh_machine",
        description="Makes a minimal Debian in a folder and measures how long commands take there. Needs root and debootstrap.",
    )
    parser.add_argument("--release", choices=RELEASES, default=RELEASES[-1], help="the Debian to make (default %(default)s)")
    parser.add_argument(
        "--commands",
        default="demo test",
        metavar="TARGETS",
        help="targets of make, each with its variables after it (default '%(default)s')",
    )
    parser.add_argument("--once", action="store_true", help="each command once, from nothing; not a second time")
    parser.add_argument("--user", action="store_true", help="as a user without sudo; what set-up then names is installed as root")
    parser.add_argument("--cpus", type=int, metavar="N", help="use N CPUs only (default: all)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where machine and results go (default build/fresh-machine)")
    parser.add_argument("--keep", action="store_true", help="leave the machine's folder, for --shell")
    parser.add_argument("--shell", action="store_true", help="no measurement: a shell in the machine that was kept")
    args = parser.parse_args(argv)
    try:
        args.commands = commands_of(args.commands)
    except ValueError as error:
        parser.error(f"--commands: {error}")
    cpus = len(os.sched_getaffinity(0))
    if args.cpus is not None and not 1 <= args.cpus <= cpus:
        parser.error(f"--cpus: 1 to {cpus}")
    return args


def check_host() -> None:
    """Raises FreshMachineError if this host lacks something."""
    if os.geteuid() != 0:
        raise FreshMachineError("only root may make a machine: run it with sudo")
    for program, package in (("debootstrap", "debootstrap"), ("unshare", "util-linux"), ("setpriv", "util-linux"), ("git", "git")):
        if not shutil.which(program):
            raise FreshMachineError(f"{program} is not installed: apt-get install {package}")


# --- the machine ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Machine:
    """A Debian in the folder `path`; its commands run as root, or with `user` as USER."""

    path: Path
    user: bool = False

    @property
    def home(self) -> str:
        """Home folder, as the machine has it."""
        return f"/home/{USER}" if self.user else "/root"

    @property
    def tree(self) -> str:
        """The clone, as the machine has it."""
        return f"{self.home}/litepulse"

    def outside(self, name: str) -> Path:
        """Where the host has a file of the machine."""
        return self.path / name.lstrip("/")

    def command(self, words: Sequence[str], root: bool = False, environment: Mapping[str, str] | None = None) -> list[str]:
        """The host's command that runs `words` in the machine; `root`: as root even if the machine has a user."""
        user = self.user and not root
        name, home = (USER, f"/home/{USER}") if user else ("root", "/root")
        variables = {"PATH": PATH, "HOME": home, "USER": name, "LOGNAME": name, "SHELL": "/bin/sh", "CI": "true", **(environment or {})}
        inside = ["env", "-i", *(f"{key}={value}" for key, value in variables.items()), *words]
        if user:
            inside = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", "--inh-caps=-all", *inside]
        shell = ["/bin/sh", "-c", ENTER, "enter", str(self.path.resolve())]
        return [*namespaces(("--uts", "--ipc")), *shell, *inside]

    def run(self, words: Sequence[str]) -> str:
        """Output of a command that root runs in the machine and that must succeed."""
        return checked(self.command(words, root=True), f"{words[0]} in the machine")


def namespaces(more: Sequence[str] = ()) -> list[str]:
    """The words before a command that give it its own namespaces and end it with this program."""
    return ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", *more, "--"]


def checked(command: Sequence[str], what: str, cwd: Path | None = None) -> str:
    """Standard output of a command that must succeed."""
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=cwd)
    if result.returncode:
        lines = (result.stderr or result.stdout).strip().splitlines()
        raise FreshMachineError(f"{what} failed: {' / '.join(lines[-3:]) or f'status {result.returncode}'}")
    return result.stdout


def sources(found: Iterable[tuple[str, str]]) -> str:
    """Text of apt's list of sources (deb822) for [(address, suite), ...]."""
    return "\n".join(f"Types: deb\nURIs: {address}\nSuites: {suite}\nComponents: main\nSigned-By: {KEYRING}\n" for address, suite in found)


def pip_environment(config: str) -> dict[str, str]:
    """Variables for pip from the output of `pip config list`: where this host gets its packages."""
    found: dict[str, str] = {}
    for section, key, value in re.findall(r"(?m)^(global|install|:env:)\.\.?([\w-]+)='(.*)'$", config):
        if key in PIP_SETTINGS and (section == ":env:" or f"PIP_{key.upper().replace('-', '_')}" not in found):
            found[f"PIP_{key.upper().replace('-', '_')}"] = value
    return found


def network_environment(machine: Machine) -> dict[str, str]:
    """Variables by which the machine reaches what this host reaches. A certificate file it does not have is copied."""
    config = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"], capture_output=True, text=True, check=False
    )
    found = {name: os.environ[name] for name in PROXIES if os.environ.get(name)} | pip_environment(config.stdout)
    found |= {name: os.environ[name] for name in CERTIFICATES if os.environ.get(name)}
    for name in ("PIP_CERT", *CERTIFICATES):
        certificate = Path(found.get(name, "/"))
        if certificate.is_file() and not machine.outside(str(certificate)).exists():
            found[name] = f"/etc/ssl/{name.lower()}.crt"
            shutil.copyfile(certificate, machine.outside(found[name]))
    return found


def make_system(machine: Machine, release: str) -> None:
    """Makes the minimal Debian. It has PACKAGES, apt's sources and no lists of packages."""
    say(f"making a minimal Debian {release} in {machine.path}")
    remove(machine.path)
    machine.path.mkdir(parents=True)
    machine.path.chmod(0o755)
    words = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", release, str(machine.path), mirror(release)]
    proxies = re.findall(r'(?mi)^Acquire::http::Proxy "(.+)"', "\n".join(network_settings()))
    checked([*namespaces(), *(["env", f"http_proxy={proxies[0]}"] if proxies else []), *words], "debootstrap")

    etc = machine.outside("/etc")
    shutil.copyfile("/etc/resolv.conf", etc / "resolv.conf")
    (etc / "hosts").write_text(f"{Path('/etc/hosts').read_text().rstrip()}\n127.0.1.1 fresh\n")
    (etc / "hostname").write_text("fresh\n")
    (etc / "apt/apt.conf.d/90network").write_text("".join(f"{line}\n" for line in network_settings()))
    for certificate in Path("/usr/local/share/ca-certificates").rglob("*.crt"):
        shutil.copyfile(certificate, machine.outside("/usr/local/share/ca-certificates") / certificate.name)
    machine.run(["update-ca-certificates"])

    found: list[tuple[str, str]] = []
    for suite in (release, f"{release}-updates", f"{release}-security"):
        address = mirror(suite)
        try:
            machine.run(["/usr/lib/apt/apt-helper", "download-file", f"{address}/dists/{suite}/InRelease", "/tmp/InRelease"])
            found.append((address, suite))
        except FreshMachineError:
            say(f"{address} has no {suite}: the machine goes without")
    (etc / "apt/sources.list").unlink(missing_ok=True)
    (etc / "apt/sources.list.d/debian.sources").write_text(sources(found))
    # The commands must also download what debootstrap left behind: archives and lists.
    machine.run(["sh", "-c", "apt-get clean && rm -rf /var/lib/apt/lists/* /tmp/InRelease"])


def make_machine(machine: Machine, release: str) -> dict[str, str]:
    """Makes the Debian and clones HEAD in it; returns the commands' environment."""
    make_system(machine, release)
    if machine.user:
        machine.run(["useradd", "--create-home", "--shell", "/bin/bash", USER])
    bundle = machine.outside("/var/tmp/litepulse.bundle")
    checked(["git", "bundle", "create", str(bundle), "HEAD"], "git bundle", cwd=ROOT)
    owner = f"chown -R {USER}: {machine.tree}" if machine.user else ":"
    machine.run(["sh", "-c", f"git clone -q /var/tmp/litepulse.bundle {machine.tree} && {owner}"])
    bundle.unlink()
    return network_environment(machine)


def mounted_below(path: Path | str, mountinfo: str) -> list[str]:
    """Mount points at or below a folder, by the text of /proc/self/mountinfo."""
    points = (line.split()[4] for line in mountinfo.splitlines())
    return [point for point in points if f"{point}/".startswith(f"{path}/")]


def remove(path: Path) -> None:
    """Deletes a machine's folder; refuses if something is mounted below it."""
    mounted = mounted_below(path, Path("/proc/self/mountinfo").read_text())
    if mounted:
        raise FreshMachineError(f"something is mounted on {mounted[0]}: {path} is not deleted")
    subprocess.run(["rm", "-rf", "--one-file-system", str(path)], check=True)


# --- measuring --------------------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """A run of a command. Times in seconds, sizes in bytes after the run; `packages`: those installed since the machine was made."""

    release: str
    command: str
    run: str
    seconds: float = 0.0
    cpu: float = 0.0
    received: int = 0
    packages: int = 0
    venv: int = 0
    build: int = 0
    cache: int = 0
    result: str = "ok"
    load: tuple[float, float] = (0.0, 0.0)

    def cells(self) -> list[str]:
        """Text of the table's cells, in the order of COLUMNS."""
        sizes = [f"{size / 1e6:.0f} MB" for size in (self.received, self.packages, self.venv, self.build, self.cache)]
        load = "{:.1f} to {:.1f}".format(*self.load)
        return [self.release, f"`{self.command}`", self.run, duration(self.seconds), duration(self.cpu), *sizes, self.result, load]


def duration(seconds: float) -> str:
    """`83 s`, `12 min 05 s`, `1 h 02 min`.

    >>> duration(119.6), duration(725), duration(3720)
    ('120 s', '12 min 05 s', '1 h 02 min')
    """
    whole = round(seconds)
    if whole <= 120:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def table(rows: Iterable[Row]) -> str:
    """Markdown of Rows."""
    lines = [COLUMNS, ["---"] * len(COLUMNS), *(row.cells() for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def received(net_dev: str, routes: str) -> int:
    """Bytes that came in by the interfaces of default routes: texts of /proc/net/dev and /proc/net/route."""
    default = {line.split()[0] for line in routes.splitlines() if line.split()[1:2] == ["00000000"]}
    found = dict(re.findall(r"(?m)^\s*([\w.@-]+):\s*(\d+)", net_dev))
    return sum(int(count) for name, count in found.items() if name in default or not default and name != "lo")


def received_now() -> int:
    """Bytes that this host received so far, by all its programs."""
    return received(Path("/proc/net/dev").read_text(), Path("/proc/net/route").read_text())


def installed_bytes(status: str) -> int:
    """Size of the installed packages by dpkg's status file."""
    paragraphs = [part for part in status.split("\n\n") if "\nStatus: install ok installed" in part]
    return 1024 * sum(int(size) for part in paragraphs for size in re.findall(r"(?m)^Installed-Size: (\d+)", part))


def size(path: Path) -> int:
    """Bytes on the disk below a folder; 0 if there is none. What vanishes meanwhile does not count."""
    total = subprocess.run(["du", "-skx", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return 1024 * int(total.split()[0]) if total else 0


def packages_of(machine: Machine) -> int:
    """Size of the machine's packages in bytes."""
    return installed_bytes(machine.outside("/var/lib/dpkg/status").read_text(errors="replace"))


class Log:
    """The log file and the terminal: each line of a command with the seconds since it began."""

    def __init__(self, path: Path) -> None:
        self.file = open(path, "w", encoding="utf-8", buffering=1)

    def write(self, text: str) -> None:
        """A line."""
        self.file.write(f"{text}\n")
        print(text, flush=True)


def follow(command: Sequence[str], log: Log) -> tuple[int, float, float, list[bytes]]:
    """Runs a command with its output in the log; returns (status, seconds, CPU seconds, its lines as bytes)."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    lines: list[bytes] = []
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        assert process.stdout
        for line in process.stdout:
            lines.append(line.rstrip())
            log.write(f"{time.monotonic() - begin:8.1f} {lines[-1].decode(errors='replace')}")
        status = process.wait()
    finally:
        process.kill()
        process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, time.monotonic() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, lines


def result_of(status: int, expected: Iterable[str], exists: Callable[[str], bool]) -> str:
    """`ok`, or what is wrong: the exit status, or the file that was to be made."""
    missing = [name for name in expected if not exists(name)]
    return f"**status {status}**" if status else f"**no {missing[0]}**" if missing else "ok"


@dataclass
class Runs:
    """Runs of commands in a machine, written down in the folder `results` as they come."""

    machine: Machine
    release: str
    results: Path
    environment: dict[str, str]
    log: Log
    packages: int  # of the new machine, bytes
    rows: list[Row]

    def measure(self, words: list[str], name: str, run: str, root: bool = False, expected: Sequence[str] = ()) -> list[bytes]:
        """Runs `words` in the tree and adds a row; returns the lines of the output."""
        machine, tree = self.machine, self.machine.outside(self.machine.tree)
        row = Row(self.release, name, run)
        self.log.write(f"--- {self.release}: {name}, {run}, {time.strftime('%Y-%m-%d %H:%M:%S')}, load {os.getloadavg()[0]:.1f}")
        load, bytes_before = os.getloadavg()[0], received_now()
        prefix = ["env", "-C", machine.tree, *words]
        status, row.seconds, row.cpu, lines = follow(machine.command(prefix, root=root, environment=self.environment), self.log)
        row.received, row.load = received_now() - bytes_before, (load, os.getloadavg()[0])
        row.packages = packages_of(machine) - self.packages
        row.venv, row.build = size(tree / ".venv"), size(tree / "build")
        row.cache = size(machine.outside(f"{machine.home}/.cache"))
        row.result = result_of(status, expected, lambda name: (tree / name).is_file() and (tree / name).stat().st_size > 0)
        self.rows.append(row)
        self.log.write(f"--- status {status} after {duration(row.seconds)}")
        (self.results / "times.md").write_text(table(self.rows))
        for file in (*expected, *LOGS):
            if (tree / file).is_file():
                shutil.copyfile(tree / file, self.results / f"{run}-{Path(file).name}")
        return lines

    def twice(self, words: list[str], once: bool) -> None:
        """A command from nothing and, unless `once`, again. What set-up says is missing is installed as it says."""
        name, expected = shlex.join(["make", *words]), RESULTS.get(words[0], ())
        lines = self.measure(["make", *words], name, "cold", expected=expected)
        advice = next((found[1].decode() for line in lines if (found := MISSING.search(line))), None)
        if advice and self.machine.user:
            self.rows[-1].result = "names the packages"
            self.measure(["sh", "-c", advice], advice.split(" -y ")[0], "as root", root=True)
            self.measure(["make", *words], name, "cold", expected=expected)
        if not once and self.rows[-1].result == "ok":
            self.measure(["make", *words], name, "warm", expected=expected)


def host_line() -> str:
    """What the times are of: date, commit, CPUs, memory."""
    commit = checked(["git", "log", "-1", "--format=%h"], "git log", cwd=ROOT).strip()
    model = re.search(r"(?m)^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cpus = len(os.sched_getaffinity(0))
    return f"{time.strftime('%Y-%m-%d')}, commit {commit}, {cpus} CPUs ({model[1] if model else 'unknown'}), {memory:.0f} GiB"


def measure_all(args: argparse.Namespace) -> int:
    """Makes the machine, runs the commands; 0 if all went well."""
    if checked(["git", "status", "--porcelain"], "git status", cwd=ROOT).strip():
        say("HEAD is what is cloned: changes that are not committed are not in it")
    machine = Machine(args.folder / args.release, args.user)
    results = args.folder / f"{args.release}-{time.strftime('%Y%m%d-%H%M%S')}"
    results.mkdir(parents=True)
    try:
        environment = make_machine(machine, args.release)
        log = Log(results / "log")
        log.write(f"--- {host_line()}, Debian {machine.outside('/etc/debian_version').read_text().strip()}")
        runs = Runs(machine, args.release, results, environment, log, packages_of(machine), [])
        for words in args.commands:
            runs.twice(words, args.once)
    finally:
        if args.keep:
            say(f"the machine stays in {machine.path}; --release {args.release} --shell opens a shell in it")
        else:
            remove(machine.path)
    print(f"\n{host_line()}\n\n{table(runs.rows)}")
    say(f"log and table are in {results}")
    return int(any("**" in row.result for row in runs.rows))


def shell(args: argparse.Namespace) -> int:
    """A shell in the machine that was kept; its exit status."""
    machine = Machine(args.folder / args.release, args.user)
    if not machine.outside(machine.tree).exists():
        raise FreshMachineError(f"there is no machine in {machine.path}{' with a user' if args.user else ''}: run with --keep first")
    environment = {**network_environment(machine), "TERM": os.environ.get("TERM", "dumb")}
    return subprocess.run(machine.command(["env", "-C", machine.tree, "bash"], environment=environment), check=False).returncode


def terminated(*_: object) -> None:
    """Ends the program on SIGTERM so that the machine is deleted."""
    sys.exit(143)


def main(argv: list[str] | None = None) -> int:
    """The command; exit status 1 if a command failed, 2 if there is no machine."""
    args = arguments(argv)
    signal.signal(signal.SIGTERM, terminated)
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"  # su leaves them out
    try:
        check_host()
        args.folder = args.folder.resolve()
        args.folder.mkdir(parents=True, exist_ok=True)
        if args.cpus:
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.cpus])
        with open(args.folder / f"{args.release}.lock", "w", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise FreshMachineError(f"another run uses the machine in {args.folder / args.release}") from error
            return shell(args) if args.shell else measure_all(args)
    except (FreshMachineError, PackageError) as error:
        say(error)
        return 2
    except KeyboardInterrupt:
        say("interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main())
