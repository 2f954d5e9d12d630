/* SPDX-License-Identifier: BSD-2-Clause */
/* A board on a cable, used and taken away: what the debug kernel is to watch. TX is wired to RX. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "board.h"
#include "cases.h"
#include "clocks.h"

#define BAUD 230400
#define BYTES 3000
#define LAUNCHES 150
#define EDGES 240	/* ten a byte */
#define BREAKS 40
#define POISONED 2400

static const char *port;	/* /dev/ttyS0 */

/* What most cases subscribe to. */
#define MONOTONIC(kinds) WANT(kinds, MONOTONIC, .fifo = 8192)

static int claim(int fd, unsigned int flags)
{
	return try_claim(fd, (struct litepulse_claim){ .flags = flags, .fd_flags = O_CLOEXEC,
						       .fifo = 8192 });
}

static int must_claim(int fd, unsigned int flags)
{
	int claimed = claim(fd, flags);

	CHECK(claimed >= 0);
	return claimed;
}

/* What is sent comes back, each byte once and in order, on the tty and as an event. */
static void bytes(void)
{
	unsigned char out[BYTES], in[BYTES];
	struct litepulse_event event, before = { 0 };
	int pulse = open_pulse(), tty = open_tty(BAUD), got = 0, sent = 0;

	subscribe(pulse, MONOTONIC(KIND(RX)));
	for (int i = 0; i < BYTES; i++)
		out[i] = i * 7 + i / 256;
	set_nonblocking(tty);
	/* Only against hanging: a damaged exchange takes a quarter of a second. */
	for (double end = seconds() + 300; got < BYTES;) {
		struct pollfd wait = { .fd = tty, .events = POLLIN | (sent < BYTES ? POLLOUT : 0) };
		ssize_t count;

		CHECK(seconds() < end && poll(&wait, 1, 20000) == 1);
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
		event = NEXT(pulse, RX);
		CHECK(event.data == out[i]);
		CHECK(event.flags & LITEPULSE_FLAG_NS && event.uncertainty);
		CHECK(!i || (event.seq == before.seq + 1 && event.tick > before.tick));
		before = event;
	}
	CHECK(!close(tty) && !close(pulse));
}

static void launches(void)
{
	static struct litepulse_launch list[LAUNCHES];
	int pulse = open_pulse(), fd = must_claim(pulse, 0);
	const struct litepulse_info info = info_of(pulse);
	uint64_t first;

	CHECK(claim(pulse, 0) == -1 && errno == EBUSY);
	/* a twentieth of a second of its time ahead, then one every 10000 ticks */
	first = now(pulse) + info.tick_num / info.tick_den / 20;
	for (int i = 0; i < LAUNCHES; i++)
		list[i] = LAUNCH(.tick = first + i * 10000ull, .width = 100 + i,
				 .kind = LITEPULSE_LAUNCH_PULSE, .tag = i);
	launch_and_take(fd, list, LAUNCHES);
	list[0].tick = 1;
	CHECK(try_launch(fd, list[0]) && (errno == ETIME || errno == EINVAL));
	CHECK(!close(fd) && !close(pulse));
}

#define EACH 100000 /* ticks */
#define THIRDS PULSES(.period = EACH, .num = 1, .den = 3, .width = 500)

/* Pulses of a running train come without a gap, each once, period by period. */
static void follow(int pulse, int count)
{
	struct litepulse_event event, before = { 0 };

	subscribe(pulse, MONOTONIC(KIND(TX)));
	for (int i = 0; i < count; i++) {
		event = NEXT(pulse, TX);
		CHECK(event.source == LITEPULSE_SRC_TRAIN);
		CHECK(!i || (event.data == before.data + 1 && event.seq == before.seq + 1));
		CHECK(!i || event.tick - before.tick - EACH <= 1);
		before = event;
	}
	subscribe(pulse, MONOTONIC(0));
}

