"""Files as an attacker or an accident would leave them, among good files that must still be found."""
