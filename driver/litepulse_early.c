// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of the kernel before the driver is bound: earlycon
 *
 * Only if the driver is part of the kernel. Each message has left when its call returns, as probe
 * empties the core's FIFO. The tty begins with the same baud rate, so that messages until the
 * console takes over can be read, too.
 */
#include <linux/bitfield.h>
#include <linux/console.h>
#include <linux/init.h>
#include <linux/io.h>
#include <linux/litex.h>
#include <linux/of.h>
#include <linux/of_fdt.h>
#include <linux/serial_core.h>

#include "litepulse_early.h"
#include "litepulse_regs.h"
#include "litepulse_time.h"

#if defined(CONFIG_SERIAL_EARLYCON) && defined(CONFIG_OF_EARLY_FLATTREE) && \
	defined(CONFIG_GENERIC_EARLY_IOREMAP) && !defined(MODULE)

#include <asm/early_ioremap.h>
#include <linux/libfdt.h>

#define DEFAULT_BAUD	115200
/* Until a message is dropped: the core does not send, say because of a boot loader's train. */
#define POLLS		10000000u

static struct {
	resource_size_t csr_base;
	resource_size_t window_base;
	void __iomem *window;
	unsigned int baud;
} litepulse_early;

unsigned int litepulse_early_baud(const struct resource *csr)
{
	return csr && csr->start == litepulse_early.csr_base ? litepulse_early.baud : 0;
}

/* Waits until bits of a register are not 0. */
static void litepulse_early_wait(const struct uart_port *port, u32 offset, u32 mask)
{
	unsigned int polls = POLLS;

	while (!(litex_read32(port->membase + offset) & mask) && --polls)
		cpu_relax();
}

static void litepulse_early_put(struct uart_port *port, unsigned char byte)
{
	litepulse_early_wait(port, LITEPULSE_CSR_FREE, LITEPULSE_CSR_FREE_TRANSMIT_MASK);
	litex_write32(litepulse_early.window + LITEPULSE_WIN_TX, byte);
}

static void litepulse_early_write(struct console *console, const char *text, unsigned int count)
{
	struct earlycon_device *device = console->data;

	if (!litepulse_early.window)
		return;
	uart_console_write(&device->port, text, count, litepulse_early_put);
	litepulse_early_wait(&device->port, LITEPULSE_CSR_STATUS,
			     LITEPULSE_CSR_STATUS_TX_IDLE_MASK);
}

/* The window that belongs to registers, as the device tree has it; 0: none. */
static resource_size_t __init litepulse_early_find_window(resource_size_t csr)
{
	const void *fdt = initial_boot_params;
	int node = -1, parent, address, size, length;
	const __be32 *reg;

	do {
		node = fdt_node_offset_by_compatible(fdt, node, "litex,litepulse");
		if (node < 0)
			return 0;
	} while (of_flat_dt_translate_address(node) != csr);
	parent = fdt_parent_offset(fdt, node);
	address = fdt_address_cells(fdt, parent);
	size = fdt_size_cells(fdt, parent);
	reg = fdt_getprop(fdt, node, "reg", &length);
	if (!reg || address < 1 || size < 0 || length < (2 * address + size) * (int)sizeof(*reg))
		return 0;
	/* Both lie on the same bus. */
	return csr + of_read_number(reg + address + size, address) - of_read_number(reg, address);
}

static u32 __init litepulse_early_get(const struct uart_port *port, u32 offset)
{
	return litex_read32(port->membase + offset);
}

static int __init litepulse_early_setup(struct earlycon_device *device, const char *options)
{
	const unsigned int baud = device->baud ?: DEFAULT_BAUD;
	struct uart_port *port = &device->port;
	struct litepulse_rate rate;
	unsigned int samples;
	u64 period;

	if (!port->membase || litepulse_early_get(port, LITEPULSE_CSR_ID_MAGIC) != LITEPULSE_MAGIC)
		return -ENODEV;
	samples = FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_SAMPLES_MASK,
			    litepulse_early_get(port, LITEPULSE_CSR_ID_GEOMETRY));
	if (litepulse_rate_init(&rate, litepulse_early_get(port, LITEPULSE_CSR_ID_CLOCK_NUM),
				litepulse_early_get(port, LITEPULSE_CSR_ID_CLOCK_DEN), samples))
		return -EINVAL;
	period = litepulse_bit_period(&rate, baud);
	/* The core does not take a bit of less than 4 cycles; few boot at less than a baud. */
	if (period < (u64)samples << 10 || period > U32_MAX)
		return -EINVAL;
	litepulse_early.window_base = litepulse_early_find_window(port->mapbase);
	if (!litepulse_early.window_base)
		return -ENODEV;
	litepulse_early.window = early_ioremap(litepulse_early.window_base, LITEPULSE_WINDOW_SIZE);
	if (!litepulse_early.window)
		return -ENOMEM;
	litepulse_early.csr_base = port->mapbase;
	litepulse_early.baud = baud;
	litex_write32(litepulse_early.window + LITEPULSE_CFG_LINE, 0);
	litex_write32(litepulse_early.window + LITEPULSE_CFG_PROFILE0_FORMAT,
		      FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_DATA_BITS_MASK, 8 - 5));
	litex_write32(litepulse_early.window + LITEPULSE_CFG_PROFILE0_PERIOD, period);
	device->con->write = litepulse_early_write;
	return 0;
}

OF_EARLYCON_DECLARE(litepulse, "litex,litepulse", litepulse_early_setup);

/* A mapping that may stay, as soon as there can be one. */
static int __init litepulse_early_remap(void)
{
	void __iomem *window = litepulse_early.window;

	if (!window)
		return 0;
	/* No message is written meanwhile. */
	console_lock();
	litepulse_early.window = ioremap(litepulse_early.window_base, LITEPULSE_WINDOW_SIZE);
	console_unlock();
	early_iounmap(window, LITEPULSE_WINDOW_SIZE);
	return 0;
}
early_initcall(litepulse_early_remap);

#else

unsigned int litepulse_early_baud(const struct resource *csr)
{
	return 0;
}

#endif
