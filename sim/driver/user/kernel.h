/* SPDX-License-Identifier: BSD-2-Clause */
/* What the pure files of the driver use of the kernel, for a program. */
#ifndef LITEPULSE_COMPAT_H
#define LITEPULSE_COMPAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int32_t s32;
typedef long long s64;

#define EINVAL 22
#define U32_MAX UINT32_MAX
#define NSEC_PER_SEC 1000000000L
#define BIT_ULL(bit) (1ULL << (bit))
#define GENMASK_ULL(high, low) (~0ULL >> (63 - (high)) & ~0ULL << (low))
#define EXPORT_SYMBOL_NS_GPL(name, space) extern char litepulse_no_export
#define upper_32_bits(value) ((u32)((value) >> 32))
#define lower_32_bits(value) ((u32)(value))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define max3(a, b, c) max(max(a, b), c)
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define abs(value) ((value) < 0 ? -(value) : (value))

static inline u64 div_u64_rem(u64 value, u32 div, u32 *rest)
{
	*rest = value % div;
	return value / div;
}

static inline u64 div64_u64_rem(u64 value, u64 div, u64 *rest)
{
	*rest = value % div;
	return value / div;
}

static inline u64 div64_u64(u64 value, u64 div)
{
	return value / div;
}

static inline s64 div64_s64(s64 value, s64 div)
{
	return value / div;
}

#endif
