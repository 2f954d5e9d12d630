// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of /dev/litepulse0, or of the device that the environment variable LITEPULSE names
 *
 * They need no wires. What they send appears on the transmit pin.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/litepulse.h>

#include "../kselftest_harness.h"

#define LAUNCHES 10
#define AHEAD_MS 100
#define FAR_MS 2000

/* 0, or the negative errno */
static int command(int fd, unsigned long number, void *argument)
{
	return ioctl(fd, number, argument) < 0 ? -errno : 0;
}

static unsigned long resized(unsigned long number, unsigned int size)
{
	return _IOC(_IOC_DIR(number), _IOC_TYPE(number), _IOC_NR(number), size);
}

static const char *name(void)
{
	const char *chosen = getenv("LITEPULSE");

	return chosen ? chosen : "/dev/litepulse0";
}

static int64_t host_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

FIXTURE(device)
{
	int fd;
	int claim;
	struct litepulse_info info;
};

FIXTURE_SETUP(device)
{
	self->claim = -1;
	self->fd = open(name(), O_RDWR | O_CLOEXEC);
	if (self->fd < 0 && (errno == ENOENT || errno == ENODEV))
		SKIP(return, "there is no %s", name());
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, command(self->fd, LITEPULSE_IOC_INFO, &self->info));
}

FIXTURE_TEARDOWN(device)
{
	if (self->claim >= 0)
		close(self->claim);
	if (self->fd >= 0)
		close(self->fd);
}

/* The claim, or a negative errno. */
static int claim(int fd)
{
	struct litepulse_claim claim = { .fd_flags = O_CLOEXEC };
	int error = command(fd, LITEPULSE_IOC_CLAIM, &claim);

	return error ? error : claim.fd;
}

/* The tick that is @ms milliseconds from now. */
static uint64_t ahead(int fd, const struct litepulse_info *info, unsigned int ms)
{
	struct litepulse_time now;

	if (command(fd, LITEPULSE_IOC_TIME, &now))
		return 0;
	return now.tick + info->tick_num / info->tick_den * ms / 1000;
}

/* 0, or the negative errno of the write of one launch */
static int launch(int fd, const struct litepulse_launch *launch)
{
	ssize_t size = write(fd, launch, sizeof(*launch));

	if (size < 0)
		return -errno;
	return size == sizeof(*launch) ? 0 : -EIO;
}

TEST_F(device, info)
{
	EXPECT_LE(2, self->info.abi);
	EXPECT_NE(0, self->info.tick_num);
	EXPECT_NE(0, self->info.tick_den);
	EXPECT_TRUE(self->info.samples && !(self->info.samples & (self->info.samples - 1)));
	EXPECT_NE(0, self->info.launch_depth);
	EXPECT_LE(0, self->info.tty);
	EXPECT_EQ(0, self->info.reserved);
}

TEST_F(device, nothing_without_subscription)
{
	struct pollfd ready = { .fd = self->fd, .events = POLLIN };
	struct litepulse_event event;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(0, poll(&ready, 1, 0));
	EXPECT_EQ(-1, read(self->fd, &event, sizeof(event)));
	EXPECT_EQ(EAGAIN, errno);
}

TEST_F(device, whole_records_only)
{
	struct litepulse_event event;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(-1, read(self->fd, &event, sizeof(event) - 1));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(device, subscription_is_checked)
{
	const struct litepulse_subscribe wrong[] = {
		{ .kinds = 1u << 31 },
		{ .kinds = 1u << LITEPULSE_KIND_LOST },
		{ .kinds = 1u << LITEPULSE_KIND_RESTARTED },
		{ .kinds = 1u << LITEPULSE_KIND_RX, .sources = 1u << 31 },
		{ .kinds = 1u << LITEPULSE_KIND_RX, .reserved = 1 },
		{ .kinds = 1u << LITEPULSE_KIND_RX, .clock = LITEPULSE_CLOCK_NONE + 1 },
		{ .kinds = 1u << LITEPULSE_KIND_RX, .fifo = 15 },
		{ .kinds = 1u << LITEPULSE_KIND_RX, .fifo = 131072 },
		{ .kinds = 1u << LITEPULSE_KIND_RX, .fifo = 16, .watermark = 17 },
		{ .kinds = 1u << LITEPULSE_KIND_RX, .timeout_us = 1000001 },
		{ .kinds = 1u << LITEPULSE_KIND_EDGE, .rise = 1, .filtered = 1, .filter = 64 },
	};
	struct litepulse_subscribe want;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		want = wrong[i];
		EXPECT_EQ(-EINVAL, command(self->fd, LITEPULSE_IOC_SUBSCRIBE, &want))
			TH_LOG("subscription %u", i);
	}
	want = (struct litepulse_subscribe){ .kinds = 1u << LITEPULSE_KIND_RX, .fifo = 16 };
	EXPECT_EQ(0, command(self->fd, LITEPULSE_IOC_SUBSCRIBE, &want));
}

