# SPDX-License-Identifier: BSD-2-Clause
"""The steps of first light, in their order. A step that fails says what to look at; those that do not need it are tried all the same."""

import contextlib
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from typing import IO, Any

from litepulse import attach, attached, compatibility, flash, flash_boards, tuning, usb_boards
from litepulse.board import Board
from litepulse.certify.result import self_figures
from litepulse.certify.selftest import SelfTest
from litepulse.doctor import FAULT, NOTE, OK, SKIPPED, Check, Doctor
from litepulse.errors import LitePulseError, OutputLost, TransportError
from litepulse.first_light import crystal, wires
from litepulse.flash_boards import FlashBoard
from litepulse.interrupt import Flag
from litepulse.layout import regs
from litepulse.limits import DEFAULT_BAUD
from litepulse.line import Format
from litepulse.plan import profile_of
from litepulse.ports import Host, Port, UsbDevice, choose, describe, find_bridges, may_open, usb_devices
from litepulse.units import exact, fixed, si

SELF_BAUD = 1_000_000
FASTEST_PPM = 100  # a crystal is within 50 of what it says; a PC's clock that is kept right adds little
FARTHEST_PPM = 10_000  # no crystal is so far off: it is another one, or the PLL makes another clock
SIMULATED, ELSEWHERE = "a simulated board has none", "this board is not on a serial port of this PC"
WAIT = 5.0  # seconds in which a board that was written is there again
_STEP = 0.2
_TRIES = 3  # a busy PC may miss an answer
_ROUND_TRIPS = 20
_LATENCY_MS = tuning.LATENCY_MS


@dataclass(frozen=True)
class Options:
    """What is wanted. where: what to open, None: the port is looked for; sim: the simulated SoC; file: how the bitstream is chosen."""

    where: str | None = None
    sim: bool = False
    board: FlashBoard | None = None
    bitstream: Callable[[FlashBoard], flash.Chosen] | None = None
    serial: str | None = None
    write: bool = True
    baud: int = DEFAULT_BAUD
    edges: int = 20_000
    seconds: Fraction = Fraction(60)
    seed: int = 1


@dataclass(frozen=True)
class Hands:
    """What a person and the surroundings do. ask: True to go on; out: where the programmer's output goes, None: to ours."""

    ask: Callable[[str], bool]
    open: Callable[[str | None], AbstractContextManager[Board]]
    interrupt: Flag
    progress: Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
    out: IO[Any] | None = None


@dataclass(frozen=True)
class Step:
    """A step. needs: attributes of FirstLight that must be known; look: what to look at if it fails, unless it says more itself;
    writes: it is only for writing the board, which may not be wanted."""

    name: str
    do: Callable[["FirstLight"], Check]
    needs: tuple[str, ...] = ()
    look: str = ""
    writes: bool = False


# What a step lacks, in words.
LACKS = {
    "board": "it is not known which board this is",
    "device": "the board was not found",
    "rights": "this user may not write the board",
    "program": "there is no program that writes it",
    "chosen": "there is no bitstream",
    "port": "there is no port to use",
    "target": "there is no board to speak to",
    "opened": "the board cannot be used",
    "wired": "rx does not follow tx",
}


@dataclass
class FirstLight:
    """One run, and what it knows so far."""

    host: Host
    options: Options
    hands: Hands
    board: FlashBoard | None = None
    device: UsbDevice | None = None
    rights: bool = False
    program: str | None = None
    chosen: flash.Chosen | None = None
    flashed: bool = False
    doctor: Doctor | None = None
    port: Port | None = None
    target: bool = False  # there is something to open
    opened: Board | None = None
    wired: bool = False
    timer_before: int | None = None
    measured: dict[str, Any] = field(default_factory=dict[str, Any])
    device_facts: dict[str, Any] = field(default_factory=dict[str, Any])
    _stack: ExitStack = field(default_factory=ExitStack)

    def run(self) -> Generator[Check]:
        """Does each step. KeyboardInterrupt if it is interrupted."""
        self.board = self.options.board
        try:
            for step in STEPS:
                if self.hands.interrupt:
                    raise KeyboardInterrupt
                yield self._done(step)
            if self.hands.interrupt:
                raise KeyboardInterrupt
        finally:
            self.close()

    def _done(self, step: Step) -> Check:
        if step.writes and (skipped := nothing_written(self, step.name)):
            return skipped
        lack = next((LACKS[name] for name in step.needs if not getattr(self, name)), None)
        if lack:
            return Check(step.name, SKIPPED, lack)
        try:
            check = step.do(self)
        except OutputLost:
            raise
        except LitePulseError as error:
            if isinstance(error, TransportError):
                self.close()
            check = Check(step.name, FAULT, str(error))
        return Check(step.name, check.state, check.finding, check.fix or (step.look if check.state == FAULT else ""))

    def opening(self) -> Board:
        """Opens the board."""
        where = None if self.options.sim else self.options.where if self.port is None else self.port.path
        self.opened = self._stack.enter_context(self.hands.open(where))
        return self.opened

    def close(self) -> None:
        """Gives it back."""
        self.opened = None
        self._stack.close()

    @property
    def by_name(self) -> FlashBoard:
        """The board, which is known."""
        assert self.board is not None
        return self.board

    @property
    def spoken(self) -> Board:
        """The board that is open."""
        assert self.opened is not None
        return self.opened

    @property
    def on_port(self) -> bool:
        """Whether it is on a serial port of this PC, or may be found on one."""
        return not self.options.sim and not (self.options.where or "").startswith(("tcp:", "remote:"))


