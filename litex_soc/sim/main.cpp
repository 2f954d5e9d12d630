// SPDX-License-Identifier: BSD-2-Clause
// litepulse-sim: runs the verilated SoC, offers its bridge on TCP or a pseudo-terminal, and stands for what is wired to its pins.
//
// A tick is a rising edge of the core's clock, counted as the core counts it: at tick t outputs change and inputs are sampled,
// so a level that changes at t is first seen at t + 1. All times below are ticks; wall-clock time only paces and polls.

#include "Vsim.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#else
// What Vsim::eval() calls after locks that only threads and $display need: an eighth of the time.
#include "Vsim___024root.h"
void Vsim___024root___eval(Vsim___024root *);
#endif

#define PROGRAM "litepulse-sim"
#include "arguments.h"
#include "link.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr uint64_t NEVER = UINT64_MAX;
constexpr int RESET_CYCLES = 16;        // of the core's clock with reset asserted
// Rising edges from the release of reset to tick 0: the reset synchroniser, which takes cycles of the bus, and the core's own offset.
constexpr int TICK_ZERO = 5 * CYCLES_PER_SYS + 1;
constexpr int CHANNELS = INPUTS + 1;    // inputs, then the line
constexpr int CHUNK = 1024;             // cycles between looks at the sockets
constexpr int BUSY_CHUNK = 64;          // with --step, while a command takes longer than its cycles
constexpr double PARTIAL_COMMAND = 0.5; // seconds after which an incomplete command is dropped, as the bridge does after 100 ms
// Seconds of the wall clock without a byte that stand for the silence after which the bridge drops half a frame, or hears again. A board
// takes 11 to 22 ms, and its host waits FRAME_SILENCE_MS.
constexpr double LINE_SILENCE = 0.015;
constexpr double LOCK = 2;              // seconds without a frame after which the bridge obeys plain commands again
constexpr size_t OUTPUT_LIMIT = 1 << 16;
constexpr size_t INPUT_LIMIT = 1 << 16;
constexpr int TAIL = 64;                // bus cycles that always follow a command, so that what was written reaches the core
constexpr int SETTLE = 8;               // bus cycles in which the bridge shows what it makes of a byte, and has sent what it is sending

// --- options ------------------------------------------------------------------------------------------------------------------

struct Change {
    uint64_t tick;
    int channel;
    bool level;
};

struct Options {
    int tcp = -1;
    bool pty = false;
    std::string pty_link;
    bool once = false, exit_with_parent = false, always = false, stats = false, pace = false;
    uint64_t stop_at = NEVER, lockstep = 0, step = 0;
    uint32_t clock_num = PULSE_HZ, clock_den = 1;
    bool clock_given = false;
    int loop[CHANNELS] = {};            // this channel is wired to tx
    bool bus = false;                   // rx is low when tx is, what the stimulus drives, or the other simulator's tx
    bool level[CHANNELS] = {};          // at the start
    bool level_given[CHANNELS] = {};
    std::vector<Change> stimulus;
    std::string link;                   // socket where TX and RX are wired to another simulator's
    uint64_t link_delay = 1000;
    bool link_delay_given = false;
    std::string vcd, trace;
};

const char HELP[] =
    "usage: litepulse-sim [--tcp PORT] [--pty [LINK]] [options]\n"
    "The simulated LitePulse SoC. Its first line of output is a JSON object that says where the bridge is.\n"
    "bridge:\n"
    "  --tcp PORT           LiteX UARTBone on 127.0.0.1:PORT; 0 takes a free one\n"
    "  --pty [LINK]         LiteX UARTBone on a pseudo-terminal; LINK becomes a symbolic link to it\n"
    "  --once               exit when the first client has gone\n"
    "  --exit-with-parent   exit when the parent process has gone, or standard input is a pipe that closes\n"
    "time (as fast as possible while a client is connected, else standing still):\n"
    "  --always             run without a client, too\n"
    "  --step N             run exactly N cycles for each command of the client, or until it is carried out; a line on standard input,\n"
    "                       a number, is a wait of so many cycles: when they are over, {\"tick\": T} is printed\n"
    "  --lockstep N         run at most N cycles past each command of the client, then wait for the next\n"
    "  --pace               keep to the wall clock, with or without a client; declares 1 MHz unless --pulse-hz says otherwise\n"
    "  --pulse-hz N         clock declared to the host, whole or a fraction a/b\n"
    "  --stop-at-cycle N    exit at tick N; alone, it needs no bridge\n"
    "wiring:\n"
    "  --loop-tx-rx         wire tx to rx\n"
    "  --loop-tx-input N    wire tx to input N; can be repeated\n"
    "  --bus                rx is a bus, as LIN's: low when tx is, or what the stimulus says of rx, or with --link the other's tx\n"
    "  --link SOCKET        wire tx to rx of the simulator with the same --link, and its tx to rx here; both declare the same clock\n"
    "  --link-delay N       ticks from one to the other, default 1000; each can be at most that far ahead of the other\n"
    "  --level CH=L         level of input CH (a number, or rx) at the start; default rx=1, inputs 0\n"
    "  --stimulus FILE      lines `tick channel level`: the pin changes at that tick\n"
    "records:\n"
    "  --vcd FILE           the pins, each change at its exact time, rounded to at most half a tick\n"
    "  --trace FILE         every signal (needs the variant built with `python -m litex_soc.sim_soc --trace --build`)\n"
    "  --stats              at the end, cycles and cycles per second as a JSON object on standard error\n";

