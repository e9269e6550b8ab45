"""Weight files: sharded, in PyTorch's format, broken."""

import importlib.util
import json
import os

import pytest
from safetensors.numpy import save_file

from keras_bert import BertBackbone
from keras_bert.presets.formats import tensor_files


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason='pip install ".[parity]"')


@pytest.fixture
def state(torch, encoder):
    return {name: torch.tensor(tensor) for name, tensor in encoder.items()}


def write_shards(tensors, path, save, stem, suffix):
    """Writes tensors as two shards with an index, and returns the shards."""
    names = sorted(tensors)
    files = [path / f"{stem}-0000{i}-of-00002.{suffix}" for i in (1, 2)]
    weight_map = {}
    for file, own in zip(files, (names[::2], names[1::2]), strict=True):
        save({name: tensors[name] for name in own}, file)
        weight_map |= {name: file.name for name in own}
    index = {"metadata": {"total_size": 1}, "weight_map": weight_map}
    (path / f"{stem}.{suffix}.index.json").write_text(json.dumps(index))
    return files


def test_shards_are_read_together(encoder, folder, as_ours, same):
    source = folder(None)
    write_shards(encoder, source, save_file, "model", "safetensors")
    assert same(BertBackbone.from_preset(source), as_ours(encoder))


def test_a_missing_shard_is_named(encoder, folder):
    source = folder(None)
    shard, _ = write_shards(encoder, source, save_file, "model", "safetensors")
    shard.unlink()
    message = r"names 2 weight files; \['model-00001-of-00002.safetensors'\] are missing"
    with pytest.raises(ValueError, match=message):
        BertBackbone.from_preset(source)


def test_an_empty_index_is_refused(folder):
    source = folder(None, files={"model.safetensors.index.json": {"weight_map": {}}})
    with pytest.raises(ValueError, match="names 0 weight files: download"):
        BertBackbone.from_preset(source)


@pytest.mark.parametrize("kept", [0, 4, 300, -1])
def test_a_truncated_safetensors_file_is_refused(encoder, folder, kept):
    source = folder(encoder)
    whole = (source / "model.safetensors").read_bytes()
    (source / "model.safetensors").write_bytes(whole[:kept])
    with pytest.raises(
        ValueError, match="model.safetensors is truncated or not a safetensors file"
    ):
        BertBackbone.from_preset(source)


def test_a_folder_without_weights_is_refused_with_its_files(folder):
    source = folder(None, files={"tf_model.h5": "weights of another kind"})
    message = r"holds no weights, none of model.safetensors.*found \['config.json', 'tf_model.h5'\]"
    with pytest.raises(ValueError, match=message):
        BertBackbone.from_preset(source)


def test_a_config_that_is_not_a_json_object_is_refused(encoder, folder):
    for content, message in (("{'a': 1}", "is not JSON"), ("[1]", "it holds a list")):
        source = folder(encoder, files={"config.json": content}, name=message)
        with pytest.raises(ValueError, match=f"config.json.*{message}"):
            BertBackbone.from_preset(source)


@pytest.mark.slow
@pytest.mark.parametrize("legacy", [False, True])
def test_pytorch_files_are_read(torch, state, folder, encoder, as_ours, same, legacy):
    source = folder(None)
    torch.save(state, source / "pytorch_model.bin", _use_new_zipfile_serialization=not legacy)
    assert same(BertBackbone.from_preset(source), as_ours(encoder))


@pytest.mark.slow
def test_pytorch_files_of_bfloat16_and_in_shards_are_read(torch, state, folder, as_ours, same):
    source = folder(None)
    narrow = {name: tensor.bfloat16() for name, tensor in state.items()}
    write_shards(narrow, source, torch.save, "pytorch_model", "bin")
    expected = as_ours({name: tensor.float().numpy() for name, tensor in narrow.items()})
    assert same(BertBackbone.from_preset(source), expected)


def test_a_pytorch_file_without_pytorch_is_refused_with_advice(folder, monkeypatch):
    source = folder(None, files={"pytorch_model.bin": "PK"})
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        tensor_files, "find_spec", lambda name: None if name == "torch" else find_spec(name)
    )
    message = "pytorch_model.bin can't be read without PyTorch.*pip install torch.*safetensors"
    with pytest.raises(ValueError, match=message):
        BertBackbone.from_preset(source)


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
    with pytest.raises(ValueError, match="holds more than weights .code is never executed"):
        BertBackbone.from_preset(source)
    assert not (tmp_path / "exploded").exists()
    torch.load(source / "pytorch_model.bin", weights_only=False)
    assert (tmp_path / "exploded").exists(), "the bomb is a bomb"


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["cut", "empty", "text", "list"])
def test_a_broken_pytorch_file_is_refused(torch, state, folder, broken):
    source = folder(None)
    path = source / "pytorch_model.bin"
    torch.save([1, 2] if broken == "list" else state, path)
    contents = {"cut": path.read_bytes()[:-2000], "empty": b"", "text": b"no weights at all"}
    path.write_bytes(contents.get(broken, path.read_bytes()))
    with pytest.raises(
        ValueError, match="pytorch_model.bin is truncated, not a PyTorch weight file"
    ):
        BertBackbone.from_preset(source)
