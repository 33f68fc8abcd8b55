"""What families of variants share: grids, shapes of tiles, loaders, sums, storers, whose cells are whose."""
