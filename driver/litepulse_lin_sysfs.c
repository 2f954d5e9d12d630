// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of a LIN device, in /sys/class/net/lin0/
 *   role              slave, or master: only a master sends headers; while the device is down.
 *                     Also written responder and commander
 *   response_space    ns from the end of a received byte to the next one that the core sends;
 *                     "auto", as it is at first: one bit time. Reads what it is, in whole ticks
 *   transmit_clock    what CLOCK_REALTIME and CLOCK_TAI mean as clock of SO_TXTIME: system, the
 *                     kernel's clocks; phc, the PTP clock of the board
 *   responses/00..3f  what the core answers: off, or [classic|enhanced] [once] and 1 to 8 bytes
 */
#include <linux/ctype.h>
#include <linux/device.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "litepulse_lin.h"

static struct litepulse_lin *litepulse_lin_sysfs_of(struct device *dev)
{
	return netdev_priv(to_net_dev(dev));
}

static ssize_t role_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n",
			  READ_ONCE(litepulse_lin_sysfs_of(dev)->master) ? "master" : "slave");
}

static ssize_t role_store(struct device *dev, struct device_attribute *attr, const char *buf,
			  size_t count)
{
	struct litepulse_lin *lin = litepulse_lin_sysfs_of(dev);
	const bool master = sysfs_streq(buf, "master") || sysfs_streq(buf, "commander");
	int error = 0;

	if (!master && !sysfs_streq(buf, "slave") && !sysfs_streq(buf, "responder"))
		return -EINVAL;
	spin_lock_bh(&lin->lock);
	if (lin->wanted)
		error = -EBUSY;
	else
		lin->master = master;
	spin_unlock_bh(&lin->lock);
	return error ?: count;
}
static DEVICE_ATTR_RW(role);

static ssize_t response_space_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct litepulse_lin *lin = litepulse_lin_sysfs_of(dev);
	u64 ns;
	int error = mutex_lock_killable(&lin->mutex);

	if (error)
		return error;
	ns = litepulse_ticks_to_ns(&lin->lp->rate, litepulse_lin_respond_space(lin));
	mutex_unlock(&lin->mutex);
	return sysfs_emit(buf, "%llu\n", ns);
}

static ssize_t response_space_store(struct device *dev, struct device_attribute *attr,
				    const char *buf, size_t count)
{
	u32 ns;
	int error;

	if (sysfs_streq(buf, "auto"))
		return litepulse_lin_respond_set_space(litepulse_lin_sysfs_of(dev), -1) ?: count;
	error = kstrtou32(buf, 0, &ns);
	if (error)
		return error;
	return litepulse_lin_respond_set_space(litepulse_lin_sysfs_of(dev), ns) ?: count;
}
static DEVICE_ATTR_RW(response_space);

static ssize_t transmit_clock_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n",
			  READ_ONCE(litepulse_lin_sysfs_of(dev)->phc) ? "phc" : "system");
}

static ssize_t transmit_clock_store(struct device *dev, struct device_attribute *attr,
				    const char *buf, size_t count)
{
	struct litepulse_lin *lin = litepulse_lin_sysfs_of(dev);
	const bool phc = sysfs_streq(buf, "phc");

	if (!phc && !sysfs_streq(buf, "system"))
		return -EINVAL;
	if (phc && litepulse_ptp_index(lin->lp) < 0)
		return -EOPNOTSUPP;
	WRITE_ONCE(lin->phc, phc);
	return count;
}
static DEVICE_ATTR_RW(transmit_clock);

static struct attribute *litepulse_lin_attrs[] = {
	&dev_attr_role.attr,
	&dev_attr_response_space.attr,
	&dev_attr_transmit_clock.attr,
	NULL
};

static const struct attribute_group litepulse_lin_group = { .attrs = litepulse_lin_attrs };

/* --- responses -------------------------------------------------------------------------------- */

static u8 litepulse_lin_sysfs_id_of(struct device_attribute *attr);

