# SPDX-License-Identifier: BSD-2-Clause
"""Writes docs/limits.md: the minimum and maximum values of core, boards, driver, cable and tools, each read from its one source.

    python scripts/limits.py            writes the page
    python scripts/limits.py --check    only compares; exit status 1 if it is stale

It reads the driver and the Python package, so it is not part of litex_soc, which knows neither.
"""

import argparse
import math
import re
import sys
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "sw")]

from litepulse.backends import uartbone  # noqa: E402
from litepulse.backends.bus.registers import WATCHDOG_SECONDS  # noqa: E402
from litepulse.backends.driver.device import LAG_SECONDS  # noqa: E402
from litepulse.layout import LIN_BIT_MIN  # noqa: E402
from litepulse.limits import BREAK_MAX, LOWEST_BAUD  # noqa: E402
from litepulse.lin import protocol  # noqa: E402
from litepulse.plan import FARTHEST_DAYS  # noqa: E402
from litepulse.sequence_plan import QUEUE_MIN_CYCLES, WAIT_LEAST_CYCLES, behind  # noqa: E402
from litepulse.session import MOST_SAMPLES  # noqa: E402
from litepulse.train import FARTHEST_PULSE  # noqa: E402
from litepulse.units import BIT_PERIOD_FRACTION, MIN_BIT_CYCLES, WORD, fixed, si  # noqa: E402
from litex_soc import SPDX, boards, regmap  # noqa: E402
from litex_soc.board import choose  # noqa: E402
from litex_soc.boards_page import response_ns  # noqa: E402
from litex_soc.generate import stale_files  # noqa: E402
from litex_soc.limits import cycles, depths  # noqa: E402
from litex_soc.phys import PHYS  # noqa: E402
from litex_soc.sim_soc import SYS_HZ  # noqa: E402

PAGE = ROOT / "docs" / "limits.md"
COMMAND = "python scripts/limits.py"
GEOMETRY = {field.name: field.reset for field in regmap.csr("id_geometry").fields}
CLOCK = Fraction(regmap.csr("id_clock_num").reset, regmap.csr("id_clock_den").reset)  # that of the default core, one sample per cycle
SECONDS_A_YEAR = 365 * 86400


def bits(register: str, field: str) -> int:
    """Of a field of a configuration word."""
    return next(each.size for each in regmap.config(register).fields if each.name == field)


def found(path: str, pattern: str) -> str:
    """What the one group of a pattern matches in a file; the pattern must occur once."""
    matches = set(re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE))
    if len(matches) != 1:
        raise SystemExit(f"{path}: {len(matches)} matches of {pattern}")
    return matches.pop()


def defined(path: str, name: str) -> int:
    """The value of a #define below driver/ that is a number."""
    return int(found(f"driver/{path}", rf"^#define {name}\s+(\d+)u?\b"))


def time(ticks: int | Fraction) -> str:
    """Of `ticks` of the default core."""
    return si(Fraction(ticks) / CLOCK, "s")


def rate(period: int | Fraction) -> str:
    """Of periods of `period` ticks of the default core."""
    return si(CLOCK / period, "Hz", 2)


def power(number: int) -> str:
    """A number of the form 2ⁿ or 2ⁿ − k, as people write it."""
    exponent = round(number.bit_length() if number & (number - 1) else number.bit_length() - 1)
    rest = (1 << exponent) - number
    raised = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(exponent))
    return f"2{raised}" + (f" − {rest}" if rest else "")


Row = tuple[str, str, str, str]


def soonest(what: str, constant: str) -> Row:
    """The row of a constant of core.md to which the `de` lead adds."""
    least = cycles()[constant]
    return what, time(least), f"{least} cycles, and the `de` lead", "[core.md](core.md#constants)"


