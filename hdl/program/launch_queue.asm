# SPDX-License-Identifier: BSD-2-Clause
# Launch queue: takes the entry at the head, checks it, loads it into the slot, reports what became of it.
# The tick of the entry before stays in BEFORE_*; it is 0 after a reset or a flush. Lines with `+` are those of a core with sequences:
# a relative entry has its distance from BEFORE, a wait has in TICK when it times out, and leaves in BEFORE when it ended.

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
+ word MARK_LO  10      # stamp of the edge
+ word MARK_HI  11
+ word OVER     12      # from a wait's DISTANCE to the far count that ends when no edge up to TICK can be seen any more
+ word AGE      24      # -(age of the edge) in ticks, by litepulse_launch_queue: its low bits hide those of the word, which is -1

start:    BEFORE_LO = 0 + ZERO
          BEFORE_HI = 0 + ZERO

# the word is read again and again until there is an entry (or a flush)
idle:     LAUNCH = 0 + lq.3             | latch         | if some width else idle
width:    0 + lq.2                      | width         | if flush disarm else tick
- tick:   TICK_LO = 0 + lq.0
-         TICK_HI = 0 + lq.1            |               | if bad invalid else order_lo
+ tick:   TICK_LO = 0 + lq.0            |               | if flag relative else absolute
+ absolute: TICK_HI = 0 + lq.1          |               | if bad invalid else order_lo
+ relative: TICK_LO = 0 + BEFORE_LO
+         TICK_HI = 0 + BEFORE_HI
+         TICK_LO = TICK_LO + lq.0
+         TICK_HI = TICK_HI + lq.1 + c  |               | if bad invalid else order_lo
order_lo: TICK_LO + ~BEFORE_LO + 1
          TICK_HI + ~BEFORE_HI + c
          LEAST = ~lead + HEAD_START + 1 |              | if borrow(prev) order else place

place:    DISTANCE = ~now_lo + TICK_LO + 1 |            | if near place else place_hi
- place_hi: DISTANCE_HI = ~now_hi + TICK_HI + c
-         DISTANCE_HI + ZERO            |               | if borrow(prev) late else compare
+ place_hi: DISTANCE_HI = ~now_hi + TICK_HI + c |       | if wait wait_hi else launch_hi
+ launch_hi: DISTANCE_HI + ZERO         |               | if borrow(prev) late else compare
compare:  DISTANCE + LEAST              |               | if zero(prev) soon else far
soon:     DISTANCE + HEAD_START         | load          | if carry(prev) wait else late
# need not be exact, only leave less than 2^32 when it has ended, and time enough
far:      0 + DISTANCE                  | load_far      | wait

wait:                                   |               | if eventful what else wait
what:                                   |               | if fired over else not_fired
not_fired:                              |               | if flush disarm else place

+ # A wait: the slot counts, as for a far launch, until it has timed out.
+ wait_hi: DISTANCE_HI + ZERO           |               | if borrow(prev) late else wait_compare
+ wait_compare: DISTANCE + LEAST        |               | if zero(prev) wait_soon else wait_far
+ wait_soon: DISTANCE + OVER            | load_far      | if carry(prev) listen else late
+ wait_far: DISTANCE + OVER             | load_far      | listen
+ listen:                               | do listen
+ watch:                                |               | if eventful seen else watch
+ seen:                                 |               | if flush disarm else which
+ which:                                |               | if edge mark else again_place
+ mark:   MARK_LO = now_lo + AGE        |               | if near mark else mark_hi
+ mark_hi: MARK_HI = now_hi + ~ZERO + c
+         TICK_LO + ~MARK_LO + 1
+         TICK_HI + ~MARK_HI + c
+ # `width` shows the report the tick of the end; a wait has no width
+         0 + MARK_LO                   | width         | if borrow(prev) behind else ended
+ ended:  0 + LAUNCH                    | emit
+         0 + LAUNCH                    | emit
+         0 + LAUNCH                    | emit
+ ended_told: 0 + LAUNCH                | emit          | if acked ended_pop else ended_told
+ ended_pop:                            | do pop
+         BEFORE_LO = 0 + MARK_LO
+         BEFORE_HI = 0 + MARK_HI       |               | again
+ # 2^32 ticks less are left, or none
+ again_place: DISTANCE = ~now_lo + TICK_LO + 1 |       | if near again_place else again_hi
+ again_hi: ~now_hi + TICK_HI + c
+         0 + TICK_LO                   | width         | if borrow(prev) timeout else again_load
+ again_load: DISTANCE + OVER           | load_far      | watch
+ behind: 0 + TICK_LO                   | width
+ timeout:                              | do stop
+ # a wait that is refused ends here, too: with `stop` nothing behind it leaves
+ no_edge: 0 + LAUNCH                   | emit
+         0 + LAUNCH                    | emit
+         0 + LAUNCH                    | emit
+ no_edge_told: 0 + LAUNCH              | emit          | if acked no_edge_what else no_edge_told
+ no_edge_what:                         |               | if flag stopped else no_edge_pop
+ no_edge_pop:                          | do pop
+         BEFORE_LO = 0 + TICK_LO
+         BEFORE_HI = 0 + TICK_HI       |               | again
+ # what comes behind it is refused until a flush
+ stopped:                              | do pop
+ stopped_told:                         | do pulse
+ stopped_idle: LAUNCH = 0 + lq.3       | latch         | if some stopped_some else stopped_idle
+ stopped_some:                         |               | if flush disarm else refuse
+ refuse:                               | do order
+                                       | do pop
+         0 + LAUNCH                    | emit
+         0 + LAUNCH                    | emit
+         0 + LAUNCH                    | emit
+ refuse_told: 0 + LAUNCH               | emit          | if acked stopped_told else refuse_told

- invalid:                              | do invalid    | over
- order:                                | do order      | over
- late:                                 | do late       | over
+ invalid:                              | do invalid    | if wait no_edge else over
+ order:                                | do order      | if wait no_edge else over
+ late:                                 | do late       | if wait no_edge else over
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
