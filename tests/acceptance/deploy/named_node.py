"""A node for tests of proxies, which answers every request with its name."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread


class NamedNode(ThreadingHTTPServer):
    """Answers with its name, a POST once its gate is set; `/readyz` with 503 while it drains."""

    def __init__(self, name: str, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.name = name
        self.is_draining = False
        self.gate = Event()
        self.gate.set()
        self.thread = Thread(target=self.serve_forever)
        self.thread.start()

    def handle_error(self, *_: object) -> None:
        """Ignore errors: health checks disconnect early."""

    def end(self) -> None:
        """Stop listening."""
        if self.thread.is_alive():
            self.shutdown()
            self.server_close()
            self.thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: NamedNode

    def do_GET(self) -> None:
        is_unready = self.server.is_draining and self.path == "/readyz"
        body = self.server.name.encode()
        self.send_response(503 if is_unready else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.server.gate.wait()
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Disable logging."""
