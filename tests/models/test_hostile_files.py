"""Files that are damaged, foreign, or made to do harm: refused, and nothing in them is run."""

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import eigenspan as es
from eigenspan.errors import MemoryLimitError, ModelError, ModelWarning
from eigenspan.models import describe
from eigenspan.models.archive import _SEAL, HEADER, OBJECTS, _digest
from eigenspan.models.kinds import build
from helpers import quietly

X = np.random.default_rng(0).standard_normal((30, 4))


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.mkdir, (self.marker,)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a model with a tree, a sparse matrix and texts in it."""
    path = tmp_path_factory.mktemp("model") / "m.eig"
    es.save(quietly(lambda: es.Isomap(2, n_neighbors=6).fit(X)), path, provenance={"data": "noise"})
    return path.read_bytes()


def entries(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def sealed(parts, packed=(), bend=lambda archive: None):
    """A file of these entries, its checksum right: what somebody makes who knows the format."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items() if isinstance(parts, dict) else parts:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED if name in packed else None)
        archive.comment = _SEAL + b"0" * 64
        bend(archive)
    digest = _digest(file, len(file.getvalue()) - 64)
    return file.getvalue()[:-64] + digest.encode()


def forged(whole, objects=None, header=None, **arrays):
    """The model with some of its parts replaced."""
    parts = entries(whole)
    if objects is not None:
        layouts = json.loads(parts[OBJECTS])["arrays"]
        parts[OBJECTS] = json.dumps({"arrays": layouts, **objects} if isinstance(objects, dict) else objects).encode()
    if header is not None:
        parts[HEADER] = json.dumps({**json.loads(parts[HEADER]), **header}).encode()
    return sealed({**parts, **arrays})


def npy(array, allow_pickle=False):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=allow_pickle)
    return file.getvalue()


def refusal(tmp_path, content):
    path = tmp_path / "bad.eig"
    path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        es.load(path)
    return str(caught.value)


def test_the_forger_can_forge(whole, tmp_path):
    """Left as it is, a file put together by hand loads: what refuses the others is what is wrong with them."""
    path = tmp_path / "m.eig"
    path.write_bytes(forged(whole))
    assert es.load(path).n_neighbors == 6


# ------------------------------------------------------------------ accidents
def test_cut_short_anywhere(whole, tmp_path):
    rng = np.random.default_rng(0)
    for length in {
        0,
        1,
        4,
        29,
        30,
        44,
        45,
        *rng.integers(len(whole), size=60).tolist(),
        len(whole) - 64,
        len(whole) - 1,
    }:
        message = refusal(tmp_path, whole[:length])
        assert ("cut short" if length >= 44 else "not an eigenspan model") in message, length


def test_any_byte_altered(whole, tmp_path):
    """One in every stretch of the file: local headers, names, padding, texts, numbers, the directory and the checksum itself."""
    rng = np.random.default_rng(1)
    places = {*range(60), *rng.integers(len(whole), size=150).tolist(), *range(len(whole) - 120, len(whole))}
    for place in places:
        bent = bytearray(whole)
        bent[place] ^= 1 << rng.integers(8)
        message = refusal(tmp_path, bytes(bent))
        assert "damaged" in message or "not an eigenspan model" in message, place


def test_bytes_added_or_taken_out(whole, tmp_path):
    middle = len(whole) // 2
    for content in (whole + b"\0", whole + whole, b"\0" + whole, whole[:middle] + whole[middle + 1 :]):
        assert "damaged" in (message := refusal(tmp_path, content)) or "not an eigenspan model" in message


