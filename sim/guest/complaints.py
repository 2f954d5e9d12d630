# SPDX-License-Identifier: BSD-2-Clause
"""The lines of a kernel's log that report a fault, for all guests: User-mode Linux, the PC in QEMU, Linux on the simulated SoC.

A KUnit case passes whatever KASAN reports meanwhile, and a shell whose kernel complained exits with 0: the log has to be read.
"""

import re

# a program prints it, from kmemleak's list: it counts whichever program wrote the line
LEAK = re.compile(r"unreferenced object\b")
# (pattern, lines that this pattern alone catches, ...); sim/house/test_complaints.py holds them to it.
COMPLAINTS = (
    (LEAK.pattern, "unreferenced object 0x00000000626b5c00 (size 64):", "unreferenced object (percpu) 0x607f2d0 (size 8):"),
    (r"kmemleak: \d+ new", "kmemleak: 1 new suspected memory leaks (see /sys/kernel/debug/kmemleak)"),
    (
        "BUG:",
        "BUG: KASAN: slab-use-after-free in litepulse_take_events+0x1c/0x2e0 [litepulse]",
        "BUG: KCSAN: data-race in litepulse_take_events [litepulse] / n_tty_read",
        "BUG: scheduling while atomic: insmod/31/0x00000002",
        "BUG: sleeping function called from invalid context at kernel/locking/mutex.c:580",
        "BUG: kernel NULL pointer dereference, address: 0000000000000008",
        "ODEBUG: free active (active state 0) object: 0000000062b3a000 object type: timer_list hint: control_timer+0x0/0x8",
        "watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [insmod:31]",
    ),
    ("kernel BUG at", "kernel BUG at lib/list_debug.c:59!"),
    (
        "WARNING:",
        "WARNING: CPU: 0 PID: 31 at drivers/base/core.c:2509 device_release+0x8c/0x98",
        "WARNING: drivers/base/core.c:2509 at device_release+0x8c/0x98, CPU#0: insmod/31",
        "WARNING: inconsistent lock state",
        "WARNING: suspicious RCU usage",
        "WARNING: bad unlock balance detected!",
        "WARNING: held lock freed!",
    ),
    (
        "INFO:",
        "INFO: task insmod:31 blocked for more than 120 seconds.",
        "INFO: trying to register non-static key.",
        "rcu: INFO: rcu_sched self-detected stall on CPU",
    ),
    (r"[Pp]ossible .*\b(lock|deadlock|recursive)", " Possible unsafe locking scenario:", " Possible interrupt unsafe locking scenario:"),
    ("DEBUG_LOCKS_WARN", "DEBUG_LOCKS_WARN_ON(lock->magic != lock)"),
    ("UBSAN:", "UBSAN: shift-out-of-bounds in drivers/tty/serial/litepulse_tty.c:171:12"),
    ("refcount_t:", "refcount_t: underflow; use-after-free."),
    ("list_(add|del) corruption", "list_del corruption. prev->next should be 0000000062b3a008, but was 0000000000000000."),
    ("Oops", "Oops: 0002 [#1] PREEMPT SMP NOPTI", "Oops [#1]"),
    ("Unable to handle", "Unable to handle kernel paging request at virtual address dead000000000122"),
    ("general protection", "general protection fault, probably for non-canonical address 0xdead000000000122: 0000 [#1] PREEMPT SMP"),
    (
        "Kernel panic",
        "Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b",
        "Kernel panic - not syncing: stack-protector: Kernel stack is corrupted in: litepulse_probe+0x1f4/0x200",
    ),
    ("Call Trace:", "Call Trace:"),
    ("unexpected IRQ trap", "unexpected IRQ trap at vector 2a"),
    ("nobody cared", 'irq 9: nobody cared (try booting with the "irqpoll" option)'),
    ("Unknown symbol", "litepulse_uartbone: Unknown symbol litepulse_take_events (err -2)"),
    ("version magic", "litepulse: version magic '6.1.0-37-amd64 SMP mod_unload ' should be '6.12.41+deb13-amd64 SMP mod_unload '"),
    ("disagrees about version", "litepulse_uartbone: disagrees about version of symbol litepulse_take_events"),
)
COMPLAINT = re.compile("|".join(pattern for pattern, *_ in COMPLAINTS))
