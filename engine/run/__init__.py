"""One run, in its order: resolve the request, refuse or prepare, verify, warm up, sample; and sweeps of many runs."""
