# SPDX-License-Identifier: BSD-2-Clause
"""Reads a LIN description file (LDF) into tables, and refuses what cannot be played, with its line.

The grammar and the classes of versions are ldfparser's (the extra `lin`); nothing else of this package knows it.
"""

import codecs
import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from litepulse.errors import BadInput, LitePulseError, lacking, shown
from litepulse.lin.encodings import Ascii, Bcd, Converter, Logical, Physical, Signal
from litepulse.lin.protocol import DATA_MAX, ID_MAX, MASTER_REQUEST, SLAVE_RESPONSE, representation
from litepulse.units import counted, hexadecimal

LARGEST_FILE = 4 << 20  # bytes
LARGEST_EXPONENT = 30  # of a number
LONGEST_SLOT = 3600  # seconds
ONE_BYTE, SIGNAL_BITS = 8, 64  # the standard's scalars end at 16 bits; files have longer ones
Named = TypeVar("Named")

# What ldfparser's grammar is too strict about: empty sections, frames without signals, forms of numbers and versions. Its strings take
# quadratic time.
GRAMMAR = r"""
%override header_protocol_version: "LIN_protocol_version" "=" ESCAPED_STRING ";"
%override header_language_version: "LIN_language_version" "=" ESCAPED_STRING ";"
%override node_compositions: "composite" "{" node_compositions_configuration* "}"
%override node_compositions_configuration: "configuration" ldf_identifier "{" node_compositions_composite* "}"
%override node_compositions_composite: ldf_identifier "{" ldf_identifier ("," ldf_identifier)* "}" ";"?
%override nodes_slaves: "Slaves" ":" (ldf_identifier ("," ldf_identifier)*)? ";"
%override signals: "Signals" "{" signal_definition* "}"
%override diagnostic_signals: "Diagnostic_signals" "{" diagnostic_signal_definition* "}"
%override frames: "Frames" "{" frame_definition* "}"
%override frame_signals: frame_signal*
%override sporadic_frames: "Sporadic_frames" "{" sporadic_frame_definition* "}"
%override event_triggered_frames: "Event_triggered_frames" "{" event_triggered_frame_definition* "}"
%override diagnostic_frames: "Diagnostic_frames" "{" diagnostic_frame_definition* "}"
%override diagnostic_frame_signals: frame_signal*
%override node_definition_protocol: "LIN_protocol" "=" (ESCAPED_STRING | ldf_version) ";"
%override node_definition_configurable_frames_21: "configurable_frames" "{" (ldf_identifier ";")* "}"
%override schedule_tables: "Schedule_tables" "{" schedule_table_definition* "}"
%override schedule_table_definition: ldf_identifier "{" schedule_table_entry* "}"
%override signal_groups: "Signal_groups" "{" signal_group* "}"
%override signal_encoding_types: "Signal_encoding_types" "{" signal_encoding_type* "}"
%override signal_representations: "Signal_representation" "{" signal_representation_node* "}"
%override signal_encoding_physical_value: "physical_value" ("," ldf_float)~4 ("," signal_encoding_text_value)? ";"
%override ESCAPED_STRING: /"(?:[^"\\\n]|\\[^\n])*"/
%override C_INT: /0[xX][0-9A-Fa-f]+|[-+]?[0-9]+/
%override C_FLOAT: /0[xX][0-9A-Fa-f]+|[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?/
OTHER_SPACE: /[\v\xa0]+/
%ignore OTHER_SPACE
"""
TERMINALS = {"CNAME": "a name", "C_INT": "a whole number", "C_FLOAT": "a number", "ESCAPED_STRING": "a text"}  # others stand for themselves
TITLES = {"frames": "Frames", "nodes": "Nodes", "protocol_version": "LIN_protocol_version", "signals": "Signals", "speed": "LIN_speed"}
NOT_USED = {"node_compositions": "composite", "signal_groups": "Signal_groups"}


@dataclass(frozen=True)
class Node:
    """A slave. version: as ldfparser has it; product: supplier, function and variant; times in seconds.

    configurable: {frame: its message identifier of LIN 2.0, or None}, in their order
    """

    name: str
    version: object
    nad: int | None = None
    initial_nad: int | None = None
    product: tuple[int, int, int] | None = None
    response_error: str | None = None
    configurable: Mapping[str, int | None] = field(default_factory=dict[str, int | None])

    def __repr__(self) -> str:
        return representation(self, "nad", "initial_nad")


