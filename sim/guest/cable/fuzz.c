/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random use of a board's devices by several processes at once, for a kernel that watches memory and
 * locks. The same seed makes the same calls, though not in the same order of time. Nothing a call
 * answers is a fault; that the board works afterwards is what counts, and what the kernel says
 * meanwhile. At the end `calls COUNT unplugs COUNT`.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timex.h>
#include <sys/uio.h>

#include "board.h"
#include "cases.h"
#include "clocks.h"

#include <linux/ptp_clock.h>
#include <linux/serial.h>

#define PROCESSES 4
#define CALLS 120	/* of each process, on a cable */
#define CALLS_UNBIND 600
#define FILES 6
#define PAGE 4096

static uint64_t state;
static uint64_t *calls;		/* by all processes */
static unsigned long unplugs;
static char *edge;		/* the end of a page; the next one is not there */
static int pulled;		/* by its adapter: the rounds so far, this one included; 0: it is not */

static uint32_t draw(uint32_t below)
{
	/* xorshift64* */
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 2685821657736338717ull >> 32) % below;
}

static const unsigned long commands[] = {
	LITEPULSE_IOC_INFO, LITEPULSE_IOC_SUBSCRIBE, LITEPULSE_IOC_STATS, LITEPULSE_IOC_TIME, LITEPULSE_IOC_STATUS, LITEPULSE_IOC_TRAIN,
	LITEPULSE_IOC_RING, LITEPULSE_IOC_CLAIM, LITEPULSE_IOC_KEEP, LITEPULSE_IOC_PROFILE, LITEPULSE_IOC_FLUSH,
	LITEPULSE_IOC_TRAIN_START, LITEPULSE_IOC_TRAIN_ADJUST,
	LITEPULSE_IOC_TRAIN_STOP, LITEPULSE_IOC_RESPONDER, LITEPULSE_IOC_DRIVER_ENABLE, LITEPULSE_IOC_LIN_ENTRY,
	LITEPULSE_IOC_REST,
	LITEPULSE_IOC_PORT, LITEPULSE_IOC_TRAIN_FOLLOW,
	TCGETS, TCFLSH, TCSBRK, TIOCMGET, TIOCMBIS, TIOCMBIC, TIOCSBRK, TIOCCBRK, TIOCINQ, TIOCOUTQ, TCXONC, TIOCGICOUNT, TIOCGSERIAL,
	TIOCGRS485, TIOCSRS485, TIOCEXCL, TIOCNXCL, TIOCMIWAIT, TIOCSETD, TIOCGETD, TIOCSTI, TIOCVHANGUP, TCSBRKP, TIOCSSERIAL,
	PTP_CLOCK_GETCAPS, PTP_EXTTS_REQUEST, PTP_EXTTS_REQUEST2, PTP_PEROUT_REQUEST, PTP_PEROUT_REQUEST2, PTP_ENABLE_PPS, PTP_SYS_OFFSET,
	PTP_SYS_OFFSET2, PTP_SYS_OFFSET_EXTENDED, PTP_SYS_OFFSET_PRECISE, PTP_PIN_GETFUNC, PTP_PIN_SETFUNC, PTP_PIN_SETFUNC2,
};

/* Of a serial port, with any argument: the old ones have no size in their number. */
static const struct { unsigned long command; size_t size; } sizes[] = {
	{ TCGETS, sizeof(struct termios) }, { TIOCMGET, 4 }, { TIOCMBIS, 4 }, { TIOCMBIC, 4 }, { TIOCGICOUNT, 80 },
	{ TIOCGSERIAL, sizeof(struct serial_struct) }, { TIOCSSERIAL, sizeof(struct serial_struct) },
	{ TIOCGRS485, sizeof(struct serial_rs485) }, { TIOCSRS485, sizeof(struct serial_rs485) }, { TIOCSETD, 4 }, { TIOCGETD, 4 },
	{ TIOCSTI, 1 }, { TIOCINQ, 4 }, { TIOCOUTQ, 4 },
};

