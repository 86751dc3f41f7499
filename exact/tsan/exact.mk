# SPDX-License-Identifier: GPL-2.0-or-later
# libcomm-exact.a.  Works alone: make -f exact/tsan/exact.mk O=.output

O ?= .output
CC ?= gcc
CFLAGS ?= -O2 -g
LIBDIR ?= $(PREFIX)/lib
Q ?= $(if $(V),,@)
say ?= @printf '  %-7s %s\n'

# No builtins and no calls made up by the compiler: memset() here is our own.
# No stack protector: these functions are called before every access.
EXACT_CF := -std=gnu11 -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wshadow \
	$(if $(WERROR)$(CI),-Werror) -fno-strict-aliasing -fno-builtin \
	-fno-tree-loop-distribute-patterns -fno-stack-protector -U_FORTIFY_SOURCE -mcx16 -fPIC \
	-D_GNU_SOURCE -MMD -MP -Iexact
EXACT_O := $(patsubst %.c,$(O)/%.o,$(wildcard exact/tsan/*.c)) $(O)/exact/tsan-backing.o $(O)/exact/tsan-transit.o

libcomm-exact: $(O)/libcomm-exact.a

all: libcomm-exact

install: install-libcomm-exact

install-libcomm-exact: libcomm-exact
	install -d $(DESTDIR)$(LIBDIR) $(DESTDIR)$(PREFIX)/include/comm
	install -m 644 $(O)/libcomm-exact.a $(DESTDIR)$(LIBDIR)
	install -m 644 exact/tsan/exact.h $(DESTDIR)$(PREFIX)/include/comm

INSTALLED += include/comm/exact.h
INSTALLED_LIB += libcomm-exact.a

-include $(EXACT_O:.o=.d)

$(O)/exact/tsan/%.o: exact/tsan/%.c exact/tsan/exact.mk
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(EXACT_CF) -c $< -o $@

# Both runtimes have these, built for each.
$(O)/exact/tsan-backing.o $(O)/exact/tsan-transit.o: $(O)/exact/tsan-%.o: exact/%.c exact/tsan/exact.mk
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(EXACT_CF) -c $< -o $@

$(O)/libcomm-exact.a: $(EXACT_O)
	@rm -f $@
	$(say) AR $@
	$(Q)$(AR) rcs $@ $^

.PHONY: libcomm-exact install-libcomm-exact
