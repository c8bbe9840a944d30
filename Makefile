# Two targets do everything on a fresh machine with Python 3.11 or newer, git and make:
#   make demo    installs whyclust (no torch) and explains the wine clusters: demo-result/report.html
#   make test    installs what the tests need, then runs lint, types, doctests and tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test format clean

help:
	@sed -n '1,3s/^# \{0,1\}//p' Makefile

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

test: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@# Tests share the cores, one thread each; plain pytest runs them one by one.
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) demo-result build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
