# SPDX-License-Identifier: BSD-2-Clause
"""The terminal server, on a line that is none: clients of every kind that come, go, stand still, send what nobody understands."""

import contextlib
import json
import random
import select
import socket
import ssl
import struct
import subprocess
import threading
import time

import pytest
import serial

import litepulse
from litepulse import terminal_server
from litepulse.telnet import COM_PORT, IAC, SB, SE, WILL
from litepulse.terminal_server import MOST_CLIENTS

from .fake_line import FakeLine

PATIENCE = 20  # s: a loaded machine
KINDS = ("telnet", "raw", "times")
SEGMENTS_IN = 152  # offset in the kernel's struct tcp_info of the segments with data that came


@contextlib.contextmanager
def served(line=None, **options):
    """(line, server), on any free ports."""
    line = line or FakeLine()
    with litepulse.TerminalServer(line, **{kind: 0 for kind in KINDS} | options) as server:
        yield line, server


@contextlib.contextmanager
def connected(server, kind, wait=True):
    """A socket; with `wait` the server has it."""
    before = server.clients
    with socket.create_connection(("127.0.0.1", server.ports[kind]), timeout=PATIENCE) as client:
        if wait:
            until(lambda: server.clients > before)
        yield client


def until(true):
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.002)


def take(client, count):
    """So many bytes."""
    data = b""
    while len(data) < count:
        part = client.recv(count - len(data))
        assert part, data
        data += part
    return data


def lines(client):
    """Objects, one by one."""
    rest = b""
    while part := client.recv(1 << 16):
        *whole, rest = (rest + part).split(b"\n")
        yield from map(json.loads, whole)
    assert not rest


def request(number, value=b""):
    return bytes([IAC, SB, COM_PORT, number]) + value.replace(b"\xff", b"\xff\xff") + bytes([IAC, SE])


class Telnet:
    """A client of RFC 2217 as simple as can be."""

    def __init__(self, client):
        self.client = client
        client.sendall(bytes([IAC, WILL, COM_PORT]))
        self.wait_for(request(107, b"\xb0"))  # ready, for there are no modem lines

    def wait_for(self, wanted):
        """What came before, and it."""
        data = b""
        while not data.endswith(wanted):
            part = self.client.recv(1)
            assert part, data
            data += part
        return data[: -len(wanted)]

    def ask(self, number, value=b"", wanted=None):
        """A request whose answer is `wanted`, or the same value."""
        self.client.sendall(request(number, value))
        return self.wait_for(request(number + 100, value if wanted is None else wanted))


@pytest.fixture
def telnet():
    """(line, server, Telnet)."""
    with served() as (line, server), connected(server, "telnet") as client:
        yield line, server, Telnet(client)


# Bytes ------------------------------------------------------------------------------------------------------------------


def test_several_clients_read_the_same():
    with served() as (line, server), contextlib.ExitStack() as stack:
        clients = {kind: [stack.enter_context(connected(server, kind)) for _ in range(2)] for kind in KINDS}
        line.hear(b"same\xff")
        for client in clients["raw"]:
            assert take(client, 5) == b"same\xff"
        for client in clients["telnet"]:
            assert take(client, 15 + 6) == bytes.fromhex("fffb01 fffb03 fffb00 fffd00 fffd2c") + b"same\xff\xff"
        for client in clients["times"]:
            read = lines(client)
            about = {"device": "a fake line", "backend": "test", "simulated": True, "tick_hz": "48000000", "baud": "9600", "format": "8N1"}
            assert next(read) == about
            for number, byte in enumerate(b"same\xff", start=1):
                at = f"2027-01-15T08:00:00.{number * 10_000:09d}Z"
                assert next(read) == {"tick": 480 * number, "utc": at, "bound": 7, "byte": byte}
        clients["raw"][0].sendall(b"one")
        clients["raw"][1].sendall(b"two")
        clients["times"][0].sendall(b"ignored")
        until(lambda: len(line.sent()) == 6)
        assert line.sent() in (b"onetwo", b"twoone") and (server.received, server.sent, server.lost) == (5, 6, 0)


