# SPDX-License-Identifier: BSD-2-Clause
"""The command `litepulse`."""

import argparse
import contextlib
import io
import itertools
import math
import re
import signal
import sys
import time
from fractions import Fraction
from pathlib import Path

from litepulse import __version__, cable, output
from litepulse.backends import SIM, connect
from litepulse.errors import BadInput, LitePulseError, OutputClosed, Refused
from litepulse.follow import LAUNCH_PROFILE, CaptureRun, Interrupt, RespondRun, SendRun, TrainPlan, TrainRun, Trigger, check_overlap, tidy
from litepulse.layout import CONFIG, TRAIN_MIN_PERIOD, pack, regs
from litepulse.line import Format, Launch, Profile
from litepulse.measurement import histogram, period_from_words
from litepulse.output import ms, ns
from litepulse.streams import Event
from litepulse.transport import DEFAULT_BAUD
from litepulse.units import Timescale, approx, exact, parse_byte, parse_count, parse_duration, parse_rate, si

UNKNOWN = "reason 0"
MAYBE_LATE = ("late", UNKNOWN)
RESPONDER_LIMIT = (1 << CONFIG["resp_delay"].fields[0].size) - 1
SHORT_STEP = 50_000  # cycles between two commands of ours, so that a stimulus finds us ready
BAD = 2  # exit status of everything the user can mend


class Parser(argparse.ArgumentParser):
    """argparse whose complaints are one line."""

    def error(self, message):
        raise BadInput(f"{message} ('{self.prog} --help' lists what there is)")


# What was asked for ---------------------------------------------------------------------------------------------------


def backend_options(parser, top):
    """The options that choose a device; they may stand before or after the verb."""
    default = {} if top else {"default": argparse.SUPPRESS}
    group = parser.add_argument_group("device")
    group.add_argument("--sim", action="store_true", help="use the simulated SoC (no board needed)", **default)
    group.add_argument("--port", metavar="PORT", help="a board behind LiteX's UARTBone: /dev/ttyUSB1 or tcp:host:port", **default)
    group.add_argument("--port-baud", metavar="N", help=f"speed of the bridge on a serial port (default {DEFAULT_BAUD})", **default)
    group.add_argument(
        "--bridge-baud", metavar="RATE", help="raise the bridge of a board on a serial port to this speed meanwhile, e.g. 1M", **default
    )
    group.add_argument("--vcd", metavar="FILE", help="with --sim: record the pins", **default)
    group.add_argument("--stimulus", metavar="FILE", help="with --sim: lines 'tick channel level' that drive the inputs", **default)
    group.add_argument(
        "--wire",
        metavar="TO",
        action="append",
        help="with --sim: wire tx to rx, to an input 0-3, or to none; repeatable (default rx)",
        **default,
    )


def make_parser():
    """The whole command line."""
    parser = Parser(
        prog="litepulse",
        description="A serial port whose every edge has a known time.",
        epilog="Numbers are exact: 58, 61.7, 617/10, 44.1k; times: 5us, 1.5ms, 1/58 (s), 24000000/29t (ticks).",
    )
    parser.add_argument("--version", action="version", version=f"litepulse {__version__}")
    backend_options(parser, True)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=Parser)

    def verb(name, function, text, styles=()):
        sub = verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        sub.set_defaults(function=function)
        backend_options(sub, False)
        if styles:
            group = sub.add_argument_group("output (default: for people)").add_mutually_exclusive_group()
            for style in styles:
                group.add_argument(
                    f"--{style}",
                    dest="style",
                    action="store_const",
                    const=style,
                    help={
                        "json": "one JSON object at the end",
                        "csv": "CSV rows while it runs",
                        "vnl": "vnlog rows while it runs, for feedgnuplot --vnl",
                    }[style],
                )
            sub.set_defaults(style=None)
        return sub

    def frame_options(sub, default_byte):
        what = sub.add_argument_group("what goes on the line").add_mutually_exclusive_group()
        what.add_argument("--byte", metavar="B", help=f"a frame with this byte (default {default_byte})")
        what.add_argument("--width", metavar="T", help="a raw pulse of this length instead of a frame")
        what.add_argument("--break", dest="break_bits", metavar="N", help="a break of N bit times instead of a frame")

    def line_options(sub):
        group = sub.add_argument_group("line")
        group.add_argument("--baud", default="9600", metavar="RATE", help="bit rate, also a fraction (default 9600)")
        group.add_argument("--format", default="8N1", metavar="F", help="data bits, parity N/O/E/M/S, stop bits 1/1.5/2 (default 8N1)")
        group.add_argument("--invert", action="store_true", help="idle level 0, start bit 1")
        group.add_argument(
            "--loopback", action="store_true", help="the receiver listens to the transmitter inside the core, not to the pin"
        )

    sub = verb("info", cmd_info, "tell what device this is", ("json",))

    sub = verb("train", cmd_train, "start a pulse train, follow it and compare it with the exact ideal", ("json", "csv", "vnl"))
    pace = sub.add_mutually_exclusive_group(required=True)
    pace.add_argument("--rate", metavar="HZ", help="pulses per second, exact: 58, 61.7, 617/10, 44.1k")
    pace.add_argument("--period", metavar="T", help="time from pulse to pulse instead: 17.25ms, 1/58, 24000000/29t")
    sub.add_argument("--count", default="0", metavar="N", help="pulses, 0 = until Ctrl-C (default)")
    sub.add_argument("--start", metavar="T", help="when: +10ms from now, or a time or tick (123456t) since the board's reset")
    sub.add_argument("--keep", action="store_true", help="leave it running and return as soon as it runs")
    frame_options(sub, "0xff")
    line_options(sub)

    verb("stop", cmd_stop, "stop whatever runs: train, timed launches, responder; also what another process runs", ("json",))

    sub = verb("adjust", cmd_adjust, "change period or phase of the running train without a glitch", ("json",))
    pace = sub.add_mutually_exclusive_group()
    pace.add_argument("--rate", metavar="HZ", help="new rate")
    pace.add_argument("--period", metavar="T", help="new period")
    sub.add_argument("--step", metavar="T", help="move the pulses once by this much: 5us, -1t")
    sub.add_argument("--at-pulse", default="0", metavar="N", help="first pulse at its new place, 0 = the earliest possible (default)")

    sub = verb("capture", cmd_capture, "show edges, and bytes, with their ticks", ("json", "csv", "vnl"))
    sub.add_argument("--inputs", default="rx", metavar="LIST", help="channels, e.g. 0,1,rx (default rx)")
    sub.add_argument("--edges", choices=("both", "rise", "fall"), default="both")
    sub.add_argument("--filter", default="0", metavar="N", help="ignore levels shorter than N samples, up to 63 (default 0: off)")
    sub.add_argument("--bytes", action="store_true", help="decode received bytes, too (with --baud, --format)")
    sub.add_argument("--count", default="0", metavar="N", help="stop after so many edges and bytes")
    sub.add_argument("--for", dest="duration", metavar="T", help="stop after this time of the board's clock")
    line_options(sub)

    sub = verb("send", cmd_send, "send a file's bytes as timed launches", ("json", "csv", "vnl"))
    sub.add_argument("file", metavar="FILE", help="bytes to send, - for standard input")
    sub.add_argument("--at", metavar="T", help="first byte: +10ms from now, or a time or tick since the board's reset (default: soon)")
    sub.add_argument("--every", metavar="T", help="a byte every so often (default: back to back)")
    line_options(sub)

    sub = verb("respond", cmd_respond, "answer triggers in hardware, a fixed time later", ("json", "csv", "vnl"))
    sub.add_argument("--on", metavar="TRIGGER", help="edge:CHANNEL[:rise|fall|both], byte:VALUE[/MASK] or break")
    sub.add_argument("--off", action="store_true", help="disarm the responder and return")
    sub.add_argument("--delay", default=None, metavar="T", help="from the edge, or from the end of the received frame")
    sub.add_argument("--once", action="store_true", help="answer only the first trigger")
    sub.add_argument("--holdoff", default="0t", metavar="T", help="ignore triggers so long after an answer")
    sub.add_argument("--exclusive", action="store_true", help="no other bytes start while armed")
    sub.add_argument("--own", action="store_true", help="our own transmission may trigger, too")
    sub.add_argument(
        "--echo", metavar="T", help="our own transmission echoes until so long after its end (default: 16 cycles of the clock)"
    )
    sub.add_argument("--count", default="0", metavar="N", help="stop after so many answers and misses")
    sub.add_argument("--for", dest="duration", metavar="T", help="stop after this time of the board's clock")
    sub.add_argument("--keep", action="store_true", help="leave it armed and return")
    frame_options(sub, "0xff")
    line_options(sub)

    cable.add_verbs(verbs)

    sub = verbs.add_parser("plot", help="plot a recorded result", description="Plot a file written by --json, --csv or --vnl.")
    sub.set_defaults(function=cmd_plot)
    sub.add_argument("file", metavar="FILE")
    sub.add_argument("-o", "--output", metavar="IMAGE", help="write .png, .svg or .pdf instead of plotting in the terminal")
    return parser


