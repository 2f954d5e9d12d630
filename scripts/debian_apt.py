# SPDX-License-Identifier: BSD-2-Clause
"""apt for suites of Debian that this machine need not have: lists and downloads in a folder of their own, signatures always checked.

The mirror is the one in this machine's apt configuration, or LITEPULSE_DEBIAN_MIRROR. Signatures are checked with the keys of the
package debian-archive-keyring; without it nothing is downloaded.

Nothing here waits forever: apt gives up a connection after TIMEOUT seconds without data, and a download slower than LEAST_BYTES in
STALLED seconds is ended. `Patience` says how long a failure is tried again.
"""

import functools
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from litex_soc import build_cache

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITES = re.compile(r"(bullseye|bookworm|trixie|forky|duke|sid|(old)*stable|testing|unstable)(-updates|-backports|-security)?")
LISTS_FRESH = 6 * 3600  # seconds after which the lists of a mirror are fetched again
TIMEOUT = 30  # seconds without data after which apt gives up a connection
STALLED, LEAST_BYTES = 60, 500_000  # a download that brings less in this many seconds is ended
PAUSES = (2, 4, 8, 16, 30, 50)  # seconds between attempts
PATIENCE = 120  # seconds, pauses and failed attempts together
FAILED_RECENTLY_SECONDS = 600  # after a failure, what failed is tried only once, without pauses

sleep, clock = time.sleep, time.monotonic  # tests replace them

# What apt says when another attempt cannot help: no such suite, or a signature that cannot be trusted.
DEFINITE = re.compile(r"does not have a Release file|is not signed|NO_PUBKEY|signatures? (were|was) invalid|signature verification failed")
UNREACHABLE = re.compile(
    r"Could not (connect|resolve)|Cannot initiate the connection|Temporary failure resolving|Connection (failed|timed out)"
)


class PackageError(RuntimeError):
    """A package cannot be had; the message says why, in one line.

    passing: another attempt may succeed
    reason: the message without mirror and suite
    """

    def __init__(self, text, passing=False, reason=""):
        super().__init__(text)
        self.passing, self.reason = passing, reason or text


def say(text):
    """Prints a line for the person who waits."""
    build_cache.say(f"debian: {text}")


def run(command, env=None, cwd=None):
    """Standard output of a command that must succeed."""
    command = [str(word) for word in command]
    try:
        result = subprocess.run(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise PackageError(f"there is no {command[0]} here: this needs Debian or Ubuntu, with the package dpkg-dev") from error
    if result.returncode:
        raise PackageError(f"{command[0]} failed: {complaint(result.stderr)}")
    return result.stdout


def complaint(text):
    """The cause of a failure in what apt or dpkg printed, in one short line."""
    lines = text.splitlines()
    errors = [line for line in lines if line.startswith("E:")] or [line for line in lines if line.startswith(("W:", "Err:"))] or lines[-2:]
    errors = [line for line in errors if "Some index files failed" not in line and "Unable to fetch some archives" not in line] or errors
    line = errors[0] if errors else "it printed nothing"
    for unwanted, better in (
        (r"^[EW]: ", ""),
        (r"^Failed to fetch ", ""),
        (r"\s+\[IP: .*?\]", ""),
        (r"^The repository '.*' does not have a Release file\.$", "it does not have this suite"),
        (r"^The repository '.*' is not signed\.$", "its InRelease is not signed with a key of the package debian-archive-keyring"),
    ):
        line = re.sub(unwanted, better, line)
    return re.sub(r"\s+", " ", line).strip()[:240]


def bytes_below(folder):
    """Size of all files below a folder, which may change meanwhile."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                pass
    return total


def run_download(command, env, folder, cwd=None):
    """Runs an apt command that downloads below `folder`. PackageError if it fails or brings next to nothing for STALLED seconds."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            [str(word) for word in command],
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
            start_new_session=True,  # so that the programs that apt starts end with it
        )
        try:
            mark, size = time.monotonic(), bytes_below(folder)
            while True:
                try:
                    process.wait(0.5)
                    break
                except subprocess.TimeoutExpired:
                    if abs(bytes_below(folder) - size) >= LEAST_BYTES:
                        mark, size = time.monotonic(), bytes_below(folder)
                    elif time.monotonic() - mark > STALLED:
                        text = f"the download stalled: less than {LEAST_BYTES / 1e6:.1f} MB in {STALLED} s"
                        raise PackageError(text, passing=True) from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise PackageError(complaint(text), passing=not DEFINITE.search(text))


