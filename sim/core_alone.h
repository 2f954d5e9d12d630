// SPDX-License-Identifier: BSD-2-Clause
// What the programs that drive the core alone share: its reset, and accesses to its window. One clock for both of its sides; `step` is
// the program's function for a cycle of it. The including file includes arguments.h before, for fail().
#ifndef LITEPULSE_CORE_ALONE_H
#define LITEPULSE_CORE_ALONE_H

#include <cstdint>

#include "Vsim.h"

template <typename Step>
void reset(Vsim &top, Step &&step)
{
    top.rx_i = 1;
    top.aux_i = 0;
    top.bus_stb = 0;
    top.watch_written = top.watch_limit = top.watch_keep = 0;
    top.pulse_rst = top.sys_rst = 1;
    for (int n = 0; n < 20; n++)
        step();
    top.pulse_rst = top.sys_rst = 0;
    for (int n = 0; n < 40; n++)
        step();
}

// One access to the window; the word that was read. More than `limit` cycles mean that the core hangs.
template <typename Step>
uint32_t access_window(Vsim &top, unsigned offset, bool we, uint32_t value, int limit, Step &&step)
{
    top.bus_adr = offset >> 2;
    top.bus_we = we;
    top.bus_dat_w = value;
    top.bus_stb = 1;
    for (int n = 0; n < limit; n++) {
        step();
        if (top.bus_ack) {
            const uint32_t data = top.bus_dat_r;
            step();
            top.bus_stb = 0;
            return data;
        }
    }
    fail("the core does not answer at %#x", offset);
}

#endif
