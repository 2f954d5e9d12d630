# SPDX-License-Identifier: BSD-2-Clause
"""labscript runs this file, wherever it finds one of this name: which tab of BLACS belongs to the device."""

from importlib import import_module
from typing import Any

_devices: Any = import_module("labscript_devices")  # labscript has no types
_devices.register_classes("LitePulse", BLACS_tab="litepulse.labscript.blacs_tabs.LitePulseTab")
