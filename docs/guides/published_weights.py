# %% [markdown]
# # Load and save published weights
#
# Every model's `from_preset` takes presets and published weights:
#
# | published as | for example |
# |---|---|
# | a model on the Hugging Face hub | `BertClassifier.from_preset("hf://google-bert/bert-base-uncased", num_classes=3)` |
# | the same, by its name in transformers | `BertClassifier.from_preset("bert-base-uncased", num_classes=3)` |
# | a revision of one | `BertPretrainer.from_preset("hf://google-bert/bert-base-cased@main")` |
# | a folder of transformers or sentence-transformers | `BertEmbedder.from_preset("/models/all-MiniLM-L6-v2")` |
# | a folder of Google's TF1 code | `BertPretrainer.from_preset("/models/uncased_L-12_H-768_A-12")` |
# | a KerasHub preset: name, folder, `kaggle://` | `BertBackbone.from_preset("bert_base_en_uncased")` |
#
# `BertClassifier.presets` lists well-known names. `BertTokenizer.from_preset` takes the same
# sources, and downloads no weights from the hub.
#
# `BertTask.from_preset` returns whatever the source holds: a pre-trainer with its heads, a
# classifier with its labels, or an embedder with its pooling. A bare encoder becomes an embedder.
# Vocabulary, casing and the kind of GELU (exact in Hugging Face's models, tanh in Google's code and
# KerasHub) are loaded too. Weights that the source lacks, such as a new classifier's head, are
# initialized and logged; anything that doesn't fit is an error. `print(model.load_report)` lists
# every weight.

# %%
import keras_bert

model = keras_bert.BertEmbedder.from_preset("hf://sentence-transformers/all-MiniLM-L6-v2")
model

# %%
print(*str(model.load_report).splitlines()[:6], sep="\n")

# %% [markdown]
# ## Save
#
# A preset keeps everything. `save_to_hugging_face` writes a folder for transformers or
# sentence-transformers, `save_to_google` one for google-research/bert, and `save_to_keras_hub` one
# for KerasHub.

# %%
model.save_to_preset("minilm")
keras_bert.save_to_hugging_face(model, "minilm_hf")
encoder = keras_bert.BertBackbone.from_preset("minilm")
again = keras_bert.BertEmbedder.from_preset("minilm_hf")
abs(again.predict(["a fine book"]) - model.predict(["a fine book"])).max()

# %% [markdown]
# Presets and folders for transformers have a model card, `README.md`: task, sizes, labels, how the
# model was trained, its scores, and how to load it. `finetune` and `pretrain_tpu.py` record
# settings and scores for it; after a `fit` of your own, `record_training` does. A card that you
# write or edit is kept. `keras_bert.push_to_hub(model, "user/name", private=True)` uploads a model,
# or its folder, to the Hugging Face Hub in one commit, and returns the handle to load it with.

# %%
keras_bert.record_training(model, {"corpus": "reviews", "epochs": 3})
model.save_to_preset("reviews_bert")  # with a model card, reviews_bert/README.md

# %% [markdown]
# Outputs match the weights' original library ([measured](../results.md#equal-to-transformers)).
# Keras's `model.quantize("int8")` works as usual, and quantized models can be saved and loaded.
# BERT's activations have outliers that eight bits round badly, so quantize only the weights if
# answers must not change ([measured](../results.md#quantization)). On a CPU, `quantize("int8")` is
# slower than float32. LiteRT's [int8 export](serve.py#other-runtimes) takes less than half of float32's
# time.
#
# `model.enable_lora(rank=8)`, before `fit`, trains low-rank adapters and the head alone.
# `save_lora` and `load_lora` keep them in a file of a few megabytes, and `merge_lora` adds them to
# the encoder.
#
# `BertClassifier.from_preset(source, dtype="mixed_bfloat16")` loads a model in that precision,
# which is saved with it. `BertBackbone` and layers take `dtype` too; a task's head follows its
# backbone. Without it a model follows `keras.config.set_dtype_policy`. Outputs of tasks are float32
# either way.
#
# ## Files from strangers
#
# `from_preset` may read folders that you don't trust: no format executes code. Sizes, types and
# paths are checked before memory is used, and a damaged file is a `ValueError` that names it.
# `.bin` files are read with PyTorch's `weights_only=True`. A preset creates only registered
# classes, so your own modules run only if you import them. Corpora, tables and vocabularies are
# plain data.
#
# Three limits remain. Weights themselves can be manipulated: a model may answer as its author
# intends, so check its scores on your own data. For a fixed version of a hub model, name a commit
# (`hf://user/name@<commit>`). The hub's cache is checked against its checksums only when a file
# can't be read.
#
# Treat these as programs, and load them only from sources that you trust: SavedModels and other
# exported graphs, `.keras` files with `safe_mode=False`, and pickles.
