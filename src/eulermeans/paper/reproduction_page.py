"""The page that shows everything: one self-contained HTML file.

Each experiment writes its section into its folder; the index has all sections found there, in the paper's order.
"""

from __future__ import annotations

import base64
import json
import os
import platform
from datetime import date
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from .experiments import load_experiments
from .reproduction_tables import Table, verdict_table

if TYPE_CHECKING:
    from .reproduction import Report

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


def html_section(report: Report) -> str:
    """One experiment as a piece of HTML. Its pictures have been saved in its folder."""
    experiment = report.experiment
    notes = [experiment.note, report.remark, f"{report.n_runs} runs of each row." if report.table else ""]
    parts = [f"<h2>{escape(experiment.title)} <small>({escape(experiment.section)})</small></h2>\n"]
    parts += [f"<pre>{escape(report.command)}</pre>\n"]
    parts += [f'<p class="note">{escape(note)}</p>\n' for note in notes if note]
    judged = verdict_table(report.verdicts).html()
    judged = judged.replace("<td>reproduced", '<td class="reproduced">reproduced')
    judged = judged.replace("<td>not reproduced", '<td class="not">not reproduced')
    parts.append(f'<div class="scroll">{judged}</div>\n')
    if report.table is not None:
        parts.append(f'<div class="scroll">{report.table.html()}</div>\n')
    for picture in report.pictures:
        code = base64.b64encode((report.folder / f"{picture.name}.svg").read_bytes()).decode()
        image = f'<img src="data:image/svg+xml;base64,{code}" alt="{escape(picture.caption)}">'
        parts.append(f"<figure>{image}<figcaption>{escape(picture.caption)}</figcaption></figure>\n")
    return "".join(parts)


def write_index(output: Path) -> None:
    """Write `index.html` with all the sections in the folder."""
    experiments = [e for e in load_experiments().values() if (output / e.name / "section.html").is_file()]
    summary = []
    for experiment in experiments:
        judged = json.loads((output / experiment.name / "verdicts.json").read_text(encoding="utf-8"))
        good = sum(verdict["reproduced"] for verdict in judged)
        summary.append([experiment.name, experiment.title, experiment.section, f"{good} of {len(judged)}"])
    table = Table(["name", "experiment", "in the paper", "claims reproduced"], summary)
    sections = "".join((output / e.name / "section.html").read_text(encoding="utf-8") for e in experiments)
    machine = f"{date.today().isoformat()}, {platform.system()} on {platform.machine()}, {os.cpu_count()} cores"
    (output / "index.html").write_text(
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Stochastic Backward Euler, reproduced</title><style>{_STYLE}</style></head><body>
<h1>Stochastic Backward Euler, reproduced</h1>
<p>The experiments of <em>Stochastic Backward Euler: An Implicit Gradient Descent Algorithm for k-means
Clustering</em> (Yin, Pham, Oberman, Osher), run with eulermeans {escape(version("eulermeans"))}.
Every claim has a criterion that can fail. Where the paper leaves a detail open, the table shows what was
chosen.</p>
<p class="note">{escape(machine)}</p>
{table.html()}{sections}</body></html>
""",
        encoding="utf-8",
    )
