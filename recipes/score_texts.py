r"""Scores how likely texts are to a pre-trained BERT, without fine-tuning.

    python recipes/score_texts.py --init bert/preset --texts sentences.txt --output scores
    python recipes/score_texts.py --init bert/preset --minimal_pairs blimp --heldout_corpus others \
        --output scores

`--texts` is a file with a text per line. OUTPUT/scores.tsv has each text's log-likelihood, its
tokens and its perplexity. These are pseudo-log-likelihoods: each token is masked in turn.
`--minimal_pairs` is a folder of BLiMP or Zorro, pairs of a good and a bad sentence: the accuracy is
how often the good one is the more probable. `--heldout_corpus` is a corpus of prepare_corpus.py
that the model hasn't seen; it gives the losses of pre-training. OUTPUT/scores.json holds accuracies
and losses.
"""

import json
import math
from pathlib import Path

import _shared
import _tables
import keras_bert
from paper.minimal_pairs import minimal_pair_accuracy, read_minimal_pairs


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    add = parser.add_argument
    add("--init", required=True, help="preset or published weights to start from")
    add("--texts", help="file of texts, one per line")
    add("--minimal_pairs", help="file or folder of minimal pairs, of BLiMP or Zorro")
    add("--max_pairs", type=int, help="pairs to read of each file; by default, all")
    add("--heldout_corpus", help="folder from prepare_corpus.py")
    add("--output", required=True, help="output folder")
    add("--sequence_length", type=int, default=128, help="tokens per sequence")
    add("--batch_size", type=int, default=32, help="examples per step, over all devices")
    args = parser.parse_args(argv)
    if not (args.texts or args.minimal_pairs or args.heldout_corpus):
        parser.error("give --texts, --minimal_pairs or --heldout_corpus")
    return args


def write_scores(model, args):
    """Writes scores.tsv, a line for each text."""
    from _likelihoods import score_texts  # imports Keras: after parse_args

    texts = [line for line in _tables.read_text(args.texts).split("\n") if line.strip()]
    rows = [["log_likelihood", "tokens", "perplexity", "text"]]
    for text, score in zip(texts, score_texts(model, texts, args.batch_size), strict=True):
        sizes = f"{score['log_likelihood']:.6g}", len(score["tokens"]), f"{score['perplexity']:.6g}"
        rows.append([*sizes, text])
    path = Path(args.output) / "scores.tsv"
    _tables.write_table(path, rows)
    print(f"Wrote {path}, {len(texts):,} texts.")


def accuracies(model, pairs, args):
    """Returns the accuracy of each paradigm, and their mean."""
    found = {}
    for name, (good, bad) in pairs.items():
        found[name] = minimal_pair_accuracy(model, good, bad, args.batch_size)
        print(f"{name}: {found[name]:.3f}", flush=True)
    return {"minimal_pairs": sum(found.values()) / len(found), "paradigms": found}


def losses(model, args):
    """Returns the losses on a corpus, with masks of the default rates."""
    corpus = keras_bert.Corpus(args.heldout_corpus)
    corpus.check_tokenizer(model.preprocessor.tokenizer)
    data = keras_bert.heldout_dataset(
        corpus,
        corpus,
        batch_size=args.batch_size,
        sequence_length=args.sequence_length,
        next_sentence=model.next_sentence,
    )
    found = model.evaluate(data, return_dict=True, verbose=0)
    loss = found.get("masked_lm_loss", found["loss"])
    return {**found, "perplexity": math.exp(loss)}


def main(argv=None):
    args = parse_args(argv)
    from _runs import shown_scores  # imports Keras: after parse_args

    pairs = {}
    if args.minimal_pairs:
        pairs = read_minimal_pairs(args.minimal_pairs, args.max_pairs)
    model = keras_bert.BertPretrainer.from_preset(args.init, sequence_length=args.sequence_length)
    Path(args.output).mkdir(parents=True, exist_ok=True)
    scores = losses(model, args) if args.heldout_corpus else {}
    if args.texts:
        write_scores(model, args)
    if pairs:
        scores |= accuracies(model, pairs, args)
    if scores:
        path = Path(args.output) / "scores.json"
        path.write_text(json.dumps(scores, indent=2) + "\n", encoding="utf-8")
        print(shown_scores(scores))
        print(f"Wrote {path}")


if __name__ == "__main__":
    _shared.run_recipe(main)
