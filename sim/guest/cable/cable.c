/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A board on a cable, used and taken away: what the debug kernel is to watch. TX is wired to RX.
 *
 *   cable use PORT         attach; tty, events, launches, train, clock; detach
 *   cable keep PORT        a kept train goes on while nothing is attached, and is found again; one that was not kept is stopped
 *   cable storm PORT N     attached and detached N times, under readers, writers and a train
 *   cable nobody PORT      what is there is no UARTBone: no device comes
 *   cable counters PORT    attach, use, and print what the link counted
 *   cable bursts PORT      attach, have many edges come at once, again and again, and print what the link counted
 *   cable forge PORT       attach; others cannot open the port or hang it up, nor is what root pushes into it taken for an answer
 *   cable baud PORT        attach; the bit rate of the port is changed while the board's tty is in use
 *   cable killed PORT      attach; programs that wait while the bit rate is changed can be killed
 *   cable suspend PORT     attach; the machine is suspended: a kept train has stopped then, and the board works afterwards
 *   cable raised PORT      attach; the machine is suspended for longer than the board keeps a raised bit rate, with the tty open
 *   cable standstill PORT [BAUD]  attach, raise the bit rate, start a train; somebody stops the machine: prints what is left of the train
 *   cable breaks PORT      attach; each break begins and ends on the line, however short it is; those of tcsendbreak() are exact
 *   cable xoff PORT        attach; few bytes leave between tcflow() and the XOFF that it sends
 *   cable poison PORT      attach; bytes go on coming after some answers with a wrong tick: each is read or reported as lost
 *   cable stall PORT       attach; the port takes nothing of a reading of the clocks, and a byte comes when its program has gone
 *   cable loop PORT        attach; what is sent comes back while TIOCM_LOOP is set, and only then (TX is not wired)
 *
 * Exit status 0, or 1 and a line that says what was not as it should be.
 */
#include "cable.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#ifndef TIOCM_LOOP
#define TIOCM_LOOP 0x8000	/* not in the C library's headers, and the kernel's do not go together with these */
#endif
#define BYTES 3000
#define LAUNCHES 150
#define EDGES 240	/* ten a byte */
#define BREAKS 40
#define POISONED 2400

static const char *port;	/* /dev/ttyS0 */

static const char *base(void)
{
	return strrchr(port, '/') + 1;
}

static int attach(struct board *board)
{
	int fd = attach_port(port);

	CHECK(fd >= 0);
	CHECK(!find_board(base(), 20, board));
	return fd;
}

static void detach(int fd)
{
	CHECK(!close(fd));	/* the last to hold it: whoever is forked meanwhile closes it */
	CHECK(!wait_gone(base(), 20));
}

static void subscribe(int fd, unsigned int kinds)
{
	struct litepulse_subscribe want = { .kinds = kinds, .fifo = 8192, .clock = LITEPULSE_CLOCK_MONOTONIC };

	CHECK(!ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &want));
}

static int claim(int fd, unsigned int flags)
{
	struct litepulse_claim wanted = { .flags = flags, .fd_flags = O_CLOEXEC, .fifo = 8192 };

	return ioctl(fd, LITEPULSE_IOC_CLAIM, &wanted) ? -1 : wanted.fd;
}

