// SPDX-License-Identifier: GPL-2.0-or-later
#include "form.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

#define FORM_LINE(name, top, min_share_pct, resolved, help) \
	{#name, top, min_share_pct, resolved, ctl_form_##name},

static const struct ctl_form forms[] = {CTL_FORMS(FORM_LINE)};

const struct ctl_form *ctl_form_find(const char *name)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (!name || !strcmp(forms[i].name, name))
			return &forms[i];
	}
	return NULL;
}

void ctl_form_draw(const struct comm_query *query, const struct comm_report *report,
		   int (*draw)(const struct ctl_panels *panels, FILE *out))
{
	struct ctl_course course = {.whole.report = (struct comm_report *)report};
	const struct ctl_panels panels = {.query = query, .course = &course, .n_courses = 1};
	int code = ctl_labels_init(&course.whole.labels, report);

	if (!code)
		code = draw(&panels, stdout);
	ctl_labels_deinit(&course.whole.labels);
	if (code)
		exit(ctl_error(code, NULL));
}
