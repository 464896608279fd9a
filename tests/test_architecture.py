"""The shape of the code: imports point one way, names are unique, the stub describes the extension."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import eulermeans
from eulermeans import _core, search_budget
from eulermeans.oracles import dense_points

SOURCE = Path(__file__).resolve().parents[1] / "src" / "eulermeans"
FILES = sorted(SOURCE.rglob("*.py"))

# A module may import from its own floor and from those below; rooms on the same floor stay apart, except on the
# last but one. docs/architecture.md has the same list.
FLOORS = [
    {"_core"},
    {"moments", "sources"},
    {"oracles"},
    {"seeding"},
    {"solvers"},
    {"history"},
    {"storage"},
    {"driver"},
    {"search_budget", "stream_buffer"},
    {"fitting"},
    {"sized_fitting"},
    {"estimators"},
    {"certificate", "choosing", "datasets", "paper", "plot", "report", "versions"},
    {"cli"},
]
FLOOR = {part: number for number, floor in enumerate(FLOORS) for part in floor}
# Optional packages, array types, sizes of memory, kinds of columns: they know nothing of k-means.
ANYWHERE = {"arrays", "byte_sizes", "features", "optional"}
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
    if path.name == "models.py" and part_of(path) == "storage":  # saves and exports its objects
        return
    if FLOOR.get(part_of(path), -1) < FLOOR["estimators"] and part_of(path) not in ENTRANCE:
        assert not {name for name in imported_modules(path) if name.split(".")[0] == "sklearn"}


def test_rooms_do_not_import_each_other_in_a_circle():
    imports = {part: set() for part in FLOOR}
    for path in FILES:
        if part_of(path) in imports:
            lazily = {part for name, part in WHEN_CALLED if name == path.relative_to(SOURCE).as_posix()}
            imports[part_of(path)] |= (parts_imported(path) & FLOOR.keys()) - lazily
    while free := {part for part, others in imports.items() if not others}:
        imports = {part: others - free for part, others in imports.items() if part not in free}
    assert not imports


@by_file
def test_kernels_are_called_by_oracles_alone(path):
    if part_of(path) not in {"oracles", "versions"}:
        assert "_core" not in parts_imported(path)


def syntax_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@by_file
def test_nothing_is_forwarded_by_getattr(path):
    defined = {node.name for node in ast.walk(syntax_tree(path)) if isinstance(node, ast.FunctionDef)}
    if part_of(path) not in ENTRANCE:  # the package itself imports its public names when they are asked for
        assert not defined & {"__getattr__", "__getattribute__"}


# What tells formats of data apart. Only some rooms may use it: sources and oracles, the edge where users' data
# come in, and the rooms that show data in the form in which they were given.
FORMATS = {
    "issparse",
    "is_dask",
    "DaskSource",
    "CsrPoints",
    "CsrSource",
    "csr_matrix",
    "memmap",
    "iloc",
    "to_arrow",
}
KNOW_FORMATS = {"sources", "oracles", "estimators", "plot", "report", "cli"}


@by_file
def test_algorithms_do_not_know_the_format_of_the_data(path):
    if part_of(path) in KNOW_FORMATS | ENTRANCE:
        return
    used = {node.id for node in ast.walk(syntax_tree(path)) if isinstance(node, ast.Name)}
    used |= {node.attr for node in ast.walk(syntax_tree(path)) if isinstance(node, ast.Attribute)}
    assert not used & FORMATS


def test_estimators_look_at_formats_only_where_they_validate():
    for path in FILES:
        if part_of(path) == "estimators" and path.name != "validation.py":
            used = {node.id for node in ast.walk(syntax_tree(path)) if isinstance(node, ast.Name)}
            assert not used & FORMATS, path.name


ANY_BUDGET = 54  # lines with the word Any in the package; lower it when there are fewer, never raise it


def test_few_types_are_unknown():
    lines = [line for path in FILES for line in path.read_text(encoding="utf-8").splitlines()]
    assert sum(bool(re.search(r"\bAny\b", line)) for line in lines) <= ANY_BUDGET


def test_no_two_modules_share_a_name():
    names = [path.name for path in FILES if path.name != "__init__.py"]
    assert sorted(names) == sorted(set(names))


def base_name(base: ast.expr) -> str:
    base = base.value if isinstance(base, ast.Subscript) else base
    return base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")


def test_every_public_method_is_documented_or_overrides_one_that_is():
    """ruff's D102 does not know overrides, so it is off."""
    trees = [syntax_tree(path) for path in FILES]
    classes = {node.name: node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    def documented(name: str, method: str) -> bool:
        if name not in classes:
            return False
        own = [node for node in classes[name].body if isinstance(node, ast.FunctionDef) and node.name == method]
        if any(ast.get_docstring(node) for node in own):
            return True
        return any(documented(base_name(base), method) for base in classes[name].bases)

    for name, node in classes.items():
        methods = {child.name for child in node.body if isinstance(child, ast.FunctionDef)}
        public = {method for method in methods if not method.startswith("_") and not name.startswith("_")}
        assert not {method for method in public if not documented(name, method)}, name


def test_a_mini_batch_passes_few_files(monkeypatch):
    """From `fit` to the kernel; docs/architecture.md has the walk."""
    files = set()
    accumulate = _core.accumulate

    def watched(*arguments, **options):
        if options.get("rows") is not None:
            files.update(frame.filename for frame in inspect.stack())
        return accumulate(*arguments, **options)

    monkeypatch.setattr(dense_points._core, "accumulate", watched)
    monkeypatch.setattr(search_budget, "WHOLE_OPERATIONS", 0.0)  # search a sample, then mini-batches of all
    points = np.random.default_rng(0).standard_normal((20_000, 6))
    eulermeans.EulerMeans(3, random_state=0).fit(points)
    passed = {Path(name).relative_to(SOURCE).as_posix() for name in files if name.startswith(str(SOURCE))}
    assert "solvers/backward_euler.py" in passed
    assert len(passed) <= 8, passed  # and at most four of src/core


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
    declared = {node.name for node in stub().body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
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
