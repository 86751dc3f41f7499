// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ends the VM through qemu's debug port when a number comes through the named
 * pipe: qemu's exit status is 2 * value + 1.
 */
#include <stdio.h>
#include <sys/io.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int value = 1;
	FILE *file;

	if (argc != 2 || iopl(3))
		return 1;
	file = fopen(argv[1], "r");
	if (!file || fscanf(file, "%d", &value) != 1)
		value = 1;
	outb(value, 0x501);
	pause();
	return 1;
}
