# SPDX-License-Identifier: BSD-2-Clause
"""An independent UART (cocotbext-uart) on the other end of the wire, in both directions."""

import logging
from fractions import Fraction

import cocotb
from cocotb.triggers import Timer
from cocotbext.uart import UartSink, UartSource

from sim.core.bench import CYCLE, FAST, LINE, SPACE, TICK, Bench, S, figure
from sim.core.model import FRAME, Grant, Launch, Profile

NS = 1000


def quiet(uart):
    uart.log.setLevel(logging.WARNING)
    return uart


def baud_of(bit_ns):
    """A baud whose bit cocotbext-uart, which cuts to whole ns, makes exactly that long."""
    return 1e9 / (bit_ns + 0.5)


def speeds():
    """(our bit period in ticks, the stranger's bit in ns): equal, and 2 % or a little more off to either side."""
    for ticks in (16, 23, 64 * S, Fraction(48_000_000 * S, 921_600), 417 * S):
        period = Fraction(round(max(Fraction(ticks), 4 * S) * 256), 256)
        ours = period * TICK / NS
        for off in (Fraction(0), Fraction(2, 100), Fraction(-2, 100)):
            exact = ours * (1 + off)
            yield period, -int(-exact // 1) if off > 0 else int(exact)


@cocotb.test()
async def test_promise5_stranger_sends(dut):
    """Bytes from a stranger, +-2 %: every one, without an error flag, stamped at its start edge."""
    total = 0
    for period, bit_ns in speeds():
        bench = await Bench.start(dut, "unrelated")
        assert await bench.profile(0, Profile(period))
        await bench.config("line", rx_enable=1)
        source = quiet(UartSource(dut.rx_drive, baud=baud_of(bit_ns), bits=8))
        data = bytes(bench.random.getrandbits(8) for _ in range(24 if FAST and period < 200 * S else 5))
        watcher = bench.watch_falls(dut.rx_drive)
        # Off the grid of ticks, as strangers are.
        await Timer(bench.random.randrange(1, CYCLE) | 1, "step")
        await source.write(data)
        await source.wait()
        await bench.cycles(int(4 * period) // S + 60)
        await bench.drain_bytes()
        assert bytes(b.data for b in bench.bytes) == data, (period, bit_ns, bench.bytes)
        assert not any(b.parity_error or b.framing_error or b.is_break or b.own or b.overflow for b in bench.bytes)
        starts = watcher.starts(bit_ns * NS)
        assert [b.tick for b in bench.bytes] == starts, "the first sample that shows the start bit"
        source._run_cr.cancel()
        total += len(data)
    figure(5, "bytes from cocotbext-uart, +-2 %", total)


@cocotb.test()
async def test_promise3_stranger_receives(dut):
    """A stranger reads our frames, timed and best-effort, +-2 %."""
    total = 0
    for period, bit_ns in speeds():
        bench = await Bench.start(dut, "2:1")
        await bench.record("tx_queue", "tx_tty")
        profile = Profile(period)
        assert await bench.profile(0, profile) and await bench.profile(1, profile)
        sink = quiet(UartSink(dut.tx_pin, baud=baud_of(bit_ns), bits=8))
        count = 24 if FAST and period < 200 * S else 5
        # It wants a whole stop bit after its last sample, so a frame of ours must be followed by a pause when it is slow.
        data = [bench.random.getrandbits(8) for _ in range(count)]
        pause = int(period) + 1
        tick, grants = bench.ahead(1), []
        for n, value in enumerate(data[: count // 2]):
            frame = Launch(FRAME, profile, value, index=1)
            tick = max(tick, bench.ahead(1))
            grants.append(Grant(tick, frame, 0, n))
            await bench.launch(tick, frame, n)
            tick += max(frame.length + pause, SPACE)
        await bench.until(tick + 100 * S)
        for value in data[count // 2 :]:
            await bench.send([value])
            await bench.cycles(int(12 * period) // S + 80)
        await bench.drain()
        await Timer(bit_ns * NS * 3, "step")
        assert list(sink.read_nowait()) == data, (period, bit_ns)
        grants += [Grant(r.tick, Launch(FRAME, profile, r.data), 3, n) for n, r in enumerate(bench.select(1, 3))]
        bench.check_line(grants)
        sink._run_cr.cancel()
        total += len(data)
    figure(3, "bytes read by cocotbext-uart, +-2 %", total)


@cocotb.test()
async def test_promise5_stranger_with_noise(dut):
    """Spikes on the stranger's line, shorter than the filter: all bytes, unchanged, stamped as without noise."""
    bench = await Bench.start(dut, "unrelated")
    period = Fraction(48 * S)
    bit_ns = int(period * TICK / NS)
    length = 5 * S
    assert await bench.profile(0, Profile(period))
    await bench.config("filter", enable=1 << LINE, length=length)
    await bench.config("line", rx_enable=1)
    source = quiet(UartSource(dut.rx_drive, baud=baud_of(bit_ns), bits=8))
    watcher = bench.watch_falls(dut.rx_drive)
    running = True

    async def spikes():
        # As wide as `length` - 1 samples, in the middle of bits: a spike beside an edge would move it, as it does for any filter.
        count = 0
        while running:
            await bench.until(bench.now + 1)
            at = watcher.since_change()
            if 12 * S < at < 30 * S and bench.random.random() < 0.3:
                dut.rx_noise.value = 1
                await Timer(bench.random.randrange(1, length) * TICK, "step")
                dut.rx_noise.value = 0
                count += 1
                await Timer(8 * S * TICK, "step")
            await Timer(3 * TICK, "step")
        return count

    task = cocotb.start_soon(spikes())
    data = bytes(bench.random.getrandbits(8) for _ in range(20 if FAST else 6))
    await source.write(data)
    await source.wait()
    await bench.cycles(200)
    running = False
    count = await task
    await bench.drain_bytes()
    assert bytes(b.data for b in bench.bytes) == data and count > len(data), count
    assert not any(b.parity_error or b.framing_error or b.is_break or b.noise for b in bench.bytes)
    assert [b.tick for b in bench.bytes] == watcher.starts(bit_ns * NS)
    figure(5, "bytes from cocotbext-uart under spikes", len(data))