int channel_number(const std::string &text, const char *option)
{
    if (text == "rx")
        return INPUTS;
    return int(number(text, option, 0, INPUTS - 1));
}

void read_stimulus(const std::string &file, std::vector<Change> &out)
{
    std::ifstream in(file);
    if (!in)
        fail("--stimulus: cannot read %s: %s", file.c_str(), strerror(errno));
    std::string line;
    uint64_t last = 0;
    for (int n = 1; std::getline(in, line); ++n) {
        line = line.substr(0, line.find('#'));
        std::istringstream words(line);
        std::string tick, channel, level, more;
        if (!(words >> tick))
            continue;
        const std::string where = file + ":" + std::to_string(n);
        if (!(words >> channel >> level) || (words >> more) || (level != "0" && level != "1"))
            fail("%s: expected `tick channel level`, level 0 or 1", where.c_str());
        Change c{number(tick, where.c_str(), 0, NEVER / 4), channel_number(channel, where.c_str()), level == "1"};
        if (c.tick < last)
            fail("%s: tick %s is less than the one before it", where.c_str(), tick.c_str());
        last = c.tick;
        out.push_back(c);
    }
}

Options parse(int argc, char **argv)
{
    Options o;
    o.level[INPUTS] = true;
    std::string stimulus_file;
    Arguments a(argc, argv);
    while (a.next()) {
        const char *n = a.name.c_str();
        if (a.is("--help") || a.is("-h")) {
            fputs(HELP, stdout);
            exit(0);
        } else if (a.is("--tcp")) {
            o.tcp = int(number(a.value(), n, 0, 65535));
        } else if (a.is("--pty")) {
            o.pty = true;
            o.pty_link = a.optional();
        } else if (a.is("--once")) {
            o.once = a.flag();
        } else if (a.is("--exit-with-parent")) {
            o.exit_with_parent = a.flag();
        } else if (a.is("--always")) {
            o.always = a.flag();
        } else if (a.is("--pace")) {
            o.pace = a.flag();
        } else if (a.is("--stats")) {
            o.stats = a.flag();
        } else if (a.is("--lockstep")) {
            o.lockstep = number(a.value(), n, 1, NEVER / 4);
        } else if (a.is("--step")) {
            o.step = number(a.value(), n, 1, NEVER / 4);
        } else if (a.is("--stop-at-cycle")) {
            o.stop_at = number(a.value(), n, 1, NEVER / 4);
        } else if (a.is("--pulse-hz")) {
            const std::string text = a.value();
            const size_t slash = text.find('/');
            o.clock_num = uint32_t(number(text.substr(0, slash), n, 1, UINT32_MAX));
            o.clock_den = slash == std::string::npos ? 1 : uint32_t(number(text.substr(slash + 1), n, 1, UINT32_MAX));
            o.clock_given = true;
        } else if (a.is("--loop-tx-rx")) {
            o.loop[INPUTS] = a.flag();
        } else if (a.is("--loop-tx-input")) {
            o.loop[number(a.value(), n, 0, INPUTS - 1)] = 1;
        } else if (a.is("--bus")) {
            o.bus = a.flag();
        } else if (a.is("--link")) {
            o.link = a.value();
            if (o.link.empty())
                fail("--link: '' is no path of a socket, or too long for one");
        } else if (a.is("--link-delay")) {
            o.link_delay = number(a.value(), n, CYCLES_PER_SYS, 1000000);
            o.link_delay_given = true;
        } else if (a.is("--level")) {
            const std::string text = a.value();
            const size_t mark = text.find('=');
            if (mark == std::string::npos || (text.substr(mark + 1) != "0" && text.substr(mark + 1) != "1"))
                fail("--level: '%s' is not CHANNEL=0 or CHANNEL=1", text.c_str());
            const int channel = channel_number(text.substr(0, mark), n);
            o.level[channel] = text.back() == '1';
            o.level_given[channel] = true;
        } else if (a.is("--stimulus")) {
            stimulus_file = a.value();
        } else if (a.is("--vcd")) {
            o.vcd = a.value();
        } else if (a.is("--trace")) {
            o.trace = a.value();
#if !VM_TRACE
            fail("--trace: this program was built without it; `python -m litex_soc.sim_soc --trace --build` makes one that has it");
#endif
        } else {
            fail("%s: no such option (--help lists them)", n);
        }
    }
    if (!stimulus_file.empty())
        read_stimulus(stimulus_file, o.stimulus);
    for (const Change &c : o.stimulus)
        if (o.loop[c.channel])
            fail("--stimulus: channel %d is wired to tx", c.channel);
    if (o.bus && (o.loop[INPUTS] || o.level_given[INPUTS]))
        fail("--bus: rx is wired to tx and the stimulus, so --loop-tx-rx and --level rx=... have no place");
    if (!o.link.empty() && (o.loop[INPUTS] || o.level_given[INPUTS]))
        fail("--link: rx is wired to another simulator, so --loop-tx-rx and --level rx=... have no place");
    if (o.link.empty() && o.link_delay_given)
        fail("--link-delay: there is no --link");
    for (const Change &c : o.stimulus)
        if (!o.link.empty() && !o.bus && c.channel == INPUTS)
            fail("--stimulus: rx is wired to another simulator");
    for (int c = 0; c < CHANNELS; ++c)
        if (o.loop[c] && o.level_given[c])
            fail("--level: channel %d is wired to tx", c);
    if (o.tcp < 0 && !o.pty && o.stop_at == NEVER)
        fail("nothing to do: give --tcp, --pty or --stop-at-cycle (--help lists the options)");
    if (o.vcd == "-" || o.trace == "-")
        fail("--vcd, --trace: standard output is taken");
    const char *const stepped = o.step ? "--step" : "--lockstep";
    if (o.step && o.lockstep)
        fail("--step and --lockstep exclude each other");
    if ((o.step || o.lockstep) && (o.pace || o.always))
        fail("%s excludes --pace and --always", stepped);
    if ((o.step || o.lockstep) && !o.link.empty())
        fail("%s excludes --link: the other simulator would wait, too", stepped);
    if (o.pace && !o.clock_given)
        o.clock_num = 1000000;
    if (o.tcp < 0 && !o.pty)
        o.always = true;
    if (!o.link.empty() && !o.pace)
        o.always = true;        // one that stood still would stop the other
    return o;
}

