"""The base of multiple choice and reranking: a score for each of an example's texts."""

from keras_bert.layers.choices import ChoicesAsRows, RowsAsChoices
from keras_bert.layers.dense_and_norms import dense
from keras_bert.layers.dropout import Dropout
from keras_bert.models.backbone import token_inputs
from keras_bert.models.bert_task import BertTask
from keras_bert.models.task_parts import score_policy


class SeveralTexts(BertTask):
    """A task whose inputs are `[B, C, S]`, C sequences of an example, and whose logits `[B, C]`."""

    name_of_texts: str

    def __init__(self, backbone, preprocessor=None, dropout=0.1, dtype=None, **kwargs):
        policy = score_policy(self, backbone, dtype, "pooled_output")
        inputs = token_inputs(backbone.input, (None, None))
        output_dropout = Dropout(dropout, name="output_dropout", dtype=policy)
        head = dense(1, "logits", dtype=policy)
        rows = ChoicesAsRows(name="rows", dtype=policy)(inputs)  # [B x C, S]
        scores = head(output_dropout(backbone(rows)["pooled_output"]))  # [B x C, 1]
        as_choices = RowsAsChoices(name=self.name_of_texts, dtype=policy)
        ids = inputs["token_ids"]
        logits = as_choices(scores, token_ids=ids, padding_mask=inputs["padding_mask"])  # [B, C]
        super().__init__(inputs, logits, backbone, preprocessor, dtype, **kwargs)
        self.head = head
        self.dropout = dropout
