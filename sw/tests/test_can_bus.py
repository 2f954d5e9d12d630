# SPDX-License-Identifier: BSD-2-Clause
"""python-can's interface `litepulse`, with python-can itself. The other nodes, and what the pins should show, are made by lin_pins.py."""

import _thread
import importlib.metadata
import re
import threading
from fractions import Fraction

import can
import pytest

from litepulse.capture import LostEvent
from litepulse.lin import Missed, can_bus

from .lin_pins import frames_of, header_edges, pid_of, response_edges, response_of, stimulus
from .test_extras import ROOT
from .test_lin import board_on_a_bus
from .test_sim import frame_edges, pins

BIT = Fraction(2500)  # ticks: 19200 baud at 48 MHz
START, GAP = 600_000, 400_000  # ticks of the first header, and from one to the next
ERROR = {"is_error_frame": True, "is_extended_id": False}


def sff(identifier, data=b"", **options):
    """A message with a standard identifier."""
    return can.Message(arbitration_id=identifier, data=data, is_extended_id=False, **options)


def eff(identifier, data=b""):
    """One with an extended identifier."""
    return can.Message(arbitration_id=identifier, data=data, is_extended_id=True)


def header(identifier):
    return sff(identifier, is_remote_frame=True)


def received(bus, count):
    """So many messages."""
    found = []
    while len(found) < count:
        message = bus.recv(600)
        assert message is not None, found
        found.append(message)
    return found


def shown(messages):
    """(tick, identifier as candump prints it, data) of each; E behind an error frame, R behind a remote frame."""
    return [
        (
            message.tick,
            f"{message.arbitration_id:0{8 if message.is_extended_id else 3}X}{'E' * message.is_error_frame}{'R' * message.is_remote_frame}",
            bytes(message.data).hex(),
        )
        for message in messages
    ]


def test_python_can_finds_it():
    (found,) = [each for each in importlib.metadata.entry_points(group="can.interface") if each.name == "litepulse"]
    assert found.load() is can_bus.Bus and "litepulse" in can.VALID_INTERFACES


def test_the_bits_are_those_of_the_header():
    text = (ROOT / "driver" / "uapi" / "linux" / "can_lin.h").read_text()
    bits = {name: int(value, 16) for name, value in re.findall(r"#define CAN_LIN_(\w+)\s+(0x\w+)U", text)}
    assert (bits["PUBLISH"], bits["ENHANCED"], bits["ONCE"]) == (can_bus.PUBLISH, can_bus.USE_ENHANCED, can_bus.ONCE)
    assert (bits["WAKE"], bits["SLEEP"], bits["IGNORED"]) == (can_bus.WAKE, can_bus.SLEEP, can_bus.IGNORED)
    assert {bits[f"ERR_{name}"] for name in ("NO_RESPONSE", "CHECKSUM", "FRAMING")} == set(can_bus.ERRORS.values())


def test_a_master(tmp_path):
    """On the pins: headers, data with both checksums, an answer of our own, go to sleep, a wake-up pulse; each message at its tick."""
    vcd = tmp_path / "bus.vcd"
    with can.Bus(interface="litepulse", channel="sim", bitrate=19200, role="master", receive_own_messages=True, vcd=vcd) as bus:
        bus.send(eff(0x40 | 0x80 | 0x21, b"\xa1\xb2"))  # our own table answers 0x21
        for message in (header(0x21), sff(0x11, b"\x4a\x55\x93\xe5"), sff(0x91, b"\x01"), sff(0xBC, b"\x02" * 8), sff(0x12)):
            bus.send(message)
        bus.send(eff(0x400))
        bus.send(eff(0x200))
        messages = received(bus, 14)
    changes = pins(vcd)["tx"]
    rise = changes[-1][0]
    assert changes[-2] == (rise - 14_400, 0)  # 300 us
    heard = frames_of(changes[:-2], BIT)
    sleep = b"\0" + b"\xff" * 7
    wanted = [
        (0x21, response_of(b"\xa1\xb2", 0x21, "enhanced")),
        (0x11, response_of(b"\x4a\x55\x93\xe5", 0x11, "classic")),
        (0x11, response_of(b"\x01", 0x11, "enhanced")),
        (0x3C, response_of(b"\x02" * 8, 0x3C, "classic")),
        (0x12, b""),
        (0x3C, response_of(sleep, 0x3C, "classic")),
    ]
    assert [(frame.pid, frame.response) for frame in heard] == [(pid_of(number), response) for number, response in wanted]
    assert all(frame.length == 13 * BIT for frame in heard)
    echoes = ["021R", "011", "091", "0BC", "012", "00000400"]
    expected = []
    for frame, (number, response), echo in zip(heard, wanted, echoes):
        data = response[:-1].hex()
        expected.append((frame.tick + 1, echo, data if echo not in ("021R", "00000400") else ""))
        if response:
            expected.append((frame.ticks[2] + 1, f"{number:03X}", data))
        else:
            expected += [(frame.tick + 1, "020E", "00" * 8), (frame.tick + 1, "00004012", "")]
    expected.append((heard[-1].ticks[2] + 1, "00000400", ""))  # behind its data
    assert shown(messages) == expected
    assert [message.is_rx for message in messages] == [echo not in (0, 2, 4, 6, 8, 11) for echo in range(14)]
    # A frame begins when the longest one that the standard allows before it is over: 1.4 times header and response.
    lengths = [2, 4, 1, 8, 8]
    assert [int(b.tick - a.tick) for a, b in zip(heard, heard[1:])] == [int(Fraction(14, 10) * (34 + 10 * (n + 1)) * BIT) for n in lengths]
    # timestamp is a float of CLOCK_REALTIME: the distance of two is that of their ticks, but for its resolution.
    span = messages[-1].timestamp - messages[0].timestamp
    assert span == pytest.approx((messages[-1].tick - messages[0].tick) / 48e6, abs=1e-6)


