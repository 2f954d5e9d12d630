# SPDX-License-Identifier: BSD-2-Clause
"""litepulse train"""

from argparse import Namespace
from fractions import Fraction
from typing import Any

from litepulse import Board, Train, output, termplot
from litepulse.backends import Losses
from litepulse.commands import VERBS, arguments, together
from litepulse.commands.arguments import Frame, Line, Verbs
from litepulse.commands.following import Wait, to_the_end
from litepulse.commands.report import LOST, clock_note, ended, headline, records_lost, shared, shared_line, simulated_mark
from litepulse.discipline import Disciplined, DisciplinedByDriver
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.layout import regs
from litepulse.output import ms, ns
from litepulse.plan import TrainPlan, train_plan
from litepulse.spool import Spool
from litepulse.train import Row
from litepulse.units import NANO, Duration, Timescale, approx, counted, exact, in_ticks, si

KEPT = 2_000  # pulses that are drawn in the end
SHOWN_CHANGES = 10
EXAMPLES = """  litepulse --sim train --rate 58 --byte 0xff --baud 9600 --count 12
  litepulse train --period 1ms --width 10us              until Ctrl-C
  litepulse train --rate 617/10 --vnl | feedgnuplot --vnl --stream --lines --domain
  litepulse train --rate 1k --keep; litepulse adjust --step -5us; litepulse stop"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "train", run, VERBS["train"], ("json", "csv", "vnl"), EXAMPLES)
    pace = sub.add_mutually_exclusive_group(required=True)
    pace.add_argument("--rate", metavar="HZ", type=arguments.rate("rate"), help="pulses per second, exact: 58, 61.7, 617/10, 44.1k")
    pace.add_argument(
        "--period",
        metavar="T",
        type=arguments.duration("period", positive=True),
        help="time from pulse to pulse instead: 17.25ms, 1/58, 24000000/29t",
    )
    sub.add_argument("--count", default="0", metavar="N", type=arguments.count(), help="pulses, 0 = until Ctrl-C (default)")
    sub.add_argument(
        "--start",
        metavar="T",
        type=arguments.moment("start"),
        help="when: +10ms from now, a time or tick (123456t) since the reset, or a time of a clock: utc:12:00:00",
    )
    sub.add_argument(
        "--clock",
        metavar="CLOCK",
        help="follow utc, as the PC has it, pps:0 or harp:0 at input 0, phc:0: /dev/ptp0, or phc: the board's own PTP clock",
    )
    sub.add_argument("--follow-steps", action="store_true", help="with --clock: also when that clock jumps")
    sub.add_argument("--keep", action="store_true", help="leave it running and return as soon as it runs, or waits for --start")
    arguments.add_frame(sub)
    arguments.add_line(sub)


class Options(Frame, Line):
    """Of a train, all but its start, as the library takes them."""

    rate: Fraction | None
    period: Duration | None
    count: int


def options_of(args: Namespace) -> Options:
    """The train's options, as Board.train() takes them."""
    return {"rate": args.rate, "period": args.period, "count": args.count, **arguments.frame_of(args), **arguments.line_of(args)}


def step(args: Namespace) -> int:
    """So far that the event FIFO never fills. What does not fit is refused before anything is built or started."""
    return arguments.step(args, lambda clock: 16 * train_plan(clock, **options_of(args)).period.whole)


class Lists:
    """Lists for --json."""

    def __init__(self) -> None:
        self.pulses, self.ticks, self.received_ticks, self.received_bytes, self.refusals = (Spool() for _ in range(5))

    def launched(self, n: int, tick: int) -> None:
        """Pulse n left."""
        self.pulses.add(n)
        self.ticks.add(tick)

    def refused(self, n: int, tick: int, reason: str) -> None:
        """Pulse n did not."""
        self.refusals.add({"pulse": n, "tick": tick, "reason": reason})

    def received(self, tick: int, byte: int | None) -> None:
        """A start edge was seen."""
        self.received_ticks.add(tick)
        if byte is not None:
            self.received_bytes.add(byte)

    def by_key(self) -> dict[str, Spool]:
        """By the keys of the JSON object."""
        return {
            "pulses": self.pulses,
            "launched": self.ticks,
            "received": self.received_ticks,
            "received_bytes": self.received_bytes,
            "refused": self.refusals,
        }


