"""Slack's exports: one Markdown document per channel and day, with its threads and the names of people.

Slack's help page "How to read Slack data exports" and its reference of message events describe the format. A
reply lies in the file of its own day: threads over several days link to each other.
"""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any, Final

from ingest.exports.types import PlainExport, front_matter, link_to

_PEOPLE: Final = ("users.json", "org_users.json")
_CHANNELS: Final = ("channels.json", "groups.json", "dms.json", "mpims.json")
_DAY: Final = re.compile(r"(?<![^/])([^/]+)/(\d{4}-\d\d-\d\d)\.json$")
_REFERENCE: Final = re.compile(r"<([@#!]?)([^<>|\n]+)(?:\|([^<>\n]*))?>")
_CODE: Final = re.compile(r"```\n?(.+?)\n?```", re.DOTALL)
#: messages that only report that somebody came, went or changed the channel
_EVENTS: Final = re.compile(
    r"(?:channel|group)_(?!topic|purpose)\w+|bot_(?:add|remove)|(?:un)?pinned_item|reminder_add|tombstone"
)
_TITLE_CHARS: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """A message: who wrote it and when, its text, and its place in a thread."""

    author: str
    sent: datetime
    text: str
    #: Time of the thread's first message; None outside threads.
    thread: datetime | None
    #: Times of the replies to it.
    replies: Sequence[datetime] = ()

    @property
    def starts_thread(self) -> bool:
        return self.thread == self.sent