def trains() -> list[Row]:
    """Of the train."""
    longest, period, changed = WORD - 2, cycles()["TRAIN_MIN_PERIOD"], cycles()["CHANGE_MIN_PERIOD"]
    page = "[core.md](core.md#constants)"
    return [
        ("shortest period", f"{time(period)} ({rate(period)})", f"{period} cycles, and the `de` lead", page),
        (
            "shortest period of a train that can be changed",
            f"{time(changed)} ({rate(changed)})",
            f"{changed} cycles, and the `de` lead",
            page,
        ),
        ("longest period", time(longest), f"{power(longest)} ticks", page),
        ("fraction of a period", "exact", f"N/D ticks, D at most {power(WORD)}", "[cli.md](cli.md#numbers)"),
        ("pulses", f"{WORD - 1:,}, or endless", "numbers have 32 bits and wrap", "[core.md](core.md)"),
        soonest("minimum time from the command's arrival to the first pulse", "TRAIN_LMIN_CYCLES"),
        soonest("change: minimum time to the new place of the pulse", "CHANGE_LMIN"),
        soonest("change of the pending pulse: minimum time to its old place", "CHANGE_REDO"),
        (
            "change: farthest pulse that it can name",
            f"{FARTHEST_PULSE:,} after the next",
            f"{power(FARTHEST_PULSE)}",
            "[core.md](core.md#timed-sources-queue-train-responder)",
        ),
        (
            "phase step",
            f"±{time(1 << bits('train_step', 'step') - 1)}",
            f"signed, {bits('train_step', 'step')} bits of ticks",
            "[core.md](core.md)",
        ),
    ]


def launches() -> list[Row]:
    """Of launches and the line."""
    stops = ", ".join(text.partition(" ")[0] for _, text in regmap.STOPS.values())
    data = bits("profile0_format", "data_bits")
    lead = (1 << bits("driver_enable", "lead")) - 1
    length = (1 << bits("filter", "length")) - 1
    highest, longest = MIN_BIT_CYCLES, 1 << 32 + bits("profile0_format", "period_hi")
    return [
        soonest("minimum time to a launch at the head of the queue", "LMIN_CYCLES"),
        ("launches that wait in the board", f"{1 << GEOMETRY['launch_depth']}", deepest("launch"), "[litex.md](litex.md)"),
        (
            "maximum time to a launch, by command and package",
            f"{FARTHEST_DAYS} days",
            "a time farther ahead is refused",
            "[cli.md](cli.md#trains)",
        ),
        ("pulse", f"{time(1)} to {time(WORD - 1)}", f"1 to {power(WORD - 1)} ticks", "[core.md](core.md)"),
        (
            "mark on the marker port",
            f"{time(1)} to {time(WORD - 1)}, or until the next",
            f"1 to {power(WORD - 1)} ticks, rounded up to cycles; 0: until the next",
            "[core.md](core.md#marker-port)",
        ),
        ("break, as a launch", f"1 to {BREAK_MAX} bit times", "any bit rate", "[core.md](core.md)"),
        ("highest bit rate", si(CLOCK / highest, "Bd"), f"a bit of {highest} cycles", "[core.md](core.md)"),
        (
            "lowest bit rate",
            f"{fixed(Fraction(CLOCK * BIT_PERIOD_FRACTION, longest - 1), 2, math.ceil)} Bd",
            f"a bit of less than {power(longest // BIT_PERIOD_FRACTION)} ticks",
            "[core.md](core.md)",
        ),
        (
            "step of the bit period",
            f"{fixed(10**12 / CLOCK / BIT_PERIOD_FRACTION, 1)} ps",
            f"1/{BIT_PERIOD_FRACTION} tick",
            "[cli.md](cli.md#numbers)",
        ),
        (
            "frame",
            f"5 to {4 + (1 << data)} data bits; stop bits: {stops}",
            "parity: " + ", ".join(name.lower() for name, _ in regmap.PARITIES.values()),
            "[core.md](core.md)",
        ),
        ("line profiles", f"{regmap.PROFILES}", "the tty has profile 0", "[chardev.md](chardev.md)"),
        ("`de` lead and lag, each", f"0 to {time(lead)}", f"0 to {lead:,} ticks", "[core.md](core.md)"),
        (
            "echo of our own transmission",
            f"up to {time(regmap.ECHO_CYCLES_MAX)}",
            f"{regmap.ECHO_CYCLES_MAX:,} cycles; {regmap.ECHO_CYCLES_RESET} after a reset",
            "[cli.md](cli.md#responder)",
        ),
        (
            "glitch filter",
            f"{time(1)} to {time(length)}",
            f"1 to {length} samples, one length for all inputs",
            "[core.md](core.md#capture)",
        ),
    ]