static size_t size_of(unsigned long command)
{
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (sizes[i].command == command)
			return sizes[i].size;
	}
	return _IOC_SIZE(command);
}

/* Words of all sizes: what interfaces stumble over. */
static uint32_t word(void)
{
	static const uint32_t often[] = { 0, 0, 0, 1, 1, 2, 3, 5, 8, 100, 1000, 48000, 0x7fffffff,
					  0x80000000, 0xffffffff };

	switch (draw(4)) {
	case 0:
		return draw(256);
	case 1:
		return draw(0xffffffff);
	default:
		return often[draw(ARRAY_SIZE(often))];
	}
}

#define FILL(type, ...) (*(struct type *)argument = (struct type){ __VA_ARGS__ })

/* An argument that may make sense. Most fields are small, and reserved ones 0. */
static void fill(unsigned long command, void *argument, size_t size)
{
	struct litepulse_responder *responder = argument;
	struct litepulse_lin_entry *entry = argument;

	memset(argument, 0, size);
	switch (draw(3) ? command : 0) {
	case LITEPULSE_IOC_SUBSCRIBE:
		FILL(litepulse_subscribe,
		     .kinds = draw(2) ? 0x600feu & word() : 1u << (1 + draw(20)), .rise = draw(32),
		     .fall = draw(32), .clock = draw(6), .fifo = draw(3) ? 1u << draw(15) : 0,
		     .watermark = draw(20), .timeout_us = draw(20000));
		break;
	case LITEPULSE_IOC_RING:
		FILL(litepulse_ring, .events = 1u << draw(20), .flags = draw(3));
		break;
	case LITEPULSE_IOC_CLAIM:
		FILL(litepulse_claim, .flags = draw(2), .fd_flags = draw(2) ? O_NONBLOCK : O_CLOEXEC,
		     .fifo = draw(2) ? 0 : 1u << draw(14));
		break;
	case LITEPULSE_IOC_TRAIN_START:
		FILL(litepulse_train, .period = 5000 + draw(100000), .num = draw(3), .den = 3,
		     .count = draw(100), .width = 100, .kind = LITEPULSE_LAUNCH_PULSE,
		     .flags = LITEPULSE_TRAIN_ASAP);
		break;
	case LITEPULSE_IOC_PROFILE:
		FILL(litepulse_profile, .index = 1 + draw(4), .data_bits = 5 + draw(5),
		     .parity = draw(6), .stop = draw(4), .flags = draw(4), .baud = 9600 << draw(9));
		break;
	case LITEPULSE_IOC_PORT:
		FILL(litepulse_port, .flags = draw(4), .width = draw(2) * 5000, .tty = draw(2));
		break;
	case LITEPULSE_IOC_TRAIN_FOLLOW:
		FILL(litepulse_train_follow, .span = (uint64_t)draw(4) * 500000000, .pulses = draw(2) ? 58 : word(),
		     .count = draw(2) * 9, .width = draw(2) * 50, .kind = draw(4), .profile = draw(5), .flags = draw(3));
		break;
	case LITEPULSE_IOC_REST:
		FILL(litepulse_rest, .level = draw(3));
		break;
	case LITEPULSE_IOC_RESPONDER:
		FILL(litepulse_responder, .trigger = draw(4), .channel = draw(6), .value = draw(256),
		     .mask = draw(256), .flags = draw(32), .delay = 100 + draw(1000),
		     .width = draw(2) * 50, .kind = draw(3), .data = draw(2) * 9);
		responder->holdoff = draw(5000);
		if (draw(2))
			responder->flags |= LITEPULSE_RESPONDER_PULSES(1 + draw(20));
		if (!draw(3))
			FILL(litepulse_responder, .trigger = LITEPULSE_TRIGGER_LIN,
			     .flags = LITEPULSE_RESPONDER_REARM, .delay = draw(5000));
		break;
	case LITEPULSE_IOC_LIN_ENTRY:
		FILL(litepulse_lin_entry, .id = draw(66), .length = draw(9), .flags = draw(8),
		     .checksum = draw(2) * draw(256));
		memset(entry->data, draw(256), entry->length);
		break;
	case PTP_EXTTS_REQUEST2:
		FILL(ptp_extts_request, .index = draw(6), .flags = draw(8));
		break;
	case PTP_PEROUT_REQUEST2:
		FILL(ptp_perout_request, .index = draw(2), .flags = draw(2),
		     .period = { .nsec = draw(3) * 10000000 }, .start = { .sec = draw(2) * 5 });
		break;
	case TIOCSRS485:
		FILL(serial_rs485, .flags = draw(8), .delay_rts_before_send = draw(3),
		     .delay_rts_after_send = draw(3));
		break;
	case TIOCSSERIAL:
		/* See open_any(). */
		FILL(serial_struct, .closing_wait = 30, .close_delay = draw(3),
		     .flags = draw(2) << 13);
		break;
	case TIOCSETD:
		*(int *)argument = draw(3) ? 0 : draw(32);
		break;
	default:
		for (size_t i = 0; i + 4 <= size; i += 4)
			*(uint32_t *)((char *)argument + i) = draw(3) ? 0 : word();
	}
}

