/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uses all devices of the echo board, as programs do, and takes the board away meanwhile: what the
 * debug kernel is to watch. `use CASE`; `use` prints the cases.
 */
#include "use.h"

const struct litepulse_train endless = PULSES(.period = 1000000, .den = 1, .width = 500);

static void find_devices(void)
{
	board.pulse = board.tty = device_number();
	CHECK(board.pulse >= 0);
}

void choose_board(int which)
{
	strcpy(board.name, which ? "litepulse.1" : "litepulse");
	find_devices();
}

void unbind(void)
{
	CHECK(!unbind_board());
}

void bind_again(void)
{
	CHECK(!bind_board());
	find_devices();
}

void rebind(void)
{
	unbind();
	bind_again();
}

int known(const char *name)
{
	char text[400], *place;

	CHECK(!read_line("/sys/module/echo_board/parameters/known", text, sizeof(text)));
	place = strstr(text, name);
	CHECK(place);
	return strtoul(place + strlen(name), NULL, 10);
}

int is(const char *path, const char *expected)
{
	char text[64];

	CHECK(!read_line(path, text, sizeof(text)));
	return !strcmp(text, expected);
}

int de_is(int lead, int lag, int echo)
{
	return known("lead") == lead && known("lag") == lag && known("echo") == echo;
}

int driver_enable(int fd, unsigned int lead, unsigned int lag, unsigned int flags,
		  unsigned int echo)
{
	struct litepulse_driver_enable request = {
		.lead_ns = lead, .lag_ns = lag, .flags = flags, .echo_ns = echo,
	};

	return ioctl(fd, LITEPULSE_IOC_DRIVER_ENABLE, &request) ? -errno : 0;
}

int rs485(int tty, unsigned int flags)
{
	struct serial_rs485 request = { .flags = flags };

	return ioctl(tty, TIOCSRS485, &request) ? -errno : 0;
}

int respond(int fd, struct litepulse_responder request)
{
	return ioctl(fd, LITEPULSE_IOC_RESPONDER, &request) ? -errno : 0;
}

int entry(int fd, struct litepulse_lin_entry request)
{
	return ioctl(fd, LITEPULSE_IOC_LIN_ENTRY, &request) ? -errno : 0;
}

int set_profile(int fd, unsigned int index, unsigned int baud, unsigned int flags)
{
	struct litepulse_profile request = {
		.index = index, .data_bits = 8, .baud = baud, .flags = flags,
	};

	return ioctl(fd, LITEPULSE_IOC_PROFILE, &request) ? -errno : 0;
}

int set_port(int fd, unsigned int flags, unsigned int width, unsigned int tty)
{
	struct litepulse_port request = { .flags = flags, .width = width, .tty = tty };

	return ioctl(fd, LITEPULSE_IOC_PORT, &request) ? -errno : 0;
}

int claim(int pulse)
{
	return claim_device(pulse, 0, O_CLOEXEC);
}

int keeper(int pulse)
{
	return claim_device(pulse, LITEPULSE_CLAIM_KEEP, 0);
}

void keep_output(int fd)
{
	struct litepulse_keep kept = { .flags = LITEPULSE_CLAIM_KEEP };

	CHECK(!ioctl(fd, LITEPULSE_IOC_KEEP, &kept));
}

int is_claimed(int pulse)
{
	return fails(try_claim(pulse, (struct litepulse_claim){ .fd_flags = O_CLOEXEC }), EBUSY);
}

int is_stale(int fd)
{
	return fails(try_launch(fd, LAUNCH(.tick = ~0ull >> 1)), ESTALE);
}

int is_gone(int pulse)
{
	struct litepulse_time time;

	return fails(ioctl(pulse, LITEPULSE_IOC_TIME, &time), ENODEV);
}

/* What is sent comes back, and each byte as an event, too. */
void bytes(int pulse)
{
	unsigned char out[BYTES], in[BYTES];
	struct litepulse_event event, before = { 0 };
	int tty = open_tty(B115200), got = 0;

	subscribe(pulse, REALTIME(KIND(RX)));
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
		event = NEXT(pulse, RX);
		CHECK(event.data == out[i] && event.flags & LITEPULSE_FLAG_NS);
		CHECK(!i || (event.seq == before.seq + 1 && event.tick > before.tick));
		CHECK(!i || event.ns > before.ns);
		before = event;
	}
	close(tty);
}

static void launches(int pulse)
{
	struct litepulse_launch list[100];
	int fd = claim(pulse);
	uint64_t first;

	CHECK(is_claimed(pulse));
	first = now(pulse) + 50000000;
	for (int i = 0; i < 100; i++)
		list[i] = LAUNCH(.tick = first + i * 1000000ull, .tag = i, .data = 0x55);
	launch_and_take(fd, list, 100);
	list[0].tick = 1;
	CHECK(try_launch(fd, list[0]));
	CHECK(fails(write(fd, list, 5), EINVAL));
	close(fd);
	close(claim(pulse));
}

void train(int pulse)
{
	int fd = claim(pulse);

	start_train(fd, endless);
	stop_train(fd);
	close(fd);
}

int open_clock(int pulse)
{
	int fd = open_numbered("ptp", info_of(pulse).phc, O_RDWR);

	CHECK(fd >= 0);
	return fd;
}

static void phc(int pulse)
{
	const struct litepulse_info info = info_of(pulse);
	long long before;
	int fd;

	CHECK(info.abi == LITEPULSE_ABI && info.tick_num == 1000000000 && info.tick_den == 1);
	CHECK(info.phc >= 0);
	fd = open_clock(pulse);
	before = ns_of(CLOCK_OF(fd));
	usleep(20000);
	CHECK(ns_of(CLOCK_OF(fd)) - before >= 20000000);
	close(fd);
}

void use_all(int pulse)
{
	bytes(pulse);
	launches(pulse);
	train(pulse);
	phc(pulse);
}

void launch_many(int claimed, int pulse, unsigned int count, unsigned int apart)
{
	struct litepulse_launch launch = { .tick = now(pulse) + 50000000, .data = 0x55 };

	for (unsigned int i = 0; i < count; i++) {
		CHECK(!try_launch(claimed, launch));
		launch.tick += apart;
		launch.tag++;
	}
}

void made_since(int pulse, struct litepulse_time before, struct litepulse_event event)
{
	const struct litepulse_time time = time_of(pulse);

	CHECK(event.tick >= before.tick && event.tick <= time.tick);
	CHECK(event.flags & LITEPULSE_FLAG_NS && event.uncertainty);
	CHECK(event.ns + event.uncertainty + before.uncertainty >= before.monotonic);
	CHECK(event.ns <= time.monotonic + event.uncertainty + time.uncertainty);
}

int main(int count, char **words)
{
	static const struct guest_case *const tables[] = {
		session_cases, tty_cases, event_cases, ring_cases, output_cases, sequence_cases,
		abi_cases,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		if (count == 2 && find_case(tables[i], words[1])) {
			alarm(300);
			choose_board(0);
			return run_case(tables[i], count, words);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		list_cases(tables[i]);
	return 2;
}