# From the plug to the bitstream -----------------------------------------------------------------------------------------


def squeeze(title: str) -> str:
    """A name without case, spaces and signs."""
    return "".join(character for character in title.lower() if character.isalnum())


def nothing_written(light: FirstLight, name: str) -> Check | None:
    """The check of a step that is only for writing."""
    if light.options.write and light.on_port:
        return None
    return Check(name, SKIPPED, "nothing is written" if light.on_port else ELSEWHERE)


def adapter(light: FirstLight) -> Check:
    """The board's plug: one, and that of this board."""
    name = "adapter"
    if light.board is None and light.on_port:
        with contextlib.suppress(LitePulseError) if not light.options.write else contextlib.nullcontext():
            light.board = flash.plugged_board(light.host)
    if skipped := nothing_written(light, name):
        return skipped
    board, wanted = light.by_name, light.options.serial
    what = f"USB {':'.join(board.usb)}"
    found = usb_devices(light.host, *board.usb)
    if not found:
        return Check(name, FAULT, f"{board.title} is not there: no {what}", f"{board.attach}; another cable, another socket; lsusb")
    matching = [device for device in found if wanted in (None, device.serial)]
    if not matching:
        return Check(name, FAULT, f"none of {len(found)} with {what} has the serial number that was given", "lsusb -v; --serial")
    if len(matching) > 1:
        numbers = ", ".join(sorted(device.serial for device in matching if device.serial)) or "they have no serial numbers"
        return Check(name, FAULT, f"{len(matching)} with {what} are plugged in", f"unplug all but one, or --serial N: {numbers}")
    device = matching[0]
    others = (other for other in flash_boards.BOARDS.values() if squeeze(other.title) in squeeze(device.title))
    other = next(others, board)
    if other != board:
        return Check(name, FAULT, f"this plug says that it is another board: {device.title}", f"--board {other.name}, or the right board")
    for one in attached.boards(light.host):
        port = describe(light.host, light.host.dev / one.port)
        if port.usb == device.folder:
            return Check(name, FAULT, f"the kernel has it as {one.name}", f"sudo litepulse detach {port.path}")
    light.device = device
    return Check(name, OK, f"{board.title}: {device.title or what}")


def permissions(light: FirstLight) -> Check:
    """This user may write the board."""
    name = "permissions"
    assert light.device is not None
    for node in light.device.nodes:
        if not os.path.exists(node):
            return Check(name, FAULT, f"{node} is not there", "is this a container? give it the USB device, or write the board elsewhere")
        if not may_open(node):
            vendor, product = light.by_name.usb
            rule = f'SUBSYSTEM=="usb|hidraw", ATTRS{{idVendor}}=="{vendor}", ATTRS{{idProduct}}=="{product}", TAG+="uaccess"'
            where = "/etc/udev/rules.d/60-litepulse-boards.rules"
            return Check(name, FAULT, f"this user may not open {node}", f"a udev rule, in {where}: {rule}; then plug the board in again")
    light.rights = True
    return Check(name, OK, "this user may write it")


def programmer(light: FirstLight) -> Check:
    """The program that writes the board."""
    light.program = flash.program_of(light.by_name, "flash", False)
    return Check("programmer", OK, light.program)


def bitstream(light: FirstLight) -> Check:
    """The bitstream, which is one for this board."""
    name = "bitstream"
    if light.options.bitstream is None:
        return Check(name, SKIPPED, LACKS["board"])
    light.chosen = chosen = light.options.bitstream(light.by_name)
    note = flash.note(chosen)
    return Check(name, NOTE if note else OK, f"{chosen.path.name}: {note or chosen.what}")


