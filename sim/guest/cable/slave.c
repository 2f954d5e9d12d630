/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A LIN slave by the ioctls of /dev/litepulseN, on a board on a cable: `slave PORT FILE`, where the
 * file has steps, a blank between them. Prints `step BEFORE AFTER NAME` for each: between these
 * ticks it was done.
 */
#include "board.h"
#include "lin_device.h"
#include "steps.h"

static int pulse, claimed = -1, tty = -1;

static void set_tty(const char *value)
{
	unsigned int baud = atoi(strchr(value, ',') + 1);
	int fd = open_tty(B230400);
	struct termios settings;

	CHECK(!tcgetattr(fd, &settings));
	settings.c_cflag = (settings.c_cflag & ~CSIZE) | (atoi(value) == 7 ? CS7 : CS8);
	CHECK(!cfsetspeed(&settings, baud == 2400 ? B2400 : baud == 4800 ? B4800 : B9600));
	CHECK(!tcsetattr(fd, TCSANOW, &settings) && !close(fd));
}

static void keep_open(const char *value)
{
	tty = try_open_tty(B230400);
	expect(tty);
}

static void close_tty(const char *value)
{
	CHECK(!close(tty));
}

static void take_claim(const char *value)
{
	int fd = try_claim(pulse, (struct litepulse_claim){
		.flags = *value ? LITEPULSE_CLAIM_KEEP : 0, .fd_flags = O_CLOEXEC });

	expect(fd);
	if (fd >= 0)
		claimed = fd;
}

static void end_claim(const char *value)
{
	CHECK(!close(claimed));
}

static void set_entry(const char *text)
{
	const char *data = strrchr(text, ',') + 1;
	const char *own = strstr(text, "+own="), *flip = strstr(text, "+flip=");
	struct litepulse_lin_entry entry = { .id = strtoul(text, NULL, 16) };

	if (strcmp(data, "off")) {
		entry.flags = (strstr(text, "enhanced") ? LITEPULSE_LIN_ENTRY_ENHANCED : 0) |
			      (strstr(text, "+once") ? LITEPULSE_LIN_ENTRY_ONCE : 0) |
			      (own ? LITEPULSE_LIN_ENTRY_OWN_CHECKSUM : 0);
		entry.checksum = own ? strtoul(own + 5, NULL, 16) :
				 flip ? strtoul(flip + 6, NULL, 16) : 0;
		for (; *data; data += 2) {
			unsigned int byte;

			CHECK(entry.length < sizeof(entry.data) && sscanf(data, "%2x", &byte) == 1);
			entry.data[entry.length++] = byte;
		}
	}
	expect(ioctl(claimed, LITEPULSE_IOC_LIN_ENTRY, &entry));
}

static void arm(const char *space)
{
	struct litepulse_responder slave = {
		.trigger = LITEPULSE_TRIGGER_LIN, .flags = LITEPULSE_RESPONDER_REARM,
		.delay = strtoul(space, NULL, 10), .kind = LITEPULSE_LAUNCH_FRAME,
	};

	expect(ioctl(claimed, LITEPULSE_IOC_RESPONDER, &slave));
}

static void disarm(const char *value)
{
	CHECK(!ioctl(claimed, LITEPULSE_IOC_RESPONDER, &(struct litepulse_responder){ 0 }));
}

static void wait_until(const char *tick)
{
	while (now(pulse) < strtoull(tick, NULL, 10))
		usleep(2000);
}

static void use_lin0(const char *text)
{
	if (!strcmp(text, "down")) {
		expect(lin_set_up(0));
		return;
	}
	CHECK(!lin_set_bitrate(strtoul(text, NULL, 10), 0));
	CHECK(!lin_write("responses/10", strchr(text, ',') + 1));
	expect(lin_set_up(1));
}

static const struct step steps[] = {
	{ "tty", set_tty, "=BITS,BAUD: of the tty, no parity, 1 stop bit; closes it" },
	{ "open", keep_open, ": the tty stays open" },
	{ "close", close_tty, "" },
	{ "claim", take_claim, ", claim=keep" },
	{ "end", end_claim, ": gives the claim back" },
	{ "entry", set_entry,
	  "=ID,MODEL,TEXT: MODEL is classic or enhanced, and perhaps +once, +own=XX or "
	  "+flip=XX;\n  TEXT is hexadecimal, or off: no answer" },
	{ "arm", arm, "=TICKS: the responder is the slave, with this space" },
	{ "disarm", disarm, "" },
	{ "until", wait_until, "=TICK" },
	{ "lin0", use_lin0, "=BAUD,TEXT: set up, answers identifier 10 with TEXT; =down" },
	{ }
};

int main(int count, char **words)
{
	FILE *file;
	char word[80];
	int link;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (count != 3)
		return list_steps(steps);
	link = attach(words[1]);
	file = fopen(words[2], "r");
	pulse = open_pulse();
	CHECK(file && !lin_await());
	while (fscanf(file, "%79s", word) == 1) {
		const unsigned long long before = now(pulse);

		do_step(steps, word);
		printf("step %llu %llu %s\n", before, (unsigned long long)now(pulse), word);
	}
	fclose(file);
	close(pulse);
	detach(link, words[1]);
	return 0;
}