def responder() -> list[Row]:
    """Of the responder and LIN."""
    c = cycles()
    page = "[core.md](core.md#constants)"
    delay = (1 << bits("resp_delay", "delay")) - 1
    holdoff = (1 << bits("resp_holdoff", "holdoff")) - 1
    lin0 = [int(each) for each in re.findall(r"\d+", found("driver/litepulse_lin_net.c", r"^static const u32 bitrates\[\] = \{([^}]*)\}"))]
    return [
        (
            "shortest delay after an edge",
            time(c["RESPONSE_MIN_CYCLES"]),
            f"{c['RESPONSE_MIN_CYCLES']} cycles, the `de` lead, and the filter's delay",
            page,
        ),
        soonest("shortest delay after a byte", "RESPONSE_MIN_BYTE"),
        soonest("shortest delay after a break", "RESPONSE_MIN_BREAK"),
        ("longest delay", time(delay), f"{delay:,} ticks", "[core.md](core.md)"),
        (
            "pulses or frames of a burst",
            f"1 to {1 << bits('resp_trigger', 'burst'):,}",
            "each at an exact distance from the trigger",
            "[cli.md](cli.md#responder)",
        ),
        (
            "period of a burst",
            f"{time(c['BURST_MIN_CYCLES'])} to {time(holdoff)}",
            f"{c['BURST_MIN_CYCLES']} cycles, and the `de` lead; up to {holdoff:,} ticks",
            page,
        ),
        (
            "triggers are ignored after an answer for",
            f"{time(c['RESPONSE_REST'])} to {time(holdoff)}",
            f"{c['RESPONSE_REST']} cycles; holdoff up to {holdoff:,} ticks",
            page,
        ),
        (
            "LIN identifiers answered by the board",
            f"{1 << GEOMETRY['lin_depth']}",
            ", ".join(map(str, regmap.LIN_ENTRIES)) + " in your own design; see the boards below",
            "[lin.md](lin.md#slave)",
        ),
        ("LIN data", f"1 to {protocol.DATA_MAX} bytes", "", "[lin.md](lin.md)"),
        ("highest bit rate as a LIN slave", si(CLOCK / LIN_BIT_MIN, "Bd"), f"a bit of {LIN_BIT_MIN} cycles", "[lin.md](lin.md#slave)"),
        (
            "bit rates of `lin0`",
            f"{min(lin0):,} to {max(lin0):,} Bd",
            f"{len(lin0)} of them, as `ip -details link show lin0` lists",
            "[lin.md](lin.md)",
        ),
    ]


def deepest(fifo: str) -> str:
    """What a page says of the most records that a FIFO can hold. Fewer than 1,000 are written out."""
    most = 1 << depths()[fifo][1]
    return f"up to {most if most < 1000 else power(most)} in your own design"


def burst(event_depth: int) -> int:
    """Edges in a row that a core with this log2 of events holds."""
    return (1 << event_depth) - regmap.EVENT_RESERVE


