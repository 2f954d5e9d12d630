/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lets the first allocation fail, or copy between kernel and program, then the second, and so on,
 * while something is done: the kernel's fail-nth (Documentation/fault-injection). Each time it is
 * done or refused, and can be done again afterwards. Prints `WHAT COUNT`: at how many places
 * something failed.
 */
#include <sys/syscall.h>

#include "board.h"
#include "cases.h"

#include <linux/ptp_clock.h>
#include <linux/serial.h>

#define PLACES_MAX 5000

static int nth;		/* /proc/thread-self/fail-nth */
static const char *file;	/* or port, or board */

static void arm(int place)
{
	char text[20];

	snprintf(text, sizeof(text), "%d", place);
	/* This copy itself may be the one that fails. */
	if (pwrite(nth, text, strlen(text), 0) < 0)
		CHECK(pwrite(nth, text, strlen(text), 0) == (ssize_t)strlen(text));
}

/* Has something failed since arm()? Nothing fails any more. */
static int has_failed(void)
{
	char text[20] = "";
	/* This read may be the call that fails. */
	ssize_t length = pread(nth, text, sizeof(text) - 1, 0);

	arm(0);
	return length > 0 && !atoi(text);
}

/* Does `act` until nothing fails; it returns a file, or 0, or -1, and `after` takes that. */
static void each_place(const char *what, int (*act)(int), void (*after)(int), int argument)
{
	int place, result, failed = 1;

	for (place = 1; failed; place++) {
		CHECK(place < PLACES_MAX);
		arm(place);
		result = act(argument);
		failed = has_failed();
		CHECK(failed || result >= 0);
		after(result);
	}
	printf("%s %d\n", what, place - 2);
}

static void nothing(int result)
{
	(void)result;
}

static void close_file(int fd)
{
	CHECK(fd < 0 || !close(fd));
}

static int load_module(int unused)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC), error;

	if (fd < 0)
		return -1;
	error = syscall(SYS_finit_module, fd, "", 0);
	close(fd);
	return error;
}

/* With DEBUG_KOBJECT_RELEASE the driver's name goes seconds after the module has. */
static void unload(int result)
{
	CHECK(result < 0 || !syscall(SYS_delete_module, "litepulse", 0));
	while (!access("/sys/bus/platform/drivers/litepulse", F_OK))
		usleep(100000);
}

static int probe_board(int unused)
{
	return bind_board();
}

/* All of its devices are there, or none. */
static void unprobe(int result)
{
	CHECK(has_devices() == (result >= 0));
	CHECK(result < 0 || !unbind_board());
}

static int open_which(int which)
{
	static const char *const names[] = { "litepulse", "ttyPULSE", "ptp" };
	const int numbers[] = { board.pulse, board.tty, board.ptp };

	return open_numbered(names[which], numbers[which], O_RDWR | O_NONBLOCK);
}

static int want(int fd)
{
	return ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &WANT(KIND(TX), REALTIME, .fifo = 4096));
}

static int claim(int fd)
{
	return try_claim(fd, (struct litepulse_claim){ .fd_flags = O_CLOEXEC | O_NONBLOCK });
}

static int profile(int fd)
{
	struct litepulse_profile wanted = { .index = 1, .data_bits = 8, .baud = 115200 };

	return ioctl(fd, LITEPULSE_IOC_PROFILE, &wanted);
}

static int launch(int fd)
{
	struct litepulse_time time = { 0 };

	if (ioctl(fd, LITEPULSE_IOC_TIME, &time))
		return -1;
	return try_launch(fd, LAUNCH(.tick = time.tick + 10000000, .width = 100,
				     .kind = LITEPULSE_LAUNCH_PULSE));
}

static int train(int fd)
{
	int error = try_train(fd, PULSES(.period = 1000000, .count = 3, .width = 100));
	struct litepulse_train_stop stop = { 0 };

	return ioctl(fd, LITEPULSE_IOC_TRAIN_STOP, &stop) || error ? -1 : 0;
}

static int responder(int fd)
{
	struct litepulse_responder wanted = { .trigger = LITEPULSE_TRIGGER_BYTE, .mask = 255,
					      .value = 1, .kind = LITEPULSE_LAUNCH_PULSE,
					      .delay = 1000, .width = 50 };

	return ioctl(fd, LITEPULSE_IOC_RESPONDER, &wanted);
}

