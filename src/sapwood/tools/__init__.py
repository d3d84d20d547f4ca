"""Tools of a model: Python functions, and what servers of the Model Context Protocol have."""
