/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Channels: what a system call moves a program's data from or to, by the file descriptor that it is given.  Each is a
 * function that reads and writes in the name of the calling thread, as the kernel does of all other calls.  Which
 * process is at the other end is not known.  Both runtimes use it, each with its own way to ask for the mode.
 */
#ifndef COMM_EXACT_CHANNEL_H
#define COMM_EXACT_CHANNEL_H

enum comm_channel {
	COMM_CHANNEL_KERNEL, /* none: a terminal, another device, or no descriptor */
	COMM_CHANNEL_PIPE,   /* with a name or without */
	COMM_CHANNEL_SOCKET,
	COMM_CHANNEL_FILE,
	COMM_CHANNELS,
};

#define COMM_CHANNEL_NAMES                                 \
	{                                                  \
		"[kernel]", "[pipe]", "[socket]", "[file]" \
	}

/* Of st_mode (stat(2)). */
static inline enum comm_channel comm_channel_of(unsigned int mode)
{
	switch (mode & 0170000) {
	case 0010000:
		return COMM_CHANNEL_PIPE;
	case 0140000:
		return COMM_CHANNEL_SOCKET;
	case 0100000:
		return COMM_CHANNEL_FILE;
	default:
		return COMM_CHANNEL_KERNEL;
	}
}

#endif
