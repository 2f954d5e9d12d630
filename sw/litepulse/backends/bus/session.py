# SPDX-License-Identifier: BSD-2-Clause
"""Which program a board answers to, what of all that runs there this program began, and what becomes of it when the program dies."""

import math
import secrets
from dataclasses import replace
from fractions import Fraction

from litepulse.backends import reliance
from litepulse.backends.bus.registers import WATCHDOG_SECONDS, Registers, Words
from litepulse.boottime import boottime
from litepulse.errors import TransportError
from litepulse.layout import CSRS, MASK32, TRAIN_COMMAND, pack, regs, unpack

_LATE_SECONDS = WATCHDOG_SECONDS - 0.1  # the two clocks differ by less


class Session:
    """The session of a board, and its watchdog.

    `mine`: of 'train', 'responder', 'launches', 'bytes', what this program began and has to end; `numbers`: that the profiles of
    launches have in the core
    """

    def __init__(self, registers: Registers) -> None:
        self._registers = registers
        self.mine: set[str] = set()
        self.numbers: dict[int, int] = {}

    def open(self) -> None:
        """First contact: names the session if the board has none, because it was just reset."""
        registers = self._registers
        with registers.bus.hold():  # else two at once would each write a name
            session = registers.read_status().session
            registers.identity = replace(registers.identity, session=session or secrets.randbelow(0xFFFF) + 1)
            if not session:
                registers.write_csr("session", registers.identity.session)
                registers.read_status()

    def others(self, status: Words) -> tuple[str, ...]:
        """'train', 'responder': those that run and are not ours."""
        running = (("train", status.train_running), ("responder", status.responder_armed))
        return tuple(name for name, runs in running if runs and name not in self.mine)

    def relied(self, instead_of: str = "") -> list[reliance.Reliance]:
        """What runs, ours too, and relies on settings."""
        registers = self._registers
        status = registers.read_status()
        found: list[reliance.Reliance] = []
        if status.train_running:
            found.append(reliance.of_train(registers.config_words("train_width", "train_launch")))
        if status.responder_armed and instead_of != "responder":
            words = registers.config_words("resp_trigger", "resp_launch")
            found.append(reliance.of_responder(words, registers.identity.inputs))
        return found

    def pledge(self, keep: bool = False, watched: bool = True) -> None:
        """Sets what the board does with what runs after WATCHDOG_SECONDS without a host: it stops
        it, or goes on with `keep`.

        Not `watched`: nothing runs that would have to be stopped. The board has one word for all that runs: what was kept stays kept.
        """
        registers = self._registers
        status = registers.read_status()
        keep = keep or (bool(status.keep) and bool(self.others(status)))
        units = math.ceil(Fraction(WATCHDOG_SECONDS) * self._bus_hz() / (1 << regs.WATCHDOG_UNIT))
        limit = min(units, unpack(CSRS["session"], MASK32)["limit"]) if watched and not keep else 0
        for _ in range(3):
            with registers.bus.hold():
                # Our name must not come back to a board that lost it: a look at the window begins the board's count again, so that what
                # the status then says is still true when the write arrives.
                begun = boottime()
                tick = registers.now()
                status = registers.read_status()
                if (status.limit, status.keep) == (limit, int(keep)):
                    return
                registers.write_csr("session", pack(CSRS["session"], session=status.session, limit=limit, keep=int(keep)))
                if registers.framed and registers.now() < tick:  # the write was repeated, and the board was reset meanwhile
                    self._give_up()
                if status.limit and not status.keep and boottime() - begun > _LATE_SECONDS:
                    self._give_up()
        status = registers.read_status()
        if (status.limit, status.keep) != (limit, int(keep)):
            raise self._watchdog_error()

    def _bus_hz(self) -> int | Fraction:
        """Clock of the board's bus, which counts the limit; where its bridge does not tell, that of the core, which is not below it."""
        return getattr(self._registers.bus, "bus_clock", lambda: 0)() or self._registers.identity.clock_hz

    def _give_up(self) -> None:
        """This program stood still: what the watchdog does, as it may have fired before the board got our name back. Restarted."""
        self.quiet()
        for _ in range(3):
            self._registers.write_csr("session", 0)
            self._registers.read_status()
        raise self._watchdog_error()

    def _watchdog_error(self) -> TransportError:
        return TransportError(f"{self._registers.identity.name}: the board does not take the setting of its watchdog")

    def quiet(self) -> None:
        """Stops all that starts by itself: train, responder, queue; what is on the line is finished."""
        self._registers.write_fields("train_command", command=TRAIN_COMMAND["stop"])
        self._registers.configure(("resp_arm", 0))
        self._registers.write_fields("command", flush_queue=1, flush_tty=1)
