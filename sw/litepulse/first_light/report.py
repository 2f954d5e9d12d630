# SPDX-License-Identifier: BSD-2-Clause
"""The report of first light: one object of JSON's types, and one page in Markdown for an issue. Neither names a person or a machine."""

import json
import os
import pwd
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from litepulse.certify.host import machine_of
from litepulse.certify.result import stamp
from litepulse.doctor import FAULT, NOTE, OK, SKIPPED, Check
from litepulse.first_light import SCHEMA
from litepulse.first_light.steps import FirstLight, board_facts, failed

SCHEMA_FILE = Path(__file__).with_name("schema.json")
MEASURED = ("wire", "self", "latency_timer", "crystal", "attach")
MACHINE = ("kernel", "architecture", "processor", "processors", "governor", "virtual")
SHOWN = {OK: "ok", FAULT: "**fault**", NOTE: "note", SKIPPED: "not done"}
_COMMON = {"root", "localhost", ""}  # these name nobody


def schema() -> dict[str, Any]:
    """The JSON Schema of reports."""
    return dict(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))


def private_words(serials: Sequence[str]) -> dict[str, str]:
    """{what names this person, this machine or this board: what stands for it}."""
    found = {os.path.expanduser("~"): "~", os.uname().nodename: "HOST"}
    for user in (os.environ.get("USER", ""), os.environ.get("SUDO_USER", ""), _login()):
        found[user] = "USER"
    found |= dict.fromkeys(serials, "SERIAL")
    return {word: instead for word, instead in found.items() if word.strip("/") not in _COMMON}


def _login() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def without(text: str, words: Mapping[str, str]) -> str:
    """A text without them, where they stand as words."""
    for word in sorted(words, key=len, reverse=True):
        text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", lambda _, word=word: words[word], text)
    return text


def report(light: FirstLight, checks: Sequence[Check], with_serial: bool = False) -> dict[str, Any]:
    """What is sent."""
    serials = [each.serial for each in (light.device, light.port) if each and each.serial]
    words = private_words([] if with_serial else [*serials, light.options.serial or ""])
    machine, made = machine_of(light.host), stamp()
    facts = dict(board_facts(light))
    if facts.get("bitstream"):
        facts["bitstream"] = {key: without(value, words) if key == "file" else value for key, value in facts["bitstream"].items()}
    return {
        "command": "first-light",
        "schema": SCHEMA,
        "litepulse": made["litepulse"],
        "date": made["date"],
        "passed": not failed(list(checks)),
        "board": facts | {"serial": serials[0] if with_serial and serials else None},
        "machine": {name: machine[name] for name in MACHINE},
        "steps": [
            {"step": check.name, "state": check.state, "found": without(check.finding, words), "look_at": without(check.fix, words) or None}
            for check in checks
        ],
        "measured": {name: light.measured.get(name) for name in MEASURED},
    }


# The page -------------------------------------------------------------------------------------------------------------


def cell(text: object) -> str:
    """A text as a cell of a table: in Markdown nothing of it means anything."""
    flat = " ".join(str(text).split())
    return re.sub(r"([\\`*_\[\]<>|~#&])", r"\\\1", flat)


def rows_of(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(name, figure) of what was measured."""
    found: list[tuple[str, str]] = []
    measured = result["measured"]
    if (own := measured["self"]) is not None:
        delays = ", ".join(f"{count} after {ticks}" for ticks, count in own["delay"]["histogram"][:8])
        found += [
            ("edges launched", f"{own['edges']} in {own['frames']} frames"),
            ("came, after ticks", delays or "none"),
            ("missing, extra, moved", f"{own['missing']}, {own['extra']}, {own['moved']}"),
        ]
    if (crystal := measured["crystal"]) is not None and crystal["ppm"] is not None:
        right = {True: "kept right by a time service", False: "kept right by nothing", None: "not known to be right"}
        found.append(("crystal", f"{crystal['ppm']:+.3f} ppm ± {crystal['uncertainty_ppm']:.3f} ppm, {crystal['seconds']:.0f} s"))
        found.append(("PC's clock", right[crystal["clock_is_set"]]))
    if (timer := measured["latency_timer"]) is not None:
        trip = timer["round_trip_ns"]
        shown = ("none" if timer[name] is None else f"{timer[name]} ms" for name in ("before_ms", "in_use_ms"))
        found.append(("latency timer, before and in use", ", ".join(shown)))
        found.append(
            ("answer: least, median, most", f"{trip['least'] / 1e6:.3f} ms, {trip['median'] / 1e6:.3f} ms, {trip['most'] / 1e6:.3f} ms")
        )
    if (attach := measured["attach"]) is not None:
        trip = "" if attach["round_trip_ns"] is None else f", round trip {attach['round_trip_ns'] / 1e6:.3f} ms"
        checked = "checked" if attach["frames_checked"] else "not checked"
        found.append(("driver", f"{attach['baud']} baud, frames {checked}{trip}, attached in {attach['seconds']} s"))
    return found


def page(result: Mapping[str, Any]) -> str:
    """The report in Markdown."""
    board, machine = result["board"], result["machine"]
    written = board["bitstream"]
    about = [
        ("board", board["name"] or "not known"),
        ("plug", board["usb"] or "not looked at"),
        ("bitstream", f"{written['file']}, {written['what']}" if written else "what was on it"),
        ("core", f"register map {board['register_map']}, {board['clock_hz']} Hz" if "register_map" in board else "does not answer"),
        ("litepulse", result["litepulse"]),
        ("kernel", f"{machine['kernel']} {machine['architecture']}{', a virtual machine' if machine['virtual'] else ''}"),
    ]
    if board["serial"]:
        about.append(("serial number", board["serial"]))
    ended = "every step passed" if result["passed"] else "a step failed"
    lines = [f"# First light: {board['name'] or 'a board'}, {ended}", "", f"{result['date']}, by `litepulse first-light`.", ""]
    if board["simulated"]:
        lines += ["**SIMULATED: no board.**", ""]
    lines += ["| | |", "|---|---|", *(f"| {name} | {cell(text)} |" for name, text in about), ""]
    lines += ["| step | | found |", "|---|---|---|"]
    for row in result["steps"]:
        look = f"; look at: {row['look_at']}" if row["look_at"] and row["state"] == FAULT else ""
        lines.append(f"| {row['step']} | {SHOWN[row['state']]} | {cell(row['found'] + look)} |")
    if rows := rows_of(result):
        lines += ["", "| measured | |", "|---|---|", *(f"| {name} | {cell(text)} |" for name, text in rows)]
    return "\n".join([*lines, ""])
