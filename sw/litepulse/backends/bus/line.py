# SPDX-License-Identifier: BSD-2-Clause
"""Settings of a core's line, and its best-effort bytes."""

from collections.abc import Mapping

from litepulse.backends import reliance
from litepulse.backends.bus.registers import Registers
from litepulse.backends.bus.responder import BusResponder
from litepulse.backends.bus.session import Session
from litepulse.backends.interface import LAUNCH_PROFILE, LAUNCH_PROFILES, RECEIVE_PROFILE, check_port
from litepulse.errors import BadInput, InUse, Refused, Unsupported
from litepulse.layout import CONFIG, pack, regs, unpack
from litepulse.line import Profile

TRANSMIT_WORDS = 128  # of bytes to send, in a burst


class BusLine:
    """See LineControl."""

    def __init__(self, registers: Registers, session: Session, responder: BusResponder) -> None:
        self._registers, self._session, self._responder = registers, session, responder

    def set_profile(self, number: int, profile: Profile) -> None:
        """See LineControl."""
        if number == LAUNCH_PROFILE:
            self.set_profiles({number: profile})
        else:
            self._write_profile(number, profile)

    def set_profiles(self, profiles: Mapping[int, Profile]) -> None:
        """See LineControl."""
        used = {one.profile for one in self._session.relied()}
        free = [number for number in LAUNCH_PROFILES if number not in used]
        if len(profiles) > len(free):
            raise InUse(f"{self._registers.identity.name}: what goes on here uses line profiles that this needs; 'litepulse stop' ends it")
        numbers = self._session.numbers = {}
        for number, profile in sorted(profiles.items(), key=lambda one: one[0]):
            numbers[number] = number if number in free else free[0]
            free.remove(numbers[number])
            self._write_profile(numbers[number], profile)

    def _write_profile(self, number: int, profile: Profile) -> None:
        fmt, period = profile.words()
        self._registers.configure((f"profile{number}_format", fmt), (f"profile{number}_period", period))

    def set_receiver(self, profile: Profile | None, receive: bool, loopback: bool, instead_of: str = "") -> None:
        """See LineControl. A word is not written again beside what runs: that would end a byte which is just being received."""
        registers = self._registers
        relied = self._session.relied(instead_of)
        word = registers.config_word("line")
        line, now = unpack(CONFIG["line"], word), registers.profile(RECEIVE_PROFILE)
        name, channel = registers.identity.name, registers.identity.inputs
        reliance.check_receiver(name, relied, channel, now, profile, (bool(line["loopback"]), loopback))
        if instead_of == "responder" and registers.read_status().responder_armed:
            self._responder.disarm()
        if not relied:
            if profile:
                self.set_profile(RECEIVE_PROFILE, profile)
            registers.write_fields("line", loopback=int(bool(loopback)), rx_enable=int(receive))
            return
        if profile and profile != now:
            self.set_profile(RECEIVE_PROFILE, profile)
        receive = receive or any(one.receives for one in relied)
        changed = pack(CONFIG["line"], **(line | {"loopback": int(bool(loopback)), "rx_enable": int(receive)}))
        if changed != word:
            registers.configure(("line", changed))

    def idle_level(self) -> int | None:
        """See LineControl: as the last program set it."""
        return reliance.idle_level(self._registers.profile(RECEIVE_PROFILE))

    def set_driver_enable(self, lead: int, lag: int) -> None:
        """Lead and lag of the `de` pin in ticks. The lead cannot change while a train runs."""
        for name, ticks in (("lead", lead), ("lag", lag)):
            if not 0 <= ticks <= 0xFFFF:
                raise BadInput(f"{name}: {ticks} ticks is outside 0 to {0xFFFF}")
        try:
            self._registers.write_fields("driver_enable", lead=lead, lag=lag)
        except Refused:
            raise Refused("lead: it cannot change while a train runs: stop the train first") from None

    def set_echo(self, ticks: int | None) -> int:
        used = self._registers.identity.echo(ticks)
        self._registers.write_fields("echo", tail=used)
        return used

    def set_mark_width(self, ticks: int) -> None:
        """See LineControl."""
        check_port(self._registers.identity)
        self._registers.configure(("port", ticks))

    def set_tty_marks(self, on: bool) -> None:
        """See LineControl."""
        del on
        name = self._registers.identity.name
        raise Unsupported(f"{name}: the kernel does not drive this board: 'litepulse tty --marks' makes a terminal whose bytes are marks")

    def transmit(self, data: bytes) -> int:
        self._registers.check_output()
        self._session.mine.add("bytes")
        base = regs.REGIONS["TX"][0]
        with self._registers.bus.hold():
            part = data[: self._registers.read_status().tx_free]
            whole = len(part) // 4 * 4
            writes: list[tuple[int, list[int]]] = []
            for start in range(0, whole, 4 * TRANSMIT_WORDS):
                words = [int.from_bytes(part[i : i + 4], "little") for i in range(start, min(start + 4 * TRANSMIT_WORDS, whole), 4)]
                writes.append((base + 3 * regs.TX_PART_SIZE, words))
            if rest := part[whole:]:
                writes.append((base + (len(rest) - 1) * regs.TX_PART_SIZE, [int.from_bytes(rest, "little")]))
            self._registers.exchange(writes)
        return len(part)

    def flush_transmit(self) -> None:
        self._registers.write_fields("command", flush_tty=1)
