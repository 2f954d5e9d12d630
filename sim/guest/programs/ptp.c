// SPDX-License-Identifier: BSD-2-Clause
/* The PTP clock as a program sees it: one case for each test of test_ptp.py. */
#include <sys/timex.h>

#include <linux/pps.h>
#include <linux/ptp_clock.h>

#include "cases.h"
#include "guest.h"

#define CLOCK		"/dev/ptp0"
#define PPM		(1L << 16)

static int open_clock(void)
{
	int fd = open(CLOCK, O_RDWR);

	if (fd < 0)
		die(CLOCK);
	return fd;
}

/* Edges of input 3, which the simulator drives, and the train's pulses, both with the time of the clock. */
static int open_events(void)
{
	int fd = open_device(O_NONBLOCK);

	subscribe(fd, (struct litepulse_subscribe) {
		.kinds = 1u << LITEPULSE_KIND_EDGE | 1u << LITEPULSE_KIND_TX | 1u << LITEPULSE_KIND_APPLIED |
			 1u << LITEPULSE_KIND_REFUSED,
		.sources = 1u << LITEPULSE_SRC_TRAIN | 1u << LITEPULSE_SRC_TRAIN_CHANGE,
		.rise = 8, .fall = 8, .clock = LITEPULSE_CLOCK_PHC, .fifo = 4096,
		/* Read at the end: this must not cost an interrupt for each. */
		.watermark = 64, .timeout_us = 5000,
	});
	return fd;
}

static void set_pin(int clock, const char *label, unsigned int pin, unsigned int function, unsigned int channel)
{
	struct ptp_pin_desc wanted = { .index = pin, .func = function, .chan = channel };

	tell(label, ioctl(clock, PTP_PIN_SETFUNC, &wanted));
}

/* `e KIND SOURCE TICK DATA FLAGS NS` for all there are: the console is slow. */
static void tell_events(int fd)
{
	struct litepulse_event events[64];
	ssize_t size;

	sleep_ms(6);
	while ((size = read(fd, events, sizeof(events))) > 0) {
		for (size_t i = 0; i < size / sizeof(*events); i++)
			printf("e %u %u %llu %u %u %llu\n", events[i].kind, events[i].source,
			       (unsigned long long)events[i].tick, events[i].data, events[i].flags,
			       (unsigned long long)events[i].ns);
	}
}

/* `mark LABEL TICK`: what comes after it in the program comes after this tick. */
static void mark(int fd, const char *label)
{
	printf("mark %s %llu\n", label, (unsigned long long)now(fd));
}

static void adjust(int clock, const char *label, struct timex change)
{
	tell(label, clock_adjtime(CLOCK_OF(clock), &change));
}

static void adjfine(int clock, int fd, const char *label, long ppm)
{
	printf("mark to_%s %llu\n", label, (unsigned long long)now(fd));
	adjust(clock, label, (struct timex) { .modes = ADJ_FREQUENCY, .freq = ppm * PPM });
	mark(fd, label);
}

static struct ptp_clock_time to_time(int64_t ns)
{
	return (struct ptp_clock_time) { .sec = ns / NS, .nsec = ns % NS };
}

static struct ptp_perout_request perout(int64_t period, int64_t on, int64_t start, unsigned int flags)
{
	struct ptp_perout_request request = {
		.start = to_time(start), .period = to_time(period), .flags = flags,
	};

	if (flags & PTP_PEROUT_DUTY_CYCLE)
		request.on = to_time(on);
	return request;
}

static long set_perout(int clock, const char *label, struct ptp_perout_request request)
{
	return tell(label, ioctl(clock, PTP_PEROUT_REQUEST2, &request));
}

static void read_clock(int clock, const char *label)
{
	printf("clock %s %lld\n", label, ns_of(CLOCK_OF(clock)));
}