@dataclass(frozen=True)
class Unconditional:
    """An unconditional frame. signals: (bit, signal), in the order of their bits."""

    name: str
    frame_id: int
    length: int
    publisher: str
    signals: tuple[tuple[int, Signal], ...]

    def __repr__(self) -> str:
        return representation(self, "frame_id")


@dataclass(frozen=True)
class Event:
    """An event-triggered frame: the frames that it may bring, and the schedule that follows a collision."""

    name: str
    frame_id: int
    frames: tuple[str, ...]
    resolving: str | None

    def __repr__(self) -> str:
        return representation(self, "frame_id")


@dataclass(frozen=True)
class Entry:
    """Of a schedule. command: as ldfparser's transformer has it; place: 'line N: ' in the file."""

    command: Mapping[str, Any]
    seconds: Fraction
    place: str


@dataclass
class Network:
    """A whole file. notes: what is read and not used; of a slave, why nothing sets its response_error."""

    baud: Fraction
    version: object
    master: str
    slaves: dict[str, Node] = field(default_factory=dict[str, Node])
    signals: dict[str, Signal] = field(default_factory=dict[str, Signal])
    frames: dict[str, Unconditional] = field(default_factory=dict[str, Unconditional])
    events: dict[str, Event] = field(default_factory=dict[str, Event])
    sporadic: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    schedules: dict[str, list[Entry]] = field(default_factory=dict[str, list[Entry]])
    diagnostic: dict[str, int] = field(default_factory=dict[str, int])
    notes: list[str] = field(default_factory=list[str])
    slave_notes: dict[str, str] = field(default_factory=dict[str, str])


def is_lin_1(version: object) -> bool:
    """Whether a version, as ldfparser has it, is LIN 1.x. J2602 is built on LIN 2.0, ISO 17987 on LIN 2.2. BadInput for another class."""
    from ldfparser.lin import Iso17987Version, J2602Version, LinVersion  # pyright: ignore[reportMissingTypeStubs]

    if isinstance(version, LinVersion):
        return version.major < 2
    if isinstance(version, Iso17987Version | J2602Version):
        return False
    raise BadInput(f"{shown(version)} is a LIN version whose kind of checksum is not known")


# Text ------------------------------------------------------------------------------------------------------------------------


def text_of(path: Path, encoding: str | None = None) -> str:
    """A file's text, with line feeds, without the Ctrl-Z that ends a file of DOS; see decoded()."""
    text = decoded(path, encoding).replace("\r\n", "\n").replace("\r", "\n")
    return text.rstrip("\x1a\n\t ")


def decoded(path: Path, encoding: str | None = None) -> str:
    """A file's text as it is: of the encoding given; else as its byte order mark says, UTF-8 if it is that, or Windows-1252."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:  # a name with a zero byte
        raise BadInput(f"{path}: cannot read it ({getattr(error, 'strerror', None) or error})") from None
    if len(data) > LARGEST_FILE:
        raise BadInput(f"{path}: it has more than {LARGEST_FILE} bytes")
    if encoding is not None:
        try:
            return str(data, encoding).removeprefix("\ufeff")
        except (LookupError, ValueError) as error:
            why = "is not an encoding" if isinstance(error, LookupError) else "is not its encoding"
            raise BadInput(f"{path}: encoding: {shown(encoding)} {why}") from None
    for mark, name in ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if data.startswith(mark):
            return str(data, name, "replace")
    if b"\0" in data:
        raise BadInput(f"{path}: it is not text of one byte a character: give its encoding, e.g. utf-16-le")
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        return str(data, "cp1252", "replace")  # a byte that cp1252 does not have can only be in a comment or a text


@functools.cache
def _tools() -> tuple[Any, Any, type[Exception]]:
    """Lark's parser, ldfparser's transformer with exact numbers and with the line of each name, and Lark's errors."""
    try:
        from lark import Lark
        from lark.exceptions import LarkError
        from ldfparser import grammar as ldfparser_grammar  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise LitePulseError(lacking("a LIN description file", "ldfparser")) from None

    base: Any = ldfparser_grammar.LdfTransformer

    class Transformer(base):
        """Values as they stand in the file."""

        def ldf_identifier(self, tree: Any) -> Any:
            return tree[0]  # with its line

        def ldf_float(self, tree: Any) -> Fraction:
            return number_of(tree[0])

        def header_speed(self, tree: Any) -> tuple[str, Fraction]:
            return "speed", tree[0] * 1000

        def schedule_table_entry(self, tree: Any) -> dict[str, Any]:
            return {"command": tree[0], "delay": tree[1] / 1000}

        def frame_definition(self, tree: Any) -> dict[str, Any]:
            name, number, publisher, *length, signals = tree
            return {"name": name, "frame_id": number, "publisher": publisher, "length": length[0] if length else None, "signals": signals}

        def event_triggered_frame_definition(self, tree: Any) -> dict[str, Any]:
            name, *table, number, frames = tree
            return {"name": name, "table": table[0] if table else None, "frame_id": number, "frames": frames}

        def ldf(self, tree: Any) -> dict[str, Any]:
            found: dict[str, Any] = {}
            for key, value in tree:
                if key in found:
                    raise BadInput(f"{TITLES.get(key, key)} is given twice")
                found[key] = value
            return found

    grammar = (Path(ldfparser_grammar.__file__).parent / "grammars" / "ldf.lark").read_text("utf-8")
    return Lark(grammar + GRAMMAR, parser="lalr", propagate_positions=False), Transformer(), LarkError


