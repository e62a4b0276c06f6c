# make test: everything a .venv can test, in minutes. The other targets are for developers.
PYTHON = .venv/bin/python

# keep compiled modules for all test workers and for the programs that tests start
unexport PYTHONDONTWRITEBYTECODE

.PHONY: test test-live nightly golden reworded test-engines fuzz lint check bench docs site ready clean

test: ready
	$(PYTHON) -m pytest -n auto

# tests that need Debian packages (installed only as root), Slurm, ssh, Ray, Prometheus or time, and what restates files
test-live: ready
	RIGRIGHT_LIVE=1 $(PYTHON) -m pytest -n auto -m "live or restates"

# all of it in its full amount: every example, mutant, look of the page and byte of the flood; an hour
nightly: ready
	RIGRIGHT_LIVE=1 RIGRIGHT_NIGHTLY=1 RIGRIGHT_HYPOTHESIS=thorough $(PYTHON) -m pytest -n auto -m "live or not live"

# write the golden pages anew: read the difference, then commit it
golden: ready
	$(PYTHON) -m pytest --golden tests/faces/test_golden.py

# only the golden pages may fail here: a better word is no test commit
reworded: ready
	$(PYTHON) -m pytest -n auto --reworded

# every exported file through the real parsers of the engines, each in its own venv; minutes, and gigabytes the first time
test-engines: ready
	nice $(PYTHON) scripts/engines
	RIGRIGHT_ENGINES=1 $(PYTHON) -m pytest -p no:randomly -s tests/engines

# nightly: a million mutated inputs over all readers; prints each failure with its seed number
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
