# Two commands are all one needs: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Where a CPU build of torch is looked for first; `make TORCH_INDEX=` takes the GPU build of PyPI instead.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
TORCH := $(shell sed -n 's/^torch==//p' constraints.txt)
# Threads of several test processes would fight over the cores.
TEST_ENV := OMP_NUM_THREADS=1

.PHONY: demo test check format test-slow test-paper docs package results bench fuzz crash faults clean

demo: $(VENV)/.ready
	$(BIN)/smoothcert demo

test: $(VENV)/.ready
	$(TEST_ENV) $(BIN)/pytest -n 2 -m "not slow and not paper"

check: $(VENV)/.ready
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(MAKE) test

format: $(VENV)/.ready
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

test-slow: $(VENV)/.ready
	$(TEST_ENV) $(BIN)/pytest -n 2 -m slow

# Rows of MNIST, trained and certified in full: hours. Needs the data (`smoothcert data fetch mnist`); without them it
# says so and skips. SMOOTHCERT_RUNS=folder keeps the runs, so that it can be resumed.
test-paper: $(VENV)/.ready
	$(BIN)/pytest -m paper

# The site, into site/: from docs/*.md, docstrings and --help, offline; any warning fails
# (not with -q: it would count none).
docs: $(VENV)/.ready
	$(BIN)/python -m mkdocs build --strict

# dist/: sdist and wheel; the wheel is tried in an environment of its own, with everything as constraints.txt pins it.
package: $(VENV)/.ready
	TORCH_INDEX=$(TORCH_INDEX) PYTHON=$(PYTHON) ./release/package.sh
	@# The stories of a student and an engineer, with the package of the wheel in place of the checkout's.
	rm -rf build/wheel && $(BIN)/pip install -q --no-deps --disable-pip-version-check --target build/wheel dist/*.whl
	PYTHONPATH=$(CURDIR)/build/wheel $(TEST_ENV) $(BIN)/pytest -q -n 2 tests/cli/test_own_images.py tests/cli/test_own_parts.py

# Tables and figures of results/ and of the README, from the logs in results/runs alone.
results: $(VENV)/.ready
	$(BIN)/python -m results.build

# Minutes each; bench/batch_preparation.py and bench/votes_needed.py need data of their own (see their --help).
bench: $(VENV)/.ready
	$(BIN)/python bench/votes.py --out bench-votes.json
	$(BIN)/python bench/train_step.py --out bench-train-step.json
	$(BIN)/python bench/train_precision.py --out bench-train-precision.json
	$(BIN)/python -m bench.processes --out bench-processes.json

# Five CPU minutes: hostile and broken files for every reader. Finds are kept in tests/fuzz_corpus and replayed by
# `make test`.
fuzz: $(VENV)/.ready
	$(TEST_ENV) $(BIN)/python -m fuzz --inputs 100000

# Half an hour: kill -9 at random instants.
crash: $(VENV)/.ready
	$(TEST_ENV) $(BIN)/python -m fuzz.kill --kills 200

# An hour: puts faults into a copy of the package, one at a time, and says who notices; writes fuzz/faults.md.
faults: $(VENV)/.ready
	$(TEST_ENV) $(BIN)/python -m fuzz.faults

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo dist build site

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "smoothcert needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	@# Failure is fine here: the next line then takes torch from wherever pip finds it.
	-test -z "$(TORCH_INDEX)" || $(BIN)/python -c 'import torch' 2>/dev/null || \
	  $(BIN)/pip install -q --no-compile --no-deps --retries 0 --timeout 10 --index-url $(TORCH_INDEX) torch==$(TORCH) 2>/dev/null
	$(BIN)/pip install -q --no-compile --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@