/* What is sent comes back, each byte once and in order, on the tty and as an event. */
static void bytes(const struct board *board)
{
	unsigned char out[BYTES], in[BYTES];
	struct litepulse_event event, before = { 0 };
	int pulse = open_pulse(board), tty = open_tty(board), got = 0, sent = 0;

	CHECK(pulse >= 0 && tty >= 0);
	subscribe(pulse, 1 << LITEPULSE_KIND_RX);
	for (int i = 0; i < BYTES; i++)
		out[i] = i * 7 + i / 256;
	CHECK(!fcntl(tty, F_SETFL, O_NONBLOCK));
	for (double end = now() + 300; got < BYTES;) {	/* only against hanging: a damaged exchange takes a quarter of a second */
		struct pollfd wait = { .fd = tty, .events = POLLIN | (sent < BYTES ? POLLOUT : 0) };
		ssize_t count;

		CHECK(now() < end);
		CHECK(poll(&wait, 1, 20000) == 1);
		if (wait.revents & POLLOUT && sent < BYTES) {
			count = write(tty, out + sent, BYTES - sent);
			CHECK(count > 0);
			sent += count;
		}
		if (wait.revents & POLLIN) {
			count = read(tty, in + got, BYTES - got);
			CHECK(count > 0);
			got += count;
		}
	}
	CHECK(!memcmp(in, out, BYTES));
	CHECK(!tcdrain(tty));
	for (int i = 0; i < BYTES; i++) {
		CHECK(read(pulse, &event, sizeof(event)) == sizeof(event));
		CHECK(event.kind == LITEPULSE_KIND_RX && event.data == out[i]);
		CHECK(event.flags & LITEPULSE_FLAG_NS && event.uncertainty);
		CHECK(!i || (event.seq == before.seq + 1 && event.tick > before.tick));
		before = event;
	}
	CHECK(!close(tty) && !close(pulse));
}

/* Each launch happens once, at its tick, and is told once. */
static void launches(const struct board *board)
{
	static struct litepulse_launch list[LAUNCHES];
	int pulse = open_pulse(board), fd = claim(pulse, 0);
	struct litepulse_event event;
	struct litepulse_time time;
	struct litepulse_info info;

	CHECK(fd >= 0);
	CHECK(claim(pulse, 0) == -1 && errno == EBUSY);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &info) && !ioctl(pulse, LITEPULSE_IOC_TIME, &time));
	memset(list, 0, sizeof(list));
	for (int i = 0; i < LAUNCHES; i++) {
		/* a twentieth of a second of its time ahead, then one every 10000 ticks */
		list[i].tick = time.tick + info.tick_num / info.tick_den / 20 + i * 10000ull;
		list[i].kind = LITEPULSE_LAUNCH_PULSE;
		list[i].width = 100 + i;
		list[i].tag = i;
	}
	for (size_t done = 0; done < sizeof(list);) {
		ssize_t count = write(fd, (char *)list + done, sizeof(list) - done);

		CHECK(count > 0 && count % sizeof(list[0]) == 0);
		done += count;
	}
	for (int i = 0; i < LAUNCHES; i++) {
		CHECK(read(fd, &event, sizeof(event)) == sizeof(event));
		CHECK(event.kind == LITEPULSE_KIND_TX && event.source == LITEPULSE_SRC_QUEUE);
		CHECK(event.tick == list[i].tick && event.data >> 16 == (unsigned int)i);
	}
	list[0].tick = 1;
	CHECK(write(fd, list, sizeof(list[0])) == -1 && (errno == ETIME || errno == EINVAL));
	CHECK(!close(fd) && !close(pulse));
}

static const struct litepulse_train pulses = { .period = 100000, .num = 1, .den = 3, .kind = LITEPULSE_LAUNCH_PULSE, .width = 500,
					       .flags = LITEPULSE_TRAIN_ASAP };

/* Pulses of a running train come without a gap, each once, period by period. */
static void follow(int pulse, int count)
{
	struct litepulse_event event, before = { 0 };

	subscribe(pulse, 1 << LITEPULSE_KIND_TX);
	for (int i = 0; i < count; i++) {
		CHECK(read(pulse, &event, sizeof(event)) == sizeof(event));
		CHECK(event.kind == LITEPULSE_KIND_TX && event.source == LITEPULSE_SRC_TRAIN);
		CHECK(!i || (event.data == before.data + 1 && event.seq == before.seq + 1));
		CHECK(!i || event.tick - before.tick - pulses.period <= 1);
		before = event;
	}
	subscribe(pulse, 0);
}

static void train(const struct board *board)
{
	struct litepulse_train_adjust adjust = { .period = 100000, .num = 1, .den = 3 };
	struct litepulse_train_stop stop = { 0 };
	int pulse = open_pulse(board), fd = claim(pulse, 0);

	CHECK(fd >= 0);
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_START, &pulses));
	CHECK(ioctl(fd, LITEPULSE_IOC_TRAIN_START, &pulses) == -1 && errno == EBUSY);
	follow(pulse, 50);
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_ADJUST, &adjust));
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_STOP, &stop) && stop.pulses >= 50);
	CHECK(!close(fd) && !close(pulse));
}

