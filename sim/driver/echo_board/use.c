/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uses all devices of the echo board, as programs do, and takes the board away meanwhile: what the debug kernel is to watch.
 *
 *   use all      tty, events, launches, train, PTP clock
 *   use unbind   the board goes while files are open, reads wait and a train runs; then comes back
 *   use reset    the board is reset under open files
 *   use modem    nobody can wait for modem lines, which there are none of, and so keep the board from going
 *   use abi      who may do what, sizes of arguments, many files
 *   use clock    the host's clock is set again and again while it is read beside the board's
 *   use de       lead and lag of the de pin and the echo's tail; another lead while a train runs
 *   use lost     the board loses so much that it stops counting
 *   use answer   litepulse_echo answers edges: each with a launch, or, on a transport that sleeps and if it does not defer, with none
 *   use wild     the board tells wrong ticks for a while; afterwards it is heard again
 *   use doubt    what is dropped as a header's tick went back is reported: how much, and when that was noticed
 *   use watchdog the board's watchdog fires: what ran has stopped, all else goes on (keeps=1 fast_ppm=500)
 *   use renamed  the board is reset just before it gets the name that it had: nobody takes it for the same (keeps=1)
 *   use late     the machine stands still while the board gets the name that it had: what ran has stopped, and nobody takes it for
 *                the same (keeps=1)
 *   use newcomer who wants more gets nothing that happened before, and loses nothing of what it wanted already
 *   use flood    as many edges as the board holds, for as many files as may subscribe: each gets all, in order
 *   use runs     rows of bytes in a packed ring: cut where a gap, a loss, another reader or the ring's end demands it
 *   use memory   what files take of the machine's memory has an end, and comes back when they are closed
 *   use leave-N  a train runs, on a line that rests at 0, when the machine goes down; N: 1 if it was to be kept
 *   use overtake a line word that arrives late is not overtaken by a newer one (sleeps=1)
 *   use page     a call waits for memory of its program that does not come: nobody else waits, and the board can go
 *   use resume   the board cannot be reached when the machine resumes; the tty can be opened again later, and nothing of before comes
 *   use retry    the board is reset and takes no settings for a while: later it has them, and events come
 *   use settings settings that the board did not take arrive when it can be reached again
 *   use breaks   each tcsendbreak() is a break, whoever else sends; a long one ends with its program's call, and with the board
 *   use divisor  setserial's custom divisor is the rate, also for an ordinary user; an impossible one is refused
 *   use latency  setserial's low_latency acts at once, also for an ordinary user
 *   use flush    tcflush() also drops what the board has received and nobody has fetched
 *   use refused  a line discipline that would wait for a modem line, and a polarity of RS-485, cannot be had
 *   use keep     what a claim kept goes on, though the output of the claim before could not be stopped at first
 *   use profiles line profiles that kept output uses stay as they are, also when the driver is bound anew (keeps=1)
 *   use filters  nor does the filter of the input that triggers a responder, whether its claim lasts or kept it (keeps=1)
 *   use loop     nor is the loopback of what goes on switched off when the driver is bound anew, or the tty opened (keeps=1)
 *   use perout   the PTP clock's output begins anew if what became of a change of its train is not known
 *   use rest     the line rests at 0 only while a claim lasts, or what it kept (keeps=1)
 *   use nap      nobody asks for anything while the machine is suspended, however long that is
 *   use killed   a program that waits for its turn at a board that takes long can be killed (sleeps=1)
 *   use xon      an XON that comes while an XOFF is on its way is sent
 *   use both     two boards: each is used while the other is, and does not notice what becomes of it
 *
 * Exit status 0, or 1 and a line that says what was not as it should be.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <linux/litepulse.h>
#include <linux/ptp_clock.h>
#include <linux/serial.h>
#include <linux/userfaultfd.h>

#ifndef N_PPS
#define N_PPS 18	/* not in the C library's headers, and the kernel's do not go together with these */
#endif
#define BYTES 1500
#define FILES 10000
#define INFO_1 56		/* size of struct litepulse_info in version 1 */
#define STATUS_1 8		/* size of struct litepulse_status in version 1 */
#define LIN_ENTRIES 16		/* of the first board; the second is no LIN slave */
#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			printf("use.c:%d: not so: %s (errno %d)\n", __LINE__, #condition, errno); \
			exit(1); \
		} \
	} while (0)

static const char driver[] = "/sys/bus/platform/drivers/litepulse/";
static const char *const boards[] = { "litepulse", "litepulse.1" };
static const char *board = "litepulse";		/* which of them is used */
static const struct litepulse_train start = { .period = 1000000, .den = 1, .kind = LITEPULSE_LAUNCH_PULSE, .width = 500,
					      .flags = LITEPULSE_TRAIN_ASAP };

/* The number of the board's devices now: while an old file is open its number is not given again. */
static int number(void)
{
	struct dirent *entry;
	int found = -1;
	char path[80];
	DIR *folder;

	snprintf(path, sizeof(path), "/sys/devices/platform/%s/misc", board);
	folder = opendir(path);
	CHECK(folder);
	while ((entry = readdir(folder)))
		sscanf(entry->d_name, "litepulse%d", &found);
	closedir(folder);
	CHECK(found >= 0);
	return found;
}

static int open_device(const char *base, int at)
{
	char name[40];
	int fd;

	snprintf(name, sizeof(name), "%s%d", base, at);
	fd = open(name, O_RDWR | O_CLOEXEC | O_NOCTTY);
	CHECK(fd >= 0);
	return fd;
}

static int open_pulse(void)
{
	return open_device("/dev/litepulse", number());
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s%s", folder, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* A number that the boards know: see echo_board.c. */
static int known(const char *name)
{
	int fd = open("/sys/module/echo_board/parameters/known", O_RDONLY | O_CLOEXEC);
	char text[300] = "", *place;

	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	place = strstr(text, name);
	CHECK(place);
	return atoi(place + strlen(name));
}

static void subscribe(int fd, unsigned int kinds)
{
	struct litepulse_subscribe want = { .kinds = kinds, .fifo = 4096, .clock = LITEPULSE_CLOCK_REALTIME };

	CHECK(!ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &want));
}

static int claim(int fd)
{
	struct litepulse_claim wanted = { .fd_flags = O_CLOEXEC };

	return ioctl(fd, LITEPULSE_IOC_CLAIM, &wanted) ? -1 : wanted.fd;
}

static int open_tty(void)
{
	int fd = open_device("/dev/ttyPULSE", number());
	struct termios settings;

	CHECK(!tcgetattr(fd, &settings));
	CHECK(!(settings.c_lflag & (ICANON | ECHO)));	/* so from the start */
	cfsetspeed(&settings, B115200);
	settings.c_cc[VMIN] = 1;
	settings.c_cc[VTIME] = 0;
	CHECK(!tcsetattr(fd, TCSANOW, &settings));
	return fd;
}

/* What is sent comes back, and each byte as an event, too. */
static void bytes(int pulse)
{
	unsigned char out[BYTES], in[BYTES];
	struct litepulse_event event, before = { 0 };
	int tty = open_tty(), got = 0;

	subscribe(pulse, 1 << LITEPULSE_KIND_RX);
	for (int i = 0; i < BYTES; i++)
		out[i] = i * 7;
	CHECK(write(tty, out, BYTES) == BYTES);
	CHECK(!tcdrain(tty));
	while (got < BYTES) {
		ssize_t count = read(tty, in + got, BYTES - got);

		CHECK(count > 0);
		got += count;
	}
	CHECK(!memcmp(in, out, BYTES));
	for (int i = 0; i < BYTES; i++) {
		CHECK(read(pulse, &event, sizeof(event)) == sizeof(event));
		CHECK(event.kind == LITEPULSE_KIND_RX && event.data == out[i]);
		CHECK(event.flags & LITEPULSE_FLAG_NS);
		CHECK(!i || (event.seq == before.seq + 1 && event.tick > before.tick && event.ns > before.ns));
		before = event;
	}
	close(tty);
}

static void launches(int pulse)
{
	struct litepulse_launch list[100] = { 0 };
	struct litepulse_event event;
	struct litepulse_time now;
	int fd = claim(pulse);

	CHECK(fd >= 0);
	CHECK(claim(pulse) == -1 && errno == EBUSY);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &now));
	for (int i = 0; i < 100; i++) {
		list[i].tick = now.tick + 50000000 + i * 1000000ull;
		list[i].tag = i;
		list[i].data = 0x55;
	}
	for (size_t done = 0; done < sizeof(list);) {
		ssize_t count = write(fd, (char *)list + done, sizeof(list) - done);

		CHECK(count > 0 && count % sizeof(list[0]) == 0);
		done += count;
	}
	for (int i = 0; i < 100; i++) {
		CHECK(read(fd, &event, sizeof(event)) == sizeof(event));
		CHECK(event.kind == LITEPULSE_KIND_TX && event.tick == list[i].tick && event.data >> 16 == list[i].tag);
	}
	list[0].tick = 1;
	CHECK(write(fd, list, sizeof(list[0])) == -1);
	CHECK(write(fd, list, 5) == -1 && errno == EINVAL);
	close(fd);
	fd = claim(pulse);
	CHECK(fd >= 0);
	close(fd);
}

static void train(int pulse)
{
	struct litepulse_train_stop stop = { 0 };
	int fd = claim(pulse);

	CHECK(fd >= 0);
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start));
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_STOP, &stop));
	close(fd);
}

static int open_clock(int pulse)
{
	struct litepulse_info info;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &info));
	return open_device("/dev/ptp", info.phc);
}

/* The clock of a file: see clock_getcpuclockid(3). */
static clockid_t clock_of(int fd)
{
	return (~(clockid_t)fd << 3) | 3;
}

static long long clock_ns(int fd)
{
	struct timespec t;

	CHECK(!clock_gettime(clock_of(fd), &t));
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void phc(int pulse)
{
	struct litepulse_info info;
	long long before;
	int fd;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &info));
	CHECK(info.abi == LITEPULSE_ABI && info.tick_num == 1000000000 && info.tick_den == 1 && info.phc >= 0);
	fd = open_clock(pulse);
	before = clock_ns(fd);
	usleep(20000);
	CHECK(clock_ns(fd) - before >= 20000000);
	close(fd);
}

/* A child that waits for good in read() of a device; it ends with 0 when the device goes as it should. */
static pid_t waiting_reader(int of_tty)
{
	pid_t child = fork();
	struct litepulse_event event;

	if (child)
		return child;
	if (of_tty) {
		int fd = open_tty();

		_exit(read(fd, &event, 1) <= 0 ? 0 : 1);
	} else {
		int fd = open_pulse();
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		ssize_t count;

		subscribe(fd, 1 << LITEPULSE_KIND_EDGE);
		do {
			count = read(fd, &event, sizeof(event));
		} while (count == sizeof(event));
		if (count != -1 || errno != ENODEV)
			_exit(1);
		CHECK(poll(&wait, 1, 0) == 1 && wait.revents & POLLHUP && wait.revents & POLLERR);
		_exit(0);
	}
}

static void unbind(void)
{
	struct litepulse_time now;

	for (int round = 0; round < 5; round++) {
		int pulse = open_pulse(), fd = claim(pulse), tty, status;
		unsigned char filler[BYTES] = { 0 };
		pid_t children[3];

		CHECK(fd >= 0);
		CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start));
		for (int i = 0; i < 3; i++)
			children[i] = waiting_reader(i == 2);
		tty = open_tty();
		usleep(300000);
		/* some of it is still on its way then */
		CHECK(write(tty, filler, sizeof(filler)) > 0);
		write_file(driver, "unbind", board);
		for (int i = 0; i < 3; i++) {
			CHECK(waitpid(children[i], &status, 0) == children[i]);
			CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
		}
		CHECK(ioctl(pulse, LITEPULSE_IOC_TIME, &now) == -1 && errno == ENODEV);
		CHECK(ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start) == -1 && errno == ENODEV);
		/* files outlive the device, in every order */
		if (round & 1)
			write_file(driver, "bind", board);
		close(pulse);
		close(tty);
		close(fd);
		if (!(round & 1))
			write_file(driver, "bind", board);
	}
}

static long long host_ns(clockid_t clock);

static void reset(int pulse)
{
	long long before, after;
	struct litepulse_event event;
	struct litepulse_time now;
	int fd = claim(pulse);

	CHECK(fd >= 0);
	subscribe(pulse, 1 << LITEPULSE_KIND_RX);
	before = host_ns(CLOCK_REALTIME);
	write_file("/sys/module/echo_board/parameters/", "reset", board == boards[1] ? "1" : "0");
	after = host_ns(CLOCK_REALTIME);
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event));
	/* It is the reset, whenever that was noticed: ticks began then. */
	CHECK(event.kind == LITEPULSE_KIND_RESTARTED && event.tick == 0 && event.count == 1);
	CHECK(event.flags == LITEPULSE_FLAG_NS && event.uncertainty);
	CHECK((long long)event.ns + event.uncertainty >= before && (long long)event.ns <= after + event.uncertainty);
	/* What the board got just after the reset, before anybody knew of it, does not start. */
	CHECK(known("launches") == 0);
	CHECK(write(fd, &(struct litepulse_launch){ .tick = ~0ull >> 1 }, sizeof(struct litepulse_launch)) == -1 && errno == ESTALE);
	close(fd);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &now));
	bytes(pulse);
}

/* The same ioctl with an argument of another size. */
static unsigned long resized(unsigned long command, unsigned int size)
{
	return _IOC(_IOC_DIR(command), _IOC_TYPE(command), _IOC_NR(command), size);
}

static void rights(int pulse)
{
	struct litepulse_subscribe filtered = { .kinds = 1 << LITEPULSE_KIND_EDGE, .rise = 1, .filtered = 1, .filter = 3 };
	struct litepulse_claim wanted = { 0 };
	struct litepulse_info info;
	char name[40];
	int reader;

	snprintf(name, sizeof(name), "/dev/litepulse%d", number());
	reader = open(name, O_RDONLY | O_CLOEXEC);
	CHECK(reader >= 0 && !ioctl(reader, LITEPULSE_IOC_INFO, &info));
	CHECK(ioctl(reader, LITEPULSE_IOC_CLAIM, &wanted) == -1 && errno == EACCES);
	CHECK(ioctl(reader, LITEPULSE_IOC_SUBSCRIBE, &filtered) == -1 && errno == EACCES);
	filtered.filtered = filtered.filter = 0;
	CHECK(!ioctl(reader, LITEPULSE_IOC_SUBSCRIBE, &filtered));
	close(reader);
	/* Closed on exec, whether asked for or not. */
	CHECK(!ioctl(pulse, LITEPULSE_IOC_CLAIM, &wanted));
	CHECK(fcntl(wanted.fd, F_GETFD) == FD_CLOEXEC);
	CHECK(ioctl(pulse, LITEPULSE_IOC_DRIVER_ENABLE, &(struct litepulse_driver_enable){ .lag_ns = 1 }) == -1 && errno == ENOTTY);
	close(wanted.fd);
}

