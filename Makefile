PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP = $(BIN)/python -m pip --quiet --disable-pip-version-check
# the tests work on small matrices, where OpenMP threads cost more than they bring
PYTEST = OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(BIN)/python -m pytest

.PHONY: setup setup-docs demo test test-fast test-slow campaign campaign-short lint bench docs package lowest check-all clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (the first time takes a few minutes) ..."
	@$(PIP) install -c constraints.txt torch
	@$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@

setup-docs: $(VENV)/.installed-docs

$(VENV)/.installed-docs: $(STAMP)
	@$(PIP) install -c constraints.txt -e '.[docs]'
	@touch $@

demo: $(STAMP)
	@$(BIN)/magnet demo

# every test but those marked slow
test: $(STAMP)
	@$(PYTEST)

# under 90 seconds: the mathematics, files and tables on tiny data, without kernels and whole tables with links
test-fast: $(STAMP)
	@$(PYTEST) -m 'not slow and not data' --ignore tests/recovery/kernels --ignore tests/recovery/io \
		--ignore tests/tables/numbers/test_small_tables.py --ignore tests/tables/test_graph_findings.py \
		tests/test_prox.py tests/test_framelets.py tests/test_graph.py tests/test_arrays.py tests/test_files.py \
		tests/recovery tests/datasets tests/tables tests/docs/test_packaging.py

test-slow: $(STAMP)
	@$(PYTEST) -m slow

# 10 000 hostile inputs, 50 kills, full disks; counts go to results/faults.md (JOBS=2: about twenty minutes)
campaign: $(STAMP)
	@OMP_NUM_THREADS=1 $(BIN)/python tests/faults/campaign.py --jobs $${JOBS:-1}

# the same on a small scale, without a page
campaign-short: $(STAMP)
	@OMP_NUM_THREADS=1 $(BIN)/python tests/faults/campaign.py --cases 1000 --kills 10 --output $$(mktemp -d)/faults.md

lint: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(STAMP)
	@$(BIN)/magnet bench recovery

# the documentation, in docs/_build/html
docs: setup-docs
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# wheel and sdist, checked and installed with the core dependencies only
package: $(STAMP)
	@.ci/check-package $(BIN)/python

# the lower bounds of pyproject.toml, on a quick subset
lowest:
	@.ci/check-lowest $(PYTHON)

# before a release: all of the above, two steps at a time; a step that fails does not stop the others
check-all: setup-docs
	@.ci/check-all

clean:
	rm -rf $(VENV) .venv-lowest demo dist docs/_build docs/auto_examples docs/api .mypy_cache .pytest_cache .ruff_cache
