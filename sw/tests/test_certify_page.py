# SPDX-License-Identifier: BSD-2-Clause
"""The page of litepulse certify: machine and port, figures below their uncertainty, what is
simulated."""

import copy
import html
import os
import pty
import re
from fractions import Fraction

import jsonschema
import pytest

from litepulse.certify import page
from litepulse.certify.host import machine_of, not_real, port_of
from litepulse.certify.records import Break, Echo, Exchange, Reading, Records, Transfer
from litepulse.certify.result import figures, schema, stamp
from litepulse.certify.words import summary
from litepulse.line import Format
from litepulse.port_program import PortKind, kind_of
from litepulse.ports import Host
from sim import browser

HZ = 48_000_000


@pytest.fixture
def host(tmp_path):
    """A machine that describes itself as a test writes."""
    return Host(sysfs=tmp_path / "sys", proc=tmp_path / "proc")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


PORT = {
    "port": "/dev/ttyX<0>",
    "kind": "serial port",
    "driver": "of & by",
    "uart": "16550A",
    "usb": None,
    "latency_timer_ms": None,
    "low_latency": False,
    "says": "a serial port, driver of & by, UART 16550A",
}


def result_of(records, host, board_is_simulated=False):
    """The whole object, of records."""
    machine = machine_of(host)
    result = {
        "command": "certify",
        "backend": "uartbone",
        "simulated": board_is_simulated,
        "device": "/dev/ttyUSB1",
        "clock_hz": str(HZ),
        "samples_per_cycle": 1,
        "tick_hz": str(HZ),
        **stamp(),
        "kind": "port",
        "port": PORT,
        "machine": machine,
        "settings": {"baud": 9600, "format": "8N1", "samples": 1, "bytes": 2, "blocks": 0, "enable_input": None, "seed": 1},
        "not_real": not_real(board_is_simulated, PORT, machine),
    } | figures(records, Fraction(HZ))
    jsonschema.Draft202012Validator(schema()).validate(result)
    return result


def records_of(bracket):
    """One exchange under each load: 10 us to read(), 20 us in the program, 30 us to the pin; readings of the clock so wide, in ns."""
    ns = 125 / 6  # of a tick
    echo = Echo(
        [Exchange(48_000, 1_010_000, 1_030_000, 50_880)],
        [Reading(t, round(t * ns - bracket / 2), round(t * ns + bracket / 2)) for t in (0, 96_000)],
    )
    rows = [Transfer(b"ab", b"ab", (0, 50_000))]
    both = ("idle", "loaded")
    return Records(
        9600,
        Format(),
        from_patient=dict.fromkeys(both, rows),
        to_patient=dict.fromkeys(both, [Transfer(b"ab", b"a")]),
        echo={load: copy.deepcopy(echo) for load in both},
        breaks=[Break(0, 10_000_000, None, None)],
        load=4,
    )


def shown(result):
    """The text of the page, without its tags."""
    text = page.html(result)
    return html.unescape(re.sub(r"<[^>]+>", " ", text.partition("<body>")[2]))


def test_a_figure_is_given_with_its_uncertainty(host):
    result = result_of(records_of(2000), host)
    assert result["latency"]["idle"]["uncertainty_ns"] == 1021 and result["latency"]["idle"]["resolved"]["pin_to_read"]
    lines = dict(summary(result))
    assert lines["pin to read()"] == "median 10 µs, 10 µs to 10 µs, 1 sample, ± 1.021 µs"
    assert lines["write() to pin"].startswith("median 30 µs") and "median 30 µs, 30 µs to 30 µs, 1 sample, ± 1.021 µs" in shown(result)
    assert lines["round trip"] == "median 60 µs, 60 µs to 60 µs, 1 sample"


