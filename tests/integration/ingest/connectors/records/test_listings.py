"""Listings that are escaped otherwise, cut off, or of something else than was asked for."""

from contextlib import closing

import pytest

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.kinds import RECORD_KINDS
from ingest.connectors.records.wire import CompleteRecord
from tests.integration.ingest.connectors.records.web_host import WebHost

S3 = '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{}</ListBucketResult>'
ESCAPED = "<EncodingType>url</EncodingType>"
DAV = '<d:multistatus xmlns:d="DAV:">{}</d:multistatus>'
HANDBOOK = "/remote.php/dav/files/ada/Handbook"
FOLDER = "<d:propstat><d:prop><d:resourcetype><d:collection/></d:resourcetype></d:prop></d:propstat>"


@pytest.fixture
def read_listing(make_record_source):
    """Return a function that returns the records of a source whose server gives these answers, in turn."""

    def read(kind, place, *answers):
        left = list(answers)

        def answer(environ, start_response):
            body = left.pop(0).encode()
            status = "207 Multi-Status" if kind == "webdav" else "200 OK"
            start_response(status, [("Content-Length", str(len(body)))])
            return [body]

        host = WebHost(answer, lambda environ: False)
        config = {name: value.format(host.url) for name, value in place.items()}
        with (
            host.running(),
            closing(RECORD_KINDS[kind].open_reader(make_record_source(kind, config), lambda: None)) as reader,
        ):
            return list(reader.records(""))

    return read


def read_bucket(read_listing, *answers):
    return read_listing("s3", {"url": "{}", "bucket": "docs", "prefix": "team notes"}, *answers)


def read_folder(read_listing, *answers):
    return read_listing("webdav", {"url": f"{{}}{HANDBOOK}"}, *answers)


def contents(key):
    return f"<Contents><Key>{key}</Key></Contents>"


def response(href, properties=""):
    return f"<d:response><d:href>{href}</d:href>{properties}</d:response>"


@pytest.mark.parametrize(
    ("escaped", "key"),
    [
        (ESCAPED, "team+notes/C%2B%2B+rules.md"),
        (ESCAPED, "team%20notes/C%2B%2B%20rules.md"),
        ("", "team notes/C++ rules.md"),
    ],
)
def test_keys_of_a_bucket_are_unescaped_as_the_server_escapes_them(read_listing, escaped, key):
    document, end = read_bucket(read_listing, S3.format(escaped + contents(key)))
    assert (document.path, document.locator) == ("C++ rules.md", "team notes/C++ rules.md")
    assert isinstance(end, CompleteRecord)


@pytest.mark.parametrize(
    ("stated", "is_archived"),
    [
        ("<StorageClass>GLACIER</StorageClass>", True),
        ("<StorageClass>DEEP_ARCHIVE</StorageClass><RestoreStatus/>", True),
        (
            "<StorageClass>GLACIER</StorageClass>"
            "<RestoreStatus><RestoreExpiryDate>2030-01-01T00:00:00Z</RestoreExpiryDate></RestoreStatus>",
            False,
        ),
        ("<StorageClass>GLACIER_IR</StorageClass>", False),
        ("", False),
    ],
)
def test_objects_of_archive_classes_are_archived_until_they_are_restored(read_listing, stated, is_archived):
    listed = contents("team notes/a.md").replace("</Contents>", f"{stated}</Contents>")
    document, _ = read_bucket(read_listing, S3.format(listed))
    assert document.is_archived is is_archived


def test_malformed_bucket_listing_fails(read_listing):
    with pytest.raises(ListingFailed, match=r"127\.0\.0\.1"):
        read_bucket(read_listing, "<maintenance/>")


@pytest.mark.parametrize(
    "pages",
    [
        [S3.format(contents("team notes/a.md") + "<IsTruncated>true</IsTruncated>")],
        [S3.format("<IsTruncated>true</IsTruncated><NextContinuationToken>1</NextContinuationToken>")] * 2,
    ],
    ids=["without-token", "same-token"],
)
def test_listing_of_a_bucket_that_does_not_end_fails(read_listing, pages):
    with pytest.raises(ListingFailed, match="goes on"):
        read_bucket(read_listing, *pages)


@pytest.mark.parametrize(
    "listed",
    [
        "<maintenance/>",
        DAV.format(""),
        DAV.format(response("/dav/files/ada/Handbook/", FOLDER) + response("/dav/files/ada/Handbook/a.md")),
    ],
    ids=["other", "empty", "moved"],
)
def test_listing_of_another_folder_fails(read_listing, listed):
    with pytest.raises(ListingFailed, match=r"127\.0\.0\.1"):
        read_folder(read_listing, listed)


@pytest.mark.parametrize(
    ("listed", "paths"),
    [(response(HANDBOOK, FOLDER), []), (response(f"{HANDBOOK}/a.md"), ["a.md"])],
    ids=["empty", "without-itself"],
)
def test_listing_of_a_folder_is_complete(read_listing, listed, paths):
    *documents, end = read_folder(read_listing, DAV.format(listed))
    assert ([each.path for each in documents], end) == (paths, CompleteRecord())
