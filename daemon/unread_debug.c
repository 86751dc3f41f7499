// SPDX-License-Identifier: GPL-2.0-or-later
#include "unread_debug.h"

#include <stdio.h>

#include "dwline.h"

static const struct {
	unsigned int what;
	const char *sentence;
} sentences[] = {
	{COMM_DWLINE_SPLIT,
	 "has its debug information in .dwo or .dwp files, which are not read: functions and lines "
	 "are known, inlined functions and types are not; build it without -gsplit-dwarf to have "
	 "them"},
	{COMM_DWLINE_SHARED,
	 "shares debug information with other files (dwz), which is not read: inlined functions "
	 "and "
	 "types may have no names; give it debug information that dwz has not been run on"},
	{COMM_DWLINE_PACKED,
	 "has debug information that is damaged or packed in a way that is not known: lines and "
	 "types may be missing; unpack it with objcopy --decompress-debug-sections"},
};

void comm_unread_debug_say(void *ctx, const char *module, unsigned int unread)
{
	struct comm_unread_debug *debug = ctx;

	for (size_t i = 0; i < sizeof(sentences) / sizeof(*sentences); i++)
		if (unread & ~debug->said & sentences[i].what)
			fprintf(stderr, "commd: %s %s\n", module, sentences[i].sentence);
	debug->said |= unread;
}
