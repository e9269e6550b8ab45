"""Every format: models come back bit for bit or are refused, and folders are replaced whole."""

import errno

import pytest
from safetensors.numpy import load_file

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertEmbedder,
    BertMultipleChoice,
    BertPretrainer,
    BertSpanLabeler,
    BertTask,
    BertTokenClassifier,
    BertTokenizer,
    testing,
)
from keras_bert.files.remote import is_disk_full
from tests.marks import slow

pytest.importorskip("tensorflow", reason="pip install tensorflow")

OTHERS = {
    "dropout": 0.25,
    "attention_dropout": 0.05,
    "num_segments": 4,
    "num_heads": 4,
    "layer_norm_epsilon": 1e-5,
    "activation": "gelu_approximate",
}
MODELS = [  # (class, its arguments, those of its encoder)
    (BertBackbone, {}, {"num_segments": 1, "activation": "silu"}),
    (BertPretrainer, {}, OTHERS),
    (BertPretrainer, {"next_sentence": False}, {}),
    (BertPretrainer, {"next_sentence": False, "tie_embeddings": False}, {}),
    (BertClassifier, {"num_classes": 1, "dropout": 0.3}, {"activation": "relu"}),
    (BertSpanLabeler, {}, {"activation": "tanh"}),
    (BertTokenClassifier, {"num_classes": 3}, {}),
    (BertMultipleChoice, {"dropout": 0.3}, {}),
    (BertEmbedder, {"pooling": "max", "normalize": False}, {}),
]


@pytest.mark.parametrize("models", [MODELS[:2], slow(MODELS[2:])], ids=["two", "others"])
def test_every_model_keeps_the_contract(models, backbone):
    for cls, arguments, others in models:
        encoder = backbone(**others)
        model = encoder if cls is BertBackbone else cls(encoder, **arguments)
        load = (BertBackbone if cls is BertBackbone else BertTask).from_preset
        for save in (cls.save_to_preset, cls.save_to_hugging_face):
            testing.run_format(save, model, load)


def test_the_preprocessor_comes_back(backbone, words, tmp_path):
    tokenizer = BertTokenizer(words, lowercase=False, strip_private_use=True)
    names = {"label_names": ["O", "B-größer"]}
    for cls, own in (
        (BertClassifier, {**names, "truncation": "head_tail"}),
        (BertClassifier, {**names, "truncation": "longest_first"}),
        (BertTokenClassifier, names),
        (BertSpanLabeler, {"null_threshold": 0.25, "max_question_length": 4}),
    ):
        reader = cls.preprocessor_class()(tokenizer, 16, **own)
        model = cls(backbone(num_layers=1), preprocessor=reader)
        model.save_to_hugging_face(tmp_path)
        for back in (
            BertTask.from_preset(tmp_path).preprocessor,
            type(reader).from_preset(tmp_path),
        ):
            assert back.get_config() == reader.get_config()


def test_what_transformers_lacks_is_refused(backbone, tmp_path, refused):
    quantized = BertClassifier(backbone(num_layers=1), 2)
    quantized.backbone.blocks[0].intermediate_dense.quantize("int8")
    encoder = backbone(num_layers=1)
    for model, message in (
        (
            BertPretrainer(encoder, masked_lm_epsilon=1e-3),
            "masked_lm_epsilon=0.001; .* 1e-12",
        ),
        (quantized, r"is quantized \(int8\).*before quantize"),
    ):
        refused(message, model.save_to_hugging_face, tmp_path / "theirs")
    assert not list(tmp_path.iterdir())


def test_lora_is_merged(assert_close, backbone, randomized, weights_of, inputs, tmp_path):
    model = BertClassifier(backbone(), 2)
    for block in model.backbone.blocks:
        block.attention.query_key_value.enable_lora(2)
    model.backbone.token_embedding.enable_lora(2)
    randomized(model)  # the adapters too, which start at zero
    model.save_to_hugging_face(tmp_path)
    back = BertClassifier.from_preset(tmp_path)
    assert not [path for path in weights_of(back) if "lora" in path]
    assert_close(back(inputs), model(inputs))


def test_a_model_of_bfloat16_is_written(encoder, folder, as_ours, same, tmp_path):
    narrow = BertBackbone.from_preset(folder(encoder), dtype="bfloat16")
    narrow.save_to_hugging_face(tmp_path / "narrow")
    written = load_file(tmp_path / "narrow" / "model.safetensors")
    assert {str(tensor.dtype) for tensor in written.values()} == {"bfloat16"}
    back = BertBackbone.from_preset(tmp_path / "narrow")
    assert same(
        back,
        as_ours({f"bert.{name}": t.astype("float32") for name, t in written.items()}),
    )
    frozen = BertBackbone.from_preset(tmp_path / "narrow", trainable=False)
    assert all(v.value.trainable for v in frozen.weights)  # so that TensorFlow can


def test_an_earlier_model_of_any_format_is_replaced(backbone, preprocessor, tmp_path):
    encoder, folder = backbone(num_layers=1), tmp_path / "model"
    embedder = BertEmbedder(encoder, preprocessor=preprocessor)
    for save in (embedder.save_to_preset, embedder.save_to_hugging_face):
        save(folder)
    encoder.save_to_hugging_face(folder)
    files = ["README.md", "config.json", "model.safetensors"]
    assert sorted(path.name for path in folder.iterdir()) == files


def test_errors_of_any_library_tell_a_full_disk():
    for error in (
        OSError(errno.ENOSPC, "x"),
        OSError(errno.EDQUOT, "x"),
        RuntimeError("Can't write (errno = 28, error message = 'No space left on device')"),
        RuntimeError("Error while serializing: I/O error: File too large (os error 27)"),
        RuntimeError("model.ckpt_temp/part; No space left on device"),
    ):
        assert is_disk_full(error), error
    for error in (
        OSError(errno.EACCES, "Permission denied"),
        ValueError("28 labels, errno = 280"),
    ):
        assert not is_disk_full(error)
