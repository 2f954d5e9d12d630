/* SPDX-License-Identifier: BSD-2-Clause */
/* The board goes, comes back, is reset, or cannot be reached; the machine sleeps. */
#include "use.h"

static void case_all(void)
{
	use_all(open_pulse());
}

/* A child that waits for good in read(); it ends with 0 when the device goes as it should. */
static pid_t waiting_reader(int of_tty)
{
	pid_t child = fork();
	struct litepulse_event event;
	struct pollfd wait = { .events = POLLIN };
	ssize_t count;

	if (child)
		return child;
	if (of_tty)
		_exit(read(open_tty(B115200), &event, 1) <= 0 ? 0 : 1);
	wait.fd = open_pulse();
	subscribe(wait.fd, REALTIME(KIND(EDGE)));
	do {
		count = read(wait.fd, &event, sizeof(event));
	} while (count == sizeof(event));
	if (!fails(count, ENODEV))
		_exit(1);
	CHECK(poll(&wait, 1, 0) == 1 && wait.revents & POLLHUP && wait.revents & POLLERR);
	_exit(0);
}

static void case_unbind(void)
{
	for (int round = 0; round < 5; round++) {
		int pulse = open_pulse(), fd = claim(pulse), tty;
		unsigned char filler[BYTES] = { 0 };
		pid_t children[3];

		start_train(fd, endless);
		for (int i = 0; i < 3; i++)
			children[i] = waiting_reader(i == 2);
		tty = open_tty(B115200);
		usleep(300000);
		/* some of it is still on its way then */
		CHECK(write(tty, filler, sizeof(filler)) > 0);
		unbind();
		for (int i = 0; i < 3; i++)
			wait_for(children[i]);
		CHECK(is_gone(pulse) && fails(try_train(fd, endless), ENODEV));
		/* files outlive the device, in every order */
		if (round & 1)
			bind_again();
		close(pulse);
		close(tty);
		close(fd);
		if (!(round & 1))
			bind_again();
	}
}

/* Before, it went only when who waited was killed: unbind, or closing a cable's port, hung. */
static void case_modem(void)
{
	static const int masks[] = { 0, TIOCM_CTS, TIOCM_RNG | TIOCM_DSR | TIOCM_CD | TIOCM_CTS };
	pid_t waiting[3];

	for (int i = 0; i < 3; i++) {
		waiting[i] = fork();
		CHECK(waiting[i] >= 0);
		if (!waiting[i]) {
			CHECK(fails(ioctl(open_tty(B115200), TIOCMIWAIT, masks[i]), ENOTTY));
			_exit(0);
		}
	}
	sleep(1);
	rebind();
	for (int i = 0; i < 3; i++)
		wait_for(waiting[i]);
	use_all(open_pulse());
}

void reset(int pulse)
{
	struct litepulse_event event;
	long long before, after;
	int fd = claim(pulse);

	subscribe(pulse, REALTIME(KIND(RX)));
	before = ns_of(CLOCK_REALTIME);
	write_parameter("reset", strchr(board.name, '.') ? "1" : "0");
	after = ns_of(CLOCK_REALTIME);
	event = NEXT(pulse, RESTARTED);
	/* It is the reset, whenever that was noticed: ticks began then. */
	CHECK(event.tick == 0 && event.count == 1);
	CHECK(event.flags == LITEPULSE_FLAG_NS && event.uncertainty);
	CHECK((long long)event.ns + event.uncertainty >= before);
	CHECK((long long)event.ns <= after + event.uncertainty);
	/* Launches that the board got after the reset, before it was noticed, do not start. */
	CHECK(known("launches") == 0);
	CHECK(is_stale(fd));
	close(fd);
	(void)time_of(pulse);
	bytes(pulse);
}

static void case_reset(void)
{
	reset(open_pulse());
}

static struct litepulse_event launched(int claimed, int pulse, int fd)
{
	launch_many(claimed, pulse, 1, 1);
	return NEXT(fd, TX);
}

