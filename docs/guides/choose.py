# %% [markdown]
# # Choose: the best of several answers
#
# A multiple-choice question has a context and some choices, one of which is right. BERT reads the
# context with each choice, gives each pair a score, and the highest score wins. This guide teaches
# a small BERT which tool suits a job.

# %%
import keras_bert

tools = {
    "cut bread": "a knife",
    "drive a nail into the wall": "a hammer",
    "see in the dark": "a flashlight",
    "stay dry in the rain": "an umbrella",
    "write a letter": "a pen",
    "boil water": "a kettle",
    "sweep the floor": "a broom",
    "find north": "a compass",
    "wash your hands": "soap",
    "lock the door": "a key",
    "tell the time": "a clock",
    "eat soup": "a spoon",
    "take a photo": "a camera",
    "listen to music": "headphones",
    "sleep in the forest": "a tent",
    "cross the lake": "a boat",
    "look at the stars": "a telescope",
    "paint a picture": "a brush",
    "catch a fish": "a net",
    "dig a hole": "a shovel",
    "send a message": "a phone",
    "sew on a button": "a needle",
    "dry your hair": "a towel",
    "light a fire": "a match",
}

# %% [markdown]
# A question is a dict of `context`, `choices` and `label`, the number of the right choice. Here
# each job comes twice, each time with the tools of two other jobs.

# %%
names = list(tools.values())
questions = []
for number, (job, tool) in enumerate([*tools.items()] * 2):
    choices = [names[(number + 5) % 24], names[(number + number // 24 + 11) % 24]]
    choices.insert(number % 3, tool)
    questions.append({"context": f"To {job}, you need", "choices": choices, "label": number % 3})
questions[1]

# %% [markdown]
# ## Fine-tune
#
# Each choice is a sequence of its own, so a batch of 8 questions with three choices has 24
# sequences. Without training, the head guesses: one in three.

# %%
chooser = keras_bert.BertMultipleChoice.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2", sequence_length=32
)
steps = 8 * len(questions) // 8
rate = keras_bert.WarmupLinearDecay(2e-4, warmup_steps=steps // 10, total_steps=steps)
chooser.compile(keras_bert.AdamW(rate))  # few questions, so larger steps than the default's
history = chooser.fit(questions, epochs=8, batch_size=8, verbose=2)

# %% [markdown]
# ## Ask it
#
# None of these jobs and tools were in the training data. Questions may differ in the number of
# their choices.

# %%
new = [
    {"context": "To cut paper, you need", "choices": ["a violin", "scissors", "a pillow"]},
    {"context": "To climb onto the roof, you need", "choices": ["a ladder", "a sandwich"]},
    {"context": "To keep warm, you need", "choices": ["a fork", "a stamp", "a ruler", "a coat"]},
    {"context": "To water the flowers, you need", "choices": ["a guitar", "a watering can"]},
]
for question, answer in zip(new, chooser.answer(new)):
    best = max(answer["probabilities"])
    print(f"{question['context']} {answer['choice']} ({best:.2f})")

# %% [markdown]
# `answer` gives the number of the choice as `label`, its text as `choice`, and `probabilities`, one
# for each choice. `scores` gives the accuracy.
#
# all-MiniLM-L6-v2 was trained to place related texts near each other, which is most of what these
# questions ask. Common sense is harder: on CODAH it reaches an accuracy of
# [48.6 %](../results_tasks.md#fine-tuning-compared-with-transformers) with four choices.
#
# ## The same as a command
#
# `readers.read_choices` and the recipe read the files of SWAG, CSV with named columns, and of
# CODAH, TSV without a header. Your own questions may have either format. This is CODAH's: a
# category, the context, the choices, and the number of the right one.

# %%
with open("mine.tsv", "w") as file:
    print("tool", "To cut paper, you need", "a violin", "scissors", 1, sep="\t", file=file)
keras_bert.readers.read_choices("mine.tsv")

# %% [markdown]
# ```bash
# python recipes/finetune_choice.py --init bert/preset --output choice \
#     --train choices.tsv --dev choices.tsv
# ```
