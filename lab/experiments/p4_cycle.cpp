// SPDX-License-Identifier: BSD-2-Clause
// A cycle of 1000 ticks that is nudged after a wandering reference, by the core alone. A tick stands for 1 us: the clock is scaled to
// 1 MHz.
//
//   p4-cycle train|launches --cycles N [--seed N] [--kept N] [--unjudged]
//
// The core runs without SoC, one clock for both of its sides. A reference raises input 0 once per cycle; its period wanders within
// 1000 +-4.5 ticks. A program follows it as a program would, over the bus: it reads the records, sees where the reference was, and commands
// where the next pulses are to be. Its scheduling is bad on purpose: mostly it wakes within a cycle
// or so, and every eighth time it sleeps on for up to 6 cycles (train) or 40 (launches).
//   train      hardware train; the program sets its period, within 5 ticks of the nominal one, and names the pulse from which
//              it counts; that pulse gets a step, too, within the same 5 ticks. Every fiftieth time it
//              loses the CPU before it says so, and may be too late: then the change is refused whole, and the program learns that
//   launches   the program fills the queue ahead; every cycle has a nudge of its own, -5 to +5 ticks
// The cycle is 1000 1/3 ticks, so that commanded places are fractions.
//
// The pin is watched at each clock cycle and compared with what was commanded, tick by tick: the stamps of the reference's edges tell which
// tick a cycle is. Nothing here knows how the core keeps its places.
// Printed is one JSON object; the status is 1 if a pulse was missing, double, or a tick or more from its place, unless --unjudged.
#define PROGRAM "p4-cycle"
#include <algorithm>
#include <cinttypes>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "arguments.h"
#include "core_alone.h"
#include "litepulse_regs.h"
#include "verilated.h"

namespace {

constexpr int64_t PARTS = 3;                    // places are counted in thirds of a tick
constexpr int64_t CYCLE = 1000 * PARTS + 1;     // 1000 1/3 ticks
constexpr int64_t MOST = 5;                     // ticks of a nudge
constexpr int WIDTH = 20;                       // ticks of a pulse
constexpr int64_t FIRST = 4000;                 // tick of the first pulse
constexpr int BUS_LIMIT = 20000;                // cycles for an access: more means that the core hangs
constexpr int INPUT = 0;

int64_t floored(int64_t parts) { return parts >= 0 ? parts / PARTS : -((-parts + PARTS - 1) / PARTS); }

// A place that was commanded, and how much it was nudged.
struct Place {
    int64_t parts;
    int64_t nudge;
};

class Bench {
public:
    explicit Bench(unsigned seed) : random(seed)
    {
        top = std::make_unique<Vsim>();
        reset(*top, [this] { clock(); });
    }

    ~Bench() { top->final(); }

    // One cycle of the clock, so one tick.
    void step()
    {
        reference();
        clock();
        watch();
    }

    uint32_t read(unsigned offset) { return access(offset, false, 0); }
    void write(unsigned offset, uint32_t value) { access(offset, true, value); }

    void sleep(int64_t cycles)
    {
        for (int64_t n = 0; n < cycles; n++)
            step();
    }

