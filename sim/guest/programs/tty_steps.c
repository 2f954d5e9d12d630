// SPDX-License-Identifier: BSD-2-Clause
/*
 * tty_steps DEVICE STEP...: opens a tty and carries out the steps in order, one line of output per
 * step: its name and its numbers, or `-ERRNO` of the call that failed. Then the next step is done
 * all the same. Bauds and waits are given as for a board at 50 MHz: on a slower one they are as many
 * ticks. Bauds are printed as they are.
 */
#include "guest.h"
#include "ports.h"
#include "steps.h"

#define BYTES 8192

static const char *path;
static int tty = -1, device = -1, claim = -1;

/* The number behind @n commas; 0 if there is none. */
static long long number(const char *value, int n)
{
	for (; value && n; n--) {
		value = strchr(value, ',');
		value = value ? value + 1 : NULL;
	}
	return value ? strtoll(value, NULL, 0) : 0;
}

/* Prints the error, if it is one. */
static int failed(int result)
{
	if (result >= 0)
		return 0;
	printf("%s -%d\n", doing->name, errno);
	return 1;
}

/* The line of a step that has no numbers. */
static void done(int result)
{
	if (!failed(result))
		printf("%s\n", doing->name);
}

/* --- settings ------------------------------------------------------------------------------------------------------------ */

static void do_show(const char *value)
{
	struct termios2 now;

	if (!failed(ioctl(tty, TCGETS2, &now)))
		printf("%s 0x%x 0x%x 0x%x 0x%x %u %u\n", doing->name, now.c_iflag, now.c_oflag, now.c_cflag, now.c_lflag, now.c_ispeed,
		       now.c_ospeed);
}

static unsigned int format_flags(const char *format)
{
	static const unsigned int sizes[] = { CS5, CS6, CS7, CS8 };
	unsigned int flags = sizes[(format[0] - '5') & 3];

	switch (format[1]) {
	case 'E':
		flags |= PARENB;
		break;
	case 'O':
		flags |= PARENB | PARODD;
		break;
	case 'S':
		flags |= PARENB | CMSPAR;
		break;
	case 'M':
		flags |= PARENB | CMSPAR | PARODD;
		break;
	}
	return format[2] == '2' ? flags | CSTOPB : flags;
}

static void do_set(const char *value)
{
	static const struct {
		const char *name;
		unsigned int iflag, cflag;
	} flags[] = {
		{ "inpck", INPCK, 0 }, { "ignpar", IGNPAR, 0 }, { "parmrk", PARMRK, 0 }, { "brkint", BRKINT, 0 },
		{ "ignbrk", IGNBRK, 0 }, { "ixon", IXON, 0 }, { "ixoff", IXOFF, 0 }, { "crtscts", 0, CRTSCTS },
	};
	unsigned long request = TCSETS2;
	struct termios2 now;
	char words[128], *word;
	size_t i;

	if (failed(ioctl(tty, TCGETS2, &now)))
		return;
	snprintf(words, sizeof(words), "%s", value);
	word = strtok(words, ",");
	now.c_iflag = now.c_oflag = now.c_lflag = 0;
	now.c_ispeed = now.c_ospeed = strtoul(word, NULL, 0) / slowness;
	word = strtok(NULL, ",");
	now.c_cflag = BOTHER | CREAD | CLOCAL | HUPCL | format_flags(word);
	while ((word = strtok(NULL, ","))) {
		for (i = 0; i < ARRAY_SIZE(flags); i++) {
			if (!strcmp(word, flags[i].name)) {
				now.c_iflag |= flags[i].iflag;
				now.c_cflag |= flags[i].cflag;
			}
		}
		if (!strcmp(word, "nocread"))
			now.c_cflag &= ~CREAD;
		if (!strcmp(word, "drain"))
			request = TCSETSW2;
		if (!strcmp(word, "flush"))
			request = TCSETSF2;
	}
	if (!failed(ioctl(tty, request, &now)) && !failed(ioctl(tty, TCGETS2, &now)))
		printf("%s %u 0x%x\n", doing->name, now.c_ospeed, now.c_cflag & ~CBAUD);
}

