"""Files, whatever is in them: read with limits, written whole or not at all, locked; lines with checksums."""
