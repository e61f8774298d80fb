# Two commands matter: `make demo` and `make test`. Both set themselves up.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test checks suites test-python test-client test-ui lint lint-python lint-client docs bench package clean

demo: $(READY)
	$(BIN)/kernelwright optimize examples/linear_reduction.py
	$(BIN)/kernelwright optimize examples/triton_softmax.py --strategy triton.online-reduction
	$(BIN)/kernelwright optimize examples/cuda/matmul_naive.cu --strategy cuda.shared-tile

test:
	$(MAKE) --no-print-directory checks
	$(MAKE) --no-print-directory suites

# What needs no Python goes beside its set-up.
checks:
	$(MAKE) --no-print-directory --jobs 2 --output-sync lint-python lint-client test-client

suites:
	$(MAKE) --no-print-directory --jobs 2 --output-sync test-python test-ui

# Hundreds of processes are started, so bytecode is kept even where the environment says otherwise.
test-python test-ui: export PYTHONDONTWRITEBYTECODE =

# Nice to the editor of test-ui beside it, which waits most of its time and loses keys where it is not served.
# Files go in the order of tests/longest.py.
test-python: $(READY)
	nice $(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder

test-client: node_modules/.ready
	npm test --silent

# The extension in a real editor; says so and goes on where there is no Chromium. Tried a second time, with a word, because
# an editor on a busy machine may lose a key.
test-ui: $(READY) node_modules/.ready
	npm run --silent test:ui -w vscode-client || { echo "A second try:"; npm run --silent test:ui -w vscode-client; }

lint: lint-python lint-client

lint-python: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-client: node_modules/.ready
	npm run --silent lint

docs: $(READY) node_modules/.ready
	$(BIN)/python -m kernelwright.cli.docs
	$(BIN)/python -m benchmarks.evidence
	npm run --silent generate -w vscode-client

bench: $(READY)
	$(BIN)/python benchmarks/server_start.py
	$(BIN)/python benchmarks/incremental.py
	$(BIN)/python benchmarks/incremental.py --language cuda
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/large_model.py

# The extension, which carries the server, and the server's wheel alone: for the command line and other editors.
package: $(READY) node_modules/.ready
	PYTHON=$(abspath $(BIN)/python) npm run --silent package -w vscode-client
	mkdir -p dist && rm -f dist/kernelwright-* && cp vscode-client/dist/*.vsix vscode-client/dist/server/*.whl dist/

# Pip would compile 14,000 files in one process. Some are templates that are no Python, which is no matter.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[torch,llm,mcp,z3,dev]'
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	@touch $@

node_modules/.ready: package.json package-lock.json vscode-client/package.json
	npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

clean:
	rm -rf $(VENV) node_modules vscode-client/packaging/node_modules vscode-client/tests/ui/code-server/node_modules vscode-client/dist .pytest_cache .ruff_cache .hypothesis
