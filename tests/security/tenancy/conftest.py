"""Two tenants: `alpha`, who acts, and `beta`, whose rows must stay hidden."""

import pytest

from tests.security.tenancy.tenants import make_tenant


@pytest.fixture
def alpha(db):
    return make_tenant("alpha")


@pytest.fixture
def beta(db):
    return make_tenant("beta")
