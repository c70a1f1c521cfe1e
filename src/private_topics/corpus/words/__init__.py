"""From text to words: tokens, stop words, word lists."""
