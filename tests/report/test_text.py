"""Plain text for a terminal."""

from zoneinfo import ZoneInfo

from factories import evaluation

from rocmonitor.policy.evaluation import Status
from rocmonitor.report import text


def test_findings_say_why_and_what_moved() -> None:
    moved = evaluation(explanation="The AUROC fell by 0.0369, from 0.7381 to 0.7012.")
    told = text.findings([moved, evaluation(1, outcome=Status.OK)], ZoneInfo("UTC")).splitlines()
    assert told == [
        "",
        "degraded 2013-09-02 to 2013-09-09",
        f"    {moved.verdicts[0].text}",
        "    The AUROC fell by 0.0369, from 0.7381 to 0.7012.",
    ]