def test_times_say_what_was_wrong_with_a_byte():
    with served() as (line, server), connected(server, "times") as client:
        read = lines(client)
        next(read)
        line.hear(b"\0", framing_error=True, is_break=True)
        line.hear(b"A", parity_error=True)
        assert [next(read)["flags"] for _ in range(2)] == [["framing", "break"], ["parity"]]


def test_losses_of_the_board_stand_where_they_were_noticed():
    with served() as (line, server), connected(server, "times") as client:
        read = lines(client)
        next(read)
        line.hear(b"a")
        assert next(read)["byte"] == 97
        line.count_lost = 3
        line.hear(b"b")
        assert [next(read) for _ in range(2)] == [
            {"tick": 960, "utc": "2027-01-15T08:00:00.000020000Z", "bound": 7, "byte": 98},
            {"lost": 3, "by": "board"},
        ]
        until(lambda: server.lost == 3)


def test_clocks_of_boards_that_have_another():
    """The board was opened without one: each tick is converted."""
    line = FakeLine()
    line.stand_in.clock = None
    with served(line) as (line, server), connected(server, "times") as client:
        read = lines(client)
        next(read)
        line.hear(b"a")
        assert next(read) == {"tick": 480, "utc": "2027-01-15T08:00:00.000010000Z", "bound": 5, "byte": 97}


# RFC 2217 ---------------------------------------------------------------------------------------------------------------


def test_settings_are_those_of_the_answer(telnet):
    line, _, client = telnet
    client.ask(1, bytes(4), (9600).to_bytes(4, "big"))  # asks
    client.ask(1, (19200).to_bytes(4, "big"))
    client.ask(1, (4_000_000_000).to_bytes(4, "big"), (19200).to_bytes(4, "big"))
    client.ask(2, b"\7")
    client.ask(2, b"\11", b"\7")
    client.ask(3, b"\3")
    client.ask(3, b"\6", b"\3")
    client.ask(4, b"\2")
    client.ask(4, b"\3", b"\2")
    assert [client.ask(number, b"\0", wanted) for number, wanted in ((2, b"\7"), (3, b"\3"), (4, b"\2"))] == [b""] * 3
    client.client.sendall(b"\xc1")
    until(line.sent)
    assert line.log == [(19200, "7E2", b"\x41")], "the upper bit finds no place in the frame"


def test_what_the_line_does_not_have(telnet):
    """No flow control, no RTS and DTR: the answer is the state that there is, and never a yes to another."""
    _, _, client = telnet
    for value in (0, 1, 2, 3, 17, 19):
        client.ask(5, bytes([value]), b"\1")
    for value in (13, 14, 15, 16, 18):
        client.ask(5, bytes([value]), b"\16")
    for value in (7, 8, 9):
        client.ask(5, bytes([value]), b"\10")
    for value in (10, 11, 12):
        client.ask(5, bytes([value]), b"\13")
    client.ask(7, b"", b"\xb0")
    client.ask(11, b"\x10")
    client.ask(7, b"", b"\x10")
    client.ask(6, b"", b"\x60")
    client.client.sendall(request(5, b"\x7f") + request(99, b"\1"))
    client.ask(0, b"", f"LitePulse {litepulse.__version__} a fake line".encode())


def test_a_break_has_the_length_that_lay_between(telnet):
    line, _, client = telnet
    client.ask(5, b"\4", b"\6")
    client.client.sendall(b"before")
    client.ask(5, b"\5")
    client.ask(5, b"\4", b"\5")
    time.sleep(0.1)
    client.ask(5, b"\6")
    client.ask(5, b"\4", b"\6")
    client.client.sendall(bytes([IAC, 243]))
    until(lambda: len(line.log) == 3)
    assert line.log[0][2] == b"before" and 0.1 <= line.log[1][1] < 3.1 and line.log[2] == ("break", 0.25)


