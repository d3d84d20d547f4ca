"""Context blocks: labelled pieces of the system prompt, and where their text comes from."""
