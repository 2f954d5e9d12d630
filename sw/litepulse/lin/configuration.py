# SPDX-License-Identifier: BSD-2-Clause
"""Node configuration: the requests of a schedule as eight bytes, and a slave's answers to them. Pure, no device."""

from collections.abc import Callable, Mapping, Sequence

from litepulse.errors import BadInput
from litepulse.lin.ldf import Entry, Network, Node, is_lin_1
from litepulse.lin.protocol import MASTER_REQUEST, SLAVE_RESPONSE, frame_id_of, protected_id
from litepulse.lin.transport import segments
from litepulse.units import hexadecimal, whole

ASSIGN_NAD, ASSIGN_FRAME_ID, READ_BY_ID, CHANGE_NAD, DATA_DUMP = 0xB0, 0xB1, 0xB2, 0xB3, 0xB4
SAVE_CONFIGURATION, ASSIGN_FRAME_ID_RANGE = 0xB6, 0xB7
POSITIVE, NEGATIVE = 0x40, 0x7F  # added to the service in an answer; the service of a refusal
SERVICE_NOT_SUPPORTED, SUB_FUNCTION_NOT_SUPPORTED = 0x11, 0x12
PRODUCT, SERIAL_NUMBER = 0, 1  # identifiers of ReadByIdentifier
MESSAGES, USER_DEFINED = range(16, 32), range(32, 64)  # of LIN 2.0: message and frame identifiers; what the supplier defines
SERIAL_BYTES, READ_BYTES = 4, 5  # of a serial number; what fits an answer
FUNCTIONAL_NAD, BROADCAST_NAD = 0x7E, 0x7F
ANY_SUPPLIER, ANY_FUNCTION = 0x7FFF, 0xFFFF
UNASSIGN, KEEP = 0x00, 0xFF  # instead of a protected identifier
NO_IDENTIFIER = 0x40  # in AssignFrameId of LIN 2.0: an identifier whose parity is wrong
SLEEP = b"\x00" + b"\xff" * 7
CONFIGURED = 4  # frames in one AssignFrameIdRange


def single(nad: int, service: int, *data: int) -> bytes:
    """The eight bytes of a request that fits one frame."""
    (frame,) = segments(nad, bytes([service, *data]))
    return frame


def request_of(network: Network, entry: Entry) -> tuple[str, bytes]:
    """Name and bytes of a configuration request in a schedule. BadInput if the node's attributes do not say what it needs."""
    command = entry.command
    kind: str = command["type"]
    node = network.slaves.get(command.get("node", ""))
    if kind == "free_format":
        return "FreeFormat", bytes(command["data"])
    if kind == "conditional_change_nad":
        values = [command[key] for key in ("id", "byte", "mask", "inv", "new_nad")]
        return "ConditionalChangeNAD", single(command["nad"], CHANGE_NAD, *values)
    assert node is not None, kind
    if kind == "assign_nad":
        return "AssignNAD", single(_nad(node, entry, initial=True), ASSIGN_NAD, *_product(node, entry), _nad(node, entry))
    if kind == "data_dump":
        return "DataDump", single(_nad(node, entry), DATA_DUMP, *command["data"])
    if kind == "save_configuration":
        return "SaveConfiguration", single(_nad(node, entry), SAVE_CONFIGURATION)
    if kind == "assign_frame_id_range":
        pids = command["pids"] or _pids(network, node)[command["frame_index"] :][:CONFIGURED]
        data = [*pids, *[KEEP] * (CONFIGURED - len(pids))]
        return "AssignFrameIdRange", single(_nad(node, entry), ASSIGN_FRAME_ID_RANGE, command["frame_index"], *data)
    assert kind in ("assign_frame_id", "unassign_frame_id"), kind
    message = node.configurable.get(command["frame"])
    if message is None:
        raise BadInput(f"{entry.place}{node.name} has no message identifier of {command['frame']} in its configurable_frames")
    pid = protected_id(_frame_id(network, command["frame"])) if kind == "assign_frame_id" else NO_IDENTIFIER
    name = "AssignFrameId" if kind == "assign_frame_id" else "UnassignFrameId"
    supplier = _product(node, entry)[:2]
    return name, single(_nad(node, entry), ASSIGN_FRAME_ID, *supplier, message & 0xFF, message >> 8, pid)


