"""Wrong settings are reported by Django's checks, at the start, by doctor and by each search."""

import pytest
from django.core.checks import run_checks

from kebab.contributions import contributions
from kebab.health.checks import CheckStatus
from search.rerank.checks import check_reranker, check_settings
from search.rerank.configured import reranker
from search.rerank.options import RerankOptions
from search.retrieval.errors import RerankerUnavailable
from tests.integration.search.rerank.behaviours import raw, tei
from tests.integration.search.rerank.tiny_cross_encoder import make_model
from tests.support.http_stub import serving
from tests.support.runtime import renew_runtime

GOOD_URL = "http://127.0.0.1:8080/rerank"
RIGHT = [
    ("none", {}),
    ("local", {"model": "/srv/models/minilm"}),
    ("tei", {"url": GOOD_URL}),
    ("tei", {"url": "http://[::1]:8080"}),
    ("jina", {"url": "https://api.jina.ai/v1/rerank", "model": "m", "api_key": "jina_x-y"}),
    ("cohere", {"url": "https://api.cohere.com/v2", "model": "m", "api_key": "k"}),
    ("siliconflow", {"url": "https://api.siliconflow.cn/v1/rerank", "model": "m", "api_key": "k"}),
]
# The kind, its options, and the one setting that is wrong in them.
WRONG = [
    ("TEI", {}, "KEBAB_RERANKER"),
    ("", {}, "KEBAB_RERANKER"),
    ("local", {}, "KEBAB_RERANK_MODEL"),
    *(
        ("tei", {"url": url}, "KEBAB_RERANK_URL")
        for url in (
            "",
            "127.0.0.1:8080",
            "ftp://127.0.0.1/rerank",
            "file:///etc/passwd",
            "http://",
            "http://[::1",
            "http://host:99999",
            "http://user:hidden@host/rerank",
        )
    ),
    *((kind, {"url": GOOD_URL}, "KEBAB_RERANK_MODEL") for kind in ("jina", "cohere", "siliconflow")),
    ("tei", {"url": GOOD_URL, "api_key": "hidden\r\nX-More: 1"}, "KEBAB_RERANK_API_KEY"),
    ("tei", {"url": GOOD_URL, "api_key": "hidden ключ"}, "KEBAB_RERANK_API_KEY"),
    ("tei", {"url": GOOD_URL, "limit_ms": 0}, "KEBAB_RERANK_LIMIT_MS"),
    ("tei", {"url": GOOD_URL, "limit_ms": 60_001}, "KEBAB_RERANK_LIMIT_MS"),
]


@pytest.fixture
def choose(settings):
    """Return a function that sets the reranker's settings and resets its cache."""
    names = ("url", "model", "api_key", "limit_ms")
    before = {name: getattr(settings, f"KEBAB_RERANK_{name}".upper()) for name in names}

    def set_(kind, **given):
        settings.KEBAB_RERANKER = kind
        for name, value in {**before, **given}.items():
            setattr(settings, f"KEBAB_RERANK_{name}".upper(), value)
        renew_runtime()

    yield set_
    renew_runtime()


def test_valid_settings_pass_the_check(choose, subtests):
    for kind, given in RIGHT:
        choose(kind, **given)
        with subtests.test(kind=kind, given=given):
            assert check_settings() == []


def test_wrong_setting_is_named_with_a_remedy_everywhere(choose, subtests):
    for kind, given, setting in WRONG:
        choose(kind, **given)
        with subtests.test(kind=kind, given=given):
            (found,) = check_settings()
            assert (found.obj, found.is_serious()) == (setting, True)
            assert found.msg.startswith(setting)
            assert found.hint
            assert "hidden" not in found.msg + found.hint
            with pytest.raises(RerankerUnavailable, match=setting):
                dict(contributions("init_steps"))["reranker"]()
            doctor = check_reranker(repair=False)
            assert (doctor.status, doctor.remedy) == (CheckStatus.FAILED, found.hint)
            with pytest.raises(RerankerUnavailable):
                reranker().rerank("q", ["p"])


def test_several_problems_are_reported_together(choose):
    choose("cohere", limit_ms=0)
    assert {each.setting for each in RerankOptions.from_settings().problems()} == {
        "KEBAB_RERANK_URL",
        "KEBAB_RERANK_MODEL",
        "KEBAB_RERANK_LIMIT_MS",
    }


def test_django_checks_include_the_reranker(choose):
    choose("cohere", limit_ms=0)
    assert "search.E001" in {message.id for message in run_checks()}


def test_written_address_is_permitted_and_a_name_must_be_listed(choose, settings, subtests):
    for url, hosts, private in [
        ("http://127.0.0.1:8080", (), {"127.0.0.1"}),
        ("http://LOCALHOST:8080", (), {"localhost"}),
        ("http://tei:8080", (), set()),
        ("http://tei:8080", ("tei",), {"tei"}),
    ]:
        settings.KEBAB_PRIVATE_HOSTS = frozenset(hosts)
        choose("tei", url=url)
        with subtests.test(url=url, hosts=hosts):
            assert RerankOptions.from_settings().endpoint.private_hosts == private


def test_doctor_passes_without_a_reranker(choose):
    choose("none")
    assert check_reranker(repair=False).status == CheckStatus.OK
    assert reranker() is None


def test_doctor_tries_the_endpoint(choose):
    with serving(tei(len)) as stub:
        choose("tei", url=stub.url)
        assert (check_reranker(repair=False).status, len(stub.requests)) == (CheckStatus.OK, 1)
        stub.behaviour = raw(b"{}", status=401)
        found = check_reranker(repair=False)
    assert (found.status, "401" in found.detail) == (CheckStatus.WARNING, True)
    assert "KEBAB_RERANK_API_KEY" in found.remedy


def test_doctor_tries_the_local_model(choose, tmp_path):
    choose("local", model=str(tmp_path))
    assert check_reranker(repair=False).status == CheckStatus.WARNING
    make_model(tmp_path)
    assert check_reranker(repair=False).status == CheckStatus.OK
