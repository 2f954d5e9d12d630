// SPDX-License-Identifier: BSD-2-Clause
// What passes between the modules of the core, one type for each bundle of wires. Included and not a package: Icarus Verilog 11 takes no
// type of a package at a port. It takes members of a bundle, but no variable index into one. A module that puts a bundle together does
// so by a continuous assignment to each member: no tool would notice that two fields had changed places in a concatenation.
// Ticks of a cycle are samples: a field *_off is one, 0 to S - 1.
`ifndef LITEPULSE_TYPES_SVH
`define LITEPULSE_TYPES_SVH

// A launch that a timed source wants (responder, queue, train to litepulse_arbiter). It stays until it has been answered.
typedef struct packed {
  logic [1:0]  kind;         // LAUNCH_*
  logic [1:0]  profile;
  logic [7:0]  data;         // byte; of a break its length in bits
  logic [2:0]  off;
} launch_t;

// The width of a source's pulse, as far as it matters before the launch is granted (from litepulse_launch_memory).
typedef struct packed {
  logic        zero;
  logic        brief;        // less than 4 cycles, for S > 1 only; then:
  logic [4:0]  low;          // so many ticks
} pulse_width_t;

// How a launch begins that goes on beyond its cycle (litepulse_arbiter to litepulse_line_tx).
typedef struct packed {
  logic [2:0]  off;
  logic [1:0]  kind;         // LAUNCH_*
  logic [7:0]  data;
  logic        invert;
  // S > 1: a pulse that ends in the next cycle; in the one after that; and at which sample then
  logic        ends1;
  logic        ends2;
  logic [2:0]  ends_off;
} start_t;

// What the line does, as litepulse_line_tx reports it.
typedef struct packed {
  logic        free_next;    // it is free in the next cycle from sample free_off on
  logic [2:0]  free_off;
  logic        free_rest;    // the same, unless a launch begins in this cycle: known sooner
  logic        settled;      // it certainly is not: the boundary is far
  logic        active;       // a launch or a hold is on it in this cycle, from sample 0 on
} line_state_t;

// Format of a frame.
typedef struct packed {
  logic [1:0]  stop;         // STOP_*
  logic [2:0]  parity;       // PARITY_*
  logic [1:0]  data_bits;    // less 5
} frame_format_t;

// A word for litepulse_launch_memory, from litepulse_config; the period's low part, or the width, is the configuration word itself.
typedef struct packed {
  logic        we;
  logic        is_profile;   // else a width
  logic [1:0]  entry;        // profile; else 0: the responder's
  frame_format_t format;
  logic [3:0]  period_high;
} profile_write_t;

// What litepulse_sequencer does for one of its threads, in the cycle in which that thread's strobe `act` is high.
typedef struct packed {
  logic [2:0]  action;       // ACT_*
  logic [4:0]  argument;
  logic        taken;        // the instruction's condition held
  logic [31:0] result;       // its sum
  logic        zero;         // the sum was 0 in the last cycle
} operation_t;

// What became of the last launch of a thread of the sequencer, and when it was due.
typedef struct packed {
  logic [7:0]  lo;           // low byte of the cycle
  logic [2:0]  off;
  logic [2:0]  outcome;      // OUT_*
  logic        granted;
} launch_result_t;

// A record that somebody wants written to the event stream (to litepulse_events).
typedef struct packed {
  logic [31:0] data;
  logic [3:0]  kind;         // KIND_*
  logic [3:0]  source;       // SRC_*
  logic [7:0]  flags;
  logic [7:0]  lo;           // low byte of its cycle
  logic [2:0]  off;
} event_request_t;

// Settings of litepulse_capture; a bit per channel.
typedef struct packed {
  logic [15:0] rise_en;
  logic [15:0] fall_en;
  logic [15:0] filt_en;
  logic [5:0]  filt_len;     // samples; 0 counts as 1
  logic        filt_new;     // first cycle of what was written to filt_en and filt_len ...
  logic        filt_len_new; // ... if filt_len differs
} capture_settings_t;

