# SPDX-License-Identifier: BSD-2-Clause
"""What recorded pins did. `pins`: [(tick, pin, level), ...] in order of time, first the levels at the start, all at one tick."""

from itertools import groupby


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


def codes(pins):
    """[(tick, code), ...] of the eight pins of the marker port, from its first code that is not 0 on."""
    found, code = [], 0
    for tick, changed in groupby((change for change in pins if change[1].startswith("port")), key=lambda change: change[0]):
        before = code
        for _, pin, level in changed:
            bit = 1 << int(pin.removeprefix("port"))
            code = code | bit if level else code & ~bit
        if code != before:
            found.append((tick, code))
    return found
