# Everything below needs only Python >= 3.11 (with venv), git and make.
.DEFAULT_GOAL := help
.PHONY: help install demo test test-fast test-all check bench docs torture agents projects

VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
# One more than there are cores: much of a test is waiting for processes. Two at least, the suite must stand being run side by side.
JOBS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1); echo $$((n + 1)))
ARGS ?=
# Where it is set, each process compiles each module again: half of the time that pytest needs to collect the tests.
unexport PYTHONDONTWRITEBYTECODE
# Unit tests: rules, readers of text, settings, the database, the pages' data. Almost none starts a process.
FAST := $(addprefix tests/,config core review store views)

help: ## show this
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 18

install: $(READY) ## make .venv and install burnish with what its tests need

# The dev group is read from pyproject.toml here, because an old pip knows no --group.
$(READY): pyproject.toml
	@for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	  command -v $$p >/dev/null 2>&1 || continue; \
	  $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  found=$$p; break; done; \
	[ -x $(PY) ] || [ -n "$$found" ] || { echo "No Python >= 3.11 with venv was found."; \
	  echo "Install one (on Debian: python3 and python3-venv) and run make again."; exit 2; }; \
	[ -x $(PY) ] || $$found -m venv $(VENV)
	@$(PY) -c 'import tomllib; print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"]))' \
	  > $(VENV)/dev.txt
	$(PY) -m pip install --quiet --disable-pip-version-check --editable ".[acp,cluster,llm,otel,serve]" --requirement $(VENV)/dev.txt
	@touch $(READY)

demo: $(READY) ## the main job on a sample repository, without any AI (ARGS=--keep keeps it)
	@$(VENV)/bin/burnish demo $(ARGS)

# A file stays in one worker, so that servers and browsers of a module start once.
test: $(READY) ## all tests that are not slow: what to run before a commit (CI=true: the slow ones, too)
	$(PY) -m pytest -n $(JOBS) --dist loadfile $(ARGS)

test-fast: $(READY) ## unit tests, under 40 seconds: what to run after each change
	$(PY) -m pytest -n $(JOBS) -m "not slow" $(ARGS) $(FAST)

test-all: $(READY) ## all tests, with the whole of each table: before a release
	BURNISH_LONG=1 $(PY) -m pytest -n $(JOBS) --dist loadfile $(ARGS)

check: $(READY) ## lint, format, types, layers, figures of the code base, front end, links and words of the docs
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy --strict
	$(VENV)/bin/lint-imports
	$(PY) -m tools.shape --check
	$(PY) -m tools.front_end
	$(PY) -m pytest tests/test_words.py tests/test_generated_pages.py tests/config/test_reference.py tests/store/test_docs.py

bench: $(READY) ## how fast it is, with figures
	@[ -e bench/__main__.py ] || { echo "make bench is not built yet."; echo "See docs/architecture.md."; exit 2; }
	$(PY) -m bench $(ARGS)

docs: $(READY) ## the documentation as a site with search, in build/site
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet
	@echo "The site is in build/site: open build/site/index.html."

# Only tests that count are run. TESTS=tests/e2e/test_kill.py: of these files; ARGS="--part 1/4", ARGS=--go-on: in parts.
TESTS = $$(grep -rlE --include='test_*.py' 'mark\.attacks|count_attacks' tests)
torture: $(READY) ## the promises, counted: kills, races, forgeries; ends with a table of attacks
	BURNISH_TORTURE=1 PYTEST_TIMEOUT=1800 $(PY) -m pytest -o faulthandler_timeout=3600 --dist worksteal -n $(JOBS) $(ARGS) $(TESTS)

agents: $(READY) ## real agent programs against a model server on loopback
	$(PY) -m tools.agents $(ARGS)

projects: $(READY) ## init, add and run on clones of real projects: make projects ARGS="FOLDER [NAME…]"
	$(PY) -m tools.projects $(ARGS)
