"""Files written whole, and what this installation computes with."""
