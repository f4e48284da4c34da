"""Documents' bytes in a bucket behave as in a folder, also during an outage."""

import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from ingest.jobs.queue.run import outage_message
from kebab.http.api.outages import outage_of
from kebab.stack.errors import BlobsNotShared
from kebab.stack.storage.blob_mark import check_blob_store
from kebab.stack.storage.blob_storage import BlobsUnavailable, blob_storage
from search.corpus import blobs
from tests.acceptance.deploy.bucket_host import BUCKET, bucket_host
from tests.support.corpus import make_workspace
from tests.support.jobs import indexed_texts, upload, work

pytestmark = pytest.mark.slow
W = uuid.uuid4()


@pytest.fixture
def host(monkeypatch):
    pytest.importorskip("storages", reason="deploy/requirements-s3.txt isn't installed")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with bucket_host() as running:
        yield running


@pytest.fixture
def bucket(host, settings):
    url = f"s3://{BUCKET}/production?endpoint={host.url}&region=x&addressing=path"
    settings.STORAGES = {**settings.STORAGES, "default": blob_storage(url, Path("unused"))}
    return host


def test_bytes_are_stored_once_listed_and_read(bucket):
    hash_ = blobs.store_blob(W, b"one")
    assert blobs.store_blob(W, b"one") == hash_
    assert (blobs.has_blob(W, hash_), blobs.read_blob(W, hash_)) == (True, b"one")
    assert set().union(*blobs.list_blobs(W)) == {hash_}
    assert list(bucket.objects) == [f"production/{blobs.blob_name(W, hash_)}"]


def test_missing_blob_is_not_found(bucket):
    assert not blobs.has_blob(W, "ab" * 16)
    with pytest.raises(FileNotFoundError):
        blobs.read_blob(W, "ab" * 16)
    assert blobs.blobs_before(W, ["ab" * 16], timezone.now()) == set()
    blobs.delete_blobs(W, ["ab" * 16])


def test_age_and_deletion_work_as_in_a_folder(bucket):
    hashes = {blobs.store_blob(W, content) for content in (b"one", b"two")}
    other = blobs.store_blob(uuid.uuid4(), b"of another workspace")
    assert blobs.blobs_before(W, hashes, timezone.now() + timedelta(hours=1)) == hashes
    assert blobs.blobs_before(W, hashes, timezone.now() - timedelta(hours=1)) == set()
    blobs.delete_all_blobs(W)
    assert [name.rpartition("/")[2] for name in bucket.objects] == [other]


def test_unavailable_or_failing_bucket_is_an_outage_and_no_loss(bucket):
    hash_ = blobs.store_blob(W, b"one")
    bucket.is_failing = True
    with pytest.raises(BlobsUnavailable) as caught:
        blobs.read_blob(W, hash_)
    assert outage_of(caught.value).code == "storage_unavailable"
    assert outage_message(caught.value).startswith("Storage away")


def test_refused_connection_is_an_outage(bucket):
    bucket.shutdown()
    bucket.server_close()
    with pytest.raises(BlobsUnavailable):
        blobs.has_blob(W, "ab" * 16)


def test_missing_bucket_is_an_outage(host, settings):
    url = f"s3://another/production?endpoint={host.url}&region=x&addressing=path"
    settings.STORAGES = {**settings.STORAGES, "default": blob_storage(url, Path("unused"))}
    with pytest.raises(BlobsUnavailable):
        blobs.store_blob(W, b"one")


@pytest.mark.django_db(transaction=True)
def test_job_waits_for_its_bucket_and_then_succeeds(bucket):
    workspace = make_workspace()
    job = upload(workspace, "a.md", b"# Heading\n\ntext\n")
    bucket.is_failing = True
    waiting = work(job)
    assert waiting.state != "failed"
    assert "Storage away" in waiting.error
    bucket.is_failing = False
    type(job).objects.update(due_at=timezone.now() - timedelta(seconds=1))
    assert work(job).state == "succeeded"
    assert list(indexed_texts(workspace)) == ["a.md"]


@pytest.mark.django_db(transaction=True)
def test_worker_does_not_start_without_its_bucket(bucket):
    check_blob_store(adopt=False)
    check_blob_store(adopt=False)
    bucket.is_failing = True
    with pytest.raises(BlobsNotShared, match="can't be read"):
        check_blob_store(adopt=False)


@pytest.mark.parametrize(
    "url",
    ["ftp://x/y", "s3://", "file://host/folder", "/srv/blobs", "s3://key:secret@b/p", "s3://b?acl=public"],
)
def test_wrong_address_is_rejected_without_repeating_secrets(url):
    with pytest.raises(ImproperlyConfigured, match="KEBAB_BLOBS_URL") as caught:
        blob_storage(url, Path("unused"))
    assert "secret" not in str(caught.value)


def test_folder_may_be_anywhere():
    assert blob_storage("", Path("/a"))["OPTIONS"] == {"location": Path("/a")}
    assert blob_storage("file:///srv/blobs", Path("/a"))["OPTIONS"] == {"location": Path("/srv/blobs")}
