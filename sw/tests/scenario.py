# SPDX-License-Identifier: BSD-2-Clause
"""One set of tests for every backend: what the command and the package do on a board, and what must come of it.

`run()` does it, wherever the board is (in a guest, too: it needs nothing but the package), `check()` looks at what came. TX of the board is
wired to RX and to input 0.
"""

import base64
import contextlib
import io
import json
import sys
import zlib
from fractions import Fraction
from math import floor

MESSAGE = b"LitePulse"
# Launches and waits: the end of the first pulse ends a wait, no edge the other; in between, behind both, the time that this machine needs.
SEQUENCE = "after,width,wait,timeout,then\n0,20ms,,,\n,,0,60s,stop\n%(gap)s,10us,,,\n,,1,5ms,go on\n%(gap)s,10us,,,\n"
LINE = 700  # characters of a line that every console carries whole

COMMANDS = {
    "info": ["info", "--json"],
    "train": ["train", "--rate", "1k", "--byte", "0x5a", "--baud", "115200", "--count", "30", "--json"],
    "fraction": ["train", "--rate", "2345.678", "--width", "5us", "--count", "50", "--json"],
    "up": ["train", "--rate", "1k", "--width", "50us", "--invert", "--count", "10", "--json"],
    "break": ["train", "--period", "5ms", "--break", "12", "--baud", "19200", "--count", "3", "--json"],
    "parity": ["train", "--rate", "500", "--byte", "0x33", "--baud", "38400", "--format", "7E2", "--count", "5", "--json"],
    "rows": ["train", "--rate", "1k", "--baud", "115200", "--count", "5", "--csv"],
    "vnl": ["train", "--rate", "1k", "--baud", "115200", "--count", "5", "--vnl"],
    "people": ["train", "--rate", "1k", "--baud", "115200", "--count", "5"],
    "overlap": ["train", "--rate", "1k"],
    "past": ["train", "--rate", "1k", "--baud", "115200", "--start", "1t"],
    "send": ["send", "message", "--every", "2ms", "--baud", "115200", "--json"],
    "back to back": ["send", "message", "--baud", "115200", "--csv"],
    "passed": ["send", "message", "--at", "1t"],
    "silence": ["capture", "--inputs", "0,rx", "--for", "5ms", "--json"],
    "no channel": ["capture", "--inputs", "7", "--count", "1"],
    "unanswered": ["respond", "--on", "edge:1:rise", "--delay", "5us", "--width", "1us", "--for", "5ms", "--json"],
    "echo": ["respond", "--on", "break", "--delay", "5us", "--echo", "10us", "--for", "5ms", "--json"],
    "latency": ["latency", "--width", "5us", "--on", "edge:0:fall", "--interval", "5ms", "--count", "20", "--json"],
    "same byte": ["latency", "--baud", "115200", "--interval", "5ms", "--count", "20", "--json"],
    "sequence": ["sequence", "sequence.csv", "--json"],
    "idle": ["info", "--json"],
}
# Of a board that has the part, as `info` calls it.
PARTS = {
    "sequence": {"waits": ["sequence", "sequence.csv", "--waits", "board", "--json"]},
    "port": {"mark": ["mark", "0x2a", "--width", "5ms", "--json"], "no mark": ["mark", "0", "--json"]},
}
# These need a board that outlives a command. At 100 pulses a second a machine with much to do loses no edge of a train that goes on.
KEPT = {
    "keep": ["train", "--rate", "100", "--byte", "0x5a", "--baud", "115200", "--keep", "--json"],
    "running": ["info", "--json"],
    "second train": ["train", "--rate", "100"],
    "edges": ["capture", "--inputs", "0,rx", "--count", "40", "--json"],
    "bytes": ["capture", "--inputs", "1", "--bytes", "--baud", "115200", "--count", "5", "--json"],
    "step": ["adjust", "--step", "-5us", "--json"],
    "stepped": ["capture", "--inputs", "rx", "--edges", "fall", "--count", "12", "--clock", "utc", "--json"],
    "rate": ["adjust", "--rate", "50", "--json"],
    "slower": ["capture", "--inputs", "rx", "--edges", "fall", "--filter", "10", "--count", "12", "--clock", "monotonic", "--csv"],
    "stop": ["stop", "--json"],
    "nothing runs": ["stop"],
    "no train": ["adjust", "--step", "1us"],
    "pulses": ["train", "--rate", "100", "--width", "100us", "--keep"],
    "width": ["adjust", "--width", "200us", "--json"],
    "wider": ["capture", "--inputs", "rx", "--count", "12", "--json"],
    "answer": ["respond", "--on", "edge:0:rise", "--own", "--delay", "50us", "--width", "10us", "--once", "--count", "1", "--json"],
    "burst": [
        *("respond", "--on", "edge:0:rise", "--own", "--delay", "50us", "--width", "10us"),
        *("--pulses", "3", "--every", "1000us", "--once", "--json"),
    ],
    "armed": ["respond", "--on", "edge:1:rise", "--delay", "5us", "--width", "1us", "--keep", "--json"],
    "is armed": ["info", "--json"],
    "off": ["respond", "--off"],
    "goes on": ["stop", "--json"],
    "later": ["train", "--rate", "100", "--width", "100us", "--start", "+500ms", "--keep", "--json"],
    "begun": ["capture", "--inputs", "rx", "--edges", "fall", "--count", "2", "--json"],
    "last stop": ["stop", "--json"],
    "end": ["info", "--json"],
}