def main(argv=None):
    """The command; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError):
                stream.reconfigure(errors="replace")
    try:
        args = make_parser().parse_args(join_negatives(sys.argv[1:] if argv is None else argv))
        return args.function(args) or 0
    except SystemExit:  # --help, --version
        with contextlib.suppress(OutputClosed):
            output.write("", end="")
        raise
    except OutputClosed:
        return 0
    except LitePulseError as error:
        output.note(f"litepulse: {error}")
        return BAD
    except KeyboardInterrupt:
        return 130


def join_negatives(argv):
    """'--step -5us' as '--step=-5us': argparse would take the value for an option."""
    joined = []
    for argument in argv:
        if re.match(r"-[0-9.]", argument) and joined and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def line_profile(args, timescale):
    """The profile of --baud, --format, --invert, as this device can do it."""
    return Profile(timescale.bit_period(parse_rate(args.baud, "baud")), Format.parse(args.format, args.invert))


def check_line(args):
    """What can be said about the line options without a device."""
    parse_rate(args.baud, "baud")
    Format.parse(args.format, args.invert)


def asked_launch(args, timescale=None):
    """The Launch of --byte, --width, --break. Without a timescale only what needs none is checked."""
    if args.width is not None:
        width = parse_duration(args.width, "width")
        return Launch("pulse", 0, LAUNCH_PROFILE, timescale.whole_ticks(width, "width", 1) if timescale else 1)
    if args.break_bits is not None:
        return Launch("break", parse_count(args.break_bits, "break", 1, 255), LAUNCH_PROFILE)
    value = parse_byte(args.byte if args.byte is not None else "0xff")
    bits = Format.parse(args.format).data_bits
    if value >> bits:
        raise BadInput(f"byte: 0x{value:02x} does not fit {bits} data bits")
    return Launch("frame", value, LAUNCH_PROFILE)


def asked_period(args, timescale=None):
    """Exact period in ticks of --rate or --period and the option's name; None without a timescale."""
    if args.rate is not None:
        rate = parse_rate(args.rate)
        return (timescale.period_of_rate(rate) if timescale else None), "rate"
    duration = parse_duration(args.period, "period")
    if not duration.positive:
        raise BadInput(f"period: {args.period} is not more than 0")
    return (timescale.ticks(duration) if timescale else None), "period"


def asked_tick(duration, device, what):
    """The tick of '+10ms' (from now) or of an absolute time."""
    tick = math.floor(device.timescale.ticks(duration))
    if duration.relative:
        tick += device.events_now()
    if not 0 <= tick < 1 << 63:
        raise BadInput(f"{what}: tick {tick} is out of range")
    return tick


