"""The parts of `sapwood chat`: a conversation, a model that answers, and a screen."""