def write(light: FirstLight) -> Check:
    """Into the board's flash."""
    name = "flash"
    assert light.chosen is not None and light.program is not None
    words = flash.command(light.chosen, "flash", light.program, light.options.serial)
    if not light.hands.ask(f"Write {light.chosen.path.name} into the flash of the {light.by_name.title}?"):
        return Check(name, SKIPPED, "left as it is")
    flash.write(light.chosen, words, light.hands.out)
    light.flashed = True
    return Check(name, OK, f"written by {light.program}")


# The port, and what answers there ---------------------------------------------------------------------------------------


def own_port(board: FlashBoard) -> bool:
    """Whether the bridge is a port of the board's own plug, which says what it is."""
    return any(title == board.title for title, *_ in usb_boards.BOARDS)


def find_port(light: FirstLight) -> Port:
    """The bridge's port. BadInput if there is none, or more than one that could be meant."""
    if light.options.where is None and light.device is not None:
        for port in find_bridges(light.host):
            if port.usb == light.device.folder:
                return port
    return choose(light.host, light.options.where)


def port(light: FirstLight) -> Check:
    """The serial port: there, the right one, ours to open, free."""
    name = "port"
    if not light.on_port:
        light.target = True
        return Check(name, SKIPPED, ELSEWHERE)
    board = light.board
    if board and light.options.where is None and not own_port(board):
        finding = f"the plug of the {board.title} has no port that says what it is"
        return Check(name, FAULT, finding, f"--port /dev/ttyUSB0, its port: {board.serial_is}")
    end = time.monotonic() + (WAIT if light.flashed else 0)
    while True:
        try:
            found = find_port(light)
            break
        except LitePulseError:
            if time.monotonic() >= end or light.hands.interrupt:
                raise
        time.sleep(_STEP)
    doctor = Doctor(light.host, found.path, light.options.baud)
    doctor.choose()
    for check in (doctor.exists(), doctor.interface(), doctor.permissions(), doctor.free()):
        if check.state == FAULT:
            return Check(name, FAULT, check.finding, check.fix)
    if doctor.board:
        return Check(name, FAULT, f"the kernel has it as {doctor.board.name}", f"sudo litepulse detach {found.path}")
    light.doctor, light.port, light.timer_before = doctor, found, found.latency
    title = f": {found.maker} {found.product}".rstrip() if found.product else ""
    return Check(name, OK, f"{found.name}{title}")


def bridge(light: FirstLight) -> Check:
    """Something answers there."""
    name = "bridge"
    if not light.on_port:
        return Check(name, SKIPPED, ELSEWHERE)
    doctor = light.doctor
    if doctor is None:
        return Check(name, SKIPPED, LACKS["port"])
    end = time.monotonic() + (WAIT if light.flashed else 0)
    tries = 1
    while (check := doctor.bridge()).state == FAULT and not light.hands.interrupt:
        if tries >= _TRIES and time.monotonic() >= end:
            break
        tries += 1
        time.sleep(_STEP)
    if check.state == FAULT:
        crossed = "" if light.board is None or own_port(light.board) else "the adapter's TX to the board's RX and the other way round; "
        look = f"{crossed}power; the bitstream: of this board, and of its FPGA; the oscillator and the PLL: without them nothing answers"
        return Check(name, FAULT, check.finding, look)
    light.target = True
    return check


def runs(board: FlashBoard, samples: int, clock: Fraction) -> bool:
    """Whether a board has a bitstream with this clock and as many samples per cycle."""
    return any(clocks.get(samples) == clock for clocks in board.clocks.values())


def core(light: FirstLight) -> Check:
    """A LitePulse of a version that we know, and of this board."""
    name = "core"
    identity = light.opening().identity
    version, samples, clock = compatibility.named(identity.version), identity.samples_per_cycle, identity.clock_hz
    light.device_facts = {
        "simulated": identity.simulated,
        "register_map": version,
        "clock_hz": exact(clock),
        "samples_per_cycle": samples,
        "inputs": identity.inputs,
        "backend": identity.backend,
    }
    summary = f"LitePulse {version} at {si(clock, 'Hz', 6)}, {samples} per cycle"
    if identity.simulated:
        summary += ", SIMULATED"
    elif light.board and not runs(light.board, samples, clock):
        others = [each.title for each in flash_boards.BOARDS.values() if runs(each, samples, clock)]
        whose = f": that of {' or '.join(others)}" if others else ""
        return Check(
            name, FAULT, f"{summary}, which no bitstream of {light.board.title} has{whose}", f"--board {light.board.name} writes it"
        )
    note = compatibility.note(identity.version)
    return Check(name, NOTE if note else OK, note or summary)