def number_of(text: str) -> Fraction:
    """A number, exact. BadInput if its exponent would make it larger than anything that has a meaning here.

    >>> number_of("-.5e1"), number_of("0X1E")
    (Fraction(-5, 1), Fraction(30, 1))
    """
    if text[:2] in ("0x", "0X") and len(text) <= 60:
        return Fraction(int(text, 16))
    mantissa, _, exponent = text.lower().partition("e")
    if len(text) > 60 or abs(int(exponent or 0)) > LARGEST_EXPONENT:
        raise BadInput(f"{shown(text)} is no sensible number")
    return Fraction(mantissa) * Fraction(10) ** int(exponent or 0)


def at(name: object) -> str:
    """'line 12: ', if the place of a name is known."""
    line: object = getattr(name, "line", None)
    return f"line {line}: " if isinstance(line, int) and line > 0 else ""


def unexpected(text: str, error: Any, parser: Any) -> str:
    """What stands where the grammar has something else, and what belongs there if it is one thing."""
    place: object = getattr(error, "pos_in_stream", None)
    if not isinstance(place, int) or getattr(getattr(error, "token", None), "type", "") == "$END":
        return "it ends too early"
    while place and text[place - 1].isalnum() and text[place].isalnum():
        place -= 1
    word = re.compile(r'/\*|"[^"\n]*"?|\w+|.', re.DOTALL).match(text, place)
    expected: set[str] = set(getattr(error, "accepts", None) or getattr(error, "allowed", None) or ())
    found = f"{shown(word[0] if word else '')} is not expected here"
    if len(expected) != 1:
        return found
    (one,) = expected
    return f"{found}, but {TERMINALS.get(one) or shown(parser.get_terminal(one).pattern.value)}"


# Tables ----------------------------------------------------------------------------------------------------------------------


def read(path: Path, encoding: str | None = None) -> Network:
    """The network of a file. BadInput, with file and line, if it is no LDF or one that cannot be played."""
    text = text_of(path, encoding)
    parser, transformer, lark_error = _tools()
    try:
        return _network(transformer.transform(parser.parse(text)))
    except lark_error as error:
        cause: object = getattr(error, "orig_exc", None)
        if isinstance(cause, BadInput):
            raise BadInput(f"{path}: {cause}") from None
        raise BadInput(f"{path}: {at(error)}not a LIN description file: {unexpected(text, error, parser)}") from None
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    except RecursionError:
        raise BadInput(f"{path}: not a LIN description file") from None


def _network(tables: dict[str, Any]) -> Network:
    for key in ("protocol_version", "speed", "nodes"):
        if tables.get(key) in (None, {}):
            raise BadInput(f"not a LIN description file that can be used: it has no {TITLES[key]}")
    nodes: dict[str, Any] = tables["nodes"]
    network = Network(tables["speed"], _version(tables["protocol_version"]), str(nodes["master"]["name"]))
    if network.baud < 1:
        raise BadInput("LIN_speed: a bus has at least 1 bit per second")
    used = [title for key, title in NOT_USED.items() if key in tables]
    if used:
        network.notes.append(f"not used: {', '.join(used)}")
    _read_nodes(network, tables, nodes.get("slaves") or [])
    _read_signals(network, tables)
    _read_encodings(network, tables)
    _read_frames(network, tables)
    _read_schedules(network, tables)
    _check_nodes(network)
    return network


