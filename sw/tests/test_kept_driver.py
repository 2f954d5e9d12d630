# SPDX-License-Identifier: BSD-2-Clause
"""What was kept on a board of the kernel's driver, as far as the driver reports it."""

import dataclasses
import errno
import fcntl
import os
import pty
import termios
import tty

import pytest

import litepulse
from litepulse.backends import driver_abi as abi
from litepulse.backends.driver import train
from litepulse.backends.driver.backend import DriverBackend
from litepulse.backends.driver.claim import Claim
from litepulse.backends.driver.device import Device
from litepulse.job import check_alone
from litepulse.line import Launch, Profile, Response, Trigger
from litepulse.respond import Responder, RespondPlan
from litepulse.train import start_refusal
from litepulse.units import Period, Timescale

from .fake_kernel import Kernel

SCALE = Timescale(48_000_000)


@pytest.fixture
def kernel(monkeypatch, request):
    kernel = getattr(request, "param", Kernel)()
    end = Claim.end

    def end_claim(claim):
        claimed = claim.file is not None
        end(claim)
        if claimed:
            kernel.end()

    monkeypatch.setattr(fcntl, "ioctl", kernel.ioctl)
    monkeypatch.setattr(Claim, "end", end_claim)
    return kernel


def profile(baud=115200, invert=False):
    return Profile(SCALE.bit_period(baud), litepulse.Format(invert=invert))


def responder(program, baud=115200):
    response = Response(Trigger("edge", 0, rise=True), Launch("pulse", 0, 1, 48), 1000)
    return Responder(program, RespondPlan(response, profile(baud)))


def keep_train(kernel):
    program = DriverBackend("/dev/null")
    program.line.set_profile(1, profile())
    program.train.start(Launch("frame", 0x55), Period(480_000, 0, 1))
    program.leave()
    program.close()
    assert kernel.train and kernel.claim is None


def test_a_responder_comes_and_goes_beside_a_kept_train(kernel):
    keep_train(kernel)
    before = kernel.profiles[1]
    program = DriverBackend("/dev/null")
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
    first = DriverBackend("/dev/null")
    run = responder(first)
    run.begin(lambda: None)
    first.leave()
    first.close()
    assert kernel.responder and kernel.claim is None
    program = DriverBackend("/dev/null")
    with pytest.raises(litepulse.InUse, match="/dev/null: a responder goes on here, and would be disturbed"):
        check_alone(program)
    program.release()
    program.close()
    assert kernel.responder and kernel.responder.profile == 1


def test_a_responder_replaces_a_kept_one_beside_a_kept_train(kernel):
    """At a line profile that the train does not use, or at the train's settings."""
    keep_train(kernel)
    for baud, number in ((9600, 2), (4800, 2), (115200, 1), (9600, 2)):
        program = DriverBackend("/dev/null")
        run = responder(program, baud)
        run.begin(lambda: None)
        program.leave()
        program.close()
        assert kernel.responder.profile == number and kernel.profiles[number].period == profile(baud).bit_period.raw
        assert kernel.train.profile == 1 and kernel.profiles[1].period == profile().bit_period.raw


def test_a_profile_that_cannot_be_had(kernel):
    program = DriverBackend("/dev/null")
    program.claim.take()
    kernel.kept = {"launches": 1, "others": 2, "more": 3}
    kernel.profiles = {number: None for number in (1, 2, 3)}
    with pytest.raises(litepulse.InUse, match="/dev/null: what goes on here uses each line profile; 'litepulse stop' ends it"):
        program.line.set_profile(1, profile())
    program.close()


def test_a_train_with_a_profile_that_was_never_set(kernel):
    program = DriverBackend("/dev/null")
    program.line.set_profile(1, profile())
    kernel.profiles = {}
    with pytest.raises(litepulse.Refused) as refused:
        program.train.start(Launch("frame", 0x55), Period(480_000, 0, 1))
    assert start_refusal(refused.value.reason) == "its line profile was never set"
    program.close()


def test_what_was_begun_ends(kernel):
    program = DriverBackend("/dev/null")
    program.line.set_profile(1, profile())
    program.pledge(keep=False)
    program.train.start(Launch("frame", 0x55), Period(480_000, 0, 1))
    assert program.kept() == () and not kernel.keep
    program.release()
    assert kernel.train is None
    program.close()


