# SPDX-License-Identifier: BSD-2-Clause
# Train: pulse k at floor(A), then A += I + N/D. TICK and FRACTION are A at the pulse waited for, BEFORE and BASE at the one before it.

# written by the host: start words while no train runs, rate words and the width while no change waits
word START_LO   0
word START_HI   1
word COUNT      2
word WIDTH      3
word LAUNCH     4
word PERIOD     8
word NUM        9
word DEN        10
word AT         11
word STEP       12
# the train's own
word I          16
word N          17
word D          18
word NUMBER     19      # of the pulse waited for
word FRACTION   20
word BASE       21
word TICK_LO    22
word TICK_HI    23
word BEFORE_LO  24
word BEFORE_HI  25
word DISTANCE   26
word INTERVAL   29      # of a change, with its step; behind that the upper half of DISTANCE
word TOLD       30      # what the next record tells; before that -(least distance)
# constants
word FASTEST    27      # -(least period of a train that cannot be changed - 1)
word CHANGE_LEAST 28    # -(least distance of a change): its width is written behind the load
word ZERO       31
word HEAD_START 5       # -(cycles from the time taken in `start_place` or `change_place` to the loaded slot's 0)
word HEAD_SHORT 6       # the same for `place`
word START_LEAST 7      # -(least distance of a start)
word REDO_LEAST 13      # -(least distance of the pulse waited for that is placed again)
word SOON       14      # distance of a start as soon as possible
word MINIMUM    15      # -(least period of a train that can be changed - 1)

idle:                                   |               | if eventful command else idle
command:                                |               | if cmd1 no_train else may_start
may_start:                              |               | if cmd0 start else unknown
unknown:                                | do refuse     | idle
no_train:                               |               | if cmd0 stop_again else no_adjust
stop_again:                             | do done
say_stop: TOLD = 0 + NUMBER
                                        | do stop       | tell_idle
no_adjust: TOLD = 0 + AT
                                        | do invalid
                                        | do refuse     | tell_idle

# always as long as ever an answer takes, so that no record of others moves what comes next
tell_idle: 0 + TOLD                     | emit
          0 + TOLD                      | emit
          0 + TOLD                      | emit
tell_idle_last: 0 + TOLD                | emit          | if acked idle else tell_idle_last
tell_wait: 0 + TOLD                     | emit
          0 + TOLD                      | emit
          0 + TOLD                      | emit
tell_wait_last: 0 + TOLD                | emit          | if acked wait else tell_wait_last

# start and adjust: the rate words first
start:    0 + LAUNCH                    | latch
          0 + WIDTH                     | width         | rate
rate:     TOLD = ~lead + PERIOD
          TOLD + MINIMUM                |               | if borrow(prev) invalid else rate_long
rate_long: PERIOD + ZERO + 1            |               | if borrow(prev) rate_short else rate_num
# nothing but a stop is asked of such a train: litepulse_train refuses the rest
rate_short: TOLD + FASTEST              |               | if cmd1 invalid else rate_fast
rate_fast:                              | do fast       | if borrow(prev) invalid else rate_num
rate_num: NUM + ~DEN + 1                |               | if carry(prev) invalid else rate_den
rate_den: 0 + DEN                       |               | if carry(prev) rate_whole else rate_good
rate_whole:                             |               | if zero(prev) rate_good else invalid
rate_good: INTERVAL = 0 + PERIOD        |               | if cmd1 adjust_step else start_bad
invalid:                                | do invalid    | if cmd1 refused_at else refused_start

# start: then the tick
start_bad:                              |               | if bad invalid else start_when
start_when: TOLD = ~lead + START_LEAST + 1 |            | if asap asap_lo else start_lo
start_lo: TICK_LO = 0 + START_LO
          TICK_HI = 0 + START_HI        |               | start_place
asap_lo:  TICK_LO = now_lo + SOON       |               | if near asap_lo else asap_hi
asap_hi:  TICK_HI = now_hi + ZERO + c
          TICK_LO = lead + TICK_LO
          TICK_HI = TICK_HI + ZERO + c