@contextlib.contextmanager
def connection(args, own=True, lockstep=SHORT_STEP):
    """The device that was asked for, closed again in the end."""
    for name in ("vcd", "stimulus", "wire"):
        if getattr(args, name) and not args.sim:
            raise BadInput(f"--{name} works with --sim only")
    wires = args.wire or ["rx"]
    for wire in wires:
        if wire not in ("rx", "none", "0", "1", "2", "3"):
            raise BadInput(f"wire: '{wire}' is not rx, 0, 1, 2, 3 or none")
    options = {"vcd": args.vcd, "stimulus": args.stimulus, "lockstep": lockstep, "wires": [w for w in wires if w != "none"]}
    baud = parse_count(args.port_baud, "port-baud", 50, 12_000_000) if args.port_baud else DEFAULT_BAUD
    raised = None
    if args.bridge_baud is not None:
        rate = parse_rate(args.bridge_baud, "bridge-baud")
        raised = parse_count(str(rate), "bridge-baud", DEFAULT_BAUD, 12_000_000)
    connected = connect(args.sim, args.port, baud, own, options, raised)
    # In short steps simulated time passes only while we poll, so a job that needs them must not sleep.
    connected.device.pause = not args.sim or lockstep > SHORT_STEP
    try:
        yield connected.device
    finally:
        connected.close()


def shared(device, command):
    """What every result begins with."""
    return {
        "command": command,
        "backend": device.backend,
        "simulated": device.simulated,
        "device": device.name,
        "clock_hz": exact(device.clock_hz),
        "samples_per_cycle": device.samples_per_cycle,
        "tick_hz": exact(device.timescale.tick_hz),
    }


def shared_line(profile):
    """What results say about the line."""
    return {"baud": exact(profile.bit_period.baud), "bit_period_ticks": exact(profile.bit_period.ticks), "format": str(profile.format)}


def headline(device):
    """The first line for people."""
    clock = si(device.clock_hz, "Hz", 6)
    if device.simulated:
        where = "" if device.backend == SIM else f"{device.name}: "
        return f"{where}SIMULATED SoC at {clock}, 1 tick = {si(1 / device.timescale.tick_hz, 's')}"
    return f"{device.name}: LitePulse at {clock}, 1 tick = {si(1 / device.timescale.tick_hz, 's')}"


def clock_note(device):
    """How true the clock is."""
    return output.SIM_NOTE if device.simulated else output.CLOCK_NOTE


def ended(interrupt, endless):
    """Exit status: Ctrl-C is the ordinary end of what would go on for ever."""
    if interrupt.signal is None or (endless and interrupt.signal == signal.SIGINT):
        return 0
    return 128 + interrupt.signal


# Verbs ---------------------------------------------------------------------------------------------------------------------


def cmd_info(args):
    """litepulse info"""
    with connection(args, own=False) as device:
        status = device.read_status()
        result = shared(device, "info") | {
            "version": f"{device.version[0]}.{device.version[1]}",
            "inputs": device.inputs,
            "event_depth": device.event_depth,
            "receive_depth": device.receive_depth,
            "transmit_depth": device.transmit_depth,
            "launch_depth": device.launch_depth,
            "session": f"0x{device.session:04x}",
            "tick": device.events_now(),
            "train_running": bool(status.train_running),
            "responder_armed": bool(status.responder_armed),
            "queue_idle": bool(status.queue_idle),
            "line_busy": bool(status.line_busy),
        }
        if args.style == "json":
            output.write_json(result)
            return
        ts = device.timescale
        inputs = ", ".join(str(i) for i in range(device.inputs))
        rows = [
            ("core", f"version {result['version']}, {device.samples_per_cycle} sample{'s'[: device.samples_per_cycle > 1]} per cycle"),
            ("clock", f"{si(device.clock_hz, 'Hz', 6)} ({exact(device.clock_hz)} Hz)"),
            ("tick", f"{si(1 / ts.tick_hz, 's')} ({exact(ts.tick_hz)} Hz)"),
            ("channels", f"{inputs} and rx"),
            (
                "room",
                f"{device.event_depth} events, {device.receive_depth} received bytes, {device.transmit_depth} bytes to send, "
                f"{device.launch_depth} timed launches",
            ),
            ("session", result["session"]),
            ("running", f"{si(ts.seconds(result['tick']), 's', 6)} since reset (tick {result['tick']})"),
            (
                "now",
                ", ".join(
                    w
                    for w, on in (
                        ("a train runs", status.train_running),
                        ("responder armed", status.responder_armed),
                        ("timed launches wait", not status.queue_idle),
                        ("line busy", status.line_busy),
                    )
                    if on
                )
                or "idle",
            ),
            ("note", clock_note(device)),
        ]
        output.write("\n".join([headline(device), *output.aligned(rows)]))


def lost_at_least(device):
    """Is the number of lost records a lower bound, because a count of the board has stopped?"""
    return device.events.lost_at_least or device.received.lost_at_least


def records_lost(device, number):
    """'3 records lost', for people."""
    return f"{'at least ' if lost_at_least(device) else ''}{number} records lost"


def train_result(device, run, interrupt=None):
    """The JSON object of a train."""
    record, plan = run.record, run.plan
    numbers = sorted(record.launched)
    result = shared(device, "train") | {
        "rate_hz": exact(device.timescale.tick_hz / plan.period.ticks),
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
        "lost_at_least": lost_at_least(device),
        "events_lost": record.events_lost,
        "bytes_lost": record.bytes_lost,
        "changes": [
            {"pulse": n, "period_ticks": exact(p.ticks), "step_ticks": s, "tick_exact": exact(record.ideal.exact(n))}
            for n, p, s in run.changes
        ],
        "ended": how_it_ended(run, interrupt),
    }
    return result


def how_it_ended(run, interrupt):
    """'count', 'interrupt', 'stop' (by another process) or 'running'."""
    if run.plan.count and run.record.done == run.plan.count:
        return "count"
    return "interrupt" if interrupt else "stop" if run.stopped else "running"