def times() -> list[Row]:
    """Of ticks and records."""
    received = 32 + next(each.size for each in regmap.RECEIVE_RECORD[1].fields if each.name.startswith("tick"))
    ring = (1 << int(found("hdl/litepulse.sv", r"localparam int RING_AW = (\d+);"))) - 1
    return [
        ("a tick", fixed(10**9 / CLOCK, 3) + " ns", "the clock's period / samples per cycle", "[boards.md](boards.md)"),
        (
            "ticks begin again after",
            f"{int(Fraction(1 << 64) / CLOCK / SECONDS_A_YEAR):,} years",
            f"{power(1 << 64)} ticks, or a reset",
            "[core.md](core.md)",
        ),
        (
            "tick of a received byte, in the board's record",
            f"{int(Fraction(1 << received) / CLOCK / 86400)} days",
            f"{power(1 << received)} ticks; who reads it adds the rest",
            "[core.md](core.md#streams)",
        ),
        (
            "received − launched over a wire",
            time(regmap.LOOPBACK_TICKS),
            f"{regmap.LOOPBACK_TICKS} tick, always",
            "[core.md](core.md#time-at-the-pins)",
        ),
        (
            "inputs besides the line",
            f"{GEOMETRY['inputs']}",
            f"(inputs + 1) · samples per cycle is at most {bits('capture_edges', 'rise')}",
            "[core.md](core.md#capture)",
        ),
        (
            "events that wait in the board",
            f"{1 << GEOMETRY['event_depth']}",
            f"{regmap.EVENT_RESERVE} of them not for edges; {deepest('event')}; see the boards below",
            "[core.md](core.md#streams)",
        ),
        (
            "burst of edges that nothing reads meanwhile",
            f"{burst(GEOMETRY['event_depth']):,} edges",
            f"without loss, in records of {4 * regmap.EVENT_WORDS} bytes; one more is counted as lost; see the boards below",
            "[core.md](core.md#streams)",
        ),
        (
            "received bytes that wait in the board",
            f"{(1 << GEOMETRY['receive_depth']) + ring}",
            f"{1 << GEOMETRY['receive_depth']} and {ring}; {deepest('receive')}",
            "[core.md](core.md#streams)",
        ),
        ("bytes to send that wait in the board", f"{1 << GEOMETRY['transmit_depth']}", deepest("transmit"), "[litex.md](litex.md)"),
        (
            "lost records that are counted exactly",
            f"{power(regmap.LOST_STOP) if regmap.LOST_STOP & (regmap.LOST_STOP - 1) == 0 else f'{regmap.LOST_STOP:,}'}",
            "in a row; more is reported as “at least”",
            "[core.md](core.md#streams)",
        ),
        (
            "two boards on one pulse per second",
            "1 µs apart",
            "trains that follow it, for an hour, on a model of crystals at 40 and -30 ppm that wander by 0.1 ppm/s",
            "[python.md](python.md#several-boards)",
        ),
        (
            "events in a clock that comes in",
            "once two of its seconds came in",
            "`pps:0`, `harp:0`; beside the stamps the bound has 0.33 µs a second behind its last one, 11 µs behind 9 s",
            "[python.md](python.md#clocks)",
        ),
        (
            "offset of two boards",
            "a tick of each",
            "from an edge that both capture; the wire's delay is not in it",
            "[cli.md](cli.md#several-boards-at-one-moment)",
        ),
    ]


def driver() -> list[Row]:
    """Of the Linux driver."""
    page, tty = "[chardev.md](chardev.md)", "[tty.md](tty.md#interrupt-moderation)"
    before, least, most, soon = (
        defined("litepulse_tty_receive.c", f"INTERRUPTS_{name}") for name in ("MAX", "LEAST", "MOST", "LOW_LATENCY")
    )
    return [
        ("boards", f"{defined('uapi/linux/litepulse.h', 'LITEPULSE_DEVICES')}", "", "[driver.md](driver.md)"),
        ("files of a board that may be subscribed", f"{defined('uapi/linux/litepulse.h', 'LITEPULSE_SUBSCRIBERS_MAX')}", "", page),
        (
            "records in a file's FIFO",
            f"{defined('litepulse_reader.c', 'FIFO_DEFAULT'):,}",
            f"{defined('litepulse_reader.c', 'FIFO_MIN')} to {defined('litepulse_reader.c', 'FIFO_MAX'):,}, a power of two",
            page,
        ),
        (
            "events in a file's ring",
            "as asked for",
            f"{defined('litepulse_ring.h', 'LITEPULSE_RING_MIN')} to {defined('litepulse_ring.h', 'LITEPULSE_RING_MAX'):,}, a power of two",
            "[chardev.md](chardev.md#a-ring-for-high-rates)",
        ),
        ("programs that may launch", "1", "the holder of the claim", page),
        ("interrupts per second before moderation", f"{before:,}", f"{least:,} to {most:,}; `low_latency`: {soon:,}", tty),
        (
            "received bytes per interrupt, `rx_trig_bytes`",
            f"{defined('litepulse_tty_receive.c', 'TRIGGER_BYTES')}",
            "or older than `rx_trig_age_us`, or the line silent",
            "[tty.md](tty.md#how-soon-received-bytes-interrupt)",
        ),
        (
            "rate of the PTP clock",
            f"±{Fraction(defined('litepulse_phc.h', 'LITEPULSE_PHC_MAX_ADJ'), 10**7)} %",
            "ticks are never adjusted",
            "[ptp.md](ptp.md)",
        ),
    ]


