// SPDX-License-Identifier: BSD-2-Clause
// Pin 3 follows pin 2, which the program reads again and again.
const byte IN = 2, OUT = 3;

void setup() {
  pinMode(IN, INPUT);
  pinMode(OUT, OUTPUT);
}

void loop() {
  while (!digitalRead(IN)) {}
  digitalWrite(OUT, HIGH);
  while (digitalRead(IN)) {}
  digitalWrite(OUT, LOW);
}
