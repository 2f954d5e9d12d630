# SPDX-License-Identifier: BSD-2-Clause
"""Traces of a simulated kernel, and the edges that belong to them: a program that writes a byte 58
times a second, one of them late.

It shares nothing with litepulse.explain. A scene knows which cause it planted, and how long that
took.
"""

from dataclasses import dataclass, field
from fractions import Fraction

PERIOD, COUNT, LATE_ONE, LATE = 17_241, 30, 17, 5_000  # us, bytes, number of the late one, us
PROGRAM, WORKER, HOG, OTHER = 412, 57, 900, 77
SLACK, CONSTANT = 50, 37  # us: of the timer; from the UART to the edge
BASE = 83_512_000_000  # us: when it begins
TICK_HZ, DRIFT, BAUD = 48_000_000, Fraction(20, 10**6), 9600
FIRST_TICK = 1_234_567


@dataclass
class Scene:
    """What happened: the text of the trace, and the edges as (tick, ns by the board's clock map,
    uncertainty in ns)."""

    kernel: str = "6.12"
    lines: list = field(default_factory=list)
    edges: list = field(default_factory=list)
    dues: list = field(default_factory=list)
    totals: list = field(default_factory=list)  # us, over the fastest
    blind: bool = False

    def text(self):
        """As trace_pipe shows it."""
        return [line for _, _, line in sorted(self.lines)]

    def say(self, at, task, pid, what, cpu=0, flags="d..2."):
        """An event, `at` in us."""
        head = f"{task:>16}-{pid:<7d} [{cpu:03d}] {flags} {at // 10**6:5d}.{at % 10**6:06d}: "
        self.lines.append((at, len(self.lines), head + what))

    def switch(self, at, before, after, state="S", cpu=0):
        """Tasks are (name, pid, prio)."""
        what = (
            f"prev_comm={before[0]} prev_pid={before[1]} prev_prio={before[2]} prev_state={state} ==> "
            f"next_comm={after[0]} next_pid={after[1]} next_prio={after[2]}"
        )
        self.say(at, "<idle>" if before[1] == 0 else before[0], before[1], f"sched_switch: {what}", cpu)

    def idle(self, at, enters, cpu=0):
        """The CPU halts, or wakes up."""
        self.say(at, "<idle>", 0, f"cpu_idle: state={1 if enters else 4294967295} cpu_id={cpu}", cpu, "d..1.")

    def probe(self, at, task, function, more="", flags="d..1.", cpu=0):
        """A kernel function begins."""
        start = 0 if self.kernel == "6.1" else 4
        self.say(at, task[0], task[1], f"{function}: ({function}+0x{start}/0x260){more}", cpu, flags)

    def interrupt(self, at, end, task, irq, name, cpu=0):
        """A device's interrupt."""
        self.say(at, task[0], task[1], f"irq_handler_entry: irq={irq} name={name}", cpu, "d.h1.")
        self.say(end, task[0], task[1], f"irq_handler_exit: irq={irq} ret=handled", cpu, "d.h1.")


