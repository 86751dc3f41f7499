/* SPDX-License-Identifier: GPL-2.0-or-later */
	.section .rodata
	.global ship_schema_text
	.type ship_schema_text, %object
ship_schema_text:
	.incbin "schema.sql"
	.byte 0
	.size ship_schema_text, . - ship_schema_text

	.section .note.GNU-stack, "", %progbits
