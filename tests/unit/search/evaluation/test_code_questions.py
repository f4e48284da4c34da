"""The published questions on code bases are as their page says."""

from collections import Counter

from tests.drills.evaluation.code_questions import PUBLISHED, read_questions

REPOSITORIES = ("wagtail", "cargo", "hugo", "mockito", "vue")


def every_question():
    return [question for name in REPOSITORIES for question in read_questions(name)]


def test_fifty_questions_are_on_one_repository_and_eighty_on_four_others():
    counts = Counter(question.repository for question in every_question())
    assert counts == {"wagtail": 50, "cargo": 25, "hugo": 25, "mockito": 15, "vue": 15}


def test_no_line_is_of_another_repository():
    assert len(PUBLISHED.read_text(encoding="utf-8").splitlines()) == 1 + len(every_question())


def test_each_question_is_asked_once_and_has_files_that_answer_it():
    questions = every_question()
    assert len({question.question for question in questions}) == len(questions)
    for question in questions:
        assert question.question.endswith("?")
        assert question.paths and all(path and not path.startswith("/") for path in question.paths)