def test_a_capture_beside_a_responder_leaves_the_tty_as_it_is(kernel):
    """Its settings are those by which a responder receives. They are not even written again."""
    run = responder(first := DriverBackend("/dev/null"))
    run.begin(lambda: None)
    first.leave()
    master, slave = pty.openpty()
    tty.setraw(slave)
    program = DriverBackend("/dev/null")
    program.device.identity = dataclasses.replace(program.identity, nodes={"tty": os.ttyname(slave)})
    program.tty.set(slave, profile(115200))
    before = termios.tcgetattr(slave)
    program.line.set_receiver(profile(115200), True, False)
    with pytest.raises(litepulse.InUse, match="a responder is armed, and receives with the tty's settings, 115200 baud"):
        program.line.set_receiver(profile(9600), True, False)
    with pytest.raises(litepulse.InUse, match="to listen to the transmitter"):
        program.line.set_receiver(None, False, True)
    program.line.set_receiver(None, False, False)
    assert termios.tcgetattr(slave) == before and kernel.responder
    os.close(master)
    os.close(slave)


class Deciding(Kernel):
    """The core decides about each change by a record: refused for a reason, applied from a pulse on (None), or not yet ("waits")."""

    def __init__(self):
        super().__init__()
        self.decisions, self.tick, self.waits = [], 0, False
        self.note_request = lambda request: None

    def answer(self, number, data):
        if number == abi.IOC_STATUS:
            return abi.Status(super().answer(number, data).flags | self.waits * abi.STATUS_CHANGE, 64)
        if number == abi.IOC_TIME:
            self.tick += 1_000_000
            return abi.Time(self.tick)
        if number == abi.IOC_CLAIM:
            super().answer(number, data)
            os.close(self.claim)
            self.claim, self.records = os.pipe()
            os.set_blocking(self.claim, False)
            return abi.Claim(fd=self.claim)
        if number == abi.IOC_TRAIN_ADJUST:
            self.note_request(abi.TrainAdjust.unpack(data))
            decision = self.decisions.pop(0)
            if isinstance(decision, OSError):
                raise decision
            self.decide(decision, abi.TrainAdjust.unpack(data).at_pulse)
            return None
        return super().answer(number, data)

    def decide(self, decision, pulse):
        self.waits = decision == "waits" or (self.waits and decision is not None)
        if decision == "waits":
            return
        kind = abi.KIND_APPLIED if decision is None else abi.KIND_REFUSED
        event = abi.Event(self.tick, data=pulse, kind=kind, source=abi.SRC_TRAIN_CHANGE, flags=decision or 0)
        os.write(self.records, event.pack())

    def end(self):
        super().end()
        os.close(self.records)


@pytest.mark.parametrize("kernel", [Deciding], indirect=True)
def test_a_refused_change_is_not_read_back(kernel):
    """Neither before the first that the core takes, nor after one."""
    program = DriverBackend("/dev/null")
    program.line.set_profile(1, profile())
    program.train.start(Launch("frame", 0x55), Period(480_000, 0, 1))
    kernel.decisions = [abi.REASON_LATE, None, abi.REASON_LATE]
    taken = None
    for pulse, period in ((7, Period(240_000, 0, 1)), (8, Period(120_000, 1, 3)), (9, Period(60_000, 0, 1))):
        if pulse == 8:
            assert program.train.request_change(period, -5, pulse).pulse == pulse
            taken = period, -5
        else:
            with pytest.raises(litepulse.Refused) as refused:
                program.train.request_change(period, 3, pulse)
            assert refused.value.reason == "late"
        assert program.train.last_change() == taken
    assert not kernel.decisions and [event.data for event in program.recorder.read().events] == [7, 8, 9]
    program.close()


@pytest.mark.parametrize("kernel", [Deciding], indirect=True)
def test_a_change_of_the_width(kernel):
    """The driver gets it with its flag, and none where none is given; a driver that is too old gets no request."""
    kernel.abi = 7
    program = DriverBackend("/dev/null")
    program.line.set_profile(1, profile())
    program.train.start(Launch("pulse", 0, width=4800), Period(480_000, 0, 1))
    kernel.decisions, requests = [None, None, OSError(errno.EOPNOTSUPP, "")], []
    kernel.note_request = requests.append
    program.train.request_change(Period(480_000, 0, 1), 0, 7, 1776)
    program.train.request_change(Period(480_000, 0, 1), 0, 8)
    assert [(each.flags, each.width) for each in requests] == [(abi.ADJUST_WIDTH, 1776), (0, 0)]
    with pytest.raises(litepulse.Refused) as refused:
        program.train.request_change(Period(480_000, 0, 1), 0, 9)
    assert refused.value.reason == "fast"
    program.device.abi = 6
    with pytest.raises(litepulse.Unsupported, match="a new width of a running train: its interface is version 6, that takes 7"):
        program.train.request_change(Period(480_000, 0, 1), 0, 9, 1)
    assert len(requests) == 3 and not kernel.decisions
    program.close()


