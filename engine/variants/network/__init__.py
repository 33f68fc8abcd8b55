"""The stages of the CNN report, one per file, and what their kernels share in modules beside them."""
