# The one entry for people and CI. Needs a stable Rust toolchain, Python >= 3.11 and make; sets up the rest itself.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
# It takes a tenth of the processor time that pip does.
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python
# One interpreter for every build of the extension, so that cargo does not build it anew for each caller.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

# Tests start the command hundreds of times: it is compiled once, whatever the caller's habits.
unexport PYTHONDONTWRITEBYTECODE

DEPENDENCIES := $(VENV)/.dependencies
# The profile of the extension. The tests' own, dev, takes over what `cargo test` compiles, and keeps the
# engine's assertions on. `make test` alone, where nothing has been built, spares itself the release.
EXTENSION_PROFILE ?= $(if $(filter test,$(MAKECMDGOALS)),$(if $(wildcard $(VENV)/.extension-release),release,dev),release)
export EXTENSION_PROFILE
EXTENSION := $(VENV)/.extension-$(EXTENSION_PROFILE)
ENGINE := $(shell find crates -type f \( -name '*.rs' -o -name '*.toml' \) 2>/dev/null) Cargo.toml Cargo.lock
# Files that register themselves, which cargo fmt does not see.
REFERENCES := $(wildcard crates/core/tests/references/*/*.rs)

WORKLOAD := workloads/pgbench-ext4.nbdkit.zst
DEMO := out/demo

.PHONY: help demo test test-e2e soak-serve test-rust test-python quick lint lint-rust lint-python format figures stand-ins bench bench-engine bench-instructions bench-libcachesim bench-scale bench-serve fuzz-readers fuzz-config fuzz-images soak-cuts golden gate soak lock docs wheel clean

help: ## What can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /  make \1\t/' | expand -t 20

# The drive of the HBM thesis, a battery behind its RAM (the papers know no flush commands), the workload at a fifth of its
# speed: that is what such a drive can bear.
demo: $(EXTENSION) ## Replay a recorded workload against every buffer: a table, and a report under out/demo
	$(BIN)/eraseblock compare $(WORKLOAD) --device hbm-2010 --buffers all --buffer-size 1MiB,4MiB,16MiB,64MiB \
	    --set 'name="demo"' --set buffer.battery=true --set host.speedup=0.2 -o $(DEMO)

# Rust and Python at the same time: both have long builds and tests that leave a processor idle. Python stays in the foreground;
# what Rust's say follows. Python's tests run one after the other and end last: they come first where there are few processors,
# and Rust's take what is left. Where both sides compile in one folder, the extension comes first, too: cargo would let it wait
# for the lints. The gate compiles in a folder of its own, the engine in one piece on one processor: it takes what installing and
# building leave idle.
test: ## Lint, then all tests
	@gate_said=$$(mktemp); rust_said=$$(mktemp); gate=; rust=; \
	trap 'kill $$gate $$rust 2>/dev/null || true; rm -f "$$gate_said" "$$rust_said"' EXIT; \
	nice $(MAKE) --no-print-directory gate > "$$gate_said" 2>&1 & gate=$$!; \
	$(MAKE) --no-print-directory $(if $(filter dev,$(EXTENSION_PROFILE)),$(EXTENSION),$(DEPENDENCIES)); \
	echo "Rust is linted and tested meanwhile; what comes of it follows Python's tests"; \
	nice $(MAKE) --no-print-directory test-rust > "$$rust_said" 2>&1 & rust=$$!; \
	status=0; $(MAKE) --no-print-directory test-python || status=$$?; \
	wait $$rust || status=$$?; \
	wait $$gate || status=$$?; \
	cat "$$rust_said" "$$gate_said"; exit $$status
	@[[ -n "$${ERASEBLOCK_TRACES:-}" ]] || echo "skipped: tests on outside traces; ERASEBLOCK_TRACES names no folder"

# Properties draw the same cases each time, so that a commit which has passed passes again, and few of them: they say nothing new
# the next day. `make soak` draws others, and many.
# Twice as many tests at once as there are processors: some wait for disks and clients, and the long ones begin early.
test-rust: export PROPTEST_RNG_SEED := 2026
test-rust: export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(nproc))))
test-rust: lint-rust
	cargo test --workspace --locked --quiet

# Half of what the tests of pages take is waiting for a browser: they run beside the others.
test-python: lint-python
	@browser_said=$$(mktemp); trap 'kill $$browser 2>/dev/null || true; rm -f "$$browser_said"' EXIT; \
	$(BIN)/pytest -m browser > "$$browser_said" 2>&1 & browser=$$!; \
	status=0; $(BIN)/pytest -m "not browser" || status=$$?; \
	wait $$browser || status=$$?; \
	cat "$$browser_said"; exit $$status

quick: $(EXTENSION) ## The tests that end within two minutes
	cargo test --workspace --exclude eraseblock-py --locked --quiet --lib --test units_of_core --test units_of_traces
	$(BIN)/pytest -m "not slow"

lint: lint-rust lint-python ## Formatting, lints, types, and whether generated pages are up to date

lint-rust: $(DEPENDENCIES)
	cargo fmt --all --check
	rustfmt --edition 2024 --check $(REFERENCES)
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	$(if $(filter clippy-driver,$(RUSTC_WORKSPACE_WRAPPER)),@echo "clippy lints what is compiled",cargo clippy --workspace --lib --bins --tests --locked --quiet -- -D warnings)

lint-python: $(EXTENSION)
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	$(BIN)/mypy --no-error-summary
	$(BIN)/python tools/generate_docs.py --check
	$(BIN)/python tools/measure_stand_ins.py --check

format: $(EXTENSION) ## Format all code and generate pages anew
	cargo fmt --all
	rustfmt --edition 2024 $(REFERENCES)
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(BIN)/ruff format --quiet
	$(BIN)/python tools/generate_docs.py

figures: $(EXTENSION) ## Put the demo's present table and picture into the README
	$(BIN)/python tools/refresh_demo.py

stand-ins: $(EXTENSION) ## Measure all stand-ins whole, and write docs/stand-ins.md
	$(BIN)/python tools/measure_stand_ins.py

bench: bench-engine bench-instructions bench-libcachesim ## Speed of engine, readers and generators; instructions of each buffer; LRU against libCacheSim

bench-engine: ## The engine alone, beside its goals and the baseline; needs no Python (BLESS=1 keeps the figures)
	cargo run --release --locked --quiet -p eraseblock-bench -- $(if $(BLESS),--bless)

bench-instructions: ## Instructions and ns per access and per flush command of each buffer, at 1 MiB, 64 MiB and 1 GiB (needs valgrind)
	cargo run --release --locked --quiet -p eraseblock-bench -- instructions

bench-scale: ## Instructions, time and memory for a flash operation, from one chip to 64 and from 32 GiB to 4 TiB (12 GB of memory)
	cargo run --release --locked --quiet -p eraseblock-bench -- scale

bench-libcachesim: $(DEPENDENCIES) ## Page LRU against libCacheSim, in paired runs
	$(BIN)/python tools/compare_speed.py

bench-serve: $(EXTENSION) ## A served drive against nbdkit's memory plugin, in paired runs of fio (needs both; two minutes; RUNS='--seconds 60'; RUNS=--pace: how late answers are)
	$(BIN)/python tools/bench_serve.py $(RUNS)

# TIME is in seconds for each target; FORMAT names one of them.
fuzz-readers: TIME ?= 60
fuzz-readers: JOBS ?= $(shell nproc)
fuzz-readers: ## Feed damaged files to every trace reader (TIME=600 FORMAT=spc)
	$(PYTHON) tools/fuzz_readers.py --time $(TIME) --jobs $(JOBS) $(if $(FORMAT),--format $(FORMAT))

# TIME is in seconds; SEED picks another sequence of cases, CASE repeats one of them.
fuzz-config: TIME ?= 60
fuzz-config: JOBS ?= $(shell nproc)
fuzz-config: $(EXTENSION) ## Run random drives under random workloads, and look for panics, hangs, stale reads and lost requests (TIME=1200)
	$(BIN)/python tools/fuzz_config.py --time $(TIME) --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) $(if $(CASE),--case $(CASE))

# TIME is in seconds: an hour of each is `make fuzz-images TIME=3600` and `make fuzz-readers FORMAT=nbd TIME=3600`.
fuzz-images: TIME ?= 60
fuzz-images: ## Open, check and use damaged images of drives, and look for panics, hangs and growth (TIME=3600)
	ERASEBLOCK_FUZZ_SECONDS=$(TIME) cargo test -p eraseblock-serve --locked --quiet --test all mutations:: -- --nocapture

# Goes on where it was interrupted.
soak-cuts: CUTS ?= 10000
soak-cuts: ## Cut the power of served drives in longer runs, as often as CUTS says; goes on where it was interrupted (CUTS=10000)
	ERASEBLOCK_CUTS=$(CUTS) ERASEBLOCK_CUTS_DONE=$(CURDIR)/target/soak-cuts.txt cargo test -p eraseblock-serve --locked --quiet \
	    --test all at_seeded_moments -- --nocapture

# BLESS=1 accepts what changed; the changelog says why.
golden: $(DEPENDENCIES) ## Which of some 650 small runs give other results than before (BLESS=1 accepts them)
	$(if $(BLESS),BLESS=1) cargo test -p eraseblock-tests --locked --quiet --test experiments golden::results_are

# BLESS=1 accepts what has become dearer; the changelog says why.
gate: ## Whether a path through the engine takes 2 % more instructions than before (needs valgrind; BLESS=1 accepts it)
	env -u RUSTC_WORKSPACE_WRAPPER -u RUSTFLAGS cargo run --profile gate --locked --quiet -p eraseblock-gate -- crates/gate/baseline.txt $(if $(BLESS),--bless)

# A short part of it is in `make test`. Ten kills under each file system and database; two processors and 20 minutes.
test-e2e: $(EXTENSION) ## Let real programs at a served drive: nbdcopy, qemu, fio, file systems, databases (says what it skipped, and why)
	$(BIN)/python tools/serve_e2e.py

soak-serve: $(EXTENSION) ## The same file systems and databases, killed 200 times each; goes on where it was interrupted (KILLS=50)
	$(BIN)/python tools/serve_e2e.py --kills $(or $(KILLS),200) --kept target/soak-serve.json ext4 xfs btrfs sqlite postgresql

# Another seed each time, unless SEED names one: what fails fails again with it.
soak: SEEDS ?= 300
soak: TIME ?= 1200
soak: SEED := $(shell echo $$((RANDOM << 15 | RANDOM)))
soak: export ERASEBLOCK_SEED = $(SEED)
soak: export PROPTEST_RNG_SEED = $(SEED)
soak: $(EXTENSION) ## Random tests with other seeds and many more cases, then random drives (SEEDS=300 TIME=1200 SEED=7)
	@echo "seed $(SEED): make soak SEED=$(SEED) plays the same again"
	ERASEBLOCK_SOAK=$(SEEDS) cargo test -p eraseblock-tests --locked --quiet --test simulation -- power:: preconditions:: oracle:: optimum:: \
	    every_buffer:: even_wear:: waf:: chips:: timing:: plain_requests:: ensemble::
	ERASEBLOCK_SOAK=$(SEEDS) cargo test -p eraseblock-core --locked --quiet --test references
	ERASEBLOCK_SOAK=$(SEEDS) cargo test -p eraseblock-serve --locked --quiet --test all -- crashes:: checkpoints:: power_cuts:: mutations::
	ERASEBLOCK_SOAK=$(SEEDS) cargo test -p eraseblock-serve --locked --quiet --test memory
	ERASEBLOCK_SOAK=$(SEEDS) cargo test -p eraseblock-tests --locked --quiet --test experiments robust::
	PROPTEST_CASES=4096 cargo test -p eraseblock-tests --locked --quiet --test units_of_core --test units_of_traces
	cargo test --workspace --locked --quiet
	$(MAKE) --no-print-directory fuzz-config TIME=$(TIME) SEED=$(SEED)

lock: $(DEPENDENCIES) ## Pin the Python packages anew
	$(BIN)/uv pip compile pyproject.toml --group development --universal --python-version 3.11 --generate-hashes \
	    --no-header --no-annotate --quiet --output-file requirements.lock

docs: $(EXTENSION) ## Build the pages under docs as a site: out/site/index.html
	$(BIN)/python tools/generate_docs.py --check
	$(BIN)/zensical build --clean --strict

# One wheel for every Python from 3.11 on; whoever installs it needs no Rust.
wheel: $(DEPENDENCIES) ## Build wheels under dist: eraseblock for this system, and its reproduction of papers
	PIP_QUIET=1 $(BIN)/maturin build --release --locked --quiet --out dist
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist ./reproduction
	@ls dist/*.whl

clean: ## Remove everything that make built
	rm -rf target fuzz/target fuzz/seeds out dist $(VENV) .mypy_cache .ruff_cache .pytest_cache python/eraseblock/_core*.so
	find python reproduction tools -name __pycache__ -type d -prune -exec rm -rf {} +

$(DEPENDENCIES): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	    f"eraseblock needs Python 3.11 or later; $(PYTHON) is {sys.version.split()[0]} (say make PYTHON=...)")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --no-deps --no-compile -r <(sed -n '/^uv==/,/[^\\]$$/p' requirements.lock)
	$(INSTALL) --require-hashes --no-deps -r requirements.lock || \
	    $(PIP) --require-hashes --no-deps --no-compile -r requirements.lock
	@touch $@

# The reproduction is a project of its own, built by a backend that the lock pins.
$(EXTENSION): $(DEPENDENCIES) $(ENGINE) pyproject.toml reproduction/pyproject.toml
	@echo "building the engine with the $(EXTENSION_PROFILE) profile; this takes two or three minutes the first time"
	PIP_QUIET=1 $(BIN)/maturin develop --uv --profile $(EXTENSION_PROFILE) --locked --quiet
	$(INSTALL) --no-deps --no-build-isolation --editable reproduction
	@rm -f $(VENV)/.extension-*
	@touch $@