@given(content=st.binary(max_size=200))
@settings(deadline=None, max_examples=50)
def test_any_bytes(content, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "any.eig"
    for start in (b"", b"PK\x03\x04", b"\x80\x05", b"{"):
        path.write_bytes(start + content)
        with pytest.raises(ModelError):
            es.load(path)


def test_no_file(tmp_path):
    for path in (tmp_path, tmp_path / "absent.eig"):
        with pytest.raises(ModelError, match="There is no model file"):
            es.load(path)


# ------------------------------------------------------------------ pickles
def test_pickles_are_not_opened(tmp_path):
    marker = tmp_path / "ran"
    bomb = pickle.dumps(Trap(marker))
    with zipfile.ZipFile(other := io.BytesIO(), "w") as archive:
        archive.writestr("data.pkl", bomb)
    np.savez(arrays := io.BytesIO(), a=np.array([Trap(marker)], dtype=object))
    old = b'{"format": "eigenspan-model", "version": 1, "bytes": %d}\n' % len(bomb)
    assert "older eigenspan, stored as a pickle" in refusal(tmp_path, old + bomb)
    assert "stored as a pickle" in refusal(tmp_path, bomb)
    for content in (pickle.dumps(Trap(marker), protocol=0), other.getvalue(), arrays.getvalue()):
        assert "not an eigenspan model" in refusal(tmp_path, content)
    assert not marker.exists()
    pickle.loads(bomb)
    assert marker.exists(), "the trap would have closed"


def test_pickles_inside_a_model_are_not_opened(whole, tmp_path):
    marker = tmp_path / "ran"
    trapped = npy(np.array([Trap(marker)], dtype=object), allow_pickle=True)
    assert "malformed" in refusal(tmp_path, forged(whole, **{"0.npy": trapped}))
    assert "malformed" in refusal(tmp_path, forged(whole, **{"0.npy": pickle.dumps(Trap(marker))}))
    for text in (HEADER, OBJECTS):
        assert "malformed" in refusal(tmp_path, sealed({**entries(whole), text: pickle.dumps(Trap(marker))}))
    assert not marker.exists()


# ------------------------------------------------------------------ names
CALLS = [
    "os.system", "builtins.eval", "posix.system", "subprocess.Popen", "eigenspan.models.load", "__import__", "Map.__init__",
    "../PCA", "sklearn.FunctionTransformer", "sklearn.preprocessing.FunctionTransformer", "pandas.read_pickle", "numpy.load",
    "Trap", "", None, 3, ["PCA"], {"object": 0},
]  # fmt: skip


@pytest.mark.parametrize("name", CALLS, ids=repr)
def test_classes_that_no_model_may_name(name, whole, tmp_path):
    objects = {"objects": [{"class": name, "parts": {"command": f"touch {tmp_path}/ran"}}], "root": {"object": 0}}
    assert "none that a model may hold" in refusal(tmp_path, forged(whole, objects))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "name", ["__class__", "__dict__", "__reduce__", "fit", "transform", "n_components", "a.b", "", "é_"]
)
def test_attributes_that_no_fit_sets(name, whole, tmp_path):
    node = {"class": "PCA", "parts": {"parameters": {"n_components": 2}, "attributes": {name: 1}}}
    assert "no attribute that a fit of PCA sets" in refusal(
        tmp_path, forged(whole, {"objects": [node], "root": {"object": 0}})
    )


