# SPDX-License-Identifier: BSD-2-Clause
"""The responder of a core, and its LIN slave."""

from collections.abc import Sequence

from litepulse.backends.bus.registers import Registers
from litepulse.backends.bus.session import Session
from litepulse.backends.interface import NO_LIN_SLAVE, check_core, mapped
from litepulse.errors import Unsupported
from litepulse.layout import CONFIG, TRIGGER, pack
from litepulse.line import LinEntry, Response

_LIN_PART = 16  # LIN entries that are written before the core has answered for them


class BusResponder:
    """See ResponderControl."""

    def __init__(self, registers: Registers, session: Session) -> None:
        self._registers, self._session = registers, session

    def check(self, response: Response) -> None:
        check_core(self._registers.identity, response)

    def arm(self, response: Response) -> None:
        self.check(response)
        trigger, launch = response.trigger, mapped(response.launch, self._session.numbers)
        self._session.mine.add("responder")
        fields = {
            "trigger": TRIGGER[trigger.kind],
            "channel": trigger.channel,
            "rise": int(trigger.rise),
            "fall": int(trigger.fall),
            "rearm": int(bool(response.rearm)),
            "exclusive": int(bool(response.exclusive)),
            "ignore_own": int(bool(response.ignore_own)),
            "burst": response.pulses - 1,
        }
        self._registers.configure(
            ("resp_trigger", pack(CONFIG["resp_trigger"], **fields)),
            ("resp_match", pack(CONFIG["resp_match"], value=trigger.value, mask=trigger.mask)),
            ("resp_delay", response.delay),
            ("resp_width", launch.width),
            ("resp_launch", launch.word()),
            ("resp_holdoff", response.holdoff),
            ("resp_arm", 1),
        )

    def disarm(self) -> None:
        self._registers.configure(("resp_arm", 0))
        self._session.mine.discard("responder")

    def lin_entries(self) -> int:
        identity = self._registers.identity
        if not identity.lin_entries:
            raise Unsupported(f"{identity.name}: {NO_LIN_SLAVE}")
        return identity.lin_entries

    def set_lin(self, entries: Sequence[LinEntry]) -> None:
        for start in range(0, len(entries), _LIN_PART):
            words: list[tuple[str, int]] = []
            for entry in entries[start : start + _LIN_PART]:
                low, high, last = entry.words()
                if entry.data:
                    words += [("lin_data_lo", low), ("lin_data_hi", high)]
                words.append(("lin_entry", last))
            self._registers.configure(*words)