    // The tick count as the core reports it, and what it has recorded: kind, source, tick, data of
    // each to `record`.
    template <typename F>
    int64_t look(F &&record)
    {
        const uint32_t level = read(LITEPULSE_WIN_EVENTS);
        const uint32_t lost = read(LITEPULSE_WIN_EVENTS + LITEPULSE_HEADER_LOST);
        const uint64_t low = read(LITEPULSE_WIN_EVENTS + LITEPULSE_HEADER_TICK_LO);
        const int64_t now = low | uint64_t(read(LITEPULSE_WIN_EVENTS + LITEPULSE_HEADER_TICK_HI)) << 32;
        if (lost)
            fail("%" PRIu32 " records were lost", lost);
        const unsigned ready = level & 0xffff;
        for (unsigned n = 0; n < ready; n++) {
            const unsigned at = LITEPULSE_WIN_EVENTS + 4 * (LITEPULSE_HEADER_WORDS + LITEPULSE_EVENT_WORDS * n);
            const uint64_t tick_low = read(at + LITEPULSE_EVENT_TICK_LO);
            const int64_t tick = tick_low | uint64_t(read(at + LITEPULSE_EVENT_TICK_HI)) << 32;
            const uint32_t info = read(at + LITEPULSE_EVENT_INFO);
            record((info & LITEPULSE_EVENT_INFO_KIND_MASK) >> LITEPULSE_EVENT_INFO_KIND_SHIFT,
                   (info & LITEPULSE_EVENT_INFO_SOURCE_MASK) >> LITEPULSE_EVENT_INFO_SOURCE_SHIFT, tick, read(at + LITEPULSE_EVENT_DATA));
        }
        if (ready)
            write(LITEPULSE_WIN_EVENTS + LITEPULSE_STREAM_ACK, ready);
        return now;
    }

    // Pulses of WIDTH ticks by profile 0, whose other settings do not matter.
    void set_up(uint32_t events)
    {
        write(LITEPULSE_CFG_PROFILE0_FORMAT, 3 << LITEPULSE_CFG_PROFILE_FORMAT_DATA_BITS_SHIFT);
        write(LITEPULSE_CFG_PROFILE0_PERIOD, 16 * 256);
        write(LITEPULSE_CFG_CAPTURE_EDGES, 1u << INPUT);
        write(LITEPULSE_CFG_EVENT_MASK, events);
    }

    std::mt19937_64 random;
    int64_t uniform(int64_t low, int64_t high) { return low + int64_t(random() % uint64_t(high - low + 1)); }

    std::vector<int64_t> pulses;      // cycles at which the pin began a pulse
    std::vector<int64_t> rises;       // cycles at which the reference rose
    int64_t wrong_width = 0;
    int64_t zero = 0;                 // cycle at which the pin shows tick 0

    // An edge of the reference has this stamp: all are as far from the cycle in which it rose, and over a wire from the pin it would be
    // LOOPBACK_TICKS more than the tick of the launch.
    void stamped(int64_t tick)
    {
        const int64_t seen = rises.at(stamps++) - tick + LITEPULSE_LOOPBACK_TICKS;
        if (stamps > 1 && seen != zero)
            fail("edge %" PRId64 " of the reference is stamped %" PRId64 " ticks wrong", stamps - 1, zero - seen);
        zero = seen;
    }

private:
    void clock()
    {
        // As litepulse_phy_generic has them, an input passes two flip-flops.
        top->aux_i = sampled[1] << INPUT;
        top->pulse_clk = top->sys_clk = 1;
        top->eval();
        sampled[1] = sampled[0];
        sampled[0] = pin;
        top->pulse_clk = top->sys_clk = 0;
        top->eval();
        cycle++;
    }

    // A period that wanders slowly, in thousandths of a tick.
    void reference()
    {
        if (cycle * 1000 >= next_rise) {
            drift = std::clamp<int64_t>(drift + uniform(-200, 200), -4500, 4500);
            next_rise += 1'000'000 + 333 + drift;
            pin = 1;
            rises.push_back(cycle);
            fall = cycle + 100;
        } else if (cycle == fall) {
            pin = 0;
        }
    }

    void watch()
    {
        const bool level = top->tx_oe ? top->tx_o & 1 : true;
        if (level == before)
            return;
        before = level;
        if (!level)
            pulses.push_back(cycle);
        else if (cycle - pulses.back() != WIDTH)
            wrong_width++;
    }

    uint32_t access(unsigned offset, bool we, uint32_t value)
    {
        return access_window(*top, offset, we, value, BUS_LIMIT, [this] { step(); });
    }

    std::unique_ptr<Vsim> top;
    int64_t cycle = 0, stamps = 0, next_rise = 3'000'000, drift = 0, fall = -1;
    bool before = true;
    unsigned pin = 0, sampled[2] = {};
};

// What the program knows of the reference from the records it has read.
struct Follower {
    int64_t last = 0, period = 1000;

