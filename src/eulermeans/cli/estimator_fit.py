"""Fit an estimator for a command: scale the features chunk by chunk, show the progress, save the model."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ..arrays import FloatArray, arithmetic_dtype
from ..estimators import EulerMeans, SizedMeans
from ..history import DESCEND, Record, StopReason
from ..oracles.sphere import unit_centers
from ..sources import Source, check_chunk, mapped
from ..storage.models import SavedModel, Scaler, save
from .errors import Interrupt, Interrupted
from .input_data import InputData
from .options import Scale
from .progress import PHASES, Progress


def fit_scaler(scale: Scale, data: InputData) -> Scaler | None:
    """A scaler fitted in one pass; None if nothing is to be scaled. Constant features are only shifted."""
    if scale is Scale.none:
        return None
    data.progress.begin("computing the scale of the features")
    scaler = StandardScaler() if scale is Scale.standard else MinMaxScaler()
    for chunk in data.chunks():
        check_chunk(chunk, data.feature_names)
        points, weights = chunk.points.astype(arithmetic_dtype(data.dtype), copy=False), chunk.weights
        if weights is not None:
            points, weights = points[weights > 0], weights[weights > 0]
        if len(points):
            uses_weights = weights is not None and scale is Scale.standard
            scaler.partial_fit(points, **({"sample_weight": weights} if uses_weights else {}))
    if not hasattr(scaler, "scale_"):
        raise ValueError(f"{data.name} has no rows with a positive weight")
    if data.feature_names is not None:
        scaler.feature_names_in_ = np.array(data.feature_names, dtype=object)
    return scaler


def scaled(source: Source, scaler: Scaler | None) -> Source:
    """The source with scaled features."""
    if scaler is None:
        return source
    nameless = copy.copy(scaler)  # chunks have no column names; open_data has checked those of the source
    nameless.__dict__.pop("feature_names_in_", None)
    dtype = arithmetic_dtype(source.dtype)
    return mapped(source, lambda points: nameless.transform(points.astype(dtype, copy=False)), dtype=dtype)


def bounded(
    estimator: EulerMeans, size_min: int | float | None, size_max: int | float | None
) -> EulerMeans | SizedMeans:
    """The estimator; if sizes are bounded, the one for that, with the same parameters."""
    if size_min is None and size_max is None:
        return estimator
    shared = set(SizedMeans._get_param_names())
    parameters = {name: value for name, value in estimator.get_params().items() if name in shared}
    return SizedMeans(**parameters, size_min=size_min, size_max=size_max)


def fit_estimator(estimator: EulerMeans | SizedMeans, source: Source, data: InputData) -> None:
    """Fit the estimator; if Ctrl-C interrupts a pass, give it the best centers so far."""
    observer = estimator._watcher = FitObserver(data.progress, data.interrupt)
    data.interrupt.stop_now = observer.stop_now
    try:
        estimator.fit(source)
    except Interrupted:
        if observer.centers is None:
            raise
        _keep_best_centers(estimator, observer.centers, observer.history, source)
    except ValueError as error:
        n_rows, n_clusters = data.n_rows, estimator.n_clusters
        if n_rows and n_rows < n_clusters:
            has = "has only one row" if n_rows == 1 else f"has only {n_rows} rows"
            raise ValueError(f"{data.name} {has}, too few for {n_clusters} clusters; use a smaller -k") from error
        raise
    finally:
        data.interrupt.stop_now = None
        del estimator._watcher


def as_model(
    estimator: EulerMeans | SizedMeans, scaler: Scaler | None, notes: Mapping[str, object], data: InputData
) -> SavedModel:
    """The estimator and what comes before it. As in a Pipeline, only the first step knows the column names."""
    if scaler is not None:
        estimator.__dict__.pop("feature_names_in_", None)
    return SavedModel(estimator, scaler, notes, preparation=data.prepared.preparation)


def save_model(path: Path, model: SavedModel) -> None:
    """Write the model file."""
    save(model.whole, path, notes=model.notes, preparation=model.preparation)


class FitObserver:
    """Reports the steps of a fit to the progress, stops it on Ctrl-C, and remembers the best centers."""

    def __init__(self, progress: Progress, interrupt: Interrupt) -> None:
        self.centers: FloatArray | None = None  # (n_clusters, n_features), the best so far
        self.history: list[Record] = []
        self._best: Record | None = None  # the step that led to the centers
        self._progress, self._interrupt = progress, interrupt

    def begin(self, phase: str) -> None:
        """A step begins."""
        self._progress.begin(phase)

    def end(self, record: Record, centers: FloatArray) -> bool:
        """A step has ended; return True to stop the fit."""
        self.history.append(record)
        if self._best is None or _is_better(record, self._best):
            self.centers, self._best = centers.copy(), record
        self._progress.step(record.step, record.objective, record.points_read)
        return self._interrupt.requested

    def stop_now(self) -> None:
        """Raise Interrupted, also from the middle of a pass, if there are centers to keep."""
        if self.centers is not None:
            raise Interrupted


def _is_better(record: Record, best: Record) -> bool:
    """Whether a step led to better centers: in a later phase, or in the same phase with a lower objective.

    Objectives of different phases can't be compared, because a later phase may use more of the data. Those of the
    descent can't be compared at all, because each is computed on a new batch.
    """
    if record.phase != best.phase:
        order = list(PHASES)
        is_later = order.index(record.phase) > order.index(best.phase)
        return is_later or record.objective <= best.objective  # an earlier phase belongs to another restart
    return record.phase == DESCEND or record.objective <= best.objective


def _keep_best_centers(
    estimator: EulerMeans | SizedMeans,
    centers: FloatArray,  # (n_clusters, n_features), IN
    history: list[Record],
    source: Source,
) -> None:
    """Give an estimator whose fit was interrupted the attributes of a fitted one."""
    best = unit_centers(centers) if estimator.metric == "cosine" else centers
    estimator.cluster_centers_ = best.astype(arithmetic_dtype(source.dtype))
    estimator.n_features_in_ = source.n_features
    if source.feature_names is not None:
        estimator.feature_names_in_ = np.array(source.feature_names, dtype=object)
    estimator.history_, estimator.n_iter_ = history, len(history)
    estimator.stop_reason_ = StopReason.CALLBACK
