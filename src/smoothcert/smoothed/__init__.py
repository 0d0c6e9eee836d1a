"""The smoothed classifier g(x) = argmax_c P[f(x + δ) = c]: its votes, its predictions, its certificates.

Nothing is imported here, so that recomputing a certificate does not wait for torch; the public names are those of
`smoothcert` itself.
"""
