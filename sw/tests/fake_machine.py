# SPDX-License-Identifier: BSD-2-Clause
"""A simulated PC: USB plugs, serial ports that are pseudo-terminals, and a kernel that makes devices of an attached port.

All of it lies in a folder, so that several processes see the same: `python fake_machine.py FOLDER VERB ...` is the command on it.
"""

import errno
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from litepulse import attached, cli, ports
from litepulse.ports import Host

ICEBREAKER = {"idVendor": "0403", "idProduct": "6010", "manufacturer": "1BitSquared", "product": "iCEBreaker V1.0e", "serial": "ib7A"}
DISCIPLINE = 8


@dataclass(frozen=True)
class FakeHost(Host):
    """A Host whose kernel is Machine's."""

    machine: "Machine" = None

    def set_discipline(self, file, number):
        self.machine.set_discipline(os.ttyname(file), number)

    def discipline(self, file):
        os.ttyname(file)
        return int((self.machine.folder / "discipline").read_text() or 0)

    def run(self, program, *arguments):
        answers = self.machine.folder / "programs" / program
        return (0, answers.read_text().strip()) if answers.exists() else (127, "")

    @staticmethod
    def release():
        return "6.12.9"


class Machine:
    """The folder. `kernel`: how its line discipline behaves: "good", "none" (no module), "not
    root", "no board", "refuses" (the board)."""

    def __init__(self, folder):
        self.folder = Path(folder)
        names = ("sysfs", "dev", "proc", "modules", "udev")
        self.sysfs, self.dev, self.proc, self.modules, self.udev = (self.folder / name for name in names)
        self.host = FakeHost(*(self.folder / name for name in (*names, "state")), machine=self)

    def make(self, kernel="good"):
        """An empty one."""
        for name in (
            "sysfs/class/tty",
            "sysfs/dev/char",
            "sysfs/bus/usb/devices",
            "sysfs/devices/platform",
            "dev/serial/by-id",
            "proc",
            "modules/6.12.9",
            "udev",
            "programs",
        ):
            (self.folder / name).mkdir(parents=True)
        self.write("discipline", "0")
        self.write("kernel", kernel)
        if kernel != "none":
            for module in ("litepulse", "litepulse_uartbone"):
                (self.sysfs / "module" / module).mkdir(parents=True)
        return self

    def write(self, name, text):
        """A file, as sysfs has them."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")

    def plug(self, terminal, name="ttyUSB1", interface="01", place="1-2", latency="16", **descriptor):
        """A USB serial port whose other end is a pseudo-terminal's; its path in /dev."""
        descriptor = ICEBREAKER | descriptor
        usb = f"sysfs/devices/pci0/usb1/{place}"
        for file, text in descriptor.items():
            self.write(f"{usb}/{file}", text)
        number = place.rpartition("-")[2]
        self.write(f"{usb}/busnum", "1")
        self.write(f"{usb}/devnum", number)
        self.write(f"dev/bus/usb/001/{number.zfill(3)}", "")
        (self.sysfs / "bus" / "usb" / "devices" / place).unlink(missing_ok=True)
        (self.sysfs / "bus" / "usb" / "devices" / place).symlink_to(self.folder / usb)
        function = f"{usb}/{place}:1.{int(interface)}"
        self.write(f"{function}/bInterfaceNumber", interface)
        if latency:
            self.write(f"{function}/{name}/latency_timer", latency)
        node = self.folder / function / name / "tty" / name
        node.mkdir(parents=True)
        number = os.stat(terminal).st_rdev
        (self.sysfs / "class" / "tty" / name).symlink_to(node)
        (self.sysfs / "dev" / "char" / f"{os.major(number)}:{os.minor(number)}").symlink_to(node)
        path = self.dev / name
        path.symlink_to(terminal)
        ident = f"usb-{descriptor['manufacturer']}_{descriptor['product'].replace(' ', '_')}_{descriptor['serial']}-if{interface}-port0"
        (self.dev / "serial" / "by-id" / ident).symlink_to(f"../../{name}")
        return str(path)

    def processors(self, count=4, states=(("POLL", 0), ("C1", 2), ("C6", 133)), governor="powersave"):
        """Processors with idle states, two and two with one clock."""
        cpus = "sysfs/devices/system/cpu"
        self.write(f"{cpus}/cpuidle/current_driver", "intel_idle")
        for cpu in range(count):
            for number, (name, latency) in enumerate(states):
                for file, text in (("name", name), ("latency", latency), ("disable", 0)):
                    self.write(f"{cpus}/cpu{cpu}/cpuidle/state{number}/{file}", text)
        for policy in range(0, count, 2):
            self.write(f"{cpus}/cpufreq/policy{policy}/scaling_governor", governor)
            self.write(f"{cpus}/cpufreq/policy{policy}/scaling_available_governors", "performance powersave")

    def powered(self, name="ttyUSB1", control="auto"):
        """The files with which the kernel may suspend a plugged port, its adapter and the bus; the adapter's first."""
        port = (self.sysfs / "class" / "tty" / name).resolve()
        folders = [folder for folder in port.parents if (folder / "idVendor").exists() or folder.name == "pci0"]
        for folder in folders:
            self.write(f"{folder.relative_to(self.folder)}/power/control", control)
        return [folder / "power" / "control" for folder in folders]

    def latency_file(self, name="ttyUSB1"):
        """Of a port's adapter."""
        (path,) = self.sysfs.glob(f"devices/pci0/usb1/*/*/{name}/latency_timer")
        return path

    @property
    def kernel(self):
        return (self.folder / "kernel").read_text().strip()

    def set_discipline(self, terminal, number):
        """What TIOCSETD does."""
        if number == DISCIPLINE and self.kernel in ("none", "not root"):
            number = errno.EINVAL if self.kernel == "none" else errno.EPERM
            raise OSError(number, os.strerror(number))
        self.write("discipline", number)
        (name,) = [path.name for path in self.dev.glob("tty*") if os.path.realpath(path) == terminal]
        if number == DISCIPLINE and self.kernel != "no board":
            self.appear(name, driven=self.kernel != "refuses")
        if number != DISCIPLINE:
            self.vanish(name)

    def appear(self, port, number=0, driven=True, **values):
        """The kernel has made the devices of a board on a port; its uartbone/ reads `values`."""
        board = f"sysfs/devices/platform/litepulse.{number}"
        values = {"baud": 115200, "checked": 1, "transactions": 5000, "repeats": 0, "failures": 0, "round_trip_ns": 250000} | values
        for file, value in ({"port": port} | values).items():
            self.write(f"{board}/uartbone/{file}", value)
        if not driven:
            return
        (self.folder / board / "driver").symlink_to(self.folder)
        for kind, name in (
            ("misc", f"litepulse{number}"),
            ("litepulse.0:0/litepulse.0:0.0/tty", f"ttyPULSE{number}"),
            ("ptp", f"ptp{number + 3}"),
        ):
            (self.folder / board / kind / name).mkdir(parents=True)
            (self.dev / name).symlink_to("/dev/null")

    def vanish(self, port):
        """It has removed them."""
        for board in self.sysfs.glob("devices/platform/litepulse.*"):
            if (board / "uartbone" / "port").read_text().strip() == port:
                for name in (*board.glob("misc/*"), *board.glob("**/tty/*"), *board.glob("ptp/*")):
                    (self.dev / name.name).unlink()
                board.rename(board.with_name("gone"))
                shutil.rmtree(board.with_name("gone"))

    def refuse_to_open(self, error, times):
        """The next `times` that a port is opened fail with an error: "ENXIO", as a port that was
        just plugged in."""
        self.write("refusals", f"{error} {times}")

    def refusal(self, path):
        """Counts down; the OSError with which opening a path fails, or None."""
        file = self.folder / "refusals"
        if not file.exists() or Path(path).parent != self.dev:
            return None
        error, times = file.read_text().split()
        if times == "0":
            return None
        self.refuse_to_open(error, int(times) - 1)
        number = getattr(errno, error)
        return OSError(number, os.strerror(number), path)

    def rates(self):
        """What was written to uartbone/baud, in order."""
        path = self.folder / "rates"
        return [int(line) for line in path.read_text().split()] if path.exists() else []


def pretend(machine):
    """The package takes the machine for the one it runs on; a rate above that in the file `carries` is not understood by the board."""
    write = attached.Attached.set

    def set_value(board, name, value):
        with open(machine.folder / "rates", "a", encoding="ascii") as file:
            file.write(f"{value}\n")
        limit = machine.folder / "carries"
        if limit.exists() and value > int(limit.read_text()):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        write(board, name, value)

    open_file = os.open

    def open_port(path, *arguments, **options):
        problem = isinstance(path, str) and machine.refusal(path)
        if problem:
            raise problem
        return open_file(path, *arguments, **options)

    os.open = open_port
    attached.Attached.set = set_value
    # A class, because modules that are loaded later have it in their annotations.
    attached.Host = ports.Host = type("Host", (Host,), {"__new__": lambda _: machine.host})


if __name__ == "__main__":
    pretend(Machine(sys.argv[1]))
    sys.exit(cli.main(sys.argv[2:]))
