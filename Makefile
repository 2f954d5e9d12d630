# SPDX-License-Identifier: BSD-2-Clause
# `make help` lists the targets. Each prepares what it needs by itself (scripts/setup.sh) and is quick when all is there.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:

BIN := .venv/bin
# Needs no package, so it works without .venv, too.
PYTHON = $(if $(wildcard $(BIN)/python),$(BIN)/python,python3)
# One more than cores: boards and guests often wait for the clock on the wall.
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -gt 8 ] && n=8; echo $$((n + 1)))
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PYTHONDONTWRITEBYTECODE := 1

.PHONY: help
help: ## this list
	@echo "LitePulse. make demo shows it, make test checks it. Each command sets up what it needs:"
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile
	@echo "Variables: ARGS=\"...\" more arguments for pytest (test); FRESH=1 proves, catches, simulates again;"
	@echo "  SEED=n or SEED=random instead of the fixed seeds; JOBS=n tests at a time; WAVES=1 writes waveforms"

.PHONY: demo
demo: need-demo ## the 58 Hz train on the simulated SoC, no board needed: report, PNG and VCD in build/demo
	@$(BIN)/python -m litepulse.demo

# What runs, and what is run again: sim/run.py.
run = $(if $(FRESH),LITEPULSE_FRESH=1) $(if $(SEED),LITEPULSE_SEED=$(SEED)) $(if $(WAVES),WAVES=$(WAVES)) JOBS=$(JOBS) $(BIN)/python -m sim.run

.PHONY: test
test: need-$(if $(ARGS),all,test) ## some of every kind of test, in minutes: what a change must pass to land; with ARGS: what these name
	@$(run) $(if $(ARGS),$(ARGS),test)

.PHONY: test-changed
test-changed: need-all lint ## all tests of what differs from main in more than comments: before a change is called done; BASE=ref
	@$(run) changed $(BASE)

.PHONY: test-all
test-all: need-all ## all tests and proofs, for the night; goes on where it was ended
	@$(run) all

.PHONY: cache
cache: ## how large the cache is
	@$(PYTHON) -m litex_soc.build_cache

.PHONY: cache-clean
cache-clean: ## removes from the cache what no current input needs
	@$(PYTHON) -m litex_soc.build_cache clean

.PHONY: test-netlist
test-netlist: need-test ## the core's tests on every netlist of it, all modules: half an hour
	@LITEPULSE_NETLISTS=all $(run) sim/netlist $(ARGS)

# What to build: $(call choice) gives the options of litex_soc.bitstream and litex_soc.flash.
choice = $(BOARD) $(if $(FPGA),--fpga $(FPGA)) $(if $(VARIANT),--variant $(VARIANT)) $(if $(SAMPLES),--samples $(SAMPLES))

image = $(if $(IMAGE),$(IMAGE),build/boot.img)

.PHONY: bitstream
bitstream: need-boards ## BOARD=name [FPGA=... VARIANT=... SAMPLES=...]: the bitstream of a board, in build/boards
	@$(BIN)/python -m litex_soc.bitstream $(choice) $(if $(SEEDS),--seeds $(SEEDS))

.PHONY: flash
flash: need-boards ## the same, and writes it to the board; DRY_RUN=1 prints the command, RAM=1 until power-off, SERIAL=... of several
	@$(if $(DRY_RUN),,$(BIN)/python -m litex_soc.bitstream $(choice) &&) \
		$(BIN)/python -m litex_soc.flash $(choice) $(if $(RAM),--ram) $(if $(SERIAL),--serial $(SERIAL)) $(if $(DRY_RUN),--dry-run)

.PHONY: first-light
first-light: need-boards ## the same for a new board, and tries it with one jumper: a report to send; PORT=... of its bridge, ARGS="--yes --no-flash"
	@$(BIN)/python -m litex_soc.bitstream $(choice) && \
		$(BIN)/litepulse first-light --board "$(BOARD)" $(if $(FPGA),--fpga $(FPGA)) $(if $(SERIAL),--serial $(SERIAL)) \
			--file "$$($(BIN)/python -m litex_soc.bitstream $(choice) --path)" $(if $(PORT),--port "$(PORT)") -o "build/first-light-$(BOARD)" $(ARGS)

