"""The README as an index of packages shows it: made when the package is built.

Relative links and images lead nowhere there. If `[project.urls]` in pyproject.toml has `Source`, they become
addresses in that repository, at the tag of the version. Until then links become text, and images are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

README = Path(__file__).resolve().parents[1] / "README.md"
ELSEWHERE = r"(?![a-z]+:|#)"  # addresses that stay: https:, mailto:, and anchors of the page itself
IMAGE = re.compile(rf"!\[([^\]]*)\]\({ELSEWHERE}([^)\s]+)\)")
IMAGE_TAG = re.compile(rf'<img\s[^>]*?src="{ELSEWHERE}([^"]+)"[^>]*>')
LINK = re.compile(rf"(?<!!)\[((?:!\[[^\]]*\]\([^)]*\)|[^\]])*)\]\({ELSEWHERE}([^)\s]+)\)")
LINK_TAG = re.compile(rf'<a\s[^>]*?href="{ELSEWHERE}([^"]+)"[^>]*>(.*?)</a>', re.DOTALL)
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)  # shown as it is


def dynamic_metadata(settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The hook of scikit-build-core: the field `readme`, from what is known of the project so far."""
    if settings:
        raise ValueError(f"index_readme takes no settings, got {dict(settings)}")
    text = README.read_text(encoding="utf-8")
    made = index_readme(text, project.get("urls", {}).get("Source"), project["version"])
    return {"readme": {"content-type": "text/markdown", "text": made}}


def index_readme(text: str, source: str | None, version: str) -> str:
    """The text with addresses below `source` in place of relative paths, or without them if there is no source."""
    convert = without_paths if source is None else WithSource(source, version)
    parts = CODE.split(text)  # text and code in turn
    parts[::2] = [convert(part) for part in parts[::2]]
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)).strip() + "\n"


def without_paths(text: str) -> str:
    """Relative images left out, relative links as plain text."""
    text = IMAGE_TAG.sub("", IMAGE.sub("", text))
    return LINK_TAG.sub(r"\2", LINK.sub(r"\1", text))


class WithSource:
    """Makes addresses of relative paths, as GitHub and GitLab have them: /blob/ for pages, /raw/ for images."""

    def __init__(self, source: str, version: str) -> None:
        ref = "HEAD" if "+" in version else f"v{version}"
        self.pages, self.files = (f"{source.rstrip('/')}/{kind}/{ref}/" for kind in ("blob", "raw"))

    def __call__(self, text: str) -> str:
        text = IMAGE.sub(rf"![\1]({self.files}\2)", text)
        text = IMAGE_TAG.sub(lambda tag: tag[0].replace(f'"{tag[1]}"', f'"{self.files}{tag[1]}"'), text)
        text = LINK_TAG.sub(lambda tag: tag[0].replace(f'"{tag[1]}"', f'"{self.pages}{tag[1]}"', 1), text)
        return LINK.sub(rf"[\1]({self.pages}\2)", text)
