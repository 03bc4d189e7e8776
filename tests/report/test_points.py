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
                "shares": [
                    {
                        "model": "champion",
                        "share": 0.05,
                        "flagged": 0.0502,
                        "precision": 0.6123,
                        "precision_low": 0.55,
                        "precision_high": 0.67,
                    }
                ],
            },
            metrics={
                "champion/brier": 0.12345,
                "champion/brier_low": 0.12,
                "champion/brier_high": 0.1281,
                "champion/calibration_slope": 0.8,
            },
        )
    )
    assert [list(shown.rows) for shown in found.values()] == [
        [("champion", "5 %", "31 %", "29 % to 33.2 %"), ("challenger", "5 %", "40 %", "–")],
        [("champion", "0.25", "61.4 % (58.6 to 64.1)", "25.6 % (24.1 to 27)")],
        [("champion", "5 %", "61.2 %", "55 % to 67 %")],
        [("champion", "0.2", "0.1543", "–")],
        [("Brier score", "0.123", "0.120 to 0.128"), ("slope (calibrated: 1)", "0.800", "–")],
    ]
    assert [shown.caption for shown in found.values()] == [
        "Positives found at a false positive rate",
        "Rates at fixed thresholds",
        "Precision when a share of all rows is flagged",
        "Normalised cost at each operating condition w",
        "Calibration of the champion's probabilities",
    ]


def test_a_window_without_operating_points_has_no_tables() -> None:
    assert operating_points(evaluation(tables={})) == {}
