"""`tvms git-setup`: let git compare and merge files of programs by structure."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path

from ...ir.diagnostics import error
from ...ir.files import write_whole
from ...ir.sanitize import say

FUNCTION = r"^[[:space:]]*(([TRSI]\.[A-Za-z_.]+(\(.*\))?|def|class)[[:space:]]+[A-Za-z_].*)$"
"""The lines that git shows at the head of a hunk: those that open a definition, in any dialect."""
SETTINGS = {
    "diff.tvms.command": "tvms diff --git",
    "diff.tvms.xfuncname": FUNCTION,
    "merge.tvms.name": "merge of programs by statement",
    "merge.tvms.driver": "tvms merge %O %A %B -o %A --name %P --marker-size %L",
}
"""Entries of git's configuration (gitattributes(5): external diff driver, hunk header, merge driver)."""


def run(arguments: argparse.Namespace) -> int:
    """Write the configuration of git and its file of attributes, or remove these entries; print each change."""
    if shutil.which("git") is None:
        raise error("E0825", "there is no command 'git'", help="install git, or add it to PATH")
    scope = ["--global"] if arguments.is_global else ["--local"]
    path = _attributes_file(arguments.is_global)
    changes = _configure(scope, arguments.remove) + _attribute(path, arguments.pattern or ["*.tvms"], arguments.remove)
    if not changes:
        say("git is not set up for tvms" if arguments.remove else "git is set up for tvms; there is nothing to change")
    for change in changes:
        say(change)
    return 0


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=False)


def _attributes_file(is_global: bool) -> Path:
    if is_global:
        named = _git("config", "--global", "--path", "core.attributesFile").stdout.strip()
        home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
        return Path(named) if named else Path(home, "git", "attributes")
    found = _git("rev-parse", "--show-toplevel")
    if found.returncode:
        raise error("E0825", "this folder is not in a git repository", help="run `git init`, or give --global")
    return Path(found.stdout.strip(), ".gitattributes")


def _configure(scope: list[str], is_removed: bool) -> list[str]:
    changes: list[str] = []
    shown = f"git config {scope[0]}"
    for name, value in SETTINGS.items():
        now = _git("config", *scope, name)
        if is_removed and now.returncode == 0:
            _checked(_git("config", *scope, "--unset-all", name))
            changes.append(f"{shown} --unset {name}")
        elif not is_removed and now.stdout.removesuffix("\n") != value:
            _checked(_git("config", *scope, "--replace-all", name, value))
            changes.append(f"{shown} {name} '{value}'")
    if is_removed and changes:
        for section in ("diff.tvms", "merge.tvms"):
            _git("config", *scope, "--remove-section", section)
    return changes


def _checked(result: subprocess.CompletedProcess[str]) -> None:
    if result.returncode:
        raise error("E0825", f"git refuses this: {result.stderr.strip()}", help="check the configuration of git")


def _attribute(path: Path, patterns: list[str], is_removed: bool) -> list[str]:
    """Add or remove the lines of patterns in a file of attributes."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    ours = {f"{pattern} diff=tvms merge=tvms" for pattern in patterns}
    if is_removed:
        kept = [line for line in lines if not line.strip().endswith(" diff=tvms merge=tvms")]
        changes = [f"{path}: -{line}" for line in lines if line not in kept]
    else:
        added = sorted(ours - {line.strip() for line in lines})
        kept = lines + added
        changes = [f"{path}: +{line}" for line in added]
    if changes and not kept:
        path.unlink()
    elif changes:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole("\n".join(kept) + "\n", str(path))
    return changes