def _nad(node: Node, entry: Entry, initial: bool = False) -> int:
    nad = node.initial_nad if initial else node.nad
    if nad is None:
        raise BadInput(f"{entry.place}{node.name} has no NAD in its Node_attributes")
    return nad


def _product(node: Node, entry: Entry) -> tuple[int, int, int, int]:
    if node.product is None:
        raise BadInput(f"{entry.place}{node.name} has no product_id in its Node_attributes")
    supplier, function, _ = node.product
    return supplier & 0xFF, supplier >> 8, function & 0xFF, function >> 8


def _frame_id(network: Network, name: str) -> int:
    return network.frames[name].frame_id if name in network.frames else network.events[name].frame_id


def _pids(network: Network, node: Node) -> list[int]:
    """Protected identifiers of a node's configurable frames, in their order."""
    return [protected_id(_frame_id(network, name)) for name in node.configurable]


def checked_identifiers(identifiers: Mapping[int, bytes]) -> dict[int, bytes]:
    """What ReadByIdentifier reads beside the product: {1: four bytes of the serial number, 32 to 63: one to five bytes}, or BadInput."""
    found: dict[int, bytes] = {}
    for identifier, data in identifiers.items():
        number = whole(identifier, "identifier")
        if number != SERIAL_NUMBER and number not in USER_DEFINED:
            users = f"{hexadecimal(USER_DEFINED[0])} to {hexadecimal(USER_DEFINED[-1])}"
            raise BadInput(
                f"identifier {hexadecimal(number)} is not {hexadecimal(SERIAL_NUMBER)} (serial number) or {users}, which are user-defined"
            )
        low, high = (SERIAL_BYTES, SERIAL_BYTES) if number == SERIAL_NUMBER else (1, READ_BYTES)
        if not low <= len(data) <= high:
            raise BadInput(f"identifier {hexadecimal(number)}: {len(data)} bytes, it has {low if low == high else f'{low} to {high}'}")
        found[number] = bytes(data)
    return found


