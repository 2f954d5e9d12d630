// SPDX-License-Identifier: BSD-2-Clause
/*
 * tty_steps DEVICE STEP...: opens a tty and does what it is told, in order, one line of output per step
 *
 * A line is the step's name and its numbers, or `-ERRNO` of the call that failed. Then the next step is done all the same.
 * Bauds and waits are given as for a board at 50 MHz: on a slower one they are as many ticks. Bauds are told as they are.
 *
 *	show			the settings as they are: iflag oflag cflag lflag ispeed ospeed
 *	set=BAUD,FORMAT[,FLAG]	raw settings; FORMAT as 8N1, 7E2, 5M1, 8S1; flags: inpck ignpar parmrk brkint ignbrk ixon ixoff
 *				crtscts nocread drain flush. Answers ospeed and cflag as they became
 *	write=HEX  drain  outq  flush=i|o|io  stop  start  sendstop  sendstart
 *	break=TENTHS  on  off	of a second; or until told otherwise
 *	read=COUNT,MS		until so many bytes, or nothing came for so long; hexadecimal
 *	count=COUNT,MS		the same: how many, and how many of them differ from the bytes before by something else than 1
 *	icount			rx tx frame overrun parity brk buf_overrun
 *	lsr  modem=set|clear,BITS  getmodem
 *	rs485=FLAGS,BEFORE,AFTER  getrs485
 *	serial			type baud_base xmit_fifo_size
 *	lowlatency=0|1		as setserial(8)
 *	close  open		the tty
 *	sleep=US  say=TEXT  tick
 *	alarm=US		a signal then, which interrupts the step that waits
 *	later=US:STEP		in a child process
 *	wait			for the children
 *	claim[=keep]  listen  unclaim  profile=INDEX,BAUD,FORMAT  train=PERIOD,COUNT,PROFILE,BYTE  trainstop
 *	launch=IN,PROFILE,BYTE	so many ticks from now; answers the tick
 *	event			next one of a launch, after `listen`: kind source tick flags data
 */
#include <sys/time.h>

#include <linux/serial.h>

#include "guest.h"
#include "termios2.h"

#define ARGUMENTS 8
#define BYTES 8192

static const char *path;
static int tty = -1, device = -1, claim = -1;
static const char *name;		/* of the step */
static long long argument[ARGUMENTS];	/* numbers after the `=` */
static const char *text;		/* what is after the `=` */

/* Tells of the error, if it is one. */
static int failed(int result)
{
	if (result >= 0)
		return 0;
	printf("%s -%d\n", name, errno);
	return 1;
}

/* The line of a step that has no numbers. */
static void done(int result)
{
	if (!failed(result))
		printf("%s\n", name);
}

/* --- settings ------------------------------------------------------------------------------------------------------------ */

