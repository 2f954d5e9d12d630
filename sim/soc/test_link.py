# SPDX-License-Identifier: BSD-2-Clause
"""Two simulators wired to each other: each edge arrives after the same number of ticks, whatever the two processes are kept from."""

import os
import random
import signal
import subprocess
import time
from fractions import Fraction

import pytest

from litepulse import regs
from litex_soc import sim_soc
from sim.soc.soc_rig import ALL_EVENTS, KIND, SOURCE, Simulated, edges, pack, read_vcd, register
from sim.soc.test_pins import frame

HZ, BIT, DELAY = 400_000, 40, 123


def board(folder, name, *arguments):
    """One end, with the receiver on and edges of RX captured."""
    soc = Simulated("--pace", "--pulse-hz", HZ, "--link", folder / "wire", "--vcd", folder / name, *arguments)
    soc.profile(0, BIT)
    soc.configure(line=pack(register(regs.CONFIG, "line"), rx_enable=1), capture_edges=1 << 4 | 1 << 20, event_mask=ALL_EVENTS)
    return soc


def launched(soc):
    """True when all that was committed has been reported."""
    return lambda seen: sum(e[2] == KIND["TX"] and e[3] == SOURCE["QUEUE"] for e in seen) == soc


def send(soc, data):
    """Launches bytes 12 frames apart; the ticks at which they begin."""
    start = soc.now() + HZ // 10
    ticks = [start + 120 * BIT * n for n in range(len(data))]
    for tick, byte in zip(ticks, data):
        soc.launch(tick, byte)
    return ticks


def sent(ticks, data):
    """[(tick, level)] of these frames."""
    return [(tick + at, level) for tick, byte in zip(ticks, data) for at, level in frame(byte, BIT)]


def ended(soc):
    """Nothing was printed, all went well."""
    assert soc.close() == (0, "")


def pins_of(path, name):
    """[(tick, level)] of a pin in a VCD."""
    return edges(read_vcd(path)[0][name], Fraction(HZ))


def shift(here, there):
    """The one number of ticks by which all edges there come later; they must be the same edges."""
    assert len(here) == len(there) and [level for _, level in here] == [level for _, level in there]
    (ticks,) = {later - tick for (tick, _), (later, _) in zip(here, there)}
    return ticks


@pytest.mark.parametrize("delay", [DELAY, 5000])
def test_each_edge_arrives_after_the_same_time(delay, tmp_path):
    """Both ways at once, while either process is stopped again and again; what the receivers stamp says the same."""
    rng = random.Random(delay)
    data = [[rng.randrange(256) for _ in range(20)] for _ in range(2)]
    with board(tmp_path, "a", "--link-delay", delay) as a, board(tmp_path, "b", "--link-delay", delay) as b:
        ticks = [send(soc, bytes_) for soc, bytes_ in zip((a, b), data)]
        for _ in range(6):
            for soc in (a, b):
                os.kill(soc.process.pid, signal.SIGSTOP)
                time.sleep(rng.uniform(0, 0.03))
                os.kill(soc.process.pid, signal.SIGCONT)
        wanted = [2 * sum(level for _, level in frame(byte, BIT)) for byte in data[1]]
        events = a.wait_events(lambda seen: sum(e[2] == KIND["EDGE"] for e in seen) == sum(wanted))
        b.wait_events(launched(len(data[1])))
        while b.header("RECEIVE")[0] < len(data[0]):
            pass
        words = b.bus.read(regs.WINDOW_BASE + regs.REGIONS["RECEIVE"][0] + 16, 2 * len(data[0]))
        ended(a)
        ended(b)
    assert [word & 0xFF for word in words[1::2]] == data[0]
    pins = {(name, pin): pins_of(tmp_path / name, pin) for name in "ab" for pin in ("tx", "rx")}
    assert pins["a", "tx"] == sent(ticks[0], data[0]) and pins["b", "tx"] == sent(ticks[1], data[1])
    # Neither began at the other's tick 0, so it is the way there and back that is known.
    assert shift(pins["a", "tx"], pins["b", "rx"]) + shift(pins["b", "tx"], pins["a", "rx"]) == 2 * delay
    stamps = [(e[0], e[5] >> 20 & 1) for e in events if e[2] == KIND["EDGE"]]
    assert stamps == [(tick + regs.LOOPBACK_TICKS, level) for tick, level in pins["a", "rx"]]


def test_a_bus(tmp_path):
    """With --bus each hears itself at once, and the other after the delay: a LIN bus with two nodes."""
    with board(tmp_path, "a", "--bus", "--link-delay", DELAY) as a, board(tmp_path, "b", "--bus", "--link-delay", DELAY) as b:
        ticks = [send(a, b"\x12\x80")]
        a.wait_events(launched(2))
        ticks.append(send(b, b"\x55"))
        b.wait_events(launched(1))
        late = a.now()
        while a.now() < late + 10_000:
            pass
        ended(b)
        ended(a)
    pins = {(name, pin): pins_of(tmp_path / name, pin) for name in "ab" for pin in ("tx", "rx")}
    assert pins["a", "tx"] == sent(ticks[0], b"\x12\x80") and pins["b", "tx"] == sent(ticks[1], b"\x55")
    others = [[edge for edge in pins[name, "rx"] if edge not in pins[name, "tx"]] for name in "ab"]
    assert all(len(pins[name, "rx"]) == len(pins["a", "tx"]) + len(pins["b", "tx"]) for name in "ab")
    assert shift(pins["b", "tx"], others[0]) + shift(pins["a", "tx"], others[1]) == 2 * DELAY


