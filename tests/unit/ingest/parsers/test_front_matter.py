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


def test_unusable_header_stays_text_with_a_warning(subtests):
    pairs = zip("abcdefg", "bcdefgh", strict=True)
    multiplied = [f"{name}: &{name} [{', '.join(['*' + above] * 9)}]" for above, name in pairs]
    for name, lines in {
        "broken": ["title: [unclosed"],
        "object": ["title: !!python/object/apply:os.getcwd []"],
        "multiplying aliases": ["a: &a [x, x, x, x, x, x, x, x, x]", *multiplied],
        "alias to itself": ["a: &a [*a]"],
        "deep": ["a: " + "[" * 5000],
        "long": ["a: " + "x" * 20_000],
    }.items():
        with subtests.test(case=name):
            read = header(*lines)
            assert read.warning
            assert (read.last_line, read.metadata) == (0, {})
