# SPDX-License-Identifier: BSD-2-Clause
"""litepulse lin master"""

from argparse import Namespace

from litepulse import lin, output
from litepulse.commands import arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.lin.report import Report
from litepulse.commands.lin.words import add_bus, add_encoding, add_set, described
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt

EXAMPLES = """  litepulse lin master door.ldf --schedule Normal --set WindowUp=1
  litepulse --sim lin master door.ldf --schedule Normal --rounds 3"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "master", run, "run a schedule: each header at its tick exactly", ("json", "csv", "vnl"), EXAMPLES)
    sub.add_argument("ldf", metavar="FILE", help="description of the network (LDF)")
    add_encoding(sub)
    sub.add_argument("--schedule", metavar="NAME", help="which of its schedules (default: the only one)")
    sub.add_argument("--rounds", default="0", metavar="N", type=arguments.count("rounds"), help="end after N (default 0: at Ctrl-C)")
    add_set(sub)
    sub.add_argument("--start", metavar="T", type=arguments.moment("start"), help="first slot: +10ms from now, or a tick (default: soon)")
    add_bus(sub)


def run(args: Namespace) -> int:
    """litepulse lin master"""
    description = described(args)
    names = description.schedules()
    if args.schedule is None and len(names) != 1:
        raise BadInput(f"schedule: {description.path.name} has {', '.join(names) or 'none'}: give one with --schedule")
    schedule = args.schedule or names[0]
    description.schedule(schedule)
    values = dict(args.set)
    description.check_values(values)
    with arguments.board(args) as board, Interrupt() as interrupt:
        start = None if args.start is None else arguments.when(args.start, board)
        job = lin.master(
            board, description, schedule, start=start, rounds=args.rounds, values=values, baud=args.baud, loopback=args.loopback
        )
        for name in job.run.tight_slots():
            output.note(f"litepulse: the slot of {name} is shorter than the longest frame allowed: a slow answer runs into the next")
        report = Report(args, board, "master", job.bit, description)
        return report.follow(job, interrupt, not args.rounds, lambda: {"start": job.start, "schedule": job.run.schedule})
