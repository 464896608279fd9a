"""The page that shows everything: one HTML file that needs no other.

Each experiment leaves its section in its folder; the index is all sections that are there, in the paper's order.
"""

from __future__ import annotations

import base64
import json
import os
import platform
from collections.abc import Sequence
from datetime import date
from html import escape
from importlib.metadata import version
from pathlib import Path

from .catalogue import catalogue
from .tables import Table, verdict_table
from .verdict import Verdict

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 76rem; margin: 2rem auto; padding: 0 1.2rem }
h1, h2 { line-height: 1.2 } h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1.5rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: .82rem; margin: 1rem 0 }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #e4e4e4; text-align: left; vertical-align: top }
th { background: #f5f7f8 } td { font-variant-numeric: tabular-nums }
.reproduced { color: #00798c } .not { color: #d1495b; font-weight: 600 }
pre { background: #f5f7f8; padding: .6rem .9rem; overflow-x: auto } figure { margin: 1.5rem 0 }
figure img { max-width: 100% } figcaption, .note { color: #555; font-size: .9rem }
"""


def section(
    *,
    title: str,
    place: str,
    notes: Sequence[str],
    command: str,
    table: Table | None,
    verdicts: Sequence[Verdict],
    images: Sequence[tuple[Path, str]],  # SVG file, caption
) -> str:
    """One experiment as a piece of HTML."""
    parts = [f"<h2>{escape(title)} <small>({escape(place)})</small></h2>\n", f"<pre>{escape(command)}</pre>\n"]
    parts += [f'<p class="note">{escape(note)}</p>\n' for note in notes if note]
    if verdicts:
        judged = verdict_table(verdicts).html()
        judged = judged.replace("<td>reproduced", '<td class="reproduced">reproduced')
        judged = judged.replace("<td>not reproduced", '<td class="not">not reproduced')
        parts.append(f'<div class="scroll">{judged}</div>\n')
    if table is not None:
        parts.append(f'<div class="scroll">{table.html()}</div>\n')
    for path, caption in images:
        code = base64.b64encode(path.read_bytes()).decode()
        image = f'<img src="data:image/svg+xml;base64,{code}" alt="{escape(caption)}">'
        parts.append(f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>\n")
    return "".join(parts)


def write_index(output: Path) -> Path:
    """`index.html` of all the sections in the folder."""
    experiments = [e for e in catalogue().values() if (output / e.name / "section.html").is_file()]
    summary = []
    for experiment in experiments:
        judged = json.loads((output / experiment.name / "verdicts.json").read_text(encoding="utf-8"))
        good = sum(verdict["reproduced"] for verdict in judged)
        summary.append([experiment.name, experiment.title, experiment.section, f"{good} of {len(judged)}"])
    table = Table(["name", "experiment", "in the paper", "claims reproduced"], summary)
    sections = "".join((output / e.name / "section.html").read_text(encoding="utf-8") for e in experiments)
    path = output / "index.html"
    path.write_text(
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Stochastic Backward Euler, reproduced</title><style>{_STYLE}</style></head><body>
<h1>Stochastic Backward Euler, reproduced</h1>
<p>The experiments of <em>Stochastic Backward Euler: An Implicit Gradient Descent Algorithm for k-means
Clustering</em> (Yin, Pham, Oberman, Osher), run again by eulermeans {escape(version("eulermeans"))}.
Every claim has a criterion that could fail. Where the paper leaves a detail open, the table says what was
chosen.</p>
<p class="note">{escape(_machine())}</p>
{table.html()}{sections}</body></html>
""",
        encoding="utf-8",
    )
    return path


def _machine() -> str:
    return f"{date.today().isoformat()}, {platform.system()} on {platform.machine()}, {os.cpu_count()} cores"
