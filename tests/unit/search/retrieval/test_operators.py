"""Operators in queries, and everything that looks like one and is text."""

from datetime import UTC, datetime

import pytest

from search.analysis import STEMMED
from search.retrieval.query.conditions import comparisons
from search.retrieval.query.operators import MAX_CHARS, MAX_OPERATORS, parse_operators

TEXTS = (
    "annual leave policy",
    "e-mail and follow-up",
    "a - b",
    "refund - chatbot",
    "5 -4 degrees, -40 too",
    "x -y",
    "ls -la",
    "rm -rf build",
    "tar -xzf a.tgz -C build",
    "git commit --amend -verbose",
    'git commit -m "fix the build"',
    'grep --include="*.py" -rin "def main"',
    "gcc -O2 -Wall main.c",
    "cmake -DFOO=bar -Wno-dev",
    "foo -> bar --> baz",
    "ptr->next",
    "a -of -the",
    "cette division du domaine royal fut -elle utile",
    "path::generic_string title::x type:=x",
    "learn -c++ -F#",
    "see -foo/bar -x.y(z)",
    "(-chatbot)",
    "-apples -pears",
    '-"apples and pears"',
    "http://example.org https: mailto:me",
    "std::vector<type:T> a::b",
    r"C:\path D:/path",
    "Error: title: foo",
    "key:value color:red subtitle:x",
    "mytitle:x path: x type:",
    'print("hello world")',
    '{"a": "b", "c":["d"]}',
    '5" pipe',
    '"unclosed phrase',
    'title:"unclosed phrase',
    '"" "..." «»',
    "it’s ‘so’",
    "'\"raw\" NOT -chatbot'",
    'Traceback\n  "annual leave"',
    f'"annual leave" {"word " * (MAX_CHARS // 5)}',
)

# What was typed, the text that is left, and the operators.
CASES = (
    ("refund -chatbot", "refund", ["-chatbot"]),
    ("-chatbot refund", "refund", ["-chatbot"]),
    ("refund -chatbot, please", "refund please", ["-chatbot"]),
    ("refund -state-of-the-art -don't", "refund", ["-state-of-the-art", "-don't"]),
    ("refund -v2beta", "refund", ["-v2beta"]),
    ("refund -ответ -猫", "refund", ["-ответ", "-猫"]),
    ('refund -"chat bot"', "refund", ['-"chat bot"']),
    ('"annual leave" policy', '"annual leave" policy', ['"annual leave"']),
    ('What is "annual leave"?', 'What is "annual leave"?', ['"annual leave"']),
    ("“annual leave” «sick days»", '"annual leave" "sick days"', ["“annual leave”", "«sick days»"]),
    ("„annual leave“ »sick days«", '"annual leave" "sick days"', ["„annual leave“", "»sick days«"]),
    ('"git push --force" hook', '"git push --force" hook', ['"git push --force"']),
    ('days "leave" "unclosed', 'days "leave" "unclosed', ['"leave"']),
    ("days path:hr/ TYPE:pdf", "days", ["path:hr/", "TYPE:pdf"]),
    ("days tag:a -tag:b tag:c", "days", ["tag:a tag:c", "-tag:b"]),
    ('days title:"annual leave"', "days", ['title:"annual leave"']),
    ("days title:„annual leave“", "days", ["title:„annual leave“"]),
    ('days author:Ada -author:"de Jong"', "days", ["author:Ada", '-author:"de Jong"']),
    ("days path:a?", "days", ["path:a"]),
    ("grep -n -rin foo path:src/", "grep -n -rin foo", ["path:src/"]),
    ("title:leave path:hr/**", "leave hr/**", ["title:leave", "path:hr/**"]),
    ("title:leave -draft", "leave", ["title:leave", "-draft"]),
    ("tag:hr -draft", "", ["tag:hr", "-draft"]),
)

INVALID = (
    ("after:yesterday", "2026-03-05"),
    ("before:2026-13", "2026-03-05"),
    ("after:12", "2026-03-05"),
    ("after:-soon", "7d"),
    ("before:-999999y", "7d"),
    ("type:foo", "docx"),
    ("lang:klingon", "German"),
    ("path:[a", "guides/*.md"),
    ("title:...", "words"),
    ("author:...", "a name"),
)


