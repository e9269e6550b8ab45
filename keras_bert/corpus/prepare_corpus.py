"""Corpus preparation: turns raw text into the shards that pre-training reads."""

import collections
import dataclasses
import functools
import os
import time
from collections.abc import Sequence

from keras_bert.corpus.corpus_plan import ID_BITS, find_inputs, plan_description, plan_slices
from keras_bert.corpus.corpus_slice import PROGRESS_FOLDER, document_hashes, done_path, write_slice
from keras_bert.corpus.documents import Settings
from keras_bert.corpus.shards import CORPUS_FILE, Corpus, finish_corpus
from keras_bert.corpus.workers import progress_bar, run_locally, run_on_beam
from keras_bert.files.json_files import read_json, write_json
from keras_bert.files.remote import names_in, size_and_time
from keras_bert.files.whole import remove, remove_unfinished
from keras_bert.reports import Reports
from keras_bert.text.tokenizer import BertTokenizer

PLAN_FILE = "plan.json"


def prepare_corpus(
    inputs: str | os.PathLike | Sequence[str | os.PathLike],
    output: str | os.PathLike,
    tokenizer: BertTokenizer,
    *,
    text_format: str = "prose",
    document_separator: str | None = None,
    text_column: str = "text",
    language: str = "en",
    language_column: str | None = None,
    min_tokens: int = 1,
    drop_repeated: bool = False,
    seed: int = 0,
    num_workers: int | None = None,
    beam_options: Sequence[str] | None = None,
    progress: bool = True,
) -> Corpus:
    r"""Turns raw text into a folder of tokenized documents for `pretraining_dataset`.

    Run it once per corpus and vocabulary. The text is cut into slices, which are processed in
    parallel; each becomes a shard. Memory does not grow with the corpus. Rerun the same call to
    resume an interrupted run.

    Source: the first half of `create_pretraining_data.py` in google-research/bert, whose input
    format is `text_format="sentences"`.

    Args:
        inputs: path or list of paths of text files (.txt, UTF-8 or with a byte order mark), files
            with a text in each row (.jsonl, .parquet), folders of such files, or patterns such as
            `"texts/*.parquet"`; local, or `gs://bucket/folder`, or
            `hf://datasets/user/name@revision/file`. All but .parquet may be compressed (.gz, .bz2,
            .zst); then one worker reads each. A file that is given twice or linked is read once; a
            vocab.txt is skipped.
        output: folder of the corpus; created if missing.
        tokenizer: `BertTokenizer`.
        text_format: format of each text file or row. "prose" has one paragraph per line, or wrapped
            paragraphs separated by blank lines; sentences are detected. "sentences" has one
            sentence per line and a blank line between documents.
        document_separator: regular expression for "prose". A line with a match separates two
            documents and belongs to neither, for example `r"^CHAPTER "`, or `r"^\s*$"` for blank
            lines. By default each text file and each row is one document.
        text_column: column of the texts in .jsonl and .parquet files.
        language: language code, for the rules that end sentences.
        language_column: column of their language codes; null stands for `language`.
        min_tokens: number of tokens; shorter documents are left out.
        drop_repeated: whether to leave out documents with the text of an earlier one; of text files
            above 2 MB, only exact copies are found. This machine then reads all inputs first, with
            about 200 bytes of memory per document.
        seed: seed of the order of documents within a shard.
        num_workers: number of processes; by default one per available core, or fewer for small
            inputs. 1 means this process itself.
        beam_options: list of str, the pipeline options with which slices run on Apache Beam, for
            example `["--runner=DirectRunner"]`. All workers must reach the inputs and the output by
            the same paths.
        progress: whether to show a progress bar and print a summary.

    Returns:
        `Corpus`, whose `description` also has "reports" of irregularities in the input.

    Raises:
        ValueError: if inputs are missing, damaged, of an unknown kind, without the column or
            without any text, or if the output folder holds another corpus.
        OSError: if a shard cannot be written, for example because the disk is full.
        RuntimeError: if a worker process dies.

    Example:
    ```python
    tokenizer = keras_bert.BertTokenizer("vocab.txt")
    corpus = keras_bert.prepare_corpus(["novels/"], "corpus", tokenizer)
    corpus.num_documents, corpus.num_tokens
    ```
    """
    is_plain = isinstance(tokenizer, BertTokenizer) and tokenizer.strip_accents
    if not is_plain or tokenizer.family or tokenizer.added_tokens:
        raise ValueError(
            "A corpus has the tokens of a BertTokenizer with family=None and no added_tokens, "
            f"which strips accents if it lowercases; got {tokenizer!r}."
        )
    output = os.fspath(output)
    settings = Settings(
        text_format=text_format,
        document_separator=document_separator,
        language=language,
        seed=seed,
        text_column=text_column,
        language_column=language_column,
        min_tokens=min_tokens,
        drop_repeated=drop_repeated,
    )
    reports = Reports()
    slices = plan_slices(find_inputs(inputs, reports), settings)
    description = plan_description(slices, settings, tokenizer)
    if corpus := _open_folder(output, description):
        if progress:
            print(f"{corpus} was finished before.")
        return corpus
    work = functools.partial(write_slice, folder=output, settings=settings, tokenizer=tokenizer)
    started = time.monotonic()
    if drop_repeated:
        slices = _without_repeated(slices, settings, num_workers, progress)
    left = [slice_ for slice_ in slices if not _read_done(output, slice_)]
    if beam_options is None:
        written = run_locally(left, work, num_workers)
    else:
        written = run_on_beam(left, work, beam_options)
    num_tokens = _show_progress(written, output, slices, left, progress)
    seconds = time.monotonic() - started
    corpus = _finish(output, tokenizer, slices, description, reports)
    if progress:
        for line in reports.lines():
            print(f"note: {line}")
        print(f"{corpus}: {num_tokens:,} tokens in {seconds:,.1f} s, {num_tokens / seconds:,.0f}/s")
    return corpus


