# %% [markdown]
# # Improve the data of a classifier
#
# Better labels often help more than a better model. A classifier's own probabilities point at
# labels that are probably wrong, and at the texts that are worth labeling next. Explanations show
# what it has learned from them. scikit-learn comes with `pip install ".[recipes]"`.
#
# ## Probabilities of unseen texts
#
# A shop sorts messages by topic. Two of these 24 have a wrong label.

# %%
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

import keras_bert

topics = {
    "delivery": """The parcel came a day early.
The courier left it in the rain.
It has been on its way for three weeks.
Do you ship to the islands?
The fabric is thin and rough.
Shipping took a month.
Nobody rang, and the parcel went back to the depot.
Can I have it sent to my office?""",
    "price": """Far too expensive.
I paid a fortune for it.
Is there a discount for students?
It costs half as much elsewhere.
A real bargain.
You charged me twice.
What does the large one cost?
Good value for the money.""",
    "quality": """The seams tore at once.
Solid wood, very sturdy.
The plastic is brittle.
It broke after two days.
The driver delivered it to my neighbor.
The leather has a stain.
The handle came off.
Carefully made, down to the last screw.""",
}
texts = [line for lines in topics.values() for line in lines.split("\n")]
names = np.repeat(sorted(topics), 8)  # sorted, like scikit-learn's classes
labels = np.repeat(np.arange(3), 8)

# %% [markdown]
# A model that has seen a label tends to agree with it. So each text gets its probabilities from a
# model that was trained on the others: here a logistic regression on a published embedder's
# vectors, which takes no time. `cross_val_predict` of scikit-learn is this loop.

# %%
embedder = keras_bert.BertEmbedder.from_preset("hf://sentence-transformers/all-MiniLM-L6-v2")
vectors = embedder.predict(texts, verbose=0)  # [24, 384]
probabilities = np.zeros((24, 3))
for train, held_out in StratifiedKFold(8, shuffle=True, random_state=1).split(vectors, labels):
    regression = LogisticRegression(C=10).fit(vectors[train], labels[train])
    probabilities[held_out] = regression.predict_proba(vectors[held_out])
print(f"accuracy {np.mean(probabilities.argmax(1) == labels):.2f}")

# %% [markdown]
# A fine-tuned classifier takes more time, and is the better judge of classes that are not topics.
# As an [estimator](../trackers.md#scikit-learn) it takes scikit-learn's loop:
#
# ```py
# from keras_bert.estimators import TextClassifier
# from sklearn.model_selection import cross_val_predict
#
# probabilities = cross_val_predict(
#     TextClassifier(bert), texts, labels, cv=4, method="predict_proba"
# )
# ```
#
# ## Labels that are probably wrong
#
# Confident learning ([Northcutt et al. 2021](https://arxiv.org/abs/1911.00068)) asks whether the
# model is confident of another class. What counts as confident differs from class to class: the
# mean probability of the class, over the texts that have its label. The least probable label comes
# first.

# %%
confident = [probabilities[labels == number, number].mean() for number in range(3)]
of_confident = np.where(probabilities >= confident, probabilities, 0)  # [24, 3]
is_suspect = of_confident.any(1) & (of_confident.argmax(1) != labels)
of_label = probabilities[np.arange(24), labels]
for i in np.argsort(of_label):
    if is_suspect[i]:
        other = sorted(topics)[of_confident[i].argmax()]
        print(f"{names[i]}, {of_label[i]:.2f}; perhaps {other}: {texts[i]}")

# %% [markdown]
# Look at these texts, and correct the labels that are wrong: a model may be confident and wrong.
# [cleanlab](https://docs.cleanlab.ai) has this rule and others, and finds the same texts:
#
# ```py
# from cleanlab.filter import find_label_issues
#
# find_label_issues(
#     labels, probabilities, filter_by="confident_learning",
#     return_indices_ranked_by="self_confidence",
# )
# ```
#
# ## What to label next
#
# Suppose you have many texts, but time to label only a few. The model learns most where it
# hesitates between two classes: where the margin between the two most probable ones is least.

# %%
labels[texts.index("The fabric is thin and rough.")] = 2  # corrected
labels[texts.index("The driver delivered it to my neighbor.")] = 0
regression = LogisticRegression(C=10).fit(vectors, labels)
unlabeled = [
    "The price of shipping is outrageous.",
    "It arrived broken.",
    "The courier was friendly.",
    "Cheap, and it looks cheap.",
    "The zip is stuck.",
    "Do you have a sale in January?",
    "Where is my parcel?",
]
two_best = np.sort(regression.predict_proba(embedder.predict(unlabeled, verbose=0)))[:, -2:]
margins = two_best[:, 1] - two_best[:, 0]  # [7]
for i in np.argsort(margins):
    print(f"{margins[i]:.2f}  {unlabeled[i]}")

# %% [markdown]
# Label the first ones, train again, and repeat. In a large pool the nearest neighbors of a text are
# often as uncertain as it is, and teach the same: take one from each cluster of `vectors`.
#
# With a `BertClassifier`, the probabilities are those of `answer`, and the loop is the same.
#
# ## Which words count
#
# `explain` of a [trained classifier](look_inside.py) gives each word a weight, without another
# package. [SHAP](https://shap.readthedocs.io) needs nothing but a function from texts to numbers,
# so it explains any model, by leaving words out:
#
# ```py
# import shap
#
#
# def predict(texts):
#     return regression.predict_proba(embedder.predict(list(texts), verbose=0))
#
#
# masker = shap.maskers.Text(r"\W+")  # words
# explainer = shap.Explainer(predict, masker, output_names=sorted(topics))
# found = explainer(["The parcel arrived broken."])
# for word, weights in zip(found.data[0], found.values[0]):
#     print(f"{word:8}", weights.round(2))  # of delivery, price, quality
# ```
#
# ```text
# The      [-0.01 -0.01  0.02]
# parcel   [ 0.44 -0.17 -0.27]
# arrived  [ 0.24 -0.09 -0.15]
# broken   [-0.26 -0.06  0.32]
# ```
#
# A weight that surprises you, such as that of a customer's name, tells what to change in the data.