static int entry(int fd, struct litepulse_lin_entry request)
{
	return ioctl(fd, LITEPULSE_IOC_LIN_ENTRY, &request) ? -errno : 0;
}

static int respond(int fd, struct litepulse_responder request)
{
	return ioctl(fd, LITEPULSE_IOC_RESPONDER, &request) ? -errno : 0;
}

/* What is good, but for the members that are named: these are given twice. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define ENTRY(...) ((struct litepulse_lin_entry){ .id = 1, .length = 2, .data = { 1, 2 }, __VA_ARGS__ })
#define SLAVE(...) ((struct litepulse_responder){ .trigger = LITEPULSE_TRIGGER_LIN, .delay = 100, .flags = LITEPULSE_RESPONDER_REARM, \
						  __VA_ARGS__ })

/* What the table and a LIN slave may be given. */
static void lin_slave(int pulse)
{
	int fd = claim(pulse), tty = open_tty();
	struct termios settings;

	CHECK(entry(pulse, ENTRY()) == -ENOTTY);
	CHECK(!entry(fd, ENTRY()) && !entry(fd, ENTRY(.length = 8, .flags = 7, .checksum = 0xff)));
	CHECK(!entry(fd, ENTRY(.id = LIN_ENTRIES - 1)));
	CHECK(!entry(fd, (struct litepulse_lin_entry){ .id = 1 }));
	CHECK(entry(fd, ENTRY(.id = LIN_ENTRIES)) == -EOPNOTSUPP && entry(fd, ENTRY(.id = LITEPULSE_LIN_IDS - 1)) == -EOPNOTSUPP);
	CHECK(entry(fd, ENTRY(.id = LITEPULSE_LIN_IDS)) == -EINVAL && entry(fd, ENTRY(.length = 9)) == -EINVAL);
	CHECK(entry(fd, ENTRY(.length = 1)) == -EINVAL && entry(fd, ENTRY(.reserved = 1)) == -EINVAL);
	CHECK(entry(fd, ENTRY(.flags = 8)) == -EINVAL);
	CHECK(entry(fd, (struct litepulse_lin_entry){ .id = 1, .flags = 1 }) == -EINVAL);
	CHECK(entry(fd, (struct litepulse_lin_entry){ .id = 1, .checksum = 1 }) == -EINVAL);
	CHECK(entry(fd, (struct litepulse_lin_entry){ .id = 1, .data = { 1 } }) == -EINVAL);

	CHECK(!respond(fd, SLAVE()) && !respond(fd, SLAVE(.flags = LITEPULSE_RESPONDER_REARM | LITEPULSE_RESPONDER_EXCLUSIVE)));
	CHECK(respond(fd, SLAVE(.flags = 0)) == -EINVAL && respond(fd, SLAVE(.profile = 1)) == -EINVAL);
	for (unsigned int flag = 1; flag <= LITEPULSE_RESPONDER_IGNORE_OWN; flag <<= 1)
		CHECK(respond(fd, SLAVE(.flags = LITEPULSE_RESPONDER_REARM | flag)) ==
		      (flag & (LITEPULSE_RESPONDER_REARM | LITEPULSE_RESPONDER_EXCLUSIVE) ? 0 : -EINVAL));
	CHECK(respond(fd, SLAVE(.kind = LITEPULSE_LAUNCH_BREAK, .data = 13)) == -EINVAL);
	CHECK(respond(fd, SLAVE(.kind = LITEPULSE_LAUNCH_PULSE, .width = 5)) == -EINVAL && respond(fd, SLAVE(.channel = 1)) == -EINVAL);
	CHECK(respond(fd, SLAVE(.data = 1)) == -EINVAL && respond(fd, SLAVE(.holdoff = 1)) == -EINVAL);
	CHECK(respond(fd, SLAVE(.width = 1)) == -EINVAL && respond(fd, SLAVE(.trigger = 5)) == -EINVAL);
	CHECK(respond(fd, SLAVE(.value = 1)) == -EINVAL && respond(fd, SLAVE(.mask = 1)) == -EINVAL);
	CHECK(respond(fd, SLAVE(.delay = 1 << 24)) == -EINVAL && !respond(fd, (struct litepulse_responder){ 0 }));

	/* The line's settings are the tty's. */
	CHECK(!tcgetattr(tty, &settings));
	settings.c_cflag |= CSTOPB;
	CHECK(!tcsetattr(tty, TCSANOW, &settings) && respond(fd, SLAVE()) == -ERANGE);
	settings.c_cflag ^= CSTOPB | PARENB;
	CHECK(!tcsetattr(tty, TCSANOW, &settings) && respond(fd, SLAVE()) == -ERANGE);
	settings.c_cflag ^= PARENB | CS8 | CS7;
	CHECK(!tcsetattr(tty, TCSANOW, &settings) && respond(fd, SLAVE()) == -ERANGE);
	settings.c_cflag ^= CS8 | CS7;
	CHECK(!tcsetattr(tty, TCSANOW, &settings) && !respond(fd, SLAVE()));
	close(tty);
	close(fd);
}

/* A tick is a nanosecond here, and a cycle is a tick. */
static int driver_enable(int fd, unsigned int lead, unsigned int lag, unsigned int flags, unsigned int echo)
{
	struct litepulse_driver_enable request = { .lead_ns = lead, .lag_ns = lag, .flags = flags, .echo_ns = echo };

	return ioctl(fd, LITEPULSE_IOC_DRIVER_ENABLE, &request) ? -errno : 0;
}

static int rs485(int tty, unsigned int flags)
{
	struct serial_rs485 request = { .flags = flags };

	return ioctl(tty, TIOCSRS485, &request) ? -errno : 0;
}

static void write_parameter(const char *name, const char *text)
{
	write_file("/sys/module/echo_board/parameters/", name, text);
}

static void reset_while(int pulse)
{
	struct litepulse_event event;

	subscribe(pulse, 1 << LITEPULSE_KIND_APPLIED);
	write_parameter("reset", "0");
	do
		CHECK(read(pulse, &event, sizeof(event)) == sizeof(event));
	while (event.kind != LITEPULSE_KIND_RESTARTED);
	subscribe(pulse, 0);
	/* Settings are written again a little later. */
	usleep(500000);
}

static void de(int pulse)
{
	const unsigned int echo = LITEPULSE_DRIVER_ENABLE_ECHO, on = SER_RS485_ENABLED | SER_RS485_RTS_ON_SEND;
	int fd = claim(pulse), tty = open_tty();
	struct litepulse_train known_train;

	CHECK(fd >= 0 && known("echo") == 16);
	CHECK(!driver_enable(fd, 1000, 65535, 0, 0));
	CHECK(known("lead") == 1000 && known("lag") == 65535 && known("echo") == 16);
	CHECK(!driver_enable(fd, 1001, 65534, echo, 1023));
	CHECK(known("lead") == 1001 && known("lag") == 65534 && known("echo") == 1023);
	/* Nothing of what is refused is done. */
	CHECK(driver_enable(fd, 1, 65536, echo, 1) == -EINVAL && driver_enable(fd, 1, 1, echo, 1024) == -EINVAL);
	CHECK(driver_enable(fd, 1, 1, 0, 1) == -EINVAL && driver_enable(fd, 1, 1, echo << 1, 0) == -EINVAL);
	CHECK(driver_enable(fd, 1, 1, echo, ~0u) == -EINVAL);
	CHECK(known("lead") == 1001 && known("lag") == 65534 && known("echo") == 1023);
	/* Without the flag it stays, and a tail of 0 can be asked for. */
	CHECK(!driver_enable(fd, 7, 8, 0, 0) && known("lead") == 7 && known("echo") == 1023);
	CHECK(!driver_enable(fd, 7, 8, echo, 0) && known("lag") == 8 && known("echo") == 0);
	CHECK(!driver_enable(fd, 7, 8, echo, 300) && known("echo") == 300);
	/* The echo's tail alone: lead and lag stay, and are not given. */
	CHECK(!driver_enable(fd, 0, 0, echo | LITEPULSE_DRIVER_ENABLE_UNCHANGED, 200) && known("echo") == 200);
	CHECK(known("lead") == 7 && known("lag") == 8);
	CHECK(driver_enable(fd, 7, 0, echo | LITEPULSE_DRIVER_ENABLE_UNCHANGED, 1) == -EINVAL);
	CHECK(driver_enable(fd, 0, 8, LITEPULSE_DRIVER_ENABLE_UNCHANGED, 0) == -EINVAL && known("echo") == 200);
	CHECK(!driver_enable(fd, 7, 8, echo, 300));

	/* The train that runs is known to all, with the period it was changed to; without one there is nothing to know. */
	CHECK(ioctl(pulse, LITEPULSE_IOC_TRAIN, &known_train) == -1 && errno == ENODATA);
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start) && !ioctl(pulse, LITEPULSE_IOC_TRAIN, &known_train));
	CHECK(!memcmp(&known_train, &start, sizeof(start)));
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_STOP, &(struct litepulse_train_stop){ 0 }));
	CHECK(ioctl(pulse, LITEPULSE_IOC_TRAIN, &known_train) == -1 && errno == ENODATA);
	/* Nor is one known of which it is not known whether the board has taken it: not the one before. */
	write_parameter("hold", "1");
	CHECK(ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start) == -1 && errno == EIO);
	CHECK(ioctl(pulse, LITEPULSE_IOC_TRAIN, &known_train) == -1 && errno == ENODATA);
	write_parameter("hold", "0");
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_STOP, &(struct litepulse_train_stop){ 0 }));

	/* While a train runs, nobody can change the lead. All else can change. */
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start));
	for (int hidden = 0; hidden < 2; hidden++) {
		write_parameter("hide_train", hidden ? "1" : "0");
		CHECK(driver_enable(fd, 6, 9, echo, 1) == -EBUSY);
		CHECK(known("lead") == 7 && known("lag") == 8 && known("echo") == 300);
	}
	write_parameter("hide_train", "0");
	CHECK(rs485(tty, on) == -EBUSY);
	CHECK(known("lead") == 7 && known("lag") == 8);
	CHECK(!driver_enable(fd, 7, 9, echo, 301) && known("lag") == 9 && known("echo") == 301);
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_STOP, &(struct litepulse_train_stop){ 0 }));
	CHECK(!rs485(tty, on));
	tcdrain(tty);
	usleep(100000);
	CHECK(known("lead") == 0 && known("lag") == 0 && known("echo") == 301);
	CHECK(!driver_enable(fd, 5, 6, 0, 0));

	/* What is refused of somebody else is no answer to the train. */
	write_parameter("refuse_others", "1");
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start));
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_STOP, &(struct litepulse_train_stop){ 0 }));
	write_parameter("refuse_others", "0");

	/* A board that was reset gets all three again. What was refused is not among them. */
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start));
	CHECK(driver_enable(fd, 6, 9, echo, 1) == -EBUSY && rs485(tty, on) == -EBUSY);
	reset_while(pulse);
	CHECK(known("lead") == 5 && known("lag") == 6 && known("echo") == 301);
	CHECK(driver_enable(fd, 5, 6, 0, 0) == -ESTALE);
	close(fd);
	/* The claim's end changes nothing, the train of before is no longer in the way. */
	CHECK(known("lead") == 5 && known("lag") == 6 && known("echo") == 301);
	CHECK(!rs485(tty, on));
	close(tty);
	/* The next driver begins anew. */
	write_file(driver, "unbind", board);
	CHECK(known("echo") == 16);
	write_file(driver, "bind", board);
}

/* Gaps whose count is a lower bound: each is told once, and what follows has its right place. */
static void lost(int pulse)
{
	const unsigned long long stop = 0xffff0000;
	struct litepulse_launch launch = { .data = 0x55 };
	struct litepulse_stats stats, before;
	struct litepulse_event event;
	unsigned long long seq[2] = { 0 }, told[2] = { 0 };
	int fd, tty = open_tty();
	struct litepulse_time now;

	subscribe(pulse, 1 << LITEPULSE_KIND_RX | 1 << LITEPULSE_KIND_TX);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_STATS, &before) && !before.lost_events && !before.lost_bytes);
	write_parameter("lose", "1");
	for (int i = 0; i < 2; i++) {
		int of_bytes;

		CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_LOST);
		of_bytes = event.source == LITEPULSE_SRC_RECEIVER;
		CHECK(!told[of_bytes] && event.count == stop);
		CHECK((event.flags & ~LITEPULSE_FLAG_NS) == (LITEPULSE_FLAG_HARDWARE | LITEPULSE_FLAG_AT_LEAST));
		told[of_bytes] = event.count;
		seq[of_bytes] = event.seq;
	}
	fd = claim(pulse);
	CHECK(fd >= 0 && !ioctl(pulse, LITEPULSE_IOC_TIME, &now));
	launch.tick = now.tick + 50000000;
	CHECK(write(fd, &launch, sizeof(launch)) == sizeof(launch));
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_TX && event.tick == launch.tick);
	/* Others may have come between, but only a few. */
	CHECK(event.seq >= seq[0] + stop + 5 && event.seq < seq[0] + stop + 100);
	CHECK(write(tty, "x", 1) == 1);
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_RX);
	CHECK(event.seq == seq[1] + stop);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_STATS, &stats) && stats.lost_events == stop + 5 && stats.lost_bytes == stop);
	close(fd);

	/* Two that find no room become one, which says so, too, though the first had an end. */
	CHECK(!ioctl(pulse, LITEPULSE_IOC_SUBSCRIBE, &(struct litepulse_subscribe){ .kinds = 1 << LITEPULSE_KIND_RX, .fifo = 16 }));
	for (int i = 0; i < 16; i++)
		CHECK(write(tty, "x", 1) == 1);
	tcdrain(tty);
	usleep(500000);
	write_parameter("lose", "0");
	usleep(200000);
	write_parameter("lose", "1");
	usleep(200000);
	for (int i = 0; i < 16; i++)
		CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_RX);
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_LOST && event.count == 5 + stop);
	CHECK((event.flags & ~LITEPULSE_FLAG_NS) == (LITEPULSE_FLAG_HARDWARE | LITEPULSE_FLAG_AT_LEAST));
	close(tty);
}

