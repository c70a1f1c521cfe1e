# Three commands on a fresh clone: `make demo`, `make quick`, `make test`. Each makes .venv and installs what it needs,
# `make demo` the library alone.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
WORKERS ?= 2
LEFT_OUT := spark or process or fault or browser or statistical or slow or data
PYTEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?= --corpus all

.PHONY: help setup demo demo-sites quick test mutants lint package gpu-check bench docs clean
.DEFAULT_GOAL := help

help:
	@echo "make setup   .venv with the library and the development tools"
	@echo "make demo    private topics of 50,000 made-up patients' letters: text in, report in build/demo (DEMO_ARGS=...)"
	@echo "make demo-sites  five made-up clinics that share no text, a process each: one alone, all together"
	@echo "make quick   before a commit: ruff, mypy and the tests that take no time, in three and a half minutes on two cores"
	@echo "make test    before a push: ruff, mypy and every test"
	@echo "make mutants 20 of the bugs in attacks/results/mutation.csv, chosen by the commit, against the tests that notice them"
	@echo "make lint    ruff and mypy alone"
	@echo "make package the wheel and the source archive, and the demo from the wheel in an environment of its own"
	@echo "make gpu-check  on a machine with a GPU: are its sums those of the processor? Records the kernels it passed on"
	@echo "make bench   this library against scikit-learn, gensim and tomotopy (BENCH_ARGS=...)"
	@echo "make docs    the guide and the API reference as a site in build/site"
	@echo "make clean   remove .venv and every cache"

setup: $(VENV)/.installed

# The build tool comes first, pinned like everything else, and builds without a second, unpinned environment.
$(VENV)/.library: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt setuptools
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable .
	touch $@

$(VENV)/.installed: $(VENV)/.library
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev,bench]'
	touch $@

$(VENV)/.installed-gpu: $(VENV)/.installed
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev,gpu]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev,docs]'
	touch $@

demo: $(VENV)/.library
	$(BIN)/private-topics demo $(DEMO_ARGS)

demo-sites: setup
	$(BIN)/private-topics sites demo $(DEMO_ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Each worker has the threads of a fit beside it: one that waits must not spin.
quick test: export OMP_WAIT_POLICY := PASSIVE
quick: export OPENBLAS_NUM_THREADS := 1

quick: lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m 'not ($(LEFT_OUT))' $(PYTEST_ARGS)

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -rsx $(PYTEST_ARGS)

mutants: setup
	$(BIN)/python attacks/mutation.py --again 20 --processes $(WORKERS)

# What a user gets: the source archive holds what the wheel is built of, and the wheel runs where nothing else is.
package: $(VENV)/.library
	rm -rf build/package && mkdir -p build/package
	$(BIN)/python -c "from setuptools.build_meta import build_sdist; build_sdist('build/package')" > build/package/log.txt
	cd build/package && tar -xzf private_topics-*.tar.gz
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir build/package build/package/private_topics-*/
	$(PYTHON) -m venv build/package/venv
	build/package/venv/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt build/package/*.whl
	cd build/package && venv/bin/private-topics demo --letters 5000 --quiet > demo.txt && test -s build/demo/report.html

# The first command fails without a GPU, where the second would skip; what is recorded has passed both.
gpu-check: $(VENV)/.installed-gpu
	$(BIN)/python benchmarks/gpu.py check
	$(BIN)/python -m pytest -k gpu -rs tests/engines/test_conformance.py tests/engines/test_other_configurations.py
	$(BIN)/python tests/engines/kernel_digests.py --record

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/peers.py $(BENCH_ARGS)

docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict
	@echo "The site: build/site/index.html"

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks attacks research -name __pycache__ -type d -prune -exec rm -rf {} +
