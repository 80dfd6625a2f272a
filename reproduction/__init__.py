"""The paper's tables and figures: which runs each needs, and the numbers it shows. One file each."""
