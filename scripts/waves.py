# SPDX-License-Identifier: BSD-2-Clause
"""Measures the timing diagrams of docs/how-it-works.md on the simulated SoC and draws them: docs/images/waves.

    python scripts/waves.py            measures, writes NAME.json (WaveJSON), draws NAME.svg and NAME-dark.svg
    python scripts/waves.py --check    the same, but only compares; exit status 1 if a file is stale

Levels are those of the recorded pins, labels those of the board's own records. Nothing is drawn that was not measured.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "sw")]

from litepulse.backends import SimOptions, connect_sim  # noqa: E402
from litepulse.backends.bus.backend import BusBackend  # noqa: E402
from litepulse.backends.bus.identification import identify  # noqa: E402
from litepulse.backends.bus.registers import Registers  # noqa: E402
from litepulse.backends.interface import Wanted  # noqa: E402
from litepulse.backends.uartbone import open_port  # noqa: E402
from litepulse.layout import CONFIG, CONFIG_BASE, TRAIN_COMMAND, pack  # noqa: E402
from litepulse.line import Format, Launch, Profile, Response, Trigger  # noqa: E402
from litepulse.streams import Event, RxByte, edges  # noqa: E402
from litepulse.units import Period  # noqa: E402
from litepulse.vcd import Vcd  # noqa: E402
from litex_soc import sim_soc  # noqa: E402
from litex_soc.generate import stale_files  # noqa: E402

FOLDER = ROOT / "docs" / "images" / "waves"
COMMAND = "python scripts/waves.py"
T = 200_000  # tick of the scenes' first launch or edge: by then all settings are written
COLUMN = 20  # pixels of WaveDrom's skin "narrow"
LETTER = 7.5  # pixels, at most on average
# Colours of WaveDrom, and what they are on a light and on a dark page: paper, ink, marks, names, boxes.
COLOURS = ("#fff", "#000", "#888", "#0041c4", "#ffe0b9")
PAINTED = r"""\b(?:fill|stroke|color)(?:\s*:\s*|=["'])"""
PAGES = {"": ("#ffffff", "#1f2328", "#818b98", "#0550ae", "#ddf4ff"), "-dark": ("#0d1117", "#e6edf3", "#9198a1", "#79c0ff", "#1b4b91")}


@dataclass
class Scene:
    """A diagram. Ticks are counted from `zero`, a column is `unit` ticks long."""

    title: str
    zero: int
    first: int
    last: int
    unit: int = 1
    every: int = 5  # columns between two numbers of the axis
    foot: str = ""
    rows: list[dict[str, object]] = field(default_factory=list)

    def column(self, tick: int) -> int:
        """That in which a tick lies."""
        return (tick - self.zero - self.first) // self.unit

    @property
    def columns(self) -> int:
        """How many there are."""
        return (self.last - self.first) // self.unit

    def pin(self, name: str, changes: Sequence[tuple[int, int]], rounded: bool = False) -> None:
        """A row of levels: [(tick, level)], the first before the diagram begins. Each change begins a column, unless `rounded`."""
        wave = ["."] * self.columns
        for tick, level in changes:
            place = self.column(tick)
            if place <= 0:
                wave[0] = str(level)
            elif place < self.columns:
                assert rounded or (tick - self.zero - self.first) % self.unit == 0, (name, tick - self.zero)
                wave[place] = str(level)
        assert wave[0] != ".", name
        self.rows.append({"name": name, "wave": "".join(wave)})

    def clock(self, name: str, columns: int) -> None:
        """A clock whose cycles are that long; it rises where the diagram begins."""
        self.rows.append({"name": name, "wave": ("p" + "." * (self.columns // columns - 1)), "period": columns})

    def labels(self, name: str, marks: Iterable[tuple[int, str]]) -> None:
        """A row of texts, each in a box that begins at its tick."""
        self.boxes(name, [(tick, tick + self.unit * -int(-(LETTER * len(text) + 8) // COLUMN), text) for tick, text in marks])

    def boxes(self, name: str, spans: Iterable[tuple[int, int, str]]) -> None:
        """A row of texts: [(from tick, to tick, text)]."""
        wave, data = ["z", *["."] * (self.columns - 1)], []
        for begin, end, text in sorted(spans):
            place, behind = self.column(begin), self.column(end)
            assert 0 <= place < behind <= self.columns, (name, text, begin - self.zero)
            assert wave[place] in "z." and not any(each == "=" for each in wave[place + 1 :]), (name, text)
            assert place == 0 or "z" in wave[: place + 1], (name, text)
            wave[place] = "="
            if behind < self.columns:
                wave[behind] = "z"
            data.append(text)
        self.rows.append({"name": name, "wave": "".join(wave), "data": data})

    def source(self) -> dict[str, object]:
        """As WaveJSON."""
        numbers = range(self.first, self.first + (self.columns + 1) * self.unit, self.unit)
        ticks = [" " if tick % (self.every * self.unit) else str(tick) for tick in numbers]
        ticks[-1] = ticks[-1] if len(ticks[-1]) < 3 else " "  # the picture ends there
        axis = "ticks" if self.unit == 1 else f"a column is {self.unit} ticks"
        return {
            "head": {"text": self.title, "tick": ticks},
            "config": {"skin": "narrow"},
            "signal": self.rows,
            "foot": {"text": f"{axis}; {self.foot}" if self.foot else axis},
        }


@dataclass
class Bench:
    """A simulated board, and what it recorded."""

    board: BusBackend
    vcd: Path
    pins: dict[str, list[tuple[int, int]]] = field(default_factory=dict[str, list[tuple[int, int]]])
    events: list[Event] = field(default_factory=list[Event])
    bytes: list[RxByte] = field(default_factory=list[RxByte])

    def until(self, tick: int) -> int:
        """Lets time go on to a tick; returns the one that it is then."""
        while (now := self.take()) < tick:
            pass
        return now

    def take(self) -> int:
        """Takes the records that are there."""
        batch = self.board.recorder.read()
        for event in batch.events:
            assert isinstance(event, Event), event
            self.events.append(event)
        for byte in batch.received:
            assert isinstance(byte, RxByte), byte
            self.bytes.append(byte)
        return batch.now

    def of(self, kind: str, source: str | None = None) -> list[Event]:
        """Events of a kind."""
        return [event for event in self.events if event.kind == kind and source in (None, event.source)]

    def edges(self, channel: int) -> list[tuple[int, str]]:
        """[(stamp, text)] of a channel, counted from T."""
        found = [edge for event in self.of("edge") for edge in edges(event, 1) if edge.channel == channel]
        return [(edge.tick, f"{edge.tick - T}") for edge in found]

    def profile(self, bit_ticks: Fraction | int, number: int = 1) -> Profile:
        """5N1 with bits of `bit_ticks`, in a line profile."""
        made = Profile(self.board.identity.timescale.bit_period(self.board.identity.timescale.tick_hz / bit_ticks), Format(5))
        if number:
            self.board.line.set_profile(number, made)
        return made


@contextmanager
def bench(stimulus: Iterable[tuple[int, str, int]] = (), wires: tuple[str, ...] = ("rx",), command_step: int = 500) -> Iterator[Bench]:
    """A board for a scene; its pins are known when the block is over. Stimuli: (ticks behind T, channel, level)."""
    with tempfile.TemporaryDirectory() as folder:
        vcd, moves = Path(folder, "pins.vcd"), Path(folder, "stimulus")
        moves.write_text("".join(f"{T + tick} {channel} {level}\n" for tick, channel, level in sorted(stimulus)))
        board = connect_sim(SimOptions(vcd, moves, wires, command_step=command_step))
        assert isinstance(board, BusBackend)
        made = Bench(board, vcd)
        try:
            yield made
            made.take()
        finally:
            board.close()
        made.pins |= Vcd(vcd, board.identity.timescale.tick_hz).signals


def launch() -> Scene:
    """A launch of the queue; driver enable; a wire."""
    with bench() as b:
        b.board.line.set_driver_enable(4, 2)
        b.profile(4)
        b.board.recorder.record(Wanted(launched=("queue",), rise=1 << 4, fall=1 << 4))
        assert b.board.queue.launch([(T, 0, Launch("pulse", 0, 1, 8))]) == 1 and b.board.now() < T - 1000
        b.until(T + 1000)
    scene = Scene(
        "A pulse of 8 ticks launched for tick 0, over a wire from tx to rx", T, -6, 18, foot="here de leads by 4 ticks and lags by 2"
    )
    scene.pin("de", b.pins["de"])
    scene.pin("tx", b.pins["tx"])
    scene.labels("TX event", [(e.tick, f"{e.tick - T}") for e in b.of("tx")])
    scene.pin("rx", b.pins["rx"])
    scene.labels("EDGE event", b.edges(4))
    return scene


def busy() -> Scene:
    """A pulse of a train is on the line when a launch of the queue is due."""
    with bench() as b:
        b.profile(4)
        b.board.recorder.record(Wanted(launched=("queue", "train"), refused=("queue",)))
        b.board.train.start(Launch("pulse", 0, 1, 8), Period(400, 0, 1), 1, T)
        assert b.board.queue.launch([(T + 5, 0, Launch("pulse", 0, 1, 8))]) == 1 and b.board.now() < T - 1000
        b.until(T + 1000)
    scene = Scene("A pulse of a train, and a launch for tick 5", T, -3, 18)
    scene.pin("tx", b.pins["tx"])
    scene.labels("train", [(e.tick, f"{e.tick - T}") for e in b.of("tx", "train")])
    scene.labels("queue", [(e.tick, f"{e.kind} {e.reason or e.tick - T}") for e in b.events if e.source == "queue"])
    return scene


def frame() -> Scene:
    """A frame whose bit period is no whole number of ticks."""
    with bench() as b:
        period = Fraction(9, 2)
        b.profile(period)
        b.board.line.set_receiver(b.profile(period, 0), True, False)
        b.board.recorder.record(Wanted(launched=("queue",), rise=1 << 4, fall=1 << 4, received=True))
        assert b.board.queue.launch([(T, 0, Launch("frame", 0x15))]) == 1 and b.board.now() < T - 1000
        b.until(T + 1000)
    scene = Scene("Byte 0x15 (5N1) launched for tick 0, bits of 4.5 ticks, over a wire", T, -3, 38)
    scene.labels("TX event", [(e.tick, f"{e.tick - T}") for e in b.of("tx")])
    scene.pin("tx", b.pins["tx"])
    scene.labels("EDGE event", b.edges(4))
    scene.labels("byte", [(byte.tick, f"0x{byte.data:02x}, stamp {byte.tick - T}") for byte in b.bytes])
    return scene


def glitch() -> Scene:
    """The same levels on two inputs, one behind the filter."""
    moves = [(0, 1), (2, 0), (8, 1), (20, 0)]
    with bench([(at, name, level) for at, level in moves for name in "01"], ()) as b:
        b.board.recorder.record(Wanted(rise=3, fall=3, filtered=2, filter=4))
        assert b.board.now() < T - 1000
        b.until(T + 1000)
    scene = Scene("A glitch of 2 ticks, then a pulse; the filter wants 4 equal samples", T, -3, 27)
    for channel, name in enumerate(("EDGE event", "filtered")):
        scene.pin(f"input {channel}", b.pins[f"in{channel}"])
        scene.labels(name, b.edges(channel))
    return scene


def responder_edge() -> Scene:
    """Triggers that are answered, and two that are not."""
    rises = (0, 4, 18, 30)
    with bench([(at + n, "0", 1 - n // 2) for at in rises for n in (0, 2)], ()) as b:
        b.profile(4)
        b.board.recorder.record(Wanted(launched=("responder",), rise=1))
        b.board.responder.arm(Response(Trigger("edge", 0, rise=True), Launch("pulse", 0, 1, 3), 8))
        assert b.board.now() < T - 1000
        b.until(T + 1000)
    scene = Scene("Responder: a pulse of 3 ticks, 8 ticks behind a rising edge of input 0", T, -3, 47)
    scene.pin("input 0", b.pins["in0"])
    scene.labels("EDGE event", b.edges(0))
    scene.pin("tx", b.pins["tx"])
    scene.labels("TX event", [(e.tick, f"number {e.tag}: {e.tick - T}") for e in b.of("tx", "responder")])
    return scene


def responder_byte() -> Scene:
    """An answer to a byte counts from the end of its frame."""
    levels = [(0, 0), (4, 1), (8, 0), (12, 1), (16, 0), (20, 1)]
    with bench([(at, "rx", level) for at, level in levels], ()) as b:
        b.profile(4)
        b.board.line.set_receiver(b.profile(4, 0), True, False)
        b.board.recorder.record(Wanted(launched=("responder",), received=True))
        b.board.responder.arm(Response(Trigger("byte", value=0x15), Launch("pulse", 0, 1, 4), 8))
        assert b.board.now() < T - 1000
        b.until(T + 1000)
    scene = Scene("Responder: a pulse of 4 ticks, 8 ticks behind the end of byte 0x15 (5N1, bits of 4 ticks)", T, -3, 48)
    scene.pin("rx", b.pins["rx"])
    (byte,) = b.bytes
    scene.boxes("byte", [(byte.tick, byte.tick + 28, f"0x{byte.data:02x}, from {byte.tick - T} to {byte.tick + 28 - T}")])
    scene.pin("tx", b.pins["tx"])
    scene.labels("TX event", [(e.tick, f"{e.tick - T}") for e in b.of("tx", "responder")])
    return scene


def best_effort() -> Scene:
    """A tty that always has a byte to send, beside a train."""
    with bench() as b:
        b.profile(40)
        b.board.line.set_receiver(b.profile(40, 0), False, False)
        b.board.recorder.record(Wanted(launched=("train", "tty"), train=True))
        b.board.train.start(Launch("pulse", 0, 1, 80), Period(1480, 0, 1), 2, T)
        while b.until(0) < T + 1000:
            if b.board.registers.read_status().tx_free > 300:
                b.board.line.transmit(b"\x15" * 64)
        b.until(T + 4000)
    scene = Scene(
        "Train of pulses 1480 ticks apart; best effort: bytes of 280 ticks",
        T,
        -40,
        2000,
        40,
        10,
        "an edge is drawn at the beginning of its column",
    )
    scene.pin("tx", b.pins["tx"], rounded=True)
    scene.labels("train", [(e.tick, f"pulse {e.data}: {e.tick - T}") for e in b.of("tx", "train")])
    shown = [e for e in b.of("tx", "tty") if 0 <= e.tick - T <= 1680]
    scene.boxes("tty", [(e.tick, e.tick + 280, f"{e.tick - T}") for e in shown])
    return scene


def adjust(at_pulse: int, title: str) -> Scene:
    """A change of a train from a period of 24,000 ticks to 19,200, requested between pulses 1 and
    2."""
    from_tick, to_tick = 31_200, 38_400
    with bench(command_step=20) as b:
        b.profile(4)
        b.board.recorder.record(Wanted(launched=("train",), train=True))
        b.board.train.start(Launch("pulse", 0, 1, 4800), Period(24_000, 0, 1), 6, T)
        b.board.registers.configure(
            ("train_period", 19_200), ("train_num", 0), ("train_den", 1), ("train_at_pulse", at_pulse), ("train_step", 0)
        )
        b.until(T - 2000)
        before = 0
        while before < T + from_tick:
            before = b.board.now()
        word = pack(CONFIG["train_command"], command=TRAIN_COMMAND["adjust"])
        b.board.registers.write_window(CONFIG_BASE + 4 * CONFIG["train_command"].index, [word])  # with no reading back, which takes time
        after = b.board.now()
        assert T + from_tick <= before < after <= T + to_tick, (before - T, after - T)
        b.until(T + 150_000)
    scene = Scene(title, T, -4800, 108_000, 2400, every=5)
    scene.pin("tx", b.pins["tx"])
    scene.labels("train", [(e.tick, f"{e.data}: {e.tick - T}") for e in b.of("tx", "train") if e.tick < T + 100_000])
    scene.boxes("command", [(T + from_tick, T + to_tick, f"n={at_pulse}")])
    # At which tick the board applies it at once depends on the host, within the bounds of the command.
    (applied,) = [e for e in b.of("applied") if e.data and not e.stop]
    begin = T + from_tick if before < applied.tick < after else applied.tick
    scene.boxes("APPLIED", [(begin, begin + to_tick - from_tick, f"n={applied.data}")])
    return scene


def crossing() -> Scene:
    """A configuration word on its way from the bus clock to the core's, by the trace of all signals."""
    wanted = ("pulse_clk", "sys_clk", "cfg_write.valid", "cfg_state.busy", "cfg.valid", "cfg_answer.done", "cfg_state.answered")
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "all.vcd")
        command = [str(sim_soc.build(trace=True)), "--tcp", "0", "--once", "--exit-with-parent", "--lockstep", "50", "--trace", str(trace)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            port = next(json.loads(line)["tcp"] for line in process.stdout if line.startswith("{"))
            bus = open_port(f"tcp:127.0.0.1:{port}")
            Registers(bus, identify(bus, "sim", "simulated SoC")).write_fields("line", rx_enable=1)
            bus.close()
            process.communicate(timeout=60)
        found = signals(trace, "cdc", wanted)
    rises = [time for time, level in found["pulse_clk"] if level]
    number = {time: place for place, time in enumerate(rises)}
    (start,) = [number[time] for time, level in found["cfg_write.valid"] if level]
    begin = start - 4
    bus_rises = [number[time] for time, level in found["sys_clk"] if level and time in number]
    assert len(bus_rises) > 20 and all(b - a == 2 for a, b in zip(bus_rises, bus_rises[1:])) and begin in bus_rises
    answered = next(number[time] for time, level in found["cfg_state.answered"] if level)
    scene = Scene(
        "A configuration word crosses to the pulse clock, and its answer comes back", begin, 0, 2 * ((answered - begin) // 2) + 8, every=4
    )
    scene.clock("bus clock", 2)
    for signal, name in (("cfg_write.valid", "word written"), ("cfg_state.busy", "config_busy"), ("cfg_state.answered", "applied")):
        scene.pin(name, [(number[time] if time in number else 0, level) for time, level in found[signal]])
    scene.clock("pulse clock", 1)
    for signal, name in (("cfg.valid", "request"), ("cfg_answer.done", "answer")):
        scene.pin(name, [(number[time] if time in number else 0, level) for time, level in found[signal]])
    return scene


def signals(path: Path, scope: str, names: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
    """{name: [(time, level)]} of signals, or members of structs as a.b, of the first scope that ends so."""
    codes: dict[str, str] = {}
    changes: dict[str, list[tuple[int, int]]] = defaultdict(list)
    here: list[str] = []
    time = 0
    with path.open(encoding="ascii") as lines:
        for line in lines:
            words = line.split()
            if line.lstrip().startswith("$scope"):
                here.append(words[2])
            elif line.lstrip().startswith("$upscope"):
                here.pop()
            elif line.lstrip().startswith("$var"):
                for place, name in zip(here[:-3:-1], (words[4], f"{here[-1]}.{words[4]}")):
                    if place.endswith(scope) and name in names:
                        codes.setdefault(words[3], name)
            elif line.startswith("#"):
                time = int(line[1:])
            elif line[:1] in ("0", "1") and line[1:].strip() in codes:
                changes[codes[line[1:].strip()]].append((time, int(line[0])))
    return changes


SCENES: dict[str, Callable[[], Scene]] = {
    "launch": launch,
    "busy": busy,
    "frame": frame,
    "filter": glitch,
    "responder-edge": responder_edge,
    "responder-byte": responder_byte,
    "best-effort": best_effort,
    "adjust-named": lambda: adjust(4, "adjust to a period of 19,200 ticks, n = 4, asked for between pulses 1 and 2"),
    "adjust-earliest": lambda: adjust(0, "adjust to a period of 19,200 ticks, n = 0, asked for between pulses 1 and 2"),
    "crossing": crossing,
}


def draw(source: dict[str, object], suffix: str) -> str:
    """The SVG of a WaveJSON, in the colours of one of PAGES, without the symbols that it does not use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import wavedrom
    # This WaveDrom can only count columns: its numbers are replaced by those of the source.
    ticks = source["head"]["tick"]  # pyright: ignore[reportIndexIssue]
    text = wavedrom.render(json.dumps(source | {"head": source["head"] | {"tick": 0}})).tostring()  # pyright: ignore
    text = re.sub(
        r'(<text class="muted"[^>]*>)(?:<tspan>)?(\d+)(?:</tspan>)?</text>', lambda found: found[1] + ticks[int(found[2])] + "</text>", text
    )
    used = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
    text = re.sub(r'<g id="([^"]+)">(?:<(?:path|rect)[^>]*/>)*</g>', lambda found: found[0] if found[1] in used else "", text)
    colours = dict(zip(COLOURS, PAGES[suffix])) | {"#aaa": PAGES[suffix][1]}
    # Only where a property or an attribute has a colour: "#000" also is the reference to WaveDrom's drawing of a low level.
    for written, meant in (("#ffffff", "#fff"), ("#000000", "#000")):
        text = re.sub(rf"({PAINTED}){written}\b", rf"\g<1>{meant}", text, flags=re.IGNORECASE)
    anything = "|".join(colours)
    text = re.sub(rf"({PAINTED})({anything})\b", lambda found: found[1] + colours[found[2].lower()], text, flags=re.IGNORECASE)
    text = text.replace("text{font-size:11pt;", f"text{{fill:{colours['#000']};font-size:10pt;", 1)
    text = text.replace("font-family:Helvetica", "font-family:Helvetica,Arial,sans-serif")
    return re.sub(r"(<svg [^>]*>)", rf'\1<rect width="100%" height="100%" fill="{colours["#fff"]}" />', text, count=1) + "\n"


def write_json(source: dict[str, object]) -> str:
    """The file's text: a row a line."""
    rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in source["signal"])  # pyright: ignore[reportGeneralTypeIssues]
    rest = ",\n ".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in source.items() if key != "signal")
    return f'{{{rest},\n "signal": [\n  {rows}]}}\n'


def main(argv: Sequence[str] | None = None) -> int:
    """Writes or compares."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit status 1 if a file is stale")
    parser.add_argument("names", nargs="*", help=f"only these of {', '.join(SCENES)}")
    args = parser.parse_args(argv)
    stale = []
    for name in args.names or SCENES:
        source = SCENES[name]().source()
        made = {f"{name}.json": write_json(source)} | {f"{name}{suffix}.svg": draw(source, suffix) for suffix in PAGES}
        for path in stale_files(((FOLDER / file, text) for file, text in made.items()), args.check):
            stale.append(path)
            print(f"{path.name} is stale; run: {COMMAND}" if args.check else f"wrote {path.relative_to(ROOT)}", flush=True)
    return int(args.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