/* Output while the clock is tuned and stepped. */
static void case_output(void)
{
	int clock = open_clock(), fd = open_events();

	ready("go");
	set_perout(clock, "perout", perout(400007, 20000, 0, PTP_PEROUT_DUTY_CYCLE));
	mark(fd, "perout");
	sleep_ms(8);
	adjfine(clock, fd, "faster", 50);
	sleep_ms(8);
	adjfine(clock, fd, "slower", -100);
	adjfine(clock, fd, "slower_still", -200);
	sleep_ms(8);
	adjfine(clock, fd, "nominal", 0);
	sleep_ms(4);
	mark(fd, "step");
	adjust(clock, "step", (struct timex) { .modes = ADJ_SETOFFSET | ADJ_NANO, .time = { 0, 12345678 } });
	mark(fd, "stepped");
	sleep_ms(8);
	mark(fd, "set");
	tell("set", clock_settime(CLOCK_OF(clock), &(struct timespec) { 5, 70 }));
	mark(fd, "is_set");
	sleep_ms(8);
	mark(fd, "off");
	set_perout(clock, "off", (struct ptp_perout_request) { });
	mark(fd, "is_off");
	tell_events(fd);
	tell_stats(fd);
}

/* A change of rate that moves pulses by less than an eighth of the period, and one that moves them by more. */
static void case_eighth(void)
{
	int clock = open_clock(), fd = open_events();

	ready("go");
	set_perout(clock, "perout", perout(200000, 20000, 0, PTP_PEROUT_DUTY_CYCLE));
	sleep_ms(8);
	adjfine(clock, fd, "less", 2000);
	sleep_ms(8);
	adjfine(clock, fd, "more", 20000);
	sleep_ms(8);
	mark(fd, "off");
	set_perout(clock, "off", (struct ptp_perout_request) { });
	tell_events(fd);
}

/* A phase and a period of whole ticks, then the same with a start to come; half on. */
static void case_phase(void)
{
	int clock = open_clock(), fd = open_events();
	long long start;

	ready("go");
	set_perout(clock, "phase", perout(400000, 0, 2500, PTP_PEROUT_PHASE));
	sleep_ms(6);
	mark(fd, "phase");
	/* Far enough that the clock's change, up to 20 ms later in the hardware, comes before. */
	start = ns_of(CLOCK_OF(clock)) + 60 * 1000000;
	printf("start %lld\n", start);
	set_perout(clock, "start", perout(500000, 0, start, 0));
	mark(fd, "start");
	sleep_ms(5);
	/* Before its first pulse: it starts by the new time. */
	adjfine(clock, fd, "faster", 100);
	sleep_ms(65);
	set_perout(clock, "off", (struct ptp_perout_request) { });
	tell_events(fd);
}

static void case_clock(void)
{
	int clock = open_clock(), fd = open_events();
	struct ptp_sys_offset_extended offsets = { .n_samples = 5 };
	long long mono, real = ns_of(CLOCK_REALTIME);

	read_clock(clock, "first");
	printf("real %lld\n", real);
	ready("go");
	sleep_ms(4);
	mark(fd, "set");
	tell("set", clock_settime(CLOCK_OF(clock), &(struct timespec) { 1700000000, 999999999 }));
	read_clock(clock, "set");
	mark(fd, "is_set");
	sleep_ms(4);
	adjfine(clock, fd, "faster", 30000);
	sleep_ms(6);
	adjfine(clock, fd, "nominal", 0);
	sleep_ms(3);
	mark(fd, "back");
	adjust(clock, "back", (struct timex) { .modes = ADJ_SETOFFSET | ADJ_NANO, .time = { -1, 400000000 } });
	mark(fd, "is_back");
	sleep_ms(3);
	mono = ns_of(CLOCK_MONOTONIC);
	read_clock(clock, "before");
	read_clock(clock, "after");
	printf("mono %lld\n", ns_of(CLOCK_MONOTONIC) - mono);
	if (tell("offsets", ioctl(clock, PTP_SYS_OFFSET_EXTENDED, &offsets)) == 0) {
		for (int i = 0; i < 5; i++)
			printf("offset %lld %lld %lld\n", offsets.ts[i][0].sec * NS + offsets.ts[i][0].nsec,
			       offsets.ts[i][1].sec * NS + offsets.ts[i][1].nsec, offsets.ts[i][2].sec * NS + offsets.ts[i][2].nsec);
	}
	tell_events(fd);
}

static long stamp(int clock, const char *label, unsigned long which, unsigned int index, unsigned int flags)
{
	return tell(label, ioctl(clock, which, &(struct ptp_extts_request) { .index = index, .flags = flags }));
}

