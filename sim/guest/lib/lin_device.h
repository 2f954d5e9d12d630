/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What programs of the tests do with a LIN device, as any program of SocketCAN would: settings by
 * netlink, frames with the board's time. All return 0, or -1 with errno.
 */
#ifndef LIN_DEVICE_H
#define LIN_DEVICE_H

#include <sys/socket.h>
#include <time.h>

#include <linux/can.h>
#include <linux/can/error.h>
#include <linux/can/netlink.h>
#include <linux/can/raw.h>
#include <linux/errqueue.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/net_tstamp.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>

#include "device.h"

#ifndef SO_TXTIME
#define SO_TXTIME 61
#define SCM_TXTIME SO_TXTIME
#endif
#ifndef PF_CAN
#define PF_CAN 29
#define AF_CAN PF_CAN
#endif

static const char *lin_name = "lin0";	/* the device */

/* --- settings --- */

static inline struct ifreq lin_request(void)
{
	struct ifreq request = { };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", lin_name);
	return request;
}

static inline int lin_index(void)
{
	struct ifreq request = lin_request();
	int fd = socket(PF_CAN, SOCK_RAW | SOCK_CLOEXEC, CAN_RAW), error;

	error = fd < 0 || ioctl(fd, SIOCGIFINDEX, &request);
	close(fd);
	return error ? -1 : request.ifr_ifindex;
}

/* Waits up to 5 s until there is one. */
static inline int lin_await(void)
{
	for (int i = 0; i < 500 && lin_index() < 0; i++)
		usleep(10000);
	return lin_index() < 0 ? -1 : 0;
}

static inline struct rtattr *lin_put(struct nlmsghdr *message, int type, const void *data,
				     size_t size)
{
	struct rtattr *at = (void *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));

	at->rta_type = type;
	at->rta_len = RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(at), data, size);
	message->nlmsg_len = NLMSG_ALIGN(message->nlmsg_len) + RTA_ALIGN(at->rta_len);
	return at;
}

static inline void lin_close_nest(struct nlmsghdr *message, struct rtattr *nest)
{
	nest->rta_len = (char *)message + message->nlmsg_len - (char *)nest;
}

/* As `ip link set lin0 type can ...`: `put` adds the attributes. */
static inline int lin_change(void (*put)(struct nlmsghdr *message, unsigned int value, int flag),
			     unsigned int value, int flag)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg link;
		char room[400];
	} request = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
			  .nlmsg_type = RTM_NEWLINK,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.link = { .ifi_index = lin_index() },
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct rtattr *info, *data;
	char answer[1000];
	struct nlmsghdr *head = (void *)answer;
	ssize_t size = -1;

	info = lin_put(&request.head, IFLA_LINKINFO, NULL, 0);
	lin_put(&request.head, IFLA_INFO_KIND, "can", 4);
	data = lin_put(&request.head, IFLA_INFO_DATA, NULL, 0);
	put(&request.head, value, flag);
	lin_close_nest(&request.head, data);
	lin_close_nest(&request.head, info);
	if (fd >= 0 && send(fd, &request, request.head.nlmsg_len, 0) > 0)
		size = recv(fd, answer, sizeof(answer), 0);
	close(fd);
	if (size <= 0 || head->nlmsg_type != NLMSG_ERROR)
		return -1;
	errno = -((struct nlmsgerr *)NLMSG_DATA(head))->error;
	return errno ? -1 : 0;
}

static inline void lin_put_bitrate(struct nlmsghdr *message, unsigned int bitrate, int loopback)
{
	struct can_ctrlmode mode = { .mask = CAN_CTRLMODE_LOOPBACK,
				     .flags = loopback ? CAN_CTRLMODE_LOOPBACK : 0 };
	struct can_bittiming timing = { .bitrate = bitrate };

	lin_put(message, IFLA_CAN_BITTIMING, &timing, sizeof(timing));
	lin_put(message, IFLA_CAN_CTRLMODE, &mode, sizeof(mode));
}

/* As `ip link set lin0 type can bitrate N loopback on|off`. */
static inline int lin_set_bitrate(unsigned int bitrate, int loopback)
{
	return lin_change(lin_put_bitrate, bitrate, loopback);
}

static inline void lin_put_restart(struct nlmsghdr *message, unsigned int ms, int now)
{
	lin_put(message, now ? IFLA_CAN_RESTART : IFLA_CAN_RESTART_MS, &ms, sizeof(ms));
}

/* As `ip link set lin0 type can restart-ms N`, and `restart`. */
static inline int lin_set_restart(unsigned int ms, int now)
{
	return lin_change(lin_put_restart, now ? 1 : ms, now);
}

/* As `ip link set lin0 up` or `down`. */
static inline int lin_set_up(int up)
{
	struct ifreq request = lin_request();
	int fd = socket(PF_CAN, SOCK_RAW | SOCK_CLOEXEC, CAN_RAW), error;

	error = fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request);
	request.ifr_flags = up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP;
	error = error || ioctl(fd, SIOCSIFFLAGS, &request) ? errno : 0;
	close(fd);
	errno = error;
	return error ? -1 : 0;
}

/* Writes a file of /sys/class/net/lin0/; an underscore of the text stands for a space. */
static inline int lin_write(const char *name, const char *text)
{
	char path[100], copy[100], *at;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", lin_name, name);
	snprintf(copy, sizeof(copy), "%s", text);
	while ((at = strchr(copy, '_')))
		*at = ' ';
	return try_write(path, copy);
}

/* --- frames --- */

/*
 * A raw socket with times of the PTP clock on what is received, times to send at by `clock`, and
 * error frames.
 */
