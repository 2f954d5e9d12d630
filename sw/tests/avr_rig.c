// SPDX-License-Identifier: BSD-2-Clause
/*
 * An Arduino Uno by simavr: raises and lowers pin 2 (PD2) and prints, for each rising edge, after how many of the CPU's cycles pin 3 (PD3)
 * rose. A pin changes between two instructions; the cycle of an answer is that in which the instruction begins that sets the pin.
 *
 *	avr_rig PROGRAM.bin STIMULI SEED
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <simavr/avr_ioport.h>
#include <simavr/sim_avr.h>

#define MHZ 16
#define START (MHZ * 5000)	/* until setup() is done */
#define HIGH (MHZ * 100)
#define DISTANCE (MHZ * 1000)

static avr_t *avr;
static avr_irq_t *input;
static avr_cycle_count_t rise;	/* of the stimulus that has no answer yet, or 0 */
static int level;
static long answers, others;

static void output_changed(avr_irq_t *irq, uint32_t value, void *unused)
{
	(void)irq;
	(void)unused;
	if ((int)value == level)
		return;
	level = value;
	if (!level)
		return;
	if (rise) {
		printf("%llu\n", (unsigned long long)(avr->cycle - rise));
		answers++;
	} else {
		others++;
	}
	rise = 0;
}

static void run_until(avr_cycle_count_t cycle)
{
	while (avr->cycle < cycle) {
		int state = avr_run(avr);

		if (state == cpu_Done || state == cpu_Crashed) {
			fprintf(stderr, "avr_rig: the program ended\n");
			exit(2);
		}
	}
}

static void quiet(avr_t *one, const int log, const char *format, va_list arguments)
{
	(void)one;
	if (log <= LOG_ERROR)
		vfprintf(stderr, format, arguments);
}

int main(int argc, char **argv)
{
	static uint8_t code[32768];
	FILE *file = argc == 4 ? fopen(argv[1], "rb") : NULL;
	size_t size = file ? fread(code, 1, sizeof(code), file) : 0;
	avr_cycle_count_t next = START;
	long stimuli;

	avr = avr_make_mcu_by_name("atmega328p");
	if (!size || !avr) {
		fprintf(stderr, "avr_rig: no program, or no ATmega328P\n");
		return 2;
	}
	avr_global_logger_set(quiet);
	avr_init(avr);
	avr->frequency = MHZ * 1000000;
	avr->sleep = NULL;
	avr_loadcode(avr, code, size, 0);
	input = avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ('D'), 2);
	avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ('D'), 3), output_changed, NULL);
	avr_raise_irq(input, 0);
	srand(atoi(argv[3]));
	for (stimuli = atol(argv[2]); stimuli > 0; stimuli--) {
		next += DISTANCE + rand() % DISTANCE;
		run_until(next);
		rise = avr->cycle;
		avr_raise_irq(input, 1);
		run_until(next + HIGH);
		avr_raise_irq(input, 0);
	}
	run_until(avr->cycle + DISTANCE);
	fprintf(stderr, "answers %ld, others %ld\n", answers, others);
	return answers == atol(argv[2]) && !others ? 0 : 1;
}
