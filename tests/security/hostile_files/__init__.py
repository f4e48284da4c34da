"""Files as an enemy or an accident would leave them, among files that are to be found all the same."""