/* `stamp INDEX NS` for each, until none comes for a while. */
static void read_stamps(int clock)
{
	struct pollfd file = { .fd = clock, .events = POLLIN };
	struct ptp_extts_event events[30];
	ssize_t size;

	while (poll(&file, 1, 20) > 0) {
		size = read(clock, events, sizeof(events));
		if (size < 0)
			die("read stamps");
		for (size_t i = 0; i < size / sizeof(*events); i++)
			printf("stamp %u %lld\n", events[i].index, events[i].t.sec * NS + events[i].t.nsec);
	}
	printf("stamps_end\n");
}

/* Rising, falling, both, and whatever the first version of the request gives; the same edges from the device. */
static void case_stamps(void)
{
	int clock = open_clock(), fd = open_device(O_NONBLOCK);

	subscribe(fd, (struct litepulse_subscribe) {
		.kinds = 1u << LITEPULSE_KIND_EDGE, .rise = 0x1f, .fall = 0x1f, .clock = LITEPULSE_CLOCK_PHC,
	});
	stamp(clock, "rise", PTP_EXTTS_REQUEST2, 0, PTP_ENABLE_FEATURE | PTP_RISING_EDGE);
	stamp(clock, "fall", PTP_EXTTS_REQUEST2, 1, PTP_ENABLE_FEATURE | PTP_FALLING_EDGE);
	stamp(clock, "both", PTP_EXTTS_REQUEST2, 2, PTP_ENABLE_FEATURE | PTP_RISING_EDGE | PTP_FALLING_EDGE);
	stamp(clock, "line", PTP_EXTTS_REQUEST, 4, PTP_ENABLE_FEATURE);
	stamp(clock, "no_input", PTP_EXTTS_REQUEST2, 5, PTP_ENABLE_FEATURE | PTP_RISING_EDGE);
	stamp(clock, "no_edge", PTP_EXTTS_REQUEST2, 3, PTP_ENABLE_FEATURE);
	stamp(clock, "offset", PTP_EXTTS_REQUEST2, 3, PTP_ENABLE_FEATURE | PTP_RISING_EDGE | PTP_EXT_OFFSET);
	stamp(clock, "unknown", PTP_EXTTS_REQUEST2, 3, PTP_ENABLE_FEATURE | PTP_RISING_EDGE | 1u << 20);
	ready("edges");
	read_stamps(clock);
	stamp(clock, "off", PTP_EXTTS_REQUEST2, 0, 0);
	stamp(clock, "turn", PTP_EXTTS_REQUEST2, 1, PTP_ENABLE_FEATURE | PTP_RISING_EDGE);
	ready("again");
	read_stamps(clock);
	tell_events(fd);
}

/* More edges than the PTP core keeps. */
static void case_flood(void)
{
	int clock = open_clock(), fd = open_device(O_NONBLOCK);

	subscribe(fd, (struct litepulse_subscribe) {
		.kinds = 1u << LITEPULSE_KIND_EDGE, .rise = 1, .fall = 1, .clock = LITEPULSE_CLOCK_PHC,
	});
	stamp(clock, "both", PTP_EXTTS_REQUEST2, 0, PTP_ENABLE_FEATURE | PTP_RISING_EDGE | PTP_FALLING_EDGE);
	ready("edges");
	sleep_ms(20);
	read_stamps(clock);
	tell_events(fd);
	tell_stats(fd);
}

