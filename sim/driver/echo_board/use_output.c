/* SPDX-License-Identifier: BSD-2-Clause */
/* What goes out: trains, launches, answers, what a claim kept, and the settings that they use. */
#include <sys/syscall.h>
#include <sys/timex.h>

#include "use.h"

#include <linux/ptp_clock.h>

static int is_train_known(int pulse)
{
	struct litepulse_train train;
	const int error = ioctl(pulse, LITEPULSE_IOC_TRAIN, &train);

	CHECK(!error || errno == ENODATA);
	CHECK(error || !memcmp(&train, &endless, sizeof(train)));
	return !error;
}

static void reset_while(int pulse)
{
	struct litepulse_event event;

	subscribe(pulse, REALTIME(KIND(APPLIED)));
	write_parameter("reset", "0");
	do
		CHECK(take_event(pulse, &event));
	while (event.kind != LITEPULSE_KIND_RESTARTED);
	subscribe(pulse, REALTIME(0));
	/* Settings are written again a little later. */
	usleep(500000);
}

static void de(void)
{
	const unsigned int on = SER_RS485_ENABLED | SER_RS485_RTS_ON_SEND;
	const unsigned int echo = LITEPULSE_DRIVER_ENABLE_ECHO;
	const unsigned int unchanged = LITEPULSE_DRIVER_ENABLE_UNCHANGED;
	int pulse = open_pulse(), fd = claim(pulse), tty = open_tty(B115200);

	CHECK(known("echo") == 16);
	CHECK(!driver_enable(fd, 1000, 65535, 0, 0) && de_is(1000, 65535, 16));
	CHECK(!driver_enable(fd, 1001, 65534, echo, 1023) && de_is(1001, 65534, 1023));
	/* A refused call changes nothing. */
	CHECK(driver_enable(fd, 1, 65536, echo, 1) == -EINVAL);
	CHECK(driver_enable(fd, 1, 1, echo, 1024) == -EINVAL);
	CHECK(driver_enable(fd, 1, 1, 0, 1) == -EINVAL);
	CHECK(driver_enable(fd, 1, 1, echo << 1, 0) == -EINVAL);
	CHECK(driver_enable(fd, 1, 1, echo, ~0u) == -EINVAL);
	CHECK(de_is(1001, 65534, 1023));
	/* Without the flag it stays, and a tail of 0 can be set. */
	CHECK(!driver_enable(fd, 7, 8, 0, 0) && known("lead") == 7 && known("echo") == 1023);
	CHECK(!driver_enable(fd, 7, 8, echo, 0) && known("lag") == 8 && known("echo") == 0);
	CHECK(!driver_enable(fd, 7, 8, echo, 300) && known("echo") == 300);
	/* The echo's tail alone: lead and lag stay, and are not given. */
	CHECK(!driver_enable(fd, 0, 0, echo | unchanged, 200) && de_is(7, 8, 200));
	CHECK(driver_enable(fd, 7, 0, echo | unchanged, 1) == -EINVAL);
	CHECK(driver_enable(fd, 0, 8, unchanged, 0) == -EINVAL && known("echo") == 200);
	CHECK(!driver_enable(fd, 7, 8, echo, 300));

	/* The train that runs is known to all; without one there is nothing to know. */
	CHECK(!is_train_known(pulse));
	start_train(fd, endless);
	CHECK(is_train_known(pulse));
	stop_train(fd);
	CHECK(!is_train_known(pulse));
	/*
	 * A train that the board may or may not have taken is unknown; nor is the old one reported.
	 */
	write_parameter("hold", "1");
	CHECK(fails(try_train(fd, endless), EIO));
	CHECK(!is_train_known(pulse));
	write_parameter("hold", "0");
	stop_train(fd);

	/* While a train runs, the lead cannot be changed. All else can. */
	start_train(fd, endless);
	for (int hidden = 0; hidden < 2; hidden++) {
		write_parameter("hide_train", hidden ? "1" : "0");
		CHECK(driver_enable(fd, 6, 9, echo, 1) == -EBUSY && de_is(7, 8, 300));
	}
	write_parameter("hide_train", "0");
	CHECK(rs485(tty, on) == -EBUSY);
	CHECK(known("lead") == 7 && known("lag") == 8);
	CHECK(!driver_enable(fd, 7, 9, echo, 301) && known("lag") == 9 && known("echo") == 301);
	stop_train(fd);
	CHECK(!rs485(tty, on));
	tcdrain(tty);
	usleep(100000);
	CHECK(de_is(0, 0, 301));
	CHECK(!driver_enable(fd, 5, 6, 0, 0));

	/* A refusal of another file's command is no answer to the train. */
	write_parameter("refuse_others", "1");
	start_train(fd, endless);
	stop_train(fd);
	write_parameter("refuse_others", "0");

	/* A board that was reset gets all three again. What was refused is not among them. */
	start_train(fd, endless);
	CHECK(driver_enable(fd, 6, 9, echo, 1) == -EBUSY && rs485(tty, on) == -EBUSY);
	reset_while(pulse);
	CHECK(de_is(5, 6, 301));
	CHECK(driver_enable(fd, 5, 6, 0, 0) == -ESTALE);
	close(fd);
	/* The claim's end changes nothing, the train of before is no longer in the way. */
	CHECK(de_is(5, 6, 301));
	CHECK(!rs485(tty, on));
	close(tty);
	/* The next driver begins from the start. */
	unbind();
	CHECK(known("echo") == 16);
	bind_again();
}

static int adjust(int claim, struct litepulse_train_adjust request)
{
	request.den = 1;
	return ioctl(claim, LITEPULSE_IOC_TRAIN_ADJUST, &request) ? -errno : 0;
}

static int width_is(int pulse, unsigned int width)
{
	struct litepulse_train train;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_TRAIN, &train));
	return train.width == width && known("width") == (int)width;
}

/* Of a running train: a new width of its pulses, and which train can be changed at all. */
static void widths(void)
{
	const unsigned int given = LITEPULSE_ADJUST_WIDTH;
	int pulse = open_pulse(), fd = claim(pulse);
	struct litepulse_train train = endless;

	start_train(fd, endless);
	CHECK(width_is(pulse, 500));
	CHECK(!adjust(fd, (struct litepulse_train_adjust){ 900000, .flags = given, .width = 700 }));
	CHECK(width_is(pulse, 700));
	/* Without the flag it stays; nothing else is taken for a width. */
	CHECK(!adjust(fd, (struct litepulse_train_adjust){ 800000 }) && width_is(pulse, 700));
	CHECK(adjust(fd, (struct litepulse_train_adjust){ 800000, .width = 1 }) == -EINVAL);
	CHECK(adjust(fd, (struct litepulse_train_adjust){ 800000, .flags = given }) == -EINVAL);
	CHECK(adjust(fd, (struct litepulse_train_adjust){ 800000, .flags = 2 }) == -EINVAL);
	CHECK(adjust(fd, (struct litepulse_train_adjust){ 800000, .reserved = 1 }) == -EINVAL);
	CHECK(width_is(pulse, 700));
	/* A change that is refused at its pulse: the next one without a width has that of before. */
	write_parameter("hold_change", "1");
	CHECK(!adjust(fd, (struct litepulse_train_adjust){ 700000, .flags = given, .width = 9 }));
	CHECK(adjust(fd, (struct litepulse_train_adjust){ 700000 }) == -EBUSY && width_is(pulse, 9));
	write_parameter("hold_change", "0");
	write_parameter("refuse_change", "1");
	CHECK(!ioctl(pulse, LITEPULSE_IOC_TRAIN, &train) && train.width == 700 && train.period == 800000);
	CHECK(!adjust(fd, (struct litepulse_train_adjust){ 600000 }) && width_is(pulse, 700));
	stop_train(fd);
	/* Of bytes there is none. */
	train = endless;
	train.kind = LITEPULSE_LAUNCH_FRAME;
	train.width = 0;
	start_train(fd, train);
	CHECK(adjust(fd, (struct litepulse_train_adjust){ 900000, .flags = given, .width = 1 }) == -EINVAL);
	CHECK(!adjust(fd, (struct litepulse_train_adjust){ 900000, .flags = given }) && width_is(pulse, 0));
	stop_train(fd);
	/* With a lead a train that is as fast may be too fast to be changed. */
	train = endless;
	train.period = 330;
	train.width = 20;
	start_train(fd, train);
	CHECK(!adjust(fd, (struct litepulse_train_adjust){ 330 }));
	stop_train(fd);
	CHECK(!driver_enable(fd, 11, 0, 0, 0));
	start_train(fd, train);
	CHECK(adjust(fd, (struct litepulse_train_adjust){ 330 }) == -EOPNOTSUPP);
	CHECK(adjust(fd, (struct litepulse_train_adjust){ 1000000 }) == -EOPNOTSUPP && width_is(pulse, 20));
	stop_train(fd);
	/* A train that is not known. */
	write_parameter("hold", "1");
	CHECK(fails(try_train(fd, endless), EIO));
	write_parameter("hold", "0");
	CHECK(adjust(fd, (struct litepulse_train_adjust){ 900000, .flags = given, .width = 1 }) == -ENODATA);
	stop_train(fd);
	close(fd);
	close(pulse);
}

/* Each edge with a launch; on a transport that sleeps with none, unless it defers. */
static void answer(void)
{
	int none = is("/sys/module/echo_board/parameters/sleeps", "Y") &&
		   !is("/sys/module/litepulse_echo/parameters/defer", "Y");

	for (int edges = 0; edges < 3; edges++) {
		write_parameter("edge", "1");
		usleep(50000);
	}
	CHECK(known("loop") == 0 && is("/sys/module/litepulse_echo/parameters/seen", "3"));
	CHECK(is("/sys/module/litepulse_echo/parameters/refused", none ? "0,1,2" : ""));
	CHECK(known("launches") == (none ? 0 : 3));
}

/* It answers with what is no launch (kind=3), or has no tick of its own (flags=1). */
static void answer_refused(void)
{
	write_parameter("edge", "1");
	usleep(50000);
	CHECK(is("/sys/module/litepulse_echo/parameters/seen", "1"));
	CHECK(is("/sys/module/litepulse_echo/parameters/refused", "0") && known("launches") == 0);
}

static void keep(void)
{
	int pulse = open_pulse(), fd = claim(pulse);

	start_train(fd, endless);
	write_parameter("unreachable", "1");
	close(fd);
	fd = try_claim(pulse, (struct litepulse_claim){ .fd_flags = O_CLOEXEC });
	CHECK(fd >= 0 || errno == EIO);
	write_parameter("unreachable", "0");
	if (fd < 0)
		fd = claim(pulse);
	/* Before anybody else would have stopped it. */
	stop_train(fd);
	start_train(fd, endless);
	keep_output(fd);
	close(fd);
	sleep(3);
	CHECK(train_runs(pulse));
}

static int baud_is(int tty, speed_t baud)
{
	struct termios settings;

	CHECK(!tcgetattr(tty, &settings));
	return cfgetospeed(&settings) == baud;
}

/* Only profile @used cannot be changed; the same settings can be set again. */
static void check_profiles(int pulse, unsigned int used)
{
	int fd = keeper(pulse);

	for (unsigned int index = 1; index <= 3; index++) {
		const int expected = index == used ? -EBUSY : 0;

		CHECK(set_profile(fd, index, 9600, LITEPULSE_PROFILE_INVERT) == expected);
		CHECK(set_profile(fd, index, 4800, 0) == expected);
		CHECK(!set_profile(fd, index, 9600, 0));
	}
	close(fd);
}

/* The holder of the claim changes kept output, and its own. */
static void change_kept(int pulse)
{
	const struct litepulse_responder edge = PULSE_ANSWER(
		.flags = LITEPULSE_RESPONDER_RISE, .delay = 1000, .width = 100, .profile = 3);
	struct litepulse_launch launch = { .kind = LITEPULSE_LAUNCH_FRAME, .profile = 2 };
	struct litepulse_train other = endless;
	int fd = keeper(pulse);

	other.profile = 1;
	stop_train(fd);
	CHECK(!set_profile(fd, 1, 4800, 0));
	start_train(fd, other);
	CHECK(!set_profile(fd, 1, 9600, 0));
	stop_train(fd);
	CHECK(!respond(fd, edge) && !set_profile(fd, 3, 4800, 0));
	CHECK(!set_profile(fd, 3, 9600, 0));
	close(fd);
	check_profiles(pulse, 3);
	fd = keeper(pulse);
	CHECK(!respond(fd, NO_RESPONDER) && !set_profile(fd, 3, 4800, 0));
	launch.tick = now(pulse) + 5000000000;
	CHECK(!set_profile(fd, 2, 9600, 0) && !try_launch(fd, launch));
	CHECK(!set_profile(fd, 2, 4800, 0) && !set_profile(fd, 2, 9600, 0));
	close(fd);
	check_profiles(pulse, 2);
	/* When the launch has left, nothing uses it: also if others wait by then. */
	sleep(6);
	fd = keeper(pulse);
	launch.profile = 1;
	launch.tick += 5000000000;
	CHECK(!try_launch(fd, launch) && !set_profile(fd, 2, 4800, 0));
	CHECK(!ioctl(fd, LITEPULSE_IOC_FLUSH));
	close(fd);
}

static void profiles(void)
{
	const struct litepulse_responder to_bytes = PULSE_ANSWER(
		.trigger = LITEPULSE_TRIGGER_BYTE, .delay = 1000, .width = 100, .profile = 1);
	int pulse = open_pulse(), fd = keeper(pulse), tty;
	struct litepulse_train other = endless;
	struct termios settings;

	for (int index = 1; index <= 3; index++)
		CHECK(!set_profile(fd, index, 9600, 0));
	other.profile = 1;
	start_train(fd, other);
	close(fd);
	check_profiles(pulse, 1);
	/* The tty's profile is free: it is changed, as ever. */
	tty = open_tty(B115200);
	CHECK(!set_speed(tty, B9600) && baud_is(tty, B9600));
	close(tty);
	close(pulse);
	rebind();
	pulse = open_pulse();
	check_profiles(pulse, 1);
	change_kept(pulse);

	/* A LIN slave answers at the tty's profile, and a responder to bytes receives at that. */
	for (int round = 0; round < 2; round++) {
		tty = open_tty(B115200);
		fd = keeper(pulse);
		CHECK(!respond(fd, round ? SLAVE() : to_bytes));
		CHECK(!set_speed(tty, B9600) && !set_speed(tty, B115200) && baud_is(tty, B115200));
		close(fd);
		for (int again = 0; again < 2; again++) {
			const int period = known("period");

			CHECK(!set_speed(tty, B9600));
			CHECK(baud_is(tty, B115200) && known("period") == period);
			CHECK(!tcgetattr(tty, &settings));
			settings.c_cflag |= PARENB;
			CHECK(!tcsetattr(tty, TCSANOW, &settings) || errno == EINVAL);
			CHECK(!tcgetattr(tty, &settings) && !(settings.c_cflag & PARENB));
			CHECK(known("period") == period);
			close(tty);
			if (!again) {
				close(pulse);
				rebind();
				pulse = open_pulse();
			}
			/* A tty that is opened has the settings of what goes on. */
			tty = open_numbered("ttyPULSE", board.tty, O_RDWR);
			CHECK(tty >= 0 && baud_is(tty, B115200) && known("period") == period);
		}
		fd = keeper(pulse);
		CHECK(!respond(fd, NO_RESPONDER));
		close(fd);
		CHECK(!set_speed(tty, B9600) && baud_is(tty, B9600));
		close(tty);
	}
	close(claim(pulse));
	bytes(pulse);
}

/* Edges of some channels behind a filter; length 0: behind none. */
static int filter(int fd, unsigned int channels, unsigned int length)
{
	struct litepulse_subscribe want = WANT(KIND(EDGE), NONE, .rise = channels, .fall = channels,
					       .filtered = length ? channels : 0, .filter = length);

	return ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &want) ? -errno : 0;
}

static int is_filtered(unsigned int channels, unsigned int length)
{
	return known("filtered") == (int)channels &&
	       (!channels || known("samples") == (int)length);
}

/*
 * Changes of the filter by other files while a responder is triggered by @channel, behind a filter
 * of @length; 0: none.
 */
static void check_filters(int pulse, unsigned int channel, unsigned int length)
{
	const unsigned int other = channel == 1 ? 2 : 1, kept = length ? channel : 0;

	CHECK(!filter(pulse, channel, 0) && is_filtered(kept, length));
	CHECK(filter(pulse, channel, 60) == -EBUSY && filter(pulse, channel | other, 60) == -EBUSY);
	CHECK(is_filtered(kept, length));
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
	struct litepulse_responder responder = PULSE_ANSWER(.delay = 1000, .width = 100,
							    .profile = 1);

	for (int round = 0; round < 4; round++) {
		/* A responder to bytes is triggered by the line, the last channel of all. */
		const unsigned int channel = round < 2 ? 1 : 1 << 4, length = round & 1 ? 10 : 0;
		int pulse = open_pulse(), fd = keeper(pulse);

		responder.trigger = round < 2 ? LITEPULSE_TRIGGER_EDGE : LITEPULSE_TRIGGER_BYTE;
		responder.flags = round < 2 ? LITEPULSE_RESPONDER_RISE : 0;
		/* The claim's file changes the filter as it likes, other files do not. */
		CHECK(!set_profile(fd, 1, 9600, 0) && !respond(fd, responder));
		CHECK(!filter(fd, channel, 60) && !filter(fd, channel, length));
		CHECK(!filter(fd, 0, 0));
		check_filters(pulse, channel, length);
		/* It is still armed if another one could not be. */
		write_parameter("unreachable", "1");
		CHECK(respond(fd, responder) == -EIO);
		write_parameter("unreachable", "0");
		check_filters(pulse, channel, length);
		CHECK(!filter(pulse, 0, 0) && !filter(fd, channel, 60));
		CHECK(is_filtered(channel, 60) && !filter(fd, channel, length));
		close(fd);
		check_filters(pulse, channel, length);
		close(pulse);
		CHECK(is_filtered(length ? channel : 0, length));
		rebind();
		pulse = open_pulse();
		check_filters(pulse, channel, length);
		fd = keeper(pulse);
		CHECK(!respond(fd, NO_RESPONDER));
		CHECK(!filter(pulse, channel, 60) && !filter(pulse, channel, 0));
		CHECK(is_filtered(0, 0));
		close(fd);
		close(pulse);
	}
}

static const struct ptp_perout_request every_100_ms = { .period = { .nsec = 100000000 } };
static const struct ptp_perout_request end_perout = { .index = 0 };

static void perout(void)
{
	struct timex faster = { .modes = ADJ_FREQUENCY, .freq = 1000 << 16 };
	int pulse = open_pulse(), ptp = open_clock(pulse), left = 50;
	struct litepulse_train before, after;

	CHECK(!ioctl(ptp, PTP_PEROUT_REQUEST, &every_100_ms));
	CHECK(!ioctl(pulse, LITEPULSE_IOC_TRAIN, &before));
	sleep(1);
	write_parameter("unreachable", "1");
	CHECK(syscall(SYS_clock_adjtime, CLOCK_OF(ptp), &faster) >= 0);
	write_parameter("unreachable", "0");
	do {
		usleep(100000);
	} while ((ioctl(pulse, LITEPULSE_IOC_TRAIN, &after) || after.start == before.start) &&
		 left--);
	CHECK(left > 0 && after.period != before.period);
	CHECK(!ioctl(ptp, PTP_PEROUT_REQUEST, &end_perout));
	close(ptp);
	bytes(pulse);
}

/* 58 pulses in a second: 17241379 9/29 ticks. */
static const struct litepulse_train_follow per_second_58 = {
	.span = 1000000000, .pulses = 58, .width = 500, .kind = LITEPULSE_LAUNCH_PULSE,
};

#define FOLLOW(...) ((struct litepulse_train_follow){ \
	.span = 1000000000, .pulses = 58, .width = 500, .kind = LITEPULSE_LAUNCH_PULSE, \
	__VA_ARGS__ })

static int follow(int fd, struct litepulse_train_follow request)
{
	return ioctl(fd, LITEPULSE_IOC_TRAIN_FOLLOW, &request) ? -errno : 0;
}