// --- pins to VCD --------------------------------------------------------------------------------------------------------------

// The interrupt is no pin of a board without CPU, but good to see beside them.
enum Pin { TX, RX, DE, TX_OE, IRQ, IN0, PORT0 = IN0 + INPUTS, PINS = PORT0 + 8 };

class Vcd {
public:
    static constexpr uint64_t PICOSECONDS = 1000000000000u;   // of a second

    bool open(const std::string &name, uint32_t num, uint32_t den)
    {
        file = fopen(name.c_str(), "w");
        if (!file)
            return false;
        hz_num = num;
        hz_den = den;
        // As coarse as rounding still separates ticks: sigrok takes a sample for each unit.
        static const char *const units[] = {
            "1 s", "100 ms", "10 ms", "1 ms", "100 us", "10 us", "1 us", "100 ns", "10 ns", "1 ns", "100 ps", "10 ps",
        };
        const char *unit = "1 ps";
        per_second = 1;
        for (const char *coarse : units) {
            if (2 * uint64_t(num) <= uint64_t(den) * per_second) {
                unit = coarse;
                break;
            }
            per_second *= 10;
        }
        char head[256];
        snprintf(head, sizeof head, "$version litepulse-sim $end\n$comment one tick is %u/%u s $end\n$timescale %s $end\n"
                 "$scope module litepulse $end\n", den, num, unit);
        buffer = head;
        static const char *const names[] = {"tx", "rx", "de", "tx_oe", "irq"};
        for (int p = 0; p < PINS; ++p)
            buffer += "$var wire 1 " + std::string(1, id(p)) + " "
                + (p < IN0 ? names[p] : p < PORT0 ? "in" + std::to_string(p - IN0) : "port" + std::to_string(p - PORT0))
                + " $end\n";
        buffer += "$upscope $end\n$enddefinitions $end\n";
        return true;
    }

    bool active() const { return file; }

    void start(unsigned levels)
    {
        buffer += "#0\n$dumpvars\n";
        put(levels, (1u << PINS) - 1);
        buffer += "$end\n";
    }

    void change(uint64_t tick, unsigned levels, unsigned changed)
    {
        stamp(tick);
        put(levels, changed);
        if (buffer.size() > 1 << 16)
            flush();
    }

    // Whole lines only, so that a killed run leaves a file that can be read.
    void flush()
    {
        if (file && !buffer.empty()) {
            if ((fwrite(buffer.data(), 1, buffer.size(), file) < buffer.size() || fflush(file)) && !error)
                error = errno;
            buffer.clear();
        }
    }

    void close(uint64_t tick)
    {
        if (!file)
            return;
        stamp(tick);
        flush();
        if (fclose(file) && !error)
            error = errno;
        file = nullptr;
    }