    void seen(int64_t tick)
    {
        if (last)
            period = tick - last;
        last = tick;
    }

    // Where it expects the reference at the tick or nearest to it.
    int64_t expected(int64_t tick) const
    {
        const int64_t ahead = tick - last + period / 2;
        return last + (ahead >= 0 ? ahead / period : -((-ahead + period - 1) / period)) * period;
    }
};

struct Counts {
    int64_t commands = 0, refused = 0, overslept = 0, longest_sleep = 0;
};

// The program sleeps, every eighth time for too long: up to `most` ticks.
void nap(Bench &bench, Counts &counts, int64_t most)
{
    int64_t ticks = bench.uniform(50, 900);
    if (!bench.uniform(0, 7)) {
        ticks = bench.uniform(1000, most);
        counts.overslept++;
    }
    counts.longest_sleep = std::max(counts.longest_sleep, ticks);
    bench.sleep(ticks);
}

// The way of the hardware train. Returns the place of every pulse.
std::vector<Place> train(Bench &bench, int64_t cycles, Counts &counts)
{
    constexpr int64_t AHEAD = 560;      // a pulse that can still be changed: CHANGE_REDO of docs/core.md, and the words on the bus
    bench.set_up(LITEPULSE_CFG_EVENT_MASK_TX_TRAIN_MASK | LITEPULSE_CFG_EVENT_MASK_EDGE_MASK | LITEPULSE_CFG_EVENT_MASK_CONTROL_MASK |
                 LITEPULSE_CFG_EVENT_MASK_REFUSED_TRAIN_MASK);
    bench.write(LITEPULSE_CFG_TRAIN_START_LO, FIRST);
    bench.write(LITEPULSE_CFG_TRAIN_START_HI, 0);
    bench.write(LITEPULSE_CFG_TRAIN_COUNT, uint32_t(cycles));
    bench.write(LITEPULSE_CFG_TRAIN_WIDTH, WIDTH);
    bench.write(LITEPULSE_CFG_TRAIN_LAUNCH, LITEPULSE_LAUNCH_PULSE << LITEPULSE_CFG_TRAIN_LAUNCH_KIND_SHIFT);
    const auto period = [&](int64_t more) {
        bench.write(LITEPULSE_CFG_TRAIN_PERIOD, uint32_t(CYCLE / PARTS + more));
        bench.write(LITEPULSE_CFG_TRAIN_NUM, CYCLE % PARTS);
        bench.write(LITEPULSE_CFG_TRAIN_DEN, PARTS);
    };
    period(0);
    bench.write(LITEPULSE_CFG_TRAIN_COMMAND, LITEPULSE_TRAIN_CMD_START);

    std::vector<Place> places, undone;  // undone: what the places from the changed pulse on were before
    places.reserve(cycles);
    places.push_back({FIRST * PARTS, 0});
    Follower reference;
    int64_t waits_for = 0, done = 0;    // pulse of the change that is not answered yet; pulses that have left
    int64_t rate = 0, rate_before = 0;  // ticks by which the period differs from CYCLE
    const auto next = [&] { return places.back().parts + CYCLE + rate * PARTS; };
    while (done < cycles) {
        const int64_t now = bench.look([&](unsigned kind, unsigned source, int64_t tick, uint32_t data) {
            if (kind == LITEPULSE_KIND_EDGE) {
                bench.stamped(tick);
                reference.seen(tick);
            } else if (kind == LITEPULSE_KIND_TX)
                done = int64_t(data) + 1;
            else if (source == LITEPULSE_SRC_TRAIN_CHANGE && data) {
                if (data != waits_for)
                    fail("a change for pulse %" PRId64 " was answered as one for %u", waits_for, data);
                waits_for = 0;
                if (kind == LITEPULSE_KIND_REFUSED) { // the program came too late: nothing has changed
                    places.resize(data);
                    places.insert(places.end(), undone.begin(), undone.end());
                    rate = rate_before;
                    counts.refused++;
                }
            }
        });
        if (!waits_for && reference.last && done < cycles) {
            // The first pulse that can still be changed. Those before it keep the period.
            while (floored(next()) - now < AHEAD)
                places.push_back({next(), rate});
            int64_t n = int64_t(places.size());
            while (n > 1 && n - 1 > done && floored(places[n - 1].parts) - now >= AHEAD)
                n--;
            undone.assign(places.begin() + n, places.end());
            places.resize(n);
            if (!bench.uniform(0, 49)) { // another process gets the CPU between look and command
                bench.sleep(bench.uniform(200, 3000));
                counts.overslept++;
            }
            if (n < cycles) {
                // The period becomes that of the reference; what is left of the distance to it goes into one step.
                rate_before = rate;
                rate = std::clamp<int64_t>(reference.period - CYCLE / PARTS, -MOST, MOST);
                const int64_t place = next(), away = reference.expected(floored(place)) - floored(place);
                const int64_t step = std::clamp(away, -MOST - rate, MOST - rate);
                period(rate);
                bench.write(LITEPULSE_CFG_TRAIN_AT_PULSE, uint32_t(n));
                bench.write(LITEPULSE_CFG_TRAIN_STEP, uint32_t(step));
                bench.write(LITEPULSE_CFG_TRAIN_COMMAND, LITEPULSE_TRAIN_CMD_ADJUST);
                places.push_back({place + step * PARTS, rate + step});
                waits_for = n;
                counts.commands++;
            }
        }
        nap(bench, counts, 6000);
    }
    while (int64_t(places.size()) < cycles)
        places.push_back({next(), rate});
    return places;
}

// The way of timed launches. Returns the place of every pulse.
std::vector<Place> launches(Bench &bench, int64_t cycles, Counts &counts)
{
    constexpr int64_t FILLED = 56;      // launches in the queue: it holds 64
    bench.set_up(LITEPULSE_CFG_EVENT_MASK_TX_QUEUE_MASK | LITEPULSE_CFG_EVENT_MASK_EDGE_MASK | LITEPULSE_CFG_EVENT_MASK_REFUSED_QUEUE_MASK);
    std::vector<Place> places;
    places.reserve(cycles);
    Follower reference;
    int64_t done = 0;
    while (done < cycles) {
        bench.look([&](unsigned kind, unsigned, int64_t tick, uint32_t) {
            if (kind == LITEPULSE_KIND_EDGE) {
                bench.stamped(tick);
                reference.seen(tick);
            } else {
                counts.refused += kind == LITEPULSE_KIND_REFUSED;
                done++;
            }
        });
        while (int64_t(places.size()) < cycles && int64_t(places.size()) < done + FILLED) {
            int64_t place = places.empty() ? FIRST * PARTS : places.back().parts + CYCLE, nudge = 0;
            if (reference.last)
                nudge = std::clamp(reference.expected(floored(place)) - floored(place), -MOST, MOST);
            if (!nudge) // every cycle is nudged
                nudge = places.size() % 2 ? 1 : -1;
            place += nudge * PARTS;
            places.push_back({place, nudge});
            bench.write(LITEPULSE_WIN_LAUNCH + LITEPULSE_LAUNCH_TICK_LO, uint32_t(floored(place)));
            bench.write(LITEPULSE_WIN_LAUNCH + LITEPULSE_LAUNCH_TICK_HI, uint32_t(floored(place) >> 32));
            bench.write(LITEPULSE_WIN_LAUNCH + LITEPULSE_LAUNCH_WIDTH, WIDTH);
            bench.write(LITEPULSE_WIN_LAUNCH + LITEPULSE_LAUNCH_LAUNCH, LITEPULSE_LAUNCH_PULSE << LITEPULSE_LAUNCH_LAUNCH_KIND_SHIFT);
            counts.commands++;
        }
        nap(bench, counts, 40000);
    }
    return places;
}

void print_list(const char *name, const std::vector<int64_t> &list)
{
    printf(", \"%s\": [", name);
    for (size_t n = 0; n < list.size(); n++)
        printf("%s%" PRId64, n ? ", " : "", list[n]);
    printf("]");
}

} // namespace

