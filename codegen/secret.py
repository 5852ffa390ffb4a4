"""The secret of a user, with which tvms signs the machine code that it keeps in files.

It is in `tvms/secret` below `XDG_STATE_HOME` (`~/.local/state`), readable by its owner only. Anyone who
can read it can write machine code that tvms loads; nobody else can.
"""

from __future__ import annotations

import hmac
import secrets
from functools import cache

from ..ir.files import read_or_create_private, state_folder

SIZE = 32
"""Size of a secret, and of a signature, in bytes."""
NO_SIGNATURE = bytes(SIZE)


def sign(purpose: str, data: bytes) -> bytes:
    """Return this user's signature of `data`, which is valid for one purpose only; OSError if there is no
    secret.
    """
    return hmac.digest(_secret(secret_folder()), purpose.encode() + b"\0" + data, "sha256")


def is_signed(purpose: str, data: bytes, signature: bytes) -> bool:
    """Return whether this user signed `data` for `purpose`."""
    try:
        return hmac.compare_digest(sign(purpose, data), signature)
    except OSError:
        return False


def check_secret() -> None:
    """Raise OSError if this user has no secret, and none can be created."""
    _secret(secret_folder())


def secret_folder() -> str:
    """Return the folder of the secret."""
    return state_folder()


@cache
def _secret(folder: str) -> bytes:
    secret = read_or_create_private(folder, "secret", lambda: secrets.token_bytes(SIZE))
    if len(secret) != SIZE:
        raise OSError(0, f"'{folder}/secret' does not have {SIZE} bytes: remove it")
    return secret