# Frames of `litepulse lin inject --id 16 --data 0102`, right and wrong: more words, bits of the break, the bytes behind it,
# {(byte, bit): bit times by which it is longer}, and the error of the frame. 0x50 is the identifier with its parity.
INJECTIONS = {
    "right": ([], 13, "55500102ac", {}, None),
    "classic": (["--model", "classic"], 13, "55500102fc", {}, None),
    "checksum": (["--flip-checksum", "0x80"], 13, "555001022c", {}, "wrong checksum"),
    "parity": (["--flip-parity", "2"], 13, "55d00102ac", {}, "wrong parity"),
    "sync": (["--sync", "0x54"], 13, "54500102ac", {}, "wrong sync"),
    "short break": (["--break", "9"], 9, "55500102ac", {}, "no header"),
    "stretch": (["--stretch", "2.3=+0.4"], 13, "55500102ac", {(2, 3): Fraction(2, 5)}, None),
    "two": (["--stretch", "0.0=+1/4", "--stretch", "4.9=-0.25"], 13, "55500102ac", {(0, 0): Fraction(1, 4), (4, 9): Fraction(-1, 4)}, None),
}


def inject(name):
    """The words of a command for one of them."""
    return ["lin", "inject", "--id", "16", "--data", "0102", *INJECTIONS[name][0], "--json"]


def command(options, words):
    """{"status", "out", "err"} of the command."""
    from litepulse import cli

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main([*options, *words])
    return {"status": status, "out": out.getvalue(), "err": err.getvalue()}


def package(ahead, **options):
    """The package: what its objects reported. ahead: seconds in which this machine certainly has a launch on its way."""
    import litepulse

    found = {}
    with litepulse.open(**options) as board:
        found["identity"] = [board.identity.backend, board.simulated, str(board.tick_hz), board.name]
        before, read, after = board.now(), board.read_clocks(), board.now()
        found["clocks"] = [before.tick, read.tick, after.tick, read.raw_before <= read.raw_after, read.uncertainty >= 0]
        with board.train(rate=1000, byte=0x5A, baud=115200, count=10) as train:
            pulses = list(train)
        found["pulses"] = [[p.number, p.tick, str(p.time), p.error, p.interval, p.received] for p in pulses]
        found["exact"] = train.record.exact
        outcome = board.launch(at=board.now() + litepulse.s(ahead), byte=0x55, baud=115200)
        found["launch"] = [outcome.byte, outcome.tick, outcome.wanted, outcome.reason]
        try:
            board.launch(at=board.now().tick - 1, byte=0x55)
        except litepulse.BadInput as error:
            found["late"] = str(error)
        with board.send(MESSAGE, every="1ms", baud=115200) as sending:
            found["sent"] = [[o.byte, o.tick, o.wanted, o.reason] for o in sending]
        found["heard"] = bytes(byte.data for byte in sending.received).decode()
        with board.capture(inputs="0,rx", duration="2ms") as capture:
            found["captured"] = len(list(capture))
        responder = board.respond(on=litepulse.Edge(1, "rise"), after="500ns", width="1us")
        found["armed"] = [board.status().responder_armed, responder.delay]
        try:
            board.train(rate=100)
        except litepulse.InUse as error:
            found["busy"] = str(error)
        responder.close()
        found["disarmed"] = not board.status().responder_armed
        found["lin"] = board.backend.responder.lin_entries()
        with litepulse.Serial(board, 115200, timeout=120) as port:
            timed = port.write(MESSAGE, at=port.now() + litepulse.s(ahead))
            heard = port.read(len(MESSAGE))
            found["timed"] = [heard.decode(), list(heard.ticks), timed.ticks]
            freely = port.write(MESSAGE)
            port.flush()
            heard = port.read(len(MESSAGE))
            found["freely"] = [heard.decode(), list(heard.ticks), freely.ticks]
        with board.train(rate=1000, byte=1, baud=115200) as train:
            for pulse in train:
                if pulse.number == 5:
                    break
        found["stopped"] = [board.status().train_running, train.record.done >= 6]
    return found


