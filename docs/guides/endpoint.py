# %% [markdown]
# # Serve it from Python: an endpoint
#
# `answer` returns plain Python, which is JSON, and threads may share a model. So a web server in
# Python needs few lines around it, on any of the three backends. This guide trains a model that
# sorts messages to a shop, serves it with FastAPI, and asks it from 32 clients at a time. It needs
# `pip install ".[recipes]"`, or fastapi and uvicorn.

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
model.save_to_preset("shop")

# %% [markdown]
# ## The server
#
# FastAPI calls the function in a thread for each request, and checks that a request is a list of
# strings. What the model refuses, such as an empty list, is an error of the client's, 422. The model
# answers once before the server takes requests: the first answer traces or
# compiles, and takes many times as long as later ones.

# %%
from pathlib import Path

program = """
import fastapi
import keras_bert

model = keras_bert.BertTask.from_preset("shop")
model.answer(["a short message", "a long one " * 20])  # compiles
app = fastapi.FastAPI()


@app.post("/answers")
def answers(texts: list[str]):
    try:
        return model.answer(texts)
    except ValueError as error:
        raise fastapi.HTTPException(422, str(error))
"""
Path("endpoint.py").write_text(program)

# %% [markdown]
# `uvicorn endpoint:app` starts it on port 8000. Here it takes a free port, and the next cell waits
# until it answers.

# %%
import contextlib
import json
import socket
import subprocess
import sys
import time
from urllib.error import URLError
from urllib.request import Request, urlopen


@contextlib.contextmanager
def serving(module):
    """Runs a server, and gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port), "--log-level", "warning"]
    server = subprocess.Popen([sys.executable, "-m", "uvicorn", f"{module}:app", *options])
    try:
        yield f"http://127.0.0.1:{port}/answers"
    finally:
        server.terminate()
        server.wait()


def ask(address, texts):
    """Posts texts as JSON; returns the server's answers. Waits for a server that starts."""
    headers = {"Content-Type": "application/json"}
    for _ in range(600):
        try:
            with urlopen(Request(address, json.dumps(texts).encode(), headers)) as response:
                return json.load(response)
        except URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
            time.sleep(0.2)
    raise TimeoutError(f"No server at {address}")


with serving("endpoint") as address:
    for answer in ask(address, ["The courier never came.", "You billed me too much."]):
        print(answer["label"], [round(p, 2) for p in answer["probabilities"]])

# %% [markdown]
# 32 clients at a time get the labels that `answer` gives:

# %%
from concurrent.futures import ThreadPoolExecutor

texts = [f"Parcel {number} never came." if number % 2 else "Refund me!" for number in range(64)]


def labels_from(module):
    """Asks a server for the label of each text, from 32 threads."""
    with serving(module) as address, ThreadPoolExecutor(32) as clients:
        answers = clients.map(lambda text: ask(address, [text]), texts)
        return [answer["label"] for [answer] in answers]


labels = [answer["label"] for answer in model.answer(texts)]
assert labels_from("endpoint") == labels

# %% [markdown]
# ## Batches of requests
#
# A model answers eight texts together in less time than one by one, above all on a GPU. The next
# server collects the requests that come while the model works, and then answers them at once, at
# most 32. A single request doesn't wait.

# %%
program = """
import asyncio
import contextlib

import fastapi
import keras_bert

model = keras_bert.BertTask.from_preset("shop")
model.answer(["a short message", "a long one " * 20])  # compiles
requests = asyncio.Queue()


async def answer_all():
    while True:
        batch = [await requests.get()]
        while len(batch) < 32 and not requests.empty():
            batch.append(requests.get_nowait())
        texts, futures = zip(*batch)
        try:
            found = await asyncio.to_thread(model.answer, list(texts))
        except Exception as error:
            found = [error] * len(batch)
        for future, answer in zip(futures, found):
            if future.cancelled():  # the client is gone
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)


@contextlib.asynccontextmanager
async def with_worker(app):
    worker = asyncio.create_task(answer_all())
    yield
    worker.cancel()


app = fastapi.FastAPI(lifespan=with_worker)


@app.post("/answers")
async def answers(texts: list[str]):
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:  # half a character, which would fail the whole batch
        raise fastapi.HTTPException(422, str(error))
    futures = [asyncio.get_running_loop().create_future() for _ in texts]
    for request in zip(texts, futures):
        requests.put_nowait(request)
    return await asyncio.gather(*futures)
"""
Path("batches.py").write_text(program)
assert labels_from("batches") == labels

# %% [markdown]
# ## A search
#
# An embedder and the vectors of the documents, saved by `np.save`, make a search in as few lines:
#
# ```py
# model = keras_bert.BertEmbedder.from_preset("hf://sentence-transformers/all-MiniLM-L6-v2")
# vectors = np.load("notices.npy")
# app = fastapi.FastAPI()
#
#
# @app.get("/search")
# def search(query: str, top_k: int = 10):
#     try:
#         indices, similarities = model.search(query, vectors, top_k)
#     except ValueError as error:
#         raise fastapi.HTTPException(422, str(error))
#     return {"indices": indices[0].tolist(), "similarities": similarities[0].tolist()}
# ```
#
# ## Which server
#
# 32 clients at a time, each with a sentence a request, on two cores which the clients share with
# the server ([all of it](../results_speed.md#an-endpoint)):
#
# | server | requests/s | 95th percentile, ms | memory, MB |
# |---|---|---|---|
# | `model.answer` on TensorFlow, one by one | 82 | 764 | 1,115 |
# | `model.answer` on TensorFlow, in batches | 122 | 517 | 1,157 |
# | the [SavedModel](serve.py), in batches | 104 | 609 | 1,253 |
# | the [ONNX file](hand_it_over.py), one by one | 127 | 319 | 316 |
#
# - **Take `model.answer`** if the server needs what only this library does: documents in windows,
#   questions, entities in sentences, reranking.
# - **Take ONNX** for many servers: it needs a quarter of the memory, and neither Keras nor
#   TensorFlow.
# - **Take the SavedModel** where TensorFlow Serving runs already. It batches requests itself
#   (`--enable_batching`).
#
# A second process (`uvicorn endpoint:app --workers 2`) holds a second model. On a CPU it is worth
# its memory only with more cores than a model uses; on a GPU, use one process and batches.
