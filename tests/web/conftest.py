"""Sites for the tests of the page; made once a session, for no page changes anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from web.serving import serving
from web.world import judged

from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.store import evaluations
from rocmonitor.web.alone import create_app
from rocmonitor.web.site import Site


@pytest.fixture(scope="session")
def site(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """One monitor of each kind."""
    return judged(template, tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def real(site: Site) -> Evaluation:
    """A window as a tick saves it."""
    return evaluations(site.store(), "credit", segment="")[-1]


@pytest.fixture
def client(site: Site) -> FlaskClient:
    """Asks the page as a browser on this machine does."""
    return create_app(site).test_client()


@pytest.fixture(scope="session")
def address(site: Site) -> Iterator[str]:
    """Where the page is served."""
    with serving(site) as address:
        yield address