static void train(void)
{
	struct litepulse_train_adjust adjust = { .period = EACH, .num = 1, .den = 3 };
	int pulse = open_pulse(), fd = must_claim(pulse, 0);

	start_train(fd, THIRDS);
	CHECK(try_train(fd, THIRDS) == -1 && errno == EBUSY);
	follow(pulse, 50);
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_ADJUST, &adjust));
	CHECK(stop_train(fd) >= 50);
	CHECK(!close(fd) && !close(pulse));
}

/* The board's clock goes forward, beside ours. */
static void clocks(void)
{
	struct litepulse_time first, second;
	int pulse = open_pulse();

	first = time_of(pulse);
	usleep(20000);
	second = time_of(pulse);
	CHECK(second.tick > first.tick && second.raw_before > first.raw_after);
	CHECK(second.raw_after > second.raw_before);
	CHECK(second.uncertainty == (second.raw_after - second.raw_before + 1) / 2);
	CHECK(!close(pulse));
}

static void use_all(void)
{
	bytes();
	launches();
	train();
	clocks();
}

static void use(void)
{
	int fd = attach(port);

	use_all();
	detach(fd, port);
	/* The port is as any port again: the board is found there once more. */
	fd = attach(port);
	bytes();
	detach(fd, port);
}

static void print_counters(void)
{
	static const char *const names[] = {
		"port", "baud", "checked", "packed", "poll_us", "idle_us", "transactions",
		"repeats", "failures", "round_trip_ns",
	};
	char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK(!read_attribute(names[i], text, sizeof(text)));
		printf("%s %s\n", names[i], text);
	}
}

static void counters(void)
{
	char text[64];

	use_all();
	print_counters();
	CHECK(write_attribute("poll_us", "nonsense") == -1 && errno == EINVAL);
	CHECK(write_attribute("poll_us", "1000001") == -1 && errno == EINVAL);
	CHECK(!write_attribute("poll_us", "500"));
	CHECK(!read_attribute("poll_us", text, sizeof(text)) && !strcmp(text, "500"));
}

/* Each edge of the line. */
static void subscribe_line(int pulse, unsigned int fifo)
{
	const unsigned int line = 1 << info_of(pulse).inputs;

	subscribe(pulse, WANT(KIND(EDGE), MONOTONIC, .rise = line, .fall = line, .fifo = fifo));
}

/*
 * Each edge of what is sent, once and in order; as many as fit the board's FIFO come between two
 * looks at it.
 */
static void bursts(void)
{
	struct litepulse_event event, before = { 0 };
	unsigned char alternating[EDGES / 10];
	int pulse = open_pulse(), tty = open_tty(BAUD);
	const struct litepulse_info info = info_of(pulse);

	CHECK(info.event_depth > EDGES);
	subscribe_line(pulse, 8192);
	/*
	 * Between two looks even a slow machine gets the board as far as it goes by itself: then
	 * many wait there.
	 */
	CHECK(!write_attribute("poll_us", "50000") && !write_attribute("idle_us", "50000"));
	memset(alternating, 'U', sizeof(alternating));
	for (int round = 0; round < 10; round++) {
		CHECK(write(tty, alternating, sizeof(alternating)) == sizeof(alternating));
		for (int i = 0; i < EDGES; i++) {
			event = NEXT(pulse, EDGE);
			CHECK((!before.tick || event.seq == before.seq + 1));
			CHECK(!i || event.tick - before.tick - info.tick_num / BAUD <= 1);
			before = event;
		}
	}
	CHECK(!close(tty) && !close(pulse));
	print_counters();
}

