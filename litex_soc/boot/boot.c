/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The boot ROM of a board: SDRAM, a short test of it, the boot image from the flash into it. Where something is wrong it says so on the
 * console, in one line, and stops until there is a key, as who connects a terminal later has not seen the line. Addresses come from
 * the SoC by -D, sdram_init() from LiteDRAM (litex_soc/boot/__init__.py).
 */

typedef unsigned int u32;
typedef unsigned char u8;

#define REGISTER(address) (*(volatile u32 *)(address))
#define MEMORY ((volatile u32 *)RAM)

enum {
	SPI_START = 1,
	SPI_DONE = 1,
	SPI_SELECT = 1 | 1 << 16,	/* second bit: by hand, for as long as it is set */
	SPI_DESELECT = 1 << 16,
	FLASH_WAKE = 0xab,
	FLASH_READ = 0x03,
};

/* The layout of HEADER in __init__.py. */
struct header {
	u32 magic, machine, entry, crc;
	struct {
		u32 address, bytes;
	} part[PARTS];
	u32 header_crc;
};

void sdram_init(void);
void cdelay(int turns);
u32 boot(void);

/* At least this many cycles, as LiteDRAM requires. */
void cdelay(int turns)
{
	while (turns-- > 0)
		__asm__ volatile("");
}

static void put(char c)
{
	while (REGISTER(UART_TXFULL))
		;
	REGISTER(UART_RXTX) = (u8)c;
}

static void print(const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			put('\r');
		put(*text);
	}
}

static void hex(u32 value)
{
	print("0x");
	for (int shift = 28; shift >= 0; shift -= 4) {
		u32 digit = value >> shift & 15;

		put((char)(digit + (digit < 10 ? '0' : 'a' - 10)));
	}
}

static void decimal(u32 value)
{
	if (value >= 10)
		decimal(value / 10);
	put((char)('0' + value % 10));
}

/* Ends a line that says what is wrong. */
static void stop(void)
{
	print("; any key tries again\n");
	while (REGISTER(UART_RXEMPTY))
		;
	REGISTER(CONTROLLER_RESET) = 1;
	for (;;)
		;
}

/* --- memory ------------------------------------------------------------------------------------------------------------------ */

#define TESTED (8 * L2_SIZE)
#define MIXED(n) ((n) * 2654435761u ^ 0x5a5aa5a5u)	/* neighbours differ in half of their bits */

static void check(u32 word, u32 expected)
{
	u32 found = MEMORY[word];

	if (found == expected)
		return;
	print("boot: SDRAM at ");
	hex((u32)&MEMORY[word]);
	print(" is ");
	hex(found);
	print(" instead of ");
	hex(expected);
	print(": the chip is broken, or not the one this bitstream is made for");
	stop();
}

/* What was written so far goes out of both caches: as many others are read. No power of two is among them. */
static void forget(void)
{
	u32 from = RAM_SIZE / 4 / 4 * 3;

	for (u32 n = from; n < from + L2_SIZE / 4; n++)
		(void)MEMORY[n];
}

/* Each address line by itself, then a piece larger than the caches with all data lines. */
static void test_memory(void)
{
	MEMORY[0] = MIXED(0);
	for (u32 n = 1; n < RAM_SIZE / 4; n <<= 1)
		MEMORY[n] = MIXED(n);
	forget();
	check(0, MIXED(0));
	for (u32 n = 1; n < RAM_SIZE / 4; n <<= 1)
		check(n, MIXED(n));

	for (u32 n = 0; n < TESTED / 4; n++)
		MEMORY[n] = ~MIXED(n);
	for (u32 n = 0; n < TESTED / 4; n++)
		check(n, ~MIXED(n));
}

/* --- flash ------------------------------------------------------------------------------------------------------------------- */

static void transfer(u32 out, u32 bits)
{
	REGISTER(SPIFLASH_MOSI) = out;
	REGISTER(SPIFLASH_CONTROL) = SPI_START | bits << 8;
}

static void wait_for_transfer(void)
{
	while (!(REGISTER(SPIFLASH_STATUS) & SPI_DONE))
		;
}