def run(args: Namespace) -> int:
    """litepulse train"""
    if args.keep and args.sim:
        raise BadInput("--keep needs a device that outlives this command; the simulated SoC of --sim ends with it")
    if args.keep and args.clock:
        raise BadInput("--keep leaves the train, and without this command it follows no clock: choose one")
    if args.follow_steps and not args.clock:
        raise BadInput("--follow-steps belongs to --clock")
    if arguments.several(args):
        return together.train(args, options_of(args))
    if args.keep and args.style in ("csv", "vnl"):
        raise BadInput(f"--{args.style} follows a train, --keep leaves it: choose one")
    with arguments.board(args, step=step(args)) as board, Interrupt() as interrupt:
        start = None if args.start is None else arguments.when(args.start, board)
        lists = Lists() if args.style == "json" else None
        limit = None if args.keep else 1 if args.style else KEPT
        clock, steps = args.clock, args.follow_steps
        train = board.train(**options_of(args), start=start, limit=limit, listener=lists, clock=clock, follow_steps=steps)
        return keep(args, board, train, interrupt) if args.keep else follow(args, board, train, interrupt, lists)


def keep(args: Namespace, board: Board, train: Train, interrupt: Interrupt) -> int:
    """Leaves a train running; one that starts at a requested tick need not have begun."""
    with train:
        if train.plan.start is None:
            next(filter(None, train.rows()), None)  # its first pulses
        if interrupt:
            return ended(interrupt, False)
        train.detach()
    result = train_result(board, train)
    if args.style == "json":
        output.write_json(result)
    else:
        Wait(board, "pulse 0", train.plan.start)
        output.write(
            f"{headline(board)}\nrunning: {title_of(board, train.plan)}, pulse 0 at tick {train.record.ideal.start}; "
            f"'litepulse{arguments.device_words(args, board)} stop' ends it"
        )
    return 0


def follow(args: Namespace, board: Board, train: Train, interrupt: Interrupt, lists: Lists | None) -> int:
    """Runs a train to its end, shows it, and leaves the line idle whatever happens."""
    ts, plan, people = board.timescale, train.plan, args.style is None
    rows_out = None
    title = title_of(board, plan)

    def show(rows: list[Row]) -> None:
        if rows_out is None:
            return
        for row in rows:
            dt = ms(ts, row.interval) if row.interval is not None else None
            if args.style == "vnl":
                rows_out.row(ns(ts, row.tick), dt)
            else:
                rows_out.row(row.n, row.tick, ns(ts, row.tick), dt, row.error)

    def look() -> None:
        wait = Wait(board, "pulse 0", plan.start)
        with output.Live(f"{title}{simulated_mark(board)}", plan.count or None, args.style) as live:
            picture = live_picture(ts)
            for rows in train.rows():
                show(rows)
                for row in rows:
                    picture.add(row.n, float(ts.ns(row.tick - train.record.ideal.exact(row.n))))
                done = train.record.launched_count + train.record.refused_count
                live.update(done, live_rows(train, rows), picture, wait.left(train.poller.tick))

    def report(_: Losses) -> tuple[dict[str, Any], str]:
        result = train_result(board, train, interrupt)
        if lists:
            return result | lists.by_key(), ""
        lines = train_text(board, train, result)
        return result, "\n".join(lines + plot_of(result) if people else [f"{headline(board)}, {title}", *lines])

    if args.style == "vnl":
        rows_out = output.Rows("vnl", ("t_ns", "dt_ms"), board.identity.backend)
    elif args.style == "csv":
        rows_out = output.Rows("csv", ("pulse", "tick", "t_ns", "dt_ms", "error_ticks"), board.identity.backend)
    elif people:
        output.write(f"{headline(board)}\n{title}")
    to_the_end(train, args.style, look, lambda: train.record.launched_count, report)
    return ended(interrupt, plan.count == 0) or (LOST if train.record.lost or train.record.refused_count else 0)