def cable() -> list[Row]:
    """Of a board on a cable."""
    page = "[bridge.md](bridge.md)"
    fastest = Fraction(regmap.BRIDGE_WORD_MAX + 1, regmap.BRIDGE_WORD_ONE)
    return [
        ("bit rate of the bridge", f"{regmap.BRIDGE_BAUD:,} Bd", "after a reset, and after a raised rate was not used", page),
        (
            "raised bit rate",
            f"{uartbone.LOWEST_RAISED:,} to {si(SYS_HZ * fastest, 'Bd')}",
            f"up to the bus clock · {fastest}; here it has {si(SYS_HZ, 'Hz')}",
            page,
        ),
        ("a raised rate falls back after", f"{regmap.BRIDGE_FALLBACK_SECONDS} s", "without a valid command", page),
        ("bit rate of another UARTBone, by the command", f"at least {LOWEST_BAUD:,} Bd", "`--port-baud`", "[cli.md](cli.md#which-device)"),
        ("words per command of UARTBone", f"{uartbone.MAX_BURST}", "", page),
        ("payload of a checked frame", f"{regmap.BRIDGE_FRAME_MAX} bytes", "", page),
        (
            "the board stops what runs after",
            f"{WATCHDOG_SECONDS} s",
            "without its program, unless it was kept",
            "[core.md](core.md#watchdog)",
        ),
        (
            "time between two polls, by the driver",
            si(Fraction(defined("litepulse_uartbone.h", "LITEPULSE_POLL_MAX_US"), 10**6), "s") + " at most",
            "`poll_us`, `idle_us`",
            "[cable.md](cable.md)",
        ),
        (
            "time of an event by a clock of the PC",
            "±60 µs at 3 MBd, ±150 µs at 115,200 Bd",
            "computed, USB 2.0, a program reads, after 20 s; the bound is with each event",
            "[driver-admin.md](driver-admin.md#times)",
        ),
    ]


def speed() -> list[Row]:
    """What was measured."""
    page, b = "[benchmarks.md](benchmarks.md", "docs/benchmarks.md"
    linux = found(b, r"^\| edges read from the chardev[^|]*\| ([\d,]+) a second")
    loaded = found(b, r"^\| edges read from the chardev[^|]*\|[^|]*\| ([\d,]+) a second")
    ring = found(b, r"^\| edges taken from the ring[^|]*\| ([\d,]+) a second")
    board = "a board at " + found(b, r"and the simulated board at (\d+ MHz)")
    tty = found(b, r"^\| bytes read from litepulse's tty[^|]*\| ([\d,]+) baud")
    return [
        (
            "SoC, a program reads `/dev/litepulse0`",
            f"{linux} events/s",
            f"{loaded} with a loaded CPU",
            f"{page}#the-driver-beside-liteuart)",
        ),
        ("SoC, a program has a ring", f"{ring} events/s", "", "[chardev.md](chardev.md#a-ring-for-high-rates)"),
        ("SoC, a program reads the tty", f"{tty} Bd", "the highest tried without loss", f"{page}#the-driver-beside-liteuart)"),
        (
            "cable at 3 Mbaud, with the driver",
            found(b, r"^\| 3 Mbaud, none lost \| \*\*([\d,]+)\*\*") + " events/s",
            board,
            f"{page}#events)",
        ),
        (
            "cable without a limit, with the driver",
            found(b, r"^\| unlimited, none lost \| \*\*([\d,]+)\*\*") + " events/s",
            board,
            f"{page}#events)",
        ),
        *(
            (
                f"port at {rate}, without the driver",
                found(b, rf"\| {number} \| checked frames, packed \|[^\n]*?\| ([\d,]+) \| [\d.]+ \| [\d,]+ \|") + " events/s",
                found(b, rf"\| {number} \| plain \|[^\n]*?\| ([\d,]+) \| [\d.]+ \| [\d,]+ \|") + " with a bridge without frames",
                f"{page}#a-board-on-a-port-without-the-driver)",
            )
            for rate, number in (("115200 baud", "115,200"), ("3 Mbaud", "3,000,000"))
        ),
        (
            "bridge that never waits, without a driver",
            found(b, r"so at most, at 24 MHz `sys` \| ([\d,]+) records/s") + " events/s",
            "bus of 24 MHz, no serial line",
            f"{page}#events-through-the-bridge)",
        ),
    ]