static void call_ioctl(int fd)
{
	unsigned long command = commands[draw(ARRAY_SIZE(commands))];
	static uint64_t argument[64];
	size_t size;

	if (_IOC_TYPE(command) != 'T' && !draw(12))
		command = _IOC(_IOC_DIR(command), _IOC_TYPE(command), draw(24), draw(200));
	size = size_of(command);
	size = size < sizeof(argument) ? size : sizeof(argument);
	fill(command, argument, size);
	if (command == TCFLSH || command == TCXONC || command == TCSBRK || command == TCSBRKP || command == TIOCMIWAIT)
		ioctl(fd, command, (long)draw(4));
	else if (!draw(30))
		ioctl(fd, command, NULL);
	else if (size && !draw(20))
		ioctl(fd, command, edge - draw(size + 1));	/* a part of it is there */
	else if (!ioctl(fd, command, argument) && command == LITEPULSE_IOC_CLAIM && draw(2))
		close(((struct litepulse_claim *)argument)->fd);	/* else it stays open until this process ends */
}

static void call_write(int fd)
{
	static struct litepulse_launch launches[20];
	struct litepulse_time time = { 0 };
	unsigned int count = draw(20);

	ioctl(fd, LITEPULSE_IOC_TIME, &time);
	memset(launches, 0, sizeof(launches));
	for (unsigned int i = 0; i < count; i++) {
		/* One that is relative has a small distance. See wait_until_quiet(). */
		launches[i].flags = !draw(4);
		launches[i].tick = launches[i].flags ? draw(500) :
				   time.tick + (uint64_t)draw(5000000) * draw(3);
		launches[i].kind = draw(5);
		launches[i].data = draw(12);
		if (launches[i].kind == LITEPULSE_LAUNCH_WAIT)
			launches[i].data = draw(256);
		launches[i].width = launches[i].kind == LITEPULSE_LAUNCH_PULSE ? 1 + draw(500) : 0;
		launches[i].profile = draw(5);
		launches[i].reserved[0] = !draw(50);
	}
	if (write(fd, launches, draw(4) ? count * sizeof(launches[0]) : draw(sizeof(launches))) < 0 && errno == EFAULT)
		exit(1);
}

/* Memory of which a part is not there, of read() and write(). */
static void call_edge(int fd)
{
	struct iovec parts[2] = { { edge - draw(100), draw(200) }, { edge - draw(100), draw(100) } };

	if (draw(2))
		readv(fd, parts, 2);
	else
		writev(fd, parts, 2);
}