/* The board's clock goes forward, beside ours. */
static void clocks(const struct board *board)
{
	struct litepulse_time first, second;
	int pulse = open_pulse(board);

	CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &first));
	usleep(20000);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &second));
	CHECK(second.tick > first.tick && second.raw_before > first.raw_after);
	CHECK(second.raw_after > second.raw_before);
	CHECK(second.uncertainty == (second.raw_after - second.raw_before + 1) / 2);
	CHECK(!close(pulse));
}

static void use_all(const struct board *board)
{
	bytes(board);
	launches(board);
	train(board);
	clocks(board);
}

static void use(void)
{
	struct board board;
	int fd = attach(&board);

	use_all(&board);
	detach(fd);
	/* The port is as any port again: the board is found there once more. */
	fd = attach(&board);
	bytes(&board);
	detach(fd);
}

static void print_counters(const struct board *board)
{
	static const char *const names[] = { "port",	"baud",		"checked", "packed",   "poll_us",
					     "idle_us", "transactions", "repeats", "failures", "round_trip_ns" };
	char text[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CHECK(!read_attribute(board, names[i], text, sizeof(text)));
		printf("%s %s\n", names[i], text);
	}
}

static void counters(void)
{
	struct board board;
	char text[64];
	int fd = attach(&board);

	use_all(&board);
	print_counters(&board);
	CHECK(write_attribute(&board, "poll_us", "nonsense") == -1 && errno == EINVAL);
	CHECK(write_attribute(&board, "poll_us", "1000001") == -1 && errno == EINVAL);
	CHECK(!write_attribute(&board, "poll_us", "500") && !read_attribute(&board, "poll_us", text, sizeof(text)));
	CHECK(!strcmp(text, "500"));
	detach(fd);
}

/* Each edge of what is sent, once and in order; as many as fit the board's FIFO come between two looks at it. */
static void bursts(void)
{
	struct litepulse_event event, before = { 0 };
	unsigned char alternating[EDGES / 10];
	struct litepulse_subscribe want = { .kinds = 1 << LITEPULSE_KIND_EDGE, .fifo = 8192 };
	struct litepulse_info info;
	struct board board;
	int fd = attach(&board), pulse = open_pulse(&board), tty = open_tty(&board);

	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &info) && info.event_depth > EDGES);
	want.rise = want.fall = 1 << info.inputs;	/* the line */
	CHECK(!ioctl(pulse, LITEPULSE_IOC_SUBSCRIBE, &want));
	/* Between two looks even a slow machine gets the board as far as it goes by itself: then many wait there. */
	CHECK(!write_attribute(&board, "poll_us", "50000") && !write_attribute(&board, "idle_us", "50000"));
	memset(alternating, 'U', sizeof(alternating));
	for (int round = 0; round < 10; round++) {
		CHECK(write(tty, alternating, sizeof(alternating)) == sizeof(alternating));
		for (int i = 0; i < EDGES; i++) {
			CHECK(read(pulse, &event, sizeof(event)) == sizeof(event));
			CHECK(event.kind == LITEPULSE_KIND_EDGE && (!before.tick || event.seq == before.seq + 1));
			CHECK(!i || event.tick - before.tick - info.tick_num / BAUD <= 1);
			before = event;
		}
	}
	CHECK(!close(tty) && !close(pulse));
	print_counters(&board);
	detach(fd);
}

static void baud(void)
{
	struct termios settings;
	struct board board;
	int fd = attach(&board), tty = open_tty(&board);

	CHECK(tty >= 0);
	for (int i = 0; i < 3; i++) {
		CHECK(!tcgetattr(tty, &settings) && !cfsetspeed(&settings, i % 2 ? B9600 : B19200) && !tcsetattr(tty, TCSANOW, &settings));
		/* This kernel's serial lines cannot do it: what counts is which locks are taken. */
		write_attribute(&board, "baud", "1000000");
	}
	CHECK(!close(tty));
	bytes(&board);
	detach(fd);
}