static void watchdog(void)
{
	const int by_watchdog = LITEPULSE_FLAG_NS | LITEPULSE_RESTARTED_WATCHDOG;
	int pulse = open_pulse(), fd = claim(pulse), phc = open_pulse();
	struct litepulse_event event, first, told;
	struct litepulse_train_stop stop = { 0 };
	struct litepulse_time before;
	struct litepulse_stats stats;

	subscribe(phc, WANT(KIND(EDGE) | KIND(TX), PHC, .rise = 1));
	subscribe(pulse, WANT(KIND(EDGE) | KIND(TX), MONOTONIC, .rise = 1));
	/* More than 16 bits can number. */
	write_parameter("lose", "1");
	event = NEXT(phc, LOST);
	first = launched(fd, pulse, phc);
	CHECK(take_event(pulse, &event) && take_event(pulse, &event));
	start_train(fd, endless);
	/* The clocks part meanwhile, and the PTP clock is not looked at when it is over. */
	sleep(10);
	write_parameter("unreachable", "1");
	before = time_of(pulse);
	write_parameter("silence", "1");
	event = NEXT(pulse, RESTARTED);
	CHECK(event.flags == by_watchdog && event.count == 1);
	made_since(pulse, before, event);
	/* No event is dropped while the board takes no settings. */
	write_parameter("edge", "1");
	event = NEXT(pulse, EDGE);
	write_parameter("unreachable", "0");
	CHECK(is_stale(fd) && fails(ioctl(fd, LITEPULSE_IOC_TRAIN_STOP, &stop), ESTALE));
	CHECK(!train_runs(pulse));
	close(fd);
	sleep(2);
	/* Ticks, numbers and the PTP clock go on as if nothing had been. */
	told = NEXT(phc, RESTARTED);
	event = NEXT(phc, EDGE);
	CHECK(told.ns - told.tick == first.ns - first.tick);
	CHECK(event.ns - event.tick == first.ns - first.tick);
	CHECK(event.seq >= first.seq && event.seq < first.seq + 20);
	fd = claim(pulse);
	event = launched(fd, pulse, phc);
	CHECK(event.ns - event.tick == first.ns - first.tick);
	CHECK(event.seq > first.seq && event.seq < first.seq + 50);
	stats = stats_of(pulse);
	CHECK(stats.restarts == 1 && stats.lost_events == 0xffff0000ull + 5);
	close(fd);
	/* A reset still counts as a reset, and so does another silence afterwards. */
	sleep(1);
	write_parameter("reset", "0");
	told = NEXT(phc, RESTARTED);
	CHECK(told.flags == LITEPULSE_FLAG_NS && told.tick == 0 && told.count == 2);
	CHECK(told.ns > event.ns);
	sleep(1);
	write_parameter("silence", "1");
	event = NEXT(phc, RESTARTED);
	CHECK(event.flags == by_watchdog && event.count == 3);
	CHECK(event.ns - event.tick == told.ns - told.tick);
	close(phc);
	sleep(1);
	use_all(open_pulse());
}

static void renamed(void)
{
	int pulse = open_pulse(), fd = claim(pulse);

	subscribe(pulse, REALTIME(KIND(TX)));
	usleep(500000);
	write_parameter("reset_before_name", "1");
	keep_output(fd);
	CHECK(!NEXT(pulse, RESTARTED).tick);
	CHECK(fails(try_train(fd, endless), ESTALE) && known("launches") == 0);
	close(fd);
	use_all(open_pulse());
}

static void late(void)
{
	struct litepulse_event event;
	int pulse = open_pulse();

	subscribe(pulse, REALTIME(KIND(TX)));
	for (int round = 1; round <= 2; round++) {
		int fd = claim(pulse);

		start_train(fd, endless);
		write_parameter("stand_still", round == 1 ? "1" : "2");
		keep_output(fd);
		do {
			CHECK(readable(pulse, 3000) == 1 && take_event(pulse, &event));
		} while (event.kind != LITEPULSE_KIND_RESTARTED);
		CHECK(event.flags & LITEPULSE_RESTARTED_WATCHDOG);
		CHECK(!train_runs(pulse));
		CHECK(fails(try_train(fd, endless), ESTALE));
		close(fd);
	}
	use_all(open_pulse());
}

/* A train runs, on a line that rests at 0, when the machine goes down. */
static void leave(void)
{
	struct litepulse_rest low = { .level = LITEPULSE_REST_LOW };
	struct litepulse_train up = endless;
	int pulse = open_pulse(), ready[2];
	char byte;

	up.profile = 1;
	CHECK(!pipe(ready));
	if (!fork()) {
		int fd = claim_device(pulse, running->of, 0);

		CHECK(!set_profile(fd, up.profile, 9600, LITEPULSE_PROFILE_INVERT));
		CHECK(!ioctl(fd, LITEPULSE_IOC_REST, &low));
		start_train(fd, up);
		CHECK(write(ready[1], "", 1) == 1);
		pause();
	}
	close(ready[1]);
	CHECK(read(ready[0], &byte, 1) == 1);
}

