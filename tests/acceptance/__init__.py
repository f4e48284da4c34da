"""What a running stack must do, known by its commands and address alone; it stops after its last test."""
