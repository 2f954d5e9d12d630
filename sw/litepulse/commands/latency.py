# SPDX-License-Identifier: BSD-2-Clause
"""litepulse latency"""

import contextlib
import os
import re
import time
from argparse import Namespace
from collections.abc import Generator, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, TextIO

from litepulse import Board, Latency, idle, output, ports, termplot
from litepulse.backends import Losses
from litepulse.board import DEFAULT_INTERVAL, FILTER_MAX
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.following import Wait, to_the_end
from litepulse.commands.report import LOST, clock_note, ended, headline, records_lost, shared, shared_line, simulated_mark
from litepulse.commands.respond import named
from litepulse.distribution import PERCENTILES, Distribution
from litepulse.echo import Echo
from litepulse.errors import BadInput, LitePulseError, OutputLost, Unsupported
from litepulse.interrupt import Interrupt
from litepulse.journal import Change
from litepulse.latency import LatencyPlan
from litepulse.line import Trigger
from litepulse.output import ns
from litepulse.pairing import ANSWERED, EXTRA, IGNORED, MISSING, REFUSED, STRAY, UNKNOWN, Sample
from litepulse.realtime import DEFAULT_PRIORITY, cpu_list, quietest_cpu
from litepulse.tuning import BY_JOURNAL, GOVERNOR, HIGHEST_NICE, LATENCY_MS, TABLE, WORKER_PRIORITY
from litepulse.units import Timescale, counted, exact, fixed, in_ticks, parse_count, si, to_rate

KEPT = 100_000  # samples that --json lists
BINS = 20
LIVE_SECONDS = 0.25  # between two new live tables: percentiles of many values take time
SETTINGS = tuple(row.word for row in TABLE)
OF_THE_MACHINE = {row.name for row in TABLE if row.undone == BY_JOURNAL}
WORDS = "priority[=N], memory, cpu[=N], dma[=US], flip[=NICE], kworkers[=N], power, timer[=MS], cstates[=N+N...], governor[=NAME]"
COUNTS = (ANSWERED, MISSING, EXTRA, STRAY, IGNORED, UNKNOWN, REFUSED)
EXAMPLES = """  litepulse latency --high --width 10us --on edge:0:rise --count 1000
  litepulse latency --echo /dev/ttyUSB3 --baud 115200 --count 10000 --realtime
  litepulse latency --echo /dev/ttyUSB3 --baud 115200 --count 5000 --compare
  litepulse --sim --wire 0 latency --width 10us --on edge:0:fall --count 100"""

Setting = tuple[str, dict[str, Any]]  # (name for people, arguments of Realtime)


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "latency", run, VERBS["latency"], ("json", "csv", "vnl"), EXAMPLES)
    timed = arguments.duration
    what = sub.add_argument_group("stimulus and response")
    what.add_argument(
        "--on",
        metavar="RESPONSE",
        type=response,
        help="edge:CHANNEL[:rise|fall|both], byte:VALUE[/MASK], break, or echo (default): the stimulus's own byte, which counts up",
    )
    what.add_argument(
        "--interval",
        default=DEFAULT_INTERVAL,
        metavar="T",
        type=timed("interval", positive=True),
        help="mean time from stimulus to stimulus (default 10ms)",
    )
    what.add_argument("--jitter", metavar="T", type=timed("jitter"), help="vary each by up to plus or minus T (default: half of it)")
    what.add_argument("--seed", default="1", metavar="N", type=arguments.count("seed"), help="of the random numbers for that (default 1)")
    what.add_argument(
        "--timeout", metavar="T", type=timed("timeout", positive=True), help="how long a response is waited for (default 1s or less)"
    )
    what.add_argument("--blank", default="0t", metavar="T", type=timed("blank"), help="what comes sooner after the stimulus is no response")
    what.add_argument(
        "--holdoff", default="0t", metavar="T", type=timed("holdoff"), help="what comes within T after a response is part of it"
    )
    what.add_argument("--from", dest="reference", choices=("start", "end"), default="start", help="where on the stimulus a delay begins")
    what.add_argument(
        "--filter",
        default="0",
        metavar="N",
        type=arguments.count("filter", 0, FILTER_MAX),
        help="ignore levels shorter than N samples, up to 63",
    )
    what.add_argument(
        "--start", metavar="T", type=arguments.moment("start"), help="first stimulus: +10ms from now, or a tick (default: soon)"
    )
    arguments.add_frame(sub)
    end = sub.add_argument_group("end")
    end.add_argument("--count", default="0", metavar="N", type=arguments.count(), help="stop after N stimuli")
    end.add_argument(
        "--for", dest="duration", metavar="T", type=timed("for", positive=True), help="no stimulus after this time of the board's clock"
    )
    end.add_argument("--histogram", metavar="FILE", help="write a histogram in microseconds, as cyclictest does")
    other = sub.add_argument_group("other end on this PC")
    other.add_argument("--echo", metavar="PORT", help="answer on this serial port with what comes there")
    other.add_argument(
        "--realtime",
        nargs="?",
        const=",".join(SETTINGS),
        metavar="LIST",
        type=settings,
        help="settings for what answers: priority[=N],memory,cpu[=N],dma[=US],flip[=NICE],kworkers[=N],power,timer[=MS],cstates[=N+N...],"
        "governor[=NAME] (default: all)",
    )
    other.add_argument("--compare", action="store_true", help="measure without settings, then with one more at a time")
    arguments.add_line(sub)


