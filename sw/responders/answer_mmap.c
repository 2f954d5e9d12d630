// SPDX-License-Identifier: BSD-2-Clause
/*
 * A pin follows another one by the registers of a Raspberry Pi up to 4, mapped into the program.
 *
 *	answer-mmap 17 18		watches the input's register, and takes a whole CPU for that
 *	answer-mmap -b 512 17 18	sleeps in poll() until the kernel reports an edge, as the published program did; 512: see sysfs.h
 */
#include <stdint.h>
#include <sys/mman.h>

#include "sysfs.h"

#define PINS 54
/* Registers, in words: a field of three bits for each pin, else one bit. */
#define FUNCTION(pin) ((pin) / 10)
#define SET(pin) (7 + (pin) / 32)
#define CLEAR(pin) (10 + (pin) / 32)
#define LEVEL(pin) (13 + (pin) / 32)
#define BIT(pin) (1u << (pin) % 32)

static volatile uint32_t *registers;

static void set_function(unsigned int pin, unsigned int function)
{
	unsigned int shift = pin % 10 * 3;

	registers[FUNCTION(pin)] = (registers[FUNCTION(pin)] & ~(7u << shift)) | function << shift;
}

static unsigned int pin_of(const char *text)
{
	unsigned int pin = line_of(text);

	if (pin >= PINS)
		fail("pins are 0 to %d", PINS - 1);
	return pin;
}

int main(int argc, char **argv)
{
	const char *memory = "/dev/gpiomem";
	unsigned int in, out, base = 0;
	bool sleeps = false;
	int option, file;

	program = "answer-mmap";
	while ((option = getopt(argc, argv, "b:d:m:")) != -1) {
		switch (option) {
		case 'b':
			base = line_of(optarg);
			sleeps = true;
			break;
		case 'd':	/* another folder and another memory, for tests */
			sysfs = optarg;
			break;
		case 'm':
			memory = optarg;
			break;
		default:
			argc = 0;
		}
	}
	if (argc - optind != 2)
		fail("usage: answer-mmap [-b BASE] IN OUT, pins of the Raspberry Pi");
	in = pin_of(argv[optind]);
	out = pin_of(argv[optind + 1]);
	file = open(memory, O_RDWR | O_SYNC | O_CLOEXEC);
	if (file < 0)
		fail("%s: %s", memory, strerror(errno));
	registers = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (registers == MAP_FAILED)
		fail("%s: %s", memory, strerror(errno));
	set_function(out, 1);
	if (sleeps) {
		int value = sysfs_line(base + in, "in");

		for (bool level = sysfs_level(value);; level = sysfs_wait(value))
			registers[level ? SET(out) : CLEAR(out)] = BIT(out);
	}
	set_function(in, 0);
	for (;;) {
		while (!(registers[LEVEL(in)] & BIT(in)))
			;
		registers[SET(out)] = BIT(out);
		while (registers[LEVEL(in)] & BIT(in))
			;
		registers[CLEAR(out)] = BIT(out);
	}
}