static void sizes(int pulse)
{
	static const unsigned long commands[] = { LITEPULSE_IOC_INFO, LITEPULSE_IOC_SUBSCRIBE, LITEPULSE_IOC_STATS, LITEPULSE_IOC_TIME,
						  LITEPULSE_IOC_STATUS, LITEPULSE_IOC_TRAIN, LITEPULSE_IOC_CLAIM };
	struct litepulse_info info;
	unsigned char argument[400];

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		unsigned int first = commands[i] == LITEPULSE_IOC_INFO ? INFO_1 :
				     commands[i] == LITEPULSE_IOC_STATUS ? STATUS_1 : _IOC_SIZE(commands[i]);

		memset(argument, 0, sizeof(argument));
		CHECK(ioctl(pulse, resized(commands[i], first - 4), argument) == -1 && errno == ENOTTY);
		/* A short CLAIM answered without the number of the file, which stayed open. */
		for (int fd = pulse + 1; fd < pulse + 4; fd++)
			CHECK(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
	}
	/* A program of version 1 gets what it knows, and no byte more. */
	memset(argument, 0xee, sizeof(argument));
	CHECK(!ioctl(pulse, resized(LITEPULSE_IOC_INFO, INFO_1), argument));
	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &info) && !memcmp(argument, &info, INFO_1) && argument[INFO_1] == 0xee);
	CHECK(info.lin_entries == LIN_ENTRIES && !info.reserved);
	/* A later version's longer argument, of which it uses nothing that we do not know; and one of which it does. */
	memset(argument, 0xee, sizeof(argument));
	CHECK(!ioctl(pulse, resized(LITEPULSE_IOC_INFO, 300), argument));
	for (size_t i = sizeof(struct litepulse_info); i < 300; i++)
		CHECK(!argument[i]);
	CHECK(argument[300] == 0xee);
	memset(argument, 0, sizeof(argument));
	CHECK(!ioctl(pulse, resized(LITEPULSE_IOC_SUBSCRIBE, 300), argument));
	argument[299] = 1;
	CHECK(ioctl(pulse, resized(LITEPULSE_IOC_SUBSCRIBE, 300), argument) == -1 && errno == E2BIG);
}

/* What is on each pin; bits of the board that belong to no pin are not shown. */
static void levels(int pulse)
{
	struct litepulse_status status;

	for (unsigned int pins = 0; pins < 32; pins++) {
		char text[8];

		snprintf(text, sizeof(text), "%u", pins | 0xffe0);
		write_parameter("levels", text);
		CHECK(!ioctl(pulse, LITEPULSE_IOC_STATUS, &status) && status.inputs == (pins & 15) && status.rx == pins >> 4);
	}
	write_parameter("levels", "16");
}

/* Idle files cost nothing, and only so many may want events. */
static void many_files(void)
{
	struct rlimit limit = { FILES + 100, FILES + 100 };
	static int files[FILES];
	int fd;

	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	for (int i = 0; i < FILES; i++)
		files[i] = open_pulse();
	for (int i = 0; i < LITEPULSE_SUBSCRIBERS_MAX; i++)
		subscribe(files[i], 1 << LITEPULSE_KIND_RX);
	CHECK(ioctl(files[FILES - 1], LITEPULSE_IOC_SUBSCRIBE, &(struct litepulse_subscribe){ .kinds = 1 << LITEPULSE_KIND_RX }) == -1);
	CHECK(errno == EUSERS);
	fd = claim(files[FILES - 1]);
	CHECK(fd >= 0 && !close(fd));
	subscribe(files[0], 0);
	subscribe(files[FILES - 1], 1 << LITEPULSE_KIND_RX);
	close(files[1]);
	subscribe(files[FILES - 2], 1 << LITEPULSE_KIND_RX);
	for (int i = 0; i < FILES; i++)
		close(files[i]);
}

/* A queue with room wakes an edge-triggered epoll once, and asking costs the board nothing. */
static void wait_for_room(int pulse)
{
	int fd = claim(pulse), set = epoll_create1(EPOLL_CLOEXEC), before;
	struct epoll_event event = { .events = EPOLLOUT | EPOLLET };
	struct litepulse_launch launch = { .data = 0x55 };
	struct litepulse_time now;

	CHECK(fd >= 0 && set >= 0 && !fcntl(fd, F_SETFL, O_NONBLOCK));
	CHECK(!epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
	CHECK(epoll_wait(set, &event, 1, 1000) == 1 && event.events == EPOLLOUT);
	before = known("wanted");
	CHECK(!epoll_wait(set, &event, 1, 300));
	CHECK(known("wanted") == before);
	/* Full: woken when there is room again. */
	CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &now));
	launch.tick = now.tick + 200000000;
	while (write(fd, &launch, sizeof(launch)) == sizeof(launch))
		launch.tick += 1000;
	CHECK(errno == EAGAIN);
	CHECK(!poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, 0));
	CHECK(!poll(&(struct pollfd){ .fd = fd, .events = POLLWRNORM }, 1, 0));
	CHECK(epoll_wait(set, &event, 1, 5000) == 1 && event.events == EPOLLOUT);
	CHECK(poll(&(struct pollfd){ .fd = fd, .events = POLLWRNORM }, 1, 0) == 1);
	launch.tick += 2000000000;
	CHECK(write(fd, &launch, sizeof(launch)) == sizeof(launch));
	close(set);
	close(fd);
}

static void abi(int pulse)
{
	rights(pulse);
	lin_slave(pulse);
	sizes(pulse);
	levels(pulse);
	wait_for_room(pulse);
	many_files();
}

static long long host_ns(clockid_t clock)
{
	struct timespec t;

	CHECK(!clock_gettime(clock, &t));
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* While somebody sets the clock back and forth by years, MONOTONIC is between two readings of it, and REALTIME is one of the two times. */
static void clock_is_set(int pulse)
{
	struct litepulse_time reading;
	int status, good = 0;
	pid_t child;

	CHECK(!clock_settime(CLOCK_REALTIME, &(struct timespec){ .tv_sec = 1700000000 }));
	child = fork();

	if (!child) {
		for (int i = 0;; i++, usleep(2000))
			clock_settime(CLOCK_REALTIME, &(struct timespec){ .tv_sec = i % 2 ? 1800000000 : 1700000000 });
	}
	for (int i = 0; i < 3000; i++) {
		long long before = host_ns(CLOCK_MONOTONIC), real;

		if (ioctl(pulse, LITEPULSE_IOC_TIME, &reading)) {
			CHECK(errno == EAGAIN);
			continue;
		}
		good++;
		CHECK((long long)reading.monotonic >= before && (long long)reading.monotonic <= host_ns(CLOCK_MONOTONIC));
		real = reading.realtime / 1000000000;
		CHECK((real >= 1700000000 && real < 1700001000) || (real >= 1800000000 && real < 1800001000));
	}
	CHECK(good > 100);
	CHECK(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child);
}

/* Nothing hangs, and what is dropped because of a wrong tick is reported; afterwards all is as it was. */
static void wild(int pulse)
{
	static const unsigned int clocks[] = { LITEPULSE_CLOCK_MONOTONIC, LITEPULSE_CLOCK_REALTIME, LITEPULSE_CLOCK_TAI, LITEPULSE_CLOCK_PHC };
	struct litepulse_stats stats;
	struct litepulse_event event;
	int files[4], tty = open_tty(), got = 0, lost = 0, sent = 0, claimed = claim(pulse);
	char byte;

	CHECK(claimed >= 0 && !fcntl(tty, F_SETFL, O_NONBLOCK));
	for (int i = 0; i < 4; i++) {
		struct litepulse_subscribe want = { .kinds = 1 << LITEPULSE_KIND_RX | 1 << LITEPULSE_KIND_TX, .fifo = 8192,
						    .clock = clocks[i] };

		files[i] = open_pulse();
		CHECK(!ioctl(files[i], LITEPULSE_IOC_SUBSCRIBE, &want) && !fcntl(files[i], F_SETFL, O_NONBLOCK));
	}
	write_file("/sys/module/echo_board/parameters/", "wild", "1");
	for (int i = 0; i < 1000; i++) {
		struct litepulse_time now;

		CHECK(write(tty, "x", 1) == 1);
		sent++;
		CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &now));
		write(claimed, &(struct litepulse_launch){ .tick = now.tick + 1000000, .data = 1 }, sizeof(struct litepulse_launch));
		usleep(2000);
	}
	CHECK(!tcdrain(tty));
	write_file("/sys/module/echo_board/parameters/", "wild", "0");
	usleep(500000);
	/* What comes now has a good tick: it shows that the last one was wrong. */
	CHECK(write(tty, "y", 1) == 1);
	sent++;
	usleep(500000);
	while (read(files[0], &event, sizeof(event)) == sizeof(event)) {
		if (event.kind == LITEPULSE_KIND_RX)
			got++;
		else if (event.kind == LITEPULSE_KIND_LOST && event.source == LITEPULSE_SRC_RECEIVER)
			lost += event.count;
	}
	CHECK(!ioctl(files[0], LITEPULSE_IOC_STATS, &stats));
	printf("%d bytes: %d came, %d were reported as lost\n", sent, got, lost);
	CHECK(got > sent / 10 && lost > 0 && got + lost == sent && stats.lost_bytes == (unsigned int)lost && !stats.restarts);
	while (read(tty, &byte, 1) == 1)
		;
	close(tty);
	close(claimed);
	for (int i = 0; i < 4; i++)
		close(files[i]);
	bytes(pulse);
}

static void launch_many(int claimed, int pulse, unsigned int count, unsigned int apart);
static int is(const char *path, const char *expected);
static void all(int pulse);

/* An event that the driver made itself is of the moment when it did so: after `before`, and certainly not after now. */
static void made_since(int pulse, const struct litepulse_time *before, const struct litepulse_event *event)
{
	struct litepulse_time now;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &now));
	CHECK(event->tick >= before->tick && event->tick <= now.tick);
	CHECK(event->flags & LITEPULSE_FLAG_NS && event->uncertainty);
	CHECK(event->ns + event->uncertainty + before->uncertainty >= before->monotonic);
	CHECK(event->ns <= now.monotonic + event->uncertainty + now.uncertainty);
}

static void doubt(int pulse)
{
	struct litepulse_subscribe want = { .kinds = 1 << LITEPULSE_KIND_RX | 1 << LITEPULSE_KIND_TX };
	const int fd = claim(pulse), tty = open_tty(), hardware = LITEPULSE_FLAG_NS | LITEPULSE_FLAG_HARDWARE;
	unsigned long long lost[2] = { 0 }, seq;
	struct litepulse_stats stats;
	struct litepulse_event event;
	struct litepulse_time before;

	CHECK(fd >= 0 && !ioctl(pulse, LITEPULSE_IOC_SUBSCRIBE, &want));
	for (int open_ended = 0; open_ended < 2; open_ended++) {
		write_parameter("ahead", "1");
		CHECK(write(tty, "x", 1) == 1);
		launch_many(fd, pulse, 1, 1);
		for (int i = 0; i < 2; i++) {
			CHECK(read(pulse, &event, sizeof(event)) == sizeof(event));
			CHECK(event.kind == LITEPULSE_KIND_RX || event.kind == LITEPULSE_KIND_TX);
		}
		write_parameter("ahead", "0");
		CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &before));
		/* In place of what it lost the board has one record of an event, and two of bytes. */
		write_parameter("lose", open_ended ? "1" : "0");
		for (int i = 0; i < 2; i++) {
			CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_LOST);
			CHECK(event.count == (open_ended ? 0xffff0000ull : 5));
			CHECK(event.flags == (open_ended ? hardware | LITEPULSE_FLAG_AT_LEAST : hardware));
			made_since(pulse, &before, &event);
			lost[event.source == LITEPULSE_SRC_RECEIVER] += event.count;
		}
		CHECK(!ioctl(pulse, LITEPULSE_IOC_STATS, &stats) && !stats.restarts);
		CHECK(stats.lost_events == lost[0] && stats.lost_bytes == lost[1] && lost[0] == lost[1]);
	}
	/* All is heard again. One wrong header between good ones: reported once, before what comes after it. */
	launch_many(fd, pulse, 1, 1);
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_TX);
	seq = event.seq;
	write_parameter("first_low", "1");
	launch_many(fd, pulse, 2, 1);
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_LOST);
	CHECK(event.count == 1 && event.seq == seq + 1 && event.flags == hardware);
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_TX && event.seq == seq + 2);
	usleep(200000);
	launch_many(fd, pulse, 1, 1);
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_TX && event.seq == seq + 3);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_STATS, &stats) && stats.lost_events == lost[0] + 5 + 1);
	close(tty);
	close(fd);
	bytes(open_pulse());
}

static void launched(int claimed, int pulse, int fd, struct litepulse_event *event)
{
	launch_many(claimed, pulse, 1, 1);
	CHECK(read(fd, event, sizeof(*event)) == sizeof(*event) && event->kind == LITEPULSE_KIND_TX);
}

static void watchdog(int pulse)
{
	struct litepulse_subscribe want = { .kinds = 1 << LITEPULSE_KIND_EDGE | 1 << LITEPULSE_KIND_TX, .rise = 1,
					    .clock = LITEPULSE_CLOCK_PHC };
	struct litepulse_event event, first, told;
	struct litepulse_train_stop stop = { 0 };
	int fd = claim(pulse), phc = open_pulse();
	struct litepulse_status status;
	struct litepulse_time before;
	struct litepulse_stats stats;

	CHECK(fd >= 0 && !ioctl(phc, LITEPULSE_IOC_SUBSCRIBE, &want));
	want.clock = LITEPULSE_CLOCK_MONOTONIC;
	CHECK(!ioctl(pulse, LITEPULSE_IOC_SUBSCRIBE, &want));
	/* More than 16 bits can number. */
	write_parameter("lose", "1");
	CHECK(read(phc, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_LOST);
	launched(fd, pulse, phc, &first);
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && read(pulse, &event, sizeof(event)) == sizeof(event));
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start));
	/* The clocks part meanwhile, and the PTP clock is not looked at when it is over. */
	sleep(10);
	write_parameter("unreachable", "1");
	CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &before));
	write_parameter("silence", "1");
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_RESTARTED);
	CHECK(event.flags == (LITEPULSE_FLAG_NS | LITEPULSE_RESTARTED_WATCHDOG) && event.count == 1);
	made_since(pulse, &before, &event);
	/* Nothing of what comes while the board takes no settings is thrown away. */
	write_parameter("edge", "1");
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_EDGE);
	write_parameter("unreachable", "0");
	CHECK(write(fd, &(struct litepulse_launch){ .tick = ~0ull >> 1 }, sizeof(struct litepulse_launch)) == -1 && errno == ESTALE);
	CHECK(ioctl(fd, LITEPULSE_IOC_TRAIN_STOP, &stop) == -1 && errno == ESTALE);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_STATUS, &status) && !(status.flags & LITEPULSE_STATUS_TRAIN));
	close(fd);
	sleep(2);
	/* Ticks, numbers and the PTP clock go on as if nothing had been. */
	CHECK(read(phc, &told, sizeof(told)) == sizeof(told) && told.kind == LITEPULSE_KIND_RESTARTED);
	CHECK(read(phc, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_EDGE);
	CHECK(told.ns - told.tick == first.ns - first.tick && event.ns - event.tick == first.ns - first.tick);
	CHECK(event.seq >= first.seq && event.seq < first.seq + 20);
	fd = claim(pulse);
	launched(fd, pulse, phc, &event);
	CHECK(event.ns - event.tick == first.ns - first.tick && event.seq > first.seq && event.seq < first.seq + 50);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_STATS, &stats) && stats.restarts == 1 && stats.lost_events == 0xffff0000ull + 5);
	close(fd);
	/* A reset is one all the same, and afterwards another silence is. */
	sleep(1);
	write_parameter("reset", "0");
	CHECK(read(phc, &told, sizeof(told)) == sizeof(told) && told.kind == LITEPULSE_KIND_RESTARTED);
	CHECK(told.flags == LITEPULSE_FLAG_NS && told.tick == 0 && told.count == 2 && told.ns > event.ns);
	sleep(1);
	write_parameter("silence", "1");
	CHECK(read(phc, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_RESTARTED);
	CHECK(event.flags == (LITEPULSE_FLAG_NS | LITEPULSE_RESTARTED_WATCHDOG) && event.count == 3);
	CHECK(event.ns - event.tick == told.ns - told.tick);
	close(phc);
	sleep(1);
	all(open_pulse());
}

