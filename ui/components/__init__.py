"""What every page is drawn with: the style sheet, safe text, words, forms, charts, clicks."""
