# SPDX-License-Identifier: BSD-2-Clause
"""Interrupt response times that were published, as a summary: the study's own samples are not part of the project.

Tomaž Šolc, "Measuring interrupt response times", parts 1 to 3, 2016 to 2021: from an edge at an input of a board to the edge at an output
with which a program answers it. A row holds ns: the least, the values that 1, 5, 25, 50, 75, 95 and 99 percent of the answers do not exceed
(nearest rank), the most; then how many answers there were, and how many time-outs.

The rows were written by this file from the study's .out files (a sample a line: number, seconds; 9.9e37 is a time-out), rounded to 0.1 ns:

    python -m lab.experiments.p5_published FOLDER
"""

import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from lab.experiments.experiment import by_rank

SOURCE = "Tomaž Šolc, Measuring interrupt response times, 2016 to 2021"
PERCENTS = (1, 5, 25, 50, 75, 95, 99)
TIME_OUT = Fraction(10**37)
# Which of the study's measurements, and what they are called here.
NAMES = {
    "03_rp2040_pio": "RP2040, PIO",
    "04_rp2040_mbed": "RP2040, mbed, interrupt",
    "01_arduino_polling": "Arduino Uno, polling",
    "02_arduino_irq_notim": "Arduino Uno, interrupt, no timer",
    "02_arduino_irq": "Arduino Uno, interrupt",
    "01_rpi_c_kmod": "Raspberry Pi Zero, kernel module",
    "01_rpi_c_kmod_busy": "Raspberry Pi Zero, kernel module, busy",
    "03_rp2040_python": "RP2040, MicroPython",
    "02_rpi_c_mmap": "Raspberry Pi Zero, program, mapped GPIO",
    "02_rpi_python": "Raspberry Pi Zero, Python",
    "02_rpi_c_userspace": "Raspberry Pi Zero, program, sysfs",
    "02_rpi_c_userspace_busy": "Raspberry Pi Zero, program, sysfs, busy",
}
# The same kind of program to measure on one's own machine: (its name, its heading in docs/responders.md).
TO_MEASURE = {
    "03_rp2040_pio": ("answer.py", "rp2040-pio"),
    "01_arduino_polling": ("answer_polling", "arduino-uno"),
    "02_arduino_irq_notim": ("answer_no_timer", "arduino-uno"),
    "02_arduino_irq": ("answer_interrupt", "arduino-uno"),
    "01_rpi_c_kmod": ("answer_gpio.ko", "a-kernel-module"),
    "01_rpi_c_kmod_busy": ("answer_gpio.ko", "a-kernel-module"),
    "02_rpi_c_mmap": ("answer-mmap", "mapped-registers"),
    "02_rpi_python": ("answer_gpiod.py", "libgpiod-in-python"),
    "02_rpi_c_userspace": ("answer-sysfs", "sysfs"),
    "02_rpi_c_userspace_busy": ("answer-sysfs", "sysfs"),
}


@dataclass(frozen=True)
class Published:
    """One measurement; times in s. least, percentiles (of PERCENTS) and most are of the answers that came. `program`: see TO_MEASURE."""

    name: str
    program: tuple | None
    least: float
    percentiles: tuple
    most: float
    answers: int
    time_outs: int


def summarise(text):
    """The row of a file of the study."""
    samples = [Fraction(line.split()[1]) for line in text.splitlines() if line.strip()]
    answers = [sample for sample in samples if sample < TIME_OUT]
    values = [min(answers), *(by_rank(answers, percent) for percent in PERCENTS), max(answers)]
    return (*(float(round(value * 10**9, 1)) for value in values), len(answers), len(samples) - len(answers))


def published():
    """[Published, ...], fastest first."""
    rows = [
        Published(NAMES[name], TO_MEASURE.get(name), row[0] / 1e9, tuple(value / 1e9 for value in row[1:8]), row[8] / 1e9, row[9], row[10])
        for name, row in ROWS.items()
    ]
    return sorted(rows, key=lambda row: row.percentiles[PERCENTS.index(50)])


def main(argv):
    """Prints ROWS from the study's files in a folder."""
    for name in NAMES:
        print(f'    "{name}": {summarise((Path(argv[1]) / f"{name}.out").read_text())},')


ROWS = {
    "03_rp2040_pio": (38.0, 38.4, 38.9, 40.5, 42.6, 44.7, 46.6, 47.5, 48.4, 1000, 0),
    "04_rp2040_mbed": (3775.3, 3775.7, 3776.3, 3777.8, 3779.9, 3781.8, 3783.4, 3783.8, 3784.6, 1000, 0),
    "01_arduino_polling": (6667.5, 6701.4, 6830.1, 7522.9, 8553.3, 9665.7, 10578.8, 10775.8, 14893.7, 500, 0),
    "02_arduino_irq_notim": (8948.5, 8950.1, 8956.8, 8994.1, 9041.7, 9101.6, 9179.6, 9196.2, 9198.6, 1000, 0),
    "02_arduino_irq": (8947.7, 8950.6, 8960.5, 8994.1, 9039.9, 9102.5, 9177.5, 9198.2, 14997.0, 1000, 0),
    "01_rpi_c_kmod": (6036.7, 6843.7, 9027.7, 9766.1, 12921.9, 14243.7, 18180.8, 20870.7, 43778.8, 500, 0),
    "01_rpi_c_kmod_busy": (4761.3, 5619.4, 5877.1, 7069.1, 7823.9, 8280.3, 9417.6, 11845.0, 16119.3, 500, 0),
    "03_rp2040_python": (54232.1, 57034.1, 57915.7, 59920.5, 61115.4, 62376.3, 64387.0, 65602.8, 66795.2, 1000, 0),
    "02_rpi_c_mmap": (81797.7, 90212.9, 111398.9, 124604.7, 129605.0, 136210.5, 154607.1, 258013.5, 290007.0, 999, 1),
    "02_rpi_python": (144014.4, 153595.3, 188727.6, 203631.6, 210423.5, 222400.0, 270404.8, 356009.2, 398411.6, 1000, 0),
    "02_rpi_c_userspace": (182395.3, 200000.0, 247195.3, 264409.4, 271964.8, 279597.8, 340000.0, 423604.5, 676015.5, 999, 1),
    "02_rpi_c_userspace_busy": (195209.5, 197207.1, 199195.1, 204000.0, 215995.3, 218804.4, 236802.2, 315600.0, 327202.4, 999, 1),
}

if __name__ == "__main__":
    main(sys.argv)
