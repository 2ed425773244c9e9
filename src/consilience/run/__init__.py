"""Runs: chains on threads that tune together, watch their convergence, and are looked after."""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "consilience.events": """
            ChainLost ChainMoved ChainProgress CheckFigures DrawsMade Event Listener Progress Restarted RunEnded
            RunStarted WorkerNotice
        """,
        "monitor": "Monitored",
        "plan": "RunPlan",
        "result": "RunResult",
        "run": "Run",
    },
)
