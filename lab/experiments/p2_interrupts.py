# SPDX-License-Identifier: BSD-2-Clause
"""P2: how often a UART interrupts, what buffering it costs in latency, and whether the time of each byte is still known."""

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction

from lab.experiments import p2_packets, soc
from lab.experiments.experiment import COMPUTED, PUBLISHED, RTL, Chart, Experiment, Series, Step, check
from sim.guest.pins import changes
from sim.linux.driver_bench import PEER, PULSE, frames

HZ, MS = soc.HZ, soc.MS
FILE = 48_890  # bytes of the study's file
LEAD = 30 * MS  # from the program's word to the first byte
LATE = 400_000  # us: a timeout that comes only when the line has fallen silent
FULL = 450  # bytes: a watermark that 50 ms do not reach; the board holds 512
SERVICE_US = 100  # the study's cost of an interrupt


@dataclass(frozen=True)
class Setting:
    """When LitePulse interrupts: when this many bytes wait, or when the oldest has waited this long (us, 0: never)."""

    watermark: int
    timeout_us: int

    @property
    def title(self):
        """For people."""
        if self.watermark == 1:
            return "each byte"
        return f"{self.watermark} bytes or {self.timeout_us / 1000:g} ms"


# The board's timer is up to 0.7 ms late, and read() needs up to 1 ms more. At 19200 baud FULL is 234 ms: a wake-up may be late by 30 ms.
EACH, LONG_WAIT, SHORT_WAIT = Setting(1, 0), Setting(FULL, 199_000), Setting(FULL, 9_900)
SWEEP = (EACH, Setting(16, LATE), Setting(64, LATE), Setting(256, LATE), SHORT_WAIT, Setting(FULL, 50_000), LONG_WAIT)
BAUDS = (1200, 9600, 115_200, 3_000_000)  # and 19200, with all of SWEEP
HALF_FULL = Setting(256, 200_000)  # where 200 ms are more bytes than the board holds
RING = Setting(64, 200_000)  # four bytes of a run are one place
RING_BAUDS = (115_200, 3_000_000)
# Ways to LitePulse's bytes, in the tables.
WHO = {"chardev": "LitePulse", "ring": "LitePulse, ring", "tty": "LitePulse, tty"}
TTY_BAUDS = (1200, 9600, 19_200, 115_200, 3_000_000)
FIFO_16550 = (1, 4, 8, 14)  # its trigger levels


def length(baud, seconds):
    """Bytes of the file that are sent: all, or what fits into `seconds`."""
    return min(FILE, int(seconds * baud / 10))


