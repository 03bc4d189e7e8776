"""Reference values from outside this project, with their sources, and the data they belong to.

Counts and data of a few dozen rows are written here, so that every clone is checked against outside values.
The other data sets are not part of the project: they are read from the folder ``shared/data`` beside the
checkout, and a test that needs one is skipped when it is absent.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def read(name: str) -> pd.DataFrame:
    """One of the data sets; skips the test when it is not there."""
    if name == DELONG1988:
        return _delong1988()
    path = DATA / name
    if not path.exists():
        pytest.skip(f"needs the data set {name} in {DATA}")
    with gzip.open(path, "rt") as stream:
        return pd.read_csv(stream)


# pROC 1.19.0.1, tests/testthat/test-{auc,var,cov,ci.auc,roc.test}.R (github.com/xrobin/pROC @ ee2877e):
# 113 patients with subarachnoid haemorrhage, 41 of poor outcome.
ASAH = "asah/asah.csv.gz"
ASAH_AUC = {"wfns": 0.823678861788618, "s100b": 0.731368563685637, "ndka": 0.611957994579946}
ASAH_VARIANCE = {"wfns": 0.00146991470882363, "s100b": 0.00266868245717244, "ndka": 0.0031908105493913}
ASAH_CI_NDKA = (0.501244999271703, 0.722670989888189)
ASAH_CI_NDKA_WOMEN = (0.5261398281, 0.6671428571, 0.8081458862)  # low, AUC, high
ASAH_COVARIANCE = {
    ("wfns", "ndka"): -0.000532967856762438,
    ("ndka", "s100b"): -0.000756164938056579,
    ("s100b", "wfns"): 0.00119615567376754,
}
# Statistic, two-sided p, 95 % interval of the difference.
ASAH_PAIRED = {
    ("wfns", "s100b"): (2.20898359144091, 0.0271757822291882, 0.0104061769564846, 0.174214419249478),
    ("wfns", "ndka"): (2.79777591868904, 0.00514557970691098, 0.0634011709339876, 0.3600405634833566),
    ("ndka", "s100b"): (-1.39077002573558, 0.164295175223054, -0.2876917446341914, 0.0488706064228094),
}
# Student's t and its two-sided p, the two curves taken as independent. The degrees of freedom were
# recomputed from the formula of the pROC sources.
ASAH_UNPAIRED = {
    ("wfns", "s100b"): (1.43490640926908, 206.661063788, 0.152825378808796),
    ("wfns", "ndka"): (3.10125096778969, 197.125250631, 0.00220950791756457),
    ("ndka", "s100b"): (-1.55995743389685, 222.235395951, 0.120192832430845),
}
ASAH_ONE_SIDED_P = {  # wfns - s100b
    ("paired", "greater"): 0.0135878911145941,
    ("paired", "less"): 0.986412108885406,
    ("unpaired", "greater"): 0.076412689404398,
    ("unpaired", "less"): 0.923587310595602,
}
# Standard deviation over 1,000,000 stratified bootstrap replicates, recomputed with numpy; Monte Carlo
# standard error sd / sqrt(2e6).
ASAH_BOOTSTRAP_SD = {"wfns": 0.038083, "s100b": 0.051333, "ndka": 0.056130}
ASAH_BOOTSTRAP_ENDS = {"wfns": (0.74458, 0.89329), "s100b": (0.62669, 0.82757), "ndka": (0.50034, 0.72019)}
ASAH_BOOTSTRAP_SD_PAIRED = {
    ("wfns", "s100b"): 0.041661,
    ("wfns", "ndka"): 0.075156,
    ("ndka", "s100b"): 0.085255,
}

# pROC, test-auc.R: partial areas over a range of specificity ("sp") or sensitivity ("se"), raw and with
# McClish's correction. Where pROC gives NA (below chance) stands the value of the formula.
ASAH_PARTIAL_RANGES = {"sp": ((1, 0.9), (0.9, 0.8), (0.5, 0)), "se": ((1, 0.9), (0.9, 0.8), (0.5, 0))}
ASAH_PARTIAL = {
    ("wfns", "sp"): (0.0334417344173442, 0.0598373983739837, 0.488134475939354),
    ("ndka", "sp"): (0.0107046070460705, 0.0277777777777778, 0.416836043360434),
    ("wfns", "se"): (0.0400999322493225, 0.0609953703703703, 0.483358739837398),
    ("ndka", "se"): (0.0037940379403794, 0.0242547425474255, 0.428523035230352),
}
ASAH_PARTIAL_CORRECTED = {
    ("wfns", "sp"): (0.649693339038653, 0.763749402199904, 0.952537903757416),
    ("ndka", "sp"): (0.530024247610897, 0.575163398692811, 0.667344173441734),
    ("wfns", "se"): (0.68473648552275, 0.770561002178649, 0.933434959349593),
    ("ndka", "se"): (0.493653, 0.554439662043679, 0.714092140921409),
}
ASAH_PARTIAL_99_90 = {  # range 0.99-0.9, as printed
    ("wfns", "sp"): 0.03305,
    ("s100b", "sp"): 0.02983,
    ("ndka", "sp"): 0.01046,
    ("s100b", "se"): 0.01376,
}
# pROC, test-power.roc.test.R. One curve against 0.5, test of Obuchowski & McClish; AUC None: that of s100b.
# The last digit printed is of what the others were solved for.
POWER_ONE = {
    "power": {"auc": None, "n_pos": 41, "n_neg": 72, "alpha": 0.05, "power": 0.9904833, "digit": 1e-7},
    "power of 0.73": {
        "auc": 0.73,
        "n_pos": 41,
        "n_neg": 72,
        "alpha": 0.05,
        "power": 0.9897453,
        "digit": 1e-7,
    },
    "sizes, kappa 1.7": {
        "auc": None,
        "n_pos": 29.29764,
        "n_neg": 49.806,
        "alpha": 0.05,
        "power": 0.95,
        "digit": 1e-7,
    },
    "level": {"auc": 0.73, "n_pos": 41, "n_neg": 72, "alpha": 0.009238584, "power": 0.95, "digit": 1e-7},
    "sizes, kappa 72/41": {
        "auc": None,
        "n_pos": 23.5598674,
        "n_neg": 41.3734257,
        "alpha": 0.05,
        "power": 0.9,
        "digit": 1e-8,
    },
    "sizes, kappa 1": {
        "auc": None,
        "n_pos": 29.5697422,
        "n_neg": 29.5697422,
        "alpha": 0.05,
        "power": 0.9,
        "digit": 1e-8,
    },
}
POWER_DETECTABLE = 0.6961054  # AUC; 41 positives, 72 negatives, power 0.95
# Two curves on the same rows, DeLong's variance, first curve the null: n_pos, n_neg, alpha, power.
POWER_TWO = {
    ("ndka", "wfns"): (
        (41, 72, 0.05, 0.7131594),
        (41, 72, 0.1836639, 0.9),
        (64.77777, 113.7561, 0.05, 0.9),
    ),
    ("s100b", "ndka"): ((213.117677, 374.255432, 0.05, 0.9),),
}
# Obuchowski & McClish 1997, Statistics in Medicine 16:1529-1542, example of partial areas.
POWER_BINORMAL = {
    "pair": {"a": (2.6, 1.9), "b": (1.0, 1.0), "corr_pos": 0.6, "corr_neg": 0.6, "fpr": (0.0, 0.2)},
    "drop": 0.037,
    "n": 107.0238,
}

# pROC, test-numeric-accuracy.R: three scores that differ in the last bit and must stay apart.
NEAR_TIE_CASE = np.array([1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1])
NEAR_TIE_SCORE = np.array(
    [
        0.960602681556147,
        0.0794407386056549,
        0.144842404246611,
        0.931816485855784,
        0.931816485855784,
        0.97764041048215,
        0.653549466997938699464,
        0.796401132206396,
        0.427720540184519,
        0.811278021288732,
        0.0188323116581187,
        0.653549466997938588442,
        0.653549466997938477419,
        0.959111701445925,
        0.931816485855784,
        0.663663279418747,
        0.800100838413179,
        0.780456095511079,
    ]
)
NEAR_TIE_AUC = 60 / 77

# Hanley & McNeil 1982, Radiology 143:29-36, table I: ratings 1 to 5; AUC, DeLong standard error and
# interval as printed by Stata, [R] roctab.
HM1982_NEG, HM1982_POS = (33, 6, 6, 11, 2), (3, 2, 2, 11, 33)
HM1982 = {"auc": 0.8931710615280596, "se": 0.03072440837938112}
HM1982_CI = (0.832952327658172, 0.953389795397947)
HM1982_SE_Q_FROM_DATA = 0.0319904  # table II prints 0.032
HM1982_SE_EXPONENTIAL = 0.0324866  # Q1 = A/(2-A), Q2 = 2A²/(1+A), recomputed
HM1982_BOOTSTRAP_SD = 0.03057  # 1,000,000 stratified replicates, recomputed with numpy
HM1982_BOOTSTRAP_ENDS = (0.8286, 0.94777)

# Hanley & McNeil 1983, Radiology 148:839-843, modality 1: ratings 1 to 6. AUC as printed by Wu, Martin &
# Kacker 2016, section 8, with their standard error (eq. 15) and that of 2,000 bootstrap replicates.
HM1983_NEG, HM1983_POS = (12, 28, 8, 6, 4, 0), (1, 3, 6, 13, 22, 9)
HM1983 = {"auc": 0.882822, "wmk16": 0.032606, "bootstrap": 0.031943}

# DeLong, DeLong & Clarke-Pearson 1988, Biometrics 44:837-845: the 43 complete patients as printed by SAS/STAT
# PROC LOGISTIC, "Comparing Receiver Operating Characteristic Curves". It prints results with four digits; the
# others were recomputed, the intervals with a normal quantile of 1.959964 (good to 2e-9).
DELONG1988 = "delong_1988_ovarian"
# Albumin, total protein, K-G score, popind. The label is popind; a low K-G score speaks for 1.
_DELONG1988 = """
3.0 5.8 10 0; 3.2 6.3 5 1; 3.9 6.8 3 1; 2.8 4.8 6 0; 3.2 5.8 3 1; 0.9 4.0 5 0
2.5 5.7 8 0; 1.6 5.6 5 1; 3.8 5.7 5 1; 3.7 6.7 6 1; 3.2 5.4 4 1; 3.8 6.6 6 1
4.1 6.6 5 1; 3.6 5.7 5 1; 4.3 7.0 4 1; 3.6 6.7 4 0; 2.3 4.4 6 1; 4.2 7.6 4 0
4.0 6.6 6 0; 3.5 5.8 6 1; 3.8 6.8 7 1; 3.0 4.7 8 0; 4.5 7.4 5 1; 3.7 7.4 5 1
3.1 6.6 6 1; 4.1 8.2 6 1; 4.3 7.0 5 1; 4.3 6.5 4 1; 3.2 5.1 5 1; 2.6 4.7 6 1
3.3 6.8 6 0; 1.7 4.0 7 0; 3.7 6.1 5 1; 3.3 6.3 7 1; 4.2 7.7 6 1; 3.5 6.2 5 1
2.9 5.7 9 0; 2.1 4.8 7 1; 2.8 6.2 8 0; 4.0 7.0 7 1; 3.3 5.7 6 1; 3.7 6.9 5 1
3.6 6.6 5 1
"""
DELONG1988_MODELS = ("albumin", "kg_score", "total_protein")
DELONG1988_AUC = (0.7365591397849462, 0.7258064516129032, 0.6478494623655915)
DELONG1988_SE = (0.0926943460524, 0.1028216089800, 0.1000473755837)
DELONG1988_CI = (
    (0.554881558519, 0.918236721051),
    (0.524279799590, 0.927333103636),
    (0.451760207927, 0.843938716804),
)
DELONG1988_COV = (
    (0.00859224, 0.00503706, 0.00774453),
    (0.00503706, 0.01057228, 0.00481930),
    (0.00774453, 0.00481930, 0.01000948),
)
# Contrast: estimate, standard error, 95 % interval, chi-square, p.
DELONG1988_CONTRASTS = {
    (1, -1, 0): (
        0.010752688172043,
        0.095343617730094,
        (-0.176117370209, 0.197622746553),
        0.012718937968680,
        0.910206347201,
    ),
    (0, -1, 1): (
        -0.077956989247312,
        0.104609588718133,
        (-0.282988017190, 0.127074038695),
        0.555350448284452,
        0.456139707507,
    ),
}
DELONG1988_OVERALL = (2.5339779262141344, 2, 0.2816784904888886)  # chi-square, df, p

# Wieand et al. 1989, Biometrika 76:585-592, pancreatic cancer: AUC as in Pepe 2003 (0.86, 0.71), the
# other values recomputed.
WIEAND = "wieand_pancreatic/wiedat2b.csv.gz"
WIEAND_AUC = {"ca19_9": 0.86143791, "ca125": 0.70555556}
WIEAND_SE = {"ca19_9": 0.03058884, "ca125": 0.04682859}
WIEAND_CI = {"ca19_9": (0.801484891, 0.921390926), "ca125": (0.613773205, 0.797337906)}
WIEAND_HM = {"ca19_9": (0.0305487, 0.0301563), "ca125": (0.0465984, 0.0435629)}  # from data, exponential
WIEAND_BOOTSTRAP_SD = {"ca19_9": 0.030525, "ca125": 0.046633}
WIEAND_BOOTSTRAP_ENDS = {"ca19_9": (0.79793, 0.91743), "ca125": (0.61155, 0.79423)}
WIEAND_COV = -7.541314258e-05
WIEAND_PAIRED = {
    "difference": 0.155882352941,
    "se": 0.057266220937,
    "statistic": 2.722064602655,
    "pvalue": 0.006487545874,
}
WIEAND_PAIRED_CI = (0.043642622373, 0.268122083509)
WIEAND_PAIRED_BOOTSTRAP_SD = 0.057028

# Scored streams; AUC and DeLong standard error computed independently of this project, cut (not rounded)
# after nine decimals.
EMPLOYMENT = "nannyml_employment_ma/employment_ma.csv.gz"
EMPLOYMENT_BY_YEAR = {
    2015: (0.903360969, 0.001136007),
    2016: (0.902026439, 0.001146079),
    2017: (0.905075626, 0.001122046),
    2018: (0.905704493, 0.001113773),
}
GAMES = "fivethirtyeight/games.csv.gz"
GAMES_BY_LEAGUE = {  # AUC, standard error, games that were not drawn
    "MLB": (0.608344589, 0.004475606, 15747),
    "NBA": (0.711302709, 0.005458989, 8886),
    "NFL": (0.691781758, 0.012074737, 1882),
    "NHL": (0.665549843, 0.014462367, 1401),
    "WNBA": (0.708459335, 0.024181360, 450),
}


def _delong1988() -> pd.DataFrame:
    """As a data set: every score is higher where the label is 1."""
    printed = [line.split() for line in _DELONG1988.replace("\n", ";").strip(";").split(";")]
    data = pd.DataFrame(printed, columns=["albumin", "total_protein", "kg", "y"]).astype(float)
    return data.assign(kg_score=10 - data["kg"], y=data["y"].astype(int))


# Diabetic Retinopathy Study (Huster, Brookmeyer and Self 1989), data set `retinopathy` of the R package
# survival 3.5-3: two eyes of each of 197 patients, one treated with laser. Risk and whether sight was lost of
# the treated eye, of the untreated one, and how many patients are like that.
_RETINOPATHY = """\
6 0 6 0 1;6 0 8 0 3;6 0 8 1 1;6 0 9 0 1;6 0 10 1 2;6 1 6 0 1;6 1 10 1 1;8 0 6 0 1;8 0 6 1 2;8 0 8 0 4
8 0 9 0 2;8 0 9 1 1;8 0 10 1 1;8 0 12 0 2;8 0 12 1 2;8 1 6 1 1;8 1 8 0 1;8 1 9 1 1;9 0 6 0 2;9 0 8 0 2
9 0 8 1 2;9 0 9 0 21;9 0 9 1 8;9 0 10 0 4;9 0 10 1 5;9 0 11 0 1;9 0 11 1 4;9 0 12 0 1;9 0 12 1 7
9 1 8 1 1;9 1 9 0 2;9 1 9 1 3;9 1 10 0 1;9 1 10 1 4;9 1 11 0 1;9 1 11 1 1;9 1 12 1 2;10 0 8 0 1
10 0 8 1 1;10 0 9 0 7;10 0 9 1 3;10 0 10 0 1;10 0 10 1 6;10 0 12 0 1;10 0 12 1 2;10 1 6 1 1;10 1 8 1 1
10 1 9 0 3;10 1 9 1 4;10 1 10 1 2;10 1 11 0 1;10 1 11 1 2;10 1 12 0 4;10 1 12 1 2;11 0 6 0 1;11 0 8 1 1
11 0 9 0 2;11 0 9 1 2;11 0 10 0 1;11 0 10 1 1;11 0 11 0 9;11 0 11 1 3;11 0 12 0 3;11 0 12 1 1;11 1 8 1 1
11 1 9 1 2;11 1 10 0 1;11 1 10 1 1;11 1 11 1 2;11 1 12 1 1;12 0 9 0 2;12 0 9 1 1;12 0 10 0 2;12 0 10 1 2
12 0 11 0 3;12 0 11 1 4;12 0 12 0 2;12 0 12 1 1;12 1 9 0 1;12 1 9 1 1;12 1 10 1 2;12 1 11 1 1
12 1 12 1 1
"""
# The program of N. A. Obuchowski's department (Cleveland Clinic, `funcs_clusteredROC.R`, as published in
# github.com/DIDSR/mitoticFigureCounts @ 25ad7e4, R/doAUCcluster.R) under R 4.2.2: AUC and standard error of
# the risk, of being untreated, and the standard error of their difference; sight lost is positive, a patient
# is a cluster. Of all patients, and of the 79 who lost the sight of one eye.
RETINOPATHY_ALL = {
    "risk": (0.5820893507895802, 0.0302547708382609),
    "untreated": (0.6249696315292212, 0.0218191128631194),
    "difference": 0.0359157437900682,
}
RETINOPATHY_MIXED = {
    "risk": (0.5736260214709181, 0.0401670740014281),
    "untreated": (0.7974683544303798, 0.0455046599631857),
    "difference": 0.0557895069679414,
}
# R package survival 3.5-3, concordance(status ~ …, cluster = id): its infinitesimal jackknife lacks the
# factor 79 / 78 of Obuchowski's variance, where all 79 clusters have both classes.
RETINOPATHY_JACKKNIFE_MIXED = {
    "risk": 0.039912042381702,
    "untreated": 0.0452157385661459,
    "difference": 0.0554352842947826,
}


def retinopathy() -> pd.DataFrame:
    """Two rows a patient: ``patient, risk, untreated, lost``."""
    printed = [line.split() for line in _RETINOPATHY.replace("\n", ";").strip(";").split(";")]
    found, patient = [], 0
    for treated_risk, treated_lost, risk, lost, count in ([int(each) for each in line] for line in printed):
        for _ in range(count):
            patient += 1
            found += [(patient, treated_risk, 0, treated_lost), (patient, risk, 1, lost)]
    return pd.DataFrame(found, columns=["patient", "risk", "untreated", "lost"])
