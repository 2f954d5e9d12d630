# SPDX-License-Identifier: BSD-2-Clause
"""cocotb: the core with its registers behind Wishbone or AXI4-Lite: every register against the register table, both sides of a core
that work through them, and what a bus asks of a slave. The AXI master is cocotbext-axi's."""

import itertools
import logging
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, with_timeout
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from litex_soc import regmap as regs
from sim import wishbone

KIND = os.environ["BUS_KIND"]
PARAMETER = {name: int(os.environ[f"LITEPULSE_PARAM_{name}"]) for name in ("INPUTS", "LIN_ENTRIES", "EV_AW", "LQ_AW")}
CSR = {r.name: 0x8000 + 4 * r.index for r in regs.CSRS}
REGISTER = {r.name: r for r in regs.CSRS}
CONFIG = {r.name: regs.REGIONS["CONFIG"][0] + 4 * r.index for r in regs.CONFIG}
EVENTS, TX, LAUNCH = (regs.REGIONS[name][0] for name in ("EVENTS", "TX", "LAUNCH"))
DEPTH = {"event": PARAMETER["EV_AW"], "receive": 9, "transmit": 9, "launch": PARAMETER["LQ_AW"]}
# Fields as wide as a depth asks for, and how wide they are in this core.
WIDTH = {
    **{(name, field): DEPTH[field] + 1 for name in ("ready", "irq_level") for field in ("event", "receive")},
    **{("free", field): DEPTH[field] + 1 for field in ("transmit", "launch")},
    ("irq_send", "transmit_low"): DEPTH["transmit"] + 1,
    ("irq_send", "launch_space"): DEPTH["launch"] + 1,
}
SOURCES = [f.name for f in REGISTER["ev_status"].fields]
TICK_PS = 20_834
PROFILE = {"profile0_format": 3 << 4, "profile0_period": 10 << 8}  # 8 data bits of 10 ticks
WATCHDOG_CYCLES = 1 << regs.WATCHDOG_UNIT


class Wishbone:
    """Words by byte address."""

    def __init__(self, dut):
        self.dut = dut
        for name in ("bus_cyc", "bus_stb", "bus_we", "bus_adr", "bus_dat_w", "bus_sel"):
            getattr(dut, name).value = 0

    def word(self, address):
        return address // 4 if address >= 0x8000 else 0x9000_0000 // 4 + address // 4

    async def read(self, address):
        return await wishbone.access(self.dut, self.word(address))

    async def write(self, address, value, sel=0b1111):
        """False if it ended with an error."""
        try:
            await wishbone.access(self.dut, self.word(address), value, sel)
        except wishbone.BusError:
            return False
        return True


class AxiLite:
    """The same."""

    def __init__(self, dut):
        logging.getLogger("cocotb." + dut._name).setLevel(logging.WARNING)
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), dut.s_axi_aclk, dut.s_axi_aresetn, False)

    async def read(self, address):
        answer = await self.master.read(address, 4)
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(answer.data, "little")

    async def write(self, address, value, sel=0b1111):
        if sel == 0b1111:
            answer = await self.master.write(address, value.to_bytes(4, "little"))
        else:  # this master can only request words that lie side by side
            first = (sel & -sel).bit_length() - 1
            count = sel.bit_length() - first
            assert sel == ((1 << count) - 1) << first
            answer = await self.master.write(address + first, value.to_bytes(4, "little")[first : first + count])
        assert answer.resp in (AxiResp.OKAY, AxiResp.SLVERR)
        return answer.resp == AxiResp.OKAY


def clock(dut):
    """That of the bus."""
    return dut.sys_clk if KIND == "wishbone" else dut.s_axi_aclk


def pin(dut, name):
    return getattr(dut, name if KIND == "wishbone" else f"line_{name}")


async def cycles(dut, count):
    await ClockCycles(clock(dut), count)


async def reset(dut):
    """A short one, and what it takes to come out of it."""
    signal, on = (dut.sys_rst, 1) if KIND == "wishbone" else (dut.s_axi_aresetn, 0)
    signal.value = on
    await cycles(dut, 4)
    signal.value = 1 - on
    await cycles(dut, 64)


async def start(dut, by_hand=False):
    """Clocks, a reset; the bus, unless the test drives its signals itself."""
    cocotb.start_soon(Clock(clock(dut), 9_998, unit="ps").start())
    cocotb.start_soon(Clock(dut.pulse_clk, TICK_PS, unit="ps").start())
    if KIND == "wishbone":
        dut.pulse_rst.value = 0
    pin(dut, "aux").value, pin(dut, "rx").value = 0, 1
    bus = None if by_hand else {"wishbone": Wishbone, "axil": AxiLite}[KIND](dut)
    await reset(dut)
    return bus