static void change_clock(int ptp, struct timex change)
{
	CHECK(syscall(SYS_clock_adjtime, CLOCK_OF(ptp), &change) >= 0);
}

static void set_rate(int ptp, int ppm)
{
	change_clock(ptp, (struct timex){ .modes = ADJ_FREQUENCY, .freq = ppm * 65536 });
}

static void step_clock(int ptp)
{
	change_clock(ptp, (struct timex){ .modes = ADJ_SETOFFSET | ADJ_NANO, .time = { 1, 7 } });
}

/* The train, as soon as it has another period than @before, or another start. */
static struct litepulse_train changed(int pulse, struct litepulse_train before)
{
	struct litepulse_train train;
	int left = 50;

	while (ioctl(pulse, LITEPULSE_IOC_TRAIN, &train) ||
	       (train.period == before.period && train.start == before.start)) {
		CHECK(left--);
		usleep(100000);
	}
	return train;
}

static int is_exact(struct litepulse_train train)
{
	return train.period == 17241379 && train.num == 9 && train.den == 29;
}

static void refuse_follow(int fd)
{
	CHECK(follow(fd, FOLLOW(.flags = LITEPULSE_FOLLOW_STEPS << 1)) == -EINVAL);
	CHECK(follow(fd, FOLLOW(.flags = LITEPULSE_FOLLOW_STEPS, .count = 1)) == -EINVAL);
	CHECK(follow(fd, FOLLOW(.reserved = 1)) == -EINVAL);
	CHECK(follow(fd, FOLLOW(.reserved2 = 1)) == -EINVAL);
	CHECK(follow(fd, FOLLOW(.skipped = 1)) == -EINVAL);
	CHECK(follow(fd, FOLLOW(.start = 1)) == -EINVAL);
	CHECK(follow(fd, FOLLOW(.span = 0)) == -EINVAL);
	CHECK(follow(fd, FOLLOW(.pulses = 0)) == -EINVAL);
	CHECK(follow(fd, FOLLOW(.pulses = 1u << 31)) == -EINVAL);
	CHECK(follow(fd, FOLLOW(.width = 0)) == -EINVAL);
	/* Too fast to be changed, and no period of the core. */
	CHECK(follow(fd, FOLLOW(.pulses = 4000000)) == -EINVAL);
	CHECK(follow(fd, FOLLOW(.span = 57)) == -ERANGE);
	CHECK(follow(fd, FOLLOW(.span = 1ull << 40)) == -ERANGE);
}

static void follow_clock(void)
{
	int pulse = open_pulse(), ptp = open_clock(pulse), fd = claim(pulse);
	struct litepulse_train_follow request = per_second_58;
	struct litepulse_train train, next;

	refuse_follow(fd);
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_FOLLOW, &request));
	CHECK(!ioctl(pulse, LITEPULSE_IOC_TRAIN, &train) && is_exact(train));
	CHECK(train.start == request.start && request.skipped > 58);
	/* It belongs to the clock. */
	CHECK(follow(fd, per_second_58) == -EBUSY);
	CHECK(fails(try_train(fd, endless), EBUSY));
	CHECK(adjust(fd, (struct litepulse_train_adjust){ 20000000 }) == -EBUSY);
	CHECK(ioctl(ptp, PTP_PEROUT_REQUEST, &every_100_ms) && errno == EBUSY);
	/* Its rate is the clock's, which goes 1000 ppm faster, and is what it was. */
	sleep(1);
	set_rate(ptp, 1000);
	next = changed(pulse, train);
	CHECK(next.start == train.start && next.period / 10 == 1722415);
	set_rate(ptp, 0);
	next = changed(pulse, next);
	CHECK(next.start == train.start && is_exact(next));
	/* It is not to follow a step. */
	step_clock(ptp);
	CHECK(!is_train_known(pulse));
	/* This one is. */
	CHECK(!follow(fd, FOLLOW(.flags = LITEPULSE_FOLLOW_STEPS)));
	CHECK(!ioctl(pulse, LITEPULSE_IOC_TRAIN, &train));
	step_clock(ptp);
	CHECK(is_exact(changed(pulse, train)));
	stop_train(fd);
	step_clock(ptp);
	usleep(300000);
	CHECK(!is_train_known(pulse));
	start_train(fd, endless);
	stop_train(fd);
	/* One with a count follows until its last pulse. */
	CHECK(!follow(fd, FOLLOW(.count = 5)));
	CHECK(adjust(fd, (struct litepulse_train_adjust){ 20000000 }) == -EBUSY);
	write_parameter("hide_train", "1");
	set_rate(ptp, 10);
	write_parameter("hide_train", "0");
	CHECK(!adjust(fd, (struct litepulse_train_adjust){ 20000000 }));
	stop_train(fd);
	/* What was kept goes on, but follows no more. */
	CHECK(!follow(fd, per_second_58));
	CHECK(!ioctl(pulse, LITEPULSE_IOC_TRAIN, &train));
	keep_output(fd);
	close(fd);
	set_rate(ptp, 0);
	usleep(300000);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_TRAIN, &next) && next.period == train.period);
	fd = claim(pulse);
	stop_train(fd);
	/* A reset ends it with the claim. */
	CHECK(!follow(fd, FOLLOW(.flags = LITEPULSE_FOLLOW_STEPS)));
	reset_while(pulse);
	set_rate(ptp, 10);
	CHECK(follow(fd, per_second_58) == -ESTALE && !is_train_known(pulse));
	set_rate(ptp, 0);
	close(fd);
	close(ptp);
	bytes(pulse);
}