TEST_F(device, reading_needs_no_rights)
{
	struct litepulse_subscribe want = { .kinds = 1u << LITEPULSE_KIND_EDGE, .rise = 1 };
	struct litepulse_info info;
	int fd = open(name(), O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, command(fd, LITEPULSE_IOC_INFO, &info));
	EXPECT_EQ(0, command(fd, LITEPULSE_IOC_SUBSCRIBE, &want));
	/* What changes something for others does. */
	want.filtered = 1;
	want.filter = 3;
	EXPECT_EQ(-EACCES, command(fd, LITEPULSE_IOC_SUBSCRIBE, &want));
	EXPECT_EQ(-EACCES, claim(fd));
	close(fd);
}

TEST_F(device, arguments_can_grow)
{
	const unsigned int size = sizeof(struct litepulse_subscribe);
	unsigned char argument[256] = { 0 };
	unsigned int i;

	EXPECT_EQ(-ENOTTY, command(self->fd, resized(LITEPULSE_IOC_SUBSCRIBE, size - 4), argument));
	EXPECT_EQ(0, command(self->fd, resized(LITEPULSE_IOC_SUBSCRIBE, 256), argument));
	argument[255] = 1;
	EXPECT_EQ(-E2BIG, command(self->fd, resized(LITEPULSE_IOC_SUBSCRIBE, 256), argument));
	/* An answer ends with what this kernel knows. */
	memset(argument, 0xee, sizeof(argument));
	EXPECT_EQ(0, command(self->fd, resized(LITEPULSE_IOC_INFO, 200), argument));
	for (i = sizeof(struct litepulse_info); i < 200; i++)
		EXPECT_EQ(0, argument[i]);
	EXPECT_EQ(0xee, argument[200]);
	EXPECT_EQ(-ENOTTY, command(self->fd, _IO(LITEPULSE_IOC_MAGIC, 0xff), NULL));
}

TEST_F(device, time)
{
	struct litepulse_time first, second;
	int64_t before = host_ns(CLOCK_MONOTONIC), after;

	ASSERT_EQ(0, command(self->fd, LITEPULSE_IOC_TIME, &first));
	after = host_ns(CLOCK_MONOTONIC);
	EXPECT_LE(first.raw_before, first.raw_after);
	EXPECT_LE(before, (int64_t)(first.monotonic + first.uncertainty));
	EXPECT_GE(after, (int64_t)(first.monotonic - first.uncertainty));
	ASSERT_EQ(0, command(self->fd, LITEPULSE_IOC_TIME, &second));
	EXPECT_LT(first.tick, second.tick);
	EXPECT_LE(first.raw_after, second.raw_before);
}

TEST_F(device, one_claim)
{
	struct litepulse_claim unknown = { .flags = 1u << 31 };
	struct litepulse_keep keep = { 0 };

	EXPECT_EQ(-EINVAL, command(self->fd, LITEPULSE_IOC_CLAIM, &unknown));
	EXPECT_EQ(-ENOTTY, command(self->fd, LITEPULSE_IOC_KEEP, &keep));
	self->claim = claim(self->fd);
	ASSERT_LE(0, self->claim);
	EXPECT_EQ(FD_CLOEXEC, fcntl(self->claim, F_GETFD));
	EXPECT_EQ(0, command(self->claim, LITEPULSE_IOC_KEEP, &keep));
	EXPECT_EQ(-EBUSY, claim(self->fd));
	close(self->claim);
	self->claim = claim(self->fd);
	EXPECT_LE(0, self->claim);
}

TEST_F(device, launches_happen_at_their_ticks)
{
	struct litepulse_launch launches[LAUNCHES] = { 0 };
	struct litepulse_stats stats;
	struct litepulse_event event;
	uint64_t first;
	unsigned int i;

	self->claim = claim(self->fd);
	ASSERT_LE(0, self->claim);
	first = ahead(self->fd, &self->info, AHEAD_MS);
	ASSERT_NE(0, first);
	for (i = 0; i < LAUNCHES; i++) {
		launches[i].tick = first + i * (self->info.tick_num / self->info.tick_den / 100);
		launches[i].tag = i + 1;
		launches[i].data = 0x55;
	}
	ASSERT_EQ(sizeof(launches), write(self->claim, launches, sizeof(launches)));
	for (i = 0; i < LAUNCHES; i++) {
		ASSERT_EQ(sizeof(event), read(self->claim, &event, sizeof(event)));
		EXPECT_EQ(LITEPULSE_KIND_TX, event.kind);
		EXPECT_EQ(LITEPULSE_SRC_QUEUE, event.source);
		EXPECT_EQ(launches[i].tick, event.tick);
		EXPECT_EQ(launches[i].tag, event.data >> 16);
	}
	ASSERT_EQ(0, command(self->claim, LITEPULSE_IOC_STATS, &stats));
	EXPECT_EQ(LAUNCHES, stats.delivered);
	EXPECT_EQ(stats.offered, stats.delivered + stats.queued + stats.lost_host);
}

