r"""Pre-trains a BERT in a day: newer settings than the paper's, and a budget of time.

    python recipes/pretrain_day.py --corpus corpus --heldout others --output day --hours 24

The settings are those of MosaicBERT (Portes et al. 2023) that leave the model BERT's. The learning
rate follows the clock, which counts evaluations and checkpoints, and not the pauses of a run that
is resumed. In another folder, `--init day/preset --sequence_length 512 --hours 2` continues with
longer rows.

Rerun the same command to resume from the last checkpoint; changed settings are refused. The result
is OUTPUT/preset, for every task. Watch it with `tensorboard --logdir OUTPUT/logs`.
"""

import _shared
import keras_bert
from keras_bert.sizes import SIZES

SETTINGS = "init size sequence_length batch_size seed learning_rate warmup_proportion beta_2 padded"
SETTINGS += " final_fraction dropout attention_dropout masked_lm_rate next_sentence"
DECAY = 1e-5  # of the weights, a step at the peak; our decay is multiplied by the rate


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    _shared.add_pretraining_arguments(parser)
    add = parser.add_argument
    add("--hours", type=float, default=24.0, help="hours to train for, without pauses")
    add("--sequence_length", type=int, default=128, help="tokens per sequence")
    add("--learning_rate", type=float, help="peak; by default, 5e-4, or 1e-3 below Base's width")
    add("--warmup_proportion", type=float, default=0.06, help="fraction of the hours for warm-up")
    add("--final_fraction", type=float, default=0.02, help="last rate, relative to the peak")
    add("--beta_2", type=float, default=0.98, help="decay of AdamW's second moment")
    add("--dropout", type=float, default=0.1, help="dropout rate of a new model")
    add("--attention_dropout", type=float, default=0.0, help="another one for attention")
    add("--next_sentence", action="store_true", help="also predict next sentences, in pairs")
    add("--padded", action="store_true", help="a sequence per row, in place of packed rows")
    parser.set_defaults(batch_size=4096, masked_lm_rate=0.3)
    args = parser.parse_args(argv)
    if args.hours <= 0 or args.save_every < 1:
        parser.error(f"{args.hours=} must be above 0, and {args.save_every=} at least 1")
    return args


def make_model(args, corpus):
    """Makes and compiles the pre-trainer; returns it and its budget."""
    from _time_budget import TimeBudget  # imports Keras: after parse_args

    tokenizer = keras_bert.BertTokenizer(corpus.vocabulary_path, corpus.lowercase)
    if args.init:
        corpus.check_tokenizer(keras_bert.BertTokenizer.from_preset(args.init))
        backbone = keras_bert.Backbone.from_preset(args.init)
    else:
        backbone = keras_bert.BertBackbone(
            tokenizer.vocabulary_size(),
            **SIZES[args.size],
            dropout=args.dropout,
            attention_dropout=args.attention_dropout,
        )
    backbone.remat = args.remat
    preprocessor = keras_bert.BertPreprocessor(tokenizer, sequence_length=args.sequence_length)
    model = keras_bert.BertPretrainer(backbone, args.next_sentence, preprocessor)
    peak = args.learning_rate or (5e-4 if backbone.hidden_dim >= 768 else 1e-3)
    arguments = model.default_compile_args()
    arguments["optimizer"] = keras_bert.AdamW(peak, weight_decay=DECAY / peak, beta_2=args.beta_2)
    model.compile(**arguments, steps_per_execution=args.steps_per_execution)
    seconds = 3600 * args.hours
    schedule = keras_bert.WarmupLinearDecay(
        peak,
        args.warmup_proportion * seconds,
        seconds,
        continuous=True,
        final_fraction=args.final_fraction,
    )
    return model, TimeBudget(model.optimizer, schedule)


def main(argv=None):
    args = parse_args(argv)
    import _runs  # imports Keras: after parse_args

    strategy = _runs.start_training(args)
    args.steps_per_execution = _runs.steps_per_execution(args, strategy, args.save_every)
    corpus = keras_bert.Corpus(args.corpus)
    data = {
        "batch_size": args.batch_size,
        "sequence_length": args.sequence_length,
        "next_sentence": args.next_sentence,
        "packed": not args.padded,
        "seed": args.seed,
    }
    # Without this recipe's rate of masks: the perplexities of all recipes compare.
    heldout = _runs.heldout_batches(args, corpus, data)
    checkpoint = keras_bert.TrainingCheckpoint(f"{args.output}/checkpoints")
    with strategy.scope():
        model, budget = make_model(args, corpus)
        done = checkpoint.restore(model)
    settings = {name: getattr(args, name) for name in SETTINGS.split()}
    settings |= {"corpus_documents": corpus.num_documents, "corpus_tokens": corpus.num_tokens}
    words = {"vocabulary_sha256": corpus.vocabulary_sha256, "lowercase": corpus.lowercase}
    _runs.write_settings(args.output, settings | words, resume=done > 0, strategy=strategy)
    print(_runs.describe_training(strategy, args.batch_size, model, args.accumulation_steps))
    print(f"{model.count_params():,} weights; {budget}.")
    budget.measure(model, checkpoint, heldout)
    if not budget.is_over:
        model.fit(
            keras_bert.pretraining_dataset(
                corpus, masked_lm_rate=args.masked_lm_rate, start_step=done, **data
            ),
            validation_data=heldout,
            initial_epoch=done // args.save_every,
            epochs=10**9,  # out of reach: the budget ends them
            steps_per_epoch=args.save_every,
            accumulation_steps=args.accumulation_steps,
            callbacks=[
                keras_bert.callbacks.Throughput(args.batch_size * args.sequence_length),
                keras_bert.callbacks.Perplexity(),
                _runs.tensorboard(args.output),
                checkpoint,
                budget,
            ],
        )
    done = _runs.optimizer_step(model)
    settings["hours"] = args.hours
    model.save_to_preset(f"{args.output}/preset", settings, _runs.heldout_scores(model, heldout))
    print(f"Pre-trained to step {done:,}. Preset: {args.output}/preset. Logs: {args.output}/logs.")


if __name__ == "__main__":
    _shared.run_recipe(main)
