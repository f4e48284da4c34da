"""A local HTTP server that answers every request alike and records it."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet, for which no client waits

    def do_GET(self):
        self._answer(b"")

    def do_POST(self):
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, body):
        has_token = self.headers.get("Authorization", "").startswith("Bearer kbb_")
        self.server.asked.append((self.path, has_token))
        self.server.bodies.append(body)
        self.send_response(self.server.status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


@contextmanager
def serving(status=200):
    """Run the server during the block; yield it, with lists `asked` and `bodies`, and its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    server.status, server.asked, server.bodies = status, [], []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
