"""The outcome of `eulermeans fit`: the files that it writes, and what it prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..history import StopReason
from .errors import Interrupted
from .selection import Selection
from .terminal_text import duration, model_as_json, show_files, show_json, show_line, show_model

if TYPE_CHECKING:
    from ..certificate import Certificate
    from ..choosing import Sweep
    from ..storage.models import SavedModel
    from .input_data import InputData


@dataclass(frozen=True)
class Outputs:
    """The files to write."""

    model: Path
    labels: Path | None
    append: bool  # whether labels are written beside the rows of the data
    centers: Path | None
    report: Path | None


def check_outputs(
    selection: Selection,
    output: Path | None,
    labels: Path | None,
    append: bool,
    centers: Path | None,
    report: Path | None,
) -> Outputs:
    """The files to write, once it is known that they can be written, and that the data exist."""
    from .output_files import check_centers_output, check_labels_output, check_output, check_report_output
    from .path_checks import check_distinct

    model = output or Path(f"{selection.stem}.eulermeans")
    check_distinct(
        selection.data, {"--output": model, "--labels": labels, "--centers": centers, "--report": report}
    )
    check_output(model, "a model")
    if centers is not None:
        check_centers_output(centers)
    if labels is not None:
        check_labels_output(labels, selection.id, append)
    elif append:
        raise ValueError("--append needs --labels, the file to write the rows and their clusters to")
    elif selection.id is not None and report is None:
        raise ValueError("--id needs --labels or --report")
    if report is not None:
        check_report_output(report)
    return Outputs(model, labels, append, centers, report)


@dataclass
class FitResult:
    """The outcome of a fit."""

    model: SavedModel
    n_rows: int | None  # None: interrupted before the end of the first pass
    seconds: float  # of the fit, without the imports and what was written
    interrupted: bool
    files: dict[str, str] = field(default_factory=dict)  # kind and path of the files that were written
    certificate: Certificate | None = None
    sweep: Sweep | None = None  # that chose the number of clusters
    advice: str | None = None  # about the scale of the features
    left_out: tuple[str, ...] = ()  # columns
    n_left_out: int = 0  # rows with missing values

    def certify(self, seconds: float | None, data: InputData, seed: int) -> None:
        """Find out how far from the optimum the clusters can be, if this was asked for."""
        if seconds is not None:
            from .certify_command import certify_data

            threads = self.model.estimator.n_threads
            self.certificate = certify_data(self.model, data, seconds, seed=seed, threads=threads)

    def write(self, outputs: Outputs, data: InputData, image_shape: tuple[int, ...] | None) -> None:
        """Write the other files that were asked for, until Ctrl-C is pressed."""
        import numpy as np

        from .output_files import is_text, write_centers, write_labels, write_report

        try:
            if outputs.centers is not None:
                write_centers(outputs.centers, self.model.summary)
                self.files["centers"] = str(outputs.centers)
            if outputs.labels is not None:
                data.progress.begin(f"writing {outputs.labels}")
                found = self.model.estimator.labels_  # an array, or blocks of it
                blocks = data.all_labels([found] if isinstance(found, np.ndarray) else found)
                beside = data.beside_labels(append=outputs.append, as_text=is_text(outputs.labels))
                write_labels(outputs.labels, blocks, beside)
                self.files["labels"] = str(outputs.labels)
            if outputs.report is not None:
                write_report(
                    outputs.report,
                    self.model,
                    data,
                    self.certificate,
                    image_shape=image_shape,
                    sweep=self.sweep,
                )
                self.files["report"] = str(outputs.report)
        except Interrupted:
            self.interrupted = True

    def show(self, *, as_json: bool) -> None:
        """Print it as JSON or as a table."""
        if as_json:
            show_json(self._as_json())
            return
        if self.sweep is not None:
            show_line(self.sweep.reason)
        stopped = self.model.estimator.stop_reason_ is StopReason.CALLBACK
        show_model(
            self.model.summary,
            before="" if self.n_rows is None else f"{self.n_rows:,} rows, ",
            after=f", {duration(self.seconds)}",
            stop_reason="stopped by Ctrl-C: these are the best centers so far" if stopped else None,
        )
        if self.n_left_out:
            show_line(f"{self.n_left_out:,} rows have missing values and were left out; their label is -1.")
        if self.advice is not None:
            show_line(self.advice)
        if self.certificate is not None:
            show_line(str(self.certificate))
        show_files(self.files)
        if self.interrupted:
            show_line("No other files were written; `eulermeans predict` and `report` can use the model.")

    def _as_json(self) -> dict[str, object]:
        about: dict[str, object] = {
            "command": self.model.notes["command"],
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "left_out": list(self.left_out),
            "rows_left_out": self.n_left_out,
            "advice": self.advice,
        }
        if self.sweep is not None:
            tried = [row.n_clusters for row in self.sweep.rows]
            about["chosen"] = {
                "tried": tried,
                "confidence": str(self.sweep.confidence),
                "reason": self.sweep.reason,
            }
        if self.certificate is not None:
            from .certify_command import certificate_as_json

            about["certificate"] = certificate_as_json(self.certificate)
        return {**self.files, "n_rows": self.n_rows, **model_as_json(self.model.summary), **about}
