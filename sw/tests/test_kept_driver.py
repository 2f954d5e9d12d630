# SPDX-License-Identifier: BSD-2-Clause
"""What was kept on a board of the kernel's driver, as far as the driver tells."""

import dataclasses
import os
import pty
import termios
import tty

import pytest

import litepulse
from litepulse.backends import driver
from litepulse.job import check_alone
from litepulse.line import Launch, Profile, Response, Trigger
from litepulse.respond import Responder, RespondPlan
from litepulse.train import start_refusal
from litepulse.units import Period, Timescale

from .fake_kernel import Kernel

SCALE = Timescale(48_000_000)


class Driver(driver.Driver):
    kernel: Kernel

    def _end_claim(self):
        claimed = self._claim is not None
        super()._end_claim()
        if claimed:
            self.kernel.end()


@pytest.fixture
def kernel(monkeypatch):
    kernel = Kernel()
    monkeypatch.setattr(driver.fcntl, "ioctl", kernel.ioctl)
    monkeypatch.setattr(Driver, "kernel", kernel, raising=False)
    return kernel


def profile(baud=115200, invert=False):
    return Profile(SCALE.bit_period(baud), litepulse.Format(invert=invert))


def responder(program, baud=115200):
    response = Response(Trigger("edge", 0, rise=True), Launch("pulse", 0, 1, 48), 1000)
    return Responder(program, RespondPlan(response, profile(baud)))


def keep_train(kernel):
    program = Driver("/dev/null")
    program.set_profile(1, profile())
    program.start_train(Launch("frame", 0x55), Period(480_000, 0, 1))
    program.leave()
    program.close()
    assert kernel.train and kernel.claim is None


def test_a_responder_comes_and_goes_beside_a_kept_train(kernel):
    keep_train(kernel)
    before = kernel.profiles[1]
    program = Driver("/dev/null")
    assert program.kept() == ("a train",)
    with pytest.raises(litepulse.BadInput, match="a train is running"):
        check_alone(program)
    run = responder(program, 9600)
    run.begin(lambda: None)
    assert kernel.profiles[1] == before and kernel.responder.profile == 2 and kernel.profiles[2].period == profile(9600).bit_period.raw
    assert kernel.keep, "the train goes on if this program dies"
    program.release()
    assert kernel.train and kernel.responder is None and kernel.claim is None
    program.close()
    assert kernel.train


def test_a_kept_responder_is_left_alone(kernel):
    first = Driver("/dev/null")
    run = responder(first)
    run.begin(lambda: None)
    first.leave()
    first.close()
    assert kernel.responder and kernel.claim is None
    program = Driver("/dev/null")
    with pytest.raises(litepulse.InUse, match="/dev/null: a responder goes on here, and would be disturbed"):
        check_alone(program)
    program.release()
    program.close()
    assert kernel.responder and kernel.responder.profile == 1


def test_a_responder_replaces_a_kept_one_beside_a_kept_train(kernel):
    """At a line profile that the train does not use, or at the train's settings."""
    keep_train(kernel)
    for baud, number in ((9600, 2), (4800, 2), (115200, 1), (9600, 2)):
        program = Driver("/dev/null")
        run = responder(program, baud)
        run.begin(lambda: None)
        program.leave()
        program.close()
        assert kernel.responder.profile == number and kernel.profiles[number].period == profile(baud).bit_period.raw
        assert kernel.train.profile == 1 and kernel.profiles[1].period == profile().bit_period.raw


def test_a_profile_that_cannot_be_had(kernel):
    program = Driver("/dev/null")
    program._claimed()
    kernel.kept = {"launches": 1, "others": 2, "more": 3}
    kernel.profiles = {number: None for number in (1, 2, 3)}
    with pytest.raises(litepulse.InUse, match="/dev/null: what goes on here uses each line profile; 'litepulse stop' ends it"):
        program.set_profile(1, profile())
    program.close()


def test_a_train_with_a_profile_that_was_never_set(kernel):
    program = Driver("/dev/null")
    program.set_profile(1, profile())
    kernel.profiles = {}
    with pytest.raises(litepulse.Refused) as refused:
        program.start_train(Launch("frame", 0x55), Period(480_000, 0, 1))
    assert start_refusal(refused.value.reason) == "its line profile was never set"
    program.close()


def test_what_was_begun_ends(kernel):
    program = Driver("/dev/null")
    program.set_profile(1, profile())
    program.pledge(keep=False)
    program.start_train(Launch("frame", 0x55), Period(480_000, 0, 1))
    assert program.kept() == () and not kernel.keep
    program.release()
    assert kernel.train is None
    program.close()


def test_a_capture_beside_a_responder_leaves_the_tty_as_it_is(kernel):
    """Its settings are those by which a responder receives. They are not even written again."""
    run = responder(first := Driver("/dev/null"))
    run.begin(lambda: None)
    first.leave()
    master, slave = pty.openpty()
    tty.setraw(slave)
    program = Driver("/dev/null")
    program._identity = dataclasses.replace(program.identity, nodes={"tty": os.ttyname(slave)})
    program._set_tty(slave, profile(115200))
    before = termios.tcgetattr(slave)
    program.set_receiver(profile(115200), True, False)
    with pytest.raises(litepulse.InUse, match="a responder is armed, and receives with the tty's settings, 115200 baud"):
        program.set_receiver(profile(9600), True, False)
    with pytest.raises(litepulse.InUse, match="to listen to the transmitter"):
        program.set_receiver(None, False, True)
    program.set_receiver(None, False, False)
    assert termios.tcgetattr(slave) == before and kernel.responder
    os.close(master)
    os.close(slave)
