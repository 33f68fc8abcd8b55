"""What a launch takes of a GPU, before it runs."""
