"""Training and inference on one GPU, on JAX or PyTorch: plain, fused, padded and packed.

    pip install ".[dev]" "jax[cuda12]"
    python benchmarks/gpu.py --keras_hub    # Base and Large, 128 and 512 tokens
    KERAS_BACKEND=torch python benchmarks/gpu.py --transformers
    python benchmarks/gpu.py --quick       # tiny shapes, to try the script

Steps of `BertPretrainer.fit` in mixed_bfloat16, on synthetic tokens whose lengths are spread as
those of Wikipedia's documents. `plain` has attention dropout, as in the paper. `fused` runs the
kernel of cuDNN or PyTorch, which has none (`attention_dropout=0`). Tokens are real ones, without
padding. MFU is the share of the GPU's peak that the matrix products of these tokens take, attention
to padding and to other sequences not counted. GiB are the most that any case so far has used. Needs
no TensorFlow.

Inference is that of the encoder in bfloat16, on the same lengths, padded. `--keras_hub` has
KerasHub's encoder in turn, and the `fit` of its masked LM, which has no next sentence prediction;
`--transformers` has those of transformers with SDPA, and its training with torch.compile. No case
starts after `--minutes`, so that two runs, one on each backend, fit into 8.
"""

import argparse
import contextlib
import os
import statistics
import time

if __name__ == "__main__":  # before Keras and JAX are imported
    os.environ.setdefault("KERAS_BACKEND", "jax")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # memory is what is used

import keras
import numpy as np
from plan.train_step import pretraining_batch, pretraining_flops

import keras_bert
from keras_bert.training.keras_internals import build_from_batch

PEAKS = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "L4": 121e12, "V100": 125e12}
CASES = [  # size, tokens of a row, rows, packed, fused
    ("base", 512, 64, False, False),
    ("base", 512, 64, False, True),
    ("base", 512, 64, True, True),
    ("base", 128, 256, False, False),
    ("base", 128, 256, False, True),
    ("base", 128, 256, True, True),
    ("large", 512, 32, True, True),
    ("large", 128, 128, True, True),
    ("large", 512, 32, False, False),
]