def test_a_slave(tmp_path):
    """Published data are answered from the next header on, until they are taken back; `once` answers one header."""
    numbers = (0x10, 0x11, 0x12, 0x10, 0x12)
    nodes = stimulus(tmp_path / "nodes", *(header_edges(START + n * GAP, number, BIT) for n, number in enumerate(numbers)))
    vcd = tmp_path / "bus.vcd"
    with can.Bus(interface="litepulse", channel="sim", stimulus=nodes, vcd=vcd) as bus:
        bus.send(eff(0x40 | 0x80 | 0x10, b"\xa1\xb2"))
        bus.send(sff(0x11, b"\x07"))
        bus.send(eff(0x40 | 0x100 | 0x12, b"\x09"))
        messages = received(bus, 6)
        bus.send(eff(0x40 | 0x10))  # before the next header, which comes 3 ms behind the answer
        messages += received(bus, 6)

    def answer(n, data, model):
        """Edges of TX: one bit time behind each byte as it was received, which is one tick later than it was on the pin."""
        start, edges = int(START + n * GAP + 24 * BIT), []
        for value in response_of(data, numbers[n], model):
            start += 1 + int(11 * BIT)
            edges += frame_edges(start, value, BIT)
        return edges

    answers = [answer(0, b"\xa1\xb2", "enhanced"), answer(1, b"\x07", "classic"), answer(2, b"\x09", "classic")]
    assert pins(vcd)["tx"][1:] == sum(answers, [])
    at = [START + n * GAP + 1 for n in range(5)]
    first = [edges[0][0] + 1 for edges in answers]
    assert shown(messages) == [
        *((at[0], "010R", ""), (first[0], "010", "a1b2"), (at[1], "011R", ""), (first[1], "011", "07")),
        *((at[2], "012R", ""), (first[2], "012", "09"), (at[3], "010R", ""), (at[3], "020E", "00" * 8)),
        *((at[3], "00004010", ""), (at[4], "012R", ""), (at[4], "020E", "00" * 8), (at[4], "00004012", "")),
    ]


@pytest.mark.parametrize(
    "response, expected, wanted",
    [
        (response_of(b"\x01\x02", 0x10, "classic"), None, [(21, "010", "0102")]),
        (response_of(b"\x01\x02", 0x10, "enhanced", flip=1), None, [(21, "008E", "000002080000" + "0000"), (21, "00008010", "")]),
        (response_of(b"\x01\x02", 0x10, "classic"), eff(0x90, b"\0\0"), [(21, "008E", "0000020800000000"), (21, "00008010", "")]),
        (b"\x01", eff(0x10, b"\0\0"), [(0, "020E", "00" * 8), (0, "00004010", "")]),
    ],
)
def test_what_is_wrong_with_a_response(tmp_path, response, expected, wanted):
    """Checksums and lengths, as far as they are known."""
    edges = [*header_edges(START, 0x10, BIT), *response_edges(START, response, BIT, break_bits=13)]
    with can.Bus(interface="litepulse", channel="sim", stimulus=stimulus(tmp_path / "nodes", edges)) as bus:
        if expected is not None:
            bus.send(expected)
        messages = received(bus, 1 + len(wanted))
    begin = int(START + 34 * BIT) + 1
    assert shown(messages) == [(START + 1, "010R", ""), *((begin if bits else START + 1, name, data) for bits, name, data in wanted)]


