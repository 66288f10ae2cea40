"""A server of files on this machine, which can be told to misbehave."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Server:
    """A running server.

    Attributes:
        folder: what it serves.
        url: of the folder, without a slash at the end.
        requests: the paths that were asked for.
        misbehave: called with the handler of each request in place of an answer; it returns
            whether it has answered.
        gives_parts: whether it answers requests for parts of files with parts.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.requests: list[str] = []
        self.misbehave: Callable[[Any], bool] = lambda handler: False
        self.gives_parts = False
        server = self

        class Handler(SimpleHTTPRequestHandler):
            def __init__(self, *args: Any) -> None:
                super().__init__(*args, directory=str(folder))

            def do_GET(self) -> None:
                server.requests.append(self.path)
                if not server.misbehave(self) and not self.give_part():
                    super().do_GET()

            def end_headers(self) -> None:
                if server.gives_parts:
                    self.send_header("Accept-Ranges", "bytes")
                super().end_headers()

            def give_part(self) -> bool:
                wanted = self.headers.get("Range", "")
                if not server.gives_parts or not wanted:
                    return False
                content = (folder / self.path.lstrip("/")).read_bytes()
                first, _, last = wanted.removeprefix("bytes=").partition("-")
                begin, end = int(first), min(int(last or len(content)), len(content) - 1)
                part = content[begin : end + 1]
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {begin}-{end}/{len(content)}")
                self.send_header("Content-Length", str(len(part)))
                self.end_headers()
                self.wfile.write(part)
                return True

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        """Ends it; nothing is answered any more."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """Runs a server of a folder's files."""
    server = Server(folder)
    try:
        yield server
    finally:
        server.stop()