static void baud(void)
{
	int tty = open_tty(BAUD);

	for (int i = 0; i < 3; i++) {
		CHECK(!set_speed(tty, i % 2 ? B9600 : B19200));
		/* This kernel's serial lines cannot do it: what counts is which locks are taken. */
		write_attribute("baud", "1000000");
	}
	CHECK(!close(tty));
	bytes();
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
	char text[32];

	for (unsigned int i = 0; i < ARRAY_SIZE(counters); i++) {
		pid_t other = fork(), child;

		/* The port cannot do it: the bridge needs more than two seconds to find out. */
		if (!other)
			exit(write_attribute("baud", "1000000") ? 0 : 1);
		usleep(300000);
		child = fork();
		if (!child) {
			struct litepulse_time now;
			int pulse = open_pulse();

			if (counters[i])
				exit(read_attribute(counters[i], text, sizeof(text)));
			exit(ioctl(pulse, LITEPULSE_IOC_TIME, &now));
		}
		usleep(100000);
		CHECK(other > 0 && child > 0 && dies_before(child, other));
		CHECK(waitpid(other, NULL, 0) == other);
	}
	bytes();
}

/* The two edges of a break; returns the tick of its end. */
static uint64_t take_break(int pulse, uint64_t ticks)
{
	const struct litepulse_event fell = NEXT(pulse, EDGE), rose = NEXT(pulse, EDGE);

	CHECK(!(fell.data >> 16 & fell.data) && rose.tick - fell.tick == ticks);
	return rose.tick;
}

/* The calls come one right after the other: the end of a break must not overtake its begin. */
static void breaks(void)
{
	int pulse = open_pulse(), tty = open_tty(BAUD);
	const struct litepulse_info info = info_of(pulse);
	const uint64_t tenth = info.tick_num / info.tick_den / 10;
	struct litepulse_event event;
	uint64_t over;
	pid_t child;

	subscribe_line(pulse, 1024);
	for (int i = 0; i < BREAKS; i++)
		CHECK(!ioctl(tty, TIOCSBRK) && !ioctl(tty, TIOCCBRK));
	for (int i = 0; i < 2 * BREAKS; i++) {
		CHECK(readable(pulse, 5000) == 1);
		event = NEXT(pulse, EDGE);
		/* A break falls, then rises. */
		CHECK((event.data >> 16 & event.data) == (i % 2 ? event.data & 0xffff : 0));
	}
	CHECK(!readable(pulse, 300));
	/* tcsendbreak() is one launch: a tenth of a second to the tick, over when it returns. */
	CHECK(!ioctl(tty, TCSBRKP, 1));
	over = now(pulse);
	CHECK(over >= take_break(pulse, tenth));
	/* Two programs at once send two, one behind the other. */
	child = fork();
	CHECK(!ioctl(tty, TCSBRKP, 1));
	if (!child)
		_exit(0);
	wait_for(child);
	for (int i = 0; i < 2; i++)
		take_break(pulse, tenth);
	CHECK(!close(tty) && !close(pulse));
}

static void xoff(void)
{
	unsigned char filler[BYTES];
	struct litepulse_event event;
	struct termios settings;
	int pulse = open_pulse(), tty = open_tty(BAUD), before = 0, after = 0;

	CHECK(!set_speed(tty, B9600) && !tcgetattr(tty, &settings));
	subscribe(pulse, MONOTONIC(KIND(RX)));
	memset(filler, 'x', sizeof(filler));
	CHECK(!fcntl(tty, F_SETFL, O_NONBLOCK) && write(tty, filler, sizeof(filler)) > 600);
	/* Well under way. */
	for (; before < 300; before++)
		CHECK(take_event(pulse, &event) && event.data == 'x');
	set_nonblocking(pulse);
	while (take_event(pulse, &event))
		before++;
	CHECK(!tcflow(tty, TCIOFF) && !fcntl(pulse, F_SETFL, 0));
	for (;; after++) {
		event = NEXT(pulse, RX);
		if (event.data == settings.c_cc[VSTOP])
			break;
		CHECK(event.data == 'x');
	}
	printf("after %d\n", after);
	CHECK(!tcflush(tty, TCOFLUSH) && !close(tty) && !close(pulse));
}

