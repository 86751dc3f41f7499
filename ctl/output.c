// SPDX-License-Identifier: GPL-2.0-or-later
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"

/* As the store's: names and command lines are not for everybody. */
enum { OUTPUT_MODE = 0640 };

int ctl_output_write(const char *path, const char *bytes, size_t size)
{
	FILE *out;
	int fd;

	if (!path || !strcmp(path, "-")) {
		/* That not all could be written shows when the program ends. */
		fwrite(bytes, 1, size, stdout);
		return CTL_OK;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, OUTPUT_MODE);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (out && fwrite(bytes, 1, size, out) == size && !fclose(out))
		return CTL_OK;
	fprintf(stderr, "commctl: cannot write %s: %s\n", path, strerror(errno));
	return CTL_FAILURE;
}
