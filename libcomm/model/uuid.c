// SPDX-License-Identifier: GPL-2.0-or-later
#include "uuid.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>

int comm_uuid_make(char ret[COMM_UUID_CHARS + 1])
{
	uint8_t b[16];

	/* getrandom() gives up to 256 bytes at once, or EINTR before its pool is ready. */
	while (getrandom(b, sizeof(b), 0) != sizeof(b)) {
		if (errno != EINTR)
			return -errno;
	}
	/* RFC 4122, section 4.4: the version, and the two bits of the variant. */
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	snprintf(ret, COMM_UUID_CHARS + 1,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		 b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		 b[15]);
	return 0;
}
