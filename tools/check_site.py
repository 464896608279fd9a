"""Check the built documentation: links lead somewhere, nothing is loaded from elsewhere, pages lead back.

    python tools/check_site.py build/docs

Prints what is wrong, one line each, and exits with 1 if anything is. Needs only the standard library.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src")}
STYLES = {"stylesheet", "preload", "icon"}  # of <link rel=...>
SEARCH_WORDS = ("EulerMeans", "certify")  # that the index of the search must know


class Page(HTMLParser):
    """The links, anchors and loaded files of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag refers to."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        if tag == "form" and "action" in values:  # the search field
            self.links.add(values["action"])
        if tag == "link" and STYLES & set(values.get("rel", "").split()):
            self.loaded.add(values.get("href", ""))
        self.loaded |= {values[name] for name in values if (tag, name) in LOADED}


def problems(site: Path) -> list[str]:
    """What is wrong with the pages of the folder."""
    files = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]  # the theme's own
    pages = {path.resolve(): Page(path) for path in files}
    found = [] if pages else [f"{site}: there are no pages"]
    home = (site / "index.html").resolve()
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        targets = set()
        for link in sorted(page.links | page.loaded):
            parts = urlsplit(link)
            if parts.scheme in ("http", "https") or parts.netloc:
                if link in page.loaded:
                    found.append(f"{name}: loads {link}")
                continue
            if parts.scheme:  # data:, mailto:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            targets.add(target)
            if not target.is_file():
                found.append(f"{name}: {link} leads nowhere")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name}: {link} leads to no place on that page")
        if home not in targets:
            found.append(f"{name}: there is no way back to the first page")
    return found + reachability(home, pages) + search_index(site)


def reachability(home: Path, pages: dict[Path, Page]) -> list[str]:
    """The pages that no path of links leads to from the first one."""
    reached, waiting = {home}, [home]
    while waiting:
        path = waiting.pop()
        for link in pages[path].links if path in pages else ():
            target = (path.parent / unquote(urlsplit(link).path)).resolve()
            if target in pages and target not in reached and not urlsplit(link).scheme:
                reached.add(target)
                waiting.append(target)
    return [f"{path.name}: no link leads to this page" for path in pages.keys() - reached]


def search_index(site: Path) -> list[str]:
    """Whether the search, which runs in the browser, has its index."""
    index = site / "searchindex.js"
    if not index.is_file():
        return ["searchindex.js is missing: the search does not work"]
    text = index.read_text(encoding="utf-8")
    return [f"searchindex.js does not know {word}" for word in SEARCH_WORDS if word not in text]


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]))
    print("\n".join(wrong) or "all links of the site are right")
    sys.exit(bool(wrong))
