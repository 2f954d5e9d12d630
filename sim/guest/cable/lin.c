/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A LIN bus behind a board on a cable, as a SocketCAN device: `lin PORT STEP...`.
 *
 * When the device comes: `uevent DEVTYPE FILES`, the type of device in its uevent and how many of
 * five of its files are there by then. While the device is up each frame that arrives is printed,
 * `frame ID HEX NS`, each that this host has sent, `echo ID HEX NS`, and each byte on the line,
 * `byte TICK NS HEX FLAGS`.
 */
#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/timex.h>

#include "board.h"
#include "clocks.h"
#include "lin_device.h"
#include "steps.h"

static int can = -1, heard = -1, pulse = -1;
static unsigned long long launch_ns;	/* of the next frame, PTP time; 0: at once */
static int soon;	/* the next frame has none */
static volatile int listening, filling;
static volatile canid_t errors;	/* classes of the error frames that have come */
static pthread_t listener, filler;
static int link_fd, tty = -1;
static const char *port;

/* --- frames --- */

static void *listen_to_all(void *nothing)
{
	struct pollfd wait[2] = { { .fd = heard, .events = POLLIN },
				  { .fd = pulse, .events = POLLIN } };

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
	}
	return nothing;
}

static void start_listening(void)
{
	pulse = open_pulse();
	subscribe(pulse, WANT(KIND(RX), PHC, .fifo = 8192));
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
	struct can_frame response = { .can_id = CAN_EFF_FLAG | 0x50, .len = 4 };
	const struct can_frame header = { .can_id = CAN_RTR_FLAG | 0x10 };

	for (long i = (long)count; i && filling; i--) {
		response.data[0] = i;
		if (lin_send(can, i & 1 ? header : response, launch_ns))
			usleep(1000);
	}
	return NULL;
}

static int open_ptp(void)
{
	int fd = open_numbered("ptp", board.ptp, O_RDWR);

	CHECK(fd >= 0);
	return fd;
}

static unsigned long long ptp_now(void)
{
	int fd = open_ptp();
	unsigned long long ns = ns_of(CLOCK_OF(fd));

	close(fd);
	return ns;
}

/* The next frames have times of a clock of the kernel. */
static void launch_by(const char *ms)
{
	const clockid_t clock = doing->of;
	const unsigned long long ns = strtoul(ms, NULL, 10) * 1000000ull;
	struct sock_txtime txtime = { .clockid = clock };

	CHECK(!setsockopt(can, SOL_SOCKET, SO_TXTIME, &txtime, sizeof(txtime)));
	CHECK(!lin_write("transmit_clock", "system"));
	printf("ptp %llu", ptp_now() + ns);
	launch_ns = ns_of(clock) + ns;
	printf(" %llu\n", ptp_now() + ns);
}

static void check_stamps(const char *value)
{
	struct ethtool_ts_info info = { .cmd = ETHTOOL_GET_TS_INFO };
	struct hwtstamp_config config = { .tx_type = HWTSTAMP_TX_OFF,
					  .rx_filter = HWTSTAMP_FILTER_SOME };
	struct ifreq request = { .ifr_name = "lin0", .ifr_data = (void *)&info };
	int fd = socket(PF_CAN, SOCK_RAW | SOCK_CLOEXEC, CAN_RAW);

	CHECK(fd >= 0 && !ioctl(fd, SIOCETHTOOL, &request));
	CHECK(info.phc_index == board.ptp && info.so_timestamping & SOF_TIMESTAMPING_RX_HARDWARE);
	CHECK(info.so_timestamping & SOF_TIMESTAMPING_TX_HARDWARE &&
	      info.tx_types == 1 << HWTSTAMP_TX_ON);
	request.ifr_data = (void *)&config;
	CHECK(!ioctl(fd, SIOCSHWTSTAMP, &request) && config.rx_filter == HWTSTAMP_FILTER_ALL);
	CHECK(config.tx_type == HWTSTAMP_TX_ON);
	config.tx_type = HWTSTAMP_TX_ONESTEP_SYNC;
	CHECK(ioctl(fd, SIOCSHWTSTAMP, &request) && errno == ERANGE);
	CHECK(!ioctl(fd, SIOCGHWTSTAMP, &request) && config.rx_filter == HWTSTAMP_FILTER_ALL);
	CHECK(config.tx_type == HWTSTAMP_TX_ON);
	close(fd);
}