static inline int lin_open(clockid_t clock)
{
	struct sock_txtime txtime = { .clockid = clock };
	int stamps = SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
	int fd = socket(PF_CAN, SOCK_RAW | SOCK_CLOEXEC, CAN_RAW);
	can_err_mask_t errors = CAN_ERR_MASK;
	struct sockaddr_can address = { .can_family = AF_CAN, .can_ifindex = lin_index() };

	if (fd < 0 || address.can_ifindex < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof(stamps)) ||
	    setsockopt(fd, SOL_SOCKET, SO_TXTIME, &txtime, sizeof(txtime)) ||
	    setsockopt(fd, SOL_CAN_RAW, CAN_RAW_ERR_FILTER, &errors, sizeof(errors)) ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)))
		return -1;
	return fd;
}

/*
 * A frame as cansend(1) writes it: eight digits before # are EFF, three SFF; R instead of data:
 * RTR.
 */
static inline int lin_parse(const char *text, struct can_frame *frame)
{
	const char *data = strchr(text, '#');
	unsigned int byte;

	if (!data) {
		errno = EINVAL;
		return -1;
	}
	*frame = (struct can_frame) {
		.can_id = strtoul(text, NULL, 16) | (data - text == 8 ? CAN_EFF_FLAG : 0),
	};
	if (*++data == 'R') {
		frame->can_id |= CAN_RTR_FLAG;
		return 0;
	}
	for (; frame->len < CAN_MAX_DLEN && sscanf(data, "%2x", &byte) == 1; data += 2)
		frame->data[frame->len++] = byte;
	return 0;
}

/* Sends it; at `launch_ns` of the socket's clock, if that is not 0. */
static inline int lin_send(int fd, struct can_frame frame, unsigned long long launch_ns)
{
	char control[CMSG_SPACE(sizeof(launch_ns))] = { 0 };
	struct iovec part = { &frame, sizeof(frame) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (launch_ns) {
		struct cmsghdr *head;

		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_TXTIME;
		head->cmsg_len = CMSG_LEN(sizeof(launch_ns));
		memcpy(CMSG_DATA(head), &launch_ns, sizeof(launch_ns));
	}
	return sendmsg(fd, &message, 0) == sizeof(frame) ? 0 : -1;
}

/*
 * From now on the error queue has the times at which frames of this socket began, and it receives
 * its own frames.
 */
static inline int lin_stamp_sent(int fd)
{
	int stamps = SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_TX_HARDWARE |
		     SOF_TIMESTAMPING_RAW_HARDWARE;
	int own = 1;

	return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof(stamps)) ||
	       setsockopt(fd, SOL_CAN_RAW, CAN_RAW_RECV_OWN_MSGS, &own, sizeof(own)) ? -1 : 0;
}

/*
 * Receives a frame, and the time of its stamp or 0. Returns the flags of the message, or -1 if
 * there is none.
 */
static inline int lin_receive(int fd, int flags, struct can_frame *frame, unsigned long long *ns)
{
	char control[200];
	struct iovec part = { frame, sizeof(*frame) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };

	*ns = 0;
	if (recvmsg(fd, &message, MSG_DONTWAIT | flags) != sizeof(*frame))
		return -1;
	for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head;
	     head = CMSG_NXTHDR(&message, head)) {
		/* struct scm_timestamping64 where time_t is wider than the kernel's old one. */
		if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SO_TIMESTAMPING) {
			struct timespec *stamps = (void *)CMSG_DATA(head);

			*ns = stamps[2].tv_sec * 1000000000ull + stamps[2].tv_nsec;
		}
	}
	return message.msg_flags;
}

/* Prints `NAME ID HEX NS`. Another thread may print, too: one call, one line. */
static inline void lin_print_frame(const char *name, const struct can_frame *frame,
				   unsigned long long ns)
{
	char data[2 * CAN_MAX_DLEN + 1] = "-";

	for (int i = 0; i < frame->len; i++)
		snprintf(data + 2 * i, 3, "%02x", frame->data[i]);
	printf("%s %x %s %llu\n", name, frame->can_id, data, ns);
}

/*
 * Receives a frame and prints it, `frame ID HEX NS`, or `echo ID HEX NS` if this host has sent it.
 * Returns its can_id, 0: none.
 */
static inline canid_t lin_print(int fd)
{
	struct can_frame frame;
	unsigned long long ns;
	int flags = lin_receive(fd, 0, &frame, &ns);

	if (flags < 0)
		return 0;
	lin_print_frame(flags & MSG_DONTROUTE ? "echo" : "frame", &frame, ns);
	return frame.can_id;
}

/*
 * Prints what lin_stamp_sent() wants: `sent ID HEX NS` of the error queue, and `own ID HEX NS` of
 * what is received and the socket's own.
 */
static inline void lin_print_sent(int fd)
{
	struct can_frame frame;
	unsigned long long ns;
	int flags;

	while (lin_receive(fd, MSG_ERRQUEUE, &frame, &ns) >= 0)
		lin_print_frame("sent", &frame, ns);
	while ((flags = lin_receive(fd, 0, &frame, &ns)) >= 0)
		if (flags & MSG_CONFIRM)
			lin_print_frame("own", &frame, ns);
}

/* Prints what a file of /dev/litepulseN has of received bytes: `byte TICK NS HEX FLAGS` each. */
static inline void lin_print_bytes(int fd)
{
	static struct litepulse_event events[256];
	ssize_t size = read(fd, events, sizeof(events));

	for (ssize_t i = 0; i < size / (ssize_t)sizeof(events[0]); i++)
		printf("byte %llu %llu %02x %x\n", (unsigned long long)events[i].tick,
		       (unsigned long long)events[i].ns, events[i].data & 0xff,
		       events[i].flags & 0xff);
}

#endif
