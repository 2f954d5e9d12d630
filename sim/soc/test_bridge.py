# SPDX-License-Identifier: BSD-2-Clause
"""The simulated SoC through its bridge, with LiteX's own client programs: registers, windows, streams, launches."""

import os
import socket
import subprocess
import sys
import time
from fractions import Fraction

import pytest
from litex.tools.litex_client import RemoteClient

from litepulse import regs
from litex_soc import sim_soc
from sim.soc.soc_rig import ALL_EVENTS, CONFIG, CSR, KIND, SOURCE, WINDOW, Simulated, edges, fields, header, pack, read_vcd, register

BIT = 16  # ticks: fast, so that frames take no time


@pytest.fixture
def soc():
    with Simulated("--lockstep", 20000, "--loop-tx-rx") as simulated:
        yield simulated


def identify(bus):
    """What any host reads first."""
    words = bus.read(regs.CSR_BASE, 6)
    assert words[0] == regs.MAGIC
    assert fields(regs.CSRS[1], words[1]) == {"major": regs.VERSION_MAJOR, "minor": regs.VERSION_MINOR}
    assert fields(regs.CSRS[2], words[2]) == {
        "samples": 1,
        "inputs": 4,
        "event_depth": 8,
        "receive_depth": 9,
        "transmit_depth": 9,
        "launch_depth": 6,
        "interrupts": 1,
        "simulated": 1,
        "lin_depth": 6,
        "port": 1,
        "sequence": 1,
    }
    assert Fraction(words[3], words[4]) == sim_soc.PULSE_HZ
    return words[5]


def test_identification(soc):
    assert identify(soc.bus) == 0
    soc.bus.write(CSR["session"], 0xC0FE)
    assert identify(soc.bus) == 0xC0FE


def test_reset_values(soc):
    # Those that tell the state of the core depend on it: everything is free, nothing is going on, of the pins rx alone is at 1.
    geometry = register(regs.CSRS, "id_geometry")
    state = {"id_geometry": geometry.reset | pack(geometry, simulated=1, port=1, sequence=1), "free": 512 | 64 << 16}
    state |= {"status": pack(register(regs.CSRS, "status"), tx_idle=1, queue_idle=1, levels=1 << 4)}
    state["ev_status"] = state["ev_pending"] = pack(register(regs.CSRS, "ev_status"), transmit=1, launch=1, drained=1)
    for r in regs.CSRS:
        assert soc.bus.read(CSR[r.name]) == state.get(r.name, r.reset), r.name


def test_storage_bits(soc):
    """Each CSR that can be written keeps exactly its fields' bits."""
    widths = {"irq_level": 9 | 10 << 8, "irq_send": 10 | 7 << 8, "irq_event_time": 8 | 8 << 8, "irq_receive_time": 8 | 8 << 8}
    for name, bits in (("session", 32), ("irq_unit", 2)):
        for word in (0xA5A51233, 0x5A5AEDCC):
            soc.bus.write(CSR[name], word)
            assert soc.bus.read(CSR[name]) == word & (1 << bits) - 1, name
    for name, width in widths.items():
        low, high = (1 << (width & 0xFF)) - 1, (1 << (width >> 8)) - 1
        for word in (low | high << 16, 1 | high << 16, low | 1 << 16, 0):
            soc.bus.write(CSR[name], word)
            assert soc.bus.read(CSR[name]) & (low | high << 16) == word, name


def test_remote_client(soc):
    """litex_server in front of the simulator, RemoteClient behind it: as with a board."""
    soc.bus.close()
    soc.bus = None
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "litex.tools.litex_server",
            "--uart",
            "--bind-port",
            str(port),
            "--uart-port",
            f"socket://127.0.0.1:{soc.info['tcp']}",
        ],
        stdout=subprocess.DEVNULL,
    )
    client = RemoteClient(host="127.0.0.1", port=port)
    deadline = time.monotonic() + 60
    try:
        while True:
            try:
                client.open()
                break
            except ConnectionRefusedError:
                assert server.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)
        assert client.read(CSR["id_magic"]) == regs.MAGIC
        client.write(CSR["session"], [77])
        assert client.read(CSR["session"]) == 77
        assert client.read(regs.CSR_BASE, 14)[5] == 77
    finally:
        client.close()
        server.kill()
        server.wait()


