# SPDX-License-Identifier: BSD-2-Clause
"""Node configuration: the requests of a schedule as eight bytes, and a slave's answers to them. Pure, no device."""

from collections.abc import Sequence

from litepulse.errors import BadInput
from litepulse.lin.ldf import Entry, Network, Node
from litepulse.lin.protocol import DATA_MAX, frame_id_of, protected_id

ASSIGN_NAD, ASSIGN_FRAME_ID, READ_BY_ID, CHANGE_NAD, DATA_DUMP = 0xB0, 0xB1, 0xB2, 0xB3, 0xB4
SAVE_CONFIGURATION, ASSIGN_FRAME_ID_RANGE = 0xB6, 0xB7
POSITIVE, NEGATIVE = 0x40, 0x7F  # added to the service in an answer; the service of a refusal
NOT_SUPPORTED, SUB_FUNCTION_NOT_SUPPORTED = 0x11, 0x12
FUNCTIONAL_NAD, BROADCAST_NAD = 0x7E, 0x7F
ANY_SUPPLIER, ANY_FUNCTION = 0x7FFF, 0xFFFF
UNASSIGN, KEEP = 0x00, 0xFF  # instead of a protected identifier
NO_IDENTIFIER = 0x40  # in AssignFrameId of LIN 2.0: an identifier whose parity is wrong
UNUSED = 0xFF
SLEEP = b"\x00" + b"\xff" * 7
CONFIGURED = 4  # frames in one AssignFrameIdRange


def single(nad: int, service: int, *data: int) -> bytes:
    """The eight bytes of a request or answer that fits one frame."""
    return bytes([nad, 1 + len(data), service, *data]).ljust(DATA_MAX, bytes([UNUSED]))


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


class Configured:
    """A slave's own configuration: which requests are for it, what it answers, and where its frames are now.

    frames: {frame: identifier, or None if it was unassigned}
    """

    def __init__(self, network: Network, node: Node) -> None:
        self.node, self.nad, self.version = node, node.nad, node.version
        self.order = list(node.configurable)
        self.frames: dict[str, int | None] = {name: _frame_id(network, name) for name in (*network.frames, *network.events)}

    def is_mine(self, nad: int) -> bool:
        """Whether a request is for this node and wants an answer."""
        return self.nad is not None and nad in (self.nad, BROADCAST_NAD)

    def answer(self, nad: int, message: bytes) -> bytes | None:
        """What this node answers to a message (service and data) of node configuration; None: nothing, or it is no such service."""
        if not message or not self.is_mine(nad) or self.node.product is None:
            return None
        service, data = message[0], message[1:]
        if service == READ_BY_ID and len(data) == 5:
            return self._read(data)
        if service == ASSIGN_FRAME_ID_RANGE and len(data) == 1 + CONFIGURED:
            return self._assign(data[0], data[1:])
        if service == ASSIGN_NAD and len(data) == 5 and self._product_fits(data[:4]):
            self.nad = data[4]
            return bytes([service + POSITIVE])
        if service == SAVE_CONFIGURATION and not data:
            return bytes([service + POSITIVE])
        return None

    def _product_fits(self, data: Sequence[int]) -> bool:
        supplier, function = data[0] | data[1] << 8, data[2] | data[3] << 8
        assert self.node.product is not None
        return supplier in (self.node.product[0], ANY_SUPPLIER) and function in (self.node.product[1], ANY_FUNCTION)

    def _read(self, data: Sequence[int]) -> bytes | None:
        """ReadByIdentifier: identifier 0 is the product, the others are refused. Nothing to a request for another product."""
        if not self._product_fits(data[1:]):
            return None
        if data[0] != 0:
            return bytes([NEGATIVE, READ_BY_ID, SUB_FUNCTION_NOT_SUPPORTED])
        assert self.node.product is not None
        supplier, function, variant = self.node.product
        return bytes([READ_BY_ID + POSITIVE, supplier & 0xFF, supplier >> 8, function & 0xFF, function >> 8, variant])

    def _assign(self, start: int, pids: Sequence[int]) -> bytes | None:
        """AssignFrameIdentifierRange. All or nothing: nothing at all if one does not fit."""
        new: dict[str, int | None] = {}
        for number, pid in enumerate(pids, start):
            if pid == KEEP:
                continue
            if number >= len(self.order):
                return None
            frame_id = frame_id_of(pid)
            if pid != UNASSIGN and frame_id is None:
                return None
            new[self.order[number]] = None if pid == UNASSIGN else frame_id
        self.frames |= new
        return bytes([ASSIGN_FRAME_ID_RANGE + POSITIVE])
