"""Files are written whole or not at all, and what is no regular file is neither read nor written."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from safetensors.numpy import save_file
from tvms.dsl.cli import main
from tvms.dsl.cli.run_command import _file_name
from tvms.ir.diagnostics import TvmsError
from tvms.ir.files import read_file, write_together, write_whole

TEXT = "T.prim_func f():\n    T.evaluate(0)\n"
UGLY = "T.prim_func f( ):\n    T.evaluate( 0 )\n"


def make_socket(path: Path) -> None:
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)


SPECIAL: dict[str, Callable[[Path], None]] = {
    "a pipe": lambda path: os.mkfifo(path),
    "a socket": make_socket,
}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.tvms"
    path.write_text(TEXT)
    return path


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


# --- Reading --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["check", "print", "fmt", "run", "compile", "view", "schedule", "bench", "debug"])
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/full"])
def test_devices_are_not_read(command: str, device: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, device]) == 2
    assert said(capsys).startswith(
        f"error[E0001]: '{device}' cannot be read: it is a device, not a regular file\n"
        "  = help: check the path and its permissions; '-' reads standard input\n"
    )


@pytest.mark.parametrize("kind", SPECIAL)
def test_pipes_and_sockets_are_not_read(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    SPECIAL[kind](tmp_path / "special.tvms")
    assert main(["check", "special.tvms"]) == 2
    reason = f"it is {kind}, not a regular file" if kind == "a pipe" else "No such device or address"
    assert f"'special.tvms' cannot be read: {reason}\n" in said(capsys)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "large.tvms"
    path.touch()
    os.truncate(path, 2**40)
    assert main(["check", str(path)]) == 2
    assert f"'{path}' cannot be read: it is larger than 64 MiB\n" in said(capsys)


def test_the_limit_is_exact(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for size in (0, 1, 10, 2**20, 2**20 + 1):
        path.write_bytes(b"x" * size)
        assert read_file(path, size) == b"x" * size
        if size:
            with pytest.raises(OSError, match="larger than"):
                read_file(path, size - 1)


def test_files_that_do_not_tell_their_size_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert read_file("/proc/self/status", 2**20).startswith(b"Name:")
    assert main(["check", "/proc/self/status"]) == 2
    assert "error[E0" in said(capsys)


@pytest.mark.parametrize("path", ["a\0b", "\udc80", "x" * 300, "nowhere/file"])
def test_paths_that_cannot_be(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", path]) == 2
    assert said(capsys).startswith("error[E0001]: ")


# --- The sidecar ----------------------------------------------------------------------------------------------


def with_sidecar(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "model.tvms").write_text(
        'R.function main(x: R.Tensor((2,), "float32")):\n'
        '    gv = R.add(x, I.constant("w", R.Tensor((2,), "float32")))\n    return gv\n'
    )
    return folder / "model.tvms"


def test_a_sidecar_stays_in_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = with_sidecar(tmp_path / "folder")
    outside, beside = tmp_path / "outside.safetensors", tmp_path / "folder" / "other.safetensors"
    for path in (outside, beside):
        save_file({"w": np.ones(2, "float32")}, path)
    sidecar = model.with_suffix(".safetensors")
    sidecar.symlink_to("other.safetensors")
    tvms.load(model)
    for target in ("../outside.safetensors", str(outside)):
        sidecar.unlink()
        sidecar.symlink_to(target)
        assert main(["print", str(model)]) == 2
        assert said(capsys) == (
            f"error[E0018]: '{sidecar}' cannot be read: it is a symbolic link that leaves the folder '{tmp_path}/folder'\n"
            "  = help: is it a safetensors file?\n"
        )


def test_a_sidecar_that_is_a_pipe_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = with_sidecar(tmp_path / "folder")
    os.mkfifo(model.with_suffix(".safetensors"))
    assert main(["print", str(model)]) == 2
    assert "it is a pipe, not a regular file" in said(capsys)


# --- Writing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["/dev/null", "/dev/full", "/dev/stdout"])
def test_devices_are_not_written(device: str, program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["print", str(program), "-o", device]) == 2
    kind = "a symbolic link" if device == "/dev/stdout" else "a device"
    assert said(capsys) == (
        f"error[E0802]: cannot write '{device}': it is {kind}, not a regular file\n"
        "  = help: give a path you may write to\n"
    )
    assert Path(device).is_symlink() == (device == "/dev/stdout")


@pytest.mark.parametrize("command", [["print"], ["opt", "--passes", "Normalize"], ["compile", "--emit", "llvm"]])
def test_a_link_is_not_followed(command: list[str], program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    victim, link = program.with_name("victim"), program.with_name("link")
    victim.write_text("precious")
    link.symlink_to(victim)
    assert main([*command, str(program), "-o", str(link)]) == 2
    assert f"cannot write '{link}': it is a symbolic link, not a regular file\n" in said(capsys)
    assert victim.read_text() == "precious"
    assert link.is_symlink()


def test_links_in_output_folders_are_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree, out, victim = tmp_path / "tree", tmp_path / "out", tmp_path / "victim"
    for folder in (tree / "a", out, victim):
        folder.mkdir(parents=True)
    (tree / "a" / "x.tvms").write_text(TEXT)
    (tree / "y.tvms").write_text(TEXT)
    (out / "a").symlink_to(victim)
    (out / "y.py").symlink_to(victim / "y.py")
    assert main(["convert", str(tree), "--to", "tvm-0.21", "-o", str(out)]) == 2
    told = said(capsys)
    assert f"cannot write '{out}/a/x.py': 'a' is a symbolic link\n" in told
    assert f"cannot write '{out}/y.py': it is a symbolic link, not a regular file\n" in told
    assert list(victim.iterdir()) == []


def test_names_of_results_are_names_of_files() -> None:
    used: set[str] = set()
    names = ["C", "../../C", ".C", "a[0]", "ü", "C" * 400, "C" * 401, "x/y", "x\0y", "\x1b"]
    files = [_file_name(name, used) for name in names]
    assert files == [
        "C.npy", "_._.._C.npy", "_C.npy", "a[0].npy", "ü.npy", f"{'C' * 60}.npy", f"{'C' * 60}_2.npy", "x_y.npy",
        "x_y_2.npy", "_.npy",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", ".."])
def test_nothing_is_written_outside_a_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(TvmsError, match="E0802"):
        write_whole("data", name, below=str(tmp_path / "out"))
    assert list(tmp_path.rglob("x")) == []


@pytest.mark.parametrize("path", ["", ".", "folder", "a\0b", "\ud800", "x" * 300, "nowhere/file", "file/below"])
def test_paths_that_cannot_be_written(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(TvmsError, match="E0802"):
        write_whole("data", path)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_permissions_are_kept_and_follow_the_mask(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.touch(0o600)
    mask = os.umask(0o027)
    try:
        write_whole("data", str(old))
        write_whole("data", str(new))
    finally:
        os.umask(mask)
    assert (old.stat().st_mode & 0o7777, new.stat().st_mode & 0o7777) == (0o600, 0o640)


CALLS = ("open", "write", "fchmod", "fsync", "close", "rename")


@pytest.mark.parametrize(
    "problem", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "Ctrl-C"]
)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_write_that_fails_changes_nothing(
    problem: BaseException, after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call fails once, before or after it was done; two files that belong together stay together."""
    paths = [tmp_path / "a", tmp_path / "b"]
    seen = 0
    for number in range(100):
        for path in paths:
            path.write_text("old")
        count = 0

        def failing(name: str, number: int = number) -> Any:
            real = getattr(os, name)

            def call(*args: Any, **options: Any) -> Any:
                nonlocal count
                count += 1
                fails = count - 1 == number
                if fails and not (after or name == "close"):
                    raise problem
                result = real(*args, **options)
                if fails:
                    if name == "open":
                        os.close(result)
                    raise problem
                return result

            return call

        with monkeypatch.context() as patch:
            for name in CALLS:
                patch.setattr(os, name, failing(name))
            try:
                write_together([("new", str(path)) for path in paths])
                failed = False
            except (TvmsError, KeyboardInterrupt):
                failed = True
        assert sorted(os.listdir(tmp_path)) == ["a", "b"]
        texts = [path.read_text() for path in paths]
        assert set(texts) <= {"old", "new"}
        if not failed:
            assert texts == ["new", "new"]
            break
        seen += 1
    assert seen >= 12


def test_fmt_follows_the_link_that_it_reads(tmp_path: Path) -> None:
    path, link = tmp_path / "ugly.tvms", tmp_path / "link.tvms"
    path.write_text(UGLY)
    link.symlink_to(path)
    assert main(["fmt", str(link)]) == 0
    assert link.is_symlink()
    assert path.read_text() == TEXT