TEST_F(device, launches_are_checked)
{
	struct litepulse_launch good = { .data = 0x55 }, wrong;

	self->claim = claim(self->fd);
	ASSERT_LE(0, self->claim);
	good.tick = ahead(self->fd, &self->info, FAR_MS);
	EXPECT_EQ(-1, write(self->claim, &good, sizeof(good) - 1));
	EXPECT_EQ(EINVAL, errno);
	wrong = good;
	wrong.kind = LITEPULSE_LAUNCH_WAIT + 1;
	EXPECT_EQ(-EINVAL, launch(self->claim, &wrong));
	wrong = good;
	wrong.profile = 4;
	EXPECT_EQ(-EINVAL, launch(self->claim, &wrong));
	wrong = good;
	wrong.width = 1;
	EXPECT_EQ(-EINVAL, launch(self->claim, &wrong));
	wrong = good;
	wrong.reserved[sizeof(wrong.reserved) - 1] = 1;
	EXPECT_EQ(-EINVAL, launch(self->claim, &wrong));
	wrong = good;
	wrong.tick = 1;
	EXPECT_EQ(-ETIME, launch(self->claim, &wrong));
	EXPECT_EQ(0, launch(self->claim, &good));
	/* Ticks never decrease. */
	wrong = good;
	wrong.tick--;
	EXPECT_EQ(-EINVAL, launch(self->claim, &wrong));
}

TEST_F(device, flush_and_close_empty_the_queue)
{
	struct litepulse_launch far = { .data = 0x55 };
	struct litepulse_status status;

	self->claim = claim(self->fd);
	ASSERT_LE(0, self->claim);
	far.tick = ahead(self->fd, &self->info, FAR_MS);
	ASSERT_EQ(0, launch(self->claim, &far));
	ASSERT_EQ(0, command(self->fd, LITEPULSE_IOC_STATUS, &status));
	EXPECT_TRUE(status.flags & LITEPULSE_STATUS_QUEUE);
	EXPECT_GT(self->info.launch_depth, status.launch_free);
	ASSERT_EQ(0, command(self->claim, LITEPULSE_IOC_FLUSH, NULL));
	ASSERT_EQ(0, command(self->fd, LITEPULSE_IOC_STATUS, &status));
	EXPECT_FALSE(status.flags & LITEPULSE_STATUS_QUEUE);
	EXPECT_EQ(self->info.launch_depth, status.launch_free);
	ASSERT_EQ(0, launch(self->claim, &far));
	close(self->claim);
	self->claim = -1;
	ASSERT_EQ(0, command(self->fd, LITEPULSE_IOC_STATUS, &status));
	EXPECT_FALSE(status.flags & LITEPULSE_STATUS_QUEUE);
}

TEST_F(device, train_can_be_read_back)
{
	struct litepulse_train train = {
		.period = self->info.tick_num / self->info.tick_den / 100,
		.den = 1,
		.width = 1000,
		.kind = LITEPULSE_LAUNCH_PULSE,
		.flags = LITEPULSE_TRAIN_ASAP,
	};
	struct litepulse_train_stop stop = { 0 };
	struct litepulse_train found;

	self->claim = claim(self->fd);
	ASSERT_LE(0, self->claim);
	EXPECT_EQ(-ENODATA, command(self->fd, LITEPULSE_IOC_TRAIN, &found));
	ASSERT_EQ(0, command(self->claim, LITEPULSE_IOC_TRAIN_START, &train));
	ASSERT_EQ(0, command(self->fd, LITEPULSE_IOC_TRAIN, &found));
	EXPECT_EQ(0, memcmp(&train, &found, sizeof(train)));
	EXPECT_EQ(-EBUSY, command(self->claim, LITEPULSE_IOC_TRAIN_START, &train));
	ASSERT_EQ(0, command(self->claim, LITEPULSE_IOC_TRAIN_STOP, &stop));
	EXPECT_EQ(-ENODATA, command(self->fd, LITEPULSE_IOC_TRAIN, &found));
}

TEST_HARNESS_MAIN
