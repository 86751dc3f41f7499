/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What estimates are compared with: estimators without a model. */
#ifndef BASELINE_H
#define BASELINE_H

#include "estimator.h"

/* The sampled write that is nearest in address, at whatever time. */
extern const struct comm_est_ops comm_est_address;
/* The last sampled write of the line. */
extern const struct comm_est_ops comm_est_nearest;

#endif
