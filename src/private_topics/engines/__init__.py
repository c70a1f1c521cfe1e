"""Where the sums over the corpus are computed: here, on a cluster, on a GPU. Only sums leave; noise comes after."""
