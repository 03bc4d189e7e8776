import pytest

from rocmonitor.errors import InputError
from rocmonitor.stats import OperatingCondition, cost_curve, cost_difference, expected_cost

Y, S = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 6, 4, 5, 7, 8]
FRAUD = OperatingCondition(false_positive=20, false_negative=900, prevalence=0.01)


def test_money_by_hand():
    # 1,000 decisions: 10 positives of which 1/4 are missed, 990 negatives of which 1/4 are flagged
    paid = expected_cost(cost_curve(Y, S, FRAUD.w, 5), FRAUD)
    assert paid.cost[0] == pytest.approx(10 * 0.25 * 900 + 990 * 0.25 * 20)
    assert paid.low[0] < paid.cost[0] < paid.high[0]
    ten = expected_cost(cost_curve(Y, S, FRAUD.w, 5), [FRAUD], decisions=10_000)
    assert ten.cost[0] == pytest.approx(10 * paid.cost[0])


def test_money_saved():
    saved = expected_cost(cost_difference(Y, S, [1, 2, 3, 4, 5, 6, 7, 8], FRAUD.w, 5, 5), FRAUD)
    # the second model makes no error
    assert saved.cost[0] == pytest.approx(-(10 * 0.25 * 900 + 990 * 0.25 * 20))


def test_there_and_back():
    w = FRAUD.w
    assert w == pytest.approx(0.01 * 900 / (0.01 * 900 + 0.99 * 20))
    back = OperatingCondition.at(w, prevalence=0.01, false_positive=20)
    assert back.false_negative == pytest.approx(900)
    assert OperatingCondition(false_positive=1, false_negative=0, prevalence=0.3).w == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((-1, 1, 0.1), "false_positive must be a finite cost of at least 0; it is -1"),
        ((1, float("inf"), 0.1), "false_negative must be a finite cost"),
        ((1, 1, 1.5), "prevalence must be a share"),
        ((0, 0, 0.1), "no error costs anything"),
        ((0, 5, 0), "no error costs anything"),
    ],
)
def test_bad_conditions(values, message):
    false_positive, false_negative, prevalence = values
    with pytest.raises(InputError, match=message):
        OperatingCondition(
            false_positive=false_positive, false_negative=false_negative, prevalence=prevalence
        )


def test_bad_money():
    curve = cost_curve(Y, S, [0.2, 0.5], 5)
    with pytest.raises(InputError, match="conditions must be those of the costs"):
        expected_cost(curve, FRAUD)
    with pytest.raises(InputError, match="sampling='stratified'"):
        expected_cost(cost_curve(Y, S, FRAUD.w, 5, sampling="full"), FRAUD)
    with pytest.raises(InputError, match="decisions must be at least 1"):
        expected_cost(cost_curve(Y, S, FRAUD.w, 5), FRAUD, decisions=0)
    with pytest.raises(InputError, match="w must be one number"):
        OperatingCondition.at(1.0, prevalence=0.1)
