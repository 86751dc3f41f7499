# SPDX-License-Identifier: GPL-2.0-only
# The kernel module and its tests.  Included by the top Makefile; uses its $(O).
#
#   kmod                against the headers in KDIR, into $(O)/kmod
#   check-kmod          everything below, and the VM tests on Debian's 6.1 and 6.12
#   check-kmod-static   sparse, checkpatch, coccicheck, modinfo, the decoder's test
#   check-kmod-vm-6.1 check-kmod-vm-6.12
#   check-debug-kernel  the same tests under KASAN, lockdep, kmemleak and UBSAN
#   bench-kmod          what a sample costs, in instructions, beside perf's
#
# Kernels, headers and the debug kernel are cached in COMMPROF_CACHE
# (default: $XDG_CACHE_HOME/commprof or /var/cache/commprof).

KDIR ?= $(firstword $(wildcard /lib/modules/$(shell uname -r)/build /lib/modules/*/build))
KMOD_SRC := $(wildcard kmod/*.c kmod/*.h kmod/Kbuild kmod/uapi/*.h kmod/probe/*.c)

kmod: $(O)/kmod/commprof.ko

# An O= on our command line would be the kernel's O= too, were it handed on.
KBUILD = env -u MAKEFLAGS -u MAKELEVEL $(MAKE) -C $(KDIR) M=$(abspath $(O))/kmod CONFIG_DEBUG_INFO_BTF_MODULES=

# The kernel's build wants to write beside the sources: they are copied.
$(O)/kmod/commprof.ko: $(KMOD_SRC)
	@test -n "$(KDIR)" || { echo "kmod: no kernel headers: set KDIR"; exit 1; }
	@mkdir -p $(O)/kmod
	cp -ru kmod/. $(O)/kmod/
	$(KBUILD) modules

$(O)/kmod-user/reader.o: kmod/user/reader.c kmod/user/reader.h kmod/uapi/commprof.h
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(CF) -Ikmod/uapi -Ikmod/user -c $< -o $@

$(O)/tests/vm/test_decode: tests/vm/test_decode.c kmod/decode.c $(wildcard kmod/decode*.h)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) -Wall -Wextra -Ikmod/uapi -Ikmod tests/vm/test_decode.c kmod/decode.c -o $@ -lZydis

check-kmod-static: $(O)/tests/vm/test_decode
	$(O)/tests/vm/test_decode
	tests/vm/static.sh $(O)

# commd through the module: what goes into the VM beside it.
VM_BRINGS := $(O)/commd $(O)/commctl $(O)/tests/truth/truth-kernels $(O)/tests/vm/events

$(O)/tests/vm/events: tests/vm/events.c $(O)/libcomm.a
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(CF) -Ilibcomm $(LF) $^ -o $@ $(LIBS_libcomm) -lpthread

check-kmod-vm-%: $(VM_BRINGS)
	@mkdir -p $(O)
	tests/vm/run.sh $* $(O)

check-kmod: check-kmod-static
	$(MAKE) check-kmod-vm-6.1
	$(MAKE) check-kmod-vm-6.12

check-debug-kernel:
	@mkdir -p $(O)
	tests/vm/run.sh debug $(O)

bench-kmod:
	tests/vm/run.sh 6.1 $(O) cost
	tests/vm/run.sh 6.12 $(O) cost

CHECK_BUILD += $(O)/tests/vm/test_decode $(VM_BRINGS)
CHECK_RUN += tests/vm/check-static.sh tests/vm/check-6.1.sh tests/vm/check-6.12.sh

.PHONY: kmod check-kmod check-kmod-static check-debug-kernel bench-kmod
