"""Files written whole or not at all, local and remote; UTF-8; JSON."""