def test_pseudo_terminal(tmp_path):
    link = tmp_path / "lp"
    with Simulated("--lockstep", 20000, "--pty", link, tcp=False, connect=False) as soc:
        assert os.readlink(link) == soc.info["pty"]
        for session in (0, 5, 6):  # three clients, one after the other
            soc.bus = soc.connect(str(link))
            assert identify(soc.bus) == session
            soc.bus.write(CSR["session"], max(5, session + 1))
            assert soc.bus.read(WINDOW["EVENTS"], 255)[0] & 0xFFFF == 0
            soc.bus.close()
            soc.bus = None
            time.sleep(0.05)  # the simulator looks every 20 ms
        status, errors = soc.close()
        assert (status, errors) == (0, "") and not link.is_symlink()


def test_configuration_words(soc):
    """Written, read back, counted; a word that is refused changes no count but `refused`."""
    start = soc.csr("configs")
    assert start == {"applied": 0, "refused": 0}
    words = {r.name: (0x01000193 * (r.index + 1)) & 0xFFFFFFFF for r in regs.CONFIG if r.name.startswith("train_") and not r.fields}
    assert len(words) > 5
    after = soc.configure(**words)
    assert after == {"applied": len(words), "refused": 0}
    for name, word in words.items():
        assert soc.bus.read(CONFIG[name]) == word, name
    # 2 ticks per bit is less than the core can do.
    after = soc.configure(profile1_format=pack(register(regs.CONFIG, "profile1_format"), data_bits=3), profile1_period=2 * 256)
    assert after == {"applied": len(words) + 1, "refused": 1}
    after = soc.configure(profile1_format=pack(register(regs.CONFIG, "profile1_format"), data_bits=3), profile1_period=4 * 256)
    assert after == {"applied": len(words) + 3, "refused": 1}


def test_launches_commit(soc, tmp_path):
    """Five launches are counted, leave at their ticks, and come back as bytes; the queue takes 64 and refuses the 65th."""
    soc.profile(0, BIT)
    soc.configure(line=pack(register(regs.CONFIG, "line"), rx_enable=1), event_mask=ALL_EVENTS)
    base = soc.now() + 200_000  # each command lets it run on for 20,000
    for n in range(5):
        soc.launch(base + 500 * n, 0x41 + n, tag=n)
    assert soc.csr("launches") == {"accepted": 5, "refused": 0}
    found = soc.wait_events(lambda seen: sum(e[2] == KIND["TX"] for e in seen) == 5)
    tx = [e for e in found if e[2] == KIND["TX"]]
    assert [e[0] for e in tx] == [base + 500 * n for n in range(5)]
    assert [e[3] for e in tx] == [SOURCE["QUEUE"]] * 5
    assert [e[5] for e in tx] == [n << 16 | 0x41 + n for n in range(5)]
    while soc.header("RECEIVE")[0] < 5:
        pass
    words = soc.bus.read(WINDOW["RECEIVE"], 4 + 2 * 5)
    _, position, lost, _ = header(words)
    assert (position, lost) == (0, 0)
    for n in range(5):
        low, info = words[4 + 2 * n : 6 + 2 * n]
        byte = fields(regs.RECEIVE_RECORD[1], info)
        assert low | byte["tick_47_32"] << 32 == base + 500 * n + regs.LOOPBACK_TICKS
        assert byte == {**dict.fromkeys(byte, 0), "data": 0x41 + n, "own": 1, "tick_47_32": byte["tick_47_32"]}
    assert soc.csr("free")["launch"] == 64
    far = soc.now() + 10**12
    for n in range(66):
        soc.launch(far + n, n)
    assert soc.csr("launches") == {"accepted": 5 + 64, "refused": 2}
    assert soc.csr("free")["launch"] == 0 and not soc.csr("status")["queue_idle"]
    flush = pack(register(regs.CONFIG, "command"), flush_queue=1)
    soc.configure(command=flush)
    applied = soc.wait_events(lambda seen: any(e[2] == KIND["APPLIED"] for e in seen))[-1]
    assert applied[2:4] == (KIND["APPLIED"], SOURCE["CONTROL"]) and applied[5] == 64 << 16 | flush
    assert soc.csr("free")["launch"] == 64 and soc.csr("status")["queue_idle"]


