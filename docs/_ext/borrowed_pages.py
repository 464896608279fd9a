"""Pages that are files elsewhere in the repository, and links from page to page that are right in both places.

A page in `borrowed_pages` shows the text of the file that it names. Links in Markdown are written as they work in
the repository; here those that lead to a borrowed file or to an example are turned to the page that shows it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

LINK = re.compile(r"(?P<before>\]\()(?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?(?P<after>\))")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.add_config_value("borrowed_pages", {}, "env")
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(docname))
    if page.suffix != ".md":
        return
    root, borrowed = Path(app.srcdir).parent, app.config.borrowed_pages
    origin = page
    if docname in borrowed:
        origin = root / borrowed[docname]
        source[0] = origin.read_text(encoding="utf-8")
        app.env.note_dependency(str(origin))
    places = {root / file: Path(app.srcdir) / f"{name}.md" for name, file in borrowed.items()}
    source[0] = LINK.sub(lambda link: _moved(link, origin, page, places, root), source[0])


def _moved(link: re.Match[str], origin: Path, page: Path, places: dict[Path, Path], root: Path) -> str:
    """The link as it has to be on the page."""
    target = Path(os.path.normpath(origin.parent / link["target"]))
    if target.parent == root / "examples" and target.suffix == ".py":
        target = root / "docs" / "gallery" / f"{target.stem}.rst"
    elif target == root / "examples":
        target = root / "docs" / "gallery" / "index.rst"
    target = places.get(target, target)
    path = os.path.relpath(target, page.parent).replace(os.sep, "/")
    return f"{link['before']}{path}{link['anchor'] or ''}{link['after']}"
