# SPDX-License-Identifier: BSD-2-Clause
"""A board behind LiteX's own server: litex_server's RemoteServer with its UART driver, and a LitePulse at the other end."""

import contextlib
import socket
import threading

import pytest

import litepulse
from litepulse import regs
from litepulse.backends import connect, remote
from litepulse.errors import BadInput, LitePulseError, NotLitePulse, TransportError

from .fake_board import FakeBoard, Server


def serve(server):
    """One client after the other, until the server is closed."""
    with contextlib.suppress(OSError):
        server._serve_thread()


@contextlib.contextmanager
def litex_server(board):
    """(specification of the port, the server) of a litex_server whose UART is that of a board."""
    from litex.tools.litex_server import RemoteServer
    from litex.tools.remote.comm_uart import CommUART

    with socket.create_server(("127.0.0.1", 0)) as free:
        number = free.getsockname()[1]
    with Server(board, "tcp") as server:
        uart = CommUART(f"socket://{server.spec.removeprefix('tcp:')}")
        serving = RemoteServer(uart, "127.0.0.1", number)
        serving.open()
        for _ in range(2):  # RemoteServer.start() uses a name that Python 3.13 has no more
            threading.Thread(target=serve, args=(serving,), daemon=True).start()
        try:
            yield f"remote:127.0.0.1:{number}", serving
        finally:
            with contextlib.suppress(OSError):
                serving.socket.shutdown(socket.SHUT_RDWR)
            serving.close()


def test_words_go_both_ways():
    """In as many transactions as they need."""
    with litex_server(FakeBoard()) as (spec, _):
        bus = remote.RemoteBus(spec)
        values = [(i * 2654435761) & 0xFFFFFFFF for i in range(40)]
        bus.write(0x9000_6000 + 4 * 16, values[:1])
        assert bus.read(0x9000_6000 + 4 * 16) == values[:1]
        assert bus.read(0x8000, 40)[:2] == [regs.MAGIC, (regs.VERSION_MAJOR << 16) | regs.VERSION_MINOR]
        bus.close()


def test_a_train():
    """Found, identified, a train runs and its pulses are where they must be."""
    with litex_server(FakeBoard()) as (spec, _), litepulse.open(port=spec, stay_in_touch=False) as board:
        assert board.identity.backend == "remote" and board.name == spec
        with board.train(rate="58", count=5) as train:
            pulses = list(train)
        first = pulses[0].tick
        assert [(pulse.number, pulse.error) for pulse in pulses] == [(n, 0) for n in range(5)]
        assert [pulse.tick for pulse in pulses] == [first + n * 48_000_000 // 58 for n in range(5)]


def test_what_is_not_a_litepulse():
    with litex_server(FakeBoard(csr_base=0x1_0000)) as (spec, _), pytest.raises(NotLitePulse, match="this is not a LitePulse"):
        connect(port=spec)


def test_no_server():
    with socket.create_server(("127.0.0.1", 0)) as free:
        spec = f"remote:127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(TransportError, match=f"{spec}: cannot connect \\(Connection refused\\)"):
        connect(port=spec)


def test_a_server_that_does_not_answer():
    """LiteX's client would give zeros."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        bus = remote.RemoteBus.__new__(remote.RemoteBus)
        threading.Thread(target=lambda: mute.accept()[0].sendall(b"CommUART:127.0.0.1:1234"), daemon=True).start()
        bus.__init__(f"remote:127.0.0.1:{mute.getsockname()[1]}")
        with pytest.raises(TransportError, match="the server is gone, or its board does not answer"):
            bus.read(0x8000)


@pytest.mark.parametrize("spec", ["remote:", "remote::1234", "remote:host:0", "remote:host:http"])
def test_wrong_names(spec):
    with pytest.raises(BadInput, match="is not like remote:localhost:1234"):
        connect(port=spec)


def test_litex_is_missing(monkeypatch):
    monkeypatch.setattr(remote.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LitePulseError, match="pip install litex"):
        remote.RemoteBus("remote:localhost")
