# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# The commands for users; scripts/ and meson do the work. Every target first installs what it needs from the
# distribution (scripts/packages.txt), which costs nothing when it is installed already.

BUILD  := build/release
# lib, not meson's guess: without dpkg-dev it takes lib64, where neither Debian's linker nor its pkg-config look.
PREFIX ?= /usr/local
PYTHON ?= python3
BOTH   := --variant stock --variant shard
LINUX  = $(or $(SCHEDSHARD_LINUX),$(shell sed -n 's/^default = "\(.*\)"/\1/p' kernel/base.toml))
DEBUG  = lockdep kasan kasan+lockdep kcsan preempt-rt no-numa+offstack-off no-smp $(DEBUG_$(LINUX))
# Parts that only one series of Linux has.
DEBUG_7.3 := classes sched-ext sched-cache
CONFIG := host
# Of make faults: words of the file or the title of a fault.
FAULTS :=
# The Linux series that precedes the default one of kernel/base.toml.
OLD    := 6.12
# Of make releases-check.
RELEASES = trixie sid
# The log may be root's, of an earlier call.
define install_tree
	rm -f $(1)/meson-logs/install-log.txt
	scripts/as_owner $(PREFIX) meson install -C $(1) --no-rebuild
	@case "$(DESTDIR)$(PREFIX)" in /usr | /usr/local) scripts/as_owner $(PREFIX) ldconfig || \
		echo "as root: ldconfig, then programs find the library" ;; esac
endef
.DEFAULT_GOAL := help
.PHONY: help demo check check-all quick lint faults results fidelity build install install-lib deb doctor trial wheel release clean series kernel kernel-old \
	kernel-check kernel-arm64 kernel-debug kernel-shapes kernel-broken kernel-soak kernel-deb releases-check ports

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

demo: ## install what is missing, build, and reproduce the published measurements
	scripts/bootstrap demo
	TARGETS="lib/schedshard-topo model/experiments/schedshard-sim" scripts/build $(BUILD)
	SCHEDSHARD_BUILD=$(CURDIR)/$(BUILD) ./schedshard reproduce

check: ## before a commit: linters, tests in C with gcc and under two sanitizers, tests in Python
	scripts/bootstrap demo check
	scripts/emulator
	python3 scripts/check.py

check-all: ## check, and: clang, clang-tidy, arm64, fuzzers, recorded programs, slow tests
	scripts/bootstrap demo check
	scripts/emulator
	python3 scripts/check.py all

quick: ## what an edit usually breaks
	scripts/bootstrap demo quick
	python3 scripts/check.py quick

lint: ## only the linters of check
	scripts/bootstrap demo check
	python3 scripts/check.py lint

faults: ## plant faults in core/, one at a time, and see that the tests notice each; many minutes
	scripts/bootstrap demo check
	python3 check/faults/faults.py $(FAULTS)

results: fidelity ## make the model's errors and the tables of docs/ (docs/results/tables.toml)
	.venv/bin/python scripts/result_tables.py

fidelity: build ## compare the model with every published curve, or with a trial's (TRIAL=trial.json)
	cli/environment
	.venv/bin/python scripts/fidelity.py $(TRIAL)

build: ## compile what the commands run, and the library, into build/release
	scripts/bootstrap demo
	scripts/build $(BUILD)
	scripts/emulator

install: ## install the library, its header and the command under PREFIX (/usr/local)
	scripts/bootstrap demo
	scripts/build $(BUILD) --prefix=$(PREFIX) --libdir=lib -Dcommand=true \
		-Dcommand_dir=lib/schedshard
	$(call install_tree,$(BUILD))
	cli/environment
	scripts/as_owner $(PREFIX) scripts/install_command $(BUILD) $(PREFIX)

install-lib: ## install only the library under PREFIX: no command, seconds to build, with Python for meson
	scripts/bootstrap library
	test -f build/library/build.ninja || meson setup build/library -Dlibrary_only=true
	meson configure build/library --prefix=$(PREFIX) --libdir=lib
	ninja -C build/library
	$(call install_tree,build/library)

ports: build ## fetch wasmtime and oneTBB, port them to the library, and run them before and after; minutes
	cli/environment --dev
	SCHEDSHARD_PORTS=1 SCHEDSHARD_BUILD=$(CURDIR)/build/release .venv/bin/python -m pytest record/tests/program/test_ports.py

