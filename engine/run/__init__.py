"""One run in its order: resolve the request, refuse or prepare, verify, warm up, sample; sweeps of many."""
