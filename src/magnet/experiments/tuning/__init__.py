"""The search for settings, and the settings that were found."""
