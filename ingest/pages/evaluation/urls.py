"""URLs of the evaluation pages."""

from django.urls import path

from ingest.pages.evaluation.runs import RunPage, delete_run, repeat_run
from ingest.pages.evaluation.views import (
    EvaluationPage,
    FeedbackPage,
    NewRunPage,
    NewTopicPage,
    delete_chosen_topic,
)

_RUN = "w/<str:slug>/evaluation/runs/<uuid:run_id>"

urlpatterns = [
    path("w/<str:slug>/evaluation", EvaluationPage.as_view(), name="evaluation"),
    path("w/<str:slug>/evaluation/topics/new", NewTopicPage.as_view(), name="evaluation-topic-new"),
    path(
        "w/<str:slug>/evaluation/topics/<uuid:topic_id>/delete",
        delete_chosen_topic.as_view(),
        name="evaluation-topic-delete",
    ),
    path("w/<str:slug>/evaluation/feedback", FeedbackPage.as_view(), name="evaluation-feedback"),
    path("w/<str:slug>/evaluation/runs/new", NewRunPage.as_view(), name="evaluation-run-new"),
    path(_RUN, RunPage.as_view(), name="evaluation-run"),
    path(f"{_RUN}/repeat", repeat_run.as_view(), name="evaluation-run-repeat"),
    path(f"{_RUN}/delete", delete_run.as_view(), name="evaluation-run-delete"),
]
