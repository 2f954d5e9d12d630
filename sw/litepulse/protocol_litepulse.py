# SPDX-License-Identifier: BSD-2-Clause
"""pyserial's URL handler for boards, for programs that open ports by serial.serial_for_url().

serial.protocol_handler_packages.append("litepulse")
serial.serial_for_url("litepulse://")                 the one board there is
serial.serial_for_url("litepulse:///dev/litepulse0")  a device of the kernel's driver
serial.serial_for_url("litepulse://port:/dev/ttyUSB1")
serial.serial_for_url("litepulse://sim")              the simulated SoC
"""

from litepulse.serial_port import Serial


def serial_class_for_url(url: str) -> tuple[str, type[Serial]]:
    """(port, class), as pyserial wants it."""
    return url, Serial
