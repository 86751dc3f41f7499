# SPDX-License-Identifier: GPL-2.0-or-later
# The Python package, which reads stores by libcommprof.

PYTHON ?= python3
# What there is of it is installed as it is.
PYTHON_FILES := $(wildcard python/commprof/*.py) python/commprof/py.typed
PYTHON_TO ?= $(PREFIX)/lib/python3/dist-packages

install: install-python

install-python:
	install -d $(DESTDIR)$(PYTHON_TO)/commprof
	install -m 644 $(PYTHON_FILES) $(DESTDIR)$(PYTHON_TO)/commprof

uninstall: uninstall-python

# What Python compiled goes, too.
uninstall-python:
	rm -f $(PYTHON_FILES:python/%=$(DESTDIR)$(PYTHON_TO)/%)
	rm -rf $(DESTDIR)$(PYTHON_TO)/commprof/__pycache__
	[ ! -d $(DESTDIR)$(PYTHON_TO)/commprof ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$(PYTHON_TO)/commprof

# _abi.py and _data.py, anew.
python:
	python/generate.py include/comm python/commprof

# In a copy: setuptools writes beside its sources.
wheel:
	rm -rf $(O)/wheel
	mkdir -p $(O)/wheel
	cp -r python $(O)/wheel/source
	$(PYTHON) -m pip --disable-pip-version-check --quiet wheel --no-build-isolation --no-deps --no-index -w $(O)/wheel $(O)/wheel/source
	rm -r $(O)/wheel/source

.PHONY: install-python uninstall-python python wheel