def test_the_other_one_comes_and_goes(tmp_path):
    """Alone, its time goes on and RX is idle; who ends in the middle of a frame leaves the line idle; the next one is heard."""
    with board(tmp_path, "a") as a:
        alone = a.now()
        while a.now() < alone + HZ // 20:
            pass
        for name in ("b", "c"):
            with board(tmp_path, name, "--vcd", tmp_path / name) as b:
                begun = send(b, [0])[0]
                while b.now() < begun + 3 * BIT:
                    pass
                ended(b)
            cut = a.now()
            while a.now() < cut + 10_000:
                pass
        assert a.header("EVENTS")[0] >= 4
        ended(a)
    assert [level for _, level in pins_of(tmp_path / "a", "rx")] == [0, 1, 0, 1]
    assert not (tmp_path / "wire").exists()


def test_a_socket_that_was_left_behind(tmp_path):
    """By a killed simulator: its place is taken. A third simulator is refused, and the two do not notice."""
    with board(tmp_path, "a") as a:
        a.process.kill()
        a.process.wait()
    assert (tmp_path / "wire").exists()
    with board(tmp_path, "a") as a, board(tmp_path, "b") as b:
        third = run("--link", tmp_path / "wire", "--stop-at-cycle", 10**9, "--pulse-hz", HZ)
        assert third == (2, f"litepulse-sim: --link: {tmp_path}/wire: two other simulators use it\n")
        start = send(b, b"x")
        a.wait_events(lambda seen: any(e[2] == KIND["EDGE"] for e in seen))
        ended(b)
        ended(a)
    assert pins_of(tmp_path / "b", "tx") == sent(start, b"x")


SLOW_TO_LISTEN = """
#include <unistd.h>
#include <sys/syscall.h>
int listen(int fd, int backlog)
{
    usleep(500000);
    return (int)syscall(SYS_listen, fd, backlog);
}
"""


def test_two_that_start_at_once_meet(tmp_path):
    """While one has bound its socket and does not listen yet, the other must not take that for one left behind."""
    (tmp_path / "slow.c").write_text(SLOW_TO_LISTEN)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "slow.so", tmp_path / "slow.c"], check=True)
    command = [sim_soc.build(quiet=True), "--tcp", "0", "--pace", "--pulse-hz", HZ, "--link", tmp_path / "wire", "--stop-at-cycle", HZ]
    first = subprocess.Popen([str(word) for word in command], env={**os.environ, "LD_PRELOAD": str(tmp_path / "slow.so")})
    while not (tmp_path / "wire").exists() and first.poll() is None:
        pass
    with board(tmp_path, "b") as b:
        status, errors = run("--link", tmp_path / "wire", "--stop-at-cycle", 10**9, "--pulse-hz", HZ)
        assert (status, errors) == (2, f"litepulse-sim: --link: {tmp_path}/wire: two other simulators use it\n")
        ended(b)
    assert first.wait(timeout=60) == 0 and not (tmp_path / "wire").exists()


def run(*arguments):
    """(status, standard error) of the program."""
    command = [str(word) for word in (sim_soc.build(quiet=True), *arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.parametrize("other", [("--pulse-hz", HZ + 1), ("--link-delay", 5, "--pulse-hz", HZ)])
def test_both_ends_must_agree(other, tmp_path):
    with board(tmp_path, "a") as a:
        status, errors = run("--link", tmp_path / "wire", "--stop-at-cycle", 10**9, *other)
        assert status == 2 and errors.startswith(f"litepulse-sim: --link: {tmp_path}/wire: the other simulator has a clock of {HZ}/1 Hz")
        assert a.process.wait(timeout=10) == 2
        assert " and a delay of " in a.close()[1]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--link", "x", "--loop-tx-rx"], "--link: rx is wired to another simulator"),
        (["--link", "x", "--level", "rx=0"], "--link: rx is wired to another simulator"),
        (["--link", "x", "--lockstep", "9"], "--lockstep excludes --link"),
        (["--link", ""], "--link: '' is no path of a socket"),
        (["--link", "/nowhere/x"], "--link: /nowhere/x: No such file or directory"),
        (["--link", "x" * 200], "--link: 'xxx"),
        (["--link-delay", "9"], "--link-delay: there is no --link"),
        (["--link", "x", "--link-delay", "0"], "--link-delay: 0 is not within "),
    ],
)
def test_refuses(arguments, message):
    status, text = run("--tcp", "0", *arguments)
    assert status == 2 and text.startswith(f"litepulse-sim: {message}") and text.count("\n") == 1
