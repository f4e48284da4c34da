"""Library ids: made from addresses and titles, and parsed back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.errors import InvalidLibraryId
from search.libraries.ids import (
    MAX_ID_CHARS,
    Reference,
    first_free,
    format_reference,
    git_library_id,
    library_id_of,
    local_library_id,
    parse_references,
)

PARTS = st.text(st.characters(exclude_characters="/@", exclude_categories=["Cs"]), min_size=1, max_size=20)
TAGS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


def test_git_address_gives_owner_and_repository(subtests):
    cases = [
        ("https://github.com/facebook/react", "/facebook/react"),
        ("https://github.com/facebook/react.git", "/facebook/react"),
        ("https://github.com/facebook/react/", "/facebook/react"),
        ("http://user:secret@host.example:8080/owner/repo.git", "/owner/repo"),
        ("ssh://git@github.com:22/facebook/react.git", "/facebook/react"),
        ("git@github.com:facebook/react.git", "/facebook/react"),
        ("github.com:facebook/react", "/facebook/react"),
        ("git://git.example.org/owner/repo", "/owner/repo"),
        ("git+ssh://git@gitlab.com/group/repo.git", "/group/repo"),
        ("https://gitlab.com/group/sub/deeper/repo.git", "/group-sub-deeper/repo"),
        ("https://git.sr.ht/~sircmpwn/aerc", "/sircmpwn/aerc"),
        ("https://github.com/vercel/next.js.git", "/vercel/next.js"),
        ("https://host.example/a%20b/c@d", "/a-b/c-d"), ("https://host.example/./a/../b", "/a/b"),
        ("https://github.com/local/tool", "/local/tool"),
    ]  # fmt: skip
    for url, library_id in cases:
        with subtests.test(url=url):
            assert git_library_id(url) == library_id
    cases = [
        "", "/srv/repos/tool.git", "file:///srv/repos/tool.git", "relative/path", "C:/repos/tool",
        "https://github.com/", "https://github.com/lonely", "https://[broken/owner/repo",
        "ext::sh -c touch", "ftp://host/owner/repo", "https://host/../..",
    ]  # fmt: skip
    for url in cases:
        with subtests.test(url=url):
            assert git_library_id(url) is None


def test_local_id_is_the_slug_of_the_title(subtests):
    cases = [
        ("React", "react", "/local/react"),
        ("Our Docs, 2nd_Edition", "docs", "/local/our-docs-2nd-edition"), ("文档", "docs", "/local/docs"),
        ("", "docs", "/local/docs"), ("x" * 300, "docs", "/local/" + "x" * 63),
    ]  # fmt: skip
    for title, key, library_id in cases:
        with subtests.test(title=title):
            assert local_library_id(title, key) == library_id
            assert library_id_of(url="", title=title, key=key) == library_id
    assert library_id_of(url="https://github.com/a/b", title="React", key="react") == "/a/b"
    assert first_free("/local/docs", set()) == "/local/docs"
    assert first_free("/local/docs", {"/local/docs"}) == "/local/docs-2"
    assert first_free("/local/docs", {"/local/docs", "/local/docs-2"}) == "/local/docs-3"
    assert first_free("/local/docs", {"/local/docs", "/local/docs-3"}) == "/local/docs-2"


def test_third_part_is_a_version_or_a_deeper_group(subtests):
    for version in ("v1.2", "release/1.0", "@scope/tool@1.0", "1 2"):
        with subtests.test(version=version):
            expected = Reference(library_id="/owner/repo", version=version)

            assert format_reference(expected) == f"/owner/repo@{version}"
            assert parse_references(f"/owner/repo@{version}") == (expected,)
            assert parse_references(f"/owner/repo/{version}")[0] == expected
    assert parse_references("/group/sub/repo") == (
        Reference(library_id="/group/sub", version="repo"),
        Reference(library_id="/group-sub/repo"),
    )
    assert parse_references("/group/sub/repo/v1") == (
        Reference(library_id="/group/sub", version="repo/v1"),
        Reference(library_id="/group-sub/repo", version="v1"),
        Reference(library_id="/group-sub-repo/v1"),
    )
    assert parse_references("/group/sub/repo@v1") == (
        Reference(library_id="/group/sub", version="repo@v1"),
        Reference(library_id="/group-sub/repo", version="v1"),
    )


def test_malformed_id_is_refused(subtests):
    cases = [
        "", "/", "react", "owner/repo", "/react", "//", "/a//b", "/a/b/", "/a/b@", "/@a/b", "/a@v1",
        "/a/@b",
    ]  # fmt: skip
    for text in cases:
        with subtests.test(text=text), pytest.raises(InvalidLibraryId, match="/owner/repo"):
            parse_references(text)
    assert len(parse_references("/x" * 20)) == 19
    with pytest.raises(InvalidLibraryId):
        parse_references("/x" * 21)


@given(owner=PARTS, name=PARTS, version=TAGS | st.just(""))
def test_reading_is_the_inverse_of_writing(owner, name, version):
    reference = Reference(library_id=f"/{owner}/{name}", version=version)
    assert parse_references(format_reference(reference)) == (reference,)


@given(url=st.text(max_size=80) | st.from_regex(r"(https?|ssh)://[a-z@:/.~%]{0,60}", fullmatch=True))
def test_any_address_gives_an_id_that_can_be_read_or_none(url):
    library_id = git_library_id(url)
    if library_id is not None:
        assert parse_references(library_id) == (Reference(library_id=library_id),)
        assert len(library_id) <= MAX_ID_CHARS - len("-999999")


@given(text=st.text(alphabet="ab/@ -", max_size=30) | st.text(max_size=30))
def test_every_reading_of_a_typed_id_writes_an_id(text):
    try:
        readings = parse_references(text)
    except InvalidLibraryId:
        return
    for reading in readings:
        assert parse_references(format_reference(reading))[-1] == reading
