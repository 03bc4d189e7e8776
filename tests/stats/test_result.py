import json
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot
from stats.pictures import every_picture

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats import AucResult, ForecastInterval, RocCurve, Sample, auc, forecast_interval
from rocmonitor.stats.result import Result
from rocmonitor.wording.caveats import forecast, statistics, words_of


def stored(result):
    return json.loads(json.dumps(result.to_dict(), allow_nan=False))


def test_a_stored_result_is_read_back_with_its_caveats():
    perfect = auc([0, 0, 1, 1], [1, 2, 3, 4])
    assert AucResult.from_dict(stored(perfect)).caveats == (Caveat("no-scatter", pairs=2),)
    windows = [Sample([0, 1, 0, 1], [2, 3, 4, 5]), Sample([0], [1]), Sample([0, 1, 1, 1], [1, 4, 6, 8])]
    interval = forecast_interval(Sample.merge([*windows, *windows]), windows=windows, batch=(3, 5))
    read = ForecastInterval.from_dict(stored(interval))
    assert read.to_dict() == interval.to_dict()
    assert (read.caveats, read.fit.set_aside) == (interval.caveats, interval.fit.set_aside)
    assert read.fit.window_shifts == interval.fit.window_shifts


def test_an_infinite_value_is_read_back():
    result = AucResult(auc=0.5, se=float("inf"), n_pos=1, n_neg=1, method="delong")
    assert result.to_dict()["se"] == "inf"
    assert AucResult.from_dict(stored(result)).se == float("inf")


RESULTS = {name: result for name, result in every_picture().items() if isinstance(result, Result)}
UNSTORED = {"BootstrapAucResult": "resamples are not stored", "AucBounds": "weights are not stored"}


@pytest.mark.parametrize("name", sorted(RESULTS.keys() - UNSTORED.keys()))
def test_a_restored_result_is_shown_as_before(name):
    result = RESULTS[name]
    again = type(result).from_dict(json.loads(json.dumps(result.to_dict())))
    assert json.dumps(again.to_dict()) == json.dumps(result.to_dict())
    assert (str(again), repr(again)) == (str(result), repr(result))
    assert again._repr_html_() == result._repr_html_()
    again.plot()
    pyplot.close("all")


@pytest.mark.parametrize("name", UNSTORED)
def test_a_result_that_is_not_stored_whole_says_so(name):
    result = RESULTS[name]
    with pytest.raises(InputError, match=f"{name} cannot be restored: its {UNSTORED[name]}"):
        type(result).from_dict(result.to_dict())


def test_arrays_are_restored_read_only_with_their_types():
    curve = RESULTS["RocCurve"]
    again = RocCurve.from_dict(stored(curve))
    for field in ("threshold", "tpr", "fp"):
        read, before = getattr(again, field), getattr(curve, field)
        assert (read.dtype, read.tolist()) == (before.dtype, before.tolist())
        assert not read.flags.writeable
    assert np.isinf(again.threshold).any()


def test_what_does_not_fit_is_refused_in_a_sentence():
    plain = stored(RESULTS["RocCurve"])
    with pytest.raises(InputError, match=r"^RocCurve\.tpr cannot be restored: it does not fit$"):
        RocCurve.from_dict(plain | {"tpr": ["x"]})
    del plain["tpr"]
    with pytest.raises(InputError, match=r"^RocCurve cannot be restored: the data have no tpr$"):
        RocCurve.from_dict(plain)