/* The ring of a file, if it has one: all that a program can do to it. The newest mapping outlives its file. */
static void call_map(int fd)
{
	static struct litepulse_ring_state *ring = MAP_FAILED;
	static size_t mapped;
	struct litepulse_stats stats;
	size_t length = PAGE * (draw(4) ? 2u << draw(6) : 1 + draw(70));

	if (ring == MAP_FAILED || !draw(3)) {
		if (ring != MAP_FAILED)
			munmap(ring, mapped);
		mapped = length + (draw(2) ? PAGE : 0);
		ring = mmap(NULL, mapped, PROT_READ | PROT_WRITE, draw(8) ? MAP_SHARED : MAP_PRIVATE, fd, draw(8) ? 0 : PAGE);
	}
	if (ring == MAP_FAILED)
		return;
	ring->tail = draw(2) ? ring->head : ring->head - draw(70) + draw(3);
	if (!draw(4))
		memset((char *)ring + draw(mapped), draw(256), 1);
	ioctl(fd, LITEPULSE_IOC_STATS, &stats);
}

/* What a program may do with any file. */
static void call_file(int fd)
{
	struct epoll_event wanted = { .events = EPOLLIN | EPOLLOUT | (draw(2) ? EPOLLET : 0) }, found;
	int other;

	switch (draw(7)) {
	case 0:
		call_map(fd);
		break;
	case 1:
		other = epoll_create1(EPOLL_CLOEXEC);
		epoll_ctl(other, EPOLL_CTL_ADD, fd, &wanted);
		epoll_wait(other, &found, 1, draw(10));
		close(other);
		break;
	case 2:
		fcntl(fd, F_SETFL, draw(3) ? O_NONBLOCK : 0);
		break;
	case 3:
		lseek(fd, word(), draw(3));
		break;
	case 4:
		fsync(fd);
		break;
	case 5:
		close(dup(fd));
		break;
	case 6:
		fcntl(fd, F_SETOWN, getpid());
		fcntl(fd, F_SETFL, O_NONBLOCK | (draw(2) ? O_ASYNC : 0));
		break;
	}
}

/* The clock of a PTP device; of another file EINVAL. */
static void call_clock(int fd)
{
	clockid_t id = CLOCK_OF(fd);
	struct timespec time = { .tv_sec = draw(2) ? word() : draw(100), .tv_nsec = draw(1000000000) };
	struct timex adjust = { .modes = draw(2) ? ADJ_FREQUENCY : ADJ_SETOFFSET | ADJ_NANO, .freq = (int)word() };

	adjust.time.tv_sec = (int)word();
	adjust.time.tv_usec = draw(1000000000);
	switch (draw(4)) {
	case 0:
		clock_settime(id, &time);
		break;
	case 1:
		clock_adjtime(id, &adjust);
		break;
	default:
		clock_gettime(id, &time);
	}
}

static void call_read(int fd)
{
	static char room[5000];

	polled(fd, POLLIN | POLLOUT, draw(20));
	if (read(fd, room, draw(sizeof(room))) < 0 && errno == EFAULT)
		exit(1);
}

static void call_termios(int fd)
{
	struct termios settings;

	if (tcgetattr(fd, &settings))
		return;
	cfsetspeed(&settings, draw(2) ? B1000000 : B9600);
	settings.c_cflag ^= draw(2) ? CSTOPB : PARENB;
	settings.c_iflag ^= draw(2) ? IXON : 0;
	/*
	 * Not TCSADRAIN or TCSAFLUSH: with a signal pending the kernel's own set_termios() tries again and again for the lock of a
	 * writer, and never lets it run where there is one processor.
	 */
	tcsetattr(fd, TCSANOW, &settings);
}

static int open_any(void)
{
	static const char *const names[] = { "litepulse", "ttyPULSE", "ptp" };
	const unsigned int which = draw(6), device = which < 3 ? 0 : which < 5 ? 1 : 2;
	const int numbers[] = { board.pulse, board.tty, board.ptp };
	struct serial_struct serial;
	int fd;

	fd = open_numbered(names[device], numbers[device], (draw(4) ? O_RDWR : O_RDONLY) | O_NONBLOCK);
	/* Any serial port, closed, waits half a minute for bytes that cannot leave, also when its process was killed. */
	if (device == 1 && !ioctl(fd, TIOCGSERIAL, &serial)) {
		serial.closing_wait = 30;
		ioctl(fd, TIOCSSERIAL, &serial);
	}
	return fd;
}

