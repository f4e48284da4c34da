"""Tables of evaluation: cascades and database constraints."""

import pytest
from django.db import IntegrityError, transaction

from kebab.people.workspaces import delete_workspace
from search.evaluation.feedback import record_feedback
from search.evaluation.run_topics import evaluate
from search.evaluation.runs import execute_run, open_run
from search.evaluation.settings import RunSettings
from search.evaluation.topic_sets import judged_topics, store_topics
from search.models import Feedback, Judgement, Run, RunTopic, Source, Topic
from tests.integration.search.evaluation.callers import operator_of, topic
from tests.support.corpus import make_workspace, write

MODELS = (Topic, Judgement, Run, RunTopic, Feedback)
LEXICAL = RunSettings.of({"mode": "lexical"})


def fill(workspace):
    """Write a row to each table."""
    access = operator_of(workspace)
    write(workspace, "apples.md", "apple harvest")
    store_topics(access, [topic("q", "apple", "apples.md")])
    open_run(access, judged_topics(access), LEXICAL, topic_set="golden")
    record_feedback(access, query="apple", source="docs", citation="apples.md", is_relevant=True)


def counts(workspace):
    return [model.objects.in_workspace(workspace).count() for model in MODELS]


def test_evaluation_rows_are_deleted_only_with_their_workspace(workspace):
    other = make_workspace()
    for each in (workspace, other):
        fill(each)
    workspace_id = workspace.pk
    delete_workspace(operator_of(workspace))
    assert counts(workspace_id) == [0] * 5
    assert counts(other) == [1] * 5


def test_reference_into_another_workspace_and_unknown_value_are_refused(workspace, subtests):
    other = make_workspace()
    for each in (workspace, other):
        fill(each)
    theirs = {model: model.objects.in_workspace(other).get() for model in MODELS}
    for model, change, message in (
        (Judgement, {"topic_id": theirs[Topic].pk}, "_fk"),
        (Judgement, {"source_id": theirs[Judgement].source_id}, "_fk"),
        (RunTopic, {"run_id": theirs[Run].pk}, "_fk"),
        (Feedback, {"source_id": theirs[Feedback].source_id}, "_fk"),
        (Topic, {"origin": "elsewhere"}, "topic_origin_known"),
        (Run, {"state": "asleep"}, "run_state_known"),
    ):
        refused = pytest.raises(IntegrityError, match=message)
        with subtests.test(model=model, change=change), refused, transaction.atomic():
            model.objects.in_workspace(workspace).update(**change)


def test_a_run_of_one_workspace_never_answers_from_another(orchard):
    other = make_workspace()
    write(other, "others.md", "apple harvest of somebody else")
    asked = [topic("q", "apple harvest")]
    (found,) = evaluate(orchard, asked, LEXICAL).topics
    assert {each.document.path for each in found.ranking} == {"apples.md", "pears.md"}


def test_a_run_keeps_what_it_found_when_the_documents_go(orchard, access):
    store_topics(access, [topic("q", "apple", "apples.md")])
    run = execute_run(
        open_run(access, judged_topics(access), LEXICAL, topic_set="golden"), reader=access.reader
    )
    figures = run.figures
    Source.objects.in_workspace(orchard).delete()
    Topic.objects.in_workspace(orchard).delete()
    run.refresh_from_db()
    assert run.figures == figures
    assert RunTopic.objects.in_workspace(orchard).get().ranking[0][2] == "apples.md"
