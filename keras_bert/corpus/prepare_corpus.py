"""From raw text to the shards that pre-training reads."""

import json
import os
import time
import warnings

import tensorflow as tf
from tqdm import tqdm

from keras_bert.corpus.corpus_plan import (
    Settings,
    check_settings,
    find_inputs,
    plan_description,
    plan_slices,
)
from keras_bert.corpus.corpus_slice import PROGRESS_FOLDER, done_path
from keras_bert.corpus.local_workers import default_num_workers, run_locally
from keras_bert.corpus.shards import (
    CORPUS_FILE,
    Corpus,
    finish_corpus,
    remove_unfinished,
    write_whole,
)
from keras_bert.files.reports import Reports

PLAN_FILE = "plan.json"


def prepare_corpus(
    inputs,
    output,
    tokenizer,
    *,
    text_format="prose",
    document_separator=None,
    language="en",
    seed=0,
    num_workers=None,
    beam_options=None,
    progress=True,
):
    r"""Turns raw text into a folder of tokenized documents for `pretraining_dataset`.

    Use it once for a corpus and a vocabulary: pairs, masks and epochs are made later, while
    training. Text is cut into slices, each of which becomes a shard on some core; memory does not
    grow with the corpus. A run that was cut off goes on when the same call is made again.

    Stands in for the first half of `create_pretraining_data.py` in google-research/bert, whose
    input format is `text_format="sentences"`.

    Args:
        inputs: path, or list of paths, of text files (.txt, UTF-8 or with a byte order mark),
            MediaWiki dumps (`pages-articles`, .xml or .xml.bz2), or folders of those.
        output: folder for the corpus; made if it is not there.
        tokenizer: `BertTokenizer`.
        text_format: what text files hold. "prose": paragraphs, as lines or wrapped at some width
            and parted by blank lines; sentences are found. "sentences": one a line, with a blank
            line between documents.
        document_separator: regular expression for "prose"; a line in which it is found stands
            between two documents and belongs to neither, for example `r"^CHAPTER "`, or
            `r"^\s*$"` for blank lines. By default a file is a document.
        language: code of the language, for the rules by which sentences end.
        seed: of the order of documents within a shard.
        num_workers: processes; by default one for each core that this process may use, and fewer
            for small inputs. 1 is this process itself.
        beam_options: list of str, for example `["--runner=DirectRunner"]`: run the slices on
            Apache Beam with these pipeline options instead (`pip install keras3-bert[beam]`). All
            workers must see the inputs and the output by the same names.
        progress: show a progress bar and print a summary.

    Returns:
        `Corpus`, whose `description` also holds "reports": what was strange in the input.

    Raises:
        ValueError: for inputs that are missing, damaged or of an unknown kind, inputs without any
            text, or an output folder that holds another corpus.
        OSError: when a shard cannot be written, for example because the disk is full.
        RuntimeError: when a worker process dies.

    Example:
    ```python
    tokenizer = keras_bert.BertTokenizer("vocab.txt")
    corpus = keras_bert.prepare_corpus(["novels/"], "corpus", tokenizer)
    corpus.num_documents, corpus.num_tokens
    ```
    """
    output = os.fspath(output)
    settings = Settings(text_format, document_separator, language, seed)
    check_settings(settings)
    reports = Reports()
    files = find_inputs(inputs, reports)
    slices = plan_slices(files, settings)
    description = plan_description(slices, settings, tokenizer)
    if tf.io.gfile.exists(os.path.join(output, CORPUS_FILE)):
        return _finished_corpus(output, description)
    _open_folder(output, description)
    done = {slice_.index: _read_done(output, slice_, len(slices)) for slice_ in slices}
    left = [slice_ for slice_ in slices if done[slice_.index] is None]
    started = time.monotonic()
    work = (left, len(slices), output, settings, tokenizer)
    if beam_options is not None:
        from keras_bert.corpus.beam_workers import run_on_beam

        results = run_on_beam(*work, beam_options)
    else:
        if num_workers is None:
            num_workers = default_num_workers(sum(slice_.num_text_bytes for slice_ in left))
        results = run_locally(*work, num_workers)
    with _progress_bar(slices, done, progress) as bar:
        for slice_, result in results:
            done[slice_.index] = result
            _show_progress(bar, slice_, result)
    seconds = time.monotonic() - started
    corpus = _finish(output, tokenizer, slices, done, description, reports)
    if progress:
        num_new = sum(done[slice_.index]["shard"]["num_tokens"] for slice_ in left)
        print(_summary(corpus, num_new, seconds))
    return corpus


def _finished_corpus(output, description):
    corpus = Corpus(output)
    _check_same_plan(output, corpus.description.get("prepared_with", {}), description)
    progress_folder = os.path.join(output, PROGRESS_FOLDER)
    if tf.io.gfile.isdir(progress_folder):  # the run that finished was stopped just before this
        tf.io.gfile.rmtree(progress_folder)
    return corpus