int main(int argc, char **argv)
{
    Arguments a(argc, argv);
    std::string way;
    int64_t cycles = 0, kept = 2000;
    unsigned seed = 1;
    bool judged = true;
    while (a.next()) {
        if (a.is("--cycles"))
            cycles = number(a.value(), "--cycles", 10, 1'000'000'000);
        else if (a.is("--seed"))
            seed = number(a.value(), "--seed", 0, 0xffffffff);
        else if (a.is("--kept"))
            kept = number(a.value(), "--kept", 1, 1'000'000);
        else if (a.is("--unjudged"))
            judged = !a.flag();
        else if (way.empty() && (a.is("train") || a.is("launches")))
            way = a.name;
        else
            fail("unknown option %s", a.name.c_str());
    }
    if (way.empty() || !cycles)
        fail("say train or launches, and --cycles N");

    Bench bench(seed);
    Counts counts;
    const std::vector<Place> places = way == "train" ? train(bench, cycles, counts) : launches(bench, cycles, counts);
    bench.sleep(3 * CYCLE / PARTS); // a pulse too many would come now

    const auto &pulses = bench.pulses;
    const int64_t zero = bench.zero;
    int64_t missing = 0, extra = 0, worst = 0, apart = 0, nudged = 0;
    std::vector<int64_t> nudges, phases, wander;
    std::map<int64_t, int64_t> distances; // of each pulse from the reference, ticks
    size_t at = 0, rise = 0;
    for (int64_t k = 0; k < cycles; k++) {
        const int64_t place = places[k].parts;
        // What lies nearer to the place before or behind is not this cycle's.
        while (at < pulses.size() && pulses[at] - zero < floored(place) - CYCLE / PARTS / 2) {
            extra++;
            at++;
        }
        nudged += places[k].nudge != 0;
        if (at == pulses.size() || pulses[at] - zero > floored(place) + CYCLE / PARTS / 2) {
            missing++;
            continue;
        }
        const int64_t tick = pulses[at++] - zero;
        worst = std::max(worst, std::abs(tick * PARTS - place));
        const int64_t pulse = pulses[at - 1];
        while (rise + 1 < bench.rises.size() && std::abs(bench.rises[rise + 1] - pulse) <= std::abs(bench.rises[rise] - pulse))
            rise++;
        const int64_t phase = pulse - bench.rises[rise];
        distances[phase]++;
        if (k >= 100) // it needs some cycles to catch up with the reference
            apart = std::max(apart, std::abs(phase));
        if (k < kept) {
            nudges.push_back(places[k].nudge);
            phases.push_back(phase);
            wander.push_back(rise + 1 < bench.rises.size() ? bench.rises[rise + 1] - bench.rises[rise] : 1000);
        }
    }
    extra += pulses.size() - at;
    printf("{\"way\": \"%s\", \"seed\": %u", way.c_str(), seed);
    const std::pair<const char *, int64_t> figures[] = {
        {"cycles", cycles}, {"missing", missing}, {"extra", extra}, {"wrong_width", bench.wrong_width}, {"worst_parts", worst},
        {"parts", PARTS}, {"nudged", nudged}, {"commands", counts.commands}, {"refused", counts.refused},
        {"overslept", counts.overslept}, {"longest_sleep", counts.longest_sleep}, {"apart", apart},
    };
    for (const auto &[name, figure] : figures)
        printf(", \"%s\": %" PRId64, name, figure);
    printf(", \"distances\": [");
    bool first = true;
    for (const auto &[distance, count] : distances) {
        printf("%s[%" PRId64 ", %" PRId64 "]", first ? "" : ", ", distance, count);
        first = false;
    }
    printf("]");
    print_list("nudges", nudges);
    print_list("phases", phases);
    print_list("reference", wander);
    printf("}\n");
    return judged && (missing || extra || bench.wrong_width || worst >= PARTS);
}
