"""Statistics of samples: intervals, drift, modes, outliers, effect size, ranks, comparison with a verdict.

Modules are imported by name (`sprintprof.stats.median` …); none needs scipy until a test that needs it runs.
"""
