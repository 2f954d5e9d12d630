// SPDX-License-Identifier: BSD-2-Clause
// Runs board_tb: its clocks, and its serial line as a terminal of 115200 baud sees it. Each line is printed with the cycle it began at.
//   board-boot CYCLES UNTIL KEY DEAD_ADDRESS DEAD_DATA +rom=FILE [+flash=FILE]
// UNTIL: ends when the console has printed this. KEY: the cycle a key is typed at, 0: never.
// Status 0; 1 if it has not printed UNTIL; 3 if the SDRAM was misused, which standard error then
// reports.

#include "Vsim.h"
#include "verilated.h"

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char **argv)
{
    if (argc < 7)
        return 2;
    const uint64_t cycles = strtoull(argv[1], nullptr, 0);
    const std::string until = argv[2];
    constexpr double BIT = 50e6 / 115200;
    VerilatedContext context;
    context.commandArgs(argc, argv);
    Vsim top(&context);
    top.dead_address = strtoul(argv[4], nullptr, 0);
    top.dead_data = strtoul(argv[5], nullptr, 0);
    const uint64_t key = strtoull(argv[3], nullptr, 0);
    constexpr unsigned KEY_BITS = 1u << 9 | 'k' << 1;       // start bit first

    std::string line;
    uint64_t line_began = 0, began = 0;         // cycles; of a character: of its start bit
    int bit = -1, value = 0;                    // -1: idle; 0 to 7: data; 8: stop
    for (uint64_t cycle = 0; cycle < cycles; ++cycle) {
        top.rst = cycle < 16;
        const double typed = (double(cycle) - double(key)) / BIT;
        top.serial_rx = !key || typed < 0 || typed >= 10 || (KEY_BITS >> int(typed) & 1);
        // a quarter of a period each
        top.clk = 1;
        top.eval();
        top.clk_ps = 1;
        top.eval();
        top.clk = 0;
        top.eval();
        top.clk_ps = 0;
        top.eval();
        if (top.fault && !top.dead_address) {       // commands that arrive changed mean nothing
            fprintf(stderr, "fault of the SDRAM in cycle %llu: %#x\n", (unsigned long long)cycle, (unsigned)top.fault);
            return 3;
        }
        if (bit < 0) {
            if (!top.serial_tx && cycle > 16) {
                bit = 0;
                value = 0;
                began = cycle;
            }
            continue;
        }
        if (double(cycle - began) < (bit + 1.5) * BIT)
            continue;
        if (bit < 8) {
            value |= top.serial_tx << bit++;
            continue;
        }
        if (!top.serial_tx) {
            fprintf(stderr, "no stop bit in cycle %llu\n", (unsigned long long)cycle);
            return 4;
        }
        bit = -1;
        if (line.empty())
            line_began = began;
        line += char(value);
        if (line.find(until) != std::string::npos || value == '\n') {
            const bool ends = line.find(until) != std::string::npos;
            while (!line.empty() && (line.back() == '\n' || line.back() == '\r'))
                line.pop_back();
            printf("%llu %s\n", (unsigned long long)line_began, line.c_str());
            line.clear();
            if (ends)
                return 0;
        }
    }
    printf("%llu %s\n", (unsigned long long)line_began, line.c_str());
    return 1;
}