class Configured:
    """A slave's own configuration: which requests are for it, what it answers, and where its frames are now.

    nad: its address; frames: {frame: identifier, or None if it was unassigned}
    """

    def __init__(self, network: Network, node: Node, identifiers: Mapping[int, bytes] | None = None, dump: bytes | None = None) -> None:
        """identifiers: see checked_identifiers(); dump: five bytes that answer DataDump, None: it is not supported."""
        self.node = node
        self.nad = node.initial_nad if node.nad is None else node.nad
        self.order = list(node.configurable)
        self.frames: dict[str, int | None] = {name: _frame_id(network, name) for name in (*network.frames, *network.events)}
        self.identifiers, self.dump = checked_identifiers(identifiers or {}), dump
        if dump is not None and len(dump) != READ_BYTES:
            raise BadInput(f"dump: {len(dump)} bytes, the answer to DataDump has {READ_BYTES}")
        self.save: Callable[[], None] | None = None  # SaveConfiguration; None: it is not supported
        self.answers = node.product is not None and self.nad is not None and not is_lin_1(node.version)

    def answer(self, nad: int, message: bytes) -> tuple[int, bytes] | None:
        """(NAD, message) that this node answers to a request of node configuration; None: nothing, or it is another request."""
        if not self.answers or self.nad is None or not message:
            return None
        service, data, own = message[0], message[1:], self.nad
        if service == ASSIGN_NAD:  # to the initial address, whatever the present one is
            own = self.node.initial_nad if self.node.initial_nad is not None else own
        if nad not in (own, BROADCAST_NAD):
            return None
        answer: bytes | None = None
        if service == READ_BY_ID and len(data) == 5:
            answer = self._read(data)
        elif service == ASSIGN_FRAME_ID_RANGE and len(data) == 1 + CONFIGURED:
            answer = self._assign(data[0], data[1:])
        elif service == ASSIGN_FRAME_ID and len(data) == 5:
            answer = self._assign_message(data)
        elif service == ASSIGN_NAD and len(data) == 5 and self._product_fits(data[:4]):
            answer = self._change_nad(service, data[4])
        elif service == CHANGE_NAD and len(data) == 5:
            answer = self._change_if(data)
        elif service == DATA_DUMP and len(data) == READ_BYTES:
            answer = self._refuse(service, nad) if self.dump is None else bytes([service + POSITIVE]) + self.dump
        elif service == SAVE_CONFIGURATION and not data:
            answer = self._save(nad)
        return None if answer is None else (own, answer)

    def _refuse(self, service: int, nad: int) -> bytes | None:
        """An optional service that this node does not have. Nothing to a request to all nodes: several would answer at once."""
        return None if nad == BROADCAST_NAD else bytes([NEGATIVE, service, SERVICE_NOT_SUPPORTED])

    def _save(self, nad: int) -> bytes | None:
        if self.save is None:
            return self._refuse(SAVE_CONFIGURATION, nad)
        self.save()
        return bytes([SAVE_CONFIGURATION + POSITIVE])

    def _change_nad(self, service: int, nad: int) -> bytes | None:
        """The answer has the old address. Nothing if the new one belongs to no single node."""
        if nad in (SLEEP[0], FUNCTIONAL_NAD, BROADCAST_NAD):
            return None
        self.nad = nad
        return bytes([service + POSITIVE])

    def _change_if(self, data: Sequence[int]) -> bytes | None:
        """ConditionalChangeNAD: if (byte ^ invert) & mask of what ReadByIdentifier reads is 0. Otherwise nothing."""
        identifier, byte, mask, invert, nad = data
        read = self.read(identifier)
        if read is None or not 1 <= byte <= len(read) or (read[byte - 1] ^ invert) & mask:
            return None
        return self._change_nad(CHANGE_NAD, nad)

    def read(self, identifier: int) -> bytes | None:
        """What an identifier of ReadByIdentifier reads; None: this node does not have it."""
        if identifier == PRODUCT:
            assert self.node.product is not None
            supplier, function, variant = self.node.product
            return bytes([supplier & 0xFF, supplier >> 8, function & 0xFF, function >> 8, variant])
        if identifier in MESSAGES and identifier - MESSAGES[0] < len(self.order):
            name = self.order[identifier - MESSAGES[0]]
            message, number = self.node.configurable[name], self.frames[name]
            if message is not None:  # LIN 2.0
                return bytes([message & 0xFF, message >> 8, NO_IDENTIFIER if number is None else protected_id(number)])
        return self.identifiers.get(identifier)

    def _product_fits(self, data: Sequence[int]) -> bool:
        supplier, function = data[0] | data[1] << 8, data[2] | data[3] << 8
        assert self.node.product is not None
        return supplier in (self.node.product[0], ANY_SUPPLIER) and function in (self.node.product[1], ANY_FUNCTION)

    def _read(self, data: Sequence[int]) -> bytes | None:
        """ReadByIdentifier: what this node does not have is refused. Nothing to a request for another product."""
        if not self._product_fits(data[1:]):
            return None
        read = self.read(data[0])
        return bytes([NEGATIVE, READ_BY_ID, SUB_FUNCTION_NOT_SUPPORTED]) if read is None else bytes([READ_BY_ID + POSITIVE]) + read

    def _assign(self, start: int, pids: Sequence[int]) -> bytes | None:
        """AssignFrameIdentifierRange: all of it, or nothing and no answer if one does not fit."""
        new: dict[str, int | None] = {}
        for number, pid in enumerate(pids, start):
            if pid == KEEP:
                continue
            if number >= len(self.order) or (pid != UNASSIGN and frame_id_of(pid) in (None, MASTER_REQUEST, SLAVE_RESPONSE)):
                return None
            new[self.order[number]] = None if pid == UNASSIGN else frame_id_of(pid)
        self.frames |= new
        return bytes([ASSIGN_FRAME_ID_RANGE + POSITIVE])

    def _assign_message(self, data: Sequence[int]) -> bytes | None:
        """AssignFrameId of LIN 2.0, by supplier and message identifier. An identifier whose parity is wrong unassigns."""
        assert self.node.product is not None
        message = data[2] | data[3] << 8
        names = [name for name, number in self.node.configurable.items() if number == message]
        if data[0] | data[1] << 8 not in (self.node.product[0], ANY_SUPPLIER) or not names:
            return None
        self.frames[names[0]] = frame_id_of(data[4])
        return bytes([ASSIGN_FRAME_ID + POSITIVE])