def _version(text: str) -> object:
    """The version in a string of the file, however its standard is spelled."""
    from ldfparser.lin import Iso17987Version, J2602Version, LinVersion  # pyright: ignore[reportMissingTypeStubs]

    version = str(text).strip('"')
    if match := re.fullmatch(r"(\d{1,4})\.(\d{1,4})", version):
        return LinVersion(int(match[1]), int(match[2]))
    if match := re.fullmatch(r"ISO ?17987(?:-\d{1,2})?:(\d{1,4})", version):
        return Iso17987Version(int(match[1]))
    if match := re.fullmatch(r"(?:SAE ?)?J2602(?:_(\d{1,4}))?(?:_(\d{1,4}))?(?:\.(\d{1,4}))?(?::\d{4})?", version):
        part, major, minor = (int(number or 0) for number in match.groups())
        return J2602Version(major, minor, part)
    raise BadInput(f"{at(text)}{shown(version)} is not a LIN version")


def _list(table: Mapping[str, Any], key: str) -> list[Any]:
    """Of a section or a command, [] if it is missing."""
    found: Any = table.get(key)
    return [] if found is None else found


def _unique(found: Iterable[Any], what: str, names: set[str] | None = None) -> Iterable[Any]:
    """Entries with a name each; BadInput if one comes twice. names: those that others have already; these are added."""
    names = set() if names is None else names
    for one in found:
        if one["name"] in names:
            raise BadInput(f"{at(one['name'])}{what} {one['name']} is described twice")
        names.add(one["name"])
        yield one


def _known(table: Mapping[str, Named], name: str, what: str) -> Named:
    if name not in table:
        raise BadInput(f"{at(name)}there is no {what} {name}")
    return table[name]


def _range(value: int, least: int, most: int, where: str, what: str, form: Callable[[int], str] = str) -> int:
    if not least <= value <= most:
        raise BadInput(f"{where}{what} {form(value)} is outside {form(least)} to {form(most)}")
    return value


def _read_nodes(network: Network, tables: dict[str, Any], slaves: list[str]) -> None:
    attributes = {one["name"]: one for one in _unique(_list(tables, "node_attributes"), "the node")}
    addresses: dict[str, int] = tables.get("diagnostic_addresses") or {}
    for name in slaves:
        if name in network.slaves or name == network.master:
            raise BadInput(f"{at(name)}the node {name} is listed twice")
        network.slaves[str(name)] = _node(network, name, attributes.get(name) or {}, addresses.get(name))
    for name in attributes:
        if name not in network.slaves:
            network.notes.append(f"{at(name)}Node_attributes of {name}, which is not one of the slaves, are not used")
    missing = [name for name in network.slaves if name not in attributes]
    if missing and not is_lin_1(network.version):
        network.notes.append(f"no Node_attributes of {', '.join(missing)}: taken for {network.version}, without response_error")


def _node(network: Network, name: str, one: dict[str, Any], address: int | None) -> Node:
    where = at(one.get("name", name))
    listed: Any = one.get("configurable_frames") or {}
    for frame in listed:
        if hasattr(listed, "keys"):
            _range(listed[frame], 0, 0xFFFF, at(frame), f"{name}: message identifier", hexadecimal)
    frames: dict[str, int | None] = {str(frame): listed[frame] if hasattr(listed, "keys") else None for frame in listed}
    product: dict[str, int] | None = one.get("product_id")
    found: tuple[int, int, int] | None = None
    if product:
        found = (
            _range(product["supplier_id"], 0, 0x7FFF, where, f"{name}: supplier", hexadecimal),
            _range(product["function_id"], 0, 0xFFFF, where, f"{name}: function", hexadecimal),
            _range(product["variant"], 0, 0xFF, where, f"{name}: variant"),
        )
    nad = one.get("configured_nad", address)
    initial = one.get("initial_nad", nad)
    for value in (nad, initial):
        if value is not None:
            _range(value, 0, 0xFF, where, f"{name}: NAD", hexadecimal)
    return Node(
        str(name),
        _version(one["lin_protocol"]) if one.get("lin_protocol") else network.version,
        nad,
        initial,
        found,
        one.get("response_error"),
        frames,
    )


