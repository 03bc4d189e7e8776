"""Buttons: what they do, and that nobody else can press them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from browser import Browser
from flask.testing import FlaskClient
from web.serving import serving
from web.world import HOSTILE, NOW
from werkzeug.test import TestResponse

from rocmonitor import store
from rocmonitor.policy.status import Attention
from rocmonitor.web import actions
from rocmonitor.web.alone import create_app
from rocmonitor.web.site import Site

HERE = {"Origin": "http://localhost"}


@pytest.fixture
def own(site: Site, tmp_path: Path) -> Site:
    """The site in a folder of its own, for what changes it."""
    for each in site.path.parent.iterdir():
        if each.is_file():
            shutil.copy(each, tmp_path)
    return Site(path=tmp_path / site.path.name, clock=lambda: NOW)


@pytest.fixture
def reader(own: Site) -> FlaskClient:
    return create_app(own).test_client()


def said(site: Site, monitor: str = "credit") -> Attention:
    return store.attention(site.store(), monitor)


def token(reader: FlaskClient, monitor: str = "credit") -> str:
    found = re.search(r'name="token" value="(\w+)"', reader.get(f"/monitors/{monitor}").text)
    assert found
    return found[1]


def press(reader: FlaskClient, what: str, headers: dict[str, str] = HERE, **form: str) -> TestResponse:
    given = {"token": token(reader), "by": "Ana Ruiz"} | form
    return reader.post(f"/monitors/credit/{what}", data=given, headers=headers)


def test_somebody_takes_care(own: Site, reader: FlaskClient) -> None:
    assert "I'll take care of it" in reader.get("/monitors/credit").text
    answer = press(reader, "acknowledge", note=f"looking {HOSTILE}")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/monitors/credit")
    found = said(own)
    assert (found.acknowledged_by, found.acknowledged_at) == ("Ana Ruiz", NOW)
    page = reader.get("/monitors/credit").text
    assert "Ana Ruiz" in page
    assert HOSTILE not in page


def test_muted_for_a_time_and_not_any_more(own: Site, reader: FlaskClient) -> None:
    assert press(reader, "mute", **{"for": "2d"}).status_code == 303
    assert (said(own).muted_by, said(own).muted_until) == ("Ana Ruiz", NOW + timedelta(days=2))
    assert ">not any more</option>" in reader.get("/monitors/credit").text
    assert press(reader, "mute", **{"for": "end"}).status_code == 303
    assert said(own).muted_until is None


@pytest.mark.parametrize(
    "wrong", ["", "0d", "-1d", "91d", "2 weeks", "1e9d", "99999999999999d", "nan", "1.5d"]
)
def test_a_silly_time_changes_nothing(own: Site, reader: FlaskClient, wrong: str) -> None:
    answer = press(reader, "mute", **{"for": wrong})
    assert answer.status_code == 400
    assert "Nothing was changed" in answer.text
    assert said(own) == Attention()


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"token": ""}, 403),
        ({"token": "0" * 64}, 403),
        ({"token": "ä\N{BLACK HEART SUIT}"}, 403),
        ({"by": ""}, 400),
        ({"by": "a\x00b"}, 400),
        ({"by": "a" * 201}, 400),
        ({"note": "n" * 201}, 400),
        ({"note": "n" * 5000}, 413),
    ],
)
@pytest.mark.parametrize("what", ["acknowledge", "mute"])
def test_a_form_that_is_not_ours_changes_nothing(
    own: Site, reader: FlaskClient, what: str, changes: dict[str, str], status: int
) -> None:
    answer = press(reader, what, **{"for": "1d", **changes})
    assert (answer.status_code, "Nothing was changed" in answer.text) == (status, True)
    assert said(own) == Attention()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "http://localhost.evil.example"},
        {"Origin": "http://localhost:81"},
        {"Referer": "https://evil.example/http://localhost/"},
        {"Origin": "https://evil.example", "Referer": "http://localhost/monitors/credit"},
    ],
)
def test_another_site_changes_nothing(own: Site, reader: FlaskClient, headers: dict[str, str]) -> None:
    assert press(reader, "mute", headers, **{"for": "1d"}).status_code == 403
    assert said(own) == Attention()


def test_a_referer_of_ours_is_enough(own: Site, reader: FlaskClient) -> None:
    assert (
        press(reader, "mute", {"Referer": "http://localhost/monitors/credit"}, **{"for": "1d"}).status_code
        == 303
    )


def test_a_token_is_of_one_session_and_one_monitor(own: Site, reader: FlaskClient) -> None:
    other = create_app(own).test_client()
    assert press(reader, "mute", token=token(other), **{"for": "1d"}).status_code == 403
    assert press(reader, "mute", token=token(reader, "calm"), **{"for": "1d"}).status_code == 403
    reader.delete_cookie(actions.COOKIE)
    known = {"token": token(other), "by": "x", "for": "1d"}
    assert reader.post("/monitors/credit/mute", data=known, headers=HERE).status_code == 403
    assert said(own) == Attention()


def test_the_cookie_is_for_these_pages_alone(reader: FlaskClient) -> None:
    cookie = reader.get("/monitors/credit").headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Strict"} <= {part.strip() for part in cookie.split(";")}
    assert "Set-Cookie" not in reader.get("/").headers


@pytest.mark.parametrize(("name", "status"), [("absent", 403), ("calm", 400)])
def test_what_has_no_alarm_cannot_be_acknowledged(reader: FlaskClient, name: str, status: int) -> None:
    given = {"token": token(reader, "calm"), "by": "x"}
    assert reader.post(f"/monitors/{name}/acknowledge", data=given, headers=HERE).status_code == status


def test_an_unknown_monitor_is_not_found(own: Site) -> None:
    app = create_app(own)
    with app.test_request_context():
        known = actions._token("s" * 32, "absent")
    client = app.test_client()
    client.set_cookie(actions.COOKIE, "s" * 32)
    answer = client.post("/monitors/absent/mute", data={"token": known, "for": "1d"}, headers=HERE)
    assert answer.status_code == 404


@pytest.mark.parametrize("method", ["get", "put", "delete", "patch"])
def test_only_a_form_presses(reader: FlaskClient, method: str) -> None:
    assert getattr(reader, method)("/monitors/credit/mute").status_code == 405


def test_who_must_sign_in_must_do_so_first(own: Site) -> None:
    app = create_app(own, token="t" * 20)
    outside, inside = app.test_client(), app.test_client()
    assert outside.post("/monitors/credit/mute", data={"for": "1d"}, headers=HERE).status_code == 401
    inside.get("/?token=" + "t" * 20)
    assert press(inside, "mute", **{"for": "1d"}).status_code == 303


def test_who_may_not_sees_no_button_and_presses_none(own: Site) -> None:
    from flask import Flask

    from rocmonitor.web.pages import blueprint

    answers: dict[str, str | None] = {"credit": "ben"}
    app = Flask("host", static_folder=None)
    app.register_blueprint(blueprint(own, "/rocmonitor", answers.get))
    client = app.test_client()
    page = client.get("/rocmonitor/monitors/credit").text
    assert "As ben:" in page
    assert 'name="by"' not in page
    found = re.search(r'name="token" value="(\w+)"', page)
    assert found
    form = {"token": found[1], "by": "somebody else", "for": "1d"}
    assert client.post("/rocmonitor/monitors/credit/mute", data=form, headers=HERE).status_code == 303
    assert said(own).muted_by == "ben"
    answers.clear()
    assert '<form class="act"' not in client.get("/rocmonitor/monitors/credit").text
    assert client.post("/rocmonitor/monitors/credit/mute", data=form, headers=HERE).status_code == 403


@pytest.fixture
def served(own: Site) -> Iterator[str]:
    with serving(own) as address:
        yield address


@pytest.mark.slow
def test_a_browser_can_press(browser: Browser, own: Site, served: str) -> None:
    browser.visit(f"{served}/monitors/credit", width=1280)
    browser.follow(
        "document.getElementById('by').value = 'Ana'; document.querySelector('.act button').click()"
    )
    assert "Ana" in browser.measure("document.querySelector('.todo').textContent")
    assert said(own).acknowledged_by == "Ana"
