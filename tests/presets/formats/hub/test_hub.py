"""Models of the Hugging Face hub: the files downloaded, and the errors of failed downloads."""

import json
import socket
from pathlib import Path

import pytest
from huggingface_hub import constants
from safetensors.numpy import load_file

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertClassifierPreprocessor,
    BertEmbedder,
    BertEmbedderPreprocessor,
    BertTask,
    BertTokenClassifier,
    BertTokenizer,
)
from keras_bert.presets.hub import download


@pytest.fixture
def hub(hub, tiny):
    """The hub with one model."""
    hub.models["user/tiny"] = {"main": tiny()}
    return hub


def weights(folder):
    return (Path(folder) / "model.safetensors").read_bytes()


def assert_downloaded(hub):
    assert weights(download("hf://user/tiny")) == weights(hub.models["user/tiny"]["main"])


def assert_refused(message, handle="hf://user/tiny"):
    with pytest.raises(ValueError, match=message) as caught:
        download(handle)
    text = str(caught.value)
    assert len(text) < 600 and "\n" not in text


def test_a_model_is_loaded_with_its_labels_and_tokenizer(hub, tiny, same, caplog):
    model = BertTask.from_preset("hf://user/tiny")
    assert same(model, BertClassifier.from_preset(tiny("another")))
    assert model.preprocessor.label_names == ["no", "maybe", "yes"]
    assert model.preprocessor.tokenizer.lowercase
    assert str(model.load_report).splitlines()[-1].startswith("hf://user/tiny: ")
    BertClassifier.from_preset("hf://user/tiny", num_classes=7)
    assert "hf://user/tiny has no weights for logits/kernel" in caplog.text  # not the cache


def test_only_needed_files_are_downloaded_and_only_once(hub):
    folder = download("hf://user/tiny")
    fetched = {"config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors"}
    assert fetched <= hub.fetched() <= fetched | {"onnx/config.json"}
    hub.asked.clear()
    assert download("hf://user/tiny") == folder
    assert not hub.fetched()


def test_a_tokenizer_alone_needs_no_weights(hub):
    tokenizer = BertTokenizer.from_preset("hf://user/tiny")
    assert hub.fetched() >= {"vocab.txt", "tokenizer_config.json"}
    assert "model.safetensors" not in hub.fetched()
    reader = BertClassifierPreprocessor.from_preset("hf://user/tiny")
    assert tokenizer.get_config() == reader.tokenizer.get_config()


@pytest.mark.parametrize("name", ["bert-base-uncased", "google-bert/bert-base-uncased"])
def test_well_known_names_are_found_on_the_hub(hub, tmp_path, monkeypatch, name, refused):
    hub.models["google-bert/bert-base-uncased"] = hub.models["user/tiny"]
    assert BertClassifier.from_preset(name).preprocessor.label_names == ["no", "maybe", "yes"]
    assert BertTokenizer.from_preset(name).lowercase
    monkeypatch.chdir(tmp_path)  # a folder of that name comes first
    (tmp_path / name).mkdir(parents=True)
    refused("holds no BERT", BertClassifier.from_preset, name)


