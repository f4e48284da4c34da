"""A deletion locks documents in the order of their ids, as a replacement does."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from django.db import connection, transaction

from kebab.tenancy.current_workspace import acting_everywhere
from search.corpus import delete_documents
from search.models import Document
from tests.support.concurrency import until_blocked
from tests.support.corpus import make_workspace, write_each


@pytest.mark.django_db(transaction=True)
def test_a_deletion_locks_documents_in_the_order_of_their_ids():
    workspace = make_workspace()
    in_table = [written.doc_id for written in write_each(workspace, [f"text {n}" for n in range(8)])]
    larger, smaller = next((one, other) for one, other in pairwise(in_table) if one > other)

    @acting_everywhere()
    def delete():
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:  # rows are found as they lie in the table
                    cursor.execute("SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off")
                return delete_documents(workspace, [larger, smaller])
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as deleter:
        with transaction.atomic():
            Document.objects.select_for_update().get(doc_id=smaller)
            deletion = deleter.submit(delete)
            until_blocked()
            assert Document.objects.select_for_update(nowait=True).get(doc_id=larger)
        assert deletion.result() is not None
