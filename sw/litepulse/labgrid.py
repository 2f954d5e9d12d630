# SPDX-License-Identifier: BSD-2-Clause
"""A board as labgrid has devices: the resource LitePulseBoard and the driver LitePulseDriver.

`imports: [litepulse.labgrid]` in an environment's configuration registers both.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import attr

from litepulse.board import open_named

if TYPE_CHECKING:
    from litepulse.board import Board

# labgrid has no types.
_factory: Any = import_module("labgrid").target_factory
_Resource: Any = import_module("labgrid.resource").Resource
_Driver: Any = import_module("labgrid.driver").Driver


@_factory.reg_resource
@attr.s(eq=False)
class LitePulseBoard(_Resource):
    """A board. board: 'litepulse' for the one that is plugged in, '/dev/litepulse0', 'port:/dev/ttyUSB1', 'port:tcp:host:port' or 'sim'."""

    board: str = attr.ib(default="litepulse", validator=attr.validators.instance_of(str))


@_factory.reg_driver
@attr.s(eq=False)
class LitePulseDriver(_Driver):
    """Has the board open while it is active."""

    bindings = {"resource": LitePulseBoard}
    _open: "Board | None" = attr.ib(default=None, init=False)

    def on_activate(self) -> None:
        """Called by labgrid."""
        self._open = open_named(self.resource.board)

    def on_deactivate(self) -> None:
        """Called by labgrid: what the program runs on the board ends."""
        opened, self._open = self._open, None
        if opened:
            opened.close()

    @property
    @_Driver.check_active
    def board(self) -> "Board":
        """The litepulse.Board. StateError of labgrid if the driver is not active."""
        assert self._open
        return self._open
