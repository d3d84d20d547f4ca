# Each target makes its own virtual environment; a second run installs nothing.
PYTHON ?= python3
# Each Python that is asked for has an environment of its own.
VENV   := .venv$(patsubst python%,-%,$(filter-out python3,$(notdir $(PYTHON))))
BIN    := $(VENV)/bin
READY  := $(VENV)/.installed
PEERS  := .venv-peers

.PHONY: help demo servers servers-stop test test-full check bench bench-peers bench-servers soak mutate house fix clean

help:  ## List the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | awk -F'|' '{printf "make %-12s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	@echo "Setting up $(VENV) (once) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sapwood needs Python 3.11 or later")'
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(PEERS)/.installed: pyproject.toml bench/peers/requirements.txt
	@echo "Setting up $(PEERS) (once) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sapwood needs Python 3.11 or later")'
	@$(PYTHON) -m venv --clear $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r bench/peers/requirements.txt --editable '.[postgres,redis,mongodb,opensearch,mariadb]'
	@touch $@

demo: $(READY)  ## From an append to a model's input and a compaction, in demo.db
	@$(BIN)/python examples/demo.py

servers: $(READY)  ## Install the servers that tests run against, and start one of each
	@PYTHONPATH=tests $(BIN)/python tools/servers/run.py $(ARGS)

servers-stop: $(READY)  ## Stop the servers that were started, and remove their data
	@PYTHONPATH=tests $(BIN)/python tools/servers/run.py --stop

test: $(READY)  ## Run the tests, with the servers that are there; says what was skipped and why
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

test-full: $(READY)  ## Run all that there is, with every server, in parts: ARGS='--part redis', --list
	$(BIN)/python tools/full/run.py $(ARGS)

check: $(READY)  ## Format, lint, types, generated twins, import direction, names and lengths
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini
	$(BIN)/python tools/unasync.py --check
	$(BIN)/lint-imports
	$(BIN)/python tools/house/check.py

bench: $(READY)  ## Measure against the raw driver; writes bench/latest.json
	$(BIN)/python bench/run.py $(ARGS)

bench-peers: $(PEERS)/.installed  ## Measure against other packages; writes docs/peers.md and a table in README.md
	$(PEERS)/bin/python bench/peers/run.py $(ARGS)

bench-servers: $(PEERS)/.installed  ## Measure the servers' stores against their drivers; writes docs/server-speed.md
	$(PEERS)/bin/python bench/servers/run.py $(ARGS)

soak: $(READY)  ## Let clients write for ten minutes while a server fails: ARGS=postgres, redis ...
	PYTHONPATH=tests $(BIN)/python tools/soak/run.py $(ARGS)

mutate: $(READY)  ## Change the package in small ways, and see which tests notice
	$(BIN)/python tools/mutate/run.py $(ARGS)

house: $(READY)  ## Count statements, walks through the package, and what is read of a store
	@$(BIN)/python tools/house/statements.py $(ARGS)
	@$(BIN)/python tools/house/walks.py $(ARGS)
	@$(BIN)/python tools/house/reading.py $(ARGS)

fix: $(READY)  ## Format, mend what the linter can, write the generated twins
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format --quiet .
	$(BIN)/python tools/unasync.py

clean:  ## Remove the virtual environment and what the commands left behind
	rm -rf .venv .venv-* .test-full.json .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .mutate bench/work-* bench/peers/work demo.db demo.db-*
