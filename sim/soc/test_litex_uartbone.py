# SPDX-License-Identifier: BSD-2-Clause
"""How much a command may carry at a bit rate, on LiteX's own UARTBone: it forgets what takes longer than 100 ms."""

import pytest
from litex.gen import LiteXModule
from litex.soc.cores.uart import Stream2Wishbone
from litex.soc.interconnect import stream
from migen import passive, run_simulation

from litepulse.backends.uartbone import LOWEST_BAUD, MAX_BURST, burst_at

CLOCK = 57_600  # Hz of the simulated bridge, so few that 100 ms are soon over
WRITE, READ = 1, 2


class Bridge(LiteXModule):
    """LiteX's bridge without a line: `source` has the bytes from the host, `sink` takes those to it."""

    def __init__(self):
        self.source, self.sink = stream.Endpoint([("data", 8)]), stream.Endpoint([("data", 8)])
        self.bone = Stream2Wishbone(self, CLOCK)
        self.bus = self.bone.wishbone


def play(command, baud, answer=0):
    """([words written], [bytes answered]): `command` comes byte behind byte at `baud`, `answer`
    bytes of an answer leave at that rate."""
    dut, written, answered, byte_cycles = Bridge(), [], [], CLOCK * 10 // baud

    def host():
        for byte in command:
            yield dut.source.data.eq(byte)
            yield dut.source.valid.eq(1)
            yield
            while not (yield dut.source.ready):
                yield
            yield dut.source.valid.eq(0)
            for _ in range(byte_cycles - 1):
                yield
        for _ in range((answer + 2) * byte_cycles):
            yield

    @passive
    def line():
        while True:
            yield dut.sink.ready.eq(1)
            yield
            if (yield dut.sink.valid):
                answered.append((yield dut.sink.data))
            yield dut.sink.ready.eq(0)
            for _ in range(byte_cycles - 1):
                yield

    @passive
    def bus():
        while True:
            requested = (yield dut.bus.cyc) and (yield dut.bus.stb) and not (yield dut.bus.ack)
            yield dut.bus.ack.eq(int(requested))
            if requested and (yield dut.bus.we):
                written.append((yield dut.bus.dat_w))
            yield

    run_simulation(dut, [host(), line(), bus()])
    return written, answered


@pytest.mark.parametrize("baud", [4800, 9600, 19200])
def test_a_command_arrives_whole(baud):
    """With as many words as go in one; with a quarter more words are lost."""
    count = burst_at(baud)
    words = [0x01020304 * (i % 60 + 1) for i in range(count + count // 4 + 1)]

    def write(number):
        return bytes((WRITE, number)) + bytes(4) + b"".join(word.to_bytes(4, "big") for word in words[:number])

    assert play(write(count), baud) == (words[:count], [])
    assert len(play(write(len(words)), baud)[0]) < len(words)
    assert len(play(bytes((READ, count)) + bytes(4), baud, 4 * count)[1]) == 4 * count
    assert len(play(bytes((READ, len(words))) + bytes(4), baud, 4 * len(words))[1]) < 4 * len(words)


def test_how_many_words():
    """As many as fit into 90 ms with their six bytes before them, and never more than the length's byte can say."""
    for baud in range(LOWEST_BAUD, 200_000, 100):
        count = burst_at(baud)
        assert 7 <= count <= MAX_BURST and (6 + 4 * count) * 10 <= 0.09 * baud
        assert count == MAX_BURST or (6 + 4 * (count + 1)) * 10 > 0.09 * baud
    assert burst_at(115200) == burst_at(None) == MAX_BURST and burst_at(57600) < 130
