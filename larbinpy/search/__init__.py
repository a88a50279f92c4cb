"""Words of pages and of queries; every function depends on its arguments only.

segment       text to the words (tokens) that the index holds
  characters, simplified    classes of characters; traditional Chinese as simplified
  stems       a word to its token
fingerprint   pages that say the same but for a few words
query         the text that a user typed to a `Query`
  operators   the values of site:, lang:, type: and since:
  forms       a typed word as the tokens that pages have for it
  stop_words  words that are left out if others remain
occurrences   the places of a stored text that a query has found
snippet       the passage of a stored text that shows most of them
"""