class Pulsing(Deciding):
    """A pulse of the train is reported with each change; pulse: its number, None: none is."""

    pulse = None

    def answer(self, number, data):
        if number == abi.IOC_TRAIN_ADJUST and self.pulse is not None:
            os.write(self.records, abi.Event(self.tick, data=self.pulse, kind=abi.KIND_TX, source=abi.SRC_TRAIN).pack())
        return super().answer(number, data)


@pytest.mark.parametrize("kernel", [Pulsing], indirect=True)
@pytest.mark.parametrize("decision", [abi.REASON_LATE, OSError(errno.ETIME, "")])
@pytest.mark.parametrize("change", [{"width": "200us"}, {"step": "-1us"}, {"rate": 99}])
def test_a_pulse_that_is_too_far_ahead(change, decision, kernel, monkeypatch):
    """The core refuses it as late, as it compares numbers of 32 bits. Without a pulse in sight the message names every reason."""
    monkeypatch.setattr(train, "CHANGE_SECONDS", 1)
    kernel.abi = 7
    program = DriverBackend("/dev/null")
    with litepulse.Board(program) as board:
        program.line.set_profile(1, profile())
        program.train.start(Launch("pulse", 0, width=4800), Period(480_000, 0, 1))
        kernel.decisions = [decision] * 4
        far = "pulse 4000000000 is too far ahead: a change can name one that is at most 2147483647 after the next"
        unknown = "that pulse is too close, has passed, or is more than 2147483647 after the next one"
        for kernel.pulse, pulse, error, text in (
            (5, 4_000_000_000, litepulse.BadInput, far),
            (None, 4_000_000_000, litepulse.Refused, unknown),
            (4_000_000_100, 4_000_000_000, litepulse.Refused, unknown),
            (9, 5, litepulse.Refused, "that pulse is too close or has passed"),
        ):
            with pytest.raises(error, match=text):
                board.adjust(**change, at_pulse=pulse)
        assert not kernel.decisions


@pytest.mark.parametrize("kernel", [Deciding], indirect=True)
def test_a_change_that_waits_is_read_back_once_it_is_applied(kernel, monkeypatch):
    """Another one that is refused meanwhile does not take its place."""
    monkeypatch.setattr(train, "CHANGE_SECONDS", 0)
    program = DriverBackend("/dev/null")
    program.line.set_profile(1, profile())
    program.train.start(Launch("frame", 0x55), Period(480_000, 0, 1))
    kernel.decisions = ["waits", abi.REASON_BUSY]
    first = program.train.request_change(Period(240_000, 0, 1), 3, 1000)
    assert (first.pulse, first.pending) == (None, True)
    with pytest.raises(litepulse.Refused):
        program.train.request_change(Period(120_000, 0, 1), 4, 0)
    assert program.train.last_change() is None
    kernel.decide(None, 1000)
    assert [event.kind for event in program.recorder.read().events] == ["refused", "applied"]
    assert program.train.last_change() == (Period(240_000, 0, 1), 3)
    program.close()


def test_lines_of_a_soc_have_one_chip_and_a_board_on_a_cable_none(kernel, monkeypatch, tmp_path):
    for name in ("f0002000.litepulse", "f0003000.litepulse", "litepulse.0"):
        (tmp_path / "soc" / name).mkdir(parents=True)
    (tmp_path / "soc" / "litepulse.0" / "uartbone").mkdir()
    (tmp_path / "soc" / "litepulse.0" / "uartbone" / "port").write_text("ttyUSB1\n")
    chips = []
    for folder in sorted((tmp_path / "soc").iterdir()):
        monkeypatch.setattr(Device, "_sysfs", folder)
        board = DriverBackend("/dev/null")
        chips.append(board.identity.chip)
        assert board.identity.nodes["pulse"] == "/dev/null"
        board.close()
    assert chips == [str(tmp_path / "soc"), str(tmp_path / "soc"), None]
