"""What is known of words before a private corpus is read: vectors and frequencies from public text.

    table.py          vectors by word, as a file has them, and how a column finds its row
    vector_files.py   a file of any known format → a table; text_vectors.py, npz_vectors.py: the formats
    cooccurrence.py   counts of a public corpus → vectors
    public_texts.py   public texts → counts
    shipped.py        the tables that come with the package
    public.py         `PublicKnowledge`: all of it aligned to the columns of a corpus
    sources.py        what a user names, opened and digested before the corpus, aligned after

Nothing here sees a private corpus, but the words that are its columns: they must be public or released.
"""
