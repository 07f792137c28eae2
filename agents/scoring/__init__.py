"""The rules scorer: an answer in, days of the last fourteen, a score from 0 to 4 and verbatim evidence out."""