def train_text(device, run, result):
    """Statistics of a train, for people."""
    record, plan, ts = run.record, run.plan, device.timescale
    count = len(record.launched)
    tick = si(1 / ts.tick_hz, "s")
    lost = records_lost(device, record.lost)
    rows = [("pulses", f"{count} launched, {len(record.received)} received, {len(record.refused)} refused, {lost}")]
    rows.append(
        (
            "period",
            f"{exact(plan.period.ticks)} ticks = {ms(ts, plan.period.ticks)} ms"
            + (f", seen {record.min_interval} to {record.max_interval} ticks" if record.min_interval is not None else ""),
        )
    )
    if record.max_error is not None:
        worst = (
            "0 ticks: every edge is where it belongs"
            if record.max_error == 0
            else f"up to {record.max_error} ticks = {si(ts.seconds(record.max_error), 's')}"
        )
        rows.append(("error", f"{worst} (start + floor(n · {exact(plan.period.ticks)}), 1 tick = {tick})"))
    delays = result["delays"]
    if delays:
        seen = ", ".join(f"{v}× {k}" for k, v in delays.items()) if len(delays) > 1 else f"{next(iter(delays))} for each"
        rows.append(("loopback", f"received − launched in ticks: {seen} (a wire gives {regs.LOOPBACK_TICKS})"))
    elif count:
        rows.append(("loopback", "nothing received: wire tx to rx, or use --loopback, to see the edges come back"))
    if record.bad_frames:
        rows.append(("bad", f"{record.bad_frames} received frames differ from what was sent"))
    if record.refused:
        n, (_, reason) = next(iter(sorted(record.refused.items())))
        rows.append(("refused", f"pulse {n} first: {reason}"))
    for n, period, step in run.changes:
        rows.append(("changed", f"at pulse {n}: period {exact(period.ticks)} ticks, step {step} ticks"))
    baud = plan.profile.bit_period.baud
    if plan.launch.kind != "pulse":
        rows.append(("baud", f"{approx(baud, 6)} ({exact(plan.profile.bit_period.ticks)} ticks a bit)"))
    rows.append(("clock", clock_note(device)))
    return output.aligned(rows)


def train_title(device, plan):
    """What a train is, in a line."""
    rate = approx(device.timescale.tick_hz / plan.period.ticks, 6)
    line = f" at {approx(plan.profile.bit_period.baud, 3)} baud {plan.profile.format}" if plan.launch.kind != "pulse" else ""
    return f"{rate} Hz, {plan.launch}{line}"


def make_plan(args, ts, start=None):
    """The TrainPlan, all checked against a device's clock."""
    ticks, what = asked_period(args, ts)
    launch, profile, count = asked_launch(args, ts), line_profile(args, ts), parse_count(args.count)
    return TrainPlan.check(ts, TRAIN_MIN_PERIOD, launch, profile, ticks, count, start, args.loopback, what)


def asked_start(args, device):
    """The tick of --start, or None for as soon as possible."""
    if not args.start:
        return None
    start = asked_tick(parse_duration(args.start, "start"), device, "start")
    if start <= (now := device.events_now()):
        raise BadInput(f"start: tick {start} has passed, the board is at {now}")
    return start


def train_lockstep(args):
    """How far the simulator may run ahead between two looks at it, so that its event FIFO never fills. Its clock is known, so
    what does not fit is told before anything is built or started."""
    if not args.sim:
        return SHORT_STEP
    try:
        from litex_soc.sim_soc import PULSE_HZ
    except ImportError:
        return SHORT_STEP  # whoever starts the simulator says what is missing
    plan = make_plan(args, Timescale(PULSE_HZ))
    return min(max(16 * plan.period.whole, 2_000), 10_000_000)


def cmd_train(args):
    """litepulse train"""
    asked_period(args)
    asked_launch(args)
    check_line(args)
    parse_count(args.count)
    if args.start:
        parse_duration(args.start, "start")
    if args.keep and args.sim:
        raise BadInput("--keep needs a device that outlives this command; the simulated SoC of --sim ends with it")
    if args.keep and args.style in ("csv", "vnl"):
        raise BadInput(f"--{args.style} follows a train, --keep leaves it: choose one")
    with connection(args, lockstep=train_lockstep(args)) as device, Interrupt() as interrupt:
        plan = make_plan(args, device.timescale, asked_start(args, device))
        run = TrainRun(device, plan)
        if args.keep:
            return keep_train(args, device, run)
        return follow_train(args, device, run, interrupt)


def keep_train(args, device, run):
    """Starts a train and leaves it running."""
    run.prepare()
    rows = run.start()
    while not rows and not run.ended:
        time.sleep(0.01)
        rows = run.poll()
    run.detach()
    result = train_result(device, run)
    if args.style == "json":
        output.write_json(result)
    else:
        output.write(
            f"{headline(device)}\nrunning: {train_title(device, run.plan)}, pulse 0 at tick {run.record.ideal.start}; "
            f"'litepulse --port {device.name} stop' ends it"
        )


def follow_train(args, device, run, interrupt):
    """Runs a train to its end, shows it, and leaves the line idle whatever happens."""
    ts, plan, people = device.timescale, run.plan, args.style is None
    rows_out, problem = None, None
    if args.style == "vnl":
        rows_out = output.Rows("vnl", ("t_ns", "dt_ms"), device.backend)
    elif args.style == "csv":
        rows_out = output.Rows("csv", ("pulse", "tick", "t_ns", "dt_ms", "error_ticks"), device.backend)
    title = train_title(device, plan)
    if people:
        output.write(f"{headline(device)}\n{title}")

    def show(rows):
        if rows_out is None:
            return
        for row in rows:
            dt = ms(ts, row.interval) if row.interval is not None else None
            if args.style == "vnl":
                rows_out.row(ns(ts, row.tick), dt)
            else:
                rows_out.row(row.n, row.tick, ns(ts, row.tick), dt, row.error)

    started = False
    try:
        run.prepare()
        started = True
        with output.Live(f"{title}{', SIMULATED' if device.simulated else ''}", plan.count or None, args.style) as live:
            for rows in itertools.chain([run.start()], run.follow(interrupt)):
                show(rows)
                live.update(len(run.record.launched) + len(run.record.refused), live_rows(ts, run, rows))
            show(run.stop())
    except LitePulseError as error:
        if not run.record.launched:  # nothing happened: only say why
            if started:
                tidy(device)
            raise
        problem = error
    except (OutputClosed, KeyboardInterrupt):
        if started:
            tidy(device)
        raise
    tidy(device)
    result = train_result(device, run, interrupt)
    if problem:
        result["error"] = str(problem)
    if args.style == "json":
        output.write_json(result)
    else:
        lines = train_text(device, run, result)
        if people:
            output.write("\n".join(lines + train_plot(result)))
        else:
            output.note("\n".join([f"{headline(device)}, {title}", *lines]))
    if problem:
        raise problem
    return ended(interrupt, plan.count == 0)


