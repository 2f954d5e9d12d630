# SPDX-License-Identifier: BSD-2-Clause
"""The debug kernel with simulated boards at its serial lines: driver, line discipline, and programs that use them.

with Board() as board:                          a simulated SoC, TX wired to RX
    run = cable_boot(["use"], [board])          guest: attaches /dev/ttyS0 and uses it, see cable/cable.c
with Board(damage=Damage(lose=0.01)) ...        on the way bytes are lost, doubled, damaged, as often as that
"""

import functools
import json
import random
import select
import socket
import subprocess
import threading
import time
from dataclasses import dataclass

from litepulse import regs
from litex_soc import sim_soc
from sim.bridge_frames import MARKER, PACKED, Line, answer, commands, pack, spoilt, unpack
from sim.bridge_rules import SESSION, Watcher
from sim.cocotb_rig import dies_with_us
from sim.driver.uml import boot, build_modules
from sim.guest.cable_programs import program
from sim.guest.driver_tree import DRIVER, driver_copy
from sim.guest.rate_register import RateRegister

# Cycles that a board goes on after each command: it does not keep the machine busy while idle.
LOCKSTEP = 20_000


def mistake(file, right, wrong):
    """One for modules(): in a file of the driver there is `wrong` instead of `right`. Fails where it is written, not only when its turn
    comes, if the file does not have `right`."""
    assert right in (DRIVER / file).read_text(), f"the fault for {file} changes nothing"
    return file, right, wrong


@functools.lru_cache(maxsize=None)
def modules(*mistakes, **kernel):
    """{name: path} of the driver's modules. `mistakes`: of mistake().

    `kernel`: see uml.build_modules().
    """
    if not mistakes:
        return build_modules(driver_copy("cable"), **kernel)
    folder = driver_copy("cable-mistake")
    for file, right, wrong in mistakes:
        (folder / file).write_text((folder / file).read_text().replace(right, wrong))
    return build_modules(folder, **kernel)


@dataclass(frozen=True)
class Damage:
    """How often a byte is damaged on its way, in both directions; drawn from `seed`."""

    lose: float = 0
    double: float = 0
    flip: float = 0
    seed: int = 1


class Between:
    """Passes bytes on between two sockets: `near` is the guest's, `far` the board's."""

    def __init__(self, near, far):
        self.ends = (near, far)
        self.stopped = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def carry(self, data, to_board):
        """What arrives of `data`."""
        raise NotImplementedError

    def run(self):
        """Until one end is closed."""
        while not self.stopped:
            for end in select.select(self.ends, [], [], 0.2)[0]:
                to_board = end is self.ends[0]
                try:
                    data = end.recv(4096)
                    if not data:
                        return
                    carried = self.carry(data, to_board)
                    self.ends[to_board].sendall(carried)
                except OSError:
                    return

    def end(self):
        """Nothing passes any more."""
        self.stopped = True
        self.thread.join()


class Damager(Between):
    """Damages what passes."""

    def __init__(self, damage, near, far):
        self.damage, self.random = damage, random.Random(damage.seed)
        self.lost = self.doubled = self.flipped = 0
        super().__init__(near, far)

    def carry(self, data, to_board):
        out = bytearray()
        for byte in data:
            draw = self.random.random()
            if draw < self.damage.lose:
                self.lost += 1
                continue
            draw -= self.damage.lose
            if draw < self.damage.double:
                self.doubled += 1
                out += bytes((byte, byte))
                continue
            draw -= self.damage.double
            if draw < self.damage.flip:
                self.flipped += 1
                byte ^= 1 << self.random.randrange(8)
            out.append(byte)
        return bytes(out)


