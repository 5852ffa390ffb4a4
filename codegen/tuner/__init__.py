"""The tuner: it searches schedule texts for the fastest one, and stores what it measures.

`tuning` runs a search over the functions of a module (`tasks`). Each has spaces, schedule texts that draw numbers (`spaces`,
`sketches`); `search` evolves schedules of them (`candidates`). A `runner` measures them in a process of its own
(`worker`, `trial`), and `database` keeps the results, which compilations `use`.
"""
