# %% [markdown]
# # More ways to classify
#
# A classifier also takes pairs of texts, several labels per text, numbers next to the text, and
# texts longer than a sequence.
#
# ## Pairs and unequal classes
#
# A pair is a tuple of two lists. `class_weight="balanced"` weighs rare classes up, and
# `validation_split` keeps the last part of the examples for validation.

# %%
import keras_bert

questions = ["Is it open?", "Is it far?", "Is it open?", "Is it cheap?"]
answers = ["Until eight.", "The soup is good.", "It was built in 1900.", "Two coins."]
pairs = keras_bert.BertClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2", label_names=["no answer", "answer"]
)
labels = ["answer", "no answer", "no answer", "answer"]
pairs.fit((questions, answers), labels, class_weight="balanced", validation_split=0.5, verbose=2)
pairs.scores((questions, answers), labels)

# %% [markdown]
# `num_classes=1` predicts a number, a regression, and its scores are correlations.
#
# ## Several labels per text

# %%
texts = ["A long old tale.", "A short poem.", "A sad, old song."]
tagging = keras_bert.BertClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2",
    label_names=["long", "old", "sad"],
    multi_label=True,
)
tagging.fit(texts, [["long", "old"], [], ["old", "sad"]], verbose=0)
tagging.answer(texts[0])

# %% [markdown]
# ## Numbers next to the text
#
# The first `fit` scales the numbers to mean 0 and variance 1. They join the vector of the text
# before the head.

# %%
priced = keras_bert.BertClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2", num_classes=2, num_features=2
)
books = {"text": texts, "features": [[12.5, 300], [8.0, 90], [20.0, 200]]}  # price, pages
priced.fit(books, [1, 0, 1], verbose=0)
priced.answer(books)[0]

# %% [markdown]
# Texts and numbers can come from the columns of a CSV file:

# %%
with open("pets.csv", "w") as file:
    file.write("Name,Description,Age,Fee\nTim,Loves naps.,3,10\nLea,Climbs trees.,1,25\n")
table = keras_bert.read_table("pets.csv")
print(keras_bert.texts_from_columns(table, "{Name}. {Description} I'm {Age} years old."))
table.numbers(["Age", "Fee"])

# %% [markdown]
# ## Long texts
#
# A text longer than a sequence loses its end, or another part with `truncation="tail"` or
# `"head_tail"`. With `window_stride=64` the whole text is read in overlapping windows, and their
# logits are pooled. `from_preset` takes all of these arguments.
#
# ## As commands
#
# ```bash
# python recipes/finetune_classifier.py --init bert/preset --output pets \
#     --train pets.csv --dev pets.csv --label_column Speed --class_weight balanced \
#     --text_template "{Name}. {Description}." --number_columns Age Fee
# python recipes/finetune_glue.py --init bert/preset --output mrpc \
#     --task mrpc --data glue_data/MRPC
# ```
#
# `finetune_glue.py` trains on one of GLUE's nine tasks and keeps the best model on the development
# set. It writes the test set's answers as GLUE's server expects them. `--grid` tries the paper's
# batch sizes, learning rates and epochs; `--restarts 5` runs five seeds of each. A table lists all
# results. `--task all` trains on every task of a folder, and writes the model's row of the paper's
# [table 1](../paper.md#table-1-glue).