def response(text: str) -> Trigger | None:
    """A trigger, or None for echo."""
    return None if text == "echo" else arguments.trigger(text)


def settings(text: str) -> list[Setting]:
    """priority=80,memory,cpu=3,dma=0,cstates=2+3: each a setting, each idle state one of its own, the deepest first."""
    found: dict[str, list[Setting]] = {}
    for part in text.split(","):
        name, has_value, value = part.strip().partition("=")
        if name not in SETTINGS or name in found or (has_value and name in ("memory", "power")):
            raise BadInput(f"realtime: '{part}' is none of {WORDS}, each once")
        found[name] = states_off(value) if name == "cstates" else [setting(name, value if has_value else None)]
    return [each for group in found.values() for each in group]


def setting(name: str, value: str | None) -> Setting:
    """One that is no idle state; value: None: as it is by default."""

    def number(default: int, low: int, high: int) -> int:
        return default if value is None else parse_count(value, name, low, high)

    if name == "priority":
        priority = number(DEFAULT_PRIORITY, 1, 99)
        return f"SCHED_FIFO {priority}", {"priority": priority}
    if name == "memory":
        return "memory locked", {"lock_memory": True}
    if name == "cpu":
        cpu = quietest_cpu() if value is None else parse_count(value, name, 0, 65535)
        return f"on CPU {cpu}", {"cpus": [cpu]}
    if name == "dma":
        latency = number(0, 0, 2_000_000_000)
        return f"cpu_dma_latency {latency}", {"dma_latency": latency}
    if name == "flip":
        nice = nice_of(value)
        return f"workers nice {nice}", {"worker_nice": nice}
    if name == "kworkers":
        priority = number(WORKER_PRIORITY, 1, 99)
        return f"kworkers SCHED_FIFO {priority}", {"worker_priority": priority}
    if name == "power":
        return "port always on", {"power": True}
    if name == "timer":
        timer = number(LATENCY_MS, 1, 255)
        return f"latency timer {timer} ms", {"latency_timer": timer}
    governor = GOVERNOR if value is None else value
    return f"governor {governor}", {"governor": governor}


def nice_of(value: str | None) -> int:
    """-20 to 19."""
    if value is None:
        return HIGHEST_NICE
    if not re.fullmatch(r"-?[0-9]{1,2}", value, re.ASCII) or not -20 <= int(value) <= 19:
        raise BadInput(f"flip: '{value}' is outside -20 to 19")
    return int(value)


