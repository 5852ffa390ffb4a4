"""Compiled modules as files: the text of the program, its machine code, and a manifest.

    b"tvms compiled module 4\\n" · signature of the manifest · SHA-256 of signature and manifest
    · length of the manifest, 8 bytes · manifest, JSON · text · tensors · object files

The manifest holds the hashes of the parts after it. The signature is an HMAC with the user's secret
(`secret`), bound to a purpose: any module, or the cache entry of one key. Hashes detect damage; only the
signature makes machine code trustworthy. Nothing is loaded, parsed or linked before all hashes are
compared, and nothing is executed as Python.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib import metadata

import msgspec
from msgspec import Struct

from ..ir.base import Source, Span
from ..ir.diagnostics import TvmsError, error
from .build import Built, Settings
from .llvm.faults import Fault
from .lower import Safety
from .rules import Decision
from .runtime.signature import Signature
from .secret import NO_SIGNATURE, SIZE, is_signed, sign
from .target import Target

MAGIC = b"tvms compiled module "
FORMAT = 7
_HASH_BYTES, _LENGTH_BYTES = 32, 8

MODULE = "module"
"""The purpose in the signature of a saved module."""


class SavedFault(Struct, frozen=True):
    """A fault with its location: the number of a source and a range of characters."""

    code: str
    message: str
    rank: int
    dimension: int
    unsigned: tuple[int, ...]
    place: tuple[int, int, int] | None


class Machine(Struct, frozen=True):
    """The machine that code was made for, by LLVM's names."""

    triple: str
    cpu: str
    features: str


class Manifest(Struct, frozen=True):
    """The metadata of a file."""

    version: str
    target: str
    machine: Machine
    settings: Settings
    signatures: dict[str, Signature]
    decisions: dict[str, tuple[Decision, ...]]
    safety: dict[str, Safety]
    faults: tuple[SavedFault, ...]
    sources: tuple[tuple[str, str], ...]
    text: tuple[int, str]
    tensors: tuple[int, str]
    image: tuple[int, str]
    """The length in bytes and SHA-256 of each part: the program's text, its tensors and the object files."""


def version() -> str:
    """Return the version of tvms."""
    try:
        return metadata.version("tvms-lang")
    except metadata.PackageNotFoundError:
        return "unknown"


def machine_of(target: Target) -> Machine:
    """Return the machine that `target` generates code for."""
    triple, cpu, features = target.words
    return Machine(triple, cpu, features)


class Contents(Struct, frozen=True):
    """The contents of a file; `is_signed` tells whether this user signed it for the purpose of the reader."""

    manifest: Manifest
    text: str
    tensors: bytes
    image: bytes
    is_signed: bool


def pack(
    built: Built, image: bytes, target: Target, settings: Settings, program: tuple[str, bytes], purpose: str = MODULE
) -> bytes:
    """Return the file of a compiled module. `program` is its text, and the tensors that the text names; in a cache, no text, and
    the packed program. The file is not signed if this user has no secret.
    """
    sources: dict[Source, int] = {}
    faults = tuple(_saved(fault, sources) for fault in built.emitted.faults)
    text, tensors = program[0].encode(), program[1]
    manifest = Manifest(
        version(), target.text, machine_of(target), settings, built.signatures, built.decisions, built.safety, faults,
        tuple((source.name, source.text) for source in sources), _mark(text), _mark(tensors), _mark(image),
    )  # fmt: skip
    head = msgspec.json.encode(manifest)
    try:
        signature = sign(purpose, head)
    except OSError:
        signature = NO_SIGNATURE
    return assemble(signature, head, [text, tensors, image])


def assemble(signature: bytes, head: bytes, parts: Iterable[bytes]) -> bytes:
    """Return a file of these parts; `head` is its manifest."""
    digest, size = hashlib.sha256(signature + head).digest(), len(head).to_bytes(_LENGTH_BYTES, "little")
    return b"".join([MAGIC, b"%d\n" % FORMAT, signature, digest, size, head, *parts])


def _mark(data: bytes) -> tuple[int, str]:
    return len(data), hashlib.sha256(data).hexdigest()


def _saved(fault: Fault, sources: dict[Source, int]) -> SavedFault:
    place = None
    if fault.span is not None:
        number = sources.setdefault(fault.span.source, len(sources))
        place = (number, fault.span.start, fault.span.end)
    return SavedFault(fault.code, fault.message, fault.rank, fault.dimension, fault.unsigned, place)


_END = b"tvms compiled module in a library\n"


