# SPDX-License-Identifier: BSD-2-Clause
"""Idle states of the processors (C-states), and what the kernel's command line says about them, in
numbers and in words."""

import re
from dataclasses import dataclass
from pathlib import Path

from litepulse.ports import Host, text

CPUS = Path("devices/system/cpu")  # below sysfs
MAX_CSTATE = "intel_idle.max_cstate"
_UNLIMITED = 9  # the kernel's own default
LONG_US = 20  # a wake-up that takes longer is worth a remark: a tenth of a bit at 5000 baud


@dataclass(frozen=True)
class IdleState:
    """One that the kernel shows.

    latency_us: how long leaving it takes; files: its switch for each processor; off: for how many
    it is off
    """

    number: int
    name: str
    latency_us: int
    files: tuple[Path, ...]
    off: int

    @property
    def enabled(self) -> bool:
        """For a processor at least."""
        return self.off < len(self.files)


def idle_states(host: Host) -> list[IdleState]:
    """All, by number."""
    found: dict[int, list[Path]] = {}
    for folder in (host.sysfs / CPUS).glob("cpu[0-9]*/cpuidle/state[0-9]*"):
        found.setdefault(int(folder.name.removeprefix("state")), []).append(folder)
    states: list[IdleState] = []
    for number, folders in sorted(found.items()):
        folders.sort(key=lambda each: int(each.parent.parent.name.removeprefix("cpu")))
        latencies = [int(value) for folder in folders if (value := text(folder / "latency")).isdigit()]
        switches = tuple(folder / "disable" for folder in folders)
        off = sum(text(switch) not in ("0", "") for switch in switches)
        states.append(IdleState(number, text(folders[0] / "name") or f"state{number}", max(latencies, default=0), switches, off))
    return states


def max_cstate(host: Host) -> int | None:
    """intel_idle.max_cstate as it is in force; None: this kernel has no intel_idle."""
    value = text(host.sysfs / "module/intel_idle/parameters/max_cstate")
    return int(value) if value.isdigit() else None


def driver(host: Host) -> str | None:
    """The kernel's for idle states."""
    name = text(host.sysfs / CPUS / "cpuidle/current_driver")
    return name if name and name != "none" else None


def longest_wakeup(states: list[IdleState]) -> IdleState | None:
    """Of those that may be entered, the one that takes longest to leave."""
    return max((state for state in states if state.enabled), key=lambda state: state.latency_us, default=None)


def limit_words(host: Host) -> str:
    """What intel_idle.max_cstate means here; '' if it limits nothing."""
    limit = max_cstate(host)
    if limit is None or limit >= _UNLIMITED:
        return ""
    booted = re.search(rf"(?:^|\s){re.escape(MAX_CSTATE)}=", text(host.proc / "cmdline"))
    from_where = "on the kernel's command line" if booted else "the kernel's own"
    if limit == 0:
        return f"{MAX_CSTATE}=0 ({from_where}): intel_idle is off, the idle states are those of the firmware"
    return f"{MAX_CSTATE}={limit} ({from_where}): no state above number {limit} is there"


def describe(host: Host) -> str:
    """One line: the states, how long the deepest takes, and what limits them."""
    states = idle_states(host)
    limit = limit_words(host)
    if not states:
        return "; ".join(filter(None, ("this kernel shows no idle states", limit)))
    names = ", ".join(f"{state.name} {state.latency_us} µs{_switch(state)}" for state in states)
    deepest = longest_wakeup(states)
    wakeup = f"a wake-up takes up to {deepest.latency_us} µs" if deepest else "all are off"
    return "; ".join(filter(None, (f"{driver(host) or 'no driver named'}: {names}", wakeup, limit)))


def _switch(state: IdleState) -> str:
    if not state.off:
        return ""
    return " (off)" if not state.enabled else f" (off for {state.off} of {len(state.files)} processors)"
