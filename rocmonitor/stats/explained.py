"""The parts of docstrings that are said once and shown by `help` wherever they hold.

A docstring names a paper by its key, such as [DDC88]; `help` gives the reference. Likewise arguments that
whole families share, and the fields of a result that a docstring does not describe.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

ARGUMENTS = {
    "y_true, y_score": "Shape (n,): labels 0 and 1, finite scores (higher: more positive). Or one `Sample`.",
    "y_true, score_1, score_2": "Shape (n,): labels, finite scores of two models. Or one `PairedSample`.",
    "confidence_level": "Within (0, 1).",
    "rng": "Generator, SeedSequence or int: randomness of what is drawn; it must be given there.",
    "pos_label": "As for `auc`.",
    "n_resamples": "Resamples of the methods that draw, which need `rng`.",
    "m_pos, m_neg": "Sizes of a resample, the class sizes by default.",
}
"""Arguments that mean the same in every function."""

ERRORS = {
    "InputError": "Unusable data, or an argument out of its range; the message says which, and what to do.",
    "DegenerateDataError": "Too few rows of a class, or no scatter that the statistic rests on.",
}
"""Errors of every function, where its docstring says no more."""

PAPERS = {
    "AC00": "Agresti and Caffo (2000). The American Statistician 54, 280-288.",
    "AC98": "Agresti and Coull (1998). The American Statistician 52, 119-126.",
    "ACT23": "Angelopoulos, Candès and Tibshirani (2023). Conformal PID control. NeurIPS 36.",
    "AM05": "Agresti and Min (2005). Statistics in Medicine 24, 729-740.",
    "B75": "Bamber (1975). Journal of Mathematical Psychology 12, 387-415.",
    "BCD01": "Brown, Cai and DasGupta (2001). Statistical Science 16, 101-133.",
    "BCRT23": "Barber, Candès, Ramdas and Tibshirani (2023). Annals of Statistics 51, 816-845.",
    "BCV08": "Bertail, Clémençon, Vayatis (2008). On bootstrapping the ROC curve. NIPS 21.",
    "BH93": "Beran and Hall (1993). Journal of the Royal Statistical Society B 55, 643-652.",
    "BH95": "Benjamini and Hochberg (1995). Journal of the Royal Statistical Society B 57, 289-300.",
    "BK57": "Birnbaum and Klose (1957). Annals of Mathematical Statistics 28, 933-945.",
    "BKKP24": "Białek, Kivimäki, Kuberski and Perrakis (2024). arXiv:2401.08348.",
    "BM02": "Bell and McCaffrey (2002). Survey Methodology 28, 169-181.",
    "C58": "Cox (1958). Two further applications of a model for binary regression. Biometrika 45.",
    "C94": "Campbell (1994). Statistics in Medicine 13, 499-508.",
    "CM04": "Cortes and Mohri (2004). Advances in Neural Information Processing Systems 17, 305-312.",
    "CP34": "Clopper and Pearson (1934). Biometrika 26, 404-413.",
    "D07": "DerSimonian and Kacker (2007). Contemporary Clinical Trials 28, 105-114.",
    "D12": "Demidenko (2012). Journal of Applied Statistics 39, 67-79.",
    "DDC88": "DeLong, DeLong and Clarke-Pearson (1988). Biometrics 44, 837-845.",
    "DG08": "Dugas, Gadoury (2008). Pointwise exact bootstrap distributions of cost curves. ICML 2008.",
    "DG09": "Dugas, Gadoury (2010). Pointwise exact bootstrap distributions of ROC curves. Machine Learning.",
    "DH06": "Drummond and Holte (2006). Machine Learning 65, 95-130.",
    "DK12": "Durbin and Koopman (2012). Time Series Analysis by State Space Methods. Oxford.",
    "F06": "Fawcett (2006). An introduction to ROC analysis. Pattern Recognition Letters 27, 861-874.",
    "GC21": "Gibbs and Candès (2021). Adaptive conformal inference under distribution shift. NeurIPS 34.",
    "H21": "Howard, Ramdas, McAuliffe and Sekhon (2021). Annals of Statistics 49, 1055-1080.",
    "H48": "Hoeffding (1948). Annals of Mathematical Statistics 19, 293-325.",
    "H92": "Hall (1992). The Bootstrap and Edgeworth Expansion. Springer.",
    "H92b": "Hall (1992). Journal of the Royal Statistical Society B 54, 221-228.",
    "HHF": "Hall, Hyndman and Fan (2004). Biometrika 91, 743-750.",
    "HM82": "Hanley and McNeil (1982). Radiology 143, 29-36.",
    "K65": "Kish (1965). Survey Sampling. Wiley.",
    "KG98": "Korn and Graubard (1998). Survey Methodology 24, 193-201.",
    "L76": "Lai (1976). Annals of Statistics 4, 265-280.",
    "M18": "Morin (2018). Forecast intervals for the AUROC with a time-varying population. Working paper.",
    "MC89": "McClish (1989). Medical Decision Making 9, 190-195.",
    "MH93": "Ma and Hall (1993). Medical Decision Making 13, 191-197.",
    "N06": "Newcombe (2006). Statistics in Medicine 25, 559-573.",
    "N67": "Noether (1967). Elements of Nonparametric Statistics. Wiley.",
    "N98": "Newcombe (1998). Statistics in Medicine 17, 873-890 (method 10).",
    "O01": "Owen (2001). Empirical Likelihood. Chapman and Hall/CRC.",
    "O97": "Obuchowski (1997). Nonparametric analysis of clustered ROC curve data. Biometrics 53, 567-578.",
    "OM97": "Obuchowski and McClish (1997). Statistics in Medicine 16, 1529-1542.",
    "P99": "Platt (1999). Probabilistic outputs for support vector machines. MIT Press, 61-74.",
    "PM82": "Paule and Mandel (1982). Journal of Research of the National Bureau of Standards 87, 377-385.",
    "R11": "Robin et al. (2011). BMC Bioinformatics 12, 77.",
    "R59": "Roberts (1959). Technometrics 1, 239-250.",
    "R70": "Robbins (1970). Annals of Mathematical Statistics 41, 1397-1409.",
    "R83": "Rosner (1983). Technometrics 25, 165-172.",
    "S46": "Satterthwaite (1946). Biometrics Bulletin 2, 110-114.",
    "S53": "Shapley (1953). A value for n-person games. Contributions to the Theory of Games II.",
    "V12": "Vovk (2012). Conditional validity of inductive conformal predictors. PMLR 25, 475-490.",
    "V39": "Ville (1939). Étude critique de la notion de collectif. Gauthier-Villars, Paris.",
    "VGS05": "Vovk, Gammerman and Shafer (2005). Algorithmic Learning in a Random World. Springer.",
    "W23": "Wang and Ramdas (2023). arXiv:2310.03722.",
    "W27": "Wilson (1927). Journal of the American Statistical Association 22, 209-212.",
    "W76": "Williams (1976). Biometrika 63, 33-37.",
    "W82": "White (1982). Maximum likelihood estimation of misspecified models. Econometrica 50.",
    "WMK16": "Wu, Martin and Kacker (2016). Communications in Statistics 45, 1689-1703.",
    "WS24": "Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024). Annals of Statistics 52, 2613-2640.",
    "ZD08": "Zou and Donner (2008). Statistics in Medicine 27, 1693-1702.",
}
"""References by their keys; docs/bibliography.md has them with their titles."""

_ORDER = ("", "Parameters", "Attributes", "Returns", "Raises", "Notes", "References", "Examples")


def explained(doc: str, added: Mapping[str, Mapping[str, str]], also: str = "") -> str:
    """Return a docstring with entries that its sections lack, and references for the papers that it cites.

    `added` has texts by section and names; `also` is more text that may cite papers.
    """
    text, *rest = re.split(r"\n\n(?=[A-Z]\w+\n---)", inspect.cleandoc(doc))
    parts = {"": text} | {section.partition("\n")[0]: section for section in rest}
    for section, entries in added.items():
        told = parts.get(section, "")
        known = set(", ".join(re.findall(r"^(\w[\w, ]*)", told, flags=re.MULTILINE)).split(", "))
        lines = [f"{names}: {why}" for names, why in entries.items() if not known & set(names.split(", "))]
        body = told.split("\n")[2:]
        if lines:
            both = [*lines, *body] if section == "Parameters" else [*body, *lines]
            parts[section] = "\n".join([section, "-" * len(section), *both])
    cited = [f".. [{key}] {paper}" for key, paper in PAPERS.items() if f"[{key}]" in doc + also]
    if cited:
        parts["References"] = "\n".join(["References\n----------", *cited])
    return "\n\n".join([parts[section] for section in _ORDER if section in parts])


def explain(functions: Iterable[Any]) -> None:
    """Complete the docstrings of functions, for `help`."""
    for function in functions:
        if not inspect.isfunction(function) or not function.__doc__:
            continue
        shown = set(inspect.signature(function).parameters)
        arguments = {names: why for names, why in ARGUMENTS.items() if set(names.split(", ")) <= shown}
        returned = dict[str, str]()  # the fields of the result, by the name of its type
        name = str(function.__annotations__.get("return"))
        kind = inspect.unwrap(function).__globals__.get(name)
        if isinstance(kind, type) and is_dataclass(kind):
            names = " ".join([f".{field.name}" for field in fields(kind) if field.repr])
            returned[name] = textwrap.fill(names, 100, subsequent_indent="    ")
        function.__doc__ = explained(
            function.__doc__, {"Parameters": arguments, "Returns": returned, "Raises": ERRORS}
        )