// The enabled edges of the last cycle (litepulse_capture to litepulse_events). Bit c*S + s: channel c, sample s.
typedef struct packed {
  logic        plain;        // there are some of channels without filter
  logic        filtered;     // of channels with one, `delay` cycles older
  logic [15:0] changed;
  logic [15:0] level;
  logic [15:0] group;        // the filtered channels, a bit per channel
  logic [6:0]  delay;
} edges_t;

// Which edges litepulse_responder waits for (to litepulse_capture), whatever the enables say.
typedef struct packed {
  logic [3:0]  channel;      // acts a cycle later
  logic        enable;       // else there is none
  logic        rise;
  logic        fall;
  logic        of_line;      // it waits for a byte or a break: `late` is that of the line, a cycle later
} edge_choice_t;

// The first such edge of this cycle, with the settings it was conditioned with (litepulse_capture to litepulse_responder).
typedef struct packed {
  logic        found;
  logic [2:0]  off;          // in the cycle that lies `delay` cycles back, ...
  logic        filtered;     // ... none if not filtered
  logic        is_line;
  logic        line_filtered; // as `filtered`, of the line
  logic [6:0]  delay;
  // S > 1, of the responder's:
  logic        quick;        // it is found in the samples as they arrive: `off` is in the cycle that will be shown in 2 cycles; ...
  logic [6:0]  late;         // ... else so many cycles before that one: 2, and those of the filter
} chosen_edge_t;

// A received frame (litepulse_line_rx to litepulse_receive).
typedef struct packed {
  logic [47:0] tick;         // start edge
  logic [6:0]  flags;
  logic [8:0]  data;
} received_t;

// What litepulse_responder may wait for on the line (from litepulse_line_rx). Both ends are further back than `now`, see there.
typedef struct packed {
  logic        byte_ok;      // no parity or framing error
  logic        byte_own;     // it may be our own
  logic        byte_end;     // strobe: the frame of the last record has ended
  logic [2:0]  byte_end_off;
  logic        break_end;    // strobe: so has a break
  logic [2:0]  break_off;
  logic        break_own;
} line_events_t;

// Between the pulse domain and litepulse_cdc. Where a width depends on a parameter the type has the greatest one, since no type depends on
// a module's parameters; in a smaller core the upper bits are constant.

// A record for the ring of events, in any cycle in which there is room.
typedef struct packed {
  logic         valid;
  logic [127:0] data;
} ev_write_t;

// A word of a received record; its four come in order.
typedef struct packed {
  logic         valid;
  logic [1:0]   word;
  logic [15:0]  data;
} rx_write_t;

// The byte to send next; it falls through, and stays until it is popped.
typedef struct packed {
  logic        valid;
  logic        none;         // as far as known there is no other behind it
  logic [7:0]  data;
} tx_head_t;

// Reading of the oldest launch.
typedef struct packed {
  logic        en;           // a word of it is read
  logic [1:0]  word;
  logic        free;         // strobe: it makes room for another
} lq_read_t;

// The launches that wait.
typedef struct packed {
  logic [15:0] avail;        // their number
  logic [31:0] data;         // the word that was read, a cycle after `en`, held
} lq_head_t;

// A configuration word. litepulse_window gives it with a strobe, the pulse domain gets it until it has been answered.
typedef struct packed {
  logic        valid;
  logic [5:0]  addr;         // index of the word
  logic [31:0] data;
  logic        stop;         // it is the first or the last word of the watchdog
} cfg_request_t;

// The answer of litepulse_config.
typedef struct packed {
  logic        done;
  logic        refused;      // while `done`
} cfg_answer_t;

