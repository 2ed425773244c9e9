"""Ray as an executor: a thin face of its remote functions, which is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from importlib import import_module
from typing import Any

from consilience.cluster.executors import Adapter
from consilience.errors import MissingPackageError, WorkerLostError


class Ray(Adapter):
    """Remote functions of a Ray cluster."""

    isolates = True

    def __init__(self, module: Any, options: dict[str, Any]) -> None:
        super().__init__(module)
        self._options, self._remote = options, {}  # type: ignore[var-annotated]  # of functions by themselves
        self._references: dict[Future[Any], Any] = {}

    def away(self) -> str:
        if not self.executor.is_initialized():  # a call would begin another
            raise WorkerLostError("Ray was shut down; begin it again by `ray.init()`.")
        return ""

    def count(self) -> int:
        each = self._options.get("num_cpus", 1) or 1
        return max(1, int(self.executor.cluster_resources().get("CPU", 1) // each))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if function not in self._remote:
            self._remote[function] = self.executor.remote(**{"num_cpus": 1, **self._options})(function)
        reference = self._remote[function].remote(*arguments)
        future = reference.future()
        self._references[future] = reference
        future.add_done_callback(lambda done: self._references.pop(done, None))
        return future

    def place(self, data: bytes) -> Any:
        return self.executor.put(data)

    def cancel(self, future: Any) -> bool:
        reference = self._references.get(future)
        if reference is not None:
            self.executor.cancel(reference)
        return reference is None


def ray(**options: Any) -> Ray:
    """An executor of the Ray cluster that this process is connected to; one on this machine if it is to none.

    **options: Of `ray.remote` for each task: `num_cpus`, `memory`, `resources`, `runtime_env`.
    Returns: For `executor=` of `pm.sample`, `pm.sbc`, `pm.sample_many` and others.
    Raises MissingPackageError: Where Ray is not installed.
    See Workers: Runs tasks on an executor.
    >>> import ray
    >>> import consilience as pm
    >>> connection = ray.init(num_cpus=1, log_to_driver=False, include_dashboard=False)
    >>> with pm.Model():
    ...     x = pm.Normal("x")
    ...     result = pm.sample(executor=pm.cluster.ray(num_cpus=1), random_seed=1, progressbar=False)
    >>> result.status
    'converged'
    >>> ray.shutdown()
    """
    try:
        module = import_module("ray")
    except ImportError as error:
        raise MissingPackageError.of("Ray", "`pip install consilience[ray]`", error) from error
    if not module.is_initialized():
        module.init(log_to_driver=False)
    return Ray(module, options)