def test_a_break_that_the_board_refuses(telnet):
    line, server, client = telnet
    reports = []
    server.report = reports.append

    def refuse(seconds):
        raise litepulse.Refused("too late", "late")

    line.send_break = refuse
    client.client.sendall(bytes([IAC, 243]))
    client.ask(7, b"", b"\xb0")
    until(lambda: reports == ["too late"])


def test_faults_are_notified_before_their_byte(telnet):
    line, _, client = telnet
    line.hear(b"a", parity_error=True)
    assert take(client.client, 1) == b"a"
    client.ask(10, b"\x1c")
    line.hear(b"b", parity_error=True)
    line.hear(b"\0", framing_error=True, is_break=True)
    line.hear(b"c")
    assert client.wait_for(b"c") == request(106, b"\4") + b"b" + request(106, b"\x18") + b"\0"


def test_a_client_that_suspends(telnet):
    line, _, client = telnet
    client.client.sendall(request(8))
    client.ask(7, b"", b"\xb0")
    line.hear(b"later")
    assert client.ask(7, b"", b"\xb0") == b""
    client.client.sendall(request(9))
    assert take(client.client, 5) == b"later"


def test_settings_in_the_middle_of_traffic():
    """A change of settings waits for the bytes that were sent before it, also while another client sends."""
    with (
        served(FakeLine(seconds_per_byte=0.0002)) as (line, server),
        connected(server, "telnet") as client,
        connected(server, "raw") as other,
    ):
        stop = threading.Event()
        sent = [0]

        def send():
            while not stop.is_set():
                other.sendall(b"o" * 20)
                sent[0] += 20
                time.sleep(0.01)

        thread = threading.Thread(target=send)
        thread.start()
        first = Telnet(client)
        for number in range(1, 41):
            client.sendall(bytes([number]) * 20 + request(1, (number * 100).to_bytes(4, "big")))
        first.wait_for(request(101, (4000).to_bytes(4, "big")))
        stop.set()
        thread.join()
        until(lambda: line.sent().count(b"o") == sent[0])
    for number in range(1, 41):
        with_it = {baud for baud, _, data in line.log if bytes([number]) in data}
        assert with_it == {9600 if number == 1 else (number - 1) * 100}, number


def test_a_change_of_settings_is_a_line_of_the_times():
    with served() as (line, server), connected(server, "telnet") as client, connected(server, "times") as times:
        read = lines(times)
        assert next(read)["baud"] == "9600"
        line.hear(b"a")
        assert next(read)["byte"] == 97
        Telnet(client).ask(1, (19200).to_bytes(4, "big"))
        assert next(read) == {"tick": 480, "baud": "19200", "format": "8N1"}


def test_a_purge_takes_what_is_the_clients_own(telnet):
    """Received bytes that wait for it, and its own on the way to the line. The board's are forgotten if nobody else's are there."""
    line, server, client = telnet
    line.pace, line.out_waiting = 0.001, 10
    with connected(server, "raw") as other:
        other.sendall(b"other" * 20)
        client.client.sendall(request(8) + b"mine" * 500)
        until(lambda: b"mine" in line.sent() and b"other" in line.sent())
        line.hear(b"received")
        assert take(other, 8) == b"received"
        client.ask(12, b"\3")
        assert line.resets == 0
        client.client.sendall(request(9))
        until(lambda: line.sent().count(b"other") == 20)
        time.sleep(0.2)
        assert len(line.sent()) < 100 + 2000 - 500
        line.hear(b"!")
        assert take(client.client, 1) == b"!"


def test_a_purge_of_one_who_is_alone(telnet):
    line, _, client = telnet
    client.client.sendall(b"mine")
    until(lambda: line.sent() == b"mine")
    client.ask(12, b"\2")
    assert line.resets == 1


