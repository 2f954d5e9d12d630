// SPDX-License-Identifier: BSD-2-Clause
/*
 * A USB plug with two serial ports, for a kernel without USB: what udev looks at, and nothing behind it. `product` is what it says it is.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/sysfs.h>
#include <linux/tty.h>
#include <linux/tty_driver.h>
#include <linux/tty_port.h>

#define PORTS 2

static char *product = "iCEBreaker V1.0e";
module_param(product, charp, 0444);

#define ATTRIBUTE(name, text) \
	static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf) \
	{ \
		return sysfs_emit(buf, "%s\n", text); \
	} \
	static DEVICE_ATTR_RO(name)

ATTRIBUTE(idVendor, "0403");
ATTRIBUTE(idProduct, "6010");
ATTRIBUTE(bcdDevice, "0700");
ATTRIBUTE(manufacturer, "1BitSquared");
ATTRIBUTE(product, product);
ATTRIBUTE(serial, "ib7A");
ATTRIBUTE(bInterfaceClass, "ff");
ATTRIBUTE(bInterfaceSubClass, "ff");

static ssize_t bInterfaceNumber_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%02lx\n", (unsigned long)dev_get_drvdata(dev));
}
static DEVICE_ATTR_RO(bInterfaceNumber);

static struct attribute *plug_attrs[] = {
	&dev_attr_idVendor.attr, &dev_attr_idProduct.attr, &dev_attr_bcdDevice.attr, &dev_attr_manufacturer.attr, &dev_attr_product.attr,
	&dev_attr_serial.attr, NULL
};
ATTRIBUTE_GROUPS(plug);

static struct attribute *interface_attrs[] = {
	&dev_attr_bInterfaceClass.attr, &dev_attr_bInterfaceSubClass.attr, &dev_attr_bInterfaceNumber.attr, NULL
};
ATTRIBUTE_GROUPS(interface);

static const struct bus_type usb = { .name = "usb" };
static const struct device_type plug_type = { .name = "usb_device", .groups = plug_groups };
static const struct device_type interface_type = { .name = "usb_interface", .groups = interface_groups };

static struct platform_device *host;
static struct device *plug, *interfaces[PORTS];
static struct tty_driver *driver;
static struct tty_port ports[PORTS];

static int port_open(struct tty_struct *tty, struct file *file)
{
	return tty_port_open(&ports[tty->index], tty, file);
}

static void port_close(struct tty_struct *tty, struct file *file)
{
	tty_port_close(&ports[tty->index], tty, file);
}

static ssize_t port_write(struct tty_struct *tty, const u8 *bytes, size_t count)
{
	return count;
}

static unsigned int port_write_room(struct tty_struct *tty)
{
	return 4096;
}

static const struct tty_operations tty_ops = {
	.open = port_open, .close = port_close, .write = port_write, .write_room = port_write_room,
};
static const struct tty_port_operations port_ops = { };

static void device_freed(struct device *dev)
{
	kfree(dev);
}

static struct device *make(struct device *parent, const struct device_type *type, const char *name, unsigned long number)
{
	struct device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	device_initialize(dev);
	dev->bus = &usb;
	dev->type = type;
	dev->parent = parent;
	dev->release = device_freed;
	dev_set_drvdata(dev, (void *)number);
	if (dev_set_name(dev, "%s", name) || device_add(dev)) {
		put_device(dev);
		return NULL;
	}
	return dev;
}

static void remove_all(void)
{
	for (int i = 0; i < PORTS; i++) {
		if (interfaces[i]) {
			tty_unregister_device(driver, i);
			device_unregister(interfaces[i]);
		}
	}
	if (plug)
		device_unregister(plug);
	if (!IS_ERR_OR_NULL(host))
		platform_device_unregister(host);
	tty_unregister_driver(driver);
	tty_driver_kref_put(driver);
	for (int i = 0; i < PORTS; i++)
		tty_port_destroy(&ports[i]);
	bus_unregister(&usb);
}

static int __init usb_plug_init(void)
{
	static const char * const names[PORTS] = { "1-2:1.0", "1-2:1.1" };
	int err = bus_register(&usb);

	if (err)
		return err;
	driver = tty_alloc_driver(PORTS, TTY_DRIVER_DYNAMIC_DEV | TTY_DRIVER_REAL_RAW);
	if (IS_ERR(driver)) {
		bus_unregister(&usb);
		return PTR_ERR(driver);
	}
	driver->driver_name = "usb_plug";
	driver->name = "ttyUSB";
	driver->type = TTY_DRIVER_TYPE_SERIAL;
	driver->subtype = SERIAL_TYPE_NORMAL;
	driver->init_termios = tty_std_termios;
	tty_set_operations(driver, &tty_ops);
	for (int i = 0; i < PORTS; i++) {
		tty_port_init(&ports[i]);
		ports[i].ops = &port_ops;
	}
	err = tty_register_driver(driver);
	if (err) {
		tty_driver_kref_put(driver);
		bus_unregister(&usb);
		return err;
	}
	err = -ENOMEM;
	host = platform_device_register_simple("host", PLATFORM_DEVID_NONE, NULL, 0);
	if (!IS_ERR(host))
		plug = make(&host->dev, &plug_type, "1-2", 0);
	for (unsigned long i = 0; plug && i < PORTS; i++) {
		interfaces[i] = make(plug, &interface_type, names[i], i);
		if (!interfaces[i] || IS_ERR(tty_port_register_device(&ports[i], driver, i, interfaces[i])))
			goto failed;
	}
	if (plug)
		return 0;
failed:
	remove_all();
	return err;
}
module_init(usb_plug_init);

static void __exit usb_plug_exit(void)
{
	remove_all();
}
module_exit(usb_plug_exit);

MODULE_DESCRIPTION("a USB plug without USB");
MODULE_LICENSE("Dual BSD/GPL");
