/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * LIN frames on a CAN network device: what the bits of can_id mean
 *
 * The numbers are those of the line discipline sllin. The lowest six bits are the identifier. With
 * CAN_EFF_FLAG a frame is a word to the device or from it; without, it is a frame on the bus.
 */
#ifndef _UAPI_LINUX_CAN_LIN_H
#define _UAPI_LINUX_CAN_LIN_H

#define CAN_LIN_ID_MASK		0x3fU /* the identifier */
/* Of these and above the standard wants the classic checksum, whatever a frame says. */
#define CAN_LIN_ID_CLASSIC	0x3cU

/* EFF to the device: it answers headers of the identifier with these data; without data: no more */
#define CAN_LIN_PUBLISH		0x40U
/* to the device: the checksum takes the identifier in */
#define CAN_LIN_ENHANCED	0x80U
/* EFF to the device: it answers one header only; without EFF: as CAN_LIN_ENHANCED */
#define CAN_LIN_ONCE		0x100U
/* EFF to the device: sends a pulse that wakes the bus; from it: another node has */
#define CAN_LIN_WAKE		0x200U
/* EFF to the device: sends the request to sleep; from it: another node has */
#define CAN_LIN_SLEEP		0x400U
/* EFF to the device: ignored */
#define CAN_LIN_IGNORED		0x800U

/* EFF from the device: there was no response, or our own header was not heard */
#define CAN_LIN_ERR_NO_RESPONSE 0x4000U
/* EFF from the device: the checksum was wrong */
#define CAN_LIN_ERR_CHECKSUM	0x8000U
/* EFF from the device: a byte of the response had no stop bit */
#define CAN_LIN_ERR_FRAMING	0x10000U

#endif /* _UAPI_LINUX_CAN_LIN_H */
