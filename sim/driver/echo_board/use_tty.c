/* SPDX-License-Identifier: BSD-2-Clause */
/* The tty: what programs ask of any serial port. */
#include <sys/time.h>

#include "use.h"

#ifndef N_PPS
#define N_PPS 18 /* not in the C library's headers */
#endif

static const int loop_bit = TIOCM_LOOP;

static void closed_unreachable(void)
{
	int tty = open_tty(B115200);

	write_parameter("unreachable", "1");
	close(tty);
	write_parameter("unreachable", "0");
}

static void overtake(void)
{
	int pulse = open_pulse(), tty = open_tty(B115200);

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

static void xon(void)
{
	int pulse = open_pulse(), tty = open_tty(B115200);

	set_nonblocking(tty);
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

static void breaks(void)
{
	const struct sigaction action = { .sa_handler = ignore_signal };
	const struct itimerval soon = { .it_value.tv_usec = 300000 };
	int pulse = open_pulse(), tty = open_tty(B115200);
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
			CHECK(write(tty, filler, sizeof(filler)) == sizeof(filler) &&
			      !tcdrain(tty));
	for (int i = 1; i <= 10; i++) {
		CHECK(!ioctl(tty, TCSBRKP, 1) && known("lows") == 2 + i);
		CHECK(known("low_us") == 200000 + i * 100000);
	}
	kill_child(child);
	CHECK(!tcflush(tty, TCIOFLUSH));
	/* Ten seconds end with a signal to the program, and when the board goes. */
	CHECK(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &soon, NULL));
	CHECK(fails(ioctl(tty, TCSBRKP, 100), EINTR));
	CHECK(known("lows") == 13 && known("now") == 0);
	child = fork();
	if (!child)
		_exit(!ioctl(tty, TCSBRKP, 100));
	while (!known("now"))
		usleep(10000);
	close(tty);
	close(pulse);
	unbind();
	CHECK(known("now") == 0 && known("lows") == 14);
	kill_child(child);
	bind_again();
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

/* As root, then as another user. */
static void as_both(void (*test)(int tty))
{
	for (int user = 0; user < 2; user++) {
		int tty = open_tty(B115200);
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
	unsigned int odd;

	CHECK(!ioctl(tty, TIOCGSERIAL, &serial));
	CHECK(!set_speed(tty, B38400) && known("period") == 6666667);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK(set_serial(tty, ASYNC_SPD_CUST, bad[i]) == -EINVAL);
		CHECK(known("period") == 6666667);
	}
	CHECK(!set_serial(tty, ASYNC_SPD_CUST, 2500));
	CHECK((unsigned int)known("period") == 256000000000ull * 2500 / serial.baud_base);
	/* Not the nearest whole baud rate. */
	odd = 256000000000ull * 1000003 / serial.baud_base;
	CHECK(!set_serial(tty, ASYNC_SPD_CUST, 1000003) && (unsigned int)known("period") == odd);
	/* It is in force while the rate is 38400, and says so. */
	CHECK(!tcgetattr(tty, &settings) && cfgetospeed(&settings) == B38400);
	CHECK(!set_speed(tty, B9600) && known("period") == 26666667);
	CHECK(!set_speed(tty, B38400) && (unsigned int)known("period") == odd);
	CHECK(!set_serial(tty, 0, 0) && known("period") == 6666667);
}

static void divisor(void)
{
	as_both(divisor_of);
}

static void latency_of(int tty)
{
	CHECK(known("level") == 128);
	CHECK(!set_serial(tty, ASYNC_LOW_LATENCY, 0) && known("level") == 1);
	CHECK(!set_serial(tty, 0, 0) && known("level") == 128);
}

static void latency(void)
{
	as_both(latency_of);
}

static void flush(void)
{
	int pulse = open_pulse(), tty = open_tty(B115200);
	struct termios settings;

	CHECK(!tcgetattr(tty, &settings));
	set_nonblocking(tty);
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
		CHECK(readable(tty, 5000) == 1);
		CHECK(read(tty, &byte, 1) == 1 && byte == 'x');
		usleep(200000);
		CHECK(fails(read(tty, &byte, 1), EAGAIN));
	}
	close(tty);
	bytes(pulse);
}

static void refused(void)
{
	const unsigned int on = SER_RS485_ENABLED;
	struct serial_rs485 before = { .flags = on, .delay_rts_before_send = 1 };
	struct serial_rs485 after = { .flags = on, .delay_rts_after_send = 1 };
	int pulse = open_pulse(), tty = open_tty(B115200), discipline = N_PPS;

	CHECK(fails(ioctl(tty, TIOCSETD, &discipline), EOPNOTSUPP));
	CHECK(rs485(tty, on | SER_RS485_RTS_AFTER_SEND) == -EINVAL);
	CHECK(rs485(tty, on | SER_RS485_RTS_ON_SEND | SER_RS485_RTS_AFTER_SEND) == -EINVAL);
	CHECK(fails(ioctl(tty, TIOCSRS485, NULL), EFAULT));
	/* Longer than the core can count. Delays that are switched off do not count. */
	CHECK(fails(ioctl(tty, TIOCSRS485, &before), EINVAL));
	CHECK(fails(ioctl(tty, TIOCSRS485, &after), EINVAL));
	CHECK(!ioctl(tty, TIOCSRS485, &(struct serial_rs485){ .delay_rts_after_send = 1 }));
	CHECK(!rs485(tty, on) && !rs485(tty, on | SER_RS485_RTS_ON_SEND));
	CHECK(!rs485(tty, SER_RS485_RTS_AFTER_SEND));
	close(tty);
	bytes(pulse);
}

static void loop(void)
{
	int pulse = open_pulse(), fd = keeper(pulse), tty = open_tty(B115200), lines;

	CHECK(!ioctl(tty, TIOCMBIS, &loop_bit));
	start_train(fd, endless);
	CHECK(!tcdrain(tty));
	close(tty);
	close(fd);
	close(pulse);
	CHECK(known("loop") == 1);
	unbind();
	CHECK(known("loop") == 1);
	bind_again();
	usleep(300000);
	CHECK(known("loop") == 1);
	tty = open_tty(B115200);
	usleep(300000);
	CHECK(known("loop") == 1 && !ioctl(tty, TIOCMGET, &lines) && lines & loop_bit);
	CHECK(!ioctl(tty, TIOCMBIC, &loop_bit));
	usleep(300000);
	CHECK(known("loop") == 0);
	close(tty);
	pulse = open_pulse();
	close(claim(pulse));
	bytes(pulse);
}

static void set_loop(void)
{
	const int on = running->of;
	struct termios settings;
	int tty = open_tty(B115200), lines;

	/* Else the next open() would set the lines again. */
	CHECK(!tcgetattr(tty, &settings));
	settings.c_cflag &= ~HUPCL;
	CHECK(!tcsetattr(tty, TCSANOW, &settings));
	CHECK(!ioctl(tty, on ? TIOCMBIS : TIOCMBIC, &loop_bit));
	CHECK(!ioctl(tty, TIOCMGET, &lines) && !(lines & loop_bit) == !on);
	close(tty);
	usleep(300000);
	CHECK(known("loop") == on);
}

static void loop_is_back(void)
{
	usleep(300000);
	CHECK(known("loop") == 1);
	set_loop();
}

const struct guest_case tty_cases[] = {
	{ "closed-unreachable", closed_unreachable, "closed meanwhile, its line can be lent" },
	{ "overtake", overtake, "no newer line word overtakes one that is late (sleeps=1)" },
	{ "xon", xon, "an XON that comes while an XOFF is on its way is sent" },
	{ "breaks", breaks, "each tcsendbreak() is one; a long one ends with its call or board" },
	{ "divisor", divisor, "setserial's custom divisor is the rate, also for an ordinary user" },
	{ "latency", latency, "setserial's low_latency acts at once, also for an ordinary user" },
	{ "flush", flush, "tcflush() also drops what the board has received" },
	{ "refused", refused, "a line discipline and a polarity of RS-485 that cannot be had" },
	{ "loop", loop, "the loopback of what goes on stays over unbind and bind (keeps=1)" },
	{ "set-loop", set_loop, "the tty's loopback stays when it is closed", .of = 1 },
	{ "loop-is-back", loop_is_back, "who had the line had it without: the tty has it again" },
	{ }
};
