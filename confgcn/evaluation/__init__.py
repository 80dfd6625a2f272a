"""Numbers from predictions and labels; nothing here knows a method or a file."""
