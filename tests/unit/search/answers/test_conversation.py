"""The subject that a follow-up carries from the questions before it."""

import uuid

from search.analysis import STEMMED
from search.answers.answerability import keeps_subject, weigh_words
from search.answers.conversation import AskedTurn, Conversation, find_asked
from search.answers.focus import Question
from search.answers.passages import terms_of
from search.retrieval.text.unicode_scripts import words_of


def turn(question, title, text="", doc_id=None):
    return AskedTurn(
        question=question,
        doc_id=title if doc_id is None else doc_id,
        place_terms=terms_of(title, STEMMED),
        terms=terms_of(f"{title}\n{text}", STEMMED),
    )


def resolve(message, *turns):
    """Resolve a message after turns, the newest first."""
    asked = find_asked(turns, [word for each in turns for word in words_of(each.question)])
    return Conversation(id=uuid.uuid4(), asked=asked).resolve(message)


KETTLE = turn("What does the Aurora kettle cost?", "Aurora kettle", "It costs 39 euros.")
KESSEL = turn("Was kostet der Wasserkocher Alba?", "Wasserkocher Alba", "Er kostet 45 Euro.")


def test_subject_is_carried_through_any_number_of_turns():
    for first, follow_up in ((KETTLE, "And the warranty?"), (KESSEL, "Und die Garantie?")):
        later = [turn(f"{follow_up[:-1]} {n}?", first.doc_id) for n in range(50)]
        subject = resolve(follow_up, *later, first).question.subject
        assert subject.startswith(first.question)


def test_question_that_stands_alone_carries_nothing():
    for first, question in (
        (KETTLE, "Who approves annual leave requests?"),
        (KESSEL, "Wer genehmigt den Antrag auf Urlaub im Sommer?"),
    ):
        assert resolve(question, first).question == Question(asking=question)


def test_long_question_that_refers_back_carries_the_subject():
    for first, question in (
        (KETTLE, "How long does delivery to Norway take for it?"),
        (KESSEL, "Wie lange dauert die Lieferung nach Wien dafür?"),
    ):
        resolved = resolve(question, first)
        assert (resolved.question.subject, resolved.least_share) == (first.question, None)


def test_another_thing_that_a_follow_up_named_replaces_the_first():
    for turns, follow_up, subject in (
        (
            (turn("And the Borealis?", "Borealis", "It costs 59 euros."), KETTLE),
            "And its colour?",
            "Borealis",
        ),
        ((turn("Und die Brise?", "Brise", "Sie kostet 65 Euro."), KESSEL), "Und die Farbe?", "Brise"),
    ):
        carried = resolve(follow_up, *turns).question.subject
        assert subject in carried
        assert not {"Aurora", "Alba", "Wasserkocher"} & set(carried.split())


def test_short_question_that_cited_another_document_begins_a_topic():
    parking = turn("parking permits", "Parking permits")
    assert resolve("How long are they valid?", parking, KETTLE).question.subject == "parking permits"


def words_about(subject, asking, content):
    asked = Question(asking=asking, subject=subject, content=frozenset(content.split()))
    return weigh_words(asked.text, STEMMED, lambda terms: {}, 1_000, asked=asked)


def test_subject_is_kept_if_the_passage_with_the_own_words_is_about_it():
    words = words_about("Aurora kettle", "warranty?", "warranty")
    about = terms_of("The warranty of the Aurora kettle", STEMMED)
    other = terms_of("The warranty of the toaster", STEMMED)
    assert keeps_subject(words, [about], 0.5)
    assert keeps_subject(words, [other, about], 0.5)
    assert not keeps_subject(words, [other], 0.5)
    assert keeps_subject(words, [terms_of("Aurora kettle", STEMMED)], 0.5)


def test_words_of_the_subject_weigh_less_than_the_others():
    words = {
        word.positions[0][0]: word for word in words_about("Aurora kettle", "how long warranty?", "warranty")
    }
    assert words["warranti"].weight > words["kettl"].weight > words["long"].weight
    assert [each.is_carried for each in (words["warranti"], words["kettl"])] == [False, True]
