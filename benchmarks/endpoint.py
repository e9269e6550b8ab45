r"""Measures an endpoint in Python: requests a second, and how long a request takes.

    python benchmarks/endpoint.py --data data --model all-MiniLM-L6-v2

A server of FastAPI and uvicorn runs on the same cores as 32 clients, each of which sends a sentence
of `data/nli` at a time. The engines are the task's `answer`, its SavedModel, and its ONNX file
with onnxruntime and tokenizers; "one by one" answers each request in a thread, "in batches" all
requests that came while the model worked, at most 32, as the guide's second program does.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ENGINES = ("answer", "savedmodel", "onnx")
WAYS = ("one by one", "in batches")


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--data", required=True, help="folder with nli/")
    add("--model", required=True, help="preset or published weights")
    add("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), help="what answers")
    add("--requests", type=int, default=640, help="requests in all")
    add("--clients", type=int, default=32, help="clients at a time")
    add("--serve", nargs=3, help=argparse.SUPPRESS)  # folder, engine, way
    add("--port", type=int, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def engine_of(folder, engine):
    """Loads an engine; returns a function from texts to plain lists of probabilities."""
    if engine == "answer":
        import keras_bert

        model = keras_bert.BertTask.from_preset(folder / "preset")
        return lambda texts: [answer["probabilities"] for answer in model.answer(texts)]
    if engine == "savedmodel":
        import tensorflow as tf
        import tensorflow_text  # noqa: F401  the ops of the tokenizer

        served = tf.saved_model.load(str(folder / "served" / "1"))
        signature = served.signatures["serving_default"]
        return lambda texts: signature(text=tf.constant(texts))["probabilities"].numpy().tolist()
    import numpy as np
    import onnxruntime
    import tokenizers

    encoder = tokenizers.Tokenizer.from_file(str(folder / "onnx" / "tokenizer.json"))
    session = onnxruntime.InferenceSession(folder / "onnx" / "onnx" / "model.onnx")

    def probabilities(texts):
        rows = encoder.encode_batch(texts)
        inputs = {
            "input_ids": np.array([row.ids for row in rows]),
            "attention_mask": np.array([row.attention_mask for row in rows]),
            "token_type_ids": np.array([row.type_ids for row in rows]),
        }
        [logits] = session.run(["logits"], inputs)
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
        return (exponentials / exponentials.sum(axis=1, keepdims=True)).tolist()

    return probabilities


def make_app(run, in_batches):
    import fastapi

    waiting = asyncio.Queue()

    async def work():
        while True:
            batch = [await waiting.get()]
            while len(batch) < 32 and not waiting.empty():
                batch.append(waiting.get_nowait())
            texts, futures = zip(*batch, strict=True)
            found = await asyncio.to_thread(run, list(texts))
            for future, answer in zip(futures, found, strict=True):
                future.set_result(answer)

    @contextlib.asynccontextmanager
    async def lifespan(app):
        worker = asyncio.create_task(work())
        yield
        worker.cancel()

    app = fastapi.FastAPI(lifespan=lifespan)
    if in_batches:

        @app.post("/answers")
        async def answers(texts: list[str]):
            futures = [asyncio.get_running_loop().create_future() for _ in texts]
            for request in zip(texts, futures, strict=True):
                waiting.put_nowait(request)
            return await asyncio.gather(*futures)
    else:

        @app.post("/answers")
        def answers(texts: list[str]):
            return run(texts)

    return app


def serve(args):
    import uvicorn

    folder, engine, way = args.serve
    run = engine_of(Path(folder), engine)
    for number in (1, 8, 32):
        run(["a short one", "a long one " * 20] * number)
    uvicorn.run(make_app(run, way == "in batches"), port=args.port, log_level="warning")


def measured(folder, engine, way, texts, num_clients):
    """Returns the seconds of each request, those of all, and the server's memory in MB."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, __file__, "--data", "", "--model", ""]
    command += ["--serve", str(folder), engine, way, "--port", str(port)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    with subprocess.Popen(command, env=environment) as server:
        wait_for(port, server)

        def client(own):
            connection = http.client.HTTPConnection("127.0.0.1", port)
            taken = []
            for text in own:
                started = time.perf_counter()
                body, headers = json.dumps([text]), {"Content-Type": "application/json"}
                connection.request("POST", "/answers", body, headers)
                json.loads(connection.getresponse().read())
                taken.append(time.perf_counter() - started)
            return taken

        with ThreadPoolExecutor(num_clients) as pool:
            list(pool.map(client, [texts[:4]] * num_clients))  # warm
            started = time.perf_counter()
            shares = [texts[i::num_clients] for i in range(num_clients)]
            taken = [seconds for own in pool.map(client, shares) for seconds in own]
            whole = time.perf_counter() - started
        status = Path(f"/proc/{server.pid}/status").read_text()
        memory = int(status.partition("VmRSS:")[2].split()[0]) // 1024
        server.terminate()
    return taken, whole, memory


def wait_for(port, server):
    while server.poll() is None:
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.2)
    raise SystemExit("The server ended.")


def main():
    args = parse_args()
    if args.serve:
        serve(args)
        return
    from training_speed import processor

    import keras_bert

    table = keras_bert.readers.read_table(Path(args.data, "nli", "train.tsv"))
    texts = table.texts("sentence1")[: args.requests]
    print(f"{processor()}; {len(texts)} requests of {args.clients} clients")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = keras_bert.BertClassifier.from_preset(
            args.model, label_names=["no", "yes"], sequence_length=128
        )
        model.save_to_preset(folder / "preset")
        model.export(folder / "served")
        model.export(folder / "onnx", format="onnx")
        print("| engine | | requests/s | median, ms | 95th percentile, ms | memory, MB |")
        print("|---|---|---|---|---|---|")
        for engine in args.engines:
            for way in WAYS:
                taken, whole, memory = measured(folder, engine, way, texts, args.clients)
                cuts = statistics.quantiles(taken, n=20)
                print(
                    f"| {engine} | {way} | {len(taken) / whole:.0f} | {1e3 * cuts[9]:.0f} | "
                    f"{1e3 * cuts[18]:.0f} | {memory:,} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