static int output_of_clock(int ptp)
{
	return ioctl(ptp, PTP_PEROUT_REQUEST, &every_100_ms) ||
	       ioctl(ptp, PTP_PEROUT_REQUEST, &end_perout) ? -errno : 0;
}

/* A claim of which something may go on, with the line at 0. */
static int low_keeper(int pulse)
{
	const struct litepulse_rest low = { .level = LITEPULSE_REST_LOW };
	int fd = keeper(pulse);

	CHECK(!ioctl(fd, LITEPULSE_IOC_REST, &low) && known("rest") == 1);
	return fd;
}

static void rest(void)
{
	int pulse = open_pulse(), ptp = open_clock(pulse), fd, tty;
	struct litepulse_train up = endless;

	up.profile = 1;
	/* Nothing was started. */
	close(low_keeper(pulse));
	CHECK(known("rest") == 0 && !output_of_clock(ptp));
	/* The clock's output ends by itself: after the next claim, or a while later without one. */
	for (int next = 0; next < 3; next++) {
		fd = low_keeper(pulse);
		CHECK(!set_profile(fd, 1, 9600, LITEPULSE_PROFILE_INVERT));
		start_train(fd, up);
		close(fd);
		CHECK(output_of_clock(ptp) == -EBUSY);
		sleep(3);
		CHECK(known("rest") == 1);
		write_parameter("hide_train", "1");
		if (next == 0) {
			CHECK(!output_of_clock(ptp));
		} else if (next == 1) {
			tty = open_tty(B115200);
			CHECK(!tcsendbreak(tty, 0));
			close(tty);
		} else {
			sleep(3);
		}
		CHECK(known("rest") == 0);
		write_parameter("hide_train", "0");
		close(claim(pulse));
	}
	close(ptp);
	bytes(pulse);
}

const struct guest_case output_cases[] = {
	{ "de", de, "lead and lag of the de pin, the echo's tail; a new lead while a train runs" },
	{ "widths", widths, "a new width for a running train, and trains that are too fast to be changed" },
	{ "answer", answer, "litepulse_echo answers edges, or is refused that" },
	{ "answer-refused", answer_refused, "litepulse_echo with a wait or a relative launch" },
	{ "keep", keep, "what a claim kept goes on, though the one before could not be stopped" },
	{ "profiles", profiles, "line profiles that kept output uses stay as they are (keeps=1)" },
	{ "filters", filters, "so does the filter of what triggers a responder (keeps=1)" },
	{ "perout", perout, "restarts if the outcome of a change of its train is not known" },
	{ "follow", follow_clock, "a program's train follows the PTP clock, by an exact fraction of its second" },
	{ "rest", rest, "the line rests at 0 only for a claim, or what it kept (keeps=1)" },
	{ }
};
