"""Words of pages and of queries; every function depends on its arguments only.

segment   text to the words (tokens) that the index holds
query     what a user typed to a `Query`
snippet   the passage of a stored text that shows the hits
"""
