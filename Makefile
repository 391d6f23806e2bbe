# Two commands matter: `make demo` and `make test`. Both set up their own environment.
# Tools are run as `python -m`, and paths are relative: the folder may have any name, spaces and accents included.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OLDEST := .venv-oldest
PEERS := $(VENV)/.peers
DOCS := .venv-docs
WORKERS ?= 2
FUZZ_CASES ?= 25000
FUZZ_SEED ?= 0
FUZZ_MINUTES ?=
FUZZ_RESUME ?=

# Every process of the tests and every child would compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all test-kernels test-arrays test-oldest test-runtime test-faults test-sklearn test-browser test-routes lint format types doctest unit gallery bench bench-full docs clean

help: ## this list
	@echo "make <target>, with PYTHON=python3.12 to choose the interpreter"
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## ?(.*)/  \1	\2/' | expand -t 16

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "eigenspan needs Python 3.11 or newer; choose one with make PYTHON=..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing eigenspan and its requirements into $(VENV) (once; about a minute)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[test]"
	@touch $@

setup: $(READY) ## create the virtual environment

demo: $(READY) ## embed the digits with six methods: a table, a picture and a page
	@$(BIN)/python -m eigenspan demo

test: lint types unit doctest ## format, lint, types, doctests, and the tests without those marked long

test-all: MARKED := -m ""
test-all: lint types unit doctest ## the same with all tests, before a release

lint: $(READY) ## formatting and lint
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .

format: $(READY) ## rewrite the sources in the house format
	$(BIN)/python -m ruff format .
	$(BIN)/python -m ruff check --fix .

types: $(READY)
	$(BIN)/python -m mypy

doctest: $(READY)
	$(BIN)/python -m pytest --doctest-modules src

unit: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(MARKED) tests

test-kernels: $(READY) ## the tests with the BLAS kernels of other processors, one after the other
	$(BIN)/python tests/kernels.py --workers $(WORKERS)

test-arrays: $(READY) ## 689 embeddings with the BLAS kernels of other processors, compared (two minutes)
	$(BIN)/python tests/kernels.py --arrays

test-routes: $(READY) ## every linear method by array, sparse rows, file, Dask and parts, over all conditions and offsets
	EIGENSPAN_ROUTES=all $(BIN)/python -m pytest -q -s tests/whole/test_routes.py

$(OLDEST)/.ready: pyproject.toml constraints-oldest.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' || { echo "The oldest versions have no wheels for this Python: choose 3.11 or 3.12 with make test-oldest PYTHON=..."; exit 1; }
	@test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	@echo "Installing eigenspan and the oldest versions of its requirements into $(OLDEST) (once; about a minute)"
	@$(OLDEST)/bin/python -m pip install -qq --disable-pip-version-check -c constraints-oldest.txt -e ".[test]"
	@touch $@

test-oldest: $(OLDEST)/.ready ## the tests with the oldest versions of what eigenspan needs
	$(OLDEST)/bin/python -m pytest -n $(WORKERS) --dist worksteal tests

test-runtime: $(READY) ## Ctrl-C at 40 moments of twelve methods, forks, limits, broken caches (half an hour)
	EIGENSPAN_INTERRUPTS=40 $(BIN)/python -m pytest -s tests/runtime

test-faults: $(READY) ## full disks, Ctrl-C and kills at every call that changes the disk, of every command (ten minutes)
	$(BIN)/python tests/faults.py

test-sklearn: $(READY) ## scikit-learn's own tests of the classes that both libraries have
	$(BIN)/python tests/sklearn_suites

test-browser: $(READY) ## the report in a real browser (Debian: apt install chromium)
	$(BIN)/python -m pytest tests/browser

.PHONY: fuzz
fuzz: $(READY) ## random cases judged by what must hold between two calls (an hour); FUZZ_CASES=, FUZZ_SEED=, FUZZ_MINUTES=, FUZZ_RESUME=1
	$(BIN)/python tests/fuzz.py --workers $(WORKERS) --cases $(FUZZ_CASES) --seed $(FUZZ_SEED) $(if $(FUZZ_MINUTES),--minutes $(FUZZ_MINUTES)) $(if $(FUZZ_RESUME),--resume)

gallery: $(READY) ## remake the figures and tables of the papers: docs/reproductions/figures.md (EIGENSPAN_DATA names the data's folder)
	$(BIN)/python examples/gallery $(if $(EIGENSPAN_DATA),--write docs)

$(PEERS): $(READY) benchmarks/requirements.txt
	@echo "Installing the libraries to compare with into $(VENV) (once)"
	@grep -v '^#' benchmarks/requirements.txt | while read -r peer; do \
	  $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt "$$peer" \
	    || echo "$$peer cannot be installed here and will be reported as not installed"; \
	done
	@touch $@

bench: $(PEERS) ## time, memory and quality beside other libraries: docs/benchmarks.md
	$(BIN)/python -m benchmarks bench

bench-full: $(PEERS) ## the same at all sizes (an hour and a half)
	$(BIN)/python -m benchmarks full

$(DOCS)/.ready: pyproject.toml constraints.txt
	@test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	@echo "Installing eigenspan and what builds its documentation into $(DOCS) (once; about a minute)"
	@$(DOCS)/bin/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[docs]"
	@touch $@

docs: $(DOCS)/.ready ## the documentation as a site: docs/_build/html/index.html
	$(DOCS)/bin/python -m sphinx -q -n -W --keep-going docs docs/_build/html
	@echo "Open docs/_build/html/index.html in a browser; it needs no network."

clean: ## remove the environment, caches and pictures of the demo
	rm -rf $(VENV) $(OLDEST) $(DOCS) docs/_build docs/site docs/sg_execution_times.rst build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis fuzz.jsonl eigenspan-demo*.png eigenspan-demo*.html
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
