"""How many of TVM's own tests of its PyTorch importer pass with tvms.

    python bench/tvm_importer_tests.py FOLDER

FOLDER is `tests/python/relax` of a checkout of Apache TVM v0.21.0. The tests run with their imports changed; each compares an
imported module with an expected one by structural equality. Needs torch, pytest and hypothesis. docs/compatibility.md lists
the causes of failures.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = ("test_frontend_from_exported_program.py", "test_frontend_from_fx.py")
IMPORTS = (
    (r"^(\s*)import tvm$", r"\1import tvms as tvm"),
    (r"^import tvm\.testing$", "import tvms as tvm, tvms.testing"),
    (r"^(\s*)from tvm\b", r"\1from tvms"),
    (
        r"^import torchvision$",
        "try:\n    import torchvision\nexcept (ImportError, RuntimeError):\n    torchvision = None",
    ),
)


def with_imports_changed(text: str) -> str:
    """Return the text of a test file with imports of tvms, and without those of optional packages."""
    for pattern, replacement in IMPORTS:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text


def main() -> None:
    """Run the tests, and print the failures and the counts of each file."""
    source = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for name in TESTS:
            Path(folder, name).write_text(
                with_imports_changed((source / name).read_text(encoding="utf-8")), encoding="utf-8"
            )
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "--tb=no",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:warnings",
                name,
            ]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
            print("\n".join([*failures, f"{name}: {done.stdout.splitlines()[-1]}"]), flush=True)


if __name__ == "__main__":
    main()
