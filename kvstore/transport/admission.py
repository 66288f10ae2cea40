"""The admission of peers: keys from the run's token, and the answers to ZeroMQ's question (ZAP).

Every process has a key of its own kind: "worker 3" another than "worker 2", a server, the scheduler
and the supervisor others again. With CURVE a client proves that it has one of these, the listener
that it has that of its role, and everything is encrypted; so who has spoken is known of every
message.

Connections for values may go without encryption. Their password is used once: it is the HMAC, by
the key of who connects, of a number that the listener has drawn, which came to the client by an
encrypted way, and of one that the client draws for this one connection. Who reads it has nothing:
the listener lets nobody in by it again, and the next listener has drawn another number.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence
from typing import Any, Final, final

from hybridnet.kvstore.protocol.words import Peer
from hybridnet.kvstore.run_token import RunToken

#: Where ZeroMQ asks, in each context.
_ZAP_ADDRESS: Final = "inproc://zeromq.zap.01"
_DOMAIN: Final = b"hybridnet"
#: Bytes of a number that is drawn for one connection.
_NONCE: Final = 16


def _name(who: Peer | None) -> str:
    """Returns the text that keys are derived from; a rank that is not known yet is left out."""
    if who is None:
        return "task"
    return who.role if who.rank < 0 else f"{who.role} {who.rank}"


@final
class Admission:
    """The keys of a process.

    Args:
        token: of the run.
        library: the module zmq.
        me: who this process is, with rank -1 where it does not know that yet; None: one of many
            that are alike.
    """

    def __init__(self, token: RunToken, library: Any, me: Peer | None) -> None:
        self._token, self._library, self._me = token, library, me

    def listen(self, socket: Any) -> None:
        """Makes the address that a socket is bound to next ask for keys, and encrypt."""
        socket.zap_domain = _DOMAIN
        socket.curve_server = 1
        socket.curve_secretkey = self._secret("listens", self._me)

    def listen_in_clear(self, socket: Any) -> None:
        """Makes the address that a socket is bound to next ask for passwords, and not encrypt."""
        socket.zap_domain = _DOMAIN
        socket.plain_server = 1

    def connect(self, socket: Any, to: Peer) -> None:
        """Sets a socket up that is going to be connected to who listens with encryption."""
        own = self._secret("connects", self._me)
        socket.curve_serverkey = self._library.curve_public(
            self._secret("listens", None if self._me is None else to)
        )
        socket.curve_publickey = self._library.curve_public(own)
        socket.curve_secretkey = own

    def connect_in_clear(self, socket: Any, drawn: str) -> None:
        """Gives a socket the name and the password for its next connection, and for that only.

        Args:
            socket: is going to be connected to who listens without encryption.
            drawn: by who listens.
        """
        nonce = secrets.token_hex(_NONCE)
        socket.plain_username = f"{_name(self._me)} {nonce}".encode()
        socket.plain_password = self.proof(self._me, drawn, nonce).encode()

    def proof(self, who: Peer | None, drawn: str, nonce: str) -> str:
        """Returns what only who has the key of `who` can say of these numbers."""
        key = self._token.derive(f"in clear {_name(who)}")
        return hmac.new(key, f"{drawn} {nonce}".encode(), hashlib.sha256).hexdigest()

    def public(self, who: Peer | None) -> bytes:
        """Returns the 32 bytes of the key that somebody connects with."""
        key = self._library.curve_public(self._secret("connects", who))
        found: bytes = self._library.utils.z85.decode(key)
        return found

    def _secret(self, does: str, who: Peer | None) -> bytes:
        # Who listens is known by its role: those who connect need not know which of them it is.
        name = _name(who) if who is None or does == "connects" else who.role
        key: bytes = self._library.utils.z85.encode(self._token.derive(f"curve {name} {does}"))
        return key


@final
class Door:
    """Answers ZeroMQ's questions who may connect to the sockets of a context.

    Args:
        context: whose.
        library: the module zmq.
        admission: the keys of this process.
        admits: whom to let in.

    Attributes:
        drawn: a number that was drawn for this process, in hexadecimal digits.
        users: by what ZeroMQ calls the sender of a message, who it is, and whether the message
            came encrypted.
    """

    def __init__(
        self, context: Any, library: Any, admission: Admission, admits: Iterable[Peer | None]
    ) -> None:
        self._admission = admission
        self._by_key: dict[bytes, Peer | None] = {}
        self._by_name: dict[str, Peer | None] = {}
        self._used: set[str] = set()
        self.drawn = secrets.token_hex(_NONCE)
        self.users: dict[str, tuple[Peer | None, bool]] = {}
        for one in admits:
            name = _name(one)
            self._by_key[admission.public(one)] = self._by_name[name] = one
            self.users[f"{name} encrypted"] = one, True
            self.users[f"{name} in clear"] = one, False
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
            user = self._find(question)
            status = (b"200", b"OK") if user else (b"400", b"not of this run")
            self.socket.send_multipart([b"1.0", request, *status, user.encode(), b""])

    def _find(self, question: Sequence[bytes]) -> str:
        """Returns what the messages of who asks are marked with; "": it is not let in."""
        # version, request, domain, address, identity, mechanism, credentials
        if len(question) < 7 or question[2] != _DOMAIN:
            return ""
        mechanism, credentials = question[5], question[6:]
        if mechanism == b"CURVE" and len(credentials) == 1 and credentials[0] in self._by_key:
            return f"{_name(self._by_key[credentials[0]])} encrypted"
        if mechanism == b"PLAIN" and len(credentials) == 2:
            return self._find_in_clear(*credentials)
        return ""

    def _find_in_clear(self, username: bytes, password: bytes) -> str:
        name, _, nonce = username.decode("ascii", "replace").rpartition(" ")
        if name not in self._by_name or nonce in self._used:
            return ""
        proof = self._admission.proof(self._by_name[name], self.drawn, nonce)
        if not hmac.compare_digest(proof.encode(), password):
            return ""
        self._used.add(nonce)
        return f"{name} in clear"

    def close(self) -> None:
        """Stops answering."""
        self.socket.close()
