# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# The commands a person types; what they do is in scripts/ and in meson. Every target installs what it
# needs from the distribution first (scripts/packages.txt), which costs nothing when it is there.

BUILD  := build/release
# lib, not what meson guesses: without dpkg-dev it takes lib64, where neither Debian's linker nor its
# pkg-config look.
PREFIX ?= /usr/local

.DEFAULT_GOAL := help
.PHONY: help demo check lint build install clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: build ## install what is missing, build, and reproduce the published measurements
	./schedshard reproduce

check: ## build with two compilers, run all tests, sanitizers and linters
	scripts/bootstrap demo check
	python3 scripts/check.py

lint: ## only the linters of check
	scripts/bootstrap demo check
	python3 scripts/check.py lint

build: ## compile the library, the simulator and the benchmark into build/release
	scripts/bootstrap demo
	scripts/build $(BUILD)

install: ## install the library and its header under PREFIX (/usr/local)
	scripts/bootstrap demo
	scripts/build $(BUILD) --prefix=$(PREFIX) --libdir=lib
	meson install -C $(BUILD) --no-rebuild
	@test -n "$(DESTDIR)" || ldconfig || echo "as root: ldconfig, then programs find the library"

clean: ## remove everything that was built or downloaded into this directory
	rm -rf build out .venv .venv.lock .venv.tmp .hypothesis .mypy_cache .pytest_cache .ruff_cache