static void poison(void)
{
	struct litepulse_stats stats;
	struct litepulse_event event;
	int pulse = open_pulse(), tty = open_tty(BAUD), got = 0, lost = 0;

	subscribe(pulse, MONOTONIC(KIND(RX)));
	for (int i = 0; i < POISONED; i += 8) {
		CHECK(write(tty, "abcdefgh", 8) == 8 && !tcdrain(tty));
		usleep(5000);
	}
	for (double end = seconds() + 20; got + lost < POISONED;) {
		CHECK(seconds() < end);
		if (readable(pulse, 1000) != 1)
			continue;
		CHECK(take_event(pulse, &event));
		if (event.kind == LITEPULSE_KIND_RX)
			got++;
		else if (event.kind == LITEPULSE_KIND_LOST &&
			 event.source == LITEPULSE_SRC_RECEIVER)
			lost += event.count;
	}
	stats = stats_of(pulse);
	CHECK(got + lost == POISONED);
	CHECK(stats.lost_bytes == (unsigned int)lost && !stats.restarts);
	printf("got %d lost %d\n", got, lost);
	CHECK(!close(tty) && !close(pulse));
}

static void loop(void)
{
	const int bit = TIOCM_LOOP;
	int tty = open_tty(BAUD);
	char in;

	for (int round = 0; round < 10; round++) {
		CHECK(!ioctl(tty, TIOCMBIS, &bit) && write(tty, "a", 1) == 1);
		CHECK(readable(tty, 5000) == 1 && read(tty, &in, 1) == 1 && in == 'a');
		CHECK(!ioctl(tty, TIOCMBIC, &bit) && write(tty, "b", 1) == 1 && !tcdrain(tty));
		CHECK(!readable(tty, 100));
	}
	CHECK(!close(tty));
}

