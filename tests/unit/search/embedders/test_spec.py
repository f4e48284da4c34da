"""Embedder specifications in the settings: a name with options."""

import pytest

from search.embedders.endpoint import identity_of
from search.embedders.spec import parse_spec, traits_of


def test_specs_are_parsed_or_refused_without_their_secrets(subtests):
    spec = parse_spec("openai:bge-m3?url=http://tei.internal:8080/v1/embeddings&dim=512&key=tei&batch=8")
    assert (spec.name, spec.kind, spec.model) == ("openai:bge-m3", "openai", "bge-m3")
    assert (spec.url, spec.dim, spec.key, spec.batch) == ("http://tei.internal:8080/v1", 512, "tei", 8)
    for text in ["default", "all-MiniLM-L6-v2", "hash", "hash:128", "none"]:
        with subtests.test(text=text):
            assert parse_spec(text).name == text
    cases = [
        "", "word2vec", "default:x", "none:x", "hash:", "hash:1", "hash:5000", "hash:x", "openai",
        "openai:", "fastembed", "fastembed:", "default?dim=3", "openai:m?dim", "openai:m?dim=0",
        "openai:m?dim=4001", "openai:m?dim=٣", "openai:m?dim=3&dim=4", "openai:m?colour=red",
        "openai:m?url=ftp://a/b", "openai:m?url=http://", "openai:m?url=http://a:port/",
        "openai:m?url=http://user:secret@a/", "openai:m?url=http://a/%3Fkey=secret",
        "openai:m?languages=english", "openai:m?encoding=gzip", "openai:m?limit_s=nan",
        "openai:m?limit_s=0", "openai:m?revision=a+b", "openai:m?key=a-b", "fastembed:m?url=http://a/",
        f"openai:m?query_prefix={'x' * 201}", f"openai:{'m' * 200}",
    ]  # fmt: skip
    for text in cases:
        with subtests.test(text=text):
            with pytest.raises(ValueError, match=r".") as caught:
                parse_spec(text)
            assert "secret" not in str(caught.value)


def test_identity_of_known_and_unknown_models(subtests):
    cases = [
        ("text-embedding-3-small", 1536, "", "", ("*",)),
        ("nomic-embed-text:latest", 768, "search_query: ", "search_document: ", ("en",)),
        ("intfloat/multilingual-e5-large", 1024, "query: ", "passage: ", ("*",)),
        ("bge-small-en-v1.5", 384, "Represent this sentence for searching relevant passages: ", "", ("en",)),
    ]
    for model, dim, query_prefix, passage_prefix, languages in cases:
        with subtests.test(model=model):
            space = identity_of(parse_spec(f"openai:{model}"))
            assert (space.dim, space.query_prefix, space.passage_prefix) == (
                dim, query_prefix, passage_prefix,
            )  # fmt: skip
            assert space.languages == languages

    space = identity_of(
        parse_spec("openai:e5-small?dim=12&query_prefix=&passage_prefix=p%3A&languages=en,de&revision=2")
    )
    assert (space.dim, space.query_prefix, space.passage_prefix) == (12, "", "p:")
    assert (space.languages, space.revision) == (("en", "de"), "2")

    assert traits_of("acme/embed-9000").dim is None
    assert traits_of("multilingual-e5-large-instruct").query_prefix == ""