def test_an_mpnet_as_sentence_transformers_publishes_it(
    hub, make_backbone, letters, randomized, assert_close, tmp_path, refused, eagerly
):
    words = ["<s>", "<pad>", "</s>", "<unk>", *letters.get_vocabulary(), "<mask>"]
    tokenizer = BertTokenizer(words, max_word_characters=100, family="mpnet")
    reader = BertEmbedderPreprocessor(tokenizer, sequence_length=12)
    encoder = {"architecture": "mpnet", "num_segments": 0, "relative_bias": True}
    backbone = make_backbone(vocabulary_size=len(words), **encoder)
    model = BertEmbedder(randomized(backbone), preprocessor=reader, pooling="mean", normalize=True)
    folder = tmp_path / "published"
    model.save_to_hugging_face(folder)
    (folder / "tokenizer.json").unlink()
    special = {role: token for token, role in zip(words, ("cls", "pad", "sep"), strict=False)}
    special |= {"bos": "<s>", "eos": "</s>", "unk": "[UNK]", "mask": "<mask>"}
    special = {f"{role}_token": token for role, token in special.items()}
    settings = {**special, "tokenizer_class": "MPNetTokenizer", "model_max_length": 512}
    settings |= {"do_lower_case": True, "strip_accents": None, "tokenize_chinese_chars": True}
    special["mask_token"] = {"content": "<mask>", "lstrip": True, "normalized": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "special_tokens_map.json").write_text(json.dumps(special))
    name = "sentence-transformers/all-mpnet-base-v2"
    hub.models[name] = {"main": folder}
    for source in (f"hf://{name}", name, "all-mpnet-base-v2"):
        assert BertTokenizer.from_preset(source).mask_token_id == len(words) - 1
    back = BertTask.from_preset(source)
    assert (type(back), back.pooling, back.normalize) == (BertEmbedder, "mean", True)
    assert back.preprocessor.get_config() == reader.get_config()
    assert_close(*[each.predict(["a b", "c, d (e"], verbose=0) for each in (back, model)])
    (folder / "tokenizer_config.json").unlink()  # the model's config says it, too
    (folder / "special_tokens_map.json").unlink()
    assert BertTokenizer.from_preset(folder).get_config() == tokenizer.get_config()
    assert not BertTokenizer.from_preset(folder, lowercase=False).lowercase
    config = json.loads((folder / "config.json").read_text())
    for key, value in (("pad_token_id", 0), ("relative_attention_num_buckets", 64)):
        (folder / "config.json").write_text(json.dumps({**config, key: value}))
        refused(
            f"{key} must be .* {config.get(key, 32)}; got {value}", BertTask.from_preset, folder
        )
    reader.tokenizer = letters
    refused(
        "tokenizer.pad_token_id=0; .* must be 1. ", model.save_to_hugging_face, tmp_path / "other"
    )


def test_a_revision_has_its_own_weights(hub, tiny):
    main, second = hub.models["user/tiny"]["main"], tiny("other", scale=2)
    hub.models["user/tiny"]["v2"] = second
    assert weights(main) != weights(second)
    commit = hub.commit("user/tiny", "v2")
    for revision, expected in (("", main), ("@v2", second), (f"@{commit}", second)):
        assert weights(download(f"hf://user/tiny{revision}")) == weights(expected)


def test_offline_the_cache_is_used(hub, tiny, monkeypatch):
    hub.models["user/tiny"]["v2"] = tiny("other", scale=2)
    online = download("hf://user/tiny")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.asked.clear()
    assert download("hf://user/tiny") == online
    for handle in ("hf://user/tiny@v2", "hf://user/other"):
        assert_refused("not in the cache.*HF_HUB_OFFLINE", handle)
    assert not hub.asked


def test_a_sharded_model(hub, same, write_shards):
    whole = hub.models["user/tiny"]["main"]
    expected = BertClassifier.from_preset(whole)
    shards = write_shards(load_file(whole / "model.safetensors"), whole)
    (whole / "model.safetensors").unlink()
    assert same(BertClassifier.from_preset("hf://user/tiny"), expected)
    assert {shard.name for shard in shards} < hub.fetched()
    assert "pytorch_model.bin" not in hub.fetched()


def test_googles_checkpoints_are_downloaded(hub, google, same):
    folder = google(name="tf1")
    hub.models["user/google"] = {"main": folder}
    assert same(BertTask.from_preset("hf://user/google"), BertTask.from_preset(folder))
    assert "bert_model.ckpt.index" in hub.fetched()


def test_every_format_is_downloaded(hub, our_preset, same):
    model, folder = our_preset
    embedder = BertEmbedder(model.backbone, preprocessor=model.preprocessor, pooling="max")
    embedder.save_to_hugging_face(folder.parent / "sentences")
    tagger = BertTokenClassifier(model.backbone, num_classes=2, preprocessor=model.preprocessor)
    tagger.save_to_hugging_face(folder.parent / "words")  # with the pooler in a file of its own
    tasks = {"ours": model, "words": tagger, "sentences": embedder}
    for name, task in tasks.items():
        hub.models[f"user/{name}"] = {"main": folder.parent / name}
        loaded = BertTask.from_preset(f"hf://user/{name}")
        assert type(loaded) is type(task) and same(loaded, task)
        assert loaded.preprocessor.tokenizer.vocabulary_size() == 30
    assert loaded.pooling == "max"