    int error = 0;  // errno of the first write that failed: the file is not whole

    // The exact time of a tick in units, of which there is a whole number in a second, rounded;
    // from the tick count each time, so nothing adds up.
    static uint64_t time_of(uint64_t tick, uint32_t num, uint32_t den, uint64_t per_second)
    {
        using Wide = unsigned __int128;
        const uint64_t whole = tick / num, rest = tick % num;   // keeps the product within 128 bits for any tick
        return uint64_t(Wide(whole) * den * per_second + (Wide(rest) * den * per_second * 2 + num) / (Wide(num) * 2));
    }

private:
    FILE *file = nullptr;
    std::string buffer;
    uint32_t hz_num = 1, hz_den = 1;
    uint64_t per_second = PICOSECONDS;
    uint64_t last = 0;

    static char id(int pin) { return char('!' + pin); }

    void stamp(uint64_t tick)
    {
        const uint64_t time = time_of(tick, hz_num, hz_den, per_second);
        if (time != last)
            buffer += "#" + std::to_string(time) + "\n";
        last = time;
    }

    void put(unsigned levels, unsigned changed)
    {
        for (int p = 0; p < PINS; ++p)
            if (changed >> p & 1) {
                buffer += char('0' + (levels >> p & 1));
                buffer += id(p);
                buffer += '\n';
            }
    }
};

// --- the bridge's byte stream -------------------------------------------------------------------------------------------------

// Commands and frames are handed over whole, so that a client that is interrupted in the middle of one does not run into the bridge's
// timeouts, which are a matter of simulated time.
struct Bridge {
    std::string received;       // from the client, not yet handed over
    std::string feeding;        // what is being handed over
    size_t fed = 0;
    std::string output;         // to the client
    int settle = 0;             // bus cycles until all of the answer must have come
    int tail = 0;               // bus cycles in which a write that was handed over is still being carried out
    bool carrying = false;      // a frame is carried out or answered: others may wait in the bridge
    bool deaf = false;          // it takes nothing until the line was silent
    bool locked = false;        // it takes only frames
    // to be reported: the line was silent; so long that plain commands are obeyed
    bool hush = false, unlock = false;
    Clock::time_point last_received, last_frame;

    bool active() const { return fed < feeding.size() || settle; }
    bool busy() const { return active() || tail; }
    bool takes() const { return carrying ? fed == feeding.size() : !active(); }

    // Length of the first command or frame, 0 if it is not complete.
    size_t complete() const
    {
        if (received.empty())
            return 0;
        size_t size = 6;
        if (framed())
            size = received.size() < 3 ? SIZE_MAX : 3 + uint8_t(received[2]) + 1 + 2;
        else if (locked)
            size = 1;           // whatever it is: it makes the bridge deaf
        else if (received.size() >= 2 && (received[0] == 1 || received[0] == 3))
            size += 4 * uint8_t(received[1]);
        return received.size() >= size ? size : 0;
    }

    bool framed() const
    {
        const uint8_t first = received.empty() ? 0 : uint8_t(received[0]);
        return first == FRAME_MARKER || first == PACKED_MARKER;
    }

    bool next()
    {
        const size_t size = !takes() || deaf || output.size() > OUTPUT_LIMIT ? 0 : complete();
        if (!size)
            return false;
        if (framed())
            last_frame = Clock::now();
        feeding = received.substr(0, size);
        received.erase(0, size);
        fed = 0;
        tail = TAIL;
        return true;
    }

    // Bytes from the client.
    void take(const char *data, size_t size)
    {
        look_at_time();
        if (!deaf)
            received.append(data, size);
        last_received = Clock::now();
    }

    // The bridge counts simulated cycles; what its client does is a matter of the wall clock.
    void look_at_time()
    {
        if (busy())
            return;
        const auto now = Clock::now();
        const double silence = Seconds(now - last_received).count();
        if (!received.empty() && !complete() && silence > (framed() ? LINE_SILENCE : PARTIAL_COMMAND))
            received.clear();
        if (deaf && silence > LINE_SILENCE) {
            deaf = false;
            hush = true;
        }
        if (locked && Seconds(now - last_frame).count() > LOCK) {
            locked = false;
            unlock = true;
        }
    }
};

volatile sig_atomic_t stop_signal;

void on_signal(int number) { stop_signal = number; }