static void do_rs485(const char *value)
{
	struct serial_rs485 settings = {
		.flags = number(value, 0), .delay_rts_before_send = number(value, 1), .delay_rts_after_send = number(value, 2),
	};

	done(ioctl(tty, TIOCSRS485, &settings));
}

static void do_getrs485(const char *value)
{
	struct serial_rs485 settings;

	if (!failed(ioctl(tty, TIOCGRS485, &settings)))
		printf("%s 0x%x %u %u\n", doing->name, settings.flags, settings.delay_rts_before_send, settings.delay_rts_after_send);
}

static void do_serial(const char *value)
{
	struct serial_struct settings;

	if (!failed(ioctl(tty, TIOCGSERIAL, &settings)))
		printf("%s %d %d %d\n", doing->name, settings.type, settings.baud_base, settings.xmit_fifo_size);
}

static void do_lowlatency(const char *value)
{
	struct serial_struct settings;

	if (failed(ioctl(tty, TIOCGSERIAL, &settings)))
		return;
	settings.flags &= ~ASYNC_LOW_LATENCY;
	settings.flags |= number(value, 0) ? ASYNC_LOW_LATENCY : 0;
	done(ioctl(tty, TIOCSSERIAL, &settings));
}

static void do_break(const char *value)
{
	done(ioctl(tty, TCSBRKP, (int)number(value, 0)));
}

static void do_modem(const char *value)
{
	int bits = strtol(strchr(value, ',') + 1, NULL, 0);

	done(ioctl(tty, value[0] == 's' ? TIOCMBIS : TIOCMBIC, &bits));
}

/* --- sending ---------------------------------------------------------------------------------------------------------- */

static void do_write(const char *value)
{
	static unsigned char bytes[BYTES];
	size_t count = strlen(value) / 2, i, sent = 0;

	for (i = 0; i < count && i < BYTES; i++) {
		const char digits[] = { value[2 * i], value[2 * i + 1], 0 };

		bytes[i] = strtoul(digits, NULL, 16);
	}
	while (sent < count) {
		ssize_t part = write(tty, bytes + sent, count - sent);

		if (failed(part))
			return;
		sent += part;
	}
	printf("%s %zu\n", doing->name, sent);
}

static void do_icount(const char *value)
{
	struct serial_icounter_struct now;

	if (!failed(ioctl(tty, TIOCGICOUNT, &now)))
		printf("%s %d %d %d %d %d %d %d\n", doing->name, now.rx, now.tx, now.frame, now.overrun, now.parity, now.brk,
		       now.buf_overrun);
}

static void do_flush(const char *value)
{
	done(ioctl(tty, TCFLSH, !strcmp(value, "io") ? TCIOFLUSH : value[0] == 'i' ? TCIFLUSH : TCOFLUSH));
}

/* --- receiving -------------------------------------------------------------------------------------------------------- */

/* Up to `wanted` bytes, or those received until a gap of `ms`; -1 for an error that was printed. */
static ssize_t take(unsigned char *bytes, size_t wanted, int ms)
{
	struct pollfd ready = { .fd = tty, .events = POLLIN };
	size_t count = 0;

	while (count < wanted && await(&ready, ms * 1000LL) > 0) {
		ssize_t part = read(tty, bytes + count, wanted - count);

		if (failed(part))
			return -1;
		if (!part)
			break;
		count += part;
	}
	return count;
}

static void do_read(const char *value)
{
	static unsigned char bytes[BYTES];
	ssize_t count = take(bytes, number(value, 0), number(value, 1)), i;

	if (count < 0)
		return;
	printf("%s ", doing->name);
	for (i = 0; i < count; i++)
		printf("%02x", bytes[i]);
	printf("\n");
}

static void do_count(const char *value)
{
	static unsigned char bytes[BYTES];
	long long wanted = number(value, 0), total = 0, jumps = 0;
	unsigned char next = 0;
	ssize_t count, i;

	while (total < wanted && (count = take(bytes, wanted - total < BYTES ? wanted - total : BYTES, number(value, 1))) > 0) {
		for (i = 0; i < count; i++) {
			jumps += bytes[i] != next;
			next = bytes[i] + 1;
		}
		total += count;
	}
	printf("%s %lld %lld\n", doing->name, total, jumps);
}