def train_result(board: Board, train: Train, interrupt: Interrupt | None = None) -> dict[str, Any]:
    """The JSON object of a train."""
    record, plan = train.record, train.plan
    numbers = sorted(record.launched)
    return shared(board, "train") | {
        "rate_hz": exact(board.tick_hz / plan.period.ticks),
        "period_ticks": exact(plan.period.ticks),
        "launch": str(plan.launch),
        **shared_line(plan.profile),
        "count": plan.count,
        "start": record.ideal.start,
        "pulses": numbers,
        "launched": [record.launched[n] for n in numbers],
        "received": record.received,
        "received_bytes": record.received_bytes,
        "bad_frames": record.bad_frames,
        "max_error_ticks": record.max_error,
        "loopback_ticks": regs.LOOPBACK_TICKS,
        "delays": {str(k): v for k, v in sorted(record.delays().items())},
        "refused": [{"pulse": n, "tick": t, "reason": r} for n, (t, r) in sorted(record.refused.items())],
        "lost": record.lost,
        "lost_at_least": record.lost_at_least,
        "events_lost": record.events_lost,
        "bytes_lost": record.bytes_lost,
        "changes": [
            {"pulse": n, "period_ticks": exact(p.ticks), "step_ticks": s, "tick_exact": exact(record.ideal.exact(n))}
            for n, p, s in train.changes
        ],
        "ended": how_it_ended(train, interrupt),
        **followed(train),
    }


def followed(train: Train) -> dict[str, Any]:
    """What a train that follows a clock adds to the JSON object."""
    if not isinstance(train, Disciplined):
        return {}
    rows = [
        {
            "second": exact(each.second),
            "pulse": each.pulse,
            "error_ticks": round(float(each.error), 3),
            "ppm": round(float(each.ppm), 6),
            "uncertainty_ns": each.uncertainty,
            "why": each.why,
        }
        for each in train.steered
    ]
    return {"follows": {"clock": train.seconds.key, "first": train.began, "worst_ns": train.worst, "steered": rows}}


def how_it_ended(train: Train, interrupt: Interrupt | None) -> str:
    """'count', 'interrupt', 'stop' (by another process) or 'running'."""
    if train.plan.count and train.record.done == train.plan.count:
        return "count"
    return "interrupt" if interrupt else "stop" if train.stopped else "running"


def train_text(board: Board, train: Train, result: dict[str, Any]) -> list[str]:
    """Statistics of a train, for people."""
    record, plan, ts = train.record, train.plan, board.timescale
    count = record.launched_count
    tick = si(1 / ts.tick_hz, "s")
    lost = records_lost(record.lost, record.lost_at_least)
    rows = [("pulses", f"{count} launched, {record.received_count} received, {record.refused_count} refused, {lost}")]
    seen = f", seen {record.min_interval} to {record.max_interval} ticks" if record.min_interval is not None else ""
    follows = isinstance(train, Disciplined)
    ticks = "" if follows else f"{exact(plan.period.ticks)} ticks = "  # of one that follows a clock, only of its beginning
    rows.append(("period", f"{ticks}{ms(ts, plan.period.ticks)} ms{seen}"))
    if record.max_error is not None:
        worst = (
            "0 ticks: every edge is where it belongs"
            if record.max_error == 0
            else f"up to {in_ticks(record.max_error)} = {si(ts.seconds(record.max_error), 's')}"
        )
        where = "" if follows else f"start + floor(n · {exact(plan.period.ticks)}), "
        rows.append(("error", f"{worst} ({where}1 tick = {tick})"))
    delays = result["delays"]
    if delays:
        seen = ", ".join(f"{v}× {k}" for k, v in delays.items()) if len(delays) > 1 else f"{next(iter(delays))} for each"
        rows.append(("loopback", f"received − launched in ticks: {seen} (a wire gives {regs.LOOPBACK_TICKS})"))
    elif count:
        rows.append(("loopback", "nothing received: wire tx to rx, or use --loopback, to see the edges come back"))
    if record.bad_frames:
        rows.append(("bad", f"{record.bad_frames} received frames differ from what was sent"))
    if record.first_refused:
        n, reason = record.first_refused
        rows.append(("refused", f"pulse {n} first: {reason}"))
    rows += followed_text(train) if isinstance(train, Disciplined) else changed_text(train)
    if plan.launch.kind != "pulse":
        bit = plan.profile.bit_period
        rows.append(("baud", f"{approx(bit.baud, 6)} ({exact(bit.ticks)} ticks a bit)"))
    rows.append(("clock", clock_note(board)))
    return output.aligned(rows)


