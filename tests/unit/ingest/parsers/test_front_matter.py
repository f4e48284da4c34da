"""Front matter: parsed fields, and text kept with a warning."""

from ingest.parsers.markup.front_matter import MAX_TAGS, read_front_matter


def header(*lines: str):
    return read_front_matter(["---", *lines, "---", "text"])


def test_title_tags_and_values_are_read():
    read = header("title: Deploy  now", "tags: [ops, web, ops]", "date: 2024-05-01", "draft: false")
    assert (read.last_line, read.title, read.tags) == (6, "Deploy now", ("ops", "web"))
    assert read.metadata["date"] == "2024-05-01"
    assert header("tags: ops, web").tags == ("ops", "web")
    assert header("a: .nan", "b: !!binary aGk=", "1: x").metadata == {"a": "nan", "b": "b'hi'", "1": "x"}
    assert len(header("tags: [" + ", ".join(f"t{n}" for n in range(200)) + "]").tags) == MAX_TAGS


def test_toml_header_is_read():
    read = read_front_matter(["+++", 'title = "Deploy"', "when = 2024-05-01", "+++"])
    assert (read.last_line, read.title, read.metadata["when"]) == (4, "Deploy", "2024-05-01")


def test_rule_at_the_top_is_not_a_header():
    assert read_front_matter(["---", "just a sentence", "---"]).last_line == 0
    assert read_front_matter(["---", "never closed"]).last_line == 0


def test_json_header_is_read():
    read = read_front_matter(["{", '"title": "Deploy",', '"tags": ["ops"]', "}", "", "text"])
    assert (read.last_line, read.title, read.tags) == (4, "Deploy", ("ops",))
    assert read_front_matter([";;;", '{"title": "Deploy"}', ";;;"]).title == "Deploy"
    assert read_front_matter(["{", "no json", "}"]).last_line == 0


def test_fields_of_invalid_yaml_are_read_line_by_line(subtests):
    for lines, fields in [
        (
            ["title: Berths: who goes where", "tags:", "- quay", "- 'berth plan'"],
            {"title": "Berths: who goes where"},
        ),
        (["title: @quay", "order: 5"], {"title": "@quay", "order": "5"}),
        (["title: %quay", 'author: "Ada Pike"'], {"title": "%quay", "author": "Ada Pike"}),
        (["title:\tTides", "\tnested: value", "draft: true"], {"title": "Tides", "draft": "true"}),
        (["title: 'It's ebb'", "tags: [a, b: c, 'd']"], {"title": "It's ebb", "tags": ["a", "b: c", "d"]}),
        (["title: {{ page.name }}", "layout: {% if x %}a{% endif %}", "lead: `quay`"], {"lead": "`quay`"}),
        (["{{- if .Draft }}", "title: Ebb", "{{- end }}"], {"title": "Ebb"}),
        (["title: [unclosed", "lead: 100% sure: yes"], {"title": ["unclosed"], "lead": "100% sure: yes"}),
        (["title: *quay", "lead: a: b"], {"lead": "a: b"}),
    ]:
        with subtests.test(case=lines):
            read = header(*lines)
            assert read.last_line == len(lines) + 2
            assert fields.items() <= read.metadata.items()
            assert set(read.metadata) <= {*fields, "tags", "author"}
            assert read.warning
    assert header("title: Berths: all", "tags:", "- quay", "- 'berth plan'").tags == ("quay", "berth plan")


def test_template_placeholder_is_not_used_as_title():
    assert header('title: "{{ page.title }}"').title is None
    assert header("title: '${name}'").title is None


def test_text_between_two_rules_is_not_front_matter():
    assert header("Note: mind the step", "when you board", "", "x: [").last_line == 0
    assert header("", "Note: mind the step: please").last_line == 0


def test_authors_and_dates_are_stated_under_shared_names(subtests):
    for lines, stated in [
        (["author: Ada Pike", "date: 2024-05-31"], {"author": "Ada Pike", "created": "2024-05-31"}),
        (["authors: [Ada Pike, Bo Carp]"], {"author": "Ada Pike, Bo Carp"}),
        (
            ["authors:", "- name: Ada Pike", "  url: x", "- Bo Carp <bo@carp.example>"],
            {"author": "Ada Pike, Bo Carp"},
        ),
        (
            ["date: 2024-05-31T10:00:00Z", "lastmod: 2024-06-01 08:30:00 +0200"],
            {"created": "2024-05-31T10:00:00+00:00", "modified": "2024-06-01T08:30:00+02:00"},
        ),
        (
            ["pubDate: 'May 31, 2024'", "last_updated: 1 June 2024"],
            {"created": "2024-05-31", "modified": "2024-06-01"},
        ),
        (
            ["date: 31.05.2024", "updated: Fri, 31 May 2024 10:00:00 GMT"],
            {"created": "2024-05-31", "modified": "2024-05-31T10:00:00+00:00"},
        ),
        (["date: 05/06/2024", "lastUpdated: true", "author: 7"], {}),
        (["date: 2024", "updated: soon"], {"created": "2024"}),
    ]:
        with subtests.test(case=lines):
            read = header(*lines).metadata
            assert {name: read[name] for name in stated} == stated
            assert {"author", "created", "modified"} & {*read} - {*stated} <= {"author"}


def test_header_beyond_the_limits_is_left_out_with_a_warning(subtests):
    pairs = zip("abcdefg", "bcdefgh", strict=True)
    multiplied = [f"{name}: &{name} [{', '.join(['*' + above] * 9)}]" for above, name in pairs]
    for name, lines in {
        "object": ["title: !!python/object/apply:os.getcwd []"],
        "multiplying aliases": ["a: &a [x, x, x, x, x, x, x, x, x]", *multiplied],
        "alias to itself": ["a: &a [*a]"],
        "deep": ["a: " + "{" * 5000],
    }.items():
        with subtests.test(case=name):
            read = header(*lines)
            assert read.warning
            assert (read.last_line, read.metadata) == (len(lines) + 2, {})
    assert header("a: " + "x" * 20_000).last_line == 0
