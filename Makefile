# make run    serve the product with demo data           make test   everything the project checks
# make lint   the quick checks alone                      make bench  the benchmarks
# make audit  known flaws of the packages (asks PyPI)
# make pictures  the pictures in docs/        make clean  remove what was made, but not var/ (the data)

PYTHON ?= python3
PORT ?= 8000
HOST ?= 127.0.0.1
WORKERS ?= 2
THREADS ?= 4
PYTEST_ARGS ?=

BIN := .venv/bin
MANAGE := $(BIN)/python manage.py
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install

# Where no compiled files were kept, each worker would compile all tests, and each server that a test starts the product.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test lint audit suite bench pictures clean
.DELETE_ON_ERROR:

# Asked before anything is printed: the log-ins of a server that cannot start lead nowhere.
FREE := import socket, sys; s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET); \
	s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind((sys.argv[1], int(sys.argv[2])))

run: .venv/.product
	@$(BIN)/python -c '$(FREE)' '$(HOST)' '$(PORT)' 2>/dev/null || { \
		echo "Port $(PORT) of $(HOST) cannot be used: something else answers there already, or it may not be opened." >&2; \
		echo "Stop that, or choose another one: make run PORT=8001" >&2; exit 1; }
	@$(MANAGE) migrate --verbosity 0
	@$(MANAGE) collectstatic --no-input --verbosity 0
	@$(MANAGE) demo
	@SITE_URL="$${SITE_URL:-http://$(HOST):$(PORT)}" LOG_LEVEL=WARNING $(MANAGE) nightly_audit >/dev/null || true # what fails is said, and the server starts all the same
	@echo "Open $${SITE_URL:-http://$(HOST):$(PORT)}/ (stop with Ctrl-C)"
ifneq ($(REDIS_URL),)
	@echo "With REDIS_URL webhooks, mails and nights wait for a worker. Start it beside this, with the same settings:"
	@echo "    $(BIN)/celery -A baccarat_audit worker --beat --concurrency 1"
endif
	@exec env SITE_URL="$${SITE_URL:-http://$(HOST):$(PORT)}" ACCESS_LOG="$${ACCESS_LOG:-0}" $(BIN)/gunicorn baccarat_audit.wsgi --bind $(HOST):$(PORT) --workers $(WORKERS) --threads $(THREADS) \
		--log-level warning

test: lint suite

BANDIT := $(BIN)/bandit --quiet --configfile pyproject.toml --recursive baccarat_audit dealing incidents manage.py gunicorn.conf.py

lint: .venv/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BANDIT)
	env -u DATABASE_URL -u REDIS_URL $(MANAGE) makemigrations --check --dry-run

# Not part of `make test`: what it answers changes by the day, and it needs PyPI's vulnerability service.
AUDIT_ARGS ?=

audit: .venv/.dev
	$(BANDIT)
	@$(BIN)/pip-audit --strict --no-deps --disable-pip --progress-spinner off --requirement requirements-dev.txt $(AUDIT_ARGS) || { \
		echo "Some package has a known flaw, or could not be asked about: see above. Packages are looked up one by one at" >&2; \
		echo "https://pypi.org/pypi/PACKAGE/VERSION/json; another service: make audit AUDIT_ARGS='--vulnerability-service osv'" >&2; \
		exit 1; }

# The whole suite on the embedded default; then, where services are named, what touches them once more on those.
# The tests in a browser stand one after the other and take most of the time: a worker that has nothing left takes some
# of another's, else all of them would fall to one.
PYTEST := $(BIN)/pytest -n auto --dist worksteal

suite: .venv/.dev
ifeq ($(DATABASE_URL)$(REDIS_URL),)
	$(PYTEST) $(PYTEST_ARGS)
else
	env -u DATABASE_URL -u REDIS_URL $(PYTEST) --services=embedded $(PYTEST_ARGS)
	$(PYTEST) --services=configured $(PYTEST_ARGS)
endif

bench: .venv/.dev
	$(BIN)/python -m benchmarks

pictures: .venv/.dev
	$(BIN)/python -m tests.pictures

clean:
	rm -rf .venv staticfiles var/tests var/test-results .benchmarks .hypothesis .import_linter_cache .mypy_cache \
		.pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)'
	@$(PYTHON) -c 'import ensurepip, venv' || { \
		echo "$(PYTHON) cannot make virtual environments: on Debian or Ubuntu, apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/.product: requirements.txt .venv/.made
	$(PIP) -r requirements.txt
	@touch $@

.venv/.dev: requirements-dev.txt .venv/.product
	$(PIP) -r requirements-dev.txt
	@touch $@
