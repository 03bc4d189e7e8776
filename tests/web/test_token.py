"""Who may see the pages that `rocmonitor ui` serves."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from rocmonitor.web.alone import COOKIE, create_app
from rocmonitor.web.site import Site

TOKEN = "0123456789abcdef-ü"


@pytest.fixture
def guarded(site: Site) -> FlaskClient:
    return create_app(site, TOKEN).test_client()


def test_without_the_token_there_is_nothing_to_read(guarded: FlaskClient) -> None:
    for address in ("/", "/overview.json", "/monitors/credit", "/absent"):
        answer = guarded.get(address)
        assert answer.status_code == 401
        assert "credit-default" not in answer.text
        assert "degraded" not in answer.text


def test_shown_once_it_becomes_a_cookie_and_leaves_the_address(guarded: FlaskClient) -> None:
    answer = guarded.get("/monitors/credit", query_string={"window": "2026-06-01", "token": TOKEN})
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/monitors/credit?window=2026-06-01"
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    assert guarded.get("/").status_code == 200


def test_the_form_leads_back(guarded: FlaskClient) -> None:
    asked = guarded.get("/monitors/credit?window=2026-06-01")
    assert 'value="/monitors/credit?window=2026-06-01"' in asked.text
    answer = guarded.post("/sign-in", data={"token": TOKEN, "to": "/monitors/credit?window=2026-06-01"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/monitors/credit?window=2026-06-01")
    assert guarded.get("/").status_code == 200


@pytest.mark.parametrize(
    "to",
    [
        *("//evil.example", "https://evil.example/", "/\\evil.example", "evil"),
        # Browsers leave out tabs and line breaks; a line break may not stand in a header.
        *("/\t/evil.example", "/\n/evil.example", "/x\r\nSet-Cookie: a=b", "/\x00/evil.example"),
    ],
)
def test_the_form_leads_nowhere_else(guarded: FlaskClient, to: str) -> None:
    assert guarded.post("/sign-in", data={"token": TOKEN, "to": to}).headers["Location"] == "/"


def test_no_link_leads_elsewhere_with_the_token_or_without(guarded: FlaskClient) -> None:
    asked = guarded.get("/%09/evil.example")
    assert asked.status_code == 401
    assert "evil.example" not in asked.text
    for address in ("/%09/evil.example", "/%5cevil.example", "/monitors/%0d%0aSet-Cookie:a=b"):
        answer = guarded.get(address, query_string={"token": TOKEN})
        assert (answer.status_code, answer.headers["Location"]) == (303, "/")
        assert answer.headers["Cache-Control"] == "no-store"


def test_a_form_that_is_too_large_is_refused(guarded: FlaskClient) -> None:
    head = b'--x\r\nContent-Disposition: form-data; name="token"\r\n\r\n'
    form = head + b"x" * 600_000 + b"\r\n--x--\r\n"
    answer = guarded.post("/sign-in", data=form, content_type="multipart/form-data; boundary=x")
    assert answer.status_code == 413
    assert "Content-Security-Policy" in answer.headers


@pytest.mark.parametrize("given", ["", "wrong", TOKEN[:-1], TOKEN + "x"])
def test_a_wrong_token_opens_nothing(guarded: FlaskClient, given: str) -> None:
    assert guarded.get("/", query_string={"token": given}).status_code == 401
    assert guarded.post("/sign-in", data={"token": given}).status_code == 401
    assert (
        guarded.get("/", headers={"Authorization": f"Bearer {given}".encode().decode("latin-1")}).status_code
        == 401
    )
    guarded.set_cookie(COOKIE, given or "x")
    assert guarded.get("/").status_code == 401


def test_programs_show_it_in_a_header(site: Site) -> None:
    client = create_app(site, "0123456789abcdef").test_client()
    answer = client.get("/overview.json", headers={"Authorization": "Bearer 0123456789abcdef"})
    assert answer.status_code == 200
    assert "Set-Cookie" not in answer.headers


def test_a_host_that_is_no_name_is_refused(client: FlaskClient) -> None:
    """Of such a host there are no addresses, which pages are made with."""
    for host in (f"loc{'9' * 400}alho", "a b", "\xff", "local/host"):
        for query in ("", "pag\xf4=2"):
            environ = {"HTTP_HOST": host, "QUERY_STRING": query}
            answer = client.open("/", environ_overrides=environ)
            assert answer.status_code in (400, 403), host


def test_without_a_token_only_names_of_this_machine_are_answered(client: FlaskClient) -> None:
    for host in ("localhost", "localhost:8780", "127.0.0.1:1", "[::1]:8780"):
        assert client.get("/", headers={"Host": host}).status_code == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "10.0.0.7:8780", "[::2]"):
        assert client.get("/", headers={"Host": host}).status_code == 403