static void do_show(void)
{
	struct termios2 now;

	if (!failed(ioctl(tty, TCGETS2, &now)))
		printf("%s 0x%x 0x%x 0x%x 0x%x %u %u\n", name, now.c_iflag, now.c_oflag, now.c_cflag, now.c_lflag, now.c_ispeed,
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

static void do_set(void)
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
	snprintf(words, sizeof(words), "%s", text);
	word = strtok(words, ",");
	now.c_iflag = now.c_oflag = now.c_lflag = 0;
	now.c_ispeed = now.c_ospeed = strtoul(word, NULL, 0) / slowness;
	word = strtok(NULL, ",");
	now.c_cflag = BOTHER | CREAD | CLOCAL | HUPCL | format_flags(word);
	while ((word = strtok(NULL, ","))) {
		for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
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
		printf("%s %u 0x%x\n", name, now.c_ospeed, now.c_cflag & ~CBAUD);
}

static void do_rs485(void)
{
	struct serial_rs485 settings = {
		.flags = argument[0], .delay_rts_before_send = argument[1], .delay_rts_after_send = argument[2],
	};

	done(ioctl(tty, TIOCSRS485, &settings));
}

static void do_getrs485(void)
{
	struct serial_rs485 settings;

	if (!failed(ioctl(tty, TIOCGRS485, &settings)))
		printf("%s 0x%x %u %u\n", name, settings.flags, settings.delay_rts_before_send, settings.delay_rts_after_send);
}

static void do_serial(void)
{
	struct serial_struct settings;

	if (!failed(ioctl(tty, TIOCGSERIAL, &settings)))
		printf("%s %d %d %d\n", name, settings.type, settings.baud_base, settings.xmit_fifo_size);
}

static void do_lowlatency(void)
{
	struct serial_struct settings;

	if (failed(ioctl(tty, TIOCGSERIAL, &settings)))
		return;
	settings.flags &= ~ASYNC_LOW_LATENCY;
	settings.flags |= argument[0] ? ASYNC_LOW_LATENCY : 0;
	done(ioctl(tty, TIOCSSERIAL, &settings));
}

static void do_break(void)
{
	done(ioctl(tty, TCSBRKP, (int)argument[0]));
}

static void do_modem(void)
{
	int bits = strtol(strchr(text, ',') + 1, NULL, 0);

	done(ioctl(tty, text[0] == 's' ? TIOCMBIS : TIOCMBIC, &bits));
}

/* --- sending ---------------------------------------------------------------------------------------------------------- */

static void do_write(void)
{
	static unsigned char bytes[BYTES];
	size_t count = strlen(text) / 2, i, sent = 0;

	for (i = 0; i < count && i < BYTES; i++) {
		const char digits[] = { text[2 * i], text[2 * i + 1], 0 };

		bytes[i] = strtoul(digits, NULL, 16);
	}
	while (sent < count) {
		ssize_t part = write(tty, bytes + sent, count - sent);

		if (failed(part))
			return;
		sent += part;
	}
	printf("%s %zu\n", name, sent);
}

static void do_icount(void)
{
	struct serial_icounter_struct now;

	if (!failed(ioctl(tty, TIOCGICOUNT, &now)))
		printf("%s %d %d %d %d %d %d %d\n", name, now.rx, now.tx, now.frame, now.overrun, now.parity, now.brk,
		       now.buf_overrun);
}

static void do_flush(void)
{
	done(ioctl(tty, TCFLSH, !strcmp(text, "io") ? TCIOFLUSH : text[0] == 'i' ? TCIFLUSH : TCOFLUSH));
}

/* --- receiving -------------------------------------------------------------------------------------------------------- */

/* Up to `wanted` bytes, or what came before nothing came for `ms`; -1 for an error that was told. */
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

static void do_read(void)
{
	static unsigned char bytes[BYTES];
	ssize_t count = take(bytes, argument[0], argument[1]), i;

	if (count < 0)
		return;
	printf("%s ", name);
	for (i = 0; i < count; i++)
		printf("%02x", bytes[i]);
	printf("\n");
}

static void do_count(void)
{
	static unsigned char bytes[BYTES];
	long long wanted = argument[0], total = 0, jumps = 0;
	unsigned char next = 0;
	ssize_t count, i;

	while (total < wanted && (count = take(bytes, wanted - total < BYTES ? wanted - total : BYTES, argument[1])) > 0) {
		for (i = 0; i < count; i++) {
			jumps += bytes[i] != next;
			next = bytes[i] + 1;
		}
		total += count;
	}
	printf("%s %lld %lld\n", name, total, jumps);
}

/* --- the chardev ------------------------------------------------------------------------------------------------------- */

static int read_tick(uint64_t *tick)
{
	struct litepulse_time time;
	int error = ioctl(device, LITEPULSE_IOC_TIME, &time);

	*tick = time.tick;
	return error;
}

static void do_tick(void)
{
	uint64_t tick;

	if (!failed(read_tick(&tick)))
		printf("%s %llu\n", name, (unsigned long long)tick);
}

static void listen_to(unsigned int kinds)
{
	struct litepulse_subscribe want = {
		.kinds = kinds, .sources = 1 << LITEPULSE_SRC_QUEUE, .clock = LITEPULSE_CLOCK_NONE,
	};

	done(ioctl(claim, LITEPULSE_IOC_SUBSCRIBE, &want));
}

static void do_claim(void)
{
	struct litepulse_claim wish = { .flags = !strcmp(text, "keep") ? LITEPULSE_CLAIM_KEEP : 0 };

	if (failed(ioctl(device, LITEPULSE_IOC_CLAIM, &wish)))
		return;
	claim = wish.fd;
	/* Else it would be told of each pulse of a train. */
	listen_to(0);
}

static void do_listen(void)
{
	listen_to(1 << LITEPULSE_KIND_TX | 1 << LITEPULSE_KIND_REFUSED);
}

static void do_profile(void)
{
	const char *format = strrchr(text, ',') + 1;
	struct litepulse_profile profile = {
		.index = argument[0],
		.baud = argument[1] / slowness,
		.data_bits = format[0] - '0',
		.parity = strchr("NOEMS", format[1]) - "NOEMS",
		.stop = format[2] == '2' ? LITEPULSE_STOP_2 : LITEPULSE_STOP_1,
	};

	if (!failed(ioctl(claim, LITEPULSE_IOC_PROFILE, &profile)))
		printf("%s %u %llu\n", name, profile.baud, (unsigned long long)profile.period);
}

static void do_train(void)
{
	struct litepulse_train train = {
		.period = argument[0], .den = 1, .count = argument[1], .profile = argument[2], .data = argument[3],
		.kind = LITEPULSE_LAUNCH_FRAME, .flags = LITEPULSE_TRAIN_ASAP,
	};

	done(ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train));
}

static void do_trainstop(void)
{
	struct litepulse_train_stop stop = { };

	if (!failed(ioctl(claim, LITEPULSE_IOC_TRAIN_STOP, &stop)))
		printf("%s %u\n", name, stop.pulses);
}

static void do_launch(void)
{
	struct litepulse_launch launch = { .profile = argument[1], .data = argument[2] };
	uint64_t tick;

	if (failed(read_tick(&tick)))
		return;
	launch.tick = tick + argument[0];
	if (!failed(write(claim, &launch, sizeof(launch))))
		printf("%s %llu\n", name, (unsigned long long)launch.tick);
}

static void do_event(void)
{
	struct litepulse_event event;

	if (!failed(read(claim, &event, sizeof(event))))
		printf("%s %u %u %llu 0x%x 0x%x\n", name, event.kind, event.source, (unsigned long long)event.tick, event.flags,
		       event.data);
}

/* --- steps -------------------------------------------------------------------------------------------------------------- */

static void step(const char *what);

static void do_later(void)
{
	char *what = strdup(strchr(text, ':') + 1);

	if (!fork()) {
		sleep_us(argument[0]);
		step(what);
		_exit(0);
	}
	free(what);
}

static void do_wait(void)
{
	while (wait(NULL) > 0)
		;
}

static void do_sleep(void)
{
	sleep_us(argument[0]);
}

static void interrupt(int number)
{
	(void)number;
}

static void do_alarm(void)
{
	const struct itimerval once = { .it_value.tv_usec = argument[0] };

	/* No SA_RESTART. */
	if (sigaction(SIGALRM, &(const struct sigaction) { .sa_handler = interrupt }, NULL) || setitimer(ITIMER_REAL, &once, NULL))
		die("alarm");
}

static void do_say(void)
{
	printf("%s\n", text);
}

static void do_open(void)
{
	tty = open(path, O_RDWR | O_NOCTTY);
	done(tty);
}

static void do_close(void)
{
	done(close(tty));
}

static void do_unclaim(void)
{
	done(close(claim));
}

static const struct {
	const char *name;
	void (*act)(void);
} steps[] = {
	{ "show", do_show }, { "set", do_set }, { "rs485", do_rs485 }, { "getrs485", do_getrs485 }, { "serial", do_serial },
	{ "lowlatency", do_lowlatency },
	{ "modem", do_modem }, { "break", do_break }, { "write", do_write }, { "flush", do_flush }, { "icount", do_icount }, { "read", do_read },
	{ "count", do_count }, { "tick", do_tick }, { "claim", do_claim }, { "listen", do_listen }, { "unclaim", do_unclaim },
	{ "profile", do_profile },
	{ "train", do_train }, { "trainstop", do_trainstop }, { "launch", do_launch }, { "event", do_event }, { "later", do_later },
	{ "wait", do_wait }, { "alarm", do_alarm }, { "sleep", do_sleep }, { "say", do_say }, { "open", do_open }, { "close", do_close },
};

/* Steps that are a request to the tty. */
static const struct {
	const char *name;
	unsigned long request;
	int value;
} requests[] = {
	{ "drain", TCSBRK, 1 }, { "on", TIOCSBRK, 0 }, { "off", TIOCCBRK, 0 }, { "stop", TCXONC, TCOOFF },
	{ "start", TCXONC, TCOON }, { "sendstop", TCXONC, TCIOFF }, { "sendstart", TCXONC, TCION },
};

/* Those that answer a number. */
static const struct {
	const char *name;
	unsigned long request;
} questions[] = {
	{ "outq", TIOCOUTQ }, { "lsr", TIOCSERGETLSR }, { "getmodem", TIOCMGET },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void act(void)
{
	size_t i;
	int number;

	for (i = 0; i < COUNT(steps); i++) {
		if (!strcmp(name, steps[i].name)) {
			steps[i].act();
			return;
		}
	}
	for (i = 0; i < COUNT(requests); i++) {
		if (!strcmp(name, requests[i].name)) {
			done(ioctl(tty, requests[i].request, requests[i].value));
			return;
		}
	}
	for (i = 0; i < COUNT(questions); i++) {
		if (!strcmp(name, questions[i].name)) {
			if (!failed(ioctl(tty, questions[i].request, &number)))
				printf("%s %d\n", name, number);
			return;
		}
	}
	fprintf(stderr, "tty_steps: what is \"%s\"?\n", name);
	exit(2);
}

static void step(const char *what)
{
	static char copy[2 * BYTES + 64];
	char *after;
	int i;

	snprintf(copy, sizeof(copy), "%s", what);
	after = strchr(copy, '=');
	if (after)
		*after++ = 0;
	name = copy;
	text = after ? after : "";
	memset(argument, 0, sizeof(argument));
	for (i = 0; after && i < ARGUMENTS; i++) {
		argument[i] = strtoll(after, NULL, 0);
		after = strchr(after, ',');
		if (after)
			after++;
	}
	act();
	fflush(stdout);
}

int main(int count, char *words[])
{
	int i;

	if (count < 2) {
		fprintf(stderr, "usage: tty_steps DEVICE STEP...\n");
		return 2;
	}
	path = words[1];
	device = open("/dev/litepulse0", O_RDWR);
	if (device < 0) {
		perror("tty_steps: /dev/litepulse0");
		return 1;
	}
	know_clock(device);
	step("open");
	for (i = 2; i < count; i++)
		step(words[i]);
	return tty < 0;
}
