# SPDX-License-Identifier: BSD-2-Clause
"""Faulty device tree nodes beside the good one: the driver logs for each, in one line, what is
wrong, and leaves nothing behind."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from litex_soc import linux_sim
from sim.guest.pins import changes, sampled_edges
from sim.linux.linux_rig import DRIVER, TESTED_CPUS
from sim.linux.test_chardev import EDGE, Report, toggles

PULSE_HZ = 50_000_000
MAGIC = 0x4C504C53  # "LPLS"
NUMBERS = {"EBUSY": 16, "EINVAL": 22, "ENODEV": 19, "ENXIO": 6}
SILENT = {"ENODEV", "ENXIO"}  # of these the kernel itself says nothing

LISTS = "; ".join(
    f"for f in {files}; do echo {what} $f; done"
    for what, files in (
        ("device", "/sys/bus/platform/devices/*"),
        ("bound", "/sys/bus/platform/drivers/litepulse/*.*"),
        ("node", "/dev/litepulse* /dev/ttyPULSE*"),
    )
)


@dataclass(frozen=True)
class Fault:
    """A faulty node: the properties in which it differs from the good one, None for one that is missing; and how its probe ends."""

    name: str
    properties: dict
    error: str
    message: str


def region(base, size):
    """A region as dts text."""
    return f"<{base:#x} {size:#x}>"


def good(description):
    """Properties of the node without fault."""
    csr, window = description["csr_bases"]["pulse"], description["memories"]["pulse_window"]
    return {
        "compatible": '"litex,litepulse"',
        "interrupts": f"<{description['interrupts']['pulse']}>",
        "reg": f"{region(csr, 0x50)}, {region(window['base'], window['size'])}",
        "reg-names": '"csr", "window"',
        "clocks": "<&pulse_clk>, <&sys_clk>",
        "clock-names": '"pulse", "sys"',
    }


def faults(description):
    """All faulty nodes, in the order in which the driver meets them."""
    bases, base = description["csr_bases"], description["memories"]["pulse_window"]["base"]
    csr, window, peer = region(bases["pulse"], 0x50), region(base, 0x8000), bases["peer"]
    return [
        # The first register of the timer is 0.
        Fault(
            "foreign",
            {"reg": f"{region(bases['timer0'], 0x50)}, {window}"},
            "ENODEV",
            f"no LitePulse: it identifies itself as 0x00000000, not {MAGIC:#010x}",
        ),
        Fault(
            "taken",
            {"reg": f"{region(peer, 0x50)}, {window}"},
            "EBUSY",
            f"can't request region for resource [mem {peer:#010x}-{peer + 0x4F:#010x}]",
        ),
        Fault("no-csr", {"reg": window, "reg-names": '"window"'}, "EINVAL", 'no memory region "csr"'),
        Fault("no-window", {"reg": csr, "reg-names": '"csr"'}, "EINVAL", 'no memory region "window"'),
        Fault("short-csr", {"reg": f"{region(bases['pulse'], 0x4C)}, {window}"}, "EINVAL", 'memory region "csr" is too short'),
        Fault("short-window", {"reg": f"{csr}, {region(base, 0x1000)}"}, "EINVAL", 'memory region "window" is too short'),
        Fault("no-interrupt", {"interrupts": None}, "ENXIO", "IRQ index 0 not found"),
        Fault("no-clocks", {"clocks": None, "clock-names": None}, "EINVAL", 'no clock "pulse"'),
        Fault("no-bus-clock", {"clocks": "<&pulse_clk>", "clock-names": '"pulse"'}, "EINVAL", 'no clock "sys"'),
        Fault("stopped-clock", {"clocks": "<&stopped_clk>, <&sys_clk>"}, "EINVAL", 'clock "pulse" has a rate of 0'),
        Fault(
            "wrong-clock",
            {"clocks": "<&wrong_clk>, <&sys_clk>"},
            "EINVAL",
            f'clock "pulse" has {PULSE_HZ - 1} Hz, the core says {PULSE_HZ}/1 Hz',
        ),
    ]


def name_of(fault, description):
    """The kernel's name of its device: by the first region."""
    first = {**good(description), **fault.properties}["reg"]
    return f"{int(first.strip('<').split()[0], 16):x}.{fault.name}"


