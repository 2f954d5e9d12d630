/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A LIN bus behind a board on a cable, as a SocketCAN device; does the steps one after the other.
 *
 *   lin PORT STEP...
 *
 *   role=slave|master  space=NS|auto  clock=system|phc  id=XX=TEXT (an underscore for a space)
 *                      attributes; errno=N= before it: it must fail so
 *   bitrate=N          by netlink, as ip(8) does it; bitrate=N,loopback wires the receiver to the transmitter
 *   restartms=N        by netlink; restart: ends bus-off
 *   up, down           errno=N=up: it must fail so
 *   send=FRAME         as of cansend(1): 50#A1B2 is EFF with eight digits before #, SFF with three; R instead of data: RTR
 *   at=MS              what is sent next begins so long after now by the PTP clock; at=+MS: after the last one so sent
 *   soon               the next frame has no time
 *   mono=MS            the same by CLOCK_MONOTONIC; prints the PTP clock's time, before and after that
 *   real=MS, tai=MS    the same by these of the kernel's clocks
 *   deadtty            opens the tty, which cannot start; ttybaud=N, ttybreak: of the tty that was opened
 *   settai=S           CLOCK_TAI is so many seconds ahead of CLOCK_REALTIME; shiftptp=S: sets the PTP clock forward
 *   stampsent          the socket that sends gets the times of its frames, and the frames: `sent ID HEX NS` and `own ID HEX NS` by
 *   sent               which prints them
 *   mtu=N              of the device lo
 *   stamps             the kernel names the board's PTP clock as that of the time stamps, which all that is received has
 *   wait=MS            by the clock of the board, which falls behind on a busy machine; it must answer
 *   until=CLASS        until an error frame of that class has come
 *   show=NAME          prints the attribute
 *   busy               the tty cannot be opened, and nobody else can have the claim; free: both can be had
 *   tty, closetty      opens the tty, closes it
 *   fill=N             sends so many frames from a thread, and goes on; endfill: no more of them
 *   detach             closes the port: the board goes
 *   suspend            suspends the machine; it wakes after a second
 *
 * When the device comes: `uevent DEVTYPE FILES`, the type of device in its uevent and how many of five of its files are there by then.
 * While the device is up each frame that arrives is printed, `frame ID HEX NS`, each that this host has sent, `echo ID HEX NS`, and each
 * byte on the line, `byte TICK NS HEX FLAGS`.
 * Exit status 0, or 1 and a line that says what was not as it should be.
 */
#include "cable.h"
#include "lin_device.h"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <termios.h>

static struct board board;
static int can = -1, heard = -1, pulse = -1;
static unsigned long long launch_ns;	/* of the next frame, PTP time; 0: at once */
static int soon;	/* the next frame has none */
static volatile int listening, filling;
static volatile canid_t errors;	/* classes of the error frames that have come */
static pthread_t listener;

static void show(const char *name)
{
	char path[100], text[200];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/net/lin0/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	length = read(fd, text, sizeof(text) - 1);
	CHECK(length > 0);
	text[length] = 0;
	printf("attribute %s %s", name, text);
	close(fd);
}

/* --- frames --- */

static void *listen_to_all(void *nothing)
{
	struct pollfd wait[2] = { { .fd = heard, .events = POLLIN }, { .fd = pulse, .events = POLLIN } };

	while (listening) {
		if (poll(wait, 2, 50) <= 0)
			continue;
		if (wait[0].revents & POLLERR)
			break;	/* the device has gone down */
		if (wait[0].revents & POLLIN) {
			canid_t word = lin_print(wait[0].fd);

			if (word & CAN_ERR_FLAG)
				errors |= word;
		}
		if (wait[1].revents & POLLIN)
			lin_print_bytes(pulse);
		fflush(stdout);
	}
	return nothing;
}