static void resume(void)
{
	int pulse = open_pulse(), tty = open_tty(B115200);
	unsigned char filler[BYTES], byte;

	memset(filler, 'x', sizeof(filler));
	CHECK(write(tty, filler, sizeof(filler)) == sizeof(filler));
	/* Some have been sent, some are in the core, some wait. */
	CHECK(read(tty, &byte, 1) == 1);
	write_parameter("fails_on_resume", "1");
	suspend_machine();
	CHECK(fails(write(tty, "y", 1), EIO));
	close(tty);
	write_parameter("unreachable", "0");
	sleep(3);
	tty = open_tty(B115200);
	set_nonblocking(tty);
	usleep(500000);
	CHECK(fails(read(tty, &byte, 1), EAGAIN));
	CHECK(write(tty, "z", 1) == 1);
	usleep(500000);
	CHECK(read(tty, &byte, 1) == 1 && byte == 'z' && fails(read(tty, &byte, 1), EAGAIN));
	CHECK(!tcdrain(tty));
	close(tty);
	bytes(pulse);
}

static void retry(void)
{
	struct litepulse_event event;
	int pulse = open_pulse(), fd = claim(pulse);

	CHECK(!driver_enable(fd, 5, 6, LITEPULSE_DRIVER_ENABLE_ECHO, 301));
	subscribe(pulse, REALTIME(KIND(APPLIED)));
	for (unsigned int round = 1; round <= 2; round++) {
		write_parameter("unreachable", "1");
		write_parameter("reset", "0");
		event = NEXT(pulse, RESTARTED);
		sleep(3);
		write_parameter("unreachable", "0");
		sleep(3);
		CHECK(stats_of(pulse).restarts == round);
		CHECK(known("launches") == 0 && de_is(5, 6, 301));
		CHECK(driver_enable(fd, 5, 6, 0, 0) == -ESTALE);
	}
	close(fd);
	train(pulse);
	subscribe(pulse, REALTIME(0));
	while (readable(pulse, 0) == 1)
		CHECK(take_event(pulse, &event));
	subscribe(pulse, WANT(KIND(EDGE), MONOTONIC, .rise = 1));
	write_parameter("edge", "1");
	CHECK(readable(pulse, 1000) == 1);
	event = NEXT(pulse, EDGE);
	bytes(pulse);
}

static void again(void)
{
	struct litepulse_launch launch = { .tag = 7, .data = 0x55 };
	int pulse = open_pulse(), fd = claim(pulse);
	struct litepulse_event event;

	CHECK(!driver_enable(fd, 5, 6, LITEPULSE_DRIVER_ENABLE_ECHO, 300));
	subscribe(pulse, REALTIME(KIND(APPLIED)));
	write_parameter("fail_echo", "1");
	write_parameter("reset", "0");
	event = NEXT(pulse, RESTARTED);
	close(fd);
	fd = claim(pulse);
	launch.tick = now(pulse) + 6000000000ull;
	CHECK(!try_launch(fd, launch) && known("launches") == 1);
	sleep(2);
	write_parameter("fail_echo", "0");
	sleep(2);
	CHECK(known("launches") == 1 && known("echo") == 300);
	CHECK(readable(fd, 5000) == 1);
	event = NEXT(fd, TX);
	CHECK(event.tick == launch.tick && event.data >> 16 == launch.tag);
	close(fd);
	bytes(pulse);
}

static void behind(void)
{
	int pulse = open_pulse(), tty = open_tty(B115200), ptp = open_clock(pulse);
	long long before, passed;
	struct timespec time;
	char byte;

	/* This much greater than those since the reset. */
	sleep(30);
	write_parameter("reset_behind_time", "1");
	CHECK(!tcflush(tty, TCIFLUSH));
	sleep(2);
	CHECK(write(tty, "x", 1) == 1 && readable(tty, 5000) == 1);
	CHECK(read(tty, &byte, 1) == 1 && byte == 'x');
	sleep(30);
	before = ns_of(CLOCK_OF(ptp));
	write_parameter("reset_behind_time", "1");
	CHECK(fails(clock_gettime(CLOCK_OF(ptp), &time), ESTALE));
	passed = ns_of(CLOCK_OF(ptp)) - before;
	CHECK(passed > 3000000000ll && passed < 6000000000ll);
	close(ptp);
	close(tty);
	bytes(pulse);
}

