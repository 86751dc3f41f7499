# SPDX-License-Identifier: GPL-2.0-or-later
# The exact source: a Valgrind tool, linked as Valgrind links its own.
#   VALGRIND_LIB=$(O)/exact valgrind --tool=commexact PROGRAM

VG_INC ?= /usr/include/valgrind
VG_ARCHIVES ?= /usr/lib/x86_64-linux-gnu/valgrind
VG_LIBEXEC ?= /usr/libexec/valgrind
VG_PLATFORM := amd64-linux

VGTOOL_CF := -std=gnu11 -O2 -g -m64 -Wall -Wextra -Werror=implicit-function-declaration -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wno-unused-parameter -fno-strict-aliasing -fno-builtin -fno-stack-protector -fno-pie \
	-fomit-frame-pointer -U_FORTIFY_SOURCE -DVGA_amd64=1 -DVGO_linux=1 -DVGP_amd64_linux=1 \
	-DVGPV_amd64_linux_vanilla=1 $(PATHS_CF) -MMD -MP
ifneq ($(WERROR)$(CI),)
VGTOOL_CF += -Werror
endif
# Valgrind's headers do not pass our warnings: included as system headers.
VGTOOL_INC := -isystem $(VG_INC) -Iexact

VGTOOL_SRC := main call draw pattern region instrument trace marks marked shadow table dates array text backing mapping transit moves turn wait site image frames object program output memory_vg
VGTOOL_O := $(VGTOOL_SRC:%=$(O)/exact/%.o)
VGTOOL_TOOL := $(O)/exact/commexact-$(VG_PLATFORM)
VGTOOL_PRELOAD := $(O)/exact/vgpreload_commexact-$(VG_PLATFORM).so
VGTOOL_STOCK := $(addprefix $(O)/exact/,vgpreload_core-$(VG_PLATFORM).so default.supp)

exact: $(VGTOOL_TOOL) $(VGTOOL_PRELOAD) $(VGTOOL_STOCK)

# Without Valgrind's headers and archives the tool is not built; commd --doctor says so.
VGTOOL_CAN := $(and $(wildcard $(VG_INC)/pub_tool_basics.h),$(wildcard \
	$(VG_ARCHIVES)/libcoregrind-$(VG_PLATFORM).a))
ifneq ($(VGTOOL_CAN),)
all: exact

install: install-exact
endif

# Copies, not links: these files must be of the Valgrind version that the tool was linked with.
install-exact: exact
	install -d $(DESTDIR)$(PREFIX)/lib/commprof
	install -m 755 $(VGTOOL_TOOL) $(VGTOOL_PRELOAD) $(DESTDIR)$(PREFIX)/lib/commprof
	install -m 644 $(VGTOOL_STOCK) $(DESTDIR)$(PREFIX)/lib/commprof

INSTALLED += $(addprefix lib/commprof/,$(notdir $(VGTOOL_TOOL) $(VGTOOL_PRELOAD) $(VGTOOL_STOCK)))

-include $(VGTOOL_O:.o=.d) $(O)/exact/preload.d

$(O)/exact/%.o: exact/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(VGTOOL_CF) $(VGTOOL_INC) -c $< -o $@

# The tool shares the target's address space: it is linked to an address that programs do not use.
$(VGTOOL_TOOL): $(VGTOOL_O)
	$(say) LD $@
	$(Q)$(CC) -m64 -static -no-pie -nodefaultlibs -nostartfiles -u _start -Wl,--build-id=none \
		-Wl,-Ttext-segment=0x58000000 -Wl,-z,noexecstack -o $@ $^ \
		$(VG_ARCHIVES)/libcoregrind-$(VG_PLATFORM).a $(VG_ARCHIVES)/libvex-$(VG_PLATFORM).a \
		-lgcc $(VG_ARCHIVES)/libgcc-sup-$(VG_PLATFORM).a

$(VGTOOL_PRELOAD): exact/preload.c exact/mark.h
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) -O2 -g -m64 -fpic -fno-builtin -fno-stack-protector -Wall $(PATHS_CF) -isystem $(VG_INC)/.. -Iexact \
		-nodefaultlibs -shared -Wl,-z,interpose,-z,initfirst $< -o $@

$(VGTOOL_STOCK): $(O)/exact/%: $(VG_LIBEXEC)/%
	@mkdir -p $(@D)
	@ln -sf $< $@

# Test programs with known accesses: these must not depend on the profiler's build flags.
$(O)/tests/exact/target: tests/exact/target.c exact/mark.h
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Iexact $< -o $@ -lpthread

VGTOOL_TESTS := $(O)/tests/exact/target $(O)/tests/exact/exact_dump

check-exact: exact $(VGTOOL_TESTS) $(O)/tests/truth/truth-kernels
	O=$(O) tests/exact/check.sh

bench-exact: exact
	O=$(O) bench/exact.sh

CHECK_BUILD += $(if $(VGTOOL_CAN),exact) $(VGTOOL_TESTS) $(O)/tests/truth/truth-kernels
CHECK_COMPUTE += tests/exact/check.sh

.PHONY: exact install-exact check-exact bench-exact
