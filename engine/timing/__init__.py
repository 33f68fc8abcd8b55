"""One run, in its order: refuse or prepare, verify, warm up, sample. What is not verified has no speed."""