static void renamed(int pulse)
{
	struct litepulse_keep kept = { .flags = LITEPULSE_CLAIM_KEEP };
	struct litepulse_event event;
	int fd = claim(pulse);

	CHECK(fd >= 0);
	subscribe(pulse, 1 << LITEPULSE_KIND_TX);
	usleep(500000);
	write_parameter("reset_before_name", "1");
	CHECK(!ioctl(fd, LITEPULSE_IOC_KEEP, &kept));
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_RESTARTED && !event.tick);
	CHECK(ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start) == -1 && errno == ESTALE && known("launches") == 0);
	close(fd);
	all(open_pulse());
}

static void late(int pulse)
{
	struct litepulse_keep kept = { .flags = LITEPULSE_CLAIM_KEEP };
	struct litepulse_status status;
	struct litepulse_event event;

	subscribe(pulse, 1 << LITEPULSE_KIND_TX);
	for (int round = 1; round <= 2; round++) {
		int fd = claim(pulse);

		CHECK(fd >= 0 && !ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start));
		write_parameter("stand_still", round == 1 ? "1" : "2");
		CHECK(!ioctl(fd, LITEPULSE_IOC_KEEP, &kept));
		do {
			CHECK(poll(&(struct pollfd){ .fd = pulse, .events = POLLIN }, 1, 3000) == 1);
			CHECK(read(pulse, &event, sizeof(event)) == sizeof(event));
		} while (event.kind != LITEPULSE_KIND_RESTARTED);
		CHECK(event.flags & LITEPULSE_RESTARTED_WATCHDOG);
		CHECK(!ioctl(pulse, LITEPULSE_IOC_STATUS, &status) && !(status.flags & LITEPULSE_STATUS_TRAIN));
		CHECK(ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start) == -1 && errno == ESTALE);
		close(fd);
	}
	all(open_pulse());
}

/* Both rise and fall of input 0 and 1, or of input 0 alone; launches or bytes beside. */
static struct litepulse_subscribe edges_of(unsigned int rise, unsigned int fall, unsigned int kinds, int ring)
{
	return (struct litepulse_subscribe){ .kinds = 1 << LITEPULSE_KIND_EDGE | kinds, .rise = rise, .fall = fall,
					     .clock = ring ? LITEPULSE_CLOCK_NONE : LITEPULSE_CLOCK_MONOTONIC };
}

/* How many events a file has got by now, that of its ring or those to be read. */
static unsigned int got(int fd, struct litepulse_ring_state *ring)
{
	struct litepulse_event event;
	unsigned int count = 0;

	usleep(100000);
	if (ring)
		return __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
	while (read(fd, &event, sizeof(event)) == sizeof(event))
		count++;
	return count;
}

/* One file at a time, or with another beside: the only ring of a device is filled in its own way. */
static void newcomer(int with_ring, int beside)
{
	struct litepulse_ring wanted = { .events = 64 };
	struct litepulse_ring_state *ring = NULL;
	int fd = open_pulse(), other = open_pulse();
	struct litepulse_subscribe want;
	unsigned int before = 0;

	if (with_ring) {
		CHECK(!ioctl(fd, LITEPULSE_IOC_RING, &wanted));
		ring = mmap(NULL, wanted.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		CHECK(ring != MAP_FAILED);
	}
	want = edges_of(1, 1, 0, 0);
	if (beside)
		CHECK(!ioctl(other, LITEPULSE_IOC_SUBSCRIBE, &want));
	/* Each of what may be new: a channel, a direction, a kind. */
	for (int part = 0; part < 3; part++) {
		want = part == 0 ? edges_of(2, 0, 0, with_ring) : part == 1 ? edges_of(0, 1, 0, with_ring) :
			(struct litepulse_subscribe){ .kinds = 1 << LITEPULSE_KIND_TX, .rise = 1, .clock = want.clock };
		CHECK(!ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &want));
		write_parameter("hold", "1");
		write_parameter("edge", "1");
		want = edges_of(3, 1, part == 2 ? 1 << LITEPULSE_KIND_TX : 0, with_ring);
		CHECK(!ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &want));
		write_parameter("hold", "0");
		CHECK(got(fd, ring) == before);
		write_parameter("edge", "1");
		before += with_ring;
		CHECK(got(fd, ring) == (with_ring ? before : 1));
		/* What it wants still, and wanted already, is not among what is new. */
		want = edges_of(1, 0, 0, with_ring);
		CHECK(!ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &want));
		write_parameter("hold", "1");
		write_parameter("edge", "1");
		want = edges_of(3, 3, 1 << LITEPULSE_KIND_TX, with_ring);
		CHECK(!ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &want));
		want.rise = 7;
		CHECK(!ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &want));
		write_parameter("hold", "0");
		before += with_ring;
		CHECK(got(fd, ring) == (with_ring ? before : 1));
	}
	if (beside)
		CHECK(got(other, NULL) == 9);
	close(other);
	close(fd);
}

static void flood(int pulse)
{
	enum { ROUNDS = 16, EACH = 250 };
	static struct litepulse_event events[ROUNDS * EACH + 1];
	int files[LITEPULSE_SUBSCRIBERS_MAX], tty = open_tty();
	struct litepulse_stats stats;
	unsigned char byte;

	for (int i = 0; i < LITEPULSE_SUBSCRIBERS_MAX; i++) {
		struct litepulse_subscribe want = edges_of(i % 3 != 1, i % 3 != 2, i == 5 ? 1 << LITEPULSE_KIND_RX : 0, 0);

		want.fifo = 4096;
		files[i] = open_pulse();
		CHECK(!ioctl(files[i], LITEPULSE_IOC_SUBSCRIBE, &want) && !fcntl(files[i], F_SETFL, O_NONBLOCK));
	}
	for (int round = 0; round < ROUNDS; round++) {
		write_parameter("flood", "250");
		CHECK(write(tty, "x", 1) == 1);
		usleep(100000);
	}
	for (int i = 0; i < LITEPULSE_SUBSCRIBERS_MAX; i++) {
		const int all_of_them = i % 3 == 0, rise = i % 3 != 1, got_bytes = i == 5 ? ROUNDS : 0;
		const int wanted = (all_of_them ? ROUNDS * EACH : ROUNDS * EACH / 2) + got_bytes;
		unsigned long long seq = 0, tick = 0;
		int count = 0, n = 0;
		ssize_t size;

		/* At most as much as there is memory of this program. */
		while ((size = read(files[i], events + n, sizeof(events) - n * sizeof(events[0]))) > 0)
			n += size / sizeof(events[0]);
		CHECK(n == wanted);
		for (int j = 0; j < n; j++) {
			const struct litepulse_event *event = &events[j];

			if (event->kind == LITEPULSE_KIND_RX) {
				count++;
				continue;
			}
			CHECK(event->kind == LITEPULSE_KIND_EDGE && event->tick > tick);
			CHECK((event->data & 0xffff) == 1 && (all_of_them || event->data >> 16 == (unsigned int)rise));
			CHECK(!seq || event->seq == seq + (all_of_them ? 1 : 2));
			seq = event->seq;
			tick = event->tick;
		}
		CHECK(count == got_bytes);
		CHECK(!ioctl(files[i], LITEPULSE_IOC_STATS, &stats) && !stats.lost_events && !stats.lost_bytes && !stats.lost_host);
		CHECK(stats.offered == (unsigned int)wanted && stats.delivered == stats.offered);
		close(files[i]);
	}
	for (int round = 0; round < ROUNDS; round++)
		CHECK(read(tty, &byte, 1) == 1 && byte == 'x');
	close(tty);
	bytes(pulse);
}

static void memory(int pulse)
{
	struct litepulse_subscribe nothing = { .fifo = 65536 };
	int files[200], count;

	for (int round = 0; round < 3; round++) {
		for (count = 0; count < 200; count++) {
			struct litepulse_ring ring = { .events = 262144 };

			files[count] = open_pulse();
			if (round & 1 ? ioctl(files[count], LITEPULSE_IOC_RING, &ring) :
					ioctl(files[count], LITEPULSE_IOC_SUBSCRIBE, &nothing))
				break;
		}
		/* 3 MiB or 4 MiB each, and an eighth of the memory. */
		CHECK(errno == ENOMEM && count >= 4 && count <= 10);
		/* All others go on, and the one that failed can have less. */
		CHECK(!ioctl(files[count], LITEPULSE_IOC_SUBSCRIBE, &(struct litepulse_subscribe){ .kinds = 1 << LITEPULSE_KIND_RX }));
		for (int i = 0; i <= count; i++)
			close(files[i]);
	}
	/* Another size of the FIFO gives the old one back. */
	for (int i = 0; i < 100; i++) {
		nothing.fifo = i & 1 ? 65536 : 32768;
		CHECK(!ioctl(pulse, LITEPULSE_IOC_SUBSCRIBE, &nothing));
	}
	all(open_pulse());
}

static void leave(int pulse, int kept)
{
	struct litepulse_profile up = { .index = 1, .data_bits = 8, .baud = 9600, .flags = LITEPULSE_PROFILE_INVERT };
	struct litepulse_claim wanted = { .flags = kept ? LITEPULSE_CLAIM_KEEP : 0 };
	struct litepulse_rest low = { .level = LITEPULSE_REST_LOW };
	struct litepulse_train train = start;
	int ready[2];
	char byte;

	train.profile = up.index;
	CHECK(!pipe(ready));
	if (!fork()) {
		CHECK(!ioctl(pulse, LITEPULSE_IOC_CLAIM, &wanted) && !ioctl(wanted.fd, LITEPULSE_IOC_PROFILE, &up));
		CHECK(!ioctl(wanted.fd, LITEPULSE_IOC_REST, &low) && !ioctl(wanted.fd, LITEPULSE_IOC_TRAIN_START, &train));
		CHECK(write(ready[1], "", 1) == 1);
		pause();
	}
	close(ready[1]);
	CHECK(read(ready[0], &byte, 1) == 1);
}

static void overtake(int pulse)
{
	int tty = open_tty();

	/* The word from before the reset is on its way: after a reset all settings are written. */
	write_parameter("slow_line", "1");
	write_parameter("reset", "0");
	while (is("/sys/module/echo_board/parameters/slow_line", "Y"))
		usleep(1000);
	CHECK(!ioctl(tty, TIOCSBRK));
	sleep(2);
	CHECK(known("break") == 1);
	CHECK(!ioctl(tty, TIOCCBRK) && known("break") == 0);
	close(tty);
	bytes(pulse);
}

/* Is a parameter of a module this? */
static int is(const char *path, const char *expected)
{
	char text[64] = "";
	FILE *file = fopen(path, "r");

	CHECK(file);
	if (!fgets(text, sizeof(text), file))
		text[0] = 0;
	fclose(file);
	text[strcspn(text, "\n")] = 0;
	return !strcmp(text, expected);
}

/* A tty that is closed while the board cannot be reached is closed all the same: the line can be lent. */
static void closed_unreachable(void)
{
	int tty = open_tty();

	write_parameter("unreachable", "1");
	close(tty);
	write_parameter("unreachable", "0");
}

static void answer(void)
{
	int sleeps = is("/sys/module/echo_board/parameters/sleeps", "Y"), defers = is("/sys/module/litepulse_echo/parameters/defer", "Y");
	int none = sleeps && !defers;

	for (int edges = 0; edges < 3; edges++) {
		write_parameter("edge", "1");
		usleep(50000);
	}
	CHECK(known("loop") == 0 && is("/sys/module/litepulse_echo/parameters/seen", "3"));
	CHECK(is("/sys/module/litepulse_echo/parameters/refused", none ? "0,1,2" : ""));
	CHECK(known("launches") == (none ? 0 : 3));
}

/* All devices are suspended, and resumed five seconds later. */
static void suspend_machine(void)
{
	write_file("/sys/power/", "pm_test", "devices");
	write_file("/sys/power/", "state", "freeze");
}

static void resume(int pulse)
{
	unsigned char filler[BYTES], byte;
	int tty = open_tty();

	memset(filler, 'x', sizeof(filler));
	CHECK(write(tty, filler, sizeof(filler)) == sizeof(filler));
	/* Some have been sent, some are in the core, some wait. */
	CHECK(read(tty, &byte, 1) == 1);
	write_parameter("fails_on_resume", "1");
	suspend_machine();
	CHECK(write(tty, "y", 1) == -1 && errno == EIO);
	close(tty);
	write_parameter("unreachable", "0");
	sleep(3);
	tty = open_tty();
	CHECK(!fcntl(tty, F_SETFL, O_NONBLOCK));
	usleep(500000);
	CHECK(read(tty, &byte, 1) == -1 && errno == EAGAIN);
	CHECK(write(tty, "z", 1) == 1);
	usleep(500000);
	CHECK(read(tty, &byte, 1) == 1 && byte == 'z' && read(tty, &byte, 1) == -1 && errno == EAGAIN);
	CHECK(!tcdrain(tty));
	close(tty);
	bytes(pulse);
}