def states_off(value: str) -> list[Setting]:
    """Idle states that are not entered, one after the other, the deepest first; '': all but the first. 2+3, or 2-3."""
    known = {state.number: state.name for state in idle.idle_states(ports.Host())}
    try:
        wanted = cpu_list(value.replace("+", ","))
    except ValueError:
        wanted = {-1}
    if any(not 0 <= number <= 9 for number in wanted):
        raise BadInput(f"cstates: '{value}' is not numbers from 0 to 9, such as 2+3")
    numbers = sorted(wanted or known.keys() - {0} or {1}, reverse=True)
    names = [known.get(number, f"state {number}") for number in numbers]
    return [(f"without {name}", {"cstates": numbers[: place + 1]}) for place, name in enumerate(names)]


def check(args: Namespace) -> None:
    """BadInput if options do not fit together."""
    if args.echo is None:
        if args.realtime or args.compare:
            raise BadInput("--realtime and --compare are about what answers on a port of this PC: give --echo PORT")
    elif args.sim:
        raise BadInput("--echo: a port of this PC is not wired to the simulated SoC")
    elif args.on is not None:
        raise BadInput("--echo answers each byte with itself: leave out --on")
    if args.compare and not args.count and args.duration is None:
        raise BadInput("--compare: say how long each measurement lasts, with --count or --for")
    if args.compare and args.style in ("csv", "vnl"):
        raise BadInput(f"--compare prints a table; --{args.style} has a row per sample: choose one")
    if args.compare and args.histogram:
        raise BadInput("--histogram holds one measurement; --compare makes several: choose one")


def step(args: Namespace) -> int:
    """Some stimuli."""
    return arguments.step(args, lambda clock: int(8 * clock.ticks(args.interval)))


def run(args: Namespace) -> int:
    """litepulse latency"""
    check(args)
    with arguments.board(args, step=step(args)) as board, Interrupt() as interrupt, histogram_file(args.histogram) as file:
        if args.compare:
            return compare(args, board, interrupt)
        return follow(args, board, interrupt, file)


@contextlib.contextmanager
def histogram_file(name: str | None) -> Generator[TextIO | None]:
    """The file, found to be writable before anything is measured. What was in it stays until there is a new histogram."""
    if name is None:
        yield None
        return
    is_new = not os.path.exists(name)
    try:
        file = open(name, "a")
    except OSError as error:
        raise BadInput(f"histogram: cannot write {name}: {error.strerror}") from None
    try:
        with file:
            yield file
    finally:
        if is_new:
            with contextlib.suppress(OSError):  # another process may have removed it
                if os.path.getsize(name) == 0:
                    os.unlink(name)


def begin(args: Namespace, board: Board) -> Latency:
    """The measurement, prepared; the first stimulus leaves behind the first look at it."""
    return board.latency(
        args.on,
        interval=args.interval,
        jitter=args.jitter,
        seed=args.seed,
        count=args.count,
        duration=args.duration,
        start=None if args.start is None else arguments.when(args.start, board),
        timeout=args.timeout,
        blank=args.blank,
        holdoff=args.holdoff,
        from_end=args.reference == "end",
        filter=args.filter,
        **arguments.frame_of(args),
        **arguments.line_of(args),
    )


def echo_of(args: Namespace, job: Latency, wanted: Iterable[Setting]) -> Echo:
    """What answers on --echo PORT, not yet started."""
    baud = round(to_rate(args.baud, "baud"))
    return Echo(args.echo, baud, job.plan.profile.format, {name: value for _, keywords in wanted for name, value in keywords.items()})


@dataclass
class Answerer:
    """What answers on a port of this PC, and with which settings."""

    echo: Echo
    settings: Sequence[Setting] = ()

    def result(self) -> dict[str, Any]:
        """For JSON."""
        kind = self.echo.kind
        names = {name: value for _, keywords in self.settings for name, value in keywords.items()}
        echo = self.echo
        return {
            "port": echo.port,
            "kind": kind.kind,
            "driver": kind.driver,
            "bytes": echo.echoed,
            "settings": names,
            "changed": [asdict(each) for each in echo.changes],
            "refused": echo.refused,
            "notes": echo.notes,
        }


