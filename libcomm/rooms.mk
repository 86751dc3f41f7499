# SPDX-License-Identifier: GPL-2.0-or-later
# The rooms of libcomm, lowest first; USES_ROOM lists the rooms whose headers ROOM may include.

ROOMS := model read process heap confine live stream decode identity estimate estimate/hazard exact perfdata store report report/grouping

USES_model :=
USES_read := model
# The view of a target (inspect.h) tells frames as read/ has them.
USES_process := model read
USES_heap := model read process
USES_confine := model read
USES_live := model read process heap confine
USES_stream := model read process
USES_decode := model read process
USES_identity := model read process
USES_estimate := model
USES_estimate/hazard := model estimate
USES_exact := model
USES_perfdata := model read process confine live stream
USES_store := model
USES_report := model store
USES_report/grouping := model store report
# engine.c is in no room: it joins all rooms below report.
USES_engine := . $(filter-out report%,$(ROOMS))

# Further include paths: formats of exact results and of sampled allocations are beside their writers, as is what their
# patterns of functions have in common with ours.
MORE_model := -idirafter exact
MORE_heap := -idirafter alloc
MORE_exact := -idirafter exact
# Formats that other programs read; who may include headers of stream/ finds theirs.
MORE_stream := -Iinclude
MORE_perfdata := -Iinclude
MORE_store := -Iinclude
MORE_engine := -Iinclude -idirafter exact
MORE_report := -Iinclude
MORE_report/grouping := -Iinclude

# The rooms of libcommprof, which other programs link to read a store.  The
# store's writer comes with its room.
LIBRARY_ROOMS := model store report report/grouping