static void retry(int pulse)
{
	struct litepulse_subscribe edges = { .kinds = 1 << LITEPULSE_KIND_EDGE, .rise = 1, .clock = LITEPULSE_CLOCK_MONOTONIC };
	const unsigned int echo = LITEPULSE_DRIVER_ENABLE_ECHO;
	struct litepulse_stats stats;
	struct litepulse_event event;
	int fd = claim(pulse);

	CHECK(fd >= 0 && !driver_enable(fd, 5, 6, echo, 301));
	subscribe(pulse, 1 << LITEPULSE_KIND_APPLIED);
	for (int round = 1; round <= 2; round++) {
		write_parameter("unreachable", "1");
		write_parameter("reset", "0");
		CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_RESTARTED);
		sleep(3);
		write_parameter("unreachable", "0");
		sleep(3);
		CHECK(!ioctl(pulse, LITEPULSE_IOC_STATS, &stats) && stats.restarts == (unsigned int)round);
		CHECK(known("launches") == 0 && known("lead") == 5 && known("lag") == 6 && known("echo") == 301);
		CHECK(driver_enable(fd, 5, 6, 0, 0) == -ESTALE);
	}
	close(fd);
	train(pulse);
	subscribe(pulse, 0);
	while (poll(&(struct pollfd){ .fd = pulse, .events = POLLIN }, 1, 0) == 1)
		CHECK(read(pulse, &event, sizeof(event)) == sizeof(event));
	CHECK(!ioctl(pulse, LITEPULSE_IOC_SUBSCRIBE, &edges));
	write_parameter("edge", "1");
	CHECK(poll(&(struct pollfd){ .fd = pulse, .events = POLLIN }, 1, 1000) == 1);
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_EDGE);
	bytes(pulse);
}

/* What is started after the report of a reset goes on, though the board gets its last settings later. */
static void again(int pulse)
{
	struct litepulse_launch launch = { .tag = 7, .data = 0x55 };
	struct litepulse_event event;
	struct litepulse_time now;
	int fd = claim(pulse);

	CHECK(fd >= 0 && !driver_enable(fd, 5, 6, LITEPULSE_DRIVER_ENABLE_ECHO, 300));
	subscribe(pulse, 1 << LITEPULSE_KIND_APPLIED);
	write_parameter("fail_echo", "1");
	write_parameter("reset", "0");
	CHECK(read(pulse, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_RESTARTED);
	close(fd);
	fd = claim(pulse);
	CHECK(fd >= 0 && !ioctl(pulse, LITEPULSE_IOC_TIME, &now));
	launch.tick = now.tick + 6000000000ull;
	CHECK(write(fd, &launch, sizeof(launch)) == sizeof(launch) && known("launches") == 1);
	sleep(2);
	write_parameter("fail_echo", "0");
	sleep(2);
	CHECK(known("launches") == 1 && known("echo") == 300);
	CHECK(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 5000) == 1);
	CHECK(read(fd, &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_TX);
	CHECK(event.tick == launch.tick && event.data >> 16 == launch.tag);
	close(fd);
	bytes(pulse);
}

/* A tick that was read just before a reset, and is used after it. */
static void behind(int pulse)
{
	int tty = open_tty(), ptp = open_clock(pulse);
	long long before, passed;
	struct timespec now;
	char byte;

	/* So much greater than those since the reset. */
	sleep(30);
	write_parameter("reset_behind_time", "1");
	CHECK(!tcflush(tty, TCIFLUSH));
	sleep(2);
	CHECK(write(tty, "x", 1) == 1 && poll(&(struct pollfd){ .fd = tty, .events = POLLIN }, 1, 5000) == 1);
	CHECK(read(tty, &byte, 1) == 1 && byte == 'x');
	sleep(30);
	before = clock_ns(ptp);
	write_parameter("reset_behind_time", "1");
	CHECK(clock_gettime(clock_of(ptp), &now) == -1 && errno == ESTALE);
	passed = clock_ns(ptp) - before;
	CHECK(passed > 3000000000ll && passed < 6000000000ll);
	close(ptp);
	close(tty);
	bytes(pulse);
}

static void nap(int pulse)
{
	struct litepulse_info info;
	char folder[40];

	/* Each virtual clock has a thread of the kernel that reads ours every two seconds. */
	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &info));
	snprintf(folder, sizeof(folder), "/sys/class/ptp/ptp%d/", info.phc);
	write_file(folder, "n_vclocks", "1");
	write_parameter("nap_ms", "20000");
	suspend_machine();
	CHECK(known("asleep") == 0);
	write_file(folder, "n_vclocks", "0");
	all(pulse);
}

static void xon(int pulse)
{
	int tty = open_tty();

	CHECK(!fcntl(tty, F_SETFL, O_NONBLOCK));
	for (int i = 0; i < 200; i++) {
		unsigned char byte, last = 0;

		CHECK(!tcflow(tty, TCIOFF));
		usleep(i * 5);
		CHECK(!tcflow(tty, TCION));
		usleep(100000);
		while (read(tty, &byte, 1) == 1)
			last = byte;
		CHECK(last == 0x11);
	}
	close(tty);
	bytes(pulse);
}

static void settings(int pulse)
{
	int fd = claim(pulse), tty = open_tty();
	struct pollfd wait = { .fd = tty, .events = POLLIN };
	char byte;

	CHECK(fd >= 0 && !driver_enable(fd, 7, 8, 0, 0) && !ioctl(tty, TIOCSBRK) && known("break") == 1);
	write_parameter("unreachable", "1");
	CHECK(ioctl(tty, TIOCCBRK) == -1 && errno == EIO);
	/* A byte behind what did not arrive waits, too: it would be lost in the break. */
	CHECK(write(tty, "a", 1) == 1 && !poll(&wait, 1, 300));
	CHECK(!rs485(tty, SER_RS485_ENABLED | SER_RS485_RTS_ON_SEND));
	sleep(2);
	CHECK(known("break") == 1 && known("lead") == 7);
	write_parameter("unreachable", "0");
	sleep(2);
	CHECK(known("break") == 0 && known("lead") == 0 && known("lag") == 0);
	CHECK(poll(&wait, 1, 2000) == 1 && read(tty, &byte, 1) == 1 && byte == 'a');
	/* A break that could not be begun does not begin later, nor does one that was to end by itself. */
	write_parameter("unreachable", "1");
	CHECK(ioctl(tty, TIOCSBRK) == -1 && errno == EIO);
	CHECK(ioctl(tty, TCSBRKP, 1) == -1 && errno == EIO);
	write_parameter("unreachable", "0");
	sleep(2);
	CHECK(known("break") == 0 && known("lows") == 1);
	/* If the tail does not arrive, lead and lag become what they were, too. */
	CHECK(!driver_enable(fd, 7, 8, LITEPULSE_DRIVER_ENABLE_ECHO, 300));
	write_parameter("fail_echo", "1");
	CHECK(driver_enable(fd, 1, 2, LITEPULSE_DRIVER_ENABLE_ECHO, 400) == -EIO);
	write_parameter("fail_echo", "0");
	sleep(2);
	CHECK(known("lead") == 7 && known("lag") == 8 && known("echo") == 300);
	/* What was set last acts, also after a suspend, whoever set it. */
	CHECK(!rs485(tty, SER_RS485_ENABLED | SER_RS485_RTS_ON_SEND) && !tcdrain(tty) && !driver_enable(fd, 7, 8, 0, 0));
	suspend_machine();
	sleep(2);
	CHECK(known("lead") == 7 && known("lag") == 8);
	close(tty);
	close(fd);
	bytes(pulse);
}

static void wait_for(pid_t child)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
}

static void interrupted(int number)
{
	(void)number;
}

static void breaks(int pulse)
{
	const struct sigaction action = { .sa_handler = interrupted };
	const struct itimerval soon = { .it_value.tv_usec = 300000 };
	int tty = open_tty(), status;
	unsigned char filler[20] = { 0 };
	pid_t child;

	/* Two at once: one behind the other. */
	child = fork();
	CHECK(!ioctl(tty, TCSBRKP, 1));
	if (!child)
		_exit(0);
	wait_for(child);
	CHECK(known("lows") == 2 && known("low_us") == 200000 && known("now") == 0);
	/* Another program writes soon after all has been sent. */
	child = fork();
	if (!child)
		for (;; usleep(200))
			CHECK(write(tty, filler, sizeof(filler)) == sizeof(filler) && !tcdrain(tty));
	for (int i = 1; i <= 10; i++)
		CHECK(!ioctl(tty, TCSBRKP, 1) && known("lows") == 2 + i && known("low_us") == 200000 + i * 100000);
	CHECK(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child && !tcflush(tty, TCIOFLUSH));
	/* Ten seconds end with a signal to the program, and when the board goes. */
	CHECK(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &soon, NULL));
	CHECK(ioctl(tty, TCSBRKP, 100) == -1 && errno == EINTR);
	CHECK(known("lows") == 13 && known("now") == 0);
	child = fork();
	if (!child)
		_exit(!ioctl(tty, TCSBRKP, 100));
	while (!known("now"))
		usleep(10000);
	close(tty);
	close(pulse);
	write_file(driver, "unbind", board);
	CHECK(known("now") == 0 && known("lows") == 14);
	CHECK(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child);
	write_file(driver, "bind", board);
	signal(SIGALRM, SIG_DFL);
	alarm(300);
	bytes(open_pulse());
}

/* TIOCSSERIAL as setserial(8) does it: -errno or 0. */
static int set_serial(int tty, unsigned int flags, int divisor)
{
	struct serial_struct serial;

	CHECK(!ioctl(tty, TIOCGSERIAL, &serial));
	serial.flags = (serial.flags & ~(ASYNC_SPD_MASK | ASYNC_LOW_LATENCY)) | flags;
	serial.custom_divisor = divisor;
	return ioctl(tty, TIOCSSERIAL, &serial) ? -errno : 0;
}

static void set_baud(int tty, speed_t baud)
{
	struct termios settings;

	CHECK(!tcgetattr(tty, &settings) && !cfsetspeed(&settings, baud) && !tcsetattr(tty, TCSANOW, &settings));
}

/* As root, then as another user. */
static void as_both(void (*test)(int tty))
{
	for (int user = 0; user < 2; user++) {
		int tty = open_tty();
		pid_t child = fork();

		if (!child) {
			CHECK(!user || !setuid(1000));
			test(tty);
			_exit(0);
		}
		wait_for(child);
		close(tty);
	}
}

static void divisor_of(int tty)
{
	static const int bad[] = { 0, -1, -2147483647 - 1, 2147483647 };
	struct serial_struct serial;
	struct termios settings;
	unsigned int period;

	CHECK(!ioctl(tty, TIOCGSERIAL, &serial));
	set_baud(tty, B38400);
	period = known("period");
	CHECK(period == 6666667);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(set_serial(tty, ASYNC_SPD_CUST, bad[i]) == -EINVAL && known("period") == (int)period);
	CHECK(!set_serial(tty, ASYNC_SPD_CUST, 2500) && (unsigned int)known("period") == 256000000000ull * 2500 / serial.baud_base);
	/* Not the nearest whole baud rate. */
	CHECK(!set_serial(tty, ASYNC_SPD_CUST, 1000003) && (unsigned int)known("period") == 256000000000ull * 1000003 / serial.baud_base);
	/* It is in force while the rate is 38400, and says so. */
	CHECK(!tcgetattr(tty, &settings) && cfgetospeed(&settings) == B38400);
	set_baud(tty, B9600);
	CHECK(known("period") == 26666667);
	set_baud(tty, B38400);
	CHECK((unsigned int)known("period") == 256000000000ull * 1000003 / serial.baud_base);
	CHECK(!set_serial(tty, 0, 0) && known("period") == 6666667);
}

static void latency_of(int tty)
{
	CHECK(known("level") == 128);
	CHECK(!set_serial(tty, ASYNC_LOW_LATENCY, 0) && known("level") == 1);
	CHECK(!set_serial(tty, 0, 0) && known("level") == 128);
}

static void flush(int pulse)
{
	int tty = open_tty();
	struct termios settings;

	CHECK(!tcgetattr(tty, &settings) && !fcntl(tty, F_SETFL, O_NONBLOCK));
	for (int way = 0; way < 3; way++) {
		unsigned char byte = 0;

		write_parameter("keeps_bytes", "1");
		CHECK(write(tty, "abcde", 5) == 5 && !tcdrain(tty));
		/* The last stop bit is over. */
		usleep(2000);
		if (way < 2)
			CHECK(!tcflush(tty, way ? TCIOFLUSH : TCIFLUSH));
		else
			CHECK(!tcsetattr(tty, TCSAFLUSH, &settings));
		write_parameter("keeps_bytes", "0");
		CHECK(write(tty, "x", 1) == 1 && !tcdrain(tty));
		CHECK(poll(&(struct pollfd){ .fd = tty, .events = POLLIN }, 1, 5000) == 1);
		CHECK(read(tty, &byte, 1) == 1 && byte == 'x');
		usleep(200000);
		CHECK(read(tty, &byte, 1) == -1 && errno == EAGAIN);
	}
	close(tty);
	bytes(pulse);
}

static void refused(int pulse)
{
	const unsigned int on = SER_RS485_ENABLED;
	int tty = open_tty(), discipline = N_PPS;

	CHECK(ioctl(tty, TIOCSETD, &discipline) == -1 && errno == EOPNOTSUPP);
	CHECK(rs485(tty, on | SER_RS485_RTS_AFTER_SEND) == -EINVAL);
	CHECK(rs485(tty, on | SER_RS485_RTS_ON_SEND | SER_RS485_RTS_AFTER_SEND) == -EINVAL);
	CHECK(ioctl(tty, TIOCSRS485, NULL) == -1 && errno == EFAULT);
	/* Longer than the core can count. Nobody asks for delays that are switched off. */
	CHECK(ioctl(tty, TIOCSRS485, &(struct serial_rs485){ .flags = on, .delay_rts_before_send = 1 }) == -1 && errno == EINVAL);
	CHECK(ioctl(tty, TIOCSRS485, &(struct serial_rs485){ .flags = on, .delay_rts_after_send = 1 }) == -1 && errno == EINVAL);
	CHECK(!ioctl(tty, TIOCSRS485, &(struct serial_rs485){ .delay_rts_after_send = 1 }));
	CHECK(!rs485(tty, on) && !rs485(tty, on | SER_RS485_RTS_ON_SEND) && !rs485(tty, SER_RS485_RTS_AFTER_SEND));
	close(tty);
	bytes(pulse);
}

