# %% [markdown]
# # Start here: a tutorial
#
# A published BERT answers something useful in a dozen lines. This one compares the meanings of
# sentences: it finds the entry of a help page that fits a question, though they share no words.
# (TensorFlow logs some lines at its start; the environment variable `TF_CPP_MIN_LOG_LEVEL=3` turns
# them off, apart from a note that there is no GPU.)

# %%
import keras_bert

model = keras_bert.BertEmbedder.from_preset("hf://sentence-transformers/all-MiniLM-L6-v2")
help_page = [
    "Parcels usually arrive after two working days.",
    "You can return goods within thirty days.",
    "To change your password, open your profile page.",
    "Our office is closed on public holidays.",
]
for question in ["How long does shipping take?", "I forgot my login.", "May I send it back?"]:
    indices, cosines = model.search(question, help_page, top_k=1)
    print(f"{question:28} {help_page[indices[0, 0]]} ({cosines[0, 0]:.2f})")

# %% [markdown]
# ## What BERT is, in six lines
#
# BERT reads a text as *word pieces* from a fixed vocabulary, in both directions at once. It is
# first *pre-trained* on plain text: it fills in masked words (masked LM) and predicts whether a
# second sentence really follows the first (next sentence prediction). This *encoder* and a small
# *head* on it are then *fine-tuned* on a few thousand labeled examples. Texts go in as
# `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`. The encoder returns a vector per token,
# `sequence_output`, and one for the whole text, `pooled_output`.
#
# The inputs of a text or a pair are `token_ids`, `segment_ids` (0 for A, 1 for B) and
# `padding_mask`:

# %%
inputs = model.preprocessor(["May I send it back?"], ["Yes, within thirty days."])
ids = inputs["token_ids"][0, :16]
print(*(model.preprocessor.tokenizer.id_to_token(id) for id in ids))
print(inputs["segment_ids"][0, :16])
print(inputs["padding_mask"][0, :16])

# %% [markdown]
# ## Fine-tune
#
# `from_preset` puts a new head on a published encoder, and `fit` trains both.

# %%
texts = ["Where is my parcel?", "It should have arrived last week.", "I can't log in.", "Wrong PIN"]
labels = ["delivery", "delivery", "account", "account"]
classifier = keras_bert.BertClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2", label_names=["account", "delivery"]
)
classifier.compile(keras_bert.AdamW(3e-4))
classifier.fit(texts, labels, epochs=10, verbose=0)
classifier.answer("The courier never came.")

# %% [markdown]
# Raw examples are lists, NumPy arrays, pandas columns, or a `tf.data.Dataset` of `(text, label)`.
# A pair of texts is a tuple of two lists. Labels are names or numbers.
#
# Every task has the same methods:
#
# | method | takes | returns |
# |---|---|---|
# | `fit(x, y)`, `evaluate(x, y)` | raw examples, prepared inputs, `tf.data.Dataset` | as in Keras |
# | `predict(x)` | the same | the model's outputs, arrays |
# | `answer(x)` | the same | a dict per example, with the keys of the exported model |
# | `scores(x, y)` | the same | the task's official metrics |
# | `batches(x, y)` | raw examples | the batches that `fit` trains on, NumPy arrays |
# | `export(folder)` | | a SavedModel that takes raw strings; [other formats](serve.py), token ids |
# | `save_to_preset(folder)` | | a folder that `from_preset` loads |
#
# A task is a model and a preprocessor. `BertClassifier` is the encoder with its head;
# `BertClassifierPreprocessor` turns texts and labels into batches, and outputs into answers.
# `from_preset` passes each argument to the model or the preprocessor, whichever has it. Every other
# task has a preprocessor of its own, too.
#
# ## Optimizer, loss and metrics
#
# Without an optimizer in `compile`, each `fit` makes its own. The learning rate rises over a tenth
# of the steps that the call takes and falls linearly to 0, as in the paper. Losses and metrics that
# `compile` leaves out are the task's. Outputs are logits: a loss or metric that takes probabilities,
# such as `"sparse_categorical_crossentropy"`, is refused with the line to write.
#
# ## Keep it
#
# A *preset* is a folder of `config.json`, `model.weights.h5`, `preprocessor.json`, `vocab.txt` and
# their checksums, from which any task starts. `model.save("model.keras")` works as for any Keras model; import
# `keras` and then `keras_bert` before `keras.saving.load_model`.

# %%
classifier.save_to_preset("help_desk")
again = keras_bert.BertClassifier.from_preset("help_desk")
again.answer("I need a new password.")["label"]

# %% [markdown]
# ## Where to go next
#
# | you have | guide |
# |---|---|
# | texts or pairs with classes, ratings or several labels, GLUE's tasks | [classify](classify.py) |
# | a few labeled texts of each class | [a few labels](few_labels.py) |
# | texts with names, parts of speech or chunks | [tag](tag.py) |
# | texts and questions on them | [answer questions](answer_questions.py) |
# | questions with choices | [choose](choose.py) |
# | documents to search | [embed and search](embed_and_search.py), [rerank](rerank.py) |
# | another model, for which BERT makes the features | [features](features.py) |
# | layers of your own, to put on BERT | [your own head](your_own_head.py) |
# | plain text of your field | [go on from published weights](domain.py) |
# | plain text of another language | [vocabulary and corpus](vocabulary_and_corpus.py) |
# | time and hardware | [pre-train](pretrain.py), [many devices](many_devices.py) |
# | a trained model | [look inside](look_inside.py), [serve](serve.py) |
#
# The [cheat sheet](../cheat_sheet.md) has every task in six lines. [Which model, length, rate and
# batch](../which_model.md) has settings to start with, and [troubleshooting](../troubleshooting.md)
# what may go wrong. The [recipes](../recipes.md) are scripts to read, run and copy. Their page lists
# the files that each takes, and its scores; [results](../results.md) has what was measured.
