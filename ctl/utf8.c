// SPDX-License-Identifier: GPL-2.0-or-later
#include "utf8.h"

int ctl_utf8_length(const char *bytes)
{
	const unsigned char *text = (const unsigned char *)bytes;
	unsigned char low = 0x80, high = 0xbf;
	int n;

	if (text[0] < 0x80)
		return 1;
	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	n = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	if (text[0] == 0xe0)
		low = 0xa0;
	if (text[0] == 0xed)
		high = 0x9f;
	if (text[0] == 0xf0)
		low = 0x90;
	if (text[0] == 0xf4)
		high = 0x8f;
	if (text[1] < low || text[1] > high)
		return 0;
	for (int i = 2; i < n; i++) {
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	}
	return n;
}
