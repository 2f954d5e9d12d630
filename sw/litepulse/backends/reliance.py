# SPDX-License-Identifier: BSD-2-Clause
"""What a running train or an armed responder relies on, so that it is not changed meanwhile. Pure,
no device."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from litepulse.errors import InUse
from litepulse.layout import CONFIG, TRIGGER, unpack
from litepulse.line import Launch, Profile, Trigger


@dataclass(frozen=True)
class Reliance:
    """One of them. what: 'train', 'responder'; profile: that it launches with; channel: that triggers it; receives: by profile 0."""

    what: str
    text: str  # for people
    profile: int
    channel: int | None = None
    receives: bool = False

    def refuse(self, name: str, has: str, change: str) -> InUse:
        """The error of a program that would change a setting."""
        return InUse(f"{name}: {self.text} goes on here {has}; {change} would disturb it: stop it first")


def of_train(words: Mapping[str, int]) -> Reliance:
    """Of the running train, by configuration words."""
    launch = Launch.from_words(words["train_launch"], words["train_width"])
    return Reliance(
        "train", f"a train ({launch})" if launch else "a train", unpack(CONFIG["train_launch"], words["train_launch"])["profile"]
    )


def of_responder(words: Mapping[str, int], line: int) -> Reliance:
    """Of the armed responder; line: the channel that is RX."""
    fields = unpack(CONFIG["resp_trigger"], words["resp_trigger"])
    kind = next((name for name, code in TRIGGER.items() if code == fields["trigger"]), "unknown")
    match = unpack(CONFIG["resp_match"], words["resp_match"])
    trigger = Trigger(kind, fields["channel"], bool(fields["rise"]), bool(fields["fall"]), match["value"], match["mask"])
    text = {"edge": f"a {trigger}".replace(f"on {line}", "on rx"), "byte": str(trigger), "break": "breaks"}.get(kind, "LIN headers")
    profile = unpack(CONFIG["resp_launch"], words["resp_launch"])["profile"]
    if kind == "edge":
        return Reliance("responder", f"a responder to {text}", profile, fields["channel"])
    return Reliance("responder", f"a responder to {text}", profile, line, True)


def filter_of(word: int, channel: int) -> int:
    """Equal samples that make a level of a channel."""
    fields = unpack(CONFIG["filter"], word)
    return max(1, fields["length"]) if fields["enable"] >> channel & 1 else 1


def check_receiver(
    name: str, relied: Iterable[Reliance], line: int, now: Profile | None, new: Profile | None, loop: tuple[bool, bool]
) -> None:
    """InUse if one of them relies on settings of the receiver, or of the idle line, that would change. loop: loopback now and then."""
    for one in relied:
        if one.channel == line and loop[0] != loop[1]:
            pin, core = "the pin", "the transmitter inside the core (loopback)"
            was, new_source = (core, pin) if loop[0] else (pin, core)
            raise one.refuse(name, f"and listens to {was}", f"to listen to {new_source}")
        if new is None or new == now:
            continue
        if one.receives:
            raise one.refuse(name, f"and receives at {_text(now)}", _text(new))
        if idle_level(new) != idle_level(now):
            raise one.refuse(name, f"with an idle level of {idle_level(now)}", f"one of {idle_level(new)}")


def idle_level(profile: Profile | None) -> int:
    """Of TX, with that as profile 0."""
    return 0 if profile and profile.format.invert else 1


def _text(profile: Profile | None) -> str:
    if profile is None:
        return "no bit rate"
    baud = profile.bit_period.baud
    return f"{round(baud) if baud >= 1000 else f'{float(baud):.6g}'} baud {profile.format}"
