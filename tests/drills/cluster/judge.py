"""Judgement of a scene by what its clients were answered and by what Postgres has afterwards."""

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tests.drills.cluster.cluster import Cluster
from tests.drills.hosts.client import Exchange
from tests.drills.hosts.scenes.audit import FAILED_JOBS, JOBS_LIMIT_S, OPEN_JOBS, mirror_faults
from tests.support.stack import GaveUp, eventually

_HOLES = """
SELECT slug, head_seq, count(seq), min(seq), max(seq) FROM people_workspace w
LEFT JOIN search_change c ON c.workspace_id = w.id GROUP BY w.id, slug, head_seq
HAVING count(seq) <> head_seq OR max(seq) <> head_seq
"""
_DOCUMENTS = "SELECT path, count(*) FROM search_document GROUP BY path"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The record of a scene."""

    is_synchronous: bool
    #: The node that was killed itself, whose clients may get no answer.
    victim: str
    writes: list[Exchange]
    searches: list[Exchange]


def judge(cluster: Cluster, scene: Scene, options: argparse.Namespace) -> None:
    """Record claims and figures of a scene that has ended."""
    report = cluster.report
    for what, exchanges, limit_s in (
        ("writes", scene.writes, options.write_gap_s),
        ("searches", scene.searches, options.search_gap_s),
    ):
        gap_s = longest_gap_s([each for each in exchanges if each.node != scene.victim])
        report.measure(f"gap of {what} in s", gap_s)
        report.claim(f"no gap of {what} above {limit_s:g} s", [gap_s] if gap_s > limit_s else [])
    _judge_answers(cluster, scene, options)
    try:
        eventually(lambda: not cluster.rows(OPEN_JOBS), "all jobs end", JOBS_LIMIT_S)
    except GaveUp as error:
        report.claim("all jobs end", [error])
    report.claim("no job failed", cluster.rows(FAILED_JOBS))
    _judge_writes(cluster, scene)
    report.claim("the change log is without holes", cluster.rows(_HOLES))
    for node in cluster.nodes:
        report.claim(f"the mirrors of {node.name} equal Postgres", mirror_faults(node))


def longest_gap_s(exchanges: Sequence[Exchange]) -> float:
    """Return the longest time for which clients of one node had no success, of all nodes."""
    gaps = [0.0]
    for node in {each.node for each in exchanges}:
        own = [each for each in exchanges if each.node == node]
        began_s, ended_s = min(each.began_s for each in own), max(each.ended_s for each in own)
        ends_s = sorted([began_s, *(each.ended_s for each in own if each.is_done), ended_s])
        gaps += [after_s - before_s for before_s, after_s in itertools.pairwise(ends_s)]
    return round(max(gaps), 1)


def _judge_answers(cluster: Cluster, scene: Scene, options: argparse.Namespace) -> None:
    report = cluster.report
    failed = [each for each in scene.searches if not each.is_done and each.node != scene.victim]
    began_s = min((each.began_s for each in scene.searches), default=0)
    share = round(100 * len(failed) / max(1, len(scene.searches)), 2)
    report.measure("searches", len(scene.searches))
    report.measure("failed searches in percent", share)
    report.measure("failed searches", [f"{each} at {each.began_s - began_s:.1f} s" for each in failed[:20]])
    above = [share] if share > options.failed_searches else []
    report.claim(f"no more than {options.failed_searches:g} % of searches fail", above)
    refused = [each for each in (*scene.writes, *scene.searches) if not each.is_done]
    report.claim(
        "who is not answered is refused with Retry-After",
        [each for each in refused if not each.is_put_off and each.node != scene.victim],
    )


def _judge_writes(cluster: Cluster, scene: Scene) -> None:
    report = cluster.report
    there = dict(cluster.rows(_DOCUMENTS))
    acknowledged = [each for each in scene.writes if each.is_done]
    lost = [each for each in acknowledged if each.path not in there]
    report.measure("acknowledged writes", len(acknowledged))
    report.measure("lost", len(lost))
    if lost:
        numbers = sorted(each.body["seq"] for each in lost if each.body.get("seq"))
        ranges = cluster.lost_ranges()
        report.measure("lost, with their change numbers", [[each.path for each in lost], numbers, ranges])
        missed = [n for n in numbers if not any(first <= n <= last for first, last in ranges)]
        report.claim("lost changes are listed", missed or ([] if ranges else ["no range"]))
    report.claim("a write is there once", [path for path, times in there.items() if times > 1])
    refused = [each for each in scene.writes if not each.is_done]
    report.measure("refused writes", len(refused))
    report.measure("refused writes that are there", sum(each.path in there for each in refused))
    if scene.is_synchronous:
        report.claim("no acknowledged write is lost", [each.path for each in lost])
