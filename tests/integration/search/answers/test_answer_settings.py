"""Wrong model settings are reported by Django's checks, at the start and by doctor."""

import pytest

from kebab.contributions import contributions
from kebab.health.checks import CheckStatus
from search.answers.model.configured import ModelFailed, check_model, check_settings
from tests.integration.search.answers.stub import replies, says

GOOD_URL = "http://127.0.0.1:8080/v1"


RIGHT = [
    ("", {"model": ""}),
    (GOOD_URL, {}),
    ("http://[::1]:8080/v1/", {}),
    ("https://api.openai.com/v1/chat/completions", {"key": "sk-1_x", "limit_s": 55}),
]
# Address, options, and the one setting that is wrong in them.
WRONG = [
    ("127.0.0.1:8080", {}, "KEBAB_ANSWER_URL"),
    ("ftp://127.0.0.1/v1", {}, "KEBAB_ANSWER_URL"),
    ("file:///etc/passwd", {}, "KEBAB_ANSWER_URL"),
    ("http://host:99999", {}, "KEBAB_ANSWER_URL"),
    ("http://user:hidden@host/v1", {}, "KEBAB_ANSWER_URL"),
    ("", {}, "KEBAB_ANSWER_URL"),
    (GOOD_URL, {"model": ""}, "KEBAB_ANSWER_MODEL"),
    (GOOD_URL, {"key": "hidden\r\nX-More: 1"}, "KEBAB_ANSWER_API_KEY"),
    (GOOD_URL, {"context_tokens": 1_499}, "KEBAB_ANSWER_CONTEXT_TOKENS"),
    (GOOD_URL, {"limit_s": 0}, "KEBAB_ANSWER_LIMIT_S"),
    (GOOD_URL, {"limit_s": 56}, "KEBAB_ANSWER_LIMIT_S"),
]


def test_valid_settings_pass_the_check(use_model_at, subtests):
    for url, options in RIGHT:
        use_model_at(url, **options)
        with subtests.test(url=url, options=options):
            assert check_settings() == []


def test_wrong_setting_is_named_with_a_remedy_everywhere(use_model_at, subtests):
    for url, options, setting in WRONG:
        use_model_at(url, **options)
        with subtests.test(url=url, options=options):
            (found,) = check_settings()
            assert (found.obj, found.is_serious()) == (setting, True)
            assert found.msg.startswith(setting)
            assert found.hint
            assert "hidden" not in f"{found.msg} {found.hint}"
            assert check_model(False).status is CheckStatus.FAILED
            with pytest.raises(ModelFailed, match=setting):
                dict(contributions("init_steps"))["answers"]()


def test_doctor_tries_the_model(use, use_model_at):
    stub = use(says("ready"))
    assert (check_model(False).status, len(stub.requests)) == (CheckStatus.OK, 1)
    use(replies({}, status=401))
    lost = check_model(False)
    assert (lost.status, "KEBAB_ANSWER_API_KEY" in lost.remedy) == (CheckStatus.WARNING, True)
    use_model_at("", model="")
    assert check_model(False).status is CheckStatus.OK
