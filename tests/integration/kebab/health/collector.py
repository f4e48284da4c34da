"""A collector of traces that keeps what it is sent, as OTLP over HTTP has it."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """Spans that have been sent so far."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self.bodies: list[bytes] = []

    @property
    def url(self) -> str:
        """The address at which it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def spans(self) -> list[tuple[str, Any]]:
        """Return all spans, each with the role of the process that took it."""
        found = []
        for body in list(self.bodies):
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                known = {each.key: each.value.string_value for each in resource.resource.attributes}
                spans = [span for scope in resource.scope_spans for span in scope.spans]
                found += [(known["kebab.role"], span) for span in spans]
        return found

    @contextmanager
    def running(self) -> Iterator["Collector"]:
        """Listen while the block runs."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


def _handler_of(collector: Collector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            is_packed = self.headers.get("Content-Encoding") == "gzip"
            collector.bodies.append(gzip.decompress(body) if is_packed else body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return Handler
