# SPDX-License-Identifier: BSD-2-Clause
"""Time codes: what a line has to do so that others know the time, and back. docs/recipes/time-codes.md shows how they are used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from litepulse.codes.barcode import LAYOUTS, BarcodeDecoder, Layout
    from litepulse.codes.dcf77 import DcfDecoder
    from litepulse.codes.frames import Change, Decoder, Fault, Fit, Found, Frame, decode, pulses
    from litepulse.codes.harp import HarpDecoder
    from litepulse.codes.irig_b import IrigDecoder
    from litepulse.codes.nmea import NmeaDecoder
    from litepulse.codes.scale import SCALES, TAI, UTC, Civil, Scale
    from litepulse.codes.uart import Uart

__all__ = [
    "LAYOUTS",
    "SCALES",
    "TAI",
    "UTC",
    "BarcodeDecoder",
    "Change",
    "Civil",
    "DcfDecoder",
    "Decoder",
    "Fault",
    "Fit",
    "Found",
    "Frame",
    "HarpDecoder",
    "IrigDecoder",
    "Layout",
    "NmeaDecoder",
    "Scale",
    "Uart",
    "decode",
    "pulses",
]

# Loaded when they are used: each start of the command reads `scale`, and no decoder.
_MODULES = {
    "BarcodeDecoder": "barcode",
    "Change": "frames",
    "Civil": "scale",
    "DcfDecoder": "dcf77",
    "Decoder": "frames",
    "Fault": "frames",
    "Fit": "frames",
    "Found": "frames",
    "Frame": "frames",
    "HarpDecoder": "harp",
    "IrigDecoder": "irig_b",
    "LAYOUTS": "barcode",
    "Layout": "barcode",
    "NmeaDecoder": "nmea",
    "SCALES": "scale",
    "Scale": "scale",
    "TAI": "scale",
    "UTC": "scale",
    "Uart": "uart",
    "decode": "frames",
    "pulses": "frames",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'litepulse.codes' has no attribute '{name}'")
    value: object = getattr(import_module(f"litepulse.codes.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