/* Requests that cannot be fulfilled, and who has the claim. */
static void case_refused(void)
{
	const unsigned int duty = PTP_PEROUT_DUTY_CYCLE;
	struct ptp_perout_request other = perout(1000000, 0, 0, 0);
	struct litepulse_claim claim = { };
	struct litepulse_train train = PULSES(.period = 25000, .den = 1, .profile = 1, .width = 500);
	struct litepulse_train_stop stop = { };
	int clock = open_clock(), fd = open_device(O_NONBLOCK), mine;

	other.index = 1;
	set_perout(clock, "no_channel", other);
	set_perout(clock, "one_shot", perout(1000000, 0, 0, PTP_PEROUT_ONE_SHOT));
	set_perout(clock, "unknown", perout(1000000, 0, 0, 1u << 20));
	set_perout(clock, "long", perout(100 * NS * slowness, 0, 0, 0));
	set_perout(clock, "short", perout(6000, 0, 0, 0));
	set_perout(clock, "too_short", perout(40, 0, 0, 0));
	set_perout(clock, "phase", perout(1000000, 0, 1000000, PTP_PEROUT_PHASE));
	set_perout(clock, "no_width", perout(1000000, 5, 0, duty));
	set_perout(clock, "always_on", perout(1000000, 999990, 0, duty));
	set_perout(clock, "wide", perout(1000000, 1000001, 0, duty));
	other = perout(1000000, 0, 0, 0);
	other.start.nsec = NS;
	set_perout(clock, "nsec", other);
	other = perout(1000000, 0, 0, 0);
	other.start.sec = -1;
	set_perout(clock, "negative", other);
	tell("claim_free", ioctl(fd, LITEPULSE_IOC_CLAIM, &claim));
	mine = claim.fd;
	set_profile(mine, 1, 115200);
	mark(fd, "train");
	set_perout(clock, "claimed", perout(1000000, 0, 0, 0));
	tell("train", ioctl(mine, LITEPULSE_IOC_TRAIN_START, &train));
	tell("keep", ioctl(mine, LITEPULSE_IOC_KEEP, &(struct litepulse_keep) { .flags = LITEPULSE_CLAIM_KEEP }));
	close(mine);
	set_perout(clock, "kept", perout(1000000, 0, 0, 0));
	sleep_ms(2);		/* some pulses */
	claim.fd = 0;
	tell("claim_kept", ioctl(fd, LITEPULSE_IOC_CLAIM, &claim));
	tell("stop", ioctl(claim.fd, LITEPULSE_IOC_TRAIN_STOP, &stop));
	printf("kept_pulses %u\n", stop.pulses);
	close(claim.fd);
	set_perout(clock, "now", perout(1000000, 0, 0, 0));
	claim.fd = 0;
	tell("claim_perout", ioctl(fd, LITEPULSE_IOC_CLAIM, &claim));
	set_perout(clock, "off", (struct ptp_perout_request) { });
	set_perout(clock, "off_again", (struct ptp_perout_request) { });
	claim.fd = 0;
	tell("claim_after", ioctl(fd, LITEPULSE_IOC_CLAIM, &claim));
}

/* Output goes on after the clock's file is closed, as PTP has it; any later program may end it. */
static void case_close(void)
{
	int clock = open_clock(), fd = open_events();

	ready("go");
	set_perout(clock, "perout", perout(500000, 0, 0, 0));
	sleep_ms(5);
	close(clock);
	mark(fd, "closed");
	sleep_ms(5);
	clock = open_clock();
	mark(fd, "off");
	set_perout(clock, "off", (struct ptp_perout_request) { });
	mark(fd, "is_off");
	sleep_ms(3);
	tell_events(fd);
}

/* Waits until the clock is in the first millisecond after a multiple of the period, shifted by @phase. */
static void await_phase(int clock, long long period, long long phase)
{
	while ((ns_of(CLOCK_OF(clock)) + period - phase) % period >= 1000000)
		;
}

/* Ended while a pulse is on the line, then while none is; a byte of the tty was written meanwhile. */
static void case_end(void)
{
	static const char *const on[] = { "on0", "on1" }, *const off[] = { "off0", "off1" }, *const left[] = { "left0", "left1" };
	int clock = open_clock(), fd = open_events(), tty = open("/dev/ttyPULSE0", O_RDWR | O_NOCTTY);
	const long long period = 16000000, half = period / 2;

	if (tty < 0)
		die("tty");
	for (int k = 0; k < 2; k++) {
		set_perout(clock, on[k], perout(period, 0, 0, 0));
		sleep_ms(10);
		tell("write", write(tty, "U", 1));
		await_phase(clock, period, k * half);
		mark(fd, on[k]);
		set_perout(clock, off[k], (struct ptp_perout_request) { });
		mark(fd, off[k]);
		sleep_ms(half / 1000000 + 4);
		mark(fd, left[k]);
	}
	tell_events(fd);
}