static void start_listening(void)
{
	struct litepulse_subscribe want = { .kinds = 1 << LITEPULSE_KIND_RX, .fifo = 8192, .clock = LITEPULSE_CLOCK_PHC };

	pulse = open_pulse(&board);
	CHECK(pulse >= 0 && !ioctl(pulse, LITEPULSE_IOC_SUBSCRIBE, &want));
	can = lin_open(CLOCK_TAI);
	heard = lin_open(CLOCK_TAI);
	CHECK(can >= 0 && heard >= 0 && !lin_write("transmit_clock", "phc"));
	listening = 1;
	CHECK(!pthread_create(&listener, NULL, listen_to_all, NULL));
}

static void stop_listening(void)
{
	if (!listening)
		return;
	listening = 0;
	pthread_join(listener, NULL);
	close(can);
	close(heard);
	close(pulse);
	can = heard = pulse = -1;
}

static void *fill(void *count)
{
	struct can_frame header = { .can_id = CAN_RTR_FLAG | 0x10 }, response = { .can_id = CAN_EFF_FLAG | 0x50, .len = 4 };

	for (long i = (long)count; i && filling; i--) {
		response.data[0] = i;
		if (lin_send(can, i & 1 ? header : response, launch_ns))
			usleep(1000);
	}
	return NULL;
}

/* As lin_send(); waits for room if `fill` keeps the queue full. */
static int send_between(struct can_frame frame)
{
	unsigned long long at = soon ? 0 : launch_ns;
	int error;

	soon = 0;
	while ((error = lin_send(can, frame, at)) && errno == ENOBUFS && filling)
		usleep(1000);
	return error;
}

static unsigned long long ptp_now(void)
{
	struct timespec time;
	char name[40];
	int fd;

	snprintf(name, sizeof(name), "/dev/ptp%d", board.ptp);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && !clock_gettime((~(clockid_t)fd << 3) | 3, &time));
	close(fd);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void wait_for_board(unsigned long ms)
{
	const unsigned long long end = ptp_now() + ms * 1000000ull;
	unsigned long long now;

	while ((now = ptp_now()) < end)
		usleep((end - now) / 1000 + 1);
}

/* The next frames have times of a clock of the kernel. */
static unsigned long long system_in(clockid_t clock, unsigned long ms)
{
	struct sock_txtime txtime = { .clockid = clock };
	struct timespec time;

	CHECK(!setsockopt(can, SOL_SOCKET, SO_TXTIME, &txtime, sizeof(txtime)) && !lin_write("transmit_clock", "system"));
	printf("ptp %llu", ptp_now() + ms * 1000000ull);
	CHECK(!clock_gettime(clock, &time));
	printf(" %llu\n", ptp_now() + ms * 1000000ull);
	return time.tv_sec * 1000000000ull + time.tv_nsec + ms * 1000000ull;
}

static void shift_ptp(long seconds)
{
	struct timex step = { .modes = ADJ_SETOFFSET, .time.tv_sec = seconds };
	char name[40];
	int fd;

	snprintf(name, sizeof(name), "/dev/ptp%d", board.ptp);
	fd = open(name, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0 && syscall(SYS_clock_adjtime, (~(clockid_t)fd << 3) | 3, &step) >= 0);
	close(fd);
}

static void check_stamps(void)
{
	struct ethtool_ts_info info = { .cmd = ETHTOOL_GET_TS_INFO };
	struct hwtstamp_config config = { .tx_type = HWTSTAMP_TX_OFF, .rx_filter = HWTSTAMP_FILTER_SOME };
	struct ifreq request = { .ifr_name = "lin0", .ifr_data = (void *)&info };
	int fd = socket(PF_CAN, SOCK_RAW | SOCK_CLOEXEC, CAN_RAW);

	CHECK(fd >= 0 && !ioctl(fd, SIOCETHTOOL, &request));
	CHECK(info.phc_index == board.ptp && info.so_timestamping & SOF_TIMESTAMPING_RX_HARDWARE);
	CHECK(info.so_timestamping & SOF_TIMESTAMPING_TX_HARDWARE && info.tx_types == 1 << HWTSTAMP_TX_ON);
	request.ifr_data = (void *)&config;
	CHECK(!ioctl(fd, SIOCSHWTSTAMP, &request) && config.rx_filter == HWTSTAMP_FILTER_ALL);
	CHECK(config.tx_type == HWTSTAMP_TX_ON);
	config.tx_type = HWTSTAMP_TX_ONESTEP_SYNC;
	CHECK(ioctl(fd, SIOCSHWTSTAMP, &request) && errno == ERANGE);
	CHECK(!ioctl(fd, SIOCGHWTSTAMP, &request) && config.rx_filter == HWTSTAMP_FILTER_ALL && config.tx_type == HWTSTAMP_TX_ON);
	close(fd);
}

