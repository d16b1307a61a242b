# Everything a newcomer needs: `make demo` and `make test` do all the set-up they need by themselves.
PYTHON ?= python3
BIN := .venv/bin
# Without build isolation, so that what builds a package is locked as well.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --use-pep517

LOCK := uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate

FAULTS := history kills pending_batch processes_killed state_lost poison two_instances spark_errors cluster demo broker

.DEFAULT_GOAL := help
.PHONY: help setup demo test faults docs lint lock clean

help: ## Say what each target does
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

setup: .venv/.complete ## Install Penstock for developing into .venv

.venv/.complete: requirements/dev.txt requirements/build.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 10) <= sys.version_info < (3, 14) else f"Penstock needs Python 3.10 to 3.13, this is {sys.version.split()[0]}: make PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Python packages: about 700 MB to fetch once, a minute or two"
	@$(PIP) --require-hashes -r requirements/build.txt
	@$(PIP) --require-hashes -r requirements/dev.txt
	@$(PIP) --no-deps --editable .
	@touch $@

demo: setup ## See it: a million payments, two kills -9, every offset counted (90 seconds)
	@$(BIN)/penstock demo

test: setup ## Unit tests first, then Spark and a real broker (thirteen minutes on two cores)
	@$(BIN)/python -m pytest tests/unit tests/property tests/docs -q
	@$(BIN)/python -m pytest tests/spark tests/system -q -m "not faults"

faults: setup ## Kill, stop, damage and poison pipelines, three seeds each; docs/faults.md says what is shown
	@PENSTOCK_SEEDS=1,2,3 $(BIN)/python -m pytest $(addprefix tests/system/test_,$(FAULTS:=.py)) -q

docs: setup ## Make docs/reference anew from the code
	@$(BIN)/python tools/make_reference.py

lint: setup ## ruff, mypy strict, the import layers, the size of files and functions
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m pytest tests/house -q

lock: ## Resolve requirements/ anew from pyproject.toml (needs uv)
	@$(LOCK) --group dev pyproject.toml --output-file requirements/dev.txt
	@printf 'setuptools\nwheel\n' | $(LOCK) - --output-file requirements/build.txt

clean: ## Remove what the targets above made
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