/* The port, as any program opens it. */
static int open_idle(void)
{
	int fd = open(port, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

/* Exit status of a child: 0 if a user of no rights cannot open the port because it is taken. */
static void refuse_others(void)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		CHECK(!chmod(port, 0666) && !setuid(65534));
		CHECK(open(port, O_RDWR | O_NOCTTY | O_NONBLOCK) == -1 && errno == EBUSY);
		_exit(0);
	}
	wait_for(child);
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

/*
 * A port that is the terminal of a session cannot be attached, although the session has closed it:
 * he could hang it up.
 */
static void refuse_a_terminal(void)
{
	int first = open_idle(), number = LITEPULSE_LDISC, ready[2], status;
	pid_t child;
	char byte;

	CHECK(!pipe(ready));
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
	int *count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);
	int early = open_idle(), fd, status;
	pid_t child;

	/* A program that had the port open before could take it away afterwards. */
	CHECK(count != MAP_FAILED);
	CHECK(attach_port(port) == -1 && errno == EBUSY);
	CHECK(!close(early));
	refuse_a_terminal();
	fd = attach(port);
	refuse_others();
	child = push_bytes(count);
	use_all();
	printf("forged %d\n", *count);
	print_counters();
	/* The end of a session hangs its terminal up: the devices go. */
	CHECK(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	detach(fd, port);
	/* The port is as any other again. */
	early = open_idle();
	fd = open_idle();
	CHECK(!close(early) && !close(fd));
}

static void suspend(void)
{
	int pulse = open_pulse(), tty = open_tty(BAUD);
	int claimed = must_claim(pulse, LITEPULSE_CLAIM_KEEP);

	start_train(claimed, THIRDS);
	CHECK(train_runs(pulse));
	suspend_machine();
	CHECK(!train_runs(pulse));
	CHECK(!close(tty) && !close(claimed) && !close(pulse));
	use_all();
}

static void raised(void)
{
	int pulse = open_pulse(), tty = open_tty(BAUD), claimed;
	char text[64], in;

	CHECK(!write_attribute("baud", "1000000"));
	/* The board stops what its holder starts after that, too, if it hears nothing for long. */
	claimed = must_claim(pulse, 0);
	for (int round = 0; round < 3; round++) {
		suspend_machine();
		(void)status_of(pulse);
		CHECK(write(tty, "a", 1) == 1 && readable(tty, 5000) == 1);
		CHECK(read(tty, &in, 1) == 1 && in == 'a');
		CHECK(!read_attribute("baud", text, sizeof(text)) && !strcmp(text, "1000000"));
	}
	CHECK(!read_attribute("failures", text, sizeof(text)) && !strcmp(text, "0"));
	start_train(claimed, THIRDS);
	(void)stop_train(claimed);
	CHECK(!close(tty) && !close(claimed) && !close(pulse));
}

/* The train is not kept: the board stops it if it hears nothing for too long. */
static void standstill(char **words)
{
	int pulse = open_pulse(), claimed = must_claim(pulse, 0);
	double before = seconds(), end = before + 60, gap = 0;
	struct litepulse_train_stop stop = { 0 };

	CHECK(!words[0] || !write_attribute("baud", words[0]));
	start_train(claimed, THIRDS);
	printf("train\n");
	for (; gap < 1 && before < end; before += gap) {
		usleep(10000);
		gap = seconds() - before;
	}
	CHECK(gap >= 2);
	sleep(4); /* whatever happened to the board is noticed by then */
	printf("runs %d\nrestarts %d\n", train_runs(pulse), (int)stats_of(pulse).restarts);
	printf("stops %d\n", ioctl(claimed, LITEPULSE_IOC_TRAIN_STOP, &stop) ? errno : 0);
	CHECK(!close(claimed) && !close(pulse));
}

/* Was a train kept that still runs? */
static int kept_runs(void)
{
	int pulse = open_pulse(), fd = must_claim(pulse, LITEPULSE_CLAIM_KEEP);
	int runs = try_train(fd, THIRDS) == -1;

	CHECK(!runs || errno == EBUSY);
	if (!runs)
		(void)stop_train(fd);
	CHECK(!close(fd) && !close(pulse));
	return runs;
}

/*
 * Whether the train runs after the port was released; `kindly`: after the driver could do what it
 * does at the end.
 */
static void keep_once(int kept, int kindly)
{
	struct litepulse_info before, after;
	int fd = attach(port), pulse = open_pulse(), claimed;

	before = info_of(pulse);
	claimed = must_claim(pulse, kept ? LITEPULSE_CLAIM_KEEP : 0);
	start_train(claimed, THIRDS);
	/* A kept one goes on without its holder, the other is stopped though its holder lives. */
	if (kept)
		CHECK(!close(claimed));
	if (kindly)
		CHECK(!unbind_board());
	detach(fd, port);
	if (!kept)
		CHECK(!close(claimed));
	CHECK(!close(pulse));
	fd = attach(port);
	CHECK(kept_runs() == kept);
	pulse = open_pulse();
	after = info_of(pulse);
	/* If the train was stopped in time nothing is left to do, and the board keeps its name. */
	CHECK((before.session == after.session) == (kept || kindly));
	if (kept) {
		follow(pulse, 20);
		claimed = must_claim(pulse, 0);
		CHECK(stop_train(claimed) && !close(claimed));
	}
	CHECK(!close(pulse));
	detach(fd, port);
}

static void keep(void)
{
	keep_once(0, 0);
	keep_once(0, 1);
	keep_once(1, 0);
	keep_once(1, 1);
}

/* A child that uses the board until it goes; it ends with 0 if it goes as it should. */
static pid_t user(int port_fd, int what)
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
	fd = what < 2 ? try_open_tty(BAUD) : open_numbered("litepulse", board.pulse, O_RDWR);
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
			try_train(claimed, THIRDS);
		/* fall through */
	default:
		if (ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &WANT(KIND(TX) | KIND(RX), MONOTONIC)))
			_exit(errno == ENODEV || errno == EIO ? 0 : 1);
		do {
			count = read(fd, &event, sizeof(event));
		} while (count == sizeof(event));
		_exit(count == -1 && errno == ENODEV ? 0 : 1);
	}
	_exit(0);
}

