// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The estimator of commd-baseline, the commd of tests/truth: COMM_BASELINE names a baseline, or terms of the shipped
 * estimator that are left out, each after a minus: "-label-met"; or a parameter of it that is another: "stop=0.1".
 */
#include "baseline.h"
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TERM_NAME(term, without) #term,
static const char *const term_names[] = {COMM_TERMS(TERM_NAME)};
static bool left_out[COMM_TERM_COUNT];

bool comm_without(enum comm_term term)
{
	return left_out[term];
}

#define PARAMETER_NAME(name, value, what) #name,
static const char *const parameter_names[] = {COMM_PARAMETERS(PARAMETER_NAME)};
#define PARAMETER_VALUE(name, value, what) value,
static double parameter_values[] = {COMM_PARAMETERS(PARAMETER_VALUE)};

double comm_parameter(enum comm_parameter_name name)
{
	return parameter_values[name];
}

/* "stop=0.1" */
static bool change(const char *text)
{
	const char *equals = strchr(text, '=');
	char *end;

	for (int i = 0; equals && i < COMM_P_COUNT; i++) {
		if (strncmp(parameter_names[i], text, equals - text) ||
		    parameter_names[i][equals - text])
			continue;
		parameter_values[i] = strtod(equals + 1, &end);
		return end > equals + 1 && !*end;
	}
	return false;
}

static bool leave_out(const char *name)
{
	for (int i = 0; i < COMM_TERM_COUNT; i++)
		if (!strcmp(term_names[i], name))
			return left_out[i] = true;
	return false;
}

const struct comm_est_ops *comm_estimator(void)
{
	static const struct comm_est_ops *const all[] = {&comm_est_address, &comm_est_nearest};
	char *name = getenv("COMM_BASELINE"), *at = NULL;

	if (!name)
		return &comm_est_hazard;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	if (change(name))
		return &comm_est_hazard;
	if (*name != '-')
		goto unknown;
	name = strdup(name);
	for (char *term = strtok_r(name, "-", &at); term; term = strtok_r(NULL, "-", &at))
		if (!leave_out(name = term))
			goto unknown;
	return &comm_est_hazard;
unknown:
	fprintf(stderr, "commd-baseline: no baseline, term or parameter is called '%s'\n", name);
	exit(2);
}
