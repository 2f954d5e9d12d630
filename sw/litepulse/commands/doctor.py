# SPDX-License-Identifier: BSD-2-Clause
"""litepulse doctor"""

from argparse import Namespace

from litepulse import output, ports
from litepulse.commands import VERBS, cable
from litepulse.commands.arguments import Verbs
from litepulse.doctor import FAULT, NOTE, OK, SKIPPED, Doctor

EXAMPLES = """  litepulse doctor
  litepulse doctor /dev/ttyUSB1 --json"""
SHOWN = {OK: "OK", FAULT: "FAULT", NOTE: "note", SKIPPED: "-"}


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    cable.add_verb(verbs, "doctor", run, VERBS["doctor"], EXAMPLES)


def run(args: Namespace) -> int:
    """litepulse doctor"""
    doctor = Doctor(ports.Host(), cable.requested_port(args), cable.first_baud(args))
    checks = doctor.run()
    wrong = any(check.state == FAULT for check in checks)
    if args.style == "json":
        rows = [{"check": c.name, "state": c.state, "said": c.finding, "fix": c.fix or None} for c in checks]
        output.write_json({"command": "doctor", "port": doctor.path, "wrong": wrong, "checks": rows})
    else:
        for check in checks:
            fix = f"; {check.fix}" if check.fix else ""
            output.write(f"{SHOWN[check.state]:<6}{check.name:<14} {check.finding}{fix}")
    return int(wrong)
