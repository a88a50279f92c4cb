"""The rules of writing, for each kind of database: rows, history, copies, texts of links."""
