"""Wrong settings are told with the remedy: by Django's checks, the start, doctor and the searches' log."""

import pytest
from django.core import checks as system_checks

from kebab.health.checks import CheckStatus
from kebab.stack import preparation
from search.rerank import configured_reranker
from search.rerank.checks import check_reranker, check_settings
from search.rerank.options import RerankOptions, problems
from search.retrieval.errors import RerankerUnavailable
from tests.integration.search.rerank.behaviours import raw, tei
from tests.integration.search.rerank.stub import serving
from tests.integration.search.rerank.tiny import make_model


@pytest.fixture
def choose(settings):
    """Choose the reranker's settings for one test."""

    def set_(kind, **given):
        settings.KEBAB_RERANKER = kind
        for name, value in given.items():
            setattr(settings, f"KEBAB_RERANK_{name}".upper(), value)
        configured_reranker.cache_clear()

    yield set_
    configured_reranker.cache_clear()


GOOD_URL = "http://127.0.0.1:8080/rerank"


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("none", {}),
        ("local", {"model": "/srv/models/minilm"}),
        ("tei", {"url": GOOD_URL}),
        ("tei", {"url": "http://[::1]:8080"}),
        ("jina", {"url": "https://api.jina.ai/v1/rerank", "model": "m", "api_key": "jina_x-y"}),
        ("cohere", {"url": "https://api.cohere.com/v2", "model": "m", "api_key": "k"}),
        ("siliconflow", {"url": "https://api.siliconflow.cn/v1/rerank", "model": "m", "api_key": "k"}),
    ],
)
def test_settings_that_can_be_right_have_no_problems(choose, kind, given):
    choose(kind, **given)
    assert check_settings() == []


@pytest.mark.parametrize(
    ("kind", "given", "setting"),
    [
        ("TEI", {}, "KEBAB_RERANKER"),
        ("", {}, "KEBAB_RERANKER"),
        ("local", {}, "KEBAB_RERANK_MODEL"),
        ("tei", {}, "KEBAB_RERANK_URL"),
        ("tei", {"url": "127.0.0.1:8080"}, "KEBAB_RERANK_URL"),
        ("tei", {"url": "ftp://127.0.0.1/rerank"}, "KEBAB_RERANK_URL"),
        ("tei", {"url": "file:///etc/passwd"}, "KEBAB_RERANK_URL"),
        ("tei", {"url": "http://"}, "KEBAB_RERANK_URL"),
        ("tei", {"url": "http://[::1"}, "KEBAB_RERANK_URL"),
        ("tei", {"url": "http://host:99999"}, "KEBAB_RERANK_URL"),
        ("tei", {"url": "http://user:hidden@host/rerank"}, "KEBAB_RERANK_URL"),
        ("jina", {"url": GOOD_URL}, "KEBAB_RERANK_MODEL"),
        ("cohere", {"url": GOOD_URL}, "KEBAB_RERANK_MODEL"),
        ("siliconflow", {"url": GOOD_URL}, "KEBAB_RERANK_MODEL"),
        ("tei", {"url": GOOD_URL, "api_key": "hidden\r\nX-More: 1"}, "KEBAB_RERANK_API_KEY"),
        ("tei", {"url": GOOD_URL, "api_key": "hidden ключ"}, "KEBAB_RERANK_API_KEY"),
        ("tei", {"url": GOOD_URL, "limit_ms": 0}, "KEBAB_RERANK_LIMIT_MS"),
        ("tei", {"url": GOOD_URL, "limit_ms": 60_001}, "KEBAB_RERANK_LIMIT_MS"),
    ],
)
def test_a_setting_that_cannot_be_right_is_named_with_a_remedy(choose, kind, given, setting):
    choose(kind, **given)

    (found,) = check_settings()
    assert (found.obj, found.is_serious()) == (setting, True)
    assert found.msg.startswith(setting)
    assert found.hint
    assert "hidden" not in found.msg + found.hint
    with pytest.raises(RerankerUnavailable, match=setting):
        preparation.steps()["reranker"]()
    doctor = check_reranker(repair=False)
    assert (doctor.status, doctor.remedy) == (CheckStatus.FAILED, found.hint)
    with pytest.raises(RerankerUnavailable, match="settings are wrong"):
        configured_reranker().rerank("q", ["p"])


def test_several_problems_are_told_together(choose):
    choose("cohere", limit_ms=0)
    assert {each.setting for each in problems(RerankOptions.from_settings())} == {
        "KEBAB_RERANK_URL",
        "KEBAB_RERANK_MODEL",
        "KEBAB_RERANK_LIMIT_MS",
    }


def test_djangos_checks_know_of_it(choose):
    choose("nonsense")
    assert "search.E001" in [each.id for each in system_checks.run_checks()]


@pytest.mark.parametrize(
    ("url", "hosts", "private"),
    [
        ("http://127.0.0.1:8080", (), {"127.0.0.1"}),
        ("http://LOCALHOST:8080", (), {"localhost"}),
        ("http://tei:8080", (), set()),
        ("http://tei:8080", ("tei",), {"tei"}),
    ],
)
def test_an_address_that_is_written_out_is_permitted_and_a_name_has_to_be_named(
    choose, settings, url, hosts, private
):
    settings.KEBAB_PRIVATE_HOSTS = frozenset(hosts)
    choose("tei", url=url)
    assert RerankOptions.from_settings().private_hosts == private


def test_without_a_reranker_doctor_is_content(choose):
    choose("none")
    assert check_reranker(repair=False).status == CheckStatus.OK
    assert configured_reranker() is None


def test_doctor_tries_the_endpoint(choose):
    with serving(tei(len)) as stub:
        choose("tei", url=stub.url)
        found = check_reranker(repair=False)
    assert (found.status, len(stub.requests)) == (CheckStatus.OK, 1)
    assert found.detail.startswith("tei scored a passage in ")


def test_doctor_tells_why_an_endpoint_refuses(choose):
    with serving(raw(b"{}", status=401)) as stub:
        choose("tei", url=stub.url)
        found = check_reranker(repair=False)
    assert found.status == CheckStatus.WARNING
    assert found.detail == "the reranker answered 401"
    assert "KEBAB_RERANK_API_KEY" in found.remedy


def test_doctor_tries_the_local_model(choose, tmp_path):
    choose("local", model=str(tmp_path))
    assert check_reranker(repair=False).status == CheckStatus.WARNING
    make_model(tmp_path)
    assert check_reranker(repair=False).status == CheckStatus.OK
