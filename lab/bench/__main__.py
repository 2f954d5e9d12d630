# SPDX-License-Identifier: BSD-2-Clause
"""The project's figures: `make bench` measures them all, prints them and writes docs/benchmarks.md.

Every part keeps its result in build/bench.json with command, machine and date, so that one can be measured again alone; the page
is made of what is there.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import datetime, timezone
from fractions import Fraction
from math import floor
from pathlib import Path

from litex_soc import SPDX
from sim.measured import ROOT, build_folder, missed_lines, sources_state

PAGE = ROOT / "docs" / "benchmarks.md"
COMMAND = "python -m lab.bench"
FORMAT = 2  # of the results that are kept; those of another one are measured again
CORE_TESTS = 'make test ARGS="sim/core"'
AIM = 5_000_000  # simulated cycles of the core per second
ROUNDS, WINDOW = 5, 1.2  # of each kind of load in turn, seconds
BURST = 255  # words, the most UARTBone reads at once
# bursts requested in advance, to see what the bridge takes when it never waits for the host
PIPELINED = 40
SIZE_SECONDS = 1800  # after which synthesis has hung
PROMISES = {
    1: "precise or not at all",
    2: "timed beats best-effort",
    3: "identical frames",
    4: "no drift",
    5: "a timestamp means the pin",
    6: "no silent loss",
    7: "nothing else moves the edges",
    "all": "all at once",
}


class BenchError(RuntimeError):
    """A figure could not be measured, or what was measured is wrong; the message is one line."""


# What a figure was measured on ------------------------------------------------------------------------------------------------


def machine():
    """Processor, cores and what else kept them busy."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"(?m)^model name\s*:\s*(.+)$", text)
    mhz = re.search(r"(?m)^cpu MHz\s*:\s*([\d.]+)$", text)
    return {
        "processor": model[1].strip() if model else "unknown processor",
        "mhz": round(float(mhz[1])) if mhz else None,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


# The simulated SoC ------------------------------------------------------------------------------------------------------------


class Running:
    """The simulated SoC, its client and the processor time it has used."""

    def __init__(self, process, device):
        self.process, self.device = process, device
        from litepulse.layout import regs

        self.regs = regs
        self.events = regs.WINDOW_BASE + regs.REGIONS["EVENTS"][0]

    def cpu_seconds(self):
        """Of the simulator."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def burst(self):
        """(header, words) of the event window, as much as one command reads."""
        from litepulse.streams import Header

        words = self.device.registers.bus.read(self.events, BURST)
        return Header.decode(words), words

    def acknowledge(self, position, count):
        """Frees `count` records."""
        self.device.registers.write_window(self.regs.REGIONS["EVENTS"][0], [count | (position & 0x7FFF) << 16 | 1 << 31])

    def records(self, words, ready):
        """The records of a burst as lists of words."""
        first, width = self.regs.HEADER_WORDS, self.regs.EVENT_WORDS
        return [words[i : i + width] for i in range(first, first + width * min(ready, (BURST - first) // width), width)]


@contextmanager
def simulated(*options):
    """A Running one: as fast as it can while its client is connected, nothing recorded."""
    from litepulse.backends import connect_port
    from litex_soc import sim_soc

    program = sim_soc.build()
    process = subprocess.Popen(
        [str(program), "--tcp", "0", "--exit-with-parent", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    device = None
    try:
        device = connect_port(f"tcp:127.0.0.1:{json.loads(process.stdout.readline())['tcp']}")
        yield Running(process, device)
    finally:
        if device:
            device.close()
        process.stdin.close()
        try:
            process.wait(timeout=20)
        finally:
            process.kill()
            process.wait()
        process.stdout.close()


def measure_speed():
    """Cycles of the core per second: nothing going on, a 58 Hz train with a silent host, the same with one that reads without end.

    The three take turns in one program, so that their ratios say more than the machine's load does.
    """
    from litepulse.line import Launch, Profile
    from litepulse.streams import Event
    from litepulse.units import BitPeriod, Period

    windows = {"nothing": [], "train": [], "traffic": []}
    with simulated("--loop-tx-rx") as soc:
        device, bursts = soc.device, 0

        def window(name, load):
            cycles, cpu, begin, count = device.now(), soc.cpu_seconds(), time.monotonic(), 0
            while time.monotonic() - begin < WINDOW:
                count += load()
            cycles = device.now() - cycles
            windows[name].append((cycles, time.monotonic() - begin, soc.cpu_seconds() - cpu, count))

        def silent():
            time.sleep(WINDOW)
            return 0

        def reading():
            soc.burst()
            return 1

        device.line.set_profile(1, Profile(BitPeriod(5000 * 256, device.identity.timescale.tick_hz)))  # 9600 baud at 48 MHz
        device.registers.write_fields("event_mask", tx_train=1)
        exact, seen, start = device.identity.timescale.tick_hz / 58, [], None
        for _ in range(ROUNDS):
            window("nothing", silent)
            device.train.start(Launch("frame", data=0xFF, profile=1), Period(floor(exact), *(exact % 1).as_integer_ratio()))
            window("train", silent)
            window("traffic", reading)
            bursts += windows["traffic"][-1][3]
            device.train.stop()
            ticks = [record.tick for record in device.recorder.events.drain() if isinstance(record, Event) and record.kind == "tx"]
            if any(tick != ticks[0] + floor(n * exact) for n, tick in enumerate(ticks)):
                raise BenchError(f"the 58 Hz train was not exact, so its speed is no figure: {ticks[:5]}")
            seen.append(len(ticks))
            start = device.now()
            while device.registers.read_status().train_running or device.now() < start + 100_000:
                pass
        if min(seen) < 1 or sum(seen) < 2 * ROUNDS:
            raise BenchError(f"{sum(seen)} pulses of the 58 Hz train are too few: this machine is too busy to measure anything")
        if device.recorder.events.lost:
            raise BenchError(f"{device.recorder.events.lost} records of the 58 Hz train were lost")
    out: dict[str, object] = {"pulses": sum(seen)}
    for name, rows in windows.items():
        rates = [cycles / wall for cycles, wall, _, _ in rows]
        out[name] = {
            "per_second": statistics.median(rates),
            "best": max(rates),
            "per_cpu_second": statistics.median(c / max(cpu, 0.01) for c, _, cpu, _ in rows),
            "cpu_share": sum(r[2] for r in rows) / sum(r[1] for r in rows),
        }
    out["bursts_per_second"] = bursts / sum(wall for _, wall, _, _ in windows["traffic"])
    return out


def dense_train(soc):
    """Starts a dense train with 11 records per pulse (its start and ten edges that come back): more than the bridge can drain.

    Returns its period, ticks.
    """
    from litepulse.layout import CHANGE_MIN_PERIOD
    from litepulse.line import Launch, Profile
    from litepulse.units import BitPeriod, Period

    device = soc.device
    device.line.set_profile(1, Profile(BitPeriod(16 * 256, device.identity.timescale.tick_hz)))
    channel = device.identity.inputs
    device.registers.configure(("capture_edges", 1 << channel | 1 << 16 + channel))
    device.registers.write_fields("event_mask", tx_train=1, edge=1)
    period = CHANGE_MIN_PERIOD * device.identity.samples_per_cycle
    device.train.start(Launch("frame", 0x55, profile=1), Period(period, 0, 1))
    while soc.burst()[0].ready < 200:
        pass
    return period


def drain_alternately(soc, period):
    """{"raw", "decoded"}: records per second, taken and acknowledged in full bursts; decoded by litepulse or not.

    `period`: of the train, ticks.

    Each {"per_second": of wall-clock time, "per_cpu_second": of simulator and client together}.
    """
    from litepulse.streams import Event, EventStream

    most = (BURST - soc.regs.HEADER_WORDS) // soc.regs.EVENT_WORDS
    decoder, found, short, rates = EventStream(), [], 0, {"raw": [], "decoded": []}
    for name in ("raw", "decoded") * ROUNDS:
        begin, cpu, count, decoder.next_seq = time.monotonic(), soc.cpu_seconds() + time.process_time(), 0, None
        while time.monotonic() - begin < WINDOW:
            header, words = soc.burst()
            records = soc.records(words, header.ready)
            if name == "decoded":
                for record in records:
                    found += decoder.feed(record, header.tick)
            soc.acknowledge(header.position, len(records))
            count, short = count + len(records), short + (len(records) < most)
        cpu = soc.cpu_seconds() + time.process_time() - cpu
        rates[name].append((count / (time.monotonic() - begin), count / max(cpu, 0.01)))
    starts = [record.tick for record in found if isinstance(record, Event) and record.kind == "tx"]
    if not starts or decoder.broken or any((tick - starts[0]) % period for tick in starts):
        raise BenchError(f"the records drained are wrong: {len(starts)} pulses, {decoder.broken} records missing untold")
    names = ("per_second", "per_cpu_second")
    medians = {name: dict(zip(names, map(statistics.median, zip(*rows)))) for name, rows in rates.items()}
    return {**medians, "records": len(found), "lost": decoder.lost, "short": short}


def drain_pipelined(soc):
    """What the bridge itself takes: bursts and acknowledgements sent in advance, so that it never waits for the host.

    {"cycles": of `sys` from one burst of full records to the next, least and most, "mean": exact, "records": per burst}
    """
    from litepulse.streams import Header

    regs, stream = soc.regs, soc.device.registers.bus.stream
    records = (BURST - regs.HEADER_WORDS) // regs.EVENT_WORDS
    position = soc.burst()[0].position
    read = bytes((2, BURST)) + (soc.events // 4).to_bytes(4, "big")
    frames = b""
    for n in range(PIPELINED):
        word = records | ((position + n * records) & 0x7FFF) << 16 | 1 << 31
        frames += read + bytes((1, 1)) + (soc.events // 4).to_bytes(4, "big") + word.to_bytes(4, "big")
    stream.send(frames)
    size, data, end = 4 * BURST, b"", time.monotonic() + 30
    while len(data) < size * PIPELINED:
        if time.monotonic() > end:
            raise BenchError(f"{len(data)} of {size * PIPELINED} bytes came")
        data += stream.receive(1)
    headers = []
    for n in range(PIPELINED):
        burst = data[n * size : (n + 1) * size]
        headers.append(Header.decode([int.from_bytes(burst[i : i + 4], "big") for i in range(0, 4 * regs.HEADER_WORDS, 4)]))
    if any(h.ready < records or h.position != (position + n * records) & 0xFFFF for n, h in enumerate(headers)):
        raise BenchError("not every burst was full, or an acknowledgement got lost")
    from litex_soc import sim_soc

    ratio = Fraction(sim_soc.PULSE_HZ * soc.device.identity.samples_per_cycle, sim_soc.SYS_HZ)  # ticks of a sys cycle
    steps = [Fraction(b.tick - a.tick) / ratio for a, b in zip(headers, headers[1:])]
    return {
        "least": str(min(steps)),
        "most": str(max(steps)),
        "mean": str(sum(steps) / len(steps)),
        "records": records,
        "bytes": size,
        "sys_hz": sim_soc.SYS_HZ,
    }


def measure_drain():
    """Records drained through the bridge."""
    with simulated("--loop-tx-rx") as soc:
        out = drain_alternately(soc, dense_train(soc))
        again = [drain_pipelined(soc) for _ in range(3)]
        soc.device.session.quiet()
    if len({run["mean"] for run in again}) > 1:
        raise BenchError(f"cycles per burst differ from run to run: {', '.join(run['mean'] for run in again)}")
    return {**out, "bridge": again[0]}


# Exactness --------------------------------------------------------------------------------------------------------------------


def expected_rows():
    """[(promise, pattern)] of every figure that the tests of the whole core note."""
    found = []
    for file in sorted((ROOT / "sim" / "core").glob("tb_*.py")):
        for promise, _, what in re.findall(r"\bfigure\(\s*(\"all\"|\d+),\s*(f?)\"([^\"]*)\"", file.read_text()):
            pattern = re.escape(re.sub(r"\{[^}]*\}", "\0", what)).replace(re.escape("\0"), ".+").replace("\0", ".+")
            found.append(("all" if promise == '"all"' else int(promise), pattern))
    return found


def measure_exactness(path=None):
    """What the tests of the whole core noted: {"rows", "missing", "older", "noted"}; BenchError if they noted nothing."""
    path = path or build_folder() / "exactness.json"
    try:
        noted = json.loads(path.read_text()).values()
        written = path.stat().st_mtime
    except OSError:
        raise BenchError(f"no exactness noted yet: `{CORE_TESTS}` runs the tests that do") from None
    except ValueError as error:
        raise BenchError(f"{path.name} is damaged ({error}): `{CORE_TESTS}` after removing it") from None
    rows = {}
    for row in noted:
        what = re.sub(r"^random scene \d+$", "random scenes", row["what"])
        sums = rows.setdefault((row["promise"], what), {"stimuli": 0, "error": None, "simulators": set(), "samples": set()})
        sums["stimuli"] += row["stimuli"]
        if row["largest_error_ticks"] is not None:  # else records were compared, no waveform
            sums["error"] = max(sums["error"] or Fraction(0), abs(Fraction(row["largest_error_ticks"])))
        sums["simulators"].add(row["simulator"])
        sums["samples"].add(row["samples_per_cycle"])
    missing = sorted(
        {
            str(promise)
            for promise, pattern in expected_rows()
            if not any(row["promise"] == promise and re.fullmatch(pattern, row["what"]) for row in noted)
        }
    )
    hdl = max(file.stat().st_mtime for file in (ROOT / "hdl").rglob("*.sv"))
    return {
        "missing": missing,
        "older": hdl > written,
        "noted": datetime.fromtimestamp(written, timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "rows": [
            {
                "promise": promise,
                "what": what,
                "stimuli": sums["stimuli"],
                "error": None if sums["error"] is None else str(sums["error"]),
                "simulators": sorted(sums["simulators"]),
                "samples": sorted(sums["samples"]),
            }
            for (promise, what), sums in sorted(rows.items(), key=str)
        ],
    }


# Size -------------------------------------------------------------------------------------------------------------------------


def measure_size():
    """What litex_soc.size says; it writes docs/develop/size.md, too."""
    result = subprocess.run(
        [sys.executable, "-m", "litex_soc.size", "--json"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=SIZE_SECONDS,
    )
    try:
        return json.loads(result.stdout[result.stdout.index("{") :])
    except ValueError:
        lines = (result.stderr or result.stdout).strip().splitlines() or ["nothing"]
        raise BenchError(f"python -m litex_soc.size failed: {lines[-1]}") from None


def measure_linux():
    """What the driver costs on the simulated Linux SoC, beside liteuart."""
    from sim.linux import driver_bench

    return driver_bench.measure()


def measure_cable():
    """What a board on a cable carries, and what it costs the PC."""
    from sim.pc import cable_bench

    return cable_bench.measure()


def measure_launches():
    """Launches that are fed into the queue of the simulated Linux SoC."""
    from sim.linux import driver_bench

    return driver_bench.measure_launches()


def measure_port():
    """What a board on a serial port carries without the driver."""
    from lab.bench import port

    return port.measure()


def measure_sequence():
    """What a board on a serial port carries of a sequence without the driver."""
    from lab.bench import sequence

    return sequence.measure()


def measure_python():
    """What the Python package makes of events, beside NumPy and csv.writer."""
    from lab.bench import python

    return python.measure()


# The page ---------------------------------------------------------------------------------------------------------------------

PARTS = {
    "speed": ("The simulated SoC", measure_speed),
    "drain": ("Events through the bridge", measure_drain),
    "exactness": ("Exactness", measure_exactness),
    "size": ("Size and clock on an iCE40 UP5K", measure_size),
    "linux": ("The driver beside liteuart", measure_linux),
    "launches": ("Launches in a row on the SoC", measure_launches),
    "cable": ("A board on a cable", measure_cable),
    "port": ("A board on a port, without the driver", measure_port),
    "sequence": ("Sequences on a port", measure_sequence),
    "python": ("Events in Python", measure_python),
}


def mega(value):
    """Millions, two digits after the point."""
    return f"{value / 1e6:.2f} M/s"


def speed_lines(r):
    """The table of measure_speed()."""
    names = {
        "nothing": "nothing going on (the peer)",
        "train": "58 Hz train of 0xFF at 9600 baud, host silent",
        "traffic": "the same train, host reading 255-word bursts without a pause",
    }
    base = r["nothing"]["per_cpu_second"]
    out = [
        "Cycles of the core (48 MHz simulated; the bus has half as many) per second. The loads take turns in one program.",
        "",
        f"| load | per wall-clock second, median of {ROUNDS} | best | per second of its CPU time | to the peer, by CPU time |",
        "|---|---|---|---|---|",
    ]
    out += [
        f"| {text} | {mega(r[key]['per_second'])} | {mega(r[key]['best'])} | {mega(r[key]['per_cpu_second'])} | "
        f"{r[key]['per_cpu_second'] / base:.2f} |"
        for key, text in names.items()
    ]
    share = min(r[key]["cpu_share"] for key in ("nothing", "train"))
    worst = r["train"]["per_second"]
    out += [
        "",
        f"The aim is {AIM / 1e6:.0f} M/s with the train running: {'reached' if worst >= AIM else '**not reached**'}"
        f" ({worst / AIM:.2f} of it by wall clock, {r['train']['per_cpu_second'] / AIM:.2f} by CPU time). "
        f"The simulator, which can use one core, had {share:.0%} of it.",
        f"With traffic: {r['bursts_per_second']:,.0f} bursts ({r['bursts_per_second'] * BURST:,.0f} words) per second. "
        f"All {r['pulses']:,} train pulses were at their exact ticks, none lost.",
    ]
    return out


def drain_lines(r):
    """The table of measure_drain()."""
    bridge, mean = r["bridge"], Fraction(r["bridge"]["mean"])
    per_record = mean / bridge["records"]
    span = f"{float(mean):.10g} on average, {bridge['least']} to {bridge['most']}"
    if bridge["least"] == bridge["most"]:
        span = f"{bridge['mean']}, each time"

    def rate(name):
        return (
            f"{r[name]['per_second']:,.0f} per wall-clock second, {r[name]['per_cpu_second']:,.0f} per second of CPU time (both programs)"
        )

    return [
        "Full bursts: 255 words hold the header and 62 records of 4 words; each burst is acknowledged by one write. A train",
        f"makes records faster than they can be taken, so the FIFO is never short of them; what it loses is counted ({r['lost']:,} here).",
        "",
        "| what | figure |",
        "|---|---|",
        f"| records taken and acknowledged, host only copies them (the peer) | {rate('raw')} |",
        f"| the same, decoded by the `litepulse` package | {rate('decoded')}, "
        f"{r['decoded']['per_cpu_second'] / r['raw']['per_cpu_second']:.2f} of the peer by CPU time |",
        f"| `sys` cycles per burst and its acknowledgement, bridge never waiting | {span}, exact |",
        f"| `sys` cycles per record | {float(per_record):.4f} ({per_record}), exact |",
        f"| so at most, at {bridge['sys_hz'] / 1e6:.0f} MHz `sys` | {float(bridge['sys_hz'] / per_record):,.0f} records/s |",
        f"| bytes from the bridge per record | {bridge['bytes'] / bridge['records']:.2f} |",
        "",
        "The exact figures are of the simulated bridge, whose byte stream is no serial line: on one the bytes are the limit. "
        f"{r['records']:,} records were decoded: no gap untold, every pulse at its tick; {r['short']} bursts were not full.",
    ]


def exactness_lines(r):
    """The two tables of measure_exactness()."""
    out = [
        f"Noted by the tests of the whole core (`{CORE_TESTS}`), last at {r['noted']}. The error is the largest distance of an",
        "edge of a pin from its place. Where a test compares records instead of waveforms there is none: what differs at all",
        "has failed. No comparison has a tolerance, so a test notes its row only after it held; a row stays until",
        "its test runs again, and whether all pass is for `make test` to say. Stimuli are summed over simulators and S.",
    ]
    if r["older"]:
        out.append("**Sources in hdl/ are newer than these figures.**")
    if r["missing"]:
        out.append(f"**Incomplete: some tests of promise {', '.join(r['missing'])} have noted nothing; `{CORE_TESTS}` runs them.**")
    out += ["", "| promise | stimuli tried | largest error seen, ticks |", "|---|---|---|"]
    for promise, name in PROMISES.items():
        rows = [row for row in r["rows"] if row["promise"] == promise]
        errors = [Fraction(row["error"]) for row in rows if row["error"] is not None]
        seen = max(errors) if errors else "records only, all equal" if rows else "not noted"
        out.append(f"| {promise} {name} | {sum(row['stimuli'] for row in rows):,} | {seen} |")
    out += ["", "| promise | what | stimuli | largest error, ticks | simulators | S |", "|---|---|---|---|---|---|"]
    return out + [
        f"| {row['promise']} | {row['what']} | {row['stimuli']:,} | "
        f"{'records' if row['error'] is None else row['error']} | {', '.join(row['simulators'])} | "
        f"{', '.join(map(str, row['samples']))} |"
        for row in r["rows"]
    ]


def size_lines(r):
    """The SoC's figures; those of the blocks are in docs/develop/size.md."""
    from litex_soc.size import CELLS, CLOCKS, RAMS

    out = [
        "Yosys and nextpnr; every block alone: [size.md](develop/size.md), written by the same run.",
        "",
        " | ".join(
            [
                f"| what | logic cells | of | block RAMs of {RAMS}",
                *(f"`{clock}` MHz, {mhz:.0f} needed" for clock, mhz in CLOCKS.items()),
                "verdict |",
            ]
        ),
        "|---|---|---|---|" + "---|" * len(CLOCKS) + "---|",
    ]

    def row(name, result, of, verdict):
        fmax = result.get("fmax")
        clocks = " | ".join(str(fmax.get(clock, "-")) if fmax else "not placed" for clock in CLOCKS)
        return f"| {name} | {result['LC']:,} | {of:,} | {result['RAM']} | {clocks} | {verdict} |"

    for result in r["soc"]:
        fits = result["LC"] <= CELLS and result["RAM"] <= RAMS
        met = all(result["fmax"].get(clock, 0) >= mhz for clock, mhz in CLOCKS.items())
        out.append(
            row(
                f"SoC with LitePulse, seed {result['seed']}" if fits else "SoC with LitePulse",
                result,
                CELLS,
                "**does not fit**" if not fits else "fits, both clocks met" if met else "fits, **clocks not met**",
            )
        )
        if not fits:
            break  # other seeds have nothing to place either
    if r.get("bridge"):
        out.append(row("the same SoC without it", r["bridge"], CELLS, "fits"))
    core = r.get("blocks", {}).get("litepulse")
    if core:
        out.append(row("the core alone, packed", core, CELLS, "fits"))
    out += missed_lines(r.get("missed", ()))
    if not any(result["fmax"] for result in r["soc"]):
        out += ["", "What does not fit is not placed, so there is no clock frequency to report."]
    return out


def linux_lines(r):
    """The tables of measure_linux()."""
    from sim.linux import driver_bench

    return driver_bench.lines(r)


def cable_lines(r):
    """The tables of measure_cable()."""
    from sim.pc import cable_bench

    return cable_bench.lines(r)


def launches_lines(r):
    """The table of measure_launches()."""
    from sim.linux import driver_bench

    return driver_bench.launch_lines(r)


def port_lines(r):
    """The table of measure_port()."""
    from lab.bench import port

    return port.lines(r)


def sequence_lines(r):
    """The table of measure_sequence()."""
    from lab.bench import sequence

    return sequence.lines(r)


def python_lines(r):
    """The table of measure_python()."""
    from lab.bench import python

    return python.lines(r)


LINES = {
    "speed": speed_lines,
    "drain": drain_lines,
    "exactness": exactness_lines,
    "size": size_lines,
    "linux": linux_lines,
    "launches": launches_lines,
    "cable": cable_lines,
    "port": port_lines,
    "sequence": sequence_lines,
    "python": python_lines,
}


def measured_how(part, result):
    """What was run, when, on which sources and machine."""
    at = result["machine"]
    return (
        f"`{COMMAND} {part}`, {result['date']}, sources {result['sources']}; {at['processor']}, {at['cores']} cores, load "
        f"{at['load']} at the start; took {result['seconds']} s, {result['cpu_seconds']} s of CPU time."
    )


def page(results):
    """docs/benchmarks.md from {part: {"figures", "machine", "date", "sources"}}; parts that are not there stay as they are."""
    out = [
        f"<!-- Written by `{COMMAND}` (`make bench`). {SPDX} BSD-2-Clause -->",
        "",
        "# Benchmarks",
        "",
        "Wall-clock figures are of one machine and vary with its load; the ratio to a peer in the same run varies less, exact",
        f"figures not at all. `make bench` measures everything, `{COMMAND} PART` one part.",
    ]
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    for part, (title, _) in PARTS.items():
        out += ["", f"## {title}", ""]
        result = results.get(part)
        if not result:
            # It was not measured now, or failed: its figures stay.
            kept = re.search(rf"(?ms)^## {title}\n\n(.*?)\n*(?=^## |\Z)", before)
            out.append(kept[1] if kept else f"Not measured yet: `{COMMAND} {part}`.")
            continue
        out += [measured_how(part, result), "", *LINES[part](result["figures"])]
    return "\n".join(out) + "\n"


def load():
    """What was measured before, by a program that kept it as this one does."""
    try:
        kept = json.loads((build_folder() / "bench.json").read_text())
        return {part: result for part, result in kept.items() if result.get("format") == FORMAT and "figures" in result}
    except (OSError, ValueError, AttributeError):
        return {}


def measure(part):
    """One part's result; BenchError, whatever it failed of."""
    result = {
        "format": FORMAT,
        "machine": machine(),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "sources": sources_state("hdl", "litex_soc", "sw"),
    }
    begin, used = time.monotonic(), sum(os.times()[:4])
    try:
        result["figures"] = PARTS[part][1]()
    except BenchError:
        raise
    except Exception as error:
        raise BenchError(f"{type(error).__name__}: {error}".splitlines()[0]) from error
    result["seconds"], result["cpu_seconds"] = round(time.monotonic() - begin), round(sum(os.times()[:4]) - used)
    return result


def main(argv=None):
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"what to measure: {', '.join(PARTS)} (default: all)")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page from what was measured before")
    parser.add_argument("--no-write", action="store_true", help="print only; docs/benchmarks.md stays as it is")
    args = parser.parse_args(argv)
    unknown = [part for part in args.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part is called {unknown[0]}: {', '.join(PARTS)}")
    parts = [] if args.page else args.parts or list(PARTS)
    results, measured, trouble = load(), {}, {}
    for part in parts:
        print(f"measuring: {PARTS[part][0]} ...", file=sys.stderr, flush=True)
        try:
            results[part] = measured[part] = measure(part)
        except BenchError as error:  # the others still report
            trouble[part] = [f"not measured: {error}"]
            continue
        trouble[part] = results[part]["figures"].get("missed", [])
        build_folder().mkdir(parents=True, exist_ok=True)
        (build_folder() / "bench.json").write_text(json.dumps(results, indent=1))
    # Parts that were not measured now keep the page's figures, which may be newer than what this machine has kept.
    text = page(results if args.page else measured)
    print(text, end="")
    if not args.no_write:
        PAGE.write_text(text)
    for part, lines in trouble.items():
        for line in lines:
            print(f"{part}: {line}", file=sys.stderr)
    return 1 if any(trouble.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