def real_lengths(rng, rows, length, packed):
    """Tokens of each sequence of a row: as long as rows mostly, some much shorter."""
    short = rng.random((rows, 8)) < 0.4
    lengths = np.where(short, rng.integers(length // 8, length, (rows, 8)), length)
    if not packed:
        return lengths[:, :1]
    lengths = rng.integers(length // 8, length // 2, (rows, 8))
    before = np.cumsum(lengths, axis=1) - lengths
    return np.clip(length - before, 0, lengths)


def make_batch(model, rows, length, packed):
    """A batch of random tokens; returns it with the lengths of its sequences."""
    rng = np.random.default_rng(1)
    predictions = 4 * -(-15 * length // 400)
    x, y, weights = pretraining_batch(model, rows, length, predictions, 8 if packed else None)
    lengths = real_lengths(rng, rows, length, packed)
    ends = np.cumsum(lengths, axis=1)
    positions = np.arange(length)
    is_token = positions < ends[:, -1:]
    x["token_ids"] = np.where(is_token, rng.integers(1000, 30000, (rows, length)), 0).astype(
        "int32"
    )
    if packed:
        ids = 1 + (positions >= ends[:, :, None]).sum(1)
        x["sequence_ids"] = np.where(is_token, ids, 0).astype("int32")
        x["cls_positions"] = np.where(lengths > 0, ends - lengths, 0).astype("int32")
        weights["next_sentence"] = (lengths > 0).astype("float32")
    else:
        x["padding_mask"] = is_token.astype("int32")
        weights["next_sentence"] = np.ones(rows, "float32")
    x["mask_positions"] = np.tile(np.arange(predictions, dtype="int32"), (rows, 1))
    weights["masked_lm"] = np.ones((rows, predictions), "float32")
    return (x, y, weights), lengths


def model_flops(model, lengths, num_predictions):
    """FLOPs of the products that real tokens need: attention within each sequence."""
    used = lengths[lengths > 0]
    tokens = sum(pretraining_flops(model.backbone, int(n), 0, False) for n in used)
    return tokens + pretraining_flops(model.backbone, 0, num_predictions)


def jax_runner(model, batch):
    """Returns a function that runs a number of training steps to their end."""
    import jax

    from keras_bert.training.jax_loop import compiled, one_or_more

    build_from_batch(model, jax.tree.map(lambda values: values[:1], batch))
    steps = compiled(one_or_more(model.train_step, lambda values: values))
    state = tuple(
        [variable.value for variable in part]
        for part in (
            model.trainable_variables,
            model.non_trainable_variables,
            model.optimizer.variables,
            model.metrics_variables,
        )
    )
    batches = (jax.device_put(batch),)

    def run(number):
        nonlocal state
        for _ in range(number):
            logs, state = steps(state, batches)
        jax.block_until_ready(logs)

    return run


def torch_runner(model, batch):
    """Like `jax_runner`, on PyTorch."""
    import torch

    build_from_batch(model, keras.tree.map_structure(lambda values: values[:1], batch))
    batch = keras.tree.map_structure(keras.ops.convert_to_tensor, batch)

    def run(number):
        for _ in range(number):
            logs = model.train_step(batch)
        keras.tree.map_structure(float, logs)
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    return run


def device_name():
    if keras.backend.backend() == "torch":
        import torch

        name = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
        return f"{name}, PyTorch {torch.__version__}"
    import jax

    return f"{jax.devices()[0].device_kind}, JAX {jax.__version__}"


def peak_bytes():
    """Returns the most memory of the device that was used so far."""
    if keras.backend.backend() == "torch":
        import torch

        return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
    import jax

    return (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)


def measure(size, length, rows, packed, fused, args):
    keras.utils.set_random_seed(1)
    backbone = keras_bert.BertBackbone(
        30522, attention_dropout=0.0 if fused else None, **keras_bert.sizes.SIZES[size]
    )
    model = keras_bert.BertPretrainer(backbone)
    model.compile(**model.default_compile_args())
    batch, lengths = make_batch(model, rows, length, packed)
    runner = torch_runner if keras.backend.backend() == "torch" else jax_runner
    run = runner(model, batch)
    started = time.perf_counter()
    run(1)
    first = time.perf_counter() - started
    times = []
    for _ in range(args.repeats):
        started = time.perf_counter()
        run(args.steps)
        times.append((time.perf_counter() - started) / args.steps)
    seconds = statistics.median(times)
    flops = model_flops(model, lengths, batch[0]["mask_positions"].size)
    print(
        f"| {size} | {rows} x {length} | {'packed' if packed else 'padded'} | "
        f"{'fused' if fused else 'plain'} | {lengths.sum() / rows / length:.3f} | "
        f"{1000 * seconds:.1f} | {lengths.sum() / seconds:,.0f} | "
        f"{flops / seconds / args.peak:.1%} | {peak_bytes() / 2**30:.1f} | {first:.0f} |",
        flush=True,
    )


def encoded(model, inputs):
    return np.float32(keras.ops.convert_to_numpy(model.backbone(inputs)["sequence_output"]))


def agreement():
    """Prints how far the encoder's vectors are apart with fused and with plain attention."""
    keras.utils.set_random_seed(1)
    model = keras_bert.BertPretrainer(keras_bert.BertBackbone(30522, **keras_bert.sizes.small))
    for packed in (False, True):
        (x, _, _), lengths = make_batch(model, 4, 512, packed)
        is_token = np.arange(512) < lengths.sum(1, keepdims=True)
        inputs = {name: values for name, values in x.items() if name != "mask_positions"}
        fused = encoded(model, inputs)[is_token]
        keras.config.disable_flash_attention()
        plain = encoded(model, inputs)[is_token]
        keras.config.enable_flash_attention()
        difference = np.abs(fused - plain)
        print(
            f"{'packed' if packed else 'padded'} rows: fused and plain differ by "
            f"{difference.mean():.2g} on average, {difference.max():.2g} at most; the values are "
            f"around {np.abs(plain).mean():.2g}"
        )


def transformers_speed(args):
    """Measures transformers' BertForPreTraining with SDPA and torch.compile, padded rows."""
    import torch
    import transformers

    for length, rows in args.training:
        config = transformers.BertConfig(attn_implementation="sdpa")
        model = torch.compile(transformers.BertForPreTraining(config).cuda().train())
        optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
        rng = np.random.default_rng(1)
        lengths = real_lengths(rng, rows, length, False)
        is_token = torch.tensor(np.arange(length) < lengths).cuda()
        ids = torch.randint(1000, 30000, (rows, length)).cuda()
        labels = torch.where(torch.rand(rows, length).cuda() < 0.15, ids, -100)
        order = torch.zeros(rows, dtype=torch.long).cuda()

        def step(model, optimizer, ids, is_token, labels, order):
            with torch.autocast("cuda", torch.bfloat16):
                loss = model(ids, is_token, labels=labels, next_sentence_label=order).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

        arguments = model, optimizer, ids, is_token.long(), labels, order
        for _ in range(3):
            step(*arguments)
        torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(args.steps):
            step(*arguments)
        torch.cuda.synchronize()
        seconds = (time.perf_counter() - started) / args.steps
        print(
            f"transformers, base, {rows} x {length}, padded: {1000 * seconds:.1f} ms, "
            f"{lengths.sum() / seconds:,.0f} real tokens/s",
            flush=True,
        )


def keras_hub_model():
    """Makes KerasHub's encoder of Base's size."""
    import keras_hub

    base = keras_bert.sizes.base
    names = ("num_layers", "num_heads", "hidden_dim", "intermediate_dim")
    return keras_hub.models.BertBackbone(30522, **{name: base[name] for name in names})


def keras_hub_speed(args):
    """Measures the training of KerasHub's masked LM by its `fit`, padded rows."""
    import keras_hub

    for length, rows in args.training:
        rng = np.random.default_rng(1)
        lengths = real_lengths(rng, rows, length, False)
        num_rows = args.steps * rows  # of an epoch
        x = padded_inputs(rng, np.tile(lengths, (args.steps, 1)), length)
        x["mask_positions"] = np.tile(np.arange(4 * -(-15 * length // 400)), (num_rows, 1))
        labels = rng.integers(1000, 30000, x["mask_positions"].shape)
        model = keras_hub.models.BertMaskedLM(keras_hub_model())
        optimizer = keras.optimizers.AdamW(1e-4, global_clipnorm=1.0)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer, loss, jit_compile=keras.backend.backend() == "jax")
        ends = Ends()
        options = {"batch_size": rows, "epochs": 1 + args.repeats, "callbacks": [ends]}
        model.fit(x, labels, shuffle=False, verbose=0, **options)
        seconds = statistics.median(np.diff(ends.times)) / args.steps
        print(
            f"keras_hub's masked LM, base, {rows} x {length}, padded: {1000 * seconds:.1f} ms, "
            f"{lengths.sum() / seconds:,.0f} real tokens/s",
            flush=True,
        )


class Ends(keras.callbacks.Callback):
    """Notes when epochs end, whose logs wait for the device."""

    def on_train_begin(self, logs=None):
        self.times = []

    def on_epoch_end(self, epoch, logs=None):
        self.times.append(time.perf_counter())


def padded_inputs(rng, lengths, length):
    """Makes an encoder's inputs of random tokens, int32 `[rows, length]` each."""
    is_token = np.arange(length) < lengths
    token_ids = np.where(is_token, rng.integers(1000, 30000, is_token.shape), 0)
    inputs = {"token_ids": token_ids, "segment_ids": 0 * token_ids, "padding_mask": is_token}
    return {name: values.astype("int32") for name, values in inputs.items()}


def encoders(args):
    """Yields `(library, function of arrays on the device)`, encoders of Base in bfloat16."""
    with_keras = {"keras_bert": keras_bert.BertBackbone(30522, **keras_bert.sizes.base)}
    if args.keras_hub:
        with_keras["keras_hub"] = keras_hub_model()
    for library, model in with_keras.items():
        if keras.backend.backend() == "jax":
            import jax

            weights = [v.value for v in model.trainable_variables]
            others = [v.value for v in model.non_trainable_variables]

            @jax.jit
            def run(weights, others, inputs, model=model):
                return model.stateless_call(weights, others, inputs)[0]["sequence_output"]

            yield library, lambda x, run=run, parts=(weights, others): run(*parts, x)
        else:
            yield library, lambda x, model=model: model(x)["sequence_output"]
    if args.transformers:
        import torch
        import transformers

        config = transformers.BertConfig(attn_implementation="sdpa")
        bert = transformers.BertModel(config, add_pooling_layer=False).to(torch.bfloat16).eval()
        bert = bert.cuda() if torch.cuda.is_available() else bert

        def encode(x):
            return bert(x["token_ids"].long(), x["padding_mask"], x["segment_ids"].long())[0]

        yield "transformers", encode


def inference_speed(args):
    """Measures encoders in turns, on padded rows."""
    keras.config.set_dtype_policy("bfloat16")
    ran = list(encoders(args))
    wait = waiter()
    for length, rows in args.inference:
        rng = np.random.default_rng(1)
        lengths = real_lengths(rng, rows, length, False)
        x = padded_inputs(rng, lengths, length)
        x = {name: keras.ops.convert_to_tensor(values) for name, values in x.items()}
        times = {library: [] for library, _ in ran}
        for turn in range(1 + args.repeats):
            for library, encode in ran:
                started = time.perf_counter()
                with without_gradients():
                    for _ in range(args.steps):
                        outputs = encode(x)
                wait(outputs)
                if turn:
                    times[library].append((time.perf_counter() - started) / args.steps)
        for library, taken in times.items():
            seconds = statistics.median(taken)
            print(
                f"| {library} | {rows} x {length} | {1000 * seconds:.2f} ms | "
                f"{lengths.sum() / seconds:,.0f} real tokens/s |",
                flush=True,
            )


def without_gradients():
    if keras.backend.backend() == "jax":
        return contextlib.nullcontext()
    import torch

    return torch.inference_mode()


def waiter():
    """Returns a function that waits for what the device computes."""
    if keras.backend.backend() == "jax":
        import jax

        return jax.block_until_ready
    import torch

    return lambda _: torch.cuda.synchronize() if torch.cuda.is_available() else None


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=10, help="steps of a measurement")
    parser.add_argument("--repeats", type=int, default=3, help="measurements; the median counts")
    parser.add_argument("--minutes", type=float, default=3, help="start no case after this time")
    parser.add_argument("--cases", type=int, nargs="+", help="numbers of cases; all by default")
    parser.add_argument("--keras_hub", action="store_true", help="measure KerasHub")
    parser.add_argument("--transformers", action="store_true", help="measure transformers")
    parser.add_argument("--quick", action="store_true", help="tiny shapes, to try the script")
    args = parser.parse_args(argv)
    args.training = [(512, 64), (128, 256)]  # tokens, rows
    args.inference = [*args.training, (128, 1)]
    if args.quick:
        args.cases, args.steps, args.repeats = [], 1, 1
        args.training = args.inference = [(128, 2)]
    return args


def main():
    args = parse_args()
    started = time.perf_counter()
    keras.config.set_dtype_policy("mixed_bfloat16")
    name = device_name()
    args.peak = next((peak for kind, peak in PEAKS.items() if kind in name), float("nan"))
    print(f"{name}, Keras {keras.__version__}")
    agreement()
    print("| size | rows | | attention | real | ms a step | real tokens/s | MFU | GiB | first s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for number, case in enumerate(CASES):
        if args.cases is not None and number not in args.cases:
            continue
        if time.perf_counter() - started > 60 * args.minutes:
            print(f"no time left for {case}")
            continue
        measure(*case, args)
    if args.keras_hub:
        keras_hub_speed(args)
    print("| encoder | rows | a batch | speed |\n|---|---|---|---|")
    inference_speed(args)
    if args.transformers and not args.quick:
        transformers_speed(args)


if __name__ == "__main__":
    main()