/* Whether a process dies while another one goes on. */
static int dies_before(pid_t child, pid_t other)
{
	int left = 200;

	kill(child, SIGKILL);
	while (!waitpid(child, NULL, WNOHANG) && left--)
		usleep(10000);
	return left > 0 && !waitpid(other, NULL, WNOHANG);
}

static void killed(void)
{
	const char *const counters[] = { NULL, "transactions", "round_trip_ns" };
	struct board board;
	int fd = attach(&board);
	char text[32];

	for (unsigned int i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		pid_t other = fork(), child;

		/* The port cannot do it, which takes the bridge more than two seconds to find out. */
		if (!other)
			exit(write_attribute(&board, "baud", "1000000") ? 0 : 1);
		usleep(300000);
		child = fork();
		if (!child) {
			struct litepulse_time now;
			int pulse = open_pulse(&board);

			if (counters[i])
				exit(read_attribute(&board, counters[i], text, sizeof(text)));
			exit(ioctl(pulse, LITEPULSE_IOC_TIME, &now));
		}
		usleep(100000);
		CHECK(other > 0 && child > 0 && dies_before(child, other));
		CHECK(waitpid(other, NULL, 0) == other);
	}
	bytes(&board);
	detach(fd);
}

/* The calls come one right after the other: the end of a break must not overtake its begin. */
static void breaks(void)
{
	struct litepulse_subscribe want = { .kinds = 1 << LITEPULSE_KIND_EDGE, .fifo = 1024 };
	struct litepulse_event event;
	struct litepulse_info info;
	struct litepulse_time time = { 0 };
	struct board board;
	int fd = attach(&board), pulse = open_pulse(&board), tty = open_tty(&board);
	uint64_t fell;
	pid_t child;
	int status;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &info));
	want.rise = want.fall = 1 << info.inputs;
	CHECK(!ioctl(pulse, LITEPULSE_IOC_SUBSCRIBE, &want));
	for (int i = 0; i < BREAKS; i++)
		CHECK(!ioctl(tty, TIOCSBRK) && !ioctl(tty, TIOCCBRK));
	for (int i = 0; i < 2 * BREAKS; i++) {
		struct pollfd wait = { .fd = pulse, .events = POLLIN };

		CHECK(poll(&wait, 1, 5000) == 1 && read(pulse, &event, sizeof(event)) == sizeof(event));
		CHECK(event.kind == LITEPULSE_KIND_EDGE);
		/* A break falls, then rises. */
		CHECK((event.data >> 16 & event.data) == (i % 2 ? event.data & 0xffff : 0));
	}
	CHECK(!poll(&(struct pollfd){ .fd = pulse, .events = POLLIN }, 1, 300));
	/* tcsendbreak() is one launch: a tenth of a second to the tick, and over when it returns. */
	CHECK(!ioctl(tty, TCSBRKP, 1) && !ioctl(pulse, LITEPULSE_IOC_TIME, &time));
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && !(event.data >> 16 & event.data));
	fell = event.tick;
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.tick - fell == info.tick_num / info.tick_den / 10);
	CHECK(time.tick >= event.tick);
	/* Two programs at once send two, one behind the other. */
	child = fork();
	CHECK(!ioctl(tty, TCSBRKP, 1));
	if (!child)
		_exit(0);
	CHECK(waitpid(child, &status, 0) == child && !status);
	for (int i = 0; i < 2; i++) {
		CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && !(event.data >> 16 & event.data));
		fell = event.tick;
		CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.tick - fell == info.tick_num / info.tick_den / 10);
	}
	CHECK(!close(tty) && !close(pulse));
	detach(fd);
}

