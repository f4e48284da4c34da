from ingest.parsers.front_matter import MAX_TAGS, read_front_matter


def header(*lines: str):
    return read_front_matter(["---", *lines, "---", "text"])


def test_title_tags_and_values_are_read():
    read = header("title: Deploy  now", "tags: [ops, web, ops]", "date: 2024-05-01", "draft: false")
    assert (read.last_line, read.title, read.tags) == (6, "Deploy now", ("ops", "web"))
    assert read.metadata["date"] == "2024-05-01"


def test_tags_may_be_comma_separated():
    assert header("tags: ops, web").tags == ("ops", "web")


def test_toml_header_is_read():
    read = read_front_matter(["+++", 'title = "Deploy"', "when = 2024-05-01", "+++"])
    assert (read.last_line, read.title, read.metadata["when"]) == (4, "Deploy", "2024-05-01")


def test_rule_at_the_top_is_not_a_header():
    assert read_front_matter(["---", "just a sentence", "---"]).last_line == 0
    assert read_front_matter(["---", "never closed"]).last_line == 0


def test_broken_yaml_is_a_warning_and_stays_text():
    read = header("title: [unclosed")
    assert read.last_line == 0
    assert read.warning is not None and read.warning.startswith("front matter not read")


def test_yaml_cannot_construct_objects():
    read = header("title: !!python/object/apply:os.getcwd []")
    assert read.warning is not None
    assert read.metadata == {}


def test_aliases_do_not_multiply():
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{name}: &{name} [{', '.join(['*' + above] * 9)}]"
        for above, name in zip("abcdefg", "bcdefgh", strict=True)
    ]
    assert "more than" in (header(*lines).warning or "")


def test_alias_to_itself_ends():
    assert header("a: &a [*a]").warning is not None


def test_deep_nesting_is_a_warning():
    assert header("a: " + "[" * 5000).warning is not None


def test_long_header_is_a_warning():
    assert "over" in (header("a: " + "x" * 20_000).warning or "")


def test_number_of_tags_is_limited():
    assert len(header("tags: [" + ", ".join(f"t{n}" for n in range(200)) + "]").tags) == MAX_TAGS


def test_values_that_json_has_not_become_text():
    assert header("a: .nan", "b: !!binary aGk=", "1: x").metadata == {"a": "nan", "b": "b'hi'", "1": "x"}
