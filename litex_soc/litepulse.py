# SPDX-License-Identifier: BSD-2-Clause
"""LitePulse as a LiteX module: the core, its pins, CSRs, bus window, interrupt and identification.

    self.pulse = LitePulse(platform, platform.request("pulse"), pulse_clk_freq=48e6, clock_domain="pulse")
    self.pulse.add_to_soc(self)

The first line makes the core, the second gives it its place: CSR location 16 and the window at 0x9000_0000 unless told
otherwise. A host behind UARTBone finds it there without any csr.csv.
"""

from fractions import Fraction

from litex.gen import LiteXModule, Reduce
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.csr import CSRField, CSRStatus, CSRStorage
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel, EventSourcePulse
from migen import Cat, ClockDomain, ClockSignal, Instance, ResetSignal, Signal, log2_int
from migen.genlib.resetsync import AsyncResetSynchronizer

from litex_soc import regmap
from litex_soc.phys import HDL, PHYS, add_phy


def sources(phy="generic"):
    """The Verilog files of the core and of a PHY (a name of phys.PHYS), packages first."""
    return [*sorted(HDL.glob("*.sv"), key=lambda f: (not f.stem.endswith("_pkg"), f.name)), PHYS[phy].source]


class LitePulse(LiteXModule):
    """A serial port whose every edge has a known time.

    Parameters
    ----------
    platform : the LiteX platform; gets the Verilog sources.
    pads : the pins: tx, rx; if there: de, aux (the capture inputs). With a pin tx_oe the output enable is a pin of its own and
        tx is always driven, else tx is driven only while enabled.
    pulse_clk_freq : Hz of the core's clock, exact: an int, a Fraction or a string like "400000000/3"; a float only if it is a
        whole number.
    clock_domain : of the core; "sys" for none of its own. The caller makes and clocks it; a reset of either domain resets both
        sides of the core.
    inputs : capture inputs besides the line; default: as many as pads.aux has, but at least 1.
    event_depth, receive_depth, transmit_depth, launch_depth : log2 of the depths of the four FIFOs.
    interrupts : False leaves out everything for interrupts (registers from irq_level on read 0): for a SoC without a CPU.
    phy : how the pins are made, a name of phys.PHYS: "generic" (1 sample per cycle, any FPGA), "ice40_ddr" (2), "ecp5_ddr" (2),
        "ecp5_serdes" (4).
    edge_clk, phy_rst : signals for the ECP5's PHYs: clock of the pads, and the start of their gearing (litex_soc/clocks.py has them).
    simulated : True if this runs in a simulator: whoever talks to it is told.
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
        simulated=False,
    ):
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
        self.bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")

        # CSRs. Their places (n) are part of the interface: never renumber, only append.

        def status(n, name, description, fields):
            csr = CSRStatus(fields=fields, name=name, description=description, n=n)
            setattr(self, f"_{name}", csr)
            return csr

        def storage(n, name, description, fields, **options):
            csr = CSRStorage(fields=fields, name=name, description=description, n=n, **options)
            setattr(self, f"_{name}", csr)
            return csr

        status(0, "id_magic", "What this is.", [CSRField("magic", 32, reset=regmap.MAGIC, description="`LPLS`: a LitePulse core answers.")])
        status(
            1,
            "id_version",
            "Version of this register map.",
            [
                CSRField("minor", 16, reset=regmap.VERSION_MINOR, description="Counts additions (while major is 0: any change)."),
                CSRField("major", 16, reset=regmap.VERSION_MAJOR, description="A reader refuses another one."),
            ],
        )
        status(
            2,
            "id_geometry",
            "What this core was built with.",
            [
                CSRField("samples", 4, reset=self.samples, description="Samples, and so ticks, per cycle of the core's clock."),
                CSRField("inputs", 4, reset=inputs, description="Capture inputs; the line is the channel after the last."),
                CSRField("event_depth", 4, reset=event_depth, description="log2 of the events that fit."),
                CSRField("receive_depth", 4, reset=receive_depth, description="log2 of the received bytes that fit."),
                CSRField("transmit_depth", 4, reset=transmit_depth, description="log2 of the best-effort bytes that fit."),
                CSRField("launch_depth", 4, reset=launch_depth, description="log2 of the timed launches that fit."),
                CSRField("interrupts", 1, reset=int(interrupts), description="The registers from `irq_level` on are there."),
                CSRField("simulated", 1, reset=int(simulated), description="This is a simulation, not a board."),
            ],
        )
        clock_num = status(
            3,
            "id_clock_num",
            "Frequency of the core's clock in Hz, numerator of an exact fraction.",
            [CSRField("num", 32, reset=self.clock_hz.numerator, description="Hz x `id_clock_den`.")],
        )
        clock_den = status(
            4,
            "id_clock_den",
            "Frequency of the core's clock in Hz, denominator.",
            [CSRField("den", 32, reset=self.clock_hz.denominator, description="Never 0.")],
        )
        # Constants, unless a simulation drives them.
        self.clock_num, self.clock_den = clock_num.fields.num, clock_den.fields.den
        session = storage(
            5,
            "session",
            "Written by the host; 0 after a reset and when the watchdog has fired: what ran was stopped.",
            [
                CSRField("session", 16, description="Any value; nothing in the core depends on it."),
                CSRField("limit", 15, description="The watchdog fires so many 2^18 bus cycles after the host was last heard; 0: never."),
                CSRField("keep", 1, description="The watchdog never fires: what runs goes on without the host."),
            ],
            write_from_dev=True,
        )

        ready = status(
            6,
            "ready",
            "Records that can be read.",
            [
                CSRField("event", event_depth + 1, offset=0, description="Events."),
                CSRField("receive", receive_depth + 1, offset=16, description="Received bytes."),
            ],
        )
        free = status(
            7,
            "free",
            "Room for what is to be sent.",
            [
                CSRField("transmit", transmit_depth + 1, offset=0, description="Best-effort bytes that can be written."),
                CSRField("launch", launch_depth + 1, offset=16, description="Timed launches; the last one stays until the next."),
            ],
        )
        launches = status(
            8,
            "launches",
            "Timed launches committed to the window, modulo 256.",
            [
                CSRField("accepted", 8, offset=0, description="Taken into the queue."),
                CSRField("refused", 8, offset=16, description="Dropped, because the queue was full."),
            ],
        )
        configs = status(
            9,
            "configs",
            "Configuration words answered by the core, modulo 256.",
            [
                CSRField("applied", 8, offset=0, description="Took effect, or are held for the word that applies them."),
                CSRField("refused", 8, offset=16, description="Refused: not usable."),
            ],
        )
        dropped = status(
            10,
            "dropped",
            "Best-effort bytes that were lost, modulo 65536.",
            [CSRField("transmit", 16, description="Written while the FIFO was full.")],
        )
        state = status(
            11,
            "status",
            "What the core is doing.",
            [
                CSRField("tx_idle", 1, description="No best-effort byte waits or is on the line."),
                CSRField("train_running", 1, description="A train runs."),
                CSRField("train_change_pending", 1, description="A change of the train waits for its pulse."),
                CSRField("responder_armed", 1, description="The responder answers triggers."),
                CSRField("config_busy", 1, description="Configuration words are on their way to the core."),
                CSRField("queue_idle", 1, description="The queue is empty. A launch that had its turn stays in it until the next."),
                CSRField("line_busy", 1, description="Something is on the line."),
                CSRField("rx_busy", 1, description="A byte is being received, or its record cannot be read yet."),
            ],
        )

        if interrupts:
            irq_ports = self.add_interrupts(storage, event_depth, receive_depth, transmit_depth, launch_depth)
        else:
            # Constants: synthesis drops the timers and comparisons.
            irq_ports = {
                f"i_irq_{name}": 0
                for name in ("ev_level", "rx_level", "ev_age", "ev_idle", "rx_age", "rx_idle", "unit", "timed", "tx_low", "lq_space")
            }

        # Clocks and resets: a reset of either side resets both, else the crossings would lose step; and for at least four
        # cycles of the slower one, however short it was.

        sides = {"sys": "sys"} if clock_domain == "sys" else {"sys": "sys", "pulse": clock_domain}
        asked, held = Signal(), []
        self.comb += asked.eq(Reduce("OR", [ResetSignal(domain, allow_reset_less=True) for domain in sides.values()]))
        reset = Signal()
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
        sys_clk, sys_rst = ClockSignal("sys"), self.cd_core_sys.rst
        pulse_clk, pulse_rst = ClockSignal(clock_domain), sys_rst if clock_domain == "sys" else self.cd_core_pulse.rst
        watchdog_fired = Signal()
        self.comb += [session.we.eq(sys_rst | watchdog_fired), session.dat_w.eq(0)]

        # The core and its pins.

        tx, tx_oe, de = Signal(self.samples), Signal(), Signal(self.samples)
        rx, inputs_seen = Signal(self.samples), Signal(inputs * self.samples)
        counters = ("launch_accepted", "launch_refused", "tx_dropped", "config_applied", "config_refused")
        outcome = {name: Signal(16 if name == "tx_dropped" else 8) for name in counters}
        status_bits = Signal(8)
        # The address is decoded in the first cycle of an access, so that this and what the core does with it need not fit into one.
        bus_stb = Signal()
        self.sync += bus_stb.eq(self.bus.cyc & self.bus.stb & ~self.bus.ack)
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
            p_WATCHDOG_UNIT=regmap.WATCHDOG_UNIT,
            i_pulse_clk=pulse_clk,
            i_pulse_rst=pulse_rst,
            i_sys_clk=sys_clk,
            i_sys_rst=sys_rst,
            o_tx_o=tx,
            o_tx_oe=tx_oe,
            o_de_o=de,
            i_rx_i=rx,
            i_aux_i=inputs_seen,
            i_bus_stb=bus_stb,
            i_bus_we=self.bus.we,
            i_bus_adr=self.bus.adr[: log2_int(regmap.WINDOW_SIZE // 4)],
            i_bus_dat_w=self.bus.dat_w,
            o_bus_dat_r=self.bus.dat_r,
            o_bus_ack=self.bus.ack,
            o_ev_ready=ready.fields.event,
            o_rx_ready=ready.fields.receive,
            o_tx_free=free.fields.transmit,
            o_lq_free=free.fields.launch,
            **{f"o_{name}": signal for name, signal in outcome.items()},  # pyright: ignore[reportArgumentType]
            o_status=status_bits,
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
            Cat(*state.fields.fields).eq(status_bits),
        ]
        add_phy(self, phy, pads, pulse_clk, {"tx_o": tx, "tx_oe": tx_oe, "de_o": de, "rx_i": rx, "aux_i": inputs_seen}, edge_clk, phy_rst)
        for file in sources(phy.name):
            platform.add_source(str(file), "systemverilog")

    def add_interrupts(self, storage, event_depth, receive_depth, transmit_depth, launch_depth):
        """The interrupt's CSRs and EventManager; returns the ports of the core that go with them."""
        levels = storage(
            12,
            "irq_level",
            "Interrupt as soon as so many records are ready.",
            [
                CSRField("event", event_depth + 1, offset=0, reset=1, description="Events; 0: not by level."),
                CSRField("receive", receive_depth + 1, offset=16, reset=1, description="Received bytes; 0: not by level."),
            ],
        )
        event_time = storage(
            13,
            "irq_event_time",
            "Interrupt for fewer events, in units of `irq_unit`, counted anew when written.",
            [
                CSRField("age", 8, offset=0, description="Since so long there is one to read; 0: not by age."),
                CSRField("idle", 8, offset=16, description="None came for so long; 0: not by idleness."),
            ],
        )
        receive_time = storage(
            14,
            "irq_receive_time",
            "The same for received bytes.",
            [
                CSRField("age", 8, offset=0, description="Since so long there is one to read; 0: not by age."),
                CSRField("idle", 8, offset=16, description="None came for so long; 0: not by idleness."),
            ],
        )
        room = storage(
            15,
            "irq_send",
            "Interrupt when there is room for more.",
            [
                CSRField("transmit_low", transmit_depth + 1, offset=0, description="At most so many best-effort bytes wait."),
                CSRField("launch_space", launch_depth + 1, offset=16, reset=1, description="At least so many timed launches fit."),
            ],
        )
        unit = storage(
            16,
            "irq_unit",
            "Unit of the times of both streams. A time may end up to one unit early, never late.",
            [CSRField("unit", 2, description="32 x 8^unit cycles of the bus clock. Writing it starts all times anew.")],
        )

        self.ev = EventManager()
        self.ev.event = EventSourceLevel(name="event", description="Events wait, as `irq_level` and `irq_event_time` ask.")
        self.ev.receive = EventSourceLevel(name="receive", description="Received bytes wait, by the settings for them.")
        self.ev.transmit = EventSourceLevel(name="transmit", description="Few best-effort bytes wait, by `irq_send`.")
        self.ev.launch = EventSourceLevel(name="launch", description="There is room for timed launches, by `irq_send`.")
        self.ev.drained = EventSourceLevel(name="drained", description="All best-effort bytes have left, their stop bits included.")
        self.ev.fault = EventSourcePulse(name="fault", description="Something was refused, missed or lost since this was cleared.")
        self.ev.finalize()
        self.ev.status.description = "Interrupt sources as they are now; `fault` reads 0."
        self.ev.pending.description = "Interrupt sources that ask for service. Writing 1 clears `fault`, the others follow their cause."
        self.ev.enable.description = "Interrupt sources that raise the interrupt."
        for field in self.ev.enable.fields.fields:
            field.description = f"`{field.name}` raises the interrupt."
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

    def add_to_soc(self, soc, name="pulse", csr_location=regmap.CSR_LOCATION, window=regmap.WINDOW_BASE):
        """Gives the core its fixed place in `soc`: CSR location, bus window, and an interrupt if the SoC takes any.

        `name` is the attribute of the SoC that holds this module. `window` = None lets LiteX choose, in an uncached region.
        Accesses to the window must be whole 32-bit words.
        """
        if soc.csr.data_width != 32:
            raise ValueError("LitePulse needs a CSR bus of 32 bits")
        soc.csr.add(name, csr_location, use_loc_if_exists=True)
        soc.bus.add_slave(f"{name}_window", self.bus, SoCRegion(origin=window, size=regmap.WINDOW_SIZE, cached=False))
        if soc.irq.enabled and hasattr(self, "ev"):
            soc.irq.add(name, use_loc_if_exists=True)


def exact_frequency(value):
    """`value` Hz as a Fraction whose parts fit the identification registers; ValueError if it is not exact or does not fit."""
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"pulse_clk_freq {value!r}: give a clock that is no whole number of Hz as a fractions.Fraction")
    value = Fraction(value)
    if not 0 < value.numerator < 1 << 32 or value.denominator >= 1 << 32:
        raise ValueError(f"pulse_clk_freq {value}: numerator and denominator must be 1 to 2^32 - 1")
    return value