def test_a_figure_below_its_uncertainty_is_not_given_alone(host):
    """15 us: more than the one, less than the other."""
    result = result_of(records_of(30_000), host)
    lines = dict(summary(result))
    assert lines["pin to read()"] == "too small to tell: less than its uncertainty of 15.021 µs (1 sample)"
    assert lines["write() to pin"] == "median 30 µs, 30 µs to 30 µs, 1 sample, ± 15.021 µs"
    text = shown(result)
    assert lines["pin to read()"] in text and "10 µs" not in text and "60 µs" in text


def test_what_was_lost_is_on_the_page_and_what_comes_from_elsewhere_is_text(host):
    result = result_of(records_of(2000), host, board_is_simulated=True)
    assert result["complaints"] == [
        "1 bytes lost, 0 wrong, 0 added, 0 with errors, of 2 sent to the port, idle",
        "1 bytes lost, 0 wrong, 0 added, 0 with errors, of 2 sent to the port, loaded",
    ]
    text = page.html(result)
    assert "/dev/ttyX&lt;0&gt;" in text and "of &amp; by" in text and "ttyX<0>" not in text
    assert all(html.escape(each[1:]) in text for each in (*result["complaints"], *result["not_real"]))
    assert "4 busy processes" in text and "none seen, 1 requested" in text
    assert "not measured" in dict(summary(result))["true baud"]


LOOK = """() => ({ width: document.documentElement.scrollWidth, paper: getComputedStyle(document.body).backgroundColor,
    text: document.body.innerText })"""


@pytest.mark.full
@pytest.mark.parametrize("width, dark", [(1200, False), (400, False), (400, True)], ids=["wide", "narrow", "dark"])
def test_the_page_in_a_browser(host, tmp_path, width, dark):
    """No error, nothing exceeds a narrow window, the dark mode is dark, and the port's name is
    shown unchanged."""
    assert browser.chromium(), "no Chromium: apt install chromium"
    text = page.html(result_of(records_of(2000), host))
    errors, found = browser.look_at(text, LOOK, tmp_path, width=width, dark=dark)
    assert errors == [] and found["width"] <= width
    red, green, blue = map(int, re.findall(r"\d+", found["paper"])[:3])
    assert (red + green + blue < 300) == dark
    assert "/dev/ttyX<0>" in found["text"]


def test_a_machine(host):
    write(host.proc / "cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 1 GHz\nflags\t\t: fpu sse\n")
    write(host.sysfs / "devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n")
    machine = machine_of(host)
    assert (machine["processor"], machine["governor"], machine["virtual"]) == ("Some CPU @ 1 GHz", "performance", None)
    assert (machine["kernel"], machine["processors"]) == (os.uname().release, os.cpu_count())
    nothing = {"driver": None, "states": [], "intel_idle_max_cstate": None, "says": "this kernel shows no idle states"}
    assert machine["idle"] == nothing


def test_idle_states(host):
    """As the kernel shows them, and what limits them, on the page in words."""
    cpus = host.sysfs / "devices/system/cpu"
    for number, (name, latency, off) in enumerate((("POLL", 0, 0), ("C1", 2, 0), ("C6", 133, 1))):
        for file, value in (("name", name), ("latency", latency), ("disable", off)):
            write(cpus / f"cpu0/cpuidle/state{number}/{file}", f"{value}\n")
    write(cpus / "cpuidle/current_driver", "intel_idle\n")
    write(host.sysfs / "module/intel_idle/parameters/max_cstate", "2\n")
    result = result_of(records_of(2000), host)
    found = result["machine"]["idle"]
    assert (found["driver"], found["intel_idle_max_cstate"]) == ("intel_idle", 2)
    assert found["states"][1:] == [
        {"number": 1, "name": "C1", "latency_us": 2, "enabled": True},
        {"number": 2, "name": "C6", "latency_us": 133, "enabled": False},
    ]
    assert found["says"] == (
        "intel_idle: POLL 0 µs, C1 2 µs, C6 133 µs (off); a wake-up takes up to 2 µs; "
        "intel_idle.max_cstate=2 (the kernel's own): no state above number 2 is there"
    )
    assert found["says"] in shown(result)


