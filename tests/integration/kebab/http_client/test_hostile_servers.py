"""Every outgoing client that works in a web process or a worker, against every hostile server."""

import importlib
import tracemalloc
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from smtplib import SMTPException
from time import monotonic

import pytest
from django.core.mail import EmailMessage
from django.test import Client

from kebab.encryption import encrypt
from kebab.http_client.connections import RequestFailed
from kebab.smtp import EmailBackend
from kebab.webhooks.delivery import _Sender
from kebab.webhooks.models import Delivery, Endpoint
from search.answers.model.configured import ModelFailed, chat_model
from search.embedders.endpoint import create_endpoint_embedder
from search.embedders.spec import parse_spec
from search.endpoints.settings import embed_endpoint, rerank_endpoint
from search.rerank.endpoint import make_endpoint_scorer
from search.rerank.options import RerankOptions
from search.retrieval.errors import EmbedderUnavailable, RerankerUnavailable
from tests.support.hostile_server import HOSTILITIES, Dialect, Harm, HostileServer, serving
from tests.support.runtime import renew_runtime

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

LIMIT_S = 1.0
#: What a client may take longer on a busy machine.
PATIENCE_S = 5.0
#: Python objects of one exchange; a web process has 350 MB.
MEMORY_BYTES = 64 * 1024**2


def send_webhook(server: HostileServer, settings) -> None:
    endpoint = Endpoint(url=server.url, sealed_secret=encrypt("whsec_aGFyYm91cg=="))
    sender = _Sender()
    try:
        sender.send(endpoint, Delivery(event_id=uuid.uuid4(), body="{}"))
    except RequestFailed:
        pass
    finally:
        sender.close()


def embed_query(server: HostileServer, settings) -> None:
    spec = parse_spec(f"openai:m?url={server.url}/v1/embeddings&dim=8&query_limit_s={LIMIT_S:g}")
    configured = embed_endpoint(model="m", url=spec.url, key=None, limit_s=LIMIT_S)
    embedder = create_endpoint_embedder(spec, configured, threads=1)
    try:
        with pytest.raises(EmbedderUnavailable):
            embedder.embed_query("tides")
    finally:
        embedder.close()


def rerank(server: HostileServer, settings) -> None:
    endpoint = replace(rerank_endpoint(needs_model=False), url=server.url)
    scorer = make_endpoint_scorer(RerankOptions(kind="tei", endpoint=endpoint))
    try:
        with pytest.raises(RerankerUnavailable):
            scorer.score("tides", ["high", "low"], limit_s=LIMIT_S)
    finally:
        scorer.close()


def ask_model(server: HostileServer, settings) -> None:
    settings.KEBAB_ANSWER_URL, settings.KEBAB_ANSWER_MODEL = f"{server.url}/v1", "m"
    settings.KEBAB_ANSWER_LIMIT_S = LIMIT_S
    renew_runtime()
    try:
        with pytest.raises(ModelFailed):
            list(chat_model().answer([{"role": "user", "content": "tides"}], lambda: None))
    finally:
        renew_runtime()


def sign_in(server: HostileServer, settings) -> None:
    settings.KEBAB_OIDC_ISSUER, settings.KEBAB_OIDC_NAME = server.url, "Harbour ID"
    settings.KEBAB_OIDC_CLIENT_ID = settings.KEBAB_OIDC_CLIENT_SECRET = "kebab"
    assert Client().get("/login/oidc").status_code in (400, 502)


def send_mail(server: HostileServer, settings) -> None:
    backend = EmailBackend(
        host="127.0.0.1", port=server.port, use_tls=False, username="", password="", timeout=10
    )
    with pytest.raises((OSError, SMTPException)):
        backend.send_messages([EmailMessage("Tides", "High.", to=["ada@example.org"])])


def _after_greeting(harm: Harm) -> Harm:
    def serve(exchange) -> None:
        exchange.send(b"220 ready\r\n")
        exchange.rfile.readline()
        harm(exchange)

    return serve


_MAIL_HARMS: Mapping[str, Harm] = {
    "flood": lambda exchange: exchange.send_for_ever(b"220-tides\r\n"),
    "long-line": lambda exchange: exchange.send_for_ever(b"220 tides"),
    "slow-line": lambda exchange: exchange.drip(b"220 tides"),
    "slow-lines": lambda exchange: exchange.drip(b"220-\r\n"),
    "silence": lambda exchange: exchange.hang(),
    "garbage": lambda exchange: exchange.send_for_ever(bytes(range(256))),
}
MAIL_SERVERS = {
    **{f"{name}-at-greeting": harm for name, harm in _MAIL_HARMS.items()},
    **{f"{name}-at-command": _after_greeting(harm) for name, harm in _MAIL_HARMS.items()},
}

#: A new outgoing client is added here.
CLIENTS: Sequence[Callable[[HostileServer, object], None]] = (
    send_webhook,
    embed_query,
    rerank,
    ask_model,
    sign_in,
)
PAIRS = [
    *((client, name, harm) for client in CLIENTS for name, harm in HOSTILITIES.items()),
    *((send_mail, name, harm) for name, harm in MAIL_SERVERS.items()),
]


@pytest.fixture(autouse=True)
def _limits(settings, monkeypatch):
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    monkeypatch.setattr("kebab.webhooks.delivery.REQUEST_LIMIT_S", LIMIT_S)
    monkeypatch.setattr("kebab.smtp.LIMIT_S", LIMIT_S)
    monkeypatch.setattr("kebab.accounts.oidc._EXCHANGES_LIMIT_S", LIMIT_S)
    importlib.import_module("search.answers.model.chat_model")  # takes seconds
    Client().get("/login")  # imports the views


@pytest.mark.parametrize(
    ("client", "harm"),
    [pytest.param(client, harm, id=f"{client.__name__}-{name}") for client, name, harm in PAIRS],
)
def test_http_client_stays_within_time_and_memory_limits(client, harm, settings):
    with serving(harm, Dialect()) as server:
        tracemalloc.start()
        begun_at = monotonic()
        try:
            client(server, settings)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert monotonic() - begun_at < LIMIT_S + PATIENCE_S
        assert peak_bytes < MEMORY_BYTES
        assert "/private" not in server.requested
