"""Turns of endpoints: shared fairly between workspaces."""

import uuid
from collections import Counter

import pytest

from kebab.webhooks.delivery import DueEndpoint, Turns

A, B, C = (uuid.UUID(int=number) for number in range(3))


def due(workspace_id, count):
    return [DueEndpoint(workspace_id, uuid.uuid4()) for _ in range(count)]


def begin_all(turns):
    return list(iter(turns.begin, None))


@pytest.mark.parametrize(
    ("waiting", "begun"),
    [
        ({A: 20}, {A: 4}),
        ({A: 20, B: 20}, {A: 3, B: 3}),
        ({A: 20, B: 20, C: 20}, {A: 2, B: 2, C: 2}),
        ({A: 2, B: 20}, {A: 2, B: 3}),
    ],
)
def test_workspace_leaves_senders_to_others(waiting, begun):
    endpoints = [each for workspace_id, count in waiting.items() for each in due(workspace_id, count)]
    turns = begin_all(Turns(endpoints, senders=8))
    assert Counter(turn.workspace_id for turn in turns) == begun


def test_webhook_senders_are_shared_by_workspace():
    turns = Turns([*due(A, 20), *due(B, 1)], senders=1)
    first = turns.begin()
    turns.end(first, has_more=True)
    assert [first.workspace_id, turns.begin().workspace_id] == [A, B]


def test_last_idle_sender_is_for_a_workspace_without_any():
    turns = Turns([*due(A, 2), *due(B, 1)], senders=2)
    assert [turn.workspace_id for turn in begin_all(turns)] == [A, B]


def test_endpoint_waits_again_if_it_has_more():
    (endpoint,) = due(A, 1)
    turns = Turns([endpoint], senders=2)
    assert (turns.begin(), turns.begin()) == (endpoint, None)
    turns.end(endpoint, has_more=True)
    assert turns.begin() == endpoint
    turns.end(endpoint, has_more=False)
    assert turns.begin() is None
