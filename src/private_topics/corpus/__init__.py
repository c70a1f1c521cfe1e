"""Text and count files in, validated sparse counts out."""
