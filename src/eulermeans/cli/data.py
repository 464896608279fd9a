"""DATA, as it was named on the command line: found, its columns chosen, watched while it is read."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..sources import as_source, listed
from ..storage.models import SavedModel
from .interrupts import Interrupt
from .options import reading
from .progress import Progress
from .stdin import spooled
from .tables import TableColumn, column_blocks, expected_rows, table_columns
from .watched import WatchedSource

_PACKED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}
_MOST_SUGGESTED = 12  # columns in an advice


@dataclass(frozen=True)
class Wanted:
    """What is wanted of which data."""

    data: str  # a path, a pattern, or - for stdin
    columns: Sequence[str] = ()  # each a name, or several separated by commas; none: all but those below
    drop: Sequence[str] = ()
    weights: str | None = None
    id: str | None = None

    @property
    def title(self) -> str:
        """What to call it."""
        return "stdin" if self.data == "-" else self.data

    @property
    def stem(self) -> str:
        """A name for what is made of the data."""
        path = Path(self.title)
        plain = re.sub(r"[*?\[\]]", "", path.name.removesuffix(path.suffix)).strip("-_. ")
        return plain or path.parent.name or "model"


@dataclass(frozen=True)
class Opened:
    """Data that can be read."""

    source: WatchedSource
    path: str
    id: str | None

    def ids(self) -> Iterator[Any] | None:
        """The id of each row, in blocks, if that is wanted."""
        return None if self.id is None else column_blocks(self.path, self.id)


@contextmanager
def opened(
    wanted: Wanted, progress: Progress, interrupt: Interrupt, *, model: SavedModel | None = None
) -> Iterator[Opened]:
    """The data while the block runs; with the columns of a model, if one is given that knows their names."""
    with ExitStack() as stack:
        spool = stack.enter_context(spooled(progress, interrupt)) if wanted.data == "-" else None
        path = wanted.data if spool is None else os.fspath(spool)
        try:
            progress.begin(reading(wanted.data))
            _check_unpacked(path)
            columns = _columns(wanted, path, None if model is None else model.feature_names)
            source = as_source(path, columns=columns, weights=wanted.weights)
            if model is not None and source.n_features != model.estimator.n_features_in_:
                raise ValueError(
                    f"{path} has {source.n_features} features; the model was fitted to "
                    f"{model.estimator.n_features_in_}"
                )
            yield Opened(WatchedSource(source, progress, interrupt, expected_rows(path)), path, wanted.id)
        except (ValueError, FileNotFoundError) as error:
            raise ValueError(_in_words_of_the_command(str(error), spool)) from error


def _in_words_of_the_command(message: str, spool: Path | None) -> str:
    """Options instead of arguments, and no name of a file that the user does not know."""
    for argument, option in {
        "columns=": "--columns",
        "weights=": "--weights",
        "memory_limit=": "--memory ",
    }.items():
        message = message.replace(argument, option)
    return message if spool is None else message.replace(os.fspath(spool), "stdin")


def _check_unpacked(path: str) -> None:
    program = _PACKED.get(os.path.splitext(path)[1])
    if program is not None:
        raise ValueError(f"{path} is packed; unpack it on the way, as in: {program} -dc {path} | eulermeans ... -")


def _columns(wanted: Wanted, path: str, names: list[str] | None) -> list[str] | None:
    """The names of the columns to be clustered, or None: files of this kind do not name any."""
    table = table_columns(path)
    if table is None:
        if wanted.columns or wanted.drop or wanted.id:
            raise ValueError(
                f"{path} has no columns with names, so that --columns, --drop and --id can't choose any"
            )
        return None
    known = [column.name for column in table]
    for option in (wanted.weights, wanted.id):
        _check_known([option] if option else [], known, path)
    beside = {wanted.weights, wanted.id, *_names(wanted.drop, known, path)}
    if wanted.columns:
        chosen = _names(wanted.columns, known, path)
    elif names is not None and all(column.given for column in table):
        chosen = _of_model(names, known, path)
    else:
        chosen = [name for name in known if name not in beside]
    if not chosen:
        raise ValueError(f"no columns of {path} are left to cluster; it has {listed(known)}")
    _check_numeric([column for column in table if column.name in chosen], table, path)
    return chosen


def _names(given: Sequence[str], known: list[str], path: str) -> list[str]:
    """The columns that an option names. A name may hold a comma: as it stands it goes first."""
    names: list[str] = []
    for each in given:
        names += [each] if each in known else [part.strip() for part in each.split(",") if part.strip()]
    _check_known(names, known, path)
    return list(dict.fromkeys(names))


def _check_known(names: Sequence[str], known: list[str], path: str) -> None:
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"{path} has no column {listed(missing)}; it has {listed(known)}")


def _of_model(names: list[str], known: list[str], path: str) -> list[str]:
    """The columns that a model was fitted to; those of a column of lists are called name[0], name[1] and so on."""
    columns = dict.fromkeys(name if name in known else name.partition("[")[0] for name in names)
    missing = [name for name in columns if name not in known]
    if missing:
        raise ValueError(
            f"{path} has no column {listed(missing)}, to which the model was fitted; it has {listed(known)}"
        )
    return list(columns)


def _check_numeric(chosen: list[TableColumn], table: list[TableColumn], path: str) -> None:
    other = [column for column in chosen if not column.numeric]
    if not other:
        return
    numeric = [column.name for column in table if column.numeric]
    advice = f"drop them with --drop {_quoted(column.name for column in other)}"
    if numeric and len(numeric) <= _MOST_SUGGESTED:
        advice += f", or name those to cluster with --columns {_quoted(numeric)}"
    kinds = listed([f"{column.name} ({column.type})" for column in other])
    raise ValueError(f"{path} has columns that are not numbers: {kinds}; {advice}")


def _quoted(names: Iterable[str]) -> str:
    """As it can be typed in a shell."""
    return shlex.quote(",".join(names))