def test_one_burst_has_header_and_records(soc):
    """62 events and their header are one burst of 252 words; beyond `ready` all is 0; the seam of two bursts loses nothing."""
    soc.profile(0, BIT)
    soc.configure(event_mask=pack(register(regs.CONFIG, "event_mask"), edge=1), capture_edges=1 << 4 | 1 << 20)
    base = soc.now() + 300_000
    for n in range(10):
        soc.launch(base + 200 * n, 0x55)  # 10 edges each
    deadline = time.monotonic() + 30
    while soc.header("EVENTS")[0] < 100:
        assert time.monotonic() < deadline
    words = soc.bus.read(WINDOW["EVENTS"], 255)
    ready, position, lost, tick = header(words)
    assert (ready, position, lost) == (100, 0, 0) and tick >= base + 2000
    found = [soc.events() for _ in range(3)]
    assert [len(part) for part in found] == [62, 38, 0]
    flat = [e for part in found for e in part]
    assert [e[1] for e in flat] == list(range(100))
    assert [e[0] for e in flat] == [base + 200 * n + BIT * k + regs.LOOPBACK_TICKS for n in range(10) for k in range(10)]
    assert header(soc.bus.read(WINDOW["EVENTS"], 4))[:3] == (0, 100, 0)
    assert soc.bus.read(WINDOW["EVENTS"] + 16, 251) == [0] * 251


def test_acknowledgement_guard(soc):
    """A repeated acknowledgement frees nothing; one without guard does; one of too many does nothing."""
    soc.configure(event_mask=pack(register(regs.CONFIG, "event_mask"), snapshot=1))
    snapshot = pack(register(regs.CONFIG, "command"), snapshot=1)
    for _ in range(6):
        soc.configure(command=snapshot)
    assert soc.header("EVENTS")[:2] == (6, 0)
    guarded = 2 | 1 << 31
    for expected in (4, 4, 4):
        soc.bus.write(WINDOW["EVENTS"], guarded)  # position 0: right once
        assert soc.header("EVENTS")[0] == expected
    assert soc.header("EVENTS")[1] == 2
    soc.bus.write(WINDOW["EVENTS"], 1 | 3 << 16 | 1 << 31)  # a position of the future
    assert soc.header("EVENTS")[:2] == (4, 2)
    soc.bus.write(WINDOW["EVENTS"], 5)  # more than there are
    assert soc.header("EVENTS")[:2] == (4, 2)
    soc.bus.write(WINDOW["EVENTS"], 1)  # without guard
    assert soc.header("EVENTS")[:2] == (3, 3)
    words = soc.bus.read(WINDOW["EVENTS"], 4 + 4 * 3)
    assert [fields(regs.EVENT_RECORD[2], words[4 + 4 * i + 2])["seq"] for i in range(3)] == [3, 4, 5]


def test_reading_has_no_side_effect(soc):
    soc.configure(event_mask=ALL_EVENTS, command=pack(register(regs.CONFIG, "command"), snapshot=1))
    first = soc.bus.read(WINDOW["EVENTS"], 40)
    for r in regs.CSRS:
        soc.bus.read(CSR[r.name])
    again = soc.bus.read(WINDOW["EVENTS"], 40)
    assert first[0] & 0xFFFF and first[0] == again[0] and first[4:] == again[4:]


def test_best_effort_bytes(soc):
    """One to four bytes a write, in order; what does not fit is dropped and counted."""
    soc.profile(0, BIT)
    soc.configure(line=pack(register(regs.CONFIG, "line"), rx_enable=1, hold_tty=1))
    part = regs.TX_PART_SIZE
    soc.bus.write(WINDOW["TX"], 0xAAAAAA01)
    soc.bus.write(WINDOW["TX"] + part, 0xAAAA0302)
    soc.bus.write(WINDOW["TX"] + 2 * part, 0xAA060504)
    soc.bus.write(WINDOW["TX"] + 3 * part + 8, 0x0A090807)
    taken = 512 - soc.csr("free")["transmit"]
    assert taken in range(8, 11)  # some may wait beyond the FIFO
    soc.configure(line=pack(register(regs.CONFIG, "line"), rx_enable=1))
    deadline = time.monotonic() + 30
    while soc.header("RECEIVE")[0] < 10:
        assert time.monotonic() < deadline
    words = soc.bus.read(WINDOW["RECEIVE"], 24)[4:]
    assert [word & 0x1FF for word in words[1::2]] == list(range(1, 11))
    assert soc.csr("dropped") == {"transmit": 0}
    soc.configure(line=pack(register(regs.CONFIG, "line"), hold_tty=1))
    for _ in range(150):
        soc.bus.write(WINDOW["TX"] + 3 * part, [0x44332211])
    # 513 fit: one waits in front of the line. Of a write that does not fit, no byte is taken.
    assert soc.csr("dropped")["transmit"] == 600 - 512 and soc.csr("free")["transmit"] == 1


