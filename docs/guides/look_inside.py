# %% [markdown]
# # Look inside: pictures of a model and its answers
#
# What do the heads of a BERT attend to? Which classes does it confuse? Which words decide? This
# guide draws it, with `keras_bert.pictures`, and with matplotlib, pandas, scikit-learn and
# TensorBoard: `pip install ".[recipes,tensorflow]"`.

# %%
import keras_bert

texts = [
    "Where is my parcel?",
    "The courier never rang the bell.",
    "It was due last week and hasn't come.",
    "Can you deliver to my office?",
    "The box arrived with a broken corner.",
    "I can't log in any more.",
    "My password doesn't work.",
    "How do I change my email address?",
    "Please delete my account.",
    "I never got the code for signing in.",
    "You charged my card twice.",
    "When do I get my money back?",
    "May I pay by invoice?",
    "The price on the bill is wrong.",
    "Is there a discount for students?",
]
labels = ["delivery"] * 5 + ["account"] * 5 + ["payment"] * 5
classifier = keras_bert.BertClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2",
    label_names=["account", "delivery", "payment"],
)

# %% [markdown]
# ## Attention
#
# `show_attention` shows what each token attends to, as lines between tokens. Point at a token;
# choose the layer and the heads.

# %%
view = keras_bert.pictures.show_attention(
    classifier, "The cat sat on the mat because it was tired."
)
view

# %% [markdown]
# `save` writes this page as a file that needs no other. The numbers are there, too, for questions
# of your own: which head looks most at the token before?

# %%
import numpy as np

view.save("attention.html")
probabilities = view.probabilities  # [layers, heads, S, S]
before = np.diagonal(probabilities, offset=-1, axis1=2, axis2=3).mean(axis=-1)
layer, head = np.unravel_index(before.argmax(), before.shape)
print(f"layer {layer}, head {head}: {before.max():.0%} of its attention")

# %% [markdown]
# A head as a heat map of matplotlib. A row is the token that attends.

# %%
import matplotlib.pyplot as plt

plt.imshow(probabilities[layer, head], cmap="Blues", vmin=0)
plt.xticks(range(len(view.tokens)), view.tokens, rotation=90)
plt.yticks(range(len(view.tokens)), view.tokens)
plt.savefig("attention.png", bbox_inches="tight")

# %% [markdown]
# For prepared inputs, `backbone.attention_probabilities(inputs)` gives them layer by layer. BertViz
# takes the same numbers:
#
# ```text
# from bertviz import head_view
# head_view([torch.tensor(layer)[None] for layer in view.probabilities], view.tokens)
# ```
#
# ## Curves
#
# Keras's callback writes the losses and metrics of `fit` for TensorBoard: `tensorboard --logdir
# logs` shows them while the model trains. `fit` returns them, too.

# %%
import keras

rate = keras_bert.WarmupLinearDecay(2e-4, warmup_steps=3, total_steps=32)
classifier.compile(keras_bert.AdamW(rate))
board = keras.callbacks.TensorBoard("logs")
history = classifier.fit(texts, labels, epochs=8, batch_size=4, verbose=0, callbacks=[board])

# %%
plt.plot(history.history["loss"])

# %% [markdown]
# ## Confused classes

# %%
from sklearn.metrics import ConfusionMatrixDisplay

new = {
    "The package went to my old address.": "delivery",
    "The driver left it in the rain.": "delivery",
    "I paid for express and waited a week.": "delivery",
    "My order shows the wrong street.": "delivery",
    "I forgot what I signed up with.": "account",
    "Someone else uses my profile.": "account",
    "Please change my billing name.": "account",
    "The page rejects my phone number.": "account",
    "I was billed for something I returned.": "payment",
    "Which cards do you take?": "payment",
    "The refund is too low.": "payment",
    "Why was my transfer refused?": "payment",
}
predicted = [answer["label"] for answer in classifier.answer(list(new))]
display = ConfusionMatrixDisplay.from_predictions(list(new.values()), predicted, cmap="Blues")

# %% [markdown]
# ## Why an answer
#
# `explain` gives each word a weight: how much it adds to the log-odds of a class, compared with a
# text of padding (integrated gradients). The weights add up to the difference.

# %%
text = "The package went to my old address."
explained = classifier.explain(text, "delivery")
for word, weight in zip(explained["word_text"], explained["word_weight"]):
    print(f"{word:10}{weight:+.2f}")
before, after = explained["baseline_value"], explained["value"]
print(f"{before:+.2f} of padding, {after:+.2f} of the text; {explained['error']:.1%} is missed")

# %% [markdown]
# pandas colors the words, green for the class and purple against it:

# %%
import pandas

weights = explained["word_weight"]
largest = abs(weights).max()
words = pandas.DataFrame([explained["word_text"]]).style.format(escape="html")
words = words.hide().hide(axis="columns")
words.background_gradient("PRGn", axis=None, vmin=-largest, vmax=largest, gmap=[weights])

# %% [markdown]
# Rerankers explain the score of a query and a document. Of real reviews, leaving out the ten
# heaviest words changed [seven answers of
# ten](../results_tasks.md#probabilities-threshold-and-words-of-a-classifier), and ten random words one of
# 25.
#
# Scores as a table: `pandas.DataFrame(history)` shows the epochs of `finetune`.
#
# ## Vectors
#
# Texts as points, by the two directions in which their vectors differ most:

# %%
embedder = keras_bert.BertEmbedder.from_preset("hf://sentence-transformers/all-MiniLM-L6-v2")
vectors = embedder.predict(texts, verbose=0)

# %%
from sklearn.decomposition import PCA

points = PCA(2).fit_transform(vectors)  # [15, 2]
for label in sorted(set(labels)):
    plt.scatter(*points[np.array(labels) == label].T, label=label)
plt.legend()

# %% [markdown]
# TensorBoard's projector shows them in three dimensions, with search and other maps. It reads two
# files, also in the browser alone, at [projector.tensorflow.org](https://projector.tensorflow.org):

# %%
np.savetxt("vectors.tsv", vectors, delimiter="\t")
with open("metadata.tsv", "w", encoding="utf-8") as file:
    print(
        "text\tlabel",
        *(f"{text}\t{label}" for text, label in zip(texts, labels)),
        sep="\n",
        file=file,
    )

# %% [markdown]
# ## Entities in their texts
#
# spaCy's displaCy marks what a [tagger](tag.py) finds in a text, and needs no model of spaCy's:
#
# ```text
# from spacy import displacy
# found = tagger.answer(text)
# spans = zip(found["entity_start"], found["entity_end"], found["entity_type"])
# entities = [{"start": start, "end": end, "label": kind} for start, end, kind in spans]
# displacy.render({"text": text, "ents": entities}, style="ent", manual=True)
# ```
#
# ## In notebooks
#
# When `nbconvert` runs a notebook, each update of a progress bar becomes a separate output: run it
# with `--coalesce-streams`, or pass `verbose=2` to `fit`.
