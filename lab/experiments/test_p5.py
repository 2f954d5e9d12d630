# SPDX-License-Identifier: BSD-2-Clause
"""P5: each step measures, with few samples, and notices what is wrong; the table, the chart and the published summary are right."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from lab.experiments import p5_cable, p5_pads, p5_published, p5_soc
from lab.experiments.experiment import PC, RTL, ExperimentError
from lab.experiments.p5_published import NAMES, PERCENTS, ROWS, TO_MEASURE, published, summarise
from lab.experiments.p5_response import BEST, GOAL, charts, spread_ticks, steps, tables
from lab.experiments.p5_samples import HIGH, Report, Stimuli, check_exact, delays, places, row
from lab.experiments.p5_soc import CHARDEV, DELAY, KERNEL, LITEUART, RESPONDER, TTY
from litex_soc.limits import cycles
from sim.cocotb_rig import ROOT
from sim.core.model import edges
from sim.guest.frames import data_of, profile, read_frames, wave
from sim.guest.frames import row as frames_row
from sim.long_runs import LONG
from sim.netlist.synthesis import Netlist

# The responder's shortest delay. A level that changes at a tick is stamped one later (LOOPBACK_TICKS).
MIN_CYCLES = cycles()["RESPONSE_MIN_CYCLES"]
LOOPBACK_TICKS = 1
EXACT = DELAY + LOOPBACK_TICKS


# Each step --------------------------------------------------------------------------------------------------------------


def pins_page(phy):
    """(samples per cycle, cycles of the responder) of a PHY, as docs/pins.md has them."""
    found = re.search(rf"^\| `{phy}` \| (\d) .* (\d+) cycles \|$", (ROOT / "docs" / "pins.md").read_text(), re.MULTILINE)
    return int(found[1]), int(found[2])


@pytest.mark.full
@pytest.mark.seconds(40)
@pytest.mark.parametrize(
    "name, phy, form",
    [
        ("ecp5_generic", "generic", "rtl"),
        ("ecp5_serdes", "ecp5_serdes", "rtl"),
        pytest.param("ecp5_generic", "generic", "netlist", marks=pytest.mark.skipif(not LONG, reason="takes minutes: LITEPULSE_LONG=1")),
    ],
)
def test_pads(name, phy, form):
    """At 200 MHz: N cycles behind the sample that shows the edge, so less than a tick more behind
    the edge itself."""
    samples, cycles = pins_page(phy)
    (found,) = p5_pads.measure(name, 60, form)["rows"]
    assert p5_pads.CYCLES[name] == cycles and found["per_second"] == 10**12
    assert (found["tick_hz"], found["stimuli"], len(found["delays"])) == (200_000_000 * samples, 60, 60)
    shortest, tick = cycles * 5000, 5000 // samples
    assert all(shortest < delay < shortest + tick for delay in found["delays"])
    # At random instants of a tick: some in each half of it.
    assert {(delay - shortest) * 2 // tick for delay in found["delays"]} == {0, 1} and spread_ticks(found) < 1


def test_an_answer_at_another_tick_is_noticed(monkeypatch, tmp_path):
    monkeypatch.setattr(p5_pads, "BUILD", tmp_path)
    monkeypatch.setattr(Netlist, "simulate_rtl", lambda *_, **__: None)
    for found, message in (
        ([31_000, 35_001], "an answer is not 6 cycles behind its stamp"),
        ([31_000, 29_999], "an answer is not 6 cycles behind its stamp"),
        ([31_000], "the bench had another clock, or other edges"),
    ):
        (tmp_path / "response.json").write_text(f'{{"generic/2": {{"delays_ps": {found}, "tick_ps": 5000}}}}')
        with pytest.raises(ExperimentError, match=message):
            p5_pads.measure("ecp5_generic", 2)


@pytest.mark.full
@pytest.mark.seconds(20)
@pytest.mark.parametrize("load", RESPONDER.spacing)
def test_responder(load):
    """Its programmed delay, to the tick, each time, whatever the CPU does."""
    assert DELAY == MIN_CYCLES
    found = p5_soc.measure(RESPONDER, load, 20)
    assert found["delays"] == [EXACT] * 20 and (found["source"], found["tick_hz"], found["cpu"]) == (RTL, 50_000_000, load)


@pytest.mark.full
@pytest.mark.seconds(20)
def test_kernel_module():
    """It answers each edge, sooner than a program could: a read() alone takes 16,000 ticks (docs/benchmarks.md)."""
    found = p5_soc.measure(KERNEL, "idle", 8)
    assert (found["refused"], found["missed"], len(found["delays"])) == (0, 0, 8)
    assert min(found["delays"]) > found["lead"] == p5_soc.MODULE_LEAD and max(found["delays"]) < 16_000


@pytest.mark.full
@pytest.mark.seconds(20)
def test_a_lead_too_short_is_refused_and_counted():
    """LMIN_CYCLES of docs/core.md is 64: no answer comes out, and none is missing from the count."""
    found = p5_soc.measure(KERNEL, "idle", 4, module_lead=60)
    assert (found["delays"], found["refused"], found["missed"]) == ([], 4, 0)


@pytest.mark.full
@pytest.mark.seconds(30)
def test_chardev():
    """Its answers are later than its lead, and those that were refused are counted."""
    found = p5_soc.measure(CHARDEV, "idle", 6)
    assert len(found["delays"]) + found["refused"] == 6 and found["missed"] == 0 and found["delays"]
    assert 64 < found["lead"] < min(found["delays"])


@pytest.mark.full
@pytest.mark.seconds(20)
@pytest.mark.parametrize("way", [TTY, LITEUART])
def test_tty(way):
    """Each byte comes back, after more than the half bit that a receiver waits to be sure of the stop bit."""
    found = p5_soc.measure(way, "idle", 5)
    assert (found["refused"], found["missed"], found["lead"], len(found["delays"])) == (0, 0, None, 5)
    assert min(found["delays"]) > 50_000_000 // p5_soc.BAUD // 2


@pytest.mark.full
@pytest.mark.seconds(60)
def test_cable():
    """Each answer of the responder has the same delay; those of the PC are far longer. A busy machine is no fault here."""
    found = {each["who"]: each for each in p5_cable.rows(8, steady=False)["rows"]}
    assert found[p5_cable.RESPONDER]["delays"] == [EXACT] * 8
    for who in (p5_cable.MODULE, p5_cable.CHARDEV, p5_cable.TTY):
        mine = found[who]
        assert mine["source"] == PC and len(mine["delays"]) + mine["refused"] + mine["missed"] == 8
        assert min(mine["delays"]) > 10 * EXACT and len(set(mine["delays"])) > 1


def test_a_long_run_on_the_cable_is_made_of_short_ones(monkeypatch):
    """As many stimuli in all; what was seen, refused and missed adds up."""
    measured = []

    def one(who, lead):
        def measure(count, steady):
            measured.append((who, count, steady))
            report = Report(count - 1, [0], lead and lead + count, None)
            return row(who, "there", "idle", PC, p5_cable.HZ, [count] * (count - 2), count, report)

        return measure

    monkeypatch.setattr(p5_cable, "measure_edges", lambda *words: [one("a", None)(*words), one("b", 5)(*words)])
    monkeypatch.setattr(p5_cable, "measure_bytes", one("c", None))
    found = p5_cable.rows(250)["rows"]
    assert measured == [(who, count, True) for count in (100, 100, 50) for who in "abc"]
    for each, who, lead in zip(found, "abc", (None, 105, None)):
        assert (each["who"], each["stimuli"], each["refused"], each["missed"], each["lead"]) == (who, 250, 3, 3, lead)
        assert each["delays"] == [100] * 98 + [100] * 98 + [50] * 48
    monkeypatch.setattr(p5_cable, "measure_bytes", lambda count, _: row("c", "", "", PC, 1, [], count, Report(0, [], None, None)))
    with pytest.raises(ExperimentError, match="a responder did not answer at all"):
        p5_cable.rows(10)


@pytest.mark.full
def test_a_board_that_loses_time_gives_no_figure(monkeypatch):
    class Slow:
        """A PC whose board did not keep up, or that was ready too late."""

        def __init__(self, slips, since):
            self.lines, self.stats, self.pins, self.runs = ["seen 1", f"from {since}"], {"slips": slips}, [], 0

        def attaching(self):
            return "true", {}

        def guest_program(self, _):
            return Path("/dev/null")

        def run(self, *_, **__):
            self.runs += 1
            return self

    for slow in (Slow(1, 0), Slow(0, p5_cable.FIRST)):
        monkeypatch.setattr(p5_cable, "guest", lambda found=slow: found)
        with pytest.raises(ExperimentError, match="^who: this machine is too busy: board and PC do not keep up with the clock$"):
            p5_cable.run(["chardev", "6"], Stimuli([p5_cable.FIRST], p5_cable.HZ), "", "who")
        assert slow.runs == p5_cable.ATTEMPTS
    for slow, steady in ((Slow(0, p5_cable.FIRST - 1), True), (Slow(1, p5_cable.FIRST - 1), False)):
        monkeypatch.setattr(p5_cable, "guest", lambda found=slow: found)
        assert p5_cable.run(["chardev", "6"], Stimuli([p5_cable.FIRST], p5_cable.HZ), "", "who", steady)[0].seen == slow.runs == 1


def test_the_variants():
    """The long one has 1000 samples of each, and the netlist."""
    short, long = steps(False), steps(True)
    assert {step.name for step in long} - {step.name for step in short} == {"ecp5-netlist"}
    assert all(re.fullmatch("[a-z0-9-]+", step.name) and step.seconds > 0 for step in long)
    assert len({step.name for step in long}) == len(long)
    # Six minutes on two cores.
    assert sum(step.seconds for step in short) <= 360
    measured = []

    def note(cases):
        measured.extend(cases)
        return {"rows": []}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(p5_soc, "rows", note)
        for step in long:
            if step.name in ("responder", "kernel", "chardev", "tty"):
                assert step.run() == {"rows": []}
    loads = {"responder": {"idle", "loaded", "halted"}}
    assert {count for _, _, count in measured} == {1000} and len(measured) == 11
    for way in (TTY, LITEUART, CHARDEV, KERNEL, RESPONDER):
        assert {load for who, load, _ in measured if who is way} == loads.get("responder" if way is RESPONDER else "", {"idle", "loaded"})


# Stimuli and answers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spacing", sorted({each for way in (TTY, CHARDEV, KERNEL) for each in way.spacing.values()}))
def test_stimuli_meet_the_scheduler_anywhere(spacing):
    """Each tenth of its tick gets some of 100; and they are half the spacing apart at least."""
    at = places(1000, 100, spacing)
    assert all(later - tick >= spacing // 2 for tick, later in zip(at, at[1:]))
    assert {tick % p5_soc.SCHEDULER_TICK * 10 // p5_soc.SCHEDULER_TICK for tick in at} == set(range(10))


def test_edges_and_bytes_that_come_in():
    """Bytes are the model's, also at another clock than the SoC's; a delay counts from the begin of their stop bit."""
    assert Stimuli([1000, 9000], 50_000_000).wave() == [(1000, 1), (1000 + HIGH, 0), (9000, 1), (9000 + HIGH, 0)]
    assert Stimuli([1000], 50_000_000).begins() == [1000]
    for hz, baud in ((50_000_000, 250_000), (2_000_000, 10_000)):  # 200 ticks a bit
        came = Stimuli([1000, 9000, 20_000], hz, baud)
        form = profile(250_000)
        assert came.wave() == edges(wave([one for tick, byte in zip(came.at, came.data) for one in frames_row(tick, [byte], form)]))
        assert came.begins() == [tick + 9 * 200 for tick in came.at] and came.pin == "rx"
        assert data_of(read_frames([(0, 1), *came.wave()], [form])) == bytes(came.data)


def recorded(pin, wave_of_it, rest):
    """Pins as the rigs give them: the level at the start first."""
    return [(0, pin, rest), *((tick, pin, level) for tick, level in wave_of_it)]


def test_stimuli_as_they_were_recorded():
    stimuli = Stimuli([1000, 9000], 50_000_000)
    late = [(tick + 77, level) for tick, level in stimuli.wave()]
    assert stimuli.shifted(recorded("aux0", late, 0), "who").at == [1077, 9077]
    with pytest.raises(ExperimentError, match="^who: there was no stimulus$"):
        stimuli.shifted(recorded("aux0", [], 0), "who")
    for wrong in (late[:-1], [*late[:-1], (late[-1][0] + 1, 0)]):
        with pytest.raises(ExperimentError, match="^who: the stimuli are not those requested$"):
            stimuli.shifted(recorded("aux0", wrong, 0), "who")


def test_answers_on_a_pin():
    """Pulses of the right width behind the first stimulus; bytes, which must be those that came in."""
    stimuli = Stimuli([1000, 9000], 50_000_000)
    low = [(500, 0), (540, 1), (1200, 0), (1220, 1), (1500, 0), (1540, 1), (9300, 0), (9340, 1)]
    assert stimuli.answers(recorded("tx", low, 1), 40, "who") == [1500, 9300]
    assert stimuli.answers(recorded("tx", low, 1), 20, "who") == [1200]
    came = Stimuli([1000, 9000], 50_000_000, 250_000)
    back = replace(came, at=[4000, 12_000])
    assert came.answers(recorded("tx", back.wave(), 1), 40, "who") == [4000, 12_000]
    wrong = edges(wave(frames_row(4000, [1], profile(250_000))))
    with pytest.raises(ExperimentError, match="^who: other bytes came back$"):
        came.answers(recorded("tx", wrong, 1), 40, "who")


def test_output_of_the_program():
    assert Report.of(["lead 900", "noise", "from 5", "seen 4", "refused 3", "refused 1"]) == Report(4, [1, 3], 900, 5)
    assert Report.of(["seen 0"]) == Report(0, [], None, None)
    for lines, message in (
        ([], "did not come to its end"),
        (["seen 3", "refused 3"], r"3 stimuli were seen, refused were the answers to \[3\]"),
        (["seen 3", "refused 1", "refused 1"], r"refused were the answers to \[1, 1\]"),
    ):
        with pytest.raises(ExperimentError, match=message):
            Report.of(lines)


def test_each_answer_has_its_stimulus():
    """Also one that comes after the next stimulus; refused ones are left out; nothing may be too many, too few or too early."""
    begins = [100, 200, 300, 400]
    assert delays(begins, [250, 260, 470], Report(4, [2], 5, None), "who") == [150, 60, 70]
    assert delays(begins, [110, 220], Report(2, [], None, None), "who") == [10, 20]
    for answers, report, message in (
        ([110, 220, 330], Report(4, [], None, None), "who: 4 answers were made, 3 came out"),
        ([110, 220, 330, 440], Report(4, [0], None, None), "who: 3 answers were made, 4 came out"),
        ([110, 199], Report(2, [], None, None), "who: an answer is before its stimulus"),
        ([], Report(5, [0, 1, 2, 3, 4], None, None), "who: 5 stimuli were seen, 4 were sent"),
    ):
        with pytest.raises(ExperimentError, match=f"^{message}$"):
            delays(begins, answers, report, "who")
    check_exact([7, 7], 6, "who")
    for wrong in ([7, 8], [6], [7, 6]):
        with pytest.raises(ExperimentError, match="^who: an answer is not at its tick$"):
            check_exact(wrong, 6, "who")
    kept = row("who", "where", "idle", RTL, 50, [150, 60, 70], 5, Report(4, [2], 5, None))
    assert (kept["refused"], kept["missed"], kept["lead"], kept["delays"]) == (1, 1, 5, [150, 60, 70])


# Tables and charts ------------------------------------------------------------------------------------------------------


def canned(best_delays=(30_001, 32_500, 34_999)):
    """Figures of two steps: the responder's, and a program that was refused once and did not see
    its last stimulus."""
    best = {
        "who": p5_pads.WHO,
        "where": "here",
        "cpu": "none",
        "source": RTL,
        "tick_hz": 200_000_000,
        "per_second": 10**12,
        "stimuli": 3,
        "delays": list(best_delays),
        "refused": 0,
        "missed": 0,
        "lead": None,
    }
    program = row(CHARDEV.title, "there", "idle", RTL, 50_000_000, [50_000, 60_000], 4, Report(3, [1], 9000, None))
    return {BEST: {"rows": [best]}, "chardev": {"rows": [program]}}


@pytest.mark.parametrize(
    "found, reached", [((30_001, 32_500, 34_999), True), ((30_000, 32_500, 35_001), False), ((45_000, 45_000, 46_000), False)]
)
def test_verdict(found, reached):
    """Both must hold: sooner than the RP2040, and within a tick."""
    text = " ".join(tables(canned(found)))
    assert ("**Goal reached.**" in text, "**Goal missed.**" in text) == (reached, not reached)


def test_a_step_without_an_answer():
    """It has its line in the table, and no row in the picture."""
    silent = row("nobody", "there", "idle", RTL, 50_000_000, [], 4, Report(4, [0, 1, 2, 3], 60, None))
    figures = {**canned(), "more": {"rows": [silent]}}
    assert any(line.startswith("| nobody |") and "| 0 of 4 |" in line for line in tables(figures))
    assert [one.name for one in charts(figures)[0].series] == [one.name for one in charts(canned())[0].series]


def test_times_of_the_emulator_are_ratios():
    """A program on the cable: a multiple of the responder there, and not in the picture beside
    others' hardware."""
    cable = [
        row(who, p5_cable.WHERE, "idle", PC, p5_cable.HZ, [delay] * 100, 100, Report(100, [], None, None))
        for who, delay in ((p5_cable.RESPONDER, 7), (p5_cable.TTY, 7000))
    ]
    figures = {**canned(), "cable": {"rows": cable}}
    (line,) = [line for line in tables(figures) if line.startswith(f"| {p5_cable.TTY} |")]
    assert "| × 1,000 | × 1,000 | × 1,000 | × 1,000 | - | 0 | 0 |" in line
    names = [one.name for one in charts(figures)[0].series]
    assert any(p5_cable.RESPONDER in name for name in names) and not any(p5_cable.TTY in name for name in names)


