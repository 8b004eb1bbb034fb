"""Text in, text out: what a reviewer is asked, how the answer is read, what is written down."""