static void nap(void)
{
	int pulse = open_pulse();
	char path[60];

	/* Each virtual clock has a thread of the kernel that reads ours every two seconds. */
	snprintf(path, sizeof(path), "/sys/class/ptp/ptp%d/n_vclocks", info_of(pulse).phc);
	write_file(path, "1");
	write_parameter("nap_ms", "20000");
	suspend_machine();
	CHECK(known("asleep") == 0);
	write_file(path, "0");
	use_all(pulse);
}

static void settings(void)
{
	const unsigned int on = SER_RS485_ENABLED | SER_RS485_RTS_ON_SEND;
	int pulse = open_pulse(), fd = claim(pulse), tty = open_tty(B115200);
	char byte;

	CHECK(!driver_enable(fd, 7, 8, 0, 0) && !ioctl(tty, TIOCSBRK) && known("break") == 1);
	write_parameter("unreachable", "1");
	CHECK(fails(ioctl(tty, TIOCCBRK), EIO));
	/* A byte behind what did not arrive waits, too: it would be lost in the break. */
	CHECK(write(tty, "a", 1) == 1 && !readable(tty, 300));
	CHECK(!rs485(tty, on));
	sleep(2);
	CHECK(known("break") == 1 && known("lead") == 7);
	write_parameter("unreachable", "0");
	sleep(2);
	CHECK(known("break") == 0 && known("lead") == 0 && known("lag") == 0);
	CHECK(readable(tty, 2000) == 1 && read(tty, &byte, 1) == 1 && byte == 'a');
	/* A break that could not begin does not begin later, nor does one that ends by itself. */
	write_parameter("unreachable", "1");
	CHECK(fails(ioctl(tty, TIOCSBRK), EIO));
	CHECK(fails(ioctl(tty, TCSBRKP, 1), EIO));
	write_parameter("unreachable", "0");
	sleep(2);
	CHECK(known("break") == 0 && known("lows") == 1);
	/* If the tail does not arrive, lead and lag become what they were, too. */
	CHECK(!driver_enable(fd, 7, 8, LITEPULSE_DRIVER_ENABLE_ECHO, 300));
	write_parameter("fail_echo", "1");
	CHECK(driver_enable(fd, 1, 2, LITEPULSE_DRIVER_ENABLE_ECHO, 400) == -EIO);
	write_parameter("fail_echo", "0");
	sleep(2);
	CHECK(de_is(7, 8, 300));
	/* The latest setting acts, also after a suspend, whichever file made it. */
	CHECK(!rs485(tty, on) && !tcdrain(tty) && !driver_enable(fd, 7, 8, 0, 0));
	suspend_machine();
	sleep(2);
	CHECK(known("lead") == 7 && known("lag") == 8);
	close(tty);
	close(fd);
	bytes(pulse);
}

/* Whether a process dies though what it waits for does not come. */
static int dies(pid_t child)
{
	int status, left = 250;

	kill(child, SIGKILL);
	while (!waitpid(child, &status, WNOHANG) && left--)
		usleep(20000);
	return left > 0;
}

static const char *tty_file(const char *name)
{
	static char path[80];

	snprintf(path, sizeof(path), "/sys/class/tty/ttyPULSE%d/%s", board.tty, name);
	return path;
}

static void killed(void)
{
	pid_t first;
	int died = 0;

	write_parameter("stuck", "1");
	for (int i = 0; i <= 3; i++) {
		pid_t child = fork();

		if (!child) {
			if (i < 2)
				subscribe(open_pulse(), REALTIME(KIND(EDGE)));
			else if (i == 2)
				write_file(tty_file("rx_trig_bytes"), "5");
			else
				write_file(tty_file("interrupts_max"), "2000");
			exit(0);
		}
		CHECK(child > 0);
		usleep(300000);
		if (i)
			died += dies(child);
		else
			first = child;
	}
	/* The first one has what the others waited for. */
	died += !waitpid(first, NULL, WNOHANG);
	write_parameter("stuck", "0");
	CHECK(died == 4);
	CHECK(waitpid(first, NULL, 0) == first);
	bytes(open_pulse());
}

/* Nothing comes for two seconds: longer than a reset takes to be noticed. */
static int silent(int fd)
{
	return !readable(fd, 2000);
}

