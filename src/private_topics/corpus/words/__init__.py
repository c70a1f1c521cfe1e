"""From text to words: tokens, stop words, and the vocabularies they are counted over."""
