// SPDX-License-Identifier: BSD-2-Clause
// What the modules of the core take for granted of each other (sim/formal/litepulse_*_environment.sv), checked in a simulation: with
// LITEPULSE_CHECK, and on Verilator, as Icarus knows no bind.
bind litepulse_arbiter litepulse_arbiter_environment #(.S(S)) environment (.*);
bind litepulse_best_effort litepulse_best_effort_environment #(.S(S)) environment (.changed(), .age(), .unread(), .*);
bind litepulse_capture litepulse_capture_environment environment (.*);
bind litepulse_config litepulse_config_environment #(.S(S)) environment (.*);
bind litepulse_echo litepulse_echo_environment #(.LAG(LAG)) environment (.changed_was(), .*);
bind litepulse_events litepulse_events_environment #(.S(S), .EV_AW(EV_AW), .C(C), .PORTS(PORTS), .BRIEF(BRIEF)) environment (
    .since(), .waits(), .second(), .*
);
bind litepulse_launch_memory litepulse_launch_memory_environment environment (.*);
bind litepulse_lin litepulse_lin_environment environment (.rest(), .quiet(), .after(), .*);
bind litepulse_line_rx litepulse_line_rx_environment #(.S(S)) environment (.*);
bind litepulse_line_tx litepulse_line_tx_environment #(.S(S)) environment (.free_was(), .free_off_was(), .*);
bind litepulse_receive litepulse_receive_environment #(.RING_AW(RING_AW)) environment (.rest(), .*);
bind litepulse_responder litepulse_responder_environment #(.S(S)) environment (.*);
bind litepulse_sequencer litepulse_sequencer_environment environment (.*);
