"""Who asks for votes, when there are enough, and what they prove: pure functions of votes, without torch."""