EXAMPLES = [
    Caveat("certain-probabilities", rows=3),
    Caveat("not-probabilities", why="scores must be probabilities, from 0 to 1: 1 of 9 are not"),
    Caveat("no-scatter", pairs=3),
    Caveat("error-of-other-sizes", m_pos=20, m_neg=2),
    Caveat("resamples-agree", share=0.61),
    Caveat("error-of-rankings", n_errors=1, mean=0.8333),
    Caveat("error-of-normal-scores", area=0.9),
    Caveat("no-difference-in-any-pair", pairs=3),
    Caveat("few-clusters", clusters=12, effective=7.3, enough=30),
    Caveat("large-clusters", largest=2, clusters=20, share=0.81, of_rows=0.53),
    Caveat("large-clusters", largest=1, clusters=20, share=0.6, of_rows=0.5, estimate=0.8, low=0.7, high=0.9),
    Caveat("rests-on-few", rows=2.4, kind="positives", of=50, end=1),
    Caveat("difference-rests-on-few", rows=2.4, kind="positives", of=50),
    Caveat("few-rows-in-range", rows=2.0, kind="negatives"),
    Caveat("ties-between-classes", tied=3, distinct=9, model=None),
    Caveat("ties-between-classes", tied=3, distinct=9, model="challenger"),
    Caveat("resamples-raised", asked=100, used=119),
    Caveat("normal-scores-assumed", a=1.0, b=0.5),
    Caveat("curve-outside-band", outside=1, rates=9),
    Caveat("few-rows-for-band", n_pos=3, n_neg=40, enough=20),
    Caveat("resamples-never-differ", unchanged=1, rates=9, added=4.0),
    Caveat("no-confidence-level", method="fixed", batch=True),
    Caveat("level-by-model", n_windows=19, known=0.95, confidence_level=0.999),
    Caveat("model-beside", low=0.7, high=0.9, level=0.95, n_windows=8),
    Caveat("windows-set-aside", reason="one-class", numbers=[2, 4], n_windows=5),
    Caveat("windows-inside-reference", n_windows=4, enough=9),
    Caveat("reference-smaller-than-windows", n_pos=4, n_neg=5),
    Caveat("windows-smaller-than-batch", smaller=3, n_windows=4),
    Caveat("small-batch", rows=3, enough=10),
    Caveat("end-at-limit", end="low"),
    Caveat("scores-outside-reference", share=0.25, rows=3, n_rows=12),
    Caveat("scores-all-equal", n_rows=12),
    Caveat("scores-of-one-class", kind="positives", n_rows=12),
    Caveat("few-rows-per-bin", rows=199, kind="positives", bins=10),
    Caveat("zero-standard-errors", zero=1, n_windows=3),
    Caveat("too-few-windows-to-compare", n_windows=1),
    Caveat("windows-differ", between=0.03, standard_error=0.01),
    Caveat("windows-correlated", correlation=0.4),
    Caveat("windows-correlated-allowed", correlation=0.4),
    Caveat(
        "serial-correlation-allowed",
        correlation=0.6,
        low=0.2,
        high=0.9,
        outside=0.09,
        widening=1.2,
        achieved_level=0.95,
        n_windows=19,
    ),
    Caveat(
        "serial-correlation",
        correlation=0.6,
        low=0.2,
        high=0.9,
        outside=0.13,
        achieved_level=0.95,
        n_windows=19,
    ),
    Caveat(
        "too-few-windows",
        n_windows=18,
        weight=None,
        confidence_level=0.95,
        achieved_level=18 / 19,
        needed=19,
        batch=False,
    ),
]


@pytest.mark.parametrize("caveat", EXAMPLES, ids=lambda caveat: caveat.code)
def test_every_caveat_has_a_sentence(caveat):
    text = words_of(caveat)
    assert "{" not in text
    assert text[-1] not in ".:; "
    assert not re.search(r"\d%", text)  # a space stands before the sign


def test_no_sentence_lacks_an_example():
    plain = {code for family in (statistics, forecast) for code in family.SENTENCES}
    without_values = {
        "single-row", "no-scatter-in-range", "below-chance", "skewness-undefined", "zero-distance",
        "auc-cannot-move", "same-ranking", "no-least-favourable-shift", "no-window-scatters",
        "scores-without-order", "no-calibration-slope", "window-not-probabilities",
    }  # fmt: skip
    others = plain - {caveat.code for caveat in EXAMPLES} - without_values
    files = [path for path in Path(__file__).parents[1].rglob("test_*.py") if path != Path(__file__)]
    tests = "".join(path.read_text(encoding="utf-8") for path in files)
    assert not [code for code in others if f'"{code}"' not in tests]
    assert without_values <= plain
    for code in without_values:
        assert words_of(Caveat(code)) != code


def test_some_sentences():
    assert words_of(EXAMPLES[-1]) == (
        "only 18 past windows; the level 0.95 needs 19. The widest observed distance is used; "
        "its level is 18/19 = 0.947"
    )
    assert words_of(Caveat("windows-set-aside", reason="one-class", numbers=[2, 4], n_windows=5)) == (
        "2 of 5 windows set aside, without rows of both classes: number 2, 4"
    )
    model = Caveat("ties-between-classes", tied=1, distinct=2, model="first").replacing(model="challenger")
    assert words_of(model).startswith("challenger model: 1 of 2 scores are shared")
