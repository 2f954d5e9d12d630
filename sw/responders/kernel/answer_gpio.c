// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A GPIO line follows another one of the same chip, in the interrupt that reports the edge.
 *
 *	insmod answer_gpio.ko chip=pinctrl-bcm2835 in=17 out=18
 *
 * The chip's label stands in /sys/kernel/debug/gpio, and in what gpiodetect prints.
 */
#include <linux/gpio/consumer.h>
#include <linux/gpio/machine.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/platform_device.h>

#define NAME "answer_gpio"

static char *chip = "pinctrl-bcm2835";
module_param(chip, charp, 0444);
MODULE_PARM_DESC(chip, "label of the GPIO chip");

static unsigned int in = 17;
module_param(in, uint, 0444);
MODULE_PARM_DESC(in, "line whose edges are answered");

static unsigned int out = 18;
module_param(out, uint, 0444);
MODULE_PARM_DESC(out, "line that follows");

static struct platform_device *device;
static struct gpio_desc *input, *output;
static int irq;

static struct gpiod_lookup_table lines = {
	.dev_id = NAME,
	.table = { {}, {}, {} },	/* set when the module is loaded; the last one ends the table */
};

static irqreturn_t answer_irq(int number, void *data)
{
	gpiod_set_value(output, gpiod_get_value(input));
	return IRQ_HANDLED;
}

static int __init answer_init(void)
{
	int error;

	lines.table[0] = GPIO_LOOKUP(chip, in, "in", GPIO_ACTIVE_HIGH);
	lines.table[1] = GPIO_LOOKUP(chip, out, "out", GPIO_ACTIVE_HIGH);
	gpiod_add_lookup_table(&lines);
	device = platform_device_register_simple(NAME, PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(device)) {
		error = PTR_ERR(device);
		goto no_device;
	}
	input = gpiod_get(&device->dev, "in", GPIOD_IN);
	if (IS_ERR(input)) {
		error = PTR_ERR(input);
		goto no_input;
	}
	output = gpiod_get(&device->dev, "out", GPIOD_OUT_LOW);
	if (IS_ERR(output)) {
		error = PTR_ERR(output);
		goto no_output;
	}
	/* A line behind I2C or SPI cannot be moved in an interrupt. */
	error = gpiod_cansleep(input) || gpiod_cansleep(output) ? -EINVAL : 0;
	if (error)
		goto no_irq;
	irq = gpiod_to_irq(input);
	error = irq < 0 ? irq : request_irq(irq, answer_irq, IRQF_TRIGGER_RISING | IRQF_TRIGGER_FALLING, NAME, &lines);
	if (!error)
		return 0;
no_irq:
	gpiod_put(output);
no_output:
	gpiod_put(input);
no_input:
	platform_device_unregister(device);
no_device:
	gpiod_remove_lookup_table(&lines);
	if (error == -EPROBE_DEFER)	/* the kernel waits for the chip; insmod does not */
		error = -ENODEV;
	pr_err(NAME ": lines %u and %u of %s: error %d\n", in, out, chip, error);
	return error;
}
module_init(answer_init);

static void __exit answer_exit(void)
{
	free_irq(irq, &lines);
	gpiod_put(output);
	gpiod_put(input);
	platform_device_unregister(device);
	gpiod_remove_lookup_table(&lines);
}
module_exit(answer_exit);

MODULE_DESCRIPTION("A GPIO line follows another one, for a measurement");
MODULE_LICENSE("Dual BSD/GPL");
