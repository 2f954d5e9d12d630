/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random use of a board's devices by several processes at once, for a kernel that watches memory and locks.
 *
 *   fuzz run PORT SEED ROUNDS        attached and detached ROUNDS times, under everything the interface knows and much it does not
 *   fuzz hostile PORT SEED ROUNDS    the same with a board that lies: it may be refused, and nobody asks whether it works afterwards
 *
 * The same seed makes the same calls, though not in the same order of time. Nothing a call answers is a fault; that the board works
 * afterwards is what counts, and what the kernel says meanwhile. Exit status 0, or 1 and a line.
 */
#include "cable.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <linux/serial.h>

#define PROCESSES 4
#define CALLS 120
#define FILES 6

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	/* xorshift64* */
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 2685821657736338717ull >> 32) % below;
}

static const unsigned long commands[] = {
	LITEPULSE_IOC_INFO, LITEPULSE_IOC_SUBSCRIBE, LITEPULSE_IOC_STATS, LITEPULSE_IOC_TIME, LITEPULSE_IOC_STATUS, LITEPULSE_IOC_CLAIM,
	LITEPULSE_IOC_KEEP, LITEPULSE_IOC_PROFILE, LITEPULSE_IOC_FLUSH, LITEPULSE_IOC_TRAIN_START, LITEPULSE_IOC_TRAIN_ADJUST,
	LITEPULSE_IOC_TRAIN_STOP, LITEPULSE_IOC_RESPONDER, LITEPULSE_IOC_DRIVER_ENABLE,
	TCGETS, TCFLSH, TCSBRK, TIOCMGET, TIOCMBIS, TIOCMBIC, TIOCSBRK, TIOCCBRK, TIOCINQ, TIOCOUTQ, TCXONC, TIOCGICOUNT, TIOCGSERIAL,
};

/* Words of all sizes: what interfaces stumble over. */
static uint32_t word(void)
{
	static const uint32_t often[] = { 0, 0, 0, 1, 1, 2, 3, 5, 8, 100, 1000, 48000, 0x7fffffff, 0x80000000, 0xffffffff };

	switch (draw(4)) {
	case 0:
		return draw(256);
	case 1:
		return draw(0xffffffff);
	default:
		return often[draw(sizeof(often) / sizeof(often[0]))];
	}
}

/* An argument that may make sense. Most fields are small, and reserved ones 0. */
static void fill(unsigned long command, void *argument, size_t size)
{
	memset(argument, 0, size);
	switch (draw(3) ? command : 0) {
	case LITEPULSE_IOC_SUBSCRIBE:
		*(struct litepulse_subscribe *)argument = (struct litepulse_subscribe){
			.kinds = draw(2) ? 0x600feu & word() : 1u << (1 + draw(17)), .rise = draw(32), .fall = draw(32), .clock = draw(6),
			.fifo = 1u << draw(15), .watermark = draw(20), .timeout_us = draw(20000) };
		break;
	case LITEPULSE_IOC_CLAIM:
		*(struct litepulse_claim *)argument = (struct litepulse_claim){ .flags = draw(2), .fd_flags = draw(2) ? O_NONBLOCK : O_CLOEXEC,
									      .fifo = draw(2) ? 0 : 1u << draw(14) };
		break;
	case LITEPULSE_IOC_TRAIN_START:
		*(struct litepulse_train *)argument = (struct litepulse_train){
			.period = 5000 + draw(100000), .num = draw(3), .den = 3, .count = draw(100), .width = 100, .kind = LITEPULSE_LAUNCH_PULSE,
			.flags = LITEPULSE_TRAIN_ASAP };
		break;
	case LITEPULSE_IOC_PROFILE:
		*(struct litepulse_profile *)argument = (struct litepulse_profile){ .index = 1 + draw(4), .data_bits = 5 + draw(5), .parity = draw(6),
										  .stop = draw(4), .baud = 9600 << draw(9) };
		break;
	case LITEPULSE_IOC_RESPONDER:
		*(struct litepulse_responder *)argument = (struct litepulse_responder){
			.trigger = draw(4), .channel = draw(6), .value = draw(256), .mask = draw(256), .flags = draw(32), .delay = 100 + draw(1000),
			.width = draw(2) * 50, .kind = draw(3), .data = draw(2) * 9 };
		break;
	default:
		for (size_t i = 0; i + 4 <= size; i += 4)
			*(uint32_t *)((char *)argument + i) = draw(3) ? 0 : word();
	}
}

