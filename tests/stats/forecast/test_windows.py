import numpy as np
import pytest

from rocmonitor.stats import auc_distance
from rocmonitor.stats.forecast import distance
from rocmonitor.stats.forecast import windows as module
from rocmonitor.stats.forecast.kld import area
from rocmonitor.stats.forecast.windows import carried, past_windows
from rocmonitor.stats.sample import Sample


def parts(rng, n=6, rows=700, step=0.0):
    """Windows of scores that are rounded to multiples of `step`."""
    made = []
    for shift in rng.normal(1.0, 0.15, n):
        y = (rng.random(rows) < 0.3).astype(int)
        score = rng.normal(size=rows) + shift * y
        made.append(Sample(y, np.round(score / step) * step if step else score))
    return made


@pytest.fixture
def joined_cells(monkeypatch):
    """Distances are found on joined cells although the samples are small."""
    monkeypatch.setattr(module, "EXACT_DISTANCES", 500)
    for place in (module, distance):
        monkeypatch.setattr(place, "JOINED_CELLS", 400)


@pytest.mark.parametrize("step", [0.0, 0.002])
def test_joined_cells_hardly_change_a_distance(joined_cells, step):
    rng = np.random.default_rng(3)
    windows = parts(rng, step=step)
    reference = Sample.merge(windows)
    assert len(reference.score) > 1500
    past = past_windows(reference, windows, take_out=True)
    assert past.inside
    outside = past_windows(reference, windows, take_out=False)
    assert not outside.inside
    for number, window in enumerate(windows):
        rest = Sample.merge([other for place, other in enumerate(windows) if place != number])
        assert past.distances[number] == pytest.approx(auc_distance(rest, area(window)), rel=2e-3)
        assert np.sign(past.shifts[number]) == np.sign(area(window) - area(rest))
        assert past.shifts[number] ** 2 / 2 == pytest.approx(past.distances[number])
        assert outside.distances[number] == pytest.approx(auc_distance(reference, area(window)), rel=2e-3)


@pytest.mark.parametrize("step", [0.0, 0.01, 0.5])
def test_the_auc_of_the_rest_is_exact(joined_cells, step):
    windows = parts(np.random.default_rng(5), step=step)
    windows.append(
        Sample([1, 1, 1], [0.0, 0.5, 7.0])
    )  # one class only: its rows belong to the reference all the same
    resting = module.resting(Sample.merge(windows), windows)
    for number in range(len(windows)):
        rest = resting(number)
        others = Sample.merge([other for place, other in enumerate(windows) if place != number])
        assert rest.auc == pytest.approx(area(others), abs=1e-14)
        assert (rest.sample.n_pos, rest.sample.n_neg) == (others.n_pos, others.n_neg)


@pytest.mark.parametrize(
    ("auc", "own", "to", "expected"),
    [
        (0.9, 0.8, 0.8, 0.9),
        (0.8, 0.8, 0.6, 0.6),
        (1.0, 0.8, 0.6, 1.0),
        (0.9, 0.8, 0.6, 0.8),
        (0.0, 0.8, 0.6, 0.0),
        (0.4, 0.8, 0.6, 0.3),
        (0.5, 1.0, 0.99, 0.495),
        (1.0, 1.0, 0.99, 0.99),
        (0.0, 0.0, 0.01, 0.01),
    ],
)
def test_an_auc_is_carried_between_samples(auc, own, to, expected):
    assert carried(auc, own, to) == pytest.approx(expected, abs=1e-15)
