# SPDX-License-Identifier: BSD-2-Clause
"""The verbs of the command, a file each: add() puts it on the command line, run() does it. Text becomes numbers here, once."""

# In the order of the help, with what each does. A verb is loaded only when it is named: all of them take a quarter of a second.
VERBS = {
    "info": "tell what device this is",
    "train": "start a pulse train, follow it and compare it with the exact ideal",
    "stop": "stop whatever runs: train, timed launches, responder; also what another process runs",
    "adjust": "change period or phase of the running train without a glitch",
    "capture": "show edges, and bytes, with their ticks",
    "lsl": "offer edges, and bytes, to recorders of the Lab Streaming Layer, with their times",
    "send": "send a file's bytes as timed launches",
    "sequence": "run the launches and waits of a file, of any length, refilling the board's queue",
    "replay": "send what was captured once more: the pulses of a channel, with their distances, to the tick",
    "mark": "show a code on the eight pins of the marker port at a tick",
    "align": "compare the times of several boards by edges of one wire: offset and rate",
    "respond": "answer triggers in hardware, a fixed time later",
    "latency": "measure how long something takes to respond, to the tick",
    "certify": "measure another serial port by a fixed procedure, or the board's own port: one page and one JSON",
    "explain": "say why edges of another serial port are late, by the kernel's trace: each cause with its share",
    "clock": "send a time code by the PC's clock, or read one: Harp, IRIG-B, barcodes, NMEA, DCF77",
    "lin": "LIN bus: monitor, master, slave, frames with faults",
    "tty": "a terminal (pty) for minicom, pyserial or C programs, where there is no kernel driver",
    "serve": "a terminal server: telnet with RFC 2217, plain TCP, and the time of each byte; or be a device that other programs know",
    "attach": "make a board on a serial port a device of the kernel, until detached or unplugged",
    "detach": "give a serial port back that was attached",
    "flash": "write a release's bitstream to a board, by the program for that board",
    "first-light": "try a new board from its plug to its pins, step by step: one page and one JSON to send",
    "doctor": "check all there is between a board on a cable and its devices",
    "plot": "plot a recorded result",
    "completion": "print a script that lets a shell complete verbs and options",
}
