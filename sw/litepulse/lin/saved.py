# SPDX-License-Identifier: BSD-2-Clause
"""The file in which a slave that is played keeps its configuration: its address, and the identifiers of its frames."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from litepulse.errors import BadInput, LitePulseError, shown
from litepulse.lin.configuration import Configured
from litepulse.lin.protocol import ID_MAX, MASTER_REQUEST, SLAVE_RESPONSE
from litepulse.units import hexadecimal


def load(path: Path, configured: Configured) -> None:
    """Takes over what save() wrote; nothing if there is no such file. BadInput if it is none of this node."""
    try:
        found: Any = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return
    except OSError as error:
        raise BadInput(f"{path}: cannot read it ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise BadInput(f"{path}: not a configuration that a slave saved") from None
    fields: dict[str, Any] = dict(found) if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownArgumentType]
    name, nad, given = fields.get("node"), fields.get("nad"), fields.get("frames")
    if name != configured.node.name:
        raise BadInput(f"{path}: the configuration is not of {configured.node.name}")
    frames: dict[str, Any] = dict(given) if isinstance(given, dict) else {}  # pyright: ignore[reportUnknownArgumentType]
    if not _is_number(nad, 1, 0xFF) or set(frames) != set(configured.order):
        raise BadInput(f"{path}: it does not have the NAD and the {len(configured.order)} configurable frames of {name}")
    for frame, number in frames.items():
        if number is not None and (not _is_number(number, 0, ID_MAX) or number in (MASTER_REQUEST, SLAVE_RESPONSE)):
            raise BadInput(
                f"{path}: {frame} cannot have the identifier {hexadecimal(number) if isinstance(number, int) else shown(number)}"
            )
    configured.nad = nad
    configured.frames |= frames


def _is_number(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def save(path: Path, configured: Configured) -> None:
    """Writes the configuration as it is: the whole file, or LitePulseError and none of it."""
    frames = {name: configured.frames[name] for name in configured.order}
    text = json.dumps({"node": configured.node.name, "nad": configured.nad, "frames": frames}, indent=2) + "\n"
    new = None
    try:
        handle, new = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(new, path)
    except OSError as error:
        if new is not None and os.path.exists(new):
            os.unlink(new)
        raise LitePulseError(f"{path}: the configuration cannot be saved: {error.strerror}") from None
