from .answer_view import show_answers as show_answers
from .answer_view import show_explanation as show_explanation
from .attention_view import show_attention as show_attention