static void xoff(void)
{
	unsigned char filler[BYTES];
	struct litepulse_event event;
	struct termios settings;
	struct board board;
	int fd = attach(&board), pulse = open_pulse(&board), tty = open_tty(&board), before = 0, after = 0;

	CHECK(!tcgetattr(tty, &settings) && !cfsetspeed(&settings, B9600) && !tcsetattr(tty, TCSANOW, &settings));
	subscribe(pulse, 1 << LITEPULSE_KIND_RX);
	memset(filler, 'x', sizeof(filler));
	CHECK(!fcntl(tty, F_SETFL, O_NONBLOCK) && write(tty, filler, sizeof(filler)) > 600);
	/* Well under way. */
	for (; before < 300; before++)
		CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.data == 'x');
	CHECK(!fcntl(pulse, F_SETFL, O_NONBLOCK));
	while (read(pulse, &event, sizeof(event)) == sizeof(event))
		before++;
	CHECK(!tcflow(tty, TCIOFF) && !fcntl(pulse, F_SETFL, 0));
	for (;; after++) {
		CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_RX);
		if (event.data == settings.c_cc[VSTOP])
			break;
		CHECK(event.data == 'x');
	}
	printf("after %d\n", after);
	CHECK(!tcflush(tty, TCOFLUSH) && !close(tty) && !close(pulse));
	detach(fd);
}

static void poison(void)
{
	struct litepulse_stats stats;
	struct litepulse_event event;
	struct board board;
	int fd = attach(&board), pulse = open_pulse(&board), tty = open_tty(&board), got = 0, lost = 0;

	subscribe(pulse, 1 << LITEPULSE_KIND_RX);
	for (int i = 0; i < POISONED; i += 8) {
		CHECK(write(tty, "abcdefgh", 8) == 8 && !tcdrain(tty));
		usleep(5000);
	}
	for (double end = now() + 20; got + lost < POISONED;) {
		struct pollfd wait = { .fd = pulse, .events = POLLIN };

		CHECK(now() < end);
		if (poll(&wait, 1, 1000) != 1)
			continue;
		CHECK(read(pulse, &event, sizeof(event)) == sizeof(event));
		if (event.kind == LITEPULSE_KIND_RX)
			got++;
		else if (event.kind == LITEPULSE_KIND_LOST && event.source == LITEPULSE_SRC_RECEIVER)
			lost += event.count;
	}
	CHECK(got + lost == POISONED && !ioctl(pulse, LITEPULSE_IOC_STATS, &stats));
	CHECK(stats.lost_bytes == (unsigned int)lost && !stats.restarts);
	printf("got %d lost %d\n", got, lost);
	CHECK(!close(tty) && !close(pulse));
	detach(fd);
}

static void loop(void)
{
	const int bit = TIOCM_LOOP;
	struct board board;
	int fd = attach(&board), tty = open_tty(&board);
	struct pollfd wait = { .fd = tty, .events = POLLIN };
	char in;

	CHECK(tty >= 0);
	for (int round = 0; round < 10; round++) {
		CHECK(!ioctl(tty, TIOCMBIS, &bit) && write(tty, "a", 1) == 1);
		CHECK(poll(&wait, 1, 5000) == 1 && read(tty, &in, 1) == 1 && in == 'a');
		CHECK(!ioctl(tty, TIOCMBIC, &bit) && write(tty, "b", 1) == 1 && !tcdrain(tty));
		CHECK(!poll(&wait, 1, 100));
	}
	CHECK(!close(tty));
	detach(fd);
}

/* Exit status of a child: 0 if a user of no rights cannot open the port because it is taken. */
static void refuse_others(void)
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (!child) {
		CHECK(!chmod(port, 0666) && !setuid(65534));
		CHECK(open(port, O_RDWR | O_NOCTTY | O_NONBLOCK) == -1 && errno == EBUSY);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
}

/* A child whose controlling terminal the port is pushes bytes into it until it is killed. */
static pid_t push_bytes(int *count)
{
	pid_t child = fork();
	int fd;

	CHECK(child >= 0);
	if (child)
		return child;
	CHECK(setsid() > 0);
	fd = open(port, O_RDWR | O_NONBLOCK);
	CHECK(fd >= 0);
	for (char byte = 0;; byte++) {
		CHECK(!ioctl(fd, TIOCSTI, &byte));
		++*count;
		/* Each keeps what the port has received back for a moment. */
		usleep(2000);
	}
}