def train_plot(result):
    """The terminal plot of a train."""
    from litepulse import plot

    return ["", *plot.text(plot.from_result(result), output.columns())] if result["launched"] else []


def live_rows(ts, run, rows):
    """The live table of a train."""
    record = run.record
    last = rows[-1] if rows else None
    if last is None and not record.launched:
        return [("pulses", "waiting for the first")]
    n = max(record.launched) if record.launched else 0
    table = [
        ("pulses", f"{len(record.launched)} launched, {len(record.received)} received, {len(record.refused)} refused, {record.lost} lost"),
        ("last", f"pulse {n} at tick {record.launched.get(n)}"),
    ]
    if record.min_interval is not None:
        table.append(("interval", f"{record.min_interval} to {record.max_interval} ticks, exact {exact(run.plan.period.ticks)}"))
    table.append(("max error", f"{record.max_error} ticks"))
    return table


def running_train(device):
    """(period, count, Launch or None, Profile or None) of the train as the device's own words tell it."""
    words = device.config_words("train_count", "train_den")
    launch = Launch.from_words(words["train_launch"], words["train_width"])
    return period_from_words(words), words["train_count"], launch, device.profile(launch.profile) if launch else None


def settle(device, done, seconds=5):
    """Waits until done(Status); False if that does not happen."""
    end = time.monotonic() + seconds
    while not done(device.read_status()):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def last_change(device, position):
    """The newest event about the train that came after stream position `position`, if its reader has left it there."""
    header, events = device.events.peek()
    fresh = events[max(0, len(events) - ((header.position + header.ready - position) & 0xFFFF)) :]
    return next((e for e in reversed(fresh) if getattr(e, "source", None) == "train_change"), None)


def event_end(device):
    """The stream position after the newest event."""
    header, _ = device.events.peek()
    return (header.position + header.ready) & 0xFFFF


def cmd_stop(args):
    """litepulse stop"""
    if args.sim:
        raise BadInput("--sim starts a simulated SoC of its own, nothing runs on it: stop works with --port")
    with connection(args, own=False) as device:
        before = device.read_status()
        position = event_end(device)
        device.quiet()
        if not settle(device, lambda s: not s.train_running and not s.line_busy and s.queue_idle and not s.responder_armed):
            raise LitePulseError(f"{device.name}: it does not come to rest")
        device.pledge(watched=False)
        event = last_change(device, position)
        stopped = [
            name
            for name, was in (("train", before.train_running), ("responder", before.responder_armed), ("launches", not before.queue_idle))
            if was
        ]
        pulses = event.data if event is not None and event.stop and before.train_running else None
        result = shared(device, "stop") | {"stopped": stopped, "pulses": pulses}
        if args.style == "json":
            output.write_json(result)
        else:
            said = f"stopped: {', '.join(stopped)}" if stopped else "nothing was running"
            output.write(f"{headline(device)}\n{said}{f' after {pulses} pulses' if pulses is not None else ''}; the line is idle")


def await_change(device, position, ticks):
    """(Event, still pending): what became of a change that should come within `ticks`. Who follows the train may take the record before
    we see it, so the end of two periods in which nothing was pending counts, too. A simulated board may need long for these."""
    limit = device.events_now() + min(2 * math.ceil(ticks) + 1000 * device.samples_per_cycle, math.ceil(5 * device.timescale.tick_hz))
    end, seen = time.monotonic() + 5, False
    while True:
        over = device.events_now() > limit
        pending = device.read_status().train_change_pending
        event = last_change(device, position)
        if event is not None or (not pending and (seen or over)):
            return event, False
        if over and time.monotonic() > end:
            return None, True
        seen = seen or bool(pending)
        time.sleep(0.005)


def change_train(device, old, period, at_pulse, step):
    """Asks for a change once; (Event, still pending) as await_change."""
    position = event_end(device)
    try:
        device.adjust_train(period, at_pulse, step)
    except Refused:
        event = last_change(device, position)
        if event is None or event.kind != "refused":  # whoever follows the train has taken the record
            return Event(0, 0, "refused", "train_change", 0, at_pulse), False
        return event, False
    return await_change(device, position, max(old.ticks, period.ticks) + abs(step))


@contextlib.contextmanager
def train_events(device):
    """The train's pulses are recorded meanwhile, also where nobody follows it."""
    mask = device.config_words("event_mask", "event_mask")["event_mask"]
    bit = pack(CONFIG["event_mask"], tx_train=1)
    if not mask & bit:
        device.configure(("event_mask", mask | bit))
    try:
        yield
    finally:
        if not mask & bit:
            device.configure(("event_mask", mask))


def coming_pulse(device, period, lead):
    """Number of a pulse that is still ahead when a command sent now arrives, with `lead` pulses to spare."""
    position, end = event_end(device), time.monotonic() + 5
    while time.monotonic() < end:
        header, events = device.events.peek()
        fresh = events[max(0, len(events) - ((header.position + header.ready - position) & 0xFFFF)) :]
        pulses = [e for e in fresh if getattr(e, "source", None) == "train" and e.kind == "tx"]
        if pulses:
            late = device.events_now() - pulses[-1].tick
            return pulses[-1].data + lead + math.ceil(2 * late / period.ticks)
        time.sleep(0.002)
    raise LitePulseError(f"{device.name}: no pulse of the train is seen, so none can be named: give --at-pulse")