def test_what_is_wrong_with_a_header(tmp_path):
    """A stop bit that is low, a wrong parity, a wrong sync byte, silence behind a break; then a pulse that wakes the bus."""

    def break_and(tick, values):
        edges = [(tick, 0), (int(tick + 13 * BIT), 1)]
        for n, value in enumerate(values):
            edges += frame_edges(int(tick + (14 + 10 * n) * BIT), value, BIT)
        return edges

    at = [START + n * GAP for n in range(4)]
    low = int(at[0] + 34 * BIT)
    framing = [*header_edges(at[0], 0x10, BIT), *((low + int(n * BIT), level) for n, level in ((0, 0), (1, 1), (2, 0), (10, 1)))]
    wake = at[3] + 2 * GAP
    nodes = [framing, break_and(at[1], (0x55, pid_of(0x10) ^ 0x40)), break_and(at[2], (0x54, pid_of(0x10))), break_and(at[3], ())]
    nodes.append([(wake, 0), (wake + 14_400, 1)])
    with can.Bus(interface="litepulse", channel="sim", stimulus=stimulus(tmp_path / "nodes", *nodes)) as bus:
        messages = received(bus, 7)
    form = "0000020000000000"
    assert shown(messages) == [
        *((at[0] + 1, "010R", ""), (low + 1, "008E", "0000020a00000000"), (low + 1, "00010010", "")),
        *((tick + 1, "008E", form) for tick in at[1:]),
        (wake + 1, "00000200", ""),
    ]


def test_over_a_port(tmp_path):
    """A board that runs beside the program: the same messages as the pins, while another thread receives."""
    vcd = tmp_path / "bus.vcd"
    with board_on_a_bus(vcd) as spec, can.Bus(interface="litepulse", channel=f"port:{spec}", role="master") as bus:
        found = []
        receiver = threading.Thread(target=lambda: found.extend(received(bus, 3)))
        receiver.start()
        bus.send(eff(0x40 | 0x80 | 0x21, b"\xa1\xb2"))
        for message in (header(0x21), sff(0x11, b"\x4a"), sff(0x91, b"\x4a")):
            bus.send(message)
        receiver.join(600)
    heard = frames_of(pins(vcd)["tx"], BIT)
    assert [(frame.pid, frame.response) for frame in heard] == [
        (pid_of(0x21), response_of(b"\xa1\xb2", 0x21, "enhanced")),
        (pid_of(0x11), response_of(b"\x4a", 0x11, "classic")),
        (pid_of(0x11), response_of(b"\x4a", 0x11, "enhanced")),
    ]
    assert shown(found) == [
        (frame.ticks[2] + 1, name, data) for frame, name, data in zip(heard, ("021", "011", "011"), ("a1b2", "4a", "4a"))
    ]
    assert {message.channel for message in found} == {f"port:{spec}"}


def test_nothing_is_heard():
    """The transceiver is not connected: our own header never comes back."""
    with can.Bus(interface="litepulse", channel="sim", wires=(), role="master") as bus:
        bus.send(header(0x10))
        error, none = received(bus, 2)
    assert shown([error, none]) == [(none.tick, "008E", "0000800000000000"), (none.tick, "00004010", "")]


def test_losses_and_what_could_not_be_sent():
    with can.Bus(interface="litepulse", channel="sim") as bus:
        now = bus._board.now().tick
        for found in (
            LostEvent(now, Fraction(0), 3, False),
            Missed(now, False, "late"),
            Missed(now, True, "late"),
            Missed(now, True, "busy"),
        ):
            bus._take(found)
        assert shown(received(bus, 4)) == [
            *((now, "004E", "0001" + "00" * 6), (now, "001E", "00" * 8), (now, "001E", "00" * 8), (now, "002E", "00" * 8))
        ]


def test_what_is_sent_leaves_before_the_end(tmp_path):
    """A program may send, and end."""
    vcd = tmp_path / "bus.vcd"
    with can.Bus(interface="litepulse", channel="sim", role="master", vcd=vcd) as bus:
        for number in range(8):  # 88 launches
            bus.send(sff(number, bytes([number] * 8)))
    heard = frames_of(pins(vcd)["tx"], BIT)
    assert [(frame.pid, frame.response) for frame in heard] == [
        (pid_of(number), response_of(bytes([number] * 8), number, "classic")) for number in range(8)
    ]