class Patience:
    """How long failures are borne: pauses that grow, two minutes in all."""

    def __init__(self):
        self.start, self.pauses = clock(), list(PAUSES)

    def pause(self, error):
        """Waits before another attempt; raises the error again when that makes no sense, or no patience is left."""
        if not error.passing or not self.pauses or clock() - self.start + self.pauses[0] > PATIENCE:
            raise error
        seconds = self.pauses.pop(0)
        say(f"{error}: trying again in {seconds} s")
        sleep(seconds)


@functools.cache
def own_architecture():
    """This machine's, as Debian calls it."""
    return run(["dpkg", "--print-architecture"]).strip()


@functools.cache
def configured_mirrors():
    """[(address, suite), ...] of the Debian archives that this machine's apt knows."""
    output = run(["apt-get", "--print-uris", "update"])
    found = re.findall(r"'(?!cdrom)(\S+?)/*/dists/([^/\s]+)/InRelease'", output)
    return [(address, suite) for address, suite in found if SUITES.fullmatch(suite)]


def mirror(suite: str) -> str:
    """Address of the mirror for a suite. Security updates are an archive of their own, on most mirrors beside the other."""
    security = suite.endswith("-security")
    address = os.environ.get("LITEPULSE_DEBIAN_MIRROR", "").rstrip("/")
    if not address:
        known = {known_suite.endswith("-security"): address for address, known_suite in reversed(configured_mirrors())}
        if security in known:
            return known[security]
        address = known.get(False)
    if not address:
        raise PackageError(
            "the apt of this machine knows no Debian mirror: "
            "set LITEPULSE_DEBIAN_MIRROR to the address of one (the folder that has `dists`)"
        )
    return f"{address}-security" if security else address


def network_settings() -> list[str]:
    """The lines of this machine's apt configuration that say how to reach a network."""
    wanted = r'(?m)^Acquire::(?!IndexTargets|Languages|GzipIndexes|Changelogs|CompressionTypes|Allow).* "[^"].*$'
    return re.findall(wanted, run(["apt-config", "dump"]))


def by_version(versions):
    """Versions of packages, the newest first."""

    def compare(one, other):
        return -1 if subprocess.run(["dpkg", "--compare-versions", one, "gt", other], check=False).returncode == 0 else 1

    return sorted(set(versions), key=functools.cmp_to_key(compare))


