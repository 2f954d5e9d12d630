# SPDX-License-Identifier: BSD-2-Clause
"""Reads and writes of 32-bit words over a litex_server, by LiteX's own client: whatever the server speaks to the board with, a UART,
Ethernet, PCIe or JTAG, and whichever programs use it besides.

The server takes one transaction at a time, but transactions of two programs may alternate: only one of them should drive the core.
"""

import contextlib
import importlib
import importlib.util
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Literal

from litepulse.errors import BadInput, LitePulseError, TransportError, lacking

PREFIX = "remote:"
DEFAULT_PORT = 1234
BURST = 16  # words; with more, a server on a UART at 9600 baud would not be done within the 100 ms that the bridge allows


def parse(spec: str) -> tuple[str, int]:
    """('host', port) of 'remote:host' or 'remote:host:port'."""
    host, _, port = spec.removeprefix(PREFIX).partition(":")
    if not host or (port and not (port.isdigit() and 0 < int(port) < 65536)):
        raise BadInput(f"port: '{spec}' is not like remote:localhost:1234")
    return host, int(port or DEFAULT_PORT)


def _make_client(host: str, port: int, csr: str | Path | None) -> Any:
    """LiteX's client, whose reads fail when nothing is answered: by itself it gives zeros then."""
    if importlib.util.find_spec("litex") is None:
        raise LitePulseError(lacking("port: remote:", "litex"))
    base: Any = importlib.import_module("litex.tools.litex_client").RemoteClient  # LiteX has no types

    class Client(base):
        """Says so when the server does not answer."""

        def receive_packet(self, socket: Any, addr_size: int) -> bytes:
            packet: bytes | Literal[0] = base.receive_packet(self, socket, addr_size)
            if packet == 0:
                raise TimeoutError("no answer")
            return packet

    return Client(host, port, csr_csv=str(csr) if csr else None)


class RemoteBus:
    """Word access through a litex_server."""

    burst = BURST  # words that go in one transaction

    def __init__(self, spec: str, csr: str | Path | None = None) -> None:
        """csr: the csr.csv of the SoC, which LiteX's client needs for PCIe."""
        self.name = spec
        self._threads = threading.RLock()
        self._client = _make_client(*parse(spec), csr if csr and Path(csr).suffix == ".csv" else None)
        try:
            self._client.open()
        except OSError as error:
            raise TransportError(f"{spec}: cannot connect ({error.strerror or error})") from None

    @contextlib.contextmanager
    def hold(self) -> Generator[None]:
        """Keeps other threads of this program away meanwhile. A lost server becomes a TransportError."""
        try:
            with self._threads:
                yield
        except OSError as error:
            raise TransportError(f"{self.name}: the server is gone, or its board does not answer ({error.strerror or error})") from None

    def read(self, address: int, count: int = 1) -> list[int]:
        """`count` words from byte address `address`."""
        words: list[int] = []
        with self.hold():
            while len(words) < count:
                size = min(self.burst, count - len(words))
                part: list[int] = self._client.read(address + 4 * len(words), size)
                if len(part) != size:
                    raise TransportError(f"{self.name}: the server answered {len(part)} of {size} words")
                words += part
        return words

    def write(self, address: int, words: Sequence[int]) -> None:
        """Writes words to consecutive addresses."""
        with self.hold():
            for start in range(0, len(words), self.burst):
                self._client.write(address + 4 * start, list(words[start : start + self.burst]))

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()
