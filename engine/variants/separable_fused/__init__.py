"""`separable-fused`: both passes of a separable mask in one kernel."""
