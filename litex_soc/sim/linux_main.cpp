// SPDX-License-Identifier: BSD-2-Clause
// litepulse-linux-sim: runs the verilated Linux SoC: loads memory, stands for the console and for what is wired to its pins, saves and
// restores the whole machine. What it can do is in HELP and in docs/linux-soc.md.
//
// A tick is a rising edge of the port clocks_pulse, counted as the core counts it: at tick t outputs change and inputs are sampled, so a
// level that changes at t is first seen at t + 1. A cycle is one of `sys`.
//
// machine.h is made from the SoC (litex_soc/linux_sim.py): sizes, places, clocks, and WATCH_x, the bit of x in the port `watch`.

#include "Vsim.h"
#include "Vsim___024root.h"
#include "Vsim_litepulse_linux.h"
#include "verilated.h"
#include "verilated_save.h"
// What Vsim::eval() calls after locks that only threads and $display need: an eighth of the time.
void Vsim___024root___eval(Vsim___024root *);

#define PROGRAM "litepulse-linux-sim"
#include "arguments.h"
#include "machine.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <poll.h>
#include <sstream>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr uint64_t NEVER = UINT64_MAX;
constexpr uint64_t LATEST = NEVER / 4;          // of what can be requested
constexpr int RESET_TICKS = 16;                 // with reset asserted
constexpr int CHUNK = 1 << 15;                  // cycles between looks at signals and the terminal
constexpr int TYPING = 4000;                    // cycles between characters of --send: what a kernel takes at leisure

// All pins: first what the SoC drives, then what drives it. core_rst resets the core, but neither CPU nor bus.
enum Pin {
    TX, TX_OE, DE, IRQ, ASKED, PEER_TX, PEER_IRQ, PEER_ASKED, PRINTED, PORT0, RX = PORT0 + PORT, PEER_RX, CORE_RST, AUX0,
    PINS = AUX0 + INPUTS
};
constexpr int FIRST_INPUT = RX;

std::string pin_name(int pin)
{
    static const char *const outputs[] = {"tx", "tx_oe", "de", "irq", "asked", "peer_tx", "peer_irq", "peer_asked", "printed"};
    static const char *const inputs[] = {"rx", "peer_rx", "core_rst"};
    if (pin < PORT0)
        return outputs[pin];
    if (pin < FIRST_INPUT)
        return "port" + std::to_string(pin - PORT0);
    return pin < AUX0 ? inputs[pin - FIRST_INPUT] : "aux" + std::to_string(pin - AUX0);
}

// The pin of this name, or -1.
int find_pin(const std::string &name)
{
    for (int pin = 0; pin < PINS; ++pin)
        if (pin_name(pin) == name)
            return pin;
    return -1;
}

// --- options --------------------------------------------------------------------------------------------------------------------

// One line of a stimulus: at a tick, or a number of ticks after the anchor, a level; or a text to
// wait for, which is the next anchor.
struct Step {
    uint64_t tick;
    bool relative;
    int pin;                                    // -1: wait for `text`
    bool level;
    std::string text, where;
};

struct Load {
    std::string file;
    uint64_t address;
};

struct Options {
    std::string rom, restore, save, until, send, pins, stats;
    std::vector<Load> ram;
    std::vector<std::string> files;
    std::vector<Step> stimulus;
    uint64_t max_cycles = LATEST;
    int source[PINS];                           // the output an input is wired to, -1: none
    uint32_t buses = 0;                         // inputs that are wired and may be pulled low by the stimulus, too
    bool console = false, mark = false;

    Options() { std::fill(source, source + PINS, -1); }
};