static void storm(char **words)
{
	int rounds = words[0] ? atoi(words[0]) : 10;


	for (int round = 0; round < rounds; round++) {
		int fd = attach_port(port);
		pid_t users[4];

		CHECK(fd >= 0);
		/* Sometimes it is gone before anything could come of it, or just as it does. */
		if (round % 4 == 0) {
			usleep(round * 1000 % 40000);
			detach(fd, port);
			continue;
		}
		CHECK(!find_board(port, 20));
		for (int i = 0; i < 4; i++)
			users[i] = user(fd, i);
		usleep(round * 7000 % 100000);
		detach(fd, port);
		for (int i = 0; i < 4; i++)
			wait_for(users[i]);
	}
}

/*
 * Needs a driver with the parameter `stalled`: its port then takes no request whose answer has a
 * time. Needs a program at the second line that answers each byte with one to the first line.
 */
static void stall(void)
{
	static const char stalled[] = "/sys/module/litepulse_uartbone/parameters/stalled";
	int helper = open("/dev/ttyS1", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	int fd = attach(port), pulse;
	struct litepulse_time time;
	pid_t child;

	CHECK(helper >= 0);
	write_file(stalled, "1");
	child = fork();
	if (!child) {
		double begun = seconds();

		pulse = open_pulse();
		CHECK(ioctl(pulse, LITEPULSE_IOC_TIME, &time) == -1 && errno == EIO);
		CHECK(seconds() - begun > 1);
		_exit(0);
	}
	/* Its stack has been freed then. The board is lost, and not polled for half a second. */
	wait_for(child);
	CHECK(write(helper, "!", 1) == 1);
	usleep(300000);
	write_file(stalled, "0");
	pulse = open_pulse();
	for (double end = seconds() + 10; ioctl(pulse, LITEPULSE_IOC_TIME, &time); usleep(10000))
		CHECK(errno == EIO && seconds() < end);
	CHECK(!close(pulse) && !close(helper));
	detach(fd, port);
}

static void nobody(void)
{
	int fd = attach_port(port);

	CHECK(fd >= 0 && find_board(port, 6));
	CHECK(!close(fd));
}

/* main() attaches the port of these, and gives it up when they have ended. */
static const struct guest_case attached[] = {
	{ "counters", counters, "use it, and print what the link counted" },
	{ "bursts", bursts, "many edges come at once, again and again; then the counters" },
	{ "baud", baud, "the bit rate of the port is changed while the board's tty is in use" },
	{ "killed", killed, "programs that wait while the bit rate is changed can be killed" },
	{ "suspend", suspend, "suspended, a kept train stops; the board works afterwards" },
	{ "raised", raised, "suspended for longer than the board keeps a raised bit rate" },
	{ "standstill", .with = standstill, .more = 1,
	  .what = "[BAUD]: somebody stops the machine: what is left of the train" },
	{ "breaks", breaks, "each break begins and ends on the line, however short it is" },
	{ "xoff", xoff, "few bytes leave between tcflow() and the XOFF that it sends" },
	{ "poison", poison, "answers have a wrong tick: each byte is read or reported as lost" },
	{ "loop", loop, "what is sent comes back only while TIOCM_LOOP is set (TX is not wired)" },
	{ }
};

static const struct guest_case others[] = {
	{ "use", use, "attach; tty, events, launches, train, clock; detach" },
	{ "keep", keep, "a kept train goes on while nothing is attached, any other is stopped" },
	{ "storm", .with = storm, .more = 1,
	  .what = "[N]: attached and detached N times, under readers, writers and a train" },
	{ "nobody", nobody, "what is there is no UARTBone: no device comes" },
	{ "forge", forge, "others cannot open the port, hang it up or forge an answer" },
	{ "stall", stall, "the port takes nothing, and a byte comes when its program has gone" },
	{ }
};

/* cable CASE PORT ... */
int main(int count, char **words)
{
	int fd, status;

	if (count < 3) {
		list_cases(attached);
		return run_case(others, 0, words);
	}
	port = words[2];
	words[2] = words[1];
	alarm(200);
	if (!find_case(attached, words[1]))
		return run_case(others, count - 1, words + 1);
	fd = attach(port);
	status = run_case(attached, count - 1, words + 1);
	detach(fd, port);
	return status;
}