@pytest.mark.parametrize("text", TEXTS)
def test_plain_text_is_parsed_without_operators(text):
    assert parse_operators(text, STEMMED) is None


@pytest.mark.parametrize(("text", "left", "typed"), CASES)
def test_operators_are_taken_out_of_the_text(text, left, typed):
    found = parse_operators(text, STEMMED)
    assert (" ".join(found.text.split()), found.typed) == (left, typed)
    assert len(found.text) == len(text)
    assert [each.is_exclusion for each in found.conditions] == [each.startswith("-") for each in typed]


@pytest.mark.parametrize(("typed", "remedy"), INVALID)
def test_value_without_a_meaning_stays_text_and_is_reported(typed, remedy):
    found = parse_operators(f"days {typed}", STEMMED)
    assert (found.text, found.conditions) == (f"days {typed}", ())
    (warning,) = found.warnings
    assert typed in warning and remedy in warning


def test_name_that_nothing_meets_is_text(subtests):
    cases = [
        ("deploy tag:latest", "deploy tag:latest", []),
        ("set source:map, please", "set source:map, please", []),
        ("path:to title:x author:y", "path:to title:x author:y", []),
        ("days tag:a -tag:b type:pdf", "days tag:a", ["-tag:b", "type:pdf"]),
        ('days tag:"a" path:hr/ path:*.md', "days", ['tag:"a"', "path:hr/ path:*.md"]),
    ]
    for typed, left, operators in cases:
        with subtests.test(typed=typed):
            found = parse_operators(typed, STEMMED, lambda _: False)
            assert (" ".join(found.text.split()), found.typed) == (left, operators)
            assert len(found.warnings) == sum(
                each in left for each in ("tag:", "source:", "path:", "title:", "author:")
            )
    met = parse_operators("days tag:a source:b", STEMMED, lambda each: "a" in each.parts[0].values)
    assert (met.text.split(), met.typed) == (["days", "source:b"], ["tag:a"])


def test_time_ago_is_the_start_of_that_day(subtests):
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for typed, days in (("after:-7d", 7), ("after:2W", 14), ("before:-1y", 365), ("after:0d", 0)):
        with subtests.test(typed=typed):
            (condition,) = parse_operators(f"days {typed}", STEMMED).conditions
            (compared,) = comparisons(condition.condition)
            assert (today - compared.values[0]).days in (days, days - 1)  # midnight may pass meanwhile


def test_operators_beyond_the_limit_are_text():
    found = parse_operators("days" + " -chatbot" * (MAX_OPERATORS + 1), STEMMED)
    assert (len(found.conditions), found.text.split()) == (MAX_OPERATORS, ["days", "-chatbot"])


@pytest.mark.parametrize(
    ("typed", "compared"),
    [
        ("type:Images", [("media", "one_of", "image")]),
        ("type:mail", [("media", "one_of", "email")]),
        ("lang:de", [("lang", "one_of", "de")]),
        ("lang:Spanish", [("lang", "one_of", "es")]),
        ("lang:java", [("code_lang", "one_of", "java")]),
        ("lang:go", [("lang", "one_of", "go"), ("code_lang", "one_of", "go", "golang")]),
        ("tag:HR tag:b", [("tag", "one_of", "hr", "b")]),
        ("after:1970", [("dated_at", "gte", datetime(1970, 1, 1, tzinfo=UTC))]),
        ("before:1970-1-2", [("dated_at", "lt", datetime(1970, 1, 2, tzinfo=UTC))]),
        ("after:1970-02", [("dated_at", "gte", datetime(1970, 2, 1, tzinfo=UTC))]),
    ],
)
def test_value_is_read_as_people_mean_it(typed, compared):
    (condition,) = parse_operators(f"days {typed}", STEMMED).conditions
    found = comparisons(condition.condition)
    assert [(each.field, each.test, *each.values) for each in found] == compared
