# %% [markdown]
# # Export for other runtimes
#
# Programs that know neither Keras nor TensorFlow run a model from a folder: in a browser, on a
# phone, in a search engine written in Rust. This guide writes three such folders of one classifier
# and runs two of them as those programs do. [Which format for which
# runtime](../formats.md) helps to choose, and has scores and speeds. It needs `pip install
# ".[tensorflow,export]"`.

# %%
import keras_bert

messages = {
    "Where is my parcel?": "delivery",
    "The van came while I was out.": "delivery",
    "Can I collect it from the depot?": "delivery",
    "I was charged twice.": "payment",
    "Please send me an invoice.": "payment",
    "My card was declined.": "payment",
}
model = keras_bert.BertClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2",
    label_names=["delivery", "payment"],
    sequence_length=64,
)
model.compile(keras_bert.AdamW(2e-4))
history = model.fit([*messages], [*messages.values()], epochs=10, batch_size=2, verbose=0)
texts = ["The courier never came.", "You billed me too much."]
for text, answer in zip(texts, model.answer(texts)):
    print(f"{answer['label']:8} {max(answer['probabilities']):.3f}  {text}")

# %% [markdown]
# ## ONNX: Python, JavaScript, Rust
#
# The folder is laid out as Hugging Face's tools expect, with their names of inputs and outputs, the
# tokenizer and the names of the classes. Its `README.md` shows how to run it.

# %%
from pathlib import Path

model.export("messages_onnx", format="onnx")
for path in sorted(Path("messages_onnx").rglob("*.*")):
    print(f"{path.stat().st_size / 1e6:6.2f} MB  {path}")

# %% [markdown]
# onnxruntime runs it, with the package `tokenizers`:

# %%
import numpy as np
import onnxruntime
import tokenizers

encoder = tokenizers.Tokenizer.from_file("messages_onnx/tokenizer.json")
rows = encoder.encode_batch(texts)
session = onnxruntime.InferenceSession("messages_onnx/onnx/model.onnx")
inputs = {
    "input_ids": np.array([row.ids for row in rows]),
    "attention_mask": np.array([row.attention_mask for row in rows]),
    "token_type_ids": np.array([row.type_ids for row in rows]),
}
[logits] = session.run(["logits"], inputs)
print("ONNX:   ", logits.argmax(axis=-1))
print("predict:", model.predict(texts, verbose=0).argmax(axis=-1))

# %% [markdown]
# These programs don't know the [threshold](classify_more.py#probabilities-and-a-threshold) that
# `choose_threshold` sets: compare the second class's probability with it, if it isn't .5. And their
# tokenizers read `[SEP]` or `[MASK]` in a text as tokens, `answer` as letters; set
# `encoder.encode_special_tokens = True` where users write the texts.
#
# In a browser or in Node, transformers.js does all of this:
#
# ```js
# import { pipeline } from "@huggingface/transformers";
# const classify = await pipeline("text-classification", "messages_onnx");
# await classify(["The courier never came."]);
# ```
#
# fastembed and sentence-transformers, with `backend="onnx"`, load the folder of a `BertEmbedder`.
#
# ## LiteRT: phones
#
# LiteRT was TensorFlow Lite. The package `ai-edge-litert` runs its file.

# %%
from ai_edge_litert.interpreter import Interpreter

path = model.export("messages_litert", format="litert")
print(f"{Path(path).stat().st_size / 1e6:.1f} MB")
run = Interpreter(path).get_signature_runner()
logits = run(
    token_ids=np.array([row.ids for row in rows], "int32"),
    segment_ids=np.array([row.type_ids for row in rows], "int32"),
    padding_mask=np.array([row.attention_mask for row in rows], "int32"),
)["logits"]
print("LiteRT: ", logits.argmax(axis=-1))

# %% [markdown]
# ## OpenVINO: servers with CPUs
#
# `format="openvino"` writes the folder that Optimum reads. Where a processor has bfloat16, OpenVINO
# computes in it by default, up to 1e-3 from float32 in embeddings: compile the model with
# `{"INFERENCE_PRECISION_HINT": "f32"}` for `predict`'s outputs.
#
# ## int8
#
# Each runtime has a quantizer, which makes files of a quarter of the size; a CPU computes them
# faster. transformers.js looks for ONNX Runtime's under this name:

# %%
from onnxruntime.quantization import quantize_dynamic

folder = "messages_onnx/onnx"
quantize_dynamic(f"{folder}/model.onnx", f"{folder}/model_quantized.onnx", per_channel=True)

# %% [markdown]
# LiteRT's converter makes its file from a SavedModel:

# %%
import tensorflow as tf

saved = model.export("served/messages")
converter = tf.lite.TFLiteConverter.from_saved_model(saved, signature_keys=["token_ids"])
converter.optimizations = [tf.lite.Optimize.DEFAULT]
Path("messages_int8.tflite").write_bytes(converter.convert())

# %% [markdown]
# OpenVINO's is NNCF (`pip install nncf`); `nncf.quantize` takes examples, for activations in int8:
#
# ```py
# model = openvino.Core().read_model("messages_openvino/openvino/openvino_model.xml")
# openvino.save_model(nncf.compress_weights(model), "messages_int8/openvino_model.xml")
# ```
#
# [Which format for which runtime](../formats.md#int8) has scores and speeds.
#
# ## Reference: what is in the folders
#
# | format | the model's file | inputs |
# |---|---|---|
# | `"onnx"` | `onnx/model.onnx` | int64 `input_ids`, `attention_mask`, `token_type_ids` |
# | `"openvino"` | `openvino/openvino_model.xml` and `.bin` | the same |
# | `"litert"` | `model.tflite` | int32 `token_ids`, `padding_mask`, `segment_ids` |
#
# The folder has the tokenizer's files, too. Outputs are those of `predict`, within 1e-5. Windows of long texts, entities and spans are in the [SavedModel](serve.py) alone.
