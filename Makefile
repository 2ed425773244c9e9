# `make demo` and `make test` set up what they need: a virtual environment beside this file.
# `make test PYTHON=python3.13` uses another interpreter and an environment of its own.

PYTHON ?= python3

ifeq ($(origin PYTHON),file)
VENV := .venv
else
VENV := .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
endif

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
FEW := $(VENV)/.few# the library and what it needs, which is enough for a first look
SITE = $(VENV)-docs/bin/sphinx-build -b html -j auto -W --keep-going -q

# Peers: JAX, NumPyro and PyTorch stand beside this interpreter, PyMC beside one of Python 3.12 or later, which it needs.
TORCH ?= torch==2.13.0+cpu
PYTHON_OF_PYMC ?= $(firstword $(shell for python in '$(PYTHON)' python3.12 python3.13 python3.14 \
    "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python; do \
    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && echo "$$python"; done))

.PHONY: help setup demo test test-peers test-engines test-pymc coverage test-slow lint format types ladder check bench release-check docs docs-check docs-links clean

help: ## list what can be asked for
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## create the virtual environment and install everything into it

$(STAMP): pyproject.toml
	@$(call into_venv,'.[dev]')
	@touch $@

$(FEW): pyproject.toml
	@$(call into_venv,.)
	@touch $@

define into_venv
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
    echo "Consilience needs Python 3.11 or later; '$(PYTHON)' is not. Name another: make $(MAKECMDGOALS) PYTHON=python3.13" >&2; exit 1; }; \
test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
    echo "'$(PYTHON) -m venv' failed; Debian and Ubuntu keep it in the package python3-venv." >&2; rm -rf $(VENV); exit 1; }; \
echo "Installing into $(VENV) (once; a minute or two) ..."; \
$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable $(1)
endef

demo: $(if $(wildcard $(STAMP)),$(STAMP),$(FEW)) ## two posteriors: eight schools and radon
	@$(BIN)/python examples/eight_schools.py --no-plots
	@echo
	@$(BIN)/python examples/radon.py --no-plots

test: $(STAMP) ## all tests but the slow ones
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

test-peers: ## what the tests leave out where JAX, NumPyro, PyTorch and PyMC are missing
	@$(MAKE) --no-print-directory -j2 $(VENV)-engines/.installed $(VENV)-pymc/.installed
	@$(MAKE) --no-print-directory --keep-going test-engines test-pymc

test-engines: $(VENV)-engines/.installed
	$(VENV)-engines/bin/python -m pytest -n auto --dist worksteal -m "not slow" --peers jax,numpyro,torch

test-pymc: $(VENV)-pymc/.installed
	@test -n '$(PYTHON_OF_PYMC)' || echo "NOT TESTED: PyMC 6, which needs Python 3.12; none is found" \
	    "('make test-peers PYTHON_OF_PYMC=...' names one). Tested is PyMC 5" >&2
	$(VENV)-pymc/bin/python -m pytest -n auto --dist worksteal -m "not slow" --peers pymc,pytensor,bambi

$(VENV)-engines/.installed: pyproject.toml
	$(call environment,$(PYTHON),$(@D),'.[test]' 'jax>=0.8' numpyro)
	@$(@D)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check '$(TORCH)' || \
	    echo "NOT TESTED: PyTorch. pip finds no $(TORCH); PyTorch's own index has builds for processors alone" \
	    "(PIP_EXTRA_INDEX_URL), 'make test-peers TORCH=torch' takes one of several GB for graphics cards" >&2
	@touch $@

$(VENV)-pymc/.installed: pyproject.toml
	$(call environment,$(or $(PYTHON_OF_PYMC),$(PYTHON)),$(@D),'.[test]' pymc bambi)
	@touch $@

define environment
	@echo "Installing into $(2) (once; a minute or two) ..."
	@test -x $(2)/bin/python || $(1) -m venv $(2)
	@$(2)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --editable $(3)
endef

release-check: $(VENV)-release/.installed ## archives for a release: built, looked through, tried in clean environments
	$(VENV)-release/bin/python tools/release_check.py

$(VENV)-release/.installed: pyproject.toml
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	@touch $@

coverage: $(STAMP) ## the same with the lines that no test runs; takes three to four times as long
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow" --cov --cov-report=term:skip-covered

test-slow: $(STAMP) ## the slow tests: posteriors with published reference draws, 20,000 random models
	$(BIN)/python -m pytest -m slow --timeout=3600 -rA

lint: $(STAMP) ## ruff: rules and layout
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check

format: $(STAMP) ## let ruff mend what it can
	$(BIN)/python -m ruff check --fix
	$(BIN)/python -m ruff format

types: $(STAMP) ## mypy, strict
	$(BIN)/python -m mypy

ladder: $(STAMP) ## imports go down the ladder only
	$(BIN)/lint-imports

check: lint types ladder test ## everything that a change must pass

bench: $(STAMP) ## all benchmarks, one report
	$(BIN)/python -m benchmarks

# Sphinx remembers pages that it has read, and not what it said of them: after a failure all are read again.
anew = { rm -rf docs/_build/$(1)/.doctrees; exit 1; }

docs: $(VENV)-docs/.installed ## the site, every cell of its pages run: docs/_build/html/index.html
	@$(SITE) docs docs/_build/html || $(call anew,html)
	@echo "docs/_build/html/index.html"

docs-check: $(VENV)-docs/.installed ## pages, reference and inside links, without running cells; tests of what a build refuses
	@$(SITE) -D run_cells=0 docs docs/_build/check || $(call anew,check)
	@$(VENV)-docs/bin/python -m pytest -q -m "not slow" tests/site

docs-links: $(VENV)-docs/.installed ## links that leave the site
	@$(VENV)-docs/bin/sphinx-build -b linkcheck -D run_cells=0 docs docs/_build/links

$(VENV)-docs/.installed: pyproject.toml
	$(call environment,$(PYTHON),$(@D),'.[docs]')
	@touch $@

clean: ## remove what was built, the environments included
	rm -rf .venv .venv-* build dist src/*.egg-info .coverage .hypothesis .import_linter_cache .mypy_cache \
	    .pytest_cache .ruff_cache benchmarks/c/build docs/_build docs/reference/api docs/reference/*.rst
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
