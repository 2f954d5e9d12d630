# SPDX-License-Identifier: BSD-2-Clause
"""litepulse certify on a PC: its 16550 and a USB adapter are measured by a board on another adapter, with and without the driver.

QEMU's ports carry bytes and no pins, so a UART at the board's pins (litex_soc/sim_uart.py) makes bits of them: the page says so."""

import json
from fractions import Fraction

import jsonschema
import pytest

from litepulse.certify import page
from litepulse.certify.result import schema
from sim.cocotb_rig import ROOT
from sim.pc.python import COMMAND, python
from sw.tests.certify_model import frames_of, histogram

HZ, BAUD, TRUE_BAUD = 500_000, 9600, 9580
SAMPLES, BYTES, BLOCKS = 12, 128, 2
LINK = 2 * 1000 - HZ // TRUE_BAUD // 2 - 1  # ticks there and back: the UART has a byte in the middle of its stop bit
# ./start is Python there, for the programs that the command starts, too.
STEPS = f"""
import contextlib, io, json, os, sys, time
sys.executable = os.path.abspath("start")
from litepulse import cli
def step(name, port, *board):
    out, err = io.StringIO(), io.StringIO()
    words = "certify --baud {BAUD} --samples {SAMPLES} --bytes {BYTES} --blocks {BLOCKS} --json".split()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main([*board, *words, port])
    print("step", json.dumps([name, status, err.getvalue(), out.getvalue()]), flush=True)
print("wire", flush=True)
step("16550", "/dev/ttyS1", "--port", "/dev/ttyUSB0")
print("plug", flush=True)
while not os.path.exists("/dev/ttyUSB1"):
    time.sleep(0.1)
step("adapter", "/dev/ttyUSB1", "--port", "/dev/ttyUSB0")
os.system("./attach /dev/ttyUSB0 >attach.log &")
while not os.path.exists("/dev/litepulse0"):
    time.sleep(0.1)
step("by the driver", "/dev/ttyUSB1", "--device", "/dev/litepulse0")
"""
PORTS = {"16550": "/dev/ttyS1", "adapter": "/dev/ttyUSB1", "by the driver": "/dev/ttyUSB1"}


def plug(machine):
    """The UART goes from the 16550 to a second USB adapter."""
    uart = machine.adapters[0].board.uart
    machine.com2.connect(None)
    machine.plug(1, uart)


@pytest.fixture(scope="module")
def measured(pc):
    """({step: (status, standard error, result)}, the pins)."""
    guest = pc("6.12")
    result = guest.run(
        "insmod litepulse.ko && insmod litepulse_uartbone.ko || exit 97\n./start steps.py",
        {
            **guest.driver(),
            "attach": guest.guest_program("attach"),
            **python("certify", COMMAND, [ROOT / "sw"]),
            "steps.py": STEPS.encode(),
        },
        boards=[{"hz": HZ, "uart": TRUE_BAUD}],
        seconds=240,
        when={"wire": lambda machine: machine.com2.connect(machine.adapters[0].board.uart), "plug": plug},
    )
    steps = [json.loads(line.removeprefix("step ")) for line in result.lines if line.startswith("step ")]
    return {name: (status, err, json.loads(out) if out else None) for name, status, err, out in steps}, result


@pytest.mark.seconds(60)
@pytest.mark.parametrize("name", PORTS)
def test_a_port_of_the_pc(measured, name):
    status, err, result = measured[0][name]
    assert (status, err) == (0, ""), err
    assert result["port"]["port"] == PORTS[name] and result["backend"] == ("driver" if name == "by the driver" else "uartbone")
    jsonschema.Draft202012Validator(schema()).validate(result)
    for load in ("idle", "loaded"):
        for loss in result["loss"][load].values():
            assert loss == {"sent": BYTES, "received": BYTES, "lost": 0, "wrong": 0, "added": 0, "errors": 0}
        latency = result["latency"][load]
        assert latency["missing"] == 0 and latency["round_trip"]["count"] == SAMPLES and latency["round_trip"]["least"] >= LINK
    true = (Fraction(TRUE_BAUD, BAUD) - 1) * 10**6
    for found in (result["baud"]["bits"], result["baud"]["rows"]):
        assert abs(Fraction(found["ppm"]) - true) <= Fraction(found["uncertainty_ppm"]) + Fraction(1, 1000), "that of what makes the bits"
    assert result["break"]["seen"]["count"] == 0 and result["busy_processes"] == 1
    assert any("hypervisor carries its bytes, not its pins" in text for text in result["not_real"])
    assert "QEMU" in result["machine"]["virtual"] and result["machine"]["kernel"].startswith("6.12")
    assert "hypervisor carries its bytes" in page.html(result)