@dataclass
class Seen:
    """Samples that --json lists."""

    samples: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def add(self, found: Iterable[Sample]) -> None:
        """The first KEPT are kept."""
        for each in found:
            if len(self.samples) < KEPT:
                entry = {"n": each.number, "tick": each.tick, "response": each.response, "delay_ticks": each.delay, "outcome": each.outcome}
                self.samples.append(
                    entry | ({"reason": each.reason} if each.reason else {}) | ({"overtaken": True} if each.overtaken else {})
                )


def measure(args: Namespace, board: Board, job: Latency, title: str, seen: Seen, answerer: Answerer | None) -> None:
    """Runs a measurement to its end and shows it: rows for programs, a live table for people."""
    ts, rows_out, drawn = board.timescale, None, 0.0
    if args.style in ("csv", "vnl"):
        names = ("n", "tick", "t_ns", "delay_ticks", "delay_ns", "outcome")
        rows_out = output.Rows(args.style, names, board.identity.backend)
    wait = Wait(board, "the first stimulus", job.plan.start)
    picture = termplot.Rolling("stimulus", "delay [µs]")
    with output.Live(f"{title}{simulated_mark(board)}", args.count or None, args.style) as live:
        table: list[tuple[str, str]] = []
        for found in job.batches():
            if answerer:
                answerer.echo.check()
            seen.add(found)
            for each in found:
                if each.delay is not None and each.number is not None:
                    picture.add(each.number, float(ts.ns(each.delay) / 1000))
                if rows_out:
                    tick = each.response if each.tick is None else each.tick
                    shown = None if each.delay is None else ns(ts, each.delay)
                    rows_out.row(each.number, tick, None if tick is None else ns(ts, tick), each.delay, shown, each.outcome)
            if live.table and time.monotonic() > drawn + LIVE_SECONDS:
                table, drawn = text_rows(ts, job), time.monotonic()
            live.update(job.stimuli, table, picture, wait.left(job.poller.tick))


def follow(args: Namespace, board: Board, interrupt: Interrupt, file: TextIO | None) -> int:
    """One measurement."""
    seen = Seen()
    answerer: Answerer | None = None

    def look() -> None:
        measure(args, board, job, "stimuli", seen, answerer)

    def report(losses: Losses) -> tuple[dict[str, Any], str]:
        if answerer:
            answerer.echo.close()
            for line in answerer.echo.notes:
                output.note(f"litepulse: {line}")
        if file:
            write_histogram(file, board.timescale, job.delays)
        result = result_of(args, board, job, losses) | {
            "samples": seen.samples,
            "echo": answerer.result() if answerer else None,
            "ended": "interrupt" if interrupt else "all sent",
        }
        return result, "\n".join([*text_of(board, job, losses, answerer), *picture_of(args, board, job.delays)])

    with begin(args, board) as job, contextlib.ExitStack() as stack:
        if args.echo is not None:
            wanted: list[Setting] = args.realtime or []
            answerer = Answerer(stack.enter_context(echo_of(args, job, wanted)), wanted)
            for line in answerer.echo.refused:
                output.note(f"litepulse: not applied: {line}")
        if args.style is None:
            output.write(f"{headline(board)}\n{title_of(board, job, answerer)}")
        losses = to_the_end(job, args.style, look, lambda: job.stimuli, report)
    return ended(interrupt, not args.count and args.duration is None) or status_of(job, losses)


def status_of(job: Latency, losses: Losses) -> int:
    """LOST unless each stimulus left and had one response."""
    wrong = any(job.counts[name] for name in (MISSING, EXTRA, STRAY, REFUSED))
    return LOST if wrong or losses.total or not job.delays.count else 0


# One setting at a time --------------------------------------------------------------------------------------------------


