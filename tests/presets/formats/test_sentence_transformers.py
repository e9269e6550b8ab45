"""Folders of sentence-transformers are read and written."""

import json

import pytest
from safetensors.numpy import load_file

from keras_bert import BertBackbone, BertClassifier, BertEmbedder, BertTask
from keras_bert.presets.formats.hugging_face import read_hugging_face

KIND = "sentence_transformers.models."


def modules(*kinds, transformer=""):
    paths = {"Transformer": transformer}
    content = [{"path": paths.get(k, f"{i}_{k}"), "type": KIND + k} for i, k in enumerate(kinds)]
    return json.dumps(content)


def pooling(mode, **others):
    modes = ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens"]
    named = {f"pooling_mode_{m}": m == mode for m in modes}
    return {"word_embedding_dimension": 8, **named, **others}


@pytest.fixture
def sentences(encoder, folder):
    """Writes a folder of sentence-transformers."""

    def write(kinds=("Transformer", "Pooling"), mode="mean_tokens", tensors=(), **files):
        named = {
            "modules.json": modules(*kinds),
            "1_Pooling/config.json": pooling(mode),
            "sentence_bert_config.json": {"max_seq_length": 10, "do_lower_case": False},
        }
        changed = {name.replace("__", "/") + ".json": value for name, value in files.items()}
        return folder({**encoder, **dict(tensors)}, files={**named, **changed})

    return write


@pytest.mark.parametrize(
    ("kinds", "files", "expected"),
    [
        (["Normalize"], {"1_Pooling__config": pooling("cls_token")}, ("cls", True)),
        (["Normalize"], {"1_Pooling__config": pooling("mean_tokens")}, ("mean", True)),
        ([], {"1_Pooling__config": pooling("max_tokens")}, ("max", False)),
        ([], {"1_Pooling__config": {"pooling_mode": "cls"}}, ("cls", False)),  # the newer key
    ],
)
def test_pooling_and_normalization_come_from_the_folder(sentences, kinds, files, expected):
    model = BertTask.from_preset(sentences(("Transformer", "Pooling", *kinds), **files))
    assert type(model) is BertEmbedder and (model.pooling, model.normalize) == expected
    assert not model.load_report.new


def test_the_encoder_may_have_its_own_folder(encoder, folder, sentences):
    source = sentences(modules=modules("Transformer", "Pooling", transformer="0_Transformer"))
    encoder["bert.pooler.dense.bias"] += 1
    inner = folder(encoder, files={"sentence_bert_config.json": {"max_seq_length": 7}}, name="0")
    inner.rename(source / "0_Transformer")
    model = BertEmbedder.from_preset(source)
    assert model.load_report.source.endswith("0_Transformer")
    assert model.backbone.pooler.bias[0] == encoder["bert.pooler.dense.bias"][0]


def test_the_folder_limits_sequences(sentences, words):
    source = sentences(tokenizer_config={"model_max_length": 12})
    (source / "vocab.txt").write_text("\n".join(words))
    assert read_hugging_face(source).sequence_length == 10
    (source / "sentence_bert_config.json").rename(source / "sentence_roberta_config.json")
    assert read_hugging_face(source).sequence_length == 10  # as older versions named it


@pytest.mark.parametrize(
    ("kinds", "mode", "made_by"),
    [
        (("Transformer", "Pooling", "Dense"), "mean_tokens", "Dense"),
        (("Transformer", "Pooling"), "mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens"),
    ],
)
def test_unsupported_pooling_is_refused_for_an_embedder_alone(
    sentences, kinds, mode, made_by, refused
):
    source = sentences(kinds, mode)
    for cls in (BertEmbedder, BertTask):
        refused(f"are made by .*{made_by}.*pooling=.*BertBackbone", cls.from_preset, source)
    refused("are made by", BertEmbedder.from_preset, source, normalize=False)
    assert BertEmbedder.from_preset(source, pooling="cls").pooling == "cls"
    assert BertBackbone.from_preset(source).num_layers == 2
    assert BertClassifier.from_preset(source, num_classes=2).num_classes == 2


def test_the_list_of_modules_stays_within_the_folder(sentences, refused):
    source = sentences(modules=modules("Transformer", transformer="../elsewhere"))
    refused("path must be a path within", BertEmbedder.from_preset, source)


def test_prompts_of_which_the_mean_leaves_out_tokens_are_refused(sentences, refused):
    prompts = {"prompts": {"query": "query: "}, "default_prompt_name": "query"}
    without = pooling("mean_tokens", include_prompt=False)
    files = {"config_sentence_transformers": prompts, "1_Pooling__config": without}
    refused(
        "leaves the tokens of its prompts out of the mean",
        BertEmbedder.from_preset,
        sentences(**files),
    )


def test_other_heads_in_the_file_do_not_hide_the_embedder(sentences, heads):
    model = BertTask.from_preset(sentences(mode="cls_token", tensors=heads("cls.seq_rel")))
    assert type(model) is BertEmbedder and model.pooling == "cls"
    assert set(model.load_report.left_over) == {*heads("cls.seq_relationship")}


def test_an_embedder_is_written_as_a_folder_of_sentence_transformers(backbone, encoder, tmp_path):
    BertEmbedder(backbone(), pooling="cls").save_to_hugging_face(tmp_path)
    kinds = [module["type"] for module in json.loads((tmp_path / "modules.json").read_text())]
    assert kinds == [f"{KIND}Transformer", f"{KIND}Pooling", f"{KIND}Normalize"]
    written = json.loads((tmp_path / "1_Pooling" / "config.json").read_text())
    assert written.items() <= pooling("cls_token").items()
    names = load_file(tmp_path / "model.safetensors").keys()
    assert names == {name.removeprefix("bert.") for name in encoder}  # the names of a BertModel
