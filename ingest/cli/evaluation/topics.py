"""`kebab eval topics import | list | export | delete | from-feedback`."""

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ingest.cli.evaluation.subcommands import Options, Subcommand
from kebab.cli.client.ingest_targets import existing_path
from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError
from kebab.cli.output import plain, table
from kebab.exit_codes import Exit
from kebab.identity.models import Workspace
from kebab.people.operator import command_line_access
from search.evaluation.feedback import FEEDBACK_SET, store_topics_from_feedback
from search.evaluation.formats import golden, trec
from search.evaluation.formats.trec import read_topics
from search.evaluation.judged import JudgedTopic, TopicCollection
from search.evaluation.topic_sets import (
    TopicChanges,
    delete_topic,
    delete_topics,
    find_topic,
    judged_topics,
    list_sets,
    store_topics,
    visible_topics,
    with_judgements,
)
from search.models import Topic
from search.models.evaluation import GOLDEN

_COLUMNS = ("set", "topic_id", "query", "judgements", "is_unanswerable", "origin")
_FORMATS = ("golden", "trec", "beir")


def _add_set_argument(parser: argparse.ArgumentParser, text: str, **options: Any) -> None:
    parser.add_argument("--set", metavar="S", help=text, **options)


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        type=existing_path,
        metavar="FILE|DIR",
        help="a golden file (.yaml), TREC topics (.tsv or tags) with --qrels, or a folder in BEIR's layout",
    )
    parser.add_argument("--qrels", type=existing_path, metavar="FILE", help="the judgements of TREC topics")
    _add_set_argument(parser, f"the set they are of (what the file says, or {GOLDEN})")


def _import(command: KebabCommand, workspace: Workspace, options: Options) -> int:
    found = read_topics(options["path"], options["qrels"])
    name = options["set"] or found.topic_set or GOLDEN
    return _answer_stored(
        command, name, store_topics(command_line_access(workspace), found.topics, topic_set=name)
    )


def _answer_stored(command: KebabCommand, name: str, kept: TopicChanges) -> int:
    facts = {"schema_version": "eval_topics_kept.v1", "set": name, **asdict(kept)}
    counts = f"{kept.added} added, {kept.changed} changed, {kept.unchanged} unchanged"
    return command.answer(facts, plain(f"Topics of {name}: {counts}."))


def _list(command: KebabCommand, workspace: Workspace, options: Options) -> int:
    access = command_line_access(workspace)
    rows = list(visible_topics(access, options["set"]).order_by("topic_set", "topic_id"))
    topics = [_topic_facts(*pair) for pair in zip(rows, with_judgements(access, rows), strict=True)]
    if command.as_json:
        summaries = [each for each in list_sets(access) if options["set"] in (None, each.topic_set)]
        sets = [{"set": facts.pop("topic_set"), **facts} for facts in map(asdict, summaries)]
        command.print_json({"schema_version": "eval_topics.v1", "sets": sets, "topics": topics})
        return Exit.DONE
    shown = [{**each, "judgements": len(each["judgements"])} for each in topics]
    command.console.print(table(_COLUMNS, shown))
    return Exit.DONE


def _topic_facts(row: Topic, judged: JudgedTopic) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "set": row.topic_set,
        "topic_id": row.topic_id,
        "query": row.text,
        "filters": row.filters,
        "is_unanswerable": row.is_unanswerable,
        "judgements": [asdict(each) for each in judged.qrels],
        "origin": row.origin,
        "created_by": row.created_by,
        "created_at": row.created_at,
    }


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    _add_set_argument(parser, f"the set ({GOLDEN})", default=GOLDEN)
    parser.add_argument("--format", choices=_FORMATS, default="golden", help="golden")
    parser.add_argument(
        "--to", type=Path, metavar="PATH", help="a file for golden, else a folder (standard output)"
    )


def _export(command: KebabCommand, workspace: Workspace, options: Options) -> int:
    topics = judged_topics(command_line_access(workspace), options["set"])
    if not topics:
        raise CliError(
            f"There is no topic in the set {options['set']!r}; see: kebab eval topics list",
            code="no_topics",
            exit_code=Exit.NOTHING,
        )
    files = _files(TopicCollection(topics=tuple(topics), topic_set=options["set"]), options["format"])
    target: Path | None = options["to"]
    if target is None:
        for text in files.values() if not command.as_json else ():
            command.console.print(plain(text), end="")
        if command.as_json:
            command.print_json({"schema_version": "eval_topics_export.v1", "files": files})
        return Exit.DONE
    written = _write_files(files, target, is_file=options["format"] == "golden")
    facts = {"schema_version": "eval_topics_export.v1", "written": written}
    return command.answer(facts, plain(f"Wrote {', '.join(written)}."))


def _files(found: TopicCollection, format_: str) -> Mapping[str, str]:
    if format_ == "golden":
        return {"golden.yaml": golden.write_golden(found)}
    if format_ == "trec":
        return {"topics.tsv": trec.write_topics(found.topics), "qrels.txt": trec.write_qrels(found.topics)}
    return dict(trec.write_beir(found.topics))


def _write_files(files: Mapping[str, str], target: Path, *, is_file: bool) -> list[str]:
    """Write the files into the folder `target`, or the single file to it, and return their paths."""
    paths = [target] if is_file else [target / name for name in files]
    try:
        for path, text in zip(paths, files.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"{error.filename or target} can't be written: {error.strerror}.") from error
    return [str(path) for path in paths]


def _delete_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topics", nargs="*", metavar="ID", help="ids within the set")
    _add_set_argument(parser, "the set", required=True)
    parser.add_argument("--all", action="store_true", help="every topic of the set")


def _delete(command: KebabCommand, workspace: Workspace, options: Options) -> int:
    access, name, ids = command_line_access(workspace), options["set"], options["topics"]
    if bool(ids) == options["all"]:
        raise CliError("Name topics by their ids, or give --all; one of the two.")
    if options["all"]:
        deleted = delete_topics(access, name)
    else:
        for topic in [find_topic(access, name, topic_id) for topic_id in dict.fromkeys(ids)]:
            delete_topic(access, topic.pk)
        deleted = len(dict.fromkeys(ids))
    facts = {"schema_version": "eval_topics_deleted.v1", "set": name, "deleted": deleted}
    return command.answer(facts, plain(f"Deleted {deleted} of {name}."))


def _import_feedback(command: KebabCommand, workspace: Workspace, options: Options) -> int:
    return _answer_stored(
        command, options["set"], store_topics_from_feedback(command_line_access(workspace), options["set"])
    )


SUBCOMMANDS = (
    Subcommand(
        name="topics import",
        meaning="keep the topics of a file; one whose id the set knows is replaced",
        run=_import,
        add_arguments=_import_arguments,
    ),
    Subcommand(
        name="topics list",
        meaning="list topics",
        run=_list,
        add_arguments=lambda parser: _add_set_argument(parser, "of this set alone (all)"),
    ),
    Subcommand(
        name="topics export",
        meaning="write a set as the import takes it back",
        run=_export,
        add_arguments=_export_arguments,
    ),
    Subcommand(
        name="topics delete",
        meaning="delete topics with their judgements; runs stay",
        run=_delete,
        add_arguments=_delete_arguments,
    ),
    Subcommand(
        name="topics from-feedback",
        meaning="make topics of what people said of hits",
        run=_import_feedback,
        add_arguments=lambda parser: _add_set_argument(
            parser, f"the set ({FEEDBACK_SET})", default=FEEDBACK_SET
        ),
    ),
)