/* A process with some files, which may at any time be those of a board that has gone. */
static void play(int count)
{
	int files[FILES];

	for (int i = 0; i < FILES; i++)
		files[i] = -1;
	for (int i = 0; i < count; i++) {
		int *fd = &files[draw(FILES)];

		__atomic_add_fetch(calls, 1, __ATOMIC_RELAXED);

		if (*fd < 0)
			*fd = open_any();
		switch (draw(13)) {
		case 0:
			close(*fd);
			*fd = -1;
			break;
		case 1:
		case 2:
			call_write(*fd);
			break;
		case 3:
		case 4:
			call_read(*fd);
			break;
		case 5:
			call_termios(*fd);
			break;
		case 6:
			call_file(*fd);
			break;
		case 7:
			call_clock(*fd);
			break;
		case 8:
			call_edge(*fd);
			break;
		default:
			call_ioctl(*fd);
		}
	}
}

/* Takes the board away: `port` is the file by which it is attached; -1: its driver is taken from it. Or has its adapter pulled out. */
static void take_away(int port)
{
	if (pulled)
		printf("pull %04d\n", pulled);
	else
		CHECK(port < 0 ? !unbind_board() : !close(port));
	unplugs++;
}

/* Several processes use a board, which goes meanwhile half the time, else at their end. */
static void play_round(uint32_t seed, int count, int port)
{
	pid_t players[PROCESSES];
	int gone = 0, status;

	for (int i = 0; i < PROCESSES; i++) {
		players[i] = fork();
		CHECK(players[i] >= 0);
		if (!players[i]) {
			close(port);
			state = (uint64_t)seed << 20 | (i + 1) << 8 | 1;
			play(count);
			_exit(0);
		}
	}
	/* Signals interrupt calls, and end one player in the middle of one. */
	for (int i = 0; i < 40; i++) {
		usleep(5000 + draw(10000));
		kill(players[draw(PROCESSES)], SIGALRM);
	}
	if (draw(2))
		kill(players[0], SIGKILL);
	if (draw(2)) {
		take_away(port);
		gone = 1;
	}
	/* Some wait for what cannot come, say, for bytes to leave that a responder holds back. Nothing may keep them from being killed. */
	for (int i = 0; i < PROCESSES; i++) {
		double kill_at = seconds() + 1, end = seconds() + 30;
		pid_t ended;

		while (!(ended = waitpid(players[i], &status, WNOHANG))) {
			CHECK(seconds() < end);
			kill(players[i], seconds() < kill_at ? SIGALRM : SIGKILL);
			usleep(10000);
		}
		CHECK(ended == players[i]);
		CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : !WEXITSTATUS(status));
	}
	if (!gone)
		take_away(port);
}

static void round_of(const char *port, uint32_t seed, int hostile)
{
	int fd = attach_port(port);

	CHECK(fd >= 0);
	if (find_board(port, hostile ? 3 : 20)) {
		CHECK(hostile && !close(fd) && !wait_gone(port, 40));
		return;
	}
	play_round(seed, CALLS, fd);
	CHECK(!wait_gone(port, hostile ? 40 : 20));
}

/* The node of an adapter is there before it can be opened. */
static int attach_soon(const char *port)
{
	int fd = -1;

	for (double end = seconds() + 20; fd < 0; usleep(10000)) {
		CHECK(seconds() < end);
		fd = attach_port(port);
	}
	return fd;
}

/* The same with an adapter that is pulled out, and plugged in again. */
static void pull_round(const char *port, uint32_t seed)
{
	int fd = attach_soon(port);

	CHECK(!find_board(port, 20));
	play_round(seed, CALLS, fd);
	CHECK(!wait_gone(port, 20));
	/* While it is open the next adapter gets another name. */
	close(fd);
	printf("plug %04d\n", pulled);
}

