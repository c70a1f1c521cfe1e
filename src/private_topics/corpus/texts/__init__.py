"""Files and folders of text: records in, documents out."""
