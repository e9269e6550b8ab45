# %% [markdown]
# # Serve a model
#
# A trained model becomes a folder that takes raw strings and answers them, without Keras or this
# library.

# %%
import tensorflow as tf
import tensorflow_text  # the ops of the tokenizer

import keras_bert

classifier = keras_bert.BertClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2", label_names=["bad", "good"], sequence_length=64
)
texts, labels = ["A fine book.", "A dull book.", "Lovely!", "Boring."], ["good", "bad"] * 2
classifier.fit(texts, labels, epochs=2, verbose=0)
classifier.export("served/reviews")
signature = tf.saved_model.load("served/reviews/1").signatures["serving_default"]
signature(text=tf.constant(["A fine book.", "A dull book."]))

# %% [markdown]
# ## TensorFlow Serving
#
# The folder has TensorFlow Serving's layout. It holds the vocabulary and warm-up requests. The
# server needs neither Keras nor this library.
#
# ```bash
# docker run -p 8501:8501 -v $PWD/served/reviews:/models/reviews -e MODEL_NAME=reviews \
#     tensorflow/serving
# curl -d '{"instances": ["A fine book.", "A dull book."]}' \
#     http://localhost:8501/v1/models/reviews:predict
# ```
#
# ```json
# {"predictions": [
#   {"label": "good", "labels": ["bad", "good"], "probabilities": [0.02, 0.98]},
#   {"label": "bad", "labels": ["bad", "good"], "probabilities": [0.97, 0.03]}]}
# ```
#
# | model | inputs | answers |
# |---|---|---|
# | `BertClassifier` | `text`: a text, or a pair `["first", "second"]` | `label`, `probabilities`, `labels` |
# | `BertTokenClassifier` | `text` | `entity_text`, `entity_type`, `entity_score`, spans in characters and bytes, `num_entities` |
# | `BertSpanLabeler` | `question`, `context` | `answer`, `score`, its span in characters and bytes |
# | `BertMultipleChoice` | `context`, `choices` | `label`, `choice`, `probabilities` |
# | `BertReranker` | `query`, `documents` | `score` |
# | `BertEmbedder` | `text`; also signatures `query`, `document` with their prompts | `embedding` |
#
# A second signature, `token_ids`, takes `token_ids`, `segment_ids` and `padding_mask`. The model
# needs TensorFlow Text's ops, which TensorFlow Serving's images include. Image 2.20 has the ops of
# TensorFlow Text 2.20; images 2.12 to 2.19 have those of 2.12. Use 2.20 or later, which also serves
# models exported by TensorFlow 2.21.
#
# ## Other runtimes
#
# Each task and the backbone also export to ONNX, LiteRT (formerly TensorFlow Lite) and OpenVINO:

# %%
path = classifier.export("reviews_litert", format="litert")  # or "onnx", "openvino"

# %% [markdown]
# | format | the model's file | export needs |
# |---|---|---|
# | `"onnx"` | `model.onnx` | `tf2onnx` |
# | `"litert"` | `model.tflite` | |
# | `"openvino"` | `model.xml` and `model.bin` | `openvino` |
#
# These models take token ids and return what `predict` returns, within 1e-5. Inputs are int32
# `token_ids`, `segment_ids` and `padding_mask`; the outputs are named too, `logits` here. Batches
# and lengths may differ in each call. Next to the model lie `tokenizer.json`, which Hugging Face
# `tokenizers` reads in Rust, Python and JavaScript, `vocab.txt`, and `preprocessor.json` with the
# names of the labels. `tokenizer.json` truncates to the sequence length and pads batches:

# %%
import numpy as np
import tokenizers

encoder = tokenizers.Tokenizer.from_file("reviews_litert/tokenizer.json")
row = encoder.encode("What a book!")
run = tf.lite.Interpreter(path).get_signature_runner()  # or ai_edge_litert, without TensorFlow
logits = run(
    token_ids=np.array([row.ids], "int32"),
    segment_ids=np.array([row.type_ids], "int32"),
    padding_mask=np.array([row.attention_mask], "int32"),
)["logits"]
logits

# %% [markdown]
# Windows of long texts, entities and spans are in the SavedModel alone. On processors with
# bfloat16, OpenVINO computes in it by default, up to 1e-3 from float32 in embeddings. Compile the
# model with `{"INFERENCE_PRECISION_HINT": "f32"}` for `predict`'s outputs. The fastest on a CPU is
# LiteRT with int8 weights, `export(..., optimizations=[tf.lite.Optimize.DEFAULT])`: [speeds and
# sizes](../results.md#exported-models).