# What is measured -------------------------------------------------------------------------------------------------------


def wire(light: FirstLight) -> Check:
    """One jumper from tx to rx."""
    name = "wire"
    board, at = light.spoken, light.board.wires if light.board else dict[str, str]()

    def place(signal: str) -> str:
        return f"{signal} ({at[signal]})" if signal in at else signal

    if not light.options.sim and not light.hands.ask(f"Connect {place('tx')} to {place('rx')} by one jumper wire."):
        return Check(name, SKIPPED, "no jumper")
    found = wires.look(board, light.hands.interrupt)
    light.measured["wire"] = {"follow": list(found.follow), "moving": list(found.moving)}
    wanted = f"one wire from {place('tx')} to {place('rx')}, and nothing else there"
    if "rx" in found.follow:
        light.wired = True
        more = [each for each in found.follow if each != "rx"]
        return Check(name, NOTE if more else OK, f"rx follows tx{''.join(f', and so does {each}' for each in more)}")
    if found.follow:
        this = ", ".join(place(each) for each in found.follow)
        return Check(name, FAULT, f"tx comes to {this}, not to rx", f"move that end of the wire to {place('rx')}")
    if "rx" in found.moving:
        return Check(name, FAULT, "rx changes by itself", wanted)
    if found.low:
        return Check(
            name, FAULT, "no pulse comes back, and rx is at 0", f"the wire is at GND, at de or at another pin that is low: {wanted}"
        )
    return Check(name, FAULT, "no pulse of tx comes back at any pin", wanted)


def own(light: FirstLight) -> Check:
    """As `certify --self`."""
    name, board, options = "self", light.spoken, light.options
    rate = min(Fraction(SELF_BAUD), board.timescale.clock_hz / 8)
    profile = profile_of(board.timescale, rate, Format.parse("8N1"))
    with light.hands.progress("edges", options.edges) as progress:
        test = SelfTest(board.backend, profile, options.edges, options.seed, light.hands.interrupt, progress)
        found = test.run()
    light.measured["self"] = self_figures(found, profile)
    delays = found.delays
    if found.missing or found.extra or found.moved:
        return Check(name, FAULT, "; ".join(found.complaints))
    came = f"{delays.count} of {found.edges} edges came"
    if (delays.least, delays.most) == (regs.LOOPBACK_TICKS, regs.LOOPBACK_TICKS):
        return Check(name, OK, f"{came}, {regs.LOOPBACK_TICKS} tick after their launch")
    # Pads and a wire add a constant; where it ends near a tick's edge, two neighbours come.
    if delays.most - delays.least <= 1:
        return Check(name, NOTE, f"{came}, {delays.least} to {delays.most} ticks after their launch: what pads and wire add, docs/pins.md")
    return Check(name, FAULT, f"edges came {delays.least} to {delays.most} ticks after their launch")


