"""Write docs/papers.md and its pictures from the results of the studies: what we confirm, what we correct.

Run the studies first (`make study NAME=…`): each leaves JSON and PNG in results/. This one reads them, and
says which are missing. The same results give the same page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from studies.figures import picture, restored
from studies.running import options, say

from rocmonitor.report.timeline import png

DOCS = Path(__file__).resolve().parents[2] / "docs"
TITLES = {
    "dg09": "Dugas and Gadoury (2009): ROC curves [DG09]",
    "dg08": "Dugas and Gadoury (2008): cost curves [DG08]",
    "bcv08": "Bertail, Clémençon and Vayatis (2008): bands [BCV08]",
    "wmk16": "Wu, Martin and Kacker (2016): standard errors [WMK16]",
    "m18": "Morin (2018): forecast intervals [M18]",
}


class Section(NamedTuple):
    """A paper: the study whose figure is shown, all studies, and what their table does not say."""

    shown: str
    studies: Sequence[str]
    besides: Sequence[str]


SECTIONS = {
    "dg09": Section(
        "dg09-spread",
        (
            "dg09-spread",
            "dg09-size",
            "dg09-uci-threshold",
            "dg09-paired",
            "dg09-vertical",
            "dg09-vertical-paired",
            "dg09-sampling",
            "dg09-unpaired",
            "dg09-total-rate",
        ),
        (
            "The probability that one model dominates is weak as a test, as the paper warns.",
            "Agresti's regions can cover less than their level, those of pairs by several points. Those "
            'of `method="clopper-pearson"` cannot, and name the thresholds where they cover clearly '
            "more.",
            "The law of two thresholds takes O(n^1.5) for a rate, not O(n^4) for all: figure 10 now has "
            "1,000 and 10,000 rows a class.",
            "Two models at a fixed total positive rate: the law is exact up to about 16 rows, and "
            "approximated beyond, with exact means. With at least 20 rows flagged and 20 not, deviations of "
            "a tenth of a row or more are off by 11 % at most, mostly by 2 %, and distribution functions by "
            "0.04, mostly by 0.01.",
            "In eq. 22 the sum for d < 0 ends at floor((m + d) / 2). Table 3 swaps the training classes "
            "of Telescope (672 positives, 328 negatives), and the text has 405,141 test rows of Covertype "
            "for 490,141.",
        ),
    ),
    "dg08": Section(
        "dg08-spread",
        (
            "dg08-spread",
            "dg08-size",
            "dg08-difference",
            "dg08-full",
            "dg08-empirical",
            "dg08-validation",
            "dg08-proportions",
        ),
        (
            'The collapse can be repaired: limits of the error rates put together (`method="mover"`) '
            "keep their level at every w; Agresti repairs most of it.",
            "Eq. 5 lacks the class sizes; eq. 10 and 13 are garbled. Under full sampling the variance is "
            "that of one row's cost over the number of rows. Figure 3's caption prints 1,000 for 10,000 "
            "rows.",
            "Score laws are not extrapolated beyond the observed scores (section 7): no row could contradict "
            "the tail of the law chosen. `mover` needs no tail.",
        ),
    ),
    "bcv08": Section(
        "bcv08-table1",
        ("bcv08-table1",),
        (
            "Step 2 of the algorithm swaps the shares of the classes.",
            '`roc_band` recommends `"studentized-sup"` instead '
            "([why](decisions.md#bands-for-a-whole-curve)).",
        ),
    ),
    "wmk16": Section(
        "wmk16-ties",
        (
            "wmk16-ties",
            "wmk16-runs",
        ),
        (
            'Percentiles by Definition 2 are `percentiles="averaged_inverted_cdf"`.',
            "The exact bootstrap variance is called impractical; it has a closed form, O(n log n).",
            "How many replications (table 1) needs no runs: B = 1 / (2 d^2) + 1 for a relative error d.",
        ),
    ),
    "m18": Section(
        "m18-figure2",
        (
            "m18-figure2",
            "m18-likelihood",
            "m18-homogeneity",
        ),
        (
            "The rivals' coverage in table 1 is confirmed (`make study NAME=m18-table1`).",
            "The printed recurrence rests on a wrong derivative and runs away (`make study "
            "NAME=m18-recurrence`).",
            "A weight of 0 does not cost an infinite distance. The binned distance gives the interval no "
            "level; ours is calibrated on past windows.",
            "The binned distance is that of section 3.5, by maximum likelihood, with a multinomial law.",
        ),
    ),
}

VERDICTS = {
    "dg09-spread": "reproduced",
    "dg09-size": "reproduced",
    "dg09-uci-threshold": "reproduced",
    "dg09-paired": "reproduced",
    "dg09-vertical": "differs (by up to 4 points: which rows trained the models is not printed)",
    "dg09-vertical-paired": "reproduced",
    "dg09-sampling": "reproduced",
    "dg09-unpaired": "not stated",
    "dg09-total-rate": "not stated",
    "dg08-spread": "reproduced",
    "dg08-size": "reproduced",
    "dg08-difference": "reproduced",
    "dg08-full": "reproduced",
    "dg08-empirical": "not stated",
    "dg08-validation": "not stated",
    "dg08-proportions": "not stated",
    "bcv08-table1": "differs (how curves begin at FPR 0, and how d_B is measured, is not printed)",
    "wmk16-ties": "differs (P²/3 for ties is printed, P²/4 is right)",
    "wmk16-runs": "reproduced",
    "m18-figure2": "reproduced",
    "m18-likelihood": "not stated",
    "m18-homogeneity": "not stated",
}
"""Is a study's table or figure that of the paper? `not stated`: the paper has a sentence, and no numbers."""


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments)
    folder = Path(chosen.results)
    target = Path(chosen.output) if chosen.output else DOCS / "papers.md"
    found = read(folder)
    pictures = target.parent / "images" / "papers"
    pictures.mkdir(parents=True, exist_ok=True)
    for key, section in (*SECTIONS.items(), ("drift", None)):
        shown = section.shown if section else key
        (pictures / f"{shown}.png").write_bytes(drawn(found[shown], folder / f"{shown}.png"))
    target.write_text(page(found), encoding="utf-8")
    say(f"Written: {target}")


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """The results of all studies; stops when one is missing."""
    names = [*(name for section in SECTIONS.values() for name in section.studies), "drift"]
    missing = [name for name in names if not (folder / f"{name}.json").exists()]
    if missing:
        raise SystemExit(f"run these studies first (make study NAME=…): {', '.join(missing)}")
    return {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in names}