def _open_folder(output, description):
    """Makes the folder, or checks that a run to go on with was started with the same plan."""
    plan_path = os.path.join(output, PROGRESS_FOLDER, PLAN_FILE)
    if tf.io.gfile.exists(plan_path):
        with tf.io.gfile.GFile(plan_path, "rb") as file:
            _check_same_plan(output, json.loads(file.read()), description)
    elif tf.io.gfile.isdir(output) and tf.io.gfile.glob(os.path.join(output, "shard-*")):
        raise ValueError(
            f"{output} holds shards of an unknown corpus. Give another output folder, or empty it."
        )
    try:
        tf.io.gfile.makedirs(os.path.dirname(plan_path))
    except tf.errors.OpError as error:
        raise OSError(f"The folder {output} cannot be made: {error.message}") from error
    for folder in (output, os.path.dirname(plan_path)):
        remove_unfinished(folder)
    write_whole(plan_path, json.dumps(description))


def _check_same_plan(output, old, new):
    if old != new:
        names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
        raise ValueError(
            f"{output} holds a corpus, whole or begun, that was made with other "
            f"{', '.join(names)}. Give another output folder, or remove this one to prepare the "
            "corpus anew."
        )


def _read_done(output, slice_, num_slices):
    """What an earlier run says of this slice; None where its shard is not whole."""
    path = done_path(output, slice_, num_slices)
    if not tf.io.gfile.exists(path):
        return None
    with tf.io.gfile.GFile(path, "rb") as file:
        done = json.loads(file.read())
    shard = os.path.join(output, done["shard"]["name"])
    whole = tf.io.gfile.exists(shard)
    whole = whole and tf.io.gfile.stat(shard).length == done["shard"]["num_bytes"]
    return done if whole else None


def _progress_bar(slices, done, progress):
    num_bytes = sum(slice_.num_bytes for slice_ in slices)
    bar = tqdm(total=num_bytes, unit="B", unit_scale=True, disable=not progress, desc="corpus")
    bar.num_documents = bar.num_tokens = 0
    bar.started = time.monotonic()
    kept = [slice_ for slice_ in slices if done[slice_.index]]
    if kept:
        bar.write(f"{len(kept):,} of {len(slices):,} shards are there from an earlier run.")
        bar.initial = bar.n = sum(slice_.num_bytes for slice_ in kept)
    return bar


def _show_progress(bar, slice_, result):
    bar.num_documents += result["shard"]["num_documents"]
    bar.num_tokens += result["shard"]["num_tokens"]
    speed = bar.num_tokens / (time.monotonic() - bar.started)
    bar.set_postfix_str(
        f"{bar.num_documents:,} documents, {bar.num_tokens:,} tokens, {speed:,.0f} tokens/s",
        refresh=False,
    )
    bar.update(slice_.num_bytes)


def _finish(output, tokenizer, slices, done, description, reports):
    """Turns the shards into a corpus, and removes what only a run to go on with needs."""
    results = [done[slice_.index] for slice_ in slices]
    for result in results:
        reports.merge(result["reports"])
    shards = [result["shard"] for result in results]
    filled = [shard for shard in shards if shard["num_records"]]
    progress_folder = os.path.join(output, PROGRESS_FOLDER)
    if not filled:
        for shard in shards:
            tf.io.gfile.remove(os.path.join(output, shard["name"]))
        tf.io.gfile.rmtree(progress_folder)
        raise ValueError(
            f"There is no text in the input ({len(slices):,} slices read). "
            + " ".join(["Found:", *reports.lines()] if reports.lines() else [])
            + " Give files that hold text."
        )
    for shard in shards:
        if not shard["num_records"]:
            tf.io.gfile.remove(os.path.join(output, shard["name"]))
    corpus = finish_corpus(
        output, tokenizer, filled, reports=reports.as_dict(), prepared_with=description
    )
    tf.io.gfile.rmtree(progress_folder)
    if corpus.num_documents == 1:
        warnings.warn(
            f"The corpus in {output} has one document only: next sentence prediction needs other "
            "documents to draw from. Give more files, or say with document_separator where "
            "documents end.",
            stacklevel=3,
        )
    return corpus


def _summary(corpus, num_new_tokens, seconds):
    lines = [
        f"{corpus.num_documents:,} documents, {corpus.num_sentences:,} sentences, "
        f"{corpus.num_tokens:,} tokens in {len(corpus.shards):,} shards; "
        f"{num_new_tokens:,} tokens in {seconds:,.1f} s, {num_new_tokens / seconds:,.0f} tokens/s",
        *(f"note: {line}" for line in Reports.of(corpus.description["reports"]).lines()),
        f"corpus: {corpus.folder}",
    ]
    return "\n".join(lines)
