"""Sums of products that tensor cores form: of bytes with slices of weights, and of halves of float32."""
