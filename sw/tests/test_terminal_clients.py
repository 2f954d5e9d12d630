# SPDX-License-Identifier: BSD-2-Clause
"""`litepulse serve` with programs that others wrote: pyserial and its own tests, socat, gensio; and the command as such."""

import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

import pytest
import serial

import litepulse
from litepulse import cli
from litepulse.commands.serve import lines_of
from scripts.debian_package import obtain
from sim.pyserial_suite import WANT_MODEM_LINES, pyserial_tests

from .fake_board import FakeBoard, Server
from .test_serial import Result
from .test_sim import COMMAND, ENV
from .test_terminal_server import until

ABOUT_PORTS = ("test", "test_advanced", "test_context", "test_high_load", "test_iolib", "test_readline", "test_rfc2217", "test_threaded")
# pyserial's client has no timeout when it writes, and with a timeout of 0 it reads one byte, however many have come.
OF_THE_CLIENT = {
    "test.Test_MoreTimeouts.test_WriteTimeout",
    "test.Test4_Nonblocking.test2_Loopback",
    "test.Test4_Nonblocking.test2_LoopbackTimeout",
}
PATIENCE = 30  # s


@pytest.fixture(scope="module")
def server():
    """Of a simulated board whose time goes by the wall clock, TX wired to RX."""
    from litex_soc import sim_soc

    words = [sim_soc.build(), "--tcp", "0", "--exit-with-parent", "--pace", "--pulse-hz", "1000000", "--loop-tx-rx"]
    process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    board = litepulse.open(port=f"tcp:127.0.0.1:{json.loads(process.stdout.readline())['tcp']}", clock="realtime")
    with board, litepulse.Serial(board, 9600, timeout=0) as port, litepulse.TerminalServer(port, telnet=0, raw=0, times=0) as server:
        yield server
    process.stdin.close()
    process.wait(timeout=20)
    process.stdout.close()


@pytest.fixture(scope="module")
def run():
    """A function that runs one of Debian's programs, whatever release this machine has."""
    root = obtain("terminal-clients").path
    libraries = [root / each / "x86_64-linux-gnu" for each in ("lib", "usr/lib")]
    (plugins,) = root.glob("usr/libexec/*/gensio/*")

    def run(server, program, *words, given, done):
        """Its output, once done(output); `given` is its input when the server has it as a client."""
        loader = [libraries[0] / "ld-linux-x86-64.so.2", "--library-path", ":".join(map(str, libraries))]
        command = [*map(str, loader), str(root / "usr/bin" / program), *words]
        before, output = set(server._clients), bytearray()
        environment = {**os.environ, "GENSIO_LIBRARY_PATH": str(plugins)}
        with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            reader = threading.Thread(
                target=lambda: [output.extend(part) for part in iter(lambda: os.read(process.stdout.fileno(), 100), b"")]
            )
            reader.start()
            until(lambda: set(server._clients) - before)
            process.stdin.write(given)
            process.stdin.flush()
            until(lambda: done(bytes(output)))
            process.stdin.close()
            process.terminate()
            reader.join()
        return bytes(output)

    return run


# Programs of others -----------------------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.seconds(60)
@pytest.mark.parametrize("name", ABOUT_PORTS)
def test_pyserial_s_own_tests(name, server, monkeypatch):
    """By rfc2217:// all pass but those that want modem lines, or more than pyserial's client can. A
    moment is longer, as in test_serial.py."""
    folder, _ = pyserial_tests()
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    module.PORT = f"rfc2217://127.0.0.1:{server.ports['telnet']}"
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(max(seconds, 0.25) if seconds > 0.01 else seconds))
    result = Result()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    failed = {test.id(): why for test, why in [*result.failures, *result.errors]}
    assert set(failed) == {each for each in WANT_MODEM_LINES | OF_THE_CLIENT if each.startswith(f"{name}.")}, failed
    assert result.passed and server.error is None


