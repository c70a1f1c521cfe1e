"""Files and folders of text: records in, documents and the labels of their units out."""