static void keep(int pulse)
{
	struct litepulse_keep kept = { .flags = LITEPULSE_CLAIM_KEEP };
	struct litepulse_train_stop stop = { 0 };
	struct litepulse_status status;
	int fd = claim(pulse);

	CHECK(fd >= 0 && !ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start));
	write_parameter("unreachable", "1");
	close(fd);
	fd = claim(pulse);
	CHECK(fd >= 0 || errno == EIO);
	write_parameter("unreachable", "0");
	if (fd < 0)
		fd = claim(pulse);
	/* Before anybody else would have stopped it. */
	CHECK(fd >= 0 && !ioctl(fd, LITEPULSE_IOC_TRAIN_STOP, &stop) && !ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start));
	CHECK(!ioctl(fd, LITEPULSE_IOC_KEEP, &kept));
	close(fd);
	sleep(3);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_STATUS, &status) && status.flags & LITEPULSE_STATUS_TRAIN);
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

static void killed(void)
{
	char folder[80];
	pid_t first;
	int died = 0;

	snprintf(folder, sizeof(folder), "/sys/class/tty/ttyPULSE%d/", number());
	write_parameter("stuck", "1");
	for (int i = 0; i <= 3; i++) {
		pid_t child = fork();

		if (!child) {
			if (i < 2)
				subscribe(open_pulse(), 1 << LITEPULSE_KIND_EDGE);
			else if (i == 2)
				write_file(folder, "rx_trig_bytes", "5");
			else
				write_file(folder, "interrupts_max", "2000");
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

static int set_profile(int fd, unsigned int index, unsigned int baud, unsigned int flags)
{
	struct litepulse_profile request = { .index = index, .data_bits = 8, .baud = baud, .flags = flags };

	return ioctl(fd, LITEPULSE_IOC_PROFILE, &request) ? -errno : 0;
}

static speed_t tty_baud(int tty)
{
	struct termios settings;

	CHECK(!tcgetattr(tty, &settings));
	return cfgetospeed(&settings);
}

/* A claim that ends, and whose output goes on. */
static int keeper(int pulse)
{
	struct litepulse_claim wanted = { .flags = LITEPULSE_CLAIM_KEEP };

	CHECK(!ioctl(pulse, LITEPULSE_IOC_CLAIM, &wanted));
	return wanted.fd;
}

/* Only profile @used cannot be changed; the same settings can be set again. */
static void check_profiles(int pulse, unsigned int used)
{
	int fd = keeper(pulse);

	for (unsigned int index = 1; index <= 3; index++) {
		const int expected = index == used ? -EBUSY : 0;

		CHECK(set_profile(fd, index, 9600, LITEPULSE_PROFILE_INVERT) == expected);
		CHECK(set_profile(fd, index, 4800, 0) == expected && !set_profile(fd, index, 9600, 0));
	}
	close(fd);
}

/* What the program that has the claim does with what was kept, and with its own output. */
static void change_kept(int pulse)
{
	const struct litepulse_responder edge = { .trigger = LITEPULSE_TRIGGER_EDGE, .flags = LITEPULSE_RESPONDER_RISE,
						  .delay = 1000, .width = 100, .kind = LITEPULSE_LAUNCH_PULSE, .profile = 3 };
	struct litepulse_launch launch = { .kind = LITEPULSE_LAUNCH_FRAME, .profile = 2 };
	struct litepulse_train other = start;
	struct litepulse_train_stop stop = { 0 };
	struct litepulse_time now;
	int fd = keeper(pulse);

	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_STOP, &stop) && !set_profile(fd, 1, 4800, 0));
	other.profile = 1;
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_START, &other) && !set_profile(fd, 1, 9600, 0));
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_STOP, &stop) && !respond(fd, edge) && !set_profile(fd, 3, 4800, 0));
	CHECK(!set_profile(fd, 3, 9600, 0));
	close(fd);
	check_profiles(pulse, 3);
	fd = keeper(pulse);
	CHECK(!respond(fd, (struct litepulse_responder){ 0 }) && !set_profile(fd, 3, 4800, 0));
	CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &now));
	launch.tick = now.tick + 5000000000;
	CHECK(!set_profile(fd, 2, 9600, 0) && write(fd, &launch, sizeof(launch)) == sizeof(launch) && !set_profile(fd, 2, 4800, 0));
	CHECK(!set_profile(fd, 2, 9600, 0));
	close(fd);
	check_profiles(pulse, 2);
	/* When the launch has left, nothing uses it: also if others wait by then. */
	sleep(6);
	fd = keeper(pulse);
	launch.profile = 1;
	launch.tick += 5000000000;
	CHECK(write(fd, &launch, sizeof(launch)) == sizeof(launch) && !set_profile(fd, 2, 4800, 0));
	CHECK(!ioctl(fd, LITEPULSE_IOC_FLUSH));
	close(fd);
}

static void profiles(void)
{
	struct litepulse_train other = start;
	int pulse = open_pulse(), fd = keeper(pulse), tty;
	struct termios settings;

	CHECK(!set_profile(fd, 1, 9600, 0) && !set_profile(fd, 2, 9600, 0) && !set_profile(fd, 3, 9600, 0));
	other.profile = 1;
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_START, &other));
	close(fd);
	check_profiles(pulse, 1);
	/* The tty's profile is free: it is changed, as ever. */
	tty = open_tty();
	set_baud(tty, B9600);
	CHECK(tty_baud(tty) == B9600);
	close(tty);
	close(pulse);
	write_file(driver, "unbind", board);
	write_file(driver, "bind", board);
	pulse = open_pulse();
	check_profiles(pulse, 1);
	change_kept(pulse);

	/* A LIN slave answers at the tty's profile, and a responder to bytes receives at that. */
	for (int round = 0; round < 2; round++) {
		struct litepulse_responder bytes = { .trigger = LITEPULSE_TRIGGER_BYTE, .delay = 1000, .width = 100,
						     .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1 };

		tty = open_tty();
		fd = keeper(pulse);
		CHECK(!respond(fd, round ? SLAVE() : bytes));
		set_baud(tty, B9600);
		set_baud(tty, B115200);
		CHECK(tty_baud(tty) == B115200);
		close(fd);
		for (int again = 0; again < 2; again++) {
			const int period = known("period");

			set_baud(tty, B9600);
			CHECK(tty_baud(tty) == B115200 && known("period") == period);
			CHECK(!tcgetattr(tty, &settings));
			settings.c_cflag |= PARENB;
			CHECK(!tcsetattr(tty, TCSANOW, &settings) || errno == EINVAL);
			CHECK(!tcgetattr(tty, &settings) && !(settings.c_cflag & PARENB) && known("period") == period);
			close(tty);
			if (!again) {
				close(pulse);
				write_file(driver, "unbind", board);
				write_file(driver, "bind", board);
				pulse = open_pulse();
			}
			/* A tty that is opened has the settings of what goes on. */
			tty = open_device("/dev/ttyPULSE", number());
			CHECK(tty_baud(tty) == B115200 && known("period") == period);
		}
		fd = keeper(pulse);
		CHECK(!respond(fd, (struct litepulse_responder){ 0 }));
		close(fd);
		set_baud(tty, B9600);
		CHECK(tty_baud(tty) == B9600);
		close(tty);
	}
	fd = claim(pulse);
	CHECK(fd >= 0);
	close(fd);
	bytes(pulse);
}

/* Edges of some channels behind a filter; length 0: behind none. */
static int filter(int fd, unsigned int channels, unsigned int length)
{
	struct litepulse_subscribe want = { .kinds = 1 << LITEPULSE_KIND_EDGE, .rise = channels, .fall = channels,
					    .filtered = length ? channels : 0, .filter = length, .clock = LITEPULSE_CLOCK_NONE };

	return ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &want) ? -errno : 0;
}

static int is_filtered(unsigned int channels, unsigned int length)
{
	return known("filtered") == (int)channels && (!channels || known("samples") == (int)length);
}

/* What others may do with the filter while a responder is triggered by @channel, behind a filter of @length; 0: none. */
static void check_filters(int pulse, unsigned int channel, unsigned int length)
{
	const unsigned int other = channel == 1 ? 2 : 1, kept = length ? channel : 0;

	CHECK(!filter(pulse, channel, 0) && is_filtered(kept, length));
	CHECK(filter(pulse, channel, 60) == -EBUSY && filter(pulse, channel | other, 60) == -EBUSY && is_filtered(kept, length));
	if (length) {
		CHECK(filter(pulse, other, 60) == -EBUSY && is_filtered(kept, length));
		CHECK(!filter(pulse, other, length) && is_filtered(channel | other, length));
		CHECK(!filter(pulse, channel, length) && is_filtered(channel, length));
	} else {
		CHECK(!filter(pulse, other, 60) && is_filtered(other, 60));
	}
	CHECK(!filter(pulse, channel, 0) && is_filtered(kept, length));
}

static void filters(void)
{
	struct litepulse_responder responder = { .trigger = LITEPULSE_TRIGGER_EDGE, .flags = LITEPULSE_RESPONDER_RISE, .delay = 1000,
						 .width = 100, .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1 };

	for (int round = 0; round < 4; round++) {
		/* A responder to bytes is triggered by the line, the last channel of all. */
		const unsigned int channel = round < 2 ? 1 : 1 << 4, length = round & 1 ? 10 : 0;
		int pulse = open_pulse(), fd = keeper(pulse);

		responder.trigger = round < 2 ? LITEPULSE_TRIGGER_EDGE : LITEPULSE_TRIGGER_BYTE;
		responder.flags = round < 2 ? LITEPULSE_RESPONDER_RISE : 0;
		/* The claim's file changes the filter as it likes, other files do not. */
		CHECK(!set_profile(fd, 1, 9600, 0) && !respond(fd, responder) && !filter(fd, channel, 60) && !filter(fd, channel, length));
		CHECK(!filter(fd, 0, 0));
		check_filters(pulse, channel, length);
		/* It is still armed if another one could not be. */
		write_parameter("unreachable", "1");
		CHECK(respond(fd, responder) == -EIO);
		write_parameter("unreachable", "0");
		check_filters(pulse, channel, length);
		CHECK(!filter(pulse, 0, 0) && !filter(fd, channel, 60) && is_filtered(channel, 60) && !filter(fd, channel, length));
		close(fd);
		check_filters(pulse, channel, length);
		close(pulse);
		CHECK(is_filtered(length ? channel : 0, length));
		write_file(driver, "unbind", board);
		write_file(driver, "bind", board);
		pulse = open_pulse();
		check_filters(pulse, channel, length);
		fd = keeper(pulse);
		CHECK(!respond(fd, (struct litepulse_responder){ 0 }) && !filter(pulse, channel, 60) && !filter(pulse, channel, 0));
		CHECK(is_filtered(0, 0));
		close(fd);
		close(pulse);
	}
}

static void loop(void)
{
	int pulse = open_pulse(), fd = keeper(pulse), tty = open_tty(), on = 0x8000 /* TIOCM_LOOP */, lines;

	CHECK(!ioctl(tty, TIOCMBIS, &on) && !ioctl(fd, LITEPULSE_IOC_TRAIN_START, &start) && !tcdrain(tty));
	close(tty);
	close(fd);
	close(pulse);
	CHECK(known("loop") == 1);
	write_file(driver, "unbind", board);
	CHECK(known("loop") == 1);
	write_file(driver, "bind", board);
	usleep(300000);
	CHECK(known("loop") == 1);
	tty = open_tty();
	usleep(300000);
	CHECK(known("loop") == 1 && !ioctl(tty, TIOCMGET, &lines) && lines & on);
	CHECK(!ioctl(tty, TIOCMBIC, &on));
	usleep(300000);
	CHECK(known("loop") == 0);
	close(tty);
	pulse = open_pulse();
	fd = claim(pulse);
	CHECK(fd >= 0);
	close(fd);
	bytes(pulse);
}

/* The loopback that the tty was given, and which goes on when it is closed. */
static void set_loop(int on)
{
	int tty = open_tty(), loop = 0x8000 /* TIOCM_LOOP */, lines;
	struct termios settings;

	/* Else the next open() would set the lines again. */
	CHECK(!tcgetattr(tty, &settings));
	settings.c_cflag &= ~HUPCL;
	CHECK(!tcsetattr(tty, TCSANOW, &settings) && !ioctl(tty, on ? TIOCMBIS : TIOCMBIC, &loop));
	CHECK(!ioctl(tty, TIOCMGET, &lines) && !(lines & loop) == !on);
	close(tty);
	usleep(300000);
	CHECK(known("loop") == on);
}

/* Who had the line had it without: the tty has it again. */
static void loop_is_back(void)
{
	usleep(300000);
	CHECK(known("loop") == 1);
	set_loop(0);
}

static void perout(int pulse)
{
	struct ptp_perout_request request = { .period = { .nsec = 100000000 } }, end = { 0 };
	struct timex faster = { .modes = ADJ_FREQUENCY, .freq = 1000 << 16 };
	struct litepulse_train before, now;
	struct litepulse_info info;
	int ptp, left = 50;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &info));
	ptp = open_device("/dev/ptp", info.phc);
	CHECK(!ioctl(ptp, PTP_PEROUT_REQUEST, &request) && !ioctl(pulse, LITEPULSE_IOC_TRAIN, &before));
	sleep(1);
	write_parameter("unreachable", "1");
	CHECK(syscall(SYS_clock_adjtime, clock_of(ptp), &faster) >= 0);
	write_parameter("unreachable", "0");
	do {
		usleep(100000);
	} while ((ioctl(pulse, LITEPULSE_IOC_TRAIN, &now) || now.start == before.start) && left--);
	CHECK(left > 0 && now.period != before.period);
	CHECK(!ioctl(ptp, PTP_PEROUT_REQUEST, &end));
	close(ptp);
	bytes(pulse);
}

static int output_of_clock(int ptp)
{
	struct ptp_perout_request request = { .period = { .nsec = 100000000 } }, end = { 0 };

	return ioctl(ptp, PTP_PEROUT_REQUEST, &request) || ioctl(ptp, PTP_PEROUT_REQUEST, &end) ? -errno : 0;
}

/* A claim of which something may go on, with the line at 0. */
static int low_keeper(int pulse)
{
	const struct litepulse_rest low = { .level = LITEPULSE_REST_LOW };
	int fd = keeper(pulse);

	CHECK(!ioctl(fd, LITEPULSE_IOC_REST, &low) && known("rest") == 1);
	return fd;
}

