# SPDX-License-Identifier: BSD-2-Clause
"""From the user's options to an identified board: the kernel driver, UARTBone, a litex_server, the
simulated SoC.

There is no fallback from one to another: without a board this fails, nothing is simulated unasked.
"""

import stat
from dataclasses import dataclass
from pathlib import Path

from litepulse.backends import places, remote
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.bus.identification import Core
from litepulse.backends.found import NotOne, others, the_one
from litepulse.backends.interface import CLOCKS, DRIVER, REMOTE, SIM, UARTBONE, Backend, Losses
from litepulse.backends.owner import Owner
from litepulse.backends.sim import COMMAND_STEP, Simulator
from litepulse.backends.uartbone import check_bridge_baud, check_not_raised, open_port
from litepulse.backends.wallclock import host_clock
from litepulse.errors import BadInput, InUse
from litepulse.limits import DEFAULT_BAUD, LONGEST_STEP, LOWEST_BAUD, STEP


@dataclass(frozen=True)
class SimOptions:
    """Of the simulated SoC. step: cycles that pass between two looks at it, and command_step: for each command to it."""

    vcd: str | Path | None = None
    stimulus: str | Path | None = None
    wires: tuple[str, ...] = ("rx",)
    step: int = STEP
    command_step: int = COMMAND_STEP


def connect(
    device: str | None = None,
    port: str | None = None,
    sim: bool = False,
    clock: str | None = None,
    port_baud: int = DEFAULT_BAUD,
    bridge_baud: int | None = None,
    sim_options: SimOptions | None = None,
    own: bool = True,
    csr: str | Path | None = None,
    core: str | None = None,
) -> Backend:
    """The requested board. `own`: this program reads the streams.

    `port_baud` is the bridge's bit rate, `bridge_baud` the one to raise it to. `csr`, `core`: see
    places.py.
    """
    if sim and port:
        raise BadInput("sim and port exclude each other")
    if device and (sim or port):
        raise BadInput(f"a device of the kernel and {'sim' if sim else 'port'} exclude each other")
    if bridge_baud is not None and not port:
        raise BadInput("bridge-baud works with a port only")
    if csr is not None and not port:
        raise BadInput("csr works with a port only")
    if core is not None and csr is None:
        raise BadInput("core: its place is in the csr.csv of the SoC: give it, too, as csr")
    if clock is not None and (sim or port):
        host_clock(clock)
    if sim:
        return connect_sim(sim_options or SimOptions(), clock)
    if port:
        return connect_port(port, port_baud, bridge_baud, own, csr, core, clock)
    if not device:
        board = the_one()
        if board.device is None:
            return connect_port(board.port or "", own=own, clock=clock)
        device = board.device
    from litepulse.backends.driver.backend import DriverBackend

    return DriverBackend(device, clock)


def connect_sim(options: SimOptions, clock: str | None = None) -> Backend:
    """A simulated SoC of its own, which ends with close()."""
    simulator = Simulator(options.vcd, options.stimulus, options.wires, options.step, options.command_step)
    assert simulator.bus
    return BusBackend(simulator.bus, SIM, "simulated SoC", True, [simulator.close], simulator.wait, clock=clock)


def connect_port(
    port: str,
    port_baud: int = DEFAULT_BAUD,
    bridge_baud: int | None = None,
    own: bool = True,
    csr: str | Path | None = None,
    core: str | None = None,
    clock: str | None = None,
) -> BusBackend:
    """A core behind LiteX's UARTBone or litex_server."""
    remote_port = port.startswith(remote.PREFIX)
    if (named := Path(port)).name.startswith("litepulse") and not port.startswith(("tcp:", remote.PREFIX)) and _is_device(named):
        raise BadInput(f"port: {port} is a device of the kernel's driver: give it as the device, not as a port")
    check_bridge_baud(port, port_baud, bridge_baud)
    if clock is not None:
        host_clock(clock)
    name, where = places.choose(csr, core) if csr is not None else (None, None)
    owner = Owner(f"{port}#{name}" if name else port)  # each core has its own streams
    chip = None if csr is None else port
    if own and not owner.acquire():
        if not remote_port:
            check_not_raised(port)  # the process that raised it has it alone: say that instead
        who = owner.holder()
        which = f"{port} core {name}" if name else port
        raise InUse(
            f"{which}: in use by another litepulse (process {who}); 'stop' and 'adjust' work beside it", int(who) if who.isdigit() else None
        )
    try:
        if remote_port:
            server = remote.RemoteBus(port, csr)
            return BusBackend(server, REMOTE, port, False, [server.close, owner.release], places=where, clock=clock, chip=chip)
        bus = open_port(port, port_baud)

        def prepare(core: Core) -> None:
            bus.rate_register = core.bridge
            bus.raise_to(bridge_baud)

        return BusBackend(bus, UARTBONE, port, False, [bus.close, owner.release], places=where, identified=prepare, clock=clock, chip=chip)
    except BaseException:
        owner.release()
        raise


def _is_device(path: Path) -> bool:
    try:
        return stat.S_ISCHR(path.stat().st_mode)
    except OSError:
        return False


__all__ = [
    "Backend",
    "CLOCKS",
    "DEFAULT_BAUD",
    "DRIVER",
    "LONGEST_STEP",
    "LOWEST_BAUD",
    "Losses",
    "NotOne",
    "Owner",
    "REMOTE",
    "SIM",
    "STEP",
    "SimOptions",
    "UARTBONE",
    "connect",
    "connect_port",
    "connect_sim",
    "others",
    "the_one",
]
