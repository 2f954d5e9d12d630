# SPDX-License-Identifier: BSD-2-Clause
# Launch queue: takes the entry at the head, checks it, loads it into the slot, reports what became of it.
# The tick of the entry before stays in BEFORE_*; it is 0 after a reset or a flush.

word ZERO       0       # 0
word HEAD_START 1       # -(cycles from the time taken in `place` to the loaded slot's 0)
word TICK_LO    2
word TICK_HI    3
word BEFORE_LO  4
word BEFORE_HI  5
word LAUNCH     6
word DISTANCE   7
word DISTANCE_HI 8
word LEAST      9       # -(least distance): HEAD_START less the de lead

start:    BEFORE_LO = 0 + ZERO
          BEFORE_HI = 0 + ZERO

# the word is read again and again until there is an entry (or a flush)
idle:     LAUNCH = 0 + lq.3             | latch         | if some width else idle
width:    0 + lq.2                      | width         | if flush disarm else tick
tick:     TICK_LO = 0 + lq.0
          TICK_HI = 0 + lq.1            |               | if bad invalid else order_lo
order_lo: TICK_LO + ~BEFORE_LO + 1
          TICK_HI + ~BEFORE_HI + c
          LEAST = ~lead + HEAD_START + 1 |              | if borrow(prev) order else place

place:    DISTANCE = ~now_lo + TICK_LO + 1 |            | if near place else place_hi
place_hi: DISTANCE_HI = ~now_hi + TICK_HI + c
          DISTANCE_HI + ZERO            |               | if borrow(prev) late else compare
compare:  DISTANCE + LEAST              |               | if zero(prev) soon else far
soon:     DISTANCE + HEAD_START         | load          | if carry(prev) wait else late
# need not be exact, only leave less than 2^32 when it has ended, and time enough
far:      0 + DISTANCE                  | load_far      | wait

wait:                                   |               | if eventful what else wait
what:                                   |               | if fired over else not_fired
not_fired:                              |               | if flush disarm else place

invalid:                                | do invalid    | over
order:                                  | do order      | over
late:                                   | do late       | over
# freed at once: what comes next, or that nothing does, matters to best effort
over:                                   | do pop
          BEFORE_LO = 0 + TICK_LO
          BEFORE_HI = 0 + TICK_HI
# as long as ever an answer takes, so that no record of others moves what comes next
          0 + LAUNCH                    | emit
          0 + LAUNCH                    | emit
          0 + LAUNCH                    | emit
told:     0 + LAUNCH                    | emit          | if acked again else told
again:                                  | do pulse      | idle

disarm:                                 | do disarm
          # it may just have gone
                                        |               | if fired over else drop
drop:                                   |               | if entry drop_one else flushed
drop_one:                               | do drop
                                        |               | drop
flushed:                                | do flushed    | start