/* A port that is the terminal of somebody's session cannot be attached, although he has closed it: he could hang it up. */
static void refuse_a_terminal(void)
{
	int first = open(port, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), number = LITEPULSE_LDISC, ready[2], status;
	pid_t child;
	char byte;

	CHECK(first >= 0 && !pipe(ready));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK(setsid() > 0);
		status = open(port, O_RDWR | O_NONBLOCK);
		CHECK(status >= 0 && !close(status) && write(ready[1], "", 1) == 1);
		pause();
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	CHECK(ioctl(first, TIOCSETD, &number) == -1 && errno == EBUSY);
	CHECK(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child);
	CHECK(!close(first) && !close(ready[0]) && !close(ready[1]));
}

static void forge(void)
{
	int *count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int early = open(port, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), fd, status;
	struct board board;
	pid_t child;

	/* Who had the port open before could take it away afterwards. */
	CHECK(count != MAP_FAILED && early >= 0);
	CHECK(attach_port(port) == -1 && errno == EBUSY);
	CHECK(!close(early));
	refuse_a_terminal();
	fd = attach(&board);
	refuse_others();
	child = push_bytes(count);
	use_all(&board);
	printf("forged %d\n", *count);
	print_counters(&board);
	/* The end of a session hangs its terminal up: the devices go. */
	CHECK(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	detach(fd);
	/* The port is as any other again. */
	early = open(port, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	fd = open(port, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	CHECK(early >= 0 && fd >= 0 && !close(early) && !close(fd));
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !close(fd));
}

static void suspend(void)
{
	struct litepulse_status status;
	struct board board;
	int fd = attach(&board), pulse = open_pulse(&board), claimed = claim(pulse, LITEPULSE_CLAIM_KEEP), tty = open_tty(&board);

	CHECK(claimed >= 0 && tty >= 0 && !ioctl(claimed, LITEPULSE_IOC_TRAIN_START, &pulses));
	CHECK(!ioctl(pulse, LITEPULSE_IOC_STATUS, &status) && status.flags & LITEPULSE_STATUS_TRAIN);
	/* All devices are suspended, and resumed five seconds later. */
	write_text("/sys/power/pm_test", "devices");
	write_text("/sys/power/state", "freeze");
	CHECK(!ioctl(pulse, LITEPULSE_IOC_STATUS, &status) && !(status.flags & LITEPULSE_STATUS_TRAIN));
	CHECK(!close(tty) && !close(claimed) && !close(pulse));
	use_all(&board);
	detach(fd);
}

static void raised(void)
{
	struct litepulse_status status;
	struct board board;
	int fd = attach(&board), pulse = open_pulse(&board), tty = open_tty(&board), claimed;
	struct pollfd wait = { .fd = tty, .events = POLLIN };
	struct litepulse_train_stop stop = { 0 };
	char text[64], in;

	CHECK(pulse >= 0 && tty >= 0 && !write_attribute(&board, "baud", "1000000"));
	/* The board stops what its holder starts after that, too, if it hears nothing for long. */
	claimed = claim(pulse, 0);
	CHECK(claimed >= 0);
	for (int round = 0; round < 3; round++) {
		write_text("/sys/power/pm_test", "devices");
		write_text("/sys/power/state", "freeze");
		CHECK(!ioctl(pulse, LITEPULSE_IOC_STATUS, &status));
		CHECK(write(tty, "a", 1) == 1 && poll(&wait, 1, 5000) == 1 && read(tty, &in, 1) == 1 && in == 'a');
		CHECK(!read_attribute(&board, "baud", text, sizeof(text)) && !strcmp(text, "1000000"));
	}
	CHECK(!read_attribute(&board, "failures", text, sizeof(text)) && !strcmp(text, "0"));
	CHECK(!ioctl(claimed, LITEPULSE_IOC_TRAIN_START, &pulses) && !ioctl(claimed, LITEPULSE_IOC_TRAIN_STOP, &stop));
	CHECK(!close(tty) && !close(claimed) && !close(pulse));
	detach(fd);
}

/* The train is not kept: the board stops it if it hears nothing for too long. */
static void standstill(const char *baud)
{
	struct litepulse_train_stop stop = { 0 };
	struct litepulse_status status;
	struct litepulse_stats stats;
	struct board board;
	int fd = attach(&board), pulse = open_pulse(&board), claimed = claim(pulse, 0);
	double before = now(), end = before + 60, gap = 0;

	CHECK(claimed >= 0 && (!baud || !write_attribute(&board, "baud", baud)));
	CHECK(!ioctl(claimed, LITEPULSE_IOC_TRAIN_START, &pulses));
	printf("train\n");
	fflush(stdout);
	for (; gap < 1 && before < end; before += gap) {
		usleep(10000);
		gap = now() - before;
	}
	CHECK(gap >= 2);
	sleep(4);	/* whatever happened to the board is noticed by then */
	CHECK(!ioctl(pulse, LITEPULSE_IOC_STATUS, &status) && !ioctl(pulse, LITEPULSE_IOC_STATS, &stats));
	printf("runs %d\nrestarts %d\n", !!(status.flags & LITEPULSE_STATUS_TRAIN), (int)stats.restarts);
	printf("stops %d\n", ioctl(claimed, LITEPULSE_IOC_TRAIN_STOP, &stop) ? errno : 0);
	CHECK(!close(claimed) && !close(pulse));
	detach(fd);
}

static int train_runs(const struct board *board)
{
	struct litepulse_train_stop stop = { 0 };
	int pulse = open_pulse(board), fd = claim(pulse, LITEPULSE_CLAIM_KEEP), runs;

	CHECK(fd >= 0);
	runs = ioctl(fd, LITEPULSE_IOC_TRAIN_START, &pulses) == -1;
	CHECK(!runs || errno == EBUSY);
	if (!runs)
		CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_STOP, &stop));
	CHECK(!close(fd) && !close(pulse));
	return runs;
}

