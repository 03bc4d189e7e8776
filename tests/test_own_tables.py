"""Three tables of outsiders, from `init` to the page: all views tell the same loss, over its whole period."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import own_tables
import pytest
from commands import Rocmonitor
from scenario import undated

from rocmonitor import config
from rocmonitor.web.alone import create_app
from rocmonitor.web.site import Site

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Told:
    """What people get to see of one monitor."""

    monitor: config.Monitor
    alarms: str
    explained: str
    status: str
    page: str
    episodes: list[dict[str, Any]]

    @property
    def titles(self) -> list[str]:
        """The titles of all messages."""
        return re.findall(rf"^[A-Z ]+ {self.monitor.name}: .*$", self.alarms, re.MULTILINE)

    @property
    def marked(self) -> list[str]:
        """The groups that `explain` marks as clear."""
        return [" ".join(line.split()[1:3]) for line in self.explained.splitlines() if line.startswith("●")]


def watched(folder: Path, rocmonitor: Rocmonitor, *table: str) -> Told:
    """Watch a table as `init` proposes it."""
    rocmonitor("init", *table)
    known = config.load(folder / "rocmonitor.yaml")
    [name] = known.monitors
    rocmonitor("check")
    rocmonitor("run", code=3)
    client = create_app(Site(path=folder / "rocmonitor.yaml")).test_client()
    html = client.get(f"/monitors/{name}").get_data(as_text=True)
    text = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", html, flags=re.DOTALL)
    return Told(
        monitor=known.monitors[name],
        alarms=undated((folder / "alarms.log").read_text(encoding="utf-8")),
        explained=rocmonitor("explain", name).stdout,
        status=rocmonitor("status", code=3).stdout,
        page=" ".join(text.split()),
        episodes=json.loads(rocmonitor("history", name, "--json").stdout)["episodes"],
    )


def the_loss(told: Told, start: datetime, *, within: timedelta = timedelta(days=8)) -> dict[str, Any]:
    """The only loss, which goes on; told once, and never called over."""
    [loss] = [episode for episode in told.episodes if episode["kind"] == "performance"]
    assert loss["end"] is None
    assert abs(datetime.fromisoformat(loss["start"]).replace(tzinfo=None) - start) <= within
    alarm = [title.startswith("DEGRADED") for title in told.titles].index(True)
    assert not [title for title in told.titles[alarm + 1 :] if not title.startswith("STILL DEGRADED")]
    return loss


def test_loans_whose_brokers_got_worse(tmp_path, rocmonitor, postgres_url):
    """Quoted names of mixed case in a schema, labels after up to 59 days, a fall in one of three channels."""
    start = own_tables.loans(postgres_url)
    told = watched(tmp_path, rocmonitor, "--url", postgres_url, "--table", "risk.Loan Scores")
    monitor, loss = told.monitor, the_loss(told, start)
    assert monitor.columns.id == "LoanID"
    assert monitor.outlook is not None
    assert monitor.reference_period.end.replace(tzinfo=None) <= start
    size = f"{-loss['size']:.3f}"
    assert f": {size} lower (" in told.alarms
    assert "What moved: Channel = Broker (" in told.alarms
    assert "better by" in told.alarms.split("Challenger: ")[1].splitlines()[0]
    assert "of that comes from Channel = Broker: its rows are ranked worse" in told.explained
    assert told.marked == ["Channel Broker"]
    assert "Channel = Broker ranked worse" in told.status
    for view in (told.page, " ".join(told.alarms.split())):
        assert f"{size} lower" in view
        assert f"since {loss['start'][:10]}" in view
    assert "Channel = Broker" in told.page


def test_a_lake_in_which_one_country_broke(tmp_path, rocmonitor):
    """357 daily hive folders, the last of four days ago; labels after up to 10 days, two models."""
    start = own_tables.lake(tmp_path)
    told = watched(tmp_path, rocmonitor, "--url", "lake")
    loss = the_loss(told, start)
    assert told.monitor.labels.delay >= timedelta(days=10)
    assert told.monitor.columns.challenger == "challenger"
    assert "What moved: country = PL (" in told.alarms
    assert "of that comes from country = PL: its rows are ranked worse" in told.explained
    assert told.marked == ["country PL"]
    assert "country = PL ranked worse" in told.status
    assert f"{-loss['size']:.3f} lower" in told.alarms
    assert f"{-loss['size']:.3f} lower" in told.page


def test_a_german_csv_with_a_small_loss_that_stays(tmp_path, rocmonitor):
    """One message in half a year of 0.02 less, and no recovery; its start is found within four windows."""
    start = own_tables.german(tmp_path)
    told = watched(tmp_path, rocmonitor, "--url", "antraege.csv", "--label", "Ausfall")
    length = told.monitor.windows(datetime.now().astimezone())[0]
    assert told.monitor.reference_period.end.replace(tzinfo=None) <= start
    loss = the_loss(told, start, within=4 * (length.end - length.start))
    assert loss["size_low"] <= -0.02 <= loss["size_high"]
    assert told.monitor.columns.id == "Antragsnummer"
    assert told.monitor.labels.delay >= timedelta(days=12)
    assert told.marked == []