def cmd_adjust(args):
    """litepulse adjust"""
    if args.rate is None and args.period is None and args.step is None:
        raise BadInput("nothing to adjust: give --rate, --period or --step")
    if args.sim:
        raise BadInput("--sim starts a simulated SoC of its own, no train runs on it: adjust works with --port")
    asked = args.rate is not None or args.period is not None
    if asked:
        asked_period(args)
    step = parse_duration(args.step, "step", signed=True) if args.step is not None else None
    at_pulse = parse_count(args.at_pulse, "at-pulse")
    with connection(args, own=False) as device:
        ts = device.timescale
        if not device.read_status().train_running:
            raise BadInput("no train is running")
        old, _, launch, profile = running_train(device)
        period = old
        if asked:
            ticks, what = asked_period(args, ts)
            period = ts.period(ticks, TRAIN_MIN_PERIOD, what)
            if launch and profile:
                check_overlap(launch, profile, period, ts, what)
        step_ticks = ts.whole_ticks(step, "step", -(1 << 31), (1 << 31) - 1) if step else 0
        if step and Fraction(step_ticks) != ts.ticks(step):
            output.note(f"litepulse: step rounded to {step_ticks} ticks = {si(ts.seconds(step_ticks), 's')}")
        old_words = device.config_words("train_period", "train_step")
        event, pending = change_train(device, old, period, at_pulse, step_ticks)
        if at_pulse == 0 and event is not None and event.reason in MAYBE_LATE:
            # The next pulse's new place has passed already: name one that is far enough ahead.
            with train_events(device):
                for lead in (2, 8, 64):
                    event, pending = change_train(device, old, period, coming_pulse(device, old, lead), step_ticks)
                    if event is None or event.reason not in MAYBE_LATE:
                        break
        if event is not None and event.kind == "refused":
            # What is read back must stay what the train does.
            device.configure(*((name, word) for name, word in old_words.items()))
            why = {
                "late": "that pulse is too close or has passed",
                "busy": "another change is pending",
                "invalid": "period, pulse number or step are not usable, or the train ends before",
                UNKNOWN: "the reason went to whoever follows the train",
            }
            raise Refused(f"the core refused the change: {why.get(event.reason or UNKNOWN, event.reason)}")
        if pending:
            output.note("litepulse: accepted; the pulse it waits for has not come yet")
        applied = event.data if event is not None else None
        result = shared(device, "adjust") | {
            "rate_hz": exact(ts.tick_hz / period.ticks),
            "period_ticks": exact(period.ticks),
            "step_ticks": step_ticks,
            "at_pulse": applied,
        }
        if args.style == "json":
            output.write_json(result)
        else:
            output.write(
                f"{headline(device)}\nadjusted{f' from pulse {applied} on' if applied is not None else ''}: "
                f"{approx(ts.tick_hz / period.ticks, 6)} Hz, period {exact(period.ticks)} ticks, step {step_ticks} ticks"
            )


def asked_channels(text, inputs):
    """Channel numbers of '0,1,rx'."""
    channels = []
    for part in text.split(","):
        part = part.strip()
        if part == "rx":
            channels.append(inputs)
        elif part.isdigit() and int(part) < inputs:
            channels.append(int(part))
        else:
            raise BadInput(f"inputs: '{part}' is not a channel of this device (0 to {inputs - 1}, rx)")
    return sorted(set(channels))


def deadline(args, device):
    """The tick at which --for ends, or None."""
    if args.duration is None:
        return None
    return device.events_now() + math.floor(device.timescale.ticks(parse_duration(args.duration, "for")))


def cmd_capture(args):
    """litepulse capture"""
    check_line(args)
    count, filtered = parse_count(args.count), parse_count(args.filter, "filter", 0, 63)
    if args.duration is not None:
        parse_duration(args.duration, "for")
    if args.sim and not args.stimulus and count == 0 and args.duration is None:
        raise BadInput("nothing drives the simulated inputs: give --stimulus FILE (lines 'tick channel level'), or --count or --for")
    with connection(args) as device, Interrupt() as interrupt:
        ts = device.timescale
        run = CaptureRun(
            device,
            asked_channels(args.inputs, device.inputs),
            args.edges != "fall",
            args.edges != "rise",
            filtered,
            line_profile(args, ts) if args.bytes else None,
            args.loopback,
        )
        edges_seen, bytes_seen, problem = [], [], None
        rows_out = None
        if args.style in ("csv", "vnl"):
            rows_out = output.Rows(args.style, ("t_ns", "dt_ms", "tick", "channel", "value"), device.backend)
        elif args.style is None:
            output.write(f"{headline(device)}\n{'t [ms]':>18}  {'dt [ms]':>16}  {'tick':>14}  what")
        last = None
        try:
            run.prepare()
            end = deadline(args, device)
            for found in run.follow(interrupt):
                for tick, what, value in found:
                    dt = ms(ts, tick - last) if last is not None else None
                    if what == "lost":
                        text = f"LOST {value}"
                    elif what == "byte":
                        bytes_seen.append(value)
                        text = f"byte 0x{value.data:02x}{byte_flags(value)}"
                    else:
                        edges_seen.append({"tick": tick, "channel": what, "level": value})
                        text = f"{what} {'↑' if value else '↓'}"
                    if args.style is None:
                        output.write(f"{ms(ts, tick):>18}  {dt or '-':>16}  {tick:>14}  {text}")
                    elif rows_out:
                        shown = value.count if what == "lost" else f"0x{value.data:02x}" if what == "byte" else value
                        rows_out.row(ns(ts, tick), dt, tick, what, shown)
                    last = tick
                    if count and run.edge_count + run.byte_count >= count and len(edges_seen) + len(bytes_seen) >= count:
                        break
                if (count and len(edges_seen) + len(bytes_seen) >= count) or (end is not None and run.poller.tick >= end):
                    break
        except LitePulseError as error:
            if not edges_seen and not bytes_seen:
                raise
            problem = error
        except OutputClosed:
            tidy_capture(device)
            raise
        tidy_capture(device)
        result = shared(device, "capture") | {
            "edges": edges_seen,
            "lost": run.lost,
            "lost_at_least": lost_at_least(device),
            "bytes": [{"tick": b.tick, "data": b.data, "flags": byte_flags(b).split()} for b in bytes_seen],
        }
        if args.style == "json":
            output.write_json(result)
        else:
            where, lost = "SIMULATED: " if device.simulated else "", records_lost(device, run.lost)
            (output.write if args.style is None else output.note)(f"{where}{len(edges_seen)} edges, {len(bytes_seen)} bytes, {lost}")
        if problem:
            raise problem
        return ended(interrupt, not count)


