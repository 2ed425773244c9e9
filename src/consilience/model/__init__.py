"""Models: names, dims, coords and data over a graph, and the densities and predictions made from them."""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "centredness": "centredness",
        "conditioning": """
            change_value_transforms do extract_deterministics insert_deterministics observe
            remove_value_transforms
        """,
        "freezing": "freeze_dims_and_data freeze_model",
        "log_density": "ModelDensity model_density",
        "marginalization": "collapse marginalize",
        "minibatch": "Minibatch",
        "model": """
            Data Deterministic Model Point Potential clone_model modelcontext set_data
        """,
        "model_graph": "NodeType",
        "pictures": "model_to_graphviz model_to_mermaid model_to_networkx",
        "reparametrization": "noncenter recenter",
        "shrinkage": "R2D2 RegularizedHorseshoe",
    },
    public=True,
)
