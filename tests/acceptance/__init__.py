"""What a running stack must do, known by its verbs and its HTTP address alone."""
