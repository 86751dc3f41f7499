/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * String instructions, "rep movs" and "rep stos": copies and fills of the kernel, of libc and of compilers.  While a
 * debug register watches data they go on byte by byte (docs/operate/overhead.md).
 */
#ifndef COMM_REP_STRING_H
#define COMM_REP_STRING_H

/* Of the first four bytes of an instruction, the first one lowest: operand size, rep, REX, opcode. */
static inline int comm_is_string_insn(unsigned int insn)
{
	if ((insn & 0xff) == 0x66)
		insn >>= 8;
	if ((insn & 0xff) != 0xf3)
		return 0;
	insn >>= 8;
	if ((insn & 0xff) == 0x66)
		insn >>= 8;
	if ((insn & 0xf0) == 0x40)
		insn >>= 8;
	/* a4, a5: movs; aa, ab: stos. */
	return (insn & 0xfe) == 0xa4 || (insn & 0xfe) == 0xaa;
}

#endif
