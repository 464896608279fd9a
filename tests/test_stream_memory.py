"""A stream keeps to its memory limit, and sorted files are clustered as well as data in memory."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
import zarr
from cli_running import run
from conftest import read_idx
from kinds_of_data import table

from eulermeans import EulerMeans
from eulermeans.cli.errors import Interrupt
from eulermeans.cli.input_data import InputData, Selection
from eulermeans.cli.prepared_data import PreparedData
from eulermeans.cli.progress import Progress
from eulermeans.oracles import StreamOracle, memory_oracle
from eulermeans.sources import TableFiles, as_source, mapped

# Measures, in a separate process, by how much the peak memory of all passes exceeds what the process used before.
# A small file is read first, so that libraries, threads and kernels are loaded.
PEAK = """
import json, sys
import numpy as np
from eulermeans.oracles import StreamOracle
from eulermeans.sources import as_source

def passes(path, limit):
    oracle = StreamOracle(as_source(path), memory_limit=limit, rng=np.random.default_rng(0))
    centers = oracle.pool().sample(20, np.random.default_rng(0)).points.stored.astype(np.float64)
    oracle.full(centers, detail=True)
    sum(len(block) for block in oracle.labels(centers))
    oracle.farthest(centers, 5)

def memory(which):
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(which)).split()[1])

