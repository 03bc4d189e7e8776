# Every target sets up what it needs in .venv; `make PYTHON=python3.12 …` chooses the interpreter for that.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PYTEST := $(BIN)/python -m pytest --numprocesses=3 --dist=loadgroup
LOWEST := .venv-lowest
LINTERS := .venv-linters
WAREHOUSES := .warehouses
ADDRESS := .address
ORCHESTRATORS := .orchestrators
SITE := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
EXTRAS := [postgres,mysql,demo,docs,test]

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow check docs bench study clean
.PHONY: format lock picture test-lowest test-warehouses test-address audit torture fuzz release test-images test-orchestrators

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## Watch two models on a year of real flights, end to end, in ./demo
	$(BIN)/rocmonitor demo

test: $(READY) ## Run the tests but for the slow ones: five minutes on two cores
	$(PYTEST) -m 'not slow' --doctest-modules tests rocmonitor

test-slow: $(READY) ## Run slow tests, and those that ask for servers, Spark or a browser
	$(PYTEST) -m 'slow or served' tests

check: $(READY) ## Check format, types, imports, migrations and the documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	folder=$$(mktemp -d) && trap 'rm -r "$$folder"' EXIT && \
	  export ROCMONITOR_STORE_URL="sqlite:///$$folder/rocmonitor.db" && \
	  $(BIN)/alembic -c pyproject.toml upgrade head && $(BIN)/alembic -c pyproject.toml check
	$(BIN)/python docs/generate.py --check
	folder=$$(mktemp -d) && trap 'rm -r "$$folder"' EXIT && $(SITE) --site-dir "$$folder/site"

docs: $(READY) ## Write what the documentation takes from the code, and build the site in ./site
	$(BIN)/python docs/generate.py
	$(SITE)

picture: $(READY) ## Draw the picture of the README from the results of `make demo`
	cd demo && ../$(BIN)/rocmonitor history late-arrivals --json | ../$(BIN)/python ../docs/picture.py

format: $(READY) ## Format the code and mend what ruff can mend by itself
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## Measure time and memory against peers; NAME=… for one of tests/benchmarks
	$(BIN)/python tests/benchmarks $(NAME)

fuzz: $(READY) ## Try 10,000 configurations, files and HTTP requests that nobody meant; no traceback (an hour)
	$(BIN)/python tests/fuzz $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

torture: $(READY) ## Kill the service 500 times at random points; see that nothing is lost or doubled (half an hour)
	$(BIN)/python tests/torture $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED))

study: $(READY) ## Redo a table or figure of a paper; NAME=… for which, REPLICATIONS=…, SEED=…, OUTPUT=…
	@$(BIN)/python tests/studies $(NAME) $(if $(REPLICATIONS),--replications $(REPLICATIONS)) \
	  $(if $(SEED),--seed $(SEED)) $(if $(OUTPUT),--output $(OUTPUT))

audit: $(LINTERS)/.ready ## Ask for known holes in the tested versions; lint the files of deploy/
	$(LINTERS)/bin/pip-audit --requirement requirements/tested.txt --no-deps --disable-pip --progress-spinner off
	$(LINTERS)/bin/hadolint deploy/Dockerfile
	$(LINTERS)/bin/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	$(LINTERS)/bin/kubernetes-validate --strict --quiet \
	  $(filter-out %/kustomization.yaml %/rocmonitor.yaml,$(wildcard deploy/kubernetes/*.yaml))

release: $(READY) $(LINTERS)/.ready ## Build wheel and sdist into dist, and try each on each Python as its users get it; SBOM, image (half an hour)
	.ci/release $(BIN) $(LINTERS)/bin $(TESTS)

test-orchestrators: $(READY) ## See Airflow and Dagster run the recipes of the documentation (two minutes)
	for each in apache-airflow dagster; do \
	  $(PYTHON) -m venv "$(ORCHESTRATORS)/$${each#apache-}" && \
	  "$(ORCHESTRATORS)/$${each#apache-}/bin/python" -m pip install --quiet \
	    --requirement "requirements/$${each#apache-}.txt" || exit 1; done
	ROCMONITOR_TEST_ORCHESTRATORS=$(abspath $(ORCHESTRATORS)) $(PYTEST) tests/test_orchestrators.py

test-images: $(READY) ## Build the image over Debian with buildah, as root, and run compose's services in it (two minutes)
	.ci/images $(BIN)

test-lowest: $(LOWEST)/.ready ## Run what rests on other packages with the lowest versions that pyproject.toml allows
	$(LOWEST)/bin/python -m pytest --numprocesses=2 --dist=loadgroup -m "not slow" -k "not spark" --doctest-modules \
	  --ignore tests/sources/test_cluster.py --ignore tests/config/test_schema.py \
	  rocmonitor/stats tests/stats/test_pictures.py tests/stats/test_result.py tests/config tests/sources tests/store

test-warehouses: $(WAREHOUSES)/.ready ## See the SQL of warehouses compile: BigQuery, Snowflake, Databricks, Trino, …
	PYTHONPATH=$(WAREHOUSES) $(BIN)/python -m pytest -rs tests/sources/test_warehouses.py

test-address: $(ADDRESS)/.ready ## See DuckDB read files of an HTTP server, by a version whose extension is on PyPI
	PYTHONPATH=$(ADDRESS) $(BIN)/python -m pytest -rs tests/sources/test_address.py

lock: ## Write the newest versions of all packages to requirements/tested.txt; then run the tests
	folder=$$(mktemp -d) && trap 'rm -r "$$folder"' EXIT && \
	  $(PYTHON) -m venv "$$folder" && "$$folder/bin/python" -m pip install '.$(EXTRAS)' && \
	  { sed '/^#/!d' requirements/tested.txt && \
	    "$$folder/bin/python" -m pip freeze --exclude rocmonitor; } >"$$folder/tested.txt" && \
	  cp "$$folder/tested.txt" requirements/tested.txt
	$(MAKE) requirements/image.txt

requirements/image.txt: pyproject.toml requirements/tested.txt $(LINTERS)/.ready
	$(LINTERS)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --custom-compile-command "make lock" --default-index https://pypi.org/simple \
	  --extra postgres --extra auth --constraint requirements/tested.txt --output-file $@ pyproject.toml

clean: ## Remove the environments, the demo and everything else that was made
	rm -rf .venv $(LOWEST) $(LINTERS) $(WAREHOUSES) $(ADDRESS) $(ORCHESTRATORS) demo site build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml requirements/tested.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --editable '.$(EXTRAS)' --constraint requirements/tested.txt
	touch $@

$(LOWEST)/.ready: pyproject.toml requirements/lowest.txt
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --editable '.[postgres,mysql,delta]' --requirement requirements/lowest.txt
	touch $@

$(ADDRESS)/.ready: $(READY)
	$(BIN)/python -m pip install --quiet --no-deps --target $(ADDRESS) duckdb==1.5.5 duckdb-extension-httpfs==1.5.5
	touch $@

$(WAREHOUSES)/.ready: $(READY) requirements/warehouses.txt
	rm -rf $(WAREHOUSES)
	$(BIN)/python -m pip install --no-deps --target $(WAREHOUSES) --requirement requirements/warehouses.txt
	touch $@

$(LINTERS)/.ready: requirements/linters.txt
	$(PYTHON) -m venv --clear $(LINTERS)
	$(LINTERS)/bin/python -m pip install --requirement requirements/linters.txt
	touch $@