class Simulation {
public:
    Simulation(const Options &options) : o(options), model(&context)
    {
        if (!o.link.empty())
            link = std::make_unique<Link>(o.link, o.link_delay, o.clock_num, o.clock_den);
        for (int c = 0; c < CHANNELS; ++c)
            levels |= unsigned(o.level[c]) << c;
        for (int c = 0; c < CHANNELS; ++c)
            looped |= unsigned(o.loop[c]) << c;
        if (!o.vcd.empty() && !vcd.open(o.vcd, o.clock_num, o.clock_den))
            fail("--vcd: cannot write %s: %s", o.vcd.c_str(), strerror(errno));
#if VM_TRACE
        if (!o.trace.empty()) {
            context.traceEverOn(true);
            model.trace(&trace, 99);
            trace.set_time_unit("1ps");
            trace.set_time_resolution("1ps");
            trace.open(o.trace.c_str());
            if (!trace.isOpen())
                fail("--trace: cannot write %s", o.trace.c_str());
        }
#endif
        model.declared_num = o.clock_num;
        model.declared_den = o.clock_den;
        model.bridge_rx_valid = 0;
        model.bridge_hush = 0;
        model.bridge_unlock = 0;
        model.clocks_rst = 1;
        drive();
        while (edges < RESET_CYCLES)
            period();
        model.clocks_rst = 0;
        edges = 0;
        while (edges < TICK_ZERO)
            period();
        edges -= TICK_ZERO;
        pins = outputs();
        if (vcd.active())
            vcd.start(pin_levels());
        reset_done = true;
        look_ahead();
    }

    uint64_t tick() const { return edges; }

    // How far it can run now: the other end of the link may be behind. A bus cycle is run whole.
    uint64_t horizon() const
    {
        const uint64_t end = link ? link->horizon() : NEVER;
        return end == NEVER ? NEVER : end - (CYCLES_PER_SYS - 1);
    }

    // Takes what the other end of the link sent. A descriptor to wait for, or -1.
    int listen()
    {
        if (!link)
            return -1;
        link->look(edges, line());
        look_ahead();
        return link->waits_for();
    }

    // Runs up to tick `limit`, or less when the bridge takes a command again.
    void run(uint64_t limit)
    {
        bool took = bridge.takes();
        while (edges < limit) {
            period();
            if (bridge.takes() > took)
                break;
            took = bridge.takes();
        }
        if (link)
            link->tell(edges, line());
    }

    void finish()
    {
        vcd.close(edges);
        model.final();
#if VM_TRACE
        if (!o.trace.empty())
            trace.close();
#endif
    }

    Bridge bridge;
    Vcd vcd;

private:
    const Options &o;
    VerilatedContext context;
    Vsim model;
#if VM_TRACE
    VerilatedVcdC trace;
#endif
    uint64_t edges = 0;                 // rising edges of the core's clock
    unsigned pins = 0;                  // outputs as they were last seen: tx, tx_oe, de, irq, port
    unsigned levels = 0;                // of the channels
    unsigned looped = 0;
    bool others = true, linked = true;  // what the stimulus does to the bus, and the other simulator
    bool reset_done = false;
    bool deaf = false;                  // the bridge, as it was last seen
    bool reported = false;                  // that of the wall clock
    size_t change = 0;
    uint64_t next_change = NEVER;       // of the inputs
    std::unique_ptr<Link> link;

    unsigned outputs() const
    {
        return unsigned(model.pins_tx) | unsigned(model.pins_tx_oe) << 1 | unsigned(model.pins_de) << 2 | unsigned(model.irq) << 3
            | unsigned(model.pins_port) << 4;
    }

    // The line as its pull-up shows it while it is not driven.
    unsigned line() const { return (pins & 3) == 2 ? 0 : 1; }

    unsigned pin_levels() const
    {
        return line() << TX | (levels >> INPUTS & 1) << RX | (pins >> 2 & 1) << DE | (pins >> 1 & 1) << TX_OE
            | (pins >> 3 & 1) << IRQ | (levels & ((1u << INPUTS) - 1)) << IN0
            | (pins >> 4 & 0xff) << PORT0;
    }

    void set(int channel, bool level) { levels = (levels & ~(1u << channel)) | unsigned(level) << channel; }

    void look_ahead()
    {
        next_change = change < o.stimulus.size() ? o.stimulus[change].tick : NEVER;
        if (link)
            next_change = std::min(next_change, link->next_change());
    }

    void drive()
    {
        model.pins_rx = levels >> INPUTS & 1;
        model.pins_aux = levels & ((1u << INPUTS) - 1);
    }

    // Something changes at the pins at this tick: outputs, or inputs by stimulus or from the link.
    void update(uint64_t tick, unsigned now)
    {
        const unsigned before = pin_levels(), line_before = line();
        pins = now;
        while (next_change <= tick) {
            if (change < o.stimulus.size() && o.stimulus[change].tick <= tick) {
                const Change &c = o.stimulus[change++];
                if (o.bus && c.channel == INPUTS)
                    others = c.level;
                else
                    set(c.channel, c.level);
            } else {
                linked = link->take();
                set(INPUTS, linked);
            }
            look_ahead();
        }
        levels = line() ? levels | looped : levels & ~looped;
        if (o.bus)
            set(INPUTS, others && linked && line());
        if (link && line() != line_before)
            link->tell(tick, line());
        drive();
        const unsigned after = pin_levels();
        if (vcd.active() && reset_done && after != before)
            vcd.change(tick, after, after ^ before);
    }

