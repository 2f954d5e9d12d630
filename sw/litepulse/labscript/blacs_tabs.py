# SPDX-License-Identifier: BSD-2-Clause
"""The device's tab of BLACS: it has no controls, and starts each shot."""

from collections.abc import Generator
from importlib import import_module
from typing import Any

_blacs: Any = import_module("blacs.device_base_class")  # BLACS has no types
_LOOK_MS = 100


class LitePulseTab(_blacs.DeviceTab):
    """Methods are called by BLACS."""

    def initialise_workers(self) -> None:
        """Of BLACS."""
        worker = {"board_name": self.connection_table_properties["board"]}
        self.create_worker("main_worker", "litepulse.labscript.blacs_workers.LitePulseWorker", worker)
        self.primary_worker = "main_worker"

    @_blacs.define_state(_blacs.MODE_BUFFERED, True)
    def start_run(self, notify_queue: Any) -> Generator[Any, Any]:
        """Of BLACS: all other devices are ready."""
        yield self.queue_work(self.primary_worker, "start_run")
        self.statemachine_timeout_add(_LOOK_MS, self.wait_until_done, notify_queue)

    @_blacs.define_state(_blacs.MODE_BUFFERED, True)
    def wait_until_done(self, notify_queue: Any) -> Generator[Any, Any]:
        """Every _LOOK_MS: BLACS goes on when the shot is over."""
        done = yield self.queue_work(self.primary_worker, "check_if_done")
        if done:
            self.statemachine_timeout_remove(self.wait_until_done)
            notify_queue.put("done")