def embed(library: bytes, module: bytes) -> bytes:
    """Return a shared library that also is a compiled module: data after its end, which the system's loader ignores."""
    return b"".join([library, module, len(module).to_bytes(_LENGTH_BYTES, "little"), _END])


def embedded(data: bytes, name: str) -> bytes:
    """Return the compiled module in a file, which may be a shared library of `embed`; E0609 if that has none."""
    if not data.startswith(b"\x7fELF"):
        return data
    end = len(data) - len(_END) - _LENGTH_BYTES
    if not data.endswith(_END):
        raise refused(name, "it is a library for programs in C, without the module that it was made from")
    length = int.from_bytes(data[end : end + _LENGTH_BYTES], "little")
    return data[max(end - length, 0) : end]


def unpack(data: bytes, name: str, purpose: str = MODULE) -> Contents:
    """Return the contents of the file `data`; E0609 if it is damaged."""
    line, _, rest = data.partition(b"\n")
    if not line.startswith(MAGIC):
        raise refused(name, "it is not a compiled module")
    if line != MAGIC + b"%d" % FORMAT:
        raise refused(name, "its format is of another version", "compile the program again with this version")
    signature, digest, rest = rest[:SIZE], rest[SIZE : SIZE + _HASH_BYTES], rest[SIZE + _HASH_BYTES :]
    size, rest = int.from_bytes(rest[:_LENGTH_BYTES], "little"), rest[_LENGTH_BYTES:]
    head, rest = rest[:size], rest[size:]
    if len(head) != size or hashlib.sha256(signature + head).digest() != digest:
        raise refused(name, "its manifest is damaged")
    manifest = _read_manifest(head, name)
    text, tensors, image = _parts(manifest, rest, name)
    try:
        return Contents(manifest, text.decode(), tensors, image, is_signed(purpose, head, signature))
    except UnicodeDecodeError:
        raise refused(name, "its text is not UTF-8") from None


def _read_manifest(head: bytes, name: str) -> Manifest:
    try:
        manifest = msgspec.json.decode(head, type=Manifest)
    except TvmsError as problem:
        raise refused(name, f"its manifest has invalid settings: {problem.diagnostics[0].message}") from None
    except (msgspec.MsgspecError, RecursionError, ValueError) as problem:
        raise refused(name, f"its manifest cannot be read: {problem}") from None
    sources = range(len(manifest.sources))
    if not all(fault.place is None or fault.place[0] in sources for fault in manifest.faults):
        raise refused(name, "its manifest refers to a missing source")
    return manifest


def _parts(manifest: Manifest, rest: bytes, name: str) -> tuple[bytes, bytes, bytes]:
    """Return the text, the tensors and the object file, which follow the manifest."""
    parts: list[bytes] = []
    said = ("text", manifest.text), ("tensors", manifest.tensors), ("machine code", manifest.image)
    for part, (length, expected) in said:
        if length < 0:
            raise refused(name, f"its {part} has a negative length")
        parts.append(rest[:length])
        rest = rest[length:]
        if hashlib.sha256(parts[-1]).hexdigest() != expected:
            raise refused(name, f"its {part} is damaged")
    if rest:
        raise refused(name, "there is data after its end")
    return parts[0], parts[1], parts[2]


def faults_of(manifest: Manifest) -> tuple[Fault, ...]:
    """Return the faults of the kernels, by status."""
    sources = [Source(*source) for source in manifest.sources]
    return tuple(_restored(fault, sources) for fault in manifest.faults)


def why_other_machine(made_for: Machine, here: Machine) -> str | None:
    """Return why code for one machine cannot run on another; None if it can."""
    missing = _enabled(made_for) - _enabled(here)
    if made_for.triple == here.triple and not missing:
        return None
    lacks = f", with {', '.join(sorted(missing))}" if missing else ""
    return f"it was made for another machine: {made_for.cpu} ({made_for.triple}){lacks}"


def _enabled(machine: Machine) -> set[str]:
    return {word[1:] for word in machine.features.split(",") if word.startswith("+")}


def _restored(fault: SavedFault, sources: list[Source]) -> Fault:
    span = None if fault.place is None else Span(sources[fault.place[0]], *fault.place[1:])
    return Fault(fault.code, fault.message, span, fault.rank, fault.dimension, fault.unsigned)


def refused(name: str, reason: str, help: str = "compile the program again") -> TvmsError:
    return error("E0609", f"the compiled module '{name}' cannot be loaded: {reason}", None, help)