const char HELP[] =
    "usage: litepulse-linux-sim --rom FILE --ram FILE@ADDRESS ... [options]\n"
    "       litepulse-linux-sim --restore FILE [options]\n"
    "The simulated Linux SoC. The console goes to standard output, all else to standard error.\n"
    "machine:\n"
    "  --rom FILE           boot ROM, raw bytes\n"
    "  --ram FILE@ADDRESS   raw bytes into main memory; can be repeated\n"
    "  --restore FILE       continue from a snapshot of this very program\n"
    "  --save FILE          a snapshot at the end, if what --until asks for has come\n"
    "  --files PATH         put a file, or what is in a folder, where the guest can read it; can be repeated\n"
    "end (also when the guest resets or shuts down; status 1 if --until TEXT did not come):\n"
    "  --until TEXT         when the console has printed TEXT\n"
    "  --max-cycles N       after N cycles of the bus clock in this run\n"
    "console:\n"
    "  --send TEXT          typed from the start of the run on; can be repeated\n"
    "  --console            from and to this terminal; Ctrl-A x ends, Ctrl-A Ctrl-A is Ctrl-A\n"
    "  --mark               each line starts with the cycle in which it began\n"
    "pins:\n"
    "  --pins FILE          record: lines `tick pin level`, first all levels\n"
    "  --stimulus FILE      lines `tick pin level` or `+ticks pin level` or `after TEXT` (docs/linux-soc.md)\n"
    "  --wire OUT:IN        wire tx, de or peer_tx to rx, peer_rx or an aux; can be repeated\n"
    "  --loop               --wire tx:rx\n"
    "  --bus OUT:IN         the same, with other nodes: IN is low when OUT or the stimulus is\n"
    "  --stats FILE         at the end, what was done, as a JSON object\n"
    "  --describe           what is in the machine, and where, as a JSON object; no run\n";

void read_stimulus(const std::string &file, std::vector<Step> &out)
{
    std::ifstream in(file);
    if (!in)
        fail("--stimulus: cannot read %s: %s", file.c_str(), strerror(errno));
    std::string line;
    for (int n = 1; std::getline(in, line); ++n) {
        Step step{0, false, -1, false, "", file + ":" + std::to_string(n)};
        const char *where = step.where.c_str();
        if (line.compare(0, 6, "after ") == 0) {
            step.text = line.substr(6);
            if (step.text.empty())
                fail("%s: nothing to wait for", where);
        } else {
            std::istringstream words(line.substr(0, line.find('#')));
            std::string tick, pin, level, more;
            if (!(words >> tick))
                continue;
            if (!(words >> pin >> level) || (words >> more) || (level != "0" && level != "1"))
                fail("%s: expected `tick pin level`, level 0 or 1, or `after TEXT`", where);
            step.relative = tick[0] == '+';
            step.tick = number(tick.substr(step.relative), where, 0, LATEST);
            step.pin = find_pin(pin);
            if (step.pin < FIRST_INPUT)
                fail("%s: '%s' is not rx, peer_rx, core_rst or aux0 to aux%d", where, pin.c_str(), INPUTS - 1);
            step.level = level == "1";
            // each tick is after or at the one before it, as far as that can be known here
            if (!out.empty() && out.back().pin >= 0 && out.back().relative == step.relative && out.back().tick > step.tick)
                fail("%s: tick %s is less than the one before it", where, tick.c_str());
        }
        out.push_back(step);
    }
}

// Returns the input.
int wire(Options &o, const char *option, const std::string &text)
{
    const size_t colon = text.find(':');
    const int out = colon == std::string::npos ? -1 : find_pin(text.substr(0, colon));
    const int in = colon == std::string::npos ? -1 : find_pin(text.substr(colon + 1));
    if ((out != TX && out != DE && out != PEER_TX) || in < FIRST_INPUT || in == CORE_RST)
        fail("%s: '%s' is not OUT:IN with OUT tx, de or peer_tx and IN rx, peer_rx or aux0 to aux%d", option, text.c_str(), INPUTS - 1);
    if (o.source[in] >= 0)
        fail("%s: %s is wired already", option, pin_name(in).c_str());
    o.source[in] = out;
    return in;
}

