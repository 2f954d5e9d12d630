# SPDX-License-Identifier: BSD-2-Clause
"""Time codes: what a line has to do so that others know the time, and back. docs/recipes/time-codes.md shows how they are used."""

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
