"""What a test awaits leaves no connection behind."""

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from kebab.people.models import Workspace
from tests.support.loops import run


@pytest.mark.django_db(transaction=True)
def test_the_thread_beside_a_loop_keeps_no_connection_when_the_loop_fails():
    async def fail():
        await sync_to_async(Workspace.objects.count)()
        assert await _has_connection()
        raise LookupError

    with pytest.raises(LookupError):
        run(fail())
    assert not run(_has_connection())


async def _has_connection():
    return await sync_to_async(lambda: connection.connection is not None)()