.PHONY: boot-image
boot-image: need-boards ## BOARD=ulx3s KERNEL=Image [INITRD=...]: what the board boots Linux from, IMAGE=boot.img [BOOTARGS="..."]
	@$(BIN)/python -m litex_soc.boot_image --board "$(BOARD)" $(if $(FPGA),--fpga $(FPGA)) $(if $(SAMPLES),--samples $(SAMPLES)) \
		--kernel "$(KERNEL)" $(if $(INITRD),--initrd "$(INITRD)") $(if $(BOOTARGS),--bootargs "$(BOOTARGS)") -o "$(image)"

.PHONY: flash-image
flash-image: need-boards ## BOARD=ulx3s VARIANT=linux IMAGE=boot.img: writes it behind the bitstream; DRY_RUN=1, SERIAL=... as above
	@$(BIN)/python -m litex_soc.flash $(choice) --image "$(image)" $(if $(SERIAL),--serial $(SERIAL)) $(if $(DRY_RUN),--dry-run)

.PHONY: boards
boards: need-boards ## the bitstreams of all boards, and docs/boards.md; BOARD=name: of one, and prints its rows
	@$(BIN)/python -m litex_soc.boards_page $(BOARD)

.PHONY: lint
lint: need-test ## all checks of form and of warnings, .pre-commit-config.yaml, over all files that git knows; a minute
	@$(BIN)/pre-commit run --all-files

# Codespell's exit status counts what it mended.
.PHONY: fix
fix: need-test ## mends what a program can of what lint finds: generated files, Python's format, spelling, licence lines, ends of lines
	@$(BIN)/python scripts/generate.py
	@$(BIN)/ruff check --no-cache --quiet --fix-only .
	@$(BIN)/ruff format --no-cache --quiet .
	@git ls-files -z | xargs -0 $(BIN)/codespell --write-changes || true
	@$(BIN)/python scripts/check_tree.py --fix

.PHONY: formal
formal: need-test ## the proofs only
	@$(run) sim/formal

# The guest: $(call guest) gives the options of `python -m sim.linux` and `python -m sim.linux.demo`.
guest = $(if $(CPU),--cpu $(CPU))

.PHONY: linux
linux: need-all ## Linux on the simulated SoC, the driver loaded, its console; CPU=mor1kx: big-endian; FILES=folder: in /tmp/files
	@$(BIN)/python -m sim.linux $(guest) $(if $(FILES),--files $(FILES)) $(if $(FLAVOUR),--flavour $(FLAVOUR))

.PHONY: pc
pc: need-test ## a PC with a simulated board on its USB port, its console; KERNEL=6.1|6.12|7.2, FILES=folder: in /tmp/files, WIRE="tx:rx", BOARDS=2
	@$(BIN)/python -m sim.pc $(if $(KERNEL),--kernel $(KERNEL)) $(if $(FILES),--files $(FILES)) $(if $(HZ),--hz $(HZ)) $(if $(WIRE),--wire $(WIRE)) $(if $(BOARDS),--boards $(BOARDS))

.PHONY: test-linux-debug
test-linux-debug: need-all ## the tests of sim/linux on the kernel with lockdep, whose boot alone takes minutes
	@LITEPULSE_DEBUG_KERNEL=1 $(run) sim/linux $(ARGS)

.PHONY: linux-demo
linux-demo: need-all ## 58 Hz from Linux on the simulated SoC, three ways: table and picture in build/linux-demo
	@$(BIN)/python -m sim.linux.demo $(guest) $(if $(COUNT),--count $(COUNT))

.PHONY: test-driver
test-driver: need-all ## the driver: kernels 6.1, 6.12, 7.2, sparse, checkpatch, ABI, User-mode Linux
	@$(run) sim/driver $(ARGS)

.PHONY: mutate
mutate: need-test ## mutations of MODULE="litepulse_echo ..." (none: all), COUNT=n each (0: all), and what catches them; WRITE=1: docs/develop/mutants.md
	@$(BIN)/python -m lab.faults.mutate $(MODULE) $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) $(if $(WRITE),--write)

.PHONY: coverage
coverage: need-test ## which lines, branches and bits of the core its benches reach, a quarter of an hour; WRITE=1: docs/develop/coverage.md
	@$(BIN)/python -m lab.coverage $(if $(WRITE),--write)

