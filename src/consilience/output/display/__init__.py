"""What the user sees of a run while it goes on, and where its time went."""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "progress": "Reporter reporter",
        "timing": "time_line",
    },
)
