# %% [markdown]
# # Load and save published weights
#
# Every model's `from_preset` takes the weights that others published, and every model can be
# written back for their libraries. This guide loads all-MiniLM-L6-v2, carries it through three
# formats, and makes it smaller.

# %%
import keras_bert

model = keras_bert.BertEmbedder.from_preset("hf://sentence-transformers/all-MiniLM-L6-v2")
model

# %% [markdown]
# `BertTask.from_preset` returns whatever the source holds: a pre-trainer with its heads, a
# classifier with its labels, or an embedder with its pooling, as this one. A bare encoder becomes
# an embedder. Vocabulary, casing and the kind of GELU (exact in Hugging Face's models, tanh in
# Google's code and KerasHub) are loaded too.
#
# A task of your choice takes the encoder and gets a new head. Weights that the source lacks are
# initialized and logged, and so is a head of another number of classes; an encoder that doesn't fit
# is an error. The report lists every weight:

# %%
classifier = keras_bert.BertClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2", label_names=["bad", "good"]
)
lines = str(classifier.load_report).splitlines()
print(*lines[:4], "...", *lines[-3:], sep="\n")

# %% [markdown]
# | published as | source |
# |---|---|
# | a model on the Hugging Face hub | `"hf://google-bert/bert-base-uncased"` |
# | a DistilBERT or an ELECTRA | `"hf://distilbert/distilbert-base-uncased"` |
# | an XLM-RoBERTa, a CamemBERT, a multilingual MiniLM or E5 | `"hf://intfloat/multilingual-e5-small"` |
# | a ModernBERT or an Ettin, for up to 8,192 tokens | `"hf://jhu-clsp/ettin-encoder-17m"` |
# | a RoBERTa | `"hf://distilbert/distilroberta-base"` |
# | an MPNet | `"hf://sentence-transformers/all-mpnet-base-v2"` |
# | a revision of one | `"hf://google-bert/bert-base-cased@main"` |
# | one by its name in transformers | `"bert-base-uncased"` |
# | a folder of transformers or sentence-transformers | `"/models/all-MiniLM-L6-v2"` |
# | a folder of Google's TF1 code | `"/models/uncased_L-12_H-768_A-12"` |
# | a KerasHub preset: name, folder, `kaggle://` | `"bert_base_en_uncased"` |
# | a preset of your own | `"reviews/best"` |
#
# `BertClassifier.presets` lists well-known names. `BertTokenizer.from_preset` takes the same
# sources, and downloads no weights from the hub. Outputs match the weights' original library
# ([measured](../results_numbers.md#equal-to-transformers)).
#
# A pre-trainer needs weights with a masked-LM head, such as `bert-base-uncased`; all-MiniLM-L6-v2
# has none. `fill_mask` gives tokens and scores:
#
# ```python
# pretrainer = keras_bert.BertPretrainer.from_preset("hf://google-bert/bert-base-uncased")
# [first, *others] = pretrainer.fill_mask("what a [MASK] book", top_k=3)
# ```
#
# ## Save for other libraries
#
# `save_to_preset` keeps everything. `save_to_hugging_face` writes a folder for transformers or
# sentence-transformers, whose encoder KerasHub reads too. What another library can't hold is an
# error, or a warning if the encoder is still the same. Each folder loads here again:

# %%
model.save_to_preset("minilm")
model.save_to_hugging_face("minilm_hf")
texts = ["What a lovely book!", "The train was late again."]
vectors = model.predict(texts, verbose=0)
for folder in ("minilm", "minilm_hf"):
    again = keras_bert.BertEmbedder.from_preset(folder).predict(texts, verbose=0)
    print(f"{folder:10}  largest difference {abs(again - vectors).max():.1e}")

# %% [markdown]
# ```bash
# python recipes/convert_checkpoint.py bert/preset bert_hf --to hugging_face
# ```
#
# ## A model card, and the hub
#
# Presets and folders for transformers have a model card, `README.md`: task, sizes, labels, how the
# model was trained, its scores, and how to load it. `finetune` and `pretrain_tpu.py` record
# settings and scores for it; after a `fit` of your own, give yours to `save_to_preset`. A card
# without its last line, a comment that names keras_bert, is yours and is kept.