/* What of the train is found after the port was given up, `kindly`: the driver could do what it does at the end. */
static void keep_once(int kept, int kindly)
{
	struct litepulse_train_stop stop = { 0 };
	struct litepulse_info before, after;
	struct board board;
	int fd = attach(&board), pulse = open_pulse(&board), claimed;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &before));
	claimed = claim(pulse, kept ? LITEPULSE_CLAIM_KEEP : 0);
	CHECK(claimed >= 0 && !ioctl(claimed, LITEPULSE_IOC_TRAIN_START, &pulses));
	/* A kept one goes on without its holder, the other is stopped though its holder still lives. */
	if (kept)
		CHECK(!close(claimed));
	if (kindly)
		CHECK(!unbind_board(&board));
	detach(fd);
	if (!kept)
		CHECK(!close(claimed));
	CHECK(!close(pulse));
	fd = attach(&board);
	CHECK(train_runs(&board) == kept);
	pulse = open_pulse(&board);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &after));
	/* What was stopped in time leaves nothing to be done, and the board keeps its name. */
	CHECK((before.session == after.session) == (kept || kindly));
	if (kept) {
		follow(pulse, 20);
		claimed = claim(pulse, 0);
		CHECK(claimed >= 0 && !ioctl(claimed, LITEPULSE_IOC_TRAIN_STOP, &stop) && stop.pulses);
		CHECK(!close(claimed));
	}
	CHECK(!close(pulse));
	detach(fd);
}

static void keep(void)
{
	keep_once(0, 0);
	keep_once(0, 1);
	keep_once(1, 0);
	keep_once(1, 1);
}

/* A child that uses the board until it goes; it ends with 0 if it goes as it should. */
static pid_t user(const struct board *board, int port_fd, int what)
{
	pid_t child = fork();
	struct litepulse_event event;
	unsigned char filler[500] = { 0 };
	ssize_t count;
	int fd, claimed;

	CHECK(child >= 0);
	if (child)
		return child;
	close(port_fd);
	fd = what < 2 ? open_tty(board) : open_pulse(board);
	if (fd < 0)
		_exit(0);	/* it has gone already */
	switch (what) {
	case 0:
		while (write(fd, filler, sizeof(filler)) > 0)
			;
		break;
	case 1:
		while (read(fd, filler, sizeof(filler)) > 0)
			;
		break;
	case 2:
		claimed = claim(fd, 0);
		if (claimed >= 0)
			ioctl(claimed, LITEPULSE_IOC_TRAIN_START, &pulses);
		/* fall through */
	default:
		if (ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &(struct litepulse_subscribe){ .kinds = 1 << LITEPULSE_KIND_TX | 1 << LITEPULSE_KIND_RX }))
			_exit(errno == ENODEV || errno == EIO ? 0 : 1);
		do {
			count = read(fd, &event, sizeof(event));
		} while (count == sizeof(event));
		_exit(count == -1 && errno == ENODEV ? 0 : 1);
	}
	_exit(0);
}

