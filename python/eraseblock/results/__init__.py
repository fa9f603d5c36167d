"""Result records: storing them, and the view that tables and plots share."""
