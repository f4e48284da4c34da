"""Two tenants: `alpha`, who acts, and `beta`, of whom nothing may be seen."""

import pytest

from tests.security.tenancy.tenants import make_tenant


@pytest.fixture
def alpha(db):
    return make_tenant("alpha")


@pytest.fixture
def beta(db):
    return make_tenant("beta")
