"""The authentication of a gang's processes before they speak: each proves that it has the token.

Each side draws a number, and answers the other's with a code that only who has the token can make.
The token itself is never sent. What is said afterwards is neither encrypted nor signed, as what
Gloo and NCCL carry is not either.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from typing import Any, Final, final

from hybridnet.base.errors import MXNetError
from hybridnet.kvstore.cluster import is_loopback
from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.run_token import TOKEN, TOKEN_FILE, RunToken
from hybridnet.kvstore.transport.json_words import check_depth
from hybridnet.kvstore.user_token import user_token

#: Bytes of a message at most whose sender has not shown the token.
HELLO: Final = 1024


class TalkError(ValueError):
    """A line that is no message."""


def read_line(line: bytes) -> dict[str, Any]:
    """Returns a message.

    Raises:
        TalkError: it is none, or is nested deeper than any is.
    """
    try:
        check_depth(line)
        message = json.loads(line)
    except (ValueError, RecursionError, KVStoreError) as error:
        raise TalkError(str(error)) from None
    if not isinstance(message, dict):
        raise TalkError("a message must be an object of JSON")
    return message


@final
class Secret:
    """The key by which a gang's processes know each other.

    Args:
        token: of the gang.
    """

    def __init__(self, token: RunToken) -> None:
        self.text = token.text
        self._key = token.derive("gang")

    @classmethod
    def from_text(cls, text: str) -> Secret:
        """Makes it of `text`."""
        return cls(RunToken.from_text(text))

    @staticmethod
    def nonce() -> str:
        """Returns a number that nobody has drawn before."""
        return secrets.token_hex(16)

    def proof(self, who: str, *nonces: str) -> str:
        """Returns what only who has the token can answer to two numbers.

        Args:
            who: which side it is, so that nobody sends the other's answer back.
            nonces: of the relay and of the rank.
        """
        said = "\n".join((who, *nonces)).encode(errors="replace")
        return hmac.new(self._key, said, hashlib.blake2b).hexdigest()

    def holds(self, proof: object, who: str, *nonces: str) -> bool:
        """Whether an answer is the right one."""
        right = self.proof(who, *nonces).encode()
        return isinstance(proof, str) and hmac.compare_digest(proof.encode(errors="replace"), right)


def secret_of(host: str) -> Secret:
    """Returns the key of this process's gang.

    Args:
        host: where rank 0 listens.

    Raises:
        MXNetError: there is no token, and other machines are addressed; or it cannot be read.
    """
    try:
        token = RunToken.from_environment(os.environ)
        if token is None and is_loopback(host):
            token = user_token()
    except KVStoreError as error:
        raise MXNetError(f"distributed.initialize: {error}") from error
    if token is None:
        raise MXNetError(
            f"distributed.initialize: a gang that other machines reach (rank 0 at {host}) requires "
            f"a secret: set {TOKEN}, or {TOKEN_FILE} to a file of mode 0600, to the same 64 "
            "hexadecimal digits in every process; hybridnet launch does. Before srun or mpirun: "
            f"export {TOKEN}=$(python -c 'import secrets; print(secrets.token_hex(32))'), and with "
            f"mpirun -x {TOKEN}"
        )
    return Secret(token)
