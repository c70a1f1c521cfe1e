"""Text and count files in, validated sparse counts out.

    texts/    files and folders → documents: a text and the label of its unit
    words/    text → words, and the vocabularies whose words are counted
    counts/   words by document → sparse counts; and files of counts, which skip the first two
    made_up/  corpora with known topics, to try the rest on

A document passes them in this order. Nothing here adds up documents or draws noise: the next stop is `sums`.
"""