/* The board is reset by the simulator while output runs: clock and output go on. */
static void case_restart(void)
{
	int clock = open_clock(), fd = open_events();
	struct timespec t;
	long long mono;

	tell("set", clock_settime(CLOCK_OF(clock), &(struct timespec) { 1000, 0 }));
	set_perout(clock, "perout", perout(1000000, 0, 0, 0));
	sleep_ms(5);
	mono = ns_of(CLOCK_MONOTONIC);
	read_clock(clock, "before");
	printf("mono %lld\n", mono);
	ready("go");
	sleep_ms(5);
	/* The first to read the clock notices. */
	while (tell("reading", clock_gettime(CLOCK_OF(clock), &t)) < 0)
		sleep_ms(1);
	mono = ns_of(CLOCK_MONOTONIC);
	read_clock(clock, "after");
	printf("mono %lld\n", mono);
	sleep_ms(10);
	set_perout(clock, "off", (struct ptp_perout_request) { });
	tell_events(fd);
}

/* What the pins are, and what they can be. */
static void case_pins(void)
{
	struct ptp_extts_request stamp = { .index = 1, .flags = PTP_ENABLE_FEATURE | PTP_RISING_EDGE };
	struct ptp_pin_desc pin = { .index = 0 };
	int clock = open_clock();

	for (; !ioctl(clock, PTP_PIN_GETFUNC, &pin); pin.index++)
		printf("pin %u %u %u %s\n", pin.index, pin.func, pin.chan, pin.name);
	set_pin(clock, "same", 1, PTP_PF_EXTTS, 1);
	set_pin(clock, "another_channel", 1, PTP_PF_EXTTS, 2);
	set_pin(clock, "input_as_output", 1, PTP_PF_PEROUT, 0);
	set_pin(clock, "output_as_input", 5, PTP_PF_EXTTS, 0);
	set_pin(clock, "no_input", 1, PTP_PF_NONE, 0);
	tell("extts_without_pin", ioctl(clock, PTP_EXTTS_REQUEST2, &stamp));
	set_pin(clock, "input", 1, PTP_PF_EXTTS, 1);
	tell("extts", ioctl(clock, PTP_EXTTS_REQUEST2, &stamp));
	set_pin(clock, "no_output", 5, PTP_PF_NONE, 0);
	set_perout(clock, "perout_without_pin", perout(1000000, 0, 0, 0));
	set_pin(clock, "output", 5, PTP_PF_PEROUT, 0);
}

/* The rising edges of input 0 as a PPS source has them, and as the device has them in the same clock. */
static void case_pps(void)
{
	int clock = open_clock(), pps = open("/dev/pps0", O_RDWR), fd = open_device(0);
	struct pps_fdata found = { };	/* a timeout of 0: the newest */
	struct litepulse_event event;

	if (pps < 0)
		die("/dev/pps0");
	subscribe(fd, (struct litepulse_subscribe) {
		.kinds = 1u << LITEPULSE_KIND_EDGE, .rise = 1, .clock = LITEPULSE_CLOCK_REALTIME });
	tell("on", ioctl(clock, PTP_ENABLE_PPS, 1));
	for (int i = 0; i < 4; i++) {
		if (i == 3)
			tell("off", ioctl(clock, PTP_ENABLE_PPS, 0));
		ready(i == 3 ? "off" : "edge");
		if (read(fd, &event, sizeof(event)) != sizeof(event))
			die("read");
		sleep_ms(2);
		tell("fetch", ioctl(pps, PPS_FETCH, &found));
		printf("pps %u %lld %llu\n", found.info.assert_sequence,
		       (long long)found.info.assert_tu.sec * NS + found.info.assert_tu.nsec, (unsigned long long)event.ns);
	}
}

static const struct guest_case cases[] = {
	{ "clock", case_clock }, { "output", case_output }, { "eighth", case_eighth },
	{ "phase", case_phase }, { "stamps", case_stamps }, { "flood", case_flood },
	{ "refused", case_refused }, { "close", case_close }, { "end", case_end },
	{ "restart", case_restart }, { "pins", case_pins }, { "pps", case_pps }, { }
};

int main(int argc, char **argv)
{
	return run_case(cases, argc, argv);
}
