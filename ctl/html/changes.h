/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changed from another run to that of a page, as commctl diff says it. */
#ifndef CTL_CHANGES_H
#define CTL_CHANGES_H

#include <stdio.h>

#include "comparison.h"

/* One JSON object; other: what the run is called that the page's is compared with. */
void ctl_changes_print(FILE *out, const struct ctl_comparison *comparison, const char *other);

#endif