VALUES = [
    {"array": 10**6}, {"array": -1}, {"array": True}, {"array": "0"}, {"object": 0}, {"object": -1}, {"call": "os.system"},
    {"float": "1e400"}, {"float": [1]}, {"number": ["O", 1]}, {"number": ["<f8"]}, {"dtype": "O"}, {"dtype": "f8,O"}, {"dtype": 3},
    {"tuple": 3}, {"dict": [[1]]}, {"dict": [[[1], 2]]}, {"texts": [[2], ["a"]]}, {"texts": 1}, {"scalar": 2}, {},
    {"array": 0, "object": 0},
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_that_no_writer_makes(value, whole, tmp_path):
    node = {"class": "PCA", "parts": {"parameters": {"n_components": value}, "attributes": {}}}
    assert "malformed" in refusal(tmp_path, forged(whole, {"objects": [node], "root": {"object": 0}}))


@pytest.mark.parametrize(
    "objects",
    [
        [], {}, 3, "objects", {"objects": []}, {"objects": [], "root": {"object": 0}}, {"objects": 3, "root": 1},
        {"objects": [{}], "root": 1}, {"objects": [3], "root": 1}, {"objects": [{"class": "PCA", "parts": 3}], "root": 1},
        {"objects": [{"class": "PCA", "parts": {"parameters": {"no_such": 1}, "attributes": {}}}], "root": {"object": 0}},
        {"objects": [{"class": "PCA", "parts": {"attributes": {}}}], "root": {"object": 0}},
        {"objects": [{"class": "Map", "parts": {"rows": 1}}], "root": {"object": 0}},
        {"objects": [{"class": "Map", "parts": {"rows": 1, "coef": 2}}], "root": {"object": 0}},
        {"objects": [{"class": "numpy.RandomState", "parts": {"state": {"dict": []}}}], "root": 1},
    ],
)  # fmt: skip
def test_lists_of_objects_that_no_writer_makes(objects, whole, tmp_path):
    assert "malformed" in refusal(tmp_path, forged(whole, objects))


@pytest.mark.parametrize("name", ["seed", "os", "__class__", "PCG65", None])
def test_bit_generators(name, whole, tmp_path):
    node = {"class": "numpy.Generator", "parts": {"state": {"dict": [["bit_generator", name]]}}}
    message = refusal(tmp_path, forged(whole, {"objects": [node], "root": {"object": 0}}))
    assert "there is no bit generator" in message


def test_a_text_nested_without_end(whole, tmp_path):
    deep = b"[" * 200_000 + b"]" * 200_000
    assert "malformed" in refusal(tmp_path, sealed({**entries(whole), OBJECTS: deep}))
    assert "malformed" in refusal(tmp_path, sealed({**entries(whole), HEADER: deep}))
    assert "malformed" in refusal(tmp_path, sealed({**entries(whole), OBJECTS: b'{"root": ' + b"9" * 5000 + b"}"}))


# ------------------------------------------------------------------ entries
@pytest.mark.parametrize(
    "name", ["../0.npy", "/etc/passwd", "00.npy", "x.py", "a\\b.npy", "objects.json/", "0.npy.pkl"]
)
def test_names_of_entries(name, whole, tmp_path):
    assert "malformed" in refusal(tmp_path, sealed({**entries(whole), name: b"x"}))
    assert not (tmp_path.parent / "0.npy").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_entries_missing_or_twice(whole, tmp_path):
    parts = list(entries(whole).items())
    assert "malformed" in refusal(tmp_path, sealed([*parts, parts[2]]))
    assert "malformed" in refusal(tmp_path, sealed([*parts, parts[0]]))
    assert "malformed" in refusal(tmp_path, sealed([part for part in parts if part[0] != OBJECTS]))
    assert "malformed" in refusal(tmp_path, sealed([part for part in parts if part[0] != "1.npy"]))


def test_compressed_entries(whole, tmp_path):
    """What a bomb needs: few bytes that become many."""
    bomb = sealed({**entries(whole), "0.npy": npy(np.zeros(10**6))}, packed=["0.npy"])
    assert len(bomb) < 10**6
    assert "compressed" in refusal(tmp_path, bomb)
    for name in (HEADER, OBJECTS, "1.npy"):
        assert "compressed" in refusal(tmp_path, sealed(entries(whole), packed=[name]))


@pytest.mark.parametrize("name", [HEADER, OBJECTS, "0.npy"])
def test_entries_larger_than_the_file(name, whole, tmp_path):
    def larger(archive):
        entry = archive.getinfo(name)
        entry.file_size = entry.compress_size = 10**7

    def encrypted(archive):
        archive.getinfo(name).flag_bits |= 1

    for bend in (larger, encrypted):
        assert "larger than the file" in refusal(tmp_path, sealed(entries(whole), bend=bend))


LAYOUTS = [
    ["<f8", [10**12], False], ["<f8", [0, 10**30], False], ["<f8", [-1], False], ["<f8", [-30, -2], False], ["<f8", [60, True], False],
    ["|O", [60], False], ["|V8", [60], False], ["O,f8", [60], False], ["nonsense", [60], False], [None, [60], False], ["<f8", 60, False],
    ["<f8", [60.0], False], ["<f8", [60], 1], ["<f8", [60]], "<f8",
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS, ids=repr)
def test_arrays_that_are_not_as_they_say(layout, whole, tmp_path):
    objects = json.loads(entries(whole)[OBJECTS])
    content = npy(np.zeros(60))
    objects["arrays"][0] = ["<f8", [60], False]
    path = tmp_path / "m.eig"
    path.write_bytes(forged(whole, {**objects, "objects": [], "root": {"array": 0}}, **{"0.npy": content}))
    with pytest.raises(ModelError, match="is a model of the command line"):  # an array, but a whole one
        es.load(path)
    objects["arrays"][0] = layout
    assert "malformed" in refusal(tmp_path, forged(whole, objects, **{"0.npy": content}))


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"\x93NUMPY\x09\0", b"\x93NUMPY\x01\0\xff\xff{}", b"\0" * 200])
def test_entries_that_are_no_arrays(content, whole, tmp_path):
    assert "malformed" in refusal(tmp_path, forged(whole, **{"0.npy": content}))


def test_more_than_memory_holds(whole, tmp_path, monkeypatch):
    path = tmp_path / "m.eig"
    path.write_bytes(whole)
    monkeypatch.setenv("EIGENSPAN_MEMORY", "1K")
    with pytest.raises(MemoryLimitError, match="The model in this file would need"):
        es.load(path)
    monkeypatch.setenv("EIGENSPAN_MEMORY", f"{len(whole) // 2}")
    with pytest.raises(MemoryLimitError, match='with mmap_mode="r"'):
        es.load(path)


# ------------------------------------------------------------------ parts that compiled code would read beyond
def tampered(whole, cls, change):
    """The model with the parts of every object of this class changed."""
    objects = json.loads(entries(whole)[OBJECTS])
    found = [node for node in objects["objects"] if node["class"] == cls]
    assert found
    for node in found:
        change(node["parts"])
    return forged(whole, objects)


def test_sparse_matrices_with_indices_outside(whole, tmp_path):
    assert "malformed" in refusal(
        tmp_path, tampered(whole, "scipy.csr_array", lambda p: p.update(shape={"tuple": [30, 3]}))
    )
    assert "malformed" in refusal(tmp_path, tampered(whole, "scipy.csr_array", lambda p: p.update(indices=p["data"])))
    assert "malformed" in refusal(tmp_path, tampered(whole, "scipy.csr_array", lambda p: p.update(indptr=[0, 10**9])))


