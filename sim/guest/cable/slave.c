/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A LIN slave by the ioctls of /dev/litepulseN, on a board on a cable; does the steps one after the other.
 *
 *   slave PORT FILE      FILE has the steps, a blank between them
 *
 *   tty=BITS,BAUD      sets the tty to so many data bits, no parity, 1 stop bit, and closes it; open, close: it stays open
 *   claim, claim=keep  takes the claim; end: gives it back
 *   entry=ID,MODEL,TEXT  MODEL is classic or enhanced, and perhaps +once, +own=XX or +flip=XX; TEXT is hexadecimal, off: no answer
 *   arm=TICKS          the responder is the slave, with this space; disarm
 *   until=TICK         waits for the board's tick
 *   lin0=BAUD,TEXT     lin0 is set up and answers identifier 10 with TEXT, as of responses/; lin0=down: it is set down
 *   errno=N=STEP       the step must fail so
 *
 * Prints `step BEFORE AFTER NAME` for each: between these ticks it was done. Exit status 0, or 1 and a line that says what was not as it
 * should be.
 */
#include "cable.h"
#include "lin_device.h"

#include <fcntl.h>
#include <termios.h>

static struct board board;
static int pulse, claimed = -1, tty = -1;

static unsigned long long tick(void)
{
	struct litepulse_time time;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &time));
	return time.tick;
}

static void set_tty(unsigned int bits, unsigned int baud)
{
	struct termios settings;
	int fd = open_tty(&board);

	CHECK(fd >= 0 && !tcgetattr(fd, &settings));
	settings.c_cflag = (settings.c_cflag & ~CSIZE) | (bits == 7 ? CS7 : CS8);
	CHECK(!cfsetspeed(&settings, baud == 2400 ? B2400 : baud == 4800 ? B4800 : B9600));
	CHECK(!tcsetattr(fd, TCSANOW, &settings) && !close(fd));
}

static void take_claim(unsigned int flags)
{
	struct litepulse_claim wanted = { .flags = flags, .fd_flags = O_CLOEXEC };
	int result = ioctl(pulse, LITEPULSE_IOC_CLAIM, &wanted);

	expect(result);
	if (!result)
		claimed = wanted.fd;
}

static void set_entry(const char *text)
{
	struct litepulse_lin_entry entry = { 0 };
	const char *data = strrchr(text, ',') + 1, *own = strstr(text, "+own="), *flip = strstr(text, "+flip=");

	entry.id = strtoul(text, NULL, 16);
	if (strcmp(data, "off")) {
		entry.flags = (strstr(text, "enhanced") ? LITEPULSE_LIN_ENTRY_ENHANCED : 0) | (strstr(text, "+once") ? LITEPULSE_LIN_ENTRY_ONCE : 0) |
			      (own ? LITEPULSE_LIN_ENTRY_OWN_CHECKSUM : 0);
		entry.checksum = own ? strtoul(own + 5, NULL, 16) : flip ? strtoul(flip + 6, NULL, 16) : 0;
		for (; *data; data += 2) {
			unsigned int byte;

			CHECK(entry.length < sizeof(entry.data) && sscanf(data, "%2x", &byte) == 1);
			entry.data[entry.length++] = byte;
		}
	}
	expect(ioctl(claimed, LITEPULSE_IOC_LIN_ENTRY, &entry));
}

static void arm(unsigned int space)
{
	struct litepulse_responder slave = { .trigger = LITEPULSE_TRIGGER_LIN, .flags = LITEPULSE_RESPONDER_REARM, .delay = space,
					     .kind = LITEPULSE_LAUNCH_FRAME };

	expect(ioctl(claimed, LITEPULSE_IOC_RESPONDER, &slave));
}

static void use_lin0(const char *text)
{
	if (!strcmp(text, "down")) {
		expect(lin_set_up(0));
		return;
	}
	CHECK(!lin_set_bitrate(strtoul(text, NULL, 10), 0) && !lin_write("responses/10", strchr(text, ',') + 1));
	expect(lin_set_up(1));
}

static void step(const char *word)
{
	const char *value = strchr(word, '=');

	value = value ? value + 1 : "";
	if (!strncmp(word, "tty=", 4)) {
		set_tty(atoi(value), atoi(strchr(value, ',') + 1));
	} else if (!strcmp(word, "open")) {
		tty = open_tty(&board);
		expect(tty);
	} else if (!strcmp(word, "close")) {
		CHECK(!close(tty));
	} else if (!strncmp(word, "claim", 5)) {
		take_claim(*value ? LITEPULSE_CLAIM_KEEP : 0);
	} else if (!strcmp(word, "end")) {
		CHECK(!close(claimed));
	} else if (!strncmp(word, "entry=", 6)) {
		set_entry(value);
	} else if (!strncmp(word, "arm=", 4)) {
		arm(strtoul(value, NULL, 10));
	} else if (!strcmp(word, "disarm")) {
		CHECK(!ioctl(claimed, LITEPULSE_IOC_RESPONDER, &(struct litepulse_responder){ 0 }));
	} else if (!strncmp(word, "until=", 6)) {
		while (tick() < strtoull(value, NULL, 10))
			usleep(2000);
	} else if (!strncmp(word, "lin0=", 5)) {
		use_lin0(value);
	} else {
		printf("no step: %s\n", word);
		exit(1);
	}
	CHECK(!wanted_errno);
}

int main(int count, char **words)
{
	const char *port = words[1], *base = strrchr(port, '/') + 1;
	int link = attach_port(port);
	FILE *steps = fopen(words[2], "r");
	char word[80];

	CHECK(count == 3 && steps && link >= 0 && !find_board(base, 20, &board));
	pulse = open_pulse(&board);
	CHECK(!lin_await() && pulse >= 0);
	while (fscanf(steps, "%79s", word) == 1) {
		unsigned long long before = tick();
		char *name = word;

		if (!strncmp(name, "errno=", 6))
			wanted_errno = strtol(name + 6, &name, 10), name++;
		step(name);
		printf("step %llu %llu %s\n", before, tick(), word);
		fflush(stdout);
	}
	fclose(steps);
	close(pulse);
	close(link);
	CHECK(!wait_gone(base, 20));
	return 0;
}
