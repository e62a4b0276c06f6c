# make test: all that a .venv can check, in minutes. The rest is for whoever works on rigright.
PYTHON = .venv/bin/python

# what is compiled once is compiled for every worker, and for every program that tests start
unexport PYTHONDONTWRITEBYTECODE

.PHONY: test test-live test-engines fuzz lint check bench docs site ready clean

test: ready
	$(PYTHON) -m pytest -n auto --dist worksteal

# what needs Debian's packages (installed as root only), Slurm, ssh, Ray, Prometheus or time; and all laws, tried harder
test-live: ready
	RIGRIGHT_LIVE=1 RIGRIGHT_HYPOTHESIS=thorough $(PYTHON) -m pytest -n auto --dist worksteal -m "live or hypothesis"

# every exported file through the real parsers of the engines, each in a venv of its own; minutes, gigabytes the first time
test-engines: ready
	nice $(PYTHON) scripts/engines
	RIGRIGHT_ENGINES=1 $(PYTHON) -m pytest -p no:randomly -s tests/engines

# every night: a million mutated inputs over all readers; the faults with their numbers
fuzz: ready
	nice $(PYTHON) tests/fuzz/mutants.py --inputs 1000000

lint: ready
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy

check: lint test

bench: ready
	$(PYTHON) benchmarks/run.py

docs: ready
	$(PYTHON) scripts/docs

# docs/ as a site in English and Chinese, in build/site
site: ready
	rm -rf build/site
	$(PYTHON) scripts/site build/site

ready:
	scripts/ready

clean:
	rm -rf .venv .venv.turn .mypy_cache .ruff_cache .pytest_cache .hypothesis
