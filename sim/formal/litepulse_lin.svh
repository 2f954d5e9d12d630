// SPDX-License-Identifier: BSD-2-Clause
// What is answered, and with which bytes. Included at the end of the module.
// Ghosts: what has been received since the last break; one entry, any, as it was written, as it was when its header came, and what is
// sent of it, with a checksum by the words of the standard: a sum from which 255 is taken whenever it reaches 256.

  logic [3:0] f_rest_in, f_rest, f_after_in, f_after;  // cycles in which no byte may come, no good 0x55 behind a break; a cycle later
  logic [5:0] f_quiet_in, f_quiet;  // no break behind a good byte
  litepulse_lin_environment environment (.rest(f_rest_in), .quiet(f_quiet_in), .after(f_after_in), .*);
  always_ff @(posedge clk) {f_rest, f_after, f_quiet} <= rst ? 14'd0 : {f_rest_in, f_after_in, f_quiet_in};
`ifndef LITEPULSE_CHECK
  localparam logic [7:0] WORD_MAX = 8'd47;   // cycles in which a word is answered
  logic        f_past = 1'b0;
  initial assume (rst);
  (* anyconst *) logic [EW-1:0] f_id;   // the entry that is watched

  // Line: of records a cycle later, as the module sees them
  // 0: no break since what was wrong, 1: break, 2: sync byte, 3: identifier, and `g_heard` bytes behind it
  logic [1:0]  g_at;
  logic [3:0]  g_heard;
  logic [7:0]  g_pid;
  logic        g_launched;          // since the last byte
  logic        g_overtaken;
  logic [7:0]  g_age, g_since;      // cycles behind the one after the identifier's record; after that of the last byte of the frame
  wire         g_even = ^(value & 8'b0101_0111), g_odd = ^(value & 8'b1011_1010);
  wire         g_header = heard && g_at == 2'd2 && is_ok && !g_even && g_odd && !counting
      && (ENTRIES == 64 || value[5:0] < ENTRIES);
  wire         g_right = heard && g_at == 2'd3 && is_ok && g_launched && value == data;
  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    if (heard) begin
      g_launched <= 1'b0;
      if (g_at == 2'd1 && is_ok && value == 8'h55) g_at <= 2'd2;
      else if (g_header) {g_at, g_pid, g_heard} <= {2'd3, value, 4'd0};
      else if (g_right) g_heard <= (g_heard == '1) ? g_heard : g_heard + 4'd1;
      else g_at <= 2'd0;
    end else if (launched) g_launched <= 1'b1;
    if (break_stb) g_at <= 2'd1;
    g_age   <= g_header ? 8'd0 : (g_age == 8'd63) ? g_age : g_age + 8'd1;
    g_since <= (g_header || g_right) ? 8'd0 : (g_since == 8'd63) ? g_since : g_since + 8'd1;
    if (answers || goes_on) g_overtaken <= 1'b0;
    else if ((waiting || counting) && receiving) g_overtaken <= 1'b1;
    if (rst || !enable || operation == CLEAR) g_at <= 2'd0;
    if (rst || !enable || operation == CLEAR) g_overtaken <= 1'b0;
    if (rst) begin
      {g_age, g_since} <= {8'd63, 8'd63};
      g_launched <= (sent || launched) && !heard;
    end
  end

  // The entry: data known in each half once that has been written
  logic [63:0] g_staged, g_data, g_work;
  logic [1:0]  g_staged_known, g_known, g_work_known;
  logic [15:0] g_control, g_work_control;
  logic        g_mine;              // the last header was looked up, and was that entry's
  logic [7:0]  g_sum;
  wire         g_commits = operation == CONTROL_WRITE && cfg_data[EW-1:0] == f_id;
  wire [3:0]   g_length = g_work_control[3:0];
  wire [8:0]   g_next_sum = {1'b0, g_sum} + {1'b0, data};
  always_ff @(posedge clk) begin
    if (operation == STAGE_HIGH) begin
      if (cfg_addr[0]) g_staged[63:32] <= cfg_data;
      else g_staged[31:0] <= cfg_data;
      g_staged_known <= g_staged_known | {cfg_addr[0], !cfg_addr[0]};
    end
    if (operation == STAGE_LOW) g_staged_known <= g_staged_known & {!cfg_addr[0], cfg_addr[0]};
    if (g_commits) {g_control, g_data, g_known} <= {cfg_data[31:16], g_staged, g_staged_known};
    if (operation == SPEND && g_mine) g_control <= 18'd0;
    if (operation == CONTROL) begin
      g_mine <= pid[EW-1:0] == f_id;
      {g_work_control, g_work, g_work_known} <= {g_control, g_data, g_known};
      g_sum  <= g_control[4] ? pid : 8'd0;
    end else if (g_right && g_mine) begin
      g_sum <= (g_next_sum > 9'd255) ? 8'(g_next_sum - 9'd255) : g_next_sum[7:0];
    end
    if (g_header) g_mine <= 1'b0;
    if (rst) {g_staged_known, g_control, g_mine} <= '0;
  end

  logic [7:0]  g_wait;              // cycles that a word has waited, those of CLEAR apart
  always_ff @(posedge clk) g_wait <= (rst || !cfg_req || cfg_done) ? 8'd0 : g_wait + 8'(operation != CLEAR);

  // What is promised -----------------------------------------------------------------------------------------------------
  wire       g_known_byte = g_heard < g_length && g_work_known[g_heard[2]];
  wire [7:0] g_byte = g_work[8*g_heard[2:0] +: 8];
  wire [7:0] g_checksum = g_work_control[15:8] ^ (g_work_control[6] ? 8'd0 : 8'd255 - g_sum);
  always_comb begin
    if (f_past && !rst) begin
      // an answer only behind a whole good header, and behind bytes that came back as they were sent
      if (hit) assert (g_at == 2'd3 && waiting && enable_was);
      // of that identifier's entry, as it was when the header came: the next byte of the data, or the checksum, and no more
      if (hit && pid[EW-1:0] == f_id) assert (g_mine && g_length >= 4'd1 && g_length <= 4'd8 && g_heard <= g_length);
      if (hit && g_mine && g_known_byte) assert (data == g_byte);
      if (hit && g_mine && g_heard == g_length) assert (data == g_checksum);
      if (hit) assert (pid == g_pid);
      // known in time
      if (waiting && state == ANSWER && g_since >= 8'd28) assert (hit);
      assert (overtaken == g_overtaken);
      // a word is answered in time
      if (cfg_req) assert (g_wait <= WORD_MAX);
    end
  end
  logic enable_was;
  always_ff @(posedge clk) enable_was <= enable;
  always_ff @(posedge clk) begin
    if (f_past && !rst && !$past(rst)) begin
      // a header of an identifier with an answer gets it
      if ($past(operation == CONTROL && rdata[3:0] != 4'd0 && state == ANSWER && enable && !heard && !line_events.byte_end))
        assert (state == ANSWER);
      // a word is refused if and only if its length or its identifier is too large, and then changes nothing
      if (cfg_done) assert ($past(operation) == (cfg_err ? IDLE : $past(cfg_addr[1]) ? CONTROL_WRITE : STAGE_HIGH));
      if (cfg_done) assert (cfg_err == ($past(cfg_addr[1]) && ($past(cfg_data[19:16]) > 4'd8
          || (ENTRIES != 64 && $past(cfg_data[5:0]) >= ENTRIES))));
    end
  end

  // What makes it inductive ------------------------------------------------------------------------------------------------
  logic [7:0] f_host;               // cycles that a host's operation still takes
  logic [7:0] f_copy, f_look, f_fetch;  // that copying, a header's lookup, the fetch of a byte still take
  wire [1:0]  f_cycle = {1'b0, cycle[0]} + {1'b0, cycle[1]};
  wire        f_copies = operation == COPY_READ || operation == COPY_WRITE;
  wire        f_looks = operation == CONTROL_READ || operation == CONTROL || operation == SPEND || f_copies;
  wire        f_first = asks_entry || (f_looks && !(f_copies && word != 3'd0));   // the first byte is not there yet
  wire        f_fetches = operation == BYTE_READ || operation == BYTE || operation == SUM_READ || operation == SUM;
  wire        f_writes = operation == STAGE_READ || operation == ENTRY_WRITE || operation == CONTROL_WRITE;
  wire        f_this = f_writes && cfg_data[EW-1:0] == f_id;
  logic [15:0] f_entry_word, f_stage_word, f_work_word;
  // what comes out of the memory next, or just has
  wire [15:0] f_out = reads ? fetched : rdata;
  wire        f_is_out = !reads || cycle[1];
  // a word of the memory as it is once the write under way is done
  function automatic [15:0] f_mem(input [AW-1:0] a);
    f_mem = (we && addr == a) ? wdata : entry_memory[a];
  endfunction
  always_comb begin
    case (operation)
      STAGE_LOW:     f_host = 8'd2;
      STAGE_HIGH:    f_host = 8'd1;
      STAGE_READ:    f_host = 8'd17 - {3'd0, word, 2'd0} - {6'd0, f_cycle};
      ENTRY_WRITE:   f_host = 8'd14 - {3'd0, word, 2'd0};
      CONTROL_WRITE: f_host = 8'd1;
      default:       f_host = 8'd0;
    endcase
    case (operation)
      COPY_READ:     f_copy = 8'd16 - {3'd0, word, 2'd0} - {6'd0, f_cycle};
      COPY_WRITE:    f_copy = 8'd13 - {3'd0, word, 2'd0};
      default:       f_copy = 8'd0;
    endcase
    case (operation)
      CONTROL_READ:  f_look = 8'd21 - {6'd0, f_cycle};
      CONTROL:       f_look = 8'd18;
      SPEND:         f_look = 8'd17;
      default:       f_look = f_copy;
    endcase
    case (operation)
      BYTE_READ, SUM_READ: f_fetch = 8'd4 - {6'd0, f_cycle};
      default:             f_fetch = 8'd1;
    endcase
    f_entry_word = 18'd0;
    f_stage_word = 18'd0;
    f_work_word  = 18'd0;
    if (f_past && !rst) begin
      // what was received
      assert ((state == SYNC) == (g_at == 2'd1) && (state == HEADER) == (g_at == 2'd2));
      if (state == ANSWER) assert (g_at == 2'd3 && pid == g_pid);
      if (waiting) assert (state == ANSWER || g_at == 2'd3);
      if (hit) assert (state == ANSWER);
      assert (sent == g_launched);
      if (operation == CLEAR) assert (!asks_entry && !asks_byte && !waiting && !g_mine);
      // the cycles of a read
      assert (cycle != 2'b10 && (reads || cycle == 2'b00));
      if (cycle == 2'b01) assert (addr == addr_next && !we);
      assert (fold == (operation == SUM_READ && cycle == 2'b00) || operation == CLEAR);
      // time: no operation of one frame lasts into the next
      assert (f_rest_in == (heard ? 4'd15 : f_rest == 4'd0 ? 4'd0 : f_rest - 4'd1));
      assert (f_quiet_in == (heard && is_ok ? 6'd32 : f_quiet == 6'd0 ? 6'd0 : f_quiet - 6'd1));
      if (heard) assert (f_rest == 4'd0);
      if (heard && is_ok && value == 8'h55 && state == SYNC) assert (f_after == 4'd0);
      assert (g_since + {2'd0, f_quiet} >= 8'd32);
      assert (g_age <= 8'd63 && g_since <= 8'd63);
      assert (g_since + {4'd0, f_rest} >= 8'd15);
      if (g_at == 2'd1) assert (g_since >= 8'd32);
      if (g_at == 2'd2) assert (g_since + {4'd0, f_rest} >= 8'd47);
      assert (g_since <= g_age);
      if (state == ANSWER && f_first) assert (g_since == g_age && g_heard == 4'd0);
      if (asks_entry) assert (g_age + f_host <= 8'd17 && !f_looks && !f_fetches && !asks_byte);
      if (operation == CONTROL_READ) assert (g_age <= 8'd18 + {6'd0, f_cycle} && word == CONTROL_WORD);
      if (operation == CONTROL) assert (g_age <= 8'd21 && word == CONTROL_WORD);
      if (operation == SPEND) assert (g_age <= 8'd22 && word == CONTROL_WORD);
      if (f_copies) assert (g_age + f_copy <= 8'd39 && !word[2] && index == {2'd0, word != 3'd0});
      if (operation == SPEND) assert (index == 3'd0);
      if (f_first) assert (!asks_byte);
      if (asks_byte) assert (!f_fetches && g_since + f_host <= 8'd23 && g_since + f_copy <= 8'd23);
      if (operation == BYTE_READ || operation == SUM_READ) assert (g_since <= 8'd24 + {6'd0, f_cycle});
      if (operation == BYTE || operation == SUM) assert (g_since <= 8'd27);
      if (operation == STAGE_READ || operation == ENTRY_WRITE) assert (!word[2]);
      if (operation == CONTROL_WRITE || operation == CLEAR) assert (word == CONTROL_WORD);
      if (operation == STAGE_LOW) assert (word == {1'b0, cfg_addr[0], 1'b0} && !cfg_addr[1]);
      if (operation == STAGE_HIGH) assert (word == {1'b0, cfg_addr[0], 1'b1} && !cfg_addr[1]);
      if (f_writes) assert (cfg_addr == 2'd2 && cfg_data[19:16] <= 4'd8 && (ENTRIES == 64 || cfg_data[5:0] < ENTRIES));
      if (f_host != 8'd0) assert (cfg_req && !cfg_done);
      // nothing but a header and a byte can come before a word
      if (g_wait != 8'd0) assert (wish && operation != CLEAR);
      if (f_host != 8'd0) assert (g_wait + f_host <= WORD_MAX);
      if (f_look != 8'd0) assert (g_wait + f_look <= WORD_MAX - 8'd23);
      if (f_fetches) assert (g_wait + f_fetch <= WORD_MAX - 8'd18);
      if (asks_entry && operation == IDLE && !cfg_done) assert (g_wait <= 8'd2);
      if (asks_byte && operation == IDLE && !cfg_done) assert (g_wait <= WORD_MAX - 8'd23);
      if (operation == IDLE && !cfg_done) assert (g_wait <= WORD_MAX - 8'd18);
      // the memory
      for (int w = 0; w < 4; w++) begin
        f_entry_word = f_mem({1'b0, f_id, w[1:0]});
        f_stage_word = f_mem({2'b11, 1'b1, {(EW-3){1'b0}}, 1'b0, w[1:0]});
        f_work_word  = f_mem({2'b11, 1'b0, {(EW-3){1'b0}}, 1'b0, w[1:0]});
        if (g_staged_known[w[1]]) assert (f_stage_word == g_staged[16*w +: 16]);
        if (f_this && g_staged_known[w[1]] && (3'(w) < word)) assert (f_entry_word == g_staged[16*w +: 16]);
        if (!f_this && g_known[w[1]] && g_control[3:0] != 4'd0) assert (f_entry_word == g_data[16*w +: 16]);
        if ((operation == STAGE_READ || operation == ENTRY_WRITE) && f_is_out && 3'(w) == word && g_staged_known[w[1]])
          assert (f_out == g_staged[16*w +: 16]);
        if (g_mine && g_work_known[w[1]] && g_length != 4'd0 && (!f_looks || (!word[2] && 3'(w) < word)))
          assert (f_work_word == g_work[16*w +: 16]);
        if (f_copies && f_is_out && g_mine && g_work_known[w[1]] && 3'(w) == word) assert (f_out == g_work[16*w +: 16]);
        if ((operation == SPEND || f_copies) && g_mine)
          assert (g_work == g_data && g_work_known == g_known && g_length != 4'd0);
        if ((operation == SPEND || f_copies) && g_mine && g_work_known[w[1]])
          assert (f_entry_word == g_work[16*w +: 16]);
        if ((operation == BYTE_READ || operation == BYTE) && f_is_out && g_mine && g_length != 4'd0 && word == {1'b0, w[1:0]} && g_work_known[w[1]])
          assert (f_out == g_work[16*w +: 16]);
      end
      if (operation != CLEAR || f_id < pid[EW-1:0]) assert (f_mem({3'b100, f_id}) == g_control);
      if (operation == CLEAR) assert (g_control == 18'd0);
      assert (g_control[3:0] <= 4'd8);
      if ((operation == CONTROL_READ || operation == CONTROL) && f_is_out && pid[EW-1:0] == f_id) assert (f_out == g_control);
      if ((operation == SUM_READ || operation == SUM) && f_is_out && g_mine) assert (f_out == g_work_control);
      if (g_mine && !asks_entry && operation != CONTROL_READ && operation != CONTROL)
        assert (f_mem({2'b11, 1'b0, {(EW-3){1'b0}}, CONTROL_WORD}) == g_work_control || operation == CLEAR);
      if (asks_entry || operation == CONTROL_READ || operation == CONTROL) assert (!g_mine && g_pid == pid);
      if (g_mine && operation != CLEAR) assert (pid[EW-1:0] == f_id && g_length <= 4'd8);
      if (f_looks) assert (g_pid == pid);
      // how far it is
      if (state == ANSWER && pid[EW-1:0] == f_id && !asks_entry && operation != CONTROL_READ && operation != CONTROL) begin
        assert (g_mine && g_length != 4'd0 && left <= g_length);
        assert (g_heard <= g_length);
        assert (index == 3'(g_length - left));
        if (f_first) assert (left == g_length && g_heard == 4'd0);
        if (asks_byte || f_fetches) assert (g_heard == g_length - left);
        if (operation == BYTE_READ || operation == BYTE) assert (left != 4'd0 && word == {1'b0, index[2:1]});
        if (operation == SUM_READ || operation == SUM) assert (left == 4'd0 && word == CONTROL_WORD);
        if (!asks_byte && !f_fetches && !f_first)
          assert (g_heard == g_length ? left == 4'd0 && is_last : !is_last && left == g_length - g_heard - 4'd1);
        assert (sum != 9'h1ff && 9'(sum[7:0]) + 9'(sum[8]) == {1'b0, g_sum});
        if (operation == SUM || (operation == SUM_READ && !fold)) assert (!sum[8]);
      end
      if (state == ANSWER && (f_first || asks_byte || f_fetches)) assert (waiting && !hit && !sent);
      if (hit) assert (waiting);
      if (enable && (waiting || (state == ANSWER && sent))) assert (!counting && !(sent && hit));
      if (state == ANSWER && waiting && !hit) assert (f_first || asks_byte || f_fetches);
      if (hit) assert (!f_first && !asks_byte && !f_fetches);
      if (hit && g_mine && g_known_byte) assert (data == g_byte);
      if (hit && g_mine && g_heard == g_length) assert (data == g_checksum);
    end
  end

  always_ff @(posedge clk) begin
    if (f_past && !rst) begin
      cover (hit && g_mine && g_heard == 4'd0);
      cover (hit && g_mine && g_heard == 4'd1 && g_length == 4'd1 && g_work_control[4] && g_sum < g_pid);
      cover (unpublished);
      cover (overtaken);
    end
  end
`endif