static void rest(int pulse)
{
	struct litepulse_train up = start;
	struct litepulse_info info;
	int ptp, fd;

	up.profile = 1;
	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &info));
	ptp = open_device("/dev/ptp", info.phc);
	/* Nothing was started. */
	close(low_keeper(pulse));
	CHECK(known("rest") == 0 && !output_of_clock(ptp));
	/* What goes on ends by itself: whoever comes next, or, a while later, nobody. */
	for (int next = 0; next < 3; next++) {
		fd = low_keeper(pulse);
		CHECK(!set_profile(fd, 1, 9600, LITEPULSE_PROFILE_INVERT) && !ioctl(fd, LITEPULSE_IOC_TRAIN_START, &up));
		close(fd);
		CHECK(output_of_clock(ptp) == -EBUSY);
		sleep(3);
		CHECK(known("rest") == 1);
		write_parameter("hide_train", "1");
		if (next == 0) {
			CHECK(!output_of_clock(ptp));
		} else if (next == 1) {
			int tty = open_tty();

			CHECK(!tcsendbreak(tty, 0));
			close(tty);
		} else {
			sleep(3);
		}
		CHECK(known("rest") == 0);
		write_parameter("hide_train", "0");
		fd = claim(pulse);
		CHECK(fd >= 0);
		close(fd);
	}
	close(ptp);
	bytes(pulse);
}

static void all(int pulse)
{
	bytes(pulse);
	launches(pulse);
	train(pulse);
	phc(pulse);
}

/* So many, the first one soon, and ticks apart. */
static void launch_many(int claimed, int pulse, unsigned int count, unsigned int apart)
{
	struct litepulse_launch launch = { .data = 0x55 };
	struct litepulse_time now;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &now));
	launch.tick = now.tick + 50000000;
	for (unsigned int i = 0; i < count; i++) {
		CHECK(write(claimed, &launch, sizeof(launch)) == sizeof(launch));
		launch.tick += apart;
		launch.tag++;
	}
}

/* A ring fills, loses, tells it, and outlives its file; without its board it ends. */
static void ring(void)
{
	struct litepulse_subscribe want = { .kinds = 1 << LITEPULSE_KIND_TX, .clock = LITEPULSE_CLOCK_NONE };
	int pulse = open_pulse(), fd = open_pulse(), claimed = claim(pulse), other = open_pulse();
	struct litepulse_ring wanted = { .events = 64 };
	struct litepulse_ring_event *events;
	struct litepulse_ring_state *state;
	struct litepulse_stats stats;
	unsigned int tail = 0;
	int status;

	CHECK(claimed >= 0 && !ioctl(fd, LITEPULSE_IOC_RING, &wanted));
	state = mmap(NULL, wanted.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(state != MAP_FAILED);
	events = (void *)((char *)state + wanted.offset);
	CHECK(!ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &want));
	for (int round = 0; round < 3; round++) {
		launch_many(claimed, pulse, 70, 1000000);
		usleep(500000);
		CHECK(__atomic_load_n(&state->head, __ATOMIC_ACQUIRE) == tail + 64);
		for (unsigned int i = 0; i < 64; i++, tail++) {
			struct litepulse_ring_event *event = &events[tail % 64];

			CHECK(event->kind == LITEPULSE_KIND_TX && event->source == LITEPULSE_SRC_QUEUE && event->data >> 16 == i);
		}
		__atomic_store_n(&state->tail, tail, __ATOMIC_RELEASE);
		CHECK(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) == 1);
		CHECK(state->head == tail + 1 && events[tail % 64].kind == LITEPULSE_KIND_LOST && events[tail % 64].data == 6);
		__atomic_store_n(&state->tail, ++tail, __ATOMIC_RELEASE);
		CHECK(!ioctl(fd, LITEPULSE_IOC_STATS, &stats) && stats.offered == 70u * (round + 1) && !stats.queued);
		CHECK(stats.lost_host == 6u * (round + 1) && stats.delivered == 64u * (round + 1));
	}
	/* Closed, it is still mapped, and so still filled: also for a child, when the parent has unmapped it. */
	close(fd);
	if (!fork()) {
		usleep(800000);
		_exit(state->head == tail + 10 ? 0 : 1);
	}
	launch_many(claimed, pulse, 10, 1000000);
	munmap(state, wanted.length);
	CHECK(wait(&status) > 0 && !status);
	/* Memory that a file asks for and never maps, and a board that goes. */
	CHECK(!ioctl(other, LITEPULSE_IOC_RING, &(struct litepulse_ring){ .events = 4096 }));
	CHECK(!ioctl(other, LITEPULSE_IOC_SUBSCRIBE, &want));
	close(claimed);
	close(pulse);
	write_file(driver, "unbind", board);
	CHECK(poll(&(struct pollfd){ .fd = other, .events = POLLIN }, 1, 1000) == 1);
	CHECK(ioctl(other, LITEPULSE_IOC_STATS, &stats) == -1 && errno == ENODEV);
	close(other);
	write_file(driver, "bind", board);
}

/* A packed ring of 64 places, and how far it was read. */
struct packed {
	int fd;
	struct litepulse_ring_state *state;
	struct litepulse_ring_event *events;
	size_t length;
	uint32_t tail;
};

static void no_ring(int pulse)
{
	struct litepulse_ring wanted = { .events = 64 };

	CHECK(ioctl(pulse, LITEPULSE_IOC_RING, &wanted) == -1 && errno == EOPNOTSUPP);
	bytes(pulse);
}

/* So many bytes that follow each other by so many ticks; they are in the ring by the return. */
static void receive_row(unsigned int count, unsigned int gap)
{
	char text[32];

	usleep(gap * count / 1000 + 1000);	/* so that all come after their reader has subscribed */
	snprintf(text, sizeof(text), "%u %u", count, gap);
	write_parameter("row", text);
	usleep(50000);
}

static const struct litepulse_ring_event *next_event(struct packed *packed)
{
	CHECK(packed->tail != __atomic_load_n(&packed->state->head, __ATOMIC_ACQUIRE));
	return &packed->events[packed->tail++ % 64];
}

static int row_flags(unsigned int number)
{
	return number % 3 ? 0 : LITEPULSE_RX_NOISE;
}

/* Bytes number @from and so on of a row that are a run. */
static void take_run(struct packed *packed, unsigned int from, unsigned int count, unsigned int gap)
{
	const struct litepulse_ring_event *event = next_event(packed);
	const uint32_t *words = (const void *)packed->events;

	CHECK(event->kind == LITEPULSE_KIND_RUN && event->source == LITEPULSE_SRC_RECEIVER && !event->flags && event->data == count);
	for (unsigned int i = 0; i < count; i++) {
		uint32_t byte = words[(packed->tail * LITEPULSE_RUN_PER_EVENT + i) % (64 * LITEPULSE_RUN_PER_EVENT)];

		CHECK(LITEPULSE_RUN_DATA(byte) == from + i && (int)LITEPULSE_RUN_FLAGS(byte) == row_flags(from + i));
		CHECK(LITEPULSE_RUN_TICKS(byte) == (i ? gap : 0));
	}
	packed->tail += LITEPULSE_RUN_PLACES(count);
}

static void take_one(struct packed *packed, unsigned int number)
{
	const struct litepulse_ring_event *event = next_event(packed);

	CHECK(event->kind == LITEPULSE_KIND_RX && event->data == number && event->flags == row_flags(number));
}

/* A row one by one. */
static void take_singly(struct packed *packed, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		take_one(packed, i);
}

static void take_lost(struct packed *packed, unsigned int count, int flags)
{
	const struct litepulse_ring_event *event = next_event(packed);

	CHECK(event->kind == LITEPULSE_KIND_LOST && event->source == LITEPULSE_SRC_RECEIVER && event->data == count && event->flags == flags);
}

/* That was all; the driver may have the places. */
static void all_taken(struct packed *packed)
{
	CHECK(packed->tail == packed->state->head);
	__atomic_store_n(&packed->state->tail, packed->tail, __ATOMIC_RELEASE);
}

static struct packed open_packed(unsigned int watermark, unsigned int timeout_us)
{
	struct litepulse_ring wanted = { .events = 64, .flags = LITEPULSE_RING_PACKED };
	struct litepulse_subscribe want = { .kinds = 1 << LITEPULSE_KIND_RX, .clock = LITEPULSE_CLOCK_NONE, .watermark = watermark,
					    .timeout_us = timeout_us };
	struct packed packed = { .fd = open_pulse() };

	CHECK(!ioctl(packed.fd, LITEPULSE_IOC_RING, &wanted));
	packed.state = mmap(NULL, wanted.length, PROT_READ | PROT_WRITE, MAP_SHARED, packed.fd, 0);
	CHECK(packed.state != MAP_FAILED);
	packed.events = (void *)((char *)packed.state + wanted.offset);
	packed.length = wanted.length;
	CHECK(!ioctl(packed.fd, LITEPULSE_IOC_SUBSCRIBE, &want));
	/* The first one is compared with the moment of the call. */
	receive_row(1, 0);
	take_one(&packed, 0);
	all_taken(&packed);
	return packed;
}

static int is_due(const struct packed *packed, int timeout_ms)
{
	return poll(&(struct pollfd){ .fd = packed->fd, .events = POLLIN }, 1, timeout_ms);
}

static struct litepulse_stats stats_of(const struct packed *packed)
{
	struct litepulse_stats stats;

	CHECK(!ioctl(packed->fd, LITEPULSE_IOC_STATS, &stats));
	return stats;
}

/* Mapped, it would still be filled. */
static void close_packed(struct packed *packed)
{
	CHECK(!munmap(packed->state, packed->length) && !close(packed->fd));
}

/* Rows of bytes in a packed ring: as runs, cut where the gap, a loss, the ring's end or another reader demands it. */
static void runs(void)
{
	struct packed packed = open_packed(1, 0), other;
	struct litepulse_ring again = { .events = 64 };
	struct litepulse_stats stats;
	uint32_t tail;
	int reader, tty;

	/* A kind of the ring alone; and what a file has it has for good. */
	CHECK(ioctl(packed.fd, LITEPULSE_IOC_SUBSCRIBE, &(struct litepulse_subscribe){ .kinds = 1 << LITEPULSE_KIND_RUN }) == -1);
	CHECK(errno == EINVAL && ioctl(packed.fd, LITEPULSE_IOC_RING, &again) == -1 && errno == EBUSY);
	receive_row(10, 200);
	take_run(&packed, 0, 10, 200);
	receive_row(1, 0);
	take_one(&packed, 0);
	receive_row(3, 65535);
	take_run(&packed, 0, 3, 65535);
	receive_row(2, 65536);
	take_one(&packed, 0);
	take_one(&packed, 1);
	receive_row(65, 200);
	take_run(&packed, 0, 64, 200);
	take_one(&packed, 64);
	all_taken(&packed);
	/* A loss of the board stands where it happened. */
	write_parameter("hold", "1");
	receive_row(5, 200);
	write_parameter("lose", "0");
	receive_row(6, 200);
	write_parameter("lose", "1");
	receive_row(7, 200);
	write_parameter("hold", "0");
	usleep(50000);
	/* Records that were fetched together with that of the loss are no runs. */
	take_run(&packed, 0, 5, 200);
	take_lost(&packed, 5, LITEPULSE_FLAG_HARDWARE);
	take_singly(&packed, 6);
	CHECK(next_event(&packed)->flags == (LITEPULSE_FLAG_HARDWARE | LITEPULSE_FLAG_AT_LEAST));
	take_singly(&packed, 7);
	all_taken(&packed);
	/* The last places of the ring: three make a run of eight, one is a byte; all others are lost. */
	for (int i = 0; i < 15; i++)
		receive_row(12, 200);
	CHECK(packed.state->head - packed.tail == 60);
	receive_row(9, 200);
	stats = stats_of(&packed);
	CHECK(stats.queued == 15 * 12 + 9 && !stats.lost_host);
	receive_row(20, 200);
	stats = stats_of(&packed);
	CHECK(packed.state->head - packed.tail == 64 && stats.queued == 15 * 12 + 9 && stats.lost_host == 20);
	for (int i = 0; i < 15; i++)
		take_run(&packed, 0, 12, 200);
	take_run(&packed, 0, 9, 200);
	all_taken(&packed);
	CHECK(is_due(&packed, 0));
	take_lost(&packed, 20, 0);
	all_taken(&packed);
	for (int i = 0; i < 15; i++)
		receive_row(12, 200);
	receive_row(1, 200);
	receive_row(20, 200);
	for (int i = 0; i < 15; i++)
		take_run(&packed, 0, 12, 200);
	take_one(&packed, 0);
	take_run(&packed, 0, 8, 200);
	all_taken(&packed);
	CHECK(is_due(&packed, 0));
	take_lost(&packed, 12, 0);
	all_taken(&packed);
	/* While others receive bytes each comes by itself. */
	reader = open_pulse();
	subscribe(reader, 1 << LITEPULSE_KIND_RX);
	receive_row(3, 200);
	take_singly(&packed, 3);
	close(reader);
	receive_row(3, 200);
	take_run(&packed, 0, 3, 200);
	tty = open_tty();
	receive_row(3, 200);
	take_singly(&packed, 3);
	close(tty);
	receive_row(3, 200);
	take_run(&packed, 0, 3, 200);
	all_taken(&packed);
	/* A program that has taken a part of a run, and one that wrote into it, get what they asked for and harm nobody. */
	receive_row(40, 200);
	packed.events[packed.tail % 64].data = ~0u;
	CHECK(stats_of(&packed).queued == 64);
	tail = packed.tail;
	for (uint32_t part = 1; part <= 11; part++) {
		__atomic_store_n(&packed.state->tail, tail + part, __ATOMIC_RELEASE);
		CHECK(is_due(&packed, 0) == (part < 11));
		(void)stats_of(&packed);
	}
	packed.tail = tail + 11;
	receive_row(5, 200);
	take_run(&packed, 0, 5, 200);
	all_taken(&packed);
	close_packed(&packed);
	/* poll() waits for places: 20 bytes have six of them, eleven less. Or for as long as the oldest may wait. */
	other = open_packed(9, 0);
	receive_row(20, 200);
	CHECK(!is_due(&other, 100) && other.state->head - other.tail == 6);
	receive_row(8, 200);
	CHECK(is_due(&other, 0) && other.state->head - other.tail == 9);
	take_run(&other, 0, 20, 200);
	take_run(&other, 0, 8, 200);
	all_taken(&other);
	CHECK(!is_due(&other, 0));
	close_packed(&other);
	other = open_packed(9, 300000);
	receive_row(20, 200);
	CHECK(!is_due(&other, 0) && is_due(&other, 5000) == 1);
	take_run(&other, 0, 20, 200);
	all_taken(&other);
	CHECK(!is_due(&other, 0));
	close_packed(&other);
}

/* A call whose argument lies in memory that is not there until somebody gives it. */
enum call { CALL_SUBSCRIBE, CALL_CLAIM, CALL_TRAIN_START, CALL_LAUNCH, CALL_INFO, CALL_STATUS, CALL_READ, CALLS };

struct waiting_call {
	enum call call;
	int fd;
	void *page;
	int result, error;
};

