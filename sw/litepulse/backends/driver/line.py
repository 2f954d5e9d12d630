# SPDX-License-Identifier: BSD-2-Clause
"""Settings of the line by the driver and by its tty, and best-effort bytes, which go through the tty."""

import errno
import math
import os
import termios
from collections.abc import Iterable, Mapping

from litepulse import compatibility
from litepulse.backends import driver_abi as abi
from litepulse.backends.driver.claim import Claim
from litepulse.backends.driver.device import PORT_ABI, refused
from litepulse.backends.driver.responder import DriverResponder
from litepulse.backends.driver.tty import Tty
from litepulse.backends.interface import LAUNCH_PROFILE, LAUNCH_PROFILES, RECEIVE_PROFILE, check_port
from litepulse.errors import InUse, Refused, Unsupported
from litepulse.layout import PARITY
from litepulse.line import Profile


class DriverLine:
    """See LineControl."""

    def __init__(self, claim: Claim, tty: Tty, responder: DriverResponder) -> None:
        self._claim, self._device, self._tty, self._responder = claim, claim.device, tty, responder

    def set_profile(self, number: int, profile: Profile) -> None:
        """See LineControl."""
        if number == LAUNCH_PROFILE:
            self.set_profiles({number: profile})
        else:
            self._set_first((number,), profile)

    def set_profiles(self, profiles: Mapping[int, Profile]) -> None:
        """See LineControl. What was kept uses those that the driver refuses to change."""
        numbers = self._claim.numbers = {}
        free = list(LAUNCH_PROFILES)
        for number, profile in sorted(profiles.items(), key=lambda one: one[0]):
            numbers[number] = self._set_first(sorted(free, key=lambda one: (one != number, one)), profile)
            free.remove(numbers[number])

    def _set_first(self, numbers: Iterable[int], profile: Profile) -> int:
        """Sets the first of some that the driver does not refuse because something kept uses it."""
        taken = next((one for one in numbers if self._put_profile(one, profile)), None)
        if taken is None:
            raise InUse(f"{self._device.path}: what goes on here uses each line profile; 'litepulse stop' ends it")
        if profile.format.to_port:  # the line stays as it is
            self._claim.profiles[taken] = profile
            return taken
        try:
            self._claim.call(abi.IOC_REST, abi.Rest(abi.REST_LOW if profile.format.invert else abi.REST_HIGH))
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:
                compatibility.require(self._device.path, self._device.identity.version, compatibility.LOW_REST)
            if error.errno == errno.EBUSY:
                raise InUse("invert: what runs on the line needs its level at rest as it is; 'litepulse stop' ends it") from None
            raise Refused(f"the driver refused the level of the line at rest ({error.strerror})") from None
        self._claim.profiles[taken] = profile
        return taken

    def _put_profile(self, number: int, profile: Profile) -> bool:
        """False if something that was kept uses it with other settings."""
        fmt = profile.format
        flags = (abi.PROFILE_INVERT if fmt.invert else 0) | (abi.PROFILE_TO_PORT if fmt.to_port else 0)
        request = abi.Profile(number, fmt.data_bits, PARITY[fmt.parity], fmt.stop, flags, period=profile.bit_period.raw)
        try:
            self._claim.call(abi.IOC_PROFILE, request)
        except OSError as error:
            if error.errno == errno.EBUSY:
                return False
            raise refused("the line profile", error) from None
        return True

    def set_receiver(self, profile: Profile | None, receive: bool, loopback: bool, instead_of: str = "") -> None:
        """See LineControl. The settings are the tty's, with a bit rate of whole baud. What triggers a responder is not reported, so
        any might rely on them.
        """
        if receive and profile is not None and profile.format.invert:
            raise Unsupported("invert: the kernel's tty cannot receive inverted frames")
        armed = bool(self._device.status().flags & abi.STATUS_RESPONDER)
        if armed and instead_of == "responder":
            self._responder.disarm()
        elif armed and loopback and not self._tty.stays:
            text = "a responder is armed; to listen to the transmitter inside the core might disturb it: stop it first"
            raise InUse(f"{self._device.path}: {text}")
        elif armed and receive and profile is not None:
            self._tty.check(profile)
            self._claim.profiles[RECEIVE_PROFILE] = profile
            return
        if loopback or (receive and profile is not None):
            with self._tty.open(loopback) as file:
                if receive and profile is not None:
                    self._tty.set(file, profile)
                    self._claim.profiles[RECEIVE_PROFILE] = profile
                if loopback:
                    self._tty.loop_back(file)

    def idle_level(self) -> int | None:
        """See LineControl: that of the tty's profile, which the driver does not tell."""
        return None

    def set_echo(self, ticks: int | None) -> int:
        used = self._device.identity.echo(ticks)
        # The driver rounds the ns up to whole ticks: less than a tick below the ns of `used` gives just `used`.
        ns = math.floor(used * 10**9 / self._device.identity.timescale.tick_hz)
        flags = abi.DRIVER_ENABLE_ECHO | abi.DRIVER_ENABLE_UNCHANGED
        try:
            self._claim.call(abi.IOC_DRIVER_ENABLE, abi.DriverEnable(flags=flags, echo_ns=ns))
        except OSError as error:
            raise refused("the echo's time", error) from None
        return used

    def set_mark_width(self, ticks: int) -> None:
        """See LineControl."""
        self._set_port("the width of marks", abi.Port(abi.PORT_WIDTH, width=ticks))

    def set_tty_marks(self, on: bool) -> None:
        """See LineControl."""
        if "tty" not in self._device.identity.nodes:
            raise Unsupported(f"{self._device.path}: this board has no tty")
        self._set_port("marks of the tty", abi.Port(abi.PORT_TTY, tty=int(on)))

    def _set_port(self, what: str, request: abi.Port) -> None:
        self._device.require(PORT_ABI, "a marker port")
        check_port(self._device.identity)
        try:
            self._claim.call(abi.IOC_PORT, request)
        except OSError as error:
            raise refused(what, error) from None

    def transmit(self, data: bytes) -> int:
        """See LineControl. They go through the tty, which stays open until the job ends."""
        with self._tty.open(stay=True) as file:
            try:
                return os.write(file, data)
            except BlockingIOError:
                return 0

    def flush_transmit(self) -> None:
        with self._tty.open(stay=True) as file:
            termios.tcflush(file, termios.TCOFLUSH)
