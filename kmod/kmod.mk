# SPDX-License-Identifier: GPL-2.0-only
# The kernel module and its tests.  Included by the top Makefile; uses its $(O).
#
#   kmod                against the headers in KDIR, into $(O)/kmod
#   install-kmod        into INSTALL_MOD_PATH (or DESTDIR), and its dependencies listed
#   check-kmod          everything below, and the VM tests on Debian's 6.1 and 6.12
#   check-kmod-static   sparse, checkpatch, coccicheck, modinfo, the decoder's test
#   check-kmod-install  make install-kmod and dkms, into a scratch folder
#   check-kmod-vm-6.1 check-kmod-vm-6.12   PARTS='watch budget': only those
#   check-debug-kernel  the same tests under KASAN, lockdep, kmemleak and UBSAN
#   soak-kmod           everything at once for MINUTES=30 under the debug kernel
#   mutants             breaks the program in each way of tests/vm/mutants: do tests notice?
#   bench-kmod          what a sample costs, in instructions, beside perf's
#   compare-sources     the error of each source at the same overhead, in the VM
#
# Kernels, headers and the debug kernel are cached in COMMPROF_CACHE
# (default: $XDG_CACHE_HOME/commprof or /var/cache/commprof).

KDIR ?= $(firstword $(wildcard /lib/modules/$(shell uname -r)/build /lib/modules/*/build))
KMOD_SRC := $(wildcard kmod/*.c kmod/*.h kmod/Kbuild kmod/uapi/*.h kmod/probe/*.c)

kmod: $(O)/kmod/commprof.ko

# make would hand an O= on our command line on to the kernel's build, as its O=.
KBUILD = env -u MAKEFLAGS -u MAKELEVEL $(MAKE) -C $(KDIR) M=$(abspath $(O))/kmod CONFIG_DEBUG_INFO_BTF_MODULES=

# The kernel's build writes beside the sources, so it gets a copy of them.
$(O)/kmod/commprof.ko: $(KMOD_SRC)
	@test -n "$(KDIR)" || { echo "kmod: no kernel headers: set KDIR"; exit 1; }
	@mkdir -p $(O)/kmod
	cp -ru kmod/. $(O)/kmod/
	$(KBUILD) modules

INSTALL_MOD_PATH ?= $(DESTDIR)
# The kernel's own depmod wants a System.map, which headers do not have.  It is
# listed for the release that the module itself says; Debian's headers say another.
install-kmod: $(O)/kmod/commprof.ko
	$(KBUILD) modules_install $(if $(INSTALL_MOD_PATH),INSTALL_MOD_PATH=$(abspath $(INSTALL_MOD_PATH)))
	PATH="$$PATH:/usr/sbin:/sbin" depmod $(if $(INSTALL_MOD_PATH),-b $(abspath $(INSTALL_MOD_PATH))) \
		$$(PATH="$$PATH:/usr/sbin:/sbin" modinfo -F vermagic $< | cut -d' ' -f1)

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

# The test of commd with the module: files that go into the VM.
VM_BRINGS := $(O)/commd $(O)/commctl $(O)/tests/truth/truth-kernels $(O)/tests/vm/events $(O)/tests/vm/lengths $(O)/tests/vm/plain \
	$(O)/tests/e2e/windows_live $(O)/tests/e2e/hotplug_live

$(O)/tests/vm/events $(O)/tests/vm/lengths $(O)/tests/vm/plain: $(O)/tests/vm/%: tests/vm/%.c $(O)/libcomm.a
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(CF) $(INC_tests) $(LF) $^ -o $@ $(LIBS_libcomm) -lpthread

check-kmod-vm-%: $(VM_BRINGS)
	@mkdir -p $(O)
	tests/vm/run.sh $* $(O)

check-kmod-install:
	O=$(O) tests/vm/check-install.sh

check-kmod: check-kmod-static check-kmod-install $(VM_BRINGS)
	O=$(O) tests/vm/check-vms.sh

check-debug-kernel:
	@mkdir -p $(O)
	tests/vm/run.sh debug $(O)

soak-kmod:
	O=$(O) tests/vm/soak.sh $(or $(MINUTES),30) debug

mutants:
	O=$(O) tests/vm/mutants.sh $(MUTANTS)

compare-sources: $(VM_BRINGS)
	tests/vm/run.sh 6.12 $(O) compare

bench-kmod:
	tests/vm/run.sh 6.1 $(O) cost
	tests/vm/run.sh 6.12 $(O) cost

CHECK_BUILD += $(O)/tests/vm/test_decode $(VM_BRINGS)
CHECK_RUN += tests/vm/check-vms.sh tests/vm/check-soak.sh
CHECK_COMPUTE += tests/vm/check-static.sh tests/vm/check-install.sh tests/vm/check-mutants.sh

.PHONY: kmod install-kmod check-kmod check-kmod-static check-kmod-install check-debug-kernel soak-kmod \
	mutants compare-sources bench-kmod
