"""Weight files: sharded, in PyTorch's format, broken."""

import os
import zipfile

import h5py
import pytest

from keras_bert import BertBackbone, BertPretrainer
from keras_bert.presets.formats import tensor_files

INDEX = "model.safetensors.index.json"
POOLER = "bert.pooler.dense.weight"


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


def test_other_files_are_refused_by_name(folder, monkeypatch):
    for index, (files, message) in enumerate((
        ({INDEX: {"weight_map": {}}}, "names 0 weight files"),
        ({INDEX: {"weight_map": {"x": "../y"}}}, "weight_map.x must be a path within the folder"),
        ({"flax_model.msgpack": "x"}, r"no weights, none of model.*\['config.json', 'flax_mod"),
        ({"tf_model.h5": "others"}, "tf_model.h5 is damaged, a truncated file or unsafe"),
    )):  # fmt: skip
        assert_refused(folder(None, files=files, name=str(index)), message)
    monkeypatch.setattr(tensor_files, "find_spec", lambda name: None)
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


def test_files_of_tensorflow_are_read_by_their_names(encoder, heads, folder, as_ours, same):
    tensors = {**encoder, **heads("cls.predictions", "cls.seq")}
    source = folder(None, {"architectures": ["BertForPreTraining"]})
    with h5py.File(source / "tf_model.h5", "w") as file:
        for name, tensor in tensors.items():
            if "decoder" not in name:  # which is tied
                path, array = in_tensorflow(name, tensor)
                file[path] = array
    model = BertPretrainer.from_preset(source)
    assert same(model, as_ours(tensors, model)) and not model.load_report.left_over


@pytest.mark.slow
def test_pytorch_files_are_read(torch, state, folder, encoder, as_ours, same, write_shards):
    source = folder(None)
    path = source / "pytorch_model.bin"
    state[POOLER] = torch.nn.Parameter(state[POOLER])
    for legacy in (False, True):
        torch.save(state, path, _use_new_zipfile_serialization=not legacy)
        assert same(BertBackbone.from_preset(source), as_ours(encoder))
    path.unlink()
    narrow = {name: tensor.detach().bfloat16() for name, tensor in state.items()}
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
def test_code_in_a_pytorch_file_is_refused_and_not_executed(torch, state, folder, tmp_path):
    source, exploded = folder(None), tmp_path / "exploded"
    path = source / "pytorch_model.bin"
    state["bert.pooler.dense.bias"] = Bomb(str(exploded))
    for legacy in (False, True):
        torch.save(state, path, _use_new_zipfile_serialization=not legacy)
        assert_refused(source, "holds more than weights .code is never executed")
        assert not exploded.exists()
    torch.load(path, weights_only=False)
    assert exploded.exists(), "the file would have executed its code"


@pytest.mark.slow
def test_a_broken_pytorch_file_is_refused(torch, state, folder):
    source, tensor = folder(None), state[POOLER]
    path = source / "pytorch_model.bin"
    for change, message in (
        (tensor.to_sparse(), "[Ss]parse"),
        (tensor.to("meta"), "can't be read: .*meta"),
        (
            torch.empty(10**7, 8, device="meta"),
            "describes .* values, more than its files hold",
        ),
    ):
        torch.save({**state, POOLER: change}, path)
        assert_refused(source, message)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("archive/data.pkl", bytes(10**7))
    assert_refused(source, "is compressed, or names more than it holds")
    torch.save([1, 2], path)
    a_list = path.read_bytes()
    torch.save(state, path)
    whole, held = path.read_bytes(), tensor.numpy().tobytes()
    assert whole.count(held) == 1
    for content in (a_list, whole[:-2000], b""):
        path.write_bytes(content)
        assert_refused(source, "pytorch_model.bin is damaged or holds more")
    path.write_bytes(whole.replace(held, held[:-1] + bytes([held[-1] ^ 1])))
    assert_refused(source, r"pytorch_model.bin is damaged.*: .*/data/\d+ differs from its checksum")
