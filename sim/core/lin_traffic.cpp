// SPDX-License-Identifier: BSD-2-Clause
// A LIN bus with the core alone (S = 1, one clock for both of its sides, a PHY of two flip-flops):
// plays a script, prints what came.
//
//   lin-traffic FILE        lines of FILE, ordered by tick within each kind; all ticks are those of the core's time base:
//     level TICK LEVEL          the master's output; the sample of TICK is the first that shows it. The bus is low where one of both is
//     write TICK OFFSET VALUE   a configuration word, not before TICK; the next one waits until it is answered
//     end TICK
// Printed: `wrote TICK`, when a word of the LIN slave's table was answered; `event TICK KIND SOURCE FLAGS DATA` and `byte TICK DATA
// BREAK FRAMING_ERROR`, the records; `bus TICK LEVEL`, the bus as it is sampled; `line TICK LEVEL`, the core's own pin.
#define PROGRAM "lin-traffic"
#include <cinttypes>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "arguments.h"
#include "core_alone.h"
#include "litepulse_regs.h"
#include "verilated.h"

namespace {

constexpr int ACCESS_LIMIT = 2000;      // cycles for an access or an answer: more means that the core hangs
constexpr int64_t CALIBRATED_AT = 2000; // tick of the pulse that relates ticks to cycles

struct Level {
    int64_t tick;
    unsigned level;
};

struct Write {
    int64_t tick;
    unsigned offset;
    uint32_t value;
};

class Bus {
public:
    Bus()
    {
        reset(*top, [this] { step(); });
        calibrate();
    }

    ~Bus() { top->final(); }

    int64_t now() const { return cycle - zero; }

    void play(const std::deque<Level> &levels, const std::vector<Write> &writes, int64_t end)
    {
        master = levels;
        if (!master.empty() && master.front().tick <= now())
            fail("the first level, at %" PRId64 ", is in the past", master.front().tick);
        told = true;
        printf("bus 0 1\nline 0 1\n");
        for (const Write &word : writes) {
            until(word.tick);
            configure(word.offset, word.value);
            if (word.offset == LITEPULSE_CFG_LIN_ENTRY)
                printf("wrote %" PRId64 "\n", now());
        }
        until(end);
        look();
    }

private:
    // Until this tick, both streams read all the while.
    void until(int64_t tick)
    {
        while (now() < tick)
            if (top->ev_ready || top->rx_ready)
                look();
            else
                step();
    }

    void step()
    {
        while (!master.empty() && master.front().tick - LITEPULSE_LOOPBACK_TICKS <= now()) {
            drive = master.front().level;
            master.pop_front();
        }
        const unsigned bus = drive & line;
        if (bus != bus_before && told)
            printf("bus %" PRId64 " %u\n", now() + LITEPULSE_LOOPBACK_TICKS, bus);
        bus_before = bus;
        top->rx_i = sampled[1];
        top->pulse_clk = top->sys_clk = 1;
        top->eval();
        sampled[1] = sampled[0];
        sampled[0] = bus;
        top->pulse_clk = top->sys_clk = 0;
        top->eval();
        cycle++;
        const unsigned level = top->tx_oe ? top->tx_o & 1 : 1;
        if (level != line) {
            line = level;
            changed = cycle;
            if (told)
                printf("line %" PRId64 " %u\n", now(), level);
        }
    }

    // Finds the cycle of tick 0 from one pulse, whose profile and words are gone again when it ends.
    void calibrate()
    {
        configure(LITEPULSE_CFG_PROFILE3_FORMAT, 3 << LITEPULSE_CFG_PROFILE_FORMAT_DATA_BITS_SHIFT);
        configure(LITEPULSE_CFG_PROFILE3_PERIOD, 16 * 256);
        access(LITEPULSE_WIN_LAUNCH + LITEPULSE_LAUNCH_TICK_LO, true, CALIBRATED_AT);
        access(LITEPULSE_WIN_LAUNCH + LITEPULSE_LAUNCH_TICK_HI, true, 0);
        access(LITEPULSE_WIN_LAUNCH + LITEPULSE_LAUNCH_WIDTH, true, 1);
        access(LITEPULSE_WIN_LAUNCH + LITEPULSE_LAUNCH_LAUNCH, true,
               LITEPULSE_LAUNCH_PULSE << LITEPULSE_LAUNCH_LAUNCH_KIND_SHIFT | 3 << LITEPULSE_LAUNCH_LAUNCH_PROFILE_SHIFT);
        for (int n = 0; n < 2 * CALIBRATED_AT && line; n++)
            step();
        if (line)
            fail("the first pulse did not come");
        zero = changed - CALIBRATED_AT;
        for (int n = 0; n < 100; n++)
            step();
    }