def measure(port, baud, count, words):
    """Figures of a run of guest/receive.c that reads `count` bytes in a row.

    `interrupts`: in all; `per_second`: from the first to the last while bytes come. `waits_us`: the longest from the begin of a byte's
    stop bit to an interrupt; `latency_us`: the least and the longest to the return of the read() that has it. `error_ticks`: the least and
    the most by which the time of a byte is wrong. For the chardev that is the tick it gives; for a tty the moment at which read()
    returned, less the soonest of them.
    """
    wave, starts, end = frames(LEAD, [k * 7 & 255 for k in range(count)], baud)
    answers = soc.run(words, [(tick, port.rx, level) for tick, level in wave], max_cycles=end + 2000 * MS)
    got, wrong, reads = answers.numbers("got")
    # A tty does not report what it has lost.
    reported = bool(answers.all("error"))
    least, most, lost = answers.numbers("error") if reported else (0, None, count - got)
    check(got + lost == count, f"{port.title}, {baud} baud: {count - got} bytes are missing, {lost} reported")
    check(not wrong or lost and not reported, f"{port.title}, {baud} baud: {wrong} bytes are wrong")
    # The stimulus counts from the program's word; all is as far behind as the first edge is.
    late = changes(answers.pins, port.rx)[0][0] - starts[0]
    stop = [start + late + int(Fraction(9 * HZ, baud)) for start in starts]
    marks = answers.rises("printed", starts[0] + late)[:reads]
    sizes = answers.numbers("sizes")
    check(len(marks) == len(sizes) == reads, f"{port.title}: {len(marks)} marks for {reads} reads")
    irqs = [rise for rise in answers.rises(port.irq) if stop[0] <= rise <= marks[-1]]
    latencies: list[int] = []  # unless bytes were lost
    waits: list[int] = []
    if not lost:
        read_at = [mark for mark, size in zip(marks, sizes) for _ in range(size)]
        latencies = [mark - tick for mark, tick in zip(read_at, stop, strict=True)]
        check(min(latencies) > 0, f"{port.title}, {baud} baud: a byte was read before it had come")
        # A byte is there in the middle of its stop bit. The next interrupt brings it, unless it was read before: then it came while one
        # was served, and waited for none.
        there = [tick + HZ // (2 * baud) for tick in stop]
        nexts = [irqs[at] if (at := bisect_left(irqs, tick)) < len(irqs) else mark + 1 for tick, mark in zip(there, read_at)]
        waits = [irq - tick if irq < mark else 0 for irq, tick, mark in zip(nexts, stop, read_at)]
    passed, busy = answers.cycles()
    # The interrupt that comes when the line has fallen silent says nothing of the rate.
    steady = [rise for rise in irqs if rise <= stop[-1] + HZ * 10 // baud]
    span = Fraction(steady[-1] - steady[0], HZ) if len(steady) > 1 else Fraction(count * 10, baud)
    return {
        "baud": baud,
        "bytes": count,
        "lost": lost,
        "told": reported,
        "interrupts": len(irqs),
        "per_second": float(max(len(steady) - 1, 1) / span),
        "waits_us": float(Fraction(max(waits) * 10**6, HZ)) if waits else None,
        "cpu": float(busy / passed),
        "latency_us": [float(Fraction(one * 10**6, HZ)) for one in (min(latencies), max(latencies))] if latencies else None,
        "error_ticks": [least, most] if reported else [0, max(latencies) - min(latencies)] if latencies else None,
    }


def receive(baud, setting, seconds, way="chardev"):
    """LitePulse's figures: by `read()`, or way "ring" by a packed ring."""
    count = length(baud, seconds)
    found = measure(PULSE, baud, count, ["receive", way, baud, count, "idle", setting.watermark, setting.timeout_us])
    check(found["error_ticks"] == [0, 0], f"{baud} baud, {setting.title}: the bytes' ticks are wrong by {found['error_ticks']}")
    return {**found, "who": WHO[way], "setting": setting.title}


def receive_tty(port, baud, seconds):
    """A tty's, with its driver's own settings."""
    count = length(baud, seconds)
    who = PEER.title if port == PEER else WHO["tty"]
    return {**measure(port, baud, count, ["receive", "tty", port.path, baud, count, "idle"]), "who": who, "setting": "its driver"}


def arithmetic(baud, level):
    """A 16550 with a trigger level: [interrupts a second, us that its first byte waits]. Bytes in a row, so its timeout never comes."""
    return [float(Fraction(baud, 10 * level)), float(Fraction((level - 1) * 10**7, baud))]


def steps(long):
    """All settings at 19200 baud, some at the others, and liteuart's driver. The long variant sends the whole file from 19200 baud on."""
    made = []

    def add(name, title, baud, seconds, run):
        if long and baud >= 19_200:
            seconds = FILE
        taken = min(seconds, FILE * 10 / baud)
        made.append(
            Step(f"{name}-{baud}", f"{length(baud, seconds):,} bytes at {baud:,} baud: {title}", 15 + 45 * taken, lambda: run(seconds))
        )

    for setting in SWEEP:
        seconds = 1.05 if setting == LONG_WAIT else 0.5
        add(
            f"{setting.watermark}-{setting.timeout_us}",
            setting.title,
            19_200,
            seconds,
            lambda seconds, setting=setting: receive(19_200, setting, seconds),
        )
    for baud in BAUDS:
        for setting in (EACH, LONG_WAIT if baud < 19_200 else HALF_FULL):
            seconds = 0.3 if setting == EACH else 1.05 if baud < 19_200 else 0.5
            add(
                f"{setting.watermark}-{setting.timeout_us}",
                setting.title,
                baud,
                seconds,
                lambda seconds, baud=baud, setting=setting: receive(baud, setting, seconds),
            )
    for baud in RING_BAUDS:
        add("ring", f"a packed ring, {RING.title}", baud, 0.3, lambda seconds, baud=baud: receive(baud, RING, seconds, "ring"))
    for baud in TTY_BAUDS:
        add("tty", "LitePulse's tty", baud, 0.3, lambda seconds, baud=baud: receive_tty(PULSE, baud, seconds))
        add("liteuart", "liteuart's driver", baud, 0.3, lambda seconds, baud=baud: receive_tty(PEER, baud, seconds))
    return [*made, *p2_packets.steps(long)]


def ms(us):
    """Microseconds for a table in ms."""
    return f"{us / 1000:,.3f}"


def error_us(one):
    """By how much the times of the bytes are wrong, in us; None if bytes are missing and it is not reported which."""
    return (one["error_ticks"][1] - one["error_ticks"][0]) * 10**6 / HZ if one["error_ticks"] else None


def most_bytes(found):
    """A sentence about the highest rate: which way is without loss, and what the others lose."""
    whole = [one["who"] for one in found.values() if one["baud"] == max(BAUDS) and not one["lost"]]
    lossy = [one for one in found.values() if one["baud"] == max(BAUDS) and one["lost"]]
    sentences = [f"Without loss: {'; '.join(dict.fromkeys(whole))}." if whole else "No way is without loss."]
    if lossy:
        sentences.append("Where bytes are lost, LitePulse reports how many to a program that reads events; a tty cannot.")
    return " ".join(sentences)


def tables(found):
    """The study's columns, and what it could not have."""
    network = p2_packets.tables(found)
    found = {name: one for name, one in found.items() if not one.get("packets")}
    if not found:
        return network[1:]
    out = [
        f"Bytes in a row, the Linux SoC at {HZ // 10**6} MHz ({RTL}). A byte waits from the begin of its stop bit until an interrupt,",
        "and until the program has it, by `read()` or, of a ring, by `poll()`; the longest of all. The error of a byte's time is that of",
        "the tick that it comes with. A tty has none: there it is how much the moments of `read()` wander. CPU is the share that others no",
        f"longer had. The file has {FILE:,} bytes; the table says how many of them were sent. At 3,000,000 baud a byte comes every",
        f"{HZ * 10 // 3_000_000} cycles of the CPU. {most_bytes(found)}",
        "",
        "| who | interrupts for | baud | bytes | interrupts a second | until the interrupt, ms | until the program, ms | CPU "
        "| error of a byte's time, µs | lost |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in sorted(found.values(), key=lambda one: (one["baud"], one["who"] != PEER.title, one["who"], -one["per_second"])):
        error = error_us(one)
        wrong = "-" if error is None else f"{error:,.0f}" if error else "0, each to the tick"
        waits, latency = (ms(one["waits_us"]), ms(one["latency_us"][1])) if not one["lost"] else ("-", "-")
        reported = "reported" if one["told"] else "not reported"
        lost = f"**{one['lost']:,}**, {reported}" if one["lost"] else "0"
        out.append(
            f"| {one['who']} | {one['setting']} | {one['baud']:,} | {one['bytes']:,} | {one['per_second']:,.1f} | {waits} "
            f"| {latency} | {max(one['cpu'], 0):.1%} | {wrong} | {lost} |"
        )
    out += [
        "",
        f"A 16550 at 19,200 baud, {COMPUTED}: what its first byte waits for others, and the study's {SERVICE_US} µs of CPU for each",
        "interrupt.",
        "",
        "| who | interrupts for | interrupts a second | first byte waits, ms | CPU |",
        "|---|---|---|---|---|",
    ]
    for level in FIFO_16550:
        rate, waits = arithmetic(19_200, level)
        out.append(f"| 16550 | {level} bytes | {rate:,.1f} | {ms(waits)} | {rate * SERVICE_US / 10**6:.2%} |")
    out += [
        f"| the study ({PUBLISHED}) | 1 byte | 1,920 | 0.521 | 19.20% |",
        f"| the study ({PUBLISHED}) | its buffer | 5.02 | 200 | 0.05% |",
    ]
    goals = [
        ("5 interrupts a second at 200 ms", f"{LONG_WAIT.watermark}-{LONG_WAIT.timeout_us}-19200", 5, 200_000),
        ("100 below 11 ms", f"{SHORT_WAIT.watermark}-{SHORT_WAIT.timeout_us}-19200", 100, 11_000),
    ]
    sentences = []
    for what, name, rate, limit in goals:
        if name in found:
            one = found[name]
            reached = one["per_second"] <= rate and one["error_ticks"] == [0, 0] and one["waits_us"] <= limit
            read = f"; until the program {ms(one['latency_us'][1])} ms" if one["latency_us"] else ""
            sentences.append(f"{what}: {'reached' if reached else '**missed**'} ({one['per_second']:.2f}, {ms(one['waits_us'])} ms{read})")
    if sentences:
        out += ["", f"The goals at 19,200 baud: a byte waits for its interrupt, its time has no error. {'. '.join(sentences)}."]
    return out + network


def charts(found):
    """Interrupts against latency, and the error of the time against interrupts."""
    rows = [one for one in found.values() if one["baud"] == 19_200 and one.get("latency_us")]
    mine = sorted((one for one in rows if one["who"] == WHO["chardev"]), key=lambda one: one["per_second"])
    peer = [one for one in rows if one["who"] == PEER.title]
    if not mine:
        return []

    def series(name, ones, ours):
        return Series(
            name,
            [one["per_second"] for one in ones],
            [one["latency_us"][1] / 1000 for one in ones],
            RTL,
            ours=ours,
            labels=[f"{one['setting']}, error of a byte's time {one['error_ticks'][1] * 10**6 / HZ:,.0f} µs" for one in ones],
        )

    computed = [arithmetic(19_200, level) for level in FIFO_16550]
    return [
        Chart(
            "p2-interrupts",
            "19,200 baud: interrupts against latency",
            "interrupts a second",
            "latency at most [ms]",
            [
                series("LitePulse: the tick of each byte is exact", mine, True),
                *([series("liteuart", peer, False)] if peer else []),
                Series(
                    "16550, what its first byte waits",
                    [rate for rate, _ in computed],
                    [max(waits, 1e7 / 19_200) / 1000 for _, waits in computed],
                    COMPUTED,
                    ours=False,
                    labels=[f"{level} bytes" for level in FIFO_16550],
                ),
                Series("the study", [1920, 5.02], [0.521, 200], PUBLISHED, ours=False, labels=["1 byte", "its buffer"]),
            ],
            log="xy",
        )
    ]


P2 = Experiment(
    "p2",
    "interrupts against latency",
    "A UART interrupts for each byte, unless it buffers. What does buffering save, what does it cost, and does one still know when a byte "
    "came?",
    "19200 baud: 1,920 interrupts a second, 19.2 % of the CPU at 100 µs each. Buffers made that 5.02, but a byte then waits up to 200 ms "
    "instead of 0.521, and its time is no longer known.",
    steps,
    tables,
    charts,
)
