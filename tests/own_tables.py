"""Three tables as outsiders brought them: their oddities and sizes, and when and where a model got worse."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from sqlalchemy import create_engine, text

TODAY = pd.Timestamp.now().floor("D")
WEEK = pd.Timedelta(weeks=1)


def monday(weeks: int) -> datetime:
    """The Monday so many weeks ago."""
    day: datetime = (TODAY - weeks * WEEK - pd.Timedelta(days=TODAY.weekday())).to_pydatetime()
    return day


def loans(url: str, *, rows: int = 72_949) -> datetime:
    """Fill ``risk."Loan Scores"`` of a PostgreSQL database; return when the model got worse.

    Two years of loans, scores 0 to 100, good or bad known after up to 59 days. In group Broker the AUROC
    falls from 0.796 to 0.740; the challenger is not hit.
    """
    rng, start = np.random.default_rng(5), monday(26)
    at = np.sort(TODAY.value - rng.integers(0, 104 * WEEK.value, rows))
    scored_at = pd.to_datetime(at).floor("s")
    bad = rng.random(rows) < 0.2
    channel = rng.choice(["Broker", "Branch", "Online"], rows, p=[0.4, 0.35, 0.25])
    apart = np.where((scored_at >= start) & (channel == "Broker"), 0.91, 1.17)
    champion, challenger = (rng.normal(gap * bad) for gap in (apart, 1.12))
    known = scored_at + pd.to_timedelta(np.minimum(rng.gamma(6, 6, rows), 59), unit="D").floor("s")
    table = pd.DataFrame(
        {
            "LoanID": np.arange(1, rows + 1),
            "ScoredAt": scored_at,
            "Score": np.round(100 / (1 + np.exp(1 - champion)), 2),
            "Challenger Score": np.round(100 / (1 + np.exp(1 - challenger)), 2),
            "Outcome": np.where(known <= TODAY, np.where(bad, "bad", "good"), None),
            "KnownAt": known.where(known <= TODAY),
            "Channel": channel,
            "Term": rng.choice([12, 24, 36, 48, 60], rows),
        }
    )
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE SCHEMA risk"))
        table.to_sql("Loan Scores", connection, schema="risk", index=False, chunksize=20_000)
    engine.dispose()
    return start


def lake(folder: Path, *, rows: int = 185_546, days: int = 357) -> datetime:
    """Write daily hive folders of Parquet, the last of four days ago; return when the model got worse.

    Two models, a label that takes up to 10 days, three columns that explain. From then on the champion's
    score says nothing in country PL.
    """
    rng, start = np.random.default_rng(6), monday(16)
    last = TODAY - pd.Timedelta(days=3)
    at = np.sort(last.value - 1 - rng.integers(0, days * WEEK.value // 7, rows))
    scored_at = pd.to_datetime(at).floor("s")
    y = rng.random(rows) < 0.12
    country = rng.choice(["PL", "FR", "DE", "ES"], rows, p=[0.2, 0.3, 0.3, 0.2])
    broken = (scored_at >= start) & (country == "PL")
    champion = rng.normal(np.where(broken, 0.0, 1.4) * y)
    known = scored_at + pd.to_timedelta(rng.uniform(0, 10, rows), unit="D") <= last
    table = pd.DataFrame(
        {
            "event_id": np.arange(rows),
            "scored_at": scored_at,
            "champion": np.round(1 / (1 + np.exp(2 - champion)), 5),
            "challenger": np.round(1 / (1 + np.exp(2 - rng.normal(1.35 * y))), 5),
            "churned": pd.array(np.where(known, y, None), dtype="boolean"),
            "country": country,
            "device": rng.choice(["ios", "android", "web"], rows),
            "plan": rng.choice(["free", "basic", "pro"], rows),
        }
    )
    with duckdb.connect() as connection:
        connection.register("rows", table)
        connection.execute(
            f"COPY (SELECT *, strftime(scored_at, '%Y-%m-%d') AS day FROM rows) TO '{folder}/lake' "
            "(FORMAT parquet, PARTITION_BY (day))"
        )
    return start


def german(folder: Path, *, rows: int = 177_664) -> datetime:
    """Write one CSV as Excel writes it in Germany; return when the AUROC fell by 0.02, to stay so."""
    rng, start = np.random.default_rng(7), monday(26)
    at = np.sort(TODAY.value - 1 - rng.integers(0, 64 * WEEK.value, rows))
    scored_at = pd.to_datetime(at).floor("min")
    y = rng.random(rows) < 0.1
    score = rng.normal(np.where(scored_at >= start, 1.13, 1.21) * y)
    known = scored_at + pd.to_timedelta(rng.uniform(0, 14, rows), unit="D") <= TODAY
    table = pd.DataFrame(
        {
            "Antragsnummer": np.arange(rows) + 4_000_000,
            "Zeitpunkt": scored_at.strftime("%d.%m.%Y %H:%M"),
            "Score": np.round(1 / (1 + np.exp(2 - score)), 4),
            "Ausfall": np.where(known, np.where(y, "ja", "nein"), ""),
            "Produkt": rng.choice(["Kredit", "Karte"], rows),
        }
    )
    table.to_csv(folder / "antraege.csv", index=False, sep=";", decimal=",")
    return start
