// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the serial ports and the chardev cost: `bench CASE ...`, one case for each kind of figure of sim/linux/driver_bench.py.
 *
 *	rx TTY BAUD BYTES LOAD		reads so many bytes; `go` asks for them
 *	tx TTY BAUD BYTES LOAD		writes so many
 *	events COUNT LOAD MS		reads so many edges of aux0, for so long
 *	edge COUNT LOAD			reads edges one by one, and marks each on the console
 *	byte TTY BAUD COUNT LOAD	the same with received bytes
 *	write TTY BAUD COUNT LOAD	marks, writes a byte, waits
 *
 * LOAD: `idle`: what the CPU has left is counted by a process of the idle class; `loaded`: another process of the same priority
 * wants all the CPU; `alone`: nothing else runs. The mark is a store to the console's register: the simulator records when.
 */
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "guest.h"
#include "termios2.h"

#define MARK	'~'
#define NS	1000000000LL

static volatile uint32_t *spun;		/* rounds of the other process */
static pid_t other;

static long long ns_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS + t.tv_nsec;
}

static volatile uint32_t *registers_at(unsigned long address)
{
	static int memory = -1;
	void *page;

	if (memory < 0)
		memory = open("/dev/mem", O_RDWR | O_SYNC);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, address & ~4095UL);
	if (memory < 0 || page == MAP_FAILED)
		die("/dev/mem");
	return (volatile uint32_t *)((char *)page + (address & 4095));
}

/* Addresses are in the environment: the SoC's description has them. */
static volatile uint32_t *register_named(const char *name)
{
	const char *address = getenv(name);

	if (!address)
		die(name);
	return registers_at(strtoul(address, NULL, 0));
}

static void load(const char *kind)
{
	if (!strcmp(kind, "alone"))
		return;
	spun = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (spun == MAP_FAILED)
		die("mmap");
	other = fork();
	if (other < 0)
		die("fork");
	if (other)
		return;
	/* musl's own sched_setscheduler() refuses. */
	if (!strcmp(kind, "idle") && syscall(SYS_sched_setscheduler, 0, SCHED_IDLE, &(struct sched_param) { }))
		_exit(1);
	for (;;) {
		for (int i = 0; i < 50; i++)
			__asm__ volatile("");
		++*spun;
	}
}

struct moment {
	long long ns;
	uint32_t spun;
};

static struct moment moment(void)
{
	return (struct moment) { ns_now(), spun ? *spun : 0 };
}

/* `label NS ROUNDS`: what passed, and what the other process did meanwhile. */
static void tell_passed(const char *label, struct moment since, struct moment until)
{
	printf("%s %lld %u\n", label, until.ns - since.ns, until.spun - since.spun);
}

static void late(int signal)
{
}

