"""Windows that are read as cells of neighbouring scores: judged as rows are, or not at all."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from caveats import codes
from scenario import CONFIGURATION, DEFAULTS, World, tried, week

from rocmonitor import config, store
from rocmonitor.errors import ConfigError
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.reference import Reference
from rocmonitor.service import references
from rocmonitor.service.checking import check
from rocmonitor.service.checking.reference_checks import useless
from rocmonitor.sources import open_source
from rocmonitor.tracking import content
from rocmonitor.wording.caveats import words_of

DAY = timedelta(days=1)
ALONE = {
    "model": "{name: credit, version: 7}",
    "segments": "[region]",
    "rules": "[{kind: forecast}, {kind: drop, value: 0.02}, {kind: floor, value: 0.5}, "
    "{kind: cost, w: 0.2, value: 0.9}, {kind: lasting}]",
    "outlook": "{after: 6h}",
}
COARSE = "{per_unit: 8, max_error: 0.2}"


def configured(here: World, condense: str, **changes: str) -> config.Config:
    """A monitor without a challenger."""
    path = here.folder / "rocmonitor.yaml"
    text = CONFIGURATION.format(**{**DEFAULTS, **ALONE, **changes}).replace(", challenger: q", "")
    path.write_text(f"{text}    condense: {condense}\n", encoding="utf-8")
    return config.load(path)


def tick(here: World, now: Any, condense: str, **changes: str) -> Any:
    return tried(configured(here, condense, **changes), now)


@pytest.mark.slow
def test_cells_give_the_verdicts_of_rows_and_wider_intervals(here):
    here.score(20, shift=0.2)
    now = week(21) + 2 * DAY
    raw, few = (tick(here, now, COARSE, grouped=mode) for mode in ("raw", "condensed"))
    for segment, exact in raw.items():
        cells = few[segment]
        assert cells.counts == exact.counts
        assert [each.outcome for each in cells.verdicts] == [each.outcome for each in exact.verdicts]
        one, other = exact.metrics, cells.metrics
        assert 0 < abs(one["champion/auc"] - other["champion/auc"]) <= other["champion/auc_error"]
        assert abs(one["champion/auc_se"] - other["champion/auc_se"]) <= other["champion/auc_se_error"]
        for name in ("champion/auc", "champion/tpr_at_threshold_0.5", "champion/fpr_at_threshold_0.5"):
            assert other[f"{name}_low"] <= one[f"{name}_low"]
            assert other[f"{name}_high"] >= one[f"{name}_high"]
        assert other["forecast/low"] < one["forecast/low"]
        # Intervals at a false positive rate go by moments, whose spread is not quite between the extremes'.
        beyond = cells.provenance["guaranteed_error"]["tpr"] / 20
        for row, twin in zip(exact.tables["roc"], cells.tables["roc"], strict=True):
            assert abs(twin["tpr"] - row["tpr"]) <= 10 * beyond  # half of a cell
            assert twin["tpr_low"] - beyond <= row["tpr_low"] <= row["tpr_high"] <= twin["tpr_high"] + beyond
        assert "condensed" in codes(cells)
        assert "condensed" not in codes(exact)
        assert "champion/auc_error" not in one
        assert cells.provenance["condense"] == {"scale": "logit", "per_unit": 8.0, "max_error": 0.2}
        assert cells.provenance["guaranteed_error"]["auc"] == other["champion/auc_error"]
        assert not {"condense", "guaranteed_error"} & exact.provenance.keys()


def test_a_grid_that_is_too_coarse_makes_windows_insufficient(here):
    here.score(20)
    found = tick(here, week(21) + 2 * DAY, "{per_unit: 8}", grouped="condensed")[""]
    assert found.outcome is Status.INSUFFICIENT
    [verdict] = found.verdicts
    [lack] = verdict.lacks
    assert lack.code == "condensed-too-coarse"
    assert lack.values["max_error"] == 1e-4
    assert lack.values["error"] > 1e-3
    assert "champion/auc" not in found.metrics
    assert "raise condense.per_unit" in words_of(lack)


def test_a_reference_that_is_too_coarse_serves_no_rule(here):
    known = configured(here, "{per_unit: 8}", grouped="condensed")
    watched = known.monitors["credit"]
    with (
        store.open_store(known.store_url) as kept,
        open_source(known.sources["here"], here.folder, name="here") as source,
    ):
        built = references.load_or_build(watched, source, kept, now=week(30))
        again = store.reference(kept, "credit", references.digest(watched))
    assert again is not None
    for frozen in (built[""], Reference.from_dict(again[""])):
        assert frozen.auc is None
        assert codes(frozen) == ["condensed-too-coarse"]
        told = useless(frozen, low_is_positive=False)
        assert "condense.per_unit" in told
        assert "cluster" not in told


@pytest.mark.slow
def test_scores_of_few_digits_lose_nothing(here):
    """Cells of one score are ties: the evaluation is that of the rows."""
    here.score(20)
    raw, fine = (
        tick(here, week(21) + 2 * DAY, "{per_unit: 4000}", grouped=mode)[""] for mode in ("raw", "condensed")
    )
    assert fine.metrics == pytest.approx(raw.metrics, rel=1e-12, abs=1e-12)
    assert "condensed" not in codes(fine)


def test_another_grid_is_another_reference(here):
    def digest(condense: str, **changes: str) -> str:
        return references.digest(configured(here, condense, **changes).monitors["credit"])

    plain = digest("{}", grouped="raw")
    assert digest("{}", grouped="auto") == plain  # what is frozen stays so
    assert digest("{per_unit: 10}", grouped="raw") == plain
    others = {digest(each, grouped="condensed") for each in ("{}", "{per_unit: 10}", "{scale: linear}")}
    assert len(others | {plain}) == 4
    assert digest("{per_unit: 10}", grouped="auto") not in {plain}


@pytest.mark.parametrize(
    ("column", "key", "why"),
    [
        (", challenger: q", "", "columns.challenger needs"),
        (", cluster: region", "", "columns.cluster needs"),
        ("", "    score: probability\n", "score: probability needs"),
    ],
)
def test_what_needs_rows_is_refused(here, column, key, why):
    settings = {**DEFAULTS, **ALONE, "grouped": "condensed"}
    text = CONFIGURATION.format(**settings).replace(", challenger: q", column) + key
    path = here.folder / "rocmonitor.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=f"{why}.*use grouped: auto or database"):
        config.load(path)
    path.write_text(text.replace("grouped: condensed", "grouped: auto"), encoding="utf-8")
    assert not config.load(path).monitors["credit"].may_condense


def checked(here: World, condense: str, **changes: str) -> tuple[list[str], list[str]]:
    known, lines = configured(here, condense, **changes), []
    problems = check(known, now=week(21) + 2 * DAY, output=lines.append, explain=True).problems
    return lines, [str(each) for each in problems]


@pytest.mark.slow
def test_check_says_how_windows_are_read_and_what_that_leaves_open(here):
    here.score(20)
    lines, problems = checked(here, COARSE, grouped="condensed")
    [said] = [line for line in lines if "cells of neighbouring scores (logit, 8 cells a unit)" in line]
    assert "the AUROC is off by at most 0.0" in said
    assert not any("condense" in each for each in problems)
    assert any("expects" in line or "false alarms" in line for line in lines)
    lines, _ = checked(here, "{}", grouped="raw")
    assert not any("cells" in line for line in lines)
    _, problems = checked(here, "{per_unit: 8}", grouped="condensed")
    assert any("all rows: the cells of neighbouring scores" in each for each in problems)
    lines, _ = checked(here, "{}", grouped="database")
    assert any("read as groups of equal rows" in line for line in lines)


@pytest.mark.slow
def test_mlflow_has_the_error_and_no_digest_of_rows(here):
    here.score(20)
    found = tick(here, week(21) + 2 * DAY, COARSE, grouped="condensed")[""]
    params = content.params(found)
    assert json.loads(params["guaranteed_error"])["auc"] == found.metrics["champion/auc_error"]
    assert json.loads(params["condense"])["per_unit"] == 8
    assert json.loads(content.dataset(found).dataset.source)["digest"] is None
