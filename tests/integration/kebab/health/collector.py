"""A trace collector that stores what it receives as OTLP over HTTP."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector(ThreadingHTTPServer):
    """Keeps the bodies that were sent so far."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[bytes] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        """Return the address at which the collector listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def spans(self) -> list[tuple[str, Any]]:
        """Return all spans, each with the role of the process that took it."""
        found = []
        for body in list(self.bodies):
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                known = {each.key: each.value.string_value for each in resource.resource.attributes}
                spans = [span for scope in resource.scope_spans for span in scope.spans]
                found += [(known["kebab.role"], span) for span in spans]
        return found


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_packed = self.headers.get("Content-Encoding") == "gzip"
        self.server.bodies.append(gzip.decompress(body) if is_packed else body)
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass
