/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface itself: who may do what, sizes of arguments, many files, memory that is short. */
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "use.h"

#include <linux/userfaultfd.h>

#define FILES 10000
#define INFO_1 56	/* size of struct litepulse_info in version 1 */
#define STATUS_1 8	/* size of struct litepulse_status in version 1 */

/* The same ioctl with an argument of another size. */
static unsigned long resized(unsigned long command, unsigned int size)
{
	return _IOC(_IOC_DIR(command), _IOC_TYPE(command), _IOC_NR(command), size);
}

static void rights(int pulse)
{
	struct litepulse_subscribe filtered = { .kinds = KIND(EDGE), .rise = 1, .filtered = 1,
						.filter = 3 };
	struct litepulse_driver_enable lag = { .lag_ns = 1 };
	struct litepulse_claim wanted = { 0 };
	int reader = open_numbered("litepulse", board.pulse, O_RDONLY);

	CHECK(reader >= 0);
	(void)info_of(reader);
	CHECK(fails(ioctl(reader, LITEPULSE_IOC_CLAIM, &wanted), EACCES));
	CHECK(fails(ioctl(reader, LITEPULSE_IOC_SUBSCRIBE, &filtered), EACCES));
	filtered.filtered = filtered.filter = 0;
	subscribe(reader, filtered);
	close(reader);
	/* Closed on exec, with the flag for that or without. */
	CHECK(!ioctl(pulse, LITEPULSE_IOC_CLAIM, &wanted));
	CHECK(fcntl(wanted.fd, F_GETFD) == FD_CLOEXEC);
	CHECK(fails(ioctl(pulse, LITEPULSE_IOC_DRIVER_ENABLE, &lag), ENOTTY));
	close(wanted.fd);
}

/* The core's register map is of version 0.6 (minor=6): what it has is done, what it lacks is named. */
static void older(void)
{
	const struct litepulse_rest low = { .level = LITEPULSE_REST_LOW }, high = { 0 };
	struct litepulse_responder request = {
		.trigger = LITEPULSE_TRIGGER_EDGE, .channel = 1, .delay = 1000, .width = 100,
		.flags = LITEPULSE_RESPONDER_RISE, .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1,
	};
	struct litepulse_train_adjust change = { .period = 900000, .den = 1 };
	struct litepulse_train fast = endless;
	int pulse = open_pulse(), fd;

	fast.period = 319;
	fast.width = 20;
	CHECK((info_of(pulse).core & 0xffff) == 6);
	use_all(pulse);
	fd = claim(pulse);
	CHECK(fails(ioctl(fd, LITEPULSE_IOC_REST, &low), EOPNOTSUPP) && known("rest") == 0);
	CHECK(!ioctl(fd, LITEPULSE_IOC_REST, &high));
	CHECK(!set_profile(fd, 1, 9600, 0) && !respond(fd, request));
	request.flags |= LITEPULSE_RESPONDER_PULSES(2);
	request.holdoff = 10000;
	CHECK(respond(fd, request) == -EOPNOTSUPP);
	request.flags = LITEPULSE_RESPONDER_RISE;
	request.holdoff = (1 << 24) - 1;
	CHECK(!respond(fd, request));
	request.holdoff = 1 << 24;
	CHECK(respond(fd, request) == -EOPNOTSUPP);
	request.holdoff = 0;
	request.delay = 1 << 24;
	CHECK(respond(fd, request) == -EOPNOTSUPP);
	CHECK(!respond(fd, NO_RESPONDER));
	CHECK(!(info_of(pulse).flags & (LITEPULSE_INFO_PORT | LITEPULSE_INFO_SEQUENCE)));
	CHECK(try_launch(fd, LAUNCH(.tick = now(pulse) + 1000000000,
				    .kind = LITEPULSE_LAUNCH_WAIT)) && errno == EOPNOTSUPP);
	CHECK(set_profile(fd, 2, 9600, LITEPULSE_PROFILE_TO_PORT) == -EOPNOTSUPP);
	CHECK(set_port(fd, LITEPULSE_PORT_WIDTH, 5000, 0) == -EOPNOTSUPP);
	CHECK(fails(try_train(fd, fast), EOPNOTSUPP));
	/* A change does not write the width, as the core would refuse that. */
	start_train(fd, endless);
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_ADJUST, &change) && known("width") == 500);
	change.flags = LITEPULSE_ADJUST_WIDTH;
	change.width = 700;
	CHECK(fails(ioctl(fd, LITEPULSE_IOC_TRAIN_ADJUST, &change), EOPNOTSUPP));
	stop_train(fd);
	close(fd);
	close(pulse);
}