def nodes(description):
    """The faulty nodes as dts text; each on a bus of its own, since on one bus no two may have the same address."""
    text = [
        f'{name}_clk: clock-{name} {{ compatible = "fixed-clock"; #clock-cells = <0>; clock-frequency = <{hz}>; }};'
        for name, hz in (("stopped", 0), ("wrong", PULSE_HZ - 1))
    ]
    for fault in faults(description):
        address, _, name = name_of(fault, description).partition(".")
        properties = {**good(description), **fault.properties}
        lines = " ".join(f"{key} = {value};" for key, value in properties.items() if value)
        text.append(
            f'bus-{name} {{ compatible = "simple-bus"; #address-cells = <1>; #size-cells = <1>; interrupt-parent = <&intc>; '
            f"ranges; {name}@{address} {{ {lines} }}; }};"
        )
    return "\n".join(text)


@pytest.mark.parametrize("cpu", TESTED_CPUS)
@pytest.mark.seconds(60)
def test_faulty_nodes_are_refused(booted, cpu):
    description = linux_sim.machine(cpu).description
    guest = booted(cpu, nodes=nodes(description))
    files = {"litepulse.ko": guest.module(DRIVER)["litepulse"]}
    result = guest.run_program(
        "chardev",
        ["edges"],
        before=f"insmod litepulse.ko; {LISTS}",
        files=files,
        max_cycles=50_000_000,
        stimulus="after ready edges\n" + toggles(4, 5000) + "after ready again\n+1000 aux0 1\n",
    )
    report = Report(result.lines)
    device, bound, node = ([Path(path).name for (path,) in report.all(what)] for what in ("device", "bound", "node"))
    for fault in faults(description):
        name, number = name_of(fault, description), NUMBERS[fault.error]
        assert name in device  # else the driver never saw it
        messages = [line.partition(f"{name}: ")[2] for line in result.kernel if fault.name in line.replace(":", ".").split(".")]
        verdict = [] if fault.error in SILENT else [f"probe with driver litepulse failed with error -{number}"]
        assert messages == [f"error -{number}: {fault.message}", *verdict]
    # Nothing is left of them, and the good one works.
    assert bound == [guest.device_name] and node == ["litepulse0", "ttyPULSE0"]
    edges = [tick for tick, _, _ in sampled_edges(result.pins, ["aux0"])]
    assert len(edges) == 5 and [(e[0], e[2]) for e in report.events()] == [(EDGE, tick) for tick in edges]


@pytest.mark.parametrize("cpu", TESTED_CPUS)
def test_what_the_device_tree_wants(booted, cpu):
    """The number of an alias, and RS-485 from the start: lead and lag are 1 ms each at the first
    byte, although no program set them."""
    description = linux_sim.machine(cpu).description
    node = f"serial@{description['csr_bases']['pulse']:x}"
    guest = booted(
        cpu,
        nodes=f'aliases {{ serial3 = "/soc/{node}"; }}; '
        f"soc {{ {node} {{ linux,rs485-enabled-at-boot-time; rs485-rts-delay = <1 1>; }}; }};",
    )
    files = {"litepulse.ko": guest.module(DRIVER)["litepulse"]}
    steps = ["set=115200,8N1", "getrs485", "write=55", "drain", "sleep=3000"]
    before = "insmod litepulse.ko; ls /dev/litepulse* /dev/ttyPULSE*; ln -s /dev/litepulse3 /dev/litepulse0"
    result = guest.run_program("tty_steps", ["/dev/ttyPULSE3", *steps], before=before, files=files, max_cycles=50_000_000)
    nodes_there = [word for line in result.lines for word in line.split() if word.startswith("/dev/")]
    assert sorted(nodes_there) == ["/dev/litepulse3", "/dev/ttyPULSE3"]
    ((flags, *delays),) = [line.split()[1:] for line in result.lines if line.startswith("getrs485")]
    assert int(flags, 0) & 1 and delays == ["1", "1"]
    start, end = (changes(result.pins, "tx")[at][0] for at in (0, -1))
    (on, up), (off, down) = changes(result.pins, "de")
    bit = Fraction(50_000_000, 115200)
    assert (up, down) == (1, 0) and start - on == 50_000 and off - start - 50_000 == pytest.approx(10 * bit, abs=1) and end < off