static void *make_call(void *argument)
{
	static const unsigned long commands[CALLS] = {
		[CALL_SUBSCRIBE] = LITEPULSE_IOC_SUBSCRIBE, [CALL_CLAIM] = LITEPULSE_IOC_CLAIM,
		[CALL_TRAIN_START] = LITEPULSE_IOC_TRAIN_START, [CALL_INFO] = LITEPULSE_IOC_INFO,
		[CALL_STATUS] = LITEPULSE_IOC_STATUS,
	};
	struct waiting_call *waiting = argument;

	if (waiting->call == CALL_LAUNCH)
		waiting->result = write(waiting->fd, waiting->page, sizeof(struct litepulse_launch));
	else if (waiting->call == CALL_READ)
		waiting->result = read(waiting->fd, waiting->page, sizeof(struct litepulse_event));
	else
		waiting->result = ioctl(waiting->fd, commands[waiting->call], waiting->page);
	waiting->error = errno;
	return NULL;
}

/* A page that is not there, whose first use is told to the file that is returned. */
static int absent_page(void **page, size_t size)
{
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	*page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(fd >= 0 && *page != MAP_FAILED && !ioctl(fd, UFFDIO_API, &api));
	range.range.start = (uintptr_t)*page;
	range.range.len = size;
	CHECK(!ioctl(fd, UFFDIO_REGISTER, &range));
	return fd;
}

/* All that waits comes with one read(), also if nobody has touched but the first page yet. */
static void read_untouched(void)
{
	const size_t bytes = 200, size = bytes * sizeof(struct litepulse_event);
	void *events = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int pulse = open_pulse(), tty = open_tty();
	struct litepulse_stats stats;
	char data[200] = { 0 };

	subscribe(pulse, 1 << LITEPULSE_KIND_RX);
	CHECK(events != MAP_FAILED && size > 2 * (size_t)sysconf(_SC_PAGESIZE) && write(tty, data, bytes) == (ssize_t)bytes);
	*(volatile char *)events = 0;
	for (int tries = 0; !tries || (stats.queued < bytes && tries < 500); tries++) {
		usleep(10000);
		CHECK(!ioctl(pulse, LITEPULSE_IOC_STATS, &stats));
	}
	CHECK(stats.queued == bytes && read(pulse, events, size) == (ssize_t)size);
	CHECK(!close(tty) && !close(pulse) && !munmap(events, size));
}

static void page(void)
{
	const size_t size = sysconf(_SC_PAGESIZE);
	char *content = aligned_alloc(size, size);

	CHECK(content);
	read_untouched();
	for (enum call call = 0; call < CALLS; call++) {
		int pulse = open_pulse(), other = open_pulse(), claimed = claim(pulse), fd;
		const int of_claim = call == CALL_TRAIN_START || call == CALL_LAUNCH;
		struct waiting_call waiting = { .call = call, .fd = of_claim ? claimed : pulse };
		const int reads = call == CALL_INFO || call == CALL_STATUS || call == CALL_READ;
		struct uffdio_copy copy = { .src = (uintptr_t)content, .len = size };
		struct litepulse_train_stop stop = { 0 };
		struct litepulse_stats stats;
		struct litepulse_time now;
		struct uffd_msg message;
		pthread_t thread;

		CHECK(claimed >= 0);
		if (call == CALL_READ) {
			int tty = open_tty();

			subscribe(pulse, 1 << LITEPULSE_KIND_RX);
			CHECK(write(tty, "a", 1) == 1);
			CHECK(poll(&(struct pollfd){ .fd = pulse, .events = POLLIN }, 1, 5000) == 1);
			CHECK(!close(tty));
		}
		fd = absent_page(&waiting.page, size);
		CHECK(!pthread_create(&thread, NULL, make_call, &waiting));
		CHECK(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 5000) == 1);
		CHECK(read(fd, &message, sizeof(message)) == sizeof(message) && message.event == UFFD_EVENT_PAGEFAULT);
		/* The call waits. All others go on, on the same files too, and the board can be taken away. */
		CHECK(!ioctl(other, LITEPULSE_IOC_TIME, &now) && claim(other) == -1 && errno == EBUSY);
		CHECK(!ioctl(claimed, LITEPULSE_IOC_TRAIN_START, &start) && !ioctl(claimed, LITEPULSE_IOC_TRAIN_STOP, &stop));
		CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &now));
		alarm(20);
		CHECK(!ioctl(pulse, LITEPULSE_IOC_STATS, &stats));
		CHECK(!ioctl(pulse, LITEPULSE_IOC_SUBSCRIBE, &(struct litepulse_subscribe){ .kinds = 1 << LITEPULSE_KIND_EDGE }));
		write_file(driver, "unbind", board);
		alarm(300);
		CHECK(ioctl(other, LITEPULSE_IOC_TIME, &now) == -1 && errno == ENODEV);
		memset(content, 0, size);
		if (call == CALL_SUBSCRIBE)
			*(struct litepulse_subscribe *)content = (struct litepulse_subscribe){ .kinds = 1 << LITEPULSE_KIND_RX };
		else if (call == CALL_TRAIN_START)
			*(struct litepulse_train *)content = start;
		else if (call == CALL_LAUNCH)
			*(struct litepulse_launch *)content = (struct litepulse_launch){ .tick = now.tick + 1000000000, .data = 0x55 };
		copy.dst = (uintptr_t)waiting.page;
		CHECK(!ioctl(fd, UFFDIO_COPY, &copy) && !pthread_join(thread, NULL));
		/* What was only to be told had been found out before the board went. */
		if (call == CALL_READ)
			CHECK(waiting.result == sizeof(struct litepulse_event));
		else
			CHECK(reads ? !waiting.result : waiting.result == -1 && waiting.error == ENODEV);
		CHECK(!close(fd) && !munmap(waiting.page, size) && !close(claimed) && !close(other) && !close(pulse));
		write_file(driver, "bind", board);
	}
	free(content);
	all(open_pulse());
}

/* Nothing comes for two seconds: longer than a reset takes to be noticed. */
static int silent(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	return !poll(&wait, 1, 2000);
}

static void both(void)
{
	struct litepulse_train_stop stop = { 0 };
	struct litepulse_launch launch = { .tag = 7, .data = 0x55 };
	struct litepulse_event event;
	struct litepulse_time now;
	int pulse[2], claimed[2], clocks[2], tty, status;
	long long before, was;
	char byte;
	pid_t child;

	for (int i = 0; i < 2; i++) {
		board = boards[i];
		CHECK(number() == i);
		pulse[i] = open_pulse();
	}
	/* At once. */
	child = fork();
	board = boards[!child];
	all(pulse[!child]);
	if (!child)
		exit(0);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));

	/* Each has its claim, its events, its bytes, its clock. */
	for (int i = 0; i < 2; i++) {
		claimed[i] = claim(pulse[i]);
		CHECK(claimed[i] >= 0);
		CHECK(claim(pulse[i]) == -1 && errno == EBUSY);
		subscribe(pulse[i], 1 << LITEPULSE_KIND_RX);
		clocks[i] = open_clock(pulse[i]);
	}
	CHECK(!ioctl(pulse[1], LITEPULSE_IOC_TIME, &now));
	launch.tick = now.tick + 50000000;
	CHECK(write(claimed[1], &launch, sizeof(launch)) == sizeof(launch));
	CHECK(read(claimed[1], &event, sizeof(event)) == sizeof(event));
	CHECK(event.tick == launch.tick && event.data >> 16 == launch.tag);
	board = boards[1];
	tty = open_tty();
	CHECK(write(tty, "x", 1) == 1 && read(tty, &byte, 1) == 1 && byte == 'x');
	close(tty);
	CHECK(read(pulse[1], &event, sizeof(event)) == sizeof(event) && event.kind == LITEPULSE_KIND_RX && event.data == 'x');
	before = clock_ns(clocks[0]);
	CHECK(!clock_settime(clock_of(clocks[1]), &(struct timespec){ .tv_sec = 5 }));
	was = clock_ns(clocks[1]);
	CHECK(was >= 5000000000ll && was < 6000000000ll);
	CHECK(clock_ns(clocks[0]) - before >= 0 && clock_ns(clocks[0]) - before < 1000000000ll);
	CHECK(silent(claimed[0]) && silent(pulse[0]));
	/* One is a LIN slave. */
	CHECK(!entry(claimed[0], ENTRY()) && entry(claimed[1], ENTRY()) == -EOPNOTSUPP && entry(claimed[1], ENTRY(.id = 0)) == -EOPNOTSUPP);
	CHECK(!respond(claimed[0], SLAVE()) && respond(claimed[1], SLAVE()) == -EOPNOTSUPP);
	CHECK(!respond(claimed[0], (struct litepulse_responder){ 0 }));

	/* One is reset, goes and comes back; the other's train runs all the while. */
	CHECK(!ioctl(claimed[0], LITEPULSE_IOC_TRAIN_START, &start));
	close(claimed[1]);
	reset(pulse[1]);
	claimed[1] = claim(pulse[1]);
	write_file(driver, "unbind", boards[1]);
	CHECK(ioctl(pulse[1], LITEPULSE_IOC_TIME, &now) == -1 && errno == ENODEV);
	CHECK(ioctl(claimed[1], LITEPULSE_IOC_TRAIN_START, &start) == -1 && errno == ENODEV);
	write_file(driver, "bind", boards[1]);
	CHECK(number() == 2);		/* as long as a file of the old one is open */
	write_file(driver, "unbind", boards[1]);
	close(pulse[1]);
	close(claimed[1]);
	close(clocks[1]);
	write_file(driver, "bind", boards[1]);
	CHECK(number() == 1);
	pulse[1] = open_pulse();
	all(pulse[1]);
	CHECK(silent(pulse[0]));
	CHECK(!ioctl(claimed[0], LITEPULSE_IOC_TRAIN_STOP, &stop));
	close(claimed[0]);
	board = boards[0];
	all(pulse[0]);
}

/* Before, the board went only when who waited was killed: unbind, or closing the port of a cable, hung. */
static void modem(void)
{
	static const int masks[] = { 0, TIOCM_CTS, TIOCM_RNG | TIOCM_DSR | TIOCM_CD | TIOCM_CTS };
	pid_t waiting[3];
	int status;

	for (int i = 0; i < 3; i++) {
		waiting[i] = fork();
		CHECK(waiting[i] >= 0);
		if (!waiting[i]) {
			CHECK(ioctl(open_tty(), TIOCMIWAIT, masks[i]) == -1 && errno == ENOTTY);
			_exit(0);
		}
	}
	sleep(1);
	write_file(driver, "unbind", board);
	write_file(driver, "bind", board);
	for (int i = 0; i < 3; i++)
		CHECK(waitpid(waiting[i], &status, 0) == waiting[i] && !status);
	all(open_pulse());
}

int main(int count, char **words)
{
	int pulse = open_pulse();

	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(count == 2);
	alarm(300);
	if (!strcmp(words[1], "all")) {
		all(pulse);
	} else if (!strcmp(words[1], "both")) {
		close(pulse);
		both();
	} else if (!strcmp(words[1], "unbind")) {
		close(pulse);
		unbind();
	} else if (!strcmp(words[1], "modem")) {
		close(pulse);
		modem();
	} else if (!strcmp(words[1], "abi")) {
		abi(pulse);
	} else if (!strcmp(words[1], "de")) {
		de(pulse);
	} else if (!strcmp(words[1], "lost")) {
		lost(pulse);
	} else if (!strcmp(words[1], "clock")) {
		clock_is_set(pulse);
	} else if (!strcmp(words[1], "closed-unreachable")) {
		close(pulse);
		closed_unreachable();
	} else if (!strcmp(words[1], "resume")) {
		resume(pulse);
	} else if (!strcmp(words[1], "retry")) {
		retry(pulse);
	} else if (!strcmp(words[1], "again")) {
		again(pulse);
	} else if (!strcmp(words[1], "behind")) {
		behind(pulse);
	} else if (!strcmp(words[1], "set-loop")) {
		close(pulse);
		set_loop(1);
	} else if (!strcmp(words[1], "loop-is-back")) {
		close(pulse);
		loop_is_back();
	} else if (!strcmp(words[1], "settings")) {
		settings(pulse);
	} else if (!strcmp(words[1], "breaks")) {
		breaks(pulse);
	} else if (!strcmp(words[1], "divisor")) {
		as_both(divisor_of);
	} else if (!strcmp(words[1], "latency")) {
		as_both(latency_of);
	} else if (!strcmp(words[1], "flush")) {
		flush(pulse);
	} else if (!strcmp(words[1], "refused")) {
		refused(pulse);
	} else if (!strcmp(words[1], "keep")) {
		keep(pulse);
	} else if (!strcmp(words[1], "profiles")) {
		close(pulse);
		profiles();
	} else if (!strcmp(words[1], "loop")) {
		close(pulse);
		loop();
	} else if (!strcmp(words[1], "perout")) {
		perout(pulse);
	} else if (!strcmp(words[1], "killed")) {
		killed();
	} else if (!strcmp(words[1], "filters")) {
		close(pulse);
		filters();
	} else if (!strcmp(words[1], "rest")) {
		rest(pulse);
	} else if (!strcmp(words[1], "nap")) {
		nap(pulse);
	} else if (!strcmp(words[1], "xon")) {
		xon(pulse);
	} else if (!strcmp(words[1], "answer")) {
		close(pulse);
		answer();
	} else if (!strcmp(words[1], "wild")) {
		wild(pulse);
	} else if (!strcmp(words[1], "doubt")) {
		doubt(pulse);
	} else if (!strcmp(words[1], "watchdog")) {
		watchdog(pulse);
	} else if (!strcmp(words[1], "renamed")) {
		renamed(pulse);
	} else if (!strcmp(words[1], "late")) {
		late(pulse);
	} else if (!strcmp(words[1], "newcomer")) {
		for (int i = 0; i < 4; i++)
			newcomer(i % 2, i / 2);
	} else if (!strcmp(words[1], "flood")) {
		flood(pulse);
	} else if (!strcmp(words[1], "memory")) {
		memory(pulse);
	} else if (!strncmp(words[1], "leave-", 6)) {
		leave(pulse, words[1][6] == '1');
	} else if (!strcmp(words[1], "overtake")) {
		overtake(pulse);
	} else if (!strcmp(words[1], "ring")) {
		close(pulse);
		ring();
	} else if (!strcmp(words[1], "no-ring")) {
		no_ring(pulse);
	} else if (!strcmp(words[1], "runs")) {
		close(pulse);
		runs();
	} else if (!strcmp(words[1], "page")) {
		close(pulse);
		page();
	} else if (!strcmp(words[1], "reset")) {
		reset(pulse);
	} else {
		CHECK(!"a known word");
	}
	return 0;
}