Options parse(int argc, char **argv)
{
    Options o;
    Arguments a(argc, argv);
    while (a.next()) {
        if (a.is("--help") || a.is("-h")) {
            fputs(HELP, stdout);
            exit(0);
        } else if (a.is("--describe")) {
            puts(DESCRIPTION);
            exit(0);
        } else if (a.is("--rom")) {
            o.rom = a.value();
        } else if (a.is("--ram")) {
            const std::string text = a.value();
            const size_t at = text.rfind('@');
            char *end = nullptr;
            const std::string address = at == std::string::npos ? "" : text.substr(at + 1);
            const uint64_t value = strtoull(address.c_str(), &end, 0);
            if (address.empty() || !isdigit(address[0]) || *end)
                fail("--ram: '%s' is not FILE@ADDRESS", text.c_str());
            o.ram.push_back({text.substr(0, at), value});
        } else if (a.is("--restore")) {
            o.restore = a.value();
        } else if (a.is("--save")) {
            o.save = a.value();
        } else if (a.is("--files")) {
            o.files.push_back(a.value());
        } else if (a.is("--until")) {
            o.until = a.value();
            if (o.until.empty())
                fail("--until: nothing to wait for");
        } else if (a.is("--max-cycles")) {
            o.max_cycles = number(a.value(), "--max-cycles", 1, LATEST);
        } else if (a.is("--send")) {
            o.send += a.value();
        } else if (a.is("--console")) {
            o.console = a.flag();
        } else if (a.is("--mark")) {
            o.mark = a.flag();
        } else if (a.is("--pins")) {
            o.pins = a.value();
        } else if (a.is("--stimulus")) {
            read_stimulus(a.value(), o.stimulus);
        } else if (a.is("--wire")) {
            wire(o, "--wire", a.value());
        } else if (a.is("--loop")) {
            a.flag();
            wire(o, "--wire", "tx:rx");
        } else if (a.is("--bus")) {
            o.buses |= 1u << wire(o, "--bus", a.value());
        } else if (a.is("--stats")) {
            o.stats = a.value();
        } else {
            fail("%s: no such option (--help lists them)", a.name.c_str());
        }
    }
    if (o.rom.empty() == o.restore.empty())
        fail("give either --rom or --restore (--help lists the options)");
    for (const Step &step : o.stimulus)
        if (step.pin >= 0 && o.source[step.pin] >= 0 && !(o.buses >> step.pin & 1))
            fail("%s: %s is wired to %s", step.where.c_str(), pin_name(step.pin).c_str(), pin_name(o.source[step.pin]).c_str());
    return o;
}

std::string read_file(const std::string &name, const char *option)
{
    std::ifstream in(name, std::ios::binary);
    std::ostringstream data;
    if (!in || fs::is_directory(name) || !(in.peek() == EOF || data << in.rdbuf()))
        fail("%s: cannot read %s: %s", option, name.c_str(), fs::is_directory(name) ? "is a folder" : strerror(errno));
    return data.str();
}

// --- files for the guest --------------------------------------------------------------------------------------------------------

// A cpio archive in the format "newc", of files with their modes and of links, all of them root's and of no date.
class Archive {
public:
    void add(const std::string &path)
    {
        std::error_code error;
        const fs::file_status status = fs::status(path, error);
        if (!fs::exists(status))
            fail("--files: cannot read %s: %s", path.c_str(), error ? error.message().c_str() : strerror(ENOENT));
        if (!fs::is_directory(status)) {
            add_one(path, fs::path(path).filename());
            return;
        }
        std::vector<fs::path> found;
        for (const auto &entry : fs::recursive_directory_iterator(path))
            found.push_back(entry.path());
        std::sort(found.begin(), found.end());          // folders before what is in them, and the same archive each time
        for (const fs::path &entry : found)
            add_one(entry, entry.lexically_relative(path));
    }

    // The archive, ended.
    std::string finish()
    {
        member("TRAILER!!!", 0, "");
        return data;
    }

private:
    std::string data;
    unsigned inode = 0;

    void add_one(const fs::path &path, const fs::path &name)
    {
        struct stat s;
        if (lstat(path.c_str(), &s))
            fail("--files: cannot read %s: %s", path.c_str(), strerror(errno));
        if (S_ISDIR(s.st_mode))
            member(name, s.st_mode, "");
        else if (S_ISREG(s.st_mode))
            member(name, s.st_mode, read_file(path, "--files"));
        else if (S_ISLNK(s.st_mode))
            member(name, s.st_mode, fs::read_symlink(path));
        else
            fail("--files: %s is no file, folder or link", path.c_str());
    }

    void member(const std::string &name, unsigned mode, const std::string &content)
    {
        char head[111];
        snprintf(head, sizeof head, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", ++inode, mode, 0, 0,
                 S_ISDIR(mode) ? 2 : 1, 0, unsigned(content.size()), 0, 0, 0, 0, unsigned(name.size() + 1), 0);
        data += head + name + '\0';
        pad();
        data += content;
        pad();
    }

    void pad() { data.resize((data.size() + 3) & ~size_t(3), '\0'); }
};

