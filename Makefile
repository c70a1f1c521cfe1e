# Two commands on a fresh clone: `make demo` and `make test`. Each makes .venv and installs what it needs.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
WORKERS ?= 2
PYTEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?= --corpus all

.PHONY: help setup demo test lint bench docs clean
.DEFAULT_GOAL := help

help:
	@echo "make setup   .venv with the library and the development tools"
	@echo "make demo    private topics of 50,000 made-up patients' letters: text in, report in build/demo (DEMO_ARGS=...)"
	@echo "make test    ruff, mypy and pytest"
	@echo "make lint    ruff and mypy alone"
	@echo "make bench   this library against scikit-learn, gensim and tomotopy (BENCH_ARGS=...)"
	@echo "make docs    the guide and the API reference as a site in build/site"
	@echo "make clean   remove .venv and every cache"

setup: $(VENV)/.installed

# The build tool comes first, pinned like everything else, and builds without a second, unpinned environment.
$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt setuptools
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev,bench]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev,docs]'
	touch $@

demo: setup
	$(BIN)/private-topics demo $(DEMO_ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -rsx $(PYTEST_ARGS)

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/peers.py $(BENCH_ARGS)

docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict
	@echo "The site: build/site/index.html"

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks attacks research -name __pycache__ -type d -prune -exec rm -rf {} +
