"""What mkdocs adds to docs/: files of the root, and plain text for links that lead out of docs/."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
FROM_ROOT = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
SCHEMA = "rocmonitor/config/rocmonitor.schema.json"
_LINK = re.compile(r"(?<!!)\[([^]]+)\]\(([^)#:\s]+)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Changelog and contributing are written once, at the root; the schema, in the package."""
    from mkdocs.structure.files import File

    for name, source in {**FROM_ROOT, "rocmonitor.schema.json": SCHEMA}.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, files: Files, **_: object) -> str:
    """Links to what the site does not have, such as tests, become plain text."""
    at_root = page.file.src_uri in FROM_ROOT
    folder = "" if at_root else posixpath.join("docs", posixpath.dirname(page.file.src_uri))
    known = {file.src_uri for file in files if file.inclusion.is_included()}
    renamed = {source: name for name, source in FROM_ROOT.items()}

    def resolved(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[2]))
        uri = renamed.get(target, target.removeprefix("docs/"))
        if uri not in known or (uri == target and target not in renamed):
            return link[1]
        here = posixpath.dirname(page.file.src_uri)
        return f"[{link[1]}]({posixpath.relpath(uri, here or '.')}{link[3] or ''})"

    return _LINK.sub(resolved, markdown)