// --- the machine ----------------------------------------------------------------------------------------------------------------

volatile sig_atomic_t stop_signal;

void on_signal(int number) { stop_signal = number; }

std::string unfinished;                         // a file that must not stay if we fail

// What is saved besides the model, behind the head of Verilator's own. Never read by another program than the one that wrote it.
struct State {
    char magic[24], key[24];
    uint64_t size;                              // of the whole file
    uint64_t tick, cycle;
    uint32_t levels;
};

class Machine {
public:
    Machine(const Options &options) : o(options), model(&context)
    {
        levels = 1u << TX | 1u << PEER_TX | 1u << RX | 1u << PEER_RX;
        model.clocks_pulse = model.clocks_sys = 0;
        model.console_rx_valid = 0;
        if (!o.restore.empty())
            restore();
        else
            reset();
        for (const Load &load : o.ram)
            place("--ram", read_file(load.file, "--ram"), load.address, RAM_BASE, RAM_SIZE, load.file);
        if (!o.files.empty())
            place_files();
        driven = levels | o.buses;
        anchor = tick;
        first_tick = tick;
        first_cycle = cycle;
        update(watch());                        // what is wired may have changed
        if (!o.pins.empty()) {
            record = fopen(o.pins.c_str(), "w");
            if (!record)
                fail("--pins: cannot write %s: %s", o.pins.c_str(), strerror(errno));
            text = "# litepulse-linux-sim: a tick is 1/" + std::to_string(TICK_HZ) + " s\n";
            put(tick, levels, (1u << PINS) - 1);
        }
        advance_stimulus();
    }

    // Runs up to `limit`, less if what --until asks for comes or the guest resets.
    void run(uint64_t limit)
    {
        while (cycle < limit && !done && !was_reset)
            one_cycle();
        flush();
    }

    void save()
    {
        const std::string part = o.save + ".part";
        State state{};
        strcpy(state.magic, PROGRAM);
        strcpy(state.key, KEY);
        state.tick = tick;
        state.cycle = cycle;
        state.levels = levels;
        model.console_rx_valid = 0;             // what was not taken is not typed
        VerilatedSave out;
        out.open(part.c_str());
        if (!out.isOpen())
            fail("--save: cannot write %s: %s", part.c_str(), strerror(errno));
        unfinished = part;
        out.write(&state, sizeof state);
        out << model;
        out.close();
        // the size distinguishes a whole file from a piece of one
        state.size = fs::file_size(part);
        std::fstream file(part, std::ios::in | std::ios::out | std::ios::binary);
        if (!file.seekp(std::streamoff(find_state(file))).write(reinterpret_cast<const char *>(&state), sizeof state).flush())
            fail("--save: cannot write %s: %s", part.c_str(), strerror(errno));
        file.close();
        if (rename(part.c_str(), o.save.c_str()))
            fail("--save: cannot write %s: %s", o.save.c_str(), strerror(errno));
        unfinished.clear();
    }

    void finish()
    {
        flush();
        if (record && fclose(record))
            fail("--pins: cannot write %s: %s", o.pins.c_str(), strerror(errno));
        model.final();
    }

    void type(const std::string &more) { typed += more; }

    uint64_t tick = 0, cycle = 0, first_tick, first_cycle;
    bool done = false, was_reset = false;
    size_t steps_left() const { return o.stimulus.size() - step; }

private:
    const Options &o;
    VerilatedContext context;
    Vsim model;
    unsigned seen = 0;                          // the watched outputs as they were last seen
    uint32_t levels;                            // of all pins
    uint32_t driven;                            // as the stimulus has them
    FILE *record = nullptr;
    std::string text;                           // of the record, not yet written
    size_t step = 0;                            // of the stimulus
    uint64_t next_change = NEVER, anchor;
    std::string heard, printed;                 // the end of what was printed: since the last anchor, since the start
    std::string typed;
    size_t taken = 0;                           // of `typed`
    uint64_t next_key = 0;
    bool line_start = true;

    static_assert(sizeof KEY <= sizeof State::key && sizeof PROGRAM <= sizeof State::magic);

    unsigned watch() const { return model.watch; }

