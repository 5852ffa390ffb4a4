"""Reading and writing files: the only functions that open paths given by a user.

Writes are atomic. The data goes to a temporary file in the same folder, which is synchronized with the disk and then
renamed; after a crash, a full disk or Ctrl-C, the path names the old file or the new one. Folders are opened once and
used by descriptor, so that they cannot be exchanged in between. Links, pipes and devices are refused.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import PurePath
from secrets import token_hex
from typing import Any

from .diagnostics import error

MIB = 2**20
_CHUNK = MIB
_KINDS = ((stat.S_ISLNK, "a symbolic link"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"),
          (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"))  # fmt: skip
_HELP = "give a path you may write to"


def read_file(path: str | os.PathLike[str], limit: int, others: int | None = None, folder: int | None = None) -> bytes:
    """Return the contents of the regular file at `path`, of at most `limit` bytes; arguments and errors are those of
    `opened_file`.
    """
    with opened_file(path, limit, others, folder) as (descriptor, expected):
        parts: list[bytes] = []
        size = 0
        while size <= limit and (part := os.read(descriptor, max(_CHUNK, min(expected - size, limit) + 1))):
            parts.append(part)  # files in /proc do not report their size
            size += len(part)
    if size > limit:
        raise _too_large(path, limit)
    return b"".join(parts)


@contextmanager
def opened_file(
    path: str | os.PathLike[str], limit: int, others: int | None = None, folder: int | None = None
) -> Generator[tuple[int, int]]:
    """Open the regular file at `path` to read it; yield its descriptor and its size, of at most `limit` bytes.

    With `others`, the file must belong to this user, must not be a link, and must not grant others any of these permissions.
    With `folder`, a descriptor, `path` is relative to that folder.
    Raises OSError, whose `strerror` is the reason, also for pipes, devices, folders, and files that are too large.
    """
    link = 0 if others is None else os.O_NOFOLLOW
    descriptor = _open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | link, folder)
    try:
        status = os.fstat(descriptor)
        check_regular(status, path)
        if others is not None:
            _check_own(status, path, others)
        if status.st_size > limit:
            raise _too_large(path, limit)
        yield descriptor, status.st_size
    finally:
        os.close(descriptor)


def release_pages(array: Any) -> None:
    """Let the system take back the memory of an array in a mapped file, from which it is read again when it is needed; other
    arrays stay as they are.
    """
    base, advice = array, getattr(mmap, "MADV_DONTNEED", None)
    while base is not None and not isinstance(base, mmap.mmap):
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    if base is None or advice is None:
        return
    offset = array.ctypes.data - _address(base)
    start = -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE
    if offset + array.nbytes > start:
        base.madvise(advice, start, offset + array.nbytes - start)


def _address(mapped: mmap.mmap) -> int:
    """Return the address of the first byte of a mapped file."""
    import numpy as np

    return np.frombuffer(mapped, "uint8", 1).ctypes.data


def _too_large(path: str | os.PathLike[str], limit: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {limit // MIB:,} MiB", str(path))


def read_or_create_private(folder: str, name: str, make: Callable[[], bytes]) -> bytes:
    """Return the contents of a file that only this user can read, in a folder that only this user can read. If the file is
    missing, it is created with the contents that `make` returns. Concurrent processes all return the same contents.

    Raises OSError if the folder or the file belongs to another user, is open to others, or is a link.
    """
    os.makedirs(os.path.dirname(folder), 0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    with ExitStack() as stack:
        here = _open_folder(folder, stack, nofollow=True)
        _check_own(os.fstat(here), folder, others=0o077)
        with suppress(FileNotFoundError):
            return read_file(name, MIB, others=0o077, folder=here)
        staged = stack.enter_context(_stage(make(), here, name, 0o600))
        with suppress(FileExistsError):
            os.link(staged.temporary, name, src_dir_fd=here, dst_dir_fd=here)
        return read_file(name, MIB, others=0o077, folder=here)


def _check_own(status: os.stat_result, path: str | os.PathLike[str], others: int) -> None:
    """Raise OSError if a file or folder belongs to another user or grants others one of these permissions."""
    if status.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to another user", str(path))
    if status.st_mode & others:
        raise PermissionError(errno.EPERM, f"its permissions are {status.st_mode & 0o777:o}: open to others", str(path))


def _open(path: str | os.PathLike[str], flags: int, folder: int | None) -> int:
    try:
        return os.open(path, flags, dir_fd=folder)
    except ValueError as problem:  # the path contains a NUL or a lone surrogate
        raise OSError(errno.EINVAL, str(problem), str(path)) from None


def check_regular(status: os.stat_result, path: str | os.PathLike[str]) -> None:
    """Raise OSError unless `status` is that of a regular file."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(status.st_mode)), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))


