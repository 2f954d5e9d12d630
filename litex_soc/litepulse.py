# SPDX-License-Identifier: BSD-2-Clause
"""LitePulse as a LiteX module: the core, its pins, CSRs, bus window, interrupt and identification.

    self.pulse = LitePulse(platform, platform.request("pulse"), pulse_clk_freq=48e6, clock_domain="pulse")
    self.pulse.add_to_soc(self)

The first line makes the core, the second gives it its place: by default CSR location 16 and the
window at 0x9000_0000. A host behind UARTBone finds it there without any csr.csv; the register
`id_window` holds the address of another window.
"""

import contextlib
from fractions import Fraction

from litex.gen import LiteXModule, Reduce
from litex.soc.cores.cpu import CPUNone
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.csr import CSRField, CSRStatus, CSRStorage
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel, EventSourcePulse
from migen import Cat, ClockDomain, ClockSignal, Instance, Mux, ResetSignal, Signal, log2_int
from migen.genlib.resetsync import AsyncResetSynchronizer

from litex_soc import limits, regmap
from litex_soc.phys import HDL, PHYS, add_phy

# Of VexRiscv's variant `linux`, first and last addresses.
VEXRISCV_LINUX_UNCACHED = [(0xB000_0000, 0xBFFF_FFFF), (0xE000_0000, 0xFFFF_FFFF)]


def sources(phy="generic"):
    """The Verilog files of the core and of a PHY (a name of phys.PHYS), packages first."""
    return [*sorted(HDL.glob("*.sv"), key=lambda f: (not f.stem.endswith("_pkg"), f.name)), PHYS[phy].source]