def requests_of(measured, name):
    """Ticks of the start edges that the board launched while a port was measured: between its first block and the next port's wiring."""
    line = frames_of(measured[1].pin("rx")[1:], Fraction(HZ, TRUE_BAUD))
    each, number = 16 + BLOCKS * 23 + 2 * (BYTES + SAMPLES), list(PORTS).index(name)
    begin, end = line[each * number + 16][1][0], line[each * (number + 1)][1][0] if number + 1 < len(PORTS) else float("inf")
    requests = (ticks[0] for _, ticks in frames_of(measured[1].pin("tx")[1:], Fraction(HZ, BAUD)))
    return [tick for tick in requests if begin <= tick < end]


def test_what_they_are(measured):
    """16550 and adapter are named as such; the 16550 counts its bytes."""
    uart, usb = (measured[0][name][2] for name in ("16550", "adapter"))
    assert (uart["port"]["driver"], uart["port"]["uart"], uart["port"]["usb"]) == ("serial", "16550A", None)
    assert usb["port"]["driver"] == "ftdi_sio" and usb["port"]["uart"] is None and usb["port"]["usb"]["id"] == "0403:6001"
    assert usb["port"]["latency_timer_ms"] is not None and "QEMU USB SERIAL" in usb["port"]["says"]
    sent, requested = 2 * BYTES + 2 * SAMPLES + BLOCKS * 23, len(requests_of(measured, "16550"))
    assert requested >= 2 * BYTES + 2 * SAMPLES, "frames that came too late are requested again"
    assert (uart["counters"]["tx"], uart["counters"]["rx"]) == (sent, requested)
    assert uart["counters"]["overrun"] == uart["counters"]["frame"] == 0


def test_the_recorded_pins_say_the_same(measured):
    """All runs, one behind the other, on one line: round trips of each."""
    pins = {name: measured[1].pin(name)[1:] for name in ("rx", "tx")}
    line = frames_of(pins["rx"], Fraction(HZ, TRUE_BAUD))
    requests = [ticks[0] for _, ticks in frames_of(pins["tx"], Fraction(HZ, BAUD))]
    length = int(10 * Fraction(round(Fraction(256 * HZ, BAUD)), 256))
    each = 16 + BLOCKS * 23 + 2 * (BYTES + SAMPLES)
    assert len(line) == len(PORTS) * each
    for number, name in enumerate(PORTS):
        frames, result = line[each * number : each * (number + 1)], measured[0][name][2]
        place = 16 + BLOCKS * 23
        for load in ("idle", "loaded"):
            answers = [ticks[0] + 1 for _, ticks in frames[place + BYTES : place + BYTES + SAMPLES]]
            trips = [answer - max(tick + length for tick in requests if tick + length <= answer) for answer in answers]
            assert result["latency"][load]["round_trip"]["histogram"] == histogram(trips)
            place += BYTES + SAMPLES


# The program on the port, where a driver has all that it asks for.
PATIENT = """
import fcntl, json, os, struct, sys
sys.executable = os.path.abspath("start")
from litepulse.certify.patient import Patient
from litepulse.line import Format
def rs485():
    file = os.open("/dev/ttyPULSE0", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    flags = struct.unpack_from("I", fcntl.ioctl(file, 0x542E, bytes(32)))[0]
    os.close(file)
    return flags & 3
with Patient("/dev/ttyPULSE0", 9600, Format()) as patient:
    values = [patient.ask("enable"), rs485(), patient.ask("listen"), patient.ask("write", data="55aa0f")]
    values += [patient.ask("heard", quiet=0.5, count=3)["data"], patient.ask("break", hold=0.02), patient.ask("counters")["counters"]]
print("values", json.dumps([*values, rs485()]))
"""


@pytest.mark.seconds(25)
def test_rs485_breaks_and_counters_of_a_driver(pc):
    """LitePulse's tty, its TX wired to its RX. RS-485 is off again at the end."""
    guest = pc("6.12")
    files = {**python("certify", COMMAND, [ROOT / "sw"]), "patient.py": PATIENT.encode()}
    result = guest.attached("./start patient.py", files, boards=[{"hz": HZ, "wires": ["tx:rx"]}], seconds=120)
    (line,) = (line for line in result.lines if line.startswith("values "))
    enabled, on, mode, written, heard, broken, counters, off = json.loads(line.removeprefix("values "))
    assert (enabled, on, mode, written, off) == ({"enabled": True}, 3, {"mode": "listen"}, {"written": 3}, 0)
    bit = Fraction(HZ, BAUD)
    tx, de = result.pin("tx")[1:], result.pin("de")[1:]
    lows = [(fall, rise) for (fall, level), (rise, _) in zip(tx, tx[1:]) if not level and rise - fall > 10 * bit]
    ((fall, rise),) = lows
    assert HZ // 50 <= rise - fall <= (broken["ended"] - broken["begun"]) * HZ // 10**9 + HZ // 10, "as long as it was held"
    sent = frames_of([edge for edge in tx if edge[0] < fall], bit)
    assert [byte for byte, _ in sent] == [0x55, 0xAA, 0x0F]
    for _, ticks in sent:
        (level,) = [level for tick, level in de if tick <= ticks[0]][-1:]
        assert level == 1, "driver enable is on while it sends"
    assert counters["tx"] == 3 and heard == "", "the driver drops its own bytes by default"
