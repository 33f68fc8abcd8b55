"""`split-float16`: float32 on tensor cores as two float16 each."""
