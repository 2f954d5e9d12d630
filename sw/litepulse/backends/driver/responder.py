# SPDX-License-Identifier: BSD-2-Clause
"""The responder of a board by the driver, and its LIN slave."""

import errno
from collections.abc import Sequence

from litepulse.backends import driver_abi as abi
from litepulse.backends.driver.claim import Claim
from litepulse.backends.driver.device import BURST_ABI, LIN_ABI, refused
from litepulse.backends.interface import NO_LIN_SLAVE, check_core, mapped
from litepulse.errors import LitePulseError, Refused, Unsupported
from litepulse.layout import LAUNCH_KIND, TRIGGER
from litepulse.line import LinEntry, Response
from litepulse.units import hexadecimal, in_ticks

_BURST = abi.RESPONDER_PULSES_MASK & -abi.RESPONDER_PULSES_MASK  # of the flags: one launch behind the first
_OLD_LIMIT = 1 << 24  # ticks, below which times were before BURST_ABI


def _lin_entry(entry: LinEntry) -> abi.LinEntry:
    """As the driver takes it: all is 0 of one that is off."""
    if not entry.data:
        return abi.LinEntry(entry.frame_id)
    flags = (
        (abi.LIN_ENTRY_ENHANCED if entry.enhanced else 0)
        | (abi.LIN_ENTRY_ONCE if entry.once else 0)
        | (abi.LIN_ENTRY_OWN_CHECKSUM if entry.checksum is not None else 0)
    )
    checksum = entry.flip if entry.checksum is None else entry.checksum
    return abi.LinEntry(entry.frame_id, len(entry.data), checksum, flags=flags, data=entry.data)


class DriverResponder:
    """See ResponderControl."""

    def __init__(self, claim: Claim) -> None:
        self._claim, self._device = claim, claim.device

    def check(self, response: Response) -> None:
        check_core(self._device.identity, response)
        if response.pulses > 1:
            self._device.require(BURST_ABI, "bursts")
        elif max(response.delay, response.holdoff) >= _OLD_LIMIT:
            self._device.require(BURST_ABI, f"delays and holdoffs of {in_ticks(_OLD_LIMIT)} or more")

    def arm(self, response: Response) -> None:
        self.check(response)
        trigger, launch = response.trigger, mapped(response.launch, self._claim.numbers)
        flags = (
            (abi.RESPONDER_RISE if trigger.rise else 0)
            | (abi.RESPONDER_FALL if trigger.fall else 0)
            | (abi.RESPONDER_REARM if response.rearm else 0)
            | (abi.RESPONDER_EXCLUSIVE if response.exclusive else 0)
            | (abi.RESPONDER_IGNORE_OWN if response.ignore_own else 0)
            | (response.pulses - 1) * _BURST
        )
        request = abi.Responder(
            TRIGGER[trigger.kind],
            trigger.channel,
            trigger.value,
            trigger.mask if trigger.kind == "byte" else 0,
            flags,
            response.delay,
            response.holdoff,
            launch.width,
            LAUNCH_KIND[launch.kind],
            launch.profile,
            launch.data,
        )
        try:
            self._claim.call(abi.IOC_RESPONDER, request)
        except OSError as error:
            if trigger.kind == "lin" and error.errno == errno.ERANGE:
                tty = self._device.identity.nodes.get("tty")
                text = f"{tty}: another program has changed its settings: a LIN slave needs 8N1, and slower bits"
                raise Refused(text, "invalid") from None
            raise refused("the responder", error) from None
        self._claim.mine.add("responder")
        self._claim.line_use.lengths["responder"] = self._claim.length(launch)

    def disarm(self) -> None:
        with self._claim.momentary(keep=True) as file:
            try:
                self._device.call(file, abi.IOC_RESPONDER, abi.Responder())
            except OSError as error:
                raise LitePulseError(f"{self._device.path}: the responder cannot be disarmed ({error.strerror})") from None
            self._claim.mine.discard("responder")

    def lin_entries(self) -> int:
        device = self._device
        device.require(LIN_ABI, "a LIN slave")
        if not device.identity.lin_entries:
            raise Unsupported(f"{device.path}: {NO_LIN_SLAVE}")
        return device.identity.lin_entries

    def set_lin(self, entries: Sequence[LinEntry]) -> None:
        for entry in entries:
            try:
                self._claim.call(abi.IOC_LIN_ENTRY, _lin_entry(entry))
            except OSError as error:
                raise refused(f"the answer of identifier {hexadecimal(entry.frame_id)}", error) from None
