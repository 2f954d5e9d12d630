# SPDX-License-Identifier: BSD-2-Clause
"""cocotb: checked frames at the pins of the serial bridge, whole and broken. framing.heard() says
what a broken one may do."""

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

from sim.bridge_frames import (
    LONGEST,
    MARKER,
    MARKERS,
    PACKED,
    READ_FIXED,
    WRITE_FIXED,
    answer,
    frame,
    heard,
    pack,
    read,
    spoilt,
    words_of,
    write,
)
from sim.soc.tb_serial_bridge import BASE, FALLBACK, RAM, RATE, RATES, SYS_HZ, TIMEOUT, UNIT, Host, cycle, word_of

SILENCE = 2 * UNIT
FAST = SYS_HZ // 8
NOWHERE = 0x2000_0000  # nothing on the bus answers there


class Framed(Host):
    """A host that speaks in frames."""

    number = 0x80

    def next(self):
        """The number of a frame that is no repetition."""
        self.number = self.number + 1 & 255
        return self.number

    async def ask(self, data, words):
        """Sends bytes and takes the answer that a frame that reads `words` words gets; the words.
        All is checked."""
        if data[0] == PACKED:
            return words_of(await self.heard(data, 5 * words + 3), data[1], words)
        got = await self.heard(data, 4 * words + 3)
        assert len(got) == 4 * words + 3, f"{len(got)} bytes came: {got.hex()}"
        return words_of(got, data[1])

    async def heard(self, data, most):
        """Sends bytes; those that come then, up to `most`."""
        self.forget()
        coming = cocotb.start_soon(self.receive(most, patience=10 * len(data) + 200))
        await self.send(data)
        return await coming

    async def frame(self, *commands, words=0, marker=MARKER):
        """A frame with the next number. Returns the words read."""
        return await self.ask(frame(self.next(), *commands, marker=marker), words)

    async def raise_to(self, baud):
        """Sets the rate in a frame, which it returns. Host and bridge have the new one when the answer comes."""
        self.rates.clear()
        self.forget()
        data = frame(self.next(), write(RAM, 5), write(RATE, word_of(baud)))
        self.before = self.rate()
        await self.send(data)
        self.baud = baud
        assert words_of(await self.receive(3, patience=400), self.number) == []
        self.before = 0
        assert self.rates == [(self.acks[-1] + 2, word_of(baud))] and len(self.acks) == 2
        return data

    async def ignored(self, data):
        """These bytes do nothing: no bus cycle, no answer."""
        self.forget()
        await self.send(data)
        await ClockCycles(self.dut.sys_clk, 40)
        assert not self.acks and not self.edges, (data.hex(), self.acks, self.edges[:4])

    async def silence(self, cycles=SILENCE + 20):
        """So that it hears again: nothing may come meanwhile either."""
        await ClockCycles(self.dut.sys_clk, cycles)
        assert not self.edges

    async def other_write(self, address, word):
        """By another master of the bus."""
        self.dut.other_adr.value, self.dut.other_dat_w.value, self.dut.other_stb.value = address // 4, word, 1
        await RisingEdge(self.dut.other_ack)
        await FallingEdge(self.dut.other_ack)
        self.dut.other_stb.value = 0

    def words(self, count):
        return [self.random.getrandbits(32) for _ in range(count)]


async def started(dut, baud=FAST):
    """A host whose bridge is locked, at that rate."""
    host = Framed(dut)
    await host.start()
    if baud != BASE:
        await host.set_rate(baud)
    assert await host.frame(read(RATE), words=1) == [host.as_read(word_of(baud))]
    return host


@cocotb.test()
async def carried_out(dut):
    """From the first one on, after plain commands: writes, reads, both, all four codes, the shortest and the longest."""
    host = Framed(dut)
    await host.start()
    await host.check_words()
    assert await host.frame(read(RATE, 2), words=2) == [host.as_read(word_of(BASE)), 3]
    a, b, c, d = host.words(4)
    assert await host.frame(write(RAM, a)) == [] and len(host.acks) == 1
    assert await host.frame(read(RAM), words=1) == [a]
    assert await host.frame(write(RAM, b, c), read(RAM, 2), write(RAM + 4, d), read(RAM, 2), words=4) == [b, c, b, d]
    assert await host.frame(write(RAM + 8, a, b, c, code=WRITE_FIXED), read(RAM + 8, 2, code=READ_FIXED), words=2) == [c, c]
    await host.raise_to(FAST)
    longest = host.words(61)
    assert len(write(RAM, *longest) + read(RAM)) == LONGEST
    assert await host.frame(write(RAM, *longest), read(RAM), words=1) == longest[:1]
    assert await host.frame(read(RAM, 61), words=61) == longest
    assert len(read(RAM) * 42) <= LONGEST
    assert await host.frame(*(read(RAM + 4 * (i * 7 % 61)) for i in range(42)), words=42) == [longest[i * 7 % 61] for i in range(42)]


