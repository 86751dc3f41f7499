// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "session.h"

int main(int argc, char **argv)
{
	struct comm_options options;

	comm_options_parse(argc, argv, &options);
	if (options.doctor)
		return comm_doctor();
	if (!strcmp(options.source, "replay"))
		return comm_replay(&options);
	if (!strcmp(options.source, "exact"))
		return comm_exact(&options);
	return comm_live(&options);
}
