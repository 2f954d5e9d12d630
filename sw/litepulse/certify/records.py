# SPDX-License-Identifier: BSD-2-Clause
"""What a board saw of a serial port, or what the recorded pins of a simulation show. Ticks are those of the board's clock.

Times of the host are nanoseconds of CLOCK_MONOTONIC_RAW. `line` is the patient's TX.
"""

from dataclasses import dataclass, field

from litepulse.line import Format

PinEdge = tuple[int, int]  # (tick, level from then on)
LOADS = ("idle", "loaded")


@dataclass(frozen=True)
class Reading:
    """The board's tick was read between two readings of the host's clock."""

    tick: int
    before: int  # ns
    after: int  # ns


@dataclass(frozen=True)
class Exchange:
    """One byte to the patient, which sent it back.

    ended: tick at which the stop bit of the request ended; answered: tick of the answer's start edge
    read, write: the patient's read() had returned, its write() was about to be called
    """

    ended: int
    read: int  # ns
    write: int  # ns
    answered: int


@dataclass
class Echo:
    """Exchanges one after the other, and the readings of both clocks around them. missing: requests without an answer."""

    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    readings: list[Reading] = field(default_factory=list[Reading])
    missing: int = 0


@dataclass(frozen=True)
class Transfer:
    """Bytes in a row: those that were sent, those that came. starts: ticks of the received start edges, where the board received them.

    errors: how many of those that came had a framing or parity error
    """

    sent: bytes
    received: bytes
    starts: tuple[int, ...] = ()
    errors: int = 0


@dataclass(frozen=True)
class Break:
    """The patient was requested to send a break: it called the kernel for its begin and its end; the line was low from `fall` to `rise`."""

    begun: int  # ns, before the call that begins it
    ended: int  # ns, after the call that ends it
    fall: int | None  # ticks; None: no break was seen
    rise: int | None


@dataclass(frozen=True)
class Block:
    """Edges of the line while the patient sent alternating bits, and those of its driver enable meanwhile; the level before them."""

    edges: tuple[PinEdge, ...]
    enable: tuple[PinEdge, ...] = ()
    enable_before: int = 0


@dataclass
class Records:
    """All that one run of the procedure saw. Keys of the dictionaries: LOADS.

    from_patient: rows of bytes that the patient sent in one write(); to_patient: rows that the board sent without a pause
    counters: how far the kernel's counters of the port went on (TIOCGICOUNT), None if the port has none
    enable: a driver enable was wired to an input; rs485: the port's driver has switched it on (TIOCSRS485)
    load: how many busy processes there were under load
    """

    baud: int
    format: Format
    blocks: list[Block] = field(default_factory=list[Block])
    from_patient: dict[str, list[Transfer]] = field(default_factory=dict[str, list[Transfer]])
    to_patient: dict[str, list[Transfer]] = field(default_factory=dict[str, list[Transfer]])
    echo: dict[str, Echo] = field(default_factory=dict[str, Echo])
    breaks: list[Break] = field(default_factory=list[Break])
    counters: dict[str, int] | None = None
    enable: bool = False
    rs485: bool = False
    load: int = 0