@pytest.mark.parametrize(
    "role, message, complaint",
    [
        ("slave", header(0x10), "LIN: a slave sends no header; open the bus with role='master'"),
        ("slave", eff(0x400), "LIN: a slave does not send the bus to sleep; open it with role='master'"),
        ("master", sff(0x250, b"\1"), "LIN: identifier 0x250 has other bits than 0x3f, 0x80 and 0x100"),
        ("master", eff(0x4010), "LIN: extended identifier 0x4010 means nothing"),
        ("master", eff(0x210), "LIN: extended identifier 0x200 has neither an identifier nor data"),
        ("master", can.Message(arbitration_id=0x10, is_remote_frame=True), "LIN: a remote frame with an extended identifier means nothing"),
        ("master", sff(0x10, is_error_frame=True), "LIN: an error frame cannot be sent"),
        ("master", sff(0x10, bytes(12), is_fd=True), "LIN has no CAN FD"),
    ],
)
def test_what_lin_cannot_do(role, message, complaint):
    with can.Bus(interface="litepulse", channel="sim", role=role) as bus, pytest.raises(can.CanOperationError) as error:
        bus.send(message)
    assert str(error.value) == complaint


@pytest.mark.parametrize(
    "options, complaint",
    [
        ({"channel": "port:/nonexistent"}, "/nonexistent: cannot open the port (No such file or directory)"),
        ({"channel": "sim", "role": "both"}, "role: 'both' is not slave or master"),
        ({"channel": "sim", "fd": True}, "fd: LIN has no CAN FD"),
        (
            {"channel": "sim", "listen_only": True},
            "listen_only: is no option of this interface; it has bitrate, role, receive_own_messages",
        ),
    ],
)
def test_a_bus_that_cannot_be_opened(options, complaint):
    with pytest.raises(can.CanInitializationError) as error:
        can.Bus(interface="litepulse", **options)
    assert str(error.value) == complaint


def test_it_cannot_be_used_once_it_is_closed():
    bus = can.Bus(interface="litepulse", channel="sim", role="master")
    bus.shutdown()
    bus.shutdown()
    for call in (lambda: bus.recv(0), lambda: bus.send(header(0x10))):
        with pytest.raises(can.CanOperationError, match="the LIN bus is closed"):
            call()


def test_programs_of_python_can(tmp_path):
    """Notifier, Printer, loggers and a filter, while another thread sends: what was logged is read back."""
    paths = [tmp_path / f"bus.{suffix}" for suffix in ("asc", "blf", "log", "csv")]
    seen, enough = [], threading.Event()

    def count(message):
        seen.append(message)
        if len(seen) == 6:
            enough.set()

    filters = [{"can_id": 0x11, "can_mask": 0x3F}]
    with can.Bus(interface="litepulse", channel="sim", role="master", receive_own_messages=True, can_filters=filters) as bus:
        listeners = [can.Logger(str(path)) for path in paths]
        notifier = can.Notifier(bus, [count, can.Printer(str(tmp_path / "printed")), *listeners], timeout=0.1)
        for number in (0x11, 0x12, 0x11, 0x11):
            bus.send(sff(number, b"\x4a\x55"))
        assert enough.wait(600)
        notifier.stop()
    assert [(m.arbitration_id, m.is_rx, bytes(m.data)) for m in seen] == [(0x11, echo, b"\x4a\x55") for echo in (False, True) * 3]
    for path in paths:
        with can.LogReader(str(path)) as log:
            read = list(log)
        assert [(m.arbitration_id, bytes(m.data)) for m in read] == [(0x11, b"\x4a\x55")] * 6, path
    assert (tmp_path / "printed").read_text().count("4a 55") == 6


def test_periodic_frames(tmp_path):
    """python-can's own task sends from a thread of its own."""
    with can.Bus(interface="litepulse", channel="sim", role="master") as bus:
        task = bus.send_periodic(sff(0x11, b"\x4a"), 0.05)
        messages = received(bus, 3)
        task.stop()
    assert {name for _, name, data in shown(messages)} == {"011"} and len({message.tick for message in messages}) == 3


def test_a_message_is_one_of_python_can():
    """Beside its tick."""
    with can.Bus(interface="litepulse", channel="sim", role="master") as bus:
        bus.send(sff(0x11, b"\x4a"))
        (message,) = received(bus, 1)
    assert isinstance(message, can.Message) and isinstance(message.tick, int)
    assert message.equals(can.Message(message.timestamp, 0x11, is_extended_id=False, data=b"\x4a", channel="sim"))


def test_ctrl_c():
    """While a program waits for a message it is Python's KeyboardInterrupt, and not a bus that gives nothing more."""
    with can.Bus(interface="litepulse", channel="sim") as bus:
        bus._board.backend.recorder.observer = lambda batch: _thread.interrupt_main()  # within the first look
        with pytest.raises(KeyboardInterrupt):
            bus.recv()