def test_a_configuration_of_google_beside_a_hugging_face_model_is_no_checkpoint(hub):
    (hub.models["user/tiny"]["main"] / "bert_config.json").write_text('{"vocab_size": 30}')
    assert BertClassifier.from_preset("hf://user/tiny").num_classes == 3


CLIMBING = ["user/tiny@..", "user/tiny@../../x", "../tiny", "user/.."]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("user/nothing", r"refuses 'user/nothing'.*Repository Not Found"),
        ("user/tiny@v9", r"refuses 'user/tiny'.*Revision Not Found"),
        *(
            (name, "must be hf://user/name")
            for name in ("user/tiny/config.json", "", "@v2", "user/ti ny", *CLIMBING)
        ),
    ],
)
def test_an_unknown_model_is_refused(hub, name, message):
    assert_refused(message, f"hf://{name}")
    assert bool(hub.asked) != ("must be" in message)


@pytest.mark.parametrize(
    ("status", "headers", "metadata_too", "message"),
    [
        # A private model, or none at all, for somebody without a token.
        (401, {"X-Error-Code": "RepoNotFound"}, True, "HF_TOKEN.*Repository Not Found"),
        (403, {}, True, "HF_TOKEN.*403 Forbidden"),
        # A gated model lets everybody see its card.
        (401, {"X-Error-Code": "GatedRepo"}, False, "HF_TOKEN.*gated repo"),
        (500, {}, True, "could not be downloaded.*500"),
        (503, {}, False, "could not be downloaded.*503"),
    ],
)
def test_a_refusal_of_the_hub_is_explained(
    hub, monkeypatch, no_waiting, status, headers, metadata_too, message
):
    hub.refusals["user/tiny"] = (status, headers, metadata_too)
    assert_refused(message)
    monkeypatch.setenv("HF_TOKEN", hub.token)
    assert_downloaded(hub)


def test_a_model_without_weights_is_refused_before_the_download(hub):
    for name in ("model.safetensors", "pytorch_model.bin", "tf_model.h5"):
        (hub.models["user/tiny"]["main"] / name).unlink()
    assert_refused("no weights in a supported format.*onnx/model.onnx")
    assert not hub.fetched()


def test_an_unreachable_hub_is_reported_at_once(tmp_path, point_to, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    point_to(url, tmp_path)
    waits = []
    monkeypatch.setattr("time.sleep", waits.append)
    assert_refused(f"could not be downloaded from {url}.*refused")
    assert not waits


def test_a_silent_hub_times_out(hub, monkeypatch):
    hub.silent = True
    monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 0.2)
    assert_refused("could not be downloaded.*timed out")
    assert len(hub.asked) == 1


def test_a_name_without_its_scheme_is_refused_with_advice(refused, keras_hub):
    for name, advice in (
        ("user/name", "is written hf://user/name"),
        ("bert-base-uncasd", "mean 'hf://google-bert/bert-base-uncased'"),
        ("bert_base_uncased_en", "mean 'bert_base_en_uncased'"),
        ("roberta_base_en", "is neither a folder nor the name of a KerasHub preset of BERT"),
    ):
        refused(advice, BertBackbone.from_preset, name)


def test_weights_that_the_hub_lost_are_no_missing_model(hub, no_waiting):
    hub.lost = {"model.safetensors"}
    assert_refused(r"refuses 'user/tiny'.*404.*/model.safetensors")


def test_a_download_that_brings_no_weights_is_refused(hub, tmp_path, monkeypatch):
    folder = str(tmp_path / "model/snapshots/commit")
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: folder)
    assert_refused("the hub lists no weights.*restart Python")


def test_an_answer_that_is_no_hubs_is_explained(hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: None)
    assert_refused("could not be downloaded from .*NoneType")