/* --- the chardev ------------------------------------------------------------------------------------------------------- */

static int read_tick(uint64_t *tick)
{
	struct litepulse_time time;
	int error = ioctl(device, LITEPULSE_IOC_TIME, &time);

	*tick = time.tick;
	return error;
}

static void do_tick(const char *value)
{
	uint64_t tick;

	if (!failed(read_tick(&tick)))
		printf("%s %llu\n", doing->name, (unsigned long long)tick);
}

static void listen_to(unsigned int kinds)
{
	struct litepulse_subscribe want = {
		.kinds = kinds, .sources = 1 << LITEPULSE_SRC_QUEUE, .clock = LITEPULSE_CLOCK_NONE,
	};

	done(ioctl(claim, LITEPULSE_IOC_SUBSCRIBE, &want));
}

static void do_claim(const char *value)
{
	struct litepulse_claim wish = { .flags = !strcmp(value, "keep") ? LITEPULSE_CLAIM_KEEP : 0 };

	if (failed(ioctl(device, LITEPULSE_IOC_CLAIM, &wish)))
		return;
	claim = wish.fd;
	/* Else it would get an event for each pulse of a train. */
	listen_to(0);
}

static void do_listen(const char *value)
{
	listen_to(1 << LITEPULSE_KIND_TX | 1 << LITEPULSE_KIND_REFUSED);
}

static void do_profile(const char *value)
{
	const char *format = strrchr(value, ',') + 1;
	struct litepulse_profile profile = {
		.index = number(value, 0),
		.baud = number(value, 1) / slowness,
		.data_bits = format[0] - '0',
		.parity = strchr("NOEMS", format[1]) - "NOEMS",
		.stop = format[2] == '2' ? LITEPULSE_STOP_2 : LITEPULSE_STOP_1,
	};

	if (!failed(ioctl(claim, LITEPULSE_IOC_PROFILE, &profile)))
		printf("%s %u %llu\n", doing->name, profile.baud, (unsigned long long)profile.period);
}

static void do_train(const char *value)
{
	struct litepulse_train train = {
		.period = number(value, 0), .den = 1, .count = number(value, 1), .profile = number(value, 2), .data = number(value, 3),
		.kind = LITEPULSE_LAUNCH_FRAME, .flags = LITEPULSE_TRAIN_ASAP,
	};

	done(ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train));
}

static void do_trainstop(const char *value)
{
	struct litepulse_train_stop stop = { };

	if (!failed(ioctl(claim, LITEPULSE_IOC_TRAIN_STOP, &stop)))
		printf("%s %u\n", doing->name, stop.pulses);
}

static void do_launch(const char *value)
{
	struct litepulse_launch launch = { .profile = number(value, 1), .data = number(value, 2) };
	uint64_t tick;

	if (failed(read_tick(&tick)))
		return;
	launch.tick = tick + number(value, 0);
	if (!failed(write(claim, &launch, sizeof(launch))))
		printf("%s %llu\n", doing->name, (unsigned long long)launch.tick);
}

static void do_event(const char *value)
{
	struct litepulse_event event;

	if (!failed(read(claim, &event, sizeof(event))))
		printf("%s %u %u %llu 0x%x 0x%x\n", doing->name, event.kind, event.source, (unsigned long long)event.tick, event.flags,
		       event.data);
}

/* --- steps -------------------------------------------------------------------------------------------------------------- */

static void step(const char *what);

static void do_later(const char *value)
{
	char *what = strdup(strchr(value, ':') + 1);

	if (!fork()) {
		sleep_us(number(value, 0));
		step(what);
		_exit(0);
	}
	free(what);
}

static void do_wait(const char *value)
{
	while (wait(NULL) > 0)
		;
}

static void do_sleep(const char *value)
{
	sleep_us(number(value, 0));
}

static void do_alarm(const char *value)
{
	const struct itimerval once = { .it_value.tv_usec = number(value, 0) };

	/* No SA_RESTART. */
	if (sigaction(SIGALRM, &(const struct sigaction) { .sa_handler = ignore_signal }, NULL) ||
	    setitimer(ITIMER_REAL, &once, NULL))
		die("alarm");
}

