# Two targets do everything on a fresh machine with Python 3.11 or newer, git and make:
#   make demo    installs whyclust (no torch) and explains the wine clusters: demo-result/report.html
#   make test    installs what the tests need, then runs lint, types, doctests and tests
# A third puts mistakes into copies of the library, and sees whether the tests notice (hours; it goes on where it stopped):
#   make mutants
# A fourth checks the lowest versions in pyproject.toml, with Python 3.11, for which all of them have wheels:
#   make test-floors    installs them into .venv-floors, then runs the quick tests that need no PyTorch
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test browser mutants test-floors format clean

help:
	@sed -n '1,7s/^# \{0,1\}//p' Makefile

# The stamps make a second call quick: pip runs again only when a requirement has changed.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "whyclust needs Python 3.11 or newer, but '$(PYTHON)' is older: run make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP_INSTALL) --editable '.[test]'
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/whyclust demo --out demo-result

# The tests of the report's page need a browser; where none can be had they are skipped, and say so.
browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		{ apt-get update -qq && apt-get install -y -qq chromium chromium-driver >/dev/null 2>&1; }; } || \
		echo "no browser could be installed: tests of the report in a browser will be skipped"

test: $(VENV)/.installed-test browser
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@# Tests share the cores, one thread each; plain pytest runs them one by one.
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal

# MUTANTS="--only 'part of a name'" tries single ones; the list of all is benchmarks/results/mutations.md.
mutants: $(VENV)/.installed-test
	$(BIN)/python benchmarks/mutations.py --jobs 2 $(MUTANTS)

# Warnings are no errors here: old packages are warned of by newer ones that they stand on.
FLOORS := .venv-floors
FLOOR_TESTS := $(addprefix tests/test_,$(addsuffix .py,annotated atomic bad_input center_models cli closed_forms \
	explanation files gradient heads images linear_features mixtures old_files pipelines plots_generated \
	registration report requirements saving soft_k_means sparse sub_k_means tables texts))

$(FLOORS)/.installed: pyproject.toml tests/floors.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
	{ echo "the lowest versions need Python 3.11, but '$(PYTHON)' is another: run make test-floors PYTHON=/path/to/python3.11" >&2; exit 1; }
	rm -rf $(FLOORS)
	$(PYTHON) -m venv $(FLOORS)
	$(PYTHON) tests/floors.py > $(FLOORS)/requirements.txt
	$(FLOORS)/bin/python -m pip install --quiet --requirement $(FLOORS)/requirements.txt
	$(FLOORS)/bin/python -m pip install --quiet --no-deps --editable .
	@touch $@

test-floors: $(FLOORS)/.installed
	OMP_NUM_THREADS=1 $(FLOORS)/bin/python -m pytest --override-ini filterwarnings=default --numprocesses auto \
		$(FLOOR_TESTS)

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(FLOORS) demo-result build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
