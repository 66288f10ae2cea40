"""Who may connect: keys derived from the run's token, and the answers to ZeroMQ's question (ZAP).

With CURVE, a client proves that it has the run's client key, and everything is encrypted. Sockets
for values that shall not pay for that ask for a password instead, which is derived from the token:
it and the values are visible to who can read the network. (`HYBRIDNET_DIST_ENCRYPT=1` for those.)
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from hybridnet.kvstore.run_token import RunToken

__all__ = ["Admission", "Door"]

#: Where ZeroMQ asks, in each context.
_ZAP_ADDRESS: Final = "inproc://zeromq.zap.01"
_DOMAIN: Final = b"hybridnet"


@final
@dataclass(frozen=True, slots=True)
class Admission:
    """Keys and the password of a run.

    Attributes:
        server_public: Z85, of all who listen.
        server_secret: Z85.
        client_public: Z85, of all who connect.
        client_secret: Z85.
        password: for values without encryption.
    """

    server_public: bytes
    server_secret: bytes
    client_public: bytes
    client_secret: bytes
    password: bytes

    @classmethod
    def of(cls, token: RunToken, library: Any) -> Admission:
        """Derives them from the token; `library` is the module zmq."""
        encode = library.utils.z85.encode
        server, client = (encode(token.derive(f"curve {who}")) for who in ("server", "client"))
        password = token.derive("values").hex().encode()
        public = library.curve_public
        return cls(public(server), server, public(client), client, password)

    def listen(self, socket: Any, *, encrypt: bool) -> None:
        """Sets a socket up that is going to be bound."""
        socket.zap_domain = _DOMAIN
        if encrypt:
            socket.curve_server = 1
            socket.curve_secretkey = self.server_secret
        else:
            socket.plain_server = 1

    def connect(self, socket: Any, *, encrypt: bool) -> None:
        """Sets a socket up that is going to be connected."""
        if encrypt:
            socket.curve_serverkey = self.server_public
            socket.curve_publickey = self.client_public
            socket.curve_secretkey = self.client_secret
        else:
            socket.plain_username = b"hybridnet"
            socket.plain_password = self.password


@final
class Door:
    """Answers ZeroMQ's questions who may connect to the sockets of a context.

    Args:
        context: whose.
        library: the module zmq.
        admission: whom to let in.
    """

    def __init__(self, context: Any, library: Any, admission: Admission) -> None:
        self._admission = admission
        self._client = library.utils.z85.decode(admission.client_public)
        self.socket = context.socket(library.REP)
        self.socket.linger = 0
        self.socket.bind(_ZAP_ADDRESS)
        self._noblock, self._again = library.NOBLOCK, library.Again

    def answer(self) -> None:
        """Answers all questions that are there."""
        while True:
            try:
                question = self.socket.recv_multipart(self._noblock)
            except self._again:
                return
            request = question[1] if len(question) > 1 else b""
            status = (b"200", b"OK") if self._admits(question) else (b"400", b"not of this run")
            self.socket.send_multipart([b"1.0", request, *status, b"", b""])

    def _admits(self, question: Sequence[bytes]) -> bool:
        """Whether who asks has the key or the password of this run."""
        # version, request, domain, address, identity, mechanism, credentials
        if len(question) < 7 or question[2] != _DOMAIN:
            return False
        mechanism, credentials = question[5], question[6:]
        if mechanism == b"CURVE" and len(credentials) == 1:
            return hmac.compare_digest(credentials[0], self._client)
        if mechanism == b"PLAIN" and len(credentials) == 2:
            return hmac.compare_digest(credentials[1], self._admission.password)
        return False

    def close(self) -> None:
        """Stops answering."""
        self.socket.close()