class Apt:
    """apt for suites of mirrors and one architecture.

    sources: [(address, suite), ...]; what is wanted comes from the first, the others have what that needs
    source: source packages instead of binary ones
    folder: has all its state
    unreachable: file that says that the first address could not be reached, whatever the suite
    """

    def __init__(self, sources, architecture, source, folder, unreachable):
        if not KEYRING.exists():
            raise PackageError("signatures of Debian cannot be checked: install the package debian-archive-keyring")
        self.sources, self.architecture, self.source = sources, architecture, source
        self.address, self.suite = sources[0]
        self.folder, self.unreachable = folder, unreachable
        self.env = {**os.environ, "APT_CONFIG": str(folder / "apt.conf"), "LC_ALL": "C"}
        self.updated, self.failed = folder / "updated", folder / "failed"

    def configure(self):
        """Writes its configuration: of the machine's own only `network_settings`."""
        for name in ("lists/partial", "archives/partial", "empty"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        kind = "deb-src" if self.source else "deb"
        options = f"signed-by={KEYRING} arch={self.architecture}"
        (self.folder / "sources.list").write_text(
            "".join(f"{kind} [{options}] {address} {suite} main\n" for address, suite in self.sources)
        )
        settings = {
            "Dir::Etc::main": "/dev/null",
            "Dir::Etc::parts": f"{self.folder}/empty",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": f"{self.folder}/empty",
            "Dir::Etc::sourcelist": f"{self.folder}/sources.list",
            "Dir::Etc::sourceparts": f"{self.folder}/empty",
            "Dir::State": self.folder,
            "Dir::State::lists": f"{self.folder}/lists",
            "Dir::State::status": f"{self.folder}/status",
            "Dir::Cache": self.folder,
            "Dir::Cache::archives": f"{self.folder}/archives",
            "Dir::Log": self.folder,
            "APT::Architecture": self.architecture,
            "APT::Sandbox::User": "",
            "APT::Install-Recommends": "false",
            "Acquire::Languages": "none",
            "Acquire::AllowInsecureRepositories": "false",
            "Acquire::AllowWeakRepositories": "false",
            "Acquire::AllowDowngradeToInsecureRepositories": "false",
            "Acquire::PDiffs": "false",
            "Acquire::Retries": "0",  # Patience does that
            "Acquire::http::Timeout": TIMEOUT,
            "Acquire::https::Timeout": TIMEOUT,
            "Debug::NoLocking": "true",
        }
        lines = [
            *network_settings(),
            f'APT::Architectures {{ "{self.architecture}"; }};',
            *(f'{key} "{value}";' for key, value in settings.items()),
        ]
        (self.folder / "apt.conf").write_text("".join(f"{line.rstrip(';')};\n" for line in lines))

    def age(self):
        """Seconds since the lists were read; infinite if they never were."""
        return time.time() - self.updated.stat().st_mtime if self.updated.exists() else float("inf")

    def failed_recently(self):
        """Whether the same failed a moment ago, maybe in another process: then one attempt is enough."""
        stamps = [path for path in (self.failed, self.unreachable) if path.exists()]
        return any(0 <= time.time() - path.stat().st_mtime < FAILED_RECENTLY_SECONDS for path in stamps)

    def remember(self, error=None):
        """Notes for `failed_recently` that patience has ended with an error, or that all went well."""
        if error:
            stamp = self.unreachable if UNREACHABLE.search(str(error)) else self.failed
            stamp.parent.mkdir(parents=True, exist_ok=True)
            stamp.touch()
        else:
            self.failed.unlink(missing_ok=True)
            self.unreachable.unlink(missing_ok=True)

    def update(self, force, size=""):
        """Brings the lists up to date, unless that was done a few hours ago. Old lists serve when they cannot be, except by `force`.

        size: of the lists, for the line that says what is downloaded
        """
        if not force and 0 <= self.age() < LISTS_FRESH:
            return
        self.configure()
        suites = " and ".join(suite for _, suite in self.sources)
        say(f"asking {self.address} what {suites} has{size}, kept in {self.folder} ...")
        try:
            run_download(["apt-get", "-o", "APT::Update::Error-Mode=any", "update"], self.env, self.folder / "lists")
        except PackageError as error:
            reason = self.brief(error)
            text = f"{self.address} gives no list of what {self.suite} has: {reason}"
            if force or not error.passing or not self.updated.exists():
                raise PackageError(text, error.passing, reason) from error
            say(f"{text}: taking the list of {time.strftime('%Y-%m-%d %H:%M', time.localtime(self.updated.stat().st_mtime))}")
            return
        self.updated.touch()

    def brief(self, error):
        """What a failure says, without mirror and suite."""
        places = (f"{re.escape(address)}/(dists/{suite}/)?" for address, suite in self.sources)
        return re.sub("|".join(places), "", str(error))

    def versions(self, *packages):
        """{package: [versions, the newest first]} of those of the packages that the lists have."""
        if not self.updated.exists():
            return {}
        lines = [line.split("|") for line in run(["apt-cache", "madison", *packages], self.env).splitlines()]
        found = {}
        for name, version, _ in lines:
            found.setdefault(name.strip(), []).append(version.strip())
        return {name: by_version(versions) for name, versions in found.items() if name in packages}

    def names(self, prefix):
        """Names of the packages that begin with `prefix`."""
        return run(["apt-cache", "pkgnames", prefix], self.env).split()

    def choose(self, package, wanted):
        """The wanted version if the mirror has it, else its rebuild for another suite, else the newest."""
        versions = self.versions(package).get(package)
        if not versions:
            reason = f"no {'source ' if self.source else ''}package {package}"
            raise PackageError(f"{self.suite} at {self.address} has {reason}", reason=reason)
        if not wanted or wanted in versions:
            return wanted or versions[0]
        version = next((version for version in versions if version.startswith(f"{wanted}~")), versions[0])
        say(f"{package} {wanted}, which was tested, is not in {self.suite}: taking {version}")
        return version

    def plan(self, packages, dependencies):
        """([package=version, ...] to download, their size in bytes)."""
        if self.source:
            command = ["apt-get", "--print-uris", "source", "--download-only", "--only-source", *packages]
        else:
            if dependencies:
                output = run(["apt-get", "--simulate", "install", *packages], self.env)
                packages = [f"{name}={version}" for name, version in re.findall(r"(?m)^Inst (\S+) \((\S+)", output)]
            command = ["apt-get", "--print-uris", "download", *packages]
        return packages, sum(int(size) for size in re.findall(r"(?m)^'\S+' \S+ (\d+)", run(command, self.env)))

    def download(self, packages, folder):
        """Puts archives into the empty `folder`; `packages` are named as package=version."""
        command = ["source", "--download-only", "--only-source"] if self.source else ["download"]
        try:
            run_download(["apt-get", *command, *packages], self.env, folder, folder)
        except PackageError as error:
            # Also "not found": a mirror that is half synchronised, or lists that are some hours old.
            reason = self.brief(error)
            name = packages[0].split("=")[0]
            raise PackageError(f"{self.address} does not deliver {name} of {self.suite}: {reason}", True, reason) from error
