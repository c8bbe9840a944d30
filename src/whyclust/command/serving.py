"""A folder of results in the browser: on this machine only, nothing but its files, nothing written."""

from __future__ import annotations

import threading
import webbrowser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from whyclust.command.result_files import AUDIT_FILES, FILES

# Only this machine can ask.
ADDRESS = "127.0.0.1"
_KINDS = {".html": "text/html; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".json": "application/json"}


def server_of(folder: Path, port: int) -> ThreadingHTTPServer:
    """Return a server of the files of a result; it answers requests for this machine by its own name only.

    Another page in the reader's browser may send requests here under a name of its own (DNS rebinding), so
    the name in the request is checked.

    Parameters
    ----------
    folder : pathlib.Path
        What ``whyclust explain`` wrote.
    port : int
        0 takes a free one.
    """
    if not (folder / "report.html").is_file():
        raise ValueError(
            f"there is no report.html in '{folder}': pass the folder that whyclust explain wrote (--out)."
        )

    class Handler(_Handler):
        served = folder

    try:
        return ThreadingHTTPServer((ADDRESS, port), Handler)
    except OSError as error:
        raise ValueError(
            f"port {port} cannot be used ({error.strerror}): name another with --port."
        ) from error


def serve(folder: Path, port: int, *, show: bool, told: Any) -> None:
    """Serve until interrupted; `told` is called with the address."""
    server = server_of(folder, port)
    address = f"http://{ADDRESS}:{server.server_address[1]}/"
    told(address)
    if show:
        threading.Timer(0.2, webbrowser.open, [address]).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Answers with the files of one folder, by their names."""

    served: Path
    server_version = "whyclust"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        port = self.server.server_address[1]  # type: ignore[index]
        if self.headers.get("Host") not in (f"{ADDRESS}:{port}", f"localhost:{port}"):
            self._refuse(HTTPStatus.FORBIDDEN, "This server answers to 127.0.0.1 and localhost only.")
            return
        name = self.path.split("?")[0].lstrip("/") or "report.html"
        # Names of results only: no path leads out of the folder.
        if name not in (*FILES, *AUDIT_FILES) or not (self.served / name).is_file():
            self._refuse(HTTPStatus.NOT_FOUND, "There is no such file.")
            return
        content = (self.served / name).read_bytes()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", _KINDS.get(Path(name).suffix, "application/octet-stream"))
        self.send_header("Content-Length", str(len(content)))
        self._be_careful()
        self.end_headers()
        if with_body:
            self.wfile.write(content)

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        content = sentence.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self._be_careful()
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def _be_careful(self) -> None:
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: the terminal is the reader's."""
