"""What the window knows: observable objects, item models and files. No widgets in here."""
