# SPDX-License-Identifier: GPL-2.0-or-later
# Ground truth.  Works alone: make -f tests/truth/truth.mk O=.output

O ?= .output
CC ?= gcc
CFLAGS ?= -O2 -g

ifeq ($(.DEFAULT_GOAL),)
.DEFAULT_GOAL := truth
endif
include exact/tsan/exact.mk

TRUTH_CF := -std=gnu11 -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wshadow \
	$(if $(WERROR)$(CI),-Werror) -fno-strict-aliasing -D_GNU_SOURCE -MMD -MP
# The kernels and their barriers are instrumented, never the harness; gcc, as clang leaves loads
# out.
GCC ?= gcc
TRUTH_EXACT_CF := -fsanitize=thread -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset
TRUTH := $(O)/tests/truth
TRUTH_O := $(TRUTH)/native/harness.o $(addprefix $(TRUTH)/native/,sync.o regular.o irregular.o)
TRUTH_EXACT_O := $(TRUTH)/native/harness.o $(addprefix $(TRUTH)/exact/,sync.o regular.o irregular.o)

truth: $(TRUTH)/truth-kernels $(TRUTH)/truth-kernels-exact $(TRUTH)/exact_test $(TRUTH)/exact_loop
truth: $(TRUTH)/noted $(TRUTH)/noted-exact

-include $(TRUTH_O:.o=.d) $(TRUTH_EXACT_O:.o=.d) $(TRUTH)/exact/exact_test.d

# -O2 whatever the profiler is built with: the accesses of the kernels are the ground truth.
$(TRUTH)/native/%.o: tests/truth/kernels/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(TRUTH_CF) -O2 -g -c $< -o $@

$(TRUTH)/exact/%.o: tests/truth/kernels/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(GCC) $(TRUTH_CF) $(TRUTH_EXACT_CF) -O2 -g -c $< -o $@

$(TRUTH)/exact/exact_test.o: tests/truth/exact_test.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(GCC) $(TRUTH_CF) $(TRUTH_EXACT_CF) -Iexact/tsan -O2 -g -c $< -o $@

$(TRUTH)/truth-kernels: $(TRUTH_O)
	$(say) LD $@
	$(Q)$(CC) $^ -o $@ -lpthread

$(TRUTH)/truth-kernels-exact: $(TRUTH_EXACT_O) $(O)/libcomm-exact.a
	$(say) LD $@
	$(Q)$(CC) $^ -o $@ -lpthread

$(TRUTH)/exact_test: $(TRUTH)/exact/exact_test.o $(O)/libcomm-exact.a
	$(say) LD $@
	$(Q)$(CC) $^ -o $@ -lpthread

$(TRUTH)/noted: tests/truth/noted.c include/comm/mark.h
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) -std=gnu11 -Wall -Wextra -Iinclude -O2 -g $< -o $@ -lpthread

$(TRUTH)/noted-exact: tests/truth/noted.c include/comm/mark.h $(O)/libcomm-exact.a
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(GCC) -std=gnu11 -Wall -Wextra -Iinclude $(TRUTH_EXACT_CF) -O2 -g -c $< -o $@.o
	$(Q)$(CC) $@.o $(O)/libcomm-exact.a -o $@ -lpthread

# With what C++ programs have by themselves: the runtime calls its functions as they do.
$(TRUTH)/exact_loop: tests/truth/exact_loop.cc $(O)/libcomm-exact.a
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(GCC) -fsanitize=thread -fno-exceptions -O1 -g -c $< -o $@.o
	$(Q)$(CC) $@.o $(O)/libcomm-exact.a -o $@ -lpthread -Wl,--no-as-needed -lstdc++

# commd with a baseline for its estimator, or an estimator without some of its terms: replays
# recordings.  Not where this file works alone.
ifneq ($(DAEMON_O),)
truth: $(TRUTH)/commd-baseline

BASELINE_O := $(patsubst tests/truth/%.c,$(TRUTH)/%.o,$(wildcard tests/truth/baseline/*.c)) \
	$(patsubst libcomm/%.c,$(TRUTH)/%.o,$(wildcard libcomm/estimate/*.c libcomm/estimate/hazard/*.c))
-include $(BASELINE_O:.o=.d)

$(TRUTH)/baseline/%.o: tests/truth/baseline/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(CF) -DCOMM_ABLATE $(INC_tests) -c $< -o $@

$(TRUTH)/estimate/%.o: libcomm/estimate/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(CF) -DCOMM_ABLATE $(INC_libcomm) -c $< -o $@

$(TRUTH)/commd-baseline: $(BASELINE_O) $(DAEMON_O) $(O)/kmod-user/reader.o $(O)/libcomm.a
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LF) $^ -o $@ $(LIBS_daemon) $(LIBS_libcomm) -lpthread
endif

truth-check: truth
	O=$(O) tests/truth/check.sh

# The tables of docs/method/accuracy.md, in $(O)/accuracy/accuracy.md: some three hours.  Interrupted, it goes on where it
# was.  QUICK=1: four minutes, and only printed.  ACCURACY="--lengths 4": half an hour,
# and what is missing another time.  Alone on the machine, or the figures are the other
# programs' too.
accuracy: deps-check
	+$(MAKE) --no-print-directory all truth
	O=$(O) python3 -B tests/truth/accuracy.py $(if $(QUICK),--quick --no-programs) $(ACCURACY)
	O=$(O) python3 -B tests/truth/against_exact.py $(if $(QUICK),--frames 10)
ifeq ($(QUICK),)
	python3 -B tests/truth/accuracy_report.py $(O)/accuracy
endif

# What each term of the estimator earns, by what "accuracy.py --keep --out DIR" has recorded: minutes.
# ABLATE="DIR --attached affinity kappa-ends" are ablate.py's arguments.
ablate: all truth
	O=$(O) python3 -B tests/truth/ablate.py $(or $(ABLATE),$(O)/accuracy)

CHECK_BUILD += truth
CHECK_COMPUTE += tests/truth/check.sh

.PHONY: truth truth-check accuracy ablate