    void eval([[maybe_unused]] int half)
    {
#if !VM_TRACE
        if (reset_done)
            return Vsim___024root___eval(model.rootp);
#endif
        model.eval();
#if VM_TRACE
        if (!o.trace.empty()) {
            const uint64_t before = reset_done ? RESET_CYCLES + TICK_ZERO : 0;
            trace.dump(Vcd::time_of(2 * (edges + before) + half, o.clock_num, o.clock_den, Vcd::PICOSECONDS) / 2);
        }
#endif
    }

    // One bus cycle: both clocks rise together.
    void period()
    {
        // What the bridge does at the coming edge shows before it.
        const bool accepted = model.bridge_rx_valid && model.bridge_rx_ready;
        if (model.bridge_tx_valid)
            bridge.output += char(model.bridge_tx_data);
        if (accepted || model.bridge_tx_valid || !model.bridge_resting)
            bridge.settle = SETTLE;
        else if (bridge.settle)
            --bridge.settle;
        // What came behind what made the bridge deaf is lost as it is on a line.
        if (model.bridge_deaf && !deaf)
            bridge.received.clear();
        bridge.carrying = model.bridge_carrying;
        deaf = model.bridge_deaf;
        bridge.deaf = model.bridge_deaf && !bridge.hush && !model.bridge_hush;
        bridge.locked = model.bridge_locked && !bridge.unlock && !model.bridge_unlock;
        if (bridge.tail && !bridge.active())
            --bridge.tail;
        for (int k = 0; k < CYCLES_PER_SYS && edges < o.stop_at; ++k) {
            model.clocks_pulse = 1;
            if (k == 0)
                model.clocks_sys = 1;
            else if (k == CYCLES_PER_SYS / 2)
                model.clocks_sys = 0;
            eval(0);
            const unsigned now = outputs();
            if (__builtin_expect(now != pins || edges >= next_change, 0))
                update(edges, now);
            if (k == 0 && __builtin_expect(accepted || bridge.fed < bridge.feeding.size() || reported || bridge.hush || bridge.unlock, 0)) {
                reported = bridge.hush || bridge.unlock;
                model.bridge_hush = bridge.hush;
                model.bridge_unlock = bridge.unlock;
                bridge.hush = bridge.unlock = false;
                bridge.fed += accepted;
                model.bridge_rx_valid = bridge.fed < bridge.feeding.size();
                if (model.bridge_rx_valid)
                    model.bridge_rx_data = uint8_t(bridge.feeding[bridge.fed]);
            }
            model.clocks_pulse = 0;
            if (CYCLES_PER_SYS == 1)
                model.clocks_sys = 0;
            eval(1);
            ++edges;
        }
    }
};

// --- the outside: sockets, terminal, parent, wall clock -------------------------------------------------------------------------

class Host {
public:
    Host(const Options &options) : o(options), parent(getppid())
    {
        if (o.tcp >= 0) {
            listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
            int one = 1;
            setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
            sockaddr_in a{};
            a.sin_family = AF_INET;
            a.sin_port = htons(uint16_t(o.tcp));
            a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            socklen_t size = sizeof a;
            if (listener < 0 || bind(listener, (sockaddr *)&a, size) || listen(listener, 8)
                || getsockname(listener, (sockaddr *)&a, &size))
                fail("--tcp: port %d: %s", o.tcp, strerror(errno));
            tcp_port = ntohs(a.sin_port);
        }
        if (o.pty) {
            master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
            if (master < 0 || grantpt(master) || unlockpt(master))
                fail("--pty: %s", strerror(errno));
            pty_name = ptsname(master);
            const int slave = ::open(pty_name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
            termios t{};
            if (slave < 0 || tcgetattr(slave, &t))
                fail("--pty: %s", strerror(errno));
            cfmakeraw(&t);
            tcsetattr(slave, TCSANOW, &t);
            ::close(slave);             // from now on the master shows when a program has it open
            if (!o.pty_link.empty()) {
                struct stat s;
                if (!lstat(o.pty_link.c_str(), &s) && S_ISLNK(s.st_mode))
                    unlink(o.pty_link.c_str());
                if (symlink(pty_name.c_str(), o.pty_link.c_str()))
                    fail("--pty: cannot make the link %s: %s", o.pty_link.c_str(), strerror(errno));
            }
        }
        struct stat s;
        watch_stdin = (o.exit_with_parent || o.step) && !fstat(0, &s) && (S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode));
    }

    ~Host()
    {
        if (!o.pty_link.empty())
            unlink(o.pty_link.c_str());
    }

