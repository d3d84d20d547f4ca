"""Messages in the shapes of the model vendors, and back again."""
