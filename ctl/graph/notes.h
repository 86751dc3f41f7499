/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notes: what stands beside each drawing, since a picture goes about without the report that
 * says it: what it is of, what is not resolved or not seen, what was lost, what it cost.
 */
#ifndef CTL_NOTES_H
#define CTL_NOTES_H

#include "panel.h"

enum { CTL_NOTES = 4, CTL_NOTE = 256 };

struct ctl_notes {
	char line[CTL_NOTES][CTL_NOTE]; /* UTF-8 (utf8.h) */
};

void ctl_notes_write(struct ctl_notes *notes, const struct ctl_panels *panels,
		     const struct ctl_panel *panel);

#endif