static void both(void)
{
	struct litepulse_launch launch = { .tag = 7, .data = 0x55 };
	int pulse[2], claimed[2], clocks[2], tty;
	struct litepulse_event event;
	long long before, was, passed;
	char byte;
	pid_t child;

	for (int i = 0; i < 2; i++) {
		choose_board(i);
		CHECK(device_number() == i);
		pulse[i] = open_pulse();
	}
	/* At once. */
	child = fork();
	choose_board(!child);
	use_all(pulse[!child]);
	if (!child)
		exit(0);
	wait_for(child);

	/* Each has its claim, its events, its bytes, its clock. */
	for (int i = 0; i < 2; i++) {
		claimed[i] = claim(pulse[i]);
		CHECK(is_claimed(pulse[i]));
		subscribe(pulse[i], REALTIME(KIND(RX)));
		clocks[i] = open_clock(pulse[i]);
	}
	launch.tick = now(pulse[1]) + 50000000;
	CHECK(!try_launch(claimed[1], launch) && take_event(claimed[1], &event));
	CHECK(event.tick == launch.tick && event.data >> 16 == launch.tag);
	choose_board(1);
	tty = open_tty(B115200);
	CHECK(write(tty, "x", 1) == 1 && read(tty, &byte, 1) == 1 && byte == 'x');
	close(tty);
	CHECK(NEXT(pulse[1], RX).data == 'x');
	before = ns_of(CLOCK_OF(clocks[0]));
	CHECK(!clock_settime(CLOCK_OF(clocks[1]), &(struct timespec){ .tv_sec = 5 }));
	was = ns_of(CLOCK_OF(clocks[1]));
	CHECK(was >= 5000000000ll && was < 6000000000ll);
	passed = ns_of(CLOCK_OF(clocks[0])) - before;
	CHECK(passed >= 0 && passed < 1000000000ll);
	CHECK(silent(claimed[0]) && silent(pulse[0]));
	/* One is a LIN slave. */
	CHECK(!entry(claimed[0], ENTRY()) && entry(claimed[1], ENTRY()) == -EOPNOTSUPP);
	CHECK(entry(claimed[1], ENTRY(.id = 0)) == -EOPNOTSUPP);
	CHECK(!respond(claimed[0], SLAVE()) && respond(claimed[1], SLAVE()) == -EOPNOTSUPP);
	CHECK(!respond(claimed[0], NO_RESPONDER));

	/* One is reset, goes and comes back; the other's train runs all the while. */
	start_train(claimed[0], endless);
	close(claimed[1]);
	reset(pulse[1]);
	claimed[1] = claim(pulse[1]);
	unbind();
	CHECK(is_gone(pulse[1]) && fails(try_train(claimed[1], endless), ENODEV));
	bind_again();
	CHECK(device_number() == 2); /* as long as a file of the old one is open */
	unbind();
	close(pulse[1]);
	close(claimed[1]);
	close(clocks[1]);
	bind_again();
	CHECK(device_number() == 1);
	pulse[1] = open_pulse();
	use_all(pulse[1]);
	CHECK(silent(pulse[0]));
	stop_train(claimed[0]);
	close(claimed[0]);
	choose_board(0);
	use_all(pulse[0]);
}

const struct guest_case session_cases[] = {
	{ "all", case_all, "tty, events, launches, train, PTP clock" },
	{ "both", both, "two boards: neither notices what becomes of the other" },
	{ "unbind", case_unbind, "the board goes under open files and a train; then comes back" },
	{ "modem", case_modem, "waiting for modem lines, of which there are none, keeps no board" },
	{ "reset", case_reset, "the board is reset under open files" },
	{ "watchdog", watchdog, "what ran has stopped, all else goes on (keeps=1 fast_ppm=500)" },
	{ "renamed", renamed, "reset just before it gets the name that it had (keeps=1)" },
	{ "late", late, "the machine stands still while it gets the name that it had (keeps=1)" },
	{ "leave-0", leave, "a train runs, on a line at 0, when the machine goes down" },
	{ "leave-1", leave, "so with one that was to be kept", .of = LITEPULSE_CLAIM_KEEP },
	{ "resume", resume, "not reached when the machine resumes; nothing of before comes later" },
	{ "retry", retry, "reset, and takes no settings for a while: later it has them" },
	{ "again", again, "what starts after a reset goes on, though settings come later" },
	{ "behind", behind, "a tick that was read just before a reset, and is used after it" },
	{ "settings", settings, "settings that did not arrive do when it can be reached again" },
	{ "nap", nap, "no request is made while the machine is suspended" },
	{ "killed", killed, "a program that waits for a slow board can be killed (sleeps=1)" },
	{ }
};
