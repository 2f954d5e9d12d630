# SPDX-License-Identifier: BSD-2-Clause
"""What the verbs of LIN take in common: options, and the numbers in them."""

import contextlib
import re
from argparse import ArgumentParser, Namespace

from litepulse import lin, output
from litepulse.commands import arguments
from litepulse.errors import BadInput
from litepulse.lin.monitor import DEFAULT_BAUD
from litepulse.lin.protocol import ID_MAX
from litepulse.units import hexadecimal


def add_encoding(sub: ArgumentParser) -> None:
    """How the text of a description is to be read."""
    sub.add_argument(
        "--encoding",
        metavar="NAME",
        help="of the description's text, e.g. gbk (default: by its byte order mark, else UTF-8, else Windows-1252)",
    )


def add_set(sub: ArgumentParser) -> None:
    """Values of signals."""
    sub.add_argument(
        "--set",
        metavar="SIGNAL=V",
        action="append",
        default=[],
        type=signal_value,
        help="value of a signal, else its initial one: physical (23.5), by its name (open), raw (0x1f, raw:31), or the bytes of an array "
        "(1,2,3 or 0x010203); repeatable",
    )


def add_end(sub: ArgumentParser) -> None:
    """When it ends by itself."""
    sub.add_argument("--count", default="0", metavar="N", type=arguments.count(), help="stop after N frames")
    sub.add_argument(
        "--for", dest="duration", metavar="T", type=arguments.duration("for"), help="stop after this time of the board's clock"
    )


def add_bus(sub: ArgumentParser) -> None:
    """How the bus is used."""
    group = sub.add_argument_group("bus")
    group.add_argument(
        "--baud", metavar="RATE", type=arguments.rate("baud"), help=f"bit rate (default: the description's, or {DEFAULT_BAUD})"
    )
    group.add_argument("--loopback", action="store_true", help="the receiver listens to the transmitter inside the core, not to the pin")


def halves(text: str, what: str, like: str) -> tuple[str, str]:
    """The words before and behind the equals sign."""
    name, sign, value = text.partition("=")
    if not name or not sign or not value:
        raise BadInput(f"{what}: '{text}' is not like {like}")
    return name, value


def signal_value(text: str) -> tuple[str, lin.Value]:
    """NAME=VALUE: a physical number, what the description calls a value, raw:N or 0xN as it is sent, bytes with commas between them."""
    name, value = halves(text, "set", "SIGNAL=VALUE")
    word = value.strip()
    if word.lower().startswith("raw:"):
        try:
            return name, lin.Raw(int(word[4:], 0))
        except ValueError:
            raise BadInput(f"set: '{text}' is not like SIGNAL=raw:31 or SIGNAL=raw:0x1f") from None
    with contextlib.suppress(ValueError):
        return name, lin.Raw(int(word, 0)) if re.match("(?i)0[xbo]", word) else int(word, 10)
    with contextlib.suppress(ValueError):
        return name, float(word)
    if "," in word:
        with contextlib.suppress(ValueError):
            return name, [int(byte, 0) for byte in re.sub(r"^\s*[\[{]|[\]}]\s*$", "", word).split(",")]
    return name, value


def identifier(text: str) -> int:
    """0 to 0x3f."""
    try:
        number = int(text, 0)
    except ValueError:
        raise BadInput(f"id: '{text}' is not an identifier, like 0x10") from None
    if not 0 <= number <= ID_MAX:
        raise BadInput(f"id: {hexadecimal(number)} is outside 0x00 to {hexadecimal(ID_MAX)}")
    return number


def data_bytes(text: str, what: str = "data") -> bytes:
    """Hexadecimal digits, blanks and commas between them allowed."""
    try:
        return bytes.fromhex(re.sub(r"[\s,]|0x", "", text))
    except ValueError:
        raise BadInput(f"{what}: '{text}' is not bytes in hexadecimal, like 4a5593e5") from None


def described(args: Namespace, node: str = "") -> lin.Description:
    """The description, and a line for each thing in it that is not used."""
    description = lin.Description(args.ldf, args.encoding)
    for note in (*description.notes, *description.notes_of(node)):
        output.note(f"litepulse: {description.path.name}: {note}")
    return description
