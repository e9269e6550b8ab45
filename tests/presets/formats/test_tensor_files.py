"""Weight files: sharded, in PyTorch's format, broken."""

import importlib.util
import os

import h5py
import numpy as np
import pytest

from keras_bert import BertBackbone, BertPretrainer
from keras_bert.presets.formats import tensor_files

INDEX = "model.safetensors.index.json"


@pytest.fixture
def state(torch, encoder):
    return {name: torch.tensor(tensor) for name, tensor in encoder.items()}


def assert_refused(source, message):
    with pytest.raises(ValueError, match=message):
        BertBackbone.from_preset(source)


def test_shards_are_read_together_and_a_missing_one_is_named(
    encoder, folder, as_ours, same, write_shards
):
    source = folder(None)
    shard, _ = write_shards(encoder, source)
    assert same(BertBackbone.from_preset(source), as_ours(encoder))
    shard.unlink()
    assert_refused(source, r"names 2 weight files; \['model-00001-of-00002.safetensors'\] are miss")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({INDEX: {"weight_map": {}}}, "names 0 weight files"),
        ({INDEX: {"weight_map": {"x": "../y"}}}, "weight_map.x must be a path within the folder"),
        ({"flax_model.msgpack": "x"}, r"no weights, none of model.*\['config.json', 'flax_mod"),
        ({"tf_model.h5": "others"}, "tf_model.h5 is damaged, a truncated file or unsafe"),
        ({"config.json": "{'a': 1}"}, "config.json is not JSON"),
        ({"config.json": "[1]"}, "config.json.*it holds a list"),
        ({"config.json": "{}", "vocab.txt": "a"}, "holds no BERT in a supported f.*'vocab.txt'"),
    ],
)
def test_other_files_are_refused_by_name(folder, files, message):
    assert_refused(folder(None, files=files), message)


def test_a_pytorch_file_without_pytorch_is_refused_with_advice(folder, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        tensor_files, "find_spec", lambda name: None if name == "torch" else find_spec(name)
    )
    message = "pytorch_model.bin can't be read without PyTorch.*pip install torch.*safetensors"
    assert_refused(folder(None, files={"pytorch_model.bin": "PK"}), message)


def in_tensorflow(name, tensor):
    """The name and the array of a weight as a TensorFlow model of transformers saved it."""
    *parts, last = name.split(".")
    if last == "weight":
        last = "kernel"
        if "embeddings" in parts:
            last = "weight" if parts[-1] == "word_embeddings" else "embeddings"
    if parts[-1] == "LayerNorm":
        last = {"bias": "beta"}.get(last, "gamma")
    parts = "/".join(parts).replace("layer/", "layer_._").replace("cls/seq", "nsp___cls/seq")
    layer, *_ = parts.split("/")
    path = f"{layer}/tf_bert_for_pre_training_3/{parts}/{last}:0"
    return path, tensor.T if last == "kernel" else tensor


def test_files_of_tensorflow_are_read_by_their_names(
    encoder, heads, folder, as_ours, same, tmp_path
):
    tensors = {**encoder, **heads("cls.predictions", "cls.seq")}
    tensors["cls.predictions.decoder.weight"] = tensors["bert.embeddings.word_embeddings.weight"]
    tensors["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"]
    architectures = {"architectures": ["BertForPreTraining"]}
    source = folder(None, architectures, name="tensorflow")
    with h5py.File(source / "tf_model.h5", "w") as file:
        for name, tensor in tensors.items():
            if "decoder" not in name:
                path, array = in_tensorflow(name, tensor)
                file[path] = array
    pretrainer = BertPretrainer.from_preset(source)
    theirs = BertPretrainer.from_preset(folder(tensors, architectures))
    assert same(BertBackbone.from_preset(source), as_ours(encoder))
    for weight, other in zip(pretrainer.weights, theirs.weights, strict=True):
        assert np.array_equal(weight, other), weight.path


@pytest.mark.slow
@pytest.mark.parametrize("legacy", [False, True])
def test_pytorch_files_are_read(torch, state, folder, encoder, as_ours, same, legacy):
    source = folder(None)
    state["bert.pooler.dense.weight"] = torch.nn.Parameter(state["bert.pooler.dense.weight"])
    torch.save(state, source / "pytorch_model.bin", _use_new_zipfile_serialization=not legacy)
    assert same(BertBackbone.from_preset(source), as_ours(encoder))


@pytest.mark.slow
def test_pytorch_files_of_bfloat16_and_in_shards_are_read(
    torch, state, folder, as_ours, same, write_shards
):
    source = folder(None)
    narrow = {name: tensor.bfloat16() for name, tensor in state.items()}
    write_shards(narrow, source, torch.save, "pytorch_model", "bin")
    expected = as_ours({name: tensor.float().numpy() for name, tensor in narrow.items()})
    assert same(BertBackbone.from_preset(source), expected)


class Bomb:
    """Creates a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.slow
@pytest.mark.parametrize("legacy", [False, True])
def test_code_in_a_pytorch_file_is_refused_and_not_executed(torch, state, folder, tmp_path, legacy):
    source = folder(None)
    state["bert.pooler.dense.bias"] = Bomb(str(tmp_path / "exploded"))
    torch.save(state, source / "pytorch_model.bin", _use_new_zipfile_serialization=not legacy)
    assert_refused(source, "holds more than weights .code is never executed")
    assert not (tmp_path / "exploded").exists()
    torch.load(source / "pytorch_model.bin", weights_only=False)
    assert (tmp_path / "exploded").exists(), "the file would have executed its code"


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["cut", "empty", "text", "list"])
def test_a_broken_pytorch_file_is_refused(torch, state, folder, broken):
    source = folder(None)
    path = source / "pytorch_model.bin"
    torch.save([1, 2] if broken == "list" else state, path)
    contents = {"cut": path.read_bytes()[:-2000], "empty": b"", "text": b"no weights at all"}
    path.write_bytes(contents.get(broken, path.read_bytes()))
    assert_refused(source, "pytorch_model.bin is damaged or holds more")


@pytest.mark.slow
def test_a_changed_byte_of_a_tensor_in_a_pytorch_file_is_seen(torch, state, folder):
    source = folder(None)
    path = source / "pytorch_model.bin"
    torch.save(state, path)
    data, tensor = path.read_bytes(), state["bert.pooler.dense.weight"].numpy().tobytes()
    assert data.count(tensor) == 1
    path.write_bytes(data.replace(tensor, tensor[:-1] + bytes([tensor[-1] ^ 1])))
    assert_refused(source, r"pytorch_model.bin is damaged.*: .*/data/\d+ differs from its checksum")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda torch, tensor: tensor.to_sparse(), ".*[Ss]parse"),
        (lambda torch, tensor: tensor.to("meta"), "can't be read: .*meta"),
        (lambda torch, tensor: tensor.to(torch.complex64), "holds complex64"),
        (lambda torch, tensor: tensor.half() / 0, "must be finite numbers"),
    ],
)
def test_tensors_without_plain_values_are_refused(torch, state, folder, change, message):
    source, name = folder(None), "bert.pooler.dense.weight"
    torch.save({**state, name: change(torch, state[name])}, source / "pytorch_model.bin")
    assert_refused(source, f"pytorch_model.bin.*({name} )?{message}")