class EachPlace(Between):
    """Damages one byte of each `EVERY`-th exchange: each of the first `PLACES` of the question, then of the answer, and so on.

    The byte is lost, doubled, or one of its bits is turned. `damaged` : {(to the board, place):
    what was done}; `packed` : number of exchanges with a packed answer.
    """

    EVERY, PLACES = 4, 30
    WAYS = ("lost", "doubled", "flipped")

    def __init__(self, near, far):
        self.damaged, self.packed = {}, 0
        self.exchanges, self.turn, self.passed, self.answered, self.random = 0, 0, 0, True, random.Random(1)
        super().__init__(near, far)

    def carry(self, data, to_board):
        if to_board and self.answered:  # the next question
            self.exchanges += 1
            self.answered, self.passed = False, 0
            self.packed += data[:1] == bytes((PACKED,))
        elif not to_board and not self.answered:
            self.answered, self.passed = True, 0
        begin, self.passed = self.passed, self.passed + len(data)
        way, place = self.turn % 2 == 0, self.turn // 2 % self.PLACES
        if self.exchanges % self.EVERY or way != to_board or not begin <= place < self.passed:
            return data
        how, at = self.WAYS[(place + self.turn // 2 // self.PLACES) % 3], place - begin
        self.damaged[to_board, place] = how
        self.turn += 1
        self.exchanges += 1  # what is repeated is another one
        instead = {"lost": b"", "doubled": data[at : at + 1] * 2, "flipped": bytes((data[at] ^ 1 << self.random.randrange(8),))}[how]
        return data[:at] + instead + data[at + 1 :]


class Plain(Between):
    """Makes the board's bridge one without frames: it gets their contents only."""

    def carry(self, data, to_board):
        # The head and checksum of a frame are no commands, and so ignored.
        return data[3:-2] if to_board and data[:1] == bytes((MARKER,)) else data


class Through(Between):
    """Changes nothing."""

    def carry(self, data, to_board):
        return data

    def say(self, data):
        """Sends something to the guest without a request."""
        self.ends[0].sendall(data)


class Rated(Between):
    """Gives the board's bridge a bit rate that can be set; `register.requested` has the words written to it."""

    REGISTER = RateRegister

    def __init__(self, near, far):
        self.register = self.REGISTER([1_000_000])
        super().__init__(near, far)

    def carry(self, data, to_board):
        return self.register(not to_board, data)


class OtherRegister(RateRegister):
    """The register of a bridge that begins at another rate than 115200 baud."""

    BASE = 57_600


class OtherBridge(Rated):
    """The address of the register reads as if it were there, but not as at 115200 baud. `watcher`
    judges the host."""

    REGISTER = OtherRegister

    def __init__(self, near, far):
        self.watcher = Watcher()
        super().__init__(near, far)

    def carry(self, data, to_board):
        data = super().carry(data, to_board)
        self.watcher(time.monotonic(), to_board, data)
        return data


LINE = "litepulse_uartbone_line.c"
# This kernel's serial lines have no bit rate: the driver takes any for set, and says on the line which.
REPORTS_RATE = (
    mistake(LINE, "int litepulse_line_set_baud(struct", '#include "litepulse_compat.h"\n\nint litepulse_line_set_baud(struct'),
    mistake(
        LINE, "\tstruct ktermios settings;\n\tint error = -ENODEV;", "\tstruct ktermios settings;\n\tint error = -ENODEV;\n\tu8 note[9];"
    ),
    mistake(
        LINE,
        "\t\terror = abs((int)tty_get_baud_rate(link->tty) - (int)baud) <= baud / 50 ? 0 :\n\t\t\t\t\t\t\t\t\t\t\t  -EINVAL;\n",
        '\t\tmemcpy(note, "\\xf0rate", 5);\n\t\tput_unaligned_be32(baud, note + 5);\n'
        "\t\terror = link->tty->ops->write(link->tty, note, sizeof(note)) == sizeof(note) ? 0 : -EINVAL;\n",
    ),
)


class Raised(Between):
    """A bridge and a port whose rates can be raised: bytes at another rate than the bridge's do not
    arrive."""

    NOTE = b"\xf0rate"  # of REPORTS_RATE; no frame begins so

    def __init__(self, near, far):
        self.register = RateRegister([1_000_000], RateRegister.BASE)
        super().__init__(near, far)

    def carry(self, data, to_board):
        out = b""
        if to_board:
            while (at := data.find(self.NOTE)) >= 0:
                out += self.passes(data[:at], True) if at else b""
                rate = int.from_bytes(data[at + 5 : at + 9], "big")
                # The guest attaches the port at whatever this kernel calls its rate: that is the bridge's at first.
                self.register.port = rate if rate in self.register.carries else RateRegister.BASE
                data = data[at + 9 :]
        return out + self.passes(data, to_board) if data else out

    def passes(self, data, to_board):
        """What arrives of it."""
        return self.register(not to_board, data)


class Watched(Raised):
    """Judges what the host does by the rules of the bridge, at the host's end. The first answer to
    a pledge is lost.

    `on_records` : called once, before the host gets an answer with records that it has to free.
    `limits` : of SESSION, each time that it became another one.
    """

    def __init__(self, near, far):
        self.watcher, self.lost, self.on_records = Watcher(), False, None
        self.limits: list[int] = []
        super().__init__(near, far)

    def passes(self, data, to_board):
        if to_board:
            self.watcher(time.monotonic(), True, data, self.register.port)
            self.limits += [self.watcher.limit] if self.limits[-1:] != [self.watcher.limit] else []
            return super().passes(data, True)
        data, waiting = super().passes(data, False), self.watcher.line.waiting
        if not self.lost and self.watcher.judged["pledge"] and waiting and SESSION in waiting[0].writes:
            self.lost = True
            return b""
        if data:
            self.watcher(time.monotonic(), False, data)
        if data and self.on_records and self.watcher.heard.get(EVENTS, 0) & 0xFFFF:
            call, self.on_records = self.on_records, None
            call()
        return data


EVENTS = regs.WINDOW_BASE + regs.REGIONS["EVENTS"][0]  # where the header of the event stream lies


class LateOnce(Watched):
    """Loses, once, the answer to a request that frees records and is under way alone; calls
    `on_free` before that."""

    def __init__(self, near, far):
        self.on_free, self.losing = None, False
        super().__init__(near, far)

    def passes(self, data, to_board):
        waiting = self.watcher.line.waiting
        if to_board:
            self.losing = False
        elif self.on_free and len(waiting) == 1 and EVENTS in waiting[0].writes and len(waiting[0].reads) < SHORT_WORDS:
            call, self.on_free, self.losing = self.on_free, None, True
            call()
        if not self.losing:
            return super().passes(data, to_board)
        Raised.passes(self, data, to_board)
        return b""


SHORT_WORDS = 16 * 4  # the driver does not ask for less than 16 events, if it gets no answer


def addresses_read(frame):
    """Addresses of the words that a frame to the bridge reads, in order; None if it is no whole frame."""
    if frame[:1] not in (bytes((MARKER,)), bytes((PACKED,))) or len(frame) < 3 or len(frame) < frame[2] + 6:
        return None
    return list(commands(frame[3 : frame[2] + 4])[0])


FRAMES = regs.BRIDGE_BASE + 4  # version of the bridge's frames


class Ahead(Between):
    """Knows requests and answers, also if several are under way at once, `most` of them. The bridge
    carries out what it hears."""

    def __init__(self, near, far):
        self.most, self.line = 0, Line()
        super().__init__(near, far)

    def carry(self, data, to_board):
        if to_board:
            for request in self.line.requests(data):
                self.on_request(request)
            return data
        return b"".join(self.arrives(request, words) for request, words in self.line.replies(data) if words is not None)

    def on_request(self, request):
        """A question has come whole."""
        self.line.waiting.append(request)
        self.most = max(self.most, len({waiting.number for waiting in self.line.waiting}))

    def arrives(self, request, words):
        """What arrives of the answer with these words."""
        return answer(request.raw, words)


class NothingWaits(Ahead):
    """Reports that it packs answers, but that no frame waits in it."""

    def arrives(self, request, words):
        return super().arrives(request, [2] if request.reads == (FRAMES,) else words)


class ShortOfBreath(Ahead):
    """Damages each answer that is longer than LIMIT bytes; `damaged`: how many."""

    LIMIT = 250

    def __init__(self, near, far):
        self.damaged = 0
        super().__init__(near, far)

    def arrives(self, request, words):
        answered = super().arrives(request, words)
        if len(answered) <= self.LIMIT:
            return answered
        self.damaged += 1
        return spoilt(answered)


class PowerCut(Ahead):
    """Replaces the board, once the host has received the byte PID, by one that was just switched
    on, with OPTIONS.

    `second` is that board.
    """

    def __init__(self, pid, options, near, far):
        self.pid, self.options = pid, options
        self.second: Board | None = None
        super().__init__(near, far)

    def arrives(self, request, words):
        begin, end = (regs.WINDOW_BASE + regs.REGIONS[name][0] for name in ("RECEIVE", "TX"))
        infos = [word for place, word in zip(request.reads, words) if begin + 16 <= place < end and place % 8 == 4]
        if not self.second and any(word & 0x1FF == self.pid for word in infos):
            self.second = Board(*self.options, lockstep=None, wired=False)
            self.ends = (self.ends[0], self.second.line)
        return super().arrives(request, words)

    def end(self):
        super().end()
        if self.second:
            self.second.__exit__()


class Witness(Between):
    """Records by the host's clock when the board took its tick.

    `brackets`: {tick: (ns, ns)} of CLOCK_MONOTONIC, for each frame whose first read is the header of the event stream: the time when the
    request was sent, and the time when the first byte of the reply arrived.
    """

    def __init__(self, near, far):
        self.brackets = {}
        self.requested_at, self.answered, self.question, self.answer = 0, 0, b"", b""
        super().__init__(near, far)

    def carry(self, data, to_board):
        # A host asks when its last question was answered: what comes in between is one frame, or its answer.
        if to_board:
            self.question, self.answer = (self.question if not self.answer else b"") + data, b""
            self.requested_at = time.monotonic_ns()
            return data
        self.answered = time.monotonic_ns() if not self.answer else self.answered
        self.answer += data
        packed = self.question[:1] == bytes((PACKED,))
        size = len(pack(bytes(16))) if packed else 16  # of the header
        if len(self.answer) >= size > len(self.answer) - len(data) and (addresses_read(self.question) or [])[:1] == [EVENTS]:
            header = unpack(self.answer[:size], 16)[0] if packed else self.answer
            tick = int.from_bytes(header[12:16], "big") << 32 | int.from_bytes(header[8:12], "big")
            self.brackets[tick] = (self.requested_at, self.answered)
        return data


class Board:
    """A simulated SoC; `line` is the socket for the guest's serial line. `wired` : TX to RX."""

    def __init__(self, *options, damage=None, between=None, lockstep: int | None = LOCKSTEP, wired=True):
        words = [sim_soc.build(), "--tcp", "0", "--exit-with-parent", *(["--loop-tx-rx"] if wired else []), *options]
        if lockstep:
            words += ["--lockstep", lockstep]
        self.process = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=dies_with_us(15)
        )
        self.line = socket.create_connection(("127.0.0.1", json.loads(self.process.stdout.readline())["tcp"]))
        self.line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.between = None
        if damage:
            between = functools.partial(Damager, damage)
        if between:
            near, far = socket.socketpair()
            self.between = between(far, self.line)
            self.far, self.line = self.line, near

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.between:
            self.between.end()
            self.far.close()
        self.line.close()
        self.process.stdin.close()
        self.process.wait(timeout=20)


def cable_jobs(uses, name="cable", port="/dev/ttyS0", parameters=""):
    """Jobs that load both modules, run `cable/NAME USE PORT ...` for each of `uses`, and unload them.

    A use is words; the port stands in them only if it is another. One that begins with / names its program.
    """

    def words(use):
        verb, *more = use.split()
        return " ".join([*([verb] if use[0] == "/" else [f"/{name}", verb]), *(more if "/dev/" in use else [port, *more])])

    return [
        "insmod litepulse.ko",
        f"insmod litepulse_uartbone.ko {parameters}".strip(),
        *(f"run {words(use)}" for use in uses),
        "rmmod litepulse_uartbone",
        "rmmod litepulse",
    ]


def cable_files(made, programs):
    """{name in the guest: path} of what those jobs need. `made`: see modules()."""
    return {f"{name}.ko": made[name] for name in ("litepulse", "litepulse_uartbone")} | {name: program(name) for name in programs}


def cable_boot(uses, boards, *, name="cable", also=(), parameters="", made=None, **options):
    """Boots, does what cable_jobs() says, and looks for leaks: a uml.Boot.

    `made`: other modules than those of this tree; `also`: further programs.
    """
    jobs = [*cable_jobs(uses, name, parameters=parameters), "leaks"]
    lines = [board.line if isinstance(board, Board) else board for board in boards]
    return boot(jobs, cable_files(made or modules(), (name, *also)), lines=lines, **options)
