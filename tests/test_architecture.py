"""Imports point one way, the library does not print, and the stub describes the extension."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import eulermeans
from eulermeans import _core

SOURCE = Path(__file__).resolve().parents[1] / "src" / "eulermeans"
FILES = sorted(SOURCE.rglob("*.py"))

# A module may import from its own floor and from those below. What is side by side on a floor stays apart.
FLOORS = [
    {"_core"},
    {"moments", "sources"},
    {"oracles"},
    {"seeding", "solvers"},
    {"history"},
    {"storage"},
    {"driver"},
    {"estimators"},
    {"choosing", "datasets", "paper", "plot", "report", "versions"},
    {"cli"},
]
FLOOR = {part: number for number, floor in enumerate(FLOORS) for part in floor}
# Optional packages and array types: they know nothing of k-means.
ANYWHERE = {"arrays", "optional"}
ENTRANCE = {"__init__", "__main__"}
# Imported inside a method, when a notebook shows an estimator: neither package needs the other to be imported.
WHEN_CALLED = {("estimators/base.py", "plot")}


def part_of(path: Path) -> str:
    """The first name below the package: the file itself, or the folder it is in."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_modules(path: Path) -> set[str]:
    """All that a file imports, by its full name."""
    package = ["eulermeans", *path.relative_to(SOURCE).parts[:-1]]
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module == "eulermeans":  # from . import part
                names.update(f"eulermeans.{alias.name}" for alias in node.names)
            else:
                names.add(module)
    return names


def parts_imported(path: Path) -> set[str]:
    names = {name.split(".")[1] for name in imported_modules(path) if name.startswith("eulermeans.")}
    return names & (FLOOR.keys() | ANYWHERE) - {part_of(path)}


by_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))


def test_the_source_is_where_this_test_looks():
    assert {"moments.py", "driver.py", "seeding.py"} <= {path.name for path in FILES}
    assert any("eulermeans.moments" in imported_modules(path) for path in FILES)


@by_file
def test_every_module_has_a_floor(path):
    assert part_of(path) in FLOOR.keys() | ANYWHERE | ENTRANCE


@by_file
def test_imports_point_one_way(path):
    part = part_of(path)
    if part in ENTRANCE:
        assert parts_imported(path) <= FLOOR.keys() | ANYWHERE
        return
    own = FLOOR.get(part, -1)  # what is used anywhere uses nothing that has a floor
    for other in parts_imported(path) - ANYWHERE:
        if (path.relative_to(SOURCE).as_posix(), other) in WHEN_CALLED:
            continue
        is_side_by_side = FLOOR[other] == own and own >= FLOOR["choosing"]
        assert FLOOR[other] < own or is_side_by_side, f"{part} imports {other}"


@by_file
def test_scikit_learn_is_not_known_below_the_estimators(path):
    if path.name == "scikit_learn.py" and part_of(path) == "storage":  # saves and exports its objects
        return
    if FLOOR.get(part_of(path), -1) < FLOOR["estimators"] and part_of(path) not in ENTRANCE:
        assert not {name for name in imported_modules(path) if name.split(".")[0] == "sklearn"}


@by_file
def test_the_library_does_not_print(path):
    if part_of(path) in {"cli", "versions"}:  # what a person calls to see something
        return
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    assert not [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]


@by_file
def test_no_literal_seed_below_the_public_api(path):
    pattern = r"(default_rng|RandomState|seed)\((\d+|)\)"
    if part_of(path) in {"moments", "sources", "oracles", "seeding", "solvers", "driver", "estimators"}:
        assert not re.search(pattern, path.read_text(encoding="utf-8"))


# The stub


def stub() -> ast.Module:
    return ast.parse((SOURCE / "_core.pyi").read_text(encoding="utf-8"))


def test_the_stub_has_the_names_of_the_extension():
    declared = {node.name for node in stub().body if isinstance(node, ast.FunctionDef)}
    declared |= {node.target.id for node in stub().body if isinstance(node, ast.AnnAssign)}
    assert declared == {name for name in dir(_core) if not name.startswith("_")}


@pytest.mark.parametrize(
    "function", [node for node in stub().body if isinstance(node, ast.FunctionDef)], ids=lambda node: node.name
)
def test_the_stub_has_the_arguments_of_the_extension(function):
    compiled = getattr(_core, function.name)
    assert callable(compiled)
    signature = compiled.__doc__.splitlines()[0]  # nanobind writes it there
    inside = signature[signature.index("(") + 1 : signature.rindex("->")]
    found = re.findall(r"(?:^|, )(\w+):", re.sub(r"\[[^\]]*\]", "", inside))
    assert found == [argument.arg for argument in function.args.args]


def test_block_rows_is_a_number():
    assert isinstance(_core.BLOCK_ROWS, int)
    assert _core.BLOCK_ROWS > 0


def test_the_package_is_typed():
    assert (SOURCE / "py.typed").is_file()


def test_public_names_are_all_at_home_somewhere():
    assert set(eulermeans._HOMES) | {"__version__"} == set(eulermeans.__all__) == set(dir(eulermeans))
    with pytest.raises(AttributeError, match="no attribute 'KMeans'"):
        eulermeans.KMeans  # noqa: B018


def test_public_names_exist_and_are_documented():
    for name in eulermeans.__all__:
        member = getattr(eulermeans, name)
        if inspect.isclass(member):
            assert inspect.getdoc(member)
