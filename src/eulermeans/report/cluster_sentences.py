"""What sets a cluster apart, as a short sentence in words: "Older, long tenure, few visits".

Knows means of features and their names, and for images where they are brighter or darker. Does not know models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray
from ..plot.style import format_number, shorten
from .report_records import Feature

NAMED, MOST_NAMED = 3, 6  # features in a sentence; more only to tell clusters apart
SLIGHT, VERY = 0.4, 1.5  # standard deviations from the overall mean
NOT_WORTH_NAMING = 0.12  # standard deviations below which a feature is not named
RELATIVE = 0.3  # features that differ less than this, relative to the first one, are not named
LONGEST_NAME = 40  # characters
AVERAGE = "Close to the average of all rows"

# Adjectives for high and low values, by the last word of a name. All others are "high" and "low".
_AGE = ("older", "younger")
_TIME = ("long", "short")
_COUNT = ("many", "few")
_COUNTED_NOUNS = (
    *("visits", "orders", "purchases", "clicks", "logins", "calls", "tickets", "complaints", "returns", "views"),
    *("items", "products", "sessions", "transactions", "followers", "likes", "comments", "days", "months"),
    *("children", "employees", "rooms", "bedrooms", "bathrooms"),
)
_WORDS = {
    "age": _AGE,
    **dict.fromkeys(("tenure", "duration", "time", "wait"), _TIME),
    **dict.fromkeys(_COUNTED_NOUNS, _COUNT),
}
_COUNTED = re.compile(r"^(n|num|number of|count of) +(?=\S)", re.IGNORECASE)


@dataclass(frozen=True)
class Averages:
    """What the sentences compare clusters with."""

    features: Sequence[Feature]
    image_shape: tuple[int, ...] | None = None

    @property
    def overall(self) -> FloatArray:
        """The mean of each feature over all rows, (n_features,)."""
        return np.array([feature.mean for feature in self.features])

    def away(self, means: FloatArray) -> FloatArray:  # (n_clusters, n_features), IN
        """How far means are from those of all rows, in standard deviations, (n_clusters, n_features)."""
        deviation = np.array([feature.deviation for feature in self.features])
        away: FloatArray = np.divide(
            means - self.overall, deviation, out=np.zeros(means.shape), where=deviation > 0
        )
        return away


def cluster_sentences(
    averages: Averages,
    means: FloatArray,  # (n_clusters, n_features) in the units of the data, IN
) -> list[str]:
    """A sentence for each cluster. If sentences are the same, more features are named to tell clusters apart."""
    if averages.image_shape is not None:
        return [_image_sentence(difference, averages.image_shape) for difference in means - averages.overall]
    away = averages.away(means)

    def describe(cluster: int, n_named: int) -> str:
        return _sentence(averages.features, away[cluster], means[cluster], n_named)

    sentences = [describe(cluster, NAMED) for cluster in range(len(means))]
    for n_named in range(NAMED + 1, MOST_NAMED + 1):
        for cluster in _repeated(sentences):
            sentences[cluster] = describe(cluster, n_named)
    return sentences


def _repeated(sentences: list[str]) -> list[int]:
    """Which sentences are not the only ones of their kind."""
    counts: dict[str, int] = {}
    for sentence in sentences:
        counts[sentence] = counts.get(sentence, 0) + 1
    return [place for place, sentence in enumerate(sentences) if counts[sentence] > 1 and sentence != AVERAGE]


def _sentence(features: Sequence[Feature], away: FloatArray, means: FloatArray, n_named: int) -> str:
    order = np.argsort(-np.abs(away), kind="stable")[:n_named]
    least = max(NOT_WORTH_NAMING, RELATIVE * float(np.abs(away[order]).max(initial=0)))
    if n_named > NAMED:
        least = NOT_WORTH_NAMING  # small differences tell clusters apart, too
    named = [int(place) for place in order if abs(away[place]) >= least]
    if not named:
        return AVERAGE
    groups: dict[str, list[str]] = {}  # names by adjective: "high" -> income and spending
    for place in named:
        adjective, noun = _phrase(features[place], float(away[place]), float(means[place]))
        groups.setdefault(adjective, []).append(noun)
    phrases = [_with_nouns(adjective, nouns) for adjective, nouns in groups.items()]
    sentence = ", ".join(phrases)
    return sentence[:1].upper() + sentence[1:]


def _with_nouns(adjective: str, nouns: list[str]) -> str:
    *first, last = [noun for noun in nouns if noun] or [""]
    joined = f"{', '.join(first)} and {last}" if first else last
    return f"{adjective} {joined}".strip()


def _phrase(feature: Feature, away: float, mean: float) -> tuple[str, str]:
    """An adjective and a noun: ("very high", "income"), ("older", "") or ("97%", "city Berlin")."""
    name = readable_name(feature.name)
    if feature.is_flag:
        percent = 100 * mean
        share = "almost no" if percent < 1 else "almost all" if percent > 99 else f"{format_number(percent, 2)}%"
        return share, name
    counted = _COUNTED.sub("", name)
    last = name.lower().split(" ")[-1]
    if counted != name:
        high_and_low, name = _COUNT, counted
    elif last == "count":
        high_and_low = ("high", "low")
    else:
        high_and_low = _WORDS.get(last, ("high", "low"))
    adjective = high_and_low[0] if away > 0 else high_and_low[1]
    if high_and_low is _AGE:
        degree = "a little " if abs(away) < SLIGHT else "much " if abs(away) >= VERY else ""
        return degree + adjective, "" if name.lower() == "age" else f"in {name}"
    degree = "slightly " if abs(away) < SLIGHT else "very " if abs(away) >= VERY else ""
    if degree == "slightly " and high_and_low is _COUNT:
        return ("a few more" if away > 0 else "a few less"), name
    return degree + adjective, name


def readable_name(name: str) -> str:
    """The name of a column as words: without the name of its encoder, its unit, and underscores."""
    text = name.rpartition("__")[2] or name
    if re.fullmatch(r"\w+", text):
        text = text.replace("_", " ").strip() or text
    without_unit = re.sub(r"\s*[(\[][^()\[\]]{1,12}[)\]]$", "", text)
    return shorten(without_unit or text, LONGEST_NAME)


_ROWS_OF_REGIONS = (("top left", "top", "top right"), ("left", "center", "right"))
_REGIONS = (*_ROWS_OF_REGIONS, ("bottom left", "bottom", "bottom right"))
# Regions that differ less than this, relative to the most different one, are not named: the first, and the second.
_LEAST_SHARE, _REGION_SHARE = 0.15, 0.5


def _image_sentence(difference: FloatArray, shape: tuple[int, ...]) -> str:
    """Where an image is brighter and darker than the mean of all images."""
    image = difference.reshape(shape)
    image = image if image.ndim == 2 else image.mean(axis=2)
    regions = {
        name: float(part.mean())
        for names, band in zip(_REGIONS, np.array_split(image, 3), strict=True)
        for name, part in zip(names, np.array_split(band, 3, axis=1), strict=True)
        if part.size
    }
    largest = max((abs(value) for value in regions.values()), default=0.0)
    if not largest > 0:
        return AVERAGE
    brighter = _most(regions, lambda value: value, largest)
    darker = _most(regions, lambda value: -value, largest)
    parts = [
        f"{word} {_places(places)}" for word, places in (("brighter", brighter), ("darker", darker)) if places
    ]
    sentence = ", ".join(parts)
    return sentence[:1].upper() + sentence[1:]


def _most(regions: dict[str, float], sign: Callable[[float], float], largest: float) -> list[str]:
    """At most two regions that differ most in one direction."""
    order = sorted(regions, key=lambda name: -sign(regions[name]))
    first, second = order[:2] if len(order) > 1 else (order[0], order[0])
    shares = {name: sign(regions[name]) / largest for name in (first, second)}
    return [name for name, share in shares.items() if share >= (_LEAST_SHARE if name == first else _REGION_SHARE)]


def _places(names: list[str]) -> str:
    """`in the center and at the left`, `at the top and bottom`."""
    if "center" in names:
        return " and ".join(f"{'in' if name == 'center' else 'at'} the {name}" for name in names)
    return "at the " + " and ".join(names)