static int ask(int fd)
{
	struct litepulse_info info;
	struct litepulse_stats stats;
	struct litepulse_time time = { 0 };
	int error = ioctl(fd, LITEPULSE_IOC_INFO, &info) | ioctl(fd, LITEPULSE_IOC_STATS, &stats);

	return ioctl(fd, LITEPULSE_IOC_TIME, &time) || error ? -1 : 0;
}

static int settings(int fd)
{
	struct serial_rs485 rs485 = { .flags = SER_RS485_ENABLED | SER_RS485_RTS_ON_SEND };
	struct termios termios;

	if (tcgetattr(fd, &termios))
		return -1;
	termios.c_cflag ^= CSTOPB;
	return tcsetattr(fd, TCSANOW, &termios) | ioctl(fd, TIOCSRS485, &rs485) ? -1 : 0;
}

static int transmit(int fd)
{
	char byte;
	ssize_t sent = write(fd, "abc", 3);

	while (read(fd, &byte, 1) == 1)
		;
	return sent == 3 ? 0 : -1;
}

static int clock_calls(int fd)
{
	struct ptp_sys_offset_extended offsets = { .n_samples = 3 };
	struct ptp_extts_request stamps = { .flags = PTP_ENABLE_FEATURE | PTP_RISING_EDGE };
	struct ptp_perout_request pulses = { .period = { .nsec = 10000000 } };
	int error = ioctl(fd, PTP_SYS_OFFSET_EXTENDED, &offsets);

	error |= ioctl(fd, PTP_EXTTS_REQUEST, &stamps);
	stamps.flags = 0;
	error |= ioctl(fd, PTP_EXTTS_REQUEST, &stamps) | ioctl(fd, PTP_PEROUT_REQUEST, &pulses);
	pulses.period.nsec = 0;
	return ioctl(fd, PTP_PEROUT_REQUEST, &pulses) || error ? -1 : 0;
}

static void load(void)
{
	each_place("load", load_module, unload, 0);
}

static void probe(void)
{
	CHECK(has_devices() && !unbind_board());
	each_place("probe", probe_board, unprobe, 0);
	CHECK(!bind_board() && has_devices());
}

static void use(void)
{
	static const struct {
		const char *name;
		int device, with_claim;
		int (*act)(int);
	} uses[] = {
		{ "ask", 0, 0, ask }, { "subscribe", 0, 0, want }, { "claim", 0, 0, claim },
		{ "profile", 0, 1, profile }, { "launch", 0, 1, launch }, { "train", 0, 1, train },
		{ "responder", 0, 1, responder }, { "settings", 1, 0, settings },
		{ "transmit", 1, 0, transmit }, { "clock", 2, 0, clock_calls },
	};
	static const char *const opened[] = { "open", "open-tty", "open-ptp" };

	CHECK(has_devices());
	for (int i = 0; i < 3; i++)
		each_place(opened[i], open_which, close_file, i);
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
		int fd = open_which(uses[i].device), held = fd;

		CHECK(fd >= 0);
		if (uses[i].with_claim)
			held = claim(fd);
		CHECK(held >= 0);
		each_place(uses[i].name, uses[i].act, uses[i].act == claim ? close_file : nothing,
			   held);
		if (held != fd)
			CHECK(!close(held));
		CHECK(!close(fd));
	}
}

static int set_discipline(int unused)
{
	return attach_port(file);
}

static void give_up(int fd)
{
	CHECK(fd < 0 || !close(fd));
	CHECK(!wait_gone(file, 20));
}

static void attach_file(void)
{
	each_place("attach", set_discipline, give_up, 0);
}

static const struct guest_case cases[] = {
	{ "load", load, "FILE: the driver's module is loaded" },
	{ "probe", probe, "NAME: the driver takes the board whose platform device that is" },
	{ "use", use, "NAME: everything is opened, and asked" },
	{ "attach", attach_file, "PORT: the line discipline is set" },
	{ }
};

int main(int count, char **words)
{
	if (count != 3)
		return run_case(cases, 0, words);
	file = words[2];
	snprintf(board.name, sizeof(board.name), "%s", file);
	/* Any allocation, and without a word. */
	write_file("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	write_file("/sys/kernel/debug/failslab/verbose", "0");
	write_file("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	write_file("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	write_file("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	write_file("/sys/kernel/debug/fail_usercopy/verbose", "0");
	nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	CHECK(nth >= 0);
	return run_case(cases, 2, words);
}
