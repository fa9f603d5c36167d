"""Is there one set of readings under which the figures of the HBM thesis hold together?

python -m eraseblock_reproduction.question bounds      # what the printed numbers ask of any trace
python -m eraseblock_reproduction.question search      # readings, fitted on one trace and size
python -m eraseblock_reproduction.question judge       # the best of them on the other sizes and traces
python -m eraseblock_reproduction.question hindsight   # the best, and changed ones, on all traces at once
python -m eraseblock_reproduction.question page        # docs/papers/hbm-question.md of what is stored
"""