def sequences() -> list[Row]:
    """Of sequences: what the package asks for, and what was measured."""
    b, page = "docs/benchmarks.md", "[benchmarks.md](benchmarks.md#sequences-on-a-port)"
    cli = "[cli.md](cli.md#sequences)"

    def port(number: str, column: int) -> str:
        rows = re.search(rf"^\| {number} \| checked frames \| ([\d,]+) \| ([\d.]+) \|", (ROOT / b).read_text("utf-8"), re.MULTILINE)
        if rows is None:
            raise SystemExit(f"{b}: no sequences at {number} baud")
        return rows[column]

    carries = found("docs/cli.md", r"carries (\d+) entries a second, [\d.]+ µs behind a wait")
    by_host = found("docs/cli.md", r"behind a wait is too near: through the computer it takes ([\d.]+) µs")
    edge, timeout = behind(1)
    core, listens = "[core.md](core.md#sequences)", cycles()["WAIT_LISTEN_CYCLES"]
    return [
        ("entries", "of any number", "a file, a list, or what a program yields", cli),
        ("from launch to launch, in the queue", time(QUEUE_MIN_CYCLES), f"{QUEUE_MIN_CYCLES} cycles", cli),
        ("entries beyond what the queue holds, `--sim`", f"{int(carries):,} entries/s", "exact, in simulated time", cli),
        ("from an edge to the launch behind a wait, in the board", time(edge), f"{edge} cycles, exact: no jitter", core),
        ("from a timeout to the launch behind it, in the board", time(timeout), f"{timeout} cycles, exact: no jitter", core),
        ("from a launch to the first edge that a wait in the board sees", time(listens), f"{listens} cycles at most", core),
        ("timeout of a wait in the board", f"from {time(WAIT_LEAST_CYCLES)}", f"{WAIT_LEAST_CYCLES} cycles", cli),
        ("from an edge to the launch behind a wait, by the computer, `--sim`", f"{by_host} µs", "by the responder: see below", cli),
        *(
            (f"port at {name}, without the driver", f"{port(number, 1)} entries/s", f"{port(number, 2)} ms behind a wait", page)
            for name, number in (("115200 baud", "115,200"), ("3 Mbaud", "3,000,000"))
        ),
        (
            "launches in a row through the driver, Linux on the SoC",
            found(b, r"\| loaded \| \*\*([\d,]+)\*\* \| [\d,]+ \|") + " entries/s",
            "CPU of 50 MHz, also with another busy process",
            "[benchmarks.md](benchmarks.md#launches-in-a-row-on-the-soc)",
        ),
        *(
            (
                f"launches in a row through the driver, a cable at {name}",
                found(b, rf"\| {name} \| \*\*([\d,]+)\*\* \| [\d,]+ \| \d+% \|") + " entries/s",
                "measured with a board of " + found(b, r"the board and its bus at\n([\d.]+) MHz") + " MHz",
                "[benchmarks.md](benchmarks.md#launches-in-a-row-on-a-cable)",
            )
            for name in ("115,200 baud", "3 Mbaud")
        ),
        ("board of the kernel driver, by the computer", "as measured at the start", f"at least {si(LAG_SECONDS, 's')} behind a wait", cli),
    ]


def tools() -> list[Row]:
    """Of the command and what it writes."""
    return [
        ("recording with `--sr`", time(MOST_SAMPLES), f"{power(MOST_SAMPLES)} ticks", "[cli.md](cli.md)"),
        ("recording with `--vcd`", "as long as the disk lasts", "unit: at most half a tick", "[cli.md](cli.md)"),
    ]


SECTIONS = {
    "Trains": trains,
    "Launches and the line": launches,
    "Sequences": sequences,
    "Responder and LIN": responder,
    "Times, inputs and queues": times,
    "Linux driver": driver,
    "A board on a cable": cable,
    "Tools": tools,
}


