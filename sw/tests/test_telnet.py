# SPDX-License-Identifier: BSD-2-Clause
"""Telnet with RFC 2217, without a network: streams that are cut anywhere, cut short, or made of random bytes."""

import random

import pytest

from litepulse.telnet import BINARY, BREAK, COM_PORT, DO, DONT, IAC, LONGEST, SB, SE, WILL, WONT, Com, Request, Telnet, answer


def command(number, value=b""):
    return bytes([IAC, SB, COM_PORT, number]) + value.replace(b"\xff", b"\xff\xff") + bytes([IAC, SE])


def joined(items):
    """The same, with data that follows data as one."""
    found = []
    for item in items:
        if isinstance(item, bytes) and found and isinstance(found[-1], bytes):
            found[-1] += item
        else:
            found.append(item)
    return found


PARTS = (
    (b"plain \xff\xff\0", b"plain \xff\0"),
    (command(1, b"\0\0\x4b\0"), Request(Com.BAUD_RATE, b"\0\0\x4b\0")),
    (command(1, b"\0\0\xff\xff"), Request(Com.BAUD_RATE, b"\0\0\xff\xff")),
    (bytes([IAC, 243]), BREAK),
    (bytes([IAC, WILL, COM_PORT]), None),
    (bytes([IAC, WILL, BINARY]), None),
    (command(12, b"\3"), Request(Com.PURGE, b"\3")),
    (b"\r\0\n", b"\r\0\n"),  # binary: nothing is left out
    (command(8), Request(Com.SUSPEND)),
    (command(0, b"a client"), Request(Com.SIGNATURE, b"a client")),
)


def test_a_stream_that_is_cut_anywhere():
    stream = b"".join(sent for sent, _ in PARTS)
    wanted = joined(found for _, found in PARTS if found is not None)
    for step in range(1, len(stream) + 1):
        telnet = Telnet()
        found = joined(item for at in range(0, len(stream), step) for item in telnet.feed(stream[at : at + step]))
        assert found == wanted, step


def test_a_terminal_s_end_of_line():
    """Unless the client sends binary, a NUL behind a CR is not data. It gets one only if it has refused binary itself."""
    for step in (1, 2, 100):
        telnet, stream = Telnet(), b"a\r\0b\r\nc\0\r\r\0\0"
        assert b"".join(item for at in range(0, len(stream), step) for item in telnet.feed(stream[at : at + step])) == b"a\rb\r\nc\0\r\r\0"
    assert telnet.encode(b"\r\xff") == b"\r\xff\xff"
    telnet.feed(bytes([IAC, DONT, BINARY]))
    assert telnet.encode(b"\r\n") == b"\r\0\n"


def test_an_answer_is_never_answered():
    telnet = Telnet()
    offered = bytes(telnet.answers)
    telnet.answers.clear()
    for at in range(0, len(offered), 3):
        _, verb, option = offered[at : at + 3]
        telnet.feed(bytes([IAC, {WILL: DO, DO: WILL}[verb], option]) * 2)
    assert not telnet.answers and telnet.ours[BINARY] and telnet.theirs[BINARY] and telnet.theirs[COM_PORT]
    telnet.feed(bytes([IAC, DONT, BINARY, IAC, DONT, BINARY, IAC, DO, BINARY]))
    assert telnet.answers == bytes([IAC, WONT, BINARY, IAC, WILL, BINARY])


def test_what_is_not_known_is_refused():
    telnet = Telnet()
    telnet.answers.clear()
    telnet.feed(bytes([IAC, DO, 31, IAC, WILL, 24, IAC, DONT, 5, IAC, WONT, 6]))
    assert telnet.answers == bytes([IAC, WONT, 31, IAC, DONT, 24])


@pytest.mark.parametrize(
    "block",
    [
        b"",
        bytes([COM_PORT]),
        bytes([24, 1]),
        bytes([COM_PORT, 1]),
        bytes([COM_PORT, 1, 0, 0]),
        bytes([COM_PORT, 3]),
        bytes([COM_PORT, 10]),
        bytes([COM_PORT, 12]),
        bytes([COM_PORT, 13, 0]),
        bytes([COM_PORT, 200, 0]),
        bytes([COM_PORT, 0]) + b"x" * LONGEST,
        b"x" * 100_000,
    ],
)
def test_requests_that_are_none(block):
    telnet = Telnet()
    assert telnet.feed(b"a" + bytes([IAC, SB]) + block + bytes([IAC, SE]) + b"b") == [b"ab"]
    assert telnet.feed(bytes([IAC, SE]) + command(2, b"\7")) == [Request(Com.DATA_SIZE, b"\7")]


def test_a_request_without_an_end():
    """Another command ends it."""
    assert Telnet().feed(bytes([IAC, SB, COM_PORT, 1, 0, IAC]) + command(2, b"\7")[1:]) == [Request(Com.DATA_SIZE, b"\7")]
    assert joined(Telnet().feed(bytes([IAC, SB, COM_PORT, IAC, WILL, 99]) + b"data")) == [b"data"]


def test_answers_double_what_telnet_would_take():
    assert answer(Com.BAUD_RATE, b"\0\0\xff\0") == bytes([IAC, SB, COM_PORT, 101, 0, 0, IAC, IAC, 0, IAC, SE])


def test_random_streams():
    """Nothing is raised or piled up, an answer is at most as long as what it answers, and the next request is understood."""
    source = random.Random(2217)
    weights = [IAC] * 8 + [SB, SE, COM_PORT, DO, DONT, WILL, WONT, 0, 1, 2, 5, 12, 13]
    for _ in range(3000):
        telnet = Telnet()
        offered = len(telnet.answers)
        stream = bytes(source.choice(weights) if source.random() < 0.8 else source.randrange(256) for _ in range(source.randrange(200)))
        sizes = 0
        for at in range(0, len(stream), 7):
            sizes += sum(len(item) for item in telnet.feed(stream[at : at + 7]) if isinstance(item, bytes))
        assert sizes + len(telnet.answers) - offered <= len(stream)
        assert len(telnet._block or b"") <= LONGEST + 1
        # Whatever was open is closed by these; data may come before the request.
        assert telnet.feed(bytes([IAC, SE, IAC, SE]) + command(12, b"\1"))[-1] == Request(Com.PURGE, b"\1")
