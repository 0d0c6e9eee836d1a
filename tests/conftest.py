"""What all tests share."""

import os

import hypothesis

# A busy machine must not fail a test, and a failure must come back when it is looked for.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.register_profile("search", deadline=None, max_examples=2000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
