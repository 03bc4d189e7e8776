"""A bad week of the reference is named wherever its normal range is shown."""

from __future__ import annotations

import json

import pytest
from scenario import until

from rocmonitor import store
from rocmonitor.store.glance import compared_with
from rocmonitor.tracking.note import of_window

WHAT = "the reference was learned without 1 of 20 weeks, far below the others: 2026-02-23 (AUROC 0."


@pytest.mark.slow
def test_the_doubt_reaches_every_view(here, rocmonitor):
    here.clear(7)
    here.score(7, shift=-0.3)
    here.clear(20)
    here.score(20, shift=0.2)
    known = here.configure(window=until("2026-06-01"))
    rocmonitor("run", code=3)
    [last] = json.loads(rocmonitor("history", "credit", "--json", "--last", "1").stdout)["evaluations"]
    [caveat] = [each for each in last["caveats"] if each["code"] == "reference-without-windows"]
    assert caveat["values"]["names"] == ["2026-02-23"]
    assert [at for at, each in enumerate(last["reference"]["windows"]) if "left_out" in each] == [7]
    assert f"credit: {WHAT}" in " ".join(rocmonitor("status", code=3).stdout.split())
    [monitor] = json.loads(rocmonitor("status", "--json", code=3).stdout)["monitors"]
    assert monitor["reference"].startswith(WHAT)
    assert f"Reference: {WHAT[:1].upper()}{WHAT[1:]}" in here.alarms
    rocmonitor("report", "credit", "--output", "report.html")
    page = (here.folder / "report.html").read_text(encoding="utf-8")
    assert f"Bear in mind: {WHAT}" in page
    with store.open_store(known.store_url) as kept:
        [evaluation] = store.evaluations(kept, "credit")
        assert f"- {WHAT}" in of_window(evaluation)
        assert compared_with(kept)["credit", ""]["digest"] == evaluation.reference["digest"]


@pytest.mark.slow
def test_a_reference_that_keeps_its_windows_says_nothing(here, rocmonitor):
    here.clear(7)
    here.score(7, shift=-0.3)
    here.configure(window=until("2026-06-01"), reference="{from: 2026-01-05, to: 2026-05-25, outliers: keep}")
    rocmonitor("run")
    [monitor] = json.loads(rocmonitor("status", "--json").stdout)["monitors"]
    assert monitor["reference"] == ""
    assert "learned without" not in rocmonitor("status").stdout