static void do_say(const char *value)
{
	printf("%s\n", value);
}

static void do_open(const char *value)
{
	tty = open(path, O_RDWR | O_NOCTTY);
	done(tty);
}

static void do_close(const char *value)
{
	done(close(tty));
}

static void do_unclaim(const char *value)
{
	done(close(claim));
}

/* The same of a request without numbers, and of one that answers a number. */
static void do_request(const char *value)
{
	done(ioctl(tty, doing->of, 1));
}

static void do_flow(const char *value)
{
	done(ioctl(tty, TCXONC, (int)doing->of));
}

static void do_question(const char *value)
{
	int answer;

	if (!failed(ioctl(tty, doing->of, &answer)))
		printf("%s %d\n", doing->name, answer);
}

static const struct step steps[] = {
	{ "show", do_show, ": the settings as they are: iflag oflag cflag lflag ispeed ospeed" },
	{ "set", do_set, "=BAUD,FORMAT[,FLAG]: raw settings; FORMAT as 8N1, 7E2, 5M1, 8S1; flags: inpck "
	  "ignpar parmrk\n  brkint ignbrk ixon ixoff crtscts nocread drain flush; answers ospeed and cflag" },
	{ "write", do_write, "=HEX" },
	{ "drain", do_request, "", TCSBRK },
	{ "outq", do_question, "", TIOCOUTQ },
	{ "flush", do_flush, "=i|o|io" },
	{ "stop", do_flow, "", TCOOFF },
	{ "start", do_flow, "", TCOON },
	{ "sendstop", do_flow, "", TCIOFF },
	{ "sendstart", do_flow, "", TCION },
	{ "break", do_break, "=TENTHS of a second" },
	{ "on", do_request, ": a break until told otherwise", TIOCSBRK },
	{ "off", do_request, "", TIOCCBRK },
	{ "read", do_read, "=COUNT,MS: bytes, until so many, or none came for so long; hexadecimal" },
	{ "count", do_count, "=COUNT,MS: so: how many, how many differ by another number than 1" },
	{ "icount", do_icount, ": rx tx frame overrun parity brk buf_overrun" },
	{ "lsr", do_question, "", TIOCSERGETLSR },
	{ "modem", do_modem, "=set|clear,BITS" },
	{ "getmodem", do_question, "", TIOCMGET },
	{ "rs485", do_rs485, "=FLAGS,BEFORE,AFTER" },
	{ "getrs485", do_getrs485, "" },
	{ "serial", do_serial, ": type baud_base xmit_fifo_size" },
	{ "lowlatency", do_lowlatency, "=0|1: as setserial(8)" },
	{ "open", do_open, ": the tty" },
	{ "close", do_close, "" },
	{ "sleep", do_sleep, "=US" },
	{ "say", do_say, "=TEXT" },
	{ "tick", do_tick, "" },
	{ "alarm", do_alarm, "=US: a signal then, which interrupts the step that waits" },
	{ "later", do_later, "=US:STEP: in a child process" },
	{ "wait", do_wait, ": for the children" },
	{ "claim", do_claim, ", claim=keep" },
	{ "unclaim", do_unclaim, "" },
	{ "listen", do_listen, ": to what becomes of launches" },
	{ "profile", do_profile, "=INDEX,BAUD,FORMAT" },
	{ "train", do_train, "=PERIOD,COUNT,PROFILE,BYTE" },
	{ "trainstop", do_trainstop, "" },
	{ "launch", do_launch, "=IN,PROFILE,BYTE: so many ticks from now; answers the tick" },
	{ "event", do_event, ": the next one of a launch: kind source tick flags data" },
	{ }
};

static void step(const char *what)
{
	do_step(steps, what);
}

int main(int count, char *words[])
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (count < 2)
		return list_steps(steps);
	path = words[1];
	device = open(DEVICE, O_RDWR);
	if (device < 0) {
		perror("tty_steps: " DEVICE);
		return 1;
	}
	know_clock(device);
	step("open");
	for (int i = 2; i < count; i++)
		step(words[i]);
	return tty < 0;
}
