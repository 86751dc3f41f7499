# SPDX-License-Identifier: GPL-2.0-or-later
# The rooms of libcomm, lowest first, and which of them each may include.

ROOMS += model
USES_model :=

ROOMS += target
USES_target := model

ROOMS += stream
USES_stream := model target

ROOMS += decode
USES_decode := model target

ROOMS += identity
USES_identity := model target

ROOMS += estimate
USES_estimate := model

ROOMS += estimate/hazard
USES_estimate/hazard := model estimate

ROOMS += exact
USES_exact := model
MORE_exact := -idirafter exact

ROOMS += store
USES_store := model

ROOMS += report
USES_report := model store
MORE_report := -Iinclude

USES_engine = . $(filter-out report,$(ROOMS))
MORE_engine := -Iinclude -idirafter exact