@pytest.mark.seconds(10)
def test_pyserial_beside_the_times(server):
    """What a program writes and reads is in the times, tick by tick, at the rate that it has set."""
    url = f"rfc2217://127.0.0.1:{server.ports['telnet']}"
    with socket.create_connection(("127.0.0.1", server.ports["times"]), timeout=PATIENCE) as times:
        read = times.makefile("rb")
        about = json.loads(read.readline())
        assert about["simulated"] and about["tick_hz"] == "1000000"
        with serial.serial_for_url(url, 2400, timeout=PATIENCE) as port:
            data = b"each byte \xff\r\0"
            port.write(data)
            assert port.read(len(data)) == data
            assert (port.cts, port.dsr, port.ri, port.cd) == (True, True, False, True)
            for name, value in (("baudrate", 900_000), ("dtr", False), ("rtscts", True)):
                with pytest.raises(ValueError, match="remote rejected"):
                    setattr(port, name, value)
                setattr(port, name, {"baudrate": 2400, "dtr": True, "rtscts": False}[name])
        found = [json.loads(read.readline()) for _ in range(len(data) + 1)]
    assert found[0]["baud"] == str(server.port.board.timescale.bit_period(2400).baud) or found[0]["baud"] == "2400"
    ticks = [each["tick"] for each in found[1:]]
    assert bytes(each["byte"] for each in found[1:]) == data and all(each["bound"] > 0 for each in found[1:])
    frame = int(server.port.board.timescale.bit_period(2400).ticks * 10)
    assert all(b - a >= frame for a, b in zip(ticks, ticks[1:]))


@pytest.mark.seconds(10)
def test_socat_on_the_plain_port(server, run):
    text = b"by socat \xff\n"
    assert run(server, "socat", "-", f"TCP:127.0.0.1:{server.ports['raw']}", given=text, done=lambda out: len(out) >= len(text)) == text


@pytest.mark.seconds(20)
def test_gensio_by_rfc_2217(server, run):
    """Bytes, a change of the rate, and a break by gensiot's own keys."""
    words = ("gensiot", "-e", "1", "-i", "stdio(self)", f"telnet(rfc2217),tcp,127.0.0.1,{server.ports['telnet']}")
    text = b"by gensio \xff\r\n"
    assert run(server, *words, given=text, done=lambda out: len(out) >= len(text)) == text
    run(server, *words, given=b"\x01s4800\r", done=lambda out: server.port.baudrate == 4800)
    run(server, *words, given=b"\x01b", done=lambda out: b"\0" in out)  # the break comes back as a byte
    run(server, *words, given=b"\x01s9600\r", done=lambda out: server.port.baudrate == 9600)


# The command ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def running(*words):
    """(process, {kind: number of the port}) of the command, once it listens; several lines have lists of them."""
    with subprocess.Popen([*COMMAND, *words], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        ports = []
        try:
            for line in process.stdout:
                if match := re.fullmatch(r"  127\.0\.0\.1 port (\d+): (telnet|plain|JSON).*\n", line):
                    ports.append((match[2], int(match[1])))
                if line.startswith("Ctrl-C"):
                    break
            yield process, ports
        finally:
            process.kill()


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_several_lines_until_a_signal(number, status):
    """Two boards, each with its own ports; both ends in order, and clients see the end."""
    with Server(FakeBoard(step=50_000), "tcp") as one, Server(FakeBoard(step=50_000), "tcp") as two, contextlib.ExitStack() as stack:
        words = ["--port", one.spec, "serve", ":0", "times:0", f"raw:0=port:{two.spec}"]
        process, ports = stack.enter_context(running(*words))
        assert [kind for kind, _ in ports] == ["telnet", "JSON", "plain"]
        times, raw = (stack.enter_context(socket.create_connection(("127.0.0.1", place), timeout=PATIENCE)) for _, place in ports[1:])
        read = times.makefile("rb")
        assert json.loads(read.readline())["device"] == one.spec
        for board, text in ((one.board, b"first"), (two.board, b"second")):
            board.hear(board.tick + 1_000_000, *text)
        found = [json.loads(read.readline()) for _ in range(5)]
        assert bytes(each["byte"] for each in found) == b"first" and found[1]["tick"] - found[0]["tick"] == 50_000
        assert raw.makefile("rb").read(6) == b"second"
        process.send_signal(number)
        out, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == status and errors == ""
        assert out == f"{one.spec}: 0 bytes sent, 5 received, 0 lost\nport:{two.spec}: 0 bytes sent, 6 received, 0 lost\n".replace(
            "port:tcp", "tcp"
        )
        assert raw.recv(1) == b"" and read.readline() == b""


def test_a_board_that_is_unplugged():
    with Server(FakeBoard(step=50_000), "tcp") as board, running("--port", board.spec, "serve", ":0") as (process, _):
        board.close()
        out, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out) == (2, "") and errors.startswith("litepulse: ") and errors.count("\n") == 1


