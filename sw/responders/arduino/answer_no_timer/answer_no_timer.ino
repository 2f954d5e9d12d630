// SPDX-License-Identifier: BSD-2-Clause
// Answers each rising edge of pin 2 with a pulse of 20 us on pin 3, in an interrupt. The timer of
// millis(), whose interrupt makes some answers late, is off.
const byte IN = 2, OUT = 3;  // IN: a pin that attachInterrupt() knows, 2 or 3 of an Uno

void answer() {
  digitalWrite(OUT, HIGH);
  delayMicroseconds(20);
  digitalWrite(OUT, LOW);
}

void setup() {
  pinMode(IN, INPUT);
  pinMode(OUT, OUTPUT);
  bitClear(TIMSK0, TOIE0);
  attachInterrupt(digitalPinToInterrupt(IN), answer, RISING);
}

void loop() {}
