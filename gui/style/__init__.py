"""How everything looks: palettes, colours of variants, icons, the grid."""