def _read_signals(network: Network, tables: dict[str, Any]) -> None:
    big = tables.get("endianness") == "big"
    for one in _unique(_list(tables, "signals"), "the signal"):
        name, width, initial = one["name"], one["width"], one["init_value"]
        where = at(name)
        for node in (one["publisher"], *one["subscribers"]):
            if node != network.master:
                _known(network.slaves, node, "node")
        array = hasattr(initial, "append")
        if array:
            values: list[int] = initial
            if width != ONE_BYTE * len(values) or width > SIGNAL_BITS:
                raise BadInput(f"{where}{name}: {len(values)} initial bytes do not fit {width} bits; an array has 8 to 64 in whole bytes")
            raw = int.from_bytes(bytes(_range(byte, 0, 255, where, f"{name}: initial byte") for byte in values), "little")
        else:
            _range(width, 1, SIGNAL_BITS, where, f"{name}: width")
            raw = _range(initial, 0, (1 << width) - 1, where, f"{name}: initial value")
        subscribers = tuple(str(node) for node in one["subscribers"])
        network.signals[str(name)] = Signal(str(name), width, raw, array, str(one["publisher"]), subscribers, big)


def _converter(name: str, value: dict[str, Any]) -> Converter:
    if value["type"] == "logical":
        return Logical(value["value"], value["text"])
    if value["type"] == "physical":
        for end in (value["min"], value["max"]):
            if end.denominator != 1:
                raise BadInput(f"{at(name)}{name}: {float(end):g} is not a whole number, as raw values are")
        return Physical(int(value["min"]), int(value["max"]), value["scale"], value["offset"], value["unit"] or "")
    return Bcd() if value["type"] == "bcd" else Ascii()


def _read_encodings(network: Network, tables: dict[str, Any]) -> None:
    encodings = {
        one["name"]: tuple(_converter(one["name"], value) for value in one["values"])
        for one in _unique(_list(tables, "signal_encoding_types"), "the encoding")
    }
    given: dict[str, str] = {}
    for one in _list(tables, "signal_representations"):
        name = one["encoding"]
        for signal in one["signals"]:
            if given.setdefault(signal, name) != name:
                network.notes.append(f"{at(signal)}{signal} has the encoding {given[signal]} already: {name} is not used")
            elif name in encodings and signal in network.signals:
                network.signals[signal] = network.signals[signal].encoded(encodings[name])
            else:
                network.notes.append(f"{at(signal)}no encoding {name} or no signal {signal}: its values are raw")


def _read_frames(network: Network, tables: dict[str, Any]) -> None:
    owner: dict[int, str] = {}

    def frame_id(one: dict[str, Any]) -> int:
        name, number = one["name"], one["frame_id"]
        if not 0 <= number <= ID_MAX:
            raise BadInput(f"{at(name)}{name}: the identifier {hexadecimal(number)} is outside 0x00 to {hexadecimal(ID_MAX)}")
        if number in owner:
            raise BadInput(f"{at(name)}{name} has the identifier of {owner[number]}, {hexadecimal(number)}")
        owner[number] = name
        return number

    names: set[str] = set()
    for one in _unique(_list(tables, "frames"), "the frame", names):
        name, number, length = one["name"], frame_id(one), one["length"]
        if one["publisher"] != network.master:
            _known(network.slaves, one["publisher"], "node")
        if length is None:  # LIN 1.x, 2.0
            length = 2 if number < 32 else 4 if number < 48 else 8
        if not 1 <= length <= DATA_MAX:
            raise BadInput(f"{at(name)}{name} has {length} bytes; a frame has 1 to {DATA_MAX}")
        if number in (MASTER_REQUEST, SLAVE_RESPONSE) and length != DATA_MAX:
            raise BadInput(f"{at(name)}{name} has {counted(length, 'byte')}; {hexadecimal(number)} has {DATA_MAX}")
        network.frames[str(name)] = Unconditional(str(name), number, length, str(one["publisher"]), _placed(network, one, length))
    for one in _unique(_list(tables, "event_triggered_frames"), "the frame", names):
        for frame in one["frames"]:
            _known(network.frames, frame, "unconditional frame")
        if len({network.frames[frame].length for frame in one["frames"]}) > 1:
            network.notes.append(f"{at(one['name'])}{one['name']}: its frames have different lengths, so any length is right")
        table: str | None = one["table"]  # with its line
        network.events[str(one["name"])] = Event(str(one["name"]), frame_id(one), tuple(str(frame) for frame in one["frames"]), table)
    for one in _unique(_list(tables, "sporadic_frames"), "the frame", names):
        for frame in one["frames"]:
            publisher = _known(network.frames, frame, "unconditional frame").publisher
            if publisher != network.master:
                network.notes.append(f"{at(frame)}{one['name']}: {frame} is published by {publisher}, so it is never sent in this slot")
        network.sporadic[str(one["name"])] = tuple(str(frame) for frame in one["frames"])
    for one in _list(tables, "diagnostic_frames"):
        if one["frame_id"] in (MASTER_REQUEST, SLAVE_RESPONSE):
            network.diagnostic[str(one["name"])] = one["frame_id"]
        else:
            network.notes.append(f"{at(one['name'])}the diagnostic frame {one['name']} is not 0x3c or 0x3d: not used")


