"""Folders of sentence-transformers are read and written."""

import json

import pytest

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertEmbedder,
    BertEmbedderPreprocessor,
    BertTask,
    BertTokenizer,
)
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

    def write(*others, pooled=None, tensors=(), name="theirs", files=()):
        named = {
            "modules.json": modules("Transformer", "Pooling", *others),
            "1_Pooling/config.json": pooled or pooling("mean_tokens"),
            "sentence_bert_config.json": {"max_seq_length": 10, "do_lower_case": False},
        }
        return folder({**encoder, **dict(tensors)}, files={**named, **dict(files)}, name=name)

    return write


def test_pooling_and_normalization_come_from_the_folder(sentences):
    for pooled, others, expected in (
        (pooling("cls_token"), ["Normalize"], ("cls", True)),
        ({"pooling_mode": "cls"}, [], ("cls", False)),  # the newer key
    ):
        checkpoint = read_hugging_face(sentences(*others, pooled=pooled, name=str(pooled)))
        arguments = checkpoint.task_arguments
        assert checkpoint.task is BertEmbedder
        assert (arguments["pooling"], arguments["normalize"]) == expected


def test_the_encoder_may_have_its_own_folder(encoder, folder, sentences):
    listed = modules("Transformer", "Pooling", transformer="0_Transformer")
    source = sentences(files={"modules.json": listed})
    encoder["bert.pooler.dense.bias"] += 1
    inner = folder(encoder, files={"sentence_bert_config.json": {"max_seq_length": 7}}, name="0")
    inner.rename(source / "0_Transformer")
    model = BertEmbedder.from_preset(source)
    assert model.load_report.source.endswith("0_Transformer")
    assert model.backbone.pooler.bias[0] == encoder["bert.pooler.dense.bias"][0]


def test_the_folder_limits_sequences(sentences, words):
    settings = {"model_max_length": 12}
    files = {"tokenizer_config.json": settings, "vocab.txt": "\n".join(words)}
    source = sentences(files=files)
    assert read_hugging_face(source).sequence_length == 10
    (source / "sentence_bert_config.json").rename(source / "sentence_roberta_config.json")
    assert read_hugging_face(source).sequence_length == 10  # as older versions named it


def test_unsupported_pooling_is_refused_for_an_embedder_alone(sentences, refused):
    dense = sentences("Dense", name="dense")
    source = sentences(pooled=pooling("mean_sqrt_len_tokens"))
    refused("are made by Dense.*pooling=.*BertBackbone", BertTask.from_preset, dense)
    message = "are made by pooling_mode_mean_sqrt_len_tokens"
    refused(message, BertEmbedder.from_preset, source, normalize=False)
    assert BertEmbedder.from_preset(source, pooling="cls").pooling == "cls"
    assert BertBackbone.from_preset(source).num_layers == 2
    assert BertClassifier.from_preset(source, num_classes=2).num_classes == 2


def test_what_would_be_read_otherwise_is_refused(sentences, refused):
    listed = modules("Transformer", transformer="../elsewhere")
    outside = sentences(files={"modules.json": listed})
    refused("path must be a path within", BertEmbedder.from_preset, outside)
    files = {"config_sentence_transformers.json": {"prompts": {"query": "query: "}}}
    pooled = pooling("mean_tokens", include_prompt=False)
    prompted = sentences(pooled=pooled, name="prompted", files=files)
    refused("leaves the tokens of its prompts out of the mean", BertTask.from_preset, prompted)


def test_other_heads_in_the_file_do_not_hide_the_embedder(sentences, heads):
    model = BertTask.from_preset(sentences(tensors=heads("cls.seq_rel")))
    assert type(model) is BertEmbedder and not model.load_report.new
    assert set(model.load_report.left_over) == {*heads("cls.seq_relationship")}


def test_an_mpnet_reads_text_by_its_own_special_tokens(
    make_backbone, letters, randomized, same, tmp_path, refused
):
    words = ["<s>", "<pad>", "</s>", "<unk>", *letters.get_vocabulary(), "<mask>"]
    tokenizer = BertTokenizer(words, True, 100, "mpnet", strip_private_use=True)
    encoder = {"architecture": "mpnet", "num_segments": 0, "relative_bias": True}
    backbone = randomized(make_backbone(vocabulary_size=len(words), **encoder))
    reader = BertEmbedderPreprocessor(tokenizer, sequence_length=12)
    model = BertEmbedder(backbone, preprocessor=reader, pooling="mean")
    model.save_to_hugging_face(tmp_path / "theirs")
    files = ("tokenizer.json", "special_tokens_map.json", "tokenizer_config.json")
    for file in files:  # without any, the model's config says it
        (tmp_path / "theirs" / file).unlink()
        back = BertTask.from_preset(tmp_path / "theirs")
        assert same(back, model) and back.preprocessor.get_config() == reader.get_config()
        assert back.preprocessor.tokenizer.mask_token_id == len(words) - 1
    path = tmp_path / "theirs" / "config.json"
    config = json.loads(path.read_text())
    for key, value, only in (
        ("pad_token_id", 0, 1),
        ("relative_attention_num_buckets", 64, 32),
    ):
        path.write_text(json.dumps({**config, key: value}))
        refused(f"{key} must be .* {only}; got {value}", BertTask.from_preset, path.parent)
    reader.tokenizer = letters
    refused("pad_token_id=0; .* must be 1. ", model.save_to_hugging_face, tmp_path / "other")
