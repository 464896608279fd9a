"""From a model and data to a Description: the numbers and sentences of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import FloatArray
from ..plot.center_plots import check_image_shape
from ..plot.fitted_model import ModelLike, as_fitted_model
from ..plot.model_data import ModelData, RowIds, as_model_data
from .cluster_sentences import Averages, cluster_sentences
from .cluster_stability import measure_stability
from .findings import findings
from .measurements import Measured, Measurements, NearestRow, measure
from .report_records import Cluster, Description, Feature, NearRow, Sample, Stability, Trait

MOST_CLUSTERS = 200  # clusters that are described one by one
TRAITS = 3  # features that are named for each cluster
NO_DIFFERENCE = 0.05  # standard deviations from the mean of all rows below which a feature is not named


def describe(
    model: ModelLike,
    data: object,
    *,
    name: str | None = None,
    feature_names: Sequence[str] | None = None,
    sample_weight: ArrayLike | None = None,
    ids: RowIds | None = None,
    image_shape: tuple[int, ...] | None = None,
    random_state: int = 0,
    most_clusters: int = MOST_CLUSTERS,
) -> Description:
    """Describe the clusters of the data in one pass over it; see `write` for the arguments."""
    fitted = as_fitted_model(model)
    rows = as_model_data(
        fitted, data, name=name, feature_names=feature_names, sample_weight=sample_weight, ids=ids
    )
    check_image_shape(image_shape, len(rows.feature_names))
    rng = np.random.default_rng(random_state)
    measured = measure(rows, rng)
    totals, sample = measured.totals, measured.sample
    if totals.counts.sum() <= 0:
        raise ValueError("every row has weight zero; there is nothing to report on.")
    features, means, moments = _features(rows, measured), _means(rows, totals), totals.moments
    largest = np.argsort(-totals.counts, kind="stable")[:most_clusters]
    near = (row.number for cluster in largest for row in totals.nearest[cluster])
    names = rows.ids_of([*near, *map(int, measured.shown.numbers)])
    stability = measure_stability(fitted, sample, rng)
    cards = _ClusterCards(totals, sample, stability, features, means, names)
    description = Description(
        model=fitted,
        source=rows.name,
        n_rows=totals.n_rows,
        n_features=len(rows.feature_names),
        total_weight=moments.total_weight,
        weighted=rows.is_weighted,
        objective=moments.objective,
        single=moments.spread(fitted.centers),
        features=features,
        clusters=cards.describe(largest, cluster_sentences(Averages(features, image_shape), means[largest])),
        counts=totals.counts,
        means=means,
        sample=sample,
        shown=replace(measured.shown, ids=tuple(names[int(row)] for row in measured.shown.numbers)),
        stability=stability,
        image_shape=image_shape,
    )
    return replace(description, findings=tuple(findings(description)))


def _features(rows: ModelData, measured: Measured) -> tuple[Feature, ...]:
    totals, names = measured.totals, rows.feature_names
    mean, variance = totals.feature_means(), totals.feature_variances()
    weight = np.where(totals.counts > 0, totals.counts, 1)[:, None]
    between = totals.counts @ (totals.sums / weight - mean) ** 2 / totals.counts.sum()
    separation = np.divide(between, variance, out=np.zeros_like(between), where=variance > 0)
    separation, deviation = np.clip(separation, 0, 1), np.sqrt(variance)
    identifiers = totals.identifiers.found(names, measured.shown.rows)
    return tuple(
        Feature(
            name=name,
            mean=float(mean[place]),
            deviation=float(deviation[place]),
            low=float(totals.low[place]),
            high=float(totals.high[place]),
            separation=float(separation[place]),
            n_missing=int(totals.n_missing[place]),
            is_identifier=place in identifiers,
        )
        for place, name in enumerate(names)
    )


def _means(rows: ModelData, totals: Measurements) -> FloatArray:
    """The mean of each cluster in the units of the data.

    For an empty cluster that is its center, or the mean of all rows if the scaling cannot be undone.
    """
    filled = totals.counts > 0
    means = np.tile(totals.feature_means(), (len(filled), 1))
    if not filled.all() and not rows.is_encoded:
        original = rows.model.inverse_transform(rows.model.centers)
        if original is not None and original.shape == means.shape:
            means = np.array(original, dtype=np.float64)
    means[filled] = totals.sums[filled] / totals.counts[filled, None]
    return means


@dataclass(frozen=True)
class _ClusterCards:
    """What the records of the clusters are made of."""

    totals: Measurements
    sample: Sample
    stability: Stability | None
    features: tuple[Feature, ...]
    means: FloatArray  # (n_clusters, n_features) in the units of the data
    names: dict[int, str]  # of rows, by their numbers

    def describe(self, clusters: NDArray[np.intp], sentences: list[str]) -> tuple[Cluster, ...]:
        """The records of these clusters, in this order."""
        away = Averages(self.features).away(self.means)
        pairs = zip(map(int, clusters), sentences, strict=True)
        return tuple(self._describe(cluster, sentence, away[cluster]) for cluster, sentence in pairs)

    def _describe(self, cluster: int, sentence: str, away: FloatArray) -> Cluster:
        size = float(self.totals.counts[cluster])
        columns = np.argsort(-np.abs(away), kind="stable")[:TRAITS]
        columns = columns[np.abs(away[columns]) > NO_DIFFERENCE] if size > 0 else columns[:0]
        again = np.nan if self.stability is None else float(self.stability.clusters[cluster])
        return Cluster(
            number=cluster,
            sentence=sentence if size > 0 else "No rows",
            size=size,
            share=size / float(self.totals.counts.sum()),
            spread=float(np.sqrt(self.totals.costs[cluster] / size)) if size > 0 else 0.0,
            silhouette=self._silhouette(cluster),
            found_again=None if np.isnan(again) else again,
            traits=tuple(
                Trait(self.features[i].name, float(self.means[cluster, i]), self.features[i].mean, float(away[i]))
                for i in columns
            ),
            nearest=tuple(self._near_row(near, columns) for near in self.totals.nearest[cluster]),
        )

    def _near_row(self, near: NearestRow, columns: NDArray[np.intp]) -> NearRow:
        values = tuple((self.features[i].name, float(near.values[i])) for i in columns)
        return NearRow(self.names[near.number], float(np.sqrt(near.squared)), values, near.values)

    def _silhouette(self, cluster: int) -> float | None:
        values = self.sample.silhouettes
        if values is None:
            return None
        own = values[self.sample.labels[: len(values)] == cluster]
        return float(own.mean()) if len(own) else None