def changed_text(train: Train) -> list[tuple[str, str]]:
    """Its changes, for people; of many the last ones."""
    many = len(train.changes) > SHOWN_CHANGES
    rows = [("changed", f"{len(train.changes)} times; the last {SHOWN_CHANGES}:")] if many else []
    for n, period, step in train.changes[-SHOWN_CHANGES:]:
        rows.append(("changed", f"at pulse {n}: period {exact(period.ticks)} ticks, step {step} ticks"))
    return rows


def followed_text(train: Disciplined) -> list[tuple[str, str]]:
    """How a train followed its clock, for people."""
    if isinstance(train, DisciplinedByDriver):
        rows = [("follows", f"{train.seconds.name}, exactly: less than a tick, {si(Fraction(train.worst, NANO), 's')}, away")]
        rows.append(("", f"pulse 0 at {train.began}; the driver followed {counted(len(train.steered), 'change')} of that clock's rate"))
        if train.stopped:
            rows.append(("", "that clock was stepped, which ended the train: --follow-steps goes on"))
        return rows
    if not train.steered:
        return [("follows", f"{train.seconds.name}; it ended before the first look")]
    last, why = train.steered[-1], [each.why for each in train.steered]
    rows = [("follows", f"{train.seconds.name}, looked at {counted(len(why), 'time')}, up to {si(Fraction(train.worst, NANO), 's')} away")]
    rows.append(("", f"pulse 0 at {train.began}; that clock is known to ±{si(Fraction(last.uncertainty, NANO), 's')}"))
    rows.append(("", f"the board's clock is {abs(float(last.ppm)):.3f} ppm {'fast' if last.ppm >= 0 else 'slow'} against it"))
    for name, what in (
        ("away", "did not come in"),
        ("step", "had jumped, and was not followed"),
        ("stepped", "had jumped, and was followed"),
    ):
        if name in why:
            rows.append(("", f"at {counted(why.count(name), 'look')} it {what}"))
    return rows


def title_of(board: Board, plan: TrainPlan) -> str:
    """What a train is, in a line."""
    rate = approx(board.tick_hz / plan.period.ticks, 6)
    line = f" at {approx(plan.profile.bit_period.baud, 3)} baud {plan.profile.format}" if plan.launch.kind != "pulse" else ""
    return f"{rate} Hz, {plan.launch}{line}"


def plot_of(result: dict[str, Any]) -> list[str]:
    """The terminal plot of a train."""
    from litepulse import plot

    return ["", *plot.text(plot.from_result(result), output.terminal_width(), output.is_plain())] if result["launched"] else []


def live_picture(ts: Timescale) -> termplot.Rolling:
    """What the terminal shows of a train while it runs: how far each edge is from the exact ideal."""
    tick = float(ts.ns(1))
    return termplot.Rolling("pulse", "edge − exact ideal [ns]", (-2 * tick, 2 * tick))


def live_rows(train: Train, rows: list[Row]) -> list[tuple[str, str]]:
    """The live table of a train."""
    record = train.record
    if not rows and not record.launched:
        return [("pulses", "waiting for the first")]
    n = next(reversed(record.launched)) if record.launched else 0
    table = [
        (
            "pulses",
            f"{record.launched_count} launched, {record.received_count} received, {record.refused_count} refused, {record.lost} lost",
        ),
        ("last", f"pulse {n} at tick {record.launched.get(n)}"),
    ]
    if record.min_interval is not None:
        table.append(("interval", f"{record.min_interval} to {record.max_interval} ticks, exact {exact(train.plan.period.ticks)}"))
    table.append(("max error", f"{record.max_error} ticks"))
    return table
