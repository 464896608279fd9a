"""`eulermeans fit`: from data to a model, labels and a report."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..estimators import EulerMeans
from ..storage.models import SavedModel, save
from .data import Opened, Wanted, opened
from .interrupts import Interrupt, Interrupted
from .options import Scale
from .output import check_ending, write_labels
from .progress import Progress
from .reporting import check_report, write_report
from .scaling import fit_scaler, scaled
from .summary import Fitted
from .watched import Watcher, complete


@dataclass(frozen=True)
class FitRequest:
    """What `eulermeans fit` was asked for."""

    wanted: Wanted
    command: str  # to repeat it
    output: Path | None = None  # None: named after the data, in this folder
    labels: Path | None = None
    report: Path | None = None
    scale: Scale = Scale.none
    parameters: dict[str, Any] = field(default_factory=dict)  # of the estimator

    @property
    def model_path(self) -> Path:
        """Where the model goes."""
        return Path(f"{self.wanted.stem}.eulermeans") if self.output is None else self.output


def fit(request: FitRequest, progress: Progress) -> Fitted:
    """Fit, and write what was asked for."""
    _check_targets(request)
    interrupt = Interrupt(progress.stop)
    with interrupt.heard(), opened(request.wanted, progress, interrupt) as data:
        scaler = fit_scaler(request.scale, data.source, progress)
        model, interrupted = _model(request, data, scaler, progress, interrupt)
        fitted = Fitted(
            SavedModel(model, scaler, _notes(request, data)),
            model_path=request.model_path,
            n_rows=data.source.counted,
            seconds=progress.seconds,
            interrupted=interrupted,
        )
        save(fitted.model.whole, fitted.model_path, notes=fitted.model.notes)
        if interrupted:
            return fitted
        try:
            _write_others(request, fitted, data, progress)
        except Interrupted:
            return replace(fitted, interrupted=True)
    return fitted


def _notes(request: FitRequest, data: Opened) -> dict[str, Any]:
    """What `eulermeans info` tells of where a model comes from."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"command": request.command, "data": request.wanted.title, "rows": data.source.counted, "fitted": now}


def _check_targets(request: FitRequest) -> None:
    """Refuse what can't be written before work is spent on it."""
    if not request.model_path.parent.is_dir():
        raise FileNotFoundError(
            f"can't write {request.model_path}: there is no folder {request.model_path.parent}"
        )
    if request.report is not None:
        check_report(request.report)
    if request.labels is not None:
        check_ending(request.labels, with_id=request.wanted.id is not None)
    elif request.wanted.id is not None and request.report is None:
        raise ValueError("--id is for labels and the report; give --labels or --report too")


def _model(
    request: FitRequest, data: Opened, scaler: Any, progress: Progress, interrupt: Interrupt
) -> tuple[EulerMeans, bool]:
    """The fitted model, and whether it was interrupted."""
    model = EulerMeans(**request.parameters)
    source = scaled(data.source, scaler)
    watcher = model._watcher = Watcher(progress, interrupt)
    try:
        model.fit(source)
    except Interrupted:
        if not complete(model, watcher, source):
            raise
    except ValueError as error:
        n_rows = data.source.counted
        if n_rows and n_rows < model.n_clusters:
            few = (
                f"{data.source.name} has {n_rows} rows, too few for {model.n_clusters} clusters; give a smaller -k"
            )
            raise ValueError(few) from error
        raise
    finally:
        del model._watcher
    if scaler is not None:  # as in a Pipeline: the first step meets the named columns
        model.__dict__.pop("feature_names_in_", None)
    return model, interrupt.requested


def _write_others(request: FitRequest, fitted: Fitted, data: Opened, progress: Progress) -> None:
    """Labels and report, if they are wanted."""
    if request.labels is not None:
        progress.begin(f"writing {request.labels}")
        write_labels(request.labels, fitted.model.estimator.labels_, data.ids(), data.id)
        fitted.files["labels"] = str(request.labels)
    if request.report is not None:
        write_report(request.report, fitted.model, data, request.wanted.title, progress)
        fitted.files["report"] = str(request.report)