    void announce() const
    {
        if (o.tcp < 0 && !o.pty)
            return;
        printf("{");
        if (o.tcp >= 0)
            printf("\"tcp\": %d, ", tcp_port);
        if (o.pty)
            printf("\"pty\": \"%s\", ", pty_name.c_str());
        printf("\"clock_hz\": \"%u", o.clock_num);
        if (o.clock_den != 1)
            printf("/%u", o.clock_den);
        printf("\", \"pid\": %d}\n", int(getpid()));
        fflush(stdout);
    }

    bool connected() const { return client >= 0 || pty_open; }
    bool gone() const { return client_gone; }

    // Moves bytes both ways; waits up to `timeout` milliseconds for something to happen, there or at `link` (-1: none).
    void exchange(Bridge &bridge, int timeout, int link)
    {
        check_parent();
        if (look_at_stdin())
            timeout = 0;
        pollfd p[5];
        int n = 0;
        if (listener >= 0)
            p[n++] = {listener, POLLIN, 0};
        if (client >= 0)
            p[n++] = {client, short(POLLIN | (bridge.output.empty() ? 0 : POLLOUT)), 0};
        if (pty_open)
            p[n++] = {master, short(POLLIN | (bridge.output.empty() ? 0 : POLLOUT)), 0};
        if (watch_stdin)
            p[n++] = {0, POLLIN, 0};
        if (link >= 0)
            p[n++] = {link, POLLIN, 0};
        if (master >= 0 && !pty_open)
            timeout = std::min(timeout, 20);        // an unopened terminal cannot be waited for
        if (::poll(p, nfds_t(n), timeout) < 0 && errno != EINTR)
            fail("poll: %s", strerror(errno));
        if (master >= 0 && client < 0)
            look_at_pty(bridge);
        if (client >= 0)
            transfer(client, bridge);
        // What a client wrote before it went is still carried out; the answers are discarded, as
        // kept ones would stop that.
        if (!connected())
            bridge.output.clear();
        accept_one(bridge);
        bridge.look_at_time();
    }

    // The next requested wait, in cycles; 0: none.
    uint64_t next_wait()
    {
        if (waits.empty())
            return 0;
        const uint64_t cycles = waits.front();
        waits.pop_front();
        return cycles;
    }

    bool parent_gone = false;

private:
    const Options &o;
    const pid_t parent;
    int listener = -1, client = -1, master = -1, tcp_port = 0;
    bool pty_open = false, watch_stdin = false, client_gone = false;
    std::string pty_name, stdin_text;
    std::deque<uint64_t> waits;

    void check_parent()
    {
        if (o.exit_with_parent && getppid() != parent)
            parent_gone = true;
    }

    // Its end says that the parent has gone, its lines ask to wait. True if something came.
    bool look_at_stdin()
    {
        pollfd p{0, POLLIN, 0};
        if (!watch_stdin || ::poll(&p, 1, 0) <= 0)
            return false;
        char data[256];
        const ssize_t size = ::read(0, data, sizeof data);
        if (size <= 0) {
            watch_stdin = false;
            parent_gone = o.exit_with_parent;
            return true;
        }
        if (!o.step)
            return true;
        stdin_text.append(data, size_t(size));
        for (size_t end; (end = stdin_text.find('\n')) != std::string::npos; stdin_text.erase(0, end + 1))
            waits.push_back(number(stdin_text.substr(0, end), "standard input", 1, NEVER / 4));
        return true;
    }

    void look_at_pty(Bridge &bridge)
    {
        pollfd p{master, POLLIN, 0};
        ::poll(&p, 1, 0);
        const bool open = !(p.revents & POLLHUP);
        if (open || p.revents & POLLIN)
            transfer(master, bridge);
        if (pty_open && !open)
            client_gone = true;
        pty_open = open;
    }

    void transfer(int &fd, Bridge &bridge)
    {
        char data[65536];
        // A client that sends faster than the bridge works waits: what it sent is not kept here without end.
        while (bridge.received.size() < INPUT_LIMIT) {
            const ssize_t size = ::read(fd, data, sizeof data);
            if (size > 0) {
                bridge.take(data, size_t(size));
                // Clients that send a command in two writes would wait for this acknowledgement.
                int one = 1;
                if (fd == client)
                    setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one);
                continue;
            }
            if (size < 0 && (errno == EAGAIN || errno == EINTR))
                break;
            drop(fd, bridge);
            return;
        }
        while (!bridge.output.empty()) {
            const ssize_t size = ::write(fd, bridge.output.data(), bridge.output.size());
            if (size <= 0) {
                // A client that left unread answers behind is noticed only here while its input is not read.
                if (errno == EPIPE || errno == ECONNRESET)
                    drop(fd, bridge);
                break;
            }
            bridge.output.erase(0, size_t(size));
        }
    }

    void drop(int &fd, Bridge &bridge)
    {
        if (fd != client)
            return;
        ::close(client);
        client = -1;
        client_gone = true;
    }

    void accept_one(Bridge &bridge)
    {
        pollfd p{listener, POLLIN, 0};
        if (listener < 0 || ::poll(&p, 1, 0) <= 0)
            return;
        if (client >= 0)            // it may have gone just before the next one came
            transfer(client, bridge);
        // Nothing of it is read or written while much waits: then only the socket shows that.
        pollfd last{client, 0, 0};
        if (client >= 0 && ::poll(&last, 1, 0) > 0 && last.revents & (POLLERR | POLLHUP))
            drop(client, bridge);
        // The next client waits until all of the last one is done, so that no answer reaches the wrong one.
        if (client < 0 && !pty_open && (bridge.busy() || bridge.complete()))
            return;
        const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        if (client >= 0 || pty_open) {
            ::close(fd);
            return;
        }
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        bridge.received.clear();
        bridge.output.clear();
        client = fd;
        transfer(client, bridge);
    }
};

} // namespace

