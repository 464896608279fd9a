# Short names for ordinary commands. Each makes its own virtual environment first, in this folder.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
REGIME ?= sets
comma := ,
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
BUILD := $(BIN)/python tools/install.py --editable # shows what it is doing while it compiles
KERNEL_TESTS := $(wildcard tests/test_kernel*.py) tests/test_csr_kernel.py tests/test_csr.py tests/test_polish.py \
  tests/test_solver_kernels.py
# An editable install knows the modules that were there when it was made: a folder changes when one comes or goes.
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/core/*) \
  $(shell find src/eulermeans -type d -not -name __pycache__)

.PHONY: demo test test-all test-oldest test-sanitize fuzz format bench bench-quality reproduce clean

demo: $(VENV)/demo.stamp  ## see SBE leave a minimum that EM is stuck in
	$(BIN)/eulermeans demo

test: $(VENV)/test.stamp  ## everything that CI checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile

test-all: $(VENV)/test.stamp  ## with the slow reproductions
	$(BIN)/python -m pytest

test-oldest:  ## the estimators on the oldest scikit-learn that is supported
	$(MAKE) VENV=.venv-oldest .venv-oldest/test.stamp
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check "scikit-learn==1.6.*"
	.venv-oldest/bin/python -m pytest tests/test_estimators.py tests/test_bad_input.py

# A program that calls the kernels without Python: $(1) are the sanitizers, $(2) its arguments.
define kernel_calls
	mkdir -p build
	$(CXX) -std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=$(1) -Wno-psabi -pthread -Isrc/core \
	  -DEULERMEANS_ISA='"baseline"' -DEULERMEANS_TABLE=kernels_baseline -DEULERMEANS_VECTOR_BYTES=16 \
	  -Wl,--wrap=aligned_alloc tests/sanitize/kernel_calls.cpp src/core/kernels.cpp src/core/scheduler.cpp \
	  -o build/kernel_calls
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
	  --config-settings=cmake.define.EULERMEANS_SANITIZE=ON --config-settings=build-dir=build/sanitize
	ASAN_OPTIONS=detect_leaks=0 \
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  .venv-sanitize/bin/python -m pytest $(KERNEL_TESTS) tests/test_interruption.py \
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

clean:
	rm -rf .venv .venv-oldest .venv-sanitize build

# The newest pip knows dependency groups, which the one that comes with Python may not.
$(VENV)/pip.stamp:
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade "pip>=25.1"
	touch $@

# For this machine alone, unless the tests, which need all instruction sets, use the same environment.
$(VENV)/demo.stamp: $(VENV)/pip.stamp $(SOURCES)
	$(BUILD) ".[cli]" --config-settings=cmake.define.EULERMEANS_SETS=$(if $(wildcard $(VENV)/test.stamp),all,native)
	touch $@

# torch is pinned before the extra: otherwise a build of several GB may be taken.
$(VENV)/paper.stamp: $(VENV)/pip.stamp $(SOURCES)
	$(INSTALL) torch==2.13.0
	$(BUILD) ".[paper]"
	touch $@

$(VENV)/test.stamp: $(VENV)/pip.stamp $(SOURCES)
	$(BUILD) ".[all]" --group test
	touch $@

# flspp asks for an old NumPy that it does not need.
$(VENV)/bench.stamp: $(VENV)/pip.stamp $(SOURCES)
	$(BUILD) ".[all]" --group bench
	$(INSTALL) --no-deps flspp
	touch $@
