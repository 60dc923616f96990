"""Double DQN: the target, the error, one gradient step.

B = batch, T = 34 kinds. Targets and errors are for one transition; `update` takes a batch.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

Array = jax.Array
Params = Any


class Transition(NamedTuple):
    """One discard of a seat and what came of it by the same seat's next one.

    `reward` already holds the hand's final points if this was the seat's last discard; then
    `discount` is 0 and the next view means nothing.
    """

    view: Any  # features.View of the decision
    action: Array  # int8[]      kind discarded
    reward: Array  # float32[]   thousands of points
    discount: Array  # float32[]   0 if the hand ended before the seat's next discard
    next_view: Any  # features.View of the seat's next discard


def td_target(
    reward: Array,
    discount: Array,
    q_online: Array,
    q_target: Array,
    legal: Array,
    double: bool = True,
) -> Array:
    """Returns Y = r + discount · Q(s', a'; θ⁻), over the kinds that may be discarded in s'.

    Args:
      reward, discount: float32[].
      q_online: float32[T] Q(s', ·; θ).
      q_target: float32[T] Q(s', ·; θ⁻).
      legal: bool[T] kinds that may be discarded in s'.
      double: a' is the best kind of θ (Double DQN); otherwise of θ⁻ (DQN).

    Returns:
      float32[]; the reward alone where `legal` is empty.
    """
    chooser = jnp.where(legal, q_online if double else q_target, -jnp.inf)
    best = jnp.argmax(chooser)
    value = jnp.where(jnp.any(legal), jnp.take(q_target, best), 0.0)
    return reward + discount * value


def loss_of(error: Array, kind: str) -> Array:
    """Returns the loss of a TD error: half its square, or Huber's with slope 1 beyond 1."""
    return optax.losses.huber_loss(error) if kind == "huber" else 0.5 * jnp.square(error)


class Step(NamedTuple):
    """What one gradient step leaves behind."""

    params: Params
    optimiser: optax.OptState
    metrics: dict[str, Array]  # float32[] each


def update(
    q_values: Callable[[Params, Any], Array],
    legal_of: Callable[[Any], Array],
    optimiser: optax.GradientTransformation,
    params: Params,
    target_params: Params,
    optimiser_state: optax.OptState,
    batch: Transition,
    double: bool = True,
    loss: str = "huber",
    axis_name: str | None = None,
) -> Step:
    """Takes one gradient step on a batch.

    Args:
      q_values: `q_values(params, views) -> float32[B,T]`, for a batch of views.
      legal_of: `legal_of(views) -> bool[B,T]`, the kinds that may be discarded.
      optimiser: an Optax optimiser.
      params, target_params: θ and θ⁻.
      optimiser_state: the optimiser's.
      batch: B transitions.
      double: see `td_target`.
      loss: see `loss_of`.
      axis_name: of the devices that share the batch out evenly, each with B rows of it.

    Returns:
      The new θ and optimiser state, and metrics.
    """
    q_online = q_values(params, batch.next_view)
    q_target = q_values(target_params, batch.next_view)
    target = jax.vmap(td_target, in_axes=(0, 0, 0, 0, 0, None))(
        batch.reward, batch.discount, q_online, q_target, legal_of(batch.next_view), double
    )
    index = batch.action.astype(jnp.int32)[:, None]

    def mean_loss(params: Params) -> tuple[Array, Array]:
        q = jnp.take_along_axis(q_values(params, batch.view), index, axis=-1)[:, 0]
        return jnp.mean(loss_of(target - q, loss)), q

    (mean, q), gradient = jax.value_and_grad(mean_loss, has_aux=True)(params)
    metrics = {
        "loss": mean,
        "td_error": jnp.mean(jnp.abs(target - q)),
        "q": jnp.mean(q),
        "target": jnp.mean(target),
    }
    if axis_name is not None:
        gradient, metrics = lax.pmean((gradient, metrics), axis_name)
    metrics["gradient_norm"] = optax.tree.norm(gradient)
    change, optimiser_state = optimiser.update(gradient, optimiser_state, params)
    return Step(optax.apply_updates(params, change), optimiser_state, metrics)
