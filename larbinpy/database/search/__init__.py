"""Words of pages and of queries; every function depends on its arguments only.

segment      text to the words (tokens) that the index holds, and typed words to the same tokens
fingerprint  pages that say the same but for a few words
query        the text that a user typed to a `Query`, with the values of its operators
snippet      the passage of a stored text that shows most of what a query has found
"""