static void storm(int rounds)
{
	struct board board;

	for (int round = 0; round < rounds; round++) {
		int fd = attach_port(port), status;
		pid_t users[4];

		CHECK(fd >= 0);
		/* Sometimes it is gone again before anything could come of it, or just as it does. */
		if (round % 4 == 0) {
			usleep(round * 1000 % 40000);
			detach(fd);
			continue;
		}
		CHECK(!find_board(base(), 20, &board));
		for (int i = 0; i < 4; i++)
			users[i] = user(&board, fd, i);
		usleep(round * 7000 % 100000);
		detach(fd);
		for (int i = 0; i < 4; i++) {
			CHECK(waitpid(users[i], &status, 0) == users[i]);
			CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
		}
	}
}

/*
 * Works with a driver whose port can be told to take nothing that is to be answered with a time, and with somebody at the second line who,
 * when he gets a byte, sends one to the first.
 */
static void stall(void)
{
	static const char stalled[] = "/sys/module/litepulse_uartbone/parameters/stalled";
	int fd, helper = open("/dev/ttyS1", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), status, pulse;
	struct litepulse_time time;
	struct board board;
	pid_t child;
	double end;

	fd = attach(&board);
	CHECK(helper >= 0);
	write_text(stalled, "1");
	child = fork();
	if (!child) {
		double begun = now();

		pulse = open_pulse(&board);
		CHECK(ioctl(pulse, LITEPULSE_IOC_TIME, &time) == -1 && errno == EIO && now() - begun > 1);
		_exit(0);
	}
	/* Its stack has been freed then. The board counts as lost, and is not asked for half a second. */
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	CHECK(write(helper, "!", 1) == 1);
	usleep(300000);
	write_text(stalled, "0");
	pulse = open_pulse(&board);
	for (end = now() + 10; ioctl(pulse, LITEPULSE_IOC_TIME, &time);)
		CHECK(errno == EIO && now() < end && !usleep(10000));
	CHECK(!close(pulse) && !close(helper));
	detach(fd);
}

static void nobody(void)
{
	struct board board;
	int fd = attach_port(port);

	CHECK(fd >= 0);
	CHECK(find_board(base(), 6, &board));
	CHECK(!close(fd));
}

int main(int count, char **words)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(count >= 3);
	port = words[2];
	alarm(200);
	if (!strcmp(words[1], "use"))
		use();
	else if (!strcmp(words[1], "keep"))
		keep();
	else if (!strcmp(words[1], "storm"))
		storm(count > 3 ? atoi(words[3]) : 10);
	else if (!strcmp(words[1], "nobody"))
		nobody();
	else if (!strcmp(words[1], "counters"))
		counters();
	else if (!strcmp(words[1], "bursts"))
		bursts();
	else if (!strcmp(words[1], "baud"))
		baud();
	else if (!strcmp(words[1], "killed"))
		killed();
	else if (!strcmp(words[1], "suspend"))
		suspend();
	else if (!strcmp(words[1], "raised"))
		raised();
	else if (!strcmp(words[1], "standstill"))
		standstill(count > 3 ? words[3] : NULL);
	else if (!strcmp(words[1], "breaks"))
		breaks();
	else if (!strcmp(words[1], "xoff"))
		xoff();
	else if (!strcmp(words[1], "poison"))
		poison();
	else if (!strcmp(words[1], "stall"))
		stall();
	else if (!strcmp(words[1], "loop"))
		loop();
	else if (!strcmp(words[1], "forge"))
		forge();
	else
		CHECK(!"a known word");
	return 0;
}
