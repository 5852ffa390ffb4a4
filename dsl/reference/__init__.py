"""The parts of the language, collected from their declarations for the reference, editors, hover and completion."""
