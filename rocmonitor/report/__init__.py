"""Pages, which are reports too; figures for MLflow and messages; tables for a terminal."""
