# SPDX-License-Identifier: GPL-2.0-or-later
# Collectors: a library that programs load which have marks of others' conventions (OMPT, ITT, NVTX).

COLLECT := $(O)/collect/libcomm-collect.so
COLLECT_O := $(patsubst %.c,$(O)/%.o,$(wildcard collect/*.c))

all: $(COLLECT)

install: install-collect

install-collect: $(COLLECT)
	install -d $(DESTDIR)$(PREFIX)/lib/commprof
	install $(STRIPPED) -m 755 $(COLLECT) $(DESTDIR)$(PREFIX)/lib/commprof

INSTALLED += lib/commprof/$(notdir $(COLLECT))

-include $(COLLECT_O:.o=.d)

# No sanitizers: the programs that load it have none.
$(O)/collect/%.o: collect/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(filter-out -fsanitize% -fno-sanitize%,$(CF)) -fPIC -fvisibility=hidden -Iinclude -iquote collect -c $< -o $@

$(COLLECT): $(COLLECT_O)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,defs $^ -o $@

.PHONY: install-collect

$(O)/tests/unit/test_collect: | $(COLLECT)
