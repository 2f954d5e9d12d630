# SPDX-License-Identifier: BSD-2-Clause
"""What recorded pins did. `pins`: [(tick, pin, level), ...] in order of time, first the levels at the start, all at one tick."""


def changes(pins, name):
    """[(tick, level), ...] of one pin, without its level at the start."""
    mine = [(tick, level) for tick, pin, level in pins if pin == name]
    return mine[1:]


def sampled_edges(pins, names):
    """[(tick, channel, level), ...]: the edges of inputs as a core must stamp them: one tick behind, when they are first sampled."""
    return sorted((tick + 1, channel, level) for channel, name in enumerate(names) for tick, level in changes(pins, name))


def pulses(pins, name, active=1):
    """[(tick, width), ...] of one pin's pulses to the level `active`; one that has not ended is left out."""
    mine = changes(pins, name)
    return [(tick, end - tick) for (tick, level), (end, _) in zip(mine, mine[1:]) if level == active]