small, large, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
passes(small, limit)
before = memory("VmRSS")
passes(large, limit)
print(json.dumps(memory("VmHWM") - before))
"""
LIMIT = 48 << 20


def save_parquet(points, path):
    # One row group. The default pages of pyarrow 18.1 take more than is counted: see docs/reliability.md.
    pq.write_table(table(points), path, use_dictionary=False, data_page_size=80_000)


def save_arrow(points, path):
    whole = table(points)
    with ipc.new_file(path, whole.schema) as writer:
        writer.write_table(whole)  # one record batch


def save_lists(points, path):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(points.reshape(-1)), points.shape[1])
    pq.write_table(pa.table({"embedding": lists}), path)


def save_zarr(points, path):
    zarr.open(str(path), mode="w", shape=points.shape, chunks=(5000, 32), dtype=points.dtype)[:] = points


def save_zarr_in_chunks(*chunks):
    """Of which Zarr decompresses whole ones, several at a time."""

    def save(points, path):
        chosen = tuple(min(pair) for pair in zip(chunks, points.shape, strict=True))
        zarr.open(str(path), mode="w", shape=points.shape, chunks=chosen, dtype=points.dtype)[:] = points

    return save


def save_csv(points, path):
    csv.write_csv(table(points[: len(points) // 8].round(3)), path)  # numbers are read as float64


@pytest.fixture(scope="module")
def large():
    """Three times the limit."""
    return np.random.default_rng(0).standard_normal((9 << 16, 64), dtype=np.float32)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
@pytest.mark.parametrize(
    ("save", "ending"),
    [
        (lambda points, path: np.save(path, points), ".npy"),
        (lambda points, path: np.savez(path, points), ".npz"),
        (save_parquet, ".parquet"),
        (save_lists, ".parquet"),
        (save_arrow, ".arrow"),
        (save_zarr, ".zarr"),
        (save_zarr_in_chunks(15_000, 64), ".zarr"),
        (save_zarr_in_chunks(20_000, 8), ".zarr"),
        (save_csv, ".csv"),
    ],
    ids=[
        *("npy", "npz", "parquet", "parquet of lists", "arrow"),
        *("zarr", "zarr in large chunks", "zarr in tall chunks", "csv"),
    ],
)
def test_peak_memory_is_below_the_limit(large, save, ending, tmp_path):
    assert large.nbytes == 3 * LIMIT
    small_path, large_path = tmp_path / f"small{ending}", tmp_path / f"large{ending}"
    save(large[:5000], small_path)
    save(large, large_path)
    arguments = [sys.executable, "-c", PEAK, str(small_path), str(large_path), str(LIMIT)]
    peaks = []
    while len(peaks) < 3 and not (peaks and peaks[-1] < LIMIT):  # threads that wait for a processor keep memory
        run = subprocess.run(arguments, check=True, capture_output=True, text=True)
        peaks.append(json.loads(run.stdout))
    assert 0 < min(peaks) < LIMIT


def test_a_file_that_needs_more_memory_than_the_limit(large, tmp_path):
    """Its dictionaries alone, 1 MB per column, take more than half of the limit."""
    pq.write_table(table(large[: 1 << 17]), tmp_path / "points.parquet", dictionary_pagesize_limit=1 << 20)
    source = as_source(tmp_path / "points.parquet")
    with pytest.raises(ValueError, match=r"points.parquet: .* and its reader about \d+; give at least \d+ bytes"):
        StreamOracle(source, memory_limit=LIMIT)
    reader = source.reader_bytes(1 << 20)
    oracle = StreamOracle(source, memory_limit=2 * reader + LIMIT, rng=np.random.default_rng(0))
    assert oracle.pool().n_points == 1 << 17


def test_chunks_of_zarr_that_need_more_memory_than_the_limit(tmp_path):
    """A read decompresses a whole chunk."""
    array = zarr.open(str(tmp_path / "a.zarr"), mode="w", shape=(10**6, 64), chunks=(100_000, 64), dtype="f4")
    with pytest.raises(ValueError, match=r"a.zarr: .* and its reader about \d+; give at least \d+ bytes"):
        StreamOracle(as_source(tmp_path / "a.zarr"), memory_limit="100MB")
    assert as_source(array).reader_bytes(1 << 20) >= 2 * array.chunks[0] * array.chunks[1] * 4


def test_long_lines_of_text_need_memory(tmp_path):
    """pyarrow reads many blocks ahead, and each must hold a line."""
    (tmp_path / "a.csv").write_text("\n".join(["1.25," * 50_000 + "1"] * 3))
    source = as_source(tmp_path / "a.csv")
    assert source.reader_bytes(1 << 20) > 32 * 250_000


def test_the_command_counts_what_its_source_needs(large, tmp_path, capsys):
    pq.write_table(table(large[: 1 << 17]), tmp_path / "points.parquet", dictionary_pagesize_limit=1 << 20)
    ended = run(capsys, "fit", tmp_path / "points.parquet", "-k", 3, "-q", "--memory", str(LIMIT), "-o", "m")
    assert ended.code == 2
    assert "its reader about" in ended.err


@pytest.mark.parametrize("kind", ["mapped", "command"])
def test_a_source_around_another_needs_as_much_memory(kind, tmp_path):
    pq.write_table(table(np.zeros((5000, 3), np.float32)), tmp_path / "a.parquet")
    source = as_source(tmp_path / "a.parquet")
    if kind == "mapped":
        around = mapped(source, lambda points: points)
    else:
        path = str(tmp_path / "a.parquet")
        prepared = PreparedData(source, None)
        around = InputData(prepared, Selection(path), TableFiles(path), Progress("reading"), Interrupt())
    assert around.reader_bytes(1 << 20) == source.reader_bytes(1 << 20) > 0
    assert around.files == source.files == [str(tmp_path / "a.parquet")]
    assert around.schema == source.schema


# MNIST, sorted by digit


@pytest.fixture(scope="module")
def sorted_digits(mnist, data_dir):
    digits = read_idx(data_dir / "mnist" / "train-labels-idx1-ubyte.gz")
    return mnist[np.argsort(digits, kind="stable")]


@pytest.fixture(scope="module")
def sorted_file(sorted_digits, tmp_path_factory):
    """784 columns of bytes, in ten files of one digit each."""
    folder = tmp_path_factory.mktemp("mnist")
    whole = table(sorted_digits)
    for number in range(10):
        pq.write_table(whole.slice(6000 * number, 6000), folder / f"part-{number}.parquet", row_group_size=3000)
    return folder


def test_mnist_as_parquet_has_the_moments_of_the_array(sorted_digits, sorted_file):
    stream = StreamOracle(as_source(sorted_file), memory_limit=32 << 20, rng=np.random.default_rng(0))
    memory = memory_oracle(sorted_digits)
    centers = sorted_digits[::7000].astype(np.float64)
    one, other = stream.full(centers), memory.full(centers)
    np.testing.assert_array_equal(one.counts, other.counts)
    np.testing.assert_array_equal(one.sums, other.sums)  # sums of integers are exact
    assert one.cost == pytest.approx(other.cost, rel=1e-12)
    assert stream.pool().points.stored.dtype == np.uint8


def test_mnist_as_parquet_is_clustered_as_well_as_in_memory(sorted_digits, sorted_file):
    """Within 0.1 % of the objective, with less memory than the data need."""
    options = {"n_clusters": 10, "random_state": 0, "tol": 1e-3}
    inside = EulerMeans(**options).fit(sorted_digits)
    outside = EulerMeans(**options, memory_limit=32 << 20).fit(sorted_file)
    assert outside.inertia_ < 1.001 * inside.inertia_
    assert {record.phase for record in outside.history_} >= {"search", "descend", "polish"}
