"""Tables of the operating points: their numbers as cells, and nothing where there are none."""

from __future__ import annotations

from factories import evaluation

from rocmonitor.report.points import operating_points


def test_cells_have_the_numbers_of_the_window() -> None:
    found = operating_points(
        evaluation(
            tables={
                "fprs": [
                    {"model": "champion", "fpr": 0.05, "tpr": 0.31, "tpr_low": 0.29, "tpr_high": 0.332},
                    {"model": "challenger", "fpr": 0.05, "tpr": 0.4, "tpr_low": None, "tpr_high": None},
                ],
                "thresholds": [
                    {
                        "model": "champion",
                        "threshold": 0.25,
                        "tpr": 0.614,
                        "tpr_low": 0.586,
                        "tpr_high": 0.641,
                        "fpr": 0.256,
                        "fpr_low": 0.241,
                        "fpr_high": 0.27,
                    }
                ],
                "costs": [{"model": "champion", "w": 0.2, "cost": 0.15432, "cost_low": None}],
            }
        )
    )
    assert [list(shown.rows) for shown in found.values()] == [
        [("champion", "5 %", "31 %", "29 % to 33.2 %"), ("challenger", "5 %", "40 %", "–")],
        [("champion", "0.25", "61.4 % (58.6 to 64.1)", "25.6 % (24.1 to 27)")],
        [("champion", "0.2", "0.1543", "–")],
    ]
    assert [shown.caption for shown in found.values()] == [
        "Positives found at a false positive rate",
        "Rates at fixed thresholds",
        "Normalised cost at each operating condition w",
    ]


def test_a_window_without_operating_points_has_no_tables() -> None:
    assert operating_points(evaluation(tables={})) == {}