/* It is newer than the driver's: it can be read, and nothing is sent. */
static void newer(void)
{
	struct litepulse_claim wanted = { 0 };
	struct litepulse_status status;
	int pulse = open_pulse();

	CHECK(fails(ioctl(pulse, LITEPULSE_IOC_CLAIM, &wanted), EOPNOTSUPP));
	CHECK(fails(open_numbered("ttyPULSE", board.tty, O_RDWR | O_NOCTTY), EOPNOTSUPP));
	subscribe(pulse, (struct litepulse_subscribe){ .kinds = KIND(EDGE), .rise = 1 });
	write_parameter("edge", "1");
	CHECK(NEXT(pulse, EDGE).kind == LITEPULSE_KIND_EDGE);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_STATUS, &status) && !status.flags);
	(void)time_of(pulse);
	close(pulse);
}

/* What the table and a LIN slave may be given. */
static void lin_slave(int pulse)
{
	static const struct litepulse_lin_entry off_with[] = {
		{ .id = 1, .flags = 1 }, { .id = 1, .checksum = 1 }, { .id = 1, .data = { 1 } },
	};
	const unsigned int rearm = LITEPULSE_RESPONDER_REARM, own = LITEPULSE_RESPONDER_EXCLUSIVE;
	const struct litepulse_responder bad[] = {
		SLAVE(.flags = 0), SLAVE(.profile = 1), SLAVE(.data = 1), SLAVE(.holdoff = 1),
		SLAVE(.kind = LITEPULSE_LAUNCH_BREAK, .data = 13), SLAVE(.channel = 1),
		SLAVE(.kind = LITEPULSE_LAUNCH_PULSE, .width = 5), SLAVE(.width = 1),
		SLAVE(.trigger = 5), SLAVE(.value = 1), SLAVE(.mask = 1),
		SLAVE(.flags = rearm | LITEPULSE_RESPONDER_PULSES(2)),
		SLAVE(.flags = rearm | LITEPULSE_RESPONDER_PULSES(65536)),
	};
	int fd = claim(pulse), tty = open_tty(B115200);
	struct termios settings;

	CHECK(entry(pulse, ENTRY()) == -ENOTTY);
	CHECK(!entry(fd, ENTRY()));
	CHECK(!entry(fd, ENTRY(.length = 8, .flags = 7, .checksum = 0xff)));
	CHECK(!entry(fd, ENTRY(.id = LIN_ENTRIES - 1)));
	CHECK(!entry(fd, (struct litepulse_lin_entry){ .id = 1 }));
	CHECK(entry(fd, ENTRY(.id = LIN_ENTRIES)) == -EOPNOTSUPP);
	CHECK(entry(fd, ENTRY(.id = LITEPULSE_LIN_IDS - 1)) == -EOPNOTSUPP);
	CHECK(entry(fd, ENTRY(.id = LITEPULSE_LIN_IDS)) == -EINVAL);
	CHECK(entry(fd, ENTRY(.length = 9)) == -EINVAL && entry(fd, ENTRY(.length = 1)) == -EINVAL);
	CHECK(entry(fd, ENTRY(.reserved = 1)) == -EINVAL &&
	      entry(fd, ENTRY(.flags = 8)) == -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(off_with); i++)
		CHECK(entry(fd, off_with[i]) == -EINVAL);

	CHECK(!respond(fd, SLAVE()) && !respond(fd, SLAVE(.flags = rearm | own)));
	CHECK(!respond(fd, SLAVE(.flags = rearm | LITEPULSE_RESPONDER_PULSES(1))));
	CHECK(!respond(fd, SLAVE(.delay = UINT32_MAX)) &&
	      (unsigned int)known("delay") == UINT32_MAX);
	for (unsigned int flag = 1; flag <= LITEPULSE_RESPONDER_IGNORE_OWN; flag <<= 1)
		CHECK(respond(fd, SLAVE(.flags = rearm | flag)) ==
		      (flag & (rearm | own) ? 0 : -EINVAL));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(respond(fd, bad[i]) == -EINVAL);
	CHECK(!respond(fd, NO_RESPONDER));

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

/* Bursts of a responder, which the board gets as they are requested. */
static void bursts(int pulse)
{
	const unsigned int rise = LITEPULSE_RESPONDER_RISE;
	const unsigned int launches[] = { 1, 2, 3, 65535, LITEPULSE_RESPONDER_PULSES_MAX };
	int fd = claim(pulse);

	CHECK(!set_profile(fd, 1, 9600, 0));
	for (size_t i = 0; i < ARRAY_SIZE(launches); i++) {
		const unsigned int flags = rise | LITEPULSE_RESPONDER_PULSES(launches[i]);

		CHECK(!respond(fd, PULSE_ANSWER(.flags = flags, .delay = UINT32_MAX, .width = 5,
						.holdoff = UINT32_MAX - i, .profile = 1)));
		CHECK(known("behind") == (int)launches[i] - 1);
		CHECK((unsigned int)known("delay") == UINT32_MAX &&
		      (unsigned int)known("apart") == UINT32_MAX - i);
	}
	/* Between those of a burst and the named flags none is known. */
	for (unsigned int flag = LITEPULSE_RESPONDER_IGNORE_OWN << 1; flag < 1 << 16; flag <<= 1)
		CHECK(respond(fd, PULSE_ANSWER(.flags = rise | flag, .width = 5, .profile = 1)) ==
		      -EINVAL);
	/* Off has none. */
	CHECK(respond(fd, (struct litepulse_responder){
			.flags = LITEPULSE_RESPONDER_PULSES(2) }) == -EINVAL);
	CHECK(!respond(fd, NO_RESPONDER));
	close(fd);
}

/* The marker port: profiles, the width of marks, bytes of the tty; the settings outlive a claim. */
static void marker_port(int pulse)
{
	const unsigned int to_port = LITEPULSE_PROFILE_TO_PORT;
	struct litepulse_launch mark = { .profile = 1, .data = 0x2a };
	struct litepulse_info info;
	int fd = claim(pulse), tty;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &info) && info.flags & LITEPULSE_INFO_PORT);
	CHECK(!set_profile(fd, 1, 9600, to_port) && known("port1") == 1 && known("port0") == 0);
	CHECK(set_profile(fd, 1, 9600, to_port << 1) == -EINVAL);
	CHECK(!set_port(fd, LITEPULSE_PORT_WIDTH, 5000, 0) && known("mark") == 5000);
	/* A mark is no launch on the line: it may have any level at rest. */
	CHECK(!ioctl(fd, LITEPULSE_IOC_REST, &(struct litepulse_rest){ LITEPULSE_REST_LOW, 0 }));
	mark.tick = now(pulse) + 1000000000;
	CHECK(!try_launch(fd, mark));
	CHECK(!ioctl(fd, LITEPULSE_IOC_FLUSH));
	CHECK(!ioctl(fd, LITEPULSE_IOC_REST, &(struct litepulse_rest){ LITEPULSE_REST_HIGH, 0 }));
	/* What is refused changes nothing. */
	CHECK(set_port(fd, 0, 0, 0) == -EINVAL);
	CHECK(set_port(fd, LITEPULSE_PORT_TTY << 1, 0, 0) == -EINVAL);
	CHECK(set_port(fd, LITEPULSE_PORT_TTY, 1, 1) == -EINVAL);
	CHECK(set_port(fd, LITEPULSE_PORT_WIDTH, 1, 1) == -EINVAL);
	CHECK(set_port(fd, LITEPULSE_PORT_TTY, 0, 2) == -EINVAL);
	CHECK(known("mark") == 5000 && known("port0") == 0);
	/* Bytes of the tty: whatever bit rate a program sets. */
	CHECK(!set_port(fd, LITEPULSE_PORT_WIDTH | LITEPULSE_PORT_TTY, 7, 1));
	CHECK(known("mark") == 7 && known("port0") == 1);
	close(fd);
	tty = open_tty(B115200);
	CHECK(known("port0") == 1 && known("mark") == 7);
	close(tty);
	fd = claim(pulse);
	CHECK(!set_port(fd, LITEPULSE_PORT_TTY, 0, 0) && known("port0") == 0 && known("mark") == 7);
	CHECK(!set_port(fd, LITEPULSE_PORT_WIDTH, 0, 0) && known("mark") == 0);
	CHECK(!set_profile(fd, 1, 9600, 0) && known("port1") == 0);
	close(fd);
}

