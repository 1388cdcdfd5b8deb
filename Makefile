# Everything runs in a virtual environment of its own; nothing has to be installed by hand but python3 and make.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
EXTRAS ?= mpi,test,dev

.PHONY: demo test lint figures clean

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "sprintprof needs Python 3.11 or newer; set PYTHON=…"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	@touch $@

demo: $(VENV)/.installed  ## the main job: measure, fit, predict, compare
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m sprintprof.workflows.demo

test: $(VENV)/.installed  ## all tests that can run here
	$(BIN)/python -m pytest

lint: $(VENV)/.installed  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

figures: $(VENV)/.installed  ## every number the project claims, measured again
	$(BIN)/python -m tests.benchmarks

clean:  ## remove what make made
	rm -rf $(VENV) build dist demo *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