def tidy_capture(device):
    """Ends a capture; what else runs on the board goes on."""
    with contextlib.suppress(LitePulseError):
        device.configure(("capture_edges", 0))
        device.set_event_mask("control", "train_done", "missed")


def byte_flags(byte):
    """' parity framing break own noise', as they apply."""
    names = (
        ("parity", byte.parity_error),
        ("framing", byte.framing_error),
        ("break", byte.is_break),
        ("own", byte.own),
        ("noise", byte.noise),
    )
    return "".join(f" {name}" for name, on in names if on)


def cmd_send(args):
    """litepulse send"""
    check_line(args)
    at = parse_duration(args.at, "at") if args.at is not None else None
    every = parse_duration(args.every, "every") if args.every is not None else None
    if every is not None and not every.positive:
        raise BadInput(f"every: {args.every} is not more than 0")
    try:
        data = sys.stdin.buffer.read() if args.file == "-" else Path(args.file).read_bytes()
    except OSError as error:
        raise BadInput(f"{args.file}: cannot read it ({error.strerror})") from None
    if not data:
        raise BadInput(f"{args.file}: it is empty, nothing to send")
    with connection(args) as device, Interrupt() as interrupt:
        ts, profile = device.timescale, line_profile(args, device.timescale)
        if profile.format.data_bits < 8 and max(data) >> profile.format.data_bits:
            raise BadInput(f"{args.file}: holds bytes that do not fit {profile.format.data_bits} data bits")
        length = Launch("frame", 0, LAUNCH_PROFILE).length(profile)
        gap = ts.ticks(every) if every is not None else Fraction(length)
        if math.floor(gap) < length:
            raise BadInput(f"every: the bytes would overlap: one takes {length} ticks, the distance is only {math.floor(gap)}")
        run = SendRun(device, profile, [], args.loopback)
        run.prepare()
        if at is None:
            start = run.soon(len(data))
        else:
            start = math.floor(ts.ticks(at)) + (run.now() if at.relative else 0)
        if not 0 <= start < 1 << 63:
            raise BadInput(f"at: tick {start} is out of range")
        if start <= run.now():
            raise BadInput(f"at: tick {start} has passed, the board is at {run.now()}")
        wanted = [start + math.floor(k * gap) for k in range(len(data))]
        run.pending = [(tick, Launch("frame", byte, LAUNCH_PROFILE)) for tick, byte in zip(wanted, data)]
        run.total = len(wanted)
        rows_out, problem = None, None
        if args.style in ("csv", "vnl"):
            rows_out = output.Rows(args.style, ("n", "tick", "t_ns", "error_ticks", "outcome"), device.backend)
        elif args.style is None:
            output.write(
                f"{headline(device)}\n{len(data)} bytes from tick {start} on, at {approx(profile.bit_period.baud, 3)} baud {profile.format}"
            )
        try:
            with output.Live(f"sending{', SIMULATED' if device.simulated else ''}", len(data), args.style) as live:
                run.feed()
                for found in run.follow(interrupt):
                    for number, event in found:
                        if rows_out:
                            rows_out.row(
                                number,
                                event.tick,
                                ns(ts, event.tick),
                                event.tick - wanted[number] if event.kind == "tx" else None,
                                event.reason or "launched",
                            )
                    live.update(len(run.launched) + len(run.refused))
        except LitePulseError as error:
            if not run.launched:
                tidy(device)
                raise
            problem = error
        except OutputClosed:
            tidy(device)
            raise
        tidy(device)
        worst = max((abs(tick - wanted[n]) for n, tick in run.launched.items()), default=None)
        result = (
            shared(device, "send")
            | shared_line(profile)
            | {
                "launched": [{"n": n, "tick": tick, "wanted": wanted[n], "byte": data[n]} for n, tick in sorted(run.launched.items())],
                "refused": [{"n": n, "tick": tick, "reason": reason} for n, (tick, reason) in sorted(run.refused.items())],
                "received": [{"tick": b.tick, "byte": b.data} for b in run.received],
                "max_error_ticks": worst,
                "lost": run.lost,
                "lost_at_least": lost_at_least(device),
                "ended": "interrupt" if interrupt else "all sent",
            }
        )
        if args.style == "json":
            output.write_json(result)
        else:
            said = [
                (
                    "launched",
                    f"{len(run.launched)} of {len(data)}, {len(run.refused)} refused, {len(run.received)} received, "
                    f"{records_lost(device, run.lost)}",
                )
            ]
            if worst is not None:
                said.append(("error", f"{worst} ticks at most between asked and launched"))
            for n, (_, reason) in itertools.islice(sorted(run.refused.items()), 3):
                said.append(("refused", f"byte {n}: {reason}"))
            said.append(("clock", clock_note(device)))
            (output.write if args.style is None else output.note)("\n".join(output.aligned(said)))
        if problem:
            raise problem
        if interrupt:
            return ended(interrupt, False)
        return 1 if run.refused else 0


def asked_trigger(text, inputs=None):
    """The Trigger of edge:0:rise, byte:0x55/0xff, break; channel numbers are checked when `inputs` is known."""
    kind, *rest = text.split(":")
    if kind == "break" and not rest:
        return Trigger("break")
    if kind == "byte" and len(rest) == 1:
        value, _, mask = rest[0].partition("/")
        return Trigger("byte", value=parse_byte(value, "on"), mask=parse_byte(mask, "on") if mask else 0xFF)
    if kind == "edge" and 1 <= len(rest) <= 2:
        way = rest[1] if len(rest) == 2 else "fall" if rest[0] == "rx" else "rise"
        if way in ("rise", "fall", "both") and (rest[0] == "rx" or rest[0].isdigit()):
            channel = 0 if inputs is None else asked_channels(rest[0], inputs)[0]
            return Trigger("edge", channel, way != "fall", way != "rise")
    raise BadInput(f"on: '{text}' is not like edge:0:rise, edge:rx:fall, byte:0x55, byte:0x50/0xf0 or break")


