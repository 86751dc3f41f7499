# SPDX-License-Identifier: GPL-2.0-or-later
# commprof: everything is made into $(O); `make help` lists the targets.

SANITIZE ?=
O ?= $(if $(SANITIZE),.output-asan,.output)
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
WERROR ?=

# What a command that failed began to write is no target.
.DELETE_ON_ERROR:

CFLAGS ?= -O2 -g
LF = $(LDFLAGS)
# -ffile-prefix-map=... also of what is not compiled with CFLAGS, for packages that are the same wherever they are built.
PATHS_CF ?=
Q := $(if $(V),,@)
say = @printf '  %-7s %s\n'
CF := -std=gnu11 -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wshadow -fno-strict-aliasing \
	-fstack-protector-strong -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -MMD -MP
ifneq ($(WERROR)$(CI),)
CF += -Werror
endif
ifneq ($(SANITIZE),)
# With the sanitizers' checks, gcc's -Wformat-truncation has false positives.
CF += -Wno-format-truncation
CF += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LF += -fsanitize=address,undefined
else
CF += -D_FORTIFY_SOURCE=2
endif

# Dependencies run one way, and the include paths prove it.  What each room of libcomm
# may include, besides its own headers; engine.c, in no room, joins them.
include libcomm/rooms.mk
room = $(or $(patsubst %/,%,$(patsubst libcomm/%,%,$(dir $<))),engine)
quote_rooms = $(addprefix -iquote libcomm/,$(1))
INC_libcomm = $(call quote_rooms,$(USES_$(room))) $(MORE_$(room))
DAEMON_ROOMS := daemon daemon/source daemon/companion
INC_daemon := -iquote libcomm $(call quote_rooms,$(filter-out report%,$(ROOMS))) -Iinclude $(DAEMON_ROOMS:%=-iquote %) -iquote cli -iquote bpf -isystem $(O)/bpf -Ikmod/uapi -idirafter kmod -idirafter exact
INC_ctl := -Iinclude -iquote cli -iquote ctl -iquote ctl/export -iquote ctl/form -iquote ctl/html -iquote ctl/graph -iquote ctl/serve
INC_tests := -iquote libcomm $(call quote_rooms,$(ROOMS)) -Iinclude -iquote tests -idirafter exact -idirafter alloc
LIBS_daemon := -lbpf -lpfm -lcap
LIBS_tests := -lcmocka
LIBS_libcomm := -lseccomp -lsqlite3 -lZydis -ldw -lelf -lz -lzstd -llzma -liberty -lm

