"""The panel Ablation: what each cost of the kernel takes, from siblings of it that lack one."""
