"""``rocmonitor auc``."""

import gzip
import json


def test_auc_of_a_file(tmp_path, rocmonitor):
    rows = ["y,a,b", "1,0.9,3", "0,0.1,1", "1,0.4,2", "0,0.4,4", ",0.5,5", "7,0.5,5", "1,x,5"]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    shown = rocmonitor("auc", "rows.csv", "--label", "y", "--score", "a").stdout
    assert shown.startswith("a: AUROC 0.875000")
    assert "set aside of 7 rows: 1 bad_score, 1 unlabelled, 1 bad_label" in shown
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress((tmp_path / "rows.csv").read_bytes()))
    both = ("--label", "y", "--score", "a", "--score", "b", "--json")
    told = json.loads(rocmonitor("auc", "rows.csv.gz", *both).stdout)
    assert told["scores"]["a"]["auc"] == 0.875
    assert told["scores"]["b"]["auc"] == 0.5
    assert told["difference"]["difference"] == 0.375
    missing = rocmonitor("auc", "rows.csv", "--label", "y", "--score", "c", code=2)
    assert "no column c; there are y, a, b" in missing.stderr
