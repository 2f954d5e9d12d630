// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A GPIO chip without hardware, for the programs of sw/responders: line 0 has the level that is written to `level`, and interrupts when it
 * changes; `out` is the level of line 1.
 *
 *	/sys/module/gpio_loop/parameters/{level,out,changes,armed}
 */
#include <linux/gpio/driver.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/version.h>

enum { IN, OUT, LINES };

static bool out;
module_param(out, bool, 0444);
MODULE_PARM_DESC(out, "level of line 1");

static unsigned int changes;
module_param(changes, uint, 0644);
MODULE_PARM_DESC(changes, "how often line 1 changed");

static bool armed;
module_param(armed, bool, 0444);
MODULE_PARM_DESC(armed, "whether somebody waits for an interrupt");

static bool level, is_output[LINES];
static struct platform_device *device;

static int loop_get_direction(struct gpio_chip *chip, unsigned int line)
{
	return is_output[line] ? GPIO_LINE_DIRECTION_OUT : GPIO_LINE_DIRECTION_IN;
}

static int loop_direction_input(struct gpio_chip *chip, unsigned int line)
{
	is_output[line] = false;
	return 0;
}

static int loop_get(struct gpio_chip *chip, unsigned int line)
{
	return line == IN ? level : out;
}

static int loop_set(struct gpio_chip *chip, unsigned int line, int value)
{
	if (line == OUT && out != !!value) {
		out = value;
		changes++;
	}
	return 0;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
static void loop_set_void(struct gpio_chip *chip, unsigned int line, int value)
{
	loop_set(chip, line, value);
}
#define loop_set_operation loop_set_void
#else
#define loop_set_operation loop_set
#endif

static int loop_direction_output(struct gpio_chip *chip, unsigned int line, int value)
{
	is_output[line] = true;
	return loop_set(chip, line, value);
}

static struct gpio_chip loop_chip = {
	.label = "gpio-loop",
	.owner = THIS_MODULE,
	.base = -1,
	.ngpio = LINES,
	.get_direction = loop_get_direction,
	.direction_input = loop_direction_input,
	.direction_output = loop_direction_output,
	.get = loop_get,
	.set = loop_set_operation,
};

static void loop_irq_mask(struct irq_data *data)
{
	armed = false;
	gpiochip_disable_irq(&loop_chip, irqd_to_hwirq(data));
}

static void loop_irq_unmask(struct irq_data *data)
{
	gpiochip_enable_irq(&loop_chip, irqd_to_hwirq(data));
	armed = true;
}

static int loop_irq_set_type(struct irq_data *data, unsigned int type)
{
	return 0;	/* always both edges */
}

static const struct irq_chip loop_irq_chip = {
	.name = "gpio-loop",
	.irq_mask = loop_irq_mask,
	.irq_unmask = loop_irq_unmask,
	.irq_set_type = loop_irq_set_type,
	.flags = IRQCHIP_IMMUTABLE,
	GPIOCHIP_IRQ_RESOURCE_HELPERS,
};

static int loop_set_level(const char *text, const struct kernel_param *parameter)
{
	bool before = level;
	int error = param_set_bool(text, parameter);

	if (!error && level != before && armed)
		generic_handle_domain_irq_safe(loop_chip.irq.domain, IN);
	return error;
}

static const struct kernel_param_ops level_operations = { .set = loop_set_level, .get = param_get_bool };
module_param_cb(level, &level_operations, &level, 0644);
MODULE_PARM_DESC(level, "level of line 0");

static int __init loop_init(void)
{
	int error;

	device = platform_device_register_simple("gpio-loop", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	gpio_irq_chip_set_chip(&loop_chip.irq, &loop_irq_chip);
	loop_chip.irq.handler = handle_simple_irq;
	loop_chip.irq.default_type = IRQ_TYPE_NONE;
	loop_chip.parent = &device->dev;
	error = gpiochip_add_data(&loop_chip, NULL);
	if (error)
		platform_device_unregister(device);
	return error;
}
module_init(loop_init);

static void __exit loop_exit(void)
{
	gpiochip_remove(&loop_chip);
	platform_device_unregister(device);
}
module_exit(loop_exit);

MODULE_DESCRIPTION("A GPIO chip without hardware, for tests");
MODULE_LICENSE("Dual BSD/GPL");