def test_no_p99_of_few_samples():
    (line,) = [line for line in tables(canned()) if line.startswith(f"| {CHARDEV.title} |")]
    assert line.split("|")[7].strip() == "-"
    assert all(99 not in one.y for one in charts(canned())[0].series if CHARDEV.title in one.name)


# What was published -----------------------------------------------------------------------------------------------------


def test_summary_of_a_file():
    """Nearest rank by hand: of 200 answers 1 percent are 2, and time-outs are no answers."""
    lines = [f"{n}\t{n + 1}.04E-9" for n in range(200)][::-1] + ["200\t9.9E+37"]
    assert summarise("\n".join(lines)) == (1.0, 2.0, 10.0, 50.0, 100.0, 150.0, 190.0, 198.0, 200.0, 200, 1)


def test_the_published_summary_is_sound():
    """In order, with the medians that the study's author gives, and as many samples as he took."""
    for name, values in ROWS.items():
        times, (answers, time_outs) = values[:9], values[9:]
        assert list(times) == sorted(times) and times[0] > 0 and len(values) == 2 + len(PERCENTS) + 2, name
        assert answers + time_outs in (500, 1000), name
        assert all(round(time, 1) == time for time in times), name
    assert set(ROWS) == set(p5_published.NAMES) and len(set(p5_published.NAMES.values())) == len(ROWS)
    medians = {one.name: one.percentiles[PERCENTS.index(50)] for one in published()}
    assert GOAL == medians["RP2040, PIO"] == pytest.approx(42.6e-9)
    for name, microseconds in (
        ("Arduino Uno, interrupt", 9.04),
        ("Raspberry Pi Zero, kernel module", 13.0),
        ("Raspberry Pi Zero, program, mapped GPIO", 130),
        ("Raspberry Pi Zero, program, sysfs", 272),
        ("Raspberry Pi Zero, Python", 210),
    ):
        assert medians[name] * 1e6 == pytest.approx(microseconds, rel=0.01), name


