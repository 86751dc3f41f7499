/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Found by the include paths: page.* in this folder, heads in the build's. */
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
	asset ctl_asset_live, "live.js"
	asset ctl_asset_live_head, "live-head.html"
	asset ctl_asset_live_policy, "live-policy"
	.section .note.GNU-stack, "", %progbits
