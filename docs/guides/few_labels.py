# %% [markdown]
# # Few-shot: classes from a few labels
#
# Eight labeled texts per class are too few to fine-tune a classifier. They are enough to train an
# embedder: as pairs, 24 texts in three classes make 276 examples of "same class" or "not". A
# logistic regression then finds the classes in the vectors. The method is
# [SetFit](https://arxiv.org/abs/2209.11055). The regression and the pictures need
# `pip install ".[recipes]"`.
#
# ## A few labels
#
# A shop wants to know what the writer of a message expects: an answer, help, or nothing at all.

# %%
import keras_bert

asking = [
    "When does the shop in the old town open?",
    "Do you deliver to the islands?",
    "Is the blue jacket also made for children?",
    "Could you tell me how long the battery lasts?",
    "I'd like to know whether I can pay by invoice.",
    "Which size should I take?",
    "Can I have it sent to my office?",
    "How do I clean the leather?",
]
complaining = [
    "My parcel has been on its way for three weeks.",
    "The blue jacket came with a broken zip.",
    "You charged me twice for the same order.",
    "Nobody answers the phone in your shop.",
    "The battery was empty after an hour.",
    "I ordered a medium and got a large.",
    "The leather has a stain.",
    "The courier left it in the rain.",
]
thanking = [
    "The parcel came a day early, thank you!",
    "My son loves his blue jacket.",
    "The lady in your shop was so kind to us.",
    "I'm amazed at how long the battery lasts.",
    "The refund came at once, that was fair.",
    "It fits perfectly.",
    "What soft leather, I'm delighted.",
    "The courier even carried it upstairs for me.",
]
texts = asking + complaining + thanking
labels = ["question"] * 8 + ["complaint"] * 8 + ["thanks"] * 8

# %% [markdown]
# These are others, to test with:

# %%
new_texts = [
    "Do you have gift cards?",
    "I wonder if the lamp can be dimmed.",
    "Where is my nearest branch?",
    "Please let me know the price of the large one.",
    "Is it waterproof?",
    "The lamp flickers all the time.",
    "Your gift card doesn't work at the till.",
    "I have been waiting for my money since May.",
    "It fell apart in the first wash.",
    "The assembly instructions are missing.",
    "The lamp gives such a warm light.",
    "My mother was so happy with the gift card.",
    "Assembled in five minutes, well done.",
    "I will tell all my friends about you.",
    "Great service, as always.",
]
new_labels = ["question"] * 5 + ["complaint"] * 5 + ["thanks"] * 5

# %% [markdown]
# ## The vectors as they are
#
# all-MiniLM-L6-v2 was trained to tell topics apart. Two messages about lamps are near each other,
# whether they ask or complain.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

embedder = keras_bert.BertEmbedder.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2", sequence_length=32
)


def accuracy():
    regression = LogisticRegression().fit(embedder.predict(texts, verbose=0), labels)
    return regression.score(embedder.predict(new_texts, verbose=0), new_labels)


def draw():
    """Draws the texts by the two directions in which their vectors differ most."""
    points = PCA(2).fit_transform(embedder.predict(texts, verbose=0))
    for label in sorted(set(labels)):
        plt.scatter(*points[np.array(labels) == label].T, label=label)
    plt.legend()


print(f"accuracy {accuracy():.2f}")
draw()

# %% [markdown]
# ## Train the embedder
#
# `fit` with texts and their classes pulls texts of a class together and pushes the others away.

# %%
history = embedder.fit(texts, labels, epochs=10, batch_size=12, verbose=2)
print(f"accuracy {accuracy():.2f}")
draw()

# %% [markdown]
# ## Classify

# %%
regression = LogisticRegression().fit(embedder.predict(texts, verbose=0), labels)
probabilities = regression.predict_proba(embedder.predict(new_texts, verbose=0))
for text, right, of_classes in zip(new_texts, new_labels, probabilities):
    answer = regression.classes_[of_classes.argmax()]
    print(f"{answer:9} {of_classes.max():.2f}  {text}{'' if answer == right else '  <- ' + right}")

# %% [markdown]
# ## The same as a command
#
# The files have a column `text` and a column `label`. The recipe draws its examples from the
# training file, scores those of `--dev`, and writes the embedder and the regression.
#
# ```bash
# python recipes/few_labels.py --init all-MiniLM-L6-v2 --train train.tsv --dev dev.tsv \
#     --examples_per_class 8 --output few
# ```
#
# Half a page of labels does not make a judge of movies: on 488 reviews, 16 examples per class give
# an accuracy of [.707](../results_tasks.md#a-few-labels), where fine-tuning gives .559. With hundreds of
# labels, [fine-tune a classifier](classify.py).
