"""Machine code in files is loaded only where this user's signature shows that tvms made it of the program beside it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import tvms
from msgspec.structs import force_setattr, replace
from tvms.codegen import load_compiled, secret
from tvms.codegen.artifact import Contents, assemble, unpack
from tvms.dsl.cli import main

TEXT = """
T.prim_func main(X: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            X[vi] = X[vi] + T.float32({})
"""


def compiled(number: int, cache: Path | None = None, **options: Any) -> Any:
    return tvms.compile(tvms.parse(TEXT.format(number)), cache=cache, **options)


def result(executable: Any) -> float:
    x = np.zeros(4, "f4")
    executable["main"](x)
    assert (x == x[0]).all()
    return float(x[0])


def notes(executable: Any) -> list[str]:
    return [f"{note.severity}[{note.code}]: {note.message}" for note in executable.notes]


def forged(
    data: bytes, signature: bytes | None = None, manifest: dict[str, Any] | None = None, **parts: bytes
) -> bytes:
    """Return a saved module with other parts, and the hashes that go with them."""
    contents = unpack(data, "forged")
    held = {"text": contents.text.encode(), "tensors": contents.tensors, "image": contents.image} | parts
    marks = {name: (len(part), hashlib.sha256(part).hexdigest()) for name, part in held.items()}
    head = msgspec.json.encode(replace(contents.manifest, **marks, **(manifest or {})))
    old = data.partition(b"\n")[2][: secret.SIZE]
    return assemble(old if signature is None else signature, head, held.values())


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


# --- Saved modules --------------------------------------------------------------------------------------------


def test_what_this_user_compiled_is_loaded() -> None:
    loaded = load_compiled(compiled(3).to_bytes(), "saved")
    assert (result(loaded), loaded.notes, "llvm" in loaded.stats) == (3, (), False)


UNTRUSTED = "warning[E0618]: the machine code in 'saved' was not loaded: it is not signed by this user"


@pytest.mark.parametrize("part", ["image", "text", "tensors"])
def test_machine_code_of_others_is_not_loaded(part: str) -> None:
    mine, theirs = compiled(3).to_bytes(), unpack(compiled(4).to_bytes(), "theirs")
    content = {"image": theirs.image, "text": theirs.text.encode(), "tensors": b""}[part]
    loaded = load_compiled(forged(mine, secret.NO_SIGNATURE, **{part: content}), "saved")
    assert (result(loaded), notes(loaded)) == (4 if part == "text" else 3, [UNTRUSTED])


def test_a_signature_is_for_one_file() -> None:
    """Another file's signature, the right one over another manifest, and one for a cache entry are worth nothing."""
    mine, theirs = compiled(3).to_bytes(), compiled(4).to_bytes()
    other = unpack(theirs, "theirs").image
    stolen = theirs.partition(b"\n")[2][: secret.SIZE]
    for signature in (None, stolen, bytes(32), b"\xff" * 32):
        loaded = load_compiled(forged(mine, signature, image=other), "saved")
        assert (result(loaded), notes(loaded)) == (3, [UNTRUSTED])


def test_flipped_bytes_of_machine_code_are_never_run() -> None:
    data = compiled(3).to_bytes()
    image = unpack(data, "saved").image
    for place in range(0, len(image), max(1, len(image) // 40)):
        assert result(load_compiled(forged(data, image=flipped(image, place)), "saved")) == 3
    for other in (b"", b"\x7fELF", b"garbage" * 99, image[:100]):
        assert result(load_compiled(forged(data, image=other), "saved")) == 3


def test_the_user_may_trust_a_file() -> None:
    mine, theirs = compiled(3).to_bytes(), unpack(compiled(4).to_bytes(), "theirs")
    loaded = load_compiled(forged(mine, image=theirs.image), "saved", trust=True)
    assert (result(loaded), loaded.notes) == (4, ())  # what the machine code does, not the text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": "0.0.1"}, "it was made by tvms 0.0.1, but this is "),
        ({"signatures": {}}, "its manifest names other functions than its text"),
    ],
)
def test_trust_has_limits(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        load_compiled(forged(compiled(3).to_bytes(), manifest=changes), "saved", trust=True)
    message = caught.value.diagnostics[0].message
    assert message.startswith(f"the compiled module 'saved' cannot be loaded: {said}")


def test_a_module_of_another_version_or_machine_is_compiled_again() -> None:
    data = compiled(3).to_bytes()
    machine = unpack(data, "saved").manifest.machine
    for changes, said in (
        ({"version": "0.0.1"}, "it was made by tvms 0.0.1, but this is "),
        ({"machine": replace(machine, triple="z80")}, "it was made for another machine: "),
        ({"machine": replace(machine, features=machine.features + ",+magic")}, "it was made for another machine: "),
    ):  # fmt: skip
        loaded = load_compiled(forged(data, manifest=changes), "saved")
        assert result(loaded) == 3
        (note,) = notes(loaded)
        assert note.startswith(f"warning[E0618]: the machine code in 'saved' was not loaded: {said}")


GATHER = """
T.prim_func main(X: T.Buffer((4,), "float32"), J: T.Buffer((1,), "int32"), Y: T.Buffer((1,), "float32")):
    Y[0] = X[J[0]]
"""


def test_a_file_cannot_take_checks_away() -> None:
    data = tvms.compile(tvms.parse(GATHER), bounds="trust").to_bytes()
    loaded = load_compiled(forged(data, bytes(32)), "saved")
    with pytest.raises(tvms.TvmsError, match="E0707"):
        loaded["main"](np.zeros(4, "f4"), np.array([10**6], "i4"), np.zeros(1, "f4"))


@pytest.mark.parametrize(
    "manifest",
    [{"settings": {"level": 7}}, {"settings": {"threads": -1}}, {"settings": {"threads": 10**6}}, {"target": "nowhere"},
     {"target": "llvm -mcpu=\0"}, {"target": "llvm -mtriple=x\ny"}, {"target": ""}],
)  # fmt: skip
def test_settings_that_do_not_exist(manifest: dict[str, Any]) -> None:
    data = compiled(3).to_bytes()
    settings = unpack(data, "saved").manifest.settings
    for name, value in manifest.get("settings", {}).items():
        force_setattr(settings, name, value)  # past the checks of `Settings`
    changes = {"settings": settings} if "settings" in manifest else manifest
    with pytest.raises(tvms.TvmsError) as caught:
        load_compiled(forged(data, manifest=changes), "saved")
    assert [problem.code for problem in caught.value.diagnostics] in (["E0609"], ["E0601"])


@pytest.mark.parametrize(
    "head", [b"", b"{}", b"[" * 100_000, b'{"version":' + b"[" * 100_000, b"\xff\xfe", b"null", b'{"version": "\\ud800"}'],
    ids=["empty", "{}", "deep", "deep inside", "no text", "null", "surrogate"],
)  # fmt: skip
def test_manifests_that_are_none(head: bytes) -> None:
    with pytest.raises(tvms.TvmsError, match="its manifest cannot be read"):
        load_compiled(assemble(bytes(32), head, []), "saved")


@pytest.mark.parametrize("text", [b"\xff\xff", b"", b"T.prim_func f(:", b"T.prim_func f():\n    X[0] = 1\n", b"\0" * 9])
def test_texts_that_are_none(text: bytes) -> None:
    with pytest.raises(tvms.TvmsError):
        load_compiled(forged(compiled(3).to_bytes(), text=text), "saved")


def test_negative_lengths_are_refused() -> None:
    data = compiled(3).to_bytes()
    contents = unpack(data, "saved")
    head = msgspec.json.encode(replace(contents.manifest, text=(-1, contents.manifest.text[1])))
    with pytest.raises(tvms.TvmsError, match="its text has a negative length"):
        load_compiled(assemble(bytes(32), head, [contents.text.encode(), contents.image]), "saved")


# --- The cache ------------------------------------------------------------------------------------------------


def entry(folder: Path) -> Path:
    (path,) = folder.rglob("*.tvmsc")
    return path


def swap(path: Path, other: bytes) -> None:
    path.write_bytes(other)


def link(path: Path, other: bytes) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


UNUSED: dict[str, tuple[Callable[[Path, bytes], Any], str]] = {
    "another program": (swap, "it is not signed by this user for this program"),
    "a saved module": (lambda path, other: swap(path, compiled(3).to_bytes()), "it is not signed by this user for this program"),
    "a damaged one": (lambda path, other: swap(path, flipped(path.read_bytes(), 500)), "it is damaged"),
    "half of it": (lambda path, other: swap(path, path.read_bytes()[:999]), "it is damaged"),
    "open to others": (lambda path, other: path.chmod(0o666), "its permissions are 666: open to others"),
    "a link": (link, "it is a symbolic link"),
    "a pipe": (lambda path, other: (path.unlink(), os.mkfifo(path)), "it is a pipe, not a regular file"),
}  # fmt: skip


@pytest.mark.parametrize("kind", UNUSED)
def test_entries_that_are_not_used(kind: str, tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    compiled(3, mine), compiled(4, theirs)
    path = entry(mine)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    change, said = UNUSED[kind]
    change(path, entry(theirs).read_bytes())
    again = compiled(3, mine)
    assert (result(again), notes(again)) == (3, [f"warning[E0618]: the cache entry '{path}' is not used: {said}"])
    if kind != "a pipe":
        repaired = compiled(3, mine)
        assert (result(repaired), repaired.notes, "llvm" in repaired.stats) == (3, (), False)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_an_entry_of_another_user_is_not_used(tmp_path: Path) -> None:
    compiled(3, tmp_path)
    os.chown(entry(tmp_path), 12345, 12345)
    (note,) = notes(compiled(3, tmp_path))
    assert note.endswith("is not used: it belongs to another user")


def test_an_entry_of_another_secret_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(3, tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    again = compiled(3, tmp_path)
    assert (result(again), len(again.notes)) == (3, 1)


def test_the_command_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program.tvms"
    program.write_text(TEXT.format(3))
    monkeypatch.setenv("TVMS_CACHE_DIR", str(tmp_path / "cache"))
    assert main(["run", str(program)]) == 0
    path = entry(tmp_path / "cache")
    path.write_bytes(b"garbage")
    assert capsys.readouterr().err == ""
    assert main(["run", str(program)]) == 0
    assert capsys.readouterr().err == (
        f"warning[E0618]: the cache entry '{path}' is not used: it is damaged\n  = help: the program was compiled again\n"
    )


# --- The secret -----------------------------------------------------------------------------------------------


def test_the_secret_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a" / "b"))
    assert secret.is_signed("p", b"data", secret.sign("p", b"data"))
    assert not secret.is_signed("q", b"data", secret.sign("p", b"data"))
    folder = tmp_path / "a" / "b" / "tvms"
    assert [path.name for path in folder.iterdir()] == ["secret"]
    modes = (folder.stat().st_mode & 0o777, (folder / "secret").stat().st_mode & 0o777)
    assert modes == (0o700, 0o600)


OPEN: dict[str, tuple[Callable[[Path], Any], str]] = {
    "folder": (lambda folder: folder.chmod(0o755), "its permissions are 755: open to others"),
    "file": (lambda folder: (folder / "secret").chmod(0o644), "its permissions are 644: open to others"),
    "link": (lambda folder: ((folder / "secret").rename(folder / "x"), (folder / "secret").symlink_to("x")), "symbolic links"),
    "linked folder": (lambda folder: (folder.rename(folder.with_name("x")), folder.symlink_to("x")), "is a symbolic link"),
    "short": (lambda folder: (folder / "secret").write_bytes(b"short"), "does not have 32 bytes"),
    "pipe": (lambda folder: ((folder / "secret").unlink(), os.mkfifo(folder / "secret")), "it is a pipe"),
}  # fmt: skip


@pytest.mark.parametrize("kind", OPEN)
def test_a_secret_that_others_may_know_is_not_used(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    secret.sign("p", b"data")
    secret._secret.cache_clear()
    break_, said = OPEN[kind]
    break_(tmp_path / "tvms")
    executable = compiled(3, tmp_path / "cache")
    (note,) = notes(executable)
    start = f"warning[E0618]: cannot sign entries of the cache '{tmp_path}/cache': "
    assert note.startswith(start)
    assert said.lower() in note.lower()
    loaded = load_compiled(executable.to_bytes(), "saved")
    assert (result(loaded), notes(loaded)) == (3, [UNTRUSTED])
    assert not list((tmp_path / "cache").rglob("*.tvmsc"))


def test_processes_make_one_secret(tmp_path: Path) -> None:
    script = "from tvms.codegen import secret; print(secret.sign('p', b'data').hex())"
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    processes = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment) for _ in range(4)
    ]
    assert len({process.communicate(timeout=120)[0] for process in processes}) == 1
    assert os.listdir(tmp_path / "tvms") == ["secret"]


def test_contents_say_whether_they_are_signed() -> None:
    assert isinstance(contents := unpack(compiled(3).to_bytes(), "saved"), Contents)
    assert contents.is_signed
    assert not unpack(compiled(3).to_bytes(), "saved", "cache entry 00").is_signed