# %%
settings = {"corpus": "reviews", "epochs": 3}
classifier.save_to_preset("reviews_bert", settings, scores={"dev": {"accuracy": 0.91}})
with open("reviews_bert/README.md") as file:
    print(file.read())

# %% [markdown]
# `model.push_to_hub("user/name", private=True)` uploads a model to the Hugging Face Hub in one
# commit, and returns the handle to load it with.
#
# ## Low-rank adapters
#
# After `enable_lora`, `fit` trains low-rank adapters and the head alone. `save_lora` keeps them in a
# small folder, as PEFT does, one for each task on the same weights; `from_preset` loads both.
# `merge_lora` adds the adapters to the encoder.

# %%
import math
from pathlib import Path


def count(variables):
    return sum(math.prod(variable.shape) for variable in variables)


everything = count(classifier.trainable_variables)
classifier.enable_lora(rank=8)
adapters = count(classifier.trainable_variables)
classifier.save_lora("reviews_lora", base="hf://sentence-transformers/all-MiniLM-L6-v2")
size = Path("reviews_lora/adapter_model.safetensors").stat().st_size
print(f"{everything:,} trainable weights, {adapters:,} with adapters, in {size / 1e6:.1f} MB")

# %% [markdown]
# ## Precision and quantization
#
# `from_preset(..., dtype="mixed_bfloat16")` loads a model in that precision, which is saved with
# it. `BertBackbone` and layers take `dtype` too; a task's head follows its backbone. Without it a
# model follows `keras.config.set_dtype_policy`. Outputs of tasks are float32 either way.
#
# Keras's `quantize` works as usual, and quantized models can be saved and loaded. BERT's
# activations have outliers that eight bits round badly, so quantize only the weights if answers
# must not change. Cosines with the vectors of float32 show it ([more of
# them](../results_small.md#quantization)):

# %%
import keras


def compare(name, model):
    model.save_to_preset("compared")
    size = Path("compared/model.weights.h5").stat().st_size / 1e6
    cosines = (model.predict(texts, verbose=0) * vectors).sum(axis=-1)
    print(f"{name:15} {size:5.1f} MB  cosines {cosines.round(4)}")


compare("float32", model)
compare("mixed_bfloat16", keras_bert.BertTask.from_preset("minilm", dtype="mixed_bfloat16"))
weights_only = keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)
for name, settings in {"int8 weights": {"config": weights_only}, "int8": {"mode": "int8"}}.items():
    quantized = keras_bert.BertTask.from_preset("minilm")
    quantized.quantize(**settings)
    compare(name, quantized)

# %% [markdown]
# Keras collects garbage after each weight that it replaces: between `gc.freeze()` and `gc.unfreeze()`
# it [takes less time](../results_small.md#quantization).
#
# On a CPU, `quantize("int8")` is slower than float32. LiteRT's [int8](hand_it_over.py#int8) takes less
# than half of float32's time.
#
# ## Files from strangers
#
# `from_preset` may read folders that you don't trust: no format executes code. Sizes, types and
# paths are checked before memory is used, and a damaged file is a `ValueError` that names it:

# %%
weights = Path("minilm/model.weights.h5")
weights.write_bytes(weights.read_bytes()[:1000])
try:
    keras_bert.BertTask.from_preset("minilm")
except ValueError as error:
    print(error)

# %% [markdown]
# `.bin` files are read with PyTorch's `weights_only=True`. A preset creates only registered
# classes, so your own modules run only if you import them. Corpora, tables and vocabularies are
# plain data.
#
# Weights themselves can be manipulated: a model may answer as its author intends, so check its
# scores on your own data. For a fixed version of a hub model, name a commit
# (`hf://user/name@<commit>`). Presets hold a checksum of their weights, which finds damage, not
# manipulation.
#
# Treat these as programs, and load them only from sources that you trust: SavedModels and other
# exported graphs, `.keras` files with `safe_mode=False`, and pickles.