static void sizes(int pulse)
{
	static const unsigned long commands[] = {
		LITEPULSE_IOC_INFO, LITEPULSE_IOC_SUBSCRIBE, LITEPULSE_IOC_STATS,
		LITEPULSE_IOC_TIME, LITEPULSE_IOC_STATUS, LITEPULSE_IOC_TRAIN, LITEPULSE_IOC_CLAIM,
	};
	struct litepulse_info info;
	unsigned char argument[400];

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const unsigned long one = commands[i];
		const unsigned int first = one == LITEPULSE_IOC_INFO ? INFO_1 :
					   one == LITEPULSE_IOC_STATUS ? STATUS_1 : _IOC_SIZE(one);

		memset(argument, 0, sizeof(argument));
		CHECK(fails(ioctl(pulse, resized(one, first - 4), argument), ENOTTY));
		/* A short CLAIM answered without the number of the file, which stayed open. */
		for (int fd = pulse + 1; fd < pulse + 4; fd++)
			CHECK(fails(fcntl(fd, F_GETFD), EBADF));
	}
	/* A program of version 1 gets what it knows, and no byte more. */
	memset(argument, 0xee, sizeof(argument));
	CHECK(!ioctl(pulse, resized(LITEPULSE_IOC_INFO, INFO_1), argument));
	info = info_of(pulse);
	CHECK(!memcmp(argument, &info, INFO_1) && argument[INFO_1] == 0xee);
	CHECK(info.lin_entries == LIN_ENTRIES && !info.reserved);
	/* A later version's longer argument, of which it uses nothing unknown; or something. */
	memset(argument, 0xee, sizeof(argument));
	CHECK(!ioctl(pulse, resized(LITEPULSE_IOC_INFO, 300), argument));
	for (size_t i = sizeof(struct litepulse_info); i < 300; i++)
		CHECK(!argument[i]);
	CHECK(argument[300] == 0xee);
	memset(argument, 0, sizeof(argument));
	CHECK(!ioctl(pulse, resized(LITEPULSE_IOC_SUBSCRIBE, 300), argument));
	argument[299] = 1;
	CHECK(fails(ioctl(pulse, resized(LITEPULSE_IOC_SUBSCRIBE, 300), argument), E2BIG));
}

