"""Folders for transformers hold merged and narrow weights."""

from safetensors.numpy import load_file

from keras_bert import BertBackbone, BertClassifier


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
    assert same(back, as_ours({f"bert.{name}": t.astype("float32") for name, t in written.items()}))
    frozen = BertBackbone.from_preset(tmp_path / "narrow", trainable=False)
    assert all(v.value.trainable for v in frozen.weights)  # so that TensorFlow can
