// SPDX-License-Identifier: GPL-2.0-or-later
#include "change.h"

#include <math.h>

const char *ctl_verdict_name(enum ctl_verdict verdict)
{
	static const char *const names[] = {
		[CTL_CANNOT_TELL] = "cannot tell",
		[CTL_SAME] = "same",
		[CTL_LESS] = "less",
		[CTL_MORE] = "more",
	};

	return names[verdict];
}

/*
 * The largest ratio of the other run to this one at which the other would still see
 * nothing with a chance of alarm / 2, when this one saw the flow n times.
 */
static double most_unseen(uint64_t n, double exposure, double alarm)
{
	double p;

	if (isinf(exposure))
		return 0;
	if (!n)
		return INFINITY;
	/* Of n sightings in both runs together, none fell to the other. */
	p = 1 - pow(alarm / 2, 1 / (double)n);
	return p / (1 - p) / exposure;
}

static void seen_by_both(const struct ctl_flow *first, const struct ctl_flow *second,
			 struct ctl_change *ret)
{
	ret->ratio = second->value / first->value;
	ret->low = ret->ratio *
		   exp(-hypot(log(second->value / second->low), log(first->high / first->value)));
	ret->high = ret->ratio *
		    exp(hypot(log(second->high / second->value), log(first->value / first->low)));
}

void ctl_change_of(const struct ctl_flow *first, const struct ctl_flow *second, double exposure,
		   double alarm, double margin, struct ctl_change *ret)
{
	*ret = (struct ctl_change){.ratio = 1, .high = INFINITY};
	if (first->value > 0 && second->value > 0) {
		seen_by_both(first, second, ret);
	} else if (first->value > 0) {
		ret->ratio = 0;
		ret->high = most_unseen(first->seen, exposure, alarm);
	} else if (second->value > 0) {
		ret->ratio = INFINITY;
		ret->low = 1 / most_unseen(second->seen, 1 / exposure, alarm);
	}
	if (!first->resolved && !second->resolved)
		return;
	if (ret->low >= 1 / margin && ret->high <= margin)
		ret->verdict = CTL_SAME;
	else if (ret->low > 1)
		ret->verdict = CTL_MORE;
	else if (ret->high < 1)
		ret->verdict = CTL_LESS;
}