# Clients that do not behave ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_client_loses_its_own(kind):
    """What it did not get is counted; who reads gets all, at once."""
    reports, total = [], 40_000 if kind == "times" else 800_000
    with served(buffer=10_000, report=reports.append) as (line, server):
        with connected(server, "raw") as quick, connected(server, kind) as slow:
            for _ in range(total // 1000):
                line.hear(bytes(1000))
                assert len(take(quick, 1000)) == 1000
            line.hear(b"end")
            assert take(quick, 3) == b"end"
            if kind == "times":
                numbers, lost = 0, 0
                for each in lines(slow):
                    numbers += "byte" in each
                    if "by" in each:
                        assert each["by"] == "client"
                        lost += each["lost"]
                    if numbers + lost == total + 3:
                        break
                assert lost > 0
            else:
                data = b""
                while select.select([slow], [], [], 1)[0]:
                    data += slow.recv(1 << 16)
                lost = total + 3 - len(data) + (15 if kind == "telnet" else 0)
                assert lost > 0
                line.hear(b"again")  # there is room once more
                assert take(slow, 5) == b"again"
    (report,) = reports
    assert report.endswith(f"({kind}): {lost} bytes lost, because it read too slowly") and server.dropped == lost


def test_a_slow_client_of_rfc_2217_gets_an_overrun():
    with served(buffer=10_000) as (line, server), connected(server, "telnet") as slow:
        client = Telnet(slow)
        client.ask(10, b"\2")
        slow.sendall(request(8))
        client.ask(7, b"", b"\xb0")
        for _ in range(30):
            line.hear(b"x" * 1000)
        until(lambda: server.received == 30_000)
        slow.sendall(request(9))
        got = client.wait_for(request(106, b"\2"))
        (about,) = server._clients
        assert 0 < len(got) <= 30_000 - about.lost <= 10_000
        while len(got) < 30_000 - about.lost:  # how many gaps there are depends on how the bytes were read
            got += client.client.recv(1 << 16).replace(request(106, b"\2"), b"")
        assert got == b"x" * (30_000 - about.lost)


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_that_disappears(kind):
    """By a reset, in the middle of what it gets; the others go on."""
    with served() as (line, server), connected(server, "raw") as other:
        for _ in range(20):
            with connected(server, kind) as client:
                line.hear(b"x" * 500)
                client.sendall(b"y" + bytes([IAC, SB, COM_PORT, 1, 0])) if kind == "telnet" else None
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            assert len(take(other, 500)) == 500
            until(lambda: server.clients == 1)


def test_a_client_that_sends_no_more_still_reads():
    """`nc` with an empty standard input. One that is really gone is noticed."""
    with served() as (line, server):
        for kind, skipped in (("raw", 0), ("times", 1)):
            with connected(server, kind) as client:
                client.sendall(b"last" if kind == "raw" else b"")
                client.shutdown(socket.SHUT_WR)
                time.sleep(0.1)
                line.hear(b"x")
                assert client.recv(1)
            until(lambda: server.clients == 0 or line.hear(b"y"))
        with connected(server, "telnet") as client:
            client.shutdown(socket.SHUT_WR)
            until(lambda: server.clients == 0)
    assert line.sent() == b"last"


def test_floods_of_connections():
    reports = []
    with served(report=reports.append) as (line, server), contextlib.ExitStack() as stack:
        all_of_them = [stack.enter_context(connected(server, "raw", wait=False)) for _ in range(MOST_CLIENTS + 20)]
        until(lambda: server.clients == MOST_CLIENTS)
        refused = [client for client in all_of_them if select.select([client], [], [], 0.2)[0]]
        assert len(refused) == 20 and len(reports) == 1 and "refused, 32 clients are connected already" in reports[0]
        next(client for client in all_of_them if client not in refused).close()
        until(lambda: any(client.ended for client in server._clients))
        with connected(server, "raw", wait=False) as late:
            until(lambda: not any(client.ended for client in server._clients))
            line.hear(b"x")
            assert take(late, 1) == b"x"


@pytest.mark.parametrize(
    "what",
    [bytes([IAC, 241]) * 50, bytes([IAC, WILL, 99]) * 50, request(1, bytes(4)) * 50, request(7) * 50, request(6) * 50, b"x" * 500],
    ids=["nop", "options", "settings", "modem", "line", "bytes"],
)
def test_floods_of_one_client(what):
    """It reads no answer. The server takes no more from it than it can keep, and serves others at once."""
    with served(FakeLine(seconds_per_byte=0.0001)) as (line, server), connected(server, "telnet") as bad, connected(server, "raw") as good:
        stop = time.monotonic() + 1
        bad.setblocking(False)
        longest = 0.0
        while time.monotonic() < stop:
            with contextlib.suppress(BlockingIOError):
                for _ in range(20):
                    bad.send(what)
            line.hear(b"x")
            before = time.monotonic()
            assert take(good, 1) == b"x"
            longest = max(longest, time.monotonic() - before)
            (flooding,) = [client for client in server._clients if client.kind == "telnet"]
            assert flooding.unsent < (1 << 17) * 8 and len(flooding._out) < 1 << 18
        assert longest < 5


def test_random_streams():
    """Of telnet, cut anywhere, and ended anywhere. The server serves the next client as if nothing had been."""
    source = random.Random(2217)
    with served(FakeLine(echo=True)) as (line, server):
        for number in range(60):
            with connected(server, "telnet", wait=False) as client:
                for _ in range(source.randrange(1, 6)):
                    weights = [IAC] * 8 + [250, 240, COM_PORT, 251, 252, 253, 254, 243, 0, 1, 2, 3, 4, 5, 8, 12]
                    client.sendall(bytes(source.choice(weights) if source.random() < 0.8 else source.randrange(256) for _ in range(40)))
                if number % 2:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        until(lambda: server.clients == 0)
        assert server.error is None
        with connected(server, "telnet") as client:
            good = Telnet(client)
            good.ask(1, (9600).to_bytes(4, "big"))
            good.ask(2, b"\10")


def test_a_board_that_is_gone_ends_all():
    with served() as (line, server), connected(server, "raw") as client:
        line.break_down(serial.SerialException("the board is gone"))
        until(lambda: server.error)
        with pytest.raises(litepulse.LitePulseError, match="the board is gone"):
            server.check()
    assert client.fileno() == -1 or client.recv(1) == b""


# Gathering --------------------------------------------------------------------------------------------------------------


def segments(client):
    """Packets with data that a client got, as the kernel counts them."""
    (count,) = struct.unpack_from("I", client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), SEGMENTS_IN)
    return count


