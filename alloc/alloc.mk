# SPDX-License-Identifier: GPL-2.0-or-later
# The library that tells where memory was allocated, of programs that are started with it.

ALLOC := $(O)/alloc/libcomm-alloc.so
ALLOC_O := $(patsubst %.c,$(O)/%.o,$(wildcard alloc/*.c))

all: $(ALLOC)

install: install-alloc

install-alloc: $(ALLOC)
	install -d $(DESTDIR)$(PREFIX)/lib/commprof
	install $(STRIPPED) -m 755 $(ALLOC) $(DESTDIR)$(PREFIX)/lib/commprof

INSTALLED += lib/commprof/$(notdir $(ALLOC))

-include $(ALLOC_O:.o=.d)

# No sanitizers, which have an allocator of their own; no allocation may become another by optimisation.
$(O)/alloc/%.o: alloc/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(filter-out -fsanitize% -fno-sanitize% -fstack-protector%,$(CF)) -fPIC -fvisibility=hidden -fno-builtin -iquote alloc -c $< -o $@

$(ALLOC): $(ALLOC_O)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,defs $^ -o $@

.PHONY: install-alloc

$(O)/tests/unit/test_sampled_blocks $(O)/tests/unit/test_allocating: | $(ALLOC)