def test_parts_that_do_not_belong_together(whole, tmp_path):
    for cls, part in (("Map", "coef"), ("TreeSearch", "points"), ("RowIndex", "order")):
        told = refusal(tmp_path, tampered(whole, cls, lambda p, part=part: p.update({part: [1.0]})))
        assert "malformed" in told, cls

    def narrow(parts):
        parts["attributes"]["n_features_in_"] = 3

    assert "do not belong together" in refusal(tmp_path, tampered(whole, "Isomap", narrow))


def test_neighbours_and_points_of_different_numbers(tmp_path):
    path = tmp_path / "lle.eig"
    es.save(es.LLE(2, n_neighbors=6).fit(X), path)
    objects = json.loads(entries(path.read_bytes())[OBJECTS])
    few = len(entries(path.read_bytes())) - 2
    for node in objects["objects"]:
        if node["class"] == "BarycentricRows":
            node["parts"]["points"] = {"array": few}
    objects["arrays"].append(["<f8", [5, 4], False])
    content = forged(path.read_bytes(), objects, **{f"{few}.npy": npy(X[:5])})
    assert "do not belong together" in refusal(tmp_path, content)


def test_clusters_of_another_width(tmp_path):
    path = tmp_path / "clusters.eig"
    es.save(quietly(lambda: es.SpectralClustering(3).fit(X)), path)
    content = tampered(path.read_bytes(), "sklearn.KMeans", lambda p: p["attributes"].update(n_features_in_=50))
    assert "do not belong together" in refusal(tmp_path, content)


@pytest.mark.parametrize(
    "part, value", [("links", -1), ("links", 10**9), ("effort", 0), ("effort", "x"), ("links", None)]
)
def test_navigable_graphs_beyond_reason(part, value):
    with pytest.raises(ValueError, match="beyond any graph"):
        build("HnswSearch", {"points": X, "links": 32, part: value})


def test_a_pipeline_whose_cache_is_of_pickles(tmp_path):
    path = tmp_path / "pipeline.eig"
    es.save(make_pipeline(StandardScaler(), es.PCA(2)), path)
    content = tampered(path.read_bytes(), "sklearn.Pipeline", lambda p: p["parameters"].update(memory=str(tmp_path)))
    assert "cache of pickles" in refusal(tmp_path, content)


def test_parts_exchanged_at_random(whole, tmp_path):
    """Whatever a file of the right form says, it is loaded or refused; nothing else is raised."""
    path, original = tmp_path / "m.eig", json.loads(entries(whole)[OBJECTS])
    rng, refusals = np.random.default_rng(2), 0
    for _ in range(120):
        objects = json.loads(json.dumps(original))
        spots = [*_spots(objects)]
        (holder, key), (other, there) = (spots[i] for i in rng.integers(len(spots), size=2))
        holder[key] = json.loads(json.dumps(other[there]))
        path.write_bytes(forged(whole, objects))
        try:
            quietly(lambda: es.load(path))
        except ModelError:
            refusals += 1
    assert 30 < refusals < 120


def _spots(tree):
    """Every place of a tree of lists and dicts, as what holds it and its key."""
    for key in tree if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], dict | list):
            yield from _spots(tree[key])


# ------------------------------------------------------------------ versions
def test_a_later_format(whole, tmp_path):
    versions = {"eigenspan": "9.1", "scikit-learn": "1"}
    message = refusal(tmp_path, forged(whole, header={"version": 2, "versions": versions}))
    assert "version 2 of the model format" in message
    assert "saved by eigenspan 9.1" in message
    for header in ({"version": "1"}, {"format": "other"}, {"version": None}, {"version": True}):
        assert "malformed" in refusal(tmp_path, forged(whole, header=header))


def test_another_version_warns(whole, tmp_path):
    path = tmp_path / "m.eig"
    path.write_bytes(forged(whole, header={"versions": {"eigenspan": "0.0.1"}}))
    with pytest.warns(ModelWarning, match=r"saved by eigenspan 0\.0\.1, and this is eigenspan"):
        es.load(path)
    assert describe(path)["versions"] == {"eigenspan": "0.0.1"}


def test_what_another_version_named_otherwise(whole, tmp_path):
    objects = {"objects": [{"class": "OldName", "parts": {}}], "root": {"object": 0}}
    path = tmp_path / "m.eig"
    path.write_bytes(forged(whole, objects, header={"versions": {"eigenspan": "0.0.1"}}))
    with pytest.raises(ModelError, match=r"saved by eigenspan 0\.0\.1.* and cannot be put"):
        es.load(path)
