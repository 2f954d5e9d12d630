# SPDX-License-Identifier: BSD-2-Clause
"""What may be wrong between a board on a cable and its devices: one check after the other, each with its fix."""

import grp
import os
import re
from dataclasses import dataclass
from pathlib import Path

from litepulse import attach, attached, compatibility, idle, tuning
from litepulse.errors import BadInput, LitePulseError, NotLitePulse
from litepulse.limits import DEFAULT_BAUD
from litepulse.ports import Host, Port, choose, describe, find_bridges, may_open, preferred, sibling, text

OK, FAULT, NOTE, SKIPPED = "ok", "fault", "note", "skipped"  # a note is nothing wrong, but good to know
GROUP = "dialout"
SIGNATURE = b"~Module signature appended~\n"
MODULES = (attach.MODULE, "litepulse")
_FEW = 1000  # one repeated transaction in this many is normal


@dataclass(frozen=True)
class Check:
    """What one check found; `fix` is what to do about a fault."""

    name: str
    state: str
    finding: str
    fix: str = ""


class Doctor:
    """All the checks, on one port."""

    def __init__(self, host: Host, path: str | None = None, baud: int = DEFAULT_BAUD) -> None:
        self.host, self.baud = host, baud
        self.path: str | None = path
        self.port: Port | None = None
        self.board: attached.Attached | None = None
        self.found: attach.Found | None = None
        self.problem = ""  # why the core is not LitePulse's, without the port
        self.usable = True  # whether the port may be spoken to

    def run(self) -> list[Check]:
        """The Checks, in order; later ones know what earlier ones found. BadInput if it is not clear which port is meant."""
        self.choose()
        return [
            check()
            for check in (
                self.modules,
                self.signing,
                self.exists,
                self.interface,
                self.permissions,
                self.free,
                self.latency,
                self.idle,
                self.governor,
                self.bridge,
                self.rate,
                self.core,
                self.cable,
                self.devices,
            )
        ]

    def choose(self) -> None:
        """Finds the port. BadInput if it is not clear which one is meant."""
        if self.path is None:
            boards = attached.boards(self.host)
            plugged = find_bridges(self.host)
            if len(boards) == 1 and all(port.name == boards[0].port for port in plugged):
                self.path = preferred(self.host, self.host.dev / boards[0].port)
            elif plugged:
                self.path = preferred(self.host, choose(self.host, None).path)
            elif boards:
                raise BadInput(f"several boards are attached, name the port of one: {', '.join(board.port for board in boards)}")
            else:
                return
        try:
            self.port = describe(self.host, self.path)
        except BadInput:
            return
        self.board = attached.on_port(self.host, self.port.name)

    # The kernel -------------------------------------------------------------------------------------------------------

    def _loaded(self, module: str) -> bool:
        return (self.host.sysfs / "module" / module).exists()

    def _file(self, module: str) -> Path | None:
        """Path of an installed module, or None."""
        folder = self.host.modules / self.host.release()
        for line in text(folder / "modules.dep").splitlines():
            name = line.split(":")[0]
            if re.fullmatch(rf"(?:.*/)?{module}\.ko(\.\w+)?", name):
                return folder / name
        return None

    def modules(self) -> Check:
        """Both modules for the kernel that runs."""
        release = self.host.release()
        missing = [module for module in MODULES if not self._loaded(module) and not self._file(module)]
        if not missing:
            loaded = all(self._loaded(module) for module in MODULES)
            return Check("modules", OK, f"{' and '.join(MODULES)} are {'loaded' if loaded else f'installed for kernel {release}'}")
        others = sorted(path.parent.name for path in self.host.modules.glob("*/modules.dep") if f"{missing[0]}.ko" in text(path))
        what = f"kernel {release} has no {' and no '.join(missing)}" + (f", only {', '.join(others)} has" if others else "")
        return Check("modules", FAULT, what, "make driver-install")

    def _signed(self, module: str) -> bool | None:
        """Whether a module file is signed; None if that cannot be seen."""
        file = self._file(module)
        if file is None:
            return None
        if file.suffix == ".ko":
            try:
                with open(file, "rb") as module_file:
                    module_file.seek(-len(SIGNATURE), os.SEEK_END)
                    return module_file.read() == SIGNATURE
            except OSError:
                return None
        status, signer = self.host.run("modinfo", "-F", "signer", str(file))  # it is packed
        return bool(signer) if status == 0 else None

    def signing(self) -> Check:
        """Whether the kernel would load them."""
        enforced: list[str] = []
        if text(self.host.sysfs / "module" / "module" / "parameters" / "sig_enforce") in ("Y", "1"):
            enforced.append("module.sig_enforce")
        lockdown = re.search(r"\[(\w+)\]", text(self.host.sysfs / "kernel" / "security" / "lockdown"))
        if lockdown and lockdown[1] != "none":
            enforced.append(f"lockdown: {lockdown[1]}")
        secure = "SecureBoot enabled" in self.host.run("mokutil", "--sb-state")[1]
        boot = ", Secure Boot is on" if secure else ""
        if all(self._loaded(module) for module in MODULES):
            return Check("signing", OK, f"the kernel has taken the modules{boot}")
        if not enforced:
            return Check("signing", OK, f"this kernel takes modules without a signature{boot}")
        unsigned = [module for module in MODULES if self._signed(module) is False]
        how = f"{' and '.join(enforced)}{boot}"
        if unsigned:
            which = f"{' and '.join(unsigned)} {'is' if len(unsigned) == 1 else 'are'} not signed"
            return Check(
                "signing", FAULT, f"this kernel takes signed modules only ({how}), {which}", "sign it: docs/driver-install.md, Secure Boot"
            )
        return Check("signing", NOTE, f"this kernel takes signed modules only ({how}); whether it knows the key shows when they are loaded")

    # The port ---------------------------------------------------------------------------------------------------------

    def exists(self) -> Check:
        """The port is there."""
        if self.port is None:
            if self.path is None:
                return Check("port", FAULT, "no board found by what its USB plug says", "plug it in, or: litepulse doctor PORT")
            why = "is no serial port" if os.path.exists(self.path) else "is not there"
            return Check("port", FAULT, f"{self.path} {why}", "plug the board in with a cable that carries data; ls /dev/serial/by-id")
        title = f": {self.port.title()}" if self.port.title() else ""
        stable = preferred(self.host, self.port.path)
        name = f" ({stable})" if stable != self.path else ""
        return Check("port", OK, f"{self.path}{name}{title}")

    def interface(self) -> Check:
        """It is the bridge's."""
        if self.port is None:
            return Check("interface", SKIPPED, "no port")
        board = self.port.board
        if board is None:
            return Check("interface", OK, "no plug of a board that is known by name: it is as you say")
        if self.port.interface == board.interface:
            return Check("interface", OK, f"{board.interface}, the bridge of the {board.title}")
        self.usable = False
        other = sibling(self.host, self.port, board.interface)
        return Check(
            "interface",
            FAULT,
            f"interface {self.port.interface} of the {board.title} is not its bridge",
            f"use {preferred(self.host, other) if other else f'interface {board.interface}'}",
        )

    def permissions(self) -> Check:
        """This user may open it."""
        if self.port is None:
            return Check("permissions", SKIPPED, "no port")
        if may_open(self.port.path):
            return Check("permissions", OK, "this user may open it")
        self.usable = False
        try:
            group = grp.getgrgid(os.stat(self.port.path).st_gid).gr_name
        except KeyError:
            group = GROUP
        except OSError as error:
            return self._gone("permissions", self.port.path, error)
        user = os.environ.get("USER", "$USER")
        try:
            member = user in grp.getgrnam(group).gr_mem
        except KeyError:
            member = False
        fix = f"you are in {group}, but not since this login: log in again" if member else f"sudo adduser {user} {group}, log in again"
        return Check("permissions", FAULT, f"this user may not open it (group {group})", fix)

    def _gone(self, check: str, path: str, error: OSError) -> Check:
        """The port was unplugged after it had been found: later checks have none."""
        self.port, self.board, self.usable = None, None, False
        return Check(check, FAULT, f"{path} has gone: {error.strerror}", "plug the board in again")

    def _openers(self, path: str) -> dict[int, str]:
        """{number: name} of other processes that have the port open, as far as this user may see."""
        real = os.path.realpath(path)
        found: dict[int, str] = {}
        for process in self.host.proc.glob("[0-9]*"):
            if process.name == str(os.getpid()):
                continue
            try:
                files = [os.readlink(file) for file in (process / "fd").iterdir()]
            except OSError:
                continue
            if real in files:
                found[int(process.name)] = text(process / "comm") or "?"
        return found

    def _ignored_by_modem_manager(self, path: str) -> bool:
        status = os.stat(path)
        properties = text(self.host.udev / f"c{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}")
        return re.search(r"(?m)^E:ID_MM_(PORT|DEVICE)_IGNORE=1$", properties) is not None

    def free(self) -> Check:
        """No other program has it."""
        if self.port is None:
            return Check("free", SKIPPED, "no port")
        holding = None
        if self.usable:
            try:
                holding = attach.holding_process(self.port.path)
            except LitePulseError as error:
                self.usable = False
                return Check("free", FAULT, str(error).split(": ", 1)[-1], "end the program that has the port")
        openers = self._openers(self.port.path)
        if self.board:
            if holding or not openers:
                return Check("free", OK, f"attached as {self.board.name}, held by process {holding or '?'}")
            others = ", ".join(f"{name} (process {number})" for number, name in sorted(openers.items()))
            return Check("free", NOTE, f"attached as {self.board.name}, but not by 'litepulse attach': held by {others}")
        if openers or holding:
            self.usable = False
            if holding:
                openers.setdefault(holding, text(self.host.proc / str(holding) / "comm") or "?")
            others = ", ".join(f"{name} (process {number})" for number, name in sorted(openers.items()))
            manager = "ModemManager" in openers.values()
            fix = "sudo make driver-install ATTACH=1 keeps it away from the board" if manager else "end it"
            return Check("free", FAULT, f"in use by {others}", fix)
        try:
            tries = self._modem_manager() and not self._ignored_by_modem_manager(self.port.path)
        except OSError as error:
            return self._gone("free", self.port.path, error)
        if tries:
            finding = "not in use, but ModemManager may try it out"
            return Check("free", NOTE, f"{finding}: make driver-install ATTACH=1 prevents that")
        return Check("free", OK, "not in use")

    def _modem_manager(self) -> bool:
        return any(text(file) == "ModemManager" for file in self.host.proc.glob("[0-9]*/comm"))

    def latency(self) -> Check:
        """The adapter does not hold bytes back."""
        if self.port is None:
            return Check("latency timer", SKIPPED, "no port")
        if self.port.latency_file is None:
            return Check("latency timer", OK, "this adapter has none that can be set")
        now = self.port.latency
        if now is not None and now <= tuning.LATENCY_MS:
            return Check("latency timer", OK, f"{now} ms")
        if not self.board:
            return Check("latency timer", OK, f"{now} ms now; 'litepulse attach' sets {tuning.LATENCY_MS} ms")
        return Check(
            "latency timer",
            FAULT,
            f"{now} ms: every answer comes so much later",
            f"echo {tuning.LATENCY_MS} | sudo tee {self.port.latency_file}",
        )

    # The processors ---------------------------------------------------------------------------------------------------

    def idle(self) -> Check:
        """How long a processor takes to wake up when a byte comes."""
        words = idle.describe(self.host)
        deepest = idle.longest_wakeup(idle.idle_states(self.host))
        if deepest is None or deepest.latency_us <= idle.LONG_US:
            return Check("idle states", OK, words)
        return Check("idle states", NOTE, f"{words}; litepulse.Realtime(dma_latency=0) or (cstates=[{deepest.number}]) prevents that")

    def governor(self) -> Check:
        """Whether their clock is slow while there is little to do."""
        found = tuning.governors(self.host)
        if not found:
            return Check("governor", OK, "this kernel shows none")
        if found == [tuning.GOVERNOR]:
            return Check("governor", OK, found[0])
        finding = f"{', '.join(found)}: the clock may be low when a byte comes"
        return Check("governor", NOTE, f"{finding}; litepulse.Realtime(governor='{tuning.GOVERNOR}') raises it meanwhile")

    # The board --------------------------------------------------------------------------------------------------------

    def bridge(self) -> Check:
        """A LiteX UARTBone answers."""
        if self.board:
            return Check("bridge", OK, "the kernel speaks to it")
        if self.port is None or not self.usable:
            return Check("bridge", SKIPPED, "the port cannot be used")
        try:
            self.found = attach.inspect(self.port, self.baud)
        except NotLitePulse as error:
            self.problem = str(error).removeprefix(f"{self.port.path}: ")
        except LitePulseError as error:
            return Check(
                "bridge", FAULT, str(error).removeprefix(f"{self.port.path}: "), "power, bitstream (make BOARD=... flash), port and rate"
            )
        return Check("bridge", OK, f"answers at {self.baud} baud")

    def rate(self) -> Check:
        """How fast, and whether what goes over the cable is checked."""
        if self.board:
            baud, checked = self.board.value("baud"), self.board.value("checked")
            summary = f"{baud} baud, frames {'checked' if checked else 'not checked'}"
            if baud == DEFAULT_BAUD:
                return Check("rate", NOTE, f"{summary}: the lowest; detach and attach again tries higher ones")
            return Check("rate", OK if checked else NOTE, summary)
        if not self.found:
            return Check("rate", SKIPPED, "no bridge that answers")
        checks = "checks frames" if self.found.checked else "does not check frames"
        if not self.found.bridge_hz:
            return Check("rate", NOTE, f"this bitstream's bridge has a fixed rate and {checks}; make BOARD=... flash gives a newer one")
        return Check("rate", OK if self.found.checked else NOTE, f"up to {self.found.bridge_hz // 8} baud, {checks}")

    def core(self) -> Check:
        """A LitePulse of our version."""
        mine = compatibility.named(compatibility.OURS)
        if self.found and (note := compatibility.note(self.found.version)):
            return Check("core", NOTE, note)
        if self.found:
            return Check("core", OK, f"LitePulse {mine}, as this program")
        if self.board:
            return Check("core", OK, "the kernel has found it")
        if self.problem:
            return Check(
                "core", FAULT, self.problem, f"a bitstream with version {mine} (make BOARD=... flash), or the program of that version"
            )
        return Check("core", SKIPPED, "no bridge that answers")

    def cable(self) -> Check:
        """What the driver counted."""
        if not self.board:
            return Check("cable", SKIPPED, "not attached")
        counts = {name: value for name in attached.COUNTERS if (value := self.board.value(name)) is not None}
        if len(counts) < len(attached.COUNTERS):
            return Check("cable", FAULT, f"the driver does not tell its counters in {self.board.folder}/uartbone", "make driver-install")
        summary = (
            f"{counts['transactions']} transactions, {counts['repeats']} repeated, {counts['failures']} failed, "
            f"round trip {counts['round_trip_ns'] / 1e6:.3f} ms"
        )
        if counts["failures"] or counts["repeats"] * _FEW > counts["transactions"]:
            return Check("cable", FAULT, summary, "another cable, no hub, or a lower rate: litepulse attach --baud 1M")
        return Check("cable", OK, summary)

    def devices(self) -> Check:
        """They are there, and this user may open them."""
        if not self.board:
            if self.port is None:
                return Check("devices", SKIPPED, "no port")
            return Check("devices", NOTE, f"not attached: litepulse attach {preferred(self.host, self.port.path)}")
        if not self.board.bound:
            return Check("devices", FAULT, "the kernel's driver refuses the board", "dmesg says why; bitstream and driver of one version")
        nodes = self.board.nodes(self.host)
        missing = [what for what in ("pulse", "tty") if what not in nodes] + [path for path in nodes.values() if not os.path.exists(path)]
        if missing:
            return Check("devices", FAULT, f"missing: {', '.join(missing)}", "dmesg; detach and attach again")
        closed = [path for path in nodes.values() if not may_open(path)]
        if closed:
            return Check(
                "devices",
                FAULT,
                f"this user may not open {', '.join(closed)}",
                f"make driver-install brings the udev rule; sudo adduser $USER {GROUP}, log in again",
            )
        return Check("devices", OK, ", ".join(nodes.values()))
