# SPDX-License-Identifier: BSD-2-Clause
"""A RISC-V platform-level interrupt controller: what Linux' driver for `sifive,plic-1.0.0` uses of the PLIC specification 1.0.

One context (the supervisor of hart 0), sources 1 to 31 by level. Priorities are 0 (never) and 1, the threshold is 0 or 1 (no
interrupt at all): the lowest source wins. Each request passes once: a source whose level stays high asks again after its completion.
All accesses must be whole words; addresses that are not listed read as 0.

| offset | | |
|---|---|---|
| 0x000000 + 4 i | priority of source i | read, write |
| 0x001000 | pending | read |
| 0x002000 | enabled | read, write |
| 0x200000 | threshold | read, write |
| 0x200004 | claim (0: nothing) / complete | read, write |
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import Case, Cat, If, Replicate, Signal

SOURCES = 32  # the first of them does not exist
SIZE = 0x40_0000  # of the bus region
PENDING, ENABLE, THRESHOLD, CLAIM = 0x1000, 0x2000, 0x20_0000, 0x20_0004


class PLIC(LiteXModule):
    """The controller. `sources`: the levels, 32 bits, the lowest ignored. `irq` goes to the hart, `bus` has 32 bits by words."""

    def __init__(self, sources):
        self.bus = bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.irq = Signal()
        priority, pending, enabled, served = (Signal(SOURCES, name=name) for name in ("priority", "pending", "enabled", "served"))
        threshold = Signal()

        asking, winner = Signal(SOURCES), Signal(SOURCES)  # a bit per source
        self.comb += [asking.eq(pending & enabled & priority), winner.eq(asking & (~asking + 1))]
        self.sync += self.irq.eq((asking != 0) & ~threshold)
        number = Cat(*((winner & sum(1 << n for n in range(SOURCES) if n >> bit & 1)) != 0 for bit in range(5)))

        # One cycle an access, so that a claim happens once.
        access, offset, claim, complete = Signal(), Signal(max=SIZE // 4), Signal(), Signal()
        this = Signal(SOURCES)  # the source whose priority is accessed, or that is completed
        self.comb += [
            access.eq(bus.cyc & bus.stb & ~bus.ack),
            offset.eq(bus.adr),
            this.eq(1 << offset[:5]),
            claim.eq(access & ~bus.we & (offset == CLAIM // 4)),
            complete.eq(access & bus.we & (offset == CLAIM // 4)),
            If(complete, this.eq(1 << bus.dat_w[:5])),
        ]
        reads = {
            PENDING // 4: bus.dat_r.eq(pending),
            ENABLE // 4: bus.dat_r.eq(enabled),
            THRESHOLD // 4: bus.dat_r.eq(threshold),
            CLAIM // 4: bus.dat_r.eq(number),
            "default": If(offset < SOURCES, bus.dat_r.eq((priority & this) != 0)),
        }
        writes = {
            ENABLE // 4: enabled.eq(bus.dat_w & ~1),
            THRESHOLD // 4: threshold.eq(bus.dat_w != 0),
            "default": If(
                (offset < SOURCES) & (offset != 0), If(bus.dat_w != 0, priority.eq(priority | this)).Else(priority.eq(priority & ~this))
            ),
        }
        self.sync += [
            bus.ack.eq(access),
            bus.dat_r.eq(0),
            If(access, If(bus.we, Case(offset, writes)).Else(Case(offset, reads))),
            pending.eq((pending | (sources & ~served & ~1)) & ~(winner & Replicate(claim, SOURCES))),
            If(claim, served.eq(served | winner)),
            # as specified: of a source that is not enabled it is ignored
            If(complete & (bus.dat_w < SOURCES), served.eq(served & ~(this & enabled))),
        ]
