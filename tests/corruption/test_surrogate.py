"""The surrogate of the meta attack: its training and its exact gradient."""

from __future__ import annotations

from typing import Any

import torch


def test_meta_gradient_against_finite_differences(graph: Any, surrogate: Any, attack_loss: Any) -> None:
    data = graph("continuous", nodes=24, features=5)
    x = data.x.double()
    model = surrogate(data, x, steps=60, hidden=4)
    generator = torch.Generator().manual_seed(0)
    labels = model.predict(x, data.y, generator)
    start = model.initial(5, generator)
    gradient = model.meta_gradient(x, labels, start)
    step = 1e-5
    differences = torch.zeros_like(x)
    for i in range(24):
        for j in range(5):
            change = torch.zeros_like(x)
            change[i, j] = step
            rise = attack_loss(model, x + change, labels, start) - attack_loss(model, x - change, labels, start)
            differences[i, j] = rise / (2 * step)
    assert float(gradient.abs().max()) > 1e-3
    torch.testing.assert_close(gradient, differences, rtol=1e-5, atol=1e-8)


def test_the_training_is_part_of_the_gradient(graph: Any, surrogate: Any) -> None:
    """Without the second term the gradient would be wrong on the training nodes by a large factor."""
    data = graph("continuous", nodes=24, features=5)
    x = data.x.double()
    model = surrogate(data, x, steps=60, hidden=4)
    start = model.initial(5, torch.Generator().manual_seed(0))
    whole = model.meta_gradient(x, data.y, start)
    weights = model.fit(model.train_rows @ x, data.y[model.train], start)
    variable = x.clone().requires_grad_()
    others = ~data.train_mask
    loss = torch.nn.functional.cross_entropy(model.logits(variable, weights)[others], data.y[others])
    (direct,) = torch.autograd.grad(loss, variable)
    assert float((whole - direct).norm() / whole.norm()) > 0.5


def test_unrolled_training_is_gradient_descent_with_momentum(graph: Any, surrogate: Any) -> None:
    data = graph("continuous", nodes=24, features=5)
    x = data.x.double()
    model = surrogate(data, x, steps=7, hidden=4)
    start = model.initial(5, torch.Generator().manual_seed(0))
    rows = model.train_rows @ x
    first, second = (w.clone().requires_grad_() for w in start)
    optimizer = torch.optim.SGD([first, second], lr=0.1, momentum=0.9)
    for _ in range(7):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(rows @ first @ second, data.y[data.train_mask]).backward()
        optimizer.step()
    ours = model.fit(rows, data.y[data.train_mask], start)
    torch.testing.assert_close(ours, (first.detach(), second.detach()))
