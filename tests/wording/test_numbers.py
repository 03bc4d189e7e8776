"""Days and per cent as people read them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rocmonitor
from rocmonitor.caveat import Caveat
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.format import days, percent


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0"),
        (1 / 24, "0.042"),
        (0.5, "0.5"),
        (2, "2"),
        (2.54, "2.5"),
        (22.5, "22.5"),
        (99.96, "100"),
        (365.3, "365"),
        (1203.4, "1,203"),
    ],
)
def test_days(number: float, expected: str) -> None:
    assert days(number) == expected


@pytest.mark.parametrize(
    ("share", "digits", "expected"),
    [
        (0.0, 2, "0 %"),
        (0.304, 2, "30 %"),
        (0.996, 2, "99.6 %"),
        (1.0, 2, "100 %"),
        (1.0, 3, "100 %"),
        (0.999846, 3, "99.985 %"),
        (25.0, 3, "2,500 %"),
    ],
)
def test_shares_never_turn_into_powers_of_ten(share: float, digits: int, expected: str) -> None:
    assert percent(share, digits) == expected


def test_a_caveat_writes_shares_as_everywhere() -> None:
    told = Caveat("labelled-shares-differ", labelled_share=0.7, reference_share=1.0)
    assert words_of(told).startswith("70 % of the rows have a label, 100 % in the reference:")


def test_old_labels_are_told_in_whole_days() -> None:
    told = Caveat(
        "labels-arrive-otherwise",
        labelled_share=0.9,
        label_age_days=1203.4,
        lowest=0.1,
        highest=0.2,
        read_at_days=2.5,
    )
    assert "90 % of the rows have one 1,203 days after the window" in words_of(told)
    assert "with its windows 2.5 days after their end" in words_of(told)


def test_no_words_write_per_cent_without_its_space() -> None:
    """Formats such as ``:.0%`` print none; templates of caveats replace it."""
    package = Path(rocmonitor.__file__).parent
    found = [
        f"{path.relative_to(package)}: {line.strip()}"
        for part in ("wording", "web", "cli", "service", "alerts", "report")
        for path in (package / part).rglob("*")
        if path.suffix in (".py", ".j2") and path.parent.name != "caveats"
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r":,?\.\d%\}", line)
    ]
    assert found == []