start_place: DISTANCE = ~now_lo + TICK_LO + 1 |         | if near start_place else start_hi
start_hi: INTERVAL = ~now_hi + TICK_HI + c
          INTERVAL + ZERO               |               | if borrow(prev) start_late else start_compare
start_compare: DISTANCE + TOLD          |               | if zero(prev) start_soon else start_far
start_soon: DISTANCE + HEAD_START       | load          | if carry(prev) started else start_late
start_far: 0 + DISTANCE                 | load_far
started:                                | do run
          NUMBER = 0 + ZERO
          FRACTION = 0 + ZERO
          I = 0 + PERIOD
          N = 0 + NUM
          D = 0 + DEN
          TOLD = 0 + ZERO
                                        | do done
                                        | do applied    | tell_wait
start_late:                             | do late
refused_start: TOLD = 0 + ZERO
                                        | do refuse     | tell_idle

wait:                                   |               | if eventful what else wait
what:                                   |               | if fired fired else not_fired
not_fired:                              |               | if wrapped place else ask
ask:                                    |               | if cmd1 look else busy
# once more, as the pulse of a train that is stopped must be seen soon
look:                                   |               | if fired fired else change_or_stop
change_or_stop:                         |               | if cmd0 stop else adjust
busy:     TOLD = 0 + ZERO               |               | refused_busy
stop:                                   | do disarm
          # it may just have gone
                                        |               | if fired fired else stopped
stopped:                                | do stopped
                                        | do done       | say_stop

# adjust: then the step, then which pulse
adjust:                                 |               | if pending adjust_busy else rate
adjust_step: INTERVAL = INTERVAL + STEP |               | if bad invalid else step_sign
step_sign: 0 + STEP                     |               | if carry(prev) step_over else step_within
step_over: INTERVAL + ZERO + 1          |               | if negative(prev) step_ok else invalid
step_within: INTERVAL + ZERO + 1        |               | if negative(prev) adjust_late else step_ok
# nor may the fraction carry it beyond 32 bits
step_ok:  0 + AT                        |               | if carry(prev) invalid else which
which:    AT + ~NUMBER + 1              |               | if zero(prev) earliest else named
named:    AT + ~NUMBER + 1              |               | if zero(prev) this_one else named_later
named_later:                            |               | if negative(prev) adjust_late else pend
this_one: TOLD = ~lead + REDO_LEAST + 1
          DISTANCE = ~now_lo + TICK_LO + 1 |            | if far redo else this_near
this_near: DISTANCE + TOLD              |               | if fired adjust_late else this_time
this_time:                              |               | if carry(prev) redo else adjust_late
# pulse 0 has none before it
earliest: 0 + NUMBER
          TOLD = ~lead + REDO_LEAST + 1 |               | if zero(prev) pend else next_one
next_one: DISTANCE = ~now_lo + TICK_LO + 1 |            | if far redo else next_near
next_near: DISTANCE + TOLD              |               | if fired pend else next_time
next_time:                              |               | if carry(prev) redo else pend
pend:                                   | do pend
                                        | do done       | if fired fired else wait
redo:                                   | do pend
                                        | do done
          TICK_LO = 0 + BEFORE_LO
          TICK_HI = 0 + BEFORE_HI
          FRACTION = 0 + BASE           |               | change
adjust_busy: TOLD = 0 + AT              |               | refused_busy
refused_busy:                           | do busy       | refused
adjust_late:                            | do late
# A pulse that came meanwhile is reported first, or its record would be too old; then the command,
# still there, is looked at again.
refused_at: TOLD = 0 + AT               |               | if fired fired else refused
refused:                                | do refuse     | tell_wait