def test_each_program_to_measure_is_described():
    """The headings of docs/responders.md that the table names, and the programs below them."""
    page = (ROOT / "docs" / "responders.md").read_text(encoding="utf-8")
    sections = {re.sub(r"[^\w -]", "", part.splitlines()[0].lower()).replace(" ", "-"): part for part in re.split(r"(?m)^#+ ", page)[1:]}
    assert set(TO_MEASURE) < set(ROWS)
    for name, (program, heading) in TO_MEASURE.items():
        assert program in sections[heading], (name, heading)
        (line,) = [line for line in tables(canned()) if line.startswith(f"| {NAMES[name]} |")]
        assert line.endswith(f"| [{program}](responders.md#{heading}) |")
    (header,) = [line for line in tables(canned()) if line.startswith("| who answers |")]
    assert all(line.count("|") == header.count("|") for line in tables(canned()) if line.startswith("| "))


@pytest.mark.skipif("INTERRUPT_RESPONSE_TIMES" not in os.environ, reason="INTERRUPT_RESPONSE_TIMES names no folder with the study's files")
def test_the_summary_is_that_of_the_study():
    folder = Path(os.environ["INTERRUPT_RESPONSE_TIMES"])
    assert {name: summarise((folder / f"{name}.out").read_text()) for name in ROWS} == ROWS
