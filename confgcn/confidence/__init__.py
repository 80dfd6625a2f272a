"""From a prediction to what a user may act on: probabilities that hold, sets that cover, decisions, reasons, doubts."""
