/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Found by the include paths: page.* in this folder, head.html in the build's. */
	.macro asset name, file
	.global \name
	.type \name, %object
\name:
	.incbin "\file"
	.byte 0
	.size \name, . - \name
	.endm

	.section .rodata
	asset ctl_asset_head, "head.html"
	asset ctl_asset_style, "page.css"
	asset ctl_asset_body, "body.html"
	asset ctl_asset_script, "page.js"
	.section .note.GNU-stack, "", %progbits