static ssize_t litepulse_lin_sysfs_id_show(struct device *dev, struct device_attribute *attr,
					   char *buf)
{
	struct litepulse_lin_response response;
	struct litepulse_lin *lin = litepulse_lin_sysfs_of(dev);
	const char *model, *once;
	int error = mutex_lock_killable(&lin->mutex);

	if (error)
		return error;
	response = lin->responses[litepulse_lin_sysfs_id_of(attr)];
	mutex_unlock(&lin->mutex);
	if (!response.cached)
		return sysfs_emit(buf, "off\n");
	model = response.entry.flags & LITEPULSE_LIN_ENTRY_ENHANCED ? "enhanced" : "classic";
	once = response.entry.flags & LITEPULSE_LIN_ENTRY_ONCE ? " once" : "";
	return sysfs_emit(buf, "%s%s %*ph\n", model, once, response.entry.length,
			  response.entry.data);
}

/* Text to a response; 0 or -EINVAL. */
static int litepulse_lin_sysfs_parse(char *text, struct litepulse_lin_response *response)
{
	struct litepulse_lin_entry *entry = &response->entry;
	char *word;

	while ((word = strsep(&text, " \t\n"))) {
		if (!*word)
			continue;
		if (!strcmp(word, "enhanced") || !strcmp(word, "classic")) {
			entry->flags &= ~LITEPULSE_LIN_ENTRY_ENHANCED;
			if (*word == 'e')
				entry->flags |= LITEPULSE_LIN_ENTRY_ENHANCED;
		} else if (!strcmp(word, "once")) {
			entry->flags |= LITEPULSE_LIN_ENTRY_ONCE;
		} else {
			/* two digits, and neither a sign nor 0x */
			if (entry->length == LITEPULSE_LIN_DATA_MAX || strlen(word) != 2 ||
			    !isxdigit(word[0]) || !isxdigit(word[1]) ||
			    kstrtou8(word, 16, &entry->data[entry->length]))
				return -EINVAL;
			entry->length++;
		}
	}
	response->cached = true;
	return entry->length ? 0 : -EINVAL;
}

static ssize_t litepulse_lin_sysfs_id_store(struct device *dev, struct device_attribute *attr,
					    const char *buf, size_t count)
{
	struct litepulse_lin *lin = litepulse_lin_sysfs_of(dev);
	struct litepulse_lin_response response = { .entry.id =
							   litepulse_lin_sysfs_id_of(attr) };
	char *text;
	int error = 0;

	if (!sysfs_streq(buf, "off")) {
		text = kstrndup(buf, count, GFP_KERNEL);
		if (!text)
			return -ENOMEM;
		error = litepulse_lin_sysfs_parse(text, &response);
		kfree(text);
	}
	return error ?: litepulse_lin_respond_set(lin, &response) ?: count;
}

static struct device_attribute litepulse_lin_responses[LITEPULSE_LIN_IDS];
static struct attribute *litepulse_lin_response_attrs[LITEPULSE_LIN_IDS + 1];
static char litepulse_lin_response_names[LITEPULSE_LIN_IDS][4];

static u8 litepulse_lin_sysfs_id_of(struct device_attribute *attr)
{
	return attr - litepulse_lin_responses;
}

/**
 * litepulse_lin_sysfs_init - makes the attributes of all identifiers, before there is any device
 */
void __init litepulse_lin_sysfs_init(void)
{
	unsigned int id;

	for (id = 0; id < LITEPULSE_LIN_IDS; id++) {
		struct device_attribute *response = &litepulse_lin_responses[id];
		char *name = litepulse_lin_response_names[id];

		snprintf(name, sizeof(litepulse_lin_response_names[id]), "%02x", id);
		sysfs_attr_init(&response->attr);
		response->attr.name = name;
		response->attr.mode = 0644;
		response->show = litepulse_lin_sysfs_id_show;
		response->store = litepulse_lin_sysfs_id_store;
		litepulse_lin_response_attrs[id] = &response->attr;
	}
}

static const struct attribute_group litepulse_lin_response_group = {
	.name = "responses",
	.attrs = litepulse_lin_response_attrs,
};

static const struct attribute_group *litepulse_lin_groups[] = {
	&litepulse_lin_group,
	&litepulse_lin_response_group,
	NULL
};

/* Its files are there before user space hears of the device, and its uevent has DEVTYPE=lin. */
const struct device_type litepulse_lin_type = {
	.name = "lin",
	.groups = litepulse_lin_groups,
};