LIBCOMM_C := $(wildcard libcomm/*.c $(ROOMS:%=libcomm/%/*.c))
LIBCOMM_O := $(LIBCOMM_C:%.c=$(O)/%.o)
LIBRARY_O := $(patsubst %.c,$(O)/%.o,$(wildcard $(LIBRARY_ROOMS:%=libcomm/%/*.c)))
# What both programs ask of a command line.
CLI_O := $(patsubst %.c,$(O)/%.o,$(wildcard cli/*.c))
DAEMON_O := $(patsubst %.c,$(O)/%.o,$(wildcard $(DAEMON_ROOMS:%=%/*.c))) $(CLI_O)
CTL_O := $(patsubst %.c,$(O)/%.o,$(wildcard ctl/*.c ctl/export/*.c ctl/form/*.c ctl/html/*.c ctl/graph/*.c ctl/serve/*.c)) $(O)/ctl/html/asset.o $(CLI_O)
UNIT := $(patsubst %.c,$(O)/%,$(wildcard tests/unit/test_*.c))
BENCH := $(patsubst %.c,$(O)/%,$(wildcard bench/bench_*.c))

COMPLETION := $(addprefix $(O)/completion/,bash zsh fish-commd fish-commctl)

all: $(O)/commd $(O)/commctl $(O)/libcommprof.so $(O)/libcommprof.a $(COMPLETION)

-include $(LIBCOMM_O:.o=.d) $(DAEMON_O:.o=.d) $(CTL_O:.o=.d) $(BENCH:=.d) $(wildcard $(O)/tests/*/*.d $(O)/tests/*/*.parts)

$(O)/libcomm/%.o: libcomm/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(CF) $(INC_libcomm) -c $< -o $@

# A thin archive, which the linker tells by the objects' own names what it takes out of it.
$(O)/libcomm.a: $(LIBCOMM_O) Makefile
	@rm -f $@
	$(say) AR $@
	$(Q)$(AR) rcsT $@ $(LIBCOMM_O)

# libcommprof: symbols that comm.h does not declare are hidden.  The same objects go into
# libcomm.a, too.
$(LIBRARY_O): CF += -fPIC -fvisibility=hidden

$(O)/libcommprof.so.0: $(LIBRARY_O) libcomm/commprof.map
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LF) -shared -Wl,-soname,$(@F) -Wl,--version-script=libcomm/commprof.map -Wl,-z,defs \
		$(LIBRARY_O) -o $@ -lsqlite3 -lm

$(O)/libcommprof.so: $(O)/libcommprof.so.0
	@ln -sf $(<F) $@

$(O)/libcommprof.a: $(LIBRARY_O)
	@rm -f $@
	$(say) AR $@
	$(Q)$(AR) rcs $@ $^

# BPF: .bpf.c -> .bpf.o -> .skel.h
$(O)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h)
	@mkdir -p $(@D)
	$(say) BPF $@
	$(Q)$(CLANG) -g -O2 -target bpf $(PATHS_CF) $(BPF_CF) -D__TARGET_ARCH_x86 -Ibpf -idirafter /usr/include/x86_64-linux-gnu -c $< -o $@

# Atomic exchange.
$(O)/bpf/switch_look.bpf.o: BPF_CF := -mcpu=v3

$(O)/bpf/%.skel.h: $(O)/bpf/%.bpf.o
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$*)_bpf > $@

SKEL := $(patsubst bpf/%.bpf.c,$(O)/bpf/%.skel.h,$(wildcard bpf/*.bpf.c))

$(O)/daemon/%.o: daemon/%.c $(SKEL)
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(CF) $(INC_daemon) -c $< -o $@

$(O)/commd: $(DAEMON_O) $(O)/kmod-user/reader.o $(O)/libcomm.a
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LF) $^ -o $@ $(LIBS_daemon) $(LIBS_libcomm) -lpthread

$(O)/cli/%.o: cli/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(CF) -c $< -o $@

$(O)/ctl/%.o: ctl/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(CF) $(INC_ctl) -c $< -o $@

# The page's policy allows the style and the script with these hashes, and nothing else.
hash = "sha256-$$(sha256sum <$(1) | cut -c1-64 | tr a-f A-F | basenc --base16 -d | base64)"

$(O)/ctl/html/head.html: $(addprefix ctl/html/,head.html page.css page.js)
	@mkdir -p $(@D)
	$(say) HASH $@
	$(Q)sed "s|@STYLE@|"$(call hash,ctl/html/page.css)"|; s|@SCRIPT@|"$(call hash,ctl/html/page.js)"|" $< > $@

# A page that commctl serve keeps current runs live.js, too, and asks where it came from.
$(O)/ctl/html/live-head.html: $(O)/ctl/html/head.html ctl/html/live.js
	$(say) HASH $@
	$(Q)sed "s|script-src '[^']*'|& '"$(call hash,ctl/html/live.js)"'; connect-src 'self'|" $< > $@

$(O)/ctl/html/live-policy: $(O)/ctl/html/live-head.html
	$(Q)sed -n 's|.*Policy" content="\([^"]*\)".*|\1|p' $< | tr -d '\n' > $@

$(O)/ctl/html/asset.o: ctl/html/asset.S $(addprefix $(O)/ctl/html/,head.html live-head.html live-policy) $(addprefix ctl/html/,page.css body.html page.js live.js)
	$(say) AS $@
	$(Q)$(CC) -c -Wa,-I$(O)/ctl/html -Wa,-Ictl/html $< -o $@

# commctl finds libcommprof.so beside itself in a build, and in ../lib when installed.
$(O)/commctl: $(CTL_O) $(O)/libcommprof.so
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LF) $(CTL_O) -o $@ -L$(O) -lcommprof -lmetis -lmicrohttpd -lncursesw -ltinfo -lz -lm -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../lib'

$(O)/completion/%: packaging/completion.sh $(O)/commd $(O)/commctl
	@mkdir -p $(@D)
	$(say) HELP $@
	$(Q)packaging/completion.sh $* $(O)/commd $(O)/commctl > $@.tmp && mv $@.tmp $@

$(O)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(CF) $(INC_tests) -c $< -o $@

# A test is linked anew when an object changes that it takes out of libcomm.a, not when any does:
# the linker lists them (-t -t), and the list is read the next time.
parts = $(filter-out $(O)/libcomm/%,$(filter %.o,$^)) $(O)/libcomm.a
listed = sed -n 's|^$(O)/libcomm/.*\.o$$|$@: &\n&:|p' $@.link >$@.parts && rm $@.link

$(O)/tests/%: $(O)/tests/%.o Makefile | $(O)/libcomm.a
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LF) $(parts) -Wl,-t,-t -o $@ $(LIBS_tests) $(LIBS_libcomm) -lpthread >$@.link && $(listed)

$(O)/tests/unit/test_pmu_event: LIBS_tests += -lpfm
$(O)/tests/unit/test_self_test: INC_tests += -iquote daemon -iquote daemon/source
# Parts of commctl that are worth a test of their own.
$(foreach part,change cut label overview_words pairing topology,$(eval $(O)/tests/unit/test_$(part): $(O)/ctl/$(part).o))
$(addprefix $(O)/tests/unit/test_,change cut label overview_words pairing topology): INC_tests += -iquote ctl
$(O)/tests/unit/test_cut: LIBS_tests += -lmetis
$(O)/tests/unit/test_serve: $(addprefix $(O)/ctl/,serve/loopback.o serve/peer.o serve/request.o number.o)
$(O)/tests/unit/test_serve: INC_tests += -iquote ctl/serve
$(O)/tests/unit/test_ship: $(addprefix $(O)/ship/,batch.o pause.o profile.o tsv.o) $(addprefix $(O)/ctl/,export/pprof.o export/protobuf.o utf8.o)
$(O)/tests/unit/test_ship: INC_tests += -iquote ship
$(addprefix $(O)/tests/unit/test_,hotplug priority target): LIBS_tests += -lcap
$(O)/tests/unit/test_target: $(addprefix $(O)/daemon/,fence.o trigger.o)
$(O)/tests/unit/test_label $(O)/tests/unit/test_overview_words: $(O)/ctl/term.o $(O)/ctl/utf8.o
$(O)/tests/unit/test_bpf_kernel: LIBS_tests += -lbpf
$(addprefix $(O)/tests/unit/test_,budget source_kmod filter): INC_tests += -Ikmod/uapi -idirafter kmod
$(addprefix $(O)/tests/unit/test_,wanted_lines chosen_code): INC_tests += -iquote bpf
$(O)/tests/unit/test_bpf_untold: INC_tests += -iquote bpf -iquote daemon/source
$(addprefix $(O)/tests/unit/test_,bpf_kernel bpf_rings perf_ring companion perf_precise late_marks source source_kmod pmu_event program region_probe stop pace control gate numa target container filter fence remover word_pool late_words unpaid_words window_cost window_pairs breakpoints hotplug register_window register_cost word_census wait_reads watch watchpoint look_timeline look_candidates look_pairs held allotment idle_time priority stall): INC_tests += $(DAEMON_ROOMS:%=-iquote %)
$(O)/tests/unit/test_burst_read: INC_tests += $(DAEMON_ROOMS:%=-iquote %)

# What tests/hardware/run.sh needs beside commd and commctl: no test library.
$(O)/tests/hardware/agree: tests/hardware/agree.c $(O)/libcomm.a
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(CF) $(INC_tests) $(LF) $^ -o $@ $(LIBS_libcomm) -lpthread

$(O)/tests/hardware/known: tests/hardware/known.c tests/vm/code.c
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) -Wall -Wextra -Wno-sign-compare -Itests/vm -Ikmod/uapi $^ -o $@

$(O)/bench/%: bench/%.c $(O)/libcomm.a
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(CF) $(INC_tests) $(LF) $< $(O)/libcomm.a -o $@ $(LIBS_libcomm) -lpthread

# The exact source, the kernel module and the libraries that programs load have rules of their own.
-include exact/exact.mk kmod/kmod.mk tests/truth/truth.mk collect/collect.mk alloc/alloc.mk python/python.mk ship/ship.mk

FUZZ := $(patsubst %.c,$(O)/%,$(wildcard tests/fuzz/fuzz_*.c))

# A second build of libcomm, instrumented for libFuzzer and the sanitizers.
FUZZ_CF := -g -O1 -std=gnu11 -D_GNU_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZ_SETUP := $(O)/fuzz/tests/sanitizer.o $(O)/fuzz/tests/tables.o
FUZZ_LF := $(patsubst %,-Xlinker --wrap=%,malloc calloc aligned_alloc realloc reallocarray free)
# For tests/fuzz/coverage.sh: which lines the corpora reach.
ifneq ($(FUZZ_COVERAGE),)
FUZZ_CF := -g -O1 -std=gnu11 -D_GNU_SOURCE -fprofile-instr-generate -fcoverage-mapping
FUZZ_SETUP :=
FUZZ_LF :=
endif
FUZZ_O := $(LIBCOMM_C:%.c=$(O)/fuzz/%.o)
-include $(FUZZ_O:.o=.d)

$(O)/fuzz/libcomm/%.o: libcomm/%.c
	@mkdir -p $(@D)
	$(say) FUZZ $@
	$(Q)$(CLANG) $(FUZZ_CF) -fsanitize=fuzzer-no-link -MMD -MP $(INC_libcomm) -c $< -o $@

$(O)/fuzz/tests/%.o: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(say) FUZZ $@
	$(Q)$(CLANG) $(FUZZ_CF) -c $< -o $@

$(FUZZ): $(O)/tests/fuzz/%: tests/fuzz/%.c $(FUZZ_SETUP) $(FUZZ_O)
	@mkdir -p $(@D)
	$(say) FUZZ $@
	$(Q)$(CLANG) $(FUZZ_CF) $(FUZZ_LF) -fsanitize=fuzzer $(INC_tests) $^ -o $@ $(LIBS_libcomm) -lpthread

# 10^7 executions of each fuzzer, or as many as FUZZ_SECONDS allow; what they found to be new
# input is kept in FUZZ_KEEP, and the next time goes on from there.
fuzz-long: $(FUZZ) $(O)/tests/e2e/make_store
	@O=$(O) FUZZ_RUNS=$(or $(FUZZ_RUNS),10000000) FUZZ_SECONDS=$(or $(FUZZ_SECONDS),36000) \
		FUZZ_KEEP=$(or $(FUZZ_KEEP),$(O)/fuzz-corpus) tests/fuzz/corpus.sh
	@O=$(O) FUZZ_KEEP=$(or $(FUZZ_KEEP),$(O)/fuzz-corpus) tests/fuzz/coverage.sh

unit: $(UNIT)
	@O=$(O) tests/run.sh $(O)/logs $(UNIT)

# The unit tests, built with ASan and UBSan, into a folder of their own.
sanitize:
	+@$(MAKE) --no-print-directory SANITIZE=1 WERROR=1 O=$(O)-asan unit

fuzz: $(FUZZ)

deps-%:
	@packaging/deps.sh $*

# Recursive makes, so that $(wildcard) sees the packages just installed.  What is built, is by all CPUs.
jobs = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
check: deps-check
	+$(MAKE) --no-print-directory $(jobs) WERROR=1 programs-built
	+$(MAKE) --no-print-directory WERROR=1 check-built

E2E := $(wildcard tests/e2e/*.sh)
CHECK_BUILD += $(addprefix $(O)/tests/e2e/,source_live source_bounds_live identity_live switch_window_live windows_live hotplug_live make_store known_accesses) $(O)/tests/vm/events $(O)/tests/soak/service $(O)/bench/storm
CHECK_RUN += tests/soak/soak.sh
# Scripts that attach to no program that runs: they may run beside those that do.
CHECK_COMPUTE += $(addprefix tests/e2e/,consistent.sh html.sh serve.sh ship.sh ship_profiles.sh fleet.sh metrics.sh packages.sh exact.sh exact_mapped.sh ctl.sh calls.sh completion.sh exact_strings.sh \
	perfdata.sh advise.sh graph.sh report.sh against_exact.sh library.sh python.sh golden.sh exact_stopped.sh)

# The daemon without its main(): a test or a benchmark drives the sources, unchanged.
$(O)/bench/rings $(O)/bench/registers: $(O)/bench/%: bench/%.c $(filter-out %/main.o,$(DAEMON_O)) $(O)/kmod-user/reader.o $(O)/libcomm.a
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(CF) $(INC_daemon) $(LF) $(filter-out %.h,$^) -o $@ $(LIBS_daemon) $(LIBS_libcomm) -lpthread

WITH_DAEMON := $(addprefix $(O)/tests/,e2e/source_live e2e/source_bounds_live e2e/identity_live e2e/switch_window_live e2e/windows_live e2e/hotplug_live unit/test_source_bpf unit/test_bpf_counts unit/test_switch_window unit/test_survey)
$(WITH_DAEMON): LIBS_tests += $(LIBS_daemon)
$(WITH_DAEMON:=.o): INC_tests := $(INC_daemon)
$(WITH_DAEMON:=.o): | $(SKEL)
$(WITH_DAEMON): $(O)/kmod-user/reader.o
$(addprefix $(O)/tests/e2e/,source_live source_bounds_live identity_live switch_window_live windows_live hotplug_live): $(filter-out %/main.o,$(DAEMON_O))

# These tests take files of the daemon into themselves.
$(O)/tests/unit/test_source_bpf: $(filter-out %/main.o %/bpf.o %/bpf_life.o,$(DAEMON_O))
$(O)/tests/unit/test_bpf_counts: $(filter-out %/main.o %/bpf_counts.o,$(DAEMON_O))
$(O)/tests/unit/test_switch_window: $(filter-out %/main.o %/switch_window.o %/look_programs.o,$(DAEMON_O))
$(O)/tests/unit/test_survey: $(filter-out %/main.o %/survey.o,$(DAEMON_O))
STATIC := $(wildcard tests/static/*.sh)

# Unit tests that take 3 s of CPU time or wait for seconds, which `make quick` leaves out, and the scripts that it runs.
SLOW := $(addprefix $(O)/tests/unit/test_,caller crash est full_store guard heap_blocks insns inspect_live migration rolled_rows rollup \
	salvage shadow sim stop target_files types)
QUICK := tests/e2e/golden.sh $(addprefix tests/static/,commands.sh docs.sh format.sh help.sh losses.sh man.sh tags.sh version.sh walk.sh)

quick: all $(filter-out $(SLOW),$(UNIT))
	@O=$(O) tests/run.sh $(O)/logs $(filter-out $(SLOW),$(UNIT)) -- $(QUICK)

# Tests of one name, and what they show of themselves: make test-burst, test-golden, test-format.
# A script is run with the programs that it names.
unit_named = $(patsubst %.c,$(O)/%,$(wildcard tests/unit/test_$*.c))
scripts_named = $(wildcard tests/e2e/$*.sh tests/static/$*.sh)
programs_of = $(addprefix $(O)/,$(shell grep -ohE '\$$O/(tests|bench)/[a-z0-9_/-]+' $(1) | cut -c4-))
test-%:
	$(if $(unit_named)$(scripts_named),,$(error no test is called $*: see tests/unit, tests/e2e and tests/static))
	+@$(MAKE) --no-print-directory $(unit_named) $(if $(scripts_named),all $(call programs_of,$(scripts_named)))
	@status=0; for test in $(unit_named) $(scripts_named); do \
		O=$(O) $$test; code=$$?; [ $$code = 77 ] || [ $$code = 0 ] || status=$$code; \
	done; exit $$status

programs-built: all $(UNIT) $(FUZZ) $(CHECK_BUILD)

# Three streams: what computes, the longest first, so that what the others take from its end is short; the virtual
# machines; and what attaches to programs, which the first two help to end.
check-built: programs-built
	@O=$(O) tests/run.sh $(O)/logs $(CHECK_COMPUTE) tests/static/tidy.sh tests/fuzz/corpus.sh $(filter-out %/tidy.sh,$(STATIC)) \
		$(SLOW) $(filter-out $(SLOW),$(UNIT)) -- $(CHECK_RUN) -- $(filter-out $(CHECK_COMPUTE),$(E2E))

# Its output is one screen: what the build says goes into a file.  Without redis the demo goes on.
demo: deps-build
	@packaging/deps.sh demo || true
	@mkdir -p $(O) && echo "building into $(O): $(O)/build.log"
	+@$(MAKE) --no-print-directory $(jobs) all >$(O)/build.log 2>&1 || { tail -20 $(O)/build.log; exit 1; }
	@O=$(O) bench/demo.sh

# The pictures of the documents, of today's program and a run that is made for them.
pictures: all $(O)/tests/e2e/make_store
	bench/pictures.py $(O)

bench: deps-bench
	+$(MAKE) --no-print-directory all bench-built
bench-built: all $(BENCH) $(O)/bench/load $(O)/bench/gaps $(O)/bench/rings $(O)/bench/registers $(O)/bench/storm
	O=$(O) bench/bench.sh
	O=$(O) bench/storms.sh

version = $(shell sed -n 's/^.define COMM_VERSION "\(.*\)"/\1/p' include/comm/version.h)
to := $(DESTDIR)$(PREFIX)
lib_to := $(DESTDIR)$(LIBDIR)
# -s, of install-strip.
STRIPPED ?=

install: all
	install -d $(to)/bin $(lib_to)/pkgconfig $(to)/include/comm $(to)/share/man/man1 $(to)/share/man/man3
	install $(STRIPPED) -m 755 $(O)/commd $(O)/commctl $(to)/bin
	install $(STRIPPED) -m 755 $(O)/libcommprof.so.0 $(lib_to)
	ln -sf libcommprof.so.0 $(lib_to)/libcommprof.so
	install -m 644 $(O)/libcommprof.a $(lib_to)
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|; s|@VERSION@|$(version)|' \
		packaging/commprof.pc.in > $(lib_to)/pkgconfig/commprof.pc
	install -m 644 $(wildcard include/comm/*.h) $(to)/include/comm
	install -d $(to)/share/commprof/bindings
	install -m 644 $(wildcard bindings/*) $(to)/share/commprof/bindings
	install -m 644 $(wildcard man/*.1) $(to)/share/man/man1
	install -m 644 $(wildcard man/*.3) $(to)/share/man/man3
	install -d $(to)/share/bash-completion/completions
	install -m 644 $(O)/completion/bash $(to)/share/bash-completion/completions/commd
	ln -sf commd $(to)/share/bash-completion/completions/commctl
	install -D -m 644 $(O)/completion/zsh $(to)/share/zsh/site-functions/_commprof
	install -D -m 644 $(O)/completion/fish-commd $(to)/share/fish/vendor_completions.d/commd.fish
	install -D -m 644 $(O)/completion/fish-commctl $(to)/share/fish/vendor_completions.d/commctl.fish
	install -D -m 644 packaging/commprof.sysusers $(to)/lib/sysusers.d/commprof.conf
	install -D -m 644 packaging/commprof.tmpfiles $(to)/lib/tmpfiles.d/commprof.conf
	install -d $(to)/lib/systemd/system
	sed 's|@bindir@|$(PREFIX)/bin|' packaging/commd@.service > $(to)/lib/systemd/system/commd@.service

install-strip:
	+@$(MAKE) --no-print-directory STRIPPED=-s install

# What install puts there, and the folders that are ours alone.  The parts that have an install-PART of their own say what
# it installs in INSTALLED and INSTALLED_LIB.
INSTALLED += $(addprefix bin/,commd commctl) $(wildcard include/comm/*.h) \
	$(addprefix share/,$(patsubst %,commprof/%,$(wildcard bindings/*)) $(patsubst man/%,man/man1/%,$(wildcard man/*.1)) \
	$(patsubst man/%,man/man3/%,$(wildcard man/*.3)) $(addprefix bash-completion/completions/,commd commctl) \
	zsh/site-functions/_commprof $(addprefix fish/vendor_completions.d/,commd.fish commctl.fish)) \
	$(addprefix lib/,sysusers.d/commprof.conf tmpfiles.d/commprof.conf systemd/system/commd@.service)
INSTALLED_LIB += libcommprof.so.0 libcommprof.so libcommprof.a pkgconfig/commprof.pc

uninstall:
	rm -f $(addprefix $(to)/,$(INSTALLED)) $(addprefix $(lib_to)/,$(INSTALLED_LIB))
	for folder in $(addprefix $(to)/,include/comm share/commprof/bindings share/commprof lib/commprof); do \
		[ ! -d $$folder ] || rmdir --ignore-fail-on-non-empty $$folder || exit; \
	done

# The sources that are committed; each file has the time of the commit, so that the tar is the same another time.
dist:
	@mkdir -p $(O)/dist
	git archive --format=tar --prefix=commprof-$(version)/ HEAD | gzip -9 -n > $(O)/dist/commprof-$(version).tar.gz

# Packages are of what is committed, too, and compiled anew: into $(O)/deb and $(O)/rpm.
deb: deps-deb dist
	rm -rf $(O)/deb
	mkdir -p $(O)/deb
	cp $(O)/dist/commprof-$(version).tar.gz $(O)/deb/commprof_$(version).orig.tar.gz
	tar -xf $(O)/dist/commprof-$(version).tar.gz -C $(O)/deb
	env -u O packaging/deb.sh $(O)/deb/commprof-$(version)

rpm: deps-rpm dist
	rm -rf $(O)/rpm
	env -u MAKEFLAGS -u MAKELEVEL -u O rpmbuild -bb --nodeps --define '_topdir $(abspath $(O))/rpm' \
		--define '_sourcedir $(abspath $(O))/dist' packaging/commprof.spec

# How each file is compiled, for editors: what make says that it would do.
compile_commands.json:
	@$(MAKE) -nB --no-print-directory V=1 all $(UNIT) | awk -v folder='$(CURDIR)' ' \
		/ -c [^ ]*\.c / { \
			file = $$0; sub(/.* -c /, "", file); sub(/ .*/, "", file); gsub(/["\\]/, "\\\\&"); \
			printf "%s{\"directory\": \"%s\", \"file\": \"%s\", \"command\": \"%s\"}", n++ ? ",\n" : "[", folder, file, $$0 \
		} \
		END { print "]" }' >$@

define HELP
make all              build commd, commctl and libcommprof into $(O)/; so does make alone
make install          into DESTDIR and PREFIX (/usr/local), libraries into LIBDIR (PREFIX/lib)
make install-strip    the same without debug information; make uninstall: removes what install puts there
make deb              Debian packages into $(O)/deb; make rpm: RPM packages into $(O)/rpm; of what is committed
make dist             the sources that are committed, as a tar in $(O)/dist
make clean            remove $(O)/
make help             these lines
make demo             build, profile two live programs, print what commctl says (as root; installs what is missing)

To change it (CONTRIBUTING.md, tests/README.md):
make quick            fast tests, as any user, under a minute once built
make test-NAME        one test by its name: make test-burst, test-golden, test-format
make unit             all unit tests; make sanitize: with ASan and UBSan, in $(O)-asan
make check            build and run all tests (as root; installs what is missing); SANITIZE=1 with ASan and UBSan
make compile_commands.json   how each file is compiled, for editors
make fuzz             the fuzzers; make fuzz-long: 10^7 inputs for each: hours; FUZZ_SECONDS=60: minutes

What it costs and how far it is right:
make bench            overhead, throughput and memory: medians of paired runs
make ablate           what each term of the estimator earns, by recordings of make accuracy; ABLATE=arguments of tests/truth/ablate.py
make accuracy         estimated against exact, tables in $(O)/accuracy: hours; QUICK=1: minutes, printed only
make truth            programs of known communication; make truth-check: they know their own
make pictures         the pictures of the documents, anew

Parts:
make exact            the Valgrind tool; check-exact, bench-exact, install-exact
make libcomm-exact    the runtime for -fsanitize=thread; install-libcomm-exact
make kmod             the kernel module, against the headers in KDIR (kmod/README.md); install-kmod
make check-kmod       its tests in virtual machines; alone: check-kmod-static, check-kmod-install, check-kmod-vm-6.12
make check-debug-kernel   them under KASAN, lockdep, kmemleak and UBSAN; soak-kmod: all at once for MINUTES=30
make mutants          whether its tests see it broken in each way of tests/vm/mutants
make bench-kmod       what a sample costs, in instructions; compare-sources: errors at equal overhead, in the VM
make install-collect install-alloc   the libraries that programs load; install-ship: what commctl ship runs
make install-python   the Python package; uninstall-python; make wheel: into $(O)/wheel; make python: its declarations, after a change of comm.h
endef
export HELP

help:
	@echo "$$HELP"

clean:
	rm -rf $(O)

# For tests/static: prints the rooms of libcomm, the include paths of ROOM, and what libcomm is linked with.
print-rooms:
	@echo $(ROOMS) engine
inc_of = $(if $(filter $(1),$(ROOMS) engine),$(call quote_rooms,$(USES_$(1))) $(MORE_$(1)),$(INC_$(1)))
print-inc:
	@echo $(call inc_of,$(ROOM))
print-incs:
	$(foreach room,$(ROOMS) engine ctl ship,$(info $(room) $(call inc_of,$(room))))@:
print-libs:
	@echo $(LIBS_libcomm)

.PHONY: compile_commands.json quick all unit sanitize fuzz fuzz-long check check-built programs-built demo pictures bench bench-built install install-strip uninstall dist deb rpm help clean deps-%
.SECONDARY:
