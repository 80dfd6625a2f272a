# `make demo` and `make test` each do all they need on a machine with Python, make and pip.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
RESULTS := benchmarks/results

# The benchmark files, if they are beside the project; otherwise they are downloaded, or the tests are skipped.
ifndef CONFGCN_DATA
export CONFGCN_DATA := $(abspath $(wildcard ../shared/data))
endif

.PHONY: setup demo test test-all check docs browser coverage faults fuzz soak mutation audit bench clean

setup: $(INSTALLED)

$(INSTALLED): pyproject.toml setup.py $(wildcard confgcn/kernels/*.cpp confgcn/kernels/*.h)
	@echo "Installing into $(VENV); the first time this takes a few minutes."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --editable '.[dev,figures,partition,pyg,tune]'
	@$(BIN)/python -c "from confgcn import kernels; print('kernels:', kernels.describe())"
	touch $@

demo: setup
	$(BIN)/confgcn train demo

# Three at a time on two cores: many tests wait for processes that they have started.
test: check
	$(BIN)/python -m pytest --numprocesses 3 -m 'not slow'

# The slow suites that `make test` leaves out: kills and restarts, fuzzing, several workers, browsers.
test-all: setup
	$(BIN)/python -m pytest --numprocesses 3 -m slow

# The documentation site, in build/docs.
docs: setup
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --editable '.[docs]'
	CONFGCN_DOCS_NOTEBOOKS=1 $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/docs
	@echo 'build/docs/index.html'

# The report is tested in a real browser; without one these tests are skipped.
browser:
	@command -v chromium chromedriver > /dev/null || (apt-get -qq update && apt-get -qq install --yes chromium chromium-driver)

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Coverage of the tests, and behaviour with damaged files and failing machines (docs/reliability.md).

coverage: setup
	$(BIN)/python tools/line_coverage.py --out $(RESULTS)/coverage.json

faults: setup
	$(BIN)/python tools/fault_table.py

fuzz: setup
	$(BIN)/python tools/fuzz.py --out $(RESULTS)/fuzz.json

soak: setup
	$(BIN)/python tools/soak.py --out $(RESULTS)/soak.jsonl

mutation: setup
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --editable '.[mutation]'
	$(BIN)/python tools/mutation.py

audit: setup
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --editable '.[audit]'
	$(BIN)/pip-audit --strict --skip-editable  # strict: a package without an entry is an error

bench: setup
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/confgcn reproduce all overview confidence presets
	$(BIN)/python benchmarks/recorded_accuracies.py
	$(BIN)/python benchmarks/gat_selection.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/limits.py
	$(BIN)/python benchmarks/losses.py
	$(BIN)/python benchmarks/operators.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/mapped.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/new_nodes.py
	$(BIN)/python benchmarks/labels.py
	$(BIN)/python benchmarks/exactness.py
	$(BIN)/python benchmarks/worker_accuracy.py
	$(BIN)/python benchmarks/workers.py
	$(BIN)/python benchmarks/minibatch.py accuracy
	$(BIN)/python benchmarks/minibatch.py memory
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/report_picture.py

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
