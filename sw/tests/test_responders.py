# SPDX-License-Identifier: BSD-2-Clause
"""sw/responders on this computer: errors of the Linux programs, registers in a file, the sketches on a simulated Uno, the programs of PIO.

sim/pc/test_responders_pc.py runs the Linux programs on kernels with a GPIO chip.
"""

import ast
import json
import mmap
import re
import subprocess
import sys
import time
import types
from pathlib import Path
from statistics import median

import pytest

from scripts.debian_package import PackageError, obtain
from tests import adapters

HERE = Path(__file__).resolve().parent
RESPONDERS = HERE.parent / "responders"
DOCS = HERE.parents[1] / "docs" / "responders.md"


# Linux programs -----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Folder of answer-sysfs and answer-mmap, and of answer-gpiod if this machine has libgpiod 2."""
    folder = tmp_path_factory.mktemp("responders")
    flags = "CFLAGS=-O1 -g -fsanitize=undefined"
    done = subprocess.run(["make", "-s", "-C", RESPONDERS, f"BUILD={folder}", flags], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    built = sorted(path.name for path in folder.iterdir())
    assert built in (["answer-mmap", "answer-sysfs"], ["answer-gpiod", "answer-mmap", "answer-sysfs"])
    assert ("answer-gpiod was not built" in done.stdout) == (len(built) == 2)
    return folder


@pytest.mark.parametrize(
    "words, message",
    [
        (["answer-sysfs", "17"], "usage: answer-sysfs IN OUT"),
        (["answer-sysfs", "17", "x"], "x is no number of a line"),
        (["answer-sysfs", "17", "-1"], "-1 is no number of a line"),
        (["answer-sysfs", "-d", "/nothing", "17", "18"], "/nothing/export: No such file"),
        (["answer-mmap", "17"], "usage: answer-mmap [-b BASE] IN OUT"),
        (["answer-mmap", "-x", "17", "18"], "usage: answer-mmap"),
        (["answer-mmap", "17", "54"], "pins are 0 to 53"),
        (["answer-mmap", "-m", "/nothing", "17", "18"], "/nothing: No such file"),
    ],
)
def test_errors(programs, words, message):
    """One line, and exit status 2."""
    done = subprocess.run([programs / words[0], *words[1:]], capture_output=True, text=True, timeout=20, check=False)
    lines = [line for line in done.stderr.splitlines() if "invalid option" not in line]
    assert done.returncode == 2 and not done.stdout and len(lines) == 1, done
    assert lines[0].startswith(f"{words[0]}: {message}"), lines


def soon(condition):
    """Waits until it holds."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.mark.parametrize("pin_in, pin_out", [(17, 18), (40, 5), (0, 53)])
def test_registers(programs, tmp_path, pin_in, pin_out):
    """A file in place of the registers, by the BCM2835's data sheet: the output's function, then set and clear as the level changes."""
    path = tmp_path / "registers"
    path.write_bytes(b"\xff" * 24 + bytes(4096 - 24))  # all pins have an alternate function
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 4096) as memory:
        words = memoryview(memory).cast("I")
        function, level, setting, clearing = 0x00 // 4, 0x34 // 4, 0x1C // 4, 0x28 // 4
        bit = 1 << pin_out % 32
        with subprocess.Popen([programs / "answer-mmap", "-m", path, str(pin_in), str(pin_out)]) as process:
            try:
                soon(lambda: not words[function + pin_in // 10] >> pin_in % 10 * 3 & 7)
                expected = [0xFFFFFFFF] * 6
                for pin, value in ((pin_out, 1), (pin_in, 0)):
                    expected[pin // 10] &= ~(7 << pin % 10 * 3)
                    expected[pin // 10] |= value << pin % 10 * 3
                assert list(words[:6]) == expected
                for _ in range(3):
                    words[level + pin_in // 32] = 1 << pin_in % 32
                    soon(lambda: words[setting + pin_out // 32] == bit)
                    assert words[clearing + pin_out // 32] == 0
                    words[setting + pin_out // 32] = 0
                    words[level + pin_in // 32] = ~(1 << pin_in % 32) & 0xFFFFFFFF  # all others are high
                    soon(lambda: words[clearing + pin_out // 32] == bit)
                    assert words[setting + pin_out // 32] == 0
                    words[clearing + pin_out // 32] = 0
                assert process.poll() is None
            finally:
                process.kill()
        words.release()


def run_python(folder, *words):
    """answer_gpiod.py with the package `gpiod` of a folder."""
    command = [sys.executable, RESPONDERS / "answer_gpiod.py", *words]
    return subprocess.run(command, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, timeout=20, check=False)


GPIOD = '''
"""The part of libgpiod's Python that the program uses: three edges, and what it sets."""
import enum, types
class Edge(enum.Enum):
    BOTH = 1
class Direction(enum.Enum):
    OUTPUT = 1
class Value(enum.Enum):
    INACTIVE = 0
    ACTIVE = 1
class EdgeEvent:
    class Type(enum.Enum):
        RISING_EDGE = 1
        FALLING_EDGE = 2
LineSettings = lambda **settings: settings
class Lines:
    edges = [EdgeEvent.Type.RISING_EDGE, EdgeEvent.Type.FALLING_EDGE, EdgeEvent.Type.RISING_EDGE]
    def __enter__(self):
        return self
    def __exit__(self, *_):
        pass
    def read_edge_events(self, max_events):
        if not self.edges:
            raise OSError("no more edges")
        return [types.SimpleNamespace(event_type=self.edges.pop(0))][:max_events]
    def set_value(self, line, value):
        print(line, value.value, flush=True)
def request_lines(chip, config):
    print(chip, config, flush=True)
    return Lines()
'''


def test_python(tmp_path):
    """With a stand-in for the library: what it requests, what it sets, and one line for an error."""
    (tmp_path / "gpiod").mkdir()
    (tmp_path / "gpiod" / "__init__.py").write_text(GPIOD)
    (tmp_path / "gpiod" / "line.py").write_text("from gpiod import Direction, Edge, Value\n")
    done = run_python(tmp_path, "/dev/gpiochip0", "17", "18")
    requested, *values = done.stdout.splitlines()
    assert "17: {'edge_detection': <Edge.BOTH: 1>}, 18: {'direction': <Direction.OUTPUT: 1>}" in requested
    assert values == ["18 1", "18 0", "18 1"]
    assert done.returncode == 1 and done.stderr == "answer_gpiod.py: /dev/gpiochip0: no more edges\n"
    for words in ([], ["/dev/gpiochip0", "17"], ["/dev/gpiochip0", "17", "x"]):
        done = run_python(tmp_path, *words)
        assert done.returncode == 1 and done.stderr.startswith("answer_gpiod.py: usage: ") and done.stderr.count("\n") == 1


# Arduino ------------------------------------------------------------------------------------------------------------------------

SKETCHES = ("answer_interrupt", "answer_no_timer", "answer_polling")
MHZ = 16
# As the core's platform.txt and boards.txt have them for an Uno.
BOTH = "-c -g -Os -w -ffunction-sections -fdata-sections -flto -mmcu=atmega328p -DF_CPU=16000000L -DARDUINO=10819 -DARDUINO_AVR_UNO"
CORE_C = ("wiring.c", "wiring_digital.c", "WInterrupts.c", "hooks.c")
CPP = "-std=gnu++11 -fpermissive -fno-exceptions -fno-threadsafe-statics"
LINK = "-Os -g -flto -fuse-linker-plugin -Wl,--gc-sections -mmcu=atmega328p"


def do(*words):
    """Runs a tool; its output."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def uno(tmp_path_factory):
    """uno(sketch, stimuli): cycles from each rising edge to the answer."""
    try:
        tree = obtain("avr").path
    except PackageError as error:
        pytest.skip(f"NOT TESTED: {error}")
    folder, tools = tmp_path_factory.mktemp("uno"), tree / "usr/bin"
    arduino = tree / "usr/share/arduino/hardware/arduino/avr"
    core = arduino / "cores/arduino"
    options = [*BOTH.split(), "-DARDUINO_ARCH_AVR", f"-I{core}", f"-I{arduino / 'variants/standard'}"]
    for name in CORE_C:
        do(tools / "avr-gcc", *options, "-std=gnu11", core / name, "-o", folder / f"{name}.o")
    do(tools / "avr-g++", *options, *CPP.split(), core / "main.cpp", "-o", folder / "main.o")
    libraries = tree / "usr/lib/x86_64-linux-gnu"
    rig = folder / "avr_rig"
    linked = (libraries / "libsimavr.a", libraries / "libelf.so.1", f"-Wl,-rpath,{libraries}", "-Wl,--allow-shlib-undefined")
    warned = ("-O2", "-Wall", "-Wextra", f"-I{tree / 'usr/include'}", f"-I{tree / 'usr/include/simavr'}")
    do("gcc", *warned, HERE / "avr_rig.c", *linked, "-o", rig)

    def answers(sketch, stimuli):
        made, source = folder / sketch, RESPONDERS / "arduino" / sketch / f"{sketch}.ino"
        do(tools / "avr-g++", *options, *CPP.split(), "-x", "c++", "-include", "Arduino.h", source, "-o", f"{made}.o")
        objects = [f"{made}.o", *(folder / f"{name}.o" for name in CORE_C), folder / "main.o"]
        do(tools / "avr-gcc", *LINK.split(), *objects, "-lm", "-o", f"{made}.elf")
        do(tools / "avr-objcopy", "-O", "binary", f"{made}.elf", f"{made}.bin")
        return sorted(map(int, do(rig, f"{made}.bin", stimuli, 1).split()))

    return answers


@pytest.mark.full
@pytest.mark.seconds(20)
@pytest.mark.parametrize("sketch", SKETCHES)
def test_sketch(uno, sketch):
    """One answer to each edge, after as many cycles as the page says."""
    found = uno(sketch, 1000)
    (row,) = re.findall(rf"(?m)^\| `{sketch}` \| (\d+) \| (\d+) \(.* µs\) \| (\d+) .*\|$", DOCS.read_text(encoding="utf-8"))
    assert len(found) == 1000 and (found[0], found[500], found[-1]) == tuple(map(int, row))
    if sketch == "answer_no_timer":
        assert found[0] == found[-1]
    if sketch == "answer_interrupt":
        # Late are those that came while the timer's interrupt ran, once in 1024 us.
        assert median(found) == found[0] < found[-1] and sum(cycles > found[0] for cycles in found) < 50


# RP2040 -------------------------------------------------------------------------------------------------------------------------

# By the RP2040's data sheet, chapter 3.4: wait is 001 with polarity, source (01: pin) and number; set is 111 and mov 101, with destination
# 000 for pins. Delay and side-set, bits 8 to 12, are 0.
WORDS = {
    "answer": [0b001_00000_1_01_00000, 0b111_00000_000_00001, 0b001_00000_0_01_00000, 0b111_00000_000_00000],
    "follow": [0b101_00000_000_00_000],
}
PIO = RESPONDERS / "pico" / "answer.pio"
ASSEMBLES = f"""
import json, re, adafruit_pioasm
parts = re.split(r"(?m)^(?=\\.program )", open({str(PIO)!r}).read())[1:]
made = {{part.split()[1]: adafruit_pioasm.Program(part) for part in parts}}
print(json.dumps({{name: [list(one.assembled), one.pio_kwargs["wrap_target"], one.pio_kwargs["wrap"]] for name, one in made.items()}}))
"""
EMULATES = f"""
import json, pioemu
found = []
for rise in range(20, 28):
    levels = lambda clock: int(rise <= clock < rise + 50)
    run = pioemu.emulate({WORDS["answer"]}, stop_when=lambda _, state: state.clock > 120, input_source=levels, set_base=15, set_count=1,
        wrap_target=0, wrap_top=3, initial_state=pioemu.State(pin_directions=1 << 15))
    levels = [(after.clock, after.pin_values >> 15 & 1) for _, after in run]
    found.append([clock - rise for (_, before), (clock, level) in zip(levels, levels[1:]) if level != before])
print(json.dumps(found))
"""


def in_folder_of_pio(program):
    """What a program prints that imports the packages of requirements/pio.txt."""
    done = subprocess.run([sys.executable, "-c", program], env=adapters.environment("pio"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.full
def test_pio_is_assembled():
    """Each instruction, by an independent assembler; each program wraps around as a whole."""
    assert in_folder_of_pio(ASSEMBLES) == {name: [words, 0, len(words) - 1] for name, words in WORDS.items()}


@pytest.mark.full
def test_pio_on_an_emulator():
    """The output changes with the second cycle that begins with the new level at the input: exactly, at each edge."""
    assert in_folder_of_pio(EMULATES) == [[2, 52]] * 8


class Assembler:
    """Stands in for MicroPython's module rp2: it carries out a program's function, whose names are those of the instructions."""

    def __init__(self):
        self.made = {}
        self.machines = []

    def asm_pio(self, **settings):
        def made(function):
            words, wraps = [], []
            names = {"pins": 0, "pin": 1}
            names["wrap_target"] = lambda: wraps.append(len(words))
            names["wrap"] = lambda: wraps.append(len(words) - 1)
            names["wait"] = lambda polarity, source, number: words.append(0x2000 | polarity << 7 | source << 5 | number)
            names["set"] = lambda destination, value: words.append(0xE000 | destination << 5 | value)
            names["mov"] = lambda destination, source: words.append(0xA000 | destination << 5 | source)
            types.FunctionType(function.__code__, names)()
            self.made[function.__name__] = (words, wraps, settings)
            return function.__name__

        return made

    def module(self):
        """The module."""
        pio = types.SimpleNamespace(OUT_LOW="low")

        def state_machine(number, program, **pins):
            self.machines.append((number, program, pins))
            return types.SimpleNamespace(active=lambda on: self.machines.append(on))

        return types.SimpleNamespace(asm_pio=self.asm_pio, PIO=pio, StateMachine=state_machine)


class Pin:
    """Of MicroPython's module machine."""

    IN = 0

    def __new__(cls, number, mode=None):
        return (number, mode)


def test_micropython_has_the_same_programs(monkeypatch):
    """answer.py: the words of both programs, the pins that they need, and which one it starts."""
    assembler = Assembler()
    monkeypatch.setitem(sys.modules, "rp2", assembler.module())
    monkeypatch.setitem(sys.modules, "machine", types.SimpleNamespace(Pin=Pin))
    text = (RESPONDERS / "pico" / "answer.py").read_text(encoding="utf-8")
    exec(compile(ast.parse(text), "answer.py", "exec"), {})  # it is one of MicroPython's, to be run as a whole
    assert {name: (words, wraps) for name, (words, wraps, _) in assembler.made.items()} == {
        name: (words, [0, len(words) - 1]) for name, words in WORDS.items()
    }
    assert assembler.made["answer"][2] == {"set_init": "low"} and assembler.made["follow"][2] == {"out_init": "low"}
    assert assembler.machines == [(0, "answer", {"in_base": (14, 0), "set_base": (15, None)}), 1]
    assert "rp2.StateMachine(0, follow, in_base=Pin(IN, Pin.IN), out_base=Pin(OUT))" in text