def _open_folder(output, description):
    """Prepares a folder to write or resume this corpus; returns the corpus if it is finished."""
    progress_folder = os.path.join(output, PROGRESS_FOLDER)
    plan_path = os.path.join(progress_folder, PLAN_FILE)
    corpus = None
    plan = description
    if size_and_time(os.path.join(output, CORPUS_FILE)):
        corpus = Corpus(output)
        plan = corpus.description.get("prepared_with", {})
    elif any(name.startswith("shard-") for name in names_in(output)):
        plan = read_json(plan_path)  # all settings differ from those of unknown shards
    names = {*plan, *description}
    if different := sorted(name for name in names if plan.get(name) != description.get(name)):
        raise ValueError(
            f"{output} holds a corpus, finished or not, that was made with different "
            f"{', '.join(different)}. Give another output folder, or remove this one."
        )
    remove_unfinished(output)
    if corpus:
        remove(progress_folder)  # of a run that was killed at its end
        return corpus
    remove_unfinished(progress_folder)
    write_json(plan_path, description, indent=None)
    return None


def _read_done(output, slice_):
    """Reads what `write_slice` wrote about a slice; None unless its shard is complete."""
    try:
        done = read_json(done_path(output, slice_))
        num_bytes, _ = size_and_time(os.path.join(output, slice_.shard))
        return done if done["shard"]["num_bytes"] == num_bytes else None
    except (ValueError, TypeError, KeyError):  # missing or damaged: the shard is written again
        return None


def _without_repeated(slices, settings, num_workers, progress):
    """Returns the slices, with those of their documents marked whose text occurs earlier."""
    work = functools.partial(document_hashes, settings=settings)
    digests = collections.defaultdict(bytes)
    with progress_bar("repeated", slices, progress) as bar:
        for slice_, hashes in run_locally(slices, work, num_workers):
            for id, digest in hashes:  # a large text has one in each of its slices
                digests[id] += digest
            bar.update(slice_.text_bytes)
    seen = set()
    repeated = collections.defaultdict(set)  # by the slice in which they begin
    for id, digest in digests.items():
        if digest in seen:
            repeated[id >> ID_BITS].add(id)
        seen.add(digest)
    return [dataclasses.replace(slice_, repeated=repeated[slice_.first]) for slice_ in slices]


def _show_progress(written, output, slices, left, progress):
    """Shows a progress bar while the slices that are left are written; returns their tokens."""
    num_kept = len(slices) - len(left)
    started = time.monotonic()
    num_documents = num_tokens = 0
    with progress_bar("corpus", left, progress) as bar:
        if num_kept:
            bar.write(f"{num_kept:,} of {len(slices):,} shards exist from an earlier run.")
        for slice_, _ in written:
            shard = _read_done(output, slice_)["shard"]
            num_documents += shard["num_documents"]
            num_tokens += shard["num_tokens"]
            speed = num_tokens / (time.monotonic() - started)
            counts = f"{num_documents:,} documents, {num_tokens:,} tokens, {speed:,.0f} tokens/s"
            bar.set_postfix_str(counts, refresh=False)
            bar.update(slice_.text_bytes)
    return num_tokens


def _finish(output, tokenizer, slices, description, reports):
    shards = []
    languages = collections.Counter()
    lengths = collections.Counter()  # of a document that is cut into slices, a length in each
    for slice_ in slices:
        done = _read_done(output, slice_)
        shard = done["shard"]
        reports.merge(done["reports"])
        languages.update(shard.pop("languages"))
        lengths[slice_.first] += shard.pop("longest_document")
        if shard["num_records"]:
            shards.append(shard)
        else:
            remove(os.path.join(output, slice_.shard))
    progress_folder = os.path.join(output, PROGRESS_FOLDER)
    if not shards:
        remove(progress_folder)
        raise ValueError(
            "There is no text in the input. Give files that contain text. "
            f"{'; '.join(reports.lines())}"
        )
    corpus = finish_corpus(
        output,
        tokenizer,
        shards,
        longest_document=max(lengths.values()),
        languages=dict(languages.most_common()),
        reports=reports.as_dict(),
        prepared_with=description,
    )
    remove(progress_folder)
    return corpus