def fields(name, word):
    return {f.name: word >> f.offset & ((1 << f.size) - 1) for f in REGISTER[name].fields}


def pack(name, **values):
    known = {f.name: f.offset for f in REGISTER[name].fields}
    return sum(value << known[field] for field, value in values.items())


async def csr(bus, name):
    return fields(name, await bus.read(CSR[name]))


async def configure(bus, **words):
    """Writes configuration words; waits until all are answered and says how."""
    before = await csr(bus, "configs")
    for name, word in words.items():
        assert await bus.write(CONFIG[name], word)
    for _ in range(2000):  # a flush takes its time
        after = await csr(bus, "configs")
        applied, refused = ((after[way] - before[way]) % 256 for way in ("applied", "refused"))
        if applied + refused == len(words):
            return applied, refused
    raise AssertionError(f"{words} not answered")


async def launch(bus, tick, byte=0x55):
    for word, value in enumerate((tick & 0xFFFFFFFF, tick >> 32, 0, byte)):
        assert await bus.write(LAUNCH + 4 * word, value)


async def now(bus):
    await bus.read(EVENTS)
    return await bus.read(EVENTS + 8) | await bus.read(EVENTS + 12) << 32


async def until(dut, condition, limit=4000):
    """Waits until the coroutine function `condition` gives true."""
    for _ in range(limit // 10):
        if await condition():
            return
        await cycles(dut, 10)
    raise AssertionError("that never came")


@cocotb.test()
async def what_it_is(dut):
    """After a reset each register shows what the table has for such a core; there is nothing behind the last one."""
    bus = await start(dut)
    geometry = {
        "samples": 1,
        "inputs": PARAMETER["INPUTS"],
        **{f"{name}_depth": depth for name, depth in DEPTH.items()},
        "interrupts": 1,
        "simulated": 1,
        "lin_depth": PARAMETER["LIN_ENTRIES"].bit_length() - 1 if PARAMETER["LIN_ENTRIES"] else 0,
        "port": 0,
        "sequence": 0,
    }
    assert await csr(bus, "id_clock_num") == {"num": 48_000_000 if KIND == "wishbone" else 100_000_000}
    for name in ("id_magic", "id_version", "id_clock_den", "session", "launches", "configs", "dropped"):
        assert await csr(bus, name) == {f.name: f.reset for f in REGISTER[name].fields}, name
    for name in ("irq_level", "irq_event_time", "irq_receive_time", "irq_send", "irq_unit", "ev_enable"):
        assert await csr(bus, name) == {f.name: f.reset for f in REGISTER[name].fields}, name
    assert await csr(bus, "id_geometry") == geometry
    assert await csr(bus, "id_window") == {"base": 0x9000_0000 if KIND == "wishbone" else 0}
    assert await csr(bus, "ready") == {"event": 0, "receive": 0}
    assert await csr(bus, "free") == {"transmit": 512, "launch": 1 << DEPTH["launch"]}
    status, inputs = {"tx_idle": 1, "queue_idle": 1}, PARAMETER["INPUTS"]
    for pins in (1 << inputs, *(1 << inputs | 1 << channel for channel in range(inputs)), 0, 1 << inputs):
        pin(dut, "aux").value, pin(dut, "rx").value = pins & (1 << inputs) - 1, pins >> inputs
        await cycles(dut, 20)
        # A line at 0 is the beginning of a byte.
        read = await csr(bus, "status") | {"rx_busy": 0}
        assert read == {f.name: status.get(f.name, 0) for f in REGISTER["status"].fields} | {"levels": pins}
    for address in (0x8054, 0x807C, 0x8080, 0x8094, 0x8100, 0xC014, 0xFFFC):
        assert await bus.write(address, 0xFFFFFFFF)
        assert await bus.read(address) == 0, hex(address)
    assert await csr(bus, "session") == {"session": 0, "limit": 0, "keep": 0}


@cocotb.test()
async def settings(dut):
    """Each bit of a register that can be written is kept, and no other; what can only be read stays what it is."""
    bus, rng = await start(dut), random.Random(3)
    kept = {}
    for register in regs.CSRS:
        before = await bus.read(CSR[register.name])
        for word in (0xFFFFFFFF, rng.getrandbits(32), rng.getrandbits(32)):
            if register.name == "ev_pending":
                continue
            if register.name == "session":
                word |= 1 << 31  # keep: no watchdog
            assert await bus.write(CSR[register.name], word)
            read = await bus.read(CSR[register.name])
            if register.access == "read":
                assert read == before, register.name
                continue
            mask = 0
            for f in register.fields:
                mask |= (1 << min(f.size, WIDTH.get((register.name, f.name), 32))) - 1 << f.offset
            assert read == word & mask, (register.name, hex(word), hex(read))
            kept[register.name] = read
    assert len(kept) == 7
    for name, word in kept.items():
        assert await bus.read(CSR[name]) == word, f"{name}: another write changed it"
    await reset(dut)
    for name in kept:
        assert await csr(bus, name) == {f.name: f.reset for f in REGISTER[name].fields}, f"{name} after a reset"


@cocotb.test()
async def what_happened(dut):
    """The counters and levels are those of the requests."""
    bus = await start(dut)
    assert await configure(bus, train_count=7, resp_arm=1, event_mask=1, echo=0xFFFF, line=1 << 3) == (3, 2)
    assert await csr(bus, "configs") == {"applied": 3, "refused": 2}
    await configure(bus, **PROFILE)
    room = 1 << DEPTH["launch"]
    for n in range(room + 3):
        await launch(bus, (1 << 40) + n)
    await until(dut, lambda: is_now(bus, "launches", accepted=room, refused=3))
    assert (await csr(bus, "free"))["launch"] == 0
    assert (await csr(bus, "status"))["queue_idle"] == 0
    await configure(bus, line=2)  # bytes wait
    for n in range(520):
        assert await bus.write(TX, n & 0xFF)
    lost = (await csr(bus, "dropped"))["transmit"]
    assert 0 < lost <= 8 and (await csr(bus, "free"))["transmit"] == 0
    assert (await csr(bus, "status"))["tx_idle"] == 0
    await configure(bus, command=3)
    await until(dut, lambda: is_now(bus, "free", transmit=512, launch=room))


async def is_now(bus, name, **values):
    shown = await csr(bus, name)
    return all(shown[field] == value for field, value in values.items())


@cocotb.test()
async def a_host_that_falls_silent(dut):
    """The watchdog stops the train and clears SESSION; `keep` and each access to the window put it off."""
    bus = await start(dut)
    await configure(bus, **PROFILE)
    await configure(bus, train_count=0, train_period=2000, train_num=0, train_den=1, train_width=20, train_launch=2 << 10)
    assert await configure(bus, train_command=1 | 1 << 2) == (1, 0)
    assert (await csr(bus, "status"))["train_running"] == 1
    await bus.write(CSR["session"], pack("session", session=0xBEEF, limit=1))
    await cycles(dut, WATCHDOG_CYCLES * 3 // 4)
    await now(bus)  # the host was heard
    await cycles(dut, WATCHDOG_CYCLES * 3 // 4)
    assert await csr(bus, "session") == {"session": 0xBEEF, "limit": 1, "keep": 0}
    assert (await csr(bus, "status"))["train_running"] == 1
    await cycles(dut, WATCHDOG_CYCLES // 2)
    assert await csr(bus, "session") == {"session": 0, "limit": 0, "keep": 0}
    assert (await csr(bus, "status"))["train_running"] == 0
    await bus.write(CSR["session"], pack("session", session=1, limit=1, keep=1))
    await cycles(dut, WATCHDOG_CYCLES * 3 // 2)
    assert await csr(bus, "session") == {"session": 1, "limit": 1, "keep": 1}


@cocotb.test()
async def interrupts(dut):
    """Each source follows its cause, raises the interrupt only while enabled, and goes with its cause; `fault` when it is cleared."""
    bus = await start(dut)
    await configure(bus, **PROFILE, line=1 | 1 << 3, event_mask=0x7FF)  # loopback, receive

    async def pending():
        return {name for name, level in (await csr(bus, "ev_pending")).items() if level}

    async def expect_pending(*names):
        """Exactly these ask; with one enabled the interrupt is what that one asks."""
        await cycles(dut, 40)
        assert await pending() == set(names)
        assert {name for name, level in (await csr(bus, "ev_status")).items() if level} == set(names) - {"fault"}
        for name in SOURCES:
            await bus.write(CSR["ev_enable"], pack("ev_enable", **{name: 1}))
            await cycles(dut, 2)
            assert dut.irq.value == (name in names), name
        await bus.write(CSR["ev_enable"], 0)
        await cycles(dut, 2)
        assert dut.irq.value == 0

    async def drop(stream):
        base = regs.REGIONS[stream][0]
        count = await bus.read(base) & 0xFFFF
        assert count
        await bus.write(base, count)

    await drop("EVENTS") if (await csr(bus, "ready"))["event"] else None
    await expect_pending("transmit", "launch", "drained")
    await bus.write(CSR["irq_send"], pack("irq_send", transmit_low=0, launch_space=0))
    await expect_pending("transmit", "drained")
    # A byte: it is sent, reported by an event, received.
    assert await bus.write(TX, 0x5A)
    await until(dut, lambda: is_now(bus, "ready", event=1, receive=1))
    await expect_pending("event", "receive", "transmit", "drained")
    await drop("EVENTS")
    await expect_pending("receive", "transmit", "drained")
    await drop("RECEIVE")
    await expect_pending("transmit", "drained")
    # By level, then by age.
    await bus.write(CSR["irq_level"], pack("irq_level", event=2, receive=0))
    assert await bus.write(TX, 0x5A)
    await until(dut, lambda: is_now(bus, "ready", event=1, receive=1))
    await expect_pending("transmit", "drained")
    await bus.write(CSR["irq_receive_time"], pack("irq_receive_time", age=3))
    await cycles(dut, 4 << regs.IRQ_UNIT)
    await expect_pending("receive", "transmit", "drained")
    assert await bus.write(TX, 0x5A)
    await until(dut, lambda: is_now(bus, "ready", event=2, receive=2))
    await expect_pending("event", "receive", "transmit", "drained")
    await drop("EVENTS")
    await drop("RECEIVE")
    # A launch too late is a fault, until that is cleared.
    await launch(bus, 1)
    await until(dut, lambda: is_now(bus, "ready", event=1))
    await drop("EVENTS")
    await expect_pending("transmit", "drained", "fault")
    await bus.write(CSR["ev_pending"], pack("ev_pending", transmit=1, drained=1))
    await expect_pending("transmit", "drained", "fault")
    await bus.write(CSR["ev_pending"], pack("ev_pending", fault=1))
    await expect_pending("transmit", "drained")
    await configure(bus, line=3)  # bytes wait
    for _ in range(3):  # of which one is on its way to the line
        assert await bus.write(TX, 1)
    await expect_pending()


@cocotb.test()
async def to_the_tick(dut):
    """A launch that was requested over the bus starts at its tick: the pin shows that, and so does
    the record."""
    bus = await start(dut)
    await configure(bus, **PROFILE, event_mask=1)
    fell = []

    async def look():
        while True:
            await FallingEdge(pin(dut, "tx"))
            fell.append(get_sim_time("ps"))

    watch = cocotb.start_soon(look())
    before = get_sim_time("ps")
    tick = await now(bus)
    after = get_sim_time("ps")
    at = tick + 900
    await launch(bus, at, 0x00)
    await launch(bus, at + 1234, 0x00)
    await until(dut, lambda: is_now(bus, "ready", event=2), 40_000)
    words = [await bus.read(EVENTS + 16 + 4 * n) for n in range(8)]
    watch.cancel()
    assert [words[n] | words[n + 1] << 32 for n in (0, 4)] == [at, at + 1234]
    assert len(fell) == 2 and fell[1] - fell[0] == 1234 * TICK_PS
    assert before < fell[0] - (at - tick) * TICK_PS < after + TICK_PS, "the time over the bus is not that of the pins"


@cocotb.test()
async def parts_of_words(dut):
    """Are not written, and say so. An access that asks for nothing does nothing."""
    bus = await start(dut)
    await configure(bus, train_count=0x11223344)
    await bus.write(CSR["session"], 0x8000_1234)
    parts = range(1, 15) if KIND == "wishbone" else (0b0001, 0b0010, 0b0011, 0b0100, 0b0110, 0b0111, 0b1000, 0b1100, 0b1110)
    for sel in parts:
        for address, value in ((CONFIG["train_count"], 0x11223344), (CSR["session"], 0x8000_1234)):
            assert not await bus.write(address, 0x55667788, sel)
            assert await bus.read(address) == value
    if KIND == "wishbone":
        for address, value in ((CONFIG["train_count"], 0x11223344), (CSR["session"], 0x8000_1234)):
            assert await bus.write(address, 0x55667788, 0)
            assert await bus.read(address) == value


async def until_high(dut, signal):
    """The rising edge of the clock that ends a cycle in which `signal` is high."""
    for _ in range(1000):
        await RisingEdge(clock(dut))
        if signal.value == 1:
            return
    raise AssertionError(f"{signal._name} stays low")


@cocotb.test(skip=KIND != "axil")
async def all_channels_at_once(dut):
    """Reads and writes side by side, each channel with pauses of its own: every answer is right, none is missing, both get their turn."""
    bus, rng = await start(dut), random.Random(11)
    master, ended = bus.master, []
    quiet = itertools.cycle([0])
    places = {"a": [CONFIG[f"train_{name}"] for name in ("start_lo", "start_hi", "count")], "b": [CSR["irq_event_time"], CSR["irq_send"]]}
    mask = {CSR["irq_event_time"]: 0x0FFF0FFF, CSR["irq_send"]: (2 << DEPTH["launch"]) - 1 << 16 | 0x3FF}

    async def work(who, addresses):
        known = {}
        for _ in range(60):
            address = rng.choice(addresses)
            if rng.random() < 0.5 or address not in known:
                word = rng.getrandbits(32)
                assert await bus.write(address, word)
                known[address] = word & mask.get(address, 0xFFFFFFFF)
            else:
                assert await bus.read(address) == known[address], hex(address)
        ended.append(who)

    async def read_on(who):
        for _ in range(100):
            assert await bus.read(CSR["id_magic"]) == regs.MAGIC
        ended.append(who)

    channels = [
        master.write_if.aw_channel,
        master.write_if.w_channel,
        master.write_if.b_channel,
        master.read_if.ar_channel,
        master.read_if.r_channel,
    ]
    for pauses in (0, 0.3, 0.8):
        for channel in channels:
            draws = random.Random(rng.getrandbits(32))
            channel.set_pause_generator(iter(lambda d=draws, p=pauses: d.random() < p, None) if pauses else quiet)
        ended.clear()
        tasks = [cocotb.start_soon(work(who, addresses)) for who, addresses in places.items()]
        tasks.append(cocotb.start_soon(read_on("c")))
        for task in tasks:
            await with_timeout(task, 3, "ms")
        assert sorted(ended) == ["a", "b", "c"]


@cocotb.test(skip=KIND != "axil")
async def answers_wait(dut):
    """An answer stays until it is taken, whatever else goes on; no second one is begun before. A write without strobes does nothing."""
    for name in ("awvalid", "wvalid", "bready", "arvalid", "rready", "awprot", "arprot"):
        getattr(dut, f"s_axi_{name}").value = 0
    await start(dut, by_hand=True)

    async def write(value, strobes):
        """Hands over the data of a write whose address waits, and holds back its answer."""
        dut.s_axi_wdata.value, dut.s_axi_wstrb.value, dut.s_axi_wvalid.value = value, strobes, 1
        await until_high(dut, dut.s_axi_awready)
        assert dut.s_axi_wready.value == 1
        dut.s_axi_awvalid.value = dut.s_axi_wvalid.value = 0
        await cycles(dut, 50)
        assert dut.s_axi_bvalid.value == 1 and int(dut.s_axi_bresp.value) == AxiResp.OKAY

    dut.s_axi_araddr.value, dut.s_axi_arvalid.value = CSR["id_magic"], 1
    dut.s_axi_awaddr.value, dut.s_axi_awvalid.value = CSR["irq_unit"], 1
    await until_high(dut, dut.s_axi_arready)
    dut.s_axi_araddr.value = CSR["irq_unit"]  # and another read waits
    for _ in range(200):
        await RisingEdge(clock(dut))
        assert dut.s_axi_arready.value == 0 and dut.s_axi_awready.value == 0 and dut.s_axi_wready.value == 0
        assert dut.s_axi_bvalid.value == 0
    assert dut.s_axi_rvalid.value == 1 and int(dut.s_axi_rdata.value) == regs.MAGIC
    await write(2, 0b1111)
    dut.s_axi_bready.value = 1
    await RisingEdge(clock(dut))
    dut.s_axi_bready.value, dut.s_axi_awvalid.value = 0, 1
    await write(1, 0)
    assert dut.s_axi_rvalid.value == 1 and int(dut.s_axi_rdata.value) == regs.MAGIC
    dut.s_axi_rready.value = 1
    await until_high(dut, dut.s_axi_arready)
    dut.s_axi_arvalid.value = 0
    await until_high(dut, dut.s_axi_rvalid)
    assert int(dut.s_axi_rdata.value) == 2
    dut.s_axi_rready.value, dut.s_axi_bready.value = 0, 1
    await cycles(dut, 2)
    assert dut.s_axi_bvalid.value == 0 and dut.s_axi_rvalid.value == 0
