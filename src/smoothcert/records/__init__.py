"""What is written and read again about trainings and certifications: parsed once, when it is read."""