int main(int argc, char **argv)
{
    const Options o = parse(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    struct sigaction action{};
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGHUP, &action, nullptr);

    Host host(o);
    Simulation sim(o);
    Bridge &bridge = sim.bridge;
    host.announce();

    const auto begin = Clock::now();
    auto anchor = begin;
    uint64_t anchor_tick = 0, budget = 0, slips = 0;
    bool waiting = false;
    double running = 0;
    const double hz = double(o.clock_num) / o.clock_den;
    auto flushed = begin;
    int timeout = 0;

    while (!stop_signal && !host.parent_gone && sim.tick() < o.stop_at) {
        host.exchange(bridge, timeout, sim.listen());
        sim.listen();
        // With --step nothing depends on when something comes: it is taken when all before it have had their cycles.
        const bool ready = !o.step || (sim.tick() >= budget && !bridge.busy());
        if (ready && bridge.next()) {
            budget = sim.tick() + (o.step ? o.step : o.lockstep);
        } else if (o.step && ready && !waiting) {
            const uint64_t cycles = host.next_wait();
            waiting = cycles;
            budget = sim.tick() + cycles;
        }
        if (ready && o.once && host.gone() && !bridge.busy() && !bridge.complete())
            break;
        const auto now = Clock::now();
        if (sim.vcd.active() && Seconds(now - flushed).count() > 0.25) {
            sim.vcd.flush();
            flushed = now;
        }

        uint64_t limit = std::min(o.stop_at, sim.tick() + CHUNK);
        if (o.pace) {
            uint64_t due = anchor_tick + uint64_t(Seconds(now - anchor).count() * hz);
            if (due > sim.tick() + uint64_t(hz / 4) + CHUNK) {      // a quarter of a second behind: give up on what was lost
                ++slips;
                anchor = now;
                anchor_tick = due = sim.tick();
            }
            limit = std::min(limit, due);
            timeout = limit > sim.tick() ? 0 : 1;
        } else if (o.step) {
            limit = sim.tick() < budget ? std::min(limit, budget) : sim.tick() + (bridge.busy() ? BUSY_CHUNK : 0);
            limit = std::min(limit, o.stop_at);
            timeout = limit > sim.tick() ? 0 : 100;
        } else if (bridge.busy()) {
            timeout = 0;
        } else if (o.lockstep) {
            limit = std::min(limit, budget);
            timeout = limit > sim.tick() ? 0 : 100;
        } else {
            const bool go = o.always || host.connected();
            limit = go ? limit : sim.tick();
            timeout = go ? 0 : 100;
        }
        if (limit > sim.tick() && sim.horizon() <= sim.tick())
            timeout = 1;
        limit = std::min(limit, sim.horizon());
        if (limit > sim.tick()) {
            sim.run(limit);
            running += Seconds(Clock::now() - now).count();
        }
        if (waiting && sim.tick() >= budget) {
            waiting = false;
            printf("{\"tick\": %llu}\n", (unsigned long long)sim.tick());
            fflush(stdout);
            timeout = 0;
        }
        if (bridge.complete() && !bridge.busy() && sim.horizon() > sim.tick())
            timeout = 0;
    }

    const uint64_t cycles = sim.tick();
    sim.finish();
    if (o.stats) {
        const double total = Seconds(Clock::now() - begin).count();
        rusage used{};
        getrusage(RUSAGE_SELF, &used);
        const double cpu = double(used.ru_utime.tv_sec) + double(used.ru_utime.tv_usec) / 1e6;
        fprintf(stderr, "{\"cycles\": %llu, \"seconds\": %.3f, \"running_seconds\": %.3f, \"cycles_per_second\": %.0f, "
                "\"cpu_seconds\": %.3f, \"slips\": %llu}\n", (unsigned long long)cycles, total, running,
                running > 0 ? double(cycles) / running : 0.0, cpu, (unsigned long long)slips);
    }
    if (sim.vcd.error)
        fail("--vcd: cannot write %s: %s", o.vcd.c_str(), strerror(sim.vcd.error));
    return 0;
}
