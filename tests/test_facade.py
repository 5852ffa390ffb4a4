"""The package `tvms` itself: public names, and modules under TVM's names."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
import tvms
from tvms.ir.aliases import AliasFinder
from tvms.ir.left_out import LEFT_OUT


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
    with pytest.raises(AttributeError, match=r"^module 'tvms\.script' has no attribute 'parsers'$"):
        _ = tvms.script.parsers


def test_what_stands_below_an_alias_is_not_imported_twice() -> None:
    assert importlib.import_module("tvms.topi.nn") is importlib.import_module("tvms.ir.api.topi.nn")


@pytest.mark.parametrize("name", ["tvms.tee", "tvms.te.nothing"])
def test_an_unknown_module_is_an_import_error(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named"):
        importlib.import_module(name)


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_left_out_says_why_and_what_to_use(name: str) -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        AliasFinder(tvms._ALIASES).find_spec(f"tvms.{name}.below", None)
    assert str(caught.value) == f"tvms has no module 'tvms.{name}.below': {LEFT_OUT[name]}"


def test_an_import_of_a_left_out_module_says_why() -> None:
    program = "import tvms.relay.op"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert shown.stderr.endswith(
        "ModuleNotFoundError: tvms has no module 'tvms.relay.op': TVM replaced Relay by Relax; write graphs with "
        "tvms.relax, or import the model with tvms.relax.frontend\n"
    )


def test_a_left_out_module_can_be_imported_but_not_used() -> None:
    program = "from tvms import rpc\nimport tvms.rpc\nprint('here')\nrpc.connect('host', 9090)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert shown.stdout == "here\n"
    message = f"module 'tvms.rpc' has no attribute 'connect': {LEFT_OUT['rpc']}"
    assert shown.stderr.splitlines()[-1] == f"AttributeError: {message}"
    program = "from tvms.rpc import connect"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    message = f"tvms has no module 'tvms.rpc.connect': {LEFT_OUT['rpc']}"
    assert shown.stderr.splitlines()[-1] == f"ModuleNotFoundError: {message}"


def test_a_name_left_out_says_why_as_an_attribute() -> None:
    for module, name in ((tvms, "rpc"), (tvms.relax, "distributed"), (tvms.relax.frontend, "tflite")):
        path = f"{module.__name__.replace('.ir.api', '')}.{name}"
        with pytest.raises(AttributeError, match=rf"^module '.*' has no attribute '{name}': ") as caught:
            getattr(module, name)
        assert str(caught.value).endswith(LEFT_OUT[path.removeprefix("tvms.")])
    with pytest.raises(AttributeError) as caught:
        _ = tvms.te.create_schedule
    assert str(caught.value) == (
        "module 'tvms.te' has no attribute 'create_schedule': TVM removed schedules of tensor expressions; use "
        "te.create_prim_func and tvms.Schedule"
    )


@pytest.mark.parametrize("name", LEFT_OUT)
def test_nothing_that_exists_is_called_left_out(name: str) -> None:
    parts = name.split(".")
    value = tvms
    for part in parts:
        if not hasattr(value, part):
            return
        value = getattr(value, part)
    pytest.fail(f"tvms.{name} exists")


@pytest.mark.parametrize("name", tvms.__all__)
def test_public_names_are_there(name: str) -> None:
    assert getattr(tvms, name) is not None


def test_the_package_runs_as_the_command() -> None:
    shown = subprocess.run([sys.executable, "-m", "tvms", "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout == f"tvms {tvms.__version__}\n"
