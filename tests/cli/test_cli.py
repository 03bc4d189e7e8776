"""What all commands have in common: help, wrong use, real processes."""

import subprocess
import sys

import pytest
import yaml
from scenario import until


def test_help_tells_every_command_and_exit_code(rocmonitor):
    told = rocmonitor("--help").stdout
    for command in ("init", "check", "run", "backfill", "serve", "history", "channel", "db", "auc"):
        assert f"  {command} " in told
    assert "3 degraded, 4 insufficient data" in " ".join(told.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "nosuch"), "no monitor 'nosuch' under monitors (defined: credit)"),
        (("history", "nosuch"), "no monitor 'nosuch'"),
        (("channel", "test", "nosuch"), "no channel 'nosuch' under channels (defined: log)"),
        (("run", "--at", "yesterday"), "--at must be a date or time such as"),
        (("backfill", "credit", "--from", "2026-06-02", "--to", "2026-06-01"), "must come before --to"),
        (("backfill", "credit", "--from", "2026-06-02", "--to", "2026-06-03"), "no whole window of credit"),
        (("backfill", "credit"), "Missing option '--from'"),
        (("nosuch",), "No such command 'nosuch'"),
        (("--config", "none.yaml", "run"), "none.yaml: cannot be read"),
        (("auc", "rocmonitor.yaml", "--label", "y", "--score", "s"), "must be a .csv, .tsv or .parquet file"),
        (("init",), "exists already and is left alone"),
    ],
)
def test_wrong_use_is_exit_code_2_and_says_what_to_do(here, arguments, says, rocmonitor):
    assert says in rocmonitor(*arguments, code=2).stderr


def test_a_name_is_left_out_where_there_is_one_monitor(here, rocmonitor):
    assert "credit has not been judged yet" in rocmonitor("history").stderr
    path = here.folder / "rocmonitor.yaml"
    known = yaml.safe_load(path.read_text())
    known["monitors"]["other"] = known["monitors"]["credit"]
    path.write_text(yaml.safe_dump(known))
    assert "which monitor? Name one of credit, other" in rocmonitor("history", code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--config", "new.yaml", "init"), 0, "wrote new.yaml"),
        (("db", "check"), 5, "run `rocmonitor db upgrade`"),
        (("history", "credit"), 0, "credit"),
        (("auc", "rows.csv", "--label", "y", "--score", "p"), 0, "p: AUROC 0.75"),
        (("channel", "test", "log"), 0, "log"),
        pytest.param(("run", "--json"), 0, '"status": "ok"', marks=pytest.mark.slow),
        (("run", "nosuch"), 2, "Error: no monitor 'nosuch'"),
        pytest.param(("check",), 0, "false alarms a year", marks=pytest.mark.slow),
        pytest.param(
            ("backfill", "credit", "--from", "2026-05-25", "--to", "2026-06-01", "--dry-run"),
            0,
            "2026-05-25 to 2026-06-01",
            marks=pytest.mark.slow,
        ),
        pytest.param(("review", "credit", "--dry-run"), 0, "NO DECISION YET", marks=pytest.mark.slow),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_every_command_works_as_a_process(here, arguments, code, says, rocmonitor):
    """All else is tested within this process; `serve` is in tests/service/test_scheduler.py."""
    (here.folder / "rows.csv").write_text("y,p\n1,3\n1,1\n0,2\n0,0\n")
    done = rocmonitor.process(*arguments, code=code)
    assert says in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("rows", "code"), [(20, 0), pytest.param(5000, 4, marks=pytest.mark.slow)], ids=["ok", "insufficient"]
)
def test_a_reader_who_has_seen_enough_changes_no_exit_code(here, rows, code, rocmonitor):
    here.configure(window=until("2026-06-08"), min_per_class=str(rows))
    assert rocmonitor.unread("check") == (code, "")


def test_importing_the_package_needs_neither_mlflow_nor_time():
    code = "import sys, rocmonitor; print(sorted({'mlflow', 'numpy', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["status", "history credit", "history credit --json"])
def test_what_reads_the_store_needs_no_statistics(here, command, rocmonitor):
    """Half of the time of such a command would be the import of numpy and scipy."""
    rocmonitor("run")
    program = (
        f"import sys; sys.argv = ['rocmonitor', *{command.split()}]; from rocmonitor.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'pandas', 'mlflow', 'matplotlib', 'duckdb', 'alembic'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=here.folder, capture_output=True, text=True, check=True
    )
    assert "credit" in done.stdout
    assert done.stderr.splitlines()[-1] == "[]"