def run(options, kept, ahead=0.2, **keywords):
    """All of it; {name: what came}. options: of the command, keywords: of open(); kept: the board outlives a command."""
    with open("message", "wb") as file:
        file.write(MESSAGE)
    with open("sequence.csv", "w", encoding="utf-8") as file:
        file.write(SEQUENCE % {"gap": f"{ahead / 4}s"})
    results = {name: command(options, words) for name, words in COMMANDS.items()}
    info = json.loads(results["info"]["out"])
    more = [words for part, words in PARTS.items() if info[part]] + ([KEPT] if kept else [])
    results |= {name: command(options, words) for group in more for name, words in group.items()}
    return results | {"package": package(ahead, **keywords)}


def pack(results):
    """Lines that a console carries."""
    text = base64.b64encode(zlib.compress(json.dumps(results).encode())).decode()
    return [f"scenario {text[i : i + LINE]}" for i in range(0, len(text), LINE)]


def unpack(lines):
    """Results, of the lines of a console that have them."""
    text = "".join(line.partition("scenario ")[2].strip() for line in lines if "scenario " in line)
    return json.loads(zlib.decompress(base64.b64decode(text)))


# What must come of it ---------------------------------------------------------------------------------------------------


def is_one_line(text):
    return text.startswith("litepulse: ") and text.endswith("\n") and text.count("\n") == 1


def check(results, backend):
    """AssertionError unless all is as it must be; the same for each backend."""
    outputs = {}
    everything = COMMANDS | PARTS["sequence"] | PARTS["port"] | KEPT
    for name, words in everything.items():
        if name not in results:
            continue
        done = results[name]
        assert "Traceback" not in done["err"], (name, done)
        if "--json" in words:
            # Nothing triggered, so nothing was answered.
            assert done["status"] == (name in ("unanswered", "echo")) and done["err"] == "", (name, done)
            outputs[name] = json.loads(done["out"])
            assert outputs[name]["backend"] == backend and outputs[name]["simulated"] is True and "device" in outputs[name], name
    check_trains(outputs)
    rows = [line.split(",") for line in results["rows"]["out"].splitlines()]
    assert rows[0] == ["pulse", "tick", "t_ns", "dt_ms", "error_ticks"] and [row[0] for row in rows[1:]] == list("01234")
    assert {row[4] for row in rows[1:]} == {"0"}
    vnl = results["vnl"]["out"].splitlines()
    assert vnl[:2] == [f"## backend: {backend}", "# t_ns dt_ms"] and [line.split()[1] for line in vnl[2:]] == ["-", *["1.000000000"] * 4]
    assert "5 launched, 5 received, 0 refused, 0 records lost" in results["people"]["out"] and "SIMULATED" in results["people"]["out"]
    for name, why in (("overlap", "overlap"), ("past", "has passed"), ("passed", "has passed"), ("no channel", "is not a channel")):
        assert results[name]["status"] == 2 and is_one_line(results[name]["err"]) and why in results[name]["err"], results[name]
    check_launches(outputs["send"], results["back to back"])
    for name in ("silence", "unanswered", "echo"):
        assert outputs[name]["lost"] == 0
    assert (
        outputs["silence"]["edges"] == []
        and outputs["unanswered"]["answers"] == []
        and outputs["unanswered"]["delay_ticks"] == ticks(outputs, "5us")
    )
    assert outputs["echo"]["echo_ticks"] == ticks(outputs, "10us")
    assert outputs["info"]["lin_entries"] == 64
    for name in ("latency", "same byte"):  # a wire answers after a tick
        assert outputs[name]["histogram"] == [[1, 20]] and outputs[name]["answered"] == outputs[name]["stimuli"] == 20, outputs[name]
        assert [each["delay_ticks"] for each in outputs[name]["samples"]] == [1] * 20 and outputs[name]["lost"] == 0
    check_sequence(outputs["sequence"], ("host", "board"))
    for part, words in PARTS.items():
        assert [name in results for name in words] == [outputs["info"][part]] * len(words), part
    if outputs["info"]["sequence"]:
        check_sequence(outputs["waits"], ("board",))
    if outputs["info"]["port"]:
        for name, code in (("mark", 0x2A), ("no mark", 0)):
            assert outputs[name]["code"] == code and outputs[name]["tick"] == outputs[name]["wanted"], outputs[name]
    idle = outputs["idle"]
    assert [idle[name] for name in ("train_running", "responder_armed", "queue_idle", "line_busy")] == [False, False, True, False]
    if "keep" in results:
        check_kept(outputs, results)
    check_package(results["package"], backend)


