# SPDX-License-Identifier: BSD-2-Clause
"""The five experiments, in order."""

from lab.experiments.p1_pulses import P1
from lab.experiments.p2_interrupts import P2
from lab.experiments.p3_lin import P3
from lab.experiments.p4_cycle import P4
from lab.experiments.p5_response import P5

EXPERIMENTS = (P1, P2, P3, P4, P5)
