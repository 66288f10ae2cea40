"""The secret of a run: who has it may connect; everything that needs a key derives it from this."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from hybridnet.kvstore.errors import KVStoreError

#: The environment variable with a token itself, and the one with the path of a file that holds it.
TOKEN: Final = "HYBRIDNET_DIST_TOKEN"
TOKEN_FILE: Final = "HYBRIDNET_DIST_TOKEN_FILE"
_BYTES: Final = 32  # 256 bits, as many as a key of CURVE has


@final
@dataclass(frozen=True, slots=True)
class RunToken:
    """256 random bits, made anew for every run.

    The supervisor makes it and hands it to its processes in their environment, or in a file that
    only the user may read; it is never part of a command line, which everybody can see.

    Attributes:
        secret: the bits.
    """

    secret: bytes = field(repr=False)

    @staticmethod
    def new() -> RunToken:
        """Returns a token that nobody else has."""
        return RunToken(secrets.token_bytes(_BYTES))

    @staticmethod
    def from_text(text: str, where: str = TOKEN) -> RunToken:
        """Reads what `text` has written.

        Args:
            text: 64 hexadecimal digits.
            where: what the text came from, for the message.

        Raises:
            KVStoreError: it is something else.
        """
        try:
            secret = bytes.fromhex(text.strip())
        except ValueError:
            secret = b""
        if len(secret) != _BYTES:
            raise KVStoreError(
                f"{where} must hold {2 * _BYTES} hexadecimal digits, got {len(text.strip())} "
                "characters; hybridnet launch makes a token, and "
                'python -c "import secrets; print(secrets.token_hex(32))" makes one by hand'
            )
        return RunToken(secret)

    @staticmethod
    def from_environment(environ: Mapping[str, str]) -> RunToken | None:
        """Returns the token that an environment holds or names; None if it does neither.

        Raises:
            KVStoreError: it is no token, or others may read the file.
        """
        text = environ.get(TOKEN, "").strip()
        if text:
            return RunToken.from_text(text)
        path = environ.get(TOKEN_FILE, "").strip()
        return RunToken.from_file(Path(path)) if path else None

    @staticmethod
    def from_file(path: Path) -> RunToken:
        """Reads a file that `write` has written.

        Raises:
            KVStoreError: it cannot be read, others than its owner may read or write it, or it holds
                no token.
        """
        try:
            with path.open(encoding="utf-8") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                text = file.read(4 * _BYTES)
        except OSError as error:
            raise KVStoreError(f"{TOKEN_FILE}: {path}: {error.strerror}") from error
        except UnicodeDecodeError:
            raise KVStoreError(f"{TOKEN_FILE}: {path} holds no token") from None
        if mode & 0o077:
            raise KVStoreError(
                f"{TOKEN_FILE}: {path} must be readable by its owner only (mode 0600), got "
                f"{mode:04o}; run chmod 600 {path}"
            )
        return RunToken.from_text(text, f"{TOKEN_FILE}: {path}")

    def write(self, path: Path) -> None:
        """Writes the token to a new file that only the user may read.

        Raises:
            OSError: the file exists, or cannot be written.
        """
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(self.text + "\n")

    @property
    def text(self) -> str:
        """The token as 64 hexadecimal digits."""
        return self.secret.hex()

    @property
    def run(self) -> bytes:
        """16 bytes that tell this run from others, and may be seen by anybody."""
        return self.derive("run")[:16]

    def derive(self, purpose: str) -> bytes:
        """Returns 32 bytes for a purpose: they tell nothing of the token or of other purposes."""
        return hashlib.blake2b(purpose.encode(), key=self.secret, digest_size=_BYTES).digest()
