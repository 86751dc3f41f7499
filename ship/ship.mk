# SPDX-License-Identifier: GPL-2.0-or-later
# commctl-ship, which "commctl ship" runs: a program of its own, so that commctl needs no client of a database or of HTTP.

SHIP := $(O)/commctl-ship
SHIP_O := $(patsubst %.c,$(O)/%.o,$(wildcard ship/*.c)) $(O)/ship/schema_text.o
# The profile that commctl export makes.
SHIP_PPROF_O := $(addprefix $(O)/ctl/,export/pprof.o export/protobuf.o utf8.o)
PQ_CF := $(shell pkg-config --cflags libpq 2>/dev/null)
PQ_LIBS := $(or $(shell pkg-config --libs libpq 2>/dev/null),-lpq)
CURL_LIBS := $(shell pkg-config --libs libcurl 2>/dev/null)
INC_ship := $(call quote_rooms,model store report) -Iinclude -iquote cli -iquote ctl/export -iquote ship $(PQ_CF) $(shell pkg-config --cflags libcurl 2>/dev/null)

# Without libpq's header, or libcurl, it is not built; make and commctl ship say so.
SHIP_CAN := $(wildcard $(addsuffix /libpq-fe.h,$(patsubst -I%,%,$(filter -I%,$(PQ_CF))) /usr/include /usr/include/postgresql))
ifneq ($(and $(SHIP_CAN),$(CURL_LIBS)),)
all: $(SHIP)
$(COMPLETION): $(SHIP)

install: install-ship
else
all: no-ship
endif

no-ship:
	@echo '  NOTE    commctl ship is not built: libpq-dev or libcurl4-openssl-dev is missing'

install-ship: $(SHIP)
	install -d $(DESTDIR)$(PREFIX)/lib/commprof $(DESTDIR)$(PREFIX)/lib/systemd/system
	install $(STRIPPED) -m 755 $(SHIP) $(DESTDIR)$(PREFIX)/lib/commprof
	sed 's|@bindir@|$(PREFIX)/bin|' packaging/commprof-ship@.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/commprof-ship@.service

INSTALLED += lib/commprof/commctl-ship lib/systemd/system/commprof-ship@.service

-include $(SHIP_O:.o=.d)

$(O)/ship/%.o: ship/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(CF) $(INC_ship) -c $< -o $@

$(O)/ship/schema_text.o: ship/schema_text.S ship/schema.sql
	@mkdir -p $(@D)
	$(say) AS $@
	$(Q)$(CC) -c -Wa,-Iship $< -o $@

$(SHIP): $(SHIP_O) $(SHIP_PPROF_O) $(CLI_O) $(O)/libcommprof.a
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LF) $^ -o $@ -lsqlite3 $(PQ_LIBS) $(CURL_LIBS) -lz -lm

.PHONY: install-ship