def compare(args: Namespace, board: Board, interrupt: Interrupt) -> int:
    """Measures without settings, then with one more at a time; a setting that cannot be had is left out, and the table says why."""
    ts, people = board.timescale, args.style is None
    runs: list[dict[str, Any]] = []
    rows: list[tuple[str, ...]] = [("settings", "samples", "least", "median", "p99", "p99.9", "most", "missing")]
    refused: list[str] = []
    changed: list[str] = []
    applied: list[Setting] = []
    status = 0
    common: dict[str, Any] = {}  # what the measurements have in common
    notes: dict[str, None] = {}
    problem = None
    for step in [None, *(args.realtime or settings(",".join(SETTINGS)))]:
        wanted = [*applied, *([step] if step else [])]
        name = "none" if step is None else f"+ {step[0]}"
        with begin(args, board) as job, contextlib.ExitStack() as stack:
            answerer = Answerer(echo_of(args, job, wanted), wanted)
            if not common:
                common = shared(board, "latency") | shared_line(job.plan.profile) | plan_of(args, board, job)
                if people:
                    output.write(f"{headline(board)}\n{title_of(board, job, answerer)}")
            try:
                stack.enter_context(answerer.echo)
                fresh = new_changes(step, answerer.echo)
            except Unsupported as error:
                refused.append(f"{name.removeprefix('+ ')}: {error}")
                runs.append({"settings": name, "not_applied": str(error)})
                continue
            changed += changes_of(step, fresh)
            notes.update({f"in part: {line}": None for line in refusals(step, answerer.echo)})

            def look(job: Latency = job, name: str = name, answerer: Answerer = answerer) -> None:
                measure(args, board, job, name, Seen(), answerer)

            def report(losses: Losses, job: Latency = job, name: str = name, answerer: Answerer = answerer) -> tuple[dict[str, Any], str]:
                answerer.echo.close()
                notes.update(dict.fromkeys(answerer.echo.notes))
                runs.append({"settings": name} | numbers_of(job, losses) | {"echo": answerer.result()})
                rows.append((name, str(job.delays.count), *figures(ts, job.delays), str(job.counts[MISSING])))
                return {}, ""

            try:
                losses = to_the_end(job, "compare", look, lambda job=job: job.stimuli, report)
            except LitePulseError as error:
                if not runs:
                    raise
                problem = error
                if rows[-1][0] == name:
                    rows[-1] = (f"{name}, cut short", *rows[-1][1:])
                break
        applied = wanted
        status = max(status, status_of(job, losses))
        if interrupt:
            break
    if args.style == "json":
        ending: dict[str, Any] = {"error": str(problem)} if problem else {"ended": "interrupt" if interrupt else "all sent"}
        output.write_json(common | {"runs": runs} | ending)
    else:
        for line in (*columns_of(rows), *changed, *(f"not tried: {each}" for each in refused), *notes):
            output.write(f"  {line}")
        output.write("  Each line adds its setting to those above. These are figures of one run on this machine.")
    if problem:
        raise problem
    return ended(interrupt, False) or status


def new_changes(step: Setting | None, echo: Echo) -> list[Change]:
    """What a step has changed of the machine. Unsupported, which says why, if it was to change something and could not at all."""
    if step is None or not (mine := OF_THE_MACHINE & step[1].keys()):
        return []
    (name,) = mine
    found = [each for each in echo.changes if each.name == name]
    if name == "cstates":  # those of the steps before are in it, too
        found = [each for each in found if f"/state{step[1][name][-1]}/" in each.where]
    why = refusals(step, echo)
    if why and not found:
        raise Unsupported(why[0])
    return found


def refusals(step: Setting | None, echo: Echo) -> list[str]:
    """A line if the setting of a step could not be had everywhere."""
    return [line for line in echo.refused if step and line.partition(":")[0] in step[1]]


def changes_of(step: Setting | None, changes: Sequence[Change]) -> list[str]:
    """The same for people: files that went from and to the same value are one line."""
    groups: dict[tuple[str, str], list[str]] = {}
    for each in changes:
        groups.setdefault((each.before, each.after), []).append(each.where)
    lines: list[str] = []
    for (before, after), places in groups.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        how = f"{before} -> {after}" if before != after else f"{after}, as it was"
        lines.append(f"{step[0] if step else ''}: {places[0]}{more}: {how}")
    return lines


