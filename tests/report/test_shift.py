"""The figure of an alarm, read back from its pixels."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from factories import evaluation
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from numpy.typing import NDArray

from rocmonitor.policy.evaluation import Counts, Evaluation
from rocmonitor.report.canvas import BLUE, LIGHT, PURPLE
from rocmonitor.report.shift import shift

ABOVE, MIDDLE, BELOW = np.s_[90:350], np.s_[360:630], np.s_[635:925]
METRICS = {
    "champion/auc": 0.7,
    "reference/auc": 0.75,
    "shift/from_positives": -0.05,
    "shift/from_negatives": 0.0,
}


def shown(n: int = 250, least: bool = True, **changes: Any) -> Evaluation:
    """Four bins; only the positives have moved, downwards."""
    reference, window = (0.1, 0.2, 0.3, 0.4), (0.2, 0.3, 0.3, 0.2)
    rows = [
        {
            "low": number / 4,
            "high": (number + 1) / 4,
            "pos_reference": old,
            "neg_reference": 0.5 - old,
            "pos_window": new,
            "neg_window": 0.5 - old,
            "pos_contribution": -0.05 if number in (0, 3) else 0.0,
            "neg_contribution": 0.0,
            **({"pos_least": (old + new) / 2, "neg_least": 0.25} if least else {}),
            **({"pos_least_contribution": -0.02, "neg_least_contribution": -0.02} if least else {}),
        }
        for number, (old, new) in enumerate(zip(reference, window, strict=True))
    ]
    counts = Counts(rows=2 * n, n_pos=n, n_neg=n)
    return evaluation(**{"tables": {"shift": rows}, "metrics": METRICS, "counts": counts, **changes})


def pixels(png: bytes) -> NDArray[np.float64]:
    return np.asarray(imread(io.BytesIO(png))[:, :, :3], dtype=np.float64)


def count(png: bytes, colour: str, part: slice = np.s_[:]) -> int:
    return int(np.all(np.abs(pixels(png)[part] - to_rgb(colour)) < 0.02, axis=2).sum())


@pytest.fixture(scope="module")
def png() -> bytes:
    return shift(shown())


def test_equal_input_gives_equal_bytes(png: bytes) -> None:
    assert shift(shown()) == png
    assert pixels(png).shape == (1000, 1000, 3)


def test_each_class_has_its_panel(png: bytes) -> None:
    assert count(png, PURPLE, ABOVE) > 400
    assert count(png, BLUE, ABOVE) == 0
    assert count(png, BLUE, MIDDLE) > 400
    assert count(png, PURPLE, MIDDLE) == 0
    assert min(count(png, LIGHT, panel) for panel in (ABOVE, MIDDLE)) > 30_000


def test_fewer_rows_have_longer_intervals(png: bytes) -> None:
    assert count(shift(shown(n=30)), PURPLE, ABOVE) > 1.3 * count(png, PURPLE, ABOVE)


def test_bars_stand_where_the_contributions_are(png: bytes) -> None:
    part = pixels(png)[BELOW]
    columns = np.all(np.abs(part - to_rgb(PURPLE)) < 0.02, axis=2).sum(axis=0)
    quarters = [columns[80 + 230 * number : 310 + 230 * number].sum() for number in range(4)]
    assert min(quarters[0], quarters[3]) > 10_000
    assert max(quarters[1], quarters[2]) < 2_000  # the legend at most


def test_without_a_least_favourable_shift_there_is_no_line_of_it(png: bytes) -> None:
    def black(drawn: bytes) -> int:
        return int((pixels(drawn)[ABOVE][:, 100:990].max(axis=2) < 0.1).sum())

    assert black(png) > black(shift(shown(least=False))) + 300


@pytest.mark.parametrize("segment", ["a=" + "long " * 60, r"a=$\frac{", "a=東京 \n tab\t"])
def test_any_segment_name_fits(segment: str) -> None:
    png = shift(shown(segment=segment))
    assert np.all(pixels(png)[:80, -2:] == 1)


def test_the_legend_shows_each_class_as_the_panels_do(png: bytes) -> None:
    """A marker with its bar of each, of about the same size: no filled patch for one of them."""
    legend = np.s_[965:1000]
    assert 30 < count(png, BLUE, legend) < 1.5 * count(png, PURPLE, legend) < 200


def test_the_words_end_above_the_panel() -> None:
    drawn = pixels(shift(shown()))
    spine = next(column for column in range(60, 120) if (drawn[120:300, column].max(axis=1) < 0.1).all())
    top = int(np.flatnonzero(drawn[60:300, spine].max(axis=1) < 0.1)[0]) + 60
    assert np.all(drawn[top - 3 : top, spine + 2 :] == 1)


def test_the_words_are_in_the_picture(png: bytes) -> None:
    assert png != shift(shown(metrics=METRICS | {"champion/auc": 0.71}))