// The pulse domain as the bus sees it: what a snapshot holds, levels of `status`, strobes.
typedef struct packed {
  logic [63:0] tick;
  logic        ev_gap;       // else ev_lost counts as 0
  logic [31:0] ev_lost;
  logic        ev_lost_carries;  // ev_lost is none in this cycle; never in two in a row
  logic        rx_gap;       // else rx_nlost counts as that of 0
  logic [31:0] rx_nlost;     // complement
  logic        rx_busy;      // also knows of records on their way to the ring
  logic        line_busy;
  logic        queue_idle;
  logic        resp_armed;
  logic        train_pending;
  logic        train_running;
  logic        tx_idle;
  logic        fault;        // strobe
} pulse_state_t;

// Between litepulse_cdc, litepulse_receive_store and litepulse_window, in `sys`. Widths as above.

// Reading of events: index 0 is the header's place, 1 the oldest record.
typedef struct packed {
  logic        free;         // strobe: the oldest `count` make room
  logic [14:0] count;
  logic        en;
  logic [8:0]  index;
  logic [1:0]  word;
} ev_read_t;

// The events that can be read, up to index `ready`.
typedef struct packed {
  logic [14:0] nready;       // complement
  logic [15:0] position;     // how many have been freed
  logic        arrived;      // strobe: there are more
  logic [31:0] data;         // a cycle after `en`, held
} ev_records_t;

// Reading of received records: index 0 and 1 are the header's place, 2 the oldest record.
typedef struct packed {
  logic        free;         // strobe: the oldest `count` make room
  logic [9:0]  count;
  logic        en;
  logic [8:0]  index;
  logic        word;
} rx_read_t;

// The received records that can be read, below index `limit`.
typedef struct packed {
  logic [9:0]  nready;       // complements
  logic [9:0]  nlimit;
  logic [15:0] position;     // how many have been freed
  logic        arrived;      // strobe: there is another
  logic [31:0] data;         // a cycle after `en`, and only then
} rx_records_t;

// Moving of received records from the ring of litepulse_cdc to litepulse_receive_store.
typedef struct packed {
  logic        idle;         // nothing is being moved, nor was in the cycle before: `room` counts all records
  logic        room;
  logic        en;           // a word of the record that was taken last is fetched
  logic [1:0]  part;
} rx_fetch_t;

// The ring's answer.
typedef struct packed {
  logic        take;         // strobe: a record is taken
  logic [15:0] data;         // a cycle after `en`, held
} rx_fetched_t;

// A byte to send.
typedef struct packed {
  logic        valid;
  logic [7:0]  data;
} tx_write_t;

// A word of a launch, which goes straight into the next free slot; `commit` hands the slot over.
typedef struct packed {
  logic        en;
  logic [1:0]  word;
  logic [31:0] data;
  logic        commit;
} lq_write_t;

// What has become of the last configuration word.
typedef struct packed {
  logic        busy;         // on its way
  logic        answered;     // strobe: no longer
  logic        refused;      // while `answered`
} cfg_state_t;

// Snapshots for the headers: words 1 (lost), 2, 3 (tick) of each stream, 0 events, 1 receive. Words from address 8 on read 0.
typedef struct packed {
  logic        start;        // strobe
  logic        stream;
  logic        en;
  logic [3:0]  addr;
} snap_request_t;

// The snapshots' state and data.
typedef struct packed {
  logic        busy;         // one is being taken
  logic [31:0] data;         // a cycle after `en`, held
} snap_t;

// An access of the bus to the window; it is held until it has been answered.
typedef struct packed {
  logic        stb;
  logic        we;
  logic [14:2] adr;
  logic [31:0] dat_w;
} bus_request_t;

// Its answer.
typedef struct packed {
  logic        ack;          // one cycle
  logic [31:0] dat_r;
} bus_answer_t;

// What litepulse_window counts for the registers, modulo 2^8 and 2^16.
typedef struct packed {
  logic [7:0]  launch_accepted;
  logic [7:0]  launch_refused;
  logic [15:0] tx_dropped;
  logic [7:0]  config_applied;
  logic [7:0]  config_refused;
} window_counts_t;

`endif
