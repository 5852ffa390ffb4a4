# make run     install, and run a perceptron that is checked against the interpreter
# make test    install with the test extras, and run the tests: all of them, but only a part of the cells of large matrices
# make check   install with the dev extras, and run what reads the source: linter, formatter, types, house rules
# make generate  write what is generated: the tables of the grammar, the reference and the picture in docs/, the grammar for editors
# make fuzz    run all cells of the large matrices of `make test`, the property-based tests for longer, on fresh examples, TVMS_FUZZ
#              times as many, and the rows of the importer of PyTorch models, all of them on all calls; then check all laws of
#              `tvms fuzz`, each on FUZZ_EXAMPLES programs
# make bench   measure
# make pycuda  build and install pycuda, which launches kernels, with the toolkit in CUDA_HOME or that of nvcc
# make gpu-test  on a machine with a GPU: build pycuda, or install cuda-bindings if that fails, where WHEELS names a folder with
#              them from there, run the tests of kernels on the GPU as well, and measure
# make gpu-evidence  on a machine with a GPU: check every feature of kernels and measure, in at most 8 minutes; the results are in
#              build/gpu_evidence. EVIDENCE_FLAGS=--simulate does it with small sizes on the processor
# make docs    build the documentation site into build/site: start at build/site/index.html, also without a server
# make pictures  make the pictures in docs/pictures again: of the site, a graph and the editor; needs what make vscode-test needs
# make vscode  build, test and package the extension for Visual Studio Code; needs Node.js ≥ 20
# make vscode-test  also try the extension in a whole Visual Studio Code, which npm installs into build/editor;
#              needs Chromium, and Node.js ≥ 20 and a C++ compiler on Linux
# make clean   remove everything that was made
#
# Needs Python ≥ 3.11, make and a C compiler. Installs into .venv, and only when pyproject.toml has changed.

PYTHON ?= python3
BIN := .venv/bin
PIP_FLAGS := --disable-pip-version-check --quiet
PYTEST_FLAGS := -n auto
# Without .pyc files, each process that the tests start takes three times as long to start.
unexport PYTHONDONTWRITEBYTECODE
TVMS_FUZZ ?= 100
TVMS_SEED ?= $(shell date +%s)
ifeq ($(CI),true)
PIP_FLAGS += --no-input --progress-bar off
PYTEST_FLAGS += --color no
endif

ifdef WHEELS
PIP_FLAGS += --no-index --find-links $(WHEELS)
endif

FUZZ_EXAMPLES ?= 20000
FUZZ_JOBS ?= $(shell nproc)

# Type checkers do not run the import hook of an editable install: they find packages by the paths of Python. Python itself keeps to the
# hook, so that paths in messages are those of the repository; packages in PYTHONPATH come before both.
define SHOW_TYPES
mkdir -p .venv/typing && ln -sfn ../.. .venv/typing/tvms && ln -sfn ../../stubs .venv/typing/tvms-stubs && \
printf '%s\nimport os, sys; sys.path.pop() if "PYTHONPATH" in os.environ else sys.meta_path.sort(key=lambda finder: "EditableFinder" not in repr(finder))\n' \
  "$(CURDIR)/.venv/typing" > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tvms_typing.pth"
endef

.PHONY: run test check generate fuzz bench pycuda gpu-test gpu-evidence docs pictures vscode vscode-test clean

run: .venv/installed
	$(BIN)/tvms run samples/04_perceptron.tvms --verify

test: .venv/installed-test
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

check: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/python -m tvms.grammar.generate --check
	$(BIN)/python -m tvms.dsl.reference --check
	$(BIN)/python docs/architecture.py --check
	$(BIN)/python tests/prose.py
	$(BIN)/python -m pytest tests/test_house.py

generate: .venv/installed-dev
	$(BIN)/python -m tvms.grammar.generate
	$(BIN)/python -m tvms.dsl.reference
	$(BIN)/python docs/architecture.py

fuzz: .venv/installed-test
	TVMS_FUZZ=1 $(BIN)/python -m pytest $(PYTEST_FLAGS) -m deep
	TVMS_FUZZ=$(TVMS_FUZZ) $(BIN)/python -m pytest $(PYTEST_FLAGS) tests/fuzz --hypothesis-profile fuzz
	TVMS_FUZZ=$(TVMS_FUZZ) TVMS_SEED=$(TVMS_SEED) $(BIN)/python -m pytest $(PYTEST_FLAGS) tests/importers/test_torch_rows.py
	rm -rf build/fuzz && mkdir -p build/fuzz
	for law in $$($(BIN)/tvms fuzz | cut -d" " -f1); do \
	  $(BIN)/tvms fuzz $$law --n $(FUZZ_EXAMPLES) --jobs $(FUZZ_JOBS) --state build/fuzz/$$law.json || exit 1; done
	$(BIN)/python tests/testing/feature_matrix.py build/fuzz --check

bench: .venv/installed
	for script in bench/*.py; do $(BIN)/python $$script || exit 1; done

# pycuda reads options from siteconf.py beside its sources. Its random numbers need the headers of cuRAND, which many machines lack.
# CUDA_HOME, the folder of the toolkit, is needed where nvcc is not in it.
pycuda: .venv/installed-test
	rm -rf build/pycuda && mkdir -p build/pycuda
	$(BIN)/python -m pip download $(PIP_FLAGS) --no-deps --no-binary pycuda --dest build/pycuda pycuda
	tar xf build/pycuda/pycuda-*.tar.gz -C build/pycuda --strip-components 1
	echo "CUDA_ENABLE_CURAND = False" > build/pycuda/siteconf.py
	$(if $(CUDA_HOME),echo "CUDA_ROOT = '$(CUDA_HOME)'" >> build/pycuda/siteconf.py)
	$(BIN)/python -m pip install $(PIP_FLAGS) build/pycuda

gpu-test: .venv/installed-test
	$(MAKE) pycuda || $(BIN)/python -m pip install $(PIP_FLAGS) cuda-bindings
	$(BIN)/tvms doctor --gpu
	TVMS_GPU=1 $(BIN)/python -m pytest tests/gpu
	$(BIN)/python bench/gpu.py

gpu-evidence: .venv/installed-test
	$(BIN)/python -c "import pycuda.driver" 2> /dev/null || $(BIN)/python -m pip install $(PIP_FLAGS) cuda-bindings
	$(BIN)/tvms doctor --gpu
	$(BIN)/python bench/gpu_evidence.py $(EVIDENCE_FLAGS)

docs: .venv/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "file://$(CURDIR)/build/site/index.html"

pictures: docs vscode .venv/installed-dev
	$(BIN)/python docs/pictures.py

vscode: .venv/installed-test
	cd editors/vscode && npm ci --no-audit --no-fund
	cd editors/vscode && TVMS=$(CURDIR)/$(BIN)/tvms npm test
	cd editors/vscode && npm run package

vscode-test: vscode
	node --test editors/vscode/test/real/checks.mjs

clean:
	rm -rf editors/vscode/node_modules editors/vscode/out
	rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("tvms needs Python 3.11 or newer, but $(PYTHON) is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install $(PIP_FLAGS) -e .
	@$(SHOW_TYPES)
	@touch $@

.venv/installed-%: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[$*]'
	@$(SHOW_TYPES)
	@touch $@ .venv/installed
