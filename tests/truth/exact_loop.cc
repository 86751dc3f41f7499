/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes until it is told to end.  This file is instrumented. */
namespace loop
{
int words[4096];

__attribute__((noinline)) void turn(int *p)
{
	for (int i = 1; i < 4096; i++)
		p[i] = p[i - 1] + 1;
}
}

int main()
{
	for (;;)
		loop::turn(loop::words);
}