    void reset()
    {
        const std::string rom = read_file(o.rom, "--rom");
        auto &memory = model.rootp->litepulse_linux->rom;
        if (rom.empty() || rom.size() > sizeof memory.m_storage)
            fail("--rom: %s has %zu bytes, the ROM %zu", o.rom.c_str(), rom.size(), sizeof memory.m_storage);
        model.clocks_rst = 1;
        drive();
        model.eval();                           // initial values, which must not overwrite what is loaded
        store(memory.m_storage, rom);
        int edges = 0;
        do {
            model.clocks_rst = edges < RESET_TICKS;
            edge(edges % TICKS_PER_SYS);
            fall();
        } while (++edges < RESET_TICKS + TICK_ZERO || edges % TICKS_PER_SYS);
        tick = uint64_t(edges - RESET_TICKS - TICK_ZERO);
    }

    void restore()
    {
        State state{};
        std::ifstream file(o.restore, std::ios::binary);
        if (!file)
            fail("--restore: cannot read %s: %s", o.restore.c_str(), strerror(errno));
        if (!file.seekg(std::streamoff(find_state(file))).read(reinterpret_cast<char *>(&state), sizeof state)
            || strncmp(state.magic, PROGRAM, sizeof state.magic))
            fail("--restore: %s is no snapshot", o.restore.c_str());
        if (strncmp(state.key, KEY, sizeof state.key))
            fail("--restore: %s is a snapshot of another build of this program", o.restore.c_str());
        if (state.size != fs::file_size(o.restore))
            fail("--restore: %s is not whole", o.restore.c_str());
        VerilatedRestore in;
        in.open(o.restore.c_str());
        in.read(&state, sizeof state);
        in >> model;
        in.close();
        tick = state.tick;
        cycle = state.cycle;
        levels = state.levels;
        drive();
    }

    // Where in a snapshot the State is.
    static size_t find_state(std::istream &file)
    {
        std::string head(64, '\0');
        file.read(head.data(), std::streamsize(head.size()));
        file.clear();
        const size_t at = head.find(PROGRAM);
        return at == std::string::npos ? 0 : at;
    }

    // Bytes as the CPU sees them into 32-bit words.
    static void store(IData *words, const std::string &bytes, size_t offset = 0)
    {
        for (size_t n = 0; n < bytes.size(); ++n) {
            const size_t at = offset + n;
            const int shift = 8 * int(BIG_ENDIAN_CPU ? 3 - at % 4 : at % 4);
            words[at / 4] = (words[at / 4] & ~(0xffu << shift)) | uint32_t(uint8_t(bytes[n])) << shift;
        }
    }

    void place(const char *option, const std::string &bytes, uint64_t address, uint64_t base, uint64_t size, const std::string &what)
    {
        if (address < base || address > base + size || bytes.size() > base + size - address)
            fail("%s: %s, %zu bytes at 0x%llx, is not within 0x%llx to 0x%llx", option, what.c_str(), bytes.size(),
                 (unsigned long long)address, (unsigned long long)base, (unsigned long long)(base + size));
        store(model.rootp->litepulse_linux->main_ram.m_storage, bytes, address - RAM_BASE);
    }

    // The window: length in the CPU's byte order, a zero word, the archive.
    void place_files()
    {
        Archive archive;
        for (const std::string &path : o.files)
            archive.add(path);
        const std::string bytes = archive.finish();
        std::string head(8, '\0');
        for (int n = 0; n < 4; ++n)
            head[BIG_ENDIAN_CPU ? 3 - n : n] = char(bytes.size() >> 8 * n);
        place("--files", head + bytes, FILES_BASE, FILES_BASE, FILES_SIZE, "the archive");
    }

    void drive()
    {
        model.pins_rx = levels >> RX & 1;
        model.peer_rx = levels >> PEER_RX & 1;
        model.core_rst = levels >> CORE_RST & 1;
        model.pins_aux = levels >> AUX0 & ((1u << INPUTS) - 1);
    }

