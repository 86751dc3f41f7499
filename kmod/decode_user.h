/* SPDX-License-Identifier: GPL-2.0-only */
/* The few kernel names that decode.c uses, for building it in user space. */
#ifndef CP_DECODE_USER_H
#define CP_DECODE_USER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int32_t s32;
typedef int64_t s64;

#endif
