"""``rocmonitor auc``."""

import gzip
import json


def test_auc_of_a_file(tmp_path, rocmonitor):
    rows = ["y,a,b", "1,0.9,3", "0,0.1,1", "1,0.4,2", "0,0.4,4", ",0.5,5", "7,0.5,5", "1,x,5"]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    shown = rocmonitor("auc", "rows.csv", "--label", "y", "--score", "a").stdout
    assert shown.startswith("a: AUROC 0.875000")
    assert "set aside of 7 rows: 1 without a label, 1 without a usable score, 1 with a label of" in shown
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress((tmp_path / "rows.csv").read_bytes()))
    both = ("auc", "rows.csv.gz", "--label", "y", "--score", "b", "--score", "a")
    assert "difference (challenger a minus champion b): +0.375000, 95 % " in rocmonitor(*both).stdout
    answer = json.loads(rocmonitor(*both, "--json").stdout)
    assert set(answer) == {"scores", "rows", "difference"}
    assert answer["rows"] == {"rows": 7, "used": 4, "bad_score": 1, "unlabelled": 1, "bad_label": 1}
    area, difference = answer["scores"]["a"], answer["difference"]
    assert (area["auc"], area["positives"], area["negatives"]) == (0.875, 2, 2)
    assert area["auc_low"] < area["auc"] < area["auc_high"]
    assert 0 < area["auc_se_exact_bootstrap"] != area["auc_se"]
    assert answer["scores"]["b"]["auc"] == 0.5
    assert difference["auc"] == 0.375
    assert difference["auc_low"] < 0.375 < difference["auc_high"]
    assert 0 < difference["pvalue"] < 1
    missing = rocmonitor("auc", "rows.csv", "--label", "y", "--score", "c", code=2)
    assert "no column c; there are y, a, b" in missing.stderr


def test_auc_of_named_labels(tmp_path, rocmonitor):
    rows = ["y;a", "bad;0,9", "good;0,1", "bad;0,4", "good;0,4", "?;0,5"]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    given = ("auc", "rows.csv", "--label", "y", "--score", "a")
    named = (*given, "--positive", "bad", "--negative", "good", "--decimal", ",", "--json")
    answer = json.loads(rocmonitor(*named).stdout)
    assert answer["scores"]["a"]["auc"] == 0.875
    assert answer["rows"]["bad_label"] == 1
    assert "--positive and --negative" in rocmonitor(*given, code=2).stderr
    assert "--negative: needed" in rocmonitor(*given, "--positive", "bad", code=2).stderr
    assert "--negative needs a --positive" in rocmonitor(*given, "--negative", "bad", code=2).stderr
