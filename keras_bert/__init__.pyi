"""Public names of keras_bert, each with its module.

An import here makes a name public: `__init__.py` reads this list and loads names on first use.
"""

from keras_bert import sizes as sizes
from keras_bert.corpus.heldout_dataset import heldout_dataset as heldout_dataset
from keras_bert.corpus.learn_vocabulary import learn_vocabulary as learn_vocabulary
from keras_bert.corpus.prepare_corpus import prepare_corpus as prepare_corpus
from keras_bert.corpus.pretraining_dataset import pretraining_dataset as pretraining_dataset
from keras_bert.corpus.shards import Corpus as Corpus
from keras_bert.finetuning.finetune import finetune as finetune
from keras_bert.layers.layer_combination import LayerCombination as LayerCombination
from keras_bert.metrics.classification import classification_scores as classification_scores
from keras_bert.metrics.entities import entity_scores as entity_scores
from keras_bert.metrics.glue import glue_scores as glue_scores
from keras_bert.metrics.multi_label import multi_label_scores as multi_label_scores
from keras_bert.metrics.regression import regression_scores as regression_scores
from keras_bert.metrics.retrieval import retrieval_scores as retrieval_scores
from keras_bert.metrics.retrieval import triplet_accuracy as triplet_accuracy
from keras_bert.metrics.squad import squad_scores as squad_scores
from keras_bert.models.bert_backbone import BertBackbone as BertBackbone
from keras_bert.models.bert_classifier import BertClassifier as BertClassifier
from keras_bert.models.bert_embedder import BertEmbedder as BertEmbedder
from keras_bert.models.bert_multiple_choice import BertMultipleChoice as BertMultipleChoice
from keras_bert.models.bert_pretrainer import BertPretrainer as BertPretrainer
from keras_bert.models.bert_reranker import BertReranker as BertReranker
from keras_bert.models.bert_span_labeler import BertSpanLabeler as BertSpanLabeler
from keras_bert.models.bert_task import BertTask as BertTask
from keras_bert.models.bert_token_classifier import BertTokenClassifier as BertTokenClassifier
from keras_bert.pictures.answer_view import show_answers as show_answers
from keras_bert.pictures.attention_view import show_attention as show_attention
from keras_bert.pictures.run_curves import plot_curves as plot_curves
from keras_bert.pictures.vector_picture import plot_vectors as plot_vectors
from keras_bert.planning.tpu_plan import TpuPlan as TpuPlan
from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor as BertPreprocessor
from keras_bert.preprocessing.split_examples import split_examples as split_examples
from keras_bert.presets.push_to_hub import push_to_hub as push_to_hub
from keras_bert.presets.save_checkpoint import save_to_google as save_to_google
from keras_bert.presets.save_checkpoint import save_to_hugging_face as save_to_hugging_face
from keras_bert.presets.save_checkpoint import save_to_keras_hub as save_to_keras_hub
from keras_bert.readers.choices import read_choices as read_choices
from keras_bert.readers.conll import read_conll as read_conll
from keras_bert.readers.glue import read_glue as read_glue
from keras_bert.readers.minimal_pairs import read_minimal_pairs as read_minimal_pairs
from keras_bert.readers.squad import read_squad as read_squad
from keras_bert.readers.table import read_table as read_table
from keras_bert.readers.texts_from_columns import texts_from_columns as texts_from_columns
from keras_bert.text.tokenizer import BertTokenizer as BertTokenizer
from keras_bert.training.adamw import AdamW as AdamW
from keras_bert.training.checkpointing import TrainingCheckpoint as TrainingCheckpoint
from keras_bert.training.embedding_losses import CoSENT as CoSENT
from keras_bert.training.embedding_losses import EmbeddingLoss as EmbeddingLoss
from keras_bert.training.embedding_losses import InBatchNegatives as InBatchNegatives
from keras_bert.training.lamb import Lamb as Lamb
from keras_bert.training.margin_mean_squared_error import (
    MarginMeanSquaredError as MarginMeanSquaredError,
)
from keras_bert.training.perplexity import Perplexity as Perplexity
from keras_bert.training.processes import is_chief as is_chief
from keras_bert.training.strategy import get_strategy as get_strategy
from keras_bert.training.throughput import Throughput as Throughput
from keras_bert.training.training_curves import TrainingCurves as TrainingCurves
from keras_bert.training.training_record import record_training as record_training
from keras_bert.training.warmup_linear_decay import WarmupLinearDecay as WarmupLinearDecay

__version__: str
from keras_bert.preprocessing.batching import Batching as Batching
from keras_bert.preprocessing.bert_classifier_preprocessor import (
    BertClassifierPreprocessor as BertClassifierPreprocessor,
)
from keras_bert.preprocessing.bert_embedder_preprocessor import (
    BertEmbedderPreprocessor as BertEmbedderPreprocessor,
)
from keras_bert.preprocessing.bert_multiple_choice_preprocessor import (
    BertMultipleChoicePreprocessor as BertMultipleChoicePreprocessor,
)
from keras_bert.preprocessing.bert_reranker_preprocessor import (
    BertRerankerPreprocessor as BertRerankerPreprocessor,
)
from keras_bert.preprocessing.bert_span_labeler_preprocessor import (
    BertSpanLabelerPreprocessor as BertSpanLabelerPreprocessor,
)
from keras_bert.preprocessing.bert_token_classifier_preprocessor import (
    BertTokenClassifierPreprocessor as BertTokenClassifierPreprocessor,
)
from keras_bert.presets.load_tokenizer import load_tokenizer as load_tokenizer
from keras_bert.presets.preset import load_preprocessor as load_preprocessor