    // The levels of the outputs in what is watched. tx as its pull-up shows it while it is not
    // driven.
    static uint32_t outputs(unsigned now)
    {
        const unsigned enabled = now >> WATCH_TX_OE & 1;
        return ((now >> WATCH_TX & 1) | (enabled ^ 1)) << TX | enabled << TX_OE | (now >> WATCH_DE & 1) << DE
            | (now >> WATCH_IRQ & 1) << IRQ | (now >> WATCH_ASKED & 1) << ASKED | (now >> WATCH_PEER_TX & 1) << PEER_TX
            | (now >> WATCH_PEER_IRQ & 1) << PEER_IRQ | (now >> WATCH_PEER_ASKED & 1) << PEER_ASKED
            | (now >> WATCH_PRINTED & 1) << PRINTED | (now >> WATCH_PORT0 & ((1u << PORT) - 1)) << PORT0;
    }

    // Something watched, or an input by stimulus, changes at this tick.
    void update(unsigned now)
    {
        const uint32_t before = levels;
        seen = now;
        levels = (levels & ~((1u << FIRST_INPUT) - 1)) | outputs(now);
        while (next_change <= tick) {
            const Step &change = o.stimulus[step++];
            driven = (driven & ~(1u << change.pin)) | uint32_t(change.level) << change.pin;
            advance_stimulus();
        }
        for (int pin = FIRST_INPUT; pin < PINS; ++pin) {
            uint32_t level = driven >> pin & 1;
            if (o.source[pin] >= 0) {
                const uint32_t wired = levels >> o.source[pin] & 1;
                level = o.buses >> pin & 1 ? level & wired : wired;
            }
            levels = (levels & ~(1u << pin)) | level << pin;
        }
        if (levels == before)
            return;
        drive();
        if (record)
            put(tick, levels, levels ^ before);
    }

    // Looks at the stimulus' next line.
    void advance_stimulus()
    {
        next_change = NEVER;
        if (step == o.stimulus.size() || o.stimulus[step].pin < 0)
            return;
        const Step &change = o.stimulus[step];
        next_change = change.tick + (change.relative ? anchor : 0);
        if (next_change < tick)
            fail("%s: tick %llu is over, it is %llu", change.where.c_str(), (unsigned long long)next_change, (unsigned long long)tick);
    }

    void put(uint64_t at, uint32_t now, uint32_t changed)
    {
        for (int pin = 0; pin < PINS; ++pin)
            if (changed >> pin & 1)
                text += std::to_string(at) + ' ' + pin_name(pin) + (now >> pin & 1 ? " 1\n" : " 0\n");
        if (text.size() > 1 << 16)
            flush();
    }

    void flush()
    {
        fflush(stdout);
        if (record && (fwrite(text.data(), 1, text.size(), record) != text.size() || fflush(record)))
            fail("--pins: cannot write %s: %s", o.pins.c_str(), strerror(errno));
        text.clear();
    }

    static bool ends_with(const std::string &all, const std::string &end)
    {
        return all.size() >= end.size() && !all.compare(all.size() - end.size(), end.size(), end);
    }

    static void keep(std::string &all, char c)
    {
        all += c;
        if (all.size() > 1 << 13)
            all.erase(0, 1 << 12);
    }

    void printed_one(char c)
    {
        if (line_start && o.mark)
            printf("[%12llu] ", (unsigned long long)cycle);
        line_start = c == '\n';
        putchar(c);
        if (!o.until.empty()) {
            keep(printed, c);
            done = ends_with(printed, o.until);
        }
        if (step < o.stimulus.size() && o.stimulus[step].pin < 0) {
            keep(heard, c);
            if (ends_with(heard, o.stimulus[step].text)) {
                heard.clear();
                anchor = tick + TICKS_PER_SYS;  // where a run would start that was saved here
                ++step;
                advance_stimulus();
            }
        }
    }

    // One rising edge of clocks_pulse, the k-th in a cycle, and the falling one.
    void edge(int k)
    {
        model.clocks_pulse = 1;
        if (k == 0)
            model.clocks_sys = 1;
        else if (k == TICKS_PER_SYS / 2)
            model.clocks_sys = 0;
        Vsim___024root___eval(model.rootp);
    }

    void fall()
    {
        model.clocks_pulse = 0;
        if (TICKS_PER_SYS == 1)
            model.clocks_sys = 0;
        Vsim___024root___eval(model.rootp);
    }