def ticks(outputs, text):
    """Of a time of whole microseconds."""
    exact = Fraction(outputs["info"]["tick_hz"]) * int(text.removesuffix("us")) / 10**6
    assert exact.denominator == 1
    return int(exact)


def check_trains(outputs):
    """Every edge where it belongs, as it was launched and as it came back."""
    hz = Fraction(outputs["info"]["tick_hz"])
    for name, rate, count, byte in (
        ("train", 1000, 30, 0x5A),
        ("fraction", Fraction("2345.678"), 50, None),
        ("up", 1000, 10, None),
        ("break", 200, 3, None),
        ("parity", 500, 5, 0x33),
    ):
        result = outputs[name]
        assert result["launched"] == [result["start"] + n * (hz / rate) // 1 for n in range(count)], name
        assert result["received"] == [tick + 1 for tick in result["launched"]] and result["delays"] == {"1": count}, (name, result)
        assert result["received_bytes"] == ([] if byte is None else [byte] * count) and result["bad_frames"] == 0, name
        assert (result["max_error_ticks"], result["lost"], result["refused"], result["ended"]) == (0, 0, [], "count"), name


def check_launches(sent, rows):
    """Each byte at its tick, and heard."""
    gap = Fraction(sent["tick_hz"]) / 500
    first = sent["launched"][0]["tick"]
    assert [each["tick"] for each in sent["launched"]] == [first + k * gap for k in range(len(MESSAGE))] and sent["refused"] == []
    assert bytes(each["byte"] for each in sent["launched"]) == bytes(each["byte"] for each in sent["received"]) == MESSAGE
    assert [each["tick"] for each in sent["received"]] == [each["tick"] + 1 for each in sent["launched"]]
    assert sent["max_error_ticks"] == sent["lost"] == 0 and sent["ended"] == "all sent"
    lines = [line.split(",") for line in rows["out"].splitlines()]
    assert lines[0] == ["n", "tick", "t_ns", "error_ticks", "outcome"] and [line[3:] for line in lines[1:]] == [["0", "launched"]] * len(
        MESSAGE
    )


def check_sequence(result, by):
    """Each launch at its tick behind the entry before it; by: what may have waited."""
    hz = Fraction(result["tick_hz"])
    first, second, third = result["launched"]
    edge, timeout = result["waits"]
    assert (edge["ended"], timeout["ended"], result["ended"]) == ("edge", "timeout", "all sent"), result
    assert edge["tick"] - first["tick"] == hz / 50 + 1, "the pulse has 20 ms"
    assert second["tick"] - edge["tick"] == third["tick"] - timeout["tick"] and timeout["tick"] - second["tick"] == hz / 200
    assert [one["n"] for one in (first, edge, second, timeout, third)] == list(range(5)) and {edge["by"], timeout["by"]} <= set(by)
    assert result["max_error_ticks"] == result["lost"] == 0 and result["refused"] == []


def check_kept(outputs, results):
    """A train goes on without its command, is looked at, changed and stopped by others."""
    hz = Fraction(outputs["info"]["tick_hz"])
    assert outputs["keep"]["ended"] == "running" and outputs["running"]["train_running"] is True
    assert results["second train"]["status"] == 2 and "running already" in results["second train"]["err"]
    edges = outputs["edges"]["edges"]
    by_channel = {name: [(e["tick"], e["level"]) for e in edges if e["channel"] == name] for name in ("0", "rx")}
    both = min(len(by_channel["0"]), len(by_channel["rx"]))
    assert len(edges) == 40 and outputs["edges"]["lost"] == 0
    assert by_channel["0"][:both] == by_channel["rx"][:both] and both >= 18, "one wire"
    assert all((e["tick"] - edges[0]["tick"]) * 100 < 10 * hz for e in edges)
    heard = outputs["bytes"]["bytes"]
    assert [byte["data"] for byte in heard] == [0x5A] * 5 and all(byte["flags"] in ([], ["own"]) for byte in heard)
    assert {b["tick"] - a["tick"] for a, b in zip(heard, heard[1:])} == {hz / 100}
    start = outputs["keep"]["start"]
    assert (heard[0]["tick"] - 1 - start) % (hz / 100) == 0
    assert (
        outputs["step"]["step_ticks"] == -ticks(outputs, "5us")
        and outputs["step"]["at_pulse"]
        and outputs["step"]["period_ticks"] == str(hz / 100)
    )
    stepped = [edge["tick"] for edge in outputs["stepped"]["edges"]]
    assert any((tick - 1 - start + ticks(outputs, "5us")) % (hz / 100) == 0 for tick in stepped[-4:]), stepped
    timed = outputs["stepped"]["edges"]
    assert all(each["time"].endswith("Z") and each["ns"] > 10**18 and each["uncertainty_ns"] > 0 for each in timed), timed
    assert outputs["rate"]["rate_hz"] == "50" and outputs["rate"]["at_pulse"] > outputs["step"]["at_pulse"]
    heading, *rows = [line.split(",") for line in results["slower"]["out"].splitlines()]
    assert heading[-2:] == ["monotonic_ns", "uncertainty_ns"] and all(int(row[-2]) > 0 and int(row[-1]) > 0 for row in rows)
    falls = [int(row[2]) for row in rows]
    assert len(falls) == 12 and all(b > a for a, b in zip(falls, falls[1:]))
    # Four falling edges a byte of 0x5a: the first is the start bit, one period later comes the next.
    assert any(b - a == hz / 50 for a in falls for b in falls), falls
    moved = start - ticks(outputs, "5us") + outputs["rate"]["at_pulse"] * (hz / 100) + hz / 100
    assert any((fall - 1 - moved) % (hz / 50) == 0 for fall in falls), (falls, moved)
    assert outputs["stop"]["stopped"] == ["train"] and outputs["stop"]["pulses"] > outputs["rate"]["at_pulse"]
    assert results["nothing runs"]["status"] == 0 and "nothing was running" in results["nothing runs"]["out"]
    assert results["no train"]["status"] == 2 and "no train is running" in results["no train"]["err"]
    assert results["pulses"]["status"] == 0 and "running: 100 Hz, pulse of" in results["pulses"]["out"]
    wide = ticks(outputs, "200us")
    assert outputs["width"]["width_ticks"] == wide and outputs["width"]["at_pulse"] and outputs["width"]["period_ticks"] == str(hz / 100)
    levels = [(edge["tick"], edge["level"]) for edge in outputs["wider"]["edges"]]
    widths = [end - start for (start, level), (end, _) in zip(levels, levels[1:]) if not level]
    assert len(widths) >= 5 and set(widths[:-2]) <= {wide, wide / 2} and widths[-2:] == [wide, wide], levels
    (answer,) = outputs["answer"]["answers"]
    assert answer["delay_ticks"] == outputs["answer"]["delay_ticks"] == ticks(outputs, "50us") and outputs["answer"]["missed"] == []
    burst, delay, every = outputs["burst"], ticks(outputs, "50us"), ticks(outputs, "1000us")
    assert (burst["pulses"], burst["every_ticks"], burst["missed"]) == (3, every, [])
    assert [(a["pulse"], a["delay_ticks"], a["tick"] - a["reference"]) for a in burst["answers"]] == [
        (k, delay + k * every, delay + k * every) for k in range(3)
    ]
    assert len({a["reference"] for a in burst["answers"]}) == 1
    assert (
        outputs["armed"]["armed"] is True
        and outputs["is armed"]["responder_armed"] is True
        and outputs["is armed"]["train_running"] is True
    )
    assert results["off"]["status"] == 0 and "disarmed" in results["off"]["out"] and outputs["end"]["responder_armed"] is False
    assert outputs["goes on"]["stopped"] == ["train"], "two responders have come and gone beside it"
    assert outputs["later"]["ended"] == "running" and outputs["later"]["launched"] == [], "it returns before the train begins"
    first, second = (edge["tick"] - 1 - outputs["later"]["start"] for edge in outputs["begun"]["edges"])
    assert first >= 0 and first % (hz / 100) == 0 and second - first == hz / 100 and outputs["last stop"]["stopped"] == ["train"]
    assert outputs["end"]["train_running"] is False


def check_package(found, backend):
    """The same through Python."""
    assert found["identity"][:2] == [backend, True]
    hz = Fraction(found["identity"][2])
    before, tick, after, *sure = found["clocks"]
    assert before <= tick <= after and sure == [True, True]
    start = found["pulses"][0][1]
    for number, (n, tick, seconds, error, interval, received) in enumerate(found["pulses"]):
        assert (n, tick, error, received) == (number, start + number * hz / 1000, 0, tick + 1) and Fraction(seconds) == tick / hz
        assert interval == (None if not number else hz / 1000)
    assert len(found["pulses"]) == 10 and found["exact"] is True
    byte, tick, wanted, reason = found["launch"]
    assert (byte, tick, reason) == (0x55, wanted, None)
    assert "has passed" in found["late"]
    assert bytes(each[0] for each in found["sent"]) == MESSAGE and all(tick == wanted and not why for _, tick, wanted, why in found["sent"])
    assert found["heard"] == MESSAGE.decode() and found["captured"] == 0
    assert found["armed"] == [True, round(hz / 2_000_000)] and "a job on it already" in found["busy"] and found["disarmed"] is True
    assert found["stopped"] == [False, True]
    assert found["lin"] == 64
    for name in ("timed", "freely"):
        heard, received, left = found[name]
        assert heard == MESSAGE.decode() and received == [tick + 1 for tick in left], (name, found[name])


def injected(name, tick, bit):
    """([(tick, level)] on the line, [(tick, byte, whether it is a break)] received) of an injection; bit: in ticks, exact.

    Each launch begins at its exact place, rounded down. So does each edge within it, counted from there; a byte with a bit that is longer
    or shorter consists of pulses. The receiver sees a pin's edge a tick later.
    """
    _, break_bits, data, longer, _ = INJECTIONS[name]
    low, heard = [(tick, tick + floor(break_bits * bit))], [(tick + 1, 0, break_bits > 9)]
    place = tick + (break_bits + 1) * bit
    for number, byte in enumerate(bytes.fromhex(data)):
        heard.append((floor(place) + 1, byte, False))
        lengths = [bit * (1 + longer.get((number, k), 0)) for k in range(10)]
        at = Fraction(floor(place)) if set(lengths) == {bit} else place
        for level, length in zip([0, *(byte >> k & 1 for k in range(8)), 1], lengths):
            low += [] if level else [(floor(at), floor(at + length))]
            at += length
        place += sum(lengths)
    edges = []
    for begin, end in low:
        if edges and edges[-1][0] == begin:  # two low bits
            edges.pop()
        else:
            edges.append((begin, 0))
        edges.append((end, 1))
    return edges, heard


def check_injection(name, result, edges, bit):
    """AssertionError unless the pin, and what was heard of it, is as requested. edges: all of TX
    from the frame's tick on."""
    _, break_bits, data, _, error = INJECTIONS[name]
    assert (result["sent"], result["break_bits"]) == (data, break_bits), (name, result)
    wanted, heard = injected(name, result["tick"], bit)
    assert edges == wanted, (name, edges, wanted)
    assert [(one["tick"], one["byte"], one["break"]) for one in result["records"]] == heard, (name, result["records"], heard)
    frames = [(one["tick"], one["id"], one["data"], one["error"]) for one in result["frames"]]
    if error == "no header":
        assert frames == [(tick, None, f"{byte:02x}", error) for tick, byte, _ in heard], (name, frames)
    else:
        assert frames == [(result["tick"] + 1, None if error == "wrong parity" else 16, data[4:8], error)], (name, frames)
        assert result["frames"][0]["own_header"] and result["frames"][0]["own_response"], (name, result)


def check_injections(results, edges, bit):
    """Of injections in turn on one board; edges: all of TX from the first on."""
    starts = [one["tick"] for one in results.values()]
    assert starts == sorted(starts) and list(results) == list(INJECTIONS) and edges[0][0] == starts[0], (starts, edges[:1])
    for (name, one), end in zip(results.items(), [*starts[1:], edges[-1][0] + 1]):
        check_injection(name, one, [edge for edge in edges if one["tick"] <= edge[0] < end], bit)


if __name__ == "__main__":  # in a guest: scenario.py --device /dev/litepulse0 2, or --port /dev/ttyUSB0 2; the number is `ahead`
    option, name, ahead = sys.argv[1:]
    for line in pack(run([option, name], True, ahead=float(ahead), **{option.removeprefix("--"): name})):
        print(line, flush=True)  # a kernel's log takes one at a time
