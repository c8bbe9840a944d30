"""Mutations of relevance propagation through layers."""

from mutation_parts.mutation import Mutation

PROPAGATE = (
    Mutation(
        "γ takes an output of zero for negative",
        "coefficients = torch.copysign(torch.ones_like(z), z).mul_(unsigned)",
        "coefficients = torch.where(z > 0, torch.ones_like(z), -torch.ones_like(z)).mul_(unsigned)",
        "test_propagate.py -k output_of_zero",
    ),
    Mutation(
        "γ favours nothing",
        "g = layer.passing(inputs), self.gamma / (2 + self.gamma)",
        "g = layer.passing(inputs), 0.0 * self.gamma",
        "test_propagate.py -k matrix_form",
    ),
    Mutation(
        "ε has the wrong sign for negative outputs",
        "torch.where(z < 0, -1.0, 1.0)",
        "torch.where(z < 0, 1.0, 1.0)",
        "test_propagate.py -k matrix_form",
    ),
    Mutation(
        "a zero denominator shares",
        "found.masked_fill_(denominator == 0, 0)",
        "found.masked_fill_(denominator == 0, 1)",
        "test_propagate.py -k cancel",
    ),
    Mutation(
        "the box forgets its upper corner",
        "own.total - lowest.total - highest.total",
        "own.total - lowest.total",
        "test_propagate.py -k 'matrix_form or box'",
    ),
    Mutation(
        "the bias takes part with either sign",
        "layer.bias.clamp(min=0) if positive",
        "layer.bias if positive",
        "test_propagate.py -k matrix_form",
    ),
    Mutation(
        "αβ adds what speaks against",
        "for_negative = -self.beta *",
        "for_negative = self.beta *",
        "test_propagate.py -k matrix_form",
    ),
    Mutation(
        "a normalisation before a layer loses its shift",
        "bias=affine(shifted))",
        "bias=affine.bias)",
        "test_propagate.py -k merged",
    ),
    Mutation(
        "a normalisation forgets its ε",
        "plain(norm.running_var) + norm.eps",
        "plain(norm.running_var) + 0.0",
        "test_propagate.py -k normalisation",
    ),
    Mutation(
        "the middle convolution counts as a lower one",
        "2 * place < len(convolutions)",
        "2 * place <= len(convolutions)",
        "test_propagate.py -k image_rules",
    ),
    Mutation(
        "a reference is not absorbed",
        "replace(layer, bias=layer(reference))",
        "replace(layer, bias=layer.bias)",
        "test_propagate.py -k 'centred or reference'",
    ),
    Mutation(
        "a layer called twice absorbs once",
        "self.absorbed.get(name, 0) + amount",
        "0 + amount",
        "test_propagate.py -k twice",
    ),
    Mutation(
        "what a rule absorbs is not noted",
        "walk.absorb(name, absorbed)",
        "walk.absorb(name, 0 * absorbed)",
        "test_propagate.py -k absorb",
    ),
    Mutation(
        "functions that overwrite go unnoticed",
        "slack = 1e-3 * float(expected.abs().max())",
        "slack = 1e9 * float(expected.abs().max())",
        "test_deep_robustness.py test_propagate.py -k overwrite",
    ),
    Mutation(
        "flat counts weights",
        "relevance, torch.ones_like(layer.weight))",
        "relevance, layer.weight.abs())",
        "test_propagate.py -k 'matrix_form or flat'",
    ),
    Mutation(
        "relevance of an input used twice is taken once",
        "amounts[source] + share if source in amounts else share",
        "share",
        "test_propagate.py -k 'twice or forward'",
    ),
    Mutation(
        "other weights are those that were passed",
        "self.weight is layer.weight and self.bias is layer.bias",
        "self.bias is layer.bias",
        "test_propagate_shared.py -k not_taken_for",
    ),
    Mutation(
        "another bias is the one that was passed",
        "self.weight is layer.weight and self.bias is layer.bias",
        "self.weight is layer.weight",
        "test_propagate_shared.py -k not_taken_for",
    ),
    Mutation(
        "another map is the one that was passed",
        "self.bias is layer.bias and self.apply is layer.apply",
        "self.bias is layer.bias",
        "test_propagate_shared.py -k not_taken_for",
    ),
)