    void one_cycle()
    {
        const bool accepted = model.console_rx_valid && model.console_rx_ready;
        for (int k = 0; k < TICKS_PER_SYS; ++k) {
            edge(k);
            const unsigned now = watch();
            if (__builtin_expect((now ^ seen) | (now & (1u << WATCH_PRINTED)) || tick >= next_change, 0)) {
                update(now);
                if (k == 0 && now >> WATCH_PRINTED & 1)
                    printed_one(char(model.console_tx_data));
                was_reset |= now >> WATCH_RESET & 1;
            }
            fall();
            ++tick;
        }
        ++cycle;
        if (__builtin_expect(accepted, 0)) {
            model.console_rx_valid = 0;
            ++taken;
            next_key = cycle + TYPING;
        } else if (__builtin_expect(taken < typed.size() && cycle >= next_key, 0)) {
            model.console_rx_data = uint8_t(typed[taken]);
            model.console_rx_valid = 1;
        }
    }
};

// --- the terminal ---------------------------------------------------------------------------------------------------------------

// Standard input in raw mode while this lives, if it is a terminal; else what comes from it is typed as it is.
class Terminal {
public:
    Terminal()
    {
        if (!tcgetattr(0, &before)) {
            is_terminal = true;
            termios raw = before;
            cfmakeraw(&raw);
            raw.c_oflag = before.c_oflag;
            tcsetattr(0, TCSANOW, &raw);
        }
    }

    ~Terminal()
    {
        if (is_terminal)
            tcsetattr(0, TCSANOW, &before);
    }

    // What was typed since; `quit` when the user wants to end.
    std::string read()
    {
        std::string out;
        pollfd p{0, POLLIN, 0};
        char c[256];
        while (!ended && ::poll(&p, 1, 0) > 0) {
            const ssize_t size = ::read(0, c, sizeof c);
            if (size <= 0) {
                ended = true;
                break;
            }
            for (ssize_t n = 0; n < size; ++n) {
                if (!is_terminal || (!escaped && c[n] != 1))
                    out += c[n];
                else if (!escaped)
                    escaped = true;
                else {
                    escaped = false;
                    if (c[n] == 'x')
                        quit = true;
                    else if (c[n] == 1)
                        out += c[n];
                }
            }
        }
        return out;
    }

    bool quit = false;

private:
    termios before{};
    bool is_terminal = false, ended = false, escaped = false;
};

} // namespace

// Verilator's own errors: of saving and restoring.
void vl_fatal(const char *, int, const char *, const char *message)
{
    if (!unfinished.empty())
        unlink(unfinished.c_str());
    fail("%s", message);
}

int main(int argc, char **argv)
{
    const Options o = parse(argc, argv);
    struct sigaction action{};
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGHUP, &action, nullptr);
    setvbuf(stdout, nullptr, _IOFBF, 1 << 16);

    Machine machine(o);
    machine.type(o.send);
    std::unique_ptr<Terminal> terminal(o.console ? new Terminal : nullptr);
    const uint64_t limit = machine.cycle + o.max_cycles;
    const auto begin = Clock::now();
    while (!stop_signal && !machine.done && !machine.was_reset && machine.cycle < limit && !(terminal && terminal->quit)) {
        if (terminal)
            machine.type(terminal->read());
        machine.run(std::min(limit, machine.cycle + CHUNK));
    }
    const double seconds = Seconds(Clock::now() - begin).count();
    terminal.reset();

    const char *reason = machine.done ? "until" : machine.was_reset ? "reset" : machine.cycle >= limit ? "max-cycles" : "stopped";
    const bool came = machine.done || o.until.empty();
    if (!came)
        fprintf(stderr, PROGRAM ": ended (%s) before the console printed '%s'\n", reason, o.until.c_str());
    if (came && !o.save.empty())
        machine.save();
    machine.finish();
    if (!o.stats.empty()) {
        std::ofstream out(o.stats);
        out << "{\"reason\": \"" << reason << "\", \"start_tick\": " << machine.first_tick << ", \"end_tick\": " << machine.tick
            << ", \"start_cycle\": " << machine.first_cycle << ", \"end_cycle\": " << machine.cycle
            << ", \"stimulus_left\": " << machine.steps_left() << ", \"seconds\": " << seconds << ", \"pulse_hz\": " << PULSE_HZ
            << ", \"sys_hz\": " << SYS_HZ << "}\n";
        if (!out.flush())
            fail("--stats: cannot write %s: %s", o.stats.c_str(), strerror(errno));
    }
    fflush(stdout);
    return came ? 0 : 1;
}