    void look()
    {
        drain(LITEPULSE_WIN_EVENTS, LITEPULSE_EVENT_WORDS, events_freed, [&](unsigned at) {
            const uint32_t tick = access(at + LITEPULSE_EVENT_TICK_LO), info = access(at + LITEPULSE_EVENT_INFO);
            printf("event %u %u %u %u %u\n", tick, (info & LITEPULSE_EVENT_INFO_KIND_MASK) >> LITEPULSE_EVENT_INFO_KIND_SHIFT,
                   (info & LITEPULSE_EVENT_INFO_SOURCE_MASK) >> LITEPULSE_EVENT_INFO_SOURCE_SHIFT,
                   (info & LITEPULSE_EVENT_INFO_FLAGS_MASK) >> LITEPULSE_EVENT_INFO_FLAGS_SHIFT, access(at + LITEPULSE_EVENT_DATA));
        });
        drain(LITEPULSE_WIN_RECEIVE, LITEPULSE_RECEIVE_WORDS, bytes_freed, [&](unsigned at) {
            const uint32_t tick = access(at + LITEPULSE_RECEIVE_TICK_LO), info = access(at + LITEPULSE_RECEIVE_INFO);
            if (info & LITEPULSE_RECEIVE_INFO_OVERFLOW_MASK)
                fail("received bytes were lost");
            printf("byte %u %u %d %d\n", tick, info & LITEPULSE_RECEIVE_INFO_DATA_MASK, !!(info & LITEPULSE_RECEIVE_INFO_BREAK_MASK),
                   !!(info & LITEPULSE_RECEIVE_INFO_FRAMING_ERROR_MASK));
        });
    }

    // Reads all records of a stream, each by `record(offset)`, and frees them.
    template <typename F>
    void drain(unsigned base, unsigned words, unsigned &freed, F &&record)
    {
        const uint32_t head = access(base + LITEPULSE_HEADER_LEVEL);
        if (head >> LITEPULSE_HEADER_LEVEL_POSITION_SHIFT != freed)
            return; // what was freed last is still on its way
        const unsigned count = head & LITEPULSE_HEADER_LEVEL_READY_MASK;
        for (unsigned n = 0; n < count; n++)
            record(base + 4 * (LITEPULSE_HEADER_WORDS + words * n));
        if (count)
            access(base + LITEPULSE_STREAM_ACK, true, count);
        freed = (freed + count) & 0xffff;
    }

    void configure(unsigned offset, uint32_t value)
    {
        const uint8_t refused = top->config_refused;
        const uint8_t answered = top->config_applied + top->config_refused + 1;
        access(offset, true, value);
        for (int n = 0; uint8_t(top->config_applied + top->config_refused) != answered; n++) {
            if (n == ACCESS_LIMIT)
                fail("the word for %#x is not answered", offset);
            step();
        }
        if (top->config_refused != refused)
            fail("the word %#x for %#x is refused", value, offset);
    }

    uint32_t access(unsigned offset, bool we = false, uint32_t value = 0)
    {
        return access_window(*top, offset, we, value, ACCESS_LIMIT, [this] { step(); });
    }

    std::unique_ptr<Vsim> top = std::make_unique<Vsim>();
    std::deque<Level> master;
    int64_t cycle = 0, zero = 0, changed = 0;
    unsigned drive = 1, line = 1, bus_before = 1, sampled[2] = {1, 1};
    unsigned events_freed = 0, bytes_freed = 0;
    bool told = false;
};

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2)
        fail("usage: lin-traffic FILE");
    std::unique_ptr<FILE, int (*)(FILE *)> file(fopen(argv[1], "r"), fclose);
    if (!file)
        fail("%s: %s", argv[1], strerror(errno));
    std::deque<Level> levels;
    std::vector<Write> writes;
    int64_t end = 0, tick;
    char line[100];
    while (fgets(line, sizeof line, file.get())) {
        unsigned level, offset;
        uint32_t value;
        if (sscanf(line, "level %" SCNd64 " %u", &tick, &level) == 2)
            levels.push_back({tick, level});
        else if (sscanf(line, "write %" SCNd64 " %u %" SCNu32, &tick, &offset, &value) == 3)
            writes.push_back({tick, offset, value});
        else if (sscanf(line, "end %" SCNd64, &tick) == 1)
            end = tick;
        else
            fail("%s: unknown line %s", argv[1], line);
    }
    if (!end)
        fail("%s: no end", argv[1]);
    Bus().play(levels, writes, end);
}