releases-check: ## as root, in roots of debootstrap: check everything on Debian 13, and the patches on sid
	scripts/bootstrap releases
	scripts/releases_check $(RELEASES)

kernel: ## build Linux with and without the series, boot, test and compare both, write the series
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	./schedshard kernel build $(BOTH)
	./schedshard kernel test $(BOTH)
	./schedshard kernel test --variant shard --emulation multi --cpus 4 --set short \
		--test storm-deadline --test storm-walk --test walk-self
	./schedshard kernel series --check
	$(MAKE) kernel-old

series: ## the patches for Linux in build/kernel/series, without building a kernel
	scripts/bootstrap series
	./schedshard kernel fetch
	./schedshard kernel series

kernel-old: export SCHEDSHARD_LINUX := $(OLD)
kernel-old: ## the previous Linux series (OLD=6.12): build and boot it, run the storm tests, check its patches
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	./schedshard kernel build --variant shard
	./schedshard kernel test --variant shard --set short --test storm-deadline --test storm-walk --test storm
	./schedshard kernel series --check

kernel-check: ## test, profile and package our kernel, and check that a broken one is caught
	scripts/bootstrap demo kernel
	OLD=$(OLD) scripts/kernel_check

kernel-arm64: ## build our kernel for arm64, boot it, and run the storm tests
	scripts/bootstrap demo kernel arm64
	./schedshard kernel fetch
	./schedshard kernel --arch arm64 build --variant shard
	./schedshard kernel --arch arm64 test --variant shard --cpus 16 --set short

kernel-shapes: ## the storm tests on small and odd machines
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	./schedshard kernel build --variant shard
	./schedshard kernel test --variant shard --shape all --set ci --test storm-deadline --test storm-walk --test storm

kernel-broken: ## kernels that are broken on purpose: the check of each guest must catch its fault
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	./schedshard kernel build --variant broken-store --variant broken-rto --variant broken-self --variant stock-self
	./schedshard kernel test --variant broken-store --variant broken-rto --set short --cpus 16 --test storm --caught
	./schedshard kernel test --variant broken-self --emulation multi --cpus 4 --set short --test storm-walk --caught
	./schedshard kernel test --variant broken-self --variant stock-self --emulation multi --cpus 4 --set short \
		--test walk-self --caught

kernel-debug: ## the tests under lockdep, KASAN, KCSAN, PREEMPT_RT, no SMP, ... (DEBUG="lockdep": only that)
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	set -e; for config in $(DEBUG); do \
		./schedshard kernel build --variant shard --config $$config; \
		cpus=; [ $$config != no-smp ] || cpus="--cpus 1"; \
		./schedshard kernel test --variant shard --config $$config --set ci $$cpus; \
	done

kernel-soak: ## an hour of guest time
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	./schedshard kernel build --variant shard
	./schedshard kernel test --variant shard --set soak

kernel-deb: ## Debian packages of a kernel for this machine (CONFIG=/boot/config-...: of that configuration)
	scripts/bootstrap demo kernel
	./schedshard kernel fetch
	./schedshard kernel deb --config $(CONFIG)

deb: ## the command as a Debian package, in build/deb
	scripts/bootstrap demo package
	scripts/command_deb

doctor: ## doctor alone: one file for any Python from 3.9 on, a wheel and the collector, in build/doctor
	scripts/bootstrap doctor
	test -x build/doctor/tools/bin/python || $(PYTHON) -m venv build/doctor/tools
	build/doctor/tools/bin/python scripts/doctor_alone.py

trial: ## the trial of a machine: one file for any Python from 3.9 on, in build/trial
	scripts/bootstrap trial
	$(PYTHON) scripts/trial_alone.py

wheel: ## the command as a Python wheel, in build/wheel
	scripts/bootstrap demo
	scripts/command_wheel

release: ## all files of a release with checksums, in out/: doctor, trial, wheel, packages, patches
	scripts/bootstrap demo package doctor trial series releases
	scripts/release

clean: ## remove everything that was built or downloaded into this directory
	rm -rf build out compile_commands.json .venv .venv.lock .venv.tmp .venv.old .hypothesis .mypy_cache .pytest_cache .ruff_cache
