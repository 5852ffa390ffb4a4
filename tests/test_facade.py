"""The package `tvms` itself: public names, and modules under TVM's names."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
import tvms


@pytest.mark.parametrize(("public", "place"), tvms._ALIASES.items())
def test_a_module_under_its_public_name_is_the_module_itself(public: str, place: str) -> None:
    module = importlib.import_module(public)
    assert module is importlib.import_module(place)
    assert module.__spec__ is not None
    assert module.__spec__.name == place
    assert getattr(tvms, public.removeprefix("tvms.")) is module


def test_the_parser_of_scripts_is_reached_without_an_import_of_its_own() -> None:
    program = "import tvms.script; print(tvms.script.parser is tvms.script)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "True\n"
    with pytest.raises(AttributeError, match=r"^module 'tvms\.dsl\.script' has no attribute 'parsers'$"):
        _ = tvms.script.parsers


def test_what_stands_below_an_alias_is_not_imported_twice() -> None:
    assert importlib.import_module("tvms.topi.nn") is importlib.import_module("tvms.ir.api.topi.nn")


@pytest.mark.parametrize("name", ["tvms.tee", "tvms.te.nothing"])
def test_an_unknown_module_is_an_import_error(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named"):
        importlib.import_module(name)


@pytest.mark.parametrize("name", tvms.__all__)
def test_public_names_are_there(name: str) -> None:
    assert getattr(tvms, name) is not None


def test_the_package_runs_as_the_command() -> None:
    shown = subprocess.run([sys.executable, "-m", "tvms", "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout == f"tvms {tvms.__version__}\n"
