"""What the language consists of, collected from its declarations: for the reference, editors, hover and completion."""
