# make test: everything. The rest is for whoever works on rigright.
PYTHON = .venv/bin/python

.PHONY: test lint check bench docs ready clean

test: ready
	$(PYTHON) -m pytest -n auto

lint: ready
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy

check: lint test

bench: ready
	$(PYTHON) benchmarks/run.py

docs: ready
	$(PYTHON) scripts/docs

ready:
	scripts/ready

clean:
	rm -rf .venv .venv.turn .mypy_cache .ruff_cache .pytest_cache .hypothesis