static void open_flash(u32 address)
{
	/* the FPGA may swallow the first edges after it was configured */
	REGISTER(SPIFLASH_CS) = SPI_DESELECT;
	transfer(0, 32);
	wait_for_transfer();
	REGISTER(SPIFLASH_CS) = SPI_SELECT;
	transfer(FLASH_WAKE << 24, 8);
	wait_for_transfer();
	REGISTER(SPIFLASH_CS) = SPI_DESELECT;
	cdelay(SYS_HZ / 10000);
	REGISTER(SPIFLASH_CS) = SPI_SELECT;
	transfer((u32)FLASH_READ << 24 | address, 32);
	wait_for_transfer();
}

/* The next bytes, whole words. */
static void read_flash(volatile u32 *to, u32 bytes)
{
	if (!bytes)
		return;
	transfer(0, 32);
	for (;;) {
		u32 word;

		wait_for_transfer();
		word = REGISTER(SPIFLASH_MISO);
		if (bytes > 4)
			transfer(0, 32);		/* goes on meanwhile */
		*to++ = word >> 24 | (word >> 8 & 0xff00) | (word << 8 & 0xff0000) | word << 24;
		if (bytes == 4)
			return;
		bytes -= 4;
	}
}

/* --- CRC-32, of IEEE 802.3, as zlib's ---------------------------------------------------------------------------------------- */

static void make_table(u32 *table)
{
	for (u32 n = 0; n < 256; n++) {
		u32 crc = n;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
		table[n] = crc;
	}
}

static u32 crc_of(const u32 *table, u32 crc, const volatile u32 *data, u32 bytes)
{
	for (; bytes; bytes -= 4) {
		crc ^= *data++;
		for (int n = 0; n < 4; n++)
			crc = crc >> 8 ^ table[crc & 255];
	}
	return crc;
}

/* ----------------------------------------------------------------------------------------------------------------------------- */

static void stop_with_advice(void)
{
	print("; make one by python -m litex_soc.boot_image and write it by make flash-image");
	stop();
}

static void damaged(u32 found, u32 expected)
{
	print("boot: the boot image in the flash is damaged: CRC-32 ");
	hex(found);
	print(" instead of ");
	hex(expected);
	print("; write it again by make flash-image");
	stop();
}

/* The address to go on at. */
u32 boot(void)
{
	u32 table[256], bytes = 0, crc;
	struct header header;

	print("\nboot: SDRAM ");
	decimal(RAM_SIZE >> 20);
	print(" MB\n");
	sdram_init();
	test_memory();

	open_flash(FLASH_IMAGE);
	read_flash((u32 *)&header, sizeof(header));
	if (header.magic != MAGIC) {
		print("boot: no boot image in the flash at ");
		hex(FLASH_IMAGE);
		stop_with_advice();
	}
	make_table(table);
	crc = ~crc_of(table, ~0u, (u32 *)&header, sizeof(header) - 4);
	if (crc != header.header_crc)
		damaged(crc, header.header_crc);
	for (u32 n = 0; n < PARTS; n++) {
		u32 offset = header.part[n].address - RAM, size = header.part[n].bytes;

		/* each first by itself: sums might wrap */
		if (size && (size % 4 || offset % 4 || offset >= RAM_SIZE || size > RAM_SIZE - offset || size > FLASH_ROOM - bytes)) {
			print("boot: the length of the boot image in the flash cannot be");
			stop_with_advice();
		}
		bytes += size;
	}
	if (header.machine != MACHINE) {
		print("boot: the boot image in the flash is for another bitstream than this");
		stop_with_advice();
	}

	print("boot: copying ");
	decimal(bytes);
	print(" bytes\n");
	for (u32 n = 0; n < PARTS; n++)
		read_flash((volatile u32 *)header.part[n].address, header.part[n].bytes);
	REGISTER(SPIFLASH_CS) = SPI_DESELECT;
	crc = ~0u;
	for (u32 n = 0; n < PARTS; n++)
		crc = crc_of(table, crc, (volatile u32 *)header.part[n].address, header.part[n].bytes);
	if (~crc != header.crc)
		damaged(~crc, header.crc);
	print("boot: starting\n");
	return header.entry;
}
