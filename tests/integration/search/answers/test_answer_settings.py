"""Wrong settings of the model are told with the remedy: by Django's checks, the start and doctor."""

import pytest

from kebab.health.checks import CheckStatus
from kebab.stack import preparation
from search.answers.checks import check_model, check_settings
from search.answers.errors import ModelFailed
from tests.integration.search.answers.stub import replies, says

GOOD_URL = "http://127.0.0.1:8080/v1"


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("", {"model": ""}),
        (GOOD_URL, {}),
        ("http://[::1]:8080/v1/", {}),
        ("https://api.openai.com/v1/chat/completions", {"key": "sk-1_x", "limit_s": 55}),
    ],
)
def test_settings_that_can_be_right_have_no_problems(use_model_at, url, options):
    use_model_at(url, **options)
    assert check_settings() == []


@pytest.mark.parametrize(
    ("url", "options", "setting"),
    [
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
    ],
)
def test_a_setting_that_cannot_be_right_is_named_with_a_remedy(use_model_at, url, options, setting):
    use_model_at(url, **options)
    (found,) = check_settings()

    assert (found.obj, found.is_serious()) == (setting, True)
    assert found.msg.startswith(setting)
    assert found.hint
    assert "hidden" not in f"{found.msg} {found.hint}"
    assert check_model(False).status is CheckStatus.FAILED
    with pytest.raises(ModelFailed, match=setting):
        preparation.steps()["answers"]()


def test_doctor_has_the_model_say_a_word(use):
    stub = use(says("ready"))
    result = check_model(False)

    assert (result.status, result.detail) == (CheckStatus.OK, "parrot answered")
    assert len(stub.requests) == 1


def test_a_model_that_is_lost_is_a_warning(use):
    use(replies({}, status=401))
    result = check_model(False)

    assert (result.status, result.detail) == (CheckStatus.WARNING, "the model answered 401")
    assert result.remedy == "Check KEBAB_ANSWER_API_KEY."


def test_without_a_model_answers_are_extractive(use_model_at):
    use_model_at("", model="")
    assert check_model(False).status is CheckStatus.OK
