# Short names for ordinary commands. Each makes its own virtual environment first, in this folder.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
REGIME ?= sets
TRY ?= $(PYTHON)
FACTOR ?= 1.15
BENCH ?= .
# The first Python 3.10 that runs: pyenv's python3.10 does not, unless 3.10 is switched on.
PYENV_ROOT ?= $(HOME)/.pyenv
OLDEST ?= $(or $(shell for python in python3.10 $(PYENV_ROOT)/versions/3.10.*/bin/python; do \
  $$python -c 'import sys; print(sys.executable)' 2>/dev/null && break; done),$(PYTHON))
comma := ,
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
BUILD := $(BIN)/python tools/install.py --editable # shows what it is doing while it compiles
KERNEL_TESTS := $(wildcard tests/test_kernel*.py) tests/test_csr_kernel.py tests/test_csr.py tests/test_polish.py \
  tests/test_solver_kernels.py
KERNEL_SOURCES := $(filter-out src/core/bindings% src/core/best_set.cpp,$(wildcard src/core/*.cpp)) # all without Python
# An editable install knows the modules that were there when it was made: a folder changes when one comes or goes.
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/core/*) \
  $(shell find src/eulermeans -type d -not -name __pycache__)

.PHONY: demo test test-all test-oldest test-sanitize lint fuzz format bench bench-compare bench-quality reproduce docs \
  wheel wheels clean

demo: $(VENV)/demo.stamp  ## see SBE leave a minimum that EM is stuck in
	$(BIN)/eulermeans demo

test: $(VENV)/test.stamp  ## everything that CI checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile

test-all: $(VENV)/test.stamp  ## with the slow reproductions
	$(BIN)/python -m pytest

# matplotlib 3.10.0 calls what the newest pyparsing deprecates.
test-oldest:  ## the same tests on Python 3.10, if there is one, and the oldest versions of packages and build tools
	$(MAKE) VENV=.venv-oldest PYTHON=$(OLDEST) .venv-oldest/oldest.stamp
	.venv-oldest/bin/python -m pytest -m "not slow" -n 2 --dist loadfile \
	  -W ignore::pyparsing.warnings.PyparsingDeprecationWarning

lint: $(VENV)/lint.stamp  ## spelling, the format of the kernels, and the workflows
	$(BIN)/codespell
	$(BIN)/clang-format --dry-run --Werror $(wildcard src/core/*.?pp tests/sanitize/*.cpp)
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor --offline --no-progress .github

# A program that calls the kernels without Python: $(1) are the sanitizers, $(2) its arguments.
define kernel_calls
	mkdir -p build
	$(CXX) -std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=$(1) -Wno-psabi -pthread -Isrc/core \
	  -DEULERMEANS_SET=baseline -DEULERMEANS_HAS_BASELINE -DEULERMEANS_VECTOR_BYTES=16 -Wl,--wrap=aligned_alloc \
	  tests/sanitize/kernel_calls.cpp $(KERNEL_SOURCES) -o build/kernel_calls
	build/kernel_calls $(2)
endef

# ThreadSanitizer: four callers at once on the thread pool. AddressSanitizer and LeakSanitizer: the same, and every
# allocation fails once.
test-sanitize:  ## the kernels with ThreadSanitizer, AddressSanitizer, LeakSanitizer and UBSan (GCC)
	$(call kernel_calls,thread,)
	$(call kernel_calls,address$(comma)undefined,--fail)
	$(MAKE) VENV=.venv-sanitize .venv-sanitize/pip.stamp
	.venv-sanitize/bin/python -m pip install --quiet numpy scipy scikit-learn --group test
	.venv-sanitize/bin/python -m pip install --quiet --force-reinstall --no-deps . \
	  --config-settings=cmake.define.EULERMEANS_SANITIZE=ON --config-settings=cmake.define.EULERMEANS_SETS=native \
	  --config-settings=build-dir=build/sanitize
	ASAN_OPTIONS=detect_leaks=0 \
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  .venv-sanitize/bin/python -m pytest $(KERNEL_TESTS) tests/test_interruption.py tests/test_alignment.py \
	  tests/fuzz/test_fuzz_arguments.py tests/fuzz/test_fuzz_kernels.py

FUZZ_CASES ?= 100000
fuzz: $(VENV)/test.stamp  ## random fits, kernel calls, arguments and files: hours; FUZZ_CASES says how many of each
	EULERMEANS_FUZZ_CASES=$(FUZZ_CASES) $(BIN)/python -X faulthandler -m pytest tests/fuzz

format: $(VENV)/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/test.stamp
	$(BIN)/python benchmarks/kernels.py

# REGIME="sets mnist" or any others of benchmarks/quality.py; "all" takes hours.
bench-quality: $(VENV)/bench.stamp  ## objective and time of EulerMeans and its peers, into benchmarks/results
	$(BIN)/python benchmarks/quality.py --regime $(REGIME)

reproduce: $(VENV)/paper.stamp  ## the paper's experiments, tables and figures, into reproduction/
	$(BIN)/eulermeans reproduce all

# BASE is a tag or any other revision. Both commits are built, and measured in turns. BENCH="fits|sparse" runs some of them.
bench-compare:  ## BASE=REVISION: processor time of kernels and fits then and now, as ratios
	@test -n "$(BASE)" || { echo "say what to compare with: make bench-compare BASE=REVISION"; exit 2; }
	$(MAKE) VENV=.venv-compare .venv-compare/compare.stamp
	.venv-compare/bin/python benchmarks/over_time/compare.py $(BASE) --only "$(BENCH)" --factor $(FACTOR)

# An environment for each Python, because the wheel is built with the Python of its environment.
WHEEL = .venv-wheel-$(shell $(PYTHON) -c 'import sys; print(sys.implementation.cache_tag + sys.abiflags)')
wheel:  ## sdist and wheel, checked and tried in an empty environment; TRY="python3.12 python3.13" tries it there
	$(MAKE) VENV=$(WHEEL) $(WHEEL)/release.stamp
	rm -rf dist
	$(WHEEL)/bin/python -m build
	$(WHEEL)/bin/twine check --strict dist/*
	$(WHEEL)/bin/python tools/repair_wheel.py dist
	$(WHEEL)/bin/python tools/try_wheel.py dist/*.whl --python $(TRY)

wheels:  ## the wheels of one platform in all its variants, into dist: by cibuildwheel, on Linux in containers
	$(MAKE) VENV=$(WHEEL) $(WHEEL)/release.stamp
	$(WHEEL)/bin/cibuildwheel --output-dir dist

# Offline; every warning is an error. Examples that have not changed are not run again; `make clean` forgets them.
docs: $(VENV)/docs.stamp  ## the documentation site, with the examples executed: open build/docs/index.html
	rm -rf docs/api/generated build/docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs build/docs
	$(BIN)/python tools/check_site.py build/docs

clean:
	rm -rf docs/gallery docs/api/generated
	rm -rf .venv .venv-*/ build dist

# The newest pip knows dependency groups, which the one that comes with Python may not.
$(VENV)/pip.stamp:
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade "pip>=25.1"
	touch $@

# For this machine alone, unless the tests, which need all instruction sets, use the same environment.
$(VENV)/demo.stamp: $(VENV)/pip.stamp $(SOURCES)
	$(BUILD) ".[cli]" --config-settings=cmake.define.EULERMEANS_SETS=$(if $(wildcard $(VENV)/package.stamp),all,native)
	touch $@

# Compiled once; tests, documentation and benchmarks add the packages that they need.
$(VENV)/package.stamp: $(VENV)/pip.stamp $(SOURCES)
	$(BUILD) ".[all]"
	touch $@

$(VENV)/test.stamp: $(VENV)/package.stamp
	$(INSTALL) --group test
	touch $@

# What the extra `paper` adds. torch is pinned, or a build of several GB may be taken.
$(VENV)/paper.stamp: $(VENV)/package.stamp
	$(INSTALL) torch==2.13.0
	touch $@

# uv finds the lowest versions, which pip does not.
$(VENV)/oldest.stamp: $(VENV)/pip.stamp $(SOURCES) tools/oldest-build.txt
	$(INSTALL) uv
	$(BIN)/uv pip install --python $(BIN)/python --resolution lowest-direct \
	  --build-constraints tools/oldest-build.txt --editable ".[all]" --group test
	touch $@

$(VENV)/release.stamp: $(VENV)/pip.stamp pyproject.toml
	$(INSTALL) --group release
	touch $@

$(VENV)/lint.stamp: $(VENV)/pip.stamp pyproject.toml
	$(INSTALL) --group lint
	touch $@

# Without eulermeans, which comes from the two commits.
$(VENV)/compare.stamp: $(VENV)/pip.stamp
	$(INSTALL) numpy scipy scikit-learn
	touch $@

$(VENV)/docs.stamp: $(VENV)/package.stamp
	$(INSTALL) --group docs
	touch $@

# flspp asks for an old NumPy that it does not need.
$(VENV)/bench.stamp: $(VENV)/package.stamp
	$(INSTALL) --group bench
	$(INSTALL) --no-deps flspp
	touch $@