def test_periods(host):
    """In one line for each load, on the terminal and on the page. No pair is from two rows; a row that lacks a byte does not count."""
    records = records_of(2000)
    data = bytes(40)
    row = Transfer(data, data, tuple(50_000 * n + 100 * (n % 2) for n in range(40)))
    records.from_patient["idle"] = [row, row, Transfer(data, data[1:], row.starts[1:])]
    records.from_patient["loaded"] = [Transfer(data, data, tuple(50_000 * n for n in range(40)))]
    result = result_of(records, host)
    assert result["periods"]["idle"] == {"count": 78, "autocorrelation": [(-1.0) ** k for k in range(1, 11)]}
    assert result["periods"]["loaded"] == {"count": 39, "autocorrelation": [None] * 9}
    line = "autocorrelation -1.000 at lag 1, at most ±1.000 at lags 2 to 10, 78 periods; ±0.226 if independent"
    assert [text for name, text in summary(result) if name == "periods"] == [line, "all 39 equal"]
    assert line in shown(result) and "all 39 equal" in shown(result)


@pytest.mark.parametrize(
    "vendor, product, flags, virtual",
    [
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", "", "QEMU Standard PC (Q35 + ICH9, 2009)"),
        ("innotek GmbH", "VirtualBox", "", "innotek GmbH VirtualBox"),
        ("Some Maker", "Laptop", "hypervisor", "a virtual machine"),
        ("Some Maker", "Laptop", "", None),
    ],
)
def test_a_virtual_machine(host, vendor, product, flags, virtual):
    write(host.sysfs / "class/dmi/id/sys_vendor", f"{vendor}\n")
    write(host.sysfs / "class/dmi/id/product_name", f"{product}\n")
    write(host.proc / "cpuinfo", f"flags\t\t: fpu {flags} sse\n")
    machine = machine_of(host)
    assert machine["virtual"] == virtual
    reasons = not_real(False, PORT, machine)
    assert any("hypervisor carries its bytes" in text for text in reasons) == (vendor == "QEMU")
    assert any(text.startswith("the machine: ") for text in reasons) == (virtual is not None)
    assert not_real(False, None, machine) == [] and len(not_real(True, None, machine)) == 1


def test_a_usb_adapter(tmp_path, monkeypatch):
    """From what the kernel shows of one."""
    host = Host(sysfs=tmp_path)
    plug = tmp_path / "devices/usb1/1-2"
    for name, text in (
        ("idVendor", "0403"),
        ("idProduct", "6001"),
        ("product", "Some Adapter"),
        ("manufacturer", "Maker"),
        ("serial", "A1"),
    ):
        write(plug / name, f"{text}\n")
    port = plug / "1-2:1.0/ttyUSB3"
    write(port / "latency_timer", "16\n")
    (port / "tty/ttyUSB3").mkdir(parents=True)
    status = os.stat("/dev/null")
    link = tmp_path / f"dev/char/{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    link.parent.mkdir(parents=True)
    link.symlink_to(port / "tty/ttyUSB3")
    described = port_of(host, "/dev/null", PortKind("serial port", "ftdi_sio"))
    assert described["usb"] == {"title": "Maker Some Adapter, serial number A1", "id": "0403:6001"} and described["latency_timer_ms"] == 16
    assert (
        described["uart"] is None
        and described["says"] == "a USB adapter (Maker Some Adapter, serial number A1), driver ftdi_sio, latency timer 16 ms"
    )


def test_a_pseudo_terminal():
    master, slave = pty.openpty()
    name = os.ttyname(slave)
    port = port_of(Host(), name, kind_of(name))
    assert port["says"] == "a pseudo-terminal: no UART and no wire, software alone" and port["uart"] is port["usb"] is None
    assert any("has no UART and no wire" in text for text in not_real(False, port, {"virtual": None}))
    os.close(master)
    os.close(slave)