/* What is on each pin; bits of the board that belong to no pin are not shown. */
static void levels(int pulse)
{
	for (unsigned int pins = 0; pins < 32; pins++) {
		struct litepulse_status status;
		char text[8];

		snprintf(text, sizeof(text), "%u", pins | 0xffe0);
		write_parameter("levels", text);
		status = status_of(pulse);
		CHECK(status.inputs == (pins & 15) && status.rx == pins >> 4);
	}
	write_parameter("levels", "16");
}

/* Idle files cost nothing, and the number of files that want events is limited. */
static void many_files(void)
{
	struct rlimit limit = { FILES + 100, FILES + 100 };
	static int files[FILES];

	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	for (int i = 0; i < FILES; i++)
		files[i] = open_pulse();
	for (int i = 0; i < LITEPULSE_SUBSCRIBERS_MAX; i++)
		subscribe(files[i], REALTIME(KIND(RX)));
	CHECK(fails(ioctl(files[FILES - 1], LITEPULSE_IOC_SUBSCRIBE, &WANT(KIND(RX), MONOTONIC)),
		    EUSERS));
	CHECK(!close(claim(files[FILES - 1])));
	subscribe(files[0], REALTIME(0));
	subscribe(files[FILES - 1], REALTIME(KIND(RX)));
	close(files[1]);
	subscribe(files[FILES - 2], REALTIME(KIND(RX)));
	for (int i = 0; i < FILES; i++)
		close(files[i]);
}