/* read() ends with EINTR then: what does not come is lost. */
static void give_up_after(long ms)
{
	struct itimerval t = { .it_value = { ms / 1000, ms % 1000 * 1000 } };

	sigaction(SIGALRM, &(struct sigaction) { .sa_handler = late }, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

/* What the other process does when nothing else happens but the timer's ticks. */
static void calibrate(void)
{
	struct moment since;

	sleep_ms(30);
	since = moment();
	sleep_ms(100);
	tell_passed("free", since, moment());
}

/* `interrupts COUNT NAME` of each port. */
static void tell_interrupts(void)
{
	char line[160];
	FILE *file = fopen("/proc/interrupts", "r");

	while (file && fgets(line, sizeof(line), file)) {
		char *name = strrchr(line, ' ');
		char *colon = strchr(line, ':');

		if (colon && name && (strstr(name, "litepulse") || strstr(name, "liteuart") || strstr(name, "serial")))
			printf("interrupts %lu %s", strtoul(colon + 1, NULL, 10), name + 1);
	}
	if (file)
		fclose(file);
}

static int open_tty(const char *path, const char *baud)
{
	int fd = open(path, O_RDWR | O_NOCTTY);
	unsigned int rate = strtoul(baud, NULL, 10);
	struct termios2 t;

	if (fd < 0)
		die(path);
	if (ioctl(fd, TCGETS2, &t))
		die("TCGETS2");
	t.c_iflag = IGNPAR;
	t.c_oflag = t.c_lflag = 0;
	t.c_cflag = CS8 | CREAD | CLOCAL | BOTHER;
	t.c_ispeed = t.c_ospeed = rate;
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	if (ioctl(fd, TCSETS2, &t))
		die("TCSETS2");
	/* liteuart cannot set a baud rate; its core can. */
	if (strstr(path, "LXU"))
		*register_named("PEER_TUNING") = (((uint64_t)rate << 32) + 25000000) / 50000000;
	return fd;
}

static void tell_counts(int fd)
{
	struct {
		int cts, dsr, rng, dcd, rx, tx, frame, overrun, parity, brk, buf_overrun, reserved[9];
	} count = { };

	if (!ioctl(fd, TIOCGICOUNT, &count))
		printf("counts %d %d %d %d %d\n", count.rx, count.tx, count.frame, count.overrun, count.buf_overrun);
}

static void case_rx(char **argv)
{
	static unsigned char data[4096];
	int fd = open_tty(argv[0], argv[1]);
	long wanted = strtol(argv[2], NULL, 0), got = 0, wrong = 0, reads = 0;
	struct moment since;

	load(argv[3]);
	calibrate();
	tell_interrupts();
	ready("go");
	sleep_ms(4);
	give_up_after(500 + wanted * 10000 / strtol(argv[1], NULL, 0));
	since = moment();
	while (got < wanted) {
		long size = read(fd, data, sizeof(data));

		if (size <= 0)
			break;
		for (long i = 0; i < size; i++)
			wrong += data[i] != (unsigned char)((got + i) * 7);
		got += size;
		reads++;
	}
	tell_passed("took", since, moment());
	tell_interrupts();
	printf("got %ld %ld %ld\n", got, wrong, reads);
	tell_counts(fd);
}

static void case_tx(char **argv)
{
	static unsigned char data[65536];
	int fd = open_tty(argv[0], argv[1]);
	long count = strtol(argv[2], NULL, 0), baud = strtol(argv[1], NULL, 0), sent = 0;
	struct moment since;
	long long end;

	for (long i = 0; i < count; i++)
		data[i] = i * 7;
	load(argv[3]);
	calibrate();
	tell_interrupts();
	since = moment();
	end = since.ns + count * 10 * NS / baud + 20000000;
	while (sent < count) {
		long size = write(fd, data + sent, count - sent);

		if (size <= 0)
			die("write");
		sent += size;
	}
	while (ns_now() < end)
		sleep_ms((end - ns_now()) / 1000000 + 1);
	tell_passed("took", since, moment());
	tell_interrupts();
	tell_counts(fd);
}

static void case_events(char **argv)
{
	static struct litepulse_event events[2048];
	long wanted = strtol(argv[0], NULL, 0), got = 0, reads = 0, gaps = 0;
	int fd = open_device(0);
	struct moment since;
	uint64_t next = 0;

	load(argv[1]);
	calibrate();
	subscribe(fd, (struct litepulse_subscribe) { .kinds = 1u << LITEPULSE_KIND_EDGE, .rise = 1, .fall = 1, .fifo = 2048,
		  .clock = LITEPULSE_CLOCK_NONE, .watermark = 512, .timeout_us = 10000 });
	tell_interrupts();
	ready("go");
	sleep_ms(4);
	give_up_after(strtol(argv[2], NULL, 0));
	since = moment();
	while (got < wanted) {
		long size = read(fd, events, sizeof(events));

		if (size <= 0)
			break;
		size /= sizeof(events[0]);
		for (long i = 0; i < size; i++) {
			gaps += events[i].kind != LITEPULSE_KIND_EDGE || (next && events[i].seq != next);
			next = events[i].seq + 1;
		}
		got += size;
		reads++;
	}
	tell_passed("took", since, moment());
	tell_interrupts();
	printf("got %ld %ld %ld\n", got, gaps, reads);
	tell_stats(fd);
}

static void case_edge(char **argv)
{
	volatile uint32_t *console = register_named("CONSOLE");
	struct litepulse_event event;
	int fd = open_device(0);

	load(argv[1]);
	subscribe(fd, (struct litepulse_subscribe) { .kinds = 1u << LITEPULSE_KIND_EDGE, .rise = 1, .fall = 1,
		  .clock = LITEPULSE_CLOCK_NONE });
	ready("go");
	for (long n = strtol(argv[0], NULL, 0); n; n--) {
		if (read(fd, &event, sizeof(event)) != sizeof(event))
			die("read");
		*console = MARK;
	}
	printf("\n");
}

static void case_byte(char **argv)
{
	volatile uint32_t *console = register_named("CONSOLE");
	int fd = open_tty(argv[0], argv[1]);
	char byte;

	load(argv[3]);
	ready("go");
	for (long n = strtol(argv[2], NULL, 0); n; n--) {
		if (read(fd, &byte, 1) != 1)
			die("read");
		*console = MARK;
	}
	printf("\n");
}

static void case_write(char **argv)
{
	volatile uint32_t *console = register_named("CONSOLE");
	int fd = open_tty(argv[0], argv[1]);
	char byte = 0x55;

	load(argv[3]);
	ready("go");
	for (long n = strtol(argv[2], NULL, 0), i = 0; i < n; i++) {
		struct timespec t = { 0, 12000000 + i * 371000 };

		nanosleep(&t, NULL);
		*console = MARK;
		if (write(fd, &byte, 1) != 1)
			die("write");
	}
	sleep_ms(5);
	printf("\n");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(char **argv);
		int words;
	} cases[] = {
		{ "rx", case_rx, 4 }, { "tx", case_tx, 4 }, { "events", case_events, 3 },
		{ "edge", case_edge, 2 }, { "byte", case_byte, 4 }, { "write", case_write, 4 },
	};

	for (unsigned int i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!strcmp(argv[1], cases[i].name) && argc == 2 + cases[i].words) {
			cases[i].run(argv + 2);
			if (other)
				kill(other, SIGKILL);
			return 0;
		}
	}
	return 2;
}