static void check_busy(int busy)
{
	struct litepulse_claim wanted = { .fd_flags = O_CLOEXEC };
	int fd = open_pulse(&board), tty = open_tty(&board);

	CHECK(busy ? tty < 0 && errno == EBUSY : tty >= 0);
	CHECK(fd >= 0 && (ioctl(fd, LITEPULSE_IOC_CLAIM, &wanted) ? busy && errno == EBUSY : !busy));
	if (!busy)
		close(wanted.fd);
	close(tty);
	close(fd);
}

/* What the kernel says of the new device, and which of its files are there by then: `uevent DEVTYPE FILES`. */
static void *hear_uevent(void *socket)
{
	static const char *const files[] = { "role", "response_space", "transmit_clock", "responses/00", "responses/3f" };
	char text[4096], path[80];
	ssize_t size;

	while ((size = recv((long)socket, text, sizeof(text) - 1, 0)) > 0) {
		const char *type = "none";
		int there = 0;

		text[size] = 0;
		if (strncmp(text, "add@", 4) || !strstr(text, "/net/lin0"))
			continue;
		for (unsigned int i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
			snprintf(path, sizeof(path), "/sys/class/net/lin0/%s", files[i]);
			there += !access(path, R_OK);
		}
		for (const char *word = text; word < text + size; word += strlen(word) + 1)
			if (!strncmp(word, "DEVTYPE=", 8))
				type = word + 8;
		printf("uevent %s %d\n", type, there);
		return NULL;
	}
	return NULL;
}

