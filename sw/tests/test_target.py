# SPDX-License-Identifier: BSD-2-Clause
"""sw/target and sw/examples on this computer: their numbers against Python's fractions, and their
errors for bad input."""

import ctypes
import math
import os
import random
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from litepulse.errors import BadInput
from litepulse.units import Timescale, parse_duration, parse_rate

SW = Path(__file__).resolve().parents[1]
WORD = 1 << 32
PROGRAMS = ("info", "train", "capture", "send")


def make(folder, target):
    """Runs the Makefile of sw/`folder`, which has all warnings on and makes them errors."""
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    result = subprocess.run(
        ["make", "-s", "-C", SW / folder, f"BUILD={target}", "CC=cc", "CFLAGS=-O1 -g -fsanitize=undefined"],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert result.returncode == 0 and not result.stdout, result.stdout
    return target


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Folder of the programs, built for this computer."""
    return make("target", tmp_path_factory.mktemp("target"))


class Ratio(ctypes.Structure):
    """struct ratio"""

    _fields_ = [("num", ctypes.c_uint64), ("den", ctypes.c_uint64)]

    @classmethod
    def of(cls, value):
        """From a Fraction."""
        return cls(value.numerator, value.denominator)

    @property
    def value(self):
        """A Fraction; in lowest terms, or it is refused."""
        assert math.gcd(self.num, self.den) == 1, (self.num, self.den)
        return Fraction(self.num, self.den)


class Period(ctypes.Structure):
    """struct period"""

    _fields_ = [("whole", ctypes.c_uint32), ("num", ctypes.c_uint32), ("den", ctypes.c_uint32)]


@pytest.fixture(scope="module")
def quantity(tmp_path_factory):
    """quantity.c as a library."""
    path = tmp_path_factory.mktemp("quantity") / "quantity.so"
    subprocess.run(
        ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", SW / "target" / "quantity.c", "-o", path], check=True
    )
    library = ctypes.CDLL(str(path))
    for name in ("ratio_parse_rate", "ratio_parse_ticks", "ratio_multiply", "ratio_divide", "ratio_to_period", "parse_whole"):
        getattr(library, name).restype = ctypes.c_bool
    text, answer, whole = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint64
    for name, arguments in {
        "ratio_parse_ticks": [text, Ratio, answer],
        "ratio_multiply": [Ratio, Ratio, answer],
        "ratio_divide": [Ratio, Ratio, answer],
        "ratio_nearest": [Ratio],
        "ratio_to_period": [Ratio, answer],
        "period_times": [Period, ctypes.c_uint32],
        "parse_whole": [text, whole, whole, answer],
    }.items():
        getattr(library, name).argtypes = arguments
    library.ratio_nearest.restype = library.period_times.restype = ctypes.c_uint64
    return library


def ask(function, *arguments, kind=Ratio):
    """What a function that may fail puts into its last argument; None if it failed."""
    result = kind()
    return result if function(*arguments, ctypes.byref(result)) else None


RATES = (
    "58",
    "61.7",
    "617/10",
    "44.1k",
    "1M/7",
    "58Hz",
    "9600Bd",
    "115200baud",
    ".5",
    "3.",
    "1000/3",
    "0.001",
    "1m",
    "2G",
    "18446744073709551615",
    "0",
    "",
    "Hz",
    "-58",
    "+58",
    "58 Hz x",
    "1e3",
    "58Hz58",
    "1/0",
    "1/2/3",
    "k",
    ".",
    "1..2",
    "0x10",
    "nan",
    "18446744073709551616",
    "1/",
)
TIMES = (
    "10us",
    "1.5ms",
    "1/58",
    "24000000/29t",
    "500t",
    "3s",
    "250ns",
    "0",
    "0.125",
    "7",
    "1/3ms",
    "t",
    "ms",
    "-5us",
    "5 us",
    "5ps",
    "5kt",
    "5k",
    "1e-3",
    "99999999999s",
)


@pytest.mark.parametrize("text", RATES)
def test_rates_are_exact(quantity, text):
    """As the Python command reads them, which has wider numbers and a few more notations."""
    got = ask(quantity.ratio_parse_rate, text.encode())
    try:
        wanted = parse_rate(text, "rate")
    except BadInput:
        wanted = None
    if text in ("1e3", "+58"):  # only the Python command takes exponents and signs
        wanted = None
    if wanted is not None and max(wanted.numerator, wanted.denominator) >= 1 << 64:
        wanted = None
    assert (got and got.value) == wanted


@pytest.mark.parametrize("text", TIMES)
@pytest.mark.parametrize("hz", (Fraction(50_000_000), Fraction(100_000_000, 3)))
def test_times_become_exact_ticks(quantity, text, hz):
    """Seconds in any unit, and ticks."""
    got = ask(quantity.ratio_parse_ticks, text.encode(), Ratio.of(hz))
    try:
        wanted = Timescale(hz).ticks(parse_duration(text))
    except BadInput:
        wanted = None
    if text in ("1e-3", "5ps", "5 us"):
        wanted = None
    assert (got and got.value) == wanted


def test_arithmetic(quantity):
    """Products and quotients are exact or refused; periods fit or are refused; pulse k is at the floor."""
    rng = random.Random(58)
    refused = 0
    for _ in range(3000):
        a, b = (Fraction(rng.randrange(1, 1 << rng.randrange(1, 64)), rng.randrange(1, 1 << rng.randrange(1, 64))) for _ in range(2))
        for function, exact in ((quantity.ratio_multiply, a * b), (quantity.ratio_divide, a / b)):
            got = ask(function, Ratio.of(a), Ratio.of(b))
            fits = max(exact.numerator, exact.denominator) < 1 << 64
            refused += not fits
            assert got.value == exact if fits else got is None
        assert quantity.ratio_nearest(Ratio.of(a)) == math.floor(a + Fraction(1, 2))
        period = ask(quantity.ratio_to_period, Ratio.of(a), kind=Period)
        fits = math.floor(a) <= WORD - 2 and a.denominator <= WORD
        assert (period is not None) == fits
        if fits:
            assert period.whole + Fraction(period.num, period.den or WORD) == a
            count = rng.randrange(WORD)
            assert quantity.period_times(period, count) == math.floor(count * a)
    assert refused > 100
    assert ask(quantity.ratio_to_period, Ratio(WORD + 1, WORD), kind=Period).den == 0
    assert ask(quantity.ratio_divide, Ratio(1, 1), Ratio(0, 1)) is None


WHOLE = {"0": 0, "255": 255, "0xff": 255}
NOT_WHOLE = ("256", "-1", "", " 1", "1 ", "010", "18446744073709551616", "1.0", "+1")


@pytest.mark.parametrize("text", (*WHOLE, *NOT_WHOLE))
def test_whole_numbers(quantity, text):
    """Decimal or 0x, nothing else, in range."""
    value = WHOLE.get(text)
    got = ask(quantity.parse_whole, text.encode(), 0, 255, kind=ctypes.c_uint64)
    assert (None if got is None else got.value) == value


BAD = {
    "train": (
        ["--rate"],
        ["--rate", "58", "--period", "1ms"],
        [],
        ["--rate", "58", "x"],
        ["--stop", "--rate", "58"],
        ["--stop", "--adjust"],
        ["--rate", "58", "--step", "1us"],
        ["--rate", "58", "--width", "1us", "--break", "5"],
        ["--rate", "58", "--profile", "0"],
        ["--rate", "58", "--format", "9N1"],
        ["--rate", "58", "--format", "8N3"],
        ["--rate", "58", "--format", ""],
        ["--rate", "58", "-d", "/dev/null"],
        ["--rate", "58", "-d", "/nonexistent"],
        ["--nonsense"],
    ),
    "capture": (["--edges", "up"], ["--count", "0"], ["--time", "gps"], ["x"], ["-d", "/dev/zero"]),
    "send": (
        [],
        ["--every", "1ms", "--rate", "5"],
        ["--every", "1ms", "/nonexistent"],
        ["--every", "1ms", "a", "b"],
        ["--every", "1ms", "-d", "/nonexistent"],
    ),
    "info": (["x"], ["-d", "/dev/null"], ["--device"]),
}


@pytest.mark.parametrize("name, arguments", [(name, arguments) for name in PROGRAMS for arguments in BAD[name]])
def test_bad_input_is_one_line_and_status_2(programs, name, arguments):
    """And nothing on standard output."""
    result = subprocess.run(
        [programs / f"litepulse-{name}", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert result.returncode == 2 and not result.stdout
    assert result.stderr.endswith("\n") and result.stderr.count("\n") == 1 and f"litepulse-{name}: " in result.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_and_a_full_disk(programs, name):
    """--help shows the usage; output that cannot be written is an error."""
    program = programs / f"litepulse-{name}"
    result = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    assert result.returncode == 0 and result.stdout.startswith(f"Usage: litepulse-{name}") and not result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 110
    with open("/dev/full", "wb") as full:
        assert subprocess.run([program, "--help"], stdout=full, stderr=subprocess.PIPE, check=False).returncode == 2


# A program's own function that takes an event gets what the driver says when the board lost a few records, then more than it counts.
LOSSES = r"""
#define main program_main
#include "{name}.c"
#undef main

int main(void)
{{
    struct litepulse_event event = {{ .tick = 7, .count = 5, .kind = LITEPULSE_KIND_LOST, .source = LITEPULSE_SRC_RECEIVER,
        .flags = LITEPULSE_FLAG_HARDWARE | LITEPULSE_FLAG_NS }};
    struct record record = {{ 0 }};

    {take};
    puts(lost_text(&record.lost));
    event.flags |= LITEPULSE_FLAG_AT_LEAST;
    event.count = 0xffff0000;
    {take};
    puts(lost_text(&record.lost));
    event.flags &= ~LITEPULSE_FLAG_AT_LEAST;
    event.count = 1;
    {take};
    puts(lost_text(&record.lost));
    return 0;
}}
"""
TAKES = {
    "capture": ("take(NULL, &event, &record, 1)", "## lost by the board: {} bytes from tick 7 on\n"),
    "train": ("take(&record, &event, (struct period){ 0 }, false)", ""),
    "send": ("take(&record, &event)", ""),
}


@pytest.mark.parametrize("name", TAKES)
def test_losses_that_the_board_did_not_count_are_a_lower_bound(name, tmp_path):
    take, template = TAKES[name]
    source = tmp_path / "losses.c"
    source.write_text(LOSSES.format(name=name, take=take))
    target = SW / "target"
    files = [source, target / "device.c", target / "quantity.c"]
    options = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", f"-I{target}", f"-I{SW.parent / 'driver' / 'uapi'}"]
    subprocess.run(["cc", *options, *files, "-o", tmp_path / "losses"], check=True)
    result = subprocess.run([tmp_path / "losses"], capture_output=True, text=True, check=True)
    lines = [("5", "5"), ("at least 4294901760", "at least 4294901765"), ("1", "at least 4294901766")]
    assert result.stdout == "".join(f"{template.format(one)}{all_of_them}\n" for one, all_of_them in lines)


def test_examples_compile(tmp_path):
    """Code that users copy compiles without a warning, and reports what is missing."""
    make("examples", tmp_path)
    for name in ("p1_tty", "p1_absolute", "p1_timed", "p1_train", "p1_disciplined", "burst"):
        result = subprocess.run([tmp_path / name, "/nonexistent"], capture_output=True, text=True, check=False)
        assert result.returncode == 2 and result.stderr == f"{name}: /nonexistent: No such file or directory\n"