/* A queue with room wakes an edge-triggered epoll once, and asking costs the board nothing. */
static void wait_for_room(int pulse)
{
	int fd = claim(pulse), set = epoll_create1(EPOLL_CLOEXEC), before;
	struct epoll_event event = { .events = EPOLLOUT | EPOLLET };
	struct litepulse_launch launch = { .data = 0x55 };

	CHECK(set >= 0);
	set_nonblocking(fd);
	CHECK(!epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
	CHECK(epoll_wait(set, &event, 1, 1000) == 1 && event.events == EPOLLOUT);
	before = known("wanted");
	CHECK(!epoll_wait(set, &event, 1, 300));
	CHECK(known("wanted") == before);
	/* Full: woken when there is room again. */
	launch.tick = now(pulse) + 200000000;
	while (!try_launch(fd, launch))
		launch.tick += 1000;
	CHECK(errno == EAGAIN);
	CHECK(!polled(fd, POLLOUT, 0) && !polled(fd, POLLWRNORM, 0));
	CHECK(epoll_wait(set, &event, 1, 5000) == 1 && event.events == EPOLLOUT);
	CHECK(polled(fd, POLLWRNORM, 0) == 1);
	launch.tick += 2000000000;
	CHECK(!try_launch(fd, launch));
	close(set);
	close(fd);
}

static void abi(void)
{
	int pulse = open_pulse();

	rights(pulse);
	lin_slave(pulse);
	bursts(pulse);
	marker_port(pulse);
	sizes(pulse);
	levels(pulse);
	wait_for_room(pulse);
	many_files();
}

static void memory(void)
{
	struct litepulse_subscribe nothing = { .fifo = 65536 };
	int pulse = open_pulse(), files[200], count;

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
		subscribe(files[count], WANT(KIND(RX), MONOTONIC));
		for (int i = 0; i <= count; i++)
			close(files[i]);
	}
	/* Another size of the FIFO gives the old one back. */
	for (int i = 0; i < 100; i++) {
		nothing.fifo = i & 1 ? 65536 : 32768;
		subscribe(pulse, nothing);
	}
	use_all(open_pulse());
}

/* --- a call whose argument lies in memory that is not there until another thread gives it --- */

enum call { CALL_SUBSCRIBE, CALL_CLAIM, CALL_TRAIN_START, CALL_LAUNCH, CALL_INFO, CALL_STATUS,
	    CALL_READ, CALLS };

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
	struct waiting_call *call = argument;

	if (call->call == CALL_LAUNCH)
		call->result = write(call->fd, call->page, sizeof(struct litepulse_launch));
	else if (call->call == CALL_READ)
		call->result = read(call->fd, call->page, sizeof(struct litepulse_event));
	else
		call->result = ioctl(call->fd, commands[call->call], call->page);
	call->error = errno;
	return NULL;
}

/* A page that is not there; the returned file reports its first use. */
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