# a pulse was launched or refused
# (one operation more than the queue before its report: for one tick the queue's record is first)
fired:    TOLD = 0 + NUMBER
          BEFORE_LO = 0 + TICK_LO
          BEFORE_HI = 0 + TICK_HI
                                        | do pulse
          0 + TOLD                      | emit
          0 + TOLD                      | emit
          0 + TOLD                      | emit
fired_told: 0 + TOLD                    | emit          | if acked next else fired_told
next:     BASE = 0 + FRACTION
          NUMBER = NUMBER + ZERO + 1
          0 + COUNT
          NUMBER + ~COUNT + 1           |               | if zero(prev) not_last else maybe_last
maybe_last:                             |               | if zero(prev) last else not_last
not_last: 0 + AT                        |               | if pending now_or_later else add
now_or_later: AT + ~NUMBER + 1          |               | if zero(prev) change else at_number
at_number:                              |               | if zero(prev) change else add

# A += I + N/D; D = 0 stands for 2^32
add:      FRACTION = FRACTION + N
          FRACTION + ~D + 1             |               | if carry(prev) whole else add_compare
add_compare: 0 + D                      |               | if carry(prev) add_den else no_whole
add_den:                                |               | if zero(prev) no_whole else whole
whole:    FRACTION = FRACTION + ~D + 1
          TICK_LO = TICK_LO + I + 1     |               | add_hi
no_whole: TICK_LO = TICK_LO + I
add_hi:   TICK_HI = TICK_HI + ZERO + c
place:    DISTANCE = ~now_lo + TICK_LO + 1 |            | if near place else place_hi
place_hi: ~now_hi + TICK_HI + c
          DISTANCE + HEAD_SHORT         | load_far unless zero(prev) | wait

# the same with the words of a change
change:   DEN + ~D + 1
          TOLD = ~lead + CHANGE_LEAST + 1 |            | if zero(prev) change_add else change_drop
change_drop: FRACTION = 0 + ZERO
change_add: FRACTION = FRACTION + NUM
          FRACTION + ~DEN + 1           |               | if carry(prev) change_whole else change_compare
change_compare: 0 + DEN                 |               | if carry(prev) change_den else change_no_whole
change_den:                             |               | if zero(prev) change_no_whole else change_whole
change_whole: FRACTION = FRACTION + ~DEN + 1
          TICK_LO = TICK_LO + INTERVAL + 1 |            | change_hi
change_no_whole: TICK_LO = TICK_LO + INTERVAL
change_hi: TICK_HI = TICK_HI + ZERO + c
change_place: DISTANCE = ~now_lo + TICK_LO + 1 |        | if near change_place else change_place_hi
change_place_hi: INTERVAL = ~now_hi + TICK_HI + c
          INTERVAL + ZERO               |               | if borrow(prev) change_late else change_time
change_time: DISTANCE + TOLD            |               | if zero(prev) change_soon else change_far
change_soon: DISTANCE + HEAD_START      | load          | if carry(prev) changed else change_late
change_far: 0 + DISTANCE                | load_far
changed:  0 + WIDTH                     | width
          I = 0 + PERIOD
          N = 0 + NUM
          D = 0 + DEN
          TOLD = 0 + NUMBER
                                        | do unpend
                                        | do applied    | tell_wait
change_late: TICK_LO = 0 + BEFORE_LO
          TICK_HI = 0 + BEFORE_HI
          FRACTION = 0 + BASE
          TOLD = 0 + AT
                                        | do unpend
                                        | do late
          0 + TOLD                      | emit
          0 + TOLD                      | emit
          0 + TOLD                      | emit
late_told: 0 + TOLD                     | emit          | if acked add else late_told

# the last pulse has come
last:                                   | do stopped    | if pending last_change else done
last_change: TOLD = 0 + AT
                                        | do invalid
          0 + TOLD                      | emit
          0 + TOLD                      | emit
          0 + TOLD                      | emit
last_told: 0 + TOLD                     | emit          | if acked done else last_told
done:     TOLD = 0 + NUMBER
                                        | do train_done | tell_idle