class LitePulse(LiteXModule):
    """A serial port whose every edge has a known time.

    Parameters
    ----------
    platform : the LiteX platform; gets the Verilog sources.
    pads : the pins: tx, rx; if there: de, aux (the capture inputs), port (the eight pins of the marker port). With a pin tx_oe the
        output enable is a pin of its own and tx is always driven, else tx is driven only while enabled.
    pulse_clk_freq : Hz of the core's clock, exact: an int, a Fraction or a string like "400000000/3"; a float only if it is a
        whole number.
    clock_domain : of the core; "sys" for none of its own. The caller makes and clocks it; a reset of either domain resets both
        sides of the core.
    inputs : capture inputs besides the line; default: as many as pads.aux has, but at least 1.
    event_depth, receive_depth, transmit_depth, launch_depth : log2 of the depths of the four FIFOs, within limits.depths().
    interrupts : False leaves out everything for interrupts (registers irq_* and ev_* read 0): for a SoC without a CPU.
    phy : how the pins are made, a name of phys.PHYS: "generic" (1 sample per cycle, any FPGA), "ice40_ddr" (2), "ecp5_ddr" (2),
        "ecp5_serdes" (4).
    edge_clk, phy_rst : signals for the ECP5's PHYs: clock of the pads, and the start of their gearing (litex_soc/clocks.py has them).
    lin_entries : LIN identifiers that the responder can answer, one of regmap.LIN_ENTRIES: those below. 0 leaves the LIN slave out.
    sequences : the launch queue has waits and relative entries.
    simulated : True if this runs in a simulator; the core reports it to the host.
    together_with : another LitePulse in the same clock domain: both leave a reset in the same cycle, so that their ticks are equal.
    """

    def __init__(
        self,
        platform,
        pads,
        pulse_clk_freq,
        clock_domain="sys",
        inputs=None,
        event_depth=8,
        receive_depth=9,
        transmit_depth=9,
        launch_depth=6,
        interrupts=True,
        phy="generic",
        edge_clk=None,
        phy_rst=None,
        lin_entries=64,
        sequences=False,
        simulated=False,
        together_with=None,
    ):
        if lin_entries not in regmap.LIN_ENTRIES:
            raise ValueError(f"{lin_entries} LIN entries: must be one of {', '.join(map(str, regmap.LIN_ENTRIES))}")
        if phy not in PHYS:
            raise ValueError(f"no PHY {phy!r}; there are {', '.join(PHYS)}")
        phy = PHYS[phy]
        self.samples = phy.samples
        aux = getattr(pads, "aux", None)
        if inputs is None:
            inputs = max(1, len(aux)) if aux is not None else 1
        if not 1 <= inputs or (inputs + 1) * self.samples > 16:
            raise ValueError(f"{inputs} inputs: (inputs + 1) x samples per cycle must be 2 to 16")
        if aux is not None and len(aux) > inputs:
            raise ValueError(f"{len(aux)} aux pins, but only {inputs} inputs")
        self.clock_hz = exact_frequency(pulse_clk_freq)
        self.inputs = inputs
        self.has_port = hasattr(pads, "port")
        if self.has_port and len(pads.port) != 8:
            raise ValueError(f"{len(pads.port)} pins of the marker port: must be 8")
        self.bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")

        depths = {"event": event_depth, "receive": receive_depth, "transmit": transmit_depth, "launch": launch_depth}
        for name, depth in depths.items():
            least, most = limits.depths()[name]
            if not least <= depth <= most:
                raise ValueError(f"{name}_depth {depth}: must be {least} to {most}, log2 of a number of records")
        counts = {name: depth + 1 for name, depth in depths.items()}  # bits of a field that counts records or room
        self._id_magic = make_csr("id_magic")
        self._id_version = make_csr("id_version")
        self._id_geometry = make_csr(
            "id_geometry",
            resets={
                "samples": self.samples,
                "inputs": inputs,
                **{f"{name}_depth": depth for name, depth in depths.items()},
                "interrupts": int(interrupts),
                "simulated": int(simulated),
                "lin_depth": lin_entries.bit_length() - 1 if lin_entries else 0,
                "port": int(self.has_port),
                "sequence": int(sequences),
            },
        )
        self._id_clock_num = make_csr("id_clock_num", resets={"num": self.clock_hz.numerator})
        self._id_clock_den = make_csr("id_clock_den", resets={"den": self.clock_hz.denominator})
        # Constants, unless a simulation drives them.
        self.clock_num, self.clock_den = self._id_clock_num.fields.num, self._id_clock_den.fields.den
        self._session = session = make_csr("session", write_from_dev=True)
        self._ready = ready = make_csr("ready", counts)
        self._free = free = make_csr("free", counts)
        self._launches = launches = make_csr("launches")
        self._configs = configs = make_csr("configs")
        self._dropped = dropped = make_csr("dropped")
        self._status = state = make_csr("status", {"levels": inputs + 1})

        if interrupts:
            irq_ports = self.add_interrupts(counts)
        else:
            # Constants: synthesis drops the timers and comparisons.
            irq_ports = {
                f"i_irq_{name}": 0
                for name in ("ev_level", "rx_level", "ev_age", "ev_idle", "rx_age", "rx_idle", "unit", "timed", "tx_low", "lq_space")
            }

        self.clock_domain = clock_domain
        if together_with is None:
            self.sys_rst, self.pulse_rst = self.make_resets(clock_domain)
        elif together_with.clock_domain == clock_domain:
            self.sys_rst, self.pulse_rst = together_with.sys_rst, together_with.pulse_rst
        else:
            raise ValueError(f"together_with: that core is in the clock domain {together_with.clock_domain}, not in {clock_domain}")
        watchdog_fired = Signal()
        self.comb += [session.we.eq(self.sys_rst | watchdog_fired), session.dat_w.eq(0)]

        # The core and its pins.

        tx, tx_oe, de, port = Signal(self.samples), Signal(), Signal(self.samples), Signal(8)
        rx, inputs_seen = Signal(self.samples), Signal(inputs * self.samples)
        counters = ("launch_accepted", "launch_refused", "tx_dropped", "config_applied", "config_refused")
        outcome = {name: Signal(16 if name == "tx_dropped" else 8) for name in counters}
        status_bits, levels = Signal(8), Signal(inputs + 1)
        # The address is decoded in the first cycle of an access, so that this and what the core does with it need not fit into one.
        # A part of a word is not written: the master gets an error. Where it selects nothing, as a bridge from a wider bus may, nothing
        # happens, not even to a record that reading would take.
        # An access ends with its answer, or in the cycle in which the master gives it up: nothing is done for it any more, or answered.
        bus, asked, bus_stb, bus_ack, passed_by, refused = self.bus, Signal(), Signal(), Signal(), Signal(), Signal()
        selected = bus.cyc & bus.stb
        asked_for = selected & ~bus.ack & ~bus.err
        whole, none = bus.sel == 0b1111, bus.sel == 0
        self.sync += [
            asked.eq(asked_for & Mux(bus.we, whole, ~none)),
            passed_by.eq(asked_for & none),
            refused.eq(asked_for & bus.we & ~whole & ~none),
        ]
        self.comb += [bus_stb.eq(asked & selected), bus.ack.eq(selected & (bus_ack | passed_by)), bus.err.eq(selected & refused)]
        self.specials += Instance(
            "litepulse",
            p_S=self.samples,
            p_INPUTS=inputs,
            p_LATENCY_IN=phy.latencies[0],
            p_LATENCY_OUT=phy.latencies[1],
            p_EV_AW=event_depth,
            p_RX_AW=receive_depth,
            p_TX_AW=transmit_depth,
            p_LQ_AW=launch_depth,
            p_LIN_ENTRIES=lin_entries,
            p_PORT=int(self.has_port),
            p_SEQUENCE=int(sequences),
            p_LARGE_RAM="huge" if str(platform.device).startswith("ice40-up5k") else "auto",
            p_WATCHDOG_UNIT=regmap.WATCHDOG_UNIT,
            p_IRQ_UNIT=regmap.IRQ_UNIT,
            p_IRQ_UNIT_STEP=regmap.IRQ_UNIT_STEP,
            i_pulse_clk=ClockSignal(clock_domain),
            i_pulse_rst=self.pulse_rst,
            i_sys_clk=ClockSignal("sys"),
            i_sys_rst=self.sys_rst,
            o_tx_o=tx,
            o_tx_oe=tx_oe,
            o_de_o=de,
            o_port_o=port,
            i_rx_i=rx,
            i_aux_i=inputs_seen,
            i_bus_stb=bus_stb,
            i_bus_we=bus.we,
            i_bus_adr=bus.adr[: log2_int(regmap.WINDOW_SIZE // 4)],
            i_bus_dat_w=bus.dat_w,
            o_bus_dat_r=bus.dat_r,
            o_bus_ack=bus_ack,
            o_ev_ready=ready.fields.event,
            o_rx_ready=ready.fields.receive,
            o_tx_free=free.fields.transmit,
            o_lq_free=free.fields.launch,
            **{f"o_{name}": signal for name, signal in outcome.items()},  # pyright: ignore[reportArgumentType]
            o_status=status_bits,
            o_levels=levels,
            i_watch_written=session.re,
            i_watch_limit=session.fields.limit,
            i_watch_keep=session.fields.keep,
            o_watch_fired=watchdog_fired,
            **irq_ports,
        )
        self.comb += [
            launches.fields.accepted.eq(outcome["launch_accepted"]),
            launches.fields.refused.eq(outcome["launch_refused"]),
            configs.fields.applied.eq(outcome["config_applied"]),
            configs.fields.refused.eq(outcome["config_refused"]),
            dropped.fields.transmit.eq(outcome["tx_dropped"]),
            Cat(*state.fields.fields[:8]).eq(status_bits),
            state.fields.levels.eq(levels),
        ]
        add_phy(
            self,
            phy,
            pads,
            ClockSignal(clock_domain),
            {"tx_o": tx, "tx_oe": tx_oe, "de_o": de, "port_o": port, "rx_i": rx, "aux_i": inputs_seen},
            edge_clk,
            phy_rst,
        )
        platform.add_verilog_include_path(str(HDL))
        for file in sources(phy.name):
            platform.add_source(str(file), "systemverilog")

    def make_resets(self, clock_domain):
        """(reset of the bus side, reset of the core's side), each in its clock.

        A reset of either side resets both, else the crossings would lose step; and for at least four cycles of the slower one,
        however short it was.
        """
        sides = {"sys": "sys"} if clock_domain == "sys" else {"sys": "sys", "pulse": clock_domain}
        asked, reset, held = Signal(), Signal(), []
        self.comb += asked.eq(Reduce("OR", [ResetSignal(domain, allow_reset_less=True) for domain in sides.values()]))
        for side, domain in sides.items():
            hold, core = ClockDomain(f"hold_{side}"), ClockDomain(f"core_{side}")
            setattr(self, f"cd_hold_{side}", hold)
            setattr(self, f"cd_core_{side}", core)
            self.comb += [hold.clk.eq(ClockSignal(domain)), core.clk.eq(ClockSignal(domain))]
            passed = Signal(4)
            sync = getattr(self.sync, f"hold_{side}")
            sync += passed.eq(Cat(1, passed))
            held.append(~passed[-1])
            self.specials += AsyncResetSynchronizer(hold, asked), AsyncResetSynchronizer(core, reset)
        self.comb += reset.eq(Reduce("OR", held))
        return self.cd_core_sys.rst, self.cd_core_sys.rst if clock_domain == "sys" else self.cd_core_pulse.rst

    def add_interrupts(self, counts):
        """The interrupt's CSRs and EventManager; returns the ports of the core that go with them. `counts`: {field: bits}."""
        self._irq_level = levels = make_csr("irq_level", counts)
        self._irq_event_time = event_time = make_csr("irq_event_time")
        self._irq_receive_time = receive_time = make_csr("irq_receive_time")
        self._irq_send = room = make_csr("irq_send", {"transmit_low": counts["transmit"], "launch_space": counts["launch"]})
        self._irq_unit = unit = make_csr("irq_unit")

        # LiteX names and places these CSRs itself: ev_status, ev_pending and ev_enable, behind all others.
        self.ev = EventManager()
        for name, description in regmap.EV_SOURCES.items():
            source = EventSourcePulse if name == "fault" else EventSourceLevel
            setattr(self.ev, name, source(name=name, description=description))
        self.ev.finalize()
        for name in ("status", "pending", "enable"):
            csr, register = getattr(self.ev, name), regmap.csr(f"ev_{name}")
            csr.description = register.description
            for field, declared in zip(csr.fields.fields, register.fields, strict=True):
                field.description = declared.description
        return {
            "i_irq_ev_level": levels.fields.event,
            "i_irq_rx_level": levels.fields.receive,
            "i_irq_ev_age": event_time.fields.age,
            "i_irq_ev_idle": event_time.fields.idle,
            "i_irq_rx_age": receive_time.fields.age,
            "i_irq_rx_idle": receive_time.fields.idle,
            "i_irq_unit": unit.fields.unit,
            "i_irq_timed": event_time.re | receive_time.re | unit.re,
            "i_irq_tx_low": room.fields.transmit_low,
            "i_irq_lq_space": room.fields.launch_space,
            "o_irq_ev": self.ev.event.trigger,
            "o_irq_rx": self.ev.receive.trigger,
            "o_irq_tx": self.ev.transmit.trigger,
            "o_irq_lq": self.ev.launch.trigger,
            "o_irq_drained": self.ev.drained.trigger,
            "o_irq_fault": self.ev.fault.trigger,
        }

    def add_to_soc(self, soc, name="pulse", csr_location: int | None = regmap.CSR_LOCATION, window: int | None = regmap.WINDOW_BASE):
        """Gives the core its place in `soc`: CSR location, bus window, and an interrupt if the SoC takes any.

        `name` is the attribute of the SoC that holds this module; a second core needs another one, and other places. `csr_location`
        and `window` = None leave the choice to LiteX and to free_window(). ValueError for a window that is cached, lies over the
        CSRs or does not begin at a multiple of its size. Accesses to the window must be whole 32-bit words.
        """
        if soc.csr.data_width != 32:
            raise ValueError("LitePulse needs a CSR bus of 32 bits")
        soc.csr.add(name, csr_location, use_loc_if_exists=True)
        window = free_window(soc) if window is None else check_window(soc, window)
        soc.bus.add_slave(f"{name}_window", self.bus, SoCRegion(origin=window, size=regmap.WINDOW_SIZE, cached=False))
        if window != regmap.WINDOW_BASE:  # on boards it is there, and they have no room for what everybody knows
            self._id_window = make_csr("id_window", resets={"base": window})
        if soc.irq.enabled and hasattr(self, "ev"):
            soc.irq.add(name, use_loc_if_exists=True)


def uncached_ranges(soc):
    """[(first, last) address] that the CPU of `soc` does not cache; all of them without a CPU."""
    if isinstance(soc.cpu, CPUNone):
        return [(0, (1 << 32) - 1)]
    if soc.cpu.name == "vexriscv" and soc.cpu.variant.startswith("linux"):
        return VEXRISCV_LINUX_UNCACHED  # whatever LiteX says of it
    return [(region.origin, region.origin + region.size - 1) for region in soc.bus.io_regions.values()]


def check_window(soc, origin):
    """`origin`, if a window can lie there; ValueError says why not."""
    last = origin + regmap.WINDOW_SIZE - 1
    if origin % regmap.WINDOW_SIZE or not 0 <= origin < 1 << 32:
        raise ValueError(f"window 0x{origin:08x}: must be a multiple of its size, 0x{regmap.WINDOW_SIZE:x}, and below 2^32")
    uncached = uncached_ranges(soc)
    if not any(low <= origin and last <= high for low, high in uncached):
        places = ", ".join(f"0x{low:08x} to 0x{high:08x}" for low, high in uncached)
        raise ValueError(f"window 0x{origin:08x}: the CPU caches this address; it does not cache {places}")
    csr = soc.mem_map.get("csr", 0)
    if origin <= csr + 4 * (1 << soc.csr.address_width) - 1 and csr <= last:
        raise ValueError(f"window 0x{origin:08x}: the CSRs lie there, at 0x{csr:08x}")
    return origin


def free_window(soc):
    """The lowest address from regmap.WINDOW_BASE on where a window can lie and nothing else does; ValueError if there is none."""
    taken = [(region.origin, region.origin + region.size - 1) for region in soc.bus.regions.values()]
    for origin in range(regmap.WINDOW_BASE, 1 << 32, regmap.WINDOW_SIZE):
        if any(low < origin + regmap.WINDOW_SIZE and origin <= high for low, high in taken):
            continue
        with contextlib.suppress(ValueError):
            return check_window(soc, origin)
    raise ValueError("no room for a window in what the CPU does not cache")


def make_csr(name, sizes=None, resets=None, **options):
    """The CSR `name` of regmap.CSRS, with the bits and reset values of some fields as this core has them: {field: value}."""
    register, sizes, resets = regmap.csr(name), sizes or {}, resets or {}
    fields = [
        CSRField(f.name, sizes.get(f.name, f.size), offset=f.offset, reset=resets.get(f.name, f.reset), description=f.description)
        for f in register.fields
    ]
    kind = CSRStatus if register.access == "read" else CSRStorage
    return kind(fields=fields, name=name, description=register.description, n=register.index, **options)


def exact_frequency(value):
    """`value` Hz as a Fraction whose parts fit the identification registers; ValueError if it is not exact or does not fit."""
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"pulse_clk_freq {value!r}: give a clock that is no whole number of Hz as a fractions.Fraction")
    value = Fraction(value)
    if not 0 < value.numerator < 1 << 32 or value.denominator >= 1 << 32:
        raise ValueError(f"pulse_clk_freq {value}: numerator and denominator must be 1 to 2^32 - 1")
    return value
