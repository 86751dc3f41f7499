/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads and writes until it is told to end; with an argument, for a while, and then
 * ends without a word.  This file is instrumented.
 */
#include <unistd.h>

namespace loop
{
int words[4096];

__attribute__((noinline)) void turn(int *p)
{
	for (int i = 1; i < 4096; i++)
		p[i] = p[i - 1] + 1;
}
}

int main(int argc, char **)
{
	for (int i = 0; argc < 2 || i < 100; i++)
		loop::turn(loop::words);
	_exit(0);
}
