# SPDX-License-Identifier: BSD-2-Clause
"""What a board on a cable carries and what it costs the PC: measured on Debian's kernel in QEMU, with the simulated board on its USB port.

The guest's program is guest/cable_bench.c. The board's time goes by the wall clock of this machine, and so does the guest's: rates and
delays are in its seconds. Every run is checked: no event at another tick than its own, no byte wrong, none missing unless it is counted,
and the board has kept its time.
"""

import subprocess
import tempfile
from pathlib import Path
from statistics import median

from sim.guest.launches import LAUNCHES, whole_rows
from sim.measured import check, first_true, missed_lines
from sim.pc import pc_rig
from sim.pc.board import HZ

KERNEL = "6.12"
LINE_BAUD = 3_000_000  # what a USB serial adapter does at most
LINES = {"unlimited": None, "3 Mbaud": LINE_BAUD}
AIM_EVENTS, AIM_IDLE = 18_000, 0.01
GAPS = (40, 45, 50, 55, 60, 64, 72, 80, 91, 100, 111, 125, 143, 167, 200)
FLOOD_GAP = 32  # ticks: more events than any line carries; a train cannot make more
EVENT_SECONDS, EVENT_TURNS = 2, 3
# a reader may be behind this much at the end: what may be left in buffers is not sustained
BEHIND_NS = 50_000_000
IDLE_MS = 10_000
WAKES, TRAFFIC = 200, 1000  # of each kind; ticks between events of others
BAUDS = tuple(HZ // n for n in (4, 5, 8, 10, 16, 20, 32, 64))
BYTES = 20_000
LAUNCH_LINES = {"115,200 baud": 115_200, "3 Mbaud": LINE_BAUD}
LAUNCH_HZ = 500_000  # so that a slow machine keeps up while the pins are recorded
LAUNCH_TURNS, LAUNCH_WIDTH = 3, 1  # ticks
# ticks from one to the next; the core allows no fewer than 128
LAUNCH_GAPS = (
    *(128, 150, 175, 200, 225, 250, 275, 300, 310, 320, 330, 340, 350, 360, 370, 380, 390, 400, 420, 440, 460, 480, 500, 550, 600, 700),
    *(800, 900, 1000, 1200, 1400, 1600, 1700, 1750, 1800, 1850, 1900, 1950, 2000, 2100, 2200, 2300, 2400, 2600, 2800, 3000, 3500, 5000),
)
BUS_CYCLES = 49  # of an event, docs/bridge.md
STIMULUS_SECONDS = 4  # from the board's start to the first byte that others send
TTY = "/dev/ttyPULSE0"
PROGRAM = "cable_bench"
RUN_SECONDS = 300
STEADY_NS, ATTEMPTS = 10_000_000, 4  # a case at whose end the board's time is further off gives no figures


def spoken(printed):
    """[{word: [[number, ...], ...]}, ...] of a console, for each case; the first is what was before them."""
    out = [{}]
    for word, *numbers in (line.split() for line in printed):
        if word == "case":
            out.append({})
        elif all(number.lstrip("-").isdigit() for number in numbers):
            out[-1].setdefault(word, []).append([int(number) for number in numbers])
    return out


class Bench:
    """Runs guest/cable_bench.c on a PC."""

    def __init__(self, steady=True):
        """steady: the board must keep its time, else BenchError."""
        self.steady, self.guest = steady, pc_rig.boot(KERNEL)
        self.pins = []  # of the last run whose board recorded them
        self.program = self.guest.guest_program(PROGRAM)

    def run(self, *cases, before=(), when=None, **board):
        """[{word: [[number, ...], ...]}, ...] of what each of these cases printed; the first one of it is that of `before`, cases that run
        without the driver, if there are any. when: of sim.pc.rig."""
        attach, files = self.guest.attaching()
        script = "\n".join(
            [*(f"./{PROGRAM} {case} || exit 1" for case in before), attach, *(f"echo case; ./{PROGRAM} {case} || exit 1" for case in cases)]
        )
        files, boards = {**files, PROGRAM: self.program}, [{"record": False, "bus_divider": 1, **board}]
        attempts = ATTEMPTS if self.steady else 1
        while True:
            result = self.guest.run(script, files, boards=boards, when=when, seconds=RUN_SECONDS)
            figures, self.pins = spoken(result.lines), result.pins
            # On a slow line the board's time is known less well than it is kept.
            off = max(abs(case["took"][0][5]) - case["took"][0][7] for case in figures if "took" in case)
            attempts -= 1
            if off <= STEADY_NS or not attempts:
                break
        check(
            off <= STEADY_NS or not self.steady,
            f"this machine is too busy or too slow: the board's time is {off / 1e6:.0f} ms off at the end",
        )
        return figures if before else figures[1:]

    def events(self, gap, baud=None, late=0, seconds=EVENT_SECONDS, turns=EVENT_TURNS):
        """[{"made", "got", "lost", "seconds", "behind" (ns), and as cost()}, ...] of edges every `gap` ticks, one for each turn."""
        count = int(seconds * HZ / gap) // 10 * 10
        out = []
        for figures in self.run(*[f"events {gap} {count}"] * turns, wires=["tx:aux0"], baud=baud, late=late):
            got, ns, wrong, lost_board, lost_host = figures["got"][0]
            lost = lost_board + lost_host
            check(not wrong, f"{wrong} events were at wrong ticks, one every {gap} ticks")
            check((got == count) == (not lost), f"{count - got} of {count} events are missing, {lost} are reported")
            out.append({"made": count, "got": got, "lost": lost, "seconds": ns / 1e9, "behind": figures["last"][0][0], **cost(figures)})
        return out

    def fastest(self, baud):
        """The turns with the shortest of GAPS at which none loses an event or is behind at its end, with `gap`; None if there is none."""
        kept = {}

        def lossless(gap):
            kept[gap] = self.events(gap, baud)
            return all(not turn["lost"] and turn["behind"] < BEHIND_NS for turn in kept[gap])

        gap = first_true(lossless, GAPS)
        return gap and {"gap": gap, "turns": kept[gap]}

    def launches(self, gap, baud=None, count=LAUNCHES, turns=LAUNCH_TURNS):
        """[{"sustained": whether all pulses in a row have left at their ticks, and as cost()}, ...], one every `gap` ticks."""
        board = {"record": True, "hz": LAUNCH_HZ}
        cases = self.run(*[f"launches {count} {gap} {LAUNCH_WIDTH}"] * turns, baud=baud, **board)
        whole = whole_rows([figures["row"][0] for figures in cases], self.pins, gap, LAUNCH_WIDTH, count)
        return [{"sustained": sustained, **cost(figures)} for sustained, figures in zip(whole, cases)]

    def fastest_launches(self, baud):
        """The turns with the shortest of LAUNCH_GAPS at which all are sustained, with `gap`; None if there is none."""
        kept = {}

        def sustained(gap):
            kept[gap] = self.launches(gap, baud)
            return all(turn["sustained"] for turn in kept[gap])

        gap = first_true(sustained, LAUNCH_GAPS)
        return gap and {"gap": gap, **{key: median(turn[key] for turn in kept[gap]) for key in ("busy", "thread", "requests")}}

    def idle(self, ms=IDLE_MS):
        """{"without": cost, "attached": cost} while no program uses it."""
        without, attached = self.run(f"idle {ms}", before=[f"idle {ms}"])
        return {"without": cost(without), "attached": cost(attached)}

    def wakes(self, traffic, count=WAKES, baud=None, when=None):
        """{"delays": [ns, ...], "uncertainty": median of theirs, ns, "losses": how often events were lost, and as cost()} from a launch
        to the program that waits for its event."""
        (figures,) = self.run(f"wake {count} {traffic}", baud=baud, when=when)
        delays, uncertainties = zip(*figures["wake"])
        check(len(delays) == count, f"{count - len(delays)} of {count} launches were not reported")
        return {"delays": list(delays), "uncertainty": median(uncertainties), "losses": figures["losses"][0][0], **cost(figures)}

    def tty(self, case, tty_baud, baud, count=BYTES):
        """{"baud", "bytes", "got", "seconds", and as cost()} of bytes in a row."""
        with tempfile.TemporaryDirectory() as folder:
            options = ()
            if case == "receive":
                stimulus = Path(folder) / "bytes"
                stimulus.write_text(frames(STIMULUS_SECONDS * HZ, count, HZ // tty_baud))
                options = ("--stimulus", stimulus)
            (figures,) = self.run(f"{case} {TTY} {tty_baud} {count}", baud=baud, wires=["tx:rx"] if case == "loop" else (), options=options)
        (got, ns, wrong), (received, sent, framing, overruns, full) = figures["got"][0], figures["counts"][0]
        sound = (received if case != "send" else count) == (sent if case != "receive" else count) == count
        if case != "send":
            check(got < count or not wrong, f"{case}, {tty_baud} baud: {wrong} bytes are wrong though none is missing")
        return {
            "baud": tty_baud,
            "bytes": count,
            "sound": bool(sound and not framing + overruns + full + wrong),
            "seconds": ns / 1e9,
            **cost(figures),
        }

    def best_tty(self, case, baud):
        """That of the highest of BAUDS at which nothing is lost, with `rate`, bytes per second."""
        kept = {}

        def lossless(tty_baud):
            kept[tty_baud] = self.tty(case, tty_baud, baud)
            return kept[tty_baud]["sound"]

        found = first_true(lossless, BAUDS)
        return found and {**kept[found], "rate": BYTES / kept[found]["seconds"]}


def cost(figures):
    """Of what was done: {"busy": share of the CPU that was not idle, "thread": share of the driver's thread, "requests": a second,
    "repeats", "board_seconds": of the board, which may have been behind before and catch up}."""
    ((passed, busy, thread, requests, repeats, _, board, _),) = figures["took"]
    return {
        "busy": busy / passed,
        "thread": thread / passed,
        "requests": requests * 1e9 / passed,
        "repeats": repeats,
        "board_seconds": board / 1e9,
    }


def frames(tick, count, bit):
    """A stimulus: bytes that the guest's program expects, in a row on RX from `tick` on, `bit` ticks for each bit."""
    out, level = [], 1
    for number in range(count):
        byte = number * 7 & 255
        for place, new in enumerate((0, *(byte >> k & 1 for k in range(8)), 1)):
            if new != level:
                out.append(f"{tick + (10 * number + place) * bit} rx {new}\n")
                level = new
    return "".join(out)


def spin(program):
    """(ns of a million rounds of a loop, ns of ten thousand system calls) on this machine itself."""
    words = subprocess.run([program, "spin"], capture_output=True, text=True, check=True).stdout.split()
    return [int(number) for number in words[1:]]


def summary(turns):
    """Of the turns at one rate: {"events" made, "lost", "carried": per second, "busy", "thread", "requests", "repeats"}."""
    each = [{**turn, "carried": turn["got"] / turn["seconds"]} for turn in turns]
    return {
        "events": sum(turn["made"] for turn in each),
        "lost": sum(turn["lost"] for turn in each),
        **{key: median(turn[key] for turn in each) for key in ("carried", "busy", "thread", "requests")},
        "repeats": sum(turn["repeats"] for turn in each),
    }


def spread(delays):
    """Median and extremes."""
    return {"count": len(delays), "median": median(delays), "least": min(delays), "most": max(delays)}


def measure():
    """All figures, of JSON's types; `missed`: what falls short of an aim, a line each."""
    bench = Bench()
    here, there = spin(bench.program), bench.run("idle 1", before=["spin"])[0]["spin"][0]
    figures = {"slower": [guest / host for guest, host in zip(there, here)], "idle": bench.idle(), "events": {}, "wakes": {}, "ttys": {}}
    for line, baud in LINES.items():
        best = bench.fastest(baud)
        figures["events"][line] = {
            "best": best and {"gap": best["gap"], **summary(best["turns"])},
            "flood": summary(bench.events(FLOOD_GAP, baud)),
        }
        for name, traffic in (("nothing else happens", 0), (f"{HZ // TRAFFIC:,} other events a second happen", TRAFFIC)):
            found = bench.wakes(traffic, baud=baud)
            figures["wakes"].setdefault(line, {})[name] = {**spread(found["delays"]), "uncertainty": found["uncertainty"]}
        figures["ttys"][line] = {case: bench.best_tty(case, baud) for case in ("send", "receive", "loop")}
    figures["missed"] = shortcomings(figures)
    return figures


def measure_launches():
    """{line: fastest_launches()}, of JSON's types."""
    bench = Bench()
    return {line: bench.fastest_launches(baud) for line, baud in LAUNCH_LINES.items()}


def shortcomings(figures):
    """What falls short of the aims."""
    best, idle = figures["events"]["3 Mbaud"]["best"], figures["idle"]["attached"]["busy"]
    rate = HZ / best["gap"] if best else 0
    found = [f"{rate:,.0f} events/s without loss at 3 Mbaud, not {AIM_EVENTS:,}"] if rate < AIM_EVENTS else []
    if idle >= AIM_IDLE:
        found.append(f"{idle:.1%} of the emulated CPU while idle, not under {AIM_IDLE:.0%}")
    return found


INTRODUCTION = f"""Debian's Linux {KERNEL} in QEMU, its `ftdi_sio`, the driver, and the simulated board at {HZ // 10**6} MHz
([cable-rig.md](develop/cable-rig.md)). Board, guest and this machine have the same seconds.

- `3 Mbaud`: bytes pass each way no faster than 300,000 a second; `unlimited`: at once.
- What USB itself and an adapter's latency timer (1 ms at least) add is not simulated.
- The board's bus is slow, too: {HZ / 10**6:g} MHz, 24 on an iCEBreaker.
- Its bridge packs answers, as those of all boards but the iCEBreaker do
  ([bridge.md](bridge.md#packed-answers))."""

LIMITS = {
    "events": f"""What limits is the board's FIFO of 256 events, 16 of them not for edges. It holds the events that
an answer brings until a later request frees them, and those that happen meanwhile. So it has to
last for four requests, of which two are under way ([bridge.md](bridge.md#why-frames-wait)), and for
as long as the guest or the adapter is late.

An event is 6 bytes on the line and {BUS_CYCLES} cycles of the board's bus
([bridge.md](bridge.md#packed-answers)). At {HZ // 10**6} MHz the bus carries {HZ // BUS_CYCLES:,} events a second, which is
less than the line would.""",
    "wakes": """\
What limits: a board on a cable cannot interrupt. The driver polls it `poll_us` (1000) after an
answer that brought something; while none does, it backs off to every `idle_us` (10000). A delay is
a round trip and what is left of that interval.""",
    "ttys": """What limits: a received byte is a record of 8 bytes, of which those that repeat are left out on the
cable. Of bytes to be sent at most 220 are in a request. The board holds 512, whose room is looked
at with each answer. Both directions share the requests.""",
    "cpu": """What limits: each poll is a transfer each way on USB, an interrupt for each, a work queue that hands
over what came, and two switches to the driver's thread. While idle there is one every `idle_us`, or
a thirtieth as many if no program wants to know anything, as here.""",
}


LAUNCH_LIMITS = f"""What limits is how soon the queue is refilled. It holds 64 launches, and the driver learns at a
poll that 16 of them have left. For up to 56 launches it asks the board for its session and its
tick. Then it sends four requests of 14 launches, two at a time. Between these it polls the board,
which brings the outcomes.

A request of 14 launches is 236 bytes. It takes 27 ms at 115,200 baud, and 3.5 ms at 3 Mbaud, of
which more than half are the board's bus. The core itself allows a launch every 128 cycles,
{LAUNCH_HZ // 128:,} a second at {LAUNCH_HZ / 10**6:g} MHz."""


def lines(figures):
    """The tables of measure()."""
    rounds, calls = figures["slower"]
    out = [
        INTRODUCTION,
        "",
        f"QEMU computes the guest's CPU. It takes {rounds:.1f} times as long as this machine for a loop, {calls:.1f} times",
        "for system calls, so its shares of the CPU are upper bounds. `CPU` is all that was not idle,",
        "`thread` the driver's thread, a part of it.",
        "",
        "### Events",
        "",
        f"Edges, evenly spaced, {EVENT_SECONDS} s in a row, read by a program; {EVENT_TURNS} times.",
        "",
        "| line | events per second | events made | lost | requests per second | CPU | thread |",
        "|---|---|---|---|---|---|---|",
    ]

    def row(line, rate, each):
        return (
            f"| {line} | {rate} | {each['events']:,} | {each['lost']:,} | {each['requests']:,.0f} | {each['busy']:.0%} | "
            f"{each['thread']:.0%} |"
        )

    for line, found in figures["events"].items():
        best, flood = found["best"], found["flood"]
        if best:
            out.append(row(f"{line}, none lost", f"**{HZ / best['gap']:,.0f}**", best))
        else:
            out.append(f"| {line}, none lost | less than {HZ / GAPS[-1]:,.0f} | - | - | - | - | - |")
        out.append(row(f"{line}, {HZ // FLOOD_GAP:,} a second happen", f"{flood['carried']:,.0f} carried", flood))
    out += [
        "",
        LIMITS["events"],
        "",
        "### Delay",
        "",
        f"From a launch to the return of `poll()` in a program that waits for its event, {WAKES} each,",
        "anywhere between two polls.",
        "",
        "| line | while | median, ms | least | most | uncertainty of each, median |",
        "|---|---|---|---|---|---|",
    ]
    out += [
        f"| {line} | {name} | {each['median'] / 1e6:.2f} | {each['least'] / 1e6:.2f} | {each['most'] / 1e6:.2f} | "
        f"±{each['uncertainty'] / 1e6:.2f} |"
        for line, found in figures["wakes"].items()
        for name, each in found.items()
    ]
    out += [
        "",
        LIMITS["wakes"],
        "",
        "### Bytes of the tty",
        "",
        f"{BYTES:,} in a row, the highest of the bauds tried at which none is lost. The board's clock allows",
        f"{BAUDS[0]:,}.",
        "",
        "| line | | baud | bytes per second | CPU | thread |",
        "|---|---|---|---|---|---|",
    ]
    names = {"send": "sent", "receive": "received", "loop": "sent and received, each"}
    for line, found in figures["ttys"].items():
        for case, each in found.items():
            if each:
                rate = each["baud"] / 10 if case == "receive" else each["rate"]
                out.append(f"| {line} | {names[case]} | {each['baud']:,} | {rate:,.0f} | {each['busy']:.0%} | {each['thread']:.0%} |")
            else:
                out.append(f"| {line} | {names[case]} | less than {BAUDS[-1]:,} | - | - | - |")
    out += [
        "",
        LIMITS["ttys"],
        "",
        "### While idle",
        "",
        f"{IDLE_MS // 1000} s, no program reads, nothing happens.",
        "",
        "| | CPU | thread | requests per second |",
        "|---|---|---|---|",
    ]
    out += [
        f"| {name} | {each['busy']:.2%} | {each['thread']:.2%} | {each['requests']:,.0f} |"
        for name, each in (("without the driver", figures["idle"]["without"]), ("attached", figures["idle"]["attached"]))
    ]
    out += ["", LIMITS["cpu"]]
    return out + missed_lines(figures["missed"])


def launch_lines(figures):
    """The table of measure_launches()."""
    out = [
        "How many launches a second a program can feed to the queue, none late. The PC and the simulated",
        "board are those of [a board on a cable](#a-board-on-a-cable), the board and its bus at",
        f"{LAUNCH_HZ / 10**6:g} MHz; by the wall clock.",
        "",
        f"A program writes {LAUNCHES:,} pulses to its claim ([chardev.md](chardev.md#timed-launches)), evenly",
        "spaced, as the queue has room for them. It reads the outcome of each. The rate is the highest of",
        f"those tried at which all of them leave at their ticks, by the pin, {LAUNCH_TURNS} times in a row.",
        "",
        "| line | launches a second | requests per second | CPU | thread |",
        "|---|---|---|---|---|",
    ]
    for line, best in figures.items():
        if best:
            cells = (f"**{LAUNCH_HZ / best['gap']:,.0f}**", f"{best['requests']:,.0f}", f"{best['busy']:.0%}", f"{best['thread']:.0%}")
        else:
            cells = (f"less than {LAUNCH_HZ / LAUNCH_GAPS[-1]:,.0f}", "-", "-", "-")
        out.append(f"| {line} | {' | '.join(cells)} |")
    return [*out, "", LAUNCH_LIMITS]
