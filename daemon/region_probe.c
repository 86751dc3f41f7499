// SPDX-License-Identifier: GPL-2.0-or-later
#include "region_probe.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "text.h"

static int parse_probe(char *text, struct comm_probe_name *ret)
{
	char *colon = text ? strchr(text, ':') : NULL;

	if (!colon || colon == text || !colon[1] || strchr(colon + 1, ':'))
		return -EINVAL;
	*colon = '\0';
	*ret = (struct comm_probe_name){text, colon + 1};
	return 0;
}

/* As names in reports are. */
static bool is_name(const char *text, size_t n)
{
	return n > 0 && n < COMM_PROBED_BYTES && comm_text_is_clean(text, n);
}

int comm_frame_probe_parse(char *text, struct comm_frame_probe *ret)
{
	char *colon = strchr(text, ':');

	if (!colon || colon == text)
		return -EINVAL;
	*colon = '\0';
	ret->path = text;
	return parse_probe(colon + 1, &ret->begin);
}

int comm_region_probe_parse(char *text, struct comm_region_probe *ret)
{
	char *equals = strchr(text, '='), *colon, *probe, *rest;

	if (!equals || !is_name(text, (size_t)(equals - text)))
		return -EINVAL;
	*ret = (struct comm_region_probe){.path = equals + 1};
	memcpy(ret->name, text, (size_t)(equals - text));
	colon = strchr(ret->path, ':');
	if (!colon || colon == ret->path)
		return -EINVAL;
	*colon = '\0';
	if (parse_probe(strtok_r(colon + 1, ",", &rest), &ret->begin))
		return -EINVAL;
	while ((probe = strtok_r(NULL, ",", &rest))) {
		if (ret->n_ends == COMM_REGION_PROBE_ENDS ||
		    parse_probe(probe, &ret->end[ret->n_ends]))
			return -EINVAL;
		ret->n_ends++;
	}
	return ret->n_ends ? 0 : -EINVAL;
}