def trace(kernel="6.12", late="", every=1, count=COUNT):
    """A scene; late: the cause that is planted at byte LATE_ONE. every: bytes that a write has."""
    scene = Scene(kernel)
    me, idle, worker = ("tri gger-3", PROGRAM, 120), ("swapper/0", 0, 120), ("kworker/u8:1", WORKER, 120)
    hog, other = ("hog", HOG, 49), ("make -j [000]", OTHER, 130)
    scene.say(BASE - 900, "bash", 400, f"sched_process_fork: comm=bash pid=400 child_comm=bash child_pid={PROGRAM - 1}")
    scene.say(BASE - 890, "bash", PROGRAM - 1, f"sched_process_fork: comm=bash pid={PROGRAM - 1} child_comm=tri gger-3 child_pid={PROGRAM}")
    scene.switch(BASE - 800, idle, me)
    scene.say(
        BASE - 700,
        *me[:2],
        "sys_write(fd: 1, buf: 55d0, count: 6)" if kernel != "7.2" else 'sys_write(fd: 1, buf: 0x55 (68) "h", count: 6)',
    )
    scene.say(BASE - 690, *me[:2], "sys_write -> 0x6")
    at = BASE - 600
    asleep = at
    free = 0  # when the wire is free, in us
    for number in range(count):
        planted = late if number == LATE_ONE else ""
        extra = LATE if planted else 0
        ask = BASE + number * PERIOD + (extra if planted == "slept" else 0)
        scene.dues.append(ask)
        slack = extra if planted == "slack" else SLACK
        scene.say(
            at,
            *me[:2],
            f"hrtimer_start: hrtimer=00000000b28b5ea5 function=hrtimer_wakeup expires={(ask + slack) * 1000} "
            f"softexpires={ask * 1000} mode=ABS was_armed=0",
            flags="d..1.",
        )
        scene.switch(at + 4, me, idle)
        asleep = at + 9
        scene.idle(asleep, True)
        fires = ask + slack + 3
        runs_before = idle
        if planted in ("busy", "timer"):
            runs_before = hog if planted == "busy" else other
            begin = max(ask - 1000, asleep + 100)
            scene.idle(begin - 6, False)
            scene.switch(begin, idle, runs_before, "R")
        if planted in ("idle", "timer"):
            fires += extra
        now = fires * 1000 - 400
        scene.say(
            fires,
            runs_before[0] if runs_before[1] else "<idle>",
            runs_before[1],
            f"hrtimer_expire_entry: hrtimer=00000000b28b5ea5 function=hrtimer_wakeup now={now}",
            flags="d.h1.",
        )
        scene.say(
            fires + 2,
            runs_before[0] if runs_before[1] else "<idle>",
            runs_before[1],
            f"sched_waking: comm={me[0]} pid={PROGRAM} prio=120 target_cpu=000",
            flags="d.h3.",
        )
        t = fires + 4
        if planted == "irq":
            for each in range(50):
                scene.interrupt(t + 100 * each, t + 100 * each + 100, ("<idle>", 0), 27, "eth0 rx")
            t += extra
        if planted == "softirq":
            scene.say(t, "<idle>", 0, "softirq_entry: vec=3 [action=NET_RX]", flags="..s1.")
            scene.say(t + extra, "<idle>", 0, "softirq_exit: vec=3 [action=NET_RX]", flags="..s1.")
            t += extra
        if planted == "exit":  # the timer's interrupt wakes it, and it stays halted
            t += extra
        if runs_before is idle:
            scene.idle(t, False)
        elif planted == "busy":
            t += extra
        t += 5
        scene.switch(t, runs_before, me, "R")
        if planted == "blocked":
            scene.switch(t + 10, me, idle, "D")
            scene.idle(t + 12, True)
            scene.say(t + 10 + extra - 3, "<idle>", 0, f"sched_waking: comm={me[0]} pid={PROGRAM} prio=120 target_cpu=000", flags="d.h3.")
            scene.idle(t + 10 + extra - 2, False)
            scene.switch(t + 10 + extra, idle, me, "R")
            t += 10 + extra
        if planted == "preempted":
            scene.switch(t + 10, me, hog, "R+")
            scene.switch(t + 10 + extra, hog, me, "S")
            t += 10 + extra
        t += 22 + (extra if planted == "program" else 0)
        text = (
            "sys_write(fd: 3, buf: 7ffe9bfcc8af, count: 1)" if kernel != "7.2" else "sys_write(fd: 3, buf: 0x7ffdece7349f (ff), count: 1)"
        )
        scene.say(t, *me[:2], text, flags="...1.")
        scene.probe(t + 4, me, "uart_write", f" port=0xffff88800546bc00 count={every}", ".....")
        t += 12 + (extra if planted == "write" else 0)
        handed_by = me
        if planted in ("resume", "resume asleep", "worker", "handover busy"):
            pm = "pm_runtime_work"
            place = "req_cpu=8192 cpu=-1" if kernel == "7.2" else "req_cpu=8192 cpu=0"
            scene.say(t, *me[:2], f"workqueue_queue_work: work struct=0000000070112ce9 function={pm} workqueue=pm {place}", flags="d..3.")
            scene.say(t + 1, *me[:2], f"sched_waking: comm={worker[0]} pid={WORKER} prio=120 target_cpu=001", flags="d..5.")
            scene.say(t + 20, *me[:2], "sys_write -> 0x1", flags="...1.")
            began = t
            if planted == "worker":  # it runs already, on the other CPU, and is busy
                scene.switch(began - 50, idle, worker, "R", 1)
                scene.say(
                    began - 40, *worker[:2], "workqueue_execute_start: work struct 00000000aaaa2ce9: function flush_to_ldisc", 1, "....."
                )
                scene.say(
                    began + extra - 2,
                    *worker[:2],
                    "workqueue_execute_end: work struct 00000000aaaa2ce9: function flush_to_ldisc",
                    1,
                    ".....",
                )
                t = began + extra
            elif planted == "handover busy":
                scene.switch(began - 50, idle, hog, "R", 1)
                scene.switch(began + extra, hog, worker, "S", 1)
                t = began + extra + 4
            else:
                scene.switch(began + 12, idle, worker, "R", 1)
                t = began + 15
            scene.say(t, *worker[:2], f"workqueue_execute_start: work struct 0000000070112ce9: function {pm}", 1, ".....")
            scene.say(t + 1, *worker[:2], "rpm_resume: 00:02:0.0 flags-2 cnt-0  dep-0  auto-1 p-0 irq-0 child-0", 1, "d..1.")
            if planted == "resume asleep":  # its CPU is halted meanwhile
                scene.switch(t + 3, worker, idle, "D", 1)
                scene.idle(t + 5, True, 1)
                waking = f"sched_waking: comm={worker[0]} pid={WORKER} prio=120 target_cpu=001"
                scene.say(t + extra - 3, "<idle>", 0, waking, 1, "d.h3.")
                scene.idle(t + extra - 2, False, 1)
                scene.switch(t + extra, idle, worker, "R", 1)
            t += 8 + (extra if planted in ("resume", "resume asleep") else 0)
            scene.probe(t, worker, "serial8250_start_tx", " port=0xffffffff83f0a540", cpu=1)
            scene.say(t + 60, *worker[:2], f"workqueue_execute_end: work struct 0000000070112ce9: function {pm}", 1, ".....")
            scene.switch(t + 70, worker, idle, "I", 1)
            handed_by = worker
        else:
            scene.probe(t, me, "serial8250_start_tx", " port=0xffffffff83f0a540")
        cpu = 1 if handed_by is worker else 0
        # A port that the program does not use.
        scene.probe(t + 1, handed_by, "serial8250_tx_chars", " port=0xffffffff83f0a000", "d.h3.", cpu)
        if planted == "uart storm":
            scene.interrupt(t + 2, t + 2 + extra, handed_by, 27, "eth0 rx", cpu)
            t += 2 + extra
        t += 9
        scene.say(t - 5, *handed_by[:2], "irq_handler_entry: irq=3 name=ttyS1", cpu, "d.h1.")
        scene.probe(t, handed_by, "serial8250_tx_chars", " port=0xffffffff83f0a540", "d.h3.", cpu)
        scene.say(t + 6, *handed_by[:2], "irq_handler_exit: irq=3 ret=handled", cpu, "d.h1.")
        handed = t
        if planted == "lost":
            scene.lines.append((handed - 15, len(scene.lines), "CPU:0 [LOST 120 EVENTS]"))
            scene.blind = True
        if handed_by is me:
            scene.say(handed + 15, *me[:2], "sys_write -> 0x1", flags="...1.")
        start = max(handed + CONSTANT, free) + (extra if planted == "adapter" else 0)
        frame = Fraction(10 * 10**6, BAUD)
        for each in range(every):
            add_edge(scene, start + each * frame)
        free = start + every * frame
        begin = ask if planted != "slept" else ask - extra
        scene.totals.append(start - CONSTANT - begin)
        at = handed + 90
    return scene


def add_edge(scene, at):
    """A start edge at a time in us; the clock map is wrong by up to 80 us."""
    tick = FIRST_TICK + int((at - BASE) * (1 - DRIFT) * TICK_HZ / 10**6)
    error = (len(scene.edges) * 7919) % 121 - 60
    scene.edges.append((tick, int(at * 1000) + error * 1000, 80_000))
