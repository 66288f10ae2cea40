"""A server of S3's protocol in a process of its own (moto's), behind a relay that counts bytes."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import s3fs

#: Who may ask; moto takes everybody unless it is told otherwise.
KEYS = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "secret"}
BUCKET = "bucket"


class Relay:
    """Hands on what is sent to a port, both ways.

    Attributes:
        port: where it listens.
        sent: bytes from clients to the server so far.
        received: bytes from the server to clients so far.
        reads: how often a client has asked for an object, or a part of one, so far.
        on_sent: called with `sent` before each piece is handed on to the server.
    """

    def __init__(self, target: int) -> None:
        self.sent = self.received = self.reads = 0
        self.on_sent: Callable[[int], None] = lambda sent: None
        self._target = target
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        with client, server:
            back = threading.Thread(target=self._hand_on, args=(server, client, False), daemon=True)
            back.start()
            self._hand_on(client, server, True)
            back.join()

    def _hand_on(self, source: socket.socket, target: socket.socket, up: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 18):
                with self._lock:
                    if up:
                        self.sent += len(data)
                        self.reads += data.startswith(b"GET ")
                    else:
                        self.received += len(data)
                if up:
                    self.on_sent(self.sent)
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class S3:
    """A running server with one bucket.

    Attributes:
        relay: what clients talk to.
        client: boto3's, which asks the server itself.
        env: what processes need to find it.
        log: the lines that the server has written.

    Args:
        env: of the server, beside this process's.
    """

    def __init__(self, **env: str) -> None:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        self._process = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
            env=os.environ | env,
        )  # fmt: skip
        self.log: list[str] = []
        port = None
        assert self._process.stderr is not None
        while port is None:
            line = self._process.stderr.readline()
            assert line, "moto did not start:\n" + "".join(self.log)
            self.log.append(line)
            port = re.search(r"Running on http://127.0.0.1:(\d+)", line)
        self._reader = threading.Thread(target=self._read_log)
        self._reader.start()
        self.relay = Relay(int(port[1]))
        self.env = {
            **KEYS,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.relay.port}",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        self.client: Any = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port[1]}",
            region_name="us-east-1",
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        )
        self.client.create_bucket(Bucket=BUCKET)

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        self.log.extend(self._process.stderr)

    def get(self, key: str) -> bytes:
        """Returns an object."""
        data: bytes = self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return data

    def names(self) -> list[str]:
        """Returns the keys of all objects."""
        return [
            one["Key"] for one in self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        ]

    def half_made(self) -> list[Any]:
        """Returns the multipart uploads that were neither completed nor aborted."""
        found: list[Any] = self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])
        return found

    def stop(self) -> None:
        """Ends it."""
        self.relay.close()
        self._process.terminate()
        self._process.wait()
        self._reader.join()
        assert self._process.stderr is not None
        self._process.stderr.close()


@contextlib.contextmanager
def s3_server(**env: str) -> Iterator[S3]:
    """Runs a server, which this process's s3fs finds.

    Args:
        env: of the server.
    """
    server = S3(**env)
    before = {name: os.environ.get(name) for name in server.env}
    os.environ.update(server.env)
    s3fs.S3FileSystem.clear_instance_cache()
    try:
        yield server
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        server.stop()