def by_board() -> list[str]:
    """Lines of the table of the boards."""
    c = cycles()
    out = [
        "| board | `SAMPLES=` | a tick | shortest period | longest period | highest bit rate "
        "| edge to answer, pin to pin | inputs | LIN identifiers | events held |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, board in boards.all_boards().items():
        for phy in board.phys:
            choice = choose(name, samples=PHYS[phy].samples)
            clock, samples = choice.pulse_hz, choice.samples
            shortest = Fraction(c["TRAIN_MIN_PERIOD"]) / clock
            inputs = len(choice.constraints.inputs(phy))
            cells = [
                board.title,
                samples,
                f"{float(choice.tick_ns):.3f} ns",
                f"{si(shortest, 's')} ({si(1 / shortest, 'Hz', 1)})",
                si((WORD - 2) / (clock * samples), "s", 1),
                si(clock / MIN_BIT_CYCLES, "Bd", 1),
                f"{response_ns(choice):.0f} ns",
                inputs,
                choice.lin_entries,
                f"{1 << choice.event_depth:,}",
            ]
            out.append("| " + " | ".join(map(str, cells)) + " |")
    return out


def by_events() -> list[str]:
    """Lines of the table of what the boards hold, with each of their FPGAs and variants."""
    who: dict[int, list[str]] = {}
    for name, board in boards.all_boards().items():
        for fpga in board.fpgas:
            for variant in board.variants:
                which = [*([fpga.upper()] if len(board.fpgas) > 1 else []), *([f"`VARIANT={variant}`"] if len(board.variants) > 1 else [])]
                who.setdefault(choose(name, fpga, variant).event_depth, []).append(" ".join([board.title, *which]))
    size = 4 * regmap.EVENT_WORDS
    return [
        "| events held | burst of edges without loss | their records | boards |",
        "|---|---|---|---|",
        *(f"| {1 << n:,} | {burst(n):,} edges | {burst(n) * size:,} bytes | {', '.join(names)} |" for n, names in sorted(who.items())),
    ]


def table(title: str, rows: Iterable[Row], head: str) -> list[str]:
    """Lines of a section."""
    return ["", f"## {title}", "", f"| | {head} | | where |", "|---|---|---|---|", *("| " + " | ".join(row) + " |" for row in rows)]


def page() -> str:
    """Text of docs/limits.md."""
    out = [
        f"<!-- Generated by `{COMMAND}`: do not edit. {SPDX} BSD-2-Clause -->",
        "",
        "# Limits",
        "",
        "All minimum and maximum values of LitePulse. Figures hold for the default core: a clock of",
        f"{si(CLOCK, 'Hz')} and one sample per cycle, as on an iCEBreaker or in the simulator. The third column",
        "holds for every core; a **cycle** is one period of its clock, a **tick** a cycle divided by the",
        "samples per cycle. What does not fit is refused with a message, never clamped.",
        "",
        "With several samples per cycle some constants are a few cycles longer, and so they are with other",
        "pins: [core.md](core.md#constants). None of this has been tested on hardware yet.",
        *(line for title, rows in SECTIONS.items() for line in table(title, rows(), f"at {si(CLOCK, 'Hz')}")),
        *table("Events and bytes per second", speed(), "measured"),
        "",
        "Measured on simulated systems; the pages say how.",
        "",
        "## By board",
        "",
        "`SAMPLES=` chooses where there is a choice ([boards.md](boards.md)).",
        "",
        *by_board(),
        "",
        "## Bursts that nothing reads",
        "",
        "A board holds its events until a program reads them. It stands a burst of this many edges with",
        "nobody reading; the last places are for launches, refusals and other events. An edge more is lost",
        "and counted. The depth follows the FPGA's block RAM, and the clock: many block RAMs push the logic",
        "apart, so an FPGA whose clock is near its limit has fewer. `litepulse info` shows it.",
        "",
        *by_events(),
    ]
    return "\n".join(out) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Writes or compares."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit status 1 if the page is stale")
    args = parser.parse_args(argv)
    stale = stale_files([(PAGE, page())], args.check)
    if stale and args.check:
        print(f"docs/limits.md is stale; run: {COMMAND}", file=sys.stderr)
    elif stale:
        print("wrote docs/limits.md")
    return int(args.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