def drawn(found: Mapping[str, Any], file: Path) -> bytes:
    """The picture of a study: coverage figures anew, narrower; others as the study drew them."""
    return png(picture(restored(found), width=8)) if "panels" in found else file.read_bytes()


def page(found: Mapping[str, Mapping[str, Any]]) -> str:
    """The whole page."""
    parts = [
        "# The papers, checked\n\n"
        "The tables and figures of the five papers, run again with their designs: `make study NAME=…` with "
        "the name in the first column. `make study NAME=papers` writes this page. *Not stated*: the paper "
        "has a sentence, and no numbers. Coverages are per cent; the lowest of many may lie 3.5 Monte Carlo "
        "errors below its level by chance.\n"
    ]
    for key, section in SECTIONS.items():
        parts.append(_section(TITLES[key], section, found))
    parts.append(_real_streams())
    return "\n".join(parts)


def _section(title: str, section: Section, found: Mapping[str, Mapping[str, Any]]) -> str:
    shown = found[section.shown]
    lines = [f"## {title}\n", f"![{_plain(shown)}, run again](images/papers/{section.shown}.png)\n"]
    runs = [_runs(found[name]) for name in section.studies]
    usual = max(runs, key=runs.count)
    shared = runs.count(usual) > 1
    if shared:
        lines.append(f"Unless a row says otherwise: {usual}.\n")
    lines += ["| study | the paper says | we find | verdict |", "|---|---|---|---|"]
    for name, each in zip(section.studies, runs, strict=True):
        of, said = found[name], "" if shared and each == usual else f"; {each}"
        lines.append(f"| `{name}`: {_plain(of)}{said} | {of['claim']} | {of['found']} | {VERDICTS[name]} |")
    lines += ["\nBesides:\n", *(f"- {text}" for text in section.besides)]
    return "\n".join(lines) + "\n"


def _plain(of: Mapping[str, Any]) -> str:
    return str(of["paper"]).partition("] ")[2]


def _runs(of: Mapping[str, Any]) -> str:
    if "error" not in of:
        return f"seed {of['seed']}" if "seed" in of else "no randomness"
    return (
        f"{of['replications']:,} runs, Monte Carlo error {100 * of['error']:.1f} {of.get('unit', 'points')}"
    )


def _real_streams() -> str:
    return (
        "## Real streams\n\n"
        "![AUROC of each window, with alarms](images/papers/drift.png)\n\n"
        "`make study NAME=drift`: the first windows are the reference, the real judge judges the others. "
        "[Coverage](coverage.md#real-streams) says what it finds.\n"
    )
