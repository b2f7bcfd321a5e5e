//! One file per model: means, matrix, eigenproblem, signs, attributes.