@pytest.mark.seconds(5)
@pytest.mark.parametrize("gather, most", [(0, None), ("200ms", 5.02)])
def test_packets(gather, most):
    """1,920 bytes a second, as at 19,200 baud: gathered over 200 ms they are 5 packets a second, and the tick of each byte is there."""
    seconds, rate = 2, 1920
    with served(gather=gather) as (line, server), connected(server, "raw") as client, connected(server, "times") as times:
        read = lines(times)
        next(read)
        before, began = segments(client), time.monotonic()
        for number in range(seconds * rate):
            while time.monotonic() < began + number / rate:
                time.sleep(0.0005)
            line.hear(b"x")
        assert len(take(client, seconds * rate)) == seconds * rate
        count = segments(client) - before
        ticks = [next(read)["tick"] for _ in range(seconds * rate)]
    assert ticks == [480 * n for n in range(1, seconds * rate + 1)]
    assert count > 200 if most is None else count / seconds <= most, count


def test_what_was_gathered_is_not_left_behind():
    with contextlib.ExitStack() as stack:
        with served(gather="50s") as (line, server):
            client = stack.enter_context(connected(server, "raw"))
            line.hear(b"in the end")
            until(lambda: server.received == 10)
            assert not select.select([client], [], [], 0.1)[0]
        assert take(client, 10) == b"in the end"