static void check_busy(const char *value)
{
	const int busy = doing->of;
	int fd = open_pulse(), opened = try_open_tty(B230400), claim;

	CHECK(busy ? opened < 0 && errno == EBUSY : opened >= 0);
	claim = try_claim(fd, (struct litepulse_claim){ .fd_flags = O_CLOEXEC });
	CHECK(busy ? claim < 0 && errno == EBUSY : claim >= 0);
	close(claim);
	close(opened);
	close(fd);
}

/* What the kernel says of the new device, and which of its files are there by then. */
static void *hear_uevent(void *socket)
{
	static const char *const files[] = { "role", "response_space", "transmit_clock",
					     "responses/00", "responses/3f" };
	char text[4096], path[80];
	ssize_t size;

	while ((size = recv((long)socket, text, sizeof(text) - 1, 0)) > 0) {
		const char *type = "none";
		int there = 0;

		text[size] = 0;
		if (strncmp(text, "add@", 4) || !strstr(text, "/net/lin0"))
			continue;
		for (unsigned int i = 0; i < ARRAY_SIZE(files); i++) {
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

/* --- steps --- */

static void set_attribute(const char *value)
{
	static const char *const names[] = { "role", "response_space", "transmit_clock" };

	expect(lin_write(names[doing->of], value));
}

static void set_response(const char *value)
{
	char name[20];

	snprintf(name, sizeof(name), "responses/%.2s", value);
	expect(lin_write(name, value + 3));
}

static void set_bitrate(const char *value)
{
	expect(lin_set_bitrate(strtoul(value, NULL, 10), !!strstr(value, "loopback")));
}

static void set_restart(const char *value)
{
	expect(lin_set_restart(strtoul(value, NULL, 10), doing->of));
}

static void up(const char *value)
{
	const int must_fail = wanted_errno;

	expect(lin_set_up(1));
	if (!must_fail)
		start_listening();
}

static void down(const char *value)
{
	stop_listening();
	expect(lin_set_up(0));
}

/* Waits for room if `fill` keeps the queue full. */
static void send_one(const char *value)
{
	unsigned long long at = soon ? 0 : launch_ns;
	struct can_frame frame;
	int error;

	CHECK(!lin_parse(value, &frame));
	soon = 0;
	while ((error = lin_send(can, frame, at)) && errno == ENOBUFS && filling)
		usleep(1000);
	expect(error);
}

static void launch_at(const char *value)
{
	const unsigned long long ns = strtoull(value, NULL, 10) * 1000000;

	if (*value == '+') {
		launch_ns += ns;
		return;
	}
	launch_ns = ptp_now() + ns;
	printf("at %llu\n", launch_ns);
}

static void next_has_no_time(const char *value)
{
	soon = 1;
}

static void set_tai(const char *value)
{
	struct timex tai = { .modes = ADJ_TAI, .constant = strtol(value, NULL, 10) };

	CHECK(adjtimex(&tai) >= 0);
}

static void shift_ptp(const char *value)
{
	struct timex step = { .modes = ADJ_SETOFFSET, .time.tv_sec = strtol(value, NULL, 10) };
	int fd = open_ptp();

	CHECK(syscall(SYS_clock_adjtime, CLOCK_OF(fd), &step) >= 0);
	close(fd);
}

static void stamp_sent(const char *value)
{
	CHECK(!lin_stamp_sent(can));
}

static void print_sent(const char *value)
{
	lin_print_sent(can);
}

static void set_mtu(const char *value)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_mtu = strtol(value, NULL, 10) };
	int fd = socket(PF_CAN, SOCK_RAW | SOCK_CLOEXEC, CAN_RAW);

	CHECK(fd >= 0 && !ioctl(fd, SIOCSIFMTU, &request));
	close(fd);
}

static void wait_for_board(const char *ms)
{
	const unsigned long long end = ptp_now() + strtoul(ms, NULL, 10) * 1000000ull;
	unsigned long long at;

	while ((at = ptp_now()) < end)
		usleep((end - at) / 1000 + 1);
}

static void wait_for_error(const char *value)
{
	while (!(errors & strtoul(value, NULL, 16)))
		usleep(10000);
}

static void show(const char *name)
{
	char path[100], text[200];

	snprintf(path, sizeof(path), "/sys/class/net/lin0/%s", name);
	CHECK(!read_line(path, text, sizeof(text)));
	printf("attribute %s %s\n", name, text);
}

static void keep_tty(const char *value)
{
	tty = doing->of ? open_tty(doing->of) : open_numbered("ttyPULSE", 0, O_RDWR);
	CHECK(tty >= 0);
}

static void set_tty_baud(const char *value)
{
	struct termios settings = { };

	cfmakeraw(&settings);
	settings.c_cflag |= CREAD;
	CHECK(!cfsetspeed(&settings, strtoul(value, NULL, 10)));
	expect(tcsetattr(tty, TCSANOW, &settings));
}

static void begin_break(const char *value)
{
	expect(ioctl(tty, TIOCSBRK));
}

static void close_tty(const char *value)
{
	close(tty);
}

static void begin_fill(const char *value)
{
	filling = 1;
	CHECK(!pthread_create(&filler, NULL, fill, (void *)strtol(value, NULL, 10)));
}

static void end_fill(const char *value)
{
	filling = 0;
	pthread_join(filler, NULL);
	filler = 0;
}

static void suspend(const char *value)
{
	suspend_machine();
}

static void leave_port(const char *value)
{
	detach(link_fd, port);
	link_fd = -1;
}

static const struct step steps[] = {
	{ "role", set_attribute, "=slave, =master", 0 },
	{ "space", set_attribute, "=NS, =auto: response_space", 1 },
	{ "clock", set_attribute, "=system, =phc: transmit_clock", 2 },
	{ "id", set_response, "=XX=TEXT: a file of responses/; an underscore for a space" },
	{ "bitrate", set_bitrate, "=N[,loopback]: by netlink, as ip(8) does it" },
	{ "restartms", set_restart, "=N: by netlink" },
	{ "restart", set_restart, ": ends bus-off", 1 },
	{ "up", up, "" },
	{ "down", down, "" },
	{ "send", send_one, "=FRAME: as of cansend(1)" },
	{ "at", launch_at, "=MS, =+MS: the next frames begin then (PTP), after now or the last" },
	{ "soon", next_has_no_time, ": the next frame" },
	{ "mono", launch_by, "=MS: as at=; prints that by the PTP clock", CLOCK_MONOTONIC },
	{ "real", launch_by, "=MS", CLOCK_REALTIME },
	{ "tai", launch_by, "=MS", CLOCK_TAI },
	{ "settai", set_tai, "=S: CLOCK_TAI is so far ahead of CLOCK_REALTIME" },
	{ "shiftptp", shift_ptp, "=S: sets the PTP clock forward" },
	{ "stampsent", stamp_sent, ": the socket gets the times of its frames, and the frames" },
	{ "sent", print_sent, ": prints these, `sent ID HEX NS` and `own ID HEX NS`" },
	{ "stamps", check_stamps, ": the board's PTP clock stamps all that is received and sent" },
	{ "mtu", set_mtu, "=N: of the device lo" },
	{ "wait", wait_for_board, "=MS: by the board's clock; it must answer" },
	{ "until", wait_for_error, "=CLASS: until an error frame of that class has come" },
	{ "show", show, "=NAME: prints the attribute" },
	{ "busy", check_busy, ": nobody else can have the tty or the claim", 1 },
	{ "free", check_busy, ": both can be had", 0 },
	{ "tty", keep_tty, ": opens it", B230400 },
	{ "deadtty", keep_tty, ": opens it, though it cannot start" },
	{ "ttybaud", set_tty_baud, "=N: of the tty that was opened" },
	{ "ttybreak", begin_break, "" },
	{ "closetty", close_tty, "" },
	{ "fill", begin_fill, "=N: sends that many frames from a thread, and goes on" },
	{ "endfill", end_fill, ": no more of them" },
	{ "suspend", suspend, ": the machine, which wakes by itself" },
	{ "detach", leave_port, ": closes the port: the board goes" },
	{ }
};

int main(int count, char **words)
{
	const long news = uevent_socket();
	pthread_t hearer;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (count < 3)
		return list_steps(steps);
	port = words[1];
	CHECK(!pthread_create(&hearer, NULL, hear_uevent, (void *)news));
	link_fd = attach(port);
	pthread_join(hearer, NULL);
	CHECK(!lin_await());
	for (char **word = words + 2; *word; word++)
		do_step(steps, *word);
	if (filler)
		pthread_join(filler, NULL);
	stop_listening();
	if (link_fd >= 0)
		detach(link_fd, port);
	return 0;
}
