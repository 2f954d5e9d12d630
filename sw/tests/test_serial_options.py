# SPDX-License-Identifier: BSD-2-Clause
"""litepulse.Serial: what its settings mean, what is refused, and how programs wait for it."""

import asyncio
import select
from fractions import Fraction

import numpy as np
import pytest
import serial

import litepulse
from litepulse.units import BitPeriod


@pytest.fixture(scope="module")
def board():
    with litepulse.open(sim=True) as board:
        yield board


@pytest.mark.parametrize("rate", [45.45, "45.45", Fraction(909, 20), np.float32(45.45), 134.5])
def test_a_fraction_of_a_baud_is_kept(board, rate):
    wanted = Fraction("134.5") if rate == 134.5 else Fraction(909, 20)
    with litepulse.Serial(board, rate) as port:
        assert port.baudrate == wanted and port._profile.bit_period == board.timescale.bit_period(wanted)
        port.baudrate = np.int64(9600)
        assert port.baudrate == 9600 and type(port.baudrate) is int
    assert isinstance(port._profile.bit_period, BitPeriod)


@pytest.mark.parametrize("rate", [0, -1, True, "x", None, 10**8])
def test_a_rate_that_cannot_be(board, rate):
    with pytest.raises((ValueError, serial.SerialException), match="baud"):
        litepulse.Serial(board, rate)
    with litepulse.Serial(board, 9600) as port:
        with pytest.raises(ValueError, match="baud"):
            port.baudrate = rate
        assert port.baudrate == 9600


@pytest.mark.parametrize("option", ["xonxoff", "rtscts", "dsrdtr"])
def test_an_option_without_effect_is_refused_where_it_is_given(board, option):
    with pytest.raises(ValueError, match=f"{option}: this port has no flow control"):
        litepulse.Serial(board, 9600, **{option: True})
    with litepulse.Serial(board, 9600) as port:
        with pytest.raises(ValueError, match=f"{option}: this port has no flow control"):
            setattr(port, option, True)
        assert not getattr(port, option)
        port.baudrate = 19200  # it is no longer in the way
    closed = litepulse.Serial(None, 9600, **{option: True})
    closed._given = board
    closed.port = board.name
    with pytest.raises(ValueError, match=option):
        closed.open()
    assert not closed.is_open and not board.busy


def test_rs485_mode_is_refused(board):
    from serial.rs485 import RS485Settings

    with litepulse.Serial(board, 9600) as port:
        with pytest.raises(ValueError, match="`de` of the board is driver enable"):
            port.rs485_mode = RS485Settings()
        port.rs485_mode = None


def test_a_byte_leaves_an_exact_time_behind_a_break(board):
    """As SDI-12 wants it: 12 ms of break, 8.33 ms of mark."""
    with litepulse.Serial(board, 1200, timeout=100) as port:
        begun = board.now()
        end = port.send_break("12ms")
        assert isinstance(end, litepulse.Moment) and begun.tick + 576_000 <= end.tick <= board.now().tick
        written = port.write(b"a", at=end + litepulse.ms(Fraction("8.33")))
        assert written.ticks == [end.tick + 399_840]
        got = port.read(2)
        # The break began 12 ms before its end, and is seen a tick later, as the byte is.
        assert got == b"\0a" and [tick - end.tick for tick in got.ticks] == [-576_000 + 1, 399_840 + 1]


def test_select_waits_for_bytes(board):
    with litepulse.Serial(board, 115200, timeout=0) as port:
        assert select.select([port], [], [], 0.05)[0] == []
        port.write(b"abc")
        got = b""
        while len(got) < 3:
            assert select.select([port], [], [], 30)[0] == [port], "nothing came"
            got += port.read(1)
        assert got == b"abc" and select.select([port], [], [], 0.05)[0] == []
        file = port.fileno()
    with pytest.raises(OSError, match="Bad file"):
        select.select([file], [], [], 0)


def test_asyncio_waits_for_bytes(board):
    async def echo():
        loop, got, done = asyncio.get_running_loop(), bytearray(), asyncio.Event()
        with litepulse.Serial(board, 115200, timeout=0) as port:

            def ready():
                got.extend(port.read(100))
                if len(got) == 5:
                    done.set()

            loop.add_reader(port, ready)
            port.write(b"hello")
            await asyncio.wait_for(done.wait(), 60)
            loop.remove_reader(port)
        return bytes(got)

    assert asyncio.run(echo()) == b"hello"


def test_a_fault_wakes_those_that_wait():
    board = litepulse.open(sim=True)
    port = litepulse.Serial(board, 115200, timeout=0)
    file = port.fileno()
    board.backend.registers.bus.stream.close()
    assert select.select([file], [], [], 30)[0] == [file]
    with pytest.raises(serial.SerialException):
        port.read(1)
    port.close()