def test_a_closed_output_ends_it():
    with Server(FakeBoard(step=50_000), "tcp") as board, running("--port", board.spec, "serve", ":0") as (process, _):
        process.stdout.close()
        assert process.wait(timeout=PATIENCE) == 0


@pytest.mark.parametrize(
    "words, message",
    [
        ([":x"], "port: 'x' is not a whole number"),
        ([":65536"], "port: 65536 is outside 0 to 65535"),
        (["web:80"], "'web:80' is not like :7001, raw:7002, times:7003 or :7001=/dev/litepulse0"),
        ([":7001="], "':7001=' is not like"),
        ([":7001", "telnet:7002"], "'telnet:7002': this line has a port of the kind telnet already"),
        ([":0", "--listen", "0.0.0.0"], "listen: 0.0.0.0 is not this machine alone"),
        ([":0", "--tls", "/nonexistent"], "tls: /nonexistent: No such file or directory"),
        ([":0", "--gather", "2min"], "gather"),
        ([":0", "--gather", "61s"], "gather: bytes wait for 60 s at most"),
        ([":0", "--baud", "60M"], "baud: 60000000 is outside"),
        ([":0", "--link", "x"], "--link goes with --teensy-pulse"),
        ([":0", "--teensy-pulse"], ":0: --teensy-pulse has a terminal, no TCP port"),
        ([":0=/nonexistent"], "/nonexistent"),
    ],
)
def test_bad_words(words, message):
    with Server(FakeBoard(step=50_000), "tcp") as board:
        done = subprocess.run(
            [*COMMAND, "--port", board.spec, "serve", *words], env=ENV, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 2 and done.stderr.startswith("litepulse: ") and done.stderr.count("\n") == 1 and message in done.stderr, (
        done.stderr
    )


def test_a_port_that_is_taken():
    with Server(FakeBoard(step=50_000), "tcp") as board, socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1]
        words = [*COMMAND, "--port", board.spec, "serve", f"raw:{number}"]
        done = subprocess.run(words, env=ENV, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and done.stderr == f"litepulse: raw: cannot listen on 127.0.0.1 port {number} (Address already in use)\n"


# The service ------------------------------------------------------------------------------------------------------------

UNIT = Path(__file__).resolve().parents[2] / "scripts" / "litepulse-serve@.service"


def test_the_unit_starts_what_there_is():
    """Its words, with the configuration of its comment, are a command line."""
    text = UNIT.read_text()
    example = dict(re.findall(r"(?m)^#   (\w+)=(.*)$", text))
    (start,) = re.findall(r"(?m)^ExecStart=@PROGRAM@ (.*)$", text)
    words = re.sub(r"\$(\w+)", lambda match: example[match[1]], start).split()
    args = cli.make_parser(words).parse(words)
    assert args.verb == "serve" and [sorted(line.ports) for line in lines_of(args.ports)] == [["raw", "telnet", "times"]]
    assert re.findall(r"(?m)^SuccessExitStatus=(.*)$", text) == [str(128 + signal.SIGTERM)]


def test_the_unit_may_do_little(tmp_path):
    """Where systemd is installed, it has no complaint, and rates the exposure at 2 of 10 or less."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("NOT TESTED: systemd is not installed")
    unit = tmp_path / "litepulse-serve@lab.service"
    unit.write_text(UNIT.read_text().replace("@PROGRAM@", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", unit]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:]
