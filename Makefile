# Two commands matter: `make demo` and `make test`. Both set themselves up.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-python test-client test-ui lint docs bench package clean

demo: $(READY)
	$(BIN)/kernelwright optimize examples/linear_reduction.py
	$(BIN)/kernelwright optimize examples/triton_softmax.py --strategy triton.online-reduction
	$(BIN)/kernelwright optimize examples/cuda/matmul_naive.cu --strategy cuda.shared-tile

test: lint test-client
	$(MAKE) --no-print-directory --jobs 2 --output-sync test-python test-ui

# Hundreds of processes are started, so bytecode is kept even where the environment says otherwise.
test-python test-ui: export PYTHONDONTWRITEBYTECODE =

# Nice to the editor of test-ui beside it, which waits most of its time and loses keys where it is not served.
# Files go in the order of tests/longest.py.
test-python: $(READY)
	nice $(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder

test-client: $(READY) node_modules/.ready
	npm test --silent

# The extension in a real editor; says so and goes on where there is no Chromium. Tried a second time, with a word, because
# an editor on a busy machine may lose a key.
test-ui: $(READY) node_modules/.ready
	npm run --silent test:ui -w vscode-client || { echo "A second try:"; npm run --silent test:ui -w vscode-client; }

lint: $(READY) node_modules/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
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

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[torch,llm,mcp,dev]'
	@touch $@

node_modules/.ready: package.json package-lock.json vscode-client/package.json
	npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

clean:
	rm -rf $(VENV) node_modules vscode-client/packaging/node_modules vscode-client/tests/ui/code-server/node_modules vscode-client/dist .pytest_cache .ruff_cache .hypothesis
