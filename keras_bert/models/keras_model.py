"""`keras.Model`, with a stub beside it.

Type checkers can't see Keras's classes and accept any attribute of their subclasses, misspelled
ones too.
"""

from keras import Model as Model