/* All that waits comes with one read(), also if only the first page has been touched yet. */
static void read_untouched(void)
{
	const size_t bytes = 200, size = bytes * sizeof(struct litepulse_event);
	void *events = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int pulse = open_pulse(), tty = open_tty(B115200);
	char data[200] = { 0 };

	subscribe(pulse, REALTIME(KIND(RX)));
	CHECK(events != MAP_FAILED && size > 2 * (size_t)sysconf(_SC_PAGESIZE));
	CHECK(write(tty, data, bytes) == (ssize_t)bytes);
	*(volatile char *)events = 0;
	for (int tries = 0; stats_of(pulse).queued < bytes && tries < 500; tries++)
		usleep(10000);
	CHECK(stats_of(pulse).queued == bytes);
	CHECK(read(pulse, events, size) == (ssize_t)size);
	CHECK(!close(tty) && !close(pulse) && !munmap(events, size));
}

/* The argument that a call gets at last, of which the board has gone. */
static void fill_in(enum call call, void *content, uint64_t tick)
{
	if (call == CALL_SUBSCRIBE)
		*(struct litepulse_subscribe *)content = WANT(KIND(RX), MONOTONIC);
	else if (call == CALL_TRAIN_START)
		*(struct litepulse_train *)content = endless;
	else if (call == CALL_LAUNCH)
		*(struct litepulse_launch *)content =
			LAUNCH(.tick = tick + 1000000000, .data = 0x55);
}

static void page(void)
{
	const size_t size = sysconf(_SC_PAGESIZE);
	char *content = aligned_alloc(size, size);

	CHECK(content);
	read_untouched();
	for (enum call call = 0; call < CALLS; call++) {
		int pulse = open_pulse(), other = open_pulse(), claimed = claim(pulse), fd, tty;
		const int of_claim = call == CALL_TRAIN_START || call == CALL_LAUNCH;
		struct waiting_call waiting = { .call = call, .fd = of_claim ? claimed : pulse };
		const int reads = call == CALL_INFO || call == CALL_STATUS;
		struct uffdio_copy copy = { .src = (uintptr_t)content, .len = size };
		struct uffd_msg message;
		pthread_t thread;
		uint64_t tick;

		if (call == CALL_READ) {
			tty = open_tty(B115200);
			subscribe(pulse, REALTIME(KIND(RX)));
			CHECK(write(tty, "a", 1) == 1 && readable(pulse, 5000) == 1);
			CHECK(!close(tty));
		}
		fd = absent_page(&waiting.page, size);
		CHECK(!pthread_create(&thread, NULL, make_call, &waiting));
		CHECK(readable(fd, 5000) == 1);
		CHECK(read(fd, &message, sizeof(message)) == sizeof(message));
		CHECK(message.event == UFFD_EVENT_PAGEFAULT);
		/* It waits. All others go on, on the same files too, and the board can go. */
		(void)time_of(other);
		CHECK(is_claimed(other));
		start_train(claimed, endless);
		stop_train(claimed);
		tick = now(pulse);
		alarm(20);
		(void)stats_of(pulse);
		subscribe(pulse, WANT(KIND(EDGE), MONOTONIC));
		unbind();
		alarm(300);
		CHECK(is_gone(other));
		memset(content, 0, size);
		fill_in(call, content, tick);
		copy.dst = (uintptr_t)waiting.page;
		CHECK(!ioctl(fd, UFFDIO_COPY, &copy) && !pthread_join(thread, NULL));
		/* What only had to be reported had been found out before the board went. */
		if (call == CALL_READ)
			CHECK(waiting.result == sizeof(struct litepulse_event));
		else if (reads)
			CHECK(!waiting.result);
		else
			CHECK(waiting.result == -1 && waiting.error == ENODEV);
		CHECK(!close(fd) && !munmap(waiting.page, size));
		CHECK(!close(claimed) && !close(other) && !close(pulse));
		bind_again();
	}
	free(content);
	use_all(open_pulse());
}

const struct guest_case abi_cases[] = {
	{ "abi", abi, "who may do what, sizes of arguments, levels, room, many files" },
	{ "older", older, "a core of an older register map does what it has (minor=6)" },
	{ "newer", newer, "one of a newer map is read, and sends nothing" },
	{ "memory", memory, "what files take of the machine's memory has an end, and comes back" },
	{ "page", page, "a call waits for its program's memory: no other call does" },
	{ }
};