def alike(host, count, before=(0, 0, 0, 0)):
    """`count` words whose bytes often are those of 4 words before."""
    words = list(before)
    while len(words) < count + len(before):
        words.append(words[-4] ^ host.random.getrandbits(32) & host.random.choice((0, 0, 0xFF, 0xFF00, 0xFFFF, 0xFF0000FF, 0xFFFFFFFF)))
    return words[len(before) :]


@cocotb.test()
async def packed(dut):
    """Answers of many lengths, alike and not, are byte for byte as docs/bridge.md says; twice the same; plain ones between them."""
    host = await started(dut)
    held = []
    for start in range(0, 120, 60):
        held += alike(host, 60, held[-4:] or (0, 0, 0, 0))
        await host.frame(write(RAM + 4 * start, *held[start:]))
    events = [word for n in range(63) for word in (1000 + 111 * n, 0, n << 16 | 0x300, n & 1)]

    async def check(data, words):
        assert await host.heard(data, 5 * len(words) + 3) == answer(data, words), data.hex()

    for count in (*range(1, 20), 61, 119, 120):
        data = frame(host.next(), read(RAM, count), marker=PACKED)
        await check(data, held[:count])
        await check(data, held[:count])
        if count % 4 == 0:
            await check(frame(host.next(), read(RAM, count)), held[:count])
    # Commands of all sorts: their answers are one.
    await check(
        frame(host.next(), read(RAM + 8), read(RAM, 2), read(RAM, 3, READ_FIXED), read(RAM, 7), marker=PACKED),
        [held[2], *held[:2], *held[:1] * 3, *held[:7]],
    )
    a, b, c = host.words(3)
    await check(
        frame(host.next(), write(RAM, a, b, c), read(RAM, 3), write(RAM + 4, a), read(RAM, 6), marker=PACKED),
        [a, b, c, a, a, c, *held[3:6]],
    )
    await check(frame(host.next(), write(RAM, a), marker=PACKED), [])
    # Nothing changes, everything does, and what events look like.
    for words in ([7] * 60, [(0x01010101 * n ^ 0x5AA5C33C * (n // 4)) & 0xFFFFFFFF for n in range(60)], events[:60]):
        await host.frame(write(RAM, *words))
        await check(frame(host.next(), read(RAM, 60), marker=PACKED), words)
    # The example of docs/bridge.md: 6 bytes for the second event.
    two = [0x000317AC, 0, 0x00012400, 0x00100010, 0x00032217, 0, 0x00022400, 0x00000010]
    await host.frame(write(RAM, *two))
    await check(data := frame(host.next(), read(RAM, 8), marker=PACKED), two)
    assert answer(data, two)[:-3] == answer(data, two[:4])[:-3] + bytes.fromhex("0c2217220200")


@cocotb.test()
async def cannot_pack(dut):
    """A bridge that was built without the packer says so. The marker of packed answers begins nothing there; other frames are as ever."""
    host = await started(dut)
    a, b = host.words(2)
    assert await host.frame(write(RAM, a, b), read(RATE, 2), words=2) == [host.as_read(word_of(FAST)), 1]
    await host.ignored(frame(host.next(), write(RAM, 5), read(RAM, 2), marker=PACKED))
    await host.silence()
    assert await host.frame(read(RAM, 2), words=2) == [a, b]


@cocotb.test()
async def packed_for_random(dut):
    """Any commands in frames of both kinds, writes once, reads as the memory is then: to the byte, whatever was in the frame before."""
    host = await started(dut)
    memory = alike(host, 60)
    await host.frame(write(RAM, *memory))
    for _ in range(60):
        commands, words = [], []
        while len(b"".join(commands)) < host.random.randrange(1, 200):
            at = host.random.randrange(59)
            count = host.random.randrange(1, min(60 - at, 24) + 1)
            if host.random.random() < 0.3 and len(b"".join(commands)) + 4 * count < 220:
                new = alike(host, count, memory[at - 4 : at] if at >= 4 else (0, 0, 0, 0))
                memory[at : at + count] = new
                commands.append(write(RAM + 4 * at, *new))
            elif len(words) < 150:
                commands.append(read(RAM + 4 * at, count))
                words += memory[at : at + count]
        data = frame(host.next(), *commands, marker=host.random.choice((PACKED, PACKED, MARKER)))
        assert await host.heard(data, 5 * len(words) + 3) == answer(data, words), data.hex()
    # One that is broken off leaves nothing behind, nor does one with a wrong CRC.
    for count in (1, 2, 3, 5):
        host.forget()
        await host.send(frame(host.next(), read(RAM, count), read(NOWHERE), marker=PACKED))
        await ClockCycles(dut.sys_clk, TIMEOUT + 9 * 160 + 2 * SILENCE)
        await host.ignored(spoilt(frame(host.next(), read(RAM), marker=PACKED)))
        await host.silence()
        for marker in MARKERS:
            data = frame(host.next(), read(RAM, 9), marker=marker)
            assert await host.heard(data, 48) == answer(data, memory[:9])


@cocotb.test()
async def packed_and_rate(dut):
    """A rate that a frame sets acts between two bytes: what was read before is sent whole at one rate, or at the other."""
    host = await started(dut, BASE)
    words = alike(host, 8)
    for count in range(1, 7):
        await host.frame(write(RAM, *words))
        host.rates.clear()
        host.forget()
        data = frame(host.next(), read(RAM, count), write(RATE, word_of(FAST)), marker=PACKED)
        expected = answer(data, words[:count])
        early = len(pack(b"".join(word.to_bytes(4, "big") for word in words[: count // 2 * 2])))
        coming = cocotb.start_soon(host.receive(early, patience=10 * len(data) + 200))
        await host.send(data)
        assert await coming == expected[:early]
        if early:
            host.edges.clear()
        host.before, host.baud = word_of(BASE), FAST
        assert await host.receive(len(expected) - early, patience=400) == expected[early:]
        host.before = 0
        assert [word for _, word in host.rates] == [word_of(FAST)] and len(host.acks) == count + 1
        await host.raise_to(BASE)


@cocotb.test()
async def answered_after_all(dut):
    """The number and the CRC come when the last word is written, not before; at once."""
    host = await started(dut)
    words = host.words(60)
    await host.frame(write(RAM, *words))
    assert len(host.acks) == 60 and host.acks[-1] < host.edges[0][0] < host.acks[-1] + 30
    assert await host.frame(read(RAM), write(RAM, 1, 2), words=1) == words[:1]
    assert len(host.acks) == 3 and host.edges[0][0] < host.acks[-1] < host.last[0]


@cocotb.test()
async def repeated(dut):
    """The same number again: reads are done again, writes are not, however often; the next number is done."""
    host = await started(dut)
    for number in (0, 1, 255, 0, 7):
        a, b, c, d = host.words(4)
        first = frame(number, write(RAM, a), read(RAM, 2), write(RAM + 4, b))
        await host.other_write(RAM + 4, d)
        assert await host.ask(first, 2) == [a, d]
        assert len(host.acks) == 4
        for word in (c, d):
            await host.other_write(RAM, word)
            assert await host.ask(first, 2) == [word, b]
            assert len(host.acks) == 2, "reads only"
        # The number counts, not what is in the frame.
        assert await host.ask(frame(number, write(RAM, 1, 2, 3), write(RATE, word_of(BASE)), read(RAM, 2), read(RATE)), 3) == [
            d,
            b,
            host.as_read(word_of(FAST)),
        ]
        assert await host.ask(frame(number, write(RAM, 5)), 0) == [] and not host.acks
    assert await host.ask(frame(8, read(RAM, 2)), 2) == [d, b]
    # That was the last one now, also if it wrote nothing.
    assert await host.ask(frame(8, write(RAM, 6)), 0) == [] and not host.acks
    assert await host.ask(frame(7, write(RAM, 6), read(RAM)), 1) == [6]


@cocotb.test()
async def damaged(dut):
    """Each byte lost, doubled, each bit turned: nothing is done, or what was meant, once. And then the frame again."""
    host = await started(dut)
    for how in ("lost", "doubled", *(f"bit {bit}" for bit in range(8)), "two bits", "marker"):
        place, size = 0, 1
        while place < size:
            words = host.words(2)
            good = frame(host.next(), write(RAM, *words), read(RAM, 2))
            size = len(good)
            bad = bytearray(good)
            if how == "lost":
                del bad[place]
            elif how == "doubled":
                bad.insert(place, bad[place])
            elif how == "marker":
                bad[place] = MARKER
            else:
                bad[place] ^= 1 << (int(how[4:]) if how[:3] == "bit" else host.random.randrange(8))
                if how == "two bits":
                    bad[host.random.choice([i for i in range(size) if i != place])] ^= 1 << host.random.randrange(8)
            if how == "doubled" and place == size - 1:
                assert heard(bad) == good
                assert await host.ask(bytes(bad), 2) == words and len(host.acks) == 4
                continue_with = 2
            elif place == 0 and bad[0] == PACKED:  # the same frame, but for the answer
                assert await host.ask(bytes(bad), 2) == words and len(host.acks) == 4
                continue_with = 2
            elif heard(bad):  # one in 65536, if bytes moved; or the marker is what was there
                assert how == "marker" or how in ("lost", "doubled") or place == 2
                continue_with = 4
            else:
                await host.ignored(bad)
                await host.silence()
                continue_with = 4
            assert await host.ask(good, 2) == words, (how, place)
            assert len(host.acks) == continue_with, (how, place)
            place += 1
        assert size == 25


@cocotb.test()
async def first_frame_damaged(dut):
    """Before the bridge is locked, too, as long as the marker is there; without it a frame as docs/bridge.md wants it does nothing."""
    host = Framed(dut)
    await host.start()
    await host.set_rate(FAST)
    words = host.words(2)
    await host.write(RAM, *words)
    good = frame(0x80, read(RATE, 2))
    for place in range(len(good)):
        for bad in (
            good[:place] + good[place + 1 :],
            good[:place] + good[place : place + 1] + good[place:],
            *(good[:place] + bytes([good[place] ^ 1 << bit]) + good[place + 1 :] for bit in range(8)),
        ):
            if heard(bad):
                continue
            await host.ignored(bad)
            # What lacks the marker is half a plain command now, which has its own timeout.
            await host.silence(SILENCE + 20 if bad[0] in MARKERS else TIMEOUT)
            assert await host.read(RAM, 2) == words, f"still not locked, still hears: {bad.hex()}"
    assert await host.ask(good, 2) == [host.as_read(word_of(FAST)), 3]
    await host.ignored(read(RAM, 2))


@cocotb.test()
async def locked(dut):
    """Plain commands are ignored from the first frame on, until no frame came for 2 s; each makes the bridge deaf."""
    host = await started(dut, BASE)
    byte = 10 * SYS_HZ // BASE
    for _ in range(2):
        await host.ignored(read(RAM))
        await host.ignored(frame(host.next(), read(RAM)))  # deaf
        await host.silence()
        await host.frame(write(RAM, 3))
        end = host.after_read()[-1] - 1
        await ClockCycles(dut.sys_clk, end - 4 * byte - cycle())
        await host.ignored(read(RAM))
        await ClockCycles(dut.sys_clk, max(1, end + SILENCE + byte - cycle()))
        assert await host.read(RAM) == [3]
        await host.write(RAM, 4)
        assert await host.read(RAM) == [4], "as before there were frames"
        # A frame that is repeated after that is still one that was carried out.
        assert await host.ask(frame(host.number, write(RAM, 5), read(RAM)), 1) == [4]
        assert len(host.acks) == 1
    # Just after.
    await ClockCycles(dut.sys_clk, host.after_read()[-1] - cycle())
    assert await host.read(RAM) == [4]


@cocotb.test()
async def deaf(dut):
    """After a wrong CRC or a byte that begins no frame: nothing is heard within a unit of time, everything after two."""
    host = await started(dut)
    byte = 10 * SYS_HZ // FAST
    for make in (
        lambda: spoilt(frame(host.number, read(RAM))),
        lambda: bytes([host.random.randrange(MARKER)]),
        lambda: bytes([MARKER + 1]),
        lambda: bytes([PACKED + 1]),
        lambda: read(RAM),
        lambda: bytes(300),
    ):
        for _ in range(4):
            await ClockCycles(dut.sys_clk, host.random.randrange(2 * UNIT))
            await host.ignored(make())
            await ClockCycles(dut.sys_clk, UNIT - 3 * byte - 40)
            await host.ignored(frame(host.number + 1 & 255, read(RAM)))
            await ClockCycles(dut.sys_clk, UNIT - 3 * byte - 40)
            await host.ignored(frame(host.number + 1 & 255, write(RAM, 1)))
            await host.silence()
            assert await host.frame(write(RAM, 9), read(RAM), words=1) == [9]


@cocotb.test()
async def paused(dut):
    """A pause of a unit within a frame does nothing, at any place; one of two ends it, and what comes then does nothing."""
    host = await started(dut)
    byte = 10 * SYS_HZ // FAST
    for place in range(1, 25):
        words = host.words(2)
        data = frame(host.next(), write(RAM, *words), read(RAM, 2))
        await ClockCycles(dut.sys_clk, host.random.randrange(UNIT))
        await host.ignored(data[:place])
        await host.silence()
        if data[place] == MARKER:  # the number may be: then that begins a frame, and the silence after it ends it
            assert heard(data[place:]) is None
        await host.ignored(data[place:])
        await host.silence()
        host.forget()
        answer = cocotb.start_soon(host.receive(11, patience=10 * len(data) + UNIT // 8 + 200))
        await host.send(data[:place])
        await ClockCycles(dut.sys_clk, UNIT - 2 * byte)
        await host.send(data[place:])
        assert words_of(await answer, host.number) == words


@cocotb.test()
async def noise(dut):
    """Anything at all at a locked bridge: the bus is never touched, and after silence frames work. Most of it begins like a frame."""
    host = await started(dut)
    last = host.words(2)
    await host.frame(write(RAM, *last))
    for n in range(60):
        data = host.random.randbytes(host.random.randrange(1, 60))
        if n % 3:
            data = bytes([host.random.choice(MARKERS), host.random.getrandbits(8), host.random.randrange(12)]) + data
        if n % 3 == 2:
            data = data[:3] + host.random.choice((write(RAM, 1, 2), read(RAM, 2))) + data[3:]
        while heard(data):
            data = data[:-1]
        pieces = host.random.randrange(1, 4)
        for i in range(pieces):
            await host.ignored(data[len(data) * i // pieces : len(data) * (i + 1) // pieces])
            await ClockCycles(dut.sys_clk, host.random.randrange(1, UNIT // 2))
        await host.silence()
        if n % 5 == 0:
            assert await host.frame(read(RAM, 2), words=2) == last
    assert await host.frame(read(RAM, 2), words=2) == last


@cocotb.test()
async def while_answering(dut):
    """A bridge in which no frame waits: what comes while one is carried out or answered is lost and harms nothing; the next may follow."""
    host = await started(dut)
    words = host.words(40)
    await host.frame(write(RAM, *words))
    for make in (lambda: host.random.randbytes(60), lambda: frame(host.number + 1 & 255, write(RAM, 1)) * 4, lambda: bytes([MARKER]) * 60):
        data = frame(host.next(), read(RAM, 40))
        host.forget()
        answer = cocotb.start_soon(host.receive(163, patience=10 * len(data) + 200))
        await host.send(data + make())
        assert words_of(await answer, host.number) == words
        assert await host.frame(write(RAM + 4, words[1]), read(RAM, 40), words=40) == words


WAITING = 128  # bytes of frames that may wait
BYTE = 10 * SYS_HZ // FAST  # cycles


@cocotb.test()
async def waits(dut):
    """A frame that comes at any moment of the answer before is answered behind it, at once: to the cycle, and to the byte."""
    host = await started(dut)
    words = alike(host, 24)
    await host.frame(write(RAM, *words))
    for gap in range(0, 10 * 110, 13):  # bits between the frames, to behind the end of the answer
        marker = MARKERS[gap % 2]
        first, second = (
            frame(host.next(), read(RAM, count), *more, marker=marker) for count, more in ((24, ()), (2, [write(RAM, words[0])]))
        )
        expected = answer(first, words), answer(second, words[:2])
        host.forget()
        coming = cocotb.start_soon(host.receive(len(expected[0]), patience=10 * len(first) + 200))
        await host.send(first)
        await host.idle_bits(gap or 0.01)
        at = cycle()
        sending = cocotb.start_soon(host.send(second))
        assert await coming == expected[0], gap
        ends = [end - FALLBACK - 3 for end in host.after_read()]
        assert await host.receive(len(expected[1]), patience=10 * len(second) + 200, at=host.at) == expected[1], gap
        assert len(host.acks) == 27
        if (
            at + BYTE * len(second) + 10 < ends[0]
        ):  # it has come whole: then its bytes are taken every second cycle, and those of its first command
            took = {host.acks[24] - end for end in ends}
            assert 2 * len(second) + 14 in took, (gap, took)
        await sending


@cocotb.test()
async def several_wait(dut):
    """As many as fit into the buffer are done one behind the other, each once; with one byte more
    the last frame is lost, and no other."""
    host = await started(dut)
    words = host.words(50)
    await host.frame(write(RAM, *words))
    nothing = bytes(6)  # a code that does not exist
    for sizes, answered in (((31, 33, 31, 33), 4), ((43, 43, 43), 2), ((31, 33, 31, 33, 21), 4)):
        assert sum(sizes) == WAITING or sum(sizes[:answered]) <= WAITING < sum(sizes)
        first, waiting = frame(host.next(), read(RAM, 50)), []
        for n, size in enumerate(sizes):
            fill = size - 5 - 6 - 6
            more, rest = divmod(fill, 4)
            if rest == 2:
                more, rest = more - 1, 6
            waiting.append(frame(host.next(), write(RAM, n, *words[1:more]), *[nothing] * (rest // 6), read(RAM)))
            assert len(waiting[-1]) == size
        expected = answer(first, words) + b"".join(answer(data, [n]) for n, data in enumerate(waiting[:answered]))
        host.forget()
        coming = cocotb.start_soon(host.receive(len(expected), patience=10 * len(first) + 300))
        await host.send(first + b"".join(waiting))
        assert await coming == expected
        words[0] = answered - 1
        host.forget()
        if answered < len(sizes):  # half a frame is there
            await host.silence()
        assert await host.frame(read(RAM, 50), words=50) == words


@cocotb.test()
async def repeated_while_answering(dut):
    """The same number waits: its reads are done again, its writes are not; so with one between them that reads."""
    host = await started(dut)
    words = host.words(30)
    await host.frame(write(RAM, *words))
    for n in range(4):
        data = frame(host.next(), write(RAM, n), read(RAM, 30))
        words[0] = n
        expected = answer(data, words)
        host.forget()
        coming = cocotb.start_soon(host.receive(2 * len(expected), patience=10 * len(data) + 300))
        await host.send(data + data)
        assert await coming == 2 * expected
        assert len(host.acks) == 31 + 30


@cocotb.test()
async def damaged_while_answering(dut):
    """Of a frame that waits each byte lost, doubled or turned: the answer before it is whole; what was meant is done once, or nothing."""
    host = await started(dut)
    words = host.words(20)
    await host.frame(write(RAM, *words))
    place, size = 0, 1
    while place < size:
        for how in ("lost", "doubled", "turned"):
            new = host.words(1)
            first = frame(host.next(), read(RAM, 20))
            good = frame(host.next(), write(RAM, *new), read(RAM, 2))
            size, bad = len(good), bytearray(good)
            if how == "lost":
                del bad[place]
            elif how == "doubled":
                bad.insert(place, bad[place])
            else:
                bad[place] ^= 1 << host.random.randrange(8)
            bad = bytes(bad)
            heard_at = next((n for n in range(len(bad)) if bad[n] in MARKERS), len(bad))
            done = heard(bad[heard_at:]) is not None
            assert not done or heard(bad[heard_at:])[1:] == good[1:] or how != "turned"
            expected = answer(first, words)
            host.forget()
            coming = cocotb.start_soon(host.receive(len(expected), patience=10 * len(first) + 200))
            await host.send(first + bad)
            assert await coming == expected, (how, place)
            host.edges.clear()
            if done:
                assert len(await host.receive(40, patience=300)) in (11, 12)
                host.edges.clear()
            await host.silence()
            assert len(host.acks) == 20 + 3 * done, (how, place)
            assert await host.ask(good, 2) == [new[0], words[1]], (how, place)
            assert len(host.acks) == (2 if done else 3), (how, place)
            words[0] = new[0]
        place += 1
    assert size == 21


@cocotb.test()
async def noise_while_answering(dut):
    """What comes before a marker is forgotten when the answer is over: the next frame may follow. What a marker begins needs silence."""
    host = await started(dut)
    words = host.words(40)
    await host.frame(write(RAM, *words))
    for make in (
        lambda: bytes(set(range(256)) - set(MARKERS)),
        lambda: host.random.randbytes(60),
        lambda: bytes([MARKER]) * 60,
        lambda: spoilt(frame(host.number + 1 & 255, write(RAM, 1))) * 3,
    ):
        for _ in range(4):
            noise = make()[: host.random.randrange(1, 160)]
            data = frame(host.next(), read(RAM, 40))
            expected = answer(data, words)
            host.forget()
            coming = cocotb.start_soon(host.receive(len(expected), patience=10 * len(data) + 200))
            await host.send(data + noise)
            assert await coming == expected
            assert len(host.acks) == 40
            host.forget()
            if set(noise) & set(MARKERS):
                await host.silence()
            assert await host.frame(write(RAM + 4, words[1]), read(RAM, 40), words=40) == words


@cocotb.test()
async def ahead_for_random(dut):
    """Any frames of both kinds, up to three under way, sent at any moment: all are answered in order, writes once, to the byte."""
    host = await started(dut)
    memory = alike(host, 60)
    await host.frame(write(RAM, *memory))
    count = 60
    frames, expected = [], []
    for _ in range(count):
        commands, words = [], []
        while not commands or host.random.random() < 0.6 and len(b"".join(commands)) < 24:
            at = host.random.randrange(59)
            size = host.random.randrange(1, min(60 - at, 20) + 1)
            if host.random.random() < 0.4:
                size = min(size, 3)
                memory[at : at + size] = new = alike(host, size)
                commands.append(write(RAM + 4 * at, *new))
            else:
                commands.append(read(RAM + 4 * at, size))
                words += memory[at : at + size]
        frames.append(frame(host.next(), *commands, marker=host.random.choice((PACKED, PACKED, MARKER))))
        expected.append(answer(frames[-1], words))
        assert 2 * len(frames[-1]) <= WAITING
    host.forget()
    answered = host.at = 0

    async def take():
        nonlocal answered
        for n, whole in enumerate(expected):
            assert await host.receive(len(whole), patience=20_000, at=host.at) == whole, n
            host.edges[:] = [edge for edge in host.edges if edge[0] >= host.at]
            answered += 1

    taking = cocotb.start_soon(take())
    for n, data in enumerate(frames):
        while n - answered >= 3:
            await ClockCycles(dut.sys_clk, 20)
        await ClockCycles(dut.sys_clk, host.random.choice((1, 1, host.random.randrange(1, 3000))))
        await host.send(data)
    await taking
    assert await host.frame(read(RAM, 60), words=60) == memory


@cocotb.test()
async def rate_while_waiting(dut):
    """A frame that sets the rate is answered at it, and so is the one that has come meanwhile."""
    host = await started(dut, BASE)
    words = host.words(4)
    await host.frame(write(RAM, *words))
    first, second = frame(host.next(), read(RAM, 4), write(RATE, word_of(FAST))), frame(host.next(), read(RAM, 4))
    early, late = answer(first, words), answer(second, words)
    host.forget()
    coming = cocotb.start_soon(host.receive(16, patience=10 * len(first) + 200))
    await host.send(first + second)
    assert await coming == early[:16]
    host.edges.clear()
    host.before, host.baud = word_of(BASE), FAST
    got = await host.receive(3 + len(late), patience=400)
    assert got == early[16:] + late, got.hex()


@cocotb.test()
async def raised(dut):
    """A frame may set the rate: the answer comes at the new one. Frames keep the rate up; without them it falls back when it should."""
    host = await started(dut, BASE)
    for baud in (*RATES, RATES[0], FAST):
        data = await host.raise_to(baud)
        await host.ask(data, 0)  # a host that did not hear it at that rate asks again
        assert not host.acks and len(host.rates) == 1
        assert await host.frame(read(RATE), words=1) == [host.as_read(word_of(baud))]
    host.rates.clear()
    for command, words in ((read(RATE), 1), (write(RAM, 1), 0)):
        await host.frame(command, words=words)
        expected = host.after_read()[0] - 1
        await ClockCycles(dut.sys_clk, expected - cycle() - 30_000)
    # One under way when the time is over comes whole, and counts.
    words = host.words(61)
    await host.frame(write(RAM, *words[:59]))
    expected = host.after_read()[0] - 1
    await ClockCycles(dut.sys_clk, expected - cycle() - 8000)
    assert await host.frame(read(RAM, 59), words=59) == words[:59] and cycle() > expected + 8000
    assert not host.rates
    await host.fallback_at([at - 1 for at in host.after_read()])
    assert await host.frame(read(RATE), words=1) == [host.as_read(word_of(BASE))]
    # The word is that of a command, as ever: not in the middle of one, not out of range, not masked.
    host.rates.clear()
    await host.frame(write(RATE, word_of(RATES[0]), 0), write(RATE, 8192), read(RAM), words=1)
    await host.ask(frame(host.number, write(RATE, word_of(RATES[0]))), 0)
    assert not host.rates


@cocotb.test()
async def broken_frames_do_not_count(dut):
    """They neither keep the rate up nor the bridge locked, and do not hold the fallback up."""
    host = await started(dut)
    await host.frame(write(RAM, 7))
    expected = [at - 1 for at in host.after_read()]
    host.rates.clear()
    while cycle() < expected[0] - 2 * SILENCE - 20_000:
        await host.ignored(spoilt(frame(host.next(), write(RAM, 8))))
        await host.silence()
        await host.ignored(frame(host.next(), write(RAM, 8))[: host.random.randrange(1, 15)])
        await host.silence()
    await ClockCycles(dut.sys_clk, expected[0] - cycle() - 4000)
    await host.ignored(frame(host.next(), write(RAM, 8))[:-5])
    await host.fallback_at(expected)
    await ClockCycles(dut.sys_clk, SILENCE)
    assert await host.read(RAM) == [7]


@cocotb.test()
async def broken_off(dut):
    """A frame whose commands do not end ends by the timeout: no answer, then or for its number. What follows in it is not done."""
    host = await started(dut)
    await host.frame(write(RAM, 0, 0, 0))
    for payload, done in (
        (write(RAM, 1, 2)[:-4], 1),
        (write(RAM, 1) + write(RAM + 4, 2, 3)[:-1], 2),
        (write(RAM, 1) + read(RAM)[:3], 1),
        (write(RAM, 1) + b"\1", 1),
        (write(RAM, 1) + read(NOWHERE) + write(RAM + 8, 4), 1),
        (write(NOWHERE, 1) + write(RAM + 8, 4) + read(RAM), 0),
    ):
        for _ in range(2):
            data = frame(host.next(), payload)
            host.forget()
            await host.send(data)
            await ClockCycles(dut.sys_clk, TIMEOUT + SILENCE)
            assert not host.edges and len(host.acks) == done, payload.hex()
            await host.ignored(data)
            await host.silence()
            await host.ignored(frame(host.number, write(RAM, 9)))
            await host.silence()
            assert await host.frame(read(RAM + 8), words=1) == [0]
            # It is no longer the last one.
            assert await host.ask(frame(host.number, write(RAM + 8, 9), read(RAM + 8)), 1) == [0]
    # Commands that do not exist have six bytes and do nothing.
    assert await host.frame(bytes([0, 9, 1, 2, 3, 4]), bytes([MARKER, 1, 0, 0, 0, 0]), read(RAM + 8), b"\xff" * 6, words=1) == [0]


@cocotb.test()
async def reset(dut):
    """Forgets number, lock and half a frame."""
    host = await started(dut)
    for half in (b"", frame(7, write(RAM, 5))[:9], bytes([0])):
        await host.ask(frame(7, write(RAM, 5)), 0)
        await host.ignored(half)
        await FallingEdge(dut.sys_clk)
        dut.sys_rst.value = 1
        await FallingEdge(dut.sys_clk)
        dut.sys_rst.value = 0
        host.baud = BASE
        await host.idle_bits()
        await host.write(RAM, 3)
        assert await host.read(RAM) == [3]
        assert await host.ask(frame(7, write(RAM, 4), read(RAM)), 1) == [4] and len(host.acks) == 2
        await host.ask(frame(8, write(RATE, word_of(BASE))), 0)
