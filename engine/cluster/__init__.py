"""Work over the workers of a Dask cluster; an extra: nothing of it is imported without being asked for."""
