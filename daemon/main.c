// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include "reload.h"
#include "session.h"
#include "source.h"

/*
 * Tables from this size on are mappings of their own: pages of them that nothing has touched cost
 * nothing, and all goes back to the kernel when they are freed.  Unasked, malloc raises this limit,
 * up to 32 MiB, whenever a larger block is freed, and cuts tables from one heap, whose holes stay.
 */
enum { TABLE_BYTES = 128 << 10 };

/*
 * Who started this may have closed some of these: then files of the run would have their numbers, and
 * take what is printed.  A command that is started finds them as they were.
 */
static void take_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct comm_options options;

	take_standard_files();
	/* Ignored by who starts commd, the kernel would take away how the command ended. */
	signal(SIGCHLD, SIG_DFL);
	mallopt(M_MMAP_THRESHOLD, TABLE_BYTES);
	comm_options_parse(argc, argv, &options);
	if (options.doctor)
		return comm_doctor();
	if (options.reload)
		return comm_reload(&options);
	return options.source->run ? options.source->run(&options) : comm_live(&options);
}
