"""Files of scores: encodings, separators, words for labels, and what cannot be read."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from rocmonitor.errors import InputError
from rocmonitor.sources.files import read_scores

ROWS = [("y", "score"), ("1", "0.9"), ("0", "0.1"), ("1", "0.4"), ("", "0.5")]


def text(separator: str = ",", yes: str = "1", no: str = "0", rows=ROWS) -> str:
    words = {"1": yes, "0": no}
    return "\n".join(separator.join([words.get(label, label), score]) for label, score in rows) + "\n"


@pytest.fixture
def written(tmp_path):
    def write(content: bytes | str, name: str = "rows.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def is_read(found, *read_as: str) -> None:
    assert found.y_true.tolist() == [True, False, True]
    assert found.scores["score"].tolist() == [0.9, 0.1, 0.4]
    assert found.counts == {"rows": 4, "used": 3, "bad_score": 0, "unlabelled": 1, "bad_label": 0}
    assert len(found.read_as) == len(read_as)
    for said, expected in zip(found.read_as, read_as, strict=True):
        assert expected in said


@pytest.mark.parametrize(
    ("separator", "name", "read_as"),
    [
        (",", "rows.csv", []),
        (";", "rows.csv", ["semicolons"]),
        ("\t", "rows.csv", ["tabs"]),
        ("|", "rows.txt", ["vertical bars"]),
        ("\t", "rows.tsv", []),
        (",", "rows.tsv", ["commas"]),
    ],
)
def test_the_separator_is_seen(written, separator, name, read_as):
    is_read(read_scores(written(text(separator), name), "y", ["score"]), *read_as)


def test_semicolons_come_with_decimal_commas(written):
    content = text(";").replace("0.", "0,")
    is_read(read_scores(written(content), "y", ["score"]), "semicolons")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_the_encoding_is_seen(written, encoding):
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    content = mark + text().encode(encoding)
    read_as = ["UTF-16"] if "16" in encoding else []
    is_read(read_scores(written(content), "y", ["score"]), *read_as)
    is_read(read_scores(written(gzip.compress(content), "rows.csv.gz"), "y", ["score"]), *read_as)


def test_another_encoding_is_told_with_what_to_do(written):
    content = "größe,y,score\n1,1,0.5\n".encode("cp1252")
    with pytest.raises(InputError, match=r"neither UTF-8 nor UTF-16 .*iconv -f WINDOWS-1252"):
        read_scores(written(content), "y", ["score"])


@pytest.mark.parametrize(
    ("yes", "no"), [("t", "f"), ("T", "F"), ("true", "false"), ("True", "False"), ("yes", "no"), (" Y", "N ")]
)
def test_words_for_labels_are_read(written, yes, no):
    found = read_scores(written(text(yes=yes, no=no)), "y", ["score"])
    assert found.y_true.tolist() == [True, False, True]
    if yes.lower() != "true":
        assert found.read_as == (
            f"the label {yes.strip().lower()} is read as 1 (positive), {no.strip().lower()} as 0",
        )


@pytest.mark.parametrize(("yes", "no"), [("bad", "good"), ("2", "3")])
def test_other_labels_are_told_with_those_that_can_be_read(written, yes, no):
    with pytest.raises(InputError) as told:
        read_scores(written(text(yes=yes, no=no)), "y", ["score"])
    assert f"{yes}" in str(told.value)
    assert f"the labels are '{yes}" in str(told.value)
    assert "name the two with --positive and --negative" in str(told.value)
    for options in ({"positive": yes}, {"positive": yes, "negative": no}):
        is_read(read_scores(written(text(yes=yes, no=no)), "y", ["score"], **options))


def test_one_word_among_numbers_is_a_bad_label(written):
    found = read_scores(written("y,score\n1,0.5\n0,0.4\nmaybe,0.3\n"), "y", ["score"])
    assert found.counts["bad_label"] == 1
    assert found.read_as == ()


@pytest.mark.parametrize("cell", ["\\N", "N/A", "unknown", "2"])
@pytest.mark.parametrize(("yes", "no"), [("1", "0"), ("yes", "no"), ("True", "False")])
def test_a_foreign_label_costs_one_row(written, yes, no, cell):
    found = read_scores(written(text(yes=yes, no=no) + f"{cell},0.5\n"), "y", ["score"])
    assert found.counts == {"rows": 5, "used": 3, "bad_score": 0, "unlabelled": 1, "bad_label": 1}
    named = read_scores(
        written(text(yes=yes, no=no) + f"{cell},0.5\n"), "y", ["score"], positive=yes, negative=no
    )
    assert (named.counts, named.y_true.tolist()) == (found.counts, found.y_true.tolist())


@pytest.mark.parametrize("cell", ["\\N", "N/A", "85 %", "1_000", '"1,000.5"', " ", "nan"])
def test_a_foreign_score_costs_one_row(written, cell):
    found = read_scores(written(text() + f"1,{cell}\n"), "y", ["score"])
    assert found.counts == {"rows": 5, "used": 3, "bad_score": 1, "unlabelled": 1, "bad_label": 0}


def test_a_line_with_more_columns_costs_one_row(written):
    found = read_scores(written(text() + "1,0.5,7\n0,0.3\n"), "y", ["score"])
    assert found.counts["used"] == 4
    assert found.read_as == ("line 6: expected 2 fields, saw 3: left out",)
    with pytest.raises(InputError, match="more columns than its first line names"):
        read_scores(written("y,score\n1,0.5,7\n0,0.3,7\n"), "y", ["score"])


@pytest.mark.parametrize("decimal", [None, ","])
def test_decimal_commas(written, decimal):
    is_read(
        read_scores(written(text(";").replace("0.", "0,")), "y", ["score"], decimal=decimal), "semicolons"
    )
    quoted = '"y","score"\n1,"0,9"\n0,"0,1"\n1,"0,4"\n,"0,5"\n'
    if decimal is None:
        with pytest.raises(
            InputError, match="column score holds '0,9', which is not a number; --decimal , reads"
        ):
            read_scores(written(quoted), "y", ["score"])
    else:
        is_read(read_scores(written(quoted), "y", ["score"], decimal=","))
        found = read_scores(written(quoted + '1,"1.000,5"\n1,0.5\n'), "y", ["score"], decimal=",")
        assert found.counts["bad_score"] == 2


def test_a_column_that_comes_twice_is_refused(written):
    with pytest.raises(InputError, match="has 2 columns named score; rename one of them"):
        read_scores(written("y,score,score\n1,0.5,0.1\n0,0.4,0.9\n"), "y", ["score"])


def test_spaces_around_names_and_cells(written):
    is_read(read_scores(written("y, score\n 1, 0.9\n0 ,0.1\n1, 0.4 \n ,0.5\n"), "y", ["score"]))


@pytest.mark.parametrize(
    ("labels", "options", "says"),
    [
        (
            ["bad", "good", "odd"],
            {"positive": "bad"},
            "--negative: needed, because .* 'bad' are 'good', 'odd'",
        ),
        (["bad", "good"], {"positive": "Bad"}, "--positive: no label is 'Bad'; they are 'bad', 'good'"),
        (["bad", "bad"], {"positive": "bad"}, "--negative: needed, because .* 'bad' are none"),
    ],
)
def test_labels_that_are_not_there(written, labels, options, says):
    content = "y,score\n" + "".join(f"{label},0.5\n" for label in labels)
    with pytest.raises(InputError, match=says):
        read_scores(written(content), "y", ["score"], **options)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([b"1", b"0", b"1", None], None),
        ([b"\x01", b"\x00", b"\x01", None], "--positive"),
        ([b"\xff", b"\xff", b"\xfe", None], "--positive"),
        ([[1], [0], [1], None], "--positive"),
        ([True, False, True, None], None),
    ],
)
def test_binary_labels_of_parquet(tmp_path, labels, kind):
    """It was a traceback."""
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"y": labels, "score": [0.9, 0.1, 0.4, 0.5]}), path)
    if kind is None:
        is_read(read_scores(path, "y", ["score"]))
        return
    with pytest.raises(InputError, match=kind):
        read_scores(path, "y", ["score"])


@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())])
def test_texts_that_are_no_labels_are_refused(tmp_path, kind):
    path = tmp_path / "a.parquet"
    labels = pa.array(["a" * 1001, "b"]).cast(kind)
    parquet.write_table(pa.table({"y": labels, "score": [0.9, 0.1], "notes": ["", "c" * 5000]}), path)
    with pytest.raises(InputError, match="y has a text of more than 1,000 characters"):
        read_scores(path, "y", ["score"])


def test_a_missing_column_is_told_with_the_nearest(written):
    with pytest.raises(InputError, match=r"no column scores; there are y, score; did you mean score\?"):
        read_scores(written(text()), "y", ["scores"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.csv", b""),
        ("rows.csv.gz", gzip.compress(text(rows=ROWS * 1000).encode(), mtime=0)[:-20]),
        ("rows.csv.xz", b"not xz"),
        ("rows.csv.zip", b"not a zip"),
        ("rows.csv.tar", b"not a tar"),
        ("rows.csv.bz2", b"not bzip2"),
        ("rows.parquet", b"PAR1"),
        ("rows.xlsx", b""),
    ],
)
def test_what_cannot_be_read_is_told(written, name, content):
    with pytest.raises(InputError, match=r"cannot be read|must be a \.csv"):
        read_scores(written(content, name), "y", ["score"])


@pytest.mark.parametrize("others", [text(), text() + "x,0.5\n"])
def test_a_label_of_400_digits_is_set_aside(written, others):
    found = read_scores(written(others + f"{'9' * 400},0.3\n0{'9' * 400},0.4\n"), "y", ["score"])
    assert found.counts["bad_label"] >= 2
    assert set(found.y_true) <= {0, 1}


def test_a_score_of_400_digits_is_set_aside(written):
    content = text() + f"1,{'9' * 400}\n"
    found = read_scores(written(content), "y", ["score"])
    assert found.counts["bad_score"] == 1
    assert np.isfinite(found.scores["score"]).all()
