"""A worker that can't read what other nodes keep refuses to start."""

import pytest
from django.core.files.storage import default_storage

from kebab.stack.blob_mark import MARK_NAME, adopt_blobs_if_possible, check_blob_store
from kebab.stack.errors import BlobsNotShared
from kebab.stack.models import BlobStore

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def elsewhere(tmp_path, settings):
    """Have the blobs in another folder from now on."""

    def move(name):
        kept = {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": tmp_path / name},
        }
        settings.STORAGES = {**settings.STORAGES, "default": kept}

    return move


def test_the_first_worker_marks_the_store_and_the_next_finds_it(blobs):
    check_blob_store(adopt=False)
    check_blob_store(adopt=False)
    with default_storage.open(MARK_NAME) as mark:
        assert BlobStore.objects.get().mark == mark.read().decode()


def test_another_folder_is_refused_with_the_remedy(blobs, elsewhere):
    check_blob_store(adopt=False)
    elsewhere("local")
    with pytest.raises(BlobsNotShared, match=r"no mark.*KEBAB_BLOBS_URL"):
        check_blob_store(adopt=False)
    assert not default_storage.exists(MARK_NAME)


def test_another_store_with_a_mark_of_its_own_is_refused(blobs, elsewhere):
    elsewhere("other")
    check_blob_store(adopt=False)
    BlobStore.objects.update(mark="that of others")
    with pytest.raises(BlobsNotShared, match="another mark"):
        check_blob_store(adopt=False)


def test_a_restored_store_is_adopted_by_who_says_so(blobs, elsewhere):
    check_blob_store(adopt=False)
    elsewhere("restored")
    check_blob_store(adopt=True)
    check_blob_store(adopt=False)


def test_a_folder_that_cannot_be_read_is_refused(blobs, settings, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    kept = {**settings.STORAGES["default"], "OPTIONS": {"location": tmp_path / "file"}}
    settings.STORAGES = {**settings.STORAGES, "default": kept}
    with pytest.raises(BlobsNotShared, match="can't be read or written"):
        check_blob_store(adopt=False)


def test_a_machine_that_is_alone_works_on_without_a_mark(blobs, settings, tmp_path, caplog):
    (tmp_path / "file").write_text("not a folder")
    kept = {**settings.STORAGES["default"], "OPTIONS": {"location": tmp_path / "file"}}
    settings.STORAGES = {**settings.STORAGES, "default": kept}
    adopt_blobs_if_possible()
    assert "bear no mark yet" in caplog.text