def cmd_respond(args):
    """litepulse respond"""
    if args.off:
        with connection(args, own=False) as device:
            device.disarm_responder()
            if args.style == "json":
                output.write_json(shared(device, "respond") | {"armed": False})
            else:
                output.write(f"{headline(device)}\nthe responder is disarmed")
            return 0
    if args.on is None or args.delay is None:
        raise BadInput("give --on TRIGGER and --delay T, or --off")
    asked_trigger(args.on)
    asked_launch(args)
    check_line(args)
    delay, holdoff, count = parse_duration(args.delay, "delay"), parse_duration(args.holdoff, "holdoff"), parse_count(args.count)
    if args.duration is not None:
        parse_duration(args.duration, "for")
    echo = None if args.echo is None else parse_duration(args.echo, "echo")
    if echo and args.own:
        raise BadInput("--echo says which triggers are our own, which --own does not ignore: give one of them")
    if args.keep and args.sim:
        raise BadInput("--keep needs a device that outlives this command; the simulated SoC of --sim ends with it")
    if args.sim and not args.stimulus and count == 0 and args.duration is None:
        raise BadInput("nothing triggers on the simulated SoC: give --stimulus FILE (lines 'tick channel level'), or --count or --for")
    with connection(args) as device, Interrupt() as interrupt:
        ts = device.timescale
        run = RespondRun(
            device,
            asked_trigger(args.on, device.inputs),
            asked_launch(args, ts),
            line_profile(args, ts),
            ts.whole_ticks(delay, "delay", 0, RESPONDER_LIMIT),
            ts.whole_ticks(holdoff, "holdoff", 0, RESPONDER_LIMIT),
            not args.once,
            args.exclusive,
            not args.own,
            args.loopback,
            None if echo is None else ts.whole_ticks(echo, "echo", 0, device.echo_limit),
        )
        what = device.channel_name(run.trigger.channel) if run.trigger.kind == "edge" else ""
        trigger = str(run.trigger).replace(f"on {run.trigger.channel}", f"on {what}") if what else str(run.trigger)
        numbers = {"delay_ticks": run.delay, "echo_ticks": run.echo}
        run.prepare()
        run.arm()
        if args.keep:
            tidy_capture(device)
            device.pledge(keep=True)
            if args.style == "json":
                output.write_json(shared(device, "respond") | {"armed": True, "trigger": trigger, **numbers})
            else:
                output.write(f"{headline(device)}\narmed: {trigger} → {run.launch} after {run.delay} ticks; 'litepulse stop' disarms")
            return 0
        return follow_responder(args, device, run, interrupt, trigger, count)


def follow_responder(args, device, run, interrupt, trigger, count):
    """Shows what the responder does until it ends, then disarms it."""
    ts, problem = device.timescale, None
    rows_out = None
    if args.style in ("csv", "vnl"):
        rows_out = output.Rows(args.style, ("n", "tick", "t_ns", "delay_ns", "outcome"), device.backend)
    elif args.style is None:
        output.write(f"{headline(device)}\n{trigger} → {run.launch} after {run.delay} ticks = {si(ts.seconds(run.delay), 's')}")
    try:
        end = deadline(args, device)
        with output.Live(f"answering{', SIMULATED' if device.simulated else ''}", count or None, args.style) as live:
            for answers, missed in run.follow(interrupt):
                for number, tick, reference in answers:
                    if rows_out:
                        rows_out.row(number, tick, ns(ts, tick), None if reference is None else ns(ts, tick - reference), "answered")
                for tick, reason in missed:
                    if rows_out:
                        rows_out.row(None, tick, ns(ts, tick), None, reason)
                total = len(run.answers) + len(run.missed)
                live.update(total, [("answers", len(run.answers)), ("missed", len(run.missed))])
                if (count and total >= count) or (end is not None and run.poller.tick >= end):
                    break
    except LitePulseError as error:
        if not run.answers:
            tidy(device)
            raise
        problem = error
    except (OutputClosed, KeyboardInterrupt):
        tidy(device)
        raise
    tidy(device)
    delays = [tick - reference for _, tick, reference in run.answers if reference is not None]
    result = shared(device, "respond") | {
        "trigger": trigger,
        "launch": str(run.launch),
        "delay_ticks": run.delay,
        "echo_ticks": run.echo,
        "answers": [
            {"n": n, "tick": tick, "reference": ref, "delay_ticks": None if ref is None else tick - ref} for n, tick, ref in run.answers
        ],
        "missed": [{"tick": tick, "reason": reason} for tick, reason in run.missed],
        "lost": run.lost,
        "lost_at_least": lost_at_least(device),
    }
    if args.style == "json":
        output.write_json(result)
    else:
        rows = [("answers", f"{len(run.answers)}, {len(run.missed)} missed, {records_lost(device, run.lost)}")]
        if delays:
            rows.append(("delay", ", ".join(f"{n}× {value} ticks = {si(ts.seconds(value), 's')}" for value, n in histogram(delays)[:5])))
        for tick, reason in run.missed[:3]:
            rows.append(("missed", f"{reason} at tick {tick}"))
        rows.append(("clock", clock_note(device)))
        (output.write if args.style is None else output.note)("\n".join(output.aligned(rows)))
    if problem:
        raise problem
    return ended(interrupt, not count)


def cmd_plot(args):
    """litepulse plot"""
    from litepulse import plot

    series = plot.load(args.file)
    if args.output:
        plot.save(series, args.output)
        output.write(f"{args.output}: {plot.describe(series)}, {series.note}")
    else:
        output.write("\n".join(plot.text(series, output.columns())))


if __name__ == "__main__":
    sys.exit(main())