# Protection -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Folder with server.pem, client.pem, other.pem: a certificate that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("server", "client", "other"):
        command = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN={name}"
        subprocess.run(
            [*command.split(), "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{name}.key", "-out", f"{name}.crt"],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        (folder / f"{name}.pem").write_text((folder / f"{name}.crt").read_text() + (folder / f"{name}.key").read_text())
    return folder


@contextlib.contextmanager
def in_tls(folder, server, kind, own):
    context = ssl.create_default_context(cafile=folder / "server.crt")
    if own:
        context.load_cert_chain(folder / f"{own}.pem")
    with (
        socket.create_connection(("127.0.0.1", server.ports[kind]), timeout=PATIENCE) as client,
        context.wrap_socket(client, server_hostname="127.0.0.1") as wrapped,
    ):
        yield wrapped


def test_tls_with_certificates_of_clients(certificates):
    reports = []
    files = {"tls": certificates / "server.pem", "clients": certificates / "client.crt", "report": reports.append}
    with served(FakeLine(echo=True), **files) as (line, server):
        with in_tls(certificates, server, "raw", "client") as client, in_tls(certificates, server, "telnet", "client") as telnet:
            client.sendall(b"secret" * 5000)
            assert take(client, 30_000) == b"secret" * 5000
            assert b"secret" * 5000 in take(telnet, 30_015)
            for own in (None, "other"):
                with pytest.raises((ssl.SSLError, ConnectionError)), in_tls(certificates, server, "raw", own) as wrong:
                    wrong.sendall(b"wrong")
                    assert wrong.recv(1)
            until(lambda: server.clients == 2)  # connected() counts them
            with connected(server, "raw") as plain:
                plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
                until(lambda: server.clients == 2)
        assert line.sent() == b"secret" * 5000 and len(reports) == 3 and all("refused" in report for report in reports)


def test_one_who_never_shakes_hands(certificates, monkeypatch):
    monkeypatch.setattr(terminal_server, "_HANDSHAKE", 0.2)
    with served(tls=certificates / "server.pem") as (_, server), connected(server, "raw") as client:
        until(lambda: server.clients == 0)
        assert client.recv(1) == b""


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"listen": "0.0.0.0"},
            "listen: 0.0.0.0 is not this machine alone: give tls and clients, the certificates of those who may connect",
        ),
        ({"listen": "::", "tls": "server.pem"}, "listen: :: is not this machine alone"),
        ({"clients": "client.crt"}, "clients: their certificates are looked at by TLS only"),
        ({"tls": "server.crt"}, "server.crt: a certificate and its key is wanted"),
        ({"tls": "nowhere.pem"}, "nowhere.pem: No such file or directory"),
        ({"tls": "server.pem", "clients": "server.key"}, "server.key: a certificate is wanted"),
        ({"listen": "256.0.0.1"}, "listen: '256.0.0.1' is no address of this machine"),
        ({"listen": 5}, "listen: 5 is not text"),
        ({"telnet": 65536}, "telnet: 65536"),
        ({"telnet": None}, "telnet, raw, times: give the number of a port for at least one of them"),
        ({"gather": "61s"}, "gather: bytes wait for 60 s at most"),
        ({"gather": "x"}, "gather"),
        ({"buffer": 10}, "buffer: 10"),
        ({"report": 5}, "report: 5 cannot be called"),
    ],
)
def test_what_is_refused(certificates, options, message):
    options = {name: certificates / value if name in ("tls", "clients") else value for name, value in options.items()}
    with pytest.raises(litepulse.BadInput) as error, litepulse.TerminalServer(FakeLine(), **{"telnet": 0} | options):
        pass
    assert message in str(error.value)


def test_a_port_that_is_taken():
    with served() as (_, server):
        number = server.ports["raw"]
        with (
            pytest.raises(litepulse.BadInput, match=f"times: cannot listen on 127.0.0.1 port {number} .Address already in use"),
            served(times=number),
        ):
            pass
    with pytest.raises(litepulse.BadInput, match="port: 5 is not a Serial"):
        litepulse.TerminalServer(5, telnet=0)


def test_the_next_server_has_the_port_at_once():
    with served() as (line, server), connected(server, "raw") as client:
        line.hear(b"x")
        assert take(client, 1) == b"x"
        number = server.ports["raw"]
    for _ in range(3):
        with served(raw=number) as (_, server):
            assert server.ports["raw"] == number
