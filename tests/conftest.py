"""What every test may ask for, and which services the suite runs on."""
