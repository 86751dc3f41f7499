// SPDX-License-Identifier: GPL-2.0-or-later
#include "session.h"
#include "source.h"

int main(int argc, char **argv)
{
	struct comm_options options;

	comm_options_parse(argc, argv, &options);
	if (options.doctor)
		return comm_doctor();
	return options.source->run ? options.source->run(&options) : comm_live(&options);
}
