# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# The commands a person types; what they do is in scripts/ and in meson. Every target installs what it
# needs from the distribution first (scripts/packages.txt), which costs nothing when it is there.

BUILD  := build/release
# lib, not what meson guesses: without dpkg-dev it takes lib64, where neither Debian's linker nor its
# pkg-config look.
PREFIX ?= /usr/local
BOTH   := --variant stock --variant shard
LINUX  = $(or $(SCHEDSHARD_LINUX),$(shell sed -n 's/^default = "\(.*\)"/\1/p' kernel/base.toml))
DEBUG  = lockdep kasan kasan+lockdep kcsan preempt-rt $(DEBUG_$(LINUX))
# What only one series of Linux or of the steps has.
DEBUG_7.3  := classes sched-ext
DEBUG_6.12 := cache cache+kasan+lockdep
CONFIG := package
# Of make mutants: --group ordering, --file core/visited.c, --list.
MUTANTS :=
# The series of Linux that make kernel-next is for.
NEXT   := 7.3
.DEFAULT_GOAL := help
.PHONY: help demo check lint mutants build install deb wheel clean kernel kernel-next kernel-check \
	kernel-debug kernel-foreign kernel-shapes kernel-soak kernel-deb

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

demo: build ## install what is missing, build, and reproduce the published measurements
	./schedshard reproduce

check: ## build with two compilers, run all tests, sanitizers and linters
	scripts/bootstrap demo check
	python3 scripts/check.py

lint: ## only the linters of check
	scripts/bootstrap demo check
	python3 scripts/check.py lint

mutants: ## change one thing in core/ at a time and see that a test notices; hours, goes on where it was
	scripts/bootstrap demo check
	cli/environment --dev
	.venv/bin/python tests/mutants/mutants.py $(MUTANTS)

build: ## compile the library, the simulator and the benchmark into build/release
	scripts/bootstrap demo
	scripts/build $(BUILD)

install: ## install the library, its header and the command under PREFIX (/usr/local)
	scripts/bootstrap demo
	scripts/build $(BUILD) --prefix=$(PREFIX) --libdir=lib -Dcommand=true \
		-Dcommand_dir=lib/schedshard
	meson install -C $(BUILD) --no-rebuild
	scripts/install_command $(BUILD) $(PREFIX)
	@test -n "$(DESTDIR)" || ldconfig || echo "as root: ldconfig, then programs find the library"

kernel: ## build Linux with and without the series, boot, test and compare both, write the series
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	./schedshard kernel build $(BOTH)
	./schedshard kernel test $(BOTH)
	./schedshard kernel sizes $(BOTH)
	./schedshard kernel build --variant shard --config cache
	./schedshard kernel test --variant shard --config cache --set short --cpus 64 --test cache
	./schedshard kernel series --check

kernel-next: export SCHEDSHARD_LINUX := $(NEXT)
kernel-next: ## the same with a later Linux, and a broken kernel caught (NEXT=7.3, a series of kernel/base.toml)
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	./schedshard kernel build $(BOTH)
	./schedshard kernel test $(BOTH)
	./schedshard kernel sizes $(BOTH)
	./schedshard kernel build --variant broken-store
	./schedshard kernel test --variant broken-store --set short --cpus 16 --test storm --caught
	./schedshard kernel series --check

kernel-check: ## our kernel tested, profiled and packaged, one with KASAN and lockdep, a broken one caught
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	./schedshard kernel build --variant shard
	./schedshard kernel test --variant shard --set ci
	./schedshard kernel c2c-validate --variant shard
	./schedshard kernel build --variant broken-store
	./schedshard kernel test --variant broken-store --set short --cpus 16 --test storm --caught
	./schedshard kernel deb --try-install
	./schedshard kernel build --variant shard --config kasan+lockdep
	./schedshard kernel test --variant shard --config kasan+lockdep --set short --cpus 16 \
		--test storm-deadline --test storm

kernel-foreign: ## tests that others wrote, on the stock kernel and ours: they must end alike
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	./schedshard kernel build $(BOTH)
	./schedshard kernel test $(BOTH) --set foreign

kernel-shapes: ## the storms on small and odd machines
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	./schedshard kernel build --variant shard
	./schedshard kernel test --variant shard --shape all --set ci --test storm-deadline --test storm

kernel-debug: ## the same tests under lockdep, KASAN, KCSAN and PREEMPT_RT (DEBUG="lockdep": only that)
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	set -e; for config in $(DEBUG); do \
		./schedshard kernel build --variant shard --config $$config; \
		./schedshard kernel test --variant shard --config $$config --set ci; \
	done

kernel-soak: ## an hour of guest time
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	./schedshard kernel build --variant shard
	./schedshard kernel test --variant shard --set soak

kernel-deb: ## Debian packages, tried in a small Debian (CONFIG=/boot/config-...: of that configuration)
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	./schedshard kernel deb --config $(CONFIG) --try-install

deb: ## the command as a Debian package, in build/deb
	scripts/bootstrap demo package
	scripts/command_deb

wheel: ## the command as a Python wheel, in build/wheel
	scripts/bootstrap demo
	scripts/command_wheel

clean: ## remove everything that was built or downloaded into this directory
	rm -rf build out .venv .venv.lock .venv.tmp .hypothesis .mypy_cache .pytest_cache .ruff_cache