class SlackExport(PlainExport):
    """A folder per channel with a file per day, beside lists of people and channels."""

    converted = (".json",)

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(paths)
        self.index_files = [path for path in (*_PEOPLE, *_CHANNELS) if path in self.paths]
        self._names: dict[str, str] = {}
        self._channels: dict[str, str] = {}
        #: Members of direct messages, by the folder.
        self._members: dict[str, Sequence[str]] = {}

    @staticmethod
    def find_roots(paths: Sequence[str]) -> Iterator[str]:
        """Yield the folders that hold a list of people, one of channels, and a day of a channel."""
        known = frozenset(paths)
        with_days = {path[: day.start()] for path in paths if (day := _DAY.search(path))}
        for path in paths:
            folder, name = posixpath.split(path)
            root = f"{folder}/" if folder else ""
            is_listed = name in _PEOPLE and any(root + channels in known for channels in _CHANNELS)
            if is_listed and root in with_days:
                yield root

    def read_index(self, path: str, content: bytes) -> None:
        """Read the names of people or channels."""
        for each in json.loads(content):
            if path in _PEOPLE:
                profile = each.get("profile") or {}
                names = (
                    profile.get("real_name"),
                    each.get("real_name"),
                    profile.get("display_name"),
                    each.get("name"),
                )
                self._names[each["id"]] = next((str(name) for name in names if name), str(each["id"]))
            elif path == "dms.json":
                self._members[each["id"]] = each.get("members") or ()
            else:
                self._channels[each["id"]] = each["name"]

    def document_path(self, path: str) -> str | None:
        """Return the path of a day as Markdown, those of attached files as they are; None for lists."""
        if _DAY.fullmatch(path):
            return f"{path.removesuffix('.json')}.md"
        return None if "/" not in path and path.endswith(".json") else path

    def convert(self, path: str, content: bytes) -> bytes:
        """Return the day as Markdown; empty if nobody wrote anything."""
        day = _DAY.fullmatch(path)
        if day is None:
            return content
        messages = [self._message(each) for each in json.loads(content) if _is_written(each)]
        if not messages:
            return b""
        fields = {
            "title": f"{self._title(day[1])}, {day[2]}",
            "author": list(dict.fromkeys(each.author for each in messages)),
            "created": messages[0].sent.isoformat(),
            "modified": messages[-1].sent.isoformat(),
            "channel": day[1],
        }
        return (front_matter(fields) + "".join(self._write(path, messages))).encode()

    def _title(self, folder: str) -> str:
        if folder in self._members:
            return "Direct messages: " + ", ".join(
                self._names.get(each, each) for each in self._members[folder]
            )
        return f"#{folder}"

    def _message(self, stated: Mapping[str, Any]) -> _Message:
        thread = stated.get("thread_ts")
        return _Message(
            author=self._author(stated),
            sent=_time(stated["ts"]),
            text=self._text(stated),
            thread=_time(thread) if thread else None,
            replies=[_time(each["ts"]) for each in stated.get("replies") or () if each.get("ts")],
        )

    def _author(self, stated: Mapping[str, Any]) -> str:
        user = str(stated.get("user") or "")
        profile = stated.get("user_profile") or stated.get("bot_profile") or {}
        names = (
            self._names.get(user),
            profile.get("real_name"),
            stated.get("username"),
            profile.get("name"),
            user,
        )
        return " ".join(next((name for name in names if name), "unknown").split())

    def _text(self, stated: Mapping[str, Any]) -> str:
        parts = [self._readable(str(stated.get("text") or ""))]
        for each in stated.get("attachments") or ():
            texts = [each.get(name) for name in ("pretext", "title", "text")]
            parts += [self._readable(str(text)) for text in texts if text] or [
                self._readable(str(each.get("fallback") or ""))
            ]
        names = [str(each.get("title") or each.get("name") or "") for each in stated.get("files") or ()]
        if any(names):
            parts.append(f"Attached: {', '.join(filter(None, names))}")
        return "\n\n".join(filter(None, (part.strip() for part in parts)))

    def _readable(self, text: str) -> str:
        """Return Slack's markup as Markdown, with names instead of ids."""
        return unescape(_REFERENCE.sub(self._reference, _CODE.sub(r"\n```\n\1\n```\n", text)))

    def _reference(self, found: re.Match[str]) -> str:
        kind, target, label = found[1], found[2], found[3] or ""
        if kind == "@":
            return f"@{self._names.get(target) or label or target}"
        if kind == "#":
            return f"#{label or self._channels.get(target, target)}"
        if kind == "!":
            return label or f"@{target.partition('^')[0]}"
        return f"[{label}]({target})" if label and label != target else f"&lt;{target}&gt;"

    def _write(self, path: str, messages: Sequence[_Message]) -> Iterator[str]:
        """Yield the messages in their order, each thread with its replies of the day under a heading."""
        replies: dict[datetime, list[_Message]] = {}
        for each in messages:
            if each.thread is not None and not each.starts_thread:
                replies.setdefault(each.thread, []).append(each)
        starts = {each.sent for each in messages if each.starts_thread}
        for each in messages:
            if each.starts_thread:
                yield f"\n## {_first_words(each)}\n"
                yield _paragraph(each)
                yield from map(_paragraph, replies.get(each.sent, ()))
                yield from self._links("Continued on", path, each.replies)
                yield "\n---\n"
            elif each.thread is None:
                yield _paragraph(each)
            elif each.thread not in starts and each is replies[each.thread][0]:
                yield f"\n## Thread of {each.thread:%Y-%m-%d %H:%M}\n"
                yield from self._links("Begun on", path, [each.thread])
                yield from map(_paragraph, replies[each.thread])
                yield "\n---\n"

    def _links(self, words: str, path: str, times: Sequence[datetime]) -> Iterator[str]:
        days = dict.fromkeys(filter(None, (self._day_of(path, each) for each in times)))
        others = [day for day in days if day != path]
        if others:
            links = (
                f"[{posixpath.basename(day).removesuffix('.json')}]({link_to(path, day[:-5] + '.md')})"
                for day in others
            )
            yield f"\n{words} {', '.join(links)}.\n"

    def _day_of(self, path: str, sent: datetime) -> str | None:
        """Return the file of a message's day: that in UTC, else a neighbour, as days are the workspace's."""
        folder = posixpath.dirname(path)
        days = (sent.date() + timedelta(days=by) for by in (0, -1, 1))
        return next(
            (file for day in days if (file := f"{folder}/{day.isoformat()}.json") in self.paths), None
        )


def _is_written(stated: Any) -> bool:
    return (
        isinstance(stated, dict)
        and stated.get("type") == "message"
        and not _EVENTS.fullmatch(str(stated.get("subtype") or ""))
    )


def _time(stamp: str) -> datetime:
    return datetime.fromtimestamp(float(stamp), UTC)


def _first_words(message: _Message) -> str:
    words = " ".join(re.sub("[#`*]", "", message.text).split()) or f"Thread of {message.author}"
    return words if len(words) <= _TITLE_CHARS else words[:_TITLE_CHARS].rpartition(" ")[0] + " …"


def _paragraph(message: _Message) -> str:
    return f"\n**{message.author}, {message.sent:%H:%M}:** {message.text}\n"
