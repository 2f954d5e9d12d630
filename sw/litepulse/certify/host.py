# SPDX-License-Identifier: BSD-2-Clause
"""What is measured, and where: the port, its driver and chip; the machine, its kernel and settings."""

import contextlib
import os
import re
import struct
from typing import Any

from litepulse import idle
from litepulse.port_program import PortKind
from litepulse.ports import Host, Port, SerialFlags, describe, text

# Types of struct serial_struct: linux/serial.h and linux/serial_core.h
UARTS = {1: "8250", 2: "16450", 3: "16550", 4: "16550A", 6: "16650", 7: "16650V2", 8: "16750", 10: "16C950", 11: "16654", 12: "16850"}
SIMULATED_BOARD = (
    "the board: its pins are those of a simulation, and so are bit rate, jitter, stop bits, gaps, breaks and driver enable of what is "
    "connected to them; its clock is paced by that of this machine, and that is part of every latency"
)
SIMULATED_PINS = "the board: its pins are those of a simulation, which is exact by definition"
BYTES_ONLY = "the port: the hypervisor carries its bytes, not its pins; bits and their times are made by what carries them on"


def port_of(host: Host, path: str, kind: PortKind) -> dict[str, Any]:
    """What the port is; null where something is not known of it. `says` is one sentence for people."""
    port = describe(host, path)
    flags = None if kind.kind == "pseudo-terminal" else _flags(path)
    usb = {"title": port.title(), "id": f"{port.vendor}:{port.chip}"} if port.usb else None
    uart = None if flags is None or usb else _uart(flags)
    return {
        "port": path,
        "kind": kind.kind,
        "driver": kind.driver,
        "uart": uart,
        "usb": usb,
        "latency_timer_ms": port.latency,
        "low_latency": flags.low_latency if flags else None,
        "says": _description(kind, port, uart),
    }


def _description(kind: PortKind, port: Port, uart: str | None) -> str:
    if kind.kind == "pseudo-terminal" or not (port.usb or uart):
        return str(kind)
    if port.usb:
        timer = "" if port.latency is None else f", latency timer {port.latency} ms"
        return f"a USB adapter ({port.title()}), driver {kind.driver}{timer}"
    return f"{kind}, UART {uart}"


def _flags(path: str) -> SerialFlags | None:
    try:
        file = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return SerialFlags.read(file)
    finally:
        os.close(file)


def _uart(flags: SerialFlags) -> str | None:
    (number,) = struct.unpack_from("i", flags.raw)
    return UARTS.get(number, f"type {number}") if number else None


def machine_of(host: Host) -> dict[str, Any]:
    """The machine; null where it does not say."""
    uname = os.uname()
    model = re.search(r"(?m)^(?:model name|cpu model|uarch|isa)\s*: (.*)$", text(host.proc / "cpuinfo"))
    governor = text(host.sysfs / "devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return {
        "kernel": uname.release,
        "kernel_version": uname.version,
        "architecture": uname.machine,
        "processor": model[1].strip() if model else None,
        "processors": os.cpu_count() or 1,
        "governor": governor or None,
        "idle": idle_of(host),
        "virtual": virtual(host),
        "load_average": load_average(),
    }


def idle_of(host: Host) -> dict[str, Any]:
    """Idle states of its processors, which delay what wakes them. `says` is one sentence for people."""
    states = [
        {"number": state.number, "name": state.name, "latency_us": state.latency_us, "enabled": state.enabled}
        for state in idle.idle_states(host)
    ]
    return {"driver": idle.driver(host), "states": states, "intel_idle_max_cstate": idle.max_cstate(host), "says": idle.describe(host)}


def virtual(host: Host) -> str | None:
    """What this machine says that it is, if it is a virtual one."""
    dmi = " ".join(filter(None, (text(host.sysfs / "class/dmi/id" / name) for name in ("sys_vendor", "product_name"))))
    if re.search(r"QEMU|VMware|VirtualBox|KVM|Bochs|Xen|Virtual Machine", dmi):
        return dmi
    return "a virtual machine" if re.search(r"(?m)^flags\s*:.*\bhypervisor\b", text(host.proc / "cpuinfo")) else None


def load_average() -> list[float] | None:
    """Of one, five and fifteen minutes."""
    with contextlib.suppress(OSError):
        return [round(each, 2) for each in os.getloadavg()]
    return None


def not_real(board_is_simulated: bool, port: dict[str, Any] | None, machine: dict[str, Any]) -> list[str]:
    """A sentence for each thing that is not real; port: as port_of() says, None if none is measured."""
    found = [SIMULATED_BOARD if port else SIMULATED_PINS] if board_is_simulated else []
    if port and port["kind"] == "pseudo-terminal":
        found.append("the port: a pseudo-terminal has no UART and no wire; its figures are those of software")
    elif port and ("QEMU" in (machine["virtual"] or "") or (port["usb"] and "QEMU" in port["usb"]["title"])):
        found.append(BYTES_ONLY)
    if port and machine["virtual"]:
        found.append(f"the machine: {machine['virtual']}; its time and its processors are shared with others")
    return found
