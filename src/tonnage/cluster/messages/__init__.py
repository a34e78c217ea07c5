"""What Kubernetes says, read into values and written back: every grammar parsed and produced, old forms and
new.
"""