def timer(light: FirstLight) -> Check:
    """How long the adapter holds bytes back, and how long an answer takes."""
    name, board = "latency timer", light.spoken
    if light.options.sim:
        return Check(name, SKIPPED, SIMULATED)
    trips = sorted(2 * board.read_clocks().uncertainty for _ in range(_ROUND_TRIPS))
    median = trips[len(trips) // 2]
    now = light.port.latency if light.port else None
    light.measured["latency_timer"] = {
        "before_ms": light.timer_before,
        "in_use_ms": now,
        "round_trip_ns": {"least": trips[0], "median": median, "most": trips[-1]},
    }
    takes = f"an answer takes {si(Fraction(median, 10**9), 's', 3)} besides its bytes"
    if now is None:
        return Check(name, OK, f"this port has none that can be set; {takes}")
    if now > _LATENCY_MS:
        look = f"echo {_LATENCY_MS} | sudo tee {light.port.latency_file if light.port else ''}; the adapter's driver"
        return Check(name, FAULT, f"{now} ms while the board is in use: every answer comes so much later", look)
    before = "" if light.timer_before == now else f", {light.timer_before} ms before"
    return Check(name, OK, f"{now} ms{before}; {takes}")


def rate(light: FirstLight) -> Check:
    """The crystal against the PC's clock."""
    name, board = "crystal", light.spoken
    if board.simulated:
        return Check(name, SKIPPED, SIMULATED)
    is_set = light.host.clock_is_set()
    with light.hands.progress("crystal", crystal.READINGS) as progress:
        found = crystal.measure(board, light.options.seconds, light.hands.interrupt, progress)
    ppm, unsure = (float(fixed(value, 3)) for value in (found.ppm, found.uncertainty))
    light.measured["crystal"] = {
        "ppm": None if found.was_set else ppm,
        "uncertainty_ppm": None if found.was_set else unsure,
        "seconds": float(fixed(found.seconds, 3)),
        "clock_is_set": is_set,
        "clock_was_set_meanwhile": found.was_set,
    }
    if found.was_set:
        return Check(name, NOTE, "the PC's clock was set meanwhile, or did not run evenly: nothing is known")
    summary = f"{ppm:+.1f} ppm ± {unsure:.1f} ppm against the PC's clock"
    off = abs(found.ppm) - found.uncertainty
    if off > FARTHEST_PPM:
        return Check(
            name, FAULT, summary, "the oscillator, the PLL, and whether the bitstream is that of this board: it runs at another rate"
        )
    if not is_set:
        return Check(name, NOTE, f"{summary}, which no time service is known to keep right (chronyd, systemd-timesyncd)")
    if off > FASTEST_PPM:
        return Check(name, FAULT, summary)
    return Check(name, OK, summary)


def kernel(light: FirstLight) -> Check:
    """The driver takes the board, and gives it back."""
    name = "attach"
    light.close()
    doctor, host = light.doctor, light.host
    if light.port is None or doctor is None:
        return Check(name, SKIPPED, ELSEWHERE if not light.on_port else LACKS["port"])
    if (modules := doctor.modules()).state == FAULT:
        return Check(name, SKIPPED, f"{modules.finding}; {modules.fix} installs them")
    begun = time.monotonic()
    try:
        link = attach.Link(host, light.port, light.options.baud)
    except attach.OnlyRoot:
        return Check(name, SKIPPED, "only root may give a port to the kernel: sudo litepulse first-light --no-flash")
    try:
        remark = link.raise_baud()
        values = {value: link.board.value(value) for value in ("baud", "checked", *attached.COUNTERS)}
        took = time.monotonic() - begun
    finally:
        link.release()
    checked = bool(values.pop("checked"))
    light.measured["attach"] = {"frames_checked": checked, "seconds": round(took, 3), **values}
    trip = values["round_trip_ns"]
    summary = f"{values['baud']} baud, frames {'' if checked else 'not '}checked"
    summary += "" if trip is None else f", round trip {trip / 1e6:.3f} ms"
    if values["failures"]:
        return Check(name, FAULT, f"{summary}, {values['failures']} transactions failed")
    return Check(name, NOTE if remark else OK, f"{summary}; {remark}" if remark else summary)


STEPS = (
    Step("adapter", adapter, (), "the cable, one that carries data; another socket; --board if the plug does not say what it is"),
    Step("permissions", permissions, ("device",), writes=True),
    Step("programmer", programmer, ("board",), "or write the board elsewhere, and run this with --no-flash", writes=True),
    Step("bitstream", bitstream, ("board",), "--from FOLDER or --file FILE; docs/cli.md#flash", writes=True),
    Step(
        "flash",
        write,
        ("device", "rights", "program", "chosen"),
        "what the programmer reported; the cable, a hub; whether another program has the board",
        writes=True,
    ),
    Step("port", port, (), "ls -l /dev/serial/by-id; --port PORT names it"),
    Step("bridge", bridge),
    Step("core", core, ("target",), "the bitstream: litepulse flash writes it; power off and on: the PLL; docs/compatibility.md"),
    Step("wire", wire, ("opened",), "litepulse stop, if something else runs on the board; the wire"),
    Step("self", own, ("opened", "wired"), "the wire: short, firm, nothing else at tx and rx; power; send the report all the same"),
    Step("latency timer", timer, ("opened",), "the cable, a hub between board and PC"),
    Step("crystal", rate, ("opened",), "the board's oscillator; whether the bitstream is for this board; chronyc tracking"),
    Step("attach", kernel, ("target",), "litepulse doctor, dmesg"),
)


def failed(checks: Iterator[Check] | list[Check]) -> bool:
    """Whether a step has failed."""
    return any(check.state == FAULT for check in checks)


def board_facts(light: FirstLight) -> Mapping[str, Any]:
    """What the report says of the board and its bitstream."""
    chosen = light.chosen
    return {
        "name": light.board.name if light.board else None,
        "usb": None if light.device is None else light.device.title,
        "bitstream": None if chosen is None else {"file": chosen.path.name, "what": chosen.what, "written": light.flashed},
        **(light.device_facts or {"simulated": light.options.sim}),
    }
