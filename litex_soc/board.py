# SPDX-License-Identifier: BSD-2-Clause
"""What a board is, what of it can be chosen, and the SoC that goes onto it.

A board is a file in litex_soc/boards/ (what it has) and one in constraints/ (pins and clocks).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from litex_soc import boards, constraints, regmap
from litex_soc.headers import Header
from litex_soc.phys import PHYS

VARIANTS = {
    "uartbone": "no CPU: a UARTBone on a serial port of the board",
    "linux": "VexRiscv that can run Linux, SDRAM, a console on the serial port",
}
CORES = ("litepulse", "liteuart", "none")  # the others show what LitePulse costs
EVENT_DEPTH, RECEIVE_DEPTH, TRANSMIT_DEPTH, LAUNCH_DEPTH = 8, 9, 9, 6  # log2: the core's defaults
# log2 of the events that an ECP5 holds, where a board's file says nothing else: more block RAMs push the logic apart
ECP5_EVENT_DEPTH = 11


class ChoiceError(ValueError):
    """Something was requested that does not exist; the message is one line and lists what
    exists."""


@dataclass(frozen=True, eq=False)
class Board:
    """A board. Where there is a choice the first is the default.

    `fpgas` : {name: what makes the litex-boards platform for it}; `family` "ice40" or "ecp5".
    `clocks` : (platform, choice) -> one of litex_soc/clocks.py.
    `phys` : names of phys.PHYS it has pins for.
    `serial` : name of the platform's resource for the bridge or console; `add_serial` : resources to add for it.
    `programmers` : {program: {"flash" or "ram": its arguments before the file}}, in order of preference; litex_soc/flash.py runs them.
    `usb` : (vendor, product) in hexadecimal of what has to be there to flash it, and what that is called; `attach` : how it gets there.
    `bridge` : (what the plug says its product is, with * and ?; interface, two digits) of the USB port that is the bridge, if the board's
    own plug has one and can be distinguished from other makers' by these strings.
    `lin_entries` : LIN identifiers that have an entry, by PHY, one of regmap.LIN_ENTRIES; else 64.
    `event_depths` : {(FPGA, variant): log2 of the events that the core holds}, where it is not the usual one.
    `packs` : its bridge can pack answers, and has frames wait.
    `crowded` : PHYs with which more than nine tenths of the FPGA are in use: another placer takes over.
    `note` : what docs/boards.md says besides.
    `maker` : (name, address of a page with the price). `headers` : of litex_soc/headers.py, on which the pins of constraints/ are.
    `port` : the serial port if nothing else with one is plugged in. `special` : sentences for the end of its card.
    """

    name: str
    title: str
    family: str
    fpgas: dict[str, Callable]
    clocks: Callable
    phys: tuple[str, ...]
    serial_is: str
    programmers: dict[str, dict[str, list]]
    usb: tuple
    maker: tuple[str, str]
    headers: tuple[Header, ...]
    serial: str = "serial"
    add_serial: list = field(default_factory=list)
    variants: dict = field(default_factory=lambda: {"uartbone": None})
    packs: bool = True
    crowded: tuple[str, ...] = ()
    note: str = ""
    lin_entries: dict[str, int] = field(default_factory=dict)
    event_depths: dict[tuple[str, str], int] = field(default_factory=dict)
    bridge: tuple[str, str] | None = None
    attach: str = "plug in its USB cable, one that carries data"
    port: str = "/dev/ttyUSB1"
    special: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choice:
    """A board with all that can be chosen: what `make BOARD=... bitstream` builds."""

    board: Board
    fpga: str
    variant: str
    phy: str
    core: str = "litepulse"

    @property
    def with_core(self):
        """LitePulse is in it: else it shows what LitePulse costs."""
        return self.core == "litepulse"

    @property
    def samples(self):
        """Per cycle of `pulse`."""
        return PHYS[self.phy].samples

    @property
    def lin_entries(self):
        """LIN identifiers that have an entry; 0: no LIN slave."""
        return self.board.lin_entries.get(self.phy, 64)

    @property
    def sequences(self):
        """Its launch queue has waits and relative entries."""
        return self.board.family == "ecp5"

    @property
    def event_depth(self):
        """log2 of the events that the core holds."""
        usual = ECP5_EVENT_DEPTH if self.board.family == "ecp5" else EVENT_DEPTH
        return self.board.event_depths.get((self.fpga, self.variant), usual)

    @property
    def constraints(self):
        """Pins and clocks, of constraints/."""
        return constraints.load(self.board.name).of_variant(self.variant)

    @property
    def pulse_hz(self):
        """Clock of the core."""
        return self.constraints.pulse_hz(self.phy)

    @property
    def tick_ns(self):
        """Length of a tick, exact."""
        return Fraction(10**9, self.pulse_hz * self.samples)

    @property
    def name(self):
        """Of files and folders."""
        parts = [self.board.name]
        if len(self.board.fpgas) > 1:
            parts.append(self.fpga)
        return "-".join([*parts, self.variant, f"s{self.samples}" if self.with_core else self.core])


def pick(what, requested, choices, where):
    """`requested`, or the first of `choices` if it is None or ""; ChoiceError if it is none of them."""
    if not requested:
        return next(iter(choices))
    if requested not in choices:
        raise ChoiceError(f"no {what} {requested}{where}; there is {', '.join(map(str, choices))}")
    return requested


def choose(board=None, fpga=None, variant=None, samples=None, core="litepulse"):
    """A Choice; None or "" is the default of the board. `samples` : int or str. `core` : one of CORES. Raises ChoiceError."""
    every = boards.all_boards()
    if not board:
        raise ChoiceError(f"no board given (BOARD=...); there is {', '.join(every)}")
    board = every[pick("board", board, every, "")]
    on = f" on {board.title}"
    of = {str(PHYS[name].samples): name for name in board.phys}
    return Choice(
        board,
        pick("FPGA", fpga and fpga.lower(), board.fpgas, on),
        pick("variant", variant, board.variants, on),
        of[pick("PHY with samples per cycle", samples and str(samples), of, on)],
        pick("core", core, CORES, ""),
    )


def make_soc(choice):
    """(SoC, platform) of a Choice, ready for platform.build(). Raises constraints.ConstraintError if its pins cannot be."""
    from litex.soc.cores.uart import UART, UARTPHY
    from litex.soc.integration.soc_core import SoCMini

    from litex_soc.bridge import SerialBridge
    from litex_soc.litepulse import LitePulse

    board = choice.board
    platform = board.fpgas[choice.fpga]()
    platform.add_extension(board.add_serial)
    platform.add_extension(choice.constraints.resources(choice.phy, platform))
    crg = board.clocks(platform, choice)

    def add_core(soc, interrupts, window=regmap.WINDOW_BASE):
        soc.pulse = LitePulse(
            platform,
            platform.request("pulse"),
            crg.pulse_hz,
            clock_domain="pulse",
            interrupts=interrupts,
            event_depth=choice.event_depth,
            receive_depth=RECEIVE_DEPTH,
            transmit_depth=TRANSMIT_DEPTH,
            launch_depth=LAUNCH_DEPTH,
            phy=choice.phy,
            edge_clk=crg.edge_clk,
            phy_rst=crg.phy_rst,
            lin_entries=choice.lin_entries,
            sequences=choice.sequences,
        )
        soc.pulse.add_to_soc(soc, window=window)

    if choice.variant == "linux":
        return board.variants["linux"](platform, crg, choice, add_core), platform

    class BoneSoC(SoCMini):
        """No CPU: a bridge and the core."""

        # LiteX changes its class's map for a CPU, for all SoCs that follow: each has its own
        mem_map = {**SoCMini.mem_map, "csr": 0}

        def __init__(self):
            self.crg = crg
            # LiteX's controller (reset, scratch, error count) and bus timeout are not used here:
            # window and CSRs always answer.
            SoCMini.__init__(self, platform, int(crg.sys_hz), with_ctrl=False, bus_timeout=None)
            self.bridge = SerialBridge(platform.request(board.serial), int(crg.sys_hz), packs=board.packs)
            self.bridge.add_to_soc(self)
            if choice.core == "litepulse":
                add_core(self, interrupts=False)
            elif choice.core == "liteuart":
                pads = platform.request("pulse")
                self.uart_phy = UARTPHY(pads, int(crg.sys_hz), 115200)
                self.uart = UART(self.uart_phy)

    return BoneSoC(), platform