static long uevent_socket(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

int main(int count, char **words)
{
	const char *port = words[1], *base = strrchr(port, '/') + 1;
	const long news = uevent_socket();
	struct can_frame frame;
	pthread_t filler = 0, hearer;
	int link, tty = -1;

	CHECK(!pthread_create(&hearer, NULL, hear_uevent, (void *)news));
	link = attach_port(port);
	CHECK(count > 2 && link >= 0 && !find_board(base, 20, &board));
	pthread_join(hearer, NULL);
	CHECK(!lin_await());
	for (char **word = words + 2; *word; word++) {
		char *step = *word, *value;

		if (!strncmp(step, "errno=", 6))
			wanted_errno = strtol(step + 6, &step, 10), step++;
		value = strchr(step, '=');
		value = value ? value + 1 : step + strlen(step);
		if (!strncmp(step, "role=", 5)) {
			expect(lin_write("role", value));
		} else if (!strncmp(step, "clock=", 6)) {
			expect(lin_write("transmit_clock", value));
		} else if (!strncmp(step, "space=", 6)) {
			expect(lin_write("response_space", value));
		} else if (!strncmp(step, "id=", 3)) {
			char name[20];

			snprintf(name, sizeof(name), "responses/%.2s", value);
			expect(lin_write(name, value + 3));
		} else if (!strncmp(step, "bitrate=", 8)) {
			expect(lin_set_bitrate(strtoul(value, NULL, 10), !!strstr(value, "loopback")));
		} else if (!strncmp(step, "restartms=", 10)) {
			expect(lin_set_restart(strtoul(value, NULL, 10), 0));
		} else if (!strcmp(step, "restart")) {
			expect(lin_set_restart(0, 1));
		} else if (!strcmp(step, "up")) {
			int must_fail = wanted_errno;

			expect(lin_set_up(1));
			if (!must_fail)
				start_listening();
		} else if (!strcmp(step, "down")) {
			stop_listening();
			expect(lin_set_up(0));
		} else if (!strncmp(step, "send=", 5)) {
			CHECK(!lin_parse(value, &frame));
			expect(send_between(frame));
		} else if (!strncmp(step, "at=+", 4)) {
			launch_ns += strtoull(value + 1, NULL, 10) * 1000000;
		} else if (!strncmp(step, "at=", 3)) {
			launch_ns = ptp_now() + strtoull(value, NULL, 10) * 1000000;
			printf("at %llu\n", launch_ns);
		} else if (!strcmp(step, "soon")) {
			soon = 1;
		} else if (!strncmp(step, "mono=", 5)) {
			launch_ns = system_in(CLOCK_MONOTONIC, strtoul(value, NULL, 10));
		} else if (!strncmp(step, "real=", 5)) {
			launch_ns = system_in(CLOCK_REALTIME, strtoul(value, NULL, 10));
		} else if (!strncmp(step, "tai=", 4)) {
			launch_ns = system_in(CLOCK_TAI, strtoul(value, NULL, 10));
		} else if (!strncmp(step, "settai=", 7)) {
			struct timex tai = { .modes = ADJ_TAI, .constant = strtol(value, NULL, 10) };

			CHECK(adjtimex(&tai) >= 0);
		} else if (!strncmp(step, "shiftptp=", 9)) {
			shift_ptp(strtol(value, NULL, 10));
		} else if (!strcmp(step, "stampsent")) {
			CHECK(!lin_stamp_sent(can));
		} else if (!strcmp(step, "sent")) {
			lin_print_sent(can);
		} else if (!strncmp(step, "mtu=", 4)) {
			struct ifreq request = { .ifr_name = "lo", .ifr_mtu = strtol(value, NULL, 10) };
			int fd = socket(PF_CAN, SOCK_RAW | SOCK_CLOEXEC, CAN_RAW);

			CHECK(fd >= 0 && !ioctl(fd, SIOCSIFMTU, &request));
			close(fd);
		} else if (!strcmp(step, "stamps")) {
			check_stamps();
		} else if (!strncmp(step, "wait=", 5)) {
			wait_for_board(strtoul(value, NULL, 10));
		} else if (!strncmp(step, "until=", 6)) {
			while (!(errors & strtoul(value, NULL, 16)))
				usleep(10000);
		} else if (!strncmp(step, "show=", 5)) {
			show(value);
		} else if (!strcmp(step, "busy") || !strcmp(step, "free")) {
			check_busy(*step == 'b');
		} else if (!strcmp(step, "tty")) {
			tty = open_tty(&board);
			CHECK(tty >= 0);
		} else if (!strncmp(step, "ttybaud=", 8)) {
			struct termios settings = { };

			cfmakeraw(&settings);
			settings.c_cflag |= CREAD;
			CHECK(!cfsetspeed(&settings, strtoul(value, NULL, 10)));
			expect(tcsetattr(tty, TCSANOW, &settings));
		} else if (!strcmp(step, "ttybreak")) {
			expect(ioctl(tty, TIOCSBRK));
		} else if (!strcmp(step, "deadtty")) {
			tty = open("/dev/ttyPULSE0", O_RDWR | O_CLOEXEC | O_NOCTTY);
			CHECK(tty >= 0);
		} else if (!strcmp(step, "closetty")) {
			close(tty);
		} else if (!strncmp(step, "fill=", 5)) {
			filling = 1;
			CHECK(!pthread_create(&filler, NULL, fill, (void *)strtol(value, NULL, 10)));
		} else if (!strcmp(step, "endfill")) {
			filling = 0;
			pthread_join(filler, NULL);
			filler = 0;
		} else if (!strcmp(step, "suspend")) {
			CHECK(!write_file("/sys/power/pm_test", "devices"));
			CHECK(!write_file("/sys/power/state", "freeze"));
		} else if (!strcmp(step, "detach")) {
			close(link);
			link = -1;
			CHECK(!wait_gone(base, 20));
		} else {
			printf("no step: %s\n", step);
			return 1;
		}
		fflush(stdout);
	}
	if (filler)
		pthread_join(filler, NULL);
	stop_listening();
	if (link >= 0) {
		close(link);
		CHECK(!wait_gone(base, 20));
	}
	return 0;
}
