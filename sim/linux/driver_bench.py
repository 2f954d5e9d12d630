# SPDX-License-Identifier: BSD-2-Clause
"""What the driver costs and how soon it answers, beside liteuart: measured on one booted Linux, in cycles of the simulated SoC.

The guest's program is programs/bench.c. What the CPU has left is what another process gets done meanwhile, so a cost is all of it:
interrupts, workers, wake-ups, system calls and the reading program itself, caches they spoil included. Every run is checked: no byte
wrong, none missing unless it is counted. The same run gives the same figures, cycle by cycle.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from sim.guest.launches import LAUNCHES, whole_rows
from sim.guest.pins import changes
from sim.linux import linux_rig
from sim.measured import check, first_true, missed_lines

CPU = "vexriscv"
HZ = 50_000_000  # of bus and core: a tick is a cycle
NS_PER_CYCLE = 10**9 // HZ
LOADS = ("idle", "loaded")
BAUDS = (9600, 115200, 1_000_000)
SECONDS = Fraction(1, 10)  # of bytes in a row for a cost
LATENCIES = 24  # for a distribution
LATENCY_BAUD = 115200
SPACING, SHIFT = 620_000, 23_431  # cycles between stimuli, so that each meets the scheduler's tick elsewhere
PLACES = [k * SPACING + k * k * SHIFT % SPACING // 2 for k in range(LATENCIES)]
LEAD = 1_000_000  # cycles from the program's word to the first stimulus, more than it sleeps, loaded or not
# cycles
EVENT_PERIODS = (200, 225, 250, 275, 300, 333, 366, 400, 450, 500, 550, 600, 650, 700, 750, 800, 900, 1000, 1250, 1500, 2000, 3000, 5000)
EVENTS = 20_000  # in a row, ten times what driver and board can hold
WAYS = {"events": "read from the chardev", "ring": "taken from the ring of a file"}
EVENTS_AIM = {"events": {"idle": 100_000, "loaded": 100_000}, "ring": {"idle": 150_000}}  # a second
RX_BAUDS = (57600, 115200, 230400, 460800, 921600, 1_000_000, 1_500_000, 2_000_000, 3_000_000, 4_000_000, 6_250_000, 12_500_000)
RX_BYTES, RX_SECONDS = 16_384, Fraction(3, 10)  # in a row, whichever is less
# cycles from one to the next
LAUNCH_PERIODS = (
    *(500, 550, 600, 650, 700, 750, 800, 850, 900, 950, 1000, 1050, 1100, 1200, 1300, 1400, 1500, 1600, 1800, 2000, 2250, 2500, 2750, 3000),
    *(3500, 4000, 4500, 5000, 5500, 6000, 6500, 7000, 7500, 8000, 8500, 9000, 10_000, 12_500, 15_000, 20_000, 25_000, 50_000),
)
LAUNCH_WIDTH = 24
LAUNCH_LEADS = (2_000_000, 2_170_000, 2_340_000)  # cycles to the first one: each meets the scheduler's tick elsewhere
BEHIND = 1_000_000  # cycles a reader may be behind at the end, 20 ms: what may be left in buffers is not sustained


# Settings of /sys/class/tty/ttyPULSE0/: interrupt for each byte; for half a FIFO, or when the line falls silent.
TRIGGERS = "/sys/class/tty/ttyPULSE0/rx_trig_"
EACH = f"echo 1 >{TRIGGERS}bytes"
SHARED = f"echo 256 >{TRIGGERS}bytes; echo 200000 >{TRIGGERS}age_us"


@dataclass(frozen=True)
class Port:
    """A serial port of the guest, and its pins."""

    title: str
    path: str
    interrupt: str  # what /proc/interrupts calls it
    rx: str
    tx: str
    irq: str
    handler: str


PULSE = Port("litepulse", "/dev/ttyPULSE0", ".serial", "rx", "tx", "irq", "asked")
PEER = Port("liteuart", "/dev/ttyLXU1", "liteuart", "peer_rx", "peer_tx", "peer_irq", "peer_asked")
PORTS = (PULSE, PEER)


def frames(tick, data, baud, places=()):
    """([(tick, level)], [tick of each start edge], tick of the last one's end): 8N1, at these `places` from `tick` on, or in a row."""
    wave, starts, start = [], [], tick
    for number, byte in enumerate(data):
        start = tick + (places[number] if places else Fraction(10 * HZ, baud) * number)
        starts.append(int(start))
        levels = [0, *(byte >> bit & 1 for bit in range(8)), 1]
        wave += [(int(start + Fraction(k * HZ, baud)), level) for k, level in enumerate(levels)]
    kept = [entry for before, entry in zip([(0, 1), *wave], wave) if entry[1] != before[1]]
    return kept, starts, int(start + Fraction(10 * HZ, baud))


class Answers:
    """What programs/bench.c printed."""

    def __init__(self, result):
        self.pins = result.pins
        self.lines = [line.split() for line in result.lines]

    def all(self, word):
        """Rows that begin with it."""
        return [row[1:] for row in self.lines if row[:1] == [word]]

    def numbers(self, word):
        """... of the last one."""
        return [int(number) for number in self.all(word)[-1]]

    def interrupts(self, port):
        """Of a port, while it was measured; the console is a liteuart, too, but writes nothing then."""
        half = len(self.all("interrupts")) // 2

        def count(rows):
            mine = [int(number) for number, name in rows if name.endswith(port.interrupt)]
            return mine[0] if mine else 0

        rows = self.all("interrupts")
        return count(rows[half:]) - count(rows[:half])

    def cycles(self):
        """(cycles that passed, cycles the CPU was busy with it)."""
        (free_ns, free_rounds), (ns, rounds) = self.numbers("free"), self.numbers("took")
        cycles = Fraction(ns, NS_PER_CYCLE)
        return cycles, cycles - rounds * Fraction(free_ns, NS_PER_CYCLE) / free_rounds

    def rises(self, pin, since=0):
        """Ticks at which a pin went up."""
        return [tick for tick, level in changes(self.pins, pin) if level and tick >= since]


def environment(guest):
    """A shell command that gives programs of a guest the addresses of registers."""
    registers = guest.machine.description["csr_registers"]
    return f"export CONSOLE={registers['uart_rxtx']['addr']:#x} PEER_TUNING={registers['peer_phy_tuning_word']['addr']:#x}"


class Bench:
    """Runs programs/bench.c on a booted guest with the driver."""

    def __init__(self, cpu=CPU):
        self.guest = linux_rig.boot_with_driver(cpu)
        self.environment = environment(self.guest)

    def run(self, words, stimulus=(), before="", max_cycles=200_000_000):
        """Answers to `bench WORDS`; stimulus: (ticks from the program's word, pin, level)."""
        lines = ["after ready go", *(f"+{tick} {pin} {level}" for tick, pin, level in stimulus)] if stimulus else ()
        return Answers(
            self.guest.run_program("bench", words.split(), before=f"{self.environment}\n{before}", stimulus=lines, max_cycles=max_cycles)
        )

    def receive(self, port, baud, count, load, before=""):
        """(Answers, bytes got, cycles from the last byte's end to the last read)."""
        wave, _, end = frames(LEAD, [k * 7 & 255 for k in range(count)], baud)
        answers = self.run(f"rx {port.path} {baud} {count} {load}", [(tick, port.rx, level) for tick, level in wave], before)
        got, wrong, _ = answers.numbers("got")
        check(got == count and not wrong or got < count, f"{port.title}, {baud} baud: {wrong} bytes are wrong though none is missing")
        # from the program's word to the window's begin it sleeps 4 ms, to within a few 0.1 ms
        return answers, got, int(answers.cycles()[0]) + 4 * HZ // 1000 - end

    def cost(self, port, direction, baud, load, title=None, before=""):
        """{interrupts, cycles: per byte, busy: share of the CPU} of bytes in a row; title: of the settings that `before` makes."""
        count = int(SECONDS * baud / 10)
        if direction == "rx":
            answers, got, _ = self.receive(port, baud, count, load, before)
        else:
            answers, got = self.run(f"tx {port.path} {baud} {count} {load}"), count
            seen = [byte for _, byte in sent(answers.pins, port, baud)]
            check(seen == [k * 7 & 255 for k in range(count)], f"{port.title}, {baud} baud: the pin has other bytes")
        passed, busy = answers.cycles()
        return {
            "port": title or port.title,
            "direction": direction,
            "baud": baud,
            "load": load,
            "bytes": count,
            "lost": count - got,
            "interrupts": answers.interrupts(port) / count,
            "cycles": float(busy / count),
            "busy": float(busy / passed),
        }

    def to_read(self, load):
        """Distances from an edge of an input to interrupt, handler and the program that waits for it."""
        answers = self.run(f"edge {LATENCIES} {load}", [(LEAD + tick, "aux0", 1 - k % 2) for k, tick in enumerate(PLACES)])
        return steps(answers, PULSE, [tick for tick, _ in changes(answers.pins, "aux0")])

    def byte_to_read(self, port, load, before=""):
        """The same from the begin of a received byte's stop bit."""
        wave, starts, _ = frames(LEAD, [0x55] * LATENCIES, LATENCY_BAUD, PLACES)
        answers = self.run(f"byte {port.path} {LATENCY_BAUD} {LATENCIES} {load}", [(tick, port.rx, level) for tick, level in wave], before)
        # to recorded ticks: all are as far behind as the first one is
        late = changes(answers.pins, port.rx)[0][0] - starts[0]
        return steps(answers, port, [start + late + int(Fraction(9 * HZ, LATENCY_BAUD)) for start in starts])

    def to_start_bit(self, port, load):
        """From before write() to the start bit."""
        answers = self.run(f"write {port.path} {LATENCY_BAUD} {LATENCIES} {load}")
        falls = [tick for tick, level in changes(answers.pins, port.tx) if not level]
        starts = [tick for before, tick in zip([0, *falls], falls) if tick - before > 10 * HZ // LATENCY_BAUD]
        marks = answers.rises("printed")
        # the newest mark before each
        return {"pin": [tick - max(mark for mark in marks if mark < tick) for tick in starts[-LATENCIES:]]}

    def keeps_up(self, way, load):
        """The shortest of EVENT_PERIODS at which no event is lost and the program is not behind; None if none. way: a key of WAYS."""

        def lossless(period):
            edges = [(LEAD + k * period, "aux0", 1 - k % 2) for k in range(EVENTS)]
            answers = self.run(f"{way} {EVENTS} {load} {EVENTS * period * 1000 // HZ + 500}", edges)
            got, gaps, _ = answers.numbers("got")
            lost = sum(answers.numbers("stats")[3:5])
            check((got == EVENTS and not gaps) == (not lost), f"{way}: {EVENTS - got} of {EVENTS} events are missing, {lost} are reported")
            return not lost and answers.cycles()[0] + 4 * HZ // 1000 - edges[-1][0] < BEHIND

        return first_true(lossless, EVENT_PERIODS)

    def launches(self, period, load, lead=LAUNCH_LEADS[0], count=LAUNCHES):
        """Whether all pulses in a row, one every `period` cycles, have left at their ticks."""
        answers = self.run(f"launches {count} {period} {LAUNCH_WIDTH} {lead} {load}", max_cycles=300_000_000 + count * period)
        (whole,) = whole_rows([answers.numbers("row")], answers.pins, period, LAUNCH_WIDTH, count)
        return whole

    def fastest_launches(self, load):
        """The shortest of LAUNCH_PERIODS that is sustained with each of LAUNCH_LEADS; None if none is."""
        return first_true(lambda period: all(self.launches(period, load, lead) for lead in LAUNCH_LEADS), LAUNCH_PERIODS)

    def fastest(self, port, load):
        """The highest of RX_BAUDS at which no byte is lost and the reader is not behind; None if none."""

        def lossless(baud):
            count = min(RX_BYTES, int(RX_SECONDS * baud / 10))
            _, got, behind = self.receive(port, baud, count, load)
            return got == count and behind < BEHIND

        return first_true(lossless, RX_BAUDS[::-1])


def sent(pins, port, baud):
    """[(tick, byte)] that a port has sent, each with the tick of its start edge."""
    wave, found, until = changes(pins, port.tx), [], 0
    bit = Fraction(HZ, baud)
    level, edges = 1, iter([*wave, (1 << 62, 1)])
    entry = next(edges)

    def level_at(tick):
        nonlocal level, entry
        while entry[0] <= tick:
            level, entry = entry[1], next(edges)
        return level

    for tick, value in wave:
        if tick < until or value:
            continue
        found.append((tick, sum(level_at(tick + int((k + Fraction(3, 2)) * bit)) << k for k in range(8))))
        until = tick + int(Fraction(19, 2) * bit)
    return found


def steps(answers, port, begins):
    """{step: cycles from each begin}: `irq` the line, `handler` its first access, `read` the program's mark behind read()."""
    marks = answers.rises("printed", begins[0])[: len(begins)]
    check(len(marks) == len(begins) and all(mark > tick for mark, tick in zip(marks, begins)), f"{port.title}: marks and stimuli differ")
    irqs, handlers = answers.rises(port.irq), answers.rises(port.handler)
    found = {"irq": [], "handler": [], "read": [mark - tick for mark, tick in zip(marks, begins)]}
    for tick in begins:
        irq = min(rise for rise in irqs if rise >= tick)
        found["irq"].append(irq - tick)
        found["handler"].append(min(rise for rise in handlers if rise >= irq) - tick)
    return found


def spread(cycles):
    """Median and extremes."""
    return {"median": median(cycles), "least": min(cycles), "most": max(cycles)}


def measure(workers=2):
    """All figures, of JSON's types: `costs`, `latencies`, `events`, `bauds`; `missed`: what falls short of an aim, a line each."""
    bench = Bench()
    with ThreadPoolExecutor(workers) as pool:
        costs = [
            pool.submit(bench.cost, port, direction, baud, load)
            for direction in ("rx", "tx")
            for baud in BAUDS
            for load in LOADS
            for port in PORTS
        ]
        costs += [pool.submit(bench.cost, PULSE, "rx", baud, load, "shared", SHARED) for baud in BAUDS for load in LOADS]
        latencies = {}
        for load, word in zip(LOADS, ("alone", "loaded")):
            latencies |= {
                ("edge", "chardev", load): pool.submit(bench.to_read, word),
                ("byte", "litepulse", load): pool.submit(bench.byte_to_read, PULSE, word),
                ("byte", "each", load): pool.submit(bench.byte_to_read, PULSE, word, EACH),
                ("byte", "liteuart", load): pool.submit(bench.byte_to_read, PEER, word),
                ("write", "litepulse", load): pool.submit(bench.to_start_bit, PULSE, word),
                ("write", "liteuart", load): pool.submit(bench.to_start_bit, PEER, word),
            }
        events = {way: {load: pool.submit(bench.keeps_up, way, load) for load in LOADS} for way in WAYS}
        bauds = {port.title: {load: pool.submit(bench.fastest, port, load) for load in LOADS} for port in PORTS}
        figures = {
            "costs": [cost.result() for cost in costs],
            "latencies": [
                {"from": what, "port": port, "load": load, "step": step, **spread(cycles)}
                for (what, port, load), found in latencies.items()
                for step, cycles in found.result().items()
            ],
            "events": {way: {load: period.result() for load, period in found.items()} for way, found in events.items()},
            "bauds": {port: {load: baud.result() for load, baud in found.items()} for port, found in bauds.items()},
        }
    figures["missed"] = shortcomings(figures)
    return figures


def measure_launches(workers=2):
    """{load: fastest_launches()}, of JSON's types."""
    bench = Bench()
    with ThreadPoolExecutor(workers) as pool:
        found = {load: pool.submit(bench.fastest_launches, load) for load in LOADS}
        return {load: period.result() for load, period in found.items()}


def cost_of(figures, port, direction, baud, load):
    """The one of `costs`, None if there is none."""
    keys = ("port", "direction", "baud", "load")
    found = [cost for cost in figures["costs"] if tuple(cost[key] for key in keys) == (port, direction, baud, load)]
    return found[0] if found else None


def ratio(figures, direction, baud, load):
    """liteuart's cycles per byte to LitePulse's with coalescing on."""
    mine = cost_of(figures, "shared", direction, baud, load) or cost_of(figures, "litepulse", direction, baud, load)
    return cost_of(figures, "liteuart", direction, baud, load)["cycles"] / mine["cycles"]


def shortcomings(figures):
    """What falls short of the aims: a tenth of liteuart's cycles per byte where it has a CPU left to need more, EVENTS_AIM."""
    found = [
        f"{direction} at {baud} baud, {load}: {times:.1f} times cheaper per byte than liteuart, not 10"
        for direction in ("rx", "tx")
        for baud in BAUDS
        for load in LOADS
        if (times := ratio(figures, direction, baud, load)) < 10 and not is_full(cost_of(figures, "liteuart", direction, baud, load))
    ]
    for way, aims in EVENTS_AIM.items():
        for load, aim in aims.items():
            period = figures["events"][way][load]
            rate = HZ // period if period else 0
            if rate < aim:
                found.append(f"{rate:,} events/s {WAYS[way]}, {load}, not {aim:,}")
    return found


def is_full(cost):
    """Whether the CPU was fully busy while these bytes were on the line, or too busy to take them
    all."""
    return bool(cost["lost"]) or cost["cycles"] > Fraction(95, 100) * 10 * HZ / cost["baud"]


def cost_text(cost):
    """Interrupts and cycles per byte of a cost, for a table."""
    if cost is None:
        return "- | -"
    full = ", CPU full" if is_full(cost) else ""
    lost = f", **{cost['lost']} of {cost['bytes']:,} bytes lost**" if cost["lost"] else ""
    return f"{cost['interrupts']:.3f} | {cost['cycles']:,.0f}{full}{lost}"


INTRODUCTION = f"""VexRiscv at {HZ // 10**6} MHz, 4 KB caches, lean kernel; figures are cycles of the bus, and exact: the same sources give
the same. The cost of a byte is all that the CPU no longer has for others: interrupts, workers, wake-ups, the program that
reads or writes, and the caches they spoil. `idle`: all else is a process of the idle class; `loaded`: one of the same
priority that wants the whole CPU.

Bytes in a row for {float(SECONDS):g} s. `shared`: `rx_trig_bytes` 256, `rx_trig_age_us` 200000. Where it says `CPU full`, nothing was left
to anybody while bytes came; liteuart's program then reads rarely and much at a time, so a byte would cost more on a faster CPU."""


LAUNCH_LIMITS = """\
What limits: the CPU's work for each launch, `write()` and reading the outcome. The queue holds 64
launches and wakes the program when 16 of them have left, so the program may be late by 48 periods."""


def lines(figures):
    """The tables of measure()."""
    out = [
        INTRODUCTION,
        "",
        " | ".join(
            [
                "| | baud | load",
                *(f"{port}: interrupts per byte | cycles" for port in ("litepulse", "shared", "liteuart")),
                "times cheaper |",
            ]
        ),
        "|---|" + "---|" * 9,
    ]
    for direction, name in (("rx", "received"), ("tx", "sent")):
        for baud in BAUDS:
            for load in LOADS:
                cells = [cost_text(cost_of(figures, port, direction, baud, load)) for port in ("litepulse", "shared", "liteuart")]
                least = "at least " if is_full(cost_of(figures, "liteuart", direction, baud, load)) else ""
                out.append(f"| {name} | {baud:,} | {load} | {' | '.join(cells)} | {least}{ratio(figures, direction, baud, load):.1f} |")
    names = {"edge": "edge of an input", "byte": f"begin of a byte's stop bit, {LATENCY_BAUD} baud", "write": "before write()"}
    ports = {"chardev": "chardev", "litepulse": "tty", "each": "tty, `rx_trig_bytes` 1", "liteuart": "liteuart's tty"}
    to = {"irq": "interrupt line", "handler": "handler's first access", "read": "behind read()", "pin": "start bit"}
    out += [
        "",
        f"Delays in cycles, {LATENCIES} each. A lone byte is reported after four frames of silence"
        f" ({40 * HZ // LATENCY_BAUD:,} cycles)"
        " unless `rx_trig_bytes` is 1.",
        "",
        "| from | to | by | load | median | least | most |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in figures["latencies"]:
        cells = (
            names[row["from"]],
            to[row["step"]],
            ports[row["port"]],
            row["load"],
            f"{row['median']:,.0f}",
            f"{row['least']:,}",
            f"{row['most']:,}",
        )
        out.append(f"| {' | '.join(cells)} |")
    out += [
        "",
        f"Without loss, and the program at most {BEHIND * 1000 // HZ} ms behind at the end:",
        "",
        "| what | idle | loaded |",
        "|---|---|---|",
    ]
    for way, found in figures["events"].items():
        rates = [f"{HZ // period:,} a second, {period:,} cycles each" if period else "none of those tried" for period in found.values()]
        out.append(f"| edges {WAYS[way]}, {EVENTS:,} in a row | {' | '.join(rates)} |")
    for port, found in figures["bauds"].items():
        cells = [f"{found[load]:,} baud" if found[load] else f"less than {RX_BAUDS[0]:,} baud" for load in LOADS]
        out.append(f"| bytes read from {port}'s tty, {RX_BYTES:,} or {float(RX_SECONDS):g} s in a row | {' | '.join(cells)} |")
    return out + missed_lines(figures["missed"])


def launch_lines(figures):
    """The table of measure_launches()."""
    out = [
        "How many launches a second a program can feed to the queue, none late. The Linux and the loads are",
        f"those of [the driver beside liteuart](#the-driver-beside-liteuart), {HZ // 10**6} MHz; exact.",
        "",
        f"A program writes {LAUNCHES:,} pulses of {LAUNCH_WIDTH} ticks to its claim",
        "([chardev.md](chardev.md#timed-launches)), evenly spaced, as the queue has room for them. It reads",
        "the outcome of each. The period is the shortest of those tried at which all of them leave at their",
        f"ticks, by the pin. It held in each of {len(LAUNCH_LEADS)} runs, which begin at other places of the scheduler's tick.",
        "",
        "| load | launches a second | cycles from one to the next |",
        "|---|---|---|",
    ]
    for load, period in figures.items():
        rate = f"**{HZ // period:,}** | {period:,}" if period else f"less than {HZ // LAUNCH_PERIODS[-1]:,} | -"
        out.append(f"| {load} | {rate} |")
    return [*out, "", LAUNCH_LIMITS]