def test_reconnect_keeps_everything(soc):
    """A client that goes loses nothing, and what it wrote last is carried out."""
    soc.configure(event_mask=pack(register(regs.CONFIG, "event_mask"), snapshot=1))
    soc.bus.write(CSR["session"], 9)
    soc.bus.write(CONFIG["command"], pack(register(regs.CONFIG, "command"), snapshot=1))
    soc.bus.close()
    soc.bus = soc.connect()
    assert identify(soc.bus) == 9
    assert soc.csr("configs") == {"applied": 2, "refused": 0}
    assert [e[2] for e in soc.events()] == [KIND["SNAPSHOT"]]


def test_broken_off_command(soc):
    """A client that dies within a command leaves no trace for the next."""
    soc.bus.port._socket.sendall(bytes([1, 8, 0, 0, 0x20, 5, 1, 2, 3]))
    soc.bus.close()
    soc.bus = soc.connect()
    assert identify(soc.bus) == 0


def test_one_client_at_a_time(soc):
    """A second client is turned away at once and disturbs nothing."""
    assert identify(soc.bus) == 0
    with socket.create_connection(("127.0.0.1", soc.info["tcp"]), 5) as second:
        second.settimeout(5)
        assert second.recv(16) == b""
    assert identify(soc.bus) == 0


def test_interrupts(tmp_path):
    """Each source by itself: pending shows it, the interrupt follows `enable`, and the level of the line is in the VCD."""
    vcd = tmp_path / "pins.vcd"
    source = {f.name: 1 << f.offset for f in register(regs.CSRS, "ev_enable").fields}
    with Simulated("--lockstep", 20000, "--loop-tx-rx", "--vcd", vcd) as soc:

        def pending():
            return soc.bus.read(CSR["ev_pending"])

        soc.profile(0, BIT)
        soc.configure(line=pack(register(regs.CONFIG, "line"), rx_enable=1), event_mask=ALL_EVENTS)
        soc.events()
        assert pending() == source["transmit"] | source["launch"] | source["drained"]

        soc.bus.write(CSR["irq_level"], 2 | 1 << 16)
        soc.bus.write(CSR["ev_enable"], source["event"])
        soc.configure(command=pack(register(regs.CONFIG, "command"), snapshot=1))
        found = soc.header("EVENTS")[0]
        assert found == 2 and pending() & source["event"]  # APPLIED and SNAPSHOT
        soc.events()
        assert not pending() & source["event"]

        soc.bus.write(CSR["ev_enable"], source["receive"])
        soc.bus.write(WINDOW["TX"], 0x5A)
        deadline = time.monotonic() + 30
        while not pending() & source["receive"]:
            assert time.monotonic() < deadline
        soc.bus.write(WINDOW["RECEIVE"], 1)
        assert not pending() & source["receive"]

        soc.bus.write(CSR["ev_enable"], source["fault"])
        soc.launch(1, 0x55)  # long past
        deadline = time.monotonic() + 30
        while not pending() & source["fault"]:
            assert time.monotonic() < deadline
        assert pending() & source["fault"]
        soc.bus.write(CSR["ev_pending"], source["fault"])
        assert not pending() & source["fault"]

        soc.bus.write(CSR["ev_enable"], 0)
        soc.configure(line=pack(register(regs.CONFIG, "line"), hold_tty=1))
        soc.bus.write(WINDOW["TX"] + 3 * regs.TX_PART_SIZE, [0] * 4)
        assert not pending() & (source["transmit"] | source["drained"])
        soc.bus.write(CSR["irq_send"], 16 | 62 << 16)
        assert pending() & source["transmit"] and pending() & source["launch"]
        far = soc.now() + 10**9
        for _ in range(3):
            soc.launch(far, 0)
        assert not pending() & source["launch"]
        status, _ = soc.close()
    assert status == 0
    line = edges(read_vcd(vcd)[0]["irq"])
    assert [level for _, level in line] == [1, 0, 1, 0, 1, 0], line