.PHONY: fuzz
fuzz: need-all ## two million random calls to the driver, a board that lies; docs/develop/fuzzing.md. CALLS=n, SEED=n: others, page left alone
	@$(BIN)/python -m lab.fuzz $(if $(CALLS)$(SEED),$(if $(CALLS),--calls $(CALLS)) $(if $(SEED),--seed $(SEED)),--write)

.PHONY: upstream
upstream: need-test ## the driver as a patch series for the kernel's own tree, in build/upstream; KERNEL=6.12|7.2, TREE=folder of a kernel source
	@$(BIN)/python -m driver.upstream $(if $(KERNEL),--kernel $(KERNEL)) $(if $(TREE),--tree "$(TREE)")

.PHONY: driver-install
driver-install: ## builds the driver for the running kernel and installs it, as root; ATTACH=1: boards on a cable by themselves, too
	@$(MAKE) --no-print-directory -C driver
	@$(if $(filter 0,$(shell id -u)),,sudo) $(MAKE) --no-print-directory -C driver install $(if $(ATTACH),ATTACH="$(ATTACH)")

.PHONY: driver-uninstall
driver-uninstall: ## removes it
	@$(if $(filter 0,$(shell id -u)),,sudo) $(MAKE) --no-print-directory -C driver uninstall

.PHONY: bench
bench: need-all ## speed, size and exactness: the figures of docs/benchmarks.md; PART=lin: one part of it
	@$(BIN)/python -m lab.bench $(PART)

.PHONY: docs
docs: need-docs ## the documentation as a site that needs no network: build/site/index.html
	@$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/site-cache docs build/site
	@echo "docs: build/site/index.html"

.PHONY: experiments
experiments: need-all ## the five published experiments on simulated systems, half an hour; ONLY="p1 p4", LONG=1, WRITE=1: docs/experiments.md
	@$(BIN)/python -m lab.experiments $(ONLY) $(if $(LONG),--long) $(if $(FRESH),--fresh) $(if $(WRITE),--write) $(if $(LIST),--list)

.PHONY: fresh-machine
fresh-machine: ## as root: a minimal Debian, RELEASE=bookworm|trixie, and the time of COMMANDS="demo test" there
	@RELEASE="$(RELEASE)" COMMANDS="$(COMMANDS)" scripts/fresh_machine.sh

.PHONY: generate
generate: need-test ## write the files that are made from the register map, the boards and the sequencer's programs
	@$(BIN)/python scripts/generate.py
	@$(BIN)/python scripts/waves.py

.PHONY: lock
lock: need-demo ## requirements/*.txt from the .in files: all dependencies, with hashes
	@$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements/uv.txt
	@$(BIN)/python scripts/lock.py

.PHONY: setup
setup: need-all ## everything, installed: the command is .venv/bin/litepulse

.PHONY: dist
dist: need-demo ## what pip installs: the wheel and the source archive, in build/dist
	@$(BIN)/python -m hatchling build -d build/dist

.PHONY: deb
deb: need-demo ## Debian packages of the command, the driver (DKMS) and its header, in build/deb
	@$(BIN)/python scripts/deb.py

.PHONY: need-version
need-version:
	@[ -n "$(VERSION)" ] || { echo "release: which? VERSION=0.2.0" >&2; exit 2; }

# BITSTREAMS=cached takes those that were built here, BITSTREAMS=none leaves them out. RELEASING.md has the steps around it.
.PHONY: release
release: need-version need-all ## VERSION=0.2.0: all that a release publishes, with all bitstreams (hours), in build/release; BITSTREAMS=cached|none, WITHOUT="docs debs"
	@$(BIN)/python scripts/release.py $(VERSION) $(if $(BITSTREAMS),--bitstreams $(BITSTREAMS)) $(foreach part,$(WITHOUT),--without $(part))

.PHONY: release-prepare
release-prepare: need-version need-all ## VERSION=0.2.0: writes the version where it stands, the heading in CHANGELOG.md, and freezes the register map
	@$(BIN)/python scripts/release.py --prepare $(VERSION)

.PHONY: man
man: need-demo ## man pages of the command, in build/man, by Debian's help2man: man -M build/man litepulse-train
	@PYTHONPATH=sw $(BIN)/python scripts/man_pages.py build/man/man1

.PHONY: clean
clean: ## remove what was built (not .venv)
	rm -rf build
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean ## remove .venv too; the cache under ~/.cache/litepulse stays
	rm -rf .venv .venv.lock

need-%:
	@scripts/setup.sh $*
