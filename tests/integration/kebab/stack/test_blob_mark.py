import pytest
from django.core.files.storage import default_storage

from kebab.stack.errors import BlobsNotShared
from kebab.stack.models import BlobStore
from kebab.stack.storage.blob_mark import MARK_NAME, check_blob_store, check_own_blobs

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def move_blobs(tmp_path, settings):
    """Return a function that moves the blobs to another folder."""

    def move(name):
        options = {"location": tmp_path / name}
        settings.STORAGES = {
            **settings.STORAGES,
            "default": {**settings.STORAGES["default"], "OPTIONS": options},
        }

    return move


def test_first_process_marks_the_store_and_the_next_finds_the_mark(blobs, settings):
    settings.KEBAB_EMBEDDED_POSTGRES = False
    check_own_blobs(starts_without=True)
    check_own_blobs()
    with default_storage.open(MARK_NAME) as mark:
        assert BlobStore.objects.get().mark == mark.read().decode()


def test_store_without_the_mark_or_with_another_is_refused_until_it_is_adopted(blobs, move_blobs):
    check_blob_store(adopt=False)
    move_blobs("local")
    with pytest.raises(BlobsNotShared, match="KEBAB_BLOBS_URL"):
        check_blob_store(adopt=False)
    assert not default_storage.exists(MARK_NAME)
    check_blob_store(adopt=True)
    check_blob_store(adopt=False)
    BlobStore.objects.update(mark="that of others")
    with pytest.raises(BlobsNotShared):
        check_blob_store(adopt=False)


def test_process_with_blobs_of_its_own_is_refused_unless_the_machine_is_alone(blobs, move_blobs, settings):
    check_blob_store(adopt=False)
    move_blobs("local")
    settings.KEBAB_EMBEDDED_POSTGRES = False
    for starts_without in (False, True):
        with pytest.raises(BlobsNotShared):
            check_own_blobs(starts_without=starts_without)
    settings.KEBAB_EMBEDDED_POSTGRES = True
    check_own_blobs()


@pytest.mark.parametrize(("is_single", "starts_without"), [(True, False), (False, True)])
def test_unreadable_store_stops_the_processes_that_need_it(
    blobs, move_blobs, settings, tmp_path, caplog, is_single, starts_without
):
    (tmp_path / "file").write_text("not a folder")
    move_blobs("file")
    settings.KEBAB_EMBEDDED_POSTGRES = False
    with pytest.raises(BlobsNotShared):
        check_own_blobs()
    settings.KEBAB_EMBEDDED_POSTGRES = is_single
    check_own_blobs(starts_without=starts_without)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
