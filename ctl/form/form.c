// SPDX-License-Identifier: GPL-2.0-or-later
#include "form.h"

#include <string.h>

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
