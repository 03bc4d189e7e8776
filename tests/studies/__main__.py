"""Run one study of this folder: python tests/studies NAME [OPTION …]. Without a name, list them."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
STUDIES = {
    path.stem.replace("_", "-"): str(ast.get_docstring(ast.parse(text))).splitlines()[0]
    for path in sorted(FOLDER.glob("*.py"))
    if "\ndef main(" in (text := path.read_text(encoding="utf-8"))
}


def run(arguments: list[str]) -> None:
    if not arguments:
        print(f"One of these, as in `make study NAME={next(iter(STUDIES))}`:\n")  # noqa: T201
        print("\n".join(f"{name:16}{text}" for name, text in STUDIES.items()))  # noqa: T201
        return
    name, *options = arguments
    if name not in STUDIES:
        raise SystemExit(f"no study {name}; there are {', '.join(STUDIES)}")
    sys.path.insert(0, str(FOLDER.parent))
    import_module(f"studies.{name.replace('-', '_')}").main(options)


if __name__ == "__main__":
    run(sys.argv[1:])
