"""The published questions on code bases match their page."""

from collections import Counter

from tests.drills.evaluation.code_questions import PUBLISHED, read_questions

REPOSITORIES = ("wagtail", "cargo", "hugo", "mockito", "vue")


def test_published_questions_on_code():
    questions = [question for name in REPOSITORIES for question in read_questions(name)]
    counts = Counter(question.repository for question in questions)
    assert counts == {"wagtail": 50, "cargo": 25, "hugo": 25, "mockito": 15, "vue": 15}
    assert len(PUBLISHED.read_text(encoding="utf-8").splitlines()) == 1 + len(questions)
    assert len({question.question for question in questions}) == len(questions)
    for question in questions:
        assert question.question.endswith("?")
        assert question.paths and all(path and not path.startswith("/") for path in question.paths)
