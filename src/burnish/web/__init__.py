"""The board and the API: read a request, call one function, render one view."""