def memory_limit() -> int:
    """Return the maximum size of a file whose contents are kept in memory, in bytes: the size of the machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def state_folder() -> str:
    """Return the folder for data that outlives a run: `tvms` in `XDG_STATE_HOME` (`~/.local/state`)."""
    base = os.environ.get("XDG_STATE_HOME", "")
    return os.path.join(base if os.path.isabs(base) else os.path.expanduser("~/.local/state"), "tvms")


def write_whole(
    data: str | bytes, path: str, follow: bool = False, below: str | None = None, mode: int | None = None
) -> None:
    """Write the file `path`, replacing an existing one; E0802 if that fails, and the old file stays as it was.

    A link at `path` is refused; with `follow`, its target is written instead. With `below`, an output folder, `path` is
    relative to it; missing folders are created, and links on the way are refused. The file keeps its permissions unless
    `mode` is given.
    """
    write_together([(data, path)], follow, below, mode)


def write_together(
    files: Sequence[tuple[str | bytes, str]],
    follow: bool = False,
    below: str | None = None,
    mode: int | None = None,
) -> None:
    """Write several files, given by path: all are on the disk before the first one is renamed to its final name. Options
    and errors are those of `write_whole`.
    """
    with ExitStack() as stack:
        staged: list[_Staged] = []
        for data, path in files:
            with _reported(path if below is None else os.path.join(below, path)):
                target = PurePath(os.path.realpath(path) if follow else path)
                folder = _open_folder(target.parent, stack) if below is None else _make_folders(below, target, stack)
                staged.append(stack.enter_context(_stage(data, folder, target.name, mode)))
        for file, (_, path) in zip(staged, files, strict=True):
            with _reported(path if below is None else os.path.join(below, path)):
                file.replace()


def _make_folders(below: str, target: PurePath, stack: ExitStack) -> int:
    """Return the descriptor of the folder of `target`; below another folder, it is created if it is missing."""
    if ".." in target.parts or target.is_absolute():
        raise OSError(errno.EINVAL, f"it is not below '{below}'")
    os.makedirs(below, exist_ok=True)
    folder = _open_folder(below, stack)
    for part in target.parts[:-1]:
        with suppress(FileExistsError):
            os.mkdir(part, dir_fd=folder)
        folder = _open_folder(part, stack, folder)
    return folder


def _open_folder(path: str | PurePath, stack: ExitStack, parent: int | None = None, nofollow: bool = False) -> int:
    """Return the descriptor of a folder; a link is refused below `parent` and with `nofollow`."""
    is_strict = nofollow or parent is not None
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (os.O_NOFOLLOW if is_strict else 0)
    try:
        descriptor = os.open(path, flags, dir_fd=parent)
    except NotADirectoryError:
        is_link = stat.S_ISLNK(os.stat(path, dir_fd=parent, follow_symlinks=False).st_mode)
        reason = f"'{path}' is {'a symbolic link' if is_link else 'not a folder'}"
        raise NotADirectoryError(errno.ENOTDIR, reason) from None
    stack.callback(_close, descriptor)
    return descriptor


def _close(folder: int) -> None:
    with suppress(OSError):  # the descriptor was not written to
        os.close(folder)


@contextmanager
def _reported(path: str) -> Generator[None]:
    try:
        yield
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise error("E0802", f"cannot write '{path}': {reason}", help=_HELP) from None


class _Staged:
    """A file on the disk under a temporary name, in the folder with the descriptor `folder`."""

    def __init__(self, folder: int, temporary: str, name: str) -> None:
        self.folder, self.temporary, self.name = folder, temporary, name

    def replace(self) -> None:
        """Rename the file to its final name."""
        os.rename(self.temporary, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        try:
            os.fsync(self.folder)
        except OSError as problem:
            if problem.errno != errno.EINVAL:  # this file system cannot synchronize folders
                raise


@contextmanager
def _stage(data: str | bytes, folder: int, name: str, mode: int | None) -> Generator[_Staged]:
    """Write a temporary file beside `name`, and remove it at the end if it still exists. It gets the permissions `mode`, or
    those of the existing file.
    """
    if not name:
        raise OSError(errno.EISDIR, "it does not name a file")
    payload = data.encode() if isinstance(data, str) else data
    old_mode = _old_mode(folder, name)
    temporary = f".tvms-{token_hex(8)}.tmp"
    try:
        _create(temporary, folder, payload, old_mode if mode is None else mode)
        yield _Staged(folder, temporary, name)
    finally:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)


def _old_mode(folder: int, name: str) -> int | None:
    """Return the permissions of the existing file, or None if there is none. OSError if it cannot be replaced."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    check_regular(status, name)
    return status.st_mode & 0o777


def _create(name: str, folder: int, payload: bytes, mode: int | None) -> None:
    """Create a file and synchronize it with the disk; its permissions are `mode`, or the default for new files."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o666 if mode is None else 0o600, dir_fd=folder)
    try:
        rest = memoryview(payload)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if mode is not None:
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
