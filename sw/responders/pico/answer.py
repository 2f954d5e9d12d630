# SPDX-License-Identifier: BSD-2-Clause
"""A pin follows another one, by a state machine of an RP2040 or RP2350, in MicroPython: the programs of answer.pio."""

import rp2
from machine import Pin

IN, OUT = 14, 15  # GP14 and GP15


@rp2.asm_pio(set_init=rp2.PIO.OUT_LOW)
def answer():
    """The published one."""
    wrap_target()
    wait(1, pin, 0)
    set(pins, 1)
    wait(0, pin, 0)
    set(pins, 0)
    wrap()


@rp2.asm_pio(out_init=rp2.PIO.OUT_LOW)
def follow():
    """The shortest: it copies in every cycle."""
    wrap_target()
    mov(pins, pins)
    wrap()


# The other one: rp2.StateMachine(0, follow, in_base=Pin(IN, Pin.IN), out_base=Pin(OUT))
state_machine = rp2.StateMachine(0, answer, in_base=Pin(IN, Pin.IN), set_base=Pin(OUT))
state_machine.active(1)