def _placed(network: Network, one: dict[str, Any], length: int) -> tuple[tuple[int, Signal], ...]:
    """The signals of a frame, checked against each other."""
    found: list[tuple[int, Signal]] = []
    end, last = 0, ""
    for part in sorted(one["signals"], key=lambda part: part["offset"]):
        name, offset = part["signal"], part["offset"]
        signal = _known(network.signals, name, "signal")
        if any(signal is other for _, other in found):
            raise BadInput(f"{at(name)}{one['name']} has the signal {name} twice")
        if offset < end or offset < 0:
            raise BadInput(f"{at(name)}{one['name']}: {name} at bit {offset} overlaps {last or 'the beginning'}")
        if signal.publisher != one["publisher"]:
            network.notes.append(f"{at(name)}{one['name']}: {one['publisher']} publishes the frame, {signal.publisher} its signal {name}")
        end, last = offset + signal.width, name
        if end > ONE_BYTE * length:
            raise BadInput(f"{at(name)}{one['name']}: {name} at bit {offset} is longer than the frame of {length} bytes")
        if signal.big_endian and not signal.array and offset // 8 != (end - 1) // 8 and (offset % 8 or end % 8):
            raise BadInput(f"{at(name)}{one['name']}: {name} crosses a byte: with big-endian signals only whole bytes can")
        found.append((offset, signal))
    return tuple(found)


def _read_schedules(network: Network, tables: dict[str, Any]) -> None:
    known = {**network.frames, **network.events, **network.sporadic, **network.diagnostic}
    for table in _unique(_list(tables, "schedule_tables"), "the schedule"):
        entries: list[Entry] = []
        for one in table["schedule"]:
            command: dict[str, Any] = one["command"]
            place = at(command.get("frame", command.get("node", table["name"])))
            if "frame" in command:
                _known(known, command["frame"], "frame")
            if "node" in command:
                _known(network.slaves, command["node"], "slave")
            for key, value in command.items():
                values: list[Any] = value if hasattr(value, "append") else [value]
                for byte in (byte for byte in values if isinstance(byte, int)):
                    _range(byte, 0, 255, place, f"schedule {table['name']}: {key}")
            if one["delay"] > LONGEST_SLOT:
                raise BadInput(f"{place}schedule {table['name']}: a slot is longer than {LONGEST_SLOT} s")
            entries.append(Entry(command, one["delay"], place))
        network.schedules[str(table["name"])] = entries
    for event in network.events.values():
        if event.resolving is not None:
            _known(network.schedules, event.resolving, "schedule")


def _check_nodes(network: Network) -> None:
    """What of the slaves' attributes is not used."""
    for node in list(network.slaves.values()):
        for frame in node.configurable:
            _known({**network.frames, **network.events}, frame, "frame")
        name = node.response_error
        if name is None:
            continue
        signal = network.signals.get(name)
        if signal is None:
            why = "is no signal"
        elif signal.publisher != node.name:
            why = f"is published by {signal.publisher}"
        elif signal.width != 1 or signal.array:
            why = f"has {signal.width} bits"
        else:
            continue
        network.slaves[node.name] = replace(node, response_error=None)
        network.slave_notes[node.name] = f"{at(name)}{node.name}: its response_error {name} {why}: nothing sets it"