/*
 * Kept launches begin within 10,000,000 ticks (call_write()), and take less than 100,000. Our byte,
 * sent in the middle of such a frame, would not be heard. A simulated board may get on by a few
 * ticks for each request only.
 */
static void wait_until_quiet(int pulse)
{
	const uint64_t end = now(pulse) + 10100000;

	while (now(pulse) < end)
		;
}

/* Until nothing comes any more. */
static void drop_received(int tty)
{
	char bytes[64];

	while (readable(tty, 1500) == 1)
		CHECK(read(tty, bytes, sizeof(bytes)) > 0);
}

static void send_byte(int tty, char byte)
{
	CHECK(write(tty, &byte, 1) == 1 && readable(tty, 10000) == 1);
}

/* The board does what it should. */
static void still_works(const char *port)
{
	char byte = 0x5a, back = 0;
	int fd = attach_soon(port), pulse, tty;

	CHECK(!find_board(port, 20));
	pulse = open_pulse();
	tty = open_tty(B230400);
	wait_until_quiet(pulse);
	/*
	 * Something kept may hold the line. The byte that waits for its end follows at once, so that
	 * the two cannot be distinguished.
	 */
	send_byte(tty, byte);
	drop_received(tty);
	send_byte(tty, byte);
	CHECK(read(tty, &back, 1) == 1);
	if (back != byte)
		printf("read %#x, not %#x\n", (unsigned char)back, byte);
	CHECK(back == byte);
	CHECK(!close(tty) && !close(pulse));
	detach(fd, port);
}

enum { ON_A_CABLE, HOSTILE, PULLED };

/* Words: PORT SEED ROUNDS. */
static void run_rounds(char **words)
{
	const int hostile = running->of == HOSTILE, pull = running->of == PULLED;

	for (int round = 0; round < atoi(words[2]); round++) {
		const uint32_t seed = atoi(words[1]) * 1000 + round;

		state = (uint64_t)atoi(words[1]) << 32 | (round + 1);
		pulled = pull ? round + 1 : 0;
		if (pull)
			pull_round(words[0], seed);
		else
			round_of(words[0], seed, hostile);
	}
	pulled = 0;
	if (!hostile)
		still_works(words[0]);
}

/* By boards that come and go. */
static void run_unbind(char **words)
{
	const uint32_t seed = atoi(words[1]);

	snprintf(board.name, sizeof(board.name), "%s", words[0]);
	for (uint32_t round = 0; *calls < (uint64_t)atoll(words[2]); round++) {
		CHECK(has_devices());
		state = (uint64_t)seed << 32 | (round + 1);
		play_round(seed * 1000 + round, CALLS_UNBIND, -1);
		CHECK(!bind_board());
	}
	CHECK(has_devices());
}

static const struct guest_case cases[] = {
	{ "run", .with = run_rounds, .words = 3,
	  .what = "PORT SEED ROUNDS: attached and detached, under all the interface knows and more" },
	{ "hostile", .with = run_rounds, .words = 3, .of = HOSTILE,
	  .what = "PORT SEED ROUNDS: a board that lies: it may be refused, and need not work later" },
	{ "unbind", .with = run_unbind, .words = 3,
	  .what = "NAME SEED CALLS: the platform device NAME, until that many calls were made" },
	{ "pull", .with = run_rounds, .words = 3, .of = PULLED,
	  .what = "PORT SEED ROUNDS: pull the adapter out at `pull 0001`, plug it in at `plug 0001`" },
	{ }
};

int main(int count, char **words)
{
	char *pages;
	int status;

	signal(SIGALRM, ignore_signal);
	signal(SIGIO, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	calls = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(calls != MAP_FAILED && pages != MAP_FAILED && !munmap(pages + PAGE, PAGE));
	edge = pages + PAGE;
	status = run_case(cases, count, words);
	if (!status)
		printf("calls %llu unplugs %lu\n", (unsigned long long)*calls, unplugs);
	return status;
}