def columns_of(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """A table: the first column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]


def figures(ts: Timescale, delays: Distribution) -> tuple[str, ...]:
    """Least, percentiles and most, in microseconds."""
    if not delays.count:
        return ("-",) * (2 + len(PERCENTILES))
    values = (delays.least, *(delays.percentile(each) for each in PERCENTILES), delays.most)
    return tuple(microseconds(ts, value) for value in values)


def microseconds(ts: Timescale, ticks: int) -> str:
    """'12.345 µs'"""
    return f"{fixed(ts.ns(ticks) / 1000, 3)} µs"


# What is reported -------------------------------------------------------------------------------------------------------


def title_of(board: Board, job: Latency, answerer: Answerer | None) -> str:
    """What is measured, in a line or two."""
    plan, ts = job.plan, board.timescale
    stimulus = f"{stimulus_of(plan)}, from its {'end' if plan.offset else f'{edge_of(plan)} edge'}" if plan.on else "bytes that count up"
    until = named(plan.on, board) if plan.on else "the same byte"
    interval = f"every {si(ts.seconds(plan.interval), 's')} ± {si(ts.seconds(plan.jitter), 's')}, seed {plan.seed}"
    line = f"{stimulus} → {until}, {interval}"
    if len(line) > output.columns():
        line = f"{stimulus} → {until},\n{interval}"
    if answerer is None:
        return line
    held = ", ".join(name for name, _ in answerer.settings) or "no real-time settings"
    return f"{line}\n{answerer.echo.port} answers: {answerer.echo.kind}; {held}"


def edge_of(plan: LatencyPlan) -> str:
    """The edge with which a stimulus begins: 'falling' or 'rising'."""
    return "rising" if plan.profile.format.invert else "falling"


def stimulus_of(plan: LatencyPlan) -> str:
    """What leaves, in words: 'low pulse of 480 ticks'."""
    level = "" if plan.launch.kind != "pulse" else "high " if plan.profile.format.invert else "low "
    return f"{level}{plan.launch}"


def plan_of(args: Namespace, board: Board, job: Latency) -> dict[str, Any]:
    """The plan, for JSON."""
    plan = job.plan
    return {
        "stimulus": str(plan.launch) if plan.on else "counting bytes",
        "stimulus_edge": edge_of(plan),
        "stimulus_ticks": plan.launch.length(plan.profile),
        "response": named(plan.on, board) if plan.on else "the same byte",
        "interval_ticks": plan.interval,
        "jitter_ticks": plan.jitter,
        "seed": plan.seed,
        "timeout_ticks": plan.timeout,
        "blank_ticks": plan.blank,
        "holdoff_ticks": plan.holdoff,
        "delay_from": args.reference,
    }


def numbers_of(job: Latency, losses: Losses) -> dict[str, Any]:
    """Counts and figures, for JSON."""
    delays = job.delays
    some = bool(delays.count)
    names = {percent: percent_name(percent).replace(".", "_") for percent in PERCENTILES}
    return {
        "start": job.first,
        "stimuli": job.stimuli,
        **{name: job.counts[name] for name in COUNTS},
        "overtaken": job.overtaken,
        "least_ticks": delays.least if some else None,
        "most_ticks": delays.most if some else None,
        "mean_ticks": exact(delays.mean) if some else None,
        **{f"{name}_ticks": delays.percentile(percent) if some else None for percent, name in names.items()},
        "histogram": delays.rows(),
        "lost": losses.total,
        "lost_at_least": losses.at_least,
    }


def result_of(args: Namespace, board: Board, job: Latency, losses: Losses) -> dict[str, Any]:
    """The JSON object of one measurement."""
    return shared(board, "latency") | shared_line(job.plan.profile) | plan_of(args, board, job) | numbers_of(job, losses)


def text_rows(ts: Timescale, job: Latency) -> list[tuple[str, str]]:
    """Counts and figures, for people."""
    counts, delays = job.counts, job.delays
    rows = [("stimuli", f"{job.stimuli} sent, {counts[ANSWERED]} answered, {counts[MISSING]} missing, {counts[EXTRA]} answered twice")]
    if not delays.count:
        return rows
    for name, value in (
        ("least", delays.least),
        *((percent_name(each), delays.percentile(each)) for each in PERCENTILES),
        ("most", delays.most),
    ):
        rows.append((name, f"{in_ticks(value)} = {microseconds(ts, value)}"))
    return rows


def percent_name(percent: Fraction) -> str:
    """'median', 'p99', 'p99.9'."""
    return "median" if percent == 50 else f"p{float(percent):g}"


def text_of(board: Board, job: Latency, losses: Losses, answerer: Answerer | None) -> list[str]:
    """The report, for people."""
    counts, plan, rows = job.counts, job.plan, text_rows(board.timescale, job)
    rows[0] = (rows[0][0], f"{rows[0][1]}, {records_lost(losses.total, losses.at_least)}")
    few = [percent_name(each) for each in PERCENTILES if job.delays.count and job.delays.count * (100 - each) < 100]
    if few:
        samples = counted(job.delays.count, "sample")
        same = f"{' and '.join(few)} cannot be distinguished from the largest"
        rows.append(("few", f"of {samples}, {same}"))
    notes = {
        STRAY: "responses to no stimulus: too late, or another byte",
        IGNORED: "edges or bytes within the blanking time or the holdoff",
        UNKNOWN: "cannot be judged: records were lost, or the end came before",
        REFUSED: "stimuli did not leave",
    }
    rows += [(name, f"{counts[name]} {text}") for name, text in notes.items() if counts[name]]
    if job.overtaken:
        surely = "came" if plan.on is None else "probably came"
        rows.append(("overtaken", f"{counted(job.overtaken, 'response')} {surely} after the next stimulus: use a longer --interval"))
    if answerer:
        rows.append(("echo", f"{counted(answerer.echo.echoed, 'byte')} answered by {answerer.echo.port}"))
    rows.append(("clock", clock_note(board)))
    return output.aligned(rows)


def picture_of(args: Namespace, board: Board, delays: Distribution) -> list[str]:
    """The histogram in the terminal. What is above p99 is one bar, so that a few large delays do not flatten the rest."""
    if args.style is not None or not delays.count:
        return []
    bins, above = delays.bins(BINS, delays.percentile(99))
    rows = [(fixed(board.timescale.ns(low) / 1000, 3), count) for low, count in bins]
    rows += [("more", above)] if above else []
    return [
        "",
        *termplot.bars(rows, f"{counted(delays.count, 'delay')}{simulated_mark(board)}  [from µs]", output.columns(), output.is_plain()),
    ]


def write_histogram(file: TextIO, ts: Timescale, delays: Distribution) -> None:
    """As `cyclictest --histogram` writes it: a line for each whole microsecond, so that scripts for its plots take it."""
    counts = Distribution()
    for ticks, count in delays.rows():
        counts.add(int(ts.ns(ticks) // 1000), count)
    lines = ["# Histogram", *(f"{value:06d} {count:06d}" for value, count in counts.rows())]
    some = bool(counts.count)
    lines.append(f"# Total: {counts.count:09d}")
    for name, value in (
        ("Min", counts.least if some else 0),
        ("Avg", round(counts.mean) if some else 0),
        ("Max", counts.most if some else 0),
    ):
        lines.append(f"# {name} Latencies: {value:05d}")
    lines.append("# Histogram Overflows: 00000")
    try:
        if os.path.isfile(file.name):
            file.truncate(0)
        file.write("\n".join(lines) + "\n")
        file.flush()
    except OSError as error:
        with contextlib.suppress(OSError):
            file.close()
        raise OutputLost(f"histogram: {file.name} cannot be written: {error.strerror}") from None