static void call_ioctl(int fd)
{
	unsigned long command = commands[draw(sizeof(commands) / sizeof(commands[0]))];
	static uint64_t argument[64];

	if (_IOC_TYPE(command) != 'T' && !draw(12))
		command = _IOC(_IOC_DIR(command), _IOC_TYPE(command), draw(24), draw(200));
	fill(command, argument, _IOC_SIZE(command) < sizeof(argument) ? _IOC_SIZE(command) : sizeof(argument));
	if (command == TCFLSH || command == TCXONC || command == TCSBRK)
		ioctl(fd, command, (long)draw(4));
	else if (!draw(30))
		ioctl(fd, command, NULL);
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
		launches[i].tick = time.tick + (uint64_t)draw(5000000) * draw(3);
		launches[i].kind = draw(4);
		launches[i].data = draw(12);
		launches[i].width = launches[i].kind == LITEPULSE_LAUNCH_PULSE ? 1 + draw(500) : 0;
		launches[i].profile = draw(5);
		launches[i].reserved[0] = !draw(50);
	}
	if (write(fd, launches, draw(4) ? count * sizeof(launches[0]) : draw(sizeof(launches))) < 0 && errno == EFAULT)
		exit(1);
}

static void call_read(int fd)
{
	static char room[5000];
	struct pollfd wait = { .fd = fd, .events = POLLIN | POLLOUT };

	poll(&wait, 1, draw(20));
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

static int open_any(const struct board *board)
{
	static const char *const names[] = { "litepulse", "litepulse", "litepulse", "ttyPULSE", "ttyPULSE", "ptp" };
	unsigned int which = draw(6);
	char name[40];

	struct serial_struct serial;
	int fd;

	snprintf(name, sizeof(name), "/dev/%s%d", names[which], which < 3 ? board->pulse : which < 5 ? board->tty : board->ptp);
	fd = open(name, (draw(4) ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	/* Any serial port, closed, waits half a minute for bytes that cannot leave, also when its process was killed. */
	if (which >= 3 && which < 5 && !ioctl(fd, TIOCGSERIAL, &serial)) {
		serial.closing_wait = 30;
		ioctl(fd, TIOCSSERIAL, &serial);
	}
	return fd;
}

/* A process with some files, which may at any time be those of a board that has gone. */
static void play(const struct board *board)
{
	int files[FILES];

	for (int i = 0; i < FILES; i++)
		files[i] = -1;
	for (int i = 0; i < CALLS; i++) {
		int *fd = &files[draw(FILES)];

		if (*fd < 0)
			*fd = open_any(board);
		switch (draw(10)) {
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
		default:
			call_ioctl(*fd);
		}
	}
}

static void quiet(int number)
{
	(void)number;
}

static void round_of(const char *port, uint32_t seed, int hostile)
{
	const char *base = strrchr(port, '/') + 1;
	int fd = attach_port(port), status;
	pid_t players[PROCESSES];
	struct board board;

	CHECK(fd >= 0);
	if (find_board(base, hostile ? 3 : 20, &board)) {
		CHECK(hostile);
		CHECK(!close(fd));
		CHECK(!wait_gone(base, 40));
		return;
	}
	for (int i = 0; i < PROCESSES; i++) {
		players[i] = fork();
		CHECK(players[i] >= 0);
		if (!players[i]) {
			close(fd);
			state = (uint64_t)seed << 20 | (i + 1) << 8 | 1;
			play(&board);
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
	/* Half the time the board goes while they play. */
	if (draw(2)) {
		CHECK(!close(fd));
		fd = -1;
	}
	/* Some wait for what cannot come, say, for bytes to leave that a responder holds back. Nothing may keep them from being killed. */
	for (int i = 0; i < PROCESSES; i++) {
		double kill_at = now() + 1, end = now() + 30;
		pid_t ended;

		while (!(ended = waitpid(players[i], &status, WNOHANG))) {
			CHECK(now() < end);
			kill(players[i], now() < kill_at ? SIGALRM : SIGKILL);
			usleep(10000);
		}
		CHECK(ended == players[i]);
		CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : !WEXITSTATUS(status));
	}
	if (fd >= 0)
		CHECK(!close(fd));
	CHECK(!wait_gone(base, hostile ? 40 : 20));
}

/* The board does what it should. */
static void still_works(const char *port)
{
	const char *base = strrchr(port, '/') + 1;
	struct litepulse_time time;
	struct board board;
	int fd = attach_port(port), pulse, tty;
	char byte = 0x5a, back = 0;

	CHECK(fd >= 0);
	CHECK(!find_board(base, 20, &board));
	pulse = open_pulse(&board);
	tty = open_tty(&board);
	CHECK(pulse >= 0 && tty >= 0);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &time));
	CHECK(write(tty, &byte, 1) == 1);
	CHECK(poll(&(struct pollfd){ .fd = tty, .events = POLLIN }, 1, 10000) == 1);
	CHECK(read(tty, &back, 1) == 1 && back == byte);
	CHECK(!close(tty) && !close(pulse) && !close(fd));
	CHECK(!wait_gone(base, 20));
}

int main(int count, char **words)
{
	int hostile;

	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(count == 5);
	hostile = !strcmp(words[1], "hostile");
	CHECK(hostile || !strcmp(words[1], "run"));
	signal(SIGALRM, quiet);
	for (int round = 0; round < atoi(words[4]); round++) {
		state = (uint64_t)atoi(words[3]) << 32 | (round + 1);
		round_of(words[2], atoi(words[3]) * 1000 + round, hostile);
	}
	if (!hostile)
		still_works(words[2]);
	return 0;
}
