"""The training loop for all methods: recipe, optimisers, selection and stopping rules, checkpoints."""
