"""Compressed responses to browsers."""

import gzip

_TAKES_GZIP = {"HTTP_ACCEPT_ENCODING": "gzip, br"}


def body_of(response):
    return b"".join(response.streaming_content) if response.streaming else response.content


def test_static_files_of_text_are_smaller_and_the_same(client, db):
    for name in ("kebab/base.css", "kebab/kebab.svg", "django_htmx/htmx-2.min.js"):
        whole = body_of(client.get(f"/static/{name}"))
        response = client.get(f"/static/{name}", **_TAKES_GZIP)
        small = body_of(response)

        assert response["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in response["Vary"]
        assert len(small) < len(whole)
        assert gzip.decompress(small) == whole


def test_search_pages_are_compressed_with_random_bytes(visitor, guide):
    answers = [visitor.get("/w/handbook/search?q=restart", **_TAKES_GZIP) for _ in range(8)]

    assert {answer["Content-Encoding"] for answer in answers} == {"gzip"}
    assert b"Deploy guide" in gzip.decompress(answers[0].content)
    # Django writes them as a file name, which the flags of the header announce.
    assert all(answer.content[3] & 0x08 for answer in answers)
    assert len({len(answer.content) for answer in answers}) > 1


def test_other_pages_and_the_api_are_never_compressed(visitor, workspace):
    for address in ("/w/handbook/people", "/login", "/api/v1/workspaces", "/api/schema/"):
        assert "Content-Encoding" not in visitor.get(address, **_TAKES_GZIP)


def test_range_request_is_not_compressed(client, db):
    response = client.get("/static/kebab/base.css", HTTP_RANGE="bytes=0-9", **_TAKES_GZIP)

    assert response.status_code == 206
    assert "Content-Encoding" not in response
    assert len(body_of(response)) == 10
